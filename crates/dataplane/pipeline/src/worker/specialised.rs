//! A burst in specialised code: what a worker does before and after the code runs.

use super::WorkerScratch;
use super::asking::Asking;
use super::clones::{self, Clones};
use super::copies::{Copies, packets_together};
use super::fast_path::{Arrival, Leaving, PacketVerdict, PassedQueue, VerdictRun};
use super::left_out::LeftOut;
use super::pass::Pass;
use super::returns::Returns;
use super::steady::SteadyPorts;
use super::usefulness::Usefulness;
use crate::graph::Continued;
use crate::load::Pipeline;
use crate::machine_code::MachineCode;
use crate::objects::View;
use crate::outcome::{DigestMessage, DropReason};
use crate::packet::IngressPacket;
use crate::paths::{FastForm, PathCounters};
use crate::pool::Pool;
use crate::replication::ReplicationEngine;
use crate::scratch::Scratch;
use crate::straight::returns::BeforeFrame;
use forebay_jit::{FastPath, FastPathCode, Forms};
use forebay_packet::Packet;
use forebay_tables::Pin;

/// What a burst reads while it is in specialised code.
#[derive(Clone, Copy)]
pub(super) struct SpecialisedBurst<'a> {
    pub(super) pipeline: &'a Pipeline,
    pub(super) code: &'a MachineCode,
    pub(super) forms: Forms<'a>,
    pub(super) view: &'a View<'a>,
    pub(super) pin: &'a Pin<'a>,
    pub(super) arrival: Arrival,
    /// See [`length_bits`](super::frames::length_bits).
    pub(super) bits: usize,
    /// The packets, if they begin again.
    pub(super) again: Option<Again<'a>>,
}

/// Packets that begin again.
#[derive(Clone, Copy)]
pub(super) struct Again<'a> {
    pub(super) before_frame: &'a BeforeFrame,
    /// One for each packet of the burst.
    pub(super) packets: &'a [IngressPacket],
}

impl Again<'_> {
    /// The most packets that run together. Packets with seeds that do not follow each other run alone.
    pub(super) fn packets_together(self) -> usize {
        if self.before_frame.has_seeds { 1 } else { usize::MAX }
    }

    /// Writes what comes before the frames.
    pub(super) fn write_before(self, packets: &mut [Packet]) {
        let bytes = self.before_frame.bytes();
        Packet::make_headroom_in_all(packets, bytes);
        for (packet, again) in packets.iter_mut().zip(self.packets) {
            self.before_frame.write(again, packet.headroom_mut(bytes));
        }
    }
}

/// What a worker keeps for the fast path, and what the last burst has left there for the switch.
#[derive(Debug, Default)]
pub(crate) struct FastPathMemory {
    pub(super) copies: Copies,
    pub(super) digests: Vec<DigestMessage>,
    pub(super) clones: Clones,
    pub(super) returns: Returns,
    /// See [`Worker::take_continued`](super::Worker::take_continued).
    pub(crate) continued: Option<Continued>,
    /// See [`Worker::take_passed_queues`](super::Worker::take_passed_queues).
    pub(crate) passed_queues: Vec<PassedQueue>,
    pub(super) steady: SteadyPorts,
    pub(super) usefulness: Usefulness,
    left_out: LeftOut,
    pub(crate) paths: PathCounters,
    /// Whether the packets of the last burst began again.
    pub(super) last_began_again: bool,
}

