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
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

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

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    pub(crate) time: Picos,
    /// The kind in the highest byte, then a sequence number.
    order: u64,
    pub(crate) subject: Subject,
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
    pub(crate) fn kind(&self) -> Kind {
        KINDS[(self.order >> 56) as usize]
    }
}

/// The events to come.
///
/// What always takes the same time comes in the order in which it was scheduled, so it needs no heap: the ends of ingress,
/// chip by chip, stand in a line of their own.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<Event>>,
    /// By chip.
    lines: Vec<VecDeque<Event>>,
    scheduled: u64,
}

impl EventQueue {
    /// Makes a line for another chip.
    pub(crate) fn add_line(&mut self) {
        self.lines.push(VecDeque::new());
    }

    #[inline]
    pub(crate) fn schedule(&mut self, time: Picos, kind: Kind, subject: Subject) {
        let event = self.event(time, kind, subject);
        self.heap.push(Reverse(event));
    }

    /// An event of a chip that comes behind all others of its line.
    #[inline]
    pub(crate) fn schedule_in_line(&mut self, time: Picos, kind: Kind, subject: Subject) {
        let event = self.event(time, kind, subject);
        self.lines[usize::from(subject.chip)].push_back(event);
    }

    fn event(&mut self, time: Picos, kind: Kind, subject: Subject) -> Event {
        let order = (kind as u64) << 56 | self.scheduled;
        self.scheduled += 1;
        Event { time, order, subject }
    }

    /// Takes the next event unless it is later than `until`.
    #[inline]
    pub(crate) fn next_until(&mut self, until: Picos) -> Option<Event> {
        let mut next = self.heap.peek().map(|Reverse(event)| *event);
        let mut from = None;
        for (line, events) in self.lines.iter().enumerate() {
            let first = events.front().filter(|first| next.is_none_or(|next| **first < next));
            if let Some(first) = first {
                (next, from) = (Some(*first), Some(line));
            }
        }
        let next = next.filter(|event| event.time <= until)?;
        match from {
            Some(line) => self.lines[line].pop_front(),
            None => self.heap.pop().map(|Reverse(event)| event),
        };
        Some(next)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.heap.is_empty() && self.lines.iter().all(VecDeque::is_empty)
    }

    /// How many were scheduled so far.
    pub(crate) fn scheduled(&self) -> u64 {
        self.scheduled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_at_one_time_are_ordered_by_kind_and_then_by_age() {
        let mut queue = EventQueue::default();
        queue.add_line();
        let subject = |index| Subject { chip: 0, index };
        queue.schedule(5, Kind::PortReady, subject(0));
        queue.schedule(5, Kind::Delivered, subject(1));
        queue.schedule(5, Kind::Delivered, subject(2));
        queue.schedule(4, Kind::Wake, subject(3));
        queue.schedule_in_line(5, Kind::IngressDone, subject(5));
        queue.schedule_in_line(7, Kind::IngressDone, subject(6));
        queue.schedule(9, Kind::Parsed, subject(4));
        let order: Vec<u16> = std::iter::from_fn(|| queue.next_until(8))
            .map(|event| event.subject.index)
            .collect();
        assert_eq!(order, [3, 1, 2, 5, 0, 6]);
        assert!(!queue.is_empty());
    }
}
