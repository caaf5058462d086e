//! From a frame to the traffic manager.

use super::pass::Pass;
use super::{
    Burst, DROP_PORT, WorkerScratch, completed, get_optional, port, preserve_in, preserved, restore, set_optional,
    verdict,
};
use crate::outcome::{DropReason, IngressDecision};
use crate::packet::{Contents, IngressArguments, IngressPacket, InstanceType, Preserved, QueuedPacket};
use crate::replication::Replica;
use forebay_exec::{CloneRequest, Ended, Input, PacketFacts, Preserve, State, Tracer};

impl WorkerScratch {
    pub(super) fn ingress_packet<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        mut packet: IngressPacket,
        decide: &mut impl FnMut(IngressDecision),
        tracer: &mut T,
    ) {
        match self.run_ingress(burst, &mut packet, tracer) {
            Ok(()) => self.after_ingress(burst, packet, decide, tracer),
            Err(reason) => self.drop_packet(burst, packet, reason, decide, tracer),
        }
    }

    /// Parser, checksum verification, ingress.
    fn run_ingress<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        packet: &mut Contents,
        tracer: &mut T,
    ) -> Result<(), DropReason> {
        let layout = &burst.pipeline.layout;
        if let Some(site) = burst.site::<T>() {
            let arguments = packet.arguments;
            return self.compiled_ingress(burst, site, packet, |bytes| ingress_input(burst, bytes, arguments));
        }
        self.pool.renew_state(packet, &layout.zero);
        begin(burst, packet);
        self.scratch.requests.clear();
        let input = ingress_input(burst, &packet.bytes, packet.arguments);
        let state = packet.state.as_mut().expect("it was set");
        let mut pass = Pass::new(burst, input, state, &mut self.scratch, tracer);
        parse(burst, &mut pass)?;
        if T::ON || !layout.blocks.verify_checksum_is_empty {
            completed(pass.run(layout.blocks.verify_checksum))?;
        }
        let checksum_error = pass.requests().checksum_error;
        set_optional(pass.state(), layout.numbers.checksum_error, checksum_error);
        let parsed_bytes = layout.valid_header_bytes(pass.state());
        completed(pass.run(layout.blocks.ingress))?;
        packet.payload_bit = pass.cursor();
        let headers = layout.valid_header_bytes(pass.state());
        packet.header_bytes = headers as u32;
        let length = (packet.bytes.len() as u64 + headers).saturating_sub(parsed_bytes);
        packet.packet_length = length as u32;
        Ok(())
    }

    fn after_ingress<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        mut packet: IngressPacket,
        decide: &mut impl FnMut(IngressDecision),
        tracer: &mut T,
    ) {
        let numbers = &burst.pipeline.layout.numbers;
        let resubmit = self.scratch.requests.resubmit;
        if let Some(clone) = self.scratch.requests.clone {
            self.clone_from_ingress(burst, &mut packet, clone, decide, tracer);
        }
        if self.scratch.requests.has_digests() {
            self.take_digests(burst, |message| decide(IngressDecision::Digest(Box::new(message))));
        }
        let state = packet.state();
        let group = get_optional(state, numbers.mcast_grp) as u16;
        let egress_spec = port(state.number(numbers.egress_spec));
        if let Some(preserve) = resubmit {
            self.resubmit(burst, packet, preserve, decide, tracer);
        } else if group != 0 {
            self.multicast(burst, packet, group, decide, tracer);
        } else if egress_spec == DROP_PORT {
            let reason = ingress_drop_reason(burst, state);
            self.drop_packet(burst, packet, reason, decide, tracer);
        } else {
            verdict(tracer, || format!("enqueue for port {egress_spec}"));
            let queued = self.queued(burst, packet, egress_spec, InstanceType::Normal);
            decide(IngressDecision::Enqueue(queued));
        }
    }

    /// The packet itself on its way to a port.
    fn queued(
        &mut self,
        burst: Burst<'_>,
        mut packet: IngressPacket,
        egress_port: u32,
        instance_type: InstanceType,
    ) -> QueuedPacket {
        let numbers = &burst.pipeline.layout.numbers;
        set_optional(packet.state(), numbers.instance_type, instance_type as u32);
        packet.egress_port = egress_port;
        packet.instance = 0;
        packet.priority = get_optional(packet.state(), numbers.priority) as u8;
        packet.instance_type = instance_type;
        packet.ingress_length = packet.bytes.len() as u32;
        packet.truncate_to = self.scratch.requests.truncate_to;
        QueuedPacket(packet.0)
    }

    /// One copy for each member; the packet itself becomes the last of them.
    fn multicast<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        packet: IngressPacket,
        group: u16,
        decide: &mut impl FnMut(IngressDecision),
        tracer: &mut T,
    ) {
        let replicas = burst.view.snapshot.replication.members(group);
        verdict(tracer, || {
            format!("multicast to group {group} of {} members", replicas.len())
        });
        if replicas.is_empty() {
            return self.drop_packet(burst, packet, DropReason::NoMulticastMember, decide, tracer);
        }
        let original = self.queued(burst, packet, 0, InstanceType::Replicated);
        self.replicate(burst, original, replicas, |copy| decide(IngressDecision::Enqueue(copy)));
    }

    /// Copies a packet to ports; with no replica it is gone.
    pub(super) fn replicate(
        &mut self,
        burst: Burst<'_>,
        mut original: QueuedPacket,
        replicas: &[Replica],
        mut enqueue: impl FnMut(QueuedPacket),
    ) {
        let egress_rid = burst.pipeline.layout.numbers.egress_rid;
        let Some((last, others)) = replicas.split_last() else {
            return self.pool.recycle_packet(original.0);
        };
        for replica in others {
            let mut copy = QueuedPacket(self.pool.copy_of(&mut original));
            copy.egress_port = replica.egress_port;
            copy.instance = replica.instance;
            set_optional(copy.state(), egress_rid, replica.instance);
            enqueue(copy);
        }
        original.egress_port = last.egress_port;
        original.instance = last.instance;
        set_optional(original.state(), egress_rid, last.instance);
        enqueue(original);
    }

    /// A clone from ingress is the frame that entered ingress, parsed again. As in BMv2, the parser sees of
    /// `standard_metadata` only `ingress_port`, and what it wrote to metadata is forgotten.
    fn clone_from_ingress<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        packet: &mut IngressPacket,
        request: CloneRequest,
        decide: &mut impl FnMut(IngressDecision),
        tracer: &mut T,
    ) {
        let kept = preserved(burst.pipeline, request.preserve, packet.state());
        self.clone_by_session(burst, packet, request.session, &kept, decide, tracer);
    }

    /// The clones of a session of a packet, which keep these values.
    pub(super) fn clone_by_session<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        packet: &mut IngressPacket,
        number: u32,
        kept: &Preserved,
        decide: &mut impl FnMut(IngressDecision),
        tracer: &mut T,
    ) {
        let Some(session) = burst.view.snapshot.replication.clone_sessions.get(&number) else {
            verdict(tracer, || format!("no clone: there is no session {number}"));
            self.count_drop(burst, DropReason::NoCloneSession);
            return;
        };
        verdict(tracer, || {
            format!("clone by session {number} to {} ports", session.replicas.len())
        });
        match self.parse_clone(burst, packet, kept, session.packet_length_bytes, tracer) {
            Ok(copy) => {
                let mut clone = self.queued(burst, copy, 0, InstanceType::IngressClone);
                clone.ingress_length = packet.bytes.len() as u32;
                clone.truncate_to = session.packet_length_bytes;
                super::classify(&mut clone, session, burst.pipeline.layout.numbers.priority);
                self.replicate(burst, clone, &session.replicas, |copy| {
                    decide(IngressDecision::Enqueue(copy))
                });
            }
            Err(reason) => self.drop_in_ingress(burst, reason, decide, tracer),
        }
    }

    fn parse_clone<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        packet: &IngressPacket,
        kept: &Preserved,
        limit: Option<u32>,
        tracer: &mut T,
    ) -> Result<IngressPacket, DropReason> {
        let layout = &burst.pipeline.layout;
        let bytes = self.pool.buffer();
        let mut copy = self.packet(bytes, packet.arguments);
        copy.tag = packet.tag;
        copy.passes = packet.passes;
        copy.packet_length = packet.bytes.len() as u32;
        self.pool.renew_state(&mut copy, &layout.zero);
        let state = copy.state();
        state.write_number(layout.numbers.ingress_port, packet.arguments.ingress_port.into());
        // Requests of the packet itself are still to be read; a parser makes none.
        let input = ingress_input(burst, &packet.bytes, packet.arguments);
        let mut pass = Pass::new(burst, input, state, &mut self.scratch, tracer);
        let parsed = parse(burst, &mut pass);
        let payload_bit = pass.cursor();
        if let Err(reason) = parsed {
            self.pool.recycle_packet(copy.0);
            return Err(reason);
        }
        layout.reset_metadata(state);
        restore(state, kept);
        // What will be cut off nobody looks at, unless the layout says so.
        let seen = match limit {
            Some(limit) if !layout.shows_payload => payload_bit.div_ceil(8).saturating_add(limit as usize),
            _ => usize::MAX,
        };
        copy.header_bytes = layout.valid_header_bytes(state) as u32;
        copy.bytes
            .extend_from_slice(&packet.bytes[..seen.min(packet.bytes.len())]);
        copy.payload_bit = payload_bit;
        Ok(copy)
    }

    fn resubmit<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        mut packet: IngressPacket,
        preserve: Preserve,
        decide: &mut impl FnMut(IngressDecision),
        tracer: &mut T,
    ) {
        preserve_in(&mut packet, burst.pipeline, preserve);
        packet.passes.resubmissions += 1;
        if packet.passes.resubmissions > burst.pipeline.options.resubmit_limit {
            return self.drop_packet(burst, packet, DropReason::ResubmitLimit, decide, tracer);
        }
        verdict(tracer, || "resubmit".to_string());
        packet.instance_type = InstanceType::Resubmitted;
        decide(IngressDecision::Resubmit(packet));
    }

    fn drop_packet<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        packet: IngressPacket,
        reason: DropReason,
        decide: &mut impl FnMut(IngressDecision),
        tracer: &mut T,
    ) {
        self.drop_in_ingress(burst, reason, decide, tracer);
        self.pool.recycle_packet(packet.0);
    }

    fn drop_in_ingress<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        reason: DropReason,
        decide: &mut impl FnMut(IngressDecision),
        tracer: &mut T,
    ) {
        verdict(tracer, || format!("drop: {reason}"));
        self.count_drop(burst, reason);
        decide(IngressDecision::Drop(reason));
    }
}

