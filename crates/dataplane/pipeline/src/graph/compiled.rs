//! The graph as machine code ([`forebay_jit::graph`]), for a packet in memory of its own.

use super::{PacketInfo, Start, Stop, Walk, limit};
use crate::outcome::DropReason;
use crate::packet::Contents;
use crate::scratch::Scratch;
use forebay_exec::{PacketFacts, Tracer};
use forebay_ir::pipeline::{Argument, Graph};
use forebay_jit::graph::{At, FrameInPlace, GraphPacket, GraphPass, GraphSite, GraphStop};

impl<'a, T: Tracer> Walk<'_, 'a, T> {
    /// Does the same as [`Walk::advance`], in one call.
    pub(super) fn advance_compiled(
        &mut self,
        site: GraphSite<'a>,
        packet: &mut Contents,
        info: &mut PacketInfo<'a>,
        from: &mut Start,
    ) -> Stop<'a> {
        let Scratch {
            requests,
            buffers,
            memory,
            ..
        } = &mut self.scratch.scratch;
        let length_max = self.burst.pipeline.options.packet_limit;
        let mut pass = GraphPass::new(site, self.burst.view, length_max, requests, buffers, memory);
        set_arguments(&mut pass, packet, info);
        let entrance = match *from {
            Start::Entry(entry) => site.code.entry(entry),
            Start::Place(at) => site.code.place(at),
        };
        // Later positions after the same entry may also restore values.
        pass.keep(&packet.preserved.0);
        let frame = match &packet.shared {
            None => {
                let (start, length, floor) = packet.bytes.in_place();
                FrameInPlace { start, length, floor }
            }
            // A shared frame must not be written to.
            Some(shared) => FrameInPlace {
                start: shared.as_ptr().cast_mut(),
                length: shared.len(),
                floor: FrameInPlace::UNCHANGED,
            },
        };
        let input = GraphPacket {
            frame,
            cursor: packet.payload_bit,
            facts: PacketFacts {
                length_bytes: packet.ingress_length,
                timestamp_us: info.time_us(packet),
            },
            random: info.random,
            seed: 0,
        };
        let state = packet.state.as_mut().expect("packets in the graph have a state");
        // SAFETY: the frame and the room before it belong to the packet; or the frame is shared, and its floor forbids
        // changes.
        let stop = unsafe { pass.run(entrance, input, state) };
        let (start, length) = pass.frame();
        info.parser_error = pass.argument(Argument::ParserError) as u32;
        info.random = pass.random();
        info.end_values = Some(pass.end_values());
        packet.payload_bit = pass.cursor();
        packet.ingress_length = pass.length_bytes();
        if packet.shared.is_none() {
            packet.bytes.changed(start, length);
        }
        let (stop, next) = stop_of(self.graph, stop);
        // Nothing is written otherwise: a copy of `from` onto itself waits for the bytes that were just written.
        if let Some(next) = next {
            *from = Start::Place(next);
        }
        stop
    }
}

/// The stop for the caller, and the position at which the packet continues after it, if it is an operation.
#[inline]
pub(super) fn stop_of(graph: &Graph, stop: GraphStop) -> (Stop<'_>, Option<At>) {
    match stop {
        GraphStop::Op(At { block, op }) => (Stop::Op(&graph.block(block).ops[op]), Some(At { block, op: op + 1 })),
        GraphStop::End(block) => (Stop::End(&graph.block(block).end), None),
        GraphStop::StepLimit => (Stop::Drop(DropReason::StepLimit), None),
        GraphStop::AssertFailed => (Stop::Drop(DropReason::AssertFailed), None),
    }
}

/// Sets the arguments of a packet. Each is one write: a list of them would be put into memory first, for every packet.
fn set_arguments(pass: &mut GraphPass<'_>, packet: &Contents, info: &PacketInfo<'_>) {
    let mut set = |argument, value| pass.set_argument(argument, value);
    set(Argument::IngressPort, packet.arguments.ingress_port.into());
    set(Argument::TimeUs, info.time_us(packet));
    set(Argument::ParserError, info.parser_error.into());
    set(Argument::EgressPort, packet.egress_port.into());
    set(Argument::Class, packet.priority.into());
    let egress = info.egress;
    set(
        Argument::EnqueueTimeUs,
        egress.map_or(0, |egress| egress.enq_timestamp_us),
    );
    set(
        Argument::EnqueueDepth,
        egress.map_or(0, |egress| egress.enq_qdepth.into()),
    );
    set(
        Argument::DequeueDepth,
        egress.map_or(0, |egress| egress.deq_qdepth.into()),
    );
    let replica = info.replica.as_ref();
    set(
        Argument::ReplicaPort,
        replica.map_or(0, |replica| replica.egress_port.into()),
    );
    set(
        Argument::ReplicaInstance,
        replica.map_or(0, |replica| replica.instance.into()),
    );
    let (number, session) = match info.session {
        Some((number, session, _)) => (number, Some(session)),
        None => (0, None),
    };
    set(Argument::Session, number.into());
    set(
        Argument::SessionClass,
        session.map_or(0, |session| session.class_of_service.into()),
    );
    set(
        Argument::SessionLimit,
        limit(session.and_then(|session| session.packet_length_bytes)),
    );
}
