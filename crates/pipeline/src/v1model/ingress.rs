//! From a frame to the traffic manager.

use super::pass::Pass;
use super::{
    Burst, DROP_PORT, Decisions, Worker, completed, get_optional, port, preserved, restore, set_optional, verdict,
};
use crate::outcome::{DigestMessage, DropReason, IngressDecision};
use crate::packet::{IngressPacket, InstanceType, Preserved, QueuedPacket};
use crate::replication::Replica;
use forebay_interp::{CloneRequest, DigestRequest, Ended, Input, PacketFacts, Preserve, State, Tracer};
use std::sync::Arc;

/// Where ingress left a packet.
struct Processed {
    state: Box<State>,
    payload_bit: usize,
    /// Length of the frame with the headers that ingress added and without those that it removed.
    packet_length: u32,
}

impl Worker {
    pub(super) fn ingress_packet<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        packet: IngressPacket,
        decisions: &mut Decisions<'_, IngressDecision>,
        tracer: &mut T,
    ) {
        match self.run_ingress(burst, &packet, tracer) {
            Ok(processed) => self.after_ingress(burst, packet, processed, decisions, tracer),
            Err(reason) => {
                self.drop_in_ingress(reason, decisions, tracer);
                self.recycle(packet.bytes);
            }
        }
    }

    /// Parser, checksum verification, ingress.
    fn run_ingress<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        packet: &IngressPacket,
        tracer: &mut T,
    ) -> Result<Processed, DropReason> {
        let layout = &burst.pipeline.layout;
        let mut state = self.pool.state(&layout.zero);
        begin(burst, packet, &mut state);
        self.scratch.requests.clear();
        let mut pass = Pass::new(
            burst,
            ingress_input(burst, packet),
            &mut state,
            &mut self.scratch,
            tracer,
        );
        let result = parse(burst, &mut pass)
            .and_then(|()| completed(pass.run(layout.blocks.verify_checksum)))
            .and_then(|()| {
                let checksum_error = pass.requests().checksum_error;
                set_optional(pass.state(), layout.slots.checksum_error, u128::from(checksum_error));
                let parsed_bytes = layout.valid_header_bytes(pass.state());
                completed(pass.run(layout.blocks.ingress)).map(|()| parsed_bytes)
            });
        let payload_bit = pass.cursor();
        match result {
            Ok(parsed_bytes) => {
                let headers = layout.valid_header_bytes(&state);
                let length = (packet.bytes.len() as u64 + headers).saturating_sub(parsed_bytes);
                Ok(Processed {
                    state,
                    payload_bit,
                    packet_length: length as u32,
                })
            }
            Err(reason) => {
                self.pool.recycle_state(state);
                Err(reason)
            }
        }
    }

    fn after_ingress<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        packet: IngressPacket,
        processed: Processed,
        decisions: &mut Decisions<'_, IngressDecision>,
        tracer: &mut T,
    ) {
        let slots = &burst.pipeline.layout.slots;
        let resubmit = self.scratch.requests.resubmit;
        if let Some(clone) = self.scratch.requests.clone {
            self.clone_from_ingress(burst, &packet, &processed.state, clone, decisions, tracer);
        }
        self.send_digests(|message| decisions.push(IngressDecision::Digest(message)));
        let group = get_optional(&processed.state, slots.mcast_grp) as u16;
        let egress_spec = port(processed.state.get_u64(slots.egress_spec));
        if let Some(preserve) = resubmit {
            self.resubmit(burst, packet, processed, preserve, decisions, tracer);
        } else if group != 0 {
            self.multicast(burst, packet, processed, group, decisions, tracer);
        } else if egress_spec == DROP_PORT {
            let reason = ingress_drop_reason(burst, &processed.state);
            self.drop_in_ingress(reason, decisions, tracer);
            self.pool.recycle_state(processed.state);
            self.recycle(packet.bytes);
        } else {
            verdict(tracer, || format!("enqueue for port {egress_spec}"));
            let queued = self.queued(burst, packet, processed, egress_spec, InstanceType::Normal);
            decisions.push(IngressDecision::Enqueue(queued));
        }
    }

    /// The packet itself on its way to a port.
    fn queued(
        &mut self,
        burst: Burst<'_>,
        packet: IngressPacket,
        mut processed: Processed,
        egress_port: u32,
        instance_type: InstanceType,
    ) -> QueuedPacket {
        let slots = &burst.pipeline.layout.slots;
        set_optional(&mut processed.state, slots.instance_type, instance_type as u32);
        QueuedPacket {
            egress_port,
            priority: get_optional(&processed.state, slots.priority) as u8,
            tag: packet.tag,
            instance_type,
            state: processed.state,
            ingress_length: packet.bytes.len() as u32,
            bytes: self.pool.share(packet.bytes),
            payload_bit: processed.payload_bit,
            packet_length: processed.packet_length,
            truncate_to: self.scratch.requests.truncate_to,
            passes: packet.passes,
            arguments: packet.arguments,
        }
    }

    /// One copy for each member; the packet itself becomes the last of them.
    fn multicast<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        packet: IngressPacket,
        processed: Processed,
        group: u16,
        decisions: &mut Decisions<'_, IngressDecision>,
        tracer: &mut T,
    ) {
        let replicas = burst.view.snapshot.replication.members(group);
        verdict(tracer, || {
            format!("multicast to group {group} of {} members", replicas.len())
        });
        let original = self.queued(burst, packet, processed, 0, InstanceType::Replicated);
        if replicas.is_empty() {
            self.discard(original);
            self.drop_in_ingress(DropReason::NoMulticastMember, decisions, tracer);
            return;
        }
        self.replicate(burst, original, replicas, |copy| {
            decisions.push(IngressDecision::Enqueue(copy))
        });
    }

    /// Copies a packet to ports; with no replica it is gone.
    pub(super) fn replicate(
        &mut self,
        burst: Burst<'_>,
        original: QueuedPacket,
        replicas: &[Replica],
        mut enqueue: impl FnMut(QueuedPacket),
    ) {
        let egress_rid = burst.pipeline.layout.slots.egress_rid;
        let Some((last, others)) = replicas.split_last() else {
            return self.discard(original);
        };
        for replica in others {
            let mut copy = self.copy(&original);
            copy.egress_port = replica.egress_port;
            set_optional(&mut copy.state, egress_rid, replica.instance);
            enqueue(copy);
        }
        let mut original = original;
        original.egress_port = last.egress_port;
        set_optional(&mut original.state, egress_rid, last.instance);
        enqueue(original);
    }

    fn copy(&mut self, original: &QueuedPacket) -> QueuedPacket {
        QueuedPacket {
            state: self.pool.state(&original.state),
            bytes: Arc::clone(&original.bytes),
            ..*original
        }
    }

    /// A clone from ingress is the frame that entered ingress, parsed again. As in BMv2, the parser sees of
    /// `standard_metadata` only `ingress_port`, and what it wrote to metadata is forgotten.
    fn clone_from_ingress<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        packet: &IngressPacket,
        final_state: &State,
        request: CloneRequest,
        decisions: &mut Decisions<'_, IngressDecision>,
        tracer: &mut T,
    ) {
        let Some(session) = burst.view.snapshot.replication.clone_sessions.get(&request.session) else {
            verdict(tracer, || format!("no clone: there is no session {}", request.session));
            self.count_drop(DropReason::NoCloneSession);
            return;
        };
        verdict(tracer, || {
            format!(
                "clone by session {} to {} ports",
                request.session,
                session.replicas.len()
            )
        });
        let kept = preserved(burst.pipeline, request.preserve, final_state);
        match self.parse_clone(burst, packet, kept, tracer) {
            Ok(processed) => {
                let bytes = self.pool.copy(&packet.bytes);
                let copy = IngressPacket {
                    bytes,
                    preserved: Preserved::default(),
                    ..*packet
                };
                let mut clone = self.queued(burst, copy, processed, 0, InstanceType::IngressClone);
                clone.truncate_to = session.packet_length_bytes;
                super::classify(&mut clone, session, burst.pipeline.layout.slots.priority);
                self.replicate(burst, clone, &session.replicas, |copy| {
                    decisions.push(IngressDecision::Enqueue(copy))
                });
            }
            Err(reason) => self.drop_in_ingress(reason, decisions, tracer),
        }
    }

    fn parse_clone<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        packet: &IngressPacket,
        kept: Preserved,
        tracer: &mut T,
    ) -> Result<Processed, DropReason> {
        let layout = &burst.pipeline.layout;
        let mut state = self.pool.state(&layout.zero);
        state.set_number(layout.slots.ingress_port, packet.arguments.ingress_port.into());
        // Requests of the packet itself are still to be read; a parser makes none.
        let mut pass = Pass::new(
            burst,
            ingress_input(burst, packet),
            &mut state,
            &mut self.scratch,
            tracer,
        );
        let parsed = parse(burst, &mut pass);
        let payload_bit = pass.cursor();
        if let Err(reason) = parsed {
            self.pool.recycle_state(state);
            return Err(reason);
        }
        layout.reset_metadata(&mut state);
        restore(&mut state, kept);
        Ok(Processed {
            state,
            payload_bit,
            packet_length: packet.bytes.len() as u32,
        })
    }

    pub(super) fn send_digests(&mut self, mut send: impl FnMut(DigestMessage)) {
        for DigestRequest { digest, values } in self.scratch.requests.digests.drain(..) {
            send(DigestMessage { digest, values });
        }
        for _ in 0..std::mem::take(&mut self.scratch.requests.digests_lost) {
            self.count_drop(DropReason::DigestLimit);
        }
    }

    fn resubmit<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        mut packet: IngressPacket,
        processed: Processed,
        preserve: Preserve,
        decisions: &mut Decisions<'_, IngressDecision>,
        tracer: &mut T,
    ) {
        packet.preserved = preserved(burst.pipeline, preserve, &processed.state);
        self.pool.recycle_state(processed.state);
        packet.passes.resubmissions += 1;
        if packet.passes.resubmissions > burst.pipeline.options.resubmit_limit {
            self.drop_in_ingress(DropReason::ResubmitLimit, decisions, tracer);
            self.recycle(packet.bytes);
            return;
        }
        verdict(tracer, || "resubmit".to_string());
        packet.instance_type = InstanceType::Resubmitted;
        decisions.push(IngressDecision::Resubmit(packet));
    }

    fn drop_in_ingress<T: Tracer>(
        &mut self,
        reason: DropReason,
        decisions: &mut Decisions<'_, IngressDecision>,
        tracer: &mut T,
    ) {
        verdict(tracer, || format!("drop: {reason}"));
        self.count_drop(reason);
        decisions.push(IngressDecision::Drop(reason));
    }
}

