//! The fast path: ingress and egress in one step, in compiled code, for packets that are not queued.
//!
//! This does what [`Worker::ingress`] and [`Worker::egress`] do with a packet that finds its queue empty and has no
//! clones, in one step and in the packet's own buffer. A packet that does not fit this is left unchanged, and goes
//! through the two entry points. See [`forebay_jit::route`].

use super::asking::Asking;
use super::clones;
use super::copies::{Copied, packets_together};
use super::frames::length_bits;
use super::pass::Pass;
use super::returns::Return;
use super::{GoingOn, Worker, end_burst};
use crate::graph::Continued;
use crate::load::Pipeline;
use crate::machine_code::{self, MachineCode};
use crate::objects::View;
use crate::outcome::{DigestMessage, DropReason};
use crate::paths::FastForm;
use crate::replication::ReplicationEngine;
use crate::scratch::Scratch;
use forebay_jit::route::{Arguments, Obstacle};
use forebay_jit::{FastPath, FastPathCode};
use forebay_packet::{Burst, Packet};
use std::ops::Range;

/// The verdict on a packet of the fast path, for the switch. The worker makes it from the
/// [`Verdict`](forebay_jit::Verdict) that compiled code has written: it completes frames, counts drops, and collects
/// copies and clones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketVerdict {
    /// It is ready to leave by this port.
    Transmit(u32),
    /// It was dropped. Already counted.
    Drop(DropReason),
    /// The program dropped it in egress, on its way to this port. Already counted.
    EgressDrop(u32),
    /// It was replicated, into at least one copy: see [`Worker::next_copies`].
    Copies {
        /// The first copy.
        first: u32,
        /// The number of copies.
        count: u32,
    },
    /// It was replicated into as many copies as every other packet of the call, and all copies leave by one port: see
    /// [`Worker::all_copies`].
    CopiesTogether {
        /// The port.
        port: u32,
        /// The number of copies of each packet.
        each: u32,
    },
    /// It begins again: see [`Worker::begins_again`].
    Returns(Return),
    /// It continues on its own, from where it stopped: see [`Worker::take_continued`].
    GoesOn,
    /// It is unchanged, and must go through [`Worker::ingress`] and [`Worker::egress`].
    SlowPath,
}

impl PacketVerdict {
    /// Why it was dropped, if it was.
    pub fn drop_reason(self) -> Option<DropReason> {
        match self {
            PacketVerdict::Drop(reason) => Some(reason),
            PacketVerdict::EgressDrop(_) => Some(DropReason::EgressDrop),
            _ => None,
        }
    }
}

/// Consecutive packets with the same verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerdictRun {
    /// The verdict.
    pub verdict: PacketVerdict,
    /// The number of packets, at least one.
    pub packets: usize,
}

/// Packets that have passed an empty queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassedQueue {
    /// The port.
    pub port: u32,
    /// The queue of the port.
    pub class: u8,
    /// The number of packets.
    pub packets: u64,
}

/// Packets at the beginning of a burst that are ready to leave by one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaving {
    /// The port.
    pub port: u32,
    /// The number of packets, at least one.
    pub packets: usize,
}

/// The arguments of packets that arrived at one port at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// `standard_metadata.ingress_port`.
    pub ingress_port: u32,
    /// The time in microseconds, used for arrival and for everything else.
    pub timestamp_us: u64,
    /// The number of the last queue of every port.
    pub last_queue: u32,
    /// The seed of the switch's random numbers; `first_packet` is the number of the first packet: see
    /// [`Seed`](forebay_jit::Seed).
    pub random_seed: u64,
    /// See [`Arrival::random_seed`].
    pub first_packet: u64,
}

impl Worker {
    /// Whether packets may be able to take the fast path.
    #[inline]
    pub fn has_fast_path(&self) -> bool {
        self.pipeline.has_fast_path()
    }

    /// Whether packets may be replicated on the fast path, or have clones there.
    #[inline]
    pub fn makes_copies(&self) -> bool {
        let form = self.pipeline.first_form();
        form.is_some_and(|form| form.makes_copies() || form.notes_clones())
    }

