//! The ingress pipelines: from a parser to the traffic manager.
//!
//! A packet takes the same time through a pipeline whatever the program does with it, so packets leave in the order in
//! which they entered. What the program decides is not needed before the packet leaves. So the program is executed for
//! some packets that are inside when the first of them leaves, as one burst, unless egress could see the difference
//! (see [`crate::sharing`]).

use crate::books::Loss;
use crate::chip::{Chip, Context};
use crate::drops::{DropTracer, ProgramDrop};
use crate::events::Kind;
use crate::network::{Observer, Part};
use crate::pacer::Picos;
use crate::parser_channel::{Incoming, Origin};
use crate::port::Port;
use crate::timing::{Arrival, Timing};
use crate::traffic_manager::Wanted;
use forebay_ir::Location;
use forebay_pipeline::{IngressDecision, IngressPacket, NoTrace};
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;

/// The number of packets for which the program is executed together: enough that its code stays in the processor's
/// caches meanwhile, few enough that they do.
const BURST: usize = 16;

/// A packet inside.
struct Inside {
    port: u16,
    entered: Picos,
    random_seed: u64,
    arrival: Arrival,
    execution: Cell<Execution>,
    /// The decisions of the program about it so far; at least one when it was executed.
    decisions: Cell<u32>,
}

/// How far the program has been executed for a packet inside.
enum Execution {
    /// The program has not been executed for the packet yet. The packet's memory is not accessed before.
    Waits(IngressPacket),
    /// The program is being executed for the packet with this tag.
    Runs(u64),
    /// What the program decided first.
    Decided {
        first: Decision,
        /// What the traffic manager needs of a packet that goes to a queue.
        wanted: Wanted,
        tag: u64,
    },
}

/// Something that the program decided about a packet.
struct Decision {
    what: IngressDecision,
    /// Where in the source it decided to drop the packet, if that is wanted.
    location: Option<Location>,
}

impl Inside {
    /// The packet, as it enters ingress.
    #[inline]
    fn take(&self) -> IngressPacket {
        let Execution::Waits(mut packet) = self.execution.replace(Execution::Runs(0)) else {
            unreachable!("the program is executed once for each packet");
        };
        packet.arguments.timestamp_us = microseconds(self.entered);
        packet.arguments.random_seed = self.random_seed;
        self.execution.set(Execution::Runs(packet.tag));
        packet
    }

    /// Keeps what the program has decided first.
    #[inline]
    fn decide(&self, first: Decision, timing: &Timing) {
        let wanted = match &first.what {
            IngressDecision::Enqueue(packet) => Wanted::of(packet, timing.parse_after(packet, self.arrival)),
            _ => Wanted::default(),
        };
        let tag = match self.execution.replace(Execution::Runs(0)) {
            Execution::Runs(tag) => tag,
            _ => unreachable!("the program is being executed for it"),
        };
        self.execution.set(Execution::Decided { first, wanted, tag });
    }
}

/// Packets between parser and traffic manager, of all pipelines with the same registers, in the order of their entry.
pub(crate) struct IngressLine {
    inside: VecDeque<Inside>,
    /// What else the program decided about those for which it was executed.
    others: VecDeque<Decision>,
    /// Whether packets wait for the program to be executed for several at once.
    in_bursts: bool,
}

impl IngressLine {
    pub(crate) fn new(in_bursts: bool) -> IngressLine {
        IngressLine {
            inside: VecDeque::new(),
            others: VecDeque::new(),
            in_bursts,
        }
    }

    pub(crate) fn packets(&self) -> u64 {
        self.inside.len() as u64
    }
}

impl Chip {
    /// A packet has been parsed: it enters the pipeline with the next clock, and the parser takes the next one.
    #[inline]
    pub(crate) fn parsed<O: Observer>(&mut self, index: u16, context: &mut Context<'_, O>) {
        let port = &mut self.ports[usize::from(index)];
        if !port.has_clock {
            if let Some((tag, duration)) = port.channel.serving() {
                context.inside(index, Part::Parser, tag, (context.now - duration, context.now));
            }
            let tick = self.pipes[usize::from(port.pipe)].ingress.tick(context.now);
            if tick > context.now {
                port.has_clock = true;
                return context.schedule(tick, Kind::Parsed, index);
            }
        }
        port.has_clock = false;
        let (packet, arrival) = port.channel.finish();
        let state = port.state;
        let leaves = context.now + self.timing.ingress_latency;
        context.schedule(leaves, Kind::IngressDone, state);
        context.inside(index, Part::Ingress, packet.tag, (context.now, leaves));
        if let Some(duration) = port.channel.begin(&self.timing, context.now) {
            context.schedule(context.now + duration, Kind::Parsed, index);
        }
        self.books.ingress_passes += 1;
        let line = &mut self.lines[usize::from(state)];
        line.inside.push_back(Inside {
            port: index,
            entered: context.now,
            random_seed: self.seeds.next(),
            arrival,
            execution: Cell::new(Execution::Waits(packet)),
            decisions: Cell::new(0),
        });
        if !line.in_bursts {
            let last = line.inside.len() - 1;
            self.execute_ingress(state, last, context.observer.wants_locations());
        }
    }

