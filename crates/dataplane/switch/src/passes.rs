//! The slow path: packets pass both sides of the pipeline one after another.
//!
//! ```text
//!  packet ─► ingress ─► queue empty, port has room? ── yes ─► egress ─► port     then the next packet
//!                                │ no
//!                                └─► queue ─ ─ ─ ─ (a later poll) ─ ─ ─► egress ─► port
//! ```
//!
//! # Order
//!
//! Everything that a packet does to registers, counters and meters, up to its end or its queue, happens before
//! anything that the worker's next packet does. The order is that of the fast path, of the interpreter and of machine
//! code, so a program cannot distinguish them. A packet that finds its queue empty is not queued: egress sees depths
//! of 0, and no time in between. What the program makes of a packet follows it at once: copies and clones in the order
//! in which the pipeline decides on them, and resubmitted packets before the next packet. Recirculated packets wait
//! for the next poll.

use crate::counters::Counters;
use crate::delay::Delays;
use crate::port_table::{PortTable, Sent};
use crate::switch::{Config, booking_port};
use crate::traffic_manager::TrafficManager;
use forebay_pipeline::{
    Cloned, DigestMessage, DropReason, EgressArguments, EgressDecision, EgressPacket, GoingOn, IngressArguments,
    IngressDecision, IngressPacket, LeavingPacket, Origin, QueuedPacket, Session, Tracer,
};
use std::collections::VecDeque;

/// What surrounds the worker while packets pass through it.
pub(crate) struct Around<'a> {
    pub(crate) config: &'a Config,
    pub(crate) ports: &'a mut PortTable,
    pub(crate) queues: &'a mut TrafficManager,
    pub(crate) looping: &'a mut VecDeque<IngressPacket>,
    pub(crate) digests: &'a mut Digests,
    pub(crate) counters: &'a mut Counters,
    pub(crate) delays: &'a mut Delays,
    pub(crate) buffers: &'a mut Buffers,
    pub(crate) now_ns: u64,
    pub(crate) now_us: u64,
    /// The number of packets that have entered egress so far.
    pub(crate) egress: u64,
}

/// Messages to the control plane.
#[derive(Default)]
pub(crate) struct Digests {
    pub(crate) waiting: Vec<DigestMessage>,
    pub(crate) lost: u64,
}

/// Buffers that are kept so that nothing is allocated for a packet.
#[derive(Default)]
pub(crate) struct Buffers {
    /// Packets about to pass ingress, in order.
    pub(crate) entering: VecDeque<IngressPacket>,
    /// Resubmitted packets, which come before these.
    pub(crate) resubmitted: VecDeque<IngressPacket>,
    /// Packets that pass egress at once.
    leaving: VecDeque<EgressPacket>,
    ingress: Vec<IngressDecision>,
    egress: Vec<EgressDecision>,
    /// Clones of the packet that has just left egress.
    clones: Vec<QueuedPacket>,
    dequeued: Vec<EgressPacket>,
}

impl Buffers {
    /// Whether packets wait for ingress.
    #[inline]
    pub(crate) fn are_entering(&self) -> bool {
        !self.entering.is_empty() || !self.resubmitted.is_empty()
    }
}

impl Digests {
    /// Adds a message, unless too many wait.
    pub(crate) fn push(&mut self, message: DigestMessage, config: &Config) {
        if self.waiting.len() < config.digest_capacity {
            self.waiting.push(message);
        } else {
            self.lost += 1;
        }
    }
}

