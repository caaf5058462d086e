//! Per-packet contexts of a burst on the fast path.
//!
//! In run-to-completion order, code reads the frame descriptor of a packet and writes its [`verdict`] (verdict); for
//! most packets that is all. Both are arrays that the code walks.
//!
//! A *lane* is the memory of one packet of a burst, which it keeps while it waits: this structure, the words of the key
//! that it looks up, and the values that are live across the look-up. Lanes do not move in memory; queues hold their
//! addresses. Queue 0 is the burst, every other queue belongs to a look-up:
//!
//! ```text
//! queue   | end | lane | lane | lane | ...          `end` is the address after the last lane
//! ```

use crate::context::{Context, Memory};
use crate::verdict::{Frame, Frames};
use std::ptr;

/// The maximum number of packets in a burst.
pub const BURST_MAX: usize = forebay_tables::FIND_MAX;

/// The head of a lane. The offsets of its fields are constants in compiled code.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    /// The packet's frame descriptor.
    pub(crate) frame: *mut Frame,
    /// Address of the packet's verdict word: the kind ([`verdict`]) in the high half, the egress port in the low half.
    pub(crate) verdict: *mut u64,
    /// The packet is cut to this length in bytes when it leaves.
    pub(crate) truncate_to: u64,
    /// Length of the headers that the parser extracted, in bits.
    pub(crate) parsed_bits: u64,
    /// Start of the emitted headers in the output, in bits.
    pub(crate) output_start: u64,
    /// Length of the emitted headers, in bits.
    pub(crate) output_bits: u64,
    /// Index of its first copy in [`Copies`].
    pub(crate) first_copy: u64,
    /// The record that the look-up found, or that of the default action.
    pub(crate) record: *const u64,
    /// Whether it hit.
    pub(crate) hit: u64,
}

/// The copies that the packets of a burst become, in order: for each a frame for its bytes and length, and a verdict
/// word with its egress port.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    frames: Frames,
    verdicts: Vec<u64>,
}

// SAFETY: the raw pointers are dereferenced only between `put_into` and the end of the burst, on the worker's own
// thread.
unsafe impl Send for Copies {}
// SAFETY: as above.
unsafe impl Sync for Copies {}

/// [`Context::group`] before the first look-up of a group: no group has this number.
const NO_GROUP: u64 = u64::MAX;

impl Copies {
    /// Copies use these frames, so there are at most that many.
    #[inline]
    pub(crate) fn put_into(&mut self, frames: Frames) {
        if self.verdicts.len() < frames.count {
            self.verdicts.resize(frames.count, verdict::BAILED_OUT << 32);
        }
        self.frames = frames;
    }

    /// Passes the addresses to compiled code and resets the number of copies to 0.
    pub(crate) fn describe(&mut self, context: &mut Context<'_>) {
        context.copy_frames.write(self.frames.first);
        context.copy_stride.write(self.frames.stride);
        context.copy_verdicts.write(self.verdicts.as_mut_ptr());
        context.copies.write(0);
        context.copies_max.write(self.frames.count as u64);
        context.group.write(NO_GROUP);
        context.group_members.write(ptr::null());
        context.group_size.write(0);
    }

    /// The verdict words.
    #[inline]
    pub(crate) fn verdicts(&self) -> &[u64] {
        &self.verdicts
    }
}

/// The verdicts of packets on the fast path: the high half of the word at [`Lane::verdict`].
pub(crate) mod verdict {
    use std::ops::BitOr;

    /// The packet leaves with its present bytes.
    pub(crate) const PLAIN: u64 = 0;
    /// The packet leaves with the output in place of the parsed headers.
    pub(crate) const REWRITTEN: u64 = 1;
    /// Dropped after ingress; the low half is the parser's error.
    pub(crate) const DROPPED_IN_INGRESS: u64 = 2;
    /// Dropped after egress; the low half is the port.
    pub(crate) const DROPPED_IN_EGRESS: u64 = 3;
    /// An assertion failed.
    pub(crate) const ASSERT_FAILED: u64 = 4;
    /// The packet takes the slow path.
    pub(crate) const BAILED_OUT: u64 = 5;
    /// The packet became copies; the low half is their number.
    pub(crate) const REPLICATED: u64 = 6;
    /// The packet begins again as it was received; the low half is the number of its note.
    pub(crate) const RESUBMITTED: u64 = 7;
    /// Added to [`PLAIN`] or [`REWRITTEN`]: the packet begins again, and the low half is the number of its note.
    pub(crate) const RECIRCULATED: u64 = 8;
    /// The packet goes on after ingress, in general code.
    pub(crate) const GOES_ON: u64 = 10;

