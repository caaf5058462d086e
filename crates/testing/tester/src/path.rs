//! What is measured of a stream at a port where it comes out.

use crate::gaps::Gaps;
use crate::histogram::Histogram;
use crate::sequence::{Arrival, SequenceTracker};

/// A frame that came back.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// Frames of its stream that were sent before.
    pub number: u64,
    /// Its flow.
    pub flow: usize,
    /// When it should have been sent, was sent, and came, in nanoseconds from the trial's start.
    pub intended_ns: u64,
    /// When it was sent.
    pub sent_ns: u64,
    /// When it came.
    pub now_ns: u64,
    /// Its length.
    pub bytes: usize,
    /// Whether the machine disturbed it.
    pub is_disturbed: bool,
}

/// Everything measured of a stream at a port.
#[derive(Clone, Default)]
pub struct Path {
    /// Loss, duplication, reordering.
    pub sequence: SequenceTracker,
    /// What is missing.
    pub gaps: Gaps,
    /// From the intended time, frames that the machine disturbed left out.
    pub latency: Histogram,
    /// The same from the real sending time.
    pub device_latency: Histogram,
    /// Latencies from the intended time of frames that the machine disturbed.
    pub disturbed: Histogram,
    /// The same from the real sending time.
    pub disturbed_device: Histogram,
    /// Differences of the latencies of frames that were sent one after another (RFC 5481: IPDV), without their signs;
    /// in whatever order they came, as far as not more than [`NEIGHBOURS`] came between.
    pub variation: Histogram,
    /// Times between arrivals.
    pub inter_arrival: Histogram,
    /// How many copies are due beside the first one of each frame, where a program sends a frame several times by one
    /// port. They are told from duplicates by their number alone.
    pub copies: u64,
    /// Bytes that came for the first time.
    bytes: u64,
    /// Bytes that came again.
    bytes_again: u64,
    /// Frames that came after one of their own flow with a larger number.
    pub reordered_in_flow: u64,
    /// For each flow, one more than the largest number.
    flows: Vec<u64>,
    last_came_ns: Option<u64>,
    /// Number and latency of the last frames, by number.
    neighbours: Vec<(u64, u64)>,
}

/// Frames that are remembered until the one before or after them comes.
pub const NEIGHBOURS: usize = 1 << 12;

/// No number of a frame.
const NONE: u64 = u64::MAX;

impl Path {
    /// A path of a stream with this many flows.
    pub fn new(flows: usize) -> Path {
        Path {
            flows: if flows > 1 { vec![0; flows] } else { Vec::new() },
            ..Path::default()
        }
    }

    /// Notes a frame.
    #[inline]
    pub fn receive(&mut self, frame: &Received) {
        let arrival = self.sequence.arrive(frame.number);
        if arrival == Arrival::Duplicate {
            self.bytes_again += frame.bytes as u64;
            return;
        }
        if arrival != Arrival::TooLate {
            self.gaps.arrive(frame.number, frame.intended_ns);
        }
        self.bytes += frame.bytes as u64;
        self.note_flow(frame, arrival);
        let latency = frame.now_ns.saturating_sub(frame.intended_ns);
        let device = frame.now_ns.saturating_sub(frame.sent_ns);
        if frame.is_disturbed {
            self.disturbed.record(latency);
            self.disturbed_device.record(device);
        } else {
            self.latency.record(latency);
            self.device_latency.record(device);
        }
        if let Some(came_ns) = self.last_came_ns.replace(frame.now_ns) {
            self.inter_arrival.record(frame.now_ns.saturating_sub(came_ns));
        }
        self.note_neighbour(frame.number, latency);
    }

    /// Frames that came as they are due: the first copy of each, and further ones as far as they are.
    pub fn received(&self) -> u64 {
        self.sequence.unique() + self.sequence.duplicates().min(self.copies)
    }

    /// Their bytes.
    pub fn received_bytes(&self) -> u64 {
        let again = self.sequence.duplicates();
        let due = again.min(self.copies);
        self.bytes + (self.bytes_again as f64 * due as f64 / again.max(1) as f64) as u64
    }

    /// Frames that came more often than they are due.
    pub fn duplicated(&self) -> u64 {
        self.sequence.duplicates().saturating_sub(self.copies)
    }

    #[inline]
    fn note_neighbour(&mut self, number: u64, latency: u64) {
        if self.neighbours.is_empty() {
            self.neighbours = vec![(NONE, 0); NEIGHBOURS];
        }
        for other in [number.wrapping_sub(1), number + 1] {
            let (found, before) = self.neighbours[other as usize % NEIGHBOURS];
            if found == other && other != NONE {
                self.variation.record(latency.abs_diff(before));
            }
        }
        self.neighbours[number as usize % NEIGHBOURS] = (number, latency);
    }

    #[inline]
    fn note_flow(&mut self, frame: &Received, arrival: Arrival) {
        if let Some(next) = self.flows.get_mut(frame.flow) {
            self.reordered_in_flow += u64::from(frame.number < *next);
            *next = (*next).max(frame.number + 1);
        } else if arrival == Arrival::Reordered {
            self.reordered_in_flow += 1;
        }
    }
}
