//! Lengths of frames: how a scenario or a test file writes them, and which they are.

use forebay_packet::SplitMix64;
use serde::Deserialize;
use std::fmt;
use std::ops::RangeInclusive;

/// Sizes of "simple IMIX" without check sequence, in its proportions of 7 : 4 : 1.
const IMIX: [usize; 12] = [60, 60, 590, 60, 60, 590, 60, 1514, 590, 60, 60, 590];

/// Different sizes of random length.
const RANDOM_SIZES_MAX: usize = 256;

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

impl SizeEntry {
    /// The lengths, in the order of frames. All are within bounds; the seed decides which are drawn at random.
    ///
    /// # Errors
    /// What is wrong, in words; of a length out of bounds, what `outside` says of it.
    pub fn sizes(
        &self,
        bounds: RangeInclusive<usize>,
        seed: u64,
        outside: impl Fn(usize) -> String,
    ) -> Result<Vec<usize>, String> {
        let sizes = match self {
            SizeEntry::Fixed(size) => vec![*size],
            SizeEntry::Several(sizes) if !sizes.is_empty() => sizes.clone(),
            SizeEntry::Several(_) => return Err("the list of lengths is empty".to_string()),
            SizeEntry::Named(name) if name == "imix" => IMIX.to_vec(),
            SizeEntry::Named(name) => return Err(format!("there is no mix of lengths {name:?}; there is \"imix\"")),
            // An end alone is told of below: which lengths are drawn between them depends on the seed.
            SizeEntry::Random { to, .. } if to > bounds.end() => vec![*to],
            SizeEntry::Random { from, .. } if from < bounds.start() => vec![*from],
            SizeEntry::Random { from, to } if from <= to => random_sizes(*from, *to, seed),
            SizeEntry::Random { from, to } => return Err(format!("lengths from {from} to {to}: the first is larger")),
        };
        match sizes.iter().find(|size| !bounds.contains(*size)) {
            Some(size) => Err(outside(*size)),
            None => Ok(sizes),
        }
    }
}

/// Some lengths between two, equally likely.
fn random_sizes(from: usize, to: usize, seed: u64) -> Vec<usize> {
    let mut random = SplitMix64::new(seed);
    let count = RANDOM_SIZES_MAX.min(4 * (to - from + 1));
    let width = (to - from + 1) as f64;
    // One from each of equal stretches, then shuffled: exact proportions with few templates.
    let mut sizes: Vec<usize> = (0..count)
        .map(|index| from + ((index as f64 + random.uniform()) / count as f64 * width) as usize)
        .collect();
    shuffle(&mut sizes, &mut random);
    sizes
}

fn shuffle<T>(items: &mut [T], random: &mut SplitMix64) {
    for last in (1..items.len()).rev() {
        items.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
    }
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
