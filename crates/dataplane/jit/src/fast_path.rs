//! How bursts run through the compiled fast path. See [`crate::route`].

use crate::context::{Context, Memory};
use crate::fast_path_code::{FastPathCode, Forms};
use crate::flow_pages::Index;
use crate::notes::{GoingOn, NotedClones, SentBack};
use crate::packet_context::{Lanes, verdict};
use crate::route::{Arguments, BailOut, Order};
use crate::tables::TableObjects;
use crate::verdict::{Departures, Frames, Rewriting, Verdict};
use forebay_exec::{BitBuffer, Buffers, Requests};
use forebay_ir::DigestId;

/// Runs bursts of packets through a compiled program.
pub struct FastPath<'a> {
    code: &'a FastPathCode,
    /// A form that would be better but is missing.
    wanted: Option<Order>,
    /// The index of the flow cache if slots are prefetched, and the number of packets for which that has been done.
    far_slots: Option<Index>,
    packets_ahead: usize,
    /// The number of frames processed so far.
    done: usize,
    context: Context<'a>,
    requests: &'a mut Requests,
    output: &'a mut BitBuffer,
    memory: &'a mut Memory,
}

impl<'a> FastPath<'a> {
    /// Prepares for a burst of packets, in the best available form. The flow cache is used as long as most flows are
    /// met again. Otherwise packets run to completion or, when tables are large, are batched at look-ups.
    pub fn new(
        forms: Forms<'a>,
        objects: &'a dyn TableObjects,
        requests: &'a mut Requests,
        buffers: &'a mut Buffers,
        memory: &'a mut Memory,
    ) -> Self {
        let first = forms.first;
        let (code, wanted) = if first.caches_flows() && memory.flows.serves() {
            first.locate(memory, objects);
            (first, None)
        } else {
            forms.without_cache(memory, objects)
        };
        memory.make_room(code.metadata.temporaries);
        Lanes::prepare(memory, forms.shape());
        let arrays = objects.arrays();
        assert!(
            arrays.are_of(code.metadata.arrays),
            "the arrays are those of the program"
        );
        let mut context = Context::new(objects);
        memory.copies.describe(&mut context);
        let mut far_slots = None;
        if let Some(layout) = &code.metadata.slots {
            let (index, tag) = memory
                .flows
                .open(code.number, layout, objects.pin(), |table| objects.table(table).group());
            context.flow_index.write(index.first);
            context.flow_shift.write(index.shift);
            context.flow_tag.write(tag);
            far_slots = memory.flows.are_far().then_some(index);
        }
        FastPath {
            code,
            wanted,
            far_slots,
            packets_ahead: 0,
            done: 0,
            context,
            requests,
            output: &mut buffers.output,
            memory,
        }
    }

    /// The form that would have been better for this burst, but is missing.
    #[inline]
    pub fn wanted(&self) -> Option<Order> {
        self.wanted
    }

    /// The form of this burst, and so its order of execution.
    #[inline]
    pub fn order(&self) -> Order {
        match (&self.code.metadata.slots, self.code.metadata.staged) {
            (Some(_), _) => Order::Cached,
            (None, true) => Order::Staged,
            (None, false) => Order::RunToCompletion,
        }
    }

    /// Whether all frames have the same verdict, and none of them is read or changed. [`FastPath::run_unseen`] is
    /// enough then.
    #[inline]
    pub fn is_uniform(&self) -> bool {
        self.code.metadata.uniform
    }

    /// Whether all frames from the same port have the same verdict, [as long as](TableObjects::pin) the tables do not
    /// change.
    #[inline]
    pub fn is_steady(&self) -> bool {
        self.code.metadata.steady
    }

