//! The fast path through the switch: packets go from port to port in one step, in their own buffers. Copies are made
//! in buffers of the worker.
//!
//! It is used only while no packet waits in a queue, so that packets stay in order. A packet that takes the slow path
//! does so before the packets that arrived after it leave, and so does one that is resubmitted. Recirculated packets
//! wait for the next poll, as on the slow path.

use crate::again::Again;
use crate::switch::{Activity, Source, Switch};
use forebay_packet::scheduler::QUEUES_MAX;
use forebay_packet::{Burst, Packet};
use forebay_pipeline::{
    Arrival, Cloned, DropReason, IngressArguments, Leaving, Origin, PacketVerdict, Passes, Return, SlowReason, Tracer,
    VerdictRun,
};
use std::ops::Range;

/// What acting on the verdicts on a burst needs, besides the switch.
pub(crate) struct Settling<'a, T> {
    pub(crate) arrival: Arrival,
    pub(crate) now_ns: u64,
    pub(crate) tracer: &'a mut T,
    pub(crate) activity: &'a mut Activity,
    /// The packets without verdicts, and those whose verdicts are yet to be acted on, if they begin again.
    pub(crate) again: Option<&'a mut Again>,
}

impl<T> Settling<'_, T> {
    /// The port at which the burst arrived.
    fn ingress_port(&self) -> u32 {
        self.arrival.ingress_port
    }
}

/// The tags of packets that leave by one port.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tags {
    /// Those of the packets that are settled next.
    Next,
    /// Their ids, since packets between them were dropped: see [`forebay_pipeline::Worker::pass`].
    Ids,
}

impl Switch {
    /// Receives a burst from every port, or from the caller, and lets it take the fast path as far as possible. `room`
    /// is the number of packets that every port accepts: at least a burst. Ports together deliver no more than that.
    pub(crate) fn pass_through<T: Tracer>(
        &mut self,
        source: Source<'_>,
        room: usize,
        now_ns: u64,
        tracer: &mut T,
        activity: &mut Activity,
    ) {
        let max = self.config.burst.min(room / self.ports.count().max(1));
        let mut room = Some(room);
        let mut burst = self.stages.received.take().expect("it is put back below");
        match source {
            Source::Ports => {
                for place in 0..self.ports.count() {
                    let ingress_port = self.ports.receive_at(place, &mut burst, max, now_ns);
                    self.pass_received(&mut burst, ingress_port, &mut room, now_ns, tracer, activity);
                }
            }
            Source::Caller { ingress_port, fill } => {
                fill(&mut burst);
                self.pass_received(&mut burst, ingress_port, &mut room, now_ns, tracer, activity);
            }
        }
        self.stages.received = Some(burst);
    }

    /// Lets a burst that arrived at a port take the fast path; the burst is empty afterwards.
    #[inline]
    fn pass_received<T: Tracer>(
        &mut self,
        burst: &mut Burst,
        ingress_port: u32,
        room: &mut Option<usize>,
        now_ns: u64,
        tracer: &mut T,
        activity: &mut Activity,
    ) {
        if burst.is_empty() {
            return;
        }
        let count = burst.len() as u64;
        self.counters.received += count;
        activity.received += count;
        let began_ns = self.delays.arrival(count);
        self.pass_burst(burst, ingress_port, room.take(), now_ns, tracer, activity);
        self.delays.burst_ends(began_ns);
        burst.clear();
    }

    /// Lets a burst take the fast path. `room` is `None` if packets have been sent since the room of the ports was
    /// read.
    #[inline]
    fn pass_burst<T: Tracer>(
        &mut self,
        burst: &mut Burst,
        ingress_port: u32,
        room: Option<usize>,
        now_ns: u64,
        tracer: &mut T,
        activity: &mut Activity,
    ) {
        let arrival = self.arrival(ingress_port, now_ns);
        let mut settling = Settling {
            arrival,
            now_ns,
            tracer,
            activity,
            again: None,
        };
        let mut verdicts = std::mem::take(&mut self.stages.verdicts);
        match self.pass(burst.as_mut_slice(), arrival, None, room, &mut verdicts) {
            Some(Leaving { port, packets }) => {
                let tags = if packets < burst.len() {
                    let dropped = &mut burst.as_mut_slice()[packets..];
                    self.settle_runs(dropped, &mut verdicts, &mut settling);
                    burst.truncate(packets);
                    Tags::Ids
                } else {
                    Tags::Next
                };
                self.hand_over_all(port, burst, tags, &mut settling);
            }
            None => self.settle_burst(burst.as_mut_slice(), &mut verdicts, &mut settling),
        }
        self.stages.verdicts = verdicts;
    }

