//! The tables `[[traffic]]`: the rate and the arrivals of a stream, and what else it has.

use super::flows::FlowsEntry;
use super::frame::FrameEntry;
use forebay_sim::Pair;
use serde::Deserialize;
use std::fmt;
use toml::Spanned;

/// A stream.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [[traffic]]")]
pub struct TrafficEntry {
    /// What it is called.
    pub name: Spanned<String>,
    /// The port it is sent by.
    pub from: Spanned<u32>,
    /// The port where it is expected; anywhere when it is not there.
    pub to: Option<Spanned<u32>>,
    /// Frames a second.
    pub pps: Option<Spanned<RateEntry>>,
    /// Bits a second on the wire, in 10^9.
    pub gbps: Option<Spanned<f64>>,
    /// Bits a second on the wire, in 10^6.
    pub mbps: Option<Spanned<f64>>,
    /// How frames follow one another.
    #[serde(default = "constant")]
    pub arrivals: Spanned<ArrivalsEntry>,
    /// The rate over time.
    pub shape: Option<Spanned<ShapeEntry>>,
    /// What its frames are.
    pub frame: Spanned<FrameEntry>,
    /// Its flows.
    pub flows: Option<Spanned<FlowsEntry>>,
}

fn constant() -> Spanned<ArrivalsEntry> {
    Spanned::new(0..0, ArrivalsEntry::Constant)
}

/// A rate in frames a second, or the highest that is possible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateEntry {
    /// A number per second.
    Fixed(f64),
    /// As many as the tester can send. There are no intended times then.
    Max,
}

impl<'de> Deserialize<'de> for RateEntry {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<RateEntry, D::Error> {
        deserializer.deserialize_any(RateVisitor)
    }
}

struct RateVisitor;

impl serde::de::Visitor<'_> for RateVisitor {
    type Value = RateEntry;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number of frames a second, or \"max\"")
    }

    fn visit_i64<E: serde::de::Error>(self, rate: i64) -> Result<RateEntry, E> {
        Ok(RateEntry::Fixed(rate as f64))
    }

    fn visit_f64<E: serde::de::Error>(self, rate: f64) -> Result<RateEntry, E> {
        Ok(RateEntry::Fixed(rate))
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<RateEntry, E> {
        match name {
            "max" => Ok(RateEntry::Max),
            _ => Err(E::custom(format!("a rate is a number, or \"max\", not {name:?}"))),
        }
    }
}

/// How frames follow one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ArrivalsEntry {
    /// At equal distances.
    #[default]
    Constant,
    /// At exponential distances.
    Poisson,
    /// A number at once.
    Bursts {
        /// Frames of a burst.
        frames: u32,
    },
}

/// The rate over time: exactly one of these.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a shape, as in { on_s = 0.1, off_s = 0.4 },")]
pub struct ShapeEntry {
    /// Seconds at full rate.
    pub on_s: Option<f64>,
    /// Seconds without frames, after those.
    pub off_s: Option<f64>,
    /// `[second, factor]`: the factor from then on.
    pub steps: Option<Vec<Pair<f64>>>,
    /// `[second, factor]`: the factor changes linearly from one to the next.
    pub ramp: Option<Vec<Pair<f64>>>,
}
