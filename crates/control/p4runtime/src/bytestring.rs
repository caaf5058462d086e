//! Numbers as byte strings (P4Runtime §8.3): the most significant byte first, the shortest string that holds the value.
//!
//! Strings of any length are taken as long as the value fits; what is sent is always the shortest.

use crate::status::Error;
use forebay_bits::Bits;

/// The greatest width of a number, in bits: a P4Info may say any.
const WIDTH_MAX: u32 = 1 << 20;

/// Bytes of a string in a message.
const SHOWN_MAX: usize = 64;

/// The number that a string says, in the width of its field. `what` names the field.
///
/// # Errors
/// `OUT_OF_RANGE` when the string is empty or its value does not fit.
pub(crate) fn read(bytes: &[u8], width: u32, what: impl Fn() -> String) -> Result<Bits, Error> {
    if bytes.is_empty() {
        return Err(Error::out_of_range(format!(
            "{}: an empty byte string is no value; 0 is \"\\x00\"",
            what()
        )));
    }
    check_width(width, &what)?;
    if unsigned_bits(bytes) > width {
        return Err(too_wide(bytes, width, &what()));
    }
    Ok(Bits::from_bytes_be(width, bytes))
}

/// The same for a number of type `int<W>`.
///
/// # Errors
/// `OUT_OF_RANGE` when the string is empty or its value does not fit.
pub(crate) fn read_signed(bytes: &[u8], width: u32, what: impl Fn() -> String) -> Result<Bits, Error> {
    check_width(width, &what)?;
    let bytes = without_repeated_sign(bytes);
    if bytes.len() > width.div_ceil(8) as usize {
        return Err(too_wide(bytes, width, &what()));
    }
    let whole = bytes.len() as u32 * 8;
    let value = read(bytes, whole, &what)?;
    let fitted = if width <= whole {
        value.truncate(width)
    } else {
        value.sext(width)
    };
    if fitted.sext(whole.max(width)) == value.sext(whole.max(width)) {
        Ok(fitted)
    } else {
        Err(too_wide(bytes, width, &what()))
    }
}

fn check_width(width: u32, what: &impl Fn() -> String) -> Result<(), Error> {
    if width > WIDTH_MAX {
        Err(Error::invalid(format!(
            "{}: there are no numbers of {width} bits",
            what()
        )))
    } else {
        Ok(())
    }
}

/// Leaves out the leading bytes that say nothing but the sign.
fn without_repeated_sign(mut bytes: &[u8]) -> &[u8] {
    while let [0 | 0xff, next, ..] = bytes
        && bytes[0] >> 7 == next >> 7
    {
        bytes = &bytes[1..];
    }
    bytes
}

fn too_wide(bytes: &[u8], width: u32, what: &str) -> Error {
    let shown = &bytes[..bytes.len().min(SHOWN_MAX)];
    let digits: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
    let rest = if bytes.len() > SHOWN_MAX { "…" } else { "" };
    Error::out_of_range(format!("{what}: 0x{digits}{rest} does not fit in {width} bits"))
}

/// Bits of the value without its leading zeros.
fn unsigned_bits(bytes: &[u8]) -> u32 {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    match bytes[zeros..].first() {
        None => 0,
        Some(first) => (bytes.len() - zeros) as u32 * 8 - first.leading_zeros(),
    }
}

/// The shortest string that holds an unsigned number.
pub(crate) fn write(value: &Bits) -> Vec<u8> {
    shortest(value.to_bytes_be(), |bytes| bytes[0] == 0)
}

/// The shortest string that holds a number of type `int<W>`.
pub(crate) fn write_signed(value: &Bits) -> Vec<u8> {
    let whole = value.width().div_ceil(8) * 8;
    let is_sign_only = |bytes: &[u8]| {
        let sign = if bytes[1] & 0x80 == 0 { 0 } else { 0xff };
        bytes[0] == sign
    };
    shortest(value.sext(whole).to_bytes_be(), is_sign_only)
}

/// Leaves out leading bytes that say nothing, but never the last one.
fn shortest(mut bytes: Vec<u8>, says_nothing: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut start = 0;
    while bytes.len() - start > 1 && says_nothing(&bytes[start..]) {
        start += 1;
    }
    bytes.drain(..start);
    if bytes.is_empty() {
        bytes.push(0);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Code;

    fn unsigned(width: u32, bytes: &[u8]) -> Result<u64, Code> {
        let value = read(bytes, width, || "x".to_string());
        value.map(|value| value.to_u64()).map_err(|error| error.code)
    }

    fn signed(width: u32, bytes: &[u8]) -> Result<Vec<u8>, Code> {
        let value = read_signed(bytes, width, || "x".to_string());
        value.map(|value| write_signed(&value)).map_err(|error| error.code)
    }

    /// The examples of the specification's tables of valid and invalid encodings.
    #[test]
    fn strings_of_the_specification() {
        assert_eq!(unsigned(8, b"\x63"), Ok(99));
        assert_eq!(unsigned(16, b"\x00\x63"), Ok(99));
        assert_eq!(unsigned(16, b"\x30\x64"), Ok(12388));
        assert_eq!(unsigned(16, b"\x00\x30\x64"), Ok(12388));
        assert_eq!(unsigned(12, b"\x00\x00\x63"), Ok(99));
        for (width, bytes) in [
            (8, &b"\x01\x63"[..]),
            (8, b""),
            (16, b"\x01\x00\x63"),
            (12, b"\x10\x63"),
            (12, b"\x01\x00\x63"),
            (12, b"\x00\x40\x63"),
        ] {
            assert_eq!(unsigned(width, bytes), Err(Code::OutOfRange), "{width} {bytes:?}");
        }
        assert_eq!(signed(8, b"\x63"), Ok(b"\x63".to_vec()));
        assert_eq!(signed(8, b"\xff\x9d"), Ok(b"\x9d".to_vec()));
        assert_eq!(signed(12, b"\xfd\x1d"), Ok(b"\xfd\x1d".to_vec()));
        assert_eq!(signed(16, b"\x00\x00"), Ok(b"\x00".to_vec()));
        assert_eq!(signed(8, b"\x00\x9d"), Err(Code::OutOfRange));
        assert_eq!(signed(12, b"\x8d\x1d"), Err(Code::OutOfRange));
        assert_eq!(signed(16, b""), Err(Code::OutOfRange));
    }

    #[test]
    fn widths_that_no_number_has_take_no_memory() {
        for width in [WIDTH_MAX + 1, u32::MAX] {
            let code = |read: Result<Bits, Error>| read.map_err(|error| error.code);
            assert_eq!(code(read(b"\x01", width, String::new)), Err(Code::InvalidArgument));
            let signed = read_signed(b"\x01", width, String::new);
            assert_eq!(code(signed), Err(Code::InvalidArgument));
        }
        let long = [&[0xff; 1000][..], &b"\x9d"[..]].concat();
        assert_eq!(read_signed(&long, 8, String::new), Ok(Bits::new(8, 0x9d)));
    }

    #[test]
    fn what_is_written_is_shortest() {
        assert_eq!(write(&Bits::new(32, 0)), [0]);
        assert_eq!(write(&Bits::new(32, 0x0a00_0001)), [10, 0, 0, 1]);
        assert_eq!(write(&Bits::new(48, 255)), [255]);
        assert_eq!(write_signed(&Bits::new(16, 0xff80)), [0x80]);
        assert_eq!(write_signed(&Bits::new(16, 0x0080)), [0, 0x80]);
    }
}
