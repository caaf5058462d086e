//! How the stages of a control wait for one another: what the latency of a packet hangs on (after P. Bosshart et al.,
//! "Forwarding metamorphosis", SIGCOMM 2013, §4).

use crate::dependencies::{Dependency, Kind};
use crate::placement::Span;
use crate::units::{Kind as UnitKind, Unit};
use serde::Serialize;

/// What a stage waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// For nothing: it begins with the stage before it.
    #[default]
    Nothing,
    /// Its actions compute with what an earlier stage writes.
    Action,
    /// It is matched by what an earlier stage writes: it begins when that one has ended.
    Match,
}

/// A stage as one control uses it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StageWait {
    /// What it waits for; the first stage always matches.
    pub wait: Wait,
    /// Whether it searches a TCAM.
    pub ternary: bool,
    /// Whether it accesses a register.
    pub register: bool,
}

/// The stages of a control, from the first to the last of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ControlWaits {
    /// `ingress` or `egress`; of PNA `pre` or `main`.
    pub control: &'static str,
    /// Stage by stage.
    pub stages: Vec<StageWait>,
}

/// The waits of a control whose units stand at `spans`, in a machine with this number of stages.
pub(crate) fn waits(
    control: &'static str,
    units: &[Unit],
    dependencies: &[Dependency],
    spans: &[Span],
    stages: usize,
) -> ControlWaits {
    let last = spans.iter().map(|span| span.last + 1).max().unwrap_or(0);
    let mut found = vec![StageWait::default(); stages.max(last)];
    // The stage that the present one would have to be matched after: earlier ones have ended already.
    let mut matched = 0;
    for (stage, entry) in found.iter_mut().enumerate() {
        let here = || {
            units
                .iter()
                .zip(spans)
                .filter(|(_, span)| (span.first..=span.last).contains(&stage))
        };
        entry.ternary = here().any(|(unit, _)| unit.demand.tcam_blocks > 0);
        entry.register = here().any(|(unit, _)| unit.demand.register_alus > 0);
        entry.wait = match stage {
            0 => Wait::Match,
            _ => {
                let after = dependencies.iter().filter(|dependency| {
                    spans[dependency.after].first == stage && (matched..stage).contains(&spans[dependency.before].last)
                });
                let continued = here().filter(|(unit, span)| span.first < stage && computes(unit));
                let of_units = continued.map(|_| Wait::Action);
                after
                    .map(|dependency| wait_of(dependency.kind))
                    .chain(of_units)
                    .max()
                    .unwrap_or_default()
            }
        };
        if entry.wait == Wait::Match {
            matched = stage;
        }
    }
    ControlWaits { control, stages: found }
}

/// Whether the stages of a unit compute with one another's results; those of a wide register or a large table do not.
fn computes(unit: &Unit) -> bool {
    unit.stages > 1 && !matches!(unit.kind, UnitKind::Register { .. })
}

fn wait_of(kind: Kind) -> Wait {
    match kind {
        Kind::Match => Wait::Match,
        Kind::Action | Kind::Output => Wait::Action,
        Kind::Control | Kind::Anti => Wait::Nothing,
    }
}
