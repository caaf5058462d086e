//! What an entry matches: words such as `dst_addr=10.0.0.0/8`, and `FieldMatch` messages (§9.1.1).
//!
//! | kind | notations |
//! |---|---|
//! | exact | a value |
//! | lpm | `10.0.0.0/8`, or a value for all of its bits |
//! | ternary | `0x0800&&&0xff00`, `10.0.0.0/8`, `10.0.0.0/255.0.0.0`, or a value for all bits |
//! | range | `80..443`, or a value |
//! | optional | a value |
//!
//! `*` matches everything where that is possible; so does a field that is not mentioned.

use crate::catalog::{Catalog, select_of, short_names};
use crate::mistake::Mistake;
use crate::value::{self, Field};
use forebay_protocol::p4::config::v1::MatchField;
use forebay_protocol::p4::config::v1::match_field::{Match, MatchType};
use forebay_protocol::p4::v1::FieldMatch;
use forebay_protocol::p4::v1::field_match::{Exact, FieldMatchType, Lpm, Optional, Range, Ternary};
use num_bigint::BigUint;

/// A key field of a table, or a component of a value set.
#[derive(Clone, Debug)]
pub struct KeyField {
    /// What it compares with.
    pub value: Field,
    /// How it compares.
    pub kind: MatchType,
}

impl KeyField {
    /// `dst_addr (lpm, bit<32>)`
    pub fn described(&self) -> String {
        format!(
            "`{}` ({}, {})",
            self.value.name,
            kind_name(self.kind),
            self.value.type_name()
        )
    }

    /// Whether entries may leave the field out.
    fn is_required(&self) -> bool {
        self.kind == MatchType::Exact
    }

    /// Whether entries with such a field have a priority.
    fn needs_priority(&self) -> bool {
        matches!(self.kind, MatchType::Ternary | MatchType::Range | MatchType::Optional)
    }

    /// Reads what an entry says of the field; none when it matches everything.
    ///
    /// # Errors
    /// When the text is no such match.
    pub fn read(&self, text: &str) -> Result<Option<FieldMatch>, Mistake> {
        let said = match (text, self.is_required()) {
            ("*", false) => return Ok(None),
            ("*", true) => return Err(self.cannot_match_all()),
            _ => match self.kind {
                MatchType::Lpm | MatchType::Ternary | MatchType::Range if self.is_string() => {
                    Some(self.read_string(text)?)
                }
                MatchType::Lpm => self.read_lpm(text)?,
                MatchType::Ternary => self.read_ternary(text)?,
                MatchType::Range => self.read_range(text)?,
                MatchType::Optional => Some(FieldMatchType::Optional(Optional {
                    value: self.value.read(text)?,
                })),
                MatchType::Exact | MatchType::Unspecified => Some(FieldMatchType::Exact(Exact {
                    value: self.value.read(text)?,
                })),
            },
        };
        Ok(said.map(|said| FieldMatch {
            field_id: self.value.id,
            field_match_type: Some(said),
        }))
    }

    fn cannot_match_all(&self) -> Mistake {
        let mistake = Mistake::new(format!("{} needs a value", self.described()));
        mistake.help(format!("write {}", self.value.wanted()))
    }

    fn is_string(&self) -> bool {
        self.value.width == 0
    }

    /// Strings are matched exactly, whatever the kind.
    fn read_string(&self, text: &str) -> Result<FieldMatchType, Mistake> {
        let value = self.value.read(text)?;
        match self.kind {
            MatchType::Ternary => Ok(FieldMatchType::Ternary(Ternary {
                value,
                mask: vec![0xff],
            })),
            MatchType::Range => Ok(FieldMatchType::Range(Range {
                low: value.clone(),
                high: value,
            })),
            _ => {
                let mistake = Mistake::new(format!("{} has no prefixes", self.described()));
                Err(mistake.help("leave the field out"))
            }
        }
    }

