//! What is still to happen, in order.
//!
//! Events are ordered by
//! 1. time,
//! 2. kind, in the order of [`Kind`]: what brings a packet forward comes before what takes the next one, so that whoever
//!    chooses at some time sees all that has arrived until then,
//! 3. the order in which they were scheduled.
//!
//! This order is total, and nothing else decides: the same inputs give the same simulation.

use crate::pacer::Picos;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// The first frame on the wire of a port has reached the other end.
    Delivered,
    /// A port's parser channel has taken in the packet that it was serving.
    Parsed,
    /// The packet that entered ingress first leaves it.
    IngressDone,
    /// A copy leaves the bus of the replication engine.
    CopyDone,
    /// A clone from egress comes to the traffic manager.
    CloneDone,
    /// A frame that a fault has held up reaches the other end of its wire.
    Late,
    /// A port may take a packet from its queues.
    PortReady,
    /// Whoever runs the simulation wanted to be woken.
    Wake,
}

/// What it happens to: a chip and one of its ports, or the number that was given to a wake-up call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Subject {
    pub(crate) chip: u16,
    pub(crate) index: u16,
}

impl Subject {
    #[inline]
    fn number(self) -> u32 {
        u32::from(self.chip) << 16 | u32::from(self.index)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) time: Picos,
    /// The kind in the highest byte, then a sequence number.
    order: u64,
    /// As one number: processors are slow to read as a whole what was just written in parts.
    subject: u32,
}

const KINDS: [Kind; 8] = [
    Kind::Delivered,
    Kind::Parsed,
    Kind::IngressDone,
    Kind::CopyDone,
    Kind::CloneDone,
    Kind::Late,
    Kind::PortReady,
    Kind::Wake,
];

impl Event {
    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        KINDS[(self.order >> 56) as usize]
    }

    #[inline]
    pub(crate) fn subject(&self) -> Subject {
        Subject {
            chip: (self.subject >> 16) as u16,
            index: self.subject as u16,
        }
    }

    /// Decides: no two events have the same sequence number.
    #[inline]
    fn rank(&self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.order)
    }
}

impl PartialOrd for Event {
    #[inline]
    fn partial_cmp(&self, other: &Event) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    #[inline]
    fn cmp(&self, other: &Event) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// Picoseconds of a bucket, as a number of bits.
const BUCKET_BITS: u32 = 10;

/// Buckets: about a microsecond together.
const BUCKETS: usize = 1024;

/// No event.
const NONE: u32 = u32::MAX;

/// An event in a bucket, and the one behind it.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    time: Picos,
    order: u64,
    subject: u32,
    next: u32,
}

impl Waiting {
    #[inline]
    fn event(&self) -> Event {
        Event {
            time: self.time,
            order: self.order,
            subject: self.subject,
        }
    }
}

/// The events to come.
///
/// Those of the next microsecond, which are nearly all, are in a wheel of buckets of about a nanosecond each, so that
/// scheduling one and taking the next cost the same however many there are. Later ones are in a heap until their time
/// comes near.
///
/// ```text
///            now                                        end
///   wheel  │ . │ 7 9 │ . │ . │ 31 │ . │ … │ . │ 1019 │   heap  2000 5012 …
///  occupied  0    1    0   0   1    0   …   0     1
/// ```
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// By bucket: its first event.
    first: Box<[u32; BUCKETS]>,
    /// A bit for each bucket that has one.
    occupied: [u64; BUCKETS / 64],
    waiting: Vec<Waiting>,
    /// Places in `waiting` that are free, each with the next one.
    free: u32,
    /// The bucket of the last event that was taken, counted from time 0; the wheel holds [`BUCKETS`] from it on.
    present: u64,
    in_wheel: usize,
    later: BinaryHeap<Reverse<Event>>,
    /// The bucket of the first of them, counted from time 0.
    later_from: u64,
    scheduled: u64,
}

impl Default for EventQueue {
    fn default() -> EventQueue {
        EventQueue {
            first: Box::new([NONE; BUCKETS]),
            occupied: [0; BUCKETS / 64],
            waiting: Vec::new(),
            free: NONE,
            present: 0,
            in_wheel: 0,
            later: BinaryHeap::new(),
            later_from: u64::MAX,
            scheduled: 0,
        }
    }
}

impl EventQueue {
    /// An event at a time that is not before the last one that was taken.
    #[inline]
    pub(crate) fn schedule(&mut self, time: Picos, kind: Kind, subject: Subject) {
        let order = (kind as u64) << 56 | self.scheduled;
        self.scheduled += 1;
        let event = Event {
            time,
            order,
            subject: subject.number(),
        };
        if (time >> BUCKET_BITS) - self.present < BUCKETS as u64 {
            self.put_into_wheel(event);
        } else {
            self.put_into_heap(event);
        }
    }

    /// Takes the next event unless it is later than `until`.
    #[inline(always)]
    pub(crate) fn next_until(&mut self, until: Picos) -> Option<Event> {
        if self.in_wheel == 0 || self.later_from - self.present < BUCKETS as u64 {
            self.bring_near(until);
        }
        let bucket = self.next_bucket()?;
        let place = self.first[bucket];
        let waiting = &mut self.waiting[place as usize];
        let event = waiting.event();
        if event.time > until {
            return None;
        }
        let next = std::mem::replace(&mut waiting.next, self.free);
        self.first[bucket] = next;
        if next == NONE {
            self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        }
        self.free = place;
        self.in_wheel -= 1;
        self.present = event.time >> BUCKET_BITS;
        Some(event)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.in_wheel == 0 && self.later.is_empty()
    }

    /// How many were scheduled so far.
    pub(crate) fn scheduled(&self) -> u64 {
        self.scheduled
    }

