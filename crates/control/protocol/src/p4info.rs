//! Between the P4Info that the compiler makes and that of the protocol: the same messages, by way of their text form.

use crate::p4::config::v1::{MeterSpec, P4Info};
use crate::text::{self, TextError};
use forebay_p4info::Version;

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

/// Leaves out what is newer than a version of P4Runtime.
pub fn for_version(mut info: P4Info, version: Version) -> P4Info {
    if version == Version::V1_5 {
        return info;
    }
    if let Some(package) = &mut info.pkg_info {
        package.platform_properties = None;
    }
    for table in &mut info.tables {
        table.initial_default_action = None;
        table.has_initial_entries = false;
    }
    for profile in &mut info.action_profiles {
        profile.selector_size_semantics = None;
        profile.weights_disallowed = false;
    }
    let specs = info.meters.iter_mut().map(|meter| &mut meter.spec);
    let direct = info.direct_meters.iter_mut().map(|meter| &mut meter.spec);
    for spec in specs.chain(direct).flatten() {
        *spec = MeterSpec {
            unit: spec.unit,
            ..MeterSpec::default()
        };
    }
    info
}
