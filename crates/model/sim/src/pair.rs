//! Lists of exactly two values. The TOML reader itself passes over what a list has beyond them.

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// Two values, written as a list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair<T>(pub T, pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pair<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Pair<T>, D::Error> {
        deserializer.deserialize_seq(PairVisitor(PhantomData))
    }
}

struct PairVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for PairVisitor<T> {
    type Value = Pair<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of two values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Pair<T>, A::Error> {
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
        Ok(Pair(first, second))
    }
}
