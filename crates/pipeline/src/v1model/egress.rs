//! From the traffic manager to a port, or back to ingress.

use super::pass::Pass;
use super::{
    Burst, DROP_PORT, Decisions, Worker, completed, min_option, port, preserved, restore, set_optional, verdict,
};
use crate::outcome::{DropReason, EgressDecision};
use crate::packet::{EgressPacket, IngressPacket, InstanceType, Preserved, QueuedPacket};
use forebay_interp::{CloneRequest, Input, PacketFacts, Tracer};
use std::sync::Arc;

/// What becomes of a packet after egress.
enum Fate {
    Drop(DropReason),
    Leave(Vec<u8>),
    Recirculate(Vec<u8>, Preserved),
}

impl Worker {
    pub(super) fn egress_packet<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        dequeued: EgressPacket,
        decisions: &mut Decisions<'_, EgressDecision>,
        tracer: &mut T,
    ) {
        let EgressPacket { mut packet, arguments } = dequeued;
        begin(burst, &mut packet, &arguments);
        let input = egress_input(burst, &packet, &arguments);
        match self.run_egress(burst, &mut packet, &input, tracer) {
            Ok(()) => {
                if let Some(clone) = self.scratch.requests.clone {
                    self.clone_from_egress(burst, &packet, clone, decisions, tracer);
                }
                self.send_digests(|message| decisions.push(EgressDecision::Digest(message)));
                let fate = self
                    .after_egress(burst, &mut packet, &input, tracer)
                    .unwrap_or_else(Fate::Drop);
                self.decide(packet, fate, decisions, tracer);
            }
            Err(reason) => self.decide(packet, Fate::Drop(reason), decisions, tracer),
        }
    }

    fn run_egress<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        packet: &mut QueuedPacket,
        input: &EgressInput,
        tracer: &mut T,
    ) -> Result<(), DropReason> {
        let layout = &burst.pipeline.layout;
        self.scratch.requests.clear();
        let bytes_before = layout.valid_header_bytes(&packet.state);
        let ended = Pass::new(
            burst,
            input.for_packet(&packet.bytes),
            &mut packet.state,
            &mut self.scratch,
            tracer,
        )
        .run(layout.blocks.egress);
        completed(ended)?;
        let length = u64::from(packet.packet_length) + layout.valid_header_bytes(&packet.state);
        packet.packet_length = length.saturating_sub(bytes_before) as u32;
        packet.truncate_to = min_option(packet.truncate_to, self.scratch.requests.truncate_to);
        Ok(())
    }

    /// A clone from egress has the headers as egress left them, and goes through egress again.
    fn clone_from_egress<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        packet: &QueuedPacket,
        request: CloneRequest,
        decisions: &mut Decisions<'_, EgressDecision>,
        tracer: &mut T,
    ) {
        let layout = &burst.pipeline.layout;
        let Some(session) = burst.view.snapshot.replication.clone_sessions.get(&request.session) else {
            verdict(tracer, || format!("no clone: there is no session {}", request.session));
            self.count_drop(DropReason::NoCloneSession);
            return;
        };
        let mut passes = packet.passes;
        passes.egress_clones += 1;
        if passes.egress_clones > burst.pipeline.options.clone_limit {
            verdict(tracer, || "no clone: too many clones of clones".to_string());
            self.count_drop(DropReason::CloneLimit);
            return;
        }
        verdict(tracer, || {
            format!(
                "clone by session {} to {} ports",
                request.session,
                session.replicas.len()
            )
        });
        let mut state = self.pool.state(&packet.state);
        layout.reset_metadata(&mut state);
        restore(&mut state, preserved(burst.pipeline, request.preserve, &packet.state));
        set_optional(&mut state, layout.slots.instance_type, InstanceType::EgressClone as u32);
        let mut clone = QueuedPacket {
            priority: super::get_optional(&state, layout.slots.priority) as u8,
            instance_type: InstanceType::EgressClone,
            state,
            bytes: Arc::clone(&packet.bytes),
            truncate_to: session.packet_length_bytes,
            passes,
            ..*packet
        };
        super::classify(&mut clone, session, layout.slots.priority);
        self.replicate(burst, clone, &session.replicas, |copy| {
            decisions.push(EgressDecision::Enqueue(copy))
        });
    }

    /// Drop, or deparse and then recirculate or transmit.
    fn after_egress<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        packet: &mut QueuedPacket,
        input: &EgressInput,
        tracer: &mut T,
    ) -> Result<Fate, DropReason> {
        if port(packet.state.get_u64(burst.pipeline.layout.slots.egress_spec)) == DROP_PORT {
            return Err(DropReason::EgressDrop);
        }
        let recirculate = self.scratch.requests.recirculate;
        let bytes = self.deparse(burst, packet, input, tracer)?;
        let Some(preserve) = recirculate else {
            return Ok(Fate::Leave(bytes));
        };
        packet.passes.recirculations += 1;
        if packet.passes.recirculations > burst.pipeline.options.recirculate_limit {
            self.recycle(bytes);
            return Err(DropReason::RecirculateLimit);
        }
        Ok(Fate::Recirculate(
            bytes,
            preserved(burst.pipeline, preserve, &packet.state),
        ))
    }

    /// Checksum computation, deparser, and the part of the frame that the parser left.
    fn deparse<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        packet: &mut QueuedPacket,
        input: &EgressInput,
        tracer: &mut T,
    ) -> Result<Vec<u8>, DropReason> {
        let blocks = &burst.pipeline.layout.blocks;
        self.scratch.buffers.output.clear();
        let mut pass = Pass::new(
            burst,
            input.for_packet(&packet.bytes),
            &mut packet.state,
            &mut self.scratch,
            tracer,
        );
        completed(pass.run(blocks.compute_checksum))?;
        completed(pass.run(blocks.deparser))?;
        let memory = self.pool.buffer();
        self.scratch.buffers.output.push_from(&packet.bytes, packet.payload_bit);
        let mut bytes = self.scratch.buffers.output.take(memory);
        let truncate_to = min_option(packet.truncate_to, self.scratch.requests.truncate_to);
        bytes.truncate(truncate_to.map_or(usize::MAX, |limit| limit as usize));
        if bytes.len() > burst.pipeline.options.packet_limit as usize {
            self.recycle(bytes);
            return Err(DropReason::PacketTooLong);
        }
        Ok(bytes)
    }

    fn decide<T: Tracer>(
        &mut self,
        packet: QueuedPacket,
        fate: Fate,
        decisions: &mut Decisions<'_, EgressDecision>,
        tracer: &mut T,
    ) {
        let (port, tag) = (packet.egress_port, packet.tag);
        match fate {
            Fate::Drop(reason) => {
                verdict(tracer, || format!("drop: {reason}"));
                self.count_drop(reason);
                decisions.push(EgressDecision::Drop(reason));
            }
            Fate::Leave(bytes) => {
                verdict(tracer, || format!("transmit {} bytes on port {port}", bytes.len()));
                decisions.push(EgressDecision::Transmit { port, bytes, tag });
            }
            Fate::Recirculate(bytes, preserved) => {
                verdict(tracer, || format!("recirculate {} bytes", bytes.len()));
                let mut passes = packet.passes;
                passes.resubmissions = 0;
                passes.egress_clones = 0;
                let instance_type = InstanceType::Recirculated;
                let arguments = packet.arguments;
                let again = IngressPacket {
                    bytes,
                    arguments,
                    tag,
                    instance_type,
                    preserved,
                    passes,
                };
                decisions.push(EgressDecision::Recirculate(again));
            }
        }
        self.discard(packet);
    }
}

