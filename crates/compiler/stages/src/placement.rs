//! Places units on stages: stage by stage, the unit with the longest chain of dependent units first.

use crate::demand::Demand;
use crate::dependencies::Dependency;
use crate::machine::{Machine, Stage};
use crate::units::{Kind, Unit};

/// More stages than any chip has: what does not fit a chip is placed on further passes, up to here.
pub(crate) const STAGES_MAX: usize = 512;

/// What is taken of a stage.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    pub(crate) demand: Demand,
    /// Whether a register wider than an arithmetic unit stands here.
    pub(crate) has_wide_register: bool,
}

/// Where a unit stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) first: usize,
    pub(crate) last: usize,
}

/// Places the units of a control on stages, part of which others may have taken; `Err` has the units that cannot stand
/// anywhere.
pub(crate) fn place(
    machine: &Machine,
    units: &[Unit],
    dependencies: &[Dependency],
    stages: &mut Vec<Taken>,
) -> Result<Vec<Span>, Vec<usize>> {
    let tails = tails(units, dependencies);
    let before = before_each(units, dependencies);
    let mut spans: Vec<Option<Span>> = vec![None; units.len()];
    for stage in 0..STAGES_MAX {
        while let Some((unit, parts)) = next(machine, units, &before, &tails, &spans, stages, stage) {
            for (index, part) in parts.iter().enumerate() {
                let taken = at(stages, stage + index);
                taken.demand += *part;
                taken.has_wide_register |= units[unit].kind == Kind::Register { is_wide: true };
            }
            spans[unit] = Some(Span {
                first: stage,
                last: stage + parts.len() - 1,
            });
        }
        if spans.iter().all(Option::is_some) {
            break;
        }
    }
    let missing: Vec<usize> = (0..units.len()).filter(|unit| spans[*unit].is_none()).collect();
    if missing.is_empty() {
        Ok(spans.into_iter().flatten().collect())
    } else {
        Err(missing)
    }
}

fn at(stages: &mut Vec<Taken>, stage: usize) -> &mut Taken {
    if stages.len() <= stage {
        stages.resize(stage + 1, Taken::default());
    }
    &mut stages[stage]
}

/// By unit: its dependencies on others.
fn before_each<'a>(units: &[Unit], dependencies: &'a [Dependency]) -> Vec<Vec<&'a Dependency>> {
    let mut before = vec![Vec::new(); units.len()];
    for dependency in dependencies {
        before[dependency.after].push(dependency);
    }
    before
}

/// A unit that can begin in the stage, and what it takes of this one and those after it.
fn next(
    machine: &Machine,
    units: &[Unit],
    before: &[Vec<&Dependency>],
    tails: &[usize],
    spans: &[Option<Span>],
    stages: &[Taken],
    stage: usize,
) -> Option<(usize, Vec<Demand>)> {
    let mut ready: Vec<usize> = (0..units.len())
        .filter(|unit| spans[*unit].is_none() && earliest(&before[*unit], spans).is_some_and(|at| at <= stage))
        .collect();
    ready.sort_by_key(|unit| std::cmp::Reverse(tails[*unit]));
    let mut tries = ready.into_iter();
    tries.find_map(|unit| Some((unit, parts(machine, &units[unit], stages, stage)?)))
}

/// The first stage that what stands before a unit leaves to it; nothing while that is not placed.
fn earliest(before: &[&Dependency], spans: &[Option<Span>]) -> Option<usize> {
    before
        .iter()
        .map(|dependency| spans[dependency.before].map(|span| span.last + usize::from(dependency.kind.is_strict())))
        .try_fold(0, |latest, stage| Some(latest.max(stage?)))
}

/// What a unit takes of the stages from one on, if it can begin there.
fn parts(machine: &Machine, unit: &Unit, stages: &[Taken], first: usize) -> Option<Vec<Demand>> {
    let mut rest = unit.demand;
    let mut parts = Vec::new();
    for stage in first..STAGES_MAX {
        let taken = stages.get(stage).copied().unwrap_or_default();
        if unit.kind == (Kind::Register { is_wide: true }) && taken.has_wide_register {
            return None;
        }
        parts.push(part(&machine.stage, unit, &mut rest, taken.demand)?);
        if is_complete(unit, &rest) && parts.len() >= unit.stages {
            return Some(parts);
        }
    }
    None
}

fn is_complete(unit: &Unit, rest: &Demand) -> bool {
    let memory = rest.sram_blocks + rest.tcam_blocks;
    match unit.kind {
        Kind::Register { .. } => rest.register_alus == 0,
        Kind::Table | Kind::Counters | Kind::Operations => memory == 0,
    }
}

/// As much of a unit as a stage has room for: memory and registers' arithmetic units may be divided, all else is needed
/// in each stage. Nothing when it is not enough for a part.
fn part(stage: &Stage, unit: &Unit, rest: &mut Demand, taken: Demand) -> Option<Demand> {
    let mut part = unit.demand;
    match unit.kind {
        Kind::Register { .. } => {
            let of_alu = unit
                .demand
                .sram_blocks
                .div_ceil(unit.demand.register_alus.max(1))
                .max(1);
            let alus = stage.register_alus.saturating_sub(taken.register_alus);
            let memory = stage.sram_blocks.saturating_sub(taken.sram_blocks) / of_alu;
            part.register_alus = rest.register_alus.min(alus).min(memory);
            part.sram_blocks = part.register_alus * of_alu;
            rest.register_alus -= part.register_alus;
            if part.register_alus == 0 {
                return None;
            }
        }
        Kind::Table | Kind::Counters | Kind::Operations => {
            part.sram_blocks = rest
                .sram_blocks
                .min(stage.sram_blocks.saturating_sub(taken.sram_blocks));
            part.tcam_blocks = rest
                .tcam_blocks
                .min(stage.tcam_blocks.saturating_sub(taken.tcam_blocks));
            let wants_memory = rest.sram_blocks + rest.tcam_blocks > 0;
            rest.sram_blocks -= part.sram_blocks;
            rest.tcam_blocks -= part.tcam_blocks;
            if wants_memory && part.sram_blocks + part.tcam_blocks == 0 {
                return None;
            }
        }
    }
    (taken + part).fits(stage).then_some(part)
}

/// By unit: the stages from it to the end of the longest way that begins with it.
pub(crate) fn tails(units: &[Unit], dependencies: &[Dependency]) -> Vec<usize> {
    let mut tails: Vec<usize> = units.iter().map(|unit| unit.stages).collect();
    // As many rounds as the longest way has units; registers may point back, but never round and round.
    for _ in 0..units.len() {
        let mut changed = false;
        for dependency in dependencies {
            let step = if dependency.kind.is_strict() {
                units[dependency.before].stages
            } else {
                0
            };
            let through = step + tails[dependency.after];
            if through > tails[dependency.before] {
                tails[dependency.before] = through;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    tails
}
