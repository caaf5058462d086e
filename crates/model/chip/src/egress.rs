//! From the queues to a wire.
//!
//! A port takes a packet from its queues when its egress parser is free and its wire has room for it: copies of a
//! packet wait here for the parser, one after another. The program is executed when the packet leaves its queue: the
//! port takes the next packet after a time that depends on the length after egress, which may differ from the length
//! before. A packet that egress drops leaves a gap as long as it would have been.

use crate::chip::{Chip, Context, arguments_of};
use crate::drops::{DropTracer, ProgramDrop};
use crate::events::Kind;
use crate::ingress::microseconds;
use crate::network::{Observer, Part, Place};
use crate::pacer::Picos;
use crate::parser_channel::Incoming;
use crate::port::{Port, Waiting, WireEnd};
use crate::spec::ChipSpec;
use crate::timing::Timing;
use forebay_ir::Location;
use forebay_packet::scheduler::Backlog;
use forebay_pipeline::{EgressArguments, EgressDecision, IngressPacket, LeavingPacket, NoTrace};
use std::sync::Arc;

/// When the egress parser begins with a packet, and how long it takes.
#[derive(Clone, Copy)]
struct Start {
    begins: Picos,
    parse: Picos,
}

impl Chip {
    /// A port may take a packet from its queues.
    #[inline]
    pub(crate) fn port_ready<O: Observer>(&mut self, index: u16, context: &mut Context<'_, O>) {
        let port = &mut self.ports[usize::from(index)];
        port.is_scheduled = false;
        let Some((waiting, depth_after)) = port.dequeue(context.now, &mut self.buffer) else {
            return;
        };
        let begins = self.pipes[usize::from(port.pipe)].egress.tick(context.now);
        let parse_parts = waiting.parse_parts;
        let parse = port.egress_parser.take(parse_parts.into());
        let start = Start { begins, parse };
        let (length, tag, queue) = (waiting.length, waiting.packet.tag, waiting.packet.priority);
        let leaves = start.begins + start.parse + self.timing.egress_latency;
        context.inside(index, Part::Queue(queue), tag, (waiting.enqueued, start.begins));
        context.inside(index, Part::Egress, tag, (start.begins, leaves));
        if self.pfc.is_some() {
            let (from, queue) = (waiting.from, usize::from(waiting.packet.priority));
            self.release(from, queue, (length, waiting.in_headroom), context);
        }
        let with_location = context.observer.wants_locations();
        let (verdict, location) = self.execute_egress(index, waiting, (depth_after, start.begins), with_location);
        if !self.egress_decisions.is_empty() {
            self.after_egress(index, start, parse_parts, context);
        }
        match verdict {
            EgressDecision::Recirculate(packet) => self.recirculate(index, packet, start, context),
            EgressDecision::Transmit(packet) => self.send(index, packet, start, context),
            EgressDecision::Drop(reason) => {
                self.drop_by_program(index, tag, ProgramDrop { reason, location }, context);
                self.ports[usize::from(index)].leave_gap(length, start, &self.spec);
            }
            EgressDecision::Enqueue(_) | EgressDecision::Digest(_) => unreachable!("the verdict comes last"),
        }
        self.ports[usize::from(index)].schedule_next(index, context);
    }

    /// Executes the program for a packet that leaves its queue with this depth behind it, at this time. Returns the
    /// verdict on the packet itself, which comes last, and the place in the source of a drop if that is wanted; keeps
    /// all other decisions.
    #[inline]
    fn execute_egress(
        &mut self,
        index: u16,
        waiting: Waiting,
        (depth_after, start): (u32, Picos),
        with_location: bool,
    ) -> (EgressDecision, Option<Location>) {
        self.books.egress_passes += 1;
        let arguments = EgressArguments {
            timestamp_us: microseconds(start),
            enq_timestamp_us: microseconds(waiting.enqueued),
            enq_qdepth: waiting.depth,
            deq_qdepth: depth_after,
            random_seed: self.seeds.next(),
        };
        let state = usize::from(self.ports[usize::from(index)].state);
        let (worker, others) = (&mut self.workers[state], &mut self.egress_decisions);
        let mut verdict = None;
        let decide = |decision| {
            if let Some(before) = verdict.replace(decision) {
                others.push(before);
            }
        };
        let location = if with_location {
            let pipeline = Arc::clone(worker.pipeline());
            let tracer = DropTracer::new(pipeline.program());
            worker.egress_of_one(waiting.packet, &arguments, decide, &mut &tracer);
            tracer.location()
        } else {
            worker.egress_of_one(waiting.packet, &arguments, decide, &mut NoTrace);
            None
        };
        (verdict.expect("every packet has a verdict"), location)
    }

