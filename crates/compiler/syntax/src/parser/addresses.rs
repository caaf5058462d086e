//! Addresses as people write them, `10.0.0.1`, `10.0.0.0/8` and `00:11:22:33:44:55`: P4 has only numbers.

use super::ProgramParser;
use crate::codes::source as codes;
use crate::diagnostic::Diagnostic;
use crate::token::TokenKind;

impl ProgramParser<'_> {
    /// Reports an address and reads past it, with its length of a prefix.
    pub(super) fn reported_address(&mut self) -> bool {
        let start = self.span();
        let Some((what, hint, length)) = self.ipv4_address().or_else(|| self.mac_address()) else {
            return false;
        };
        self.next += length;
        let message = format!("P4 has no {what}");
        self.report(Diagnostic::error(codes::INVALID_INTEGER, self.since(start), message).hint(hint));
        true
    }

    /// What it is, what to write, and how many tokens it has.
    fn ipv4_address(&self) -> Option<(&'static str, String, usize)> {
        let octets = self.joined_by(TokenKind::Dot, 4)?;
        let octets: Vec<u8> = octets.iter().filter_map(|octet| octet.parse().ok()).collect();
        let value = u32::from_be_bytes(octets.try_into().ok()?);
        let length = (self.peek_at(7) == TokenKind::Slash).then(|| self.text(self.token_at(8)).parse::<u32>().ok());
        let what = "dotted addresses";
        Some(match length.flatten().filter(|length| *length <= 32) {
            Some(length) => {
                let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
                let hint = format!("write it as a number and a mask: {value:#010x} &&& {mask:#010x}");
                (what, hint, 9)
            }
            None => (what, format!("write it as a number: {value:#010x}"), 7),
        })
    }

    fn mac_address(&self) -> Option<(&'static str, String, usize)> {
        let octets = self.joined_by(TokenKind::Colon, 6)?;
        let is_octet = |octet: &&str| octet.len() == 2 && octet.bytes().all(|byte| byte.is_ascii_hexdigit());
        let all = octets.iter().all(is_octet);
        all.then(|| {
            (
                "MAC addresses",
                format!("write it as a number: 0x{}", octets.concat()),
                11,
            )
        })
    }

    /// The texts of `count` numbers or words that have a separator and no blank between them.
    fn joined_by(&self, separator: TokenKind, count: usize) -> Option<Vec<&str>> {
        if self.peek_at(1) != separator {
            return None;
        }
        let mut texts = Vec::new();
        for index in 0..count {
            let part = self.token_at(2 * index);
            let is_part = matches!(part.kind, TokenKind::Integer | TokenKind::Identifier);
            let is_joined = index == 0 || self.peek_at(2 * index - 1) == separator && !part.spaced;
            texts.push((is_part && is_joined).then(|| self.text(part))?);
        }
        Some(texts)
    }
}