    /// Removes copies from the beginning of a range of those that the last [`Worker::pass`] has made: copies with the
    /// same destination.
    pub fn next_copies(&mut self, range: &mut Range<u32>) -> Option<Copied> {
        let length_max = self.pipeline.options.packet_limit as usize;
        self.copies.next(&self.scratch.scratch.memory, range, length_max)
    }

    /// All copies that the last [`Worker::pass`] has made, when they leave [together](PacketVerdict::CopiesTogether).
    /// The caller must empty the burst; it may exchange buffers for others.
    pub fn all_copies(&mut self, count: usize) -> &mut Burst {
        self.copies.all_packets(count)
    }

    /// The digests that packets have sent on the fast path since the last call, in the order of packets.
    #[inline]
    pub fn take_digests(&mut self) -> impl Iterator<Item = DigestMessage> {
        self.digests.drain(..)
    }

    /// Whether packets have sent digests, or passed queues in general code, since these were last taken.
    #[inline]
    pub fn has_more_than_verdicts(&self) -> bool {
        !self.digests.is_empty() || !self.passed_queues.is_empty()
    }

    /// The queues that packets have passed in general code since the last call.
    #[inline]
    pub fn take_passed_queues(&mut self) -> impl Iterator<Item = PassedQueue> {
        self.passed_queues.drain(..)
    }

    /// The last packet that the last [`Worker::pass`] has taken, if it [continues](PacketVerdict::GoesOn) on its own.
    #[inline]
    pub fn take_continued(&mut self) -> Option<GoingOn> {
        self.continued.take().map(GoingOn)
    }

    /// The copies from `start` up to but not including `end`, which [`Worker::next_copies`] returned. They may be
    /// exchanged for others.
    pub fn copies(&mut self, start: u32, end: u32) -> &mut [Packet] {
        self.copies.packets(start, end)
    }

