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
use crate::port::{Waiting, WireEnd};
use forebay_pipeline::{EgressArguments, EgressDecision, IngressPacket, NoTrace};

/// What a packet has become.
enum Frame {
    /// To whatever is at the other end.
    Sent { bytes: Vec<u8>, tag: u64 },
    /// Recirculated: back into this port with what the architecture keeps.
    Again(IngressPacket),
}

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
        let frame = self.execute_egress(waiting, depth_behind, start);
        self.books.copies += u64::from(frame.is_some());
        self.books.copies += self.after_egress(index, tag, start, context);
        self.books.copies -= 1;
        match frame {
            None => self.leave_gap(index, length, start),
            Some(Frame::Again(packet)) => self.send_within(index, packet, start, context),
            Some(Frame::Sent { bytes, tag }) => self.send(index, bytes, tag, start, context),
        }
        let port = &mut self.ports[usize::from(index)];
        if port.backlog > 0 {
            port.is_scheduled = true;
            context.schedule(port.free_at, Kind::PortReady, index);
        }
    }

    /// What the packet has become, if it goes on; all other decisions are kept.
    #[inline]
    fn execute_egress(&mut self, waiting: Waiting, depth_behind: u32, start: Picos) -> Option<Frame> {
        self.books.egress_passes += 1;
        let arguments = EgressArguments {
            timestamp_us: microseconds(start),
            enq_timestamp_us: microseconds(waiting.enqueued),
            enq_qdepth: waiting.depth,
            deq_qdepth: depth_behind,
            random_seed: self.random.next_u64(),
        };
        let (mut frame, others) = (None, &mut self.egress_decisions);
        let decide = |decision| match decision {
            EgressDecision::Transmit { bytes, tag, .. } => frame = Some(Frame::Sent { bytes, tag }),
            EgressDecision::Recirculate(packet) => frame = Some(Frame::Again(packet)),
            other => others.push(other),
        };
        self.worker
            .egress_of_one(waiting.packet, &arguments, decide, &mut NoTrace);
        frame
    }

    /// Clones go to the traffic manager. How many packets it were with which something happened.
    fn after_egress<O: Observer>(&mut self, index: u16, tag: u64, start: Picos, context: &mut Context<'_, O>) -> u64 {
        if self.egress_decisions.is_empty() {
            return 0;
        }
        let mut decisions = std::mem::take(&mut self.egress_decisions);
        let mut fates = 0;
        for decision in decisions.drain(..) {
            fates += u64::from(!matches!(decision, EgressDecision::Digest(_)));
            match decision {
                EgressDecision::Enqueue(packet) => {
                    let time = start + self.spec.pipelines.egress_latency_ps;
                    self.clones.push_back((time, index, packet));
                    context.schedule(time, Kind::CloneDone, 0);
                }
                EgressDecision::Digest(message) => self.keep_digest(message),
                EgressDecision::Drop(reason) => self.drop_by_program(index, tag, reason, context),
                EgressDecision::Transmit { .. } | EgressDecision::Recirculate(_) => {
                    unreachable!("it is the packet's own frame")
                }
            }
        }
        self.egress_decisions = decisions;
        fates
    }

    /// A clone from egress comes to the traffic manager. Their times come in the order of their events.
    pub(crate) fn clone_done<O: Observer>(&mut self, context: &mut Context<'_, O>) {
        let first = (0..self.clones.len()).min_by_key(|&place| self.clones[place].0);
        let clone = first.and_then(|place| self.clones.remove(place));
        let (_, port, packet) = clone.expect("a clone is under way");
        self.enqueue(packet, port, context);
    }

    /// Takes the wire for a packet that is no more, as long as it would have taken.
    fn leave_gap(&mut self, index: u16, length: u32, start: Picos) {
        let port = &mut self.ports[usize::from(index)];
        let duration = port.wire.take(8 * self.spec.wire_bytes(length));
        port.free_at = start + duration;
        port.report.wire_busy_ps += duration;
    }

    /// Takes the wire for a frame; when its last byte is there.
    fn take_wire(&mut self, index: u16, length: usize, start: Picos) -> Picos {
        self.leave_gap(index, length as u32, start);
        let port = &mut self.ports[usize::from(index)];
        port.report.sent_frames += 1;
        port.report.sent_bytes += length as u64;
        port.free_at + self.spec.pipelines.egress_latency_ps
    }

    /// Puts a frame on the wire.
    fn send<O: Observer>(&mut self, index: u16, bytes: Vec<u8>, tag: u64, start: Picos, context: &mut Context<'_, O>) {
        if self.ports[usize::from(index)].wire_end != WireEnd::Outside {
            let packet = self.arriving(bytes, index, tag);
            return self.send_within(index, packet, start, context);
        }
        let arrives = self.take_wire(index, bytes.len(), start);
        self.books.transmitted += 1;
        let place = Place {
            chip: self.number,
            port: index,
        };
        context.observer.departed(place, &bytes, tag, arrives);
        self.worker.recycle(bytes);
    }

    /// Puts a frame on the wire that does not leave the network.
    fn send_within<O: Observer>(
        &mut self,
        index: u16,
        packet: IngressPacket,
        start: Picos,
        context: &mut Context<'_, O>,
    ) {
        let arrives = self.take_wire(index, packet.bytes.len(), start);
        let port = &mut self.ports[usize::from(index)];
        let arrives = arrives + port.link_delay;
        if port.on_wire.is_empty() {
            context.schedule(arrives, Kind::Delivered, index);
        }
        port.on_wire.push_back((arrives, packet));
    }

    /// The first frame on a port's wire has reached the other end.
    pub(crate) fn take_delivered<O: Observer>(&mut self, index: u16, context: &mut Context<'_, O>) -> IngressPacket {
        let port = &mut self.ports[usize::from(index)];
        let (_, frame) = port.on_wire.pop_front().expect("a frame is on the wire");
        if let Some((arrives, _)) = port.on_wire.front() {
            context.schedule(*arrives, Kind::Delivered, index);
        }
        frame
    }
}
