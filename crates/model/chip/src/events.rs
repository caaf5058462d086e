//! What is still to happen, in order.
//!
//! Events are ordered by
//! 1. time,
//! 2. kind, in the order of [`Kind`]: what brings a packet forward comes before what takes the next one, so that every
//!    choice at some time sees all packets that have arrived until then,
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
    /// A port's ingress parser has ended with a packet.
    Parsed,
    /// The packet that entered ingress first leaves it.
    IngressDone,
    /// A clone from egress comes to the traffic manager.
    CloneDone,
    /// A frame that a fault has held up reaches the other end of its wire, or one that is recirculated comes back past
    /// a line.
    Late,
    /// A pause frame has reached the other end of a port's wire.
    Pause,
    /// A port may take a packet from its queues.
    PortReady,
    /// The caller of the simulation requested to be woken.
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

impl Event {
    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        match self.order >> 56 {
            0 => Kind::Delivered,
            1 => Kind::Parsed,
            2 => Kind::IngressDone,
            3 => Kind::CloneDone,
            4 => Kind::Late,
            5 => Kind::Pause,
            6 => Kind::PortReady,
            _ => Kind::Wake,
        }
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
const BUCKET_BITS: u32 = 9;

/// Buckets: about a microsecond together.
const BUCKETS: usize = 2048;

/// Words of a bit for each bucket.
const WORDS: usize = BUCKETS / 64;

/// No event.
const NONE: u32 = u32::MAX;

/// An event in a bucket, and the one after it.
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
/// The events of the next microsecond, nearly all, are in a wheel of buckets of about half a nanosecond each, so
/// that scheduling one and taking the next cost the same however many there are. Later ones are in a heap until their
/// time comes near.
///
/// ```text
///            now                                        end
///   wheel  │ . │ 7 9 │ . │ . │ 31 │ . │ … │ . │ 1019 │   heap  2000 5012 …
///  occupied  0    1    0   0   1    0   …   0     1
/// ```
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// Places of events in buckets, and free ones.
    waiting: Vec<Waiting>,
    /// Places in `waiting` that are free, each with the next one.
    free: u32,
    /// The bucket of the last event that was taken, counted from time 0; the wheel holds [`BUCKETS`] from it on.
    present: u64,
    /// When this bucket is the present one the heap's first event comes near.
    heap_nears: u64,
    scheduled: u64,
    later: BinaryHeap<Reverse<Event>>,
    /// A bit for each bucket that has an event.
    occupied: [u64; WORDS],
    /// By bucket: its first event.
    first: [u32; BUCKETS],
}

impl Default for EventQueue {
    fn default() -> EventQueue {
        EventQueue {
            waiting: Vec::new(),
            free: NONE,
            present: 0,
            heap_nears: u64::MAX,
            scheduled: 0,
            later: BinaryHeap::new(),
            occupied: [0; WORDS],
            first: [NONE; BUCKETS],
        }
    }
}

impl EventQueue {
    /// An event at a time that is not before the last one that was taken.
    #[inline]
    pub(crate) fn schedule(&mut self, time: Picos, kind: Kind, subject: Subject) {
        let order = (kind as u64) << 56 | self.scheduled;
        self.scheduled += 1;
        self.put(time, order, subject.number());
    }

    /// Into the wheel: nearly always there is a free place, and no other event in its bucket.
    #[inline]
    fn put(&mut self, time: Picos, order: u64, subject: u32) {
        let bucket = (time >> BUCKET_BITS) as usize % BUCKETS;
        let is_near = (time >> BUCKET_BITS) - self.present < BUCKETS as u64;
        let place = self.free;
        match self.waiting.get_mut(place as usize) {
            Some(waiting) if is_near && self.first[bucket] == NONE => {
                self.free = waiting.next;
                *waiting = Waiting {
                    time,
                    order,
                    subject,
                    next: NONE,
                };
                self.first[bucket] = place;
                self.occupied[bucket / 64] |= 1 << (bucket % 64);
            }
            _ => self.put_among_others(time, order, subject),
        }
    }

    /// Takes the next event unless it is later than `until`.
    #[inline(always)]
    pub(crate) fn next_until(&mut self, until: Picos) -> Option<Event> {
        if self.present >= self.heap_nears {
            self.bring_near();
        }
        let present = self.present as usize % BUCKETS;
        let word = present / 64;
        let bits = self.occupied[word] & (u64::MAX << (present % 64));
        let bucket = match bits {
            0 => self.next_bucket_of_others(until)?,
            _ => 64 * word + bits.trailing_zeros() as usize,
        };
        let place = self.first[bucket % BUCKETS];
        let waiting = &mut self.waiting[place as usize];
        let event = waiting.event();
        if event.time > until {
            return None;
        }
        let next = std::mem::replace(&mut waiting.next, self.free);
        self.free = place;
        self.first[bucket % BUCKETS] = next;
        self.occupied[bucket / 64 % WORDS] ^= u64::from(next == NONE) << (bucket % 64);
        self.present = event.time >> BUCKET_BITS;
        Some(event)
    }

