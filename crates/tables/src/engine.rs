//! The choice of an engine, and the one interface that all of them have.
//!
//! An engine answers one question, from a packet's key to the *slot* of the entry that wins. It
//! knows nothing of actions, so a table can replace an action without touching its engine, and an
//! engine can be replaced by a faster one without touching the table.

use forebay_bits::Bits;

use crate::entry::Entry;
use crate::exact::ExactEngine;
use crate::key::{KeySpec, MatchKind};
use crate::lpm::LpmEngine;
use crate::ternary::TernaryEngine;

/// The engine of one table.
#[derive(Clone, Debug)]
pub(crate) enum Engine {
    /// No field is matched: the table never hits (P4_16 §14.2.1.1).
    Keyless,
    Exact(ExactEngine),
    Lpm(LpmEngine),
    Ternary(TernaryEngine),
}

impl Engine {
    /// The engine for these fields, which do not contain selectors.
    pub(crate) fn new(fields: &[KeySpec]) -> Engine {
        if fields.is_empty() {
            return Engine::Keyless;
        }
        let mut inexact = fields
            .iter()
            .enumerate()
            .filter(|(_, field)| field.kind != MatchKind::Exact);
        match (inexact.next(), inexact.next()) {
            (None, _) => Engine::Exact(ExactEngine::default()),
            (Some((position, field)), None) if field.kind == MatchKind::Lpm => {
                Engine::Lpm(LpmEngine::new(position))
            }
            _ => Engine::Ternary(TernaryEngine::default()),
        }
    }

    /// Whether entries need priorities to be told apart.
    pub(crate) fn has_priorities(&self) -> bool {
        matches!(self, Engine::Ternary(_))
    }

    pub(crate) fn insert(&mut self, entry: &Entry) {
        let slot = entry.slot() as u32;
        match self {
            Engine::Keyless => {}
            Engine::Exact(engine) => engine.insert(entry.key(), slot),
            Engine::Lpm(engine) => engine.insert(entry.key(), slot),
            Engine::Ternary(engine) => {
                engine.insert(entry.key(), entry.priority(), entry.id(), slot);
            }
        }
    }

    pub(crate) fn remove(&mut self, entry: &Entry) {
        match self {
            Engine::Keyless => {}
            Engine::Exact(engine) => engine.remove(entry.key()),
            Engine::Lpm(engine) => engine.remove(entry.key()),
            Engine::Ternary(engine) => engine.remove(entry.priority(), entry.id()),
        }
    }

    /// The slot of the entry that wins for a key without selector fields.
    pub(crate) fn lookup(&self, key: &[Bits]) -> Option<u32> {
        match self {
            Engine::Keyless => None,
            Engine::Exact(engine) => engine.lookup(key),
            Engine::Lpm(engine) => engine.lookup(key),
            Engine::Ternary(engine) => engine.lookup(key),
        }
    }
}