    /// Clones go to the traffic manager, and to the egress parser with the headers of their packet; digests to the
    /// control plane.
    #[inline(never)]
    fn after_egress<O: Observer>(&mut self, index: u16, start: Start, parse_parts: u32, context: &mut Context<'_, O>) {
        let mut decisions = std::mem::take(&mut self.egress_decisions);
        for decision in decisions.drain(..) {
            match decision {
                EgressDecision::Enqueue(packet) => {
                    let time = start.begins + start.parse + self.timing.egress_latency;
                    self.books.copies += 1;
                    self.clones.push_back((time, index, packet, parse_parts));
                    context.schedule(time, Kind::CloneDone, 0);
                }
                EgressDecision::Digest(message) => self.keep_digest(*message),
                EgressDecision::Drop(_) | EgressDecision::Transmit(_) | EgressDecision::Recirculate(_) => {
                    unreachable!("the verdict is not kept")
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
        let (_, port, packet, parse_parts) = clone.expect("a clone is under way");
        self.enqueue(packet, port, parse_parts, context);
    }

    /// A packet comes back into its port, past the line of a port that has one, with its delay and its faults.
    #[inline]
    fn recirculate<O: Observer>(
        &mut self,
        index: u16,
        packet: IngressPacket,
        start: Start,
        context: &mut Context<'_, O>,
    ) {
        let port = &mut self.ports[usize::from(index)];
        if !matches!(port.wire_end, WireEnd::Link(_) | WireEnd::Host(_)) {
            return port.send_within(index, packet, start, (&self.spec, &self.timing), context);
        }
        let arrives = port.take_wire(packet.bytes.len() as u32, start, &self.spec, &self.timing);
        let begins = start.begins + start.parse + self.timing.egress_latency;
        context.inside(index, Part::Wire, packet.tag, (begins, arrives));
        self.late.put(arrives, index, packet);
        context.schedule(arrives, Kind::Late, index);
    }

    /// Puts a frame on the wire.
    #[inline(never)]
    fn send<O: Observer>(&mut self, index: u16, packet: LeavingPacket, start: Start, context: &mut Context<'_, O>) {
        let port = &mut self.ports[usize::from(index)];
        if port.wire_end != WireEnd::Outside {
            let packet = self.worker_of(index).arrive_again(packet, arguments_of(index));
            let port = &mut self.ports[usize::from(index)];
            return port.send_within(index, packet, start, (&self.spec, &self.timing), context);
        }
        let arrives = port.take_wire(packet.bytes.len() as u32, start, &self.spec, &self.timing);
        let begins = start.begins + start.parse + self.timing.egress_latency;
        context.inside(index, Part::Wire, packet.tag, (begins, arrives));
        self.books.transmitted += 1;
        let place = Place {
            chip: self.number,
            port: index,
        };
        context.observer.departed(place, &packet.bytes, packet.tag, arrives);
        self.worker_of(index).recycle(packet);
    }
}

impl Port {
    /// As soon as the wire is free the port may take the next packet, if there is one.
    #[inline]
    fn schedule_next<O: Observer>(&mut self, index: u16, context: &mut Context<'_, O>) {
        if self.queues.ready() != 0 {
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
        start: Start,
        (spec, timing): (&ChipSpec, &Timing),
        context: &mut Context<'_, O>,
    ) {
        let frame = Incoming::from(packet);
        let arrives = self.take_wire(frame.bytes, start, spec, timing) + self.link_delay;
        let begins = start.begins + start.parse + timing.egress_latency;
        context.inside(index, Part::Wire, frame.packet.tag, (begins, arrives));
        if self.on_wire.is_empty() {
            context.schedule(arrives, Kind::Delivered, index);
        }
        self.on_wire.push_back((arrives, frame));
    }

    /// Occupies the wire for as long as a packet of this length takes, or would have taken. Returns that time.
    #[inline]
    fn leave_gap(&mut self, length: u32, start: Start, spec: &ChipSpec) -> Picos {
        let duration = self.wire.take(8 * spec.wire_bytes(length));
        self.free_at = start.begins + duration.max(start.parse);
        self.report.wire_busy_ps += duration;
        self.wire_taken = (start.begins, start.begins + duration);
        duration
    }

    /// Takes the wire for a frame; when its last byte is there.
    #[inline]
    fn take_wire(&mut self, length: u32, start: Start, spec: &ChipSpec, timing: &Timing) -> Picos {
        let duration = self.leave_gap(length, start, spec);
        self.report.sent_frames += 1;
        self.report.sent_bytes += u64::from(length);
        let begins = start.begins + start.parse + timing.egress_latency;
        self.wire_free_at = begins.max(self.wire_free_at) + duration;
        self.wire_free_at
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_that_waits_for_its_clock_has_not_taken_the_wire() {
        let spec = ChipSpec::known("tofino").unwrap();
        let timing = Timing::of_one_state(1_000_000_000);
        let mut port = Port::new(&spec, &timing, 0, 1);
        let start = Start {
            begins: 1_800,
            parse: 0,
        };
        port.leave_gap(1_500, start, &spec);
        let busy = |now| port.report(now).wire_busy_ps;
        assert_eq!([1_000, 1_800, 1_900, Picos::MAX].map(busy), [0, 0, 100, 121_920]);
    }
}
