//! From the traffic manager to a port, or back to ingress.

use super::compiled::Egressed;
use super::pass::Pass;
use super::{
    Burst, DROP_PORT, WorkerScratch, completed, min_option, port, preserve_in, preserved, restore, set_optional,
    verdict,
};
use crate::outcome::{DropReason, EgressDecision};
use crate::packet::{Contents, EgressArguments, IngressPacket, InstanceType, QueuedPacket};
use forebay_exec::{CloneRequest, Input, PacketFacts, Preserve, State, Tracer};

/// What becomes of a packet after egress, unless it is dropped.
#[derive(Clone, Copy)]
enum Fate {
    Leave,
    Recirculate(Preserve),
}

impl Fate {
    fn wanted(recirculate: Option<Preserve>) -> Fate {
        recirculate.map_or(Fate::Leave, Fate::Recirculate)
    }
}

impl WorkerScratch {
    pub(super) fn egress_packet<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        mut packet: QueuedPacket,
        arguments: &EgressArguments,
        decide: &mut impl FnMut(EgressDecision),
        tracer: &mut T,
    ) {
        let input = egress_input(burst, &packet, arguments);
        let mut is_put_together = false;
        let fate = match burst.site::<T>() {
            Some(site) => {
                let egressed =
                    self.compiled_egress(burst, site, &mut packet, arguments, |frame| input.for_packet(frame));
                egressed.map(|egressed| match egressed {
                    Egressed::WantsCopies => None,
                    Egressed::Deparsed { in_frame } => {
                        is_put_together = in_frame;
                        Some(Fate::wanted(self.scratch.requests.recirculate))
                    }
                })
            }
            None => {
                super::compiled::fetch_left_fields(burst, &mut packet);
                begin(burst, &mut packet, arguments);
                self.run_egress(burst, &mut packet, &input, tracer)
            }
        };
        let fate = match fate {
            Ok(Some(fate)) => Ok(fate),
            Ok(None) => {
                if let Some(clone) = self.scratch.requests.clone {
                    self.clone_from_egress(burst, &mut packet, clone, decide, tracer);
                }
                self.take_digests(burst, |message| decide(EgressDecision::Digest(message)));
                self.after_copies(burst, &mut packet, &input, tracer)
            }
            Err(reason) => Err(reason),
        };
        let fate = fate.and_then(|fate| {
            if !is_put_together {
                self.put_together(&mut packet);
            }
            self.finish(burst, &mut packet, fate)
        });
        self.decide_fate(burst, packet, fate, decide, tracer);
    }

    /// Egress, and what follows it; nothing of that when clones and digests are to be made first.
    fn run_egress<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        packet: &mut Contents,
        input: &EgressInput,
        tracer: &mut T,
    ) -> Result<Option<Fate>, DropReason> {
        let layout = &burst.pipeline.layout;
        self.scratch.requests.clear();
        self.scratch.buffers.output.clear();
        let (frame, state) = frame_and_state(packet);
        let mut pass = Pass::new(burst, input.for_packet(frame), state, &mut self.scratch, tracer);
        completed(pass.run(layout.blocks.egress))?;
        let bytes_behind = layout.valid_header_bytes(pass.state());
        let copies = pass.requests().clone.is_some() || pass.requests().has_digests();
        let fate = if copies { None } else { Some(leave(burst, &mut pass)?) };
        let length = u64::from(packet.packet_length) + bytes_behind;
        packet.packet_length = length.saturating_sub(packet.header_bytes.into()) as u32;
        packet.header_bytes = bytes_behind as u32;
        packet.truncate_to = min_option(packet.truncate_to, self.scratch.requests.truncate_to);
        Ok(fate)
    }

    /// The rest of the way of a packet that was cloned or has sent digests.
    fn after_copies<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        packet: &mut Contents,
        input: &EgressInput,
        tracer: &mut T,
    ) -> Result<Fate, DropReason> {
        let (frame, state) = frame_and_state(packet);
        let mut pass = Pass::new(burst, input.for_packet(frame), state, &mut self.scratch, tracer);
        leave(burst, &mut pass)
    }

    /// A clone from egress has the headers as egress left them, and goes through egress again.
    fn clone_from_egress<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        packet: &mut QueuedPacket,
        request: CloneRequest,
        decide: &mut impl FnMut(EgressDecision),
        tracer: &mut T,
    ) {
        let layout = &burst.pipeline.layout;
        let Some(session) = burst.view.snapshot.replication.clone_sessions.get(&request.session) else {
            verdict(tracer, || format!("no clone: there is no session {}", request.session));
            self.count_drop(burst, DropReason::NoCloneSession);
            return;
        };
        if packet.passes.egress_clones >= burst.pipeline.options.clone_limit {
            verdict(tracer, || "no clone: too many clones of clones".to_string());
            self.count_drop(burst, DropReason::CloneLimit);
            return;
        }
        verdict(tracer, || {
            format!(
                "clone by session {} to {} ports",
                request.session,
                session.replicas.len()
            )
        });
        let kept = preserved(burst.pipeline, request.preserve, packet.state());
        let mut clone = QueuedPacket(self.pool.copy_of(packet));
        let state = clone.state();
        layout.reset_metadata(state);
        restore(state, &kept);
        set_optional(state, layout.numbers.instance_type, InstanceType::EgressClone as u32);
        clone.priority = super::get_optional(clone.state(), layout.numbers.priority) as u8;
        clone.instance_type = InstanceType::EgressClone;
        clone.truncate_to = session.packet_length_bytes;
        clone.passes.egress_clones += 1;
        super::classify(&mut clone, session, layout.numbers.priority);
        self.replicate(burst, clone, &session.replicas, |copy| {
            decide(EgressDecision::Enqueue(copy))
        });
    }

    /// Cuts the packet's new frame, and sees whether it may go on with it.
    fn finish(&mut self, burst: Burst<'_>, packet: &mut Contents, fate: Fate) -> Result<Fate, DropReason> {
        let truncate_to = min_option(packet.truncate_to, self.scratch.requests.truncate_to);
        let limit = truncate_to.map_or(usize::MAX, |limit| limit as usize);
        packet.bytes.truncate(limit);
        let options = &burst.pipeline.options;
        if packet.bytes.len() > options.packet_limit as usize {
            return Err(DropReason::PacketTooLong);
        }
        if let Fate::Recirculate(preserve) = fate {
            packet.passes.recirculations += 1;
            if packet.passes.recirculations > options.recirculate_limit {
                return Err(DropReason::RecirculateLimit);
            }
            preserve_in(packet, burst.pipeline, preserve);
        }
        Ok(fate)
    }

    /// What was emitted, and the part of the frame that the parser left: in the frame's own buffer when nobody shares it.
    pub(crate) fn put_together(&mut self, packet: &mut Contents) {
        let output = &mut self.scratch.buffers.output;
        let payload_bit = packet.payload_bit;
        if packet.shared.is_none() && (output.len_bits() | payload_bit).is_multiple_of(8) {
            // What will be cut off need not be moved.
            let limit = packet.truncate_to.map_or(usize::MAX, |limit| limit as usize);
            let kept = limit.saturating_sub(output.len_bits() / 8);
            packet.bytes.truncate(kept.saturating_add(payload_bit / 8));
            return packet.bytes.replace_front(payload_bit / 8, output.bytes());
        }
        output.push_from(packet.frame(), payload_bit);
        let bytes = output.take(self.pool.buffer().into_memory()).into();
        self.pool.recycle(std::mem::replace(&mut packet.bytes, bytes));
        if let Some(shared) = packet.shared.take() {
            self.pool.recycle_shared(shared);
        }
    }

    fn decide_fate<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        mut packet: QueuedPacket,
        fate: Result<Fate, DropReason>,
        decide: &mut impl FnMut(EgressDecision),
        tracer: &mut T,
    ) {
        match fate {
            Err(reason) => {
                verdict(tracer, || format!("drop: {reason}"));
                self.count_drop(burst, reason);
                decide(EgressDecision::Drop(reason));
                self.pool.recycle_packet(packet.0);
            }
            Ok(Fate::Leave) => {
                let (port, tag) = (packet.egress_port, packet.tag);
                let bytes = std::mem::take(&mut packet.bytes);
                verdict(tracer, || format!("transmit {} bytes on port {port}", bytes.len()));
                decide(EgressDecision::Transmit { port, bytes, tag });
                self.pool.recycle_packet(packet.0);
            }
            Ok(Fate::Recirculate(_)) => {
                verdict(tracer, || format!("recirculate {} bytes", packet.bytes.len()));
                packet.passes.resubmissions = 0;
                packet.passes.egress_clones = 0;
                packet.instance_type = InstanceType::Recirculated;
                self.pool.recycle_state(&mut packet);
                decide(EgressDecision::Recirculate(IngressPacket(packet.0)));
            }
        }
    }
}

