//! The fast path: ingress and egress in one step, in compiled code, for packets that are not queued.
//!
//! This does what [`Worker::ingress`] and [`Worker::egress`] do with a packet that finds its queue empty and has no
//! clones, in one step and in the packet's own buffer. A packet that does not fit this is left unchanged, and goes
//! through the two entry points. See [`forebay_jit::route`].

use super::copies::Copied;
use super::frames::length_bits;
use super::returns::Return;
use super::specialised::{SpecialisedBurst, last_packet};
use super::{GoingOn, Worker, end_burst};
use crate::load::Pipeline;
use crate::machine_code::{self, MachineCode};
use crate::objects::View;
use crate::outcome::{DigestMessage, DropReason};
use crate::paths::FastForm;
use forebay_jit::FastPathCode;
use forebay_jit::route::{Arguments, Obstacle, Watch};
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
    /// [`Seed`](forebay_exec::Seed).
    pub random_seed: u64,
    /// See [`Arrival::random_seed`].
    pub first_packet: u64,
}

impl Arrival {
    /// The arguments of compiled code, without the seed, which every packet has of its own.
    pub(super) fn arguments(self) -> Arguments {
        Arguments {
            ingress_port: self.ingress_port,
            timestamp_us: self.timestamp_us,
            last_queue: self.last_queue,
            random_seed: 0,
        }
    }
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
        let memory = if self.fast.last_began_again {
            &self.scratch.memory_again
        } else {
            &self.scratch.scratch.memory
        };
        self.fast.copies.next(memory, range, length_max)
    }

    /// All copies that the last [`Worker::pass`] has made, when they leave [together](PacketVerdict::CopiesTogether).
    /// The caller must empty the burst; it may exchange buffers for others.
    pub fn all_copies(&mut self, count: usize) -> &mut Burst {
        self.fast.copies.all_packets(count)
    }

    /// The digests that packets have sent on the fast path since the last call, in the order of packets.
    #[inline]
    pub fn take_digests(&mut self) -> impl Iterator<Item = DigestMessage> {
        self.fast.digests.drain(..)
    }

    /// Whether packets have sent digests, or passed queues in general code, since these were last taken.
    #[inline]
    pub fn has_more_than_verdicts(&self) -> bool {
        !self.fast.digests.is_empty() || !self.fast.passed_queues.is_empty()
    }

    /// The queues that packets have passed in general code since the last call.
    #[inline]
    pub fn take_passed_queues(&mut self) -> impl Iterator<Item = PassedQueue> {
        self.fast.passed_queues.drain(..)
    }

    /// The last packet that the last [`Worker::pass`] has taken, if it [continues](PacketVerdict::GoesOn) on its own.
    #[inline]
    pub fn take_continued(&mut self) -> Option<GoingOn> {
        self.fast.continued.take().map(GoingOn)
    }

    /// The copies from `start` up to but not including `end`, which [`Worker::next_copies`] returned. They may be
    /// exchanged for others.
    pub fn copies(&mut self, start: u32, end: u32) -> &mut [Packet] {
        self.fast.copies.packets(start, end)
    }

    /// Takes packets through the fast path. Appends the verdicts to `verdicts`, which must be empty. With empty queues
    /// in the traffic manager, the result is the same as that of [`Worker::ingress`] and [`Worker::egress`]. It takes
    /// all packets of the burst, unless a packet must take the slow path before the next may follow, or there are more
    /// than `room` copies and clones. [Clones](Worker::clones) come before or after their packets.
    ///
    /// If some packets are ready to leave by one port, and all others were dropped, the result is [`Leaving`]: the
    /// packets that leave are then the first of the burst, in order, and `verdicts` has the verdicts on the others. If
    /// there are others, each packet that leaves has its number, counted from [`Arrival::first_packet`], as its id.
    pub fn pass(
        &mut self,
        packets: &mut [Packet],
        arrival: Arrival,
        room: usize,
        verdicts: &mut Vec<VerdictRun>,
    ) -> Option<Leaving> {
        let now_ns = arrival.timestamp_us * 1_000;
        self.expire(now_ns);
        let code = self.pipeline.code.as_ref()?;
        let Some(forms) = code.forms().filter(|_| self.fast.usefulness.pays()) else {
            self.fast.usefulness.rest(packets.len() as u64, code.generation());
            return self.pass_in_general(packets, arrival, verdicts);
        };
        let pin = self.reader.pin_again();
        let bits = length_bits(packets);
        if let Some(port) = self.fast.steady.path(arrival.ingress_port, pin.state())
            && bits <= self.pipeline.options.packet_limit as usize
        {
            end_burst(pin, self.stays_pinned);
            let packets = packets.len();
            self.fast.paths.count_fast(FastForm::WholeBurst, packets as u64);
            return Some(Leaving { port, packets });
        }
        let view = View::of_burst(&self.pipeline, &pin, self.scratch.shard, &self.arrays);
        // Copies that go round again leave by a port, or what they keep is noted.
        let goes_round = self.pipeline.loop_port.is_some() || code.kept_by_returns().bytes() > 0;
        if forms.first.makes_copies() && !goes_round && view.snapshot.replication.recirculates() {
            drop(view);
            end_burst(pin, self.stays_pinned);
            return self.pass_in_general(packets, arrival, verdicts);
        }
        let burst = SpecialisedBurst {
            pipeline: &self.pipeline,
            code,
            forms,
            view: &view,
            pin: &pin,
            arrival,
            bits,
            again: None,
        };
        let (leaving, bailed_out) = self.fast.pass(burst, &mut self.scratch, packets, room, verdicts);
        drop(view);
        end_burst(pin, self.stays_pinned);
        self.learn(now_ns);
        if bailed_out {
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
        machine_code::specialised_text(&self.program, &self.options)
    }

    /// Compiles specialised code once more. `watch` is told after each step which one it was: a [pass](crate::Pass) by its name,
    /// or `architecture`, `parser`, `translation`, `code-generation`. `None` when the program has no specialised code.
    pub fn watch_passes(&self, watch: &mut Watch<'_>) -> Option<()> {
        machine_code::watch_passes(&self.program, &self.options, watch)
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
