//! Lists of exactly two numbers. The TOML reader itself passes over what a list has beyond them.

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};
use std::fmt;

/// A list of two numbers, for a key that may be missing.
pub(super) fn pair<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<(f64, f64)>, D::Error> {
    Pair::deserialize(deserializer).map(|Pair(pair)| Some(pair))
}

/// A list of such lists, for a key that may be missing.
pub(super) fn pairs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<(f64, f64)>>, D::Error> {
    let all = Vec::<Pair>::deserialize(deserializer)?;
    Ok(Some(all.into_iter().map(|Pair(pair)| pair).collect()))
}

struct Pair((f64, f64));

impl<'de> Deserialize<'de> for Pair {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Pair, D::Error> {
        deserializer.deserialize_seq(PairVisitor)
    }
}

struct PairVisitor;

impl<'de> Visitor<'de> for PairVisitor {
    type Value = Pair;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of two values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Pair, A::Error> {
        let first = elements
            .next_element()?
            .ok_or_else(|| A::Error::invalid_length(0, &self))?;
        let second = elements
            .next_element()?
            .ok_or_else(|| A::Error::invalid_length(1, &self))?;
        let mut length = 2;
        while elements.next_element::<IgnoredAny>()?.is_some() {
            length += 1;
        }
        if length > 2 {
            return Err(A::Error::invalid_length(length, &self));
        }
        Ok(Pair((first, second)))
    }
}
