//! Lengths of frames.

use serde::Deserialize;
use std::fmt;

/// Lengths in bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum SizeEntry {
    /// All alike.
    Fixed(usize),
    /// By name: `imix`.
    Named(String),
    /// Some in turn.
    Several(Vec<usize>),
    /// Uniformly distributed, both ends included.
    Random {
        /// The shortest.
        from: usize,
        /// The longest.
        to: usize,
    },
}

impl<'de> Deserialize<'de> for SizeEntry {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<SizeEntry, D::Error> {
        deserializer.deserialize_any(SizeVisitor)
    }
}

struct SizeVisitor;

impl<'de> serde::de::Visitor<'de> for SizeVisitor {
    type Value = SizeEntry;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number of bytes, a list of them, { from = 60, to = 1514 }, or \"imix\"")
    }

    fn visit_i64<E: serde::de::Error>(self, bytes: i64) -> Result<SizeEntry, E> {
        let bytes = usize::try_from(bytes);
        bytes
            .map(SizeEntry::Fixed)
            .map_err(|_| E::custom("a length is not negative"))
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<SizeEntry, E> {
        Ok(SizeEntry::Named(name.to_string()))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut elements: A) -> Result<SizeEntry, A::Error> {
        let mut sizes = Vec::new();
        while let Some(size) = elements.next_element()? {
            sizes.push(size);
        }
        Ok(SizeEntry::Several(sizes))
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<SizeEntry, A::Error> {
        let range = Range::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        Ok(SizeEntry::Random {
            from: range.from,
            to: range.to,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    from: usize,
    to: usize,
}