    /// When the next event is.
    pub(crate) fn next_time(&self) -> Option<Picos> {
        let present = self.present as usize % BUCKETS;
        let (word, bit) = (present / 64, present % 64);
        // The first word twice: from the present bucket on, and up to it.
        let mut words = (0..=WORDS).map(|ahead| {
            let index = (word + ahead) % WORDS;
            let mask = match ahead {
                0 => u64::MAX << bit,
                WORDS => !(u64::MAX << bit),
                _ => u64::MAX,
            };
            (index, self.occupied[index] & mask)
        });
        let near = words.find(|(_, bits)| *bits != 0).map(|(index, bits)| {
            let bucket = 64 * index + bits.trailing_zeros() as usize;
            self.waiting[self.first[bucket] as usize].time
        });
        let later = self.later.peek().map(|Reverse(event)| event.time);
        near.into_iter().chain(later).min()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.occupied == [0; WORDS] && self.later.is_empty()
    }

    /// How many were scheduled so far.
    pub(crate) fn scheduled(&self) -> u64 {
        self.scheduled
    }

    /// Into the heap, or before the first event of its bucket that comes after it.
    #[inline(never)]
    fn put_among_others(&mut self, time: Picos, order: u64, subject: u32) {
        let event = Event { time, order, subject };
        if (time >> BUCKET_BITS) - self.present >= BUCKETS as u64 {
            self.later.push(Reverse(event));
            return self.note_first_of_heap();
        }
        let bucket = (time >> BUCKET_BITS) as usize % BUCKETS;
        let (mut before, mut next) = (None, self.first[bucket]);
        while next != NONE && self.waiting[next as usize].event() < event {
            before = Some(next);
            next = self.waiting[next as usize].next;
        }
        let place = self.place_for(event, next);
        match before {
            Some(before) => self.waiting[before as usize].next = place,
            None => self.first[bucket] = place,
        }
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
    }

    /// A free place, or one more.
    fn place_for(&mut self, event: Event, next: u32) -> u32 {
        let Event { time, order, subject } = event;
        let waiting = Waiting {
            time,
            order,
            subject,
            next,
        };
        let place = self.free;
        match self.waiting.get_mut(place as usize) {
            Some(free) => {
                self.free = free.next;
                *free = waiting;
                place
            }
            None => {
                self.waiting.push(waiting);
                self.waiting.len() as u32 - 1
            }
        }
    }

    /// The first bucket that has an event, when no bucket of the present word from the present one on has.
    #[inline(never)]
    fn next_bucket_of_others(&mut self, until: Picos) -> Option<usize> {
        // The present word comes last, for its buckets before the present one.
        let present = self.present as usize % BUCKETS / 64;
        let mut words = (1..=WORDS).map(|distance| (present + distance) % WORDS);
        match words.find(|word| self.occupied[*word] != 0) {
            Some(word) => Some(64 * word + self.occupied[word].trailing_zeros() as usize),
            None => self.begin_anew(until),
        }
    }

    /// An empty wheel begins anew with the bucket of the heap's first event, if that will be taken.
    fn begin_anew(&mut self, until: Picos) -> Option<usize> {
        let Reverse(first) = self.later.peek()?;
        if first.time > until {
            return None;
        }
        self.present = first.time >> BUCKET_BITS;
        self.bring_near();
        Some(self.present as usize % BUCKETS)
    }

    /// Moves what is near enough from the heap into the wheel.
    #[cold]
    fn bring_near(&mut self) {
        while let Some(Reverse(next)) = self.later.peek()
            && (next.time >> BUCKET_BITS) - self.present < BUCKETS as u64
        {
            let Event { time, order, subject } = *next;
            self.later.pop();
            self.put(time, order, subject);
        }
        self.note_first_of_heap();
    }

    fn note_first_of_heap(&mut self) {
        let first = self.later.peek();
        self.heap_nears = first.map_or(u64::MAX, |Reverse(first)| {
            (first.time >> BUCKET_BITS).saturating_sub(BUCKETS as u64 - 1)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Kind; 7] = [
        Kind::Delivered,
        Kind::Parsed,
        Kind::IngressDone,
        Kind::CloneDone,
        Kind::Late,
        Kind::PortReady,
        Kind::Wake,
    ];

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

    #[test]
    fn kinds_come_back_from_their_numbers() {
        let mut queue = EventQueue::default();
        let kinds = KINDS.map(|kind| {
            queue.schedule(0, kind, subject(0));
            queue.next_until(0).map(|event| event.kind())
        });
        assert_eq!(kinds, KINDS.map(Some));
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
                let (time, kind) = (now + span(), KINDS[(span() % 7) as usize]);
                heap.push(Reverse((time, kind, queue.scheduled())));
                queue.schedule(time, kind, subject(0));
            }
            assert_eq!(
                queue.next_time(),
                heap.peek().map(|Reverse((time, ..))| *time),
                "round {round}"
            );
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