/// Gives a packet its metadata.
fn begin(burst: Burst<'_>, packet: &mut Contents) {
    let numbers = &burst.pipeline.layout.numbers;
    let (arguments, instance_type) = (packet.arguments, packet.instance_type);
    let length = packet.bytes.len() as u64;
    let Contents { state, preserved, .. } = packet;
    let state = state.as_mut().expect("it was set");
    restore(state, preserved);
    state.write_number(numbers.ingress_port, arguments.ingress_port.into());
    set_optional(state, numbers.packet_length, length);
    set_optional(state, numbers.ingress_global_timestamp, arguments.timestamp_us);
    set_optional(state, numbers.instance_type, instance_type as u32);
}

fn ingress_input<'a>(burst: Burst<'_>, bytes: &'a [u8], arguments: IngressArguments) -> Input<'a> {
    Input {
        packet: bytes,
        cursor: 0,
        facts: PacketFacts {
            length_bytes: bytes.len() as u32,
            timestamp_us: arguments.timestamp_us,
        },
        random_seed: arguments.random_seed,
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
            set_optional(pass.state(), layout.numbers.parser_error, error);
            Ok(())
        }
        None => completed(ended),
    }
}

/// Why a packet that the program dropped was dropped: the parser's error, if it had one and tells the program of it.
fn ingress_drop_reason(burst: Burst<'_>, state: &State) -> DropReason {
    match get_optional(state, burst.pipeline.layout.numbers.parser_error) as u16 {
        0 => DropReason::IngressDrop,
        error => DropReason::ParserError(error),
    }
}