    /// What [`forebay_pipeline::Worker::pass`] is given with packets that arrive at this port.
    pub(crate) fn arrival(&self, ingress_port: u32, now_ns: u64) -> Arrival {
        Arrival {
            ingress_port,
            timestamp_us: self.microseconds(now_ns),
            last_queue: (self.config.queues.clamp(1, QUEUES_MAX) - 1) as u32,
            random_seed: self.config.random_seed,
            first_packet: 0,
        }
    }

    /// Lets packets take the fast path, if no packet waits in a queue: see [`forebay_pipeline::Worker::pass`]. `again`
    /// are the packets, if they begin again.
    #[inline]
    fn pass(
        &mut self,
        packets: &mut [Packet],
        arrival: Arrival,
        again: Option<&Again>,
        room: Option<usize>,
        verdicts: &mut Vec<VerdictRun>,
    ) -> Option<Leaving> {
        if self.queues.len() > 0 {
            return None;
        }
        // For copies: what every port accepts and every queue could hold.
        let room = || {
            let of_ports = room.unwrap_or_else(|| self.ports.least_room());
            of_ports.min(self.queues.capacity_min())
        };
        let room = if self.worker.makes_copies() { room() } else { 0 };
        let arrival = Arrival {
            first_packet: self.next_tag(),
            ..arrival
        };
        let leaving = match again {
            None => self.worker.pass(packets, arrival, room, verdicts),
            Some(again) => self
                .worker
                .pass_again(packets, again.packets(), arrival, room, verdicts),
        };
        if self.worker.has_more_than_verdicts() {
            self.take_more_than_verdicts();
        }
        leaving
    }

    /// Takes the digests that packets have sent, and counts the queues that they have passed.
    fn take_more_than_verdicts(&mut self) {
        for message in self.worker.take_digests() {
            self.digests.push(message, &self.config);
        }
        for queue in self.worker.take_passed_queues() {
            self.queues.count_passed(queue);
        }
    }

    /// Acts on the verdicts of the first packets, lets the others take the fast path, and so on until all are settled.
    /// `verdicts` is empty afterwards.
    pub(crate) fn settle_burst<T: Tracer>(
        &mut self,
        mut packets: &mut [Packet],
        verdicts: &mut Vec<VerdictRun>,
        settling: &mut Settling<'_, T>,
    ) {
        while !packets.is_empty() {
            if verdicts.is_empty()
                && let Some(leaving) = self.pass(packets, settling.arrival, settling.again.as_deref(), None, verdicts)
            {
                packets = self.hand_over_first(leaving, packets, settling);
            } else if verdicts.is_empty() {
                if settling.again.is_none() {
                    self.worker.count_slow(SlowReason::Queued, 1);
                }
                verdicts.push(VerdictRun {
                    verdict: PacketVerdict::SlowPath,
                    packets: 1,
                });
            }
            if !self.worker.clones().is_empty() {
                packets = self.settle_clones(packets, verdicts, settling);
            }
            packets = self.settle_runs(packets, verdicts, settling);
        }
    }

