//! Each side of the traffic manager in one call, in compiled code: what [`super::ingress`] and [`super::egress`] do body by body.

use super::egress::frame_and_state;
use super::pass::Scratch;
use super::{Burst, DROP_PORT, WorkerScratch, min_option, restore};
use crate::layout::Layout;
use crate::outcome::DropReason;
use crate::packet::{Contents, EgressArguments};
use forebay_bits::read_bits;
use forebay_exec::{Input, NumberPlace};
use forebay_ir::{Program, SlotId};
use forebay_jit::gress::{EgressHalf, Given, GressExit, Gresses, IngressHalf, MetadataSource};
use forebay_jit::{Execution, Site};

/// Places of values among those that ingress is given.
mod in_ingress {
    pub(super) const PORT: usize = 0;
    pub(super) const LENGTH: usize = 1;
    pub(super) const TIMESTAMP: usize = 2;
    pub(super) const INSTANCE_TYPE: usize = 3;
}

/// The same of egress.
mod in_egress {
    pub(super) const PORT: usize = 0;
    pub(super) const LENGTH: usize = 1;
    pub(super) const TIMESTAMP: usize = 2;
    pub(super) const ENQ_TIMESTAMP: usize = 3;
    pub(super) const ENQ_QDEPTH: usize = 4;
    pub(super) const DEQ_TIMEDELTA: usize = 5;
    pub(super) const DEQ_QDEPTH: usize = 6;
    pub(super) const QID: usize = 7;
}

/// How egress has ended without an error.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Egressed {
    /// The deparser has run: what it has emitted is in the frame, with the rest of it, or apart.
    Deparsed { in_frame: bool },
    /// Copies and digests come first.
    WantsCopies,
}

/// What compiled code does on each side.
pub(crate) fn gresses(program: &Program, layout: &Layout) -> Gresses {
    let (blocks, slots, numbers) = (&layout.blocks, &layout.slots, &layout.numbers);
    // Nobody reads what has no place among the numbers.
    let read = |slot: Option<SlotId>, number: Option<NumberPlace>| slot.filter(|_| number.is_some());
    let given = |slot, number, place| Some((read(slot, number)?, MetadataSource::Given(place)));
    let before_parser = [
        Some((slots.ingress_port, MetadataSource::Given(in_ingress::PORT))),
        given(slots.packet_length, numbers.packet_length, in_ingress::LENGTH),
        given(
            slots.ingress_global_timestamp,
            numbers.ingress_global_timestamp,
            in_ingress::TIMESTAMP,
        ),
        given(slots.instance_type, numbers.instance_type, in_ingress::INSTANCE_TYPE),
    ];
    let before_egress = [
        Some((slots.egress_port, MetadataSource::Given(in_egress::PORT))),
        Some((slots.egress_spec, MetadataSource::Number(u64::from(DROP_PORT) + 1))),
        given(slots.packet_length, numbers.packet_length, in_egress::LENGTH),
        given(
            slots.egress_global_timestamp,
            numbers.egress_global_timestamp,
            in_egress::TIMESTAMP,
        ),
        given(slots.enq_timestamp, numbers.enq_timestamp, in_egress::ENQ_TIMESTAMP),
        given(slots.enq_qdepth, numbers.enq_qdepth, in_egress::ENQ_QDEPTH),
        given(slots.deq_timedelta, numbers.deq_timedelta, in_egress::DEQ_TIMEDELTA),
        given(slots.deq_qdepth, numbers.deq_qdepth, in_egress::DEQ_QDEPTH),
        given(slots.qid, numbers.qid, in_egress::QID),
    ];
    Gresses {
        ingress: IngressHalf {
            parser: blocks.parser,
            verify_checksum: (!blocks.verify_checksum_is_empty).then_some(blocks.verify_checksum),
            ingress: blocks.ingress,
            before_parser: before_parser.into_iter().flatten().collect(),
            parser_error: slots.parser_error,
            timeout: program.error("ParserTimeout"),
            checksum_error: read(slots.checksum_error, numbers.checksum_error),
        },
        egress: EgressHalf {
            egress: blocks.egress,
            compute_checksum: (!blocks.compute_checksum_is_empty).then_some(blocks.compute_checksum),
            deparser: blocks.deparser,
            before_egress: before_egress.into_iter().flatten().collect(),
            drop: (slots.egress_spec, DROP_PORT),
        },
    }
}