    /// Executes the program for packets from this place in a line on, where none has been before.
    #[inline(never)]
    fn execute_ingress(&mut self, state: u16, place: usize, with_locations: bool) {
        let (worker, line, timing) = self.of_ingress(state);
        let IngressLine { inside, others, .. } = line;
        let burst = place..inside.len().min(place + BURST);
        let packets = inside.range(burst).map(Inside::take);
        let mut keep = |index: usize, decision| {
            let packet = &inside[place + index];
            match packet.decisions.replace(packet.decisions.get() + 1) {
                0 => packet.decide(decision, timing),
                _ => others.push_back(decision),
            }
        };
        if with_locations {
            let pipeline = Arc::clone(worker.pipeline());
            let tracer = DropTracer::new(pipeline.program());
            let located = |index, what| {
                let location = tracer.location();
                keep(index, Decision { what, location });
            };
            worker.ingress_each(packets.inspect(|_| tracer.begin_packet()), located, &mut &tracer);
        } else {
            let located = |index, what| keep(index, Decision { what, location: None });
            worker.ingress_each(packets, located, &mut NoTrace);
        }
    }

    /// The first packet of a line leaves ingress.
    #[inline]
    pub(crate) fn ingress_done<O: Observer>(&mut self, state: u16, context: &mut Context<'_, O>) {
        let first = self.lines[usize::from(state)].inside.front();
        if first.is_some_and(|first| first.decisions.get() == 0) {
            self.execute_ingress(state, 0, context.observer.wants_locations());
        }
        let line = &mut self.lines[usize::from(state)];
        let leaves = line.inside.pop_front().expect("a packet leaves that is inside");
        let Execution::Decided { first, wanted, tag } = leaves.execution.into_inner() else {
            unreachable!("something was decided about it");
        };
        match (first.what, leaves.decisions.get()) {
            (IngressDecision::Enqueue(packet), 1) => self.enqueue_as(packet, wanted, leaves.port, context),
            (what, decisions) => {
                let packet = (leaves.port, tag, leaves.arrival);
                let location = first.location;
                self.decided(Decision { what, location }, decisions - 1, packet, context);
            }
        }
    }

    /// What becomes of a packet, with its port, its tag and what the parser met, for which the program did not decide
    /// just that it goes to a queue.
    #[inline(never)]
    fn decided<O: Observer>(
        &mut self,
        first: Decision,
        mut others: u32,
        (port, tag, arrival): (u16, u64, Arrival),
        context: &mut Context<'_, O>,
    ) {
        let state = usize::from(self.ports[usize::from(port)].state);
        let mut verdicts = 0;
        let mut next = Some(first);
        while let Some(Decision { what, location }) = next {
            verdicts += u64::from(what.is_verdict());
            match what {
                IngressDecision::Enqueue(packet) => {
                    let parts = self.timing.parse_after(&packet, arrival);
                    self.enqueue(packet, port, parts, context);
                }
                // Without a recirculation port on this side, a packet goes round as one that is resubmitted.
                IngressDecision::Resubmit(packet) | IngressDecision::Recirculate(packet) => {
                    self.resubmit(port, packet, context);
                }
                IngressDecision::Digest(message) => self.keep_digest(*message),
                IngressDecision::Drop(reason) => {
                    self.drop_by_program(port, tag, ProgramDrop { reason, location }, context);
                }
            }
            next = match others {
                0 => None,
                _ => self.lines[state].others.pop_front(),
            };
            others = others.saturating_sub(1);
        }
        self.books.copies += verdicts - 1;
    }

    /// A packet goes back to its port's parser, as often as the chip permits.
    fn resubmit<O: Observer>(&mut self, port: u16, packet: IngressPacket, context: &mut Context<'_, O>) {
        let limit = self.spec.parser.max_resubmissions;
        if limit > 0 && packet.passes().resubmissions > limit {
            return self.lose_arrived(port, packet, Loss::ResubmittedTooOften, context);
        }
        self.arrive(port, Origin::Resubmitted, packet, context);
    }
}

impl Port {
    /// A packet comes to the parser, and comes back when there is no room for it.
    #[inline(always)]
    pub(crate) fn arrive<O: Observer>(
        &mut self,
        index: u16,
        origin: Origin,
        incoming: Incoming,
        timing: &Timing,
        context: &mut Context<'_, O>,
    ) -> Result<(), (Loss, IngressPacket)> {
        if let Some(duration) = self.channel.offer(origin, incoming, timing, context.now)? {
            context.schedule(context.now + duration, Kind::Parsed, index);
        }
        Ok(())
    }
}

/// Whole microseconds, the unit of v1model's timestamps.
pub(crate) fn microseconds(time: Picos) -> u64 {
    time / 1_000_000
}