    /// Takes the first of the frames, at most [`BURST_MAX`](crate::packet_context::BURST_MAX), through the fast path,
    /// and returns how many were processed: see [`FastPath::verdict`]. If these are not all of them, the last one
    /// bailed out, or its clone must be executed before the next frame, or it has
    /// [sent a message to a table](FastPath::may_ask_table). The frames after it have not been touched.
    ///
    /// # Safety
    ///
    /// The frame descriptors belong to the caller and nothing else changes them. Each frame is in memory of the
    /// caller's, with [`FastPathCode::headroom`] more bytes before it, and no two frames overlap. The addresses for
    /// copies ([`Memory::set_copies`]) are valid for the longest frame.
    pub unsafe fn run(&mut self, frames: Frames, arguments: Arguments) -> usize {
        if frames.count == 0 {
            return 0;
        }
        let lanes = &mut self.memory.lanes;
        let count = lanes.refer_to(frames, self.code.metadata.staged);
        if self.code.metadata.truncates && self.code.metadata.staged {
            lanes.limit(count, u32::MAX.into());
        }
        // SAFETY: as the caller promises.
        let count = unsafe { self.execute(arguments) };
        self.memory.flows.count(count);
        count
    }

    /// The verdict of every frame in this burst, when they are [all the same](FastPath::is_uniform).
    ///
    /// # Panics
    ///
    /// When they are not all the same.
    pub fn run_unseen(&mut self, arguments: Arguments) -> Verdict {
        assert!(self.is_uniform(), "frames are looked at");
        self.memory.lanes.set_count(1);
        // SAFETY: the code reads no frame.
        unsafe { self.execute(arguments) };
        self.verdict(0)
    }

    /// Executes the code for the packets of the first queue; returns how many were processed.
    ///
    /// # Safety
    ///
    /// If the code reads frames, they are as promised to [`FastPath::run`].
    unsafe fn execute(&mut self, arguments: Arguments) -> usize {
        self.output.clear();
        let noted = (self.memory.digests.len(), self.memory.clones.len());
        let context = &mut self.context;
        self.memory.lanes.describe(context);
        context.ingress_port.write(arguments.ingress_port.into());
        context.timestamp_us.write(arguments.timestamp_us);
        context.last_queue.write(arguments.last_queue.into());
        context.random_seed.write(arguments.random_seed);
        context.facts.timestamp_us = arguments.timestamp_us;
        context.locations.write(self.memory.locations.as_ptr());
        context.temporaries = self.memory.temporaries.as_mut_ptr();
        context.requests = self.requests;
        context.output = self.output;
        context.memory = self.memory;
        if let (Some(index), 0) = (self.far_slots, self.packets_ahead)
            && let Some(layout) = &self.code.metadata.slots
            && let Some(hashes) = self.code.entries.hashes
        {
            // SAFETY: as below.
            self.packets_ahead = unsafe { hashes(context) } as usize;
            index.fetch(layout, &self.memory.lanes.verdicts()[..self.packets_ahead]);
        }
        // SAFETY: the frames are as the caller promises; lanes, queues, temporaries and buffers in the context belong
        // to `self` until this returns, and are as large as the code needs.
        let count = unsafe { (self.code.entries.packets)(context) } as usize;
        self.packets_ahead = self.packets_ahead.saturating_sub(count);
        self.take_back(count, noted);
        let clones = &mut self.memory.clones.noted[..];
        clones
            .iter_mut()
            .skip(noted.1)
            .for_each(|clone| clone.place += self.done);
        self.done += count;
        count
    }

    /// Removes the digests and clones of the last processed packet if it bailed out, because the slow path makes them
    /// again. The pair is their number before this burst.
    fn take_back(&mut self, count: usize, (digests_before, clones_before): (usize, usize)) {
        let Memory {
            lanes, digests, clones, ..
        } = &mut *self.memory;
        let is_noted = digests.len() > digests_before || clones.len() > clones_before;
        if !is_noted || lanes.verdicts()[count - 1] >> 32 != verdict::BAILED_OUT {
            return;
        }
        digests.take_back(count - 1, digests_before);
        clones.take_back(count - 1, clones_before);
    }

