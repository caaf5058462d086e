//! The table `[search]`.

use crate::search::Goal;
use crate::search::goal::NAMES;
use forebay_sim::suggestion;
use serde::Deserialize;
use std::fmt;
use toml::Spanned;

/// What a search looks for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [search]")]
pub struct SearchEntry {
    /// The least load that is tried, in frames a second of all streams together.
    pub min_pps: Option<Spanned<f64>>,
    /// The highest load that is tried.
    pub max_pps: Option<Spanned<f64>>,
    /// What is searched: `ndr`, `pdr`, `rfc2544`, `tst009`, or tables with numbers of their own.
    #[serde(default)]
    pub goals: Vec<Spanned<GoalEntry>>,
    /// Lengths of frames for the tests of RFC 2544, in place of those of the streams.
    #[serde(default)]
    pub frame_bytes: Vec<Spanned<usize>>,
    /// Makes all durations of goals shorter.
    #[serde(default = "full")]
    pub duration_scale: f64,
    /// The longest time that a search may take, in seconds.
    pub time_limit_s: Option<Spanned<f64>>,
}

impl Default for SearchEntry {
    fn default() -> SearchEntry {
        SearchEntry {
            min_pps: None,
            max_pps: None,
            goals: Vec::new(),
            frame_bytes: Vec::new(),
            duration_scale: full(),
            time_limit_s: None,
        }
    }
}

fn full() -> f64 {
    1.0
}

/// A goal of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum GoalEntry {
    /// One that has a name.
    Named(String),
    /// One with numbers of its own.
    Custom(CustomGoal),
}

impl<'de> Deserialize<'de> for GoalEntry {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<GoalEntry, D::Error> {
        deserializer.deserialize_any(GoalVisitor)
    }
}

struct GoalVisitor;

impl<'de> serde::de::Visitor<'de> for GoalVisitor {
    type Value = GoalEntry;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a goal, or { name = \"mine\", loss_ratio = 0.001, ... }")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<GoalEntry, E> {
        Ok(GoalEntry::Named(name.to_string()))
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<GoalEntry, A::Error> {
        let goal = CustomGoal::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        Ok(GoalEntry::Custom(goal))
    }
}

impl GoalEntry {
    /// The goals that it names.
    ///
    /// # Errors
    /// When there are none of this name, or its numbers contradict each other, in words.
    pub fn resolved(&self) -> Result<Vec<Goal>, String> {
        match self {
            GoalEntry::Custom(goal) => Goal::custom(goal).map(|goal| vec![goal]),
            GoalEntry::Named(name) => Goal::named(name)
                .ok_or_else(|| format!("there is no goal {name:?}{}", suggestion(name, NAMES.iter().copied()))),
        }
    }
}

impl SearchEntry {
    /// All goals, NDR and PDR when none is named, with scaled durations.
    ///
    /// # Errors
    /// As [`GoalEntry::resolved`].
    pub fn resolved(&self) -> Result<Vec<Goal>, String> {
        let mut goals = Vec::new();
        for goal in &self.goals {
            goals.extend(goal.get_ref().resolved()?);
        }
        if goals.is_empty() {
            goals = Goal::named("csit").unwrap_or_default();
        }
        Ok(goals.into_iter().map(|goal| goal.scaled(self.duration_scale)).collect())
    }
}

/// The numbers of a goal; see RFC draft MLRsearch, "Search Goal".
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomGoal {
    /// What it is called.
    pub name: String,
    /// The share of frames that may be lost in a good trial.
    #[serde(default)]
    pub loss_ratio: f64,
    /// The share of the time in trials with more loss at which a load is still good.
    #[serde(default)]
    pub exceed_ratio: f64,
    /// The shortest trial.
    #[serde(default = "second")]
    pub initial_trial_s: f64,
    /// The trials that decide.
    #[serde(default = "second")]
    pub final_trial_s: f64,
    /// How much time of trials decides.
    #[serde(default = "second")]
    pub duration_sum_s: f64,
    /// How near the bounds come, as a share of the load.
    #[serde(default = "width")]
    pub width: f64,
}

fn second() -> f64 {
    1.0
}

fn width() -> f64 {
    0.005
}
