//! Follows the graph of a program's architecture ([`forebay_ir::pipeline`]) with a packet.
//!
//! Bodies run in the engine that the pipeline was loaded with; the glue between them is interpreted. Whatever the
//! architecture is, packets enter at the same two places, from a port or a loop ([`Walk::arrive`]) and from a queue
//! ([`Walk::leave_queue`]), and end as [`Outcome`]s, which the callers turn into decisions for the switch.
//!
//! # Order
//!
//! A mirrored packet goes its way, up to its queue, before the packet that it was made from goes on. Requests and what a
//! deparser emitted belong to one packet; they are put aside meanwhile.

mod outcome;

use crate::outcome::DropReason;
use crate::packet::{Contents, EgressArguments, IngressPacket, InstanceType, Preserved, QueuedPacket};
use crate::replication::{CloneSession, Replica};
use crate::v1model::pass::Pass;
use crate::v1model::{Burst, WorkerScratch, verdict};
use forebay_exec::{Ended, Input, PacketFacts, Preserve, Requests, State, Tracer, eval};
use forebay_ir::pipeline::{Argument, Clear, End, Entry, Finish, GlueOp, Graph, Mirror, MirrorFrame, Reason, Target};
use forebay_ir::{BlockId, BodyId, BodyKind, Expr, SlotId};
pub(crate) use outcome::Outcome;

/// What is known of a packet besides its contents while it follows the graph.
#[derive(Clone, Copy)]
struct Told<'a> {
    /// Behind a queue.
    egress: Option<EgressArguments>,
    replica: Option<Replica>,
    session: Option<(u32, &'a CloneSession)>,
    /// What it is called when it goes to a queue.
    instance_type: InstanceType,
    /// With which the last parser ended.
    parser_error: u32,
}

/// The way of a packet, and of those that are made from it, through the graph.
pub(crate) struct Walk<'w, 'a, T> {
    pub(crate) scratch: &'w mut WorkerScratch,
    pub(crate) burst: Burst<'a>,
    pub(crate) graph: &'a Graph,
    /// Is told what becomes of packets.
    pub(crate) sink: &'w mut dyn FnMut(Outcome),
    pub(crate) tracer: &'w mut T,
}

/// A place in the graph.
struct At {
    block: BlockId,
    op: usize,
}

