//! Between the P4Info that the compiler makes and that of the protocol: the same messages, by way of their text form.

use crate::p4::config::v1::P4Info;
use crate::text::{self, TextError};

const NAME: &str = "p4.config.v1.P4Info";

/// The P4Info of the protocol.
///
/// # Panics
/// Never: both have the same fields, as a test makes sure of.
pub fn from_compiler(info: &forebay_p4info::model::P4Info) -> P4Info {
    read(&forebay_p4info::write(info)).expect("both have the same fields")
}

/// Reads the text form, as compilers write it to files.
///
/// # Errors
/// When the text is no P4Info.
pub fn read(text: &str) -> Result<P4Info, TextError> {
    text::read(NAME, text)
}

/// Writes the text form.
pub fn write(info: &P4Info) -> String {
    text::write(NAME, info)
}
