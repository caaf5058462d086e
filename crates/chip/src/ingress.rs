//! The ingress pipelines: from a parser channel to the traffic manager.
//!
//! A packet takes the same time through a pipeline whatever the program does with it, so packets leave in the order in
//! which they entered. What the program decides is not needed before the packet leaves. So the program is executed for
//! some packets that are inside when the first of them leaves, as one burst, unless egress could see the difference (see
//! [`crate::sharing`]).

use crate::chip::{Chip, Context};
use crate::events::Kind;
use crate::network::Observer;
use crate::pacer::Picos;
use crate::parser_channel::Origin;
use forebay_pipeline::{IngressDecision, IngressPacket, InstanceType, NoTrace, QueuedPacket};
use std::collections::VecDeque;

/// The program is executed for so many packets together: enough that its code stays in the processor's caches meanwhile, few
/// enough that they do.
const BURST: usize = 16;

/// A packet inside.
struct Inside {
    port: u16,
    tag: u64,
    /// How often the program has decided about it.
    decisions: u32,
}

/// Packets between parser and traffic manager, of all pipelines together in the order of their entry.
pub(crate) struct IngressLine {
    inside: VecDeque<Inside>,
    /// The youngest of those inside, for which the program was not yet executed.
    waiting: VecDeque<IngressPacket>,
    /// What the program decided about the others.
    decided: VecDeque<IngressDecision>,
    /// Whether packets wait for the program to be executed for several at once.
    in_bursts: bool,
}

impl IngressLine {
    pub(crate) fn new(in_bursts: bool) -> IngressLine {
        IngressLine {
            inside: VecDeque::new(),
            waiting: VecDeque::new(),
            decided: VecDeque::new(),
            in_bursts,
        }
    }

    pub(crate) fn packets(&self) -> u64 {
        self.inside.len() as u64
    }
}

impl Chip {
    /// A packet has been taken in by its channel: it enters the pipeline with the next clock, and the channel takes in the
    /// next one.
    pub(crate) fn parsed<O: Observer>(&mut self, index: u16, context: &mut Context<'_, O>) {
        let port = &mut self.ports[usize::from(index)];
        if !port.has_clock {
            let tick = self.pipes[usize::from(port.pipe)].ingress.tick(context.now);
            if tick > context.now {
                port.has_clock = true;
                return context.schedule(tick, Kind::Parsed, index);
            }
        }
        port.has_clock = false;
        let mut packet = port.channel.finish();
        packet.arguments.timestamp_us = microseconds(context.now);
        packet.arguments.random_seed = self.random.next_u64();
        let leaves = context.now + self.spec.pipelines.ingress_latency_ps;
        context.schedule(leaves, Kind::IngressDone, 0);
        if let Some(duration) = port.channel.begin() {
            context.schedule(context.now + duration, Kind::Parsed, index);
        }
        self.enter_ingress(index, packet);
    }

    #[inline]
    fn enter_ingress(&mut self, port: u16, packet: IngressPacket) {
        self.books.ingress_passes += 1;
        self.line.inside.push_back(Inside {
            port,
            tag: packet.tag,
            decisions: 0,
        });
        self.line.waiting.push_back(packet);
        if !self.line.in_bursts {
            self.execute_ingress();
        }
    }

    /// Executes the program for the first packets that wait for it.
    #[inline(never)]
    fn execute_ingress(&mut self) {
        let IngressLine {
            inside,
            waiting,
            decided,
            ..
        } = &mut self.line;
        let first = inside.len() - waiting.len();
        let burst = waiting.drain(..waiting.len().min(BURST));
        let decide = |index, decision| {
            inside[first + index].decisions += 1;
            decided.push_back(decision);
        };
        self.worker.ingress_each(burst, decide, &mut NoTrace);
    }

    /// The first packet leaves ingress.
    pub(crate) fn ingress_done<O: Observer>(&mut self, context: &mut Context<'_, O>) {
        if self.line.waiting.len() == self.line.inside.len() {
            self.execute_ingress();
        }
        let leaves = self.line.inside.pop_front();
        let Inside {
            port, tag, decisions, ..
        } = leaves.expect("a packet leaves that is inside");
        let (mut fates, mut replicas) = (0, 0);
        for _ in 0..decisions {
            let decision = self.line.decided.pop_front().expect("it was decided so often");
            fates += u64::from(!matches!(decision, IngressDecision::Digest(_)));
            match decision {
                IngressDecision::Enqueue(packet) if packet.instance_type() == InstanceType::Replicated => {
                    replicas += 1;
                    self.replica(packet, replicas, port, context);
                }
                IngressDecision::Enqueue(packet) => self.enqueue(packet, port, context),
                IngressDecision::Resubmit(packet) => self.arrive(port, Origin::Resubmitted, packet, context),
                IngressDecision::Digest(message) => self.keep_digest(*message),
                IngressDecision::Drop(reason) => self.drop_by_program(port, tag, reason, context),
            }
        }
        self.books.copies += fates - 1;
    }

    /// The first copy goes as any packet does, the others over the bus.
    #[inline(never)]
    fn replica<O: Observer>(&mut self, packet: QueuedPacket, count: u32, port: u16, context: &mut Context<'_, O>) {
        if count == 1 {
            return self.enqueue(packet, port, context);
        }
        let pipe = self.ports[usize::from(port)].pipe;
        match self.pipes[usize::from(pipe)].bus.offer(packet) {
            Ok(true) => self.begin_copy(pipe, context),
            Ok(false) => {}
            Err(packet) => {
                self.lose(port, packet.tag, crate::Loss::ReplicationBufferFull, context);
                self.worker.discard(packet);
            }
        }
    }

    fn begin_copy<O: Observer>(&mut self, pipe: u16, context: &mut Context<'_, O>) {
        if let Some(duration) = self.pipes[usize::from(pipe)].bus.begin(&self.spec) {
            context.schedule(context.now + duration, Kind::CopyDone, pipe);
        }
    }

    /// A copy has left the bus.
    pub(crate) fn copy_done<O: Observer>(&mut self, pipe: u16, context: &mut Context<'_, O>) {
        let packet = self.pipes[usize::from(pipe)].bus.finish();
        let port = packet.egress_port as u16;
        self.enqueue(packet, port, context);
        self.begin_copy(pipe, context);
    }
}

/// Whole microseconds, the unit of v1model's timestamps.
pub(crate) fn microseconds(time: Picos) -> u64 {
    time / 1_000_000
}
