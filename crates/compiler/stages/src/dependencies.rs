//! Which unit has to come after which, and why (after P. Bosshart et al., "Forwarding metamorphosis", SIGCOMM 2013,
//! §4).

use crate::conditions::Conditions;
use crate::effects::Slots;
use crate::units::{Kind as UnitKind, Unit};
use forebay_ir::{Program, SlotId};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// Why a unit comes after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It is matched by what the other writes: a later stage.
    Match,
    /// Its action computes with what the other writes: a later stage.
    Action,
    /// Both write the same: a later stage.
    Output,
    /// The other's hit or action decides about it: the same stage or a later one.
    Control,
    /// It writes what the other reads: the same stage or a later one.
    Anti,
}

impl Kind {
    /// Whether the unit has to be in a later stage.
    pub(crate) fn is_strict(self) -> bool {
        matches!(self, Kind::Match | Kind::Action | Kind::Output)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Kind::Match => "is matched by",
            Kind::Action => "computes with",
            Kind::Output => "also writes",
            Kind::Control => "is chosen by",
            Kind::Anti => "writes what it reads:",
        })
    }
}

/// A dependency between two units, by their numbers.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    pub(crate) before: usize,
    pub(crate) after: usize,
    pub(crate) kind: Kind,
    pub(crate) slot: SlotId,
}

/// All dependencies of a control's units; and for registers that need each other's value, a problem.
pub(crate) fn dependencies(
    program: &Program,
    units: &[Unit],
    conditions: &Conditions,
) -> (Vec<Dependency>, Vec<String>) {
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    for (after, second) in units.iter().enumerate() {
        for (before, first) in units[..after].iter().enumerate() {
            if !leads(conditions, first, second) {
                continue;
            }
            let forward = between(first, second);
            // A register's unit reaches from its reading to its writing: what stands between may give it something.
            let back = match first.kind {
                UnitKind::Register { .. } if second.begin < first.end => {
                    between(second, first).filter(|(kind, _)| *kind < Kind::Output)
                }
                _ => None,
            };
            match (forward, back) {
                (Some((kind, _)), Some((_, slot))) if kind < Kind::Output => {
                    problems.push(format!(
                        "`{}` and `{}` each need what the other gives (`{}`): no order of stages suits both",
                        first.name,
                        second.name,
                        program.slot(slot).name
                    ));
                    found.extend(dependency(before, after, forward));
                }
                (_, Some(back)) => found.extend(dependency(after, before, Some(back))),
                (forward, None) => found.extend(dependency(before, after, forward)),
            }
        }
    }
    (found, problems)
}

/// Registers that units access which cannot stand in one stage.
pub(crate) fn in_several_stages(program: &Program, units: &[Unit], dependencies: &[Dependency]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut told = BTreeSet::new();
    for (before, first) in units.iter().enumerate().filter(|(_, unit)| !unit.registers.is_empty()) {
        for (after, second) in units.iter().enumerate().filter(|(number, _)| *number != before) {
            let mut common = first.registers.intersection(&second.registers);
            let Some(register) = common.next().filter(|_| is_later(before, after, dependencies)) else {
                continue;
            };
            if told.insert(*register) {
                problems.push(format!(
                    "`{}` and `{}`, which stands in a later stage, access the register `{}`, which is in one stage",
                    first.name,
                    second.name,
                    program.registers[register.index()].name
                ));
            }
        }
    }
    problems
}

/// Whether a unit has to stand in a later stage than another one.
fn is_later(before: usize, after: usize, dependencies: &[Dependency]) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![(before, false)];
    while let Some((unit, is_strict)) = open.pop() {
        if (unit, is_strict) == (after, true) {
            return true;
        }
        if seen.insert((unit, is_strict)) {
            let next = dependencies.iter().filter(|dependency| dependency.before == unit);
            open.extend(next.map(|dependency| (dependency.after, is_strict || dependency.kind.is_strict())));
        }
    }
    false
}

fn dependency(before: usize, after: usize, why: Option<(Kind, SlotId)>) -> Option<Dependency> {
    why.map(|(kind, slot)| Dependency {
        before,
        after,
        kind,
        slot,
    })
}

fn leads(conditions: &Conditions, first: &Unit, second: &Unit) -> bool {
    let pairs = first
        .blocks
        .iter()
        .flat_map(|from| second.blocks.iter().map(move |to| (*from, *to)));
    pairs.into_iter().any(|(from, to)| conditions.leads(from, to))
}

/// The strongest reason why `second` must come after `first`.
fn between(first: &Unit, second: &Unit) -> Option<(Kind, SlotId)> {
    let common = |kind, one: &Slots, other: &Slots| one.intersection(other).next().map(|slot| (kind, *slot));
    let inputs = &first.matches | &first.reads;
    common(Kind::Match, &first.writes, &second.matches)
        .or_else(|| common(Kind::Action, &first.writes, &second.reads))
        .or_else(|| common(Kind::Action, &first.decides, &second.reads))
        .or_else(|| common(Kind::Output, &first.writes, &second.writes))
        .or_else(|| common(Kind::Control, &first.decides, &second.matches))
        .or_else(|| common(Kind::Anti, &inputs, &second.writes))
}
