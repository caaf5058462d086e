//! Scenarios for the timed model: which chips run which programs, what traffic comes, and what is measured.
//!
//! ```text
//!  scenario.toml ─► parameters ─► scenario ─► Setup ─► run ─► Results ─► table, JSON, plots
//!                   ${N} put in   read, all    programs  │
//!                                 mistakes     compiled, └─ search: the highest load without loss
//!                                 named with   rules of  └─ sweep: every combination of parameters, on all cores
//!                                 their lines  chips kept
//! ```
//!
//! * [`expand`] gives a text for each combination of parameters; [`Setup::new`] reads one and finds whatever is wrong
//!   before any time is simulated.
//! * [`Setup::run`] simulates once. The same setup and seed give the same [`Results`], byte for byte, on any machine.
//! * [`Setup::run_with_departures`] records every frame that leaves, too.
//! * [`CoSimulation`] is the network of a scenario without traffic: another simulator submits frames and says how far
//!   time goes.
//! * [`find_max`] searches by halving for the highest load without loss, as often as the scenario wants to be sure.
//! * [`Variation`] changes one thing of a setup, to see how much a result hangs on it.
//!
//! Files, clocks and threads are the caller's: programs and files come through a [`Library`], and a run tells its
//! [`Progress`] how far it has come.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

mod certainty;
mod check;
mod cosimulation;
mod departures;
mod effect;
mod expression;
mod frames;
mod hosts;
mod line_rate;
mod measure;
mod messages;
mod numbers;
mod pair;
mod parameters;
mod parts;
mod places;
pub mod plot;
mod recording;
mod reordering;
mod results;
mod rows;
pub mod rules;
mod run;
mod scenario;
mod search;
mod setup;
mod sizes;
mod source;
mod streams;
mod suggestion;
mod table;
pub mod timeline;
mod timer;
mod variation;
mod wires;
mod words;

pub use certainty::{Certainty, Repetition};
pub use cosimulation::{CoSimulation, Left, Past};
pub use departures::Departure;
pub use forebay_chip::{ChipSpec, Constant, Picos, Place};
pub use pair::Pair;
pub use parameters::{Case, Put, expand};
pub use places::key_place;
pub use recording::{RecordedChip, Recording};
pub use results::{
    ChipResults, FlowResults, LatencyResults, Lifted, MessageResults, OutputResults, PartsResults, PortResults,
    QueueResults, ReorderingResults, Results, SourceResults,
};
pub use rows::{Row, rows};
pub use run::{Progress, Run, Silent};
pub use scenario::{ArrivalsEntry as Arrivals, Measures, Problem, Scenario, line_of};
pub use search::{Backlog, Search, SearchResults, Trial, find_max};
pub use setup::{Library, Setup, chip_spec};
pub use sizes::SizeEntry;
pub use suggestion::{nearest, suggestion};
pub use table::{fitted_text, search_text, text as results_text, unsourced_text};
pub use variation::Variation;
pub use words::number;
