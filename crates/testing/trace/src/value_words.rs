//! Values as a trace shows them.

use forebay_bits::Bits;
use forebay_ir::EntryMatch;
use std::fmt::Write;

/// Widest value that is shown in decimal too.
const MAX_DECIMAL_BITS: u32 = 16;

/// Bytes on a line of a dump.
const DUMP_BYTES: usize = 16;

/// All digits in hexadecimal, so that the width can be seen; less than a byte in decimal.
pub fn number(value: &Bits) -> String {
    match value.width() {
        0..=7 => value.to_biguint().to_string(),
        width => format!(
            "0x{:0>digits$x}",
            value.to_biguint(),
            digits = width.div_ceil(4) as usize
        ),
    }
}

/// [`number`], and in decimal what people count with.
pub fn number_with_decimal(value: &Bits) -> String {
    match value.width() {
        8..=MAX_DECIMAL_BITS if value.to_u64() > 9 => format!("{} ({})", number(value), value.to_u64()),
        _ => number(value),
    }
}

/// What a field of an entry matches.
pub fn condition(field: &EntryMatch) -> String {
    match field {
        EntryMatch::Exact(value) => number(value),
        EntryMatch::Lpm { value, prefix_length } => format!("{}/{prefix_length}", number(value)),
        EntryMatch::Ternary { mask, .. } if mask.is_zero() => "anything".to_string(),
        EntryMatch::Ternary { value, mask } => format!("{} &&& {}", number(value), number(mask)),
        EntryMatch::Range { low, high } => format!("{} .. {}", number(low), number(high)),
        EntryMatch::Optional(Some(value)) => number(value),
        EntryMatch::Optional(None) => "anything".to_string(),
    }
}

/// Lines of sixteen bytes, each with the offset of its first in hexadecimal.
pub fn dump(bytes: &[u8]) -> Vec<String> {
    let lines = bytes.chunks(DUMP_BYTES).zip((0..).step_by(DUMP_BYTES));
    lines
        .map(|(chunk, offset)| {
            let mut line = format!("{offset:04x} ");
            for byte in chunk {
                let _ = write!(line, " {byte:02x}");
            }
            line
        })
        .collect()
}

/// Name and value on a line each, the values below one another.
pub fn columns(rows: &[(&str, String)]) -> Vec<String> {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.iter()
        .map(|(name, value)| format!("{name:width$}  {value}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_all_digits() {
        assert_eq!(number(&Bits::new(48, 0x10)), "0x000000000010");
        assert_eq!(number(&Bits::new(9, 0x1ff)), "0x1ff");
        assert_eq!(number(&Bits::new(4, 12)), "12");
        assert_eq!(number_with_decimal(&Bits::new(8, 64)), "0x40 (64)");
        assert_eq!(number_with_decimal(&Bits::new(32, 64)), "0x00000040");
    }

    #[test]
    fn conditions_are_written_as_in_p4() {
        let (value, mask) = (Bits::new(8, 0x50), Bits::new(8, 0xf0));
        let prefix = EntryMatch::Lpm {
            value: value.clone(),
            prefix_length: 4,
        };
        assert_eq!(condition(&prefix), "0x50/4");
        assert_eq!(condition(&EntryMatch::Ternary { value, mask }), "0x50 &&& 0xf0");
    }

    #[test]
    fn dumps_have_sixteen_bytes_on_a_line() {
        let lines = dump(&[7; 17]);
        assert_eq!(lines[0], format!("0000 {}", " 07".repeat(16)));
        assert_eq!(lines[1], "0010  07");
    }
}
