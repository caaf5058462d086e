//! Ports in memory that cost as little as a port can: see [`FramePort`].

use crate::frames::FrameSet;
use forebay_packet::{Burst, Port, PortCounters, PortError, Readiness};
use std::sync::{Arc, Mutex, PoisonError};

/// A port that copies prepared frames into packets, and lets go of what is sent to it.
pub struct FramePort {
    name: String,
    frames: Arc<FrameSet>,
    next: usize,
    /// How many more it delivers.
    left: u64,
    collector: Option<Collector>,
    counters: PortCounters,
}

/// What was sent to the ports of a switch, by port, in order.
#[derive(Clone, Debug, Default)]
pub struct Collector {
    number: u32,
    sent: Arc<Mutex<Vec<Sent>>>,
}

/// A frame that was sent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sent {
    /// The port.
    pub port: u32,
    /// The frame.
    pub frame: Vec<u8>,
}

impl FramePort {
    /// A port that repeats the frames for ever.
    pub fn repeating(name: &str, frames: Arc<FrameSet>) -> FramePort {
        FramePort::delivering(name, frames, u64::MAX)
    }

    /// A port that delivers `count` frames, beginning again at the first when the set has fewer.
    pub fn delivering(name: &str, frames: Arc<FrameSet>, count: u64) -> FramePort {
        FramePort {
            name: name.to_string(),
            left: if frames.is_empty() { 0 } else { count },
            frames,
            next: 0,
            collector: None,
            counters: PortCounters::default(),
        }
    }

    /// A port that delivers nothing.
    pub fn silent(name: &str) -> FramePort {
        FramePort::delivering(name, Arc::default(), 0)
    }

    /// The port with its P4 number, keeping what is sent to it. That allocates: not for measurements.
    pub fn collecting(mut self, number: u32, collector: &Collector) -> FramePort {
        self.collector = Some(Collector {
            number,
            ..collector.clone()
        });
        self
    }
}

impl Collector {
    /// What was sent since the last call: port by port, each in order.
    pub fn take(&self) -> Vec<Sent> {
        let mut sent = std::mem::take(&mut *self.sent.lock().unwrap_or_else(PoisonError::into_inner));
        sent.sort_by_key(|sent| sent.port);
        sent
    }

    fn collect(&self, burst: &Burst) {
        let sent = burst.iter().map(|packet| Sent {
            port: self.number,
            frame: packet.data().to_vec(),
        });
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).extend(sent);
    }
}

impl Port for FramePort {
    fn name(&self) -> &str {
        &self.name
    }

    #[inline]
    fn receive(&mut self, burst: &mut Burst, max: usize, _now_ns: u64) -> Result<usize, PortError> {
        let count = max.min(burst.room()).min(self.left.try_into().unwrap_or(usize::MAX));
        let (mut next, mut bytes) = (self.next, 0);
        for _ in 0..count {
            let frame = self.frames.frame(next);
            burst.allocate().expect("there is room").set_data(frame);
            bytes += frame.len();
            next += 1;
            if next == self.frames.len() {
                next = 0;
            }
        }
        self.next = next;
        self.left -= count as u64;
        self.counters.received_packets += count as u64;
        self.counters.received_bytes += bytes as u64;
        Ok(count)
    }

    #[inline]
    fn send(&mut self, burst: &mut Burst, _now_ns: u64) -> Result<usize, PortError> {
        let count = burst.len();
        let bytes: usize = burst.iter().map(|packet| packet.len()).sum();
        self.counters.sent_packets += count as u64;
        self.counters.sent_bytes += bytes as u64;
        if let Some(collector) = &self.collector {
            collector.collect(burst);
        }
        burst.clear();
        Ok(count)
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }

    fn readiness(&self) -> Readiness {
        match self.left {
            0 => Readiness::Never,
            _ => Readiness::Now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_round_and_round_until_the_number_is_reached() {
        let frames = Arc::new(FrameSet::of([&b"a"[..], b"bc", b"def"]));
        let mut port = FramePort::delivering("in", frames, 5);
        let mut burst = Burst::new(4);
        assert_eq!(port.receive(&mut burst, 32, 0), Ok(4));
        let got: Vec<_> = burst.iter().map(|packet| packet.data().to_vec()).collect();
        assert_eq!(got, [&b"a"[..], b"bc", b"def", b"a"]);
        burst.clear();
        assert_eq!(port.receive(&mut burst, 32, 0), Ok(1));
        assert_eq!(port.receive(&mut burst, 32, 0), Ok(0));
        assert_eq!(port.counters().received_bytes, 9);
        assert_eq!(port.readiness(), Readiness::Never);
    }

    #[test]
    fn nothing_is_allocated_after_the_first_burst() {
        let mut port = FramePort::repeating("in", Arc::new(FrameSet::of([&[7; 64][..]])));
        let mut burst = Burst::new(32);
        for _ in 0..10 {
            assert_eq!(port.receive(&mut burst, 32, 0), Ok(32));
            assert_eq!(port.send(&mut burst, 0), Ok(32));
        }
        assert_eq!(burst.buffers_created(), 32);
    }

    #[test]
    fn a_collector_keeps_what_was_sent() {
        let collector = Collector::default();
        let mut port = FramePort::delivering("p", Arc::new(FrameSet::of([&b"x"[..]])), 1).collecting(3, &collector);
        let mut burst = Burst::new(2);
        port.receive(&mut burst, 2, 0).expect("memory");
        port.send(&mut burst, 0).expect("memory");
        let sent = Sent {
            port: 3,
            frame: b"x".to_vec(),
        };
        assert_eq!(collector.take(), [sent]);
        assert_eq!(collector.take(), []);
    }
}