    fn read_lpm(&self, text: &str) -> Result<Option<FieldMatchType>, Mistake> {
        let (written, length) = match text.split_once('/') {
            Some((written, length)) => (written, self.prefix_length(length)?),
            None => (text, self.value.width),
        };
        let value = self.value.number(written)?;
        let mask = self.prefix_mask(length);
        self.check_masked(written, &value, &mask, |kept| format!("{kept}/{length}"))?;
        let lpm = Lpm {
            value: value::bytes(&value),
            prefix_len: length as i32,
        };
        Ok((length > 0).then_some(FieldMatchType::Lpm(lpm)))
    }

    fn prefix_length(&self, text: &str) -> Result<u32, Mistake> {
        let length = text.parse().ok().filter(|length| *length <= self.value.width);
        length.ok_or_else(|| {
            let mistake = Mistake::new(format!("`/{text}` is no length of a prefix of {}", self.described()));
            mistake.help(format!("lengths are 0 to {}", self.value.width))
        })
    }

    fn prefix_mask(&self, length: u32) -> BigUint {
        (self.value.ones() >> (self.value.width - length)) << (self.value.width - length)
    }

    fn read_ternary(&self, text: &str) -> Result<Option<FieldMatchType>, Mistake> {
        let (written, mask) = match (text.split_once("&&&"), text.split_once('/')) {
            (Some((written, mask)), _) => (written, self.value.number(mask)?),
            (None, Some((written, mask))) => (written, self.mask_or_length(mask)?),
            (None, None) => (text, self.value.ones()),
        };
        let value = self.value.number(written)?;
        let mask_text = self.value.write_like(written, &mask);
        self.check_masked(written, &value, &mask, |kept| format!("{kept}&&&{mask_text}"))?;
        let ternary = Ternary {
            value: value::bytes(&value),
            mask: value::bytes(&mask),
        };
        Ok((mask.bits() > 0).then_some(FieldMatchType::Ternary(ternary)))
    }

    /// `/8` is a length, `/0xff00` and `/255.0.0.0` are masks.
    fn mask_or_length(&self, text: &str) -> Result<BigUint, Mistake> {
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            Ok(self.prefix_mask(self.prefix_length(text)?))
        } else {
            self.value.number(text)
        }
    }

    /// Bits that are not compared must be 0 (§9.1.1). The right value is proposed in the notation of the written one.
    fn check_masked(
        &self,
        written: &str,
        value: &BigUint,
        mask: &BigUint,
        right: impl Fn(&str) -> String,
    ) -> Result<(), Mistake> {
        let kept = value & mask;
        if kept == *value {
            return Ok(());
        }
        let kept = self.value.write_like(written, &kept);
        let mistake = Mistake::new(format!(
            "{written} has bits set that {} does not compare",
            self.described()
        ));
        Err(mistake.help(format!("did you mean `{}`?", right(&kept))))
    }

    fn read_range(&self, text: &str) -> Result<Option<FieldMatchType>, Mistake> {
        let (low, high) = text.split_once("..").unwrap_or((text, text));
        let (low, high) = (self.value.number(low)?, self.value.number(high)?);
        if low > high {
            let mistake = Mistake::new(format!("`{text}` ends before it begins"));
            return Err(mistake.help("write the lower end first: 80..443"));
        }
        let matches_all = low.bits() == 0 && high == self.value.ones();
        let range = Range {
            low: value::bytes(&low),
            high: value::bytes(&high),
        };
        Ok((!matches_all).then_some(FieldMatchType::Range(range)))
    }

    /// Writes what an entry says of the field.
    pub fn write(&self, said: &FieldMatch) -> String {
        let write = |value: &[u8]| self.value.write(value);
        match &said.field_match_type {
            Some(FieldMatchType::Exact(exact)) => write(&exact.value),
            Some(FieldMatchType::Optional(optional)) => write(&optional.value),
            Some(FieldMatchType::Lpm(lpm)) => format!("{}/{}", write(&lpm.value), lpm.prefix_len),
            Some(FieldMatchType::Ternary(ternary)) => self.write_ternary(ternary),
            Some(FieldMatchType::Range(range)) if self.is_string() => write(&range.low),
            Some(FieldMatchType::Range(range)) => format!("{}..{}", write(&range.low), write(&range.high)),
            Some(FieldMatchType::Other(_)) | None => "?".to_string(),
        }
    }

    fn write_ternary(&self, ternary: &Ternary) -> String {
        let mask = BigUint::from_bytes_be(&ternary.mask);
        if self.is_string() || mask == self.value.ones() {
            self.value.write(&ternary.value)
        } else {
            format!(
                "{}&&&{}",
                self.value.write(&ternary.value),
                self.value.write(&ternary.mask)
            )
        }
    }
}