    /// Whether clones have been recorded since they were last taken.
    #[inline]
    pub fn has_clones(&self) -> bool {
        !self.memory.clones.is_empty()
    }

    /// Whether a clone must be executed before the next packet.
    #[inline]
    pub fn is_clone_first(&self) -> bool {
        self.code.metadata.clones_first && self.has_clones()
    }

    /// Whether the last packet may have sent a message to a table, a pool or a quota among its
    /// [digests](FastPath::take_digests), which must be applied before the next packet.
    #[inline]
    pub fn may_ask_table(&self) -> bool {
        self.code.metadata.asks_tables && !self.memory.digests.is_empty()
    }

    /// Moves the recorded clones to `clones`, whose previous content is lost.
    pub fn take_clones(&mut self, clones: &mut NotedClones) {
        clones.clear();
        std::mem::swap(&mut self.memory.clones, clones);
    }

    /// Moves what is noted of packets that are sent back to `sent_back`, whose previous content is lost. Notes are
    /// numbered from the last call on.
    #[inline]
    pub fn take_sent_back(&mut self, sent_back: &mut SentBack) {
        let noted = &mut self.memory.sent_back;
        if !(noted.is_empty() && sent_back.is_empty()) {
            sent_back.clear();
            std::mem::swap(noted, sent_back);
        }
    }

    /// The packet of the last burst that [goes on](Verdict::GoesOn).
    pub fn going_on(&self) -> &GoingOn {
        &self.memory.going_on
    }

    /// Passes on the digests that packets have sent since the last call, in the order of packets, with the words of
    /// their values, as in [`forebay_exec::DigestRequest::of_words`]. Packets that bailed out have none.
    pub fn take_digests(&mut self, each: impl FnMut(DigestId, &[u64])) {
        self.memory.digests.take(each);
    }

    /// The length of the run of equal verdicts that begins at frame `first` of the last burst, up to `behind`. It is 1
    /// where the verdict word is not the whole verdict.
    #[inline]
    pub fn alike(&self, first: usize, behind: usize) -> usize {
        let verdicts = &self.memory.lanes.verdicts()[first..behind];
        if verdict::is_all(verdicts[0]) {
            verdict::alike(verdicts)
        } else {
            1
        }
    }

    /// The departures of the first `count` frames of the last burst, if at least one leaves, all that leave do so by
    /// one port as their [`Frame`](crate::Frame) says, and all others were dropped, in ingress or on their way to it.
    /// `alike`, less than `count`, is the length of the run of [equal verdicts](FastPath::alike) at the beginning.
    #[inline]
    pub fn departures(&self, count: usize, alike: usize) -> Option<Departures> {
        let verdicts = &self.memory.lanes.verdicts()[..count];
        let is_plain = |verdict: u64| verdict >> 32 == verdict::PLAIN;
        let leaves = match [verdicts[0], verdicts[alike]].map(is_plain) {
            // Frames leave by two ports, as in most bursts that do not use one port.
            [true, true] => return None,
            [true, false] => verdicts[0],
            [false, true] => verdicts[alike],
            [false, false] => verdicts.iter().copied().find(|verdict| is_plain(*verdict))?,
        };
        let leaving = verdict::which(verdicts, leaves);
        let dropped = |how: u64| verdict::which(verdicts, how).count_ones() as usize;
        let departures = Departures {
            port: leaves as u32,
            dropped_in_ingress: dropped(verdict::DROPPED_IN_INGRESS << 32),
            dropped_in_egress: dropped(verdict::DROPPED_IN_EGRESS << 32 | leaves),
            leaving,
        };
        let settled = departures.count() + departures.dropped_in_ingress + departures.dropped_in_egress;
        (settled == count).then_some(departures)
    }