impl WorkerScratch {
    /// Parser, checksum verification, ingress.
    pub(super) fn compiled_ingress(
        &mut self,
        burst: Burst<'_>,
        site: &Site<'_>,
        packet: &mut Contents,
        input: impl Fn(&[u8]) -> Input<'_>,
    ) -> Result<(), DropReason> {
        let layout = &burst.pipeline.layout;
        let is_ready = !packet.preserved.0.is_empty();
        if is_ready {
            self.pool.renew_state(packet, &layout.zero);
        } else {
            self.pool.give_state(packet, &layout.zero);
        }
        let Contents {
            bytes,
            state,
            preserved,
            arguments,
            instance_type,
            ..
        } = packet;
        let state = state.as_mut().expect("it was set");
        if is_ready {
            restore(state, preserved);
        }
        let mut given: Given = [0; _];
        given[in_ingress::PORT] = arguments.ingress_port.into();
        given[in_ingress::LENGTH] = bytes.len() as u64;
        given[in_ingress::TIMESTAMP] = arguments.timestamp_us;
        given[in_ingress::INSTANCE_TYPE] = *instance_type as u64;
        let Scratch {
            requests,
            buffers,
            memory,
            ..
        } = &mut self.scratch;
        requests.clear();
        let mut execution = Execution::new(site, burst.view, input(bytes), state, requests, buffers, memory);
        ended(execution.ingress(&given, is_ready))?;
        let (parsed_bytes, header_bytes) = (execution.parsed_bytes(), execution.header_bytes());
        let length = (bytes.len() as u64 + header_bytes).saturating_sub(parsed_bytes);
        packet.payload_bit = execution.cursor();
        packet.header_bytes = header_bytes as u32;
        packet.packet_length = length as u32;
        Ok(())
    }

    /// Egress, and what follows it unless clones and digests are to be made first.
    pub(super) fn compiled_egress(
        &mut self,
        burst: Burst<'_>,
        site: &Site<'_>,
        packet: &mut Contents,
        arguments: &EgressArguments,
        input: impl FnOnce(&[u8]) -> Input<'_>,
    ) -> Result<Egressed, DropReason> {
        let mut given: Given = [0; _];
        given[in_egress::PORT] = packet.egress_port.into();
        given[in_egress::LENGTH] = packet.packet_length.into();
        given[in_egress::TIMESTAMP] = arguments.timestamp_us;
        given[in_egress::ENQ_TIMESTAMP] = arguments.enq_timestamp_us;
        given[in_egress::ENQ_QDEPTH] = arguments.enq_qdepth.into();
        given[in_egress::DEQ_TIMEDELTA] = arguments.timestamp_us.saturating_sub(arguments.enq_timestamp_us);
        given[in_egress::DEQ_QDEPTH] = arguments.deq_qdepth.into();
        given[in_egress::QID] = packet.priority.into();
        let Contents {
            bytes,
            shared,
            state,
            payload_bit,
            ..
        } = packet;
        let state = state.as_mut().expect("ingress comes first");
        let is_own = shared.is_none() && payload_bit.is_multiple_of(8);
        let front = *payload_bit / 8;
        let Scratch {
            requests,
            buffers,
            memory,
            ..
        } = &mut self.scratch;
        requests.clear();
        buffers.output.clear();
        let (end, emitted, header_bytes) = if is_own {
            let input = input(&[]);
            let mut execution = Execution::new(site, burst.view, input, state, requests, buffers, memory);
            let (end, emitted) = execution.egress_into(&given, bytes, front);
            (end, emitted, execution.header_bytes())
        } else {
            let input = input(shared.as_ref().map_or(&bytes[..], |shared| shared));
            let mut execution = Execution::new(site, burst.view, input, state, requests, buffers, memory);
            (execution.egress(&given), None, execution.header_bytes())
        };
        ended(end)?;
        let length = u64::from(packet.packet_length) + header_bytes;
        packet.packet_length = length.saturating_sub(packet.header_bytes.into()) as u32;
        packet.header_bytes = header_bytes as u32;
        packet.truncate_to = min_option(packet.truncate_to, self.scratch.requests.truncate_to);
        match end {
            GressExit::WantsCopies => Ok(Egressed::WantsCopies),
            _ => {
                if let Some(emitted) = emitted {
                    packet.bytes.shorten_front(front, emitted);
                }
                Ok(Egressed::Deparsed {
                    in_frame: emitted.is_some(),
                })
            }
        }
    }
}

/// Gives a packet the fields that compiled code has left in its frame, for the interpreter.
pub(super) fn fetch_left_fields(burst: Burst<'_>, packet: &mut Contents) {
    let Some(code) = &burst.pipeline.code else { return };
    let (frame, state) = frame_and_state(packet);
    for field in code.bodies().left_fields() {
        if state.is_set(field.valid) {
            let width = burst.pipeline.program.slot(field.slot).width;
            state.set(field.slot, read_bits(frame, field.first_bit, width));
        }
    }
}

/// Whether the packet goes on.
fn ended(end: GressExit) -> Result<(), DropReason> {
    match end {
        GressExit::Done | GressExit::WantsCopies => Ok(()),
        GressExit::Dropped => Err(DropReason::EgressDrop),
        GressExit::StepLimit => Err(DropReason::StepLimit),
        GressExit::AssertFailed => Err(DropReason::AssertFailed),
    }
}