impl Around<'_> {
    /// Takes entering packets to their ends or their queues. Stops after a packet that requests table entries: the
    /// next packet finds these in the next session. Returns how many packets entered.
    pub(crate) fn enter_all<T: Tracer>(&mut self, session: &mut Session<'_>, tracer: &mut T) -> u64 {
        let mut entered = 0;
        while !session.has_learned() {
            let buffers = &mut *self.buffers;
            let resubmitted = buffers.resubmitted.pop_front();
            let Some(packet) = resubmitted.or_else(|| buffers.entering.pop_front()) else {
                break;
            };
            entered += 1;
            self.enter(session, packet, tracer);
        }
        entered
    }

    /// Takes packets from their queues through egress, as long as ports have room; at most as many as are waiting now.
    pub(crate) fn serve_queues<T: Tracer>(&mut self, session: &mut Session<'_>, tracer: &mut T) {
        for _ in 0..self.queues.len() {
            let mut dequeued = std::mem::take(&mut self.buffers.dequeued);
            let room = |port| self.ports.room(port);
            self.queues.dequeue(&mut dequeued, 1, self.now_us, room);
            let Some(packet) = dequeued.pop() else {
                self.buffers.dequeued = dequeued;
                break;
            };
            self.buffers.dequeued = dequeued;
            self.buffers.leaving.push_back(packet);
            self.leave_all(session, tracer);
        }
    }

    fn enter<T: Tracer>(&mut self, session: &mut Session<'_>, mut packet: IngressPacket, tracer: &mut T) {
        packet.arguments.timestamp_us = self.now_us;
        packet.arguments.random_seed = packet.ingress_seed(self.config.random_seed);
        let port = packet.arguments.ingress_port;
        let mut decisions = std::mem::take(&mut self.buffers.ingress);
        session.ingress(packet, |decision| decisions.push(decision), tracer);
        self.count_copies(decisions.iter().filter(|decision| decision.is_verdict()).count());
        self.after_ingress(session, &mut decisions, port, tracer);
        self.buffers.ingress = decisions;
    }

    /// Processes a clone of a packet of this origin that was made on the fast path and takes the slow path. Each of its
    /// verdicts counts as that of a copy.
    pub(crate) fn clone<T: Tracer>(
        &mut self,
        session: &mut Session<'_>,
        clone: (Cloned, &[u8]),
        arguments: IngressArguments,
        origin: Origin,
        tracer: &mut T,
    ) {
        let mut decisions = std::mem::take(&mut self.buffers.ingress);
        session.clone(clone, arguments, origin, |decision| decisions.push(decision), tracer);
        self.counters.copies += decisions.len() as u64;
        self.after_ingress(session, &mut decisions, arguments.ingress_port, tracer);
        self.buffers.ingress = decisions;
    }

    /// Processes a packet that arrived at a port and continues on its own: see [`Session::go_on`].
    pub(crate) fn go_on<T: Tracer>(
        &mut self,
        session: &mut Session<'_>,
        packet: GoingOn,
        ingress_port: u32,
        tracer: &mut T,
    ) {
        let (mut ingress, mut egress) = (
            std::mem::take(&mut self.buffers.ingress),
            std::mem::take(&mut self.buffers.egress),
        );
        let egress_port = packet.egress_port();
        self.egress += u64::from(egress_port.is_some());
        let port = egress_port
            .filter(|port| self.ports.contains(*port))
            .unwrap_or(ingress_port);
        session.go_on(
            packet,
            |decision| ingress.push(decision),
            |decision| egress.push(decision),
            tracer,
        );
        let before_queue = ingress.iter().filter(|decision| decision.is_verdict()).count();
        let after_queue = egress.iter().filter(|decision| decision.is_verdict()).count();
        self.count_copies(before_queue + after_queue);
        self.after_ingress(session, &mut ingress, port, tracer);
        for decision in egress.drain(..) {
            self.after_egress(session, decision, port, self.now_us);
        }
        (self.buffers.ingress, self.buffers.egress) = (ingress, egress);
        self.enqueue_clones(session);
        self.leave_all(session, tracer);
    }

    fn after_ingress<T: Tracer>(
        &mut self,
        session: &mut Session<'_>,
        decisions: &mut Vec<IngressDecision>,
        port: u32,
        tracer: &mut T,
    ) {
        for decision in decisions.drain(..) {
            match decision {
                IngressDecision::Enqueue(packet) => {
                    self.enqueue(session, packet);
                    self.leave_all(session, tracer);
                }
                IngressDecision::Digest(message) => self.digest(*message),
                IngressDecision::Resubmit(packet) => self.buffers.resubmitted.push_back(packet),
                IngressDecision::Recirculate(packet) => self.go_round(session, packet),
                IngressDecision::Drop(reason) => self.book_drops(port, reason, 1),
            }
        }
    }

    /// Takes packets that need not wait through egress, and the packets made from them.
    fn leave_all<T: Tracer>(&mut self, session: &mut Session<'_>, tracer: &mut T) {
        while let Some(mut packet) = self.buffers.leaving.pop_front() {
            self.egress += 1;
            let port = booking_port(self.ports, &packet.packet);
            let began_us = packet.packet.arguments.timestamp_us;
            packet.arguments.random_seed = packet.packet.egress_seed(self.config.random_seed);
            let mut decisions = std::mem::take(&mut self.buffers.egress);
            session.egress(packet, |decision| decisions.push(decision), tracer);
            self.count_copies(decisions.iter().filter(|decision| decision.is_verdict()).count());
            for decision in decisions.drain(..) {
                self.after_egress(session, decision, port, began_us);
            }
            self.buffers.egress = decisions;
            self.enqueue_clones(session);
        }
    }

    /// Enqueues clones after the packet itself, which may have taken the last room of its port.
    fn enqueue_clones(&mut self, session: &mut Session<'_>) {
        let mut clones = std::mem::take(&mut self.buffers.clones);
        clones.drain(..).for_each(|clone| self.enqueue(session, clone));
        self.buffers.clones = clones;
    }

    fn after_egress(&mut self, session: &mut Session<'_>, decision: EgressDecision, port: u32, began_us: u64) {
        match decision {
            EgressDecision::Transmit(packet) => {
                if self.send(session, packet, port) {
                    self.delays.leaves(self.began_ns(began_us));
                }
            }
            EgressDecision::Enqueue(clone) => self.buffers.clones.push(clone),
            EgressDecision::Digest(message) => self.digest(*message),
            EgressDecision::Recirculate(packet) => self.go_round(session, packet),
            EgressDecision::Drop(reason) => self.book_drops(port, reason, 1),
        }
    }

    /// Sends a packet to egress at once, or puts it into the queue of its egress port. The port need not be attached:
    /// egress runs in either case, as in simple_switch.
    fn enqueue(&mut self, session: &mut Session<'_>, mut packet: QueuedPacket) {
        let port = packet.egress_port;
        let to_same_port = |leaving: &&EgressPacket| leaving.packet.egress_port == port;
        let before = self.buffers.leaving.iter().filter(to_same_port).count();
        if self.ports.room(port) > before && self.queues.pass(&mut packet, self.now_us) {
            let arguments = EgressArguments {
                timestamp_us: self.now_us,
                enq_timestamp_us: self.now_us,
                ..EgressArguments::default()
            };
            return self.buffers.leaving.push_back(EgressPacket { packet, arguments });
        }
        let port = booking_port(self.ports, &packet);
        if let Err(packet) = self.queues.enqueue(packet, self.now_us) {
            session.discard(packet);
            self.drop_here(session, port, DropReason::QueueFull);
        }
    }

    /// Sends a packet by its port. Returns whether that port exists. If not, the drop is counted at `port`.
    fn send(&mut self, session: &mut Session<'_>, packet: LeavingPacket, port: u32) -> bool {
        let sent = self
            .ports
            .send(packet.egress_port, &packet.bytes, packet.tag, self.now_ns);
        match sent {
            Some(sent) => self.count_sent(session, sent),
            None => self.drop_here(session, port, DropReason::NoSuchPort),
        }
        session.recycle(packet);
        sent.is_some()
    }

    /// The beginning of a packet with this ingress timestamp, in the clock of polls.
    fn began_ns(&self, began_us: u64) -> u64 {
        if began_us == self.now_us {
            self.now_ns
        } else {
            self.config.start_ns + began_us * 1_000
        }
    }

    /// Sends a packet back to ingress.
    fn go_round(&mut self, session: &mut Session<'_>, packet: IngressPacket) {
        if self.looping.len() >= self.config.loop_capacity {
            return self.drop_here(session, packet.arguments.ingress_port, DropReason::QueueFull);
        }
        self.looping.push_back(packet);
    }

    fn digest(&mut self, message: DigestMessage) {
        self.digests.push(message, self.config);
    }

    /// Counts a drop that the switch decides. The pipeline has counted its own.
    fn drop_here(&mut self, session: &Session<'_>, port: u32, reason: DropReason) {
        session.count_drop(reason);
        self.book_drops(port, reason, 1);
    }

    fn book_drops(&mut self, port: u32, reason: DropReason, count: u64) {
        self.counters.dropped += count;
        self.ports.count_drops(port, reason, count);
    }

    fn count_sent(&mut self, session: &Session<'_>, sent: Sent) {
        self.counters.count_sent(sent);
        (0..sent.refused).for_each(|_| session.count_drop(DropReason::PortError));
    }

    /// Counts copies: every packet has one verdict, and each further one belongs to a copy.
    fn count_copies(&mut self, verdicts: usize) {
        self.counters.copies += (verdicts as u64).checked_sub(1).expect("every packet has a verdict");
    }
}
