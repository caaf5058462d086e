//! Follows the graph of a program's architecture ([`forebay_ir::pipeline`]) with a packet.
//!
//! Glue and bodies run in the engine with which the pipeline was loaded, until an operation affects more than the
//! packet itself. Whatever the architecture is, packets enter at the same two points: from a port or a loop
//! ([`Walk::arrive`]), and from a queue ([`Walk::leave_queue`]). They end as [`Outcome`]s, which the callers convert
//! to decisions for the switch.
//!
//! # Order
//!
//! A mirrored packet is processed, up to its queue, before the packet from which it was made continues. Requests and
//! the deparser's output belong to one packet, so those of the original are set aside meanwhile.

mod burst;
mod compiled;
mod interpreted;
mod outcome;

pub(crate) use burst::Continued;

use crate::outcome::DropReason;
use crate::packet::{Contents, EgressArguments, IngressPacket, InstanceType, LeavingPacket, Preserved, QueuedPacket};
use crate::replication::{CloneSession, Replica};
use crate::straight::clone_head::FromEgress;
use crate::worker::{Burst, WorkerScratch, verdict};
use forebay_exec::{BitBuffer, Random, Requests, State, Tracer, eval};
use forebay_ir::pipeline::DropReason as Said;
use forebay_ir::pipeline::{End, Entry, Finish, GlueOp, Graph, Mirror, MirrorFrame, Target};
use forebay_ir::{BlockId, Expr, SlotId};
use forebay_jit::graph::At;
pub(crate) use outcome::Outcome;

/// What is known about a packet, apart from its contents, while it follows the graph.
#[derive(Clone, Copy)]
struct PacketInfo<'a> {
    /// Set after a queue.
    egress: Option<&'a EgressArguments>,
    replica: Option<Replica>,
    /// The number of the clone session, the session, and those of its ports that are used.
    session: Option<(u32, &'a CloneSession, &'a [Replica])>,
    /// The instance type with which it goes to a queue.
    instance_type: InstanceType,
    /// The error with which the last parser ended.
    parser_error: u32,
    /// The state of the generator for `random`.
    random: Random,
    /// The values of the end at which machine code stopped: see [`forebay_jit::graph::GraphPass::end_values`].
    end_values: Option<[u64; 3]>,
}

impl PacketInfo<'_> {
    /// The facts of a packet that enters ingress.
    fn new(random: Random) -> Self {
        PacketInfo {
            egress: None,
            replica: None,
            session: None,
            instance_type: InstanceType::Normal,
            parser_error: 0,
            random,
            end_values: None,
        }
    }

    /// The time at which processing on this side of the queue began.
    fn time_us(&self, packet: &Contents) -> u64 {
        self.egress
            .map_or(packet.arguments.timestamp_us, |arguments| arguments.timestamp_us)
    }

    /// The values of the current end. The interpreter computes them here.
    fn numbers<const COUNT: usize>(&self, state: &State, exprs: [&Expr; COUNT]) -> [u64; COUNT] {
        match self.end_values {
            Some(values) => std::array::from_fn(|index| values[index]),
            None => exprs.map(|expr| eval(expr, state, &[]).to_u64()),
        }
    }
}

/// Takes a packet, and packets made from it, through the graph.
pub(crate) struct Walk<'w, 'a, T> {
    pub(crate) scratch: &'w mut WorkerScratch,
    pub(crate) burst: Burst<'a>,
    pub(crate) graph: &'a Graph,
    /// Receives the outcomes of packets.
    pub(crate) sink: &'w mut dyn FnMut(Outcome),
    pub(crate) tracer: &'w mut T,
}

/// The point at which a packet continues.
#[derive(Clone, Copy)]
enum Start {
    Entry(Entry),
    Place(At),
}

