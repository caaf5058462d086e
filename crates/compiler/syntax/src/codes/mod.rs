//! The register of every message the front end can give.
//!
//! A [`Code`] is stable: `E` (error) or `W` (warning) and four digits, of which the first two name the area.
//!
//! | codes | area |
//! |---|---|
//! | 00xx | preprocessor and lexer |
//! | 01xx | syntax |
//! | 02xx | names |
//! | 03xx | types |
//! | 04xx | constants |
//! | 05xx | declarations and instantiation |
//! | 06xx | tables and actions |
//! | 07xx | parsers, controls, calls |
//! | 08xx | lowering and architectures |
//! | 09xx | limits |
//!
//! Each table below belongs to the crate that reports its codes: [`source`] to this one, [`check`] to
//! the type checker, [`lower`] to lowering. To add a message, add a line to the crate's table: a code, a
//! constant's name, a title and an explanation, which `forebay explain CODE` prints.

pub mod check;
pub mod lower;
pub mod source;

use std::fmt;

/// The stable name of a kind of message, such as `E0101`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(&'static str);

impl Code {
    /// The code as it is printed.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

/// What the register knows about a code.
#[derive(Clone, Copy, Debug)]
pub struct CodeInfo {
    /// The code.
    pub code: Code,
    /// The message in general, in a few words.
    pub title: &'static str,
    /// What it means and what to do, for `forebay explain`.
    pub explanation: &'static str,
}

/// Defines a table of codes: constants, and a `TABLE` of [`CodeInfo`].
macro_rules! codes {
    ($($code:ident $name:ident: $title:literal, $explanation:literal;)*) => {
        $(
            #[doc = $title]
            pub const $name: $crate::codes::Code = $crate::codes::Code(stringify!($code));
        )*
        /// Every code of this table, in order.
        pub const TABLE: &[$crate::codes::CodeInfo] = &[
            $($crate::codes::CodeInfo { code: $name, title: $title, explanation: $explanation }),*
        ];
    };
}
use codes;

/// Every code of the front end.
pub fn all() -> impl Iterator<Item = &'static CodeInfo> {
    source::TABLE.iter().chain(check::TABLE).chain(lower::TABLE)
}

/// Looks a code up as a user writes it (`E0101`, `e0101`).
pub fn find(code: &str) -> Option<&'static CodeInfo> {
    all().find(|info| info.code.0.eq_ignore_ascii_case(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_well_formed_and_unique() {
        let mut seen = std::collections::HashSet::new();
        for info in all() {
            let (kind, digits) = info.code.0.split_at(1);
            assert!(matches!(kind, "E" | "W"), "{}", info.code);
            assert!(
                digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit()),
                "{}",
                info.code
            );
            assert!(seen.insert(info.code.0), "{} is defined twice", info.code);
            assert!(!info.explanation.is_empty(), "{} has no explanation", info.code);
        }
    }

    #[test]
    fn codes_are_found_in_any_case() {
        assert_eq!(find("e0101").unwrap().code, source::UNEXPECTED_TOKEN);
        assert!(find("E9999").is_none());
    }
}