    #[cold]
    fn put_into_heap(&mut self, event: Event) {
        self.later_from = self.later_from.min(event.time >> BUCKET_BITS);
        self.later.push(Reverse(event));
    }

    /// Puts an event before the first of its bucket that comes after it: nearly always there is no other.
    #[inline]
    fn put_into_wheel(&mut self, event: Event) {
        let bucket = (event.time >> BUCKET_BITS) as usize % BUCKETS;
        let first = self.first[bucket];
        if first != NONE && self.waiting[first as usize].event() < event {
            return self.put_behind(first, event);
        }
        self.first[bucket] = self.place_for(event, first);
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
    }

    /// Puts an event somewhere behind one of its bucket that is before it.
    #[inline(never)]
    fn put_behind(&mut self, mut before: u32, event: Event) {
        let mut next = self.waiting[before as usize].next;
        while next != NONE && self.waiting[next as usize].event() < event {
            (before, next) = (next, self.waiting[next as usize].next);
        }
        let place = self.place_for(event, next);
        self.waiting[before as usize].next = place;
    }

    #[inline]
    fn place_for(&mut self, event: Event, next: u32) -> u32 {
        if self.free == NONE {
            self.make_room();
        }
        let place = self.free;
        self.in_wheel += 1;
        let waiting = &mut self.waiting[place as usize];
        self.free = std::mem::replace(&mut waiting.next, next);
        waiting.time = event.time;
        waiting.order = event.order;
        waiting.subject = event.subject;
        place
    }

    /// One place more.
    #[cold]
    fn make_room(&mut self) {
        self.free = self.waiting.len() as u32;
        self.waiting.push(Waiting {
            time: 0,
            order: 0,
            subject: 0,
            next: NONE,
        });
    }

    /// The first bucket from the present one on that has an event, round the wheel.
    #[inline]
    fn next_bucket(&self) -> Option<usize> {
        if self.in_wheel == 0 {
            return None;
        }
        let present = self.present as usize % BUCKETS;
        let mut word = present / 64;
        let mut bits = self.occupied[word] & (u64::MAX << (present % 64));
        // Ends: some bucket has an event. That of the present word's lower bits comes last.
        while bits == 0 {
            word = (word + 1) % self.occupied.len();
            bits = self.occupied[word];
        }
        Some(64 * word + bits.trailing_zeros() as usize)
    }

    /// Moves what is near enough from the heap into the wheel. An empty wheel begins anew with the first of the heap, if
    /// that will be taken.
    #[cold]
    fn bring_near(&mut self, until: Picos) {
        if let Some(Reverse(next)) = self.later.peek()
            && self.in_wheel == 0
            && next.time <= until
        {
            self.present = next.time >> BUCKET_BITS;
        }
        while let Some(Reverse(next)) = self.later.peek()
            && (next.time >> BUCKET_BITS) - self.present < BUCKETS as u64
        {
            let event = *next;
            self.later.pop();
            self.put_into_wheel(event);
        }
        let first = self.later.peek();
        self.later_from = first.map_or(u64::MAX, |Reverse(first)| first.time >> BUCKET_BITS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(index: u16) -> Subject {
        Subject { chip: 0, index }
    }

    #[test]
    fn events_at_one_time_are_ordered_by_kind_and_then_by_age() {
        let mut queue = EventQueue::default();
        queue.schedule(5, Kind::PortReady, subject(0));
        queue.schedule(5, Kind::Delivered, subject(1));
        queue.schedule(5, Kind::Delivered, subject(2));
        queue.schedule(4, Kind::Wake, subject(3));
        queue.schedule(9, Kind::Parsed, subject(4));
        let order: Vec<u16> = std::iter::from_fn(|| queue.next_until(8))
            .map(|event| event.subject().index)
            .collect();
        assert_eq!(order, [3, 1, 2, 0]);
        assert!(!queue.is_empty());
    }

    #[test]
    fn memory_grows_with_the_events_to_come_not_with_time() {
        let mut queue = EventQueue::default();
        (0..8).for_each(|index| queue.schedule(u64::from(index), Kind::Parsed, subject(index)));
        for _ in 0..100_000 {
            let event = queue.next_until(u64::MAX).expect("there are eight");
            queue.schedule(event.time + 3_000, event.kind(), event.subject());
        }
        assert_eq!((queue.waiting.len(), queue.later.len()), (8, 0));
    }

    /// Against one heap, with spans from nothing to much more than the wheel holds, and times at which nothing happens.
    #[test]
    fn events_come_in_order_however_far_they_are() {
        let mut random = forebay_packet::SplitMix64::new(7);
        let mut span = || random.next_u64() >> (random.next_u64() % 24 + 40);
        let (mut queue, mut heap) = (EventQueue::default(), BinaryHeap::new());
        let mut now = 0;
        for round in 0..20_000u64 {
            for _ in 0..span() % 3 {
                let (time, kind) = (now + span(), KINDS[(span() % 8) as usize]);
                heap.push(Reverse((time, kind, queue.scheduled())));
                queue.schedule(time, kind, subject(0));
            }
            let until = now + span();
            let due = heap.peek().is_some_and(|Reverse((time, ..))| *time <= until);
            let expected = if due { heap.pop() } else { None };
            let taken = queue.next_until(until);
            let seen = taken.map(|event| Reverse((event.time, event.kind(), event.order & ((1 << 56) - 1))));
            assert_eq!(seen, expected, "round {round}");
            match taken {
                Some(event) => now = event.time,
                None if round % 2 == 0 => now = until,
                None => {}
            }
        }
        assert!(queue.scheduled() > 10_000);
    }
}