    /// The verdict of a frame of the last burst.
    #[inline]
    pub fn verdict(&mut self, index: usize) -> Verdict {
        let verdict = self.memory.lanes.verdicts()[index];
        let number = verdict as u32;
        const RECIRCULATED_PLAIN: u64 = verdict::RECIRCULATED | verdict::PLAIN;
        const RECIRCULATED_REWRITTEN: u64 = verdict::RECIRCULATED | verdict::REWRITTEN;
        match verdict >> 32 {
            verdict::PLAIN => Verdict::Plain { port: number },
            verdict::REWRITTEN => Verdict::Rewritten {
                port: number,
                headers: self.rewriting(index),
            },
            verdict::RESUBMITTED => Verdict::Resubmitted { note: number },
            RECIRCULATED_PLAIN => Verdict::Recirculated {
                note: number,
                headers: None,
            },
            RECIRCULATED_REWRITTEN => Verdict::Recirculated {
                note: number,
                headers: Some(self.rewriting(index)),
            },
            verdict::DROPPED_IN_INGRESS => Verdict::DroppedInIngress {
                parser_error: verdict as u16,
            },
            verdict::DROPPED_IN_EGRESS => Verdict::DroppedInEgress { port: number },
            verdict::ASSERT_FAILED => Verdict::AssertFailed,
            verdict::GOES_ON => Verdict::GoesOn(BailOut::of_number(number)),
            verdict::BAILED_OUT => Verdict::BailedOut(BailOut::of_number(verdict::of_bail_out(verdict).0)),
            verdict::REPLICATED => Verdict::Replicated {
                first: self.memory.lanes.lane(index).first_copy as usize,
                count: number as usize,
            },
            other => unreachable!("the code of a fast path does not end with {other}"),
        }
    }

    /// The headers of a frame of the last burst that was rewritten.
    fn rewriting(&mut self, index: usize) -> Rewriting {
        let lane = self.memory.lanes.lane(index);
        Rewriting {
            parsed_bits: lane.parsed_bits as usize,
            output_start: lane.output_start as usize / 8,
            output_bits: lane.output_bits as usize,
            length_max: if self.code.metadata.truncates {
                lane.truncate_to as u32
            } else {
                u32::MAX
            },
        }
    }

    /// Which of the [left-out parser paths](FastPathCode::left_out) a frame of the last burst that bailed out takes, if
    /// it is on one.
    pub fn path_left_out(&self, index: usize) -> Option<usize> {
        let (_, path) = verdict::of_bail_out(self.memory.lanes.verdicts()[index]);
        path.map(|path| path as usize)
    }

    /// The code.
    pub fn code(&self) -> &'a FastPathCode {
        self.code
    }

    /// The number of copies of each of the first `count` frames (at least one) of the last burst, if it is the same
    /// positive number for all of them and the copies are in the order of the frames.
    pub fn copies_of_each(&mut self, count: usize) -> Option<usize> {
        let verdicts = &self.memory.lanes.verdicts()[..count];
        let is_alike = verdicts[0] >> 32 == verdict::REPLICATED && verdict::alike(verdicts) == count;
        let each = verdicts[0] as u32 as usize;
        // Packets that run to completion become copies in their order.
        let last = if self.code.metadata.staged { count } else { 1 };
        let mut is_next = |index| self.memory.lanes.lane(index).first_copy == (index * each) as u64;
        (is_alike && each > 0 && (0..last).all(&mut is_next)).then_some(each)
    }

    /// The memory with the copies' verdicts.
    pub fn memory(&self) -> &Memory {
        self.memory
    }

    /// Whether frames may become copies.
    #[inline]
    pub fn makes_copies(&self) -> bool {
        self.code.metadata.copies
    }

    /// The bytes that the deparser emitted for the packets of the last burst that are [rewritten](Verdict::Rewritten).
    pub fn output(&self) -> &BitBuffer {
        self.output
    }

    /// See [`FastPathCode::headroom`].
    pub fn headroom(&self) -> usize {
        self.code.headroom()
    }
}