/// Why bodies and glue stop: the caller must act on the packet as a whole.
enum Stop<'a> {
    Op(&'a GlueOp),
    End(&'a End),
    Drop(DropReason),
}

impl<'a, T: Tracer> Walk<'_, 'a, T> {
    /// Processes a packet from a port, or one that was resubmitted or recirculated.
    pub(crate) fn arrive(mut self, packet: IngressPacket) {
        let mut packet = packet.0;
        let entry = match packet.instance_type {
            InstanceType::Resubmitted => Entry::Resubmitted,
            InstanceType::Recirculated => Entry::Recirculated,
            _ => Entry::Arrival,
        };
        packet.payload_bit = 0;
        packet.ingress_length = packet.frame().len() as u32;
        self.give_state(&mut packet);
        let info = PacketInfo::new(Random::new(packet.arguments.random_seed));
        self.follow(packet, info, entry);
    }

    /// Processes a clone that the fast path has noted, for one of the ports of its session. `preserved` are the values
    /// that it keeps. The frame is that with which the clone begins; for a clone that begins in egress with headers, it
    /// is what the parser left.
    pub(crate) fn clone_noted(
        mut self,
        frame: IngressPacket,
        (number, replica): (u32, usize),
        preserved: Preserved,
        entry: Entry,
        from_egress: Option<FromEgress<'_>>,
    ) {
        let mut clone = frame.0;
        let session = self.session(number);
        let replica = session.and_then(|session| session.replicas.get(replica..=replica));
        let (Some(session), Some(replicas)) = (session, replica) else {
            return self.scratch.pool.recycle_packet(clone);
        };
        let info = PacketInfo::new(Random::new(clone.arguments.random_seed));
        clone.payload_bit = 0;
        clone.ingress_length = clone.frame().len() as u32;
        match from_egress {
            None => self.give_state(&mut clone),
            Some(from) => self.give_headers(&mut clone, from),
        }
        clone.preserved = preserved;
        self.follow_mirrored(clone, entry, (number, session, replicas), &info);
    }

    /// Gives a clone from egress its state.
    fn give_headers(&mut self, clone: &mut Contents, from: FromEgress<'_>) {
        let pipeline = self.burst.pipeline;
        self.scratch.pool.renew_state(clone, &pipeline.storage.zero);
        let [length, received] = from.lengths;
        clone.ingress_length = received;
        let state = clone.state();
        from.headers
            .into_iter()
            .for_each(|(slot, value)| state.set(slot, value));
        let header_bytes = pipeline.storage.valid_header_bytes(state);
        if let Some([behind, of_headers]) = forebay_arch::v1model::lengths_of_clones(&pipeline.program) {
            state.set_number(behind, length.into());
            state.set_number(of_headers, header_bytes.into());
        }
    }

    /// A session of the replication engine. Without one, the loss is counted.
    fn session(&mut self, number: u32) -> Option<&'a CloneSession> {
        let session = self.burst.view.snapshot.replication.clone_sessions.get(&number);
        match session {
            Some(session) => {
                let ports = session.replicas.len();
                verdict(self.tracer, || format!("clone by session {number} to {ports} ports"));
            }
            None => {
                verdict(self.tracer, || format!("no clone: there is no session {number}"));
                self.scratch.count_drop(self.burst, DropReason::NoCloneSession);
            }
        }
        session
    }

    /// Processes a packet from a queue.
    pub(crate) fn leave_queue(mut self, packet: QueuedPacket, arguments: &'a EgressArguments) {
        let entry = Entry::Dequeued(packet.resume);
        let info = PacketInfo {
            egress: Some(arguments),
            instance_type: packet.instance_type,
            ..PacketInfo::new(Random::new(arguments.random_seed))
        };
        self.follow(packet.0, info, entry);
    }

    /// Gives the packet a state with all slots 0. With machine code, the code clears them.
    fn give_state(&mut self, packet: &mut Contents) {
        let zero = &self.burst.pipeline.storage.zero;
        match self.burst.graph_site::<T>() {
            Some(_) => self.scratch.pool.give_state(packet, zero),
            None => self.scratch.pool.renew_state(packet, zero),
        }
    }

    #[inline]
    fn follow(&mut self, mut packet: Box<Contents>, mut info: PacketInfo<'a>, entry: Entry) {
        self.scratch.scratch.requests.clear();
        self.scratch.scratch.buffers.output.clear();
        let mut from = Start::Entry(entry);
        match self.advance(&mut packet, &mut info, &mut from) {
            // The usual case: only the end is left.
            Stop::End(end) if !matches!(end, End::Replicate { .. }) => self.leave(packet, &info, end),
            stop => self.go_on_from(packet, &mut info, stop, from),
        }
    }

    /// Continues from a stop to the packet's end. `from` is the point at which the packet continues after the stop.
    #[inline(never)]
    fn go_on_from(
        &mut self,
        mut packet: Box<Contents>,
        info: &mut PacketInfo<'a>,
        mut stop: Stop<'a>,
        mut from: Start,
    ) {
        loop {
            match stop {
                Stop::Op(op) => {
                    if let Err(reason) = self.with_packet(op, &mut packet, info) {
                        return self.drop_packet(packet, reason);
                    }
                }
                Stop::End(End::Replicate { target, each, none }) => {
                    match self.replicate(packet, info, target, (*each, *none)) {
                        Some((rest, none)) => {
                            packet = rest;
                            from = Start::Place(At::beginning(none));
                        }
                        None => return,
                    }
                }
                Stop::End(end) => return self.leave(packet, info, end),
                Stop::Drop(reason) => return self.drop_packet(packet, reason),
            }
            stop = self.advance(&mut packet, info, &mut from);
        }
    }

    /// Runs bodies and glue until an operation needs the whole packet.
    fn advance(&mut self, packet: &mut Contents, info: &mut PacketInfo<'a>, from: &mut Start) -> Stop<'a> {
        match self.burst.graph_site::<T>() {
            Some(site) => self.advance_compiled(site, packet, info, from),
            None => self.advance_interpreted(packet, info, from),
        }
    }

    /// Executes an operation on the packet as a whole.
    fn with_packet(&mut self, op: &GlueOp, packet: &mut Contents, info: &PacketInfo<'a>) -> Result<(), DropReason> {
        match op {
            GlueOp::Commit => {
                self.send_digests();
                Ok(())
            }
            GlueOp::Mirror(mirror) => {
                self.mirror(mirror, packet, info);
                Ok(())
            }
            GlueOp::Reframe { truncate } => self.reframe(truncate.as_ref(), packet),
            _ => Ok(()),
        }
    }

    fn send_digests(&mut self) {
        let sink = &mut self.sink;
        self.scratch
            .take_digests(self.burst, |message| sink(Outcome::Digest(Box::new(message))));
    }

    /// Makes the emitted bytes, followed by what the parser left, the frame.
    fn reframe(&mut self, truncate: Option<&Expr>, packet: &mut Contents) -> Result<(), DropReason> {
        let limit = truncate.map(|limit| eval(limit, packet.state(), &[]).to_u64());
        packet.truncate_to = limit.and_then(|limit| limit.checked_sub(1)).map(|bytes| bytes as u32);
        self.put_together(packet);
        if let Some(limit) = packet.truncate_to.take() {
            packet.bytes.truncate(limit as usize);
        }
        packet.payload_bit = 0;
        self.scratch.scratch.buffers.output.clear();
        if packet.bytes.len() > self.burst.pipeline.options.packet_limit as usize {
            return Err(DropReason::PacketTooLong);
        }
        packet.ingress_length = packet.bytes.len() as u32;
        Ok(())
    }

    /// Puts the emitted bytes in front of the part that the parser left, in the frame's own buffer unless it is
    /// shared.
    fn put_together(&mut self, packet: &mut Contents) {
        let output = &mut self.scratch.scratch.buffers.output;
        let pool = &mut self.scratch.pool;
        let payload_bit = packet.payload_bit;
        if packet.shared.is_none() && (output.len_bits() | payload_bit).is_multiple_of(8) {
            // Bytes that will be truncated need not be moved.
            let limit = packet.truncate_to.map_or(usize::MAX, |limit| limit as usize);
            let kept = limit.saturating_sub(output.len_bits() / 8);
            packet.bytes.truncate(kept.saturating_add(payload_bit / 8));
            return packet.bytes.replace_front(payload_bit / 8, output.bytes());
        }
        output.push_from(packet.frame(), payload_bit);
        let bytes = output.take(pool.buffer().into_memory()).into();
        pool.recycle(std::mem::replace(&mut packet.bytes, bytes));
        if let Some(shared) = packet.shared.take() {
            pool.recycle_shared(shared);
        }
    }

    fn mirror(&mut self, mirror: &Mirror, packet: &mut Contents, info: &PacketInfo<'a>) {
        let number = eval(&mirror.session, packet.state(), &[]).to_u64() as u32;
        let from_egress = mirror.to == Entry::CloneEgress;
        let limit = self.burst.pipeline.options.clone_limit;
        if from_egress && packet.passes.clones_used >= limit {
            verdict(self.tracer, || "no clone: too many clones of clones".to_string());
            return self.scratch.count_drop(self.burst, DropReason::CloneLimit);
        }
        let Some(session) = self.session(number) else { return };
        let mut clone = self.copy(mirror.frame, packet);
        clone.preserved.take(packet.state(), &mirror.preserve);
        let (requests, output) = self.put_aside();
        let to = (number, session, session.replicas.as_slice());
        self.follow_mirrored(clone, mirror.to, to, info);
        self.scratch.scratch.requests = requests;
        self.scratch.scratch.buffers.output = output;
    }

    /// Sets aside the requests and the output of a packet, because others are processed first.
    fn put_aside(&mut self) -> (Requests, BitBuffer) {
        let scratch = &mut self.scratch.scratch;
        (
            std::mem::take(&mut scratch.requests),
            std::mem::take(&mut scratch.buffers.output),
        )
    }

    /// Processes the copies of a mirrored packet.
    fn follow_mirrored(
        &mut self,
        mut clone: Box<Contents>,
        to: Entry,
        session: (u32, &'a CloneSession, &'a [Replica]),
        info: &PacketInfo<'a>,
    ) {
        let from_egress = to == Entry::CloneEgress;
        if from_egress {
            let left = self
                .burst
                .pipeline
                .options
                .clone_limit
                .saturating_sub(clone.passes.clones_used);
            let copies = (session.1.replicas.len() as u32).max(1);
            clone.passes.clones_used += left - left.saturating_sub(copies) / copies;
            clone.passes.egress_clones += 1;
        }
        let info = PacketInfo {
            session: Some(session),
            replica: None,
            instance_type: if from_egress {
                InstanceType::EgressClone
            } else {
                InstanceType::IngressClone
            },
            ..*info
        };
        self.follow(clone, info, to);
    }

    /// The initial contents of a mirrored packet.
    fn copy(&mut self, frame: MirrorFrame, packet: &mut Contents) -> Box<Contents> {
        if frame == MirrorFrame::WithState {
            return self.scratch.pool.copy_of(packet);
        }
        let mut clone = self.scratch.pool.packet();
        clone.copy_facts(packet);
        clone.bytes = self.scratch.pool.buffer();
        clone.bytes.extend_from_slice(packet.frame());
        clone.payload_bit = 0;
        clone.ingress_length = clone.bytes.len() as u32;
        self.give_state(&mut clone);
        clone
    }

    /// Sends a copy to each member; the packet itself goes to the last one. Without members, returns the packet and
    /// the block at which it continues, if there is one.
    fn replicate(
        &mut self,
        mut packet: Box<Contents>,
        info: &PacketInfo<'a>,
        target: &Target,
        (each, none): (Entry, Option<BlockId>),
    ) -> Option<(Box<Contents>, BlockId)> {
        let (members, instance_type) = self.members(&mut packet, info, target);
        let Some((last, others)) = members.split_last() else {
            let Some(none) = none else {
                self.scratch.pool.recycle_packet(packet);
                return None;
            };
            return Some((packet, none));
        };
        let info = |replica: &Replica| PacketInfo {
            replica: Some(*replica),
            instance_type,
            ..*info
        };
        for replica in others {
            let copy = self.scratch.pool.copy_of(&mut packet);
            self.follow(copy, info(replica), each);
        }
        self.follow(packet, info(last), each);
        None
    }

    fn members(
        &mut self,
        packet: &mut Contents,
        info: &PacketInfo<'a>,
        target: &Target,
    ) -> (&'a [Replica], InstanceType) {
        match target {
            Target::Group(group) => {
                let group = match info.end_values {
                    Some([group, ..]) => group,
                    None => eval(group, packet.state(), &[]).to_u64_saturating(),
                };
                let number = u16::try_from(group).ok();
                let replication = &self.burst.view.snapshot.replication;
                let members = number.map_or(&[][..], |number| replication.members(number));
                let count = members.len();
                verdict(self.tracer, || format!("multicast to group {group} of {count} members"));
                (members, InstanceType::Replicated)
            }
            Target::Session => {
                let replicas = info.session.map(|(_, _, replicas)| replicas);
                (replicas.unwrap_or_default(), info.instance_type)
            }
        }
    }

    /// Handles the end of a packet's path through the graph.
    fn leave(&mut self, mut packet: Box<Contents>, info: &PacketInfo<'a>, end: &End) {
        match end {
            End::Suspend {
                port,
                class,
                length,
                resume,
                preserve,
            } => self.suspend(packet, info, (port, class, length), (*resume, preserve)),
            End::Finish(Finish::Transmit { port }) => self.transmit(packet, info, port),
            End::Finish(Finish::Drop(reason)) => {
                let error = match (info.end_values, reason.error) {
                    (Some([error, ..]), _) => error,
                    (None, Some(slot)) => packet.state().get_u64(slot),
                    (None, None) => 0,
                };
                let reason = drop_reason(error, reason.otherwise);
                self.drop_packet(packet, reason);
            }
            End::Finish(Finish::Resubmit(pairs)) => self.resubmit(packet, pairs),
            End::Finish(Finish::Recirculate(pairs)) => self.recirculate(packet, pairs),
            _ => unreachable!("ends with a next block are followed"),
        }
    }

    fn suspend(
        &mut self,
        mut packet: Box<Contents>,
        info: &PacketInfo<'_>,
        (port, class, length): (&Expr, &Expr, &Expr),
        (resume, preserve): (Entry, &[(SlotId, SlotId)]),
    ) {
        let state = packet.state();
        let [port, class, length] = info.numbers(state, [port, class, length]);
        let (port, class, length) = (port as u32, class as u8, length as u32);
        packet.preserve(preserve);
        packet.egress_port = port;
        packet.instance = info.replica.map_or(0, |replica| replica.instance);
        packet.priority = class;
        packet.packet_length = length;
        packet.truncate_to = None;
        packet.instance_type = info.instance_type;
        packet.resume = match resume {
            Entry::Dequeued(number) => number,
            _ => 0,
        };
        if info.replica.is_none() {
            verdict(self.tracer, || match class {
                0 => format!("enqueue for port {port}"),
                queue => format!("enqueue for port {port}, queue {queue}"),
            });
        }
        (self.sink)(Outcome::Enqueue(QueuedPacket(packet)));
    }

    fn transmit(&mut self, mut packet: Box<Contents>, info: &PacketInfo<'_>, port: &Expr) {
        let [port] = info.numbers(packet.state(), [port]).map(|port| port as u32);
        self.own_frame(&mut packet);
        self.scratch.pool.recycle_state(&mut packet);
        packet.egress_port = port;
        let length = packet.bytes.len();
        verdict(self.tracer, || format!("transmit {length} bytes on port {port}"));
        (self.sink)(Outcome::Transmit(LeavingPacket(packet)));
    }

    fn resubmit(&mut self, mut packet: Box<Contents>, pairs: &[(SlotId, SlotId)]) {
        packet.preserve(pairs);
        packet.passes = packet.passes.resubmitted();
        if packet.passes.resubmissions > self.burst.pipeline.options.resubmit_limit {
            return self.drop_packet(packet, DropReason::ResubmitLimit);
        }
        verdict(self.tracer, || "resubmit".to_string());
        packet.instance_type = InstanceType::Resubmitted;
        self.own_frame(&mut packet);
        (self.sink)(Outcome::Resubmit(IngressPacket(packet)));
    }

    fn recirculate(&mut self, mut packet: Box<Contents>, pairs: &[(SlotId, SlotId)]) {
        packet.passes = packet.passes.recirculated();
        if packet.passes.recirculations > self.burst.pipeline.options.recirculate_limit {
            return self.drop_packet(packet, DropReason::RecirculateLimit);
        }
        packet.preserve(pairs);
        self.own_frame(&mut packet);
        let length = packet.bytes.len();
        verdict(self.tracer, || format!("recirculate {length} bytes"));
        packet.instance_type = InstanceType::Recirculated;
        self.scratch.pool.recycle_state(&mut packet);
        (self.sink)(Outcome::Recirculate(IngressPacket(packet)));
    }

    /// Gives the packet a frame that is not shared.
    fn own_frame(&mut self, packet: &mut Contents) {
        if let Some(shared) = packet.shared.take() {
            packet.bytes = self.scratch.pool.buffer();
            packet.bytes.extend_from_slice(&shared);
            self.scratch.pool.recycle_shared(shared);
        }
    }

    fn drop_packet(&mut self, packet: Box<Contents>, reason: DropReason) {
        verdict(self.tracer, || format!("drop: {reason}"));
        self.scratch.count_drop(self.burst, reason);
        (self.sink)(Outcome::Drop(reason));
        self.scratch.end_pass(self.burst);
        self.scratch.pool.recycle_packet(packet);
    }
}

/// A limit as a number: bytes plus 1, or 0 for no limit.
fn limit(bytes: Option<u32>) -> u64 {
    bytes.map_or(0, |bytes| u64::from(bytes) + 1)
}

/// A drop for the parser's error, if there was one, or for another reason.
fn drop_reason(error: u64, otherwise: Said) -> DropReason {
    match (error as u16, otherwise) {
        (0, Said::Ingress) => DropReason::IngressDrop,
        (0, Said::Egress) => DropReason::EgressDrop,
        (0, Said::NoMember) => DropReason::NoMulticastMember,
        (error, _) => DropReason::ParserError(error),
    }
}
