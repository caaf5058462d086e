//! From the queues to a wire.
//!
//! A port takes a packet from its queues when its wire has room for it. The time between is that of the egress pipeline,
//! the same for all, so the program is executed when the packet leaves its queue: the length with which it comes to the
//! wire, which egress may change, says when the port takes the next one. A packet that egress drops leaves a gap as long
//! as it would have been.

use crate::chip::{Chip, Context};
use crate::events::Kind;
use crate::ingress::microseconds;
use crate::network::{Observer, Place};
use crate::pacer::Picos;
use crate::parser_channel::Origin;
use crate::port::{Frame, Waiting, WireEnd};
use forebay_pipeline::{EgressArguments, EgressDecision, EgressPacket, IngressArguments, IngressPacket, NoTrace};

impl Chip {
    /// A port may take a packet from its queues.
    pub(crate) fn port_ready<O: Observer>(&mut self, index: u16, context: &mut Context<'_, O>) {
        self.ports[usize::from(index)].is_scheduled = false;
        let Some((waiting, depth_behind)) = self.dequeue(index, context.now) else {
            return;
        };
        let pipe = self.ports[usize::from(index)].pipe;
        let start = self.pipes[usize::from(pipe)].egress.tick(context.now);
        let length = waiting.length;
        let tag = waiting.packet.tag;
        self.execute_egress(waiting, depth_behind, start);
        let frame = self.after_egress(index, tag, start, context);
        self.send(index, frame, length, start, context);
        let port = &mut self.ports[usize::from(index)];
        if port.backlog > 0 {
            port.is_scheduled = true;
            context.schedule(port.free_at, Kind::PortReady, index);
        }
    }

    fn execute_egress(&mut self, waiting: Waiting, depth_behind: u32, start: Picos) {
        self.books.egress_passes += 1;
        let arguments = EgressArguments {
            timestamp_us: microseconds(start),
            enq_timestamp_us: microseconds(waiting.enqueued),
            enq_qdepth: waiting.depth,
            deq_qdepth: depth_behind,
            random_seed: self.random.next_u64(),
        };
        self.egress_burst.push(EgressPacket {
            packet: waiting.packet,
            arguments,
        });
        self.worker
            .egress(&mut self.egress_burst, &mut self.egress_decisions, &mut NoTrace);
    }

    /// Clones go to the traffic manager; what is left, if anything, is the packet's own frame.
    fn after_egress<O: Observer>(
        &mut self,
        index: u16,
        tag: u64,
        start: Picos,
        context: &mut Context<'_, O>,
    ) -> Option<Frame> {
        let mut decisions = std::mem::take(&mut self.egress_decisions);
        let mut frame = None;
        let mut fates = 0;
        for decided in decisions.drain(..) {
            fates += u64::from(!matches!(decided.decision, EgressDecision::Digest(_)));
            match decided.decision {
                EgressDecision::Transmit { bytes, tag, .. } => frame = Some(Frame::Sent { bytes, tag }),
                EgressDecision::Recirculate(packet) => frame = Some(Frame::Again(packet)),
                EgressDecision::Enqueue(packet) => {
                    let time = start + self.spec.pipelines.egress_latency_ps;
                    self.clones.push_back((time, index, packet));
                    context.schedule(time, Kind::CloneDone, 0);
                }
                EgressDecision::Digest(message) => self.keep_digest(message),
                EgressDecision::Drop(reason) => self.drop_by_program(index, tag, reason, context),
            }
        }
        self.books.copies += fates - 1;
        self.egress_decisions = decisions;
        frame
    }

    /// A clone from egress comes to the traffic manager. Their times come in the order of their events.
    pub(crate) fn clone_done<O: Observer>(&mut self, context: &mut Context<'_, O>) {
        let first = (0..self.clones.len()).min_by_key(|&place| self.clones[place].0);
        let clone = first.and_then(|place| self.clones.remove(place));
        let (_, port, packet) = clone.expect("a clone is under way");
        self.enqueue(packet, port, context);
    }

    /// Puts a frame on the wire; without one, leaves a gap of `length` bytes.
    fn send<O: Observer>(
        &mut self,
        index: u16,
        frame: Option<Frame>,
        length: u32,
        start: Picos,
        context: &mut Context<'_, O>,
    ) {
        let length = frame.as_ref().map_or(length, Frame::length);
        let port = &mut self.ports[usize::from(index)];
        let duration = port.wire.take(8 * self.spec.wire_bytes(length));
        port.free_at = start + duration;
        port.report.wire_busy_ps += duration;
        let Some(frame) = frame else { return };
        port.report.sent_frames += 1;
        port.report.sent_bytes += u64::from(length);
        let arrives = port.free_at + self.spec.pipelines.egress_latency_ps;
        match (frame, port.wire_end) {
            (Frame::Sent { bytes, tag }, WireEnd::Outside) => {
                self.books.transmitted += 1;
                let place = Place {
                    chip: self.number,
                    port: index,
                };
                context.observer.departed(place, &bytes, tag, arrives);
                self.worker.recycle(bytes);
            }
            (frame, _) => {
                let arrives = arrives + port.link_delay;
                if port.on_wire.is_empty() {
                    context.schedule(arrives, Kind::Delivered, index);
                }
                port.on_wire.push_back((arrives, frame));
            }
        }
    }

    /// The first frame on a port's wire has reached the other end.
    pub(crate) fn take_delivered<O: Observer>(&mut self, index: u16, context: &mut Context<'_, O>) -> Frame {
        let port = &mut self.ports[usize::from(index)];
        let (_, frame) = port.on_wire.pop_front().expect("a frame is on the wire");
        if let Some((arrives, _)) = port.on_wire.front() {
            context.schedule(*arrives, Kind::Delivered, index);
        }
        frame
    }

    /// A frame comes back into the port that sent it.
    pub(crate) fn come_back<O: Observer>(&mut self, index: u16, frame: Frame, context: &mut Context<'_, O>) {
        let packet = match frame {
            Frame::Again(packet) => packet,
            Frame::Sent { bytes, tag } => arriving(bytes, index, tag),
        };
        self.arrive(index, Origin::Recirculated, packet, context);
    }
}

/// A frame as the ingress pipeline wants it; the time is set when it enters.
pub(crate) fn arriving(bytes: Vec<u8>, ingress_port: u16, tag: u64) -> IngressPacket {
    let arguments = IngressArguments {
        ingress_port: ingress_port.into(),
        ..IngressArguments::default()
    };
    let mut packet = IngressPacket::new(bytes, arguments);
    packet.tag = tag;
    packet
}
