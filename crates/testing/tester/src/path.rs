//! What is measured of a stream at a port where it comes out.

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
    /// From the intended time, frames that the machine disturbed left out.
    pub latency: Histogram,
    /// The same from the real sending time.
    pub device_latency: Histogram,
    /// Latencies from the intended time of frames that the machine disturbed.
    pub disturbed: Histogram,
    /// The same from the real sending time.
    pub disturbed_device: Histogram,
    /// Differences of the latencies of frames that were sent one after another (RFC 5481: IPDV), without their signs.
    pub variation: Histogram,
    /// Times between arrivals.
    pub inter_arrival: Histogram,
    /// Bytes that came, duplicates left out.
    pub bytes: u64,
    /// Frames that came after one of their own flow with a larger number.
    pub reordered_in_flow: u64,
    /// For each flow, one more than the largest number.
    flows: Vec<u64>,
    last: Option<(u64, u64, u64)>,
}

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
            return;
        }
        self.bytes += frame.bytes as u64;
        self.note_flow(frame, arrival);
        let latency = frame.now_ns.saturating_sub(frame.intended_ns);
        let device = frame.now_ns.saturating_sub(frame.sent_ns);
        match frame.is_disturbed {
            false => {
                self.latency.record(latency);
                self.device_latency.record(device);
            }
            true => {
                self.disturbed.record(latency);
                self.disturbed_device.record(device);
            }
        }
        if let Some((number, came_ns, before)) = self.last {
            self.inter_arrival.record(frame.now_ns.saturating_sub(came_ns));
            if frame.number == number + 1 {
                self.variation.record(latency.abs_diff(before));
            }
        }
        self.last = Some((frame.number, frame.now_ns, latency));
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