/// The arguments of egress that passs need; the packet's bytes are borrowed only while one runs.
struct EgressInput {
    cursor: usize,
    facts: PacketFacts,
    random_seed: u64,
    step_limit: u64,
}

impl EgressInput {
    fn for_packet<'a>(&self, packet: &'a [u8]) -> Input<'a> {
        Input {
            packet,
            cursor: self.cursor,
            facts: self.facts,
            random_seed: self.random_seed,
            step_limit: self.step_limit,
        }
    }
}

fn egress_input(burst: Burst<'_>, packet: &QueuedPacket, arguments: &crate::EgressArguments) -> EgressInput {
    EgressInput {
        cursor: packet.payload_bit,
        facts: PacketFacts {
            length_bytes: packet.ingress_length,
            timestamp_us: arguments.timestamp_us,
        },
        random_seed: arguments.random_seed,
        step_limit: burst.pipeline.options.step_limit,
    }
}

/// Gives a packet what the traffic manager knows. `egress_spec` becomes a value other than the drop port: what ingress
/// wrote there has served.
fn begin(burst: Burst<'_>, packet: &mut QueuedPacket, arguments: &crate::EgressArguments) {
    let slots = &burst.pipeline.layout.slots;
    let waited = arguments.timestamp_us.saturating_sub(arguments.enq_timestamp_us);
    let length = packet.packet_length;
    let state = &mut packet.state;
    set_optional(state, slots.egress_global_timestamp, arguments.timestamp_us);
    set_optional(state, slots.enq_timestamp, arguments.enq_timestamp_us);
    set_optional(state, slots.enq_qdepth, arguments.enq_qdepth);
    set_optional(state, slots.deq_timedelta, waited);
    set_optional(state, slots.deq_qdepth, arguments.deq_qdepth);
    set_optional(state, slots.qid, packet.priority);
    set_optional(state, slots.packet_length, length);
    state.set_number(slots.egress_port, packet.egress_port.into());
    state.set_number(slots.egress_spec, u128::from(DROP_PORT) + 1);
}
