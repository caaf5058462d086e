//! Packets that are neither queued nor copied: the whole way at once, in compiled code.
//!
//! What [`Worker::ingress`] and [`Worker::egress`] do with a packet whose queue is empty when it comes, that has one fate
//! and no clones, in one step, in the packet's own buffer. Where a packet does not fit this, nothing has happened to it
//! yet and it goes through the two entry points. See [`forebay_jit::route`].

use super::{DROP_PORT, Worker};
use crate::layout::Layout;
use crate::load::Pipeline;
use crate::objects::{PresentSection, View};
use crate::outcome::DropReason;
use forebay_ir::{Program, SlotId, SlotKind};
use forebay_jit::route::{Argument, Arguments, Route, Source};
use forebay_jit::{Fate, ShortWay};
use forebay_packet::Packet;

/// What became of a packet on the short way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It is ready to leave by this port.
    Transmit(u32),
    /// It is no more. Already counted.
    Drop(DropReason),
}

/// Packets that came from one port at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// `standard_metadata.ingress_port`.
    pub ingress_port: u32,
    /// The time in microseconds, of arrival and of everything else.
    pub timestamp_us: u64,
}

impl Worker {
    /// Whether packets may be able to take the short way.
    pub fn has_short_way(&self) -> bool {
        self.pipeline.has_short_way()
    }

    /// Takes packets the short way, one after the other, and appends what became of each. Stops before the first that
    /// has to take the long way, which has not been touched. When the queues of the traffic manager are empty, this is
    /// the same as [`Worker::ingress`] and [`Worker::egress`].
    pub fn pass(&mut self, packets: &mut [Packet], arrival: Arrival, passages: &mut Vec<Passage>) {
        let Some(code) = &self.pipeline.code else { return };
        let reader = self.reader.get_or_insert_with(|| self.pipeline.readers.reader());
        let pin = reader.pin();
        let view = View {
            program: &self.pipeline.program,
            plan: &self.pipeline.plan,
            stateful: &self.pipeline.stateful,
            snapshot: self.pipeline.published.load(&pin),
            pin: &pin,
            section: PresentSection::of_burst(&self.pipeline.stateful),
            shard: self.shard,
        };
        let mut state = self.pool.state(&self.pipeline.layout.zero);
        let (requests, buffers, memory) = self.scratch.of_compiled_code();
        let short_way = ShortWay::new(code, &view, &mut state, requests, buffers, memory);
        if let Some(mut short_way) = short_way {
            let arguments = Arguments {
                ingress_port: arrival.ingress_port,
                timestamp_us: arrival.timestamp_us,
            };
            let passed = packets.iter_mut().map_while(|packet| {
                let fate = short_way.run(packet.data_mut(), arguments);
                finish(&self.pipeline, &mut short_way, packet, fate)
            });
            passages.extend(passed);
        }
        self.pool.recycle_state(state);
    }
}

impl Pipeline {
    /// Whether packets may be able to take the short way.
    pub fn has_short_way(&self) -> bool {
        self.code.as_ref().is_some_and(forebay_jit::Code::has_short_way)
    }

    /// Why no packet takes the short way, for people; nothing when packets do, or the engine has none.
    pub fn short_way_obstacle(&self) -> Option<String> {
        self.code.as_ref()?.obstacle().map(ToString::to_string)
    }
}

/// Brings the packet into its final form; nothing when it has to take the long way.
#[inline]
fn finish(pipeline: &Pipeline, short_way: &mut ShortWay<'_>, packet: &mut Packet, fate: Fate) -> Option<Passage> {
    let (port, length_max) = match fate {
        Fate::Sent { port, length_max } => (port, length_max),
        Fate::Rewritten {
            port,
            parsed_bits,
            length_max,
        } => {
            rewrite(short_way, packet, parsed_bits);
            (port, length_max)
        }
        Fate::DroppedInIngress => return Some(drop_packet(pipeline, DropReason::IngressDrop)),
        Fate::DroppedInEgress => return Some(drop_packet(pipeline, DropReason::EgressDrop)),
        Fate::AssertFailed => return Some(drop_packet(pipeline, DropReason::AssertFailed)),
        Fate::GaveUp => {
            short_way.output().clear();
            return None;
        }
    };
    packet.truncate(length_max as usize);
    if packet.len() > pipeline.options.packet_limit as usize {
        return Some(drop_packet(pipeline, DropReason::PacketTooLong));
    }
    Some(Passage::Transmit(port))
}

