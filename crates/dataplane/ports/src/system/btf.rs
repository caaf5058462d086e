//! The kernel's description of its own types and functions (Documentation/bpf/btf.rst), read for one thing: the number
//! of a function that a program may call.
//!
//! ```text
//!   header | types: one after another, numbered from 1 | names, each closed by a zero
//! ```

const DESCRIPTION: &str = "/sys/kernel/btf/vmlinux";

const MAGIC: u16 = 0xeb9f;

/// The kind of a type that is a function.
const FUNCTION: u32 = 12;

/// The number of the kernel's function called `name`, if this kernel has it and describes itself.
pub(crate) fn function_number(name: &str) -> Option<i32> {
    find_function(&std::fs::read(DESCRIPTION).ok()?, name)
}

fn find_function(description: &[u8], name: &str) -> Option<i32> {
    let word = |at: usize| Some(u32::from_ne_bytes(*description.get(at..at + 4)?.first_chunk()?));
    if u16::from_ne_bytes(*description.first_chunk()?) != MAGIC {
        return None;
    }
    let header_length = word(4)? as usize;
    let section = |offset: u32, length: u32| {
        let start = header_length.checked_add(offset as usize)?;
        description.get(start..start.checked_add(length as usize)?)
    };
    let types = section(word(8)?, word(12)?)?;
    let name_at = offset_of(section(word(16)?, word(20)?)?, name)?;
    let (mut at, mut number) = (0, 1);
    while let Some(header) = types.get(at..at + 12) {
        let field = |at: usize| u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (kind, count) = (field(4) >> 24 & 0x1f, (field(4) & 0xffff) as usize);
        if kind == FUNCTION && field(0) == name_at {
            return Some(number);
        }
        at += 12 + rest_of_type(kind, count)?;
        number += 1;
    }
    None
}

/// Where a name stands among the names.
fn offset_of(names: &[u8], name: &str) -> Option<u32> {
    let mut offset = 0;
    for candidate in names.split(|byte| *byte == 0) {
        if candidate == name.as_bytes() {
            return Some(offset);
        }
        offset += candidate.len() as u32 + 1;
    }
    None
}

/// Bytes after the header of a type of this kind with `count` members; `None` for an unknown kind.
fn rest_of_type(kind: u32, count: usize) -> Option<usize> {
    match kind {
        // Integers, variables, declaration tags.
        1 | 14 | 17 => Some(4),
        // Arrays.
        3 => Some(12),
        // Structures, unions, sections, enumerations of 64 bits.
        4 | 5 | 15 | 19 => Some(12 * count),
        // Enumerations and parameters of functions.
        6 | 13 => Some(8 * count),
        // Pointers, forward declarations, aliases, qualifiers, functions, floats, type tags.
        2 | 7..=12 | 16 | 18 => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two types, an integer and a function, and their names.
    fn description() -> Vec<u8> {
        let names = b"\0int\0wanted\0";
        let types: [u32; 7] = [1, 1 << 24, 4, 32, 5, 12 << 24, 1];
        let mut bytes = Vec::new();
        bytes.extend(MAGIC.to_ne_bytes());
        bytes.extend([1, 0]);
        for word in [24, 0, 28, 28, names.len() as u32].into_iter().chain(types) {
            bytes.extend(u32::to_ne_bytes(word));
        }
        bytes.extend(names);
        bytes
    }

    #[test]
    fn functions_are_found_by_name() {
        assert_eq!(find_function(&description(), "wanted"), Some(2));
        assert_eq!(find_function(&description(), "int"), None, "it is not a function");
        assert_eq!(find_function(&description(), "other"), None);
    }

    #[test]
    fn a_cut_or_damaged_description_has_no_functions() {
        let whole = description();
        for length in 0..whole.len() {
            assert_eq!(find_function(&whole[..length], "wanted"), None, "{length}");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0xff;
            find_function(&damaged, "wanted");
        }
    }
}
