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
use crate::parser_channel::Incoming;
use crate::port::{Port, Waiting, WireEnd};
use crate::scheduler::Backlog;
use crate::spec::ChipSpec;
use forebay_pipeline::{EgressArguments, EgressDecision, FrameBuffer, IngressPacket, NoTrace};

impl Chip {
    /// A port may take a packet from its queues.
    #[inline]
    pub(crate) fn port_ready<O: Observer>(&mut self, index: u16, context: &mut Context<'_, O>) {
        let port = &mut self.ports[usize::from(index)];
        port.is_scheduled = false;
        let Some((waiting, depth_behind)) = port.dequeue(context.now, &mut self.buffer) else {
            return;
        };
        let start = self.pipes[usize::from(port.pipe)].egress.tick(context.now);
        let (length, tag) = (waiting.length, waiting.packet.tag);
        let fate = self.execute_egress(waiting, depth_behind, start);
        if !self.egress_decisions.is_empty() {
            self.after_egress(index, start, context);
        }
        match fate {
            EgressDecision::Recirculate(packet) => {
                let port = &mut self.ports[usize::from(index)];
                port.send_within(index, packet, start, &self.spec, context);
                return port.schedule_next(index, context);
            }
            EgressDecision::Transmit { bytes, tag, .. } => self.send(index, bytes, tag, start, context),
            EgressDecision::Drop(reason) => {
                self.drop_by_program(index, tag, reason, context);
                self.ports[usize::from(index)].leave_gap(length, start, &self.spec);
            }
            EgressDecision::Enqueue(_) | EgressDecision::Digest(_) => unreachable!("the packet's own fate comes last"),
        }
        self.ports[usize::from(index)].schedule_next(index, context);
    }

    /// What becomes of the packet itself; all other decisions are kept.
    #[inline]
    fn execute_egress(&mut self, waiting: Waiting, depth_behind: u32, start: Picos) -> EgressDecision {
        self.books.egress_passes += 1;
        let arguments = EgressArguments {
            timestamp_us: microseconds(start),
            enq_timestamp_us: microseconds(waiting.enqueued),
            enq_qdepth: waiting.depth,
            deq_qdepth: depth_behind,
            random_seed: self.seeds.next(),
        };
        let decisions = &mut self.egress_decisions;
        let decide = |decision| decisions.push(decision);
        self.worker
            .egress_of_one(waiting.packet, &arguments, decide, &mut NoTrace);
        self.egress_decisions.pop().expect("something becomes of every packet")
    }

    /// Clones go to the traffic manager, digests to the control plane.
    #[inline(never)]
    fn after_egress<O: Observer>(&mut self, index: u16, start: Picos, context: &mut Context<'_, O>) {
        let mut decisions = std::mem::take(&mut self.egress_decisions);
        for decision in decisions.drain(..) {
            match decision {
                EgressDecision::Enqueue(packet) => {
                    let time = start + self.spec.pipelines.egress_latency_ps;
                    self.books.copies += 1;
                    self.clones.push_back((time, index, packet));
                    context.schedule(time, Kind::CloneDone, 0);
                }
                EgressDecision::Digest(message) => self.keep_digest(message),
                EgressDecision::Drop(_) | EgressDecision::Transmit { .. } | EgressDecision::Recirculate(_) => {
                    unreachable!("it is the packet's own fate")
                }
            }
        }
        self.egress_decisions = decisions;
    }

    /// A clone from egress comes to the traffic manager. Their times come in the order of their events.
    #[inline(never)]
    pub(crate) fn clone_done<O: Observer>(&mut self, context: &mut Context<'_, O>) {
        let first = (0..self.clones.len()).min_by_key(|&place| self.clones[place].0);
        let clone = first.and_then(|place| self.clones.remove(place));
        let (_, port, packet) = clone.expect("a clone is under way");
        self.enqueue(packet, port, context);
    }

    /// Puts a frame on the wire.
    #[inline(never)]
    fn send<O: Observer>(
        &mut self,
        index: u16,
        bytes: FrameBuffer,
        tag: u64,
        start: Picos,
        context: &mut Context<'_, O>,
    ) {
        let port = &mut self.ports[usize::from(index)];
        if port.wire_end != WireEnd::Outside {
            let packet = self.arriving(bytes, index, tag);
            let port = &mut self.ports[usize::from(index)];
            return port.send_within(index, packet, start, &self.spec, context);
        }
        let arrives = port.take_wire(bytes.len() as u32, start, &self.spec);
        self.books.transmitted += 1;
        let place = Place {
            chip: self.number,
            port: index,
        };
        context.observer.departed(place, &bytes, tag, arrives);
        self.worker.recycle(bytes);
    }
}

impl Port {
    /// As soon as the wire is free the port may take the next packet, if there is one.
    #[inline]
    fn schedule_next<O: Observer>(&mut self, index: u16, context: &mut Context<'_, O>) {
        if self.queues.busy() != 0 {
            self.is_scheduled = true;
            context.schedule(self.free_at, Kind::PortReady, index);
        }
    }

    /// Puts a frame on the wire that does not leave the network.
    #[inline(always)]
    fn send_within<O: Observer>(
        &mut self,
        index: u16,
        packet: IngressPacket,
        start: Picos,
        spec: &ChipSpec,
        context: &mut Context<'_, O>,
    ) {
        let frame = Incoming::from(packet);
        let arrives = self.take_wire(frame.bytes, start, spec) + self.link_delay;
        if self.on_wire.is_empty() {
            context.schedule(arrives, Kind::Delivered, index);
        }
        self.on_wire.push_back((arrives, frame));
    }

    /// Takes the wire for a packet that is no more, as long as it would have taken.
    #[inline]
    fn leave_gap(&mut self, length: u32, start: Picos, spec: &ChipSpec) {
        let duration = self.wire.take(8 * spec.wire_bytes(length));
        self.free_at = start + duration;
        self.report.wire_busy_ps += duration;
    }

    /// Takes the wire for a frame; when its last byte is there.
    #[inline]
    fn take_wire(&mut self, length: u32, start: Picos, spec: &ChipSpec) -> Picos {
        self.leave_gap(length, start, spec);
        self.report.sent_frames += 1;
        self.report.sent_bytes += u64::from(length);
        self.free_at + spec.pipelines.egress_latency_ps
    }

    /// The first frame on the wire has reached the other end.
    #[inline]
    pub(crate) fn take_delivered<O: Observer>(&mut self, index: u16, context: &mut Context<'_, O>) -> Incoming {
        let (_, frame) = self.on_wire.pop_front().expect("a frame is on the wire");
        if let Some((arrives, _)) = self.on_wire.front() {
            context.schedule(*arrives, Kind::Delivered, index);
        }
        frame
    }
}