fn drop_packet(pipeline: &Pipeline, reason: DropReason) -> Passage {
    pipeline.drops().count(reason);
    Passage::Drop(reason)
}

/// Puts the deparser's output in place of what the parser took.
fn rewrite(short_way: &mut ShortWay<'_>, packet: &mut Packet, parsed_bits: usize) {
    let output = short_way.output();
    if parsed_bits.is_multiple_of(8) && output.len_bits().is_multiple_of(8) {
        packet.replace_front(parsed_bits / 8, output.bytes());
    } else {
        output.push_from(packet.data(), parsed_bits);
        packet.replace_front(packet.len(), output.bytes());
    }
    output.clear();
}

/// What v1model does with a packet that takes the short way.
pub(crate) fn route(program: &Program, layout: &Layout) -> Route {
    let (blocks, slots) = (&layout.blocks, &layout.slots);
    let mut before_parser = vec![(slots.ingress_port, Source::Argument(Argument::IngressPort))];
    let mut before_egress = vec![
        (slots.egress_port, Source::EgressPort),
        (slots.egress_spec, Source::Number(u64::from(DROP_PORT) + 1)),
    ];
    let set = |list: &mut Vec<(SlotId, Source)>, slot: Option<SlotId>, source| {
        list.extend(slot.map(|slot| (slot, source)));
    };
    let timestamp = Source::Argument(Argument::Timestamp);
    let length = Source::Argument(Argument::PacketLength);
    set(&mut before_parser, slots.packet_length, length);
    set(&mut before_parser, slots.ingress_global_timestamp, timestamp);
    set(&mut before_egress, slots.egress_global_timestamp, timestamp);
    set(&mut before_egress, slots.enq_timestamp, timestamp);
    set(&mut before_egress, slots.instance_type, Source::Number(0));
    set(&mut before_egress, slots.deq_timedelta, Source::Number(0));
    set(&mut before_egress, slots.qid, Source::Number(0));
    let mut unknown: Vec<SlotId> = slots.enq_qdepth.into_iter().chain(slots.deq_qdepth).collect();
    if changes_lengths(program) {
        unknown.extend(slots.packet_length);
    } else {
        set(&mut before_egress, slots.packet_length, length);
    }
    Route {
        parser: blocks.parser,
        verify_checksum: blocks.verify_checksum,
        ingress: blocks.ingress,
        egress: blocks.egress,
        compute_checksum: blocks.compute_checksum,
        deparser: blocks.deparser,
        checksum_error: slots.checksum_error,
        egress_spec: slots.egress_spec,
        drop_port: DROP_PORT,
        copying: slots.mcast_grp.into_iter().collect(),
        before_parser,
        before_egress,
        unknown,
        fixed: slots.priority.into_iter().chain(slots.parser_error).collect(),
    }
}

/// Whether anything but the parser adds headers, removes them or changes their lengths.
fn changes_lengths(program: &Program) -> bool {
    let bodies = program
        .bodies
        .iter()
        .filter(|body| body.kind != forebay_ir::BodyKind::Parser);
    let mut statements = bodies.flat_map(|body| &body.blocks).flat_map(|block| &block.statements);
    let is_length = |slot| matches!(program.slot(slot).kind, SlotKind::Valid(_) | SlotKind::VarbitLength(_));
    statements.any(|statement| statement.op.target().is_some_and(is_length))
}