/// Why bodies and glue cannot go on without the packet itself.
enum Stop<'a> {
    Op(&'a GlueOp),
    End(&'a End),
    Drop(DropReason),
}

impl<'a, T: Tracer> Walk<'_, 'a, T> {
    /// A packet from a port, or one that was resubmitted or recirculated.
    pub(crate) fn arrive(mut self, packet: IngressPacket) {
        let mut packet = packet.0;
        let entry = match packet.instance_type {
            InstanceType::Resubmitted => Entry::Resubmitted,
            InstanceType::Recirculated => Entry::Recirculated,
            _ => Entry::Arrival,
        };
        packet.payload_bit = 0;
        packet.ingress_length = packet.frame().len() as u32;
        let zero = &self.burst.pipeline.storage.zero;
        self.scratch.pool.renew_state(&mut packet, zero);
        let told = Told {
            egress: None,
            replica: None,
            session: None,
            instance_type: InstanceType::Normal,
            parser_error: 0,
        };
        self.follow(packet, told, entry);
    }

    /// A packet from a queue.
    pub(crate) fn leave_queue(mut self, packet: QueuedPacket, arguments: EgressArguments) {
        let entry = Entry::Dequeued(packet.resume);
        let told = Told {
            egress: Some(arguments),
            replica: None,
            session: None,
            instance_type: packet.instance_type,
            parser_error: 0,
        };
        self.follow(packet.0, told, entry);
    }

    fn follow(&mut self, mut packet: Box<Contents>, mut told: Told<'a>, entry: Entry) {
        let mut at = At {
            block: self.graph.entries[&entry].block,
            op: 0,
        };
        self.scratch.scratch.requests.clear();
        self.scratch.scratch.buffers.output.clear();
        loop {
            match self.advance(&mut packet, &mut told, &mut at) {
                Stop::Op(op) => {
                    if let Err(reason) = self.with_packet(op, &mut packet, &told) {
                        return self.drop_packet(packet, reason);
                    }
                }
                Stop::End(End::Replicate { target, each, none }) => {
                    match self.replicate(packet, &told, target, (*each, *none)) {
                        Some((rest, none)) => {
                            packet = rest;
                            at = At { block: none, op: 0 };
                        }
                        None => return,
                    }
                }
                Stop::End(end) => return self.leave(packet, &told, end),
                Stop::Drop(reason) => return self.drop_packet(packet, reason),
            }
        }
    }

    /// Runs bodies and glue up to what needs the whole packet.
    fn advance(&mut self, packet: &mut Contents, told: &mut Told<'a>, at: &mut At) -> Stop<'a> {
        let input = self.input(packet, told);
        let Contents {
            bytes,
            shared,
            state,
            preserved,
            payload_bit,
            arguments,
            egress_port,
            priority,
            ..
        } = packet;
        let packet_facts = Facts {
            ingress_port: arguments.ingress_port,
            egress_port: *egress_port,
            class: *priority,
            time_us: input.timestamp_us,
        };
        let frame = shared.as_ref().map_or(&bytes[..], |shared| shared);
        let state = state.as_mut().expect("packets in the graph have a state");
        let length = frame.len();
        let mut pass = Pass::new(
            self.burst,
            input.of(frame),
            state,
            &mut self.scratch.scratch,
            self.tracer,
        );
        let stop = loop {
            let block = self.graph.block(at.block);
            let stop = block.ops[at.op..].iter().find(|op| {
                at.op += 1;
                match op {
                    GlueOp::Set { slot, value } => {
                        let value = eval(value, pass.state(), &[]);
                        pass.state().set(*slot, value);
                        false
                    }
                    GlueOp::Take { slot, argument } => {
                        let value = argument_value(*argument, &mut pass, self.burst, told, &packet_facts, length);
                        pass.state().set_number(*slot, value.into());
                        false
                    }
                    GlueOp::Clear(Clear::Metadata) => {
                        self.burst.pipeline.storage.reset_metadata(pass.state());
                        false
                    }
                    GlueOp::Clear(Clear::All) => {
                        self.burst.pipeline.storage.reset_all(pass.state());
                        false
                    }
                    GlueOp::Restore => {
                        for (slot, value) in &preserved.0 {
                            pass.state().set(*slot, value.clone());
                        }
                        false
                    }
                    GlueOp::Commit => pass.requests().has_digests(),
                    GlueOp::Reframe { .. } | GlueOp::Mirror(_) => true,
                }
            });
            if let Some(op) = stop {
                break Stop::Op(op);
            }
            let next = match &block.end {
                End::Run { body, next, reject } => match self.burst.ended(*body, pass.run(*body)) {
                    Ok(None) => *next,
                    Ok(Some(error)) => {
                        told.parser_error = error;
                        reject.unwrap_or(*next)
                    }
                    Err(reason) => break Stop::Drop(reason),
                },
                end => match chosen(end, pass.state()) {
                    Some(next) => next,
                    None => break Stop::End(end),
                },
            };
            *at = At { block: next, op: 0 };
        };
        *payload_bit = pass.cursor();
        stop
    }

    fn input(&self, packet: &Contents, told: &Told<'_>) -> PassInput {
        let (timestamp_us, random_seed) = match told.egress {
            Some(arguments) => (arguments.timestamp_us, arguments.random_seed),
            None => (packet.arguments.timestamp_us, packet.arguments.random_seed),
        };
        PassInput {
            cursor: packet.payload_bit,
            length_bytes: packet.ingress_length,
            timestamp_us,
            random_seed,
            step_limit: self.burst.pipeline.options.step_limit,
        }
    }

    /// An operation on the packet as a whole.
    fn with_packet(&mut self, op: &GlueOp, packet: &mut Contents, told: &Told<'a>) -> Result<(), DropReason> {
        match op {
            GlueOp::Commit => {
                self.send_digests();
                Ok(())
            }
            GlueOp::Mirror(mirror) => {
                self.mirror(mirror, packet, told);
                Ok(())
            }
            GlueOp::Reframe { truncate } => self.reframe(truncate.as_ref(), packet),
            _ => Ok(()),
        }
    }

    fn send_digests(&mut self) {
        let sink = &mut self.sink;
        self.scratch
            .take_digests(self.burst, |message| sink(Outcome::Digest(message)));
    }

    /// What was emitted and what the parser left become the frame.
    fn reframe(&mut self, truncate: Option<&Expr>, packet: &mut Contents) -> Result<(), DropReason> {
        let limit = truncate.map(|limit| eval(limit, packet.state(), &[]).to_u64());
        packet.truncate_to = limit.and_then(|limit| limit.checked_sub(1)).map(|bytes| bytes as u32);
        self.scratch.put_together(packet);
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

    fn mirror(&mut self, mirror: &Mirror, packet: &mut Contents, told: &Told<'a>) {
        let number = eval(&mirror.session, packet.state(), &[]).to_u64() as u32;
        let options = &self.burst.pipeline.options;
        let Some(session) = self.burst.view.snapshot.replication.clone_sessions.get(&number) else {
            verdict(self.tracer, || format!("no clone: there is no session {number}"));
            return self.scratch.count_drop(self.burst, DropReason::NoCloneSession);
        };
        let from_egress = mirror.to == Entry::CloneEgress;
        if from_egress && packet.passes.egress_clones >= options.clone_limit {
            verdict(self.tracer, || "no clone: too many clones of clones".to_string());
            return self.scratch.count_drop(self.burst, DropReason::CloneLimit);
        }
        let ports = session.replicas.len();
        verdict(self.tracer, || format!("clone by session {number} to {ports} ports"));
        let preserved = taken(packet.state(), &mirror.preserve);
        let mut clone = self.copy(mirror.frame, packet);
        clone.preserved = preserved;
        clone.passes.egress_clones += u32::from(from_egress);
        let told = Told {
            session: Some((number, session)),
            replica: None,
            instance_type: match from_egress {
                true => InstanceType::EgressClone,
                false => InstanceType::IngressClone,
            },
            ..*told
        };
        let requests = std::mem::take(&mut self.scratch.scratch.requests);
        let output = std::mem::take(&mut self.scratch.scratch.buffers.output);
        self.follow(clone, told, mirror.to);
        self.scratch.scratch.requests = requests;
        self.scratch.scratch.buffers.output = output;
    }

    /// What a mirrored packet begins with.
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
        self.scratch
            .pool
            .renew_state(&mut clone, &self.burst.pipeline.storage.zero);
        clone
    }

    /// Sends a copy to each member, the packet itself as the last. Without members, the packet comes back with the block
    /// where it goes on, if there is one.
    fn replicate(
        &mut self,
        mut packet: Box<Contents>,
        told: &Told<'a>,
        target: &Target,
        (each, none): (Entry, Option<BlockId>),
    ) -> Option<(Box<Contents>, BlockId)> {
        let (members, instance_type) = self.members(&mut packet, told, target);
        let Some((last, others)) = members.split_last() else {
            let Some(none) = none else {
                self.scratch.pool.recycle_packet(packet);
                return None;
            };
            return Some((packet, none));
        };
        let told = |replica: &Replica| Told {
            replica: Some(*replica),
            instance_type,
            ..*told
        };
        for replica in others {
            let copy = self.scratch.pool.copy_of(&mut packet);
            self.follow(copy, told(replica), each);
        }
        self.follow(packet, told(last), each);
        None
    }

    fn members(&mut self, packet: &mut Contents, told: &Told<'a>, target: &Target) -> (&'a [Replica], InstanceType) {
        match target {
            Target::Group(group) => {
                let group = eval(group, packet.state(), &[]).to_u64_saturating();
                let number = u16::try_from(group).ok();
                let replication = &self.burst.view.snapshot.replication;
                let members = number.map_or(&[][..], |number| replication.members(number));
                let count = members.len();
                verdict(self.tracer, || format!("multicast to group {group} of {count} members"));
                (members, InstanceType::Replicated)
            }
            Target::Session => {
                let session = told.session.map(|(_, session)| session.replicas.as_slice());
                (session.unwrap_or_default(), told.instance_type)
            }
        }
    }

    /// The packet leaves the graph.
    fn leave(&mut self, packet: Box<Contents>, told: &Told<'a>, end: &End) {
        match end {
            End::Suspend {
                port,
                class,
                length,
                resume,
                preserve,
            } => self.suspend(packet, told, (port, class, length), (*resume, preserve)),
            End::Finish(Finish::Transmit { port }) => self.transmit(packet, port),
            End::Finish(Finish::Drop(reason)) => {
                let reason = drop_reason(*reason, packet.state.as_deref());
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
        told: &Told<'_>,
        (port, class, length): (&Expr, &Expr, &Expr),
        (resume, preserve): (Entry, &[(SlotId, SlotId)]),
    ) {
        let state = packet.state();
        let number = |expr| eval(expr, state, &[]).to_u64();
        let (port, class, length) = (number(port) as u32, number(class) as u8, number(length) as u32);
        packet.preserved = taken(packet.state(), preserve);
        packet.egress_port = port;
        packet.instance = told.replica.map_or(0, |replica| replica.instance);
        packet.priority = class;
        packet.packet_length = length;
        packet.truncate_to = None;
        packet.instance_type = told.instance_type;
        packet.resume = match resume {
            Entry::Dequeued(number) => number,
            _ => 0,
        };
        if told.replica.is_none() {
            verdict(self.tracer, || format!("enqueue for port {port}"));
        }
        (self.sink)(Outcome::Enqueue(QueuedPacket(packet)));
    }

    fn transmit(&mut self, mut packet: Box<Contents>, port: &Expr) {
        let port = eval(port, packet.state(), &[]).to_u64() as u32;
        self.own_frame(&mut packet);
        let (bytes, tag) = (std::mem::take(&mut packet.bytes), packet.tag);
        verdict(self.tracer, || format!("transmit {} bytes on port {port}", bytes.len()));
        (self.sink)(Outcome::Transmit { port, bytes, tag });
        self.scratch.pool.recycle_packet(packet);
    }

    fn resubmit(&mut self, mut packet: Box<Contents>, pairs: &[(SlotId, SlotId)]) {
        packet.preserved = taken(packet.state(), pairs);
        packet.passes.resubmissions += 1;
        if packet.passes.resubmissions > self.burst.pipeline.options.resubmit_limit {
            return self.drop_packet(packet, DropReason::ResubmitLimit);
        }
        verdict(self.tracer, || "resubmit".to_string());
        packet.instance_type = InstanceType::Resubmitted;
        self.own_frame(&mut packet);
        (self.sink)(Outcome::Resubmit(IngressPacket(packet)));
    }

    fn recirculate(&mut self, mut packet: Box<Contents>, pairs: &[(SlotId, SlotId)]) {
        packet.passes.recirculations += 1;
        if packet.passes.recirculations > self.burst.pipeline.options.recirculate_limit {
            return self.drop_packet(packet, DropReason::RecirculateLimit);
        }
        packet.preserved = taken(packet.state(), pairs);
        self.own_frame(&mut packet);
        let length = packet.bytes.len();
        verdict(self.tracer, || format!("recirculate {length} bytes"));
        packet.passes.resubmissions = 0;
        packet.passes.egress_clones = 0;
        packet.instance_type = InstanceType::Recirculated;
        self.scratch.pool.recycle_state(&mut packet);
        (self.sink)(Outcome::Recirculate(IngressPacket(packet)));
    }

    /// Gives the packet a frame that no copy shares.
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

impl Burst<'_> {
    /// How a body ended: with a parser's error, if with one.
    fn ended(self, body: BodyId, ended: Ended) -> Result<Option<u32>, DropReason> {
        let program = &self.pipeline.program;
        let is_parser = program.bodies[body.index()].kind == BodyKind::Parser;
        match ended {
            Ended::Returned | Ended::Exited => Ok(None),
            Ended::Rejected(error) => Ok(Some(error)),
            // P4_16 §13.8: a parser that does not come to an end in time.
            Ended::StepLimit if is_parser => {
                let timeout = program.error("ParserTimeout");
                timeout.map_or(Err(DropReason::StepLimit), |error| Ok(Some(error)))
            }
            Ended::StepLimit => Err(DropReason::StepLimit),
            Ended::AssertFailed => Err(DropReason::AssertFailed),
        }
    }
}

/// What a packet says of itself to bodies and glue.
struct Facts {
    ingress_port: u32,
    egress_port: u32,
    class: u8,
    time_us: u64,
}

/// The input of bodies but for the frame, which is borrowed only while they run.
#[derive(Clone, Copy)]
struct PassInput {
    cursor: usize,
    length_bytes: u32,
    timestamp_us: u64,
    random_seed: u64,
    step_limit: u64,
}

impl PassInput {
    fn of(self, frame: &[u8]) -> Input<'_> {
        Input {
            packet: frame,
            cursor: self.cursor,
            facts: PacketFacts {
                length_bytes: self.length_bytes,
                timestamp_us: self.timestamp_us,
            },
            random_seed: self.random_seed,
            step_limit: self.step_limit,
        }
    }
}

fn argument_value<T: Tracer>(
    argument: Argument,
    pass: &mut Pass<'_, T>,
    burst: Burst<'_>,
    told: &Told<'_>,
    packet: &Facts,
    frame_length: usize,
) -> u64 {
    let egress = told.egress.unwrap_or_default();
    match argument {
        Argument::IngressPort => packet.ingress_port.into(),
        Argument::FrameLength => frame_length as u64,
        Argument::HeaderBytes => burst.pipeline.storage.valid_header_bytes(pass.state()),
        Argument::TimeUs => packet.time_us,
        Argument::ParserError => told.parser_error.into(),
        Argument::EgressPort => packet.egress_port.into(),
        Argument::Class => packet.class.into(),
        Argument::EnqueueTimeUs => egress.enq_timestamp_us,
        Argument::EnqueueDepth => egress.enq_qdepth.into(),
        Argument::DequeueDepth => egress.deq_qdepth.into(),
        Argument::ReplicaPort => told.replica.map_or(0, |replica| replica.egress_port.into()),
        Argument::ReplicaInstance => told.replica.map_or(0, |replica| replica.instance.into()),
        Argument::Session => told.session.map_or(0, |(number, _)| number.into()),
        Argument::SessionClass => told.session.map_or(0, |(_, session)| session.class_of_service.into()),
        Argument::SessionLimit => limit(told.session.and_then(|(_, session)| session.packet_length_bytes)),
        Argument::ChecksumError
        | Argument::CloneRequest
        | Argument::CloneSession
        | Argument::ResubmitRequest
        | Argument::RecirculateRequest
        | Argument::TruncateRequest => request_value(argument, pass.requests()),
    }
}

/// What bodies asked for, in the numbers of [`Argument`].
fn request_value(argument: Argument, requests: &Requests) -> u64 {
    let listed = |preserve: Preserve| preserve.field_list.map_or(1, |list| u64::from(list) + 2);
    match argument {
        Argument::ChecksumError => requests.checksum_error.into(),
        Argument::CloneRequest => requests.clone.map_or(0, |clone| listed(clone.preserve)),
        Argument::CloneSession => requests.clone.map_or(0, |clone| clone.session.into()),
        Argument::ResubmitRequest => requests.resubmit.map_or(0, listed),
        Argument::RecirculateRequest => requests.recirculate.map_or(0, listed),
        _ => limit(requests.truncate_to),
    }
}

/// A limit as a number: bytes and 1, or 0 for none.
fn limit(bytes: Option<u32>) -> u64 {
    bytes.map_or(0, |bytes| u64::from(bytes) + 1)
}

/// The block after an end that only chooses; none of other ends.
fn chosen(end: &End, state: &State) -> Option<BlockId> {
    match end {
        End::Jump(next) => Some(*next),
        End::Branch {
            condition,
            then_block,
            else_block,
        } => Some(match eval(condition, state, &[]).is_zero() {
            false => *then_block,
            true => *else_block,
        }),
        End::Select { key, cases, default } => {
            let key = eval(key, state, &[]);
            let case = cases.iter().find(|(value, _)| *value == key);
            Some(case.map_or(*default, |(_, target)| *target))
        }
        _ => None,
    }
}

/// The values of slots, for the slots of a new packet.
fn taken(state: &State, pairs: &[(SlotId, SlotId)]) -> Preserved {
    Preserved(pairs.iter().map(|&(from, to)| (to, state.get(from))).collect())
}

fn drop_reason(reason: Reason, state: Option<&State>) -> DropReason {
    use forebay_ir::pipeline::DropReason as Said;
    let error = reason.error.zip(state).map_or(0, |(slot, state)| state.get_u64(slot));
    match (error as u16, reason.otherwise) {
        (0, Said::Ingress) => DropReason::IngressDrop,
        (0, Said::Egress) => DropReason::EgressDrop,
        (0, Said::NoMember) => DropReason::NoMulticastMember,
        (error, _) => DropReason::ParserError(error),
    }
}