/// The key fields of a table, or the components of a value set.
#[derive(Clone, Debug)]
pub struct Key {
    /// In the order of the program.
    pub fields: Vec<KeyField>,
    owner: String,
}

impl Key {
    /// The key of something whose description is `owner`. Fields that no entry speaks of (selectors) are not in a
    /// P4Info.
    pub fn new(catalog: &Catalog, owner: String, fields: &[MatchField]) -> Key {
        let fields = fields.iter().map(|field| KeyField {
            value: catalog.match_field(field),
            kind: kind(field),
        });
        Key {
            fields: fields.collect(),
            owner,
        }
    }

    /// Whether entries have a priority.
    pub fn needs_priority(&self) -> bool {
        self.fields.iter().any(KeyField::needs_priority)
    }

    /// Reads words, each `FIELD=MATCH` or, in the order of the fields, only `MATCH`.
    ///
    /// # Errors
    /// When a word is no such match, or a field is missing that must be there.
    pub fn read(&self, words: &[String]) -> Result<Vec<FieldMatch>, Mistake> {
        let said = self.read_some(words)?;
        match (self.fields.iter().zip(&said)).find(|(field, said)| field.is_required() && said.is_none()) {
            Some((missing, _)) => Err(self.missing(missing)),
            None => Ok(said.into_iter().flatten().flatten().collect()),
        }
    }

    /// The same where any field may be left out, as filters do.
    ///
    /// # Errors
    /// When a word is no such match.
    pub fn read_filter(&self, words: &[String]) -> Result<Vec<FieldMatch>, Mistake> {
        Ok(self.read_some(words)?.into_iter().flatten().flatten().collect())
    }

    /// For each field what is said of it, if it is spoken of; that may be that everything matches.
    fn read_some(&self, words: &[String]) -> Result<Vec<Option<Option<FieldMatch>>>, Mistake> {
        let mut said: Vec<Option<Option<FieldMatch>>> = vec![None; self.fields.len()];
        for (position, word) in words.iter().enumerate() {
            let (index, text) = match word.split_once('=') {
                Some((name, text)) => (self.index_of(name)?, text),
                None if position < self.fields.len() => (position, word.as_str()),
                None => return Err(self.too_many(word)),
            };
            if said[index].is_some() {
                return Err(Mistake::new(format!(
                    "{} is given twice",
                    self.fields[index].described()
                )));
            }
            said[index] = Some(self.fields[index].read(text)?);
        }
        Ok(said)
    }

    fn index_of(&self, name: &str) -> Result<usize, Mistake> {
        select_of(
            &self.owner,
            "key field",
            name,
            &self.names(),
            short_names(&self.names()),
        )
    }

    fn names(&self) -> Vec<&str> {
        self.fields.iter().map(|field| field.value.name.as_str()).collect()
    }

    /// A short name for each field.
    pub fn short_names(&self) -> Vec<&str> {
        short_names(&self.names())
    }

    fn too_many(&self, word: &str) -> Mistake {
        let mistake = Mistake::new(format!("`{word}`: {} has no more key fields", self.owner));
        mistake.help("the action follows the word `do`".to_string())
    }

    fn missing(&self, field: &KeyField) -> Mistake {
        let name = short_names(&self.names())[self.index_of(&field.value.name).unwrap_or(0)];
        let mistake = Mistake::new(format!("{} needs {}", self.owner, field.described()));
        mistake.help(format!("add `{name}=VALUE`, {}", field.value.wanted()))
    }

    /// What an entry says, field by field; `*` where it says nothing.
    pub fn write(&self, said: &[FieldMatch]) -> Vec<(String, String)> {
        let write = |field: &KeyField| {
            let said = said.iter().find(|said| said.field_id == field.value.id);
            said.map_or_else(|| "*".to_string(), |said| field.write(said))
        };
        let names = self.short_names().into_iter().map(str::to_string);
        names.zip(self.fields.iter().map(write)).collect()
    }
}