impl FastPathMemory {
    /// Takes packets through specialised code: see [`Worker::pass`](super::Worker::pass). Also returns whether the last
    /// packet has bailed out and may go through general code at once.
    pub(super) fn pass(
        &mut self,
        burst: SpecialisedBurst<'_>,
        scratch: &mut WorkerScratch,
        packets: &mut [Packet],
        room: usize,
        verdicts: &mut Vec<VerdictRun>,
    ) -> (Option<Leaving>, bool) {
        let (all, shard) = (packets.len(), scratch.shard);
        let (first, replication) = (burst.forms.first, &burst.view.snapshot.replication);
        let packets = &mut packets[..packets_with_room(first, replication, room, all)];
        let Scratch {
            requests,
            buffers,
            memory,
            rewritten,
        } = &mut scratch.scratch;
        self.last_began_again = burst.again.is_some();
        let (memory, left_out, paths) = match burst.again {
            None => (memory, &mut self.left_out, &mut self.paths),
            Some(_) => {
                let Returns { left_out, paths, .. } = &mut self.returns;
                (&mut scratch.memory_again, left_out, paths)
            }
        };
        if first.makes_copies() {
            let copies = replication.largest_group() * packets.len();
            self.copies.prepare(memory, copies, burst.bits);
        }
        let mut fast_path = FastPath::new(burst.forms, burst.view, requests, buffers, memory);
        if let Some(order) = fast_path.wanted() {
            match burst.again {
                None => burst.code.want(order),
                Some(_) => burst.code.want_for_returns(order),
            }
        }
        let arrival = burst.arrival;
        let mut pass = Pass {
            fast_path: &mut fast_path,
            asking: Asking {
                pipeline: burst.pipeline,
                pin: burst.pin,
                now_ns: arrival.timestamp_us * 1_000,
                learned: &mut scratch.learned,
                digests: &mut self.digests,
            },
            rewritten,
            copies: &mut self.copies,
            length_max: burst.pipeline.options.packet_limit as usize,
            seed: (arrival.random_seed, arrival.first_packet),
            bits: burst.bits,
            verdicts,
            paths,
            left_out,
            again: burst.again,
        };
        let (leaving, form) = pass.run(packets, all, arrival.arguments());
        if let (true, Some(Leaving { port, .. }), Some(state)) = (fast_path.is_steady(), leaving, burst.pin.state()) {
            self.steady.note(arrival.ingress_port, port, state);
        }
        let is_cloned = self.take_notes(burst, &mut fast_path, packets, verdicts, &mut scratch.pool);
        let tally = self.count(burst, fast_path.code(), shard, (leaving, form), verdicts);
        if is_cloned {
            let count_drop = |reason| burst.pipeline.drops().count(shard, reason);
            let around = (&arrival, &burst.pipeline.options);
            let sent_back = &mut self.returns.of_clones;
            self.clones.run(
                burst.code,
                burst.view,
                around,
                &mut scratch.scratch,
                sent_back,
                count_drop,
            );
        }
        (leaving, tally.bailed_out > 0 && !self.clones.wait_in_order(burst.code))
    }

    /// Takes what the code has noted: packets that begin again, clones, and a packet that goes on. Returns whether
    /// there are clones.
    fn take_notes(
        &mut self,
        burst: SpecialisedBurst<'_>,
        fast_path: &mut FastPath<'_>,
        packets: &[Packet],
        verdicts: &[VerdictRun],
        pool: &mut Pool,
    ) -> bool {
        fast_path.take_sent_back(&mut self.returns.of_packets);
        let is_cloned = fast_path.has_clones();
        if is_cloned {
            fast_path.take_clones(&mut self.clones.noted);
        }
        let last = verdicts.last().map(|run| run.verdict);
        if let (Some(PacketVerdict::GoesOn), Some(exit)) = (last, burst.code.side_exit()) {
            let place = last_packet(verdicts);
            let (frame, zero) = (packets[place].data(), &burst.pipeline.storage.zero);
            let noted = fast_path.going_on();
            let going_on = Continued::after_ingress(exit, noted, (frame, place), burst.arrival, (pool, zero));
            self.continued = Some(going_on);
        }
        is_cloned
    }

    /// Counts the packets, and reports those that the code leaves out.
    fn count(
        &mut self,
        burst: SpecialisedBurst<'_>,
        code: &FastPathCode,
        shard: usize,
        (leaving, form): (Option<Leaving>, FastForm),
        verdicts: &[VerdictRun],
    ) -> Tally {
        let count_drops = |reason, packets| burst.pipeline.drops().count_many(shard, reason, packets);
        let tally = Tally::of(leaving, verdicts, count_drops);
        let (paths, usefulness, left_out) = match burst.again {
            None => (&mut self.paths, &mut self.usefulness, &mut self.left_out),
            Some(_) => {
                let returns = &mut self.returns;
                (&mut returns.paths, &mut returns.usefulness, &mut returns.left_out)
            }
        };
        paths.count_fast(form, tally.fast as u64);
        usefulness.note(tally.all() as u64, tally.left() as u64);
        if let Some(left_out) = left_out.report(code, tally.all()) {
            match burst.again {
                None => burst.code.want_paths(&left_out),
                Some(_) => burst.code.want_paths_for_returns(&left_out),
            }
        }
        tally
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
pub(super) fn last_packet(verdicts: &[VerdictRun]) -> usize {
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

    /// Packets that have left the fast path.
    fn left(self) -> usize {
        self.bailed_out + self.going_on
    }

    fn all(self) -> usize {
        self.fast + self.left()
    }
}