    /// The low half of the verdict word of a packet that bailed out for this reason, on this left-out parser path if it
    /// was on one.
    pub(crate) fn bail_out(reason: u32, path: Option<u32>) -> u64 {
        (path.map_or(0, |path| path + 1) << 8 | reason).into()
    }

    /// The reason and the left-out parser path.
    pub(crate) fn of_bail_out(verdict: u64) -> (u32, Option<u32>) {
        (verdict as u32 & 0xff, (verdict as u32 >> 8).checked_sub(1))
    }

    /// The length of the run of equal words at the beginning.
    #[inline]
    pub(crate) fn alike(verdicts: &[u64]) -> usize {
        match verdicts {
            [] => 0,
            [first, .., last] if first == last && are_all(verdicts, *first) => verdicts.len(),
            [first, ..] => verdicts.iter().take_while(|verdict| *verdict == first).count(),
        }
    }

    /// Whether all words are equal to `verdict`. Uses AVX2 where available.
    #[inline]
    fn are_all(verdicts: &[u64], verdict: u64) -> bool {
        #[inline(always)]
        fn differences(verdicts: &[u64], verdict: u64) -> u64 {
            verdicts
                .iter()
                .fold(0, |differences, other| differences | (other ^ verdict))
        }
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx2")]
            fn with_avx2(verdicts: &[u64], verdict: u64) -> u64 {
                differences(verdicts, verdict)
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has it.
                return unsafe { with_avx2(verdicts, verdict) } == 0;
            }
        }
        differences(verdicts, verdict) == 0
    }

    /// A bit for each word, at most 64, that is equal to `verdict`. Uses AVX2 where available.
    pub(crate) fn which(verdicts: &[u64], verdict: u64) -> u64 {
        assert!(verdicts.len() <= 64, "a word has a bit for each");
        #[inline(always)]
        fn portable(verdicts: &[u64], verdict: u64) -> u64 {
            let bit = |(place, other): (usize, &u64)| u64::from(*other == verdict) << place;
            verdicts.iter().enumerate().map(bit).fold(0, BitOr::bitor)
        }
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::*;

            #[target_feature(enable = "avx2")]
            fn with_avx2(verdicts: &[u64], verdict: u64) -> u64 {
                let (fours, rest) = verdicts.as_chunks::<4>();
                let wanted = _mm256_set1_epi64x(verdict.cast_signed());
                fours.iter().rev().fold(portable(rest, verdict), |bits, four| {
                    // SAFETY: four words are 32 bytes, and the load needs no alignment.
                    let four = unsafe { _mm256_loadu_si256(four.as_ptr().cast()) };
                    let same = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(four, wanted)));
                    bits << 4 | u64::from(same.cast_unsigned())
                })
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has it.
                return unsafe { with_avx2(verdicts, verdict) };
            }
        }
        portable(verdicts, verdict)
    }

    /// Whether the verdict word alone describes the packet's verdict.
    pub(crate) fn is_all(verdict: u64) -> bool {
        matches!(
            verdict >> 32,
            PLAIN | DROPPED_IN_INGRESS | DROPPED_IN_EGRESS | ASSERT_FAILED
        )
    }
}

/// Words of the head; the key follows.
pub(crate) const HEAD_WORDS: usize = size_of::<Lane>() / 8;

/// Words of a queue.
pub(crate) const QUEUE_WORDS: usize = 1 + BURST_MAX;

/// Lanes and queues, reused from burst to burst.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    words: Vec<u64>,
    queues: Vec<u64>,
    /// The verdict words, by packet.
    verdicts: Vec<u64>,
    shape: Shape,
    /// Base and stride in bytes of the frame descriptors.
    frames: (*mut Frame, usize),
    /// The base and stride from which the `frame` fields of the lanes were filled.
    frames_of_lanes: (*mut Frame, usize),
    /// Packets of the burst.
    count: usize,
}

// SAFETY: the raw pointers are dereferenced only under the promise of the caller of [`crate::FastPath::run`].
unsafe impl Send for Lanes {}
// SAFETY: as above.
unsafe impl Sync for Lanes {}

/// The memory that the code of a fast path needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Words of a lane.
    pub(crate) lane_words: usize,
    /// Queues, the one for the burst included.
    pub(crate) queues: usize,
}

impl Shape {
    /// The larger value of each field.
    pub(crate) fn or(self, other: Shape) -> Shape {
        Shape {
            lane_words: self.lane_words.max(other.lane_words),
            queues: self.queues.max(other.queues),
        }
    }
}