    /// Takes packets through the fast path. Appends the verdicts to `verdicts`, which must be empty. With empty queues
    /// in the traffic manager, the result is the same as that of [`Worker::ingress`] and [`Worker::egress`]. It takes
    /// all packets of the burst, unless a packet must take the slow path before the next may follow, or there are more
    /// than `room` copies and clones. [Clones](Worker::clones) come before or after their packets.
    ///
    /// If some packets are ready to leave by one port, and all others were dropped, the result is [`Leaving`]: the
    /// packets that leave are then the first of the burst, in order, and `verdicts` has the verdicts on the others.
    pub fn pass(
        &mut self,
        packets: &mut [Packet],
        arrival: Arrival,
        room: usize,
        verdicts: &mut Vec<VerdictRun>,
    ) -> Option<Leaving> {
        self.expire(arrival.timestamp_us * 1_000);
        let code = self.pipeline.code.as_ref()?;
        let Some(forms) = code.forms().filter(|_| self.usefulness.pays()) else {
            self.usefulness.rest(packets.len() as u64, code.generation());
            return self.pass_in_general(packets, arrival, verdicts);
        };
        let pin = self.reader.pin_again();
        let length_max = self.pipeline.options.packet_limit as usize;
        let bits = length_bits(packets);
        if let Some(port) = self.steady.path(arrival.ingress_port, pin.state())
            && bits <= length_max
        {
            end_burst(pin, self.stays_pinned);
            let packets = packets.len();
            self.paths.count_fast(FastForm::WholeBurst, packets as u64);
            return Some(Leaving { port, packets });
        }
        let view = View::of_burst(&self.pipeline, &pin, self.scratch.shard, &self.arrays);
        if forms.first.makes_copies() && self.pipeline.loop_port.is_none() && view.snapshot.replication.recirculates() {
            // Copies may have to go round again, which specialised code cannot detect.
            drop(view);
            end_burst(pin, self.stays_pinned);
            return self.pass_in_general(packets, arrival, verdicts);
        }
        let Scratch {
            requests,
            buffers,
            memory,
            rewritten,
        } = &mut self.scratch.scratch;
        let all = packets.len();
        let replication = &view.snapshot.replication;
        let packets = &mut packets[..packets_with_room(forms.first, replication, room, all)];
        if forms.first.makes_copies() {
            self.copies
                .prepare(memory, replication.largest_group() * packets.len(), bits);
        }
        let mut fast_path = FastPath::new(forms, &view, requests, buffers, memory);
        if let Some(order) = fast_path.wanted() {
            code.want(order);
        }
        let arguments = Arguments {
            ingress_port: arrival.ingress_port,
            timestamp_us: arrival.timestamp_us,
            last_queue: arrival.last_queue,
            random_seed: 0,
        };
        let now_ns = arrival.timestamp_us * 1_000;
        let mut pass = Pass {
            fast_path: &mut fast_path,
            asking: Asking {
                pipeline: &self.pipeline,
                pin: &pin,
                now_ns,
                learned: &mut self.scratch.learned,
                digests: &mut self.digests,
            },
            rewritten,
            copies: &mut self.copies,
            length_max,
            seed: (arrival.random_seed, arrival.first_packet),
            bits,
            verdicts,
            paths: &mut self.paths,
            left_out: &mut self.left_out,
        };
        let (leaving, form) = if pass.fast_path.is_uniform() {
            (pass.unseen(packets, arguments), FastForm::WholeBurst)
        } else {
            (pass.one_by_one(packets, all, arguments), pass.fast_path.order().into())
        };
        pass.asking.take_digests(pass.fast_path);
        if let (true, Some(Leaving { port, .. }), Some(state)) = (fast_path.is_steady(), leaving, pin.state()) {
            self.steady.note(arrival.ingress_port, port, state);
        }
        fast_path.take_sent_back(&mut self.returns.of_packets);
        let is_cloned = fast_path.has_clones();
        if is_cloned {
            fast_path.take_clones(&mut self.clones.noted);
        }
        if let (Some(PacketVerdict::GoesOn), Some(exit)) = (verdicts.last().map(|run| run.verdict), code.side_exit()) {
            let place = last_packet(verdicts);
            let frame = packets[place].data();
            let zero = &self.pipeline.storage.zero;
            let pool = &mut self.scratch.pool;
            let going_on = Continued::after_ingress(exit, fast_path.going_on(), (frame, place), arrival, (pool, zero));
            self.continued = Some(going_on);
        }
        let count_drops = |reason, packets| self.pipeline.drops().count_many(self.scratch.shard, reason, packets);
        let tally = Tally::of(leaving, verdicts, count_drops);
        self.paths.count_fast(form, tally.fast as u64);
        self.usefulness.note(tally.all() as u64, tally.left() as u64);
        if let Some(left_out) = self.left_out.report(fast_path.code(), tally.all()) {
            code.want_paths(&left_out);
        }
        if is_cloned {
            let count_drop = |reason| self.pipeline.drops().count(self.scratch.shard, reason);
            let scratch = &mut self.scratch.scratch;
            let sent_back = &mut self.returns.of_clones;
            let around = (&arrival, &self.pipeline.options);
            self.clones.run(code, &view, around, scratch, sent_back, count_drop);
        }
        let clones_come_first = self.clones.wait_in_order(code);
        drop(view);
        end_burst(pin, self.stays_pinned);
        self.learn(now_ns);
        if tally.bailed_out > 0 && !clones_come_first {
            self.pass_bailed_out(packets, arrival, verdicts);
        }
        leaving
    }
}

impl Worker {
    /// Takes the last packet, which has bailed out, through general code.
    fn pass_bailed_out(&mut self, packets: &mut [Packet], arrival: Arrival, verdicts: &mut Vec<VerdictRun>) {
        let has_general = self
            .pipeline
            .code
            .as_ref()
            .is_some_and(|code| code.general_for_bursts().is_some());
        if !has_general {
            return;
        }
        let last = last_packet(verdicts);
        let run = verdicts.last_mut().expect("a packet has bailed out");
        run.packets -= 1;
        if run.packets == 0 {
            verdicts.pop();
        }
        let arrival = Arrival {
            first_packet: arrival.first_packet.wrapping_add(last as u64),
            ..arrival
        };
        let leaving = self.pass_uncounted(&mut packets[last..=last], arrival, verdicts);
        if let Some(Leaving { port, packets }) = leaving {
            let verdict = PacketVerdict::Transmit(port);
            verdicts.push(VerdictRun { verdict, packets });
        }
    }
}