/// Gives a packet its metadata.
fn begin(burst: Burst<'_>, packet: &IngressPacket, state: &mut State) {
    let slots = &burst.pipeline.layout.slots;
    for (slot, value) in &packet.preserved.0 {
        state.set(*slot, value.clone());
    }
    state.set_number(slots.ingress_port, packet.arguments.ingress_port.into());
    set_optional(state, slots.packet_length, packet.bytes.len() as u128);
    set_optional(state, slots.ingress_global_timestamp, packet.arguments.timestamp_us);
    set_optional(state, slots.instance_type, packet.instance_type as u32);
}

fn ingress_input<'a>(burst: Burst<'a>, packet: &'a IngressPacket) -> Input<'a> {
    Input {
        packet: &packet.bytes,
        cursor: 0,
        facts: PacketFacts {
            length_bytes: packet.bytes.len() as u32,
            timestamp_us: packet.arguments.timestamp_us,
        },
        random_seed: packet.arguments.random_seed,
        step_limit: burst.pipeline.options.step_limit,
    }
}

/// Runs the parser. A rejected packet goes on with `parser_error` set, and so does one whose parser does not come to an
/// end in time (P4_16 §13.8, `ParserTimeout`).
fn parse<T: Tracer>(burst: Burst<'_>, pass: &mut Pass<'_, T>) -> Result<(), DropReason> {
    let layout = &burst.pipeline.layout;
    let ended = pass.run(layout.blocks.parser);
    let error = match ended {
        Ended::Rejected(error) => Some(error),
        Ended::StepLimit => burst.pipeline.program.error("ParserTimeout"),
        _ => None,
    };
    match error {
        Some(error) => {
            set_optional(pass.state(), layout.slots.parser_error, error);
            Ok(())
        }
        None => completed(ended),
    }
}

/// Why a packet that the program dropped was dropped: the parser's error, if it had one and tells the program of it.
fn ingress_drop_reason(burst: Burst<'_>, state: &State) -> DropReason {
    match get_optional(state, burst.pipeline.layout.slots.parser_error) as u16 {
        0 => DropReason::IngressDrop,
        error => DropReason::ParserError(error),
    }
}