fn kind(field: &MatchField) -> MatchType {
    match field.r#match {
        Some(Match::MatchType(kind)) => MatchType::try_from(kind).unwrap_or(MatchType::Unspecified),
        _ => MatchType::Unspecified,
    }
}

/// The match kind as programs write it.
pub fn kind_name(kind: MatchType) -> &'static str {
    match kind {
        MatchType::Unspecified => "unknown",
        MatchType::Exact => "exact",
        MatchType::Lpm => "lpm",
        MatchType::Ternary => "ternary",
        MatchType::Range => "range",
        MatchType::Optional => "optional",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, width: i32, kind: MatchType) -> KeyField {
        let value = Field::new(1, name, width, &[]);
        KeyField { value, kind }
    }

    /// Reads, and writes what was read.
    fn through(field: &KeyField, text: &str) -> String {
        match field.read(text) {
            Ok(Some(said)) => field.write(&said),
            Ok(None) => "*".to_string(),
            Err(mistake) => mistake.to_string(),
        }
    }

    #[test]
    fn prefixes() {
        let field = field("ipv4.dst_addr", 32, MatchType::Lpm);
        assert_eq!(through(&field, "10.0.0.0/8"), "10.0.0.0/8");
        assert_eq!(through(&field, "10.0.0.1"), "10.0.0.1/32");
        assert_eq!(through(&field, "0/0"), "*");
        assert!(through(&field, "10.0.0.0/33").ends_with("lengths are 0 to 32"));
        assert!(through(&field, "10.1.0.0/8").ends_with("did you mean `10.0.0.0/8`?"));
    }

    #[test]
    fn proposals_have_the_notation_that_was_written() {
        let plain = field("meta.next", 32, MatchType::Lpm);
        let said = through(&plain, "10.0.1.1/16");
        assert!(said.starts_with("10.0.1.1 has bits set"), "{said}");
        assert!(said.ends_with("did you mean `10.0.0.0/16`?"), "{said}");
        assert!(through(&plain, "0x0a000101/16").ends_with("did you mean `0xa000000/16`?"));
        assert!(through(&plain, "167772417/16").ends_with("did you mean `167772160/16`?"));
        let mac = field("ethernet.dst", 48, MatchType::Lpm);
        assert!(through(&mac, "00:11:22:33:44:55/16").ends_with("did you mean `00:11:00:00:00:00/16`?"));
    }

    #[test]
    fn ternary_values_have_masks() {
        let field = field("ipv4.src_addr", 32, MatchType::Ternary);
        assert_eq!(through(&field, "10.0.0.0/8"), "10.0.0.0&&&255.0.0.0");
        assert_eq!(through(&field, "10.0.0.0/255.0.0.0"), "10.0.0.0&&&255.0.0.0");
        assert_eq!(through(&field, "10.0.0.1&&&0xffffffff"), "10.0.0.1");
        assert_eq!(through(&field, "0&&&0"), "*");
        assert!(through(&field, "10.0.0.1&&&0xff000000").contains("did you mean `10.0.0.0&&&255.0.0.0`?"));
    }

    #[test]
    fn strings_are_matched_exactly() {
        for kind in [
            MatchType::Exact,
            MatchType::Ternary,
            MatchType::Range,
            MatchType::Optional,
        ] {
            let field = field("vrf", 0, kind);
            assert_eq!(through(&field, "red"), "red");
            assert_eq!(through(&field, "5"), "5");
        }
        assert!(through(&field("vrf", 0, MatchType::Lpm), "5").contains("no prefixes"));
    }

    #[test]
    fn ranges_and_optional_values() {
        let range = field("port", 16, MatchType::Range);
        assert_eq!(through(&range, "80..443"), "80..443");
        assert_eq!(through(&range, "0..65535"), "*");
        assert_eq!(through(&range, "7"), "7..7");
        assert!(through(&range, "443..80").contains("lower end first"));
        assert_eq!(through(&field("port", 9, MatchType::Optional), "7"), "7");
        assert!(through(&field("port", 9, MatchType::Exact), "*").contains("needs a value"));
    }
}