/// The number of packets at the beginning of a burst whose copies and clones have room.
fn packets_with_room(form: &FastPathCode, replication: &ReplicationEngine, room: usize, packets: usize) -> usize {
    let (makes_copies, notes_clones) = (form.makes_copies(), form.notes_clones());
    let copies = if makes_copies { replication.largest_group() } else { 0 };
    let mut together = packets;
    if notes_clones {
        let clones = form.clones_of_each() * replication.largest_session();
        together = together.min(clones::packets_together(copies, clones, room));
    }
    if makes_copies {
        together = together.min(packets_together(copies, room));
    }
    together
}

/// The place in its burst of the last packet that has a verdict.
fn last_packet(verdicts: &[VerdictRun]) -> usize {
    verdicts.iter().map(|run| run.packets).sum::<usize>() - 1
}

/// The packets of a pass, by where they were processed.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// Entirely on the fast path.
    fast: usize,
    /// Not yet: they are unchanged.
    bailed_out: usize,
    /// On the fast path up to a point from which they continue in general code.
    going_on: usize,
}

impl Tally {
    /// Counts those that leave together, and those that have verdicts of their own, with their drops.
    fn of(leaving: Option<Leaving>, verdicts: &[VerdictRun], mut count_drops: impl FnMut(DropReason, u64)) -> Tally {
        let mut tally = Tally {
            fast: leaving.map_or(0, |leaving| leaving.packets),
            ..Tally::default()
        };
        for run in verdicts {
            match run.verdict {
                PacketVerdict::SlowPath => tally.bailed_out += run.packets,
                PacketVerdict::GoesOn => tally.going_on += run.packets,
                _ => tally.fast += run.packets,
            }
            if let Some(reason) = run.verdict.drop_reason() {
                count_drops(reason, run.packets as u64);
            }
        }
        tally
    }

    /// Those that have left the fast path.
    fn left(self) -> usize {
        self.bailed_out + self.going_on
    }

    fn all(self) -> usize {
        self.fast + self.left()
    }
}

impl Pipeline {
    /// Whether packets may be able to take the fast path.
    #[inline]
    pub fn has_fast_path(&self) -> bool {
        let code = self.code.as_ref();
        code.is_some_and(|code| code.general_for_bursts().is_some())
    }

    /// What keeps packets off the fast path; empty when the engine has no fast path. Size limits are known only after
    /// [compilation](Pipeline::is_compiling).
    pub fn obstacles(&self) -> Vec<Obstacle> {
        self.code.as_ref().map(MachineCode::obstacles).unwrap_or_default()
    }

    /// The specialised code as text: the parser's tree, and what follows each path through it. `None` when the program
    /// has none.
    pub fn specialised_text(&self) -> Option<String> {
        machine_code::specialised_text(&self.program, self.options.step_limit)
    }

    /// Whether the fast path is still being compiled. Until it is ready, packets take the slow path.
    pub fn is_compiling(&self) -> bool {
        self.code.as_ref().is_some_and(MachineCode::is_compiling)
    }

    /// The machine code of the fast path in the variant that is compiled first, when it is ready: see
    /// [`FastPathCode::machine_code`].
    pub fn machine_code(&self) -> Option<&[u8]> {
        self.first_form().map(FastPathCode::machine_code)
    }

    /// Waits until everything that is being compiled is ready: see [`crate::FastPath::BesidePackets`].
    pub fn finish_compiling(&self) {
        if let Some(code) = &self.code {
            code.finish();
        }
    }

    /// The fast path, when it is ready.
    #[inline]
    fn first_form(&self) -> Option<&FastPathCode> {
        self.code.as_ref()?.first()
    }
}