impl Lanes {
    /// Makes room for the code's lanes, and empties the queues except the first, which always holds all lanes in order.
    pub(crate) fn prepare(memory: &mut Memory, shape: Shape) {
        let lanes = &mut memory.lanes;
        if lanes.shape != shape {
            lanes.shape = shape;
            lanes.words = vec![0; shape.lane_words * BURST_MAX];
            lanes.queues = vec![0; shape.queues * QUEUE_WORDS];
            lanes.verdicts = vec![0; BURST_MAX];
            lanes.frames_of_lanes = (ptr::null_mut(), 0);
            lanes.fill();
        }
        let base = lanes.queues.as_mut_ptr();
        for queue in 1..shape.queues {
            // SAFETY: there are `queues` queues of `QUEUE_WORDS` words each.
            unsafe {
                let queue = base.add(queue * QUEUE_WORDS);
                queue.write(queue.add(1).expose_provenance() as u64);
            }
        }
    }

    fn fill(&mut self) {
        let lanes = self.words.as_mut_ptr();
        for (index, place) in self.queues[1..QUEUE_WORDS].iter_mut().enumerate() {
            *place = lanes.wrapping_add(index * self.shape.lane_words).expose_provenance() as u64;
        }
        let verdicts = self.verdicts.as_mut_ptr();
        for index in 0..BURST_MAX {
            self.lane(index).verdict = verdicts.wrapping_add(index);
        }
    }

    /// Puts the first [`BURST_MAX`] of these frames into the first queue; returns their number. With `by_lane`, lanes
    /// refer to their frames.
    #[inline]
    pub(crate) fn refer_to(&mut self, frames: Frames, by_lane: bool) -> usize {
        self.frames = (frames.first, frames.stride);
        if by_lane && self.frames_of_lanes != self.frames {
            self.frames_of_lanes = self.frames;
            for index in 0..BURST_MAX {
                self.lane(index).frame = frames.first.wrapping_byte_add(index * frames.stride);
            }
        }
        let count = frames.count.min(BURST_MAX);
        self.set_count(count);
        count
    }

    /// Sets the length to which each of the first `count` packets is cut at most.
    pub(crate) fn limit(&mut self, count: usize, truncate_to: u64) {
        (0..count).for_each(|index| self.lane(index).truncate_to = truncate_to);
    }

    /// The verdicts of the last burst.
    #[inline]
    pub(crate) fn verdicts(&self) -> &[u64] {
        &self.verdicts
    }

    /// Passes the addresses to compiled code.
    pub(crate) fn describe(&mut self, context: &mut Context<'_>) {
        let (first, stride) = self.frames;
        let verdicts = self.verdicts.as_mut_ptr();
        context.queues.write(self.queues.as_mut_ptr());
        context.first_frame.write(first);
        context.frame_stride.write(stride);
        context.verdicts.write(verdicts);
        context.verdicts_end.write(verdicts.wrapping_add(self.count));
        context.lanes.write(self.words.as_mut_ptr());
        context.lane_words.write(self.shape.lane_words);
    }

    /// The lane of the packet with this index in the burst.
    #[inline]
    pub(crate) fn lane(&mut self, index: usize) -> &mut Lane {
        assert!(index < BURST_MAX, "there are {BURST_MAX} lanes");
        debug_assert!(self.words.len() == self.shape.lane_words * BURST_MAX);
        // SAFETY: there are [`BURST_MAX`] lanes of `lane_words` words, at least as many as a lane's head has; they are
        // aligned, and any values are valid for its fields.
        unsafe {
            &mut *self
                .words
                .as_mut_ptr()
                .add(index * self.shape.lane_words)
                .cast::<Lane>()
        }
    }

    /// Sets the number of lanes in the first queue.
    pub(crate) fn set_count(&mut self, count: usize) {
        assert!(count <= BURST_MAX, "there are {BURST_MAX} lanes");
        self.count = count;
        let first = self.queues.as_mut_ptr().wrapping_add(1);
        self.queues[0] = first.wrapping_add(count).expose_provenance() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_found_wherever_they_are() {
        let (plain, dropped) = (verdict::PLAIN << 32 | 7, verdict::DROPPED_IN_INGRESS << 32);
        for (count, leaving) in [
            (0, 0),
            (1, 1),
            (3, 0b101),
            (10, 0b10_0000_1001),
            (64, 1 << 63 | 2),
            (64, u64::MAX),
        ] {
            let verdicts: Vec<u64> = (0..count)
                .map(|place| if leaving >> place & 1 == 1 { plain } else { dropped })
                .collect();
            assert_eq!(verdict::which(&verdicts, plain), leaving);
            assert_eq!(
                verdict::which(&verdicts, dropped).count_ones(),
                count - leaving.count_ones()
            );
            assert_eq!(verdict::which(&verdicts, plain + 1), 0);
        }
    }
}