    /// Acts on the verdicts on clones, and on the packets up to the last one with a clone. Returns the packets after
    /// these. A clone comes before or after its packet, unless no port could see the difference.
    fn settle_clones<'p, T: Tracer>(
        &mut self,
        mut packets: &'p mut [Packet],
        verdicts: &mut Vec<VerdictRun>,
        settling: &mut Settling<'_, T>,
    ) -> &'p mut [Packet] {
        let count = self.worker.clones().len();
        if let Some(port) = port_of_all(self.worker.clones(), verdicts) {
            self.hand_over_clones(port, 0..count, 0, settling);
        } else {
            let mut done = 0;
            for index in 0..count {
                let clone = self.worker.clones()[index];
                let before = clone.place + usize::from(clone.goes_after);
                packets = self.settle_first(before - done, packets, verdicts, settling);
                done = before;
                self.settle_clone(clone, index, done, settling);
            }
        }
        self.worker.forget_clones();
        packets
    }

    /// Acts on the verdicts on the first `count` packets, and returns the packets after them.
    fn settle_first<'p, T: Tracer>(
        &mut self,
        mut count: usize,
        mut packets: &'p mut [Packet],
        verdicts: &mut Vec<VerdictRun>,
        settling: &mut Settling<'_, T>,
    ) -> &'p mut [Packet] {
        while count > 0 {
            let run = &mut verdicts[0];
            let (verdict, first) = (run.verdict, run.packets.min(count));
            run.packets -= first;
            count -= first;
            if run.packets == 0 {
                verdicts.remove(0);
            }
            let (these, behind) = packets.split_at_mut(first);
            packets = behind;
            self.settle_run(verdict, these, settling);
        }
        packets
    }

    fn settle_clone<T: Tracer>(&mut self, clone: Cloned, index: usize, done: usize, settling: &mut Settling<'_, T>) {
        let from = settling.ingress_port();
        if let Some(reason) = clone.verdict.drop_reason() {
            self.counters.copies += 1;
            settling.activity.egress += 1;
            let attached = self.ports.contains(clone.port);
            return self.book_drops(if attached { clone.port } else { from }, reason, 1);
        }
        match clone.verdict {
            PacketVerdict::Transmit(port) => {
                self.hand_over_clones(port, index..index + 1, done, settling);
            }
            PacketVerdict::Returns(how) => {
                self.counters.copies += 1;
                settling.activity.egress += 1;
                let frame = std::mem::take(&mut self.worker.frames_of_clones(index, index + 1)[0]);
                let origin = self.origin_of(clone.place, done, settling);
                self.go_round((how, true), frame.data(), (from, origin), settling.now_ns);
                self.worker.frames_of_clones(index, index + 1)[0] = frame;
            }
            _ => {
                let frame = std::mem::take(&mut self.worker.frames_of_clones(index, index + 1)[0]);
                let origin = self.origin_of(clone.place, done, settling);
                settling.activity.egress +=
                    self.run_clone((clone, frame.data()), (from, origin), settling.now_ns, settling.tracer);
                self.worker.frames_of_clones(index, index + 1)[0] = frame;
            }
        }
    }

    /// The origin of the packet at a place of the burst, of which the first `done` packets are settled: one of the
    /// others, or the last of these.
    fn origin_of<T>(&self, place: usize, done: usize, settling: &Settling<'_, T>) -> Origin {
        match &settling.again {
            None => Origin {
                tag: self.next_tag() - done as u64 + place as u64,
                passes: Passes::default(),
            },
            Some(again) => again.origin_of(place, done),
        }
    }

    /// Hands clones to a port. The first `done` packets of the burst are settled.
    fn hand_over_clones<T>(&mut self, port: u32, clones: Range<usize>, done: usize, settling: &mut Settling<'_, T>) {
        let count = clones.len() as u64;
        self.counters.copies += count;
        settling.activity.egress += count;
        let Some(place) = self.ports.place(port) else {
            let from = settling.ingress_port();
            return (0..count).for_each(|_| self.drop_here(from, DropReason::NoSuchPort));
        };
        self.delays.hand_over(count);
        let first_tag = self.next_tag() - done as u64;
        let (frames, clones) = self.worker.clones_with_frames(clones);
        let tag = |clone: &Cloned| match &settling.again {
            None => first_tag + clone.place as u64,
            Some(again) => again.origin_of(clone.place, done).tag,
        };
        let sent = self
            .ports
            .exchange_at(place, frames, clones.iter().map(tag), settling.now_ns);
        self.count_sent(sent);
    }

    /// Acts on the verdicts on packets, and returns the packets after them, which have no verdicts yet.
    fn settle_runs<'p, T: Tracer>(
        &mut self,
        mut packets: &'p mut [Packet],
        verdicts: &mut Vec<VerdictRun>,
        settling: &mut Settling<'_, T>,
    ) -> &'p mut [Packet] {
        for run in verdicts.drain(..).filter(|run| run.packets > 0) {
            let (these, behind) = packets.split_at_mut(run.packets);
            packets = behind;
            self.settle_run(run.verdict, these, settling);
        }
        packets
    }

    /// Acts on a verdict that all of the packets share.
    fn settle_run<T: Tracer>(
        &mut self,
        verdict: PacketVerdict,
        packets: &mut [Packet],
        settling: &mut Settling<'_, T>,
    ) {
        let (from, now_ns) = (settling.ingress_port(), settling.now_ns);
        let count = packets.len() as u64;
        match verdict {
            PacketVerdict::Transmit(port) => {
                settling.activity.egress += count;
                self.hand_over(port, packets, Tags::Next, settling);
            }
            PacketVerdict::Drop(reason) => {
                self.take_origins(count, settling);
                self.book_drops(from, reason, count);
            }
            PacketVerdict::EgressDrop(port) => {
                self.take_origins(count, settling);
                let attached = self.ports.contains(port);
                self.book_drops(if attached { port } else { from }, DropReason::EgressDrop, count);
            }
            PacketVerdict::Copies { first, count } => {
                let origin = self.take_origins(1, settling);
                settling.activity.egress += u64::from(count);
                self.counters.copies += u64::from(count) - 1;
                self.hand_over_copies((first, count), origin, from, now_ns);
            }
            PacketVerdict::CopiesTogether { port, each } => {
                let copies = count * u64::from(each);
                settling.activity.egress += copies;
                self.counters.copies += copies - count;
                self.hand_over_all_copies(port, (count, each), from, now_ns);
            }
            PacketVerdict::Returns(how) => {
                for packet in packets {
                    let origin = self.take_origins(1, settling);
                    self.send_back(how, packet.data(), origin, settling);
                }
            }
            PacketVerdict::GoesOn => {
                self.take_origins(1, settling);
                let packet = self.worker.take_continued().expect("the last packet goes on");
                settling.activity.egress += self.run_going_on(packet, from, now_ns, settling.tracer);
                settling.activity.egress += self.run_queues(now_ns, settling.tracer);
            }
            PacketVerdict::SlowPath => packets.iter().for_each(|packet| self.take_slow_path(packet, settling)),
        }
        settling.activity.ingress += count;
    }

    /// Lets a packet take the slow path, with what is made from it. The caller counts its own entry into ingress.
    fn take_slow_path<T: Tracer>(&mut self, packet: &Packet, settling: &mut Settling<'_, T>) {
        let now_ns = settling.now_ns;
        match &mut settling.again {
            None => self.arrive(
                packet.data(),
                settling.arrival.ingress_port,
                settling.arrival.timestamp_us,
            ),
            Some(again) => self.stages.slow.entering.push_back(again.take()),
        }
        let (ingress, egress) = self.run_arrived(now_ns, settling.tracer);
        settling.activity.ingress += ingress - 1;
        settling.activity.egress += egress + self.run_queues(now_ns, settling.tracer);
    }

    /// The next `count` packets, at least one, are settled. Returns the origin of the first of them.
    fn take_origins<T>(&mut self, count: u64, settling: &mut Settling<'_, T>) -> Origin {
        let Some(again) = &mut settling.again else {
            let (tag, passes) = (self.take_tags(count), Passes::default());
            return Origin { tag, passes };
        };
        let origin = again.origin_of(0, 0);
        (0..count).for_each(|_| self.worker.discard_arrived(again.take()));
        origin
    }

    /// Hands the copies of a packet to their ports; consecutive copies with the same destination together.
    fn hand_over_copies(&mut self, (first, count): (u32, u32), origin: Origin, from: u32, now_ns: u64) {
        let mut copies = first..first + count;
        while let Some(run) = self.worker.next_copies(&mut copies) {
            let range = run.start..run.end;
            match run.verdict {
                PacketVerdict::Transmit(port) => match self.ports.place(port) {
                    Some(place) => {
                        let packets = self.worker.copies(run.start, run.end);
                        self.delays.hand_over(packets.len() as u64);
                        let tags = std::iter::repeat(origin.tag);
                        let sent = self.ports.exchange_at(place, packets, tags, now_ns);
                        self.count_sent(sent);
                    }
                    None if self.worker.goes_round_by(port) => {
                        self.copies_go_round(Return::ByPort, range, (from, origin), now_ns);
                    }
                    None => range.for_each(|_| self.drop_here(from, DropReason::NoSuchPort)),
                },
                PacketVerdict::Returns(how) => self.copies_go_round(how, range, (from, origin), now_ns),
                PacketVerdict::Drop(reason) => {
                    let attached = run.port.filter(|port| self.ports.contains(*port));
                    range.for_each(|_| self.drop_here(attached.unwrap_or(from), reason));
                }
                other => unreachable!("copies are sent, sent back or dropped, not {other:?}"),
            }
        }
    }

    /// Sends copies of a packet of this origin back to ingress, to this port.
    fn copies_go_round(&mut self, how: Return, copies: Range<u32>, to: (u32, Origin), now_ns: u64) {
        let mut frame = std::mem::take(&mut self.stages.frame);
        for place in copies {
            frame.clear();
            frame.extend_from_slice(self.worker.copies(place, place + 1)[0].data());
            self.go_round((how, false), &frame, to, now_ns);
        }
        self.stages.frame = frame;
    }

    /// Sends all copies, the same number of each packet, by one port.
    fn hand_over_all_copies(&mut self, port: u32, (packets, each): (u64, u32), from: u32, now_ns: u64) {
        let first_tag = self.take_tags(packets);
        let (count, each) = (packets as usize * each as usize, each as usize);
        if self.worker.goes_round_by(port) {
            let mut frame = std::mem::take(&mut self.stages.frame);
            for place in 0..count {
                frame.clear();
                frame.extend_from_slice(self.worker.all_copies(count).as_slice()[place].data());
                let origin = Origin {
                    tag: first_tag + (place / each) as u64,
                    passes: Passes::default(),
                };
                self.go_round((Return::ByPort, false), &frame, (from, origin), now_ns);
            }
            self.stages.frame = frame;
            return self.worker.all_copies(count).clear();
        }
        let burst = self.worker.all_copies(count);
        let sent = self.ports.send_burst(port, burst, Some((first_tag, each)), now_ns);
        burst.clear();
        match sent {
            Some(sent) => {
                self.delays.hand_over(count as u64);
                self.count_sent(sent);
            }
            None => (0..count).for_each(|_| self.drop_here(from, DropReason::NoSuchPort)),
        }
    }

    /// Hands all packets of a burst, which have arrived, to one port.
    fn hand_over_all<T>(&mut self, port: u32, burst: &mut Burst, tags: Tags, settling: &mut Settling<'_, T>) {
        let count = burst.len() as u64;
        settling.activity.ingress += count;
        settling.activity.egress += count;
        if self.ports.place(port).is_none() {
            return self.leave_by_no_port(port, burst.as_slice(), tags, settling);
        }
        let first_tag = self.take_tags(count);
        let tags = (tags == Tags::Next).then_some((first_tag, 1));
        if let Some(sent) = self.ports.send_burst(port, burst, tags, settling.now_ns) {
            self.delays.hand_over(count);
            self.count_sent(sent);
        }
    }

    /// Hands the packets that leave, which are the first ones, to their port. Returns the others, which were dropped.
    fn hand_over_first<'p, T>(
        &mut self,
        leaving: Leaving,
        packets: &'p mut [Packet],
        settling: &mut Settling<'_, T>,
    ) -> &'p mut [Packet] {
        let (packets, dropped) = packets.split_at_mut(leaving.packets);
        let tags = if dropped.is_empty() { Tags::Next } else { Tags::Ids };
        let count = packets.len() as u64;
        settling.activity.ingress += count;
        settling.activity.egress += count;
        self.hand_over(leaving.port, packets, tags, settling);
        dropped
    }

    /// Packets for a port that is not attached: they go round again, if the port stands for that, or are dropped.
    #[cold]
    fn leave_by_no_port<T>(&mut self, port: u32, packets: &[Packet], tags: Tags, settling: &mut Settling<'_, T>) {
        let from = settling.ingress_port();
        for packet in packets {
            let mut origin = self.take_origins(1, settling);
            if tags == Tags::Ids {
                origin.tag = packet.id;
            }
            if self.worker.goes_round_by(port) {
                self.go_round((Return::ByPort, false), packet.data(), (from, origin), settling.now_ns)
            } else {
                self.drop_here(from, DropReason::NoSuchPort)
            }
        }
    }

    /// Sends a packet back to ingress, which it enters before the next packet or in the next poll.
    fn send_back<T: Tracer>(&mut self, how: Return, frame: &[u8], origin: Origin, settling: &mut Settling<'_, T>) {
        let from = settling.ingress_port();
        if !matches!(how, Return::Resubmitted(_)) {
            // It has passed egress.
            settling.activity.egress += 1;
            return self.go_round((how, false), frame, (from, origin), settling.now_ns);
        }
        let arguments = self.arguments_of_return(from, settling.now_ns);
        match self.worker.begins_again((how, false), frame, arguments, origin) {
            Ok(packet) => {
                let (ingress, egress) = self.run_resubmitted(packet, settling.now_ns, settling.tracer);
                settling.activity.ingress += ingress;
                settling.activity.egress += egress + self.run_queues(settling.now_ns, settling.tracer);
            }
            Err(reason) => self.book_drops(from, reason, 1),
        }
    }

    /// Sends a packet back to ingress, in the next poll.
    fn go_round(&mut self, how: (Return, bool), frame: &[u8], (from, origin): (u32, Origin), now_ns: u64) {
        let arguments = self.arguments_of_return(from, now_ns);
        match self.worker.begins_again(how, frame, arguments, origin) {
            Ok(packet) => self.loop_back(packet),
            Err(reason) => self.book_drops(from, reason, 1),
        }
    }

    fn arguments_of_return(&self, ingress_port: u32, now_ns: u64) -> IngressArguments {
        IngressArguments {
            ingress_port,
            timestamp_us: self.microseconds(now_ns),
            random_seed: 0,
        }
    }

    /// Hands packets to a port, without copying them.
    fn hand_over<T>(&mut self, port: u32, packets: &mut [Packet], tags: Tags, settling: &mut Settling<'_, T>) {
        let Some(place) = self.ports.place(port) else {
            return self.leave_by_no_port(port, packets, tags, settling);
        };
        let (count, now_ns) = (packets.len() as u64, settling.now_ns);
        self.delays.hand_over(count);
        let first_tag = self.next_tag();
        let sent = match (tags, &settling.again) {
            (Tags::Ids, _) => self.ports.exchange_at(place, packets, std::iter::empty(), now_ns),
            (Tags::Next, None) => self.ports.exchange_at(place, packets, first_tag.., now_ns),
            (Tags::Next, Some(again)) => self.ports.exchange_at(place, packets, again.tags(), now_ns),
        };
        self.count_sent(sent);
        self.take_origins(count, settling);
    }
}

/// The port by which all clones leave, if none of the packets leaves by it. Their order relative to the packets does
/// not matter then.
fn port_of_all(clones: &[Cloned], packets: &[VerdictRun]) -> Option<u32> {
    let verdict = clones.first()?.verdict;
    let PacketVerdict::Transmit(port) = verdict else {
        return None;
    };
    let is_apart = |run: &VerdictRun| {
        let is_settled = matches!(run.verdict, PacketVerdict::Transmit(_)) || run.verdict.drop_reason().is_some();
        is_settled && run.verdict != verdict
    };
    let is_one = clones.iter().all(|clone| clone.verdict == verdict);
    (is_one && packets.iter().all(is_apart)).then_some(port)
}
