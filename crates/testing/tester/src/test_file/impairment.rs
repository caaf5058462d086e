//! The tables `[[impairment]]`.

use forebay_sim::Pair;
use serde::Deserialize;
use toml::Spanned;

/// What goes wrong on purpose.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [[impairment]]")]
pub struct ImpairmentEntry {
    /// The port where the frames come back.
    pub port: Spanned<u32>,
    /// The share that is lost.
    #[serde(default)]
    pub loss: f64,
    /// The share that comes twice.
    #[serde(default)]
    pub duplication: f64,
    /// The share that is held until others have passed.
    #[serde(default)]
    pub reordering: f64,
    /// How many others.
    #[serde(default = "reordering_by")]
    pub reordering_by: u32,
    /// How long frames take.
    pub delay: Option<DelayEntry>,
}

fn reordering_by() -> u32 {
    3
}

/// How long frames take: exactly one of these.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a delay, as in { constant_us = 50 },")]
pub struct DelayEntry {
    /// Always the same, in microseconds.
    pub constant_us: Option<f64>,
    /// Between these two.
    pub uniform_us: Option<Pair<f64>>,
    /// With this mean.
    pub exponential_us: Option<f64>,
}
