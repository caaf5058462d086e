//! The time that packets of a program take in a chip, from its parser and its stages.

use crate::pacer::Picos;
use crate::parse::{Costs, EgressStates, PARTS, ParseTree, Parsed, ingress_parser};
use crate::spec::{ChipSpec, Latency};
use forebay_ir::{Program, Role};
use forebay_pipeline::{IngressPacket, InstanceType, QueuedPacket};
use forebay_stages::{Machine, StageWait, Wait};

/// The times of a program on a chip.
#[derive(Debug)]
pub(crate) struct Timing {
    ingress: Option<ParseTree>,
    egress: Option<EgressStates>,
    /// From the ingress parser to the queues.
    pub(crate) ingress_latency: Picos,
    /// From the egress parser to the wire.
    pub(crate) egress_latency: Picos,
    /// Packets a second that a pipeline takes.
    pub(crate) packets_per_second: u64,
    /// Parts of cycles a second.
    pub(crate) parts_per_second: u64,
}

/// What is known of a packet's headers where it enters ingress.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrival {
    header_bytes: u32,
    frame_bytes: u32,
}

impl Timing {
    /// The timing of a program on a chip; `resubmits` says whether it ever resubmits a packet.
    pub(crate) fn new(spec: &ChipSpec, program: &Program, resubmits: bool) -> Timing {
        let clock = spec.pipelines.clock_hz;
        let cycles = match clock {
            0 => Cycles::default(),
            _ => Cycles::of(spec, program),
        };
        let picos = |cycles: u32| cycles as u64 * 1_000_000_000_000 / clock.max(1);
        let has_parsers = clock > 0;
        Timing {
            ingress: has_parsers.then(|| ingress_tree(spec, program, resubmits)).flatten(),
            egress: has_parsers.then(|| egress_states(spec, program)).flatten(),
            ingress_latency: picos(cycles.ingress) + spec.latency.ingress_rest_ps,
            egress_latency: picos(cycles.egress) + spec.latency.egress_rest_ps,
            packets_per_second: throttled(clock, cycles.ingress.max(cycles.egress), &spec.latency),
            parts_per_second: clock * u64::from(PARTS),
        }
    }

    /// The cost of a packet in the ingress parser, in parts of cycles, and what is needed of the packet later.
    #[inline]
    pub(crate) fn parse(&self, packet: &IngressPacket) -> (u32, Arrival) {
        let Some(tree) = &self.ingress else {
            return (0, Arrival::default());
        };
        let frame = &packet.bytes[..];
        let instance_type = packet.instance_type() as u32;
        let Parsed { parts, header_bytes } = tree.walk(frame, instance_type, packet.arguments.ingress_port);
        let arrival = Arrival {
            header_bytes,
            frame_bytes: frame.len() as u32,
        };
        (parts, arrival)
    }

    /// Parts of cycles that a packet takes in the egress parser.
    #[inline]
    pub(crate) fn parse_after(&self, packet: &QueuedPacket, arrival: Arrival) -> u32 {
        let Some(states) = &self.egress else { return 0 };
        let Arrival {
            header_bytes,
            frame_bytes,
        } = arrival;
        // A clone has the headers with which its packet came; of another packet, what the frame has grown or shrunk by
        // is headers, but for a frame that `truncate` has cut.
        let changed = match packet.instance_type() {
            InstanceType::IngressClone => Some(header_bytes),
            _ => (header_bytes + packet.length()).checked_sub(frame_bytes),
        };
        states.parts(changed.filter(|bytes| *bytes > 0).unwrap_or(header_bytes))
    }
}

fn ingress_tree(spec: &ChipSpec, program: &Program, resubmits: bool) -> Option<ParseTree> {
    let body = ingress_parser(program)?;
    let added = if resubmits {
        spec.parser.added_states_resubmit
    } else {
        spec.parser.added_states
    };
    let side = program
        .stage(Role::Ingress)
        .map_or(Role::MainControl, |_| Role::Ingress);
    let costs = Costs::new(program, &spec.parser, side);
    Some(ParseTree::new(program, body, &costs, added))
}

fn egress_states(spec: &ChipSpec, program: &Program) -> Option<EgressStates> {
    let own = program.stage(Role::EgressParser);
    let body = own.or_else(|| program.stage(Role::Parser))?;
    let costs = Costs::new(program, &spec.parser, Role::Egress);
    let tree = ParseTree::new(program, body, &costs, spec.parser.added_states_egress);
    Some(EgressStates::new(&tree, costs))
}

#[cfg(test)]
impl Timing {
    /// One state for every packet, and no latency.
    pub(crate) fn of_one_state(clock_hz: u64) -> Timing {
        Timing {
            ingress: Some(ParseTree::of_one_state()),
            egress: None,
            ingress_latency: 0,
            egress_latency: 0,
            packets_per_second: clock_hz,
            parts_per_second: clock_hz * u64::from(PARTS),
        }
    }
}

/// Cycles of the match-action stages.
#[derive(Clone, Copy, Default)]
struct Cycles {
    ingress: u32,
    egress: u32,
}

impl Cycles {
    /// From the placement on the chip's stages; of a chip without stages, none.
    fn of(spec: &ChipSpec, program: &Program) -> Cycles {
        let Some(machine) = spec.stages.as_deref().and_then(|name| Machine::named(name).ok()) else {
            return Cycles::default();
        };
        let report = forebay_stages::report(program, &machine);
        let latency = &spec.latency;
        let of = |names: &[&str]| {
            let controls = report.waits.iter().filter(|waits| names.contains(&waits.control));
            let stages = controls.flat_map(|control| &control.stages);
            latency.base_cycles + stages.map(|stage| of_stage(stage, latency)).sum::<u32>()
        };
        Cycles {
            // PNA has one pipeline.
            ingress: of(&["ingress", "pre", "main"]),
            egress: of(&["egress"]).max(latency.egress_least_cycles),
        }
    }
}

fn of_stage(stage: &StageWait, latency: &Latency) -> u32 {
    let more = |condition: bool, cycles: u32| if condition { cycles } else { 0 };
    match stage.wait {
        Wait::Match => {
            latency.match_cycles
                + more(stage.ternary, latency.ternary_cycles)
                + more(stage.register, latency.register_cycles)
        }
        Wait::Action => latency.action_cycles,
        Wait::Nothing => latency.concurrent_cycles,
    }
}

/// The most packets per second if the number of packets inside at a time is limited; 0 for no limit.
fn throttled(clock: u64, cycles: u32, latency: &Latency) -> u64 {
    let held = u64::from(cycles + latency.inside_cycles);
    match u64::from(latency.packets_inside) {
        0 => clock,
        inside => clock.min(clock * inside / held.max(1)),
    }
}