/// Drop, or checksum computation and deparser, and then what the program wanted.
fn leave<T: Tracer>(burst: Burst<'_>, pass: &mut Pass<'_, T>) -> Result<Fate, DropReason> {
    let layout = &burst.pipeline.layout;
    if port(pass.state().number(layout.numbers.egress_spec)) == DROP_PORT {
        return Err(DropReason::EgressDrop);
    }
    let recirculate = pass.requests().recirculate;
    if T::ON || !layout.blocks.compute_checksum_is_empty {
        completed(pass.run(layout.blocks.compute_checksum))?;
    }
    completed(pass.run(layout.blocks.deparser))?;
    Ok(Fate::wanted(recirculate))
}

/// The frame as it entered ingress, and the state.
pub(super) fn frame_and_state(packet: &mut Contents) -> (&[u8], &mut State) {
    let Contents {
        bytes, shared, state, ..
    } = packet;
    let frame = shared.as_ref().map_or(&bytes[..], |shared| shared);
    (frame, state.as_mut().expect("ingress comes first"))
}

/// The arguments of egress that passes need; the packet's bytes are borrowed only while one runs.
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

fn egress_input(burst: Burst<'_>, packet: &QueuedPacket, arguments: &EgressArguments) -> EgressInput {
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
fn begin(burst: Burst<'_>, packet: &mut QueuedPacket, arguments: &EgressArguments) {
    let numbers = &burst.pipeline.layout.numbers;
    let waited = arguments.timestamp_us.saturating_sub(arguments.enq_timestamp_us);
    let length = packet.packet_length;
    let (egress_port, priority) = (packet.egress_port, packet.priority);
    let state = packet.state();
    set_optional(state, numbers.egress_global_timestamp, arguments.timestamp_us);
    set_optional(state, numbers.enq_timestamp, arguments.enq_timestamp_us);
    set_optional(state, numbers.enq_qdepth, arguments.enq_qdepth);
    set_optional(state, numbers.deq_timedelta, waited);
    set_optional(state, numbers.deq_qdepth, arguments.deq_qdepth);
    set_optional(state, numbers.qid, priority);
    set_optional(state, numbers.packet_length, length);
    state.write_number(numbers.egress_port, egress_port.into());
    state.write_number(numbers.egress_spec, u64::from(DROP_PORT) + 1);
}
