//! The graph as machine code ([`forebay_jit::graph`]), for a packet in memory of its own.

use super::{Stop, Told, Walk, Way, limit};
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
        told: &mut Told<'a>,
        way: &mut Way,
    ) -> Stop<'a> {
        let Scratch {
            requests,
            buffers,
            memory,
            ..
        } = &mut self.scratch.scratch;
        let length_max = self.burst.pipeline.options.packet_limit;
        let mut pass = GraphPass::new(site, self.burst.view, length_max, (requests, buffers, memory));
        say(&mut pass, packet, told);
        let entrance = match *way {
            Way::Entry(entry) => site.code.entry(entry),
            Way::Place(at) => site.code.place(at),
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
                timestamp_us: told.time_us(packet),
            },
            random: told.random,
            seed: 0,
        };
        let state = packet.state.as_mut().expect("packets in the graph have a state");
        // SAFETY: the frame and the room before it belong to the packet; or the frame is shared, and its floor forbids
        // changes.
        let stop = unsafe { pass.run(entrance, input, state) };
        let (start, length) = pass.frame();
        told.parser_error = pass.said(Argument::ParserError) as u32;
        told.random = pass.random();
        told.end_values = Some(pass.end_values());
        packet.payload_bit = pass.cursor();
        packet.ingress_length = pass.length_bytes();
        if packet.shared.is_none() {
            packet.bytes.changed(start, length);
        }
        let (stop, next) = stop_of(self.graph, stop);
        *way = next.map_or(*way, Way::Place);
        stop
    }
}

/// The stop for the caller, and the position at which the packet continues after it, if it is an operation.
pub(super) fn stop_of(graph: &Graph, stop: GraphStop) -> (Stop<'_>, Option<At>) {
    match stop {
        GraphStop::Op(At { block, op }) => (Stop::Op(&graph.block(block).ops[op]), Some(At { block, op: op + 1 })),
        GraphStop::End(block) => (Stop::End(&graph.block(block).end), None),
        GraphStop::StepLimit => (Stop::Drop(DropReason::StepLimit), None),
        GraphStop::AssertFailed => (Stop::Drop(DropReason::AssertFailed), None),
    }
}

/// Sets the arguments of a packet.
fn say(pass: &mut GraphPass<'_>, packet: &Contents, told: &Told<'_>) {
    let egress = told.egress.unwrap_or_default();
    let (number, session) = told.session.map(|(number, session, _)| (number, session)).unzip();
    let said = [
        (Argument::IngressPort, packet.arguments.ingress_port.into()),
        (Argument::TimeUs, told.time_us(packet)),
        (Argument::ParserError, told.parser_error.into()),
        (Argument::EgressPort, packet.egress_port.into()),
        (Argument::Class, packet.priority.into()),
        (Argument::EnqueueTimeUs, egress.enq_timestamp_us),
        (Argument::EnqueueDepth, egress.enq_qdepth.into()),
        (Argument::DequeueDepth, egress.deq_qdepth.into()),
        (
            Argument::ReplicaPort,
            told.replica.map_or(0, |replica| replica.egress_port.into()),
        ),
        (
            Argument::ReplicaInstance,
            told.replica.map_or(0, |replica| replica.instance.into()),
        ),
        (Argument::Session, number.unwrap_or_default().into()),
        (
            Argument::SessionClass,
            session.map_or(0, |session| session.class_of_service.into()),
        ),
        (
            Argument::SessionLimit,
            limit(session.and_then(|session| session.packet_length_bytes)),
        ),
    ];
    said.into_iter().for_each(|(argument, value)| pass.say(argument, value));
}
