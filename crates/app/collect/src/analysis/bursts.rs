//! Microbursts: a queue that is full for a short time.
//!
//! A burst begins with the first report in which a queue is at a threshold, by its depth or by the hop's latency, and
//! ends when a report has less than half of both, or when the queue has had no report for a while. Times are the node's
//! own where both reports have them, otherwise those at which reports came.

use super::Event;
use crate::report::{Flow, Hop, Report};
use std::collections::HashMap;

/// Time without reports after which a queue is taken to be no longer full, in nanoseconds.
const SILENCE_NS: u64 = 100_000_000;

/// Queues that are followed at the same time while they are full.
const QUEUES_MAX: usize = 16_384;

/// From when on a queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstThresholds {
    /// By its occupancy, in the node's unit.
    pub depth: u32,
    /// By the time in the node, in nanoseconds.
    pub latency_ns: u32,
}

impl Default for BurstThresholds {
    fn default() -> BurstThresholds {
        BurstThresholds {
            depth: 64,
            latency_ns: 1_000_000,
        }
    }
}

/// A microburst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// The node.
    pub node: u32,
    /// The port whose queue it is.
    pub egress_port: Option<u16>,
    /// The queue.
    pub queue: Option<u8>,
    /// When its first report came, in nanoseconds since the Unix epoch.
    pub received_ns: u64,
    /// How long it was, in nanoseconds.
    pub duration_ns: u64,
    /// The largest occupancy.
    pub depth_max: u32,
    /// The longest time in the node.
    pub latency_max_ns: u32,
    /// Packets that were reported.
    pub packets: u64,
    /// The flow of the packet that met the fullest queue.
    pub flow: Option<Flow>,
}

type Queue = (u32, Option<u16>, Option<u8>);

/// A burst that goes on.
struct Open {
    burst: Burst,
    /// The time of its first report on the node's clock, in nanoseconds.
    began_ns: Option<u64>,
    last_received_ns: u64,
}

/// The queues that are full.
#[derive(Default)]
pub struct Bursts {
    thresholds: BurstThresholds,
    open: HashMap<Queue, Open>,
}

impl Bursts {
    /// With thresholds.
    pub fn new(thresholds: BurstThresholds) -> Bursts {
        Bursts {
            thresholds,
            open: HashMap::new(),
        }
    }

    /// Looks at the hops of a report.
    pub fn see(&mut self, report: &Report, received_ns: u64, events: &mut Vec<Event>) {
        for hop in &report.hops {
            if let Some(node) = hop.node {
                self.hop(node, hop, report.flow, received_ns, events);
            }
        }
    }

    fn hop(&mut self, node: u32, hop: &Hop, flow: Option<Flow>, received_ns: u64, events: &mut Vec<Event>) {
        // A drop report names the queue, but does not say how full it is.
        if hop.queue_depth.is_none() && hop.latency_ns.is_none() {
            return;
        }
        let (depth, latency_ns) = (hop.queue_depth.unwrap_or(0), hop.latency_ns.unwrap_or(0));
        let is_full = depth >= self.thresholds.depth || latency_ns >= self.thresholds.latency_ns;
        let is_empty = depth < self.thresholds.depth.div_ceil(2) && latency_ns < self.thresholds.latency_ns.div_ceil(2);
        if !is_full && self.open.is_empty() {
            return;
        }
        let queue = (node, hop.egress_port, hop.queue);
        let has_ended = |open: &Open| is_empty || open.is_silent(received_ns);
        if self.open.get(&queue).is_some_and(has_ended) {
            events.extend(self.open.remove(&queue).map(|open| Event::Burst(open.burst)));
        }
        if let Some(open) = self.open.get_mut(&queue) {
            open.continues(depth, latency_ns, flow, hop.egress_time_ns, received_ns);
        } else if is_full && self.open.len() < QUEUES_MAX {
            let burst = Burst {
                node,
                egress_port: hop.egress_port,
                queue: hop.queue,
                received_ns,
                duration_ns: 0,
                depth_max: depth,
                latency_max_ns: latency_ns,
                packets: 1,
                flow,
            };
            self.open.insert(
                queue,
                Open {
                    burst,
                    began_ns: hop.egress_time_ns,
                    last_received_ns: received_ns,
                },
            );
        }
    }

    /// Ends bursts of queues that have had no report for a while.
    pub fn time_passes(&mut self, now_ns: u64, events: &mut Vec<Event>) {
        self.open.retain(|_, open| {
            let goes_on = !open.is_silent(now_ns);
            if !goes_on {
                events.push(Event::Burst(open.burst));
            }
            goes_on
        });
    }
}

impl Open {
    fn is_silent(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.last_received_ns) >= SILENCE_NS
    }

    fn continues(&mut self, depth: u32, latency_ns: u32, flow: Option<Flow>, time_ns: Option<u64>, received_ns: u64) {
        let burst = &mut self.burst;
        let lasted_ns = match (self.began_ns, time_ns) {
            (Some(began_ns), Some(time_ns)) => time_ns.saturating_sub(began_ns),
            _ => received_ns.saturating_sub(burst.received_ns),
        };
        if (depth, latency_ns) > (burst.depth_max, burst.latency_max_ns) {
            burst.flow = flow;
        }
        burst.depth_max = burst.depth_max.max(depth);
        burst.latency_max_ns = burst.latency_max_ns.max(latency_ns);
        burst.duration_ns = burst.duration_ns.max(lasted_ns);
        burst.packets += 1;
        self.last_received_ns = received_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Flags, Mode, Reporter};
    use smallvec::smallvec;

    fn see(bursts: &mut Bursts, depth: u32, time_ns: u64) -> Vec<Burst> {
        see_report(bursts, Some(depth), Some(time_ns), time_ns + 5)
    }

    fn see_report(
        bursts: &mut Bursts,
        queue_depth: Option<u32>,
        egress_time_ns: Option<u64>,
        received_ns: u64,
    ) -> Vec<Burst> {
        let hop = Hop {
            node: Some(7),
            egress_port: Some(2),
            queue: Some(1),
            queue_depth,
            egress_time_ns,
            ..Hop::default()
        };
        let report = Report {
            reporter: Reporter { node: 7, hardware: 0 },
            sequence: 0,
            flags: Flags::default(),
            drop_reason: None,
            mode: Mode::Xd,
            flow: None,
            hops: smallvec![hop],
            is_whole: true,
        };
        let mut events = Vec::new();
        bursts.see(&report, received_ns, &mut events);
        found(events)
    }

    fn found(events: Vec<Event>) -> Vec<Burst> {
        let burst = |event| match event {
            Event::Burst(burst) => burst,
            other => panic!("a burst, not {other:?}"),
        };
        events.into_iter().map(burst).collect()
    }

    #[test]
    fn a_burst_ends_at_half_of_the_threshold() {
        let mut bursts = Bursts::new(BurstThresholds {
            depth: 10,
            latency_ns: 1_000,
        });
        for (depth, time_ns) in [(9, 100), (10, 200), (30, 300), (6, 400)] {
            assert!(see(&mut bursts, depth, time_ns).is_empty());
        }
        let [burst] = see(&mut bursts, 4, 500)[..] else {
            panic!("a burst ends")
        };
        assert_eq!((burst.node, burst.egress_port, burst.queue), (7, Some(2), Some(1)));
        assert_eq!((burst.duration_ns, burst.depth_max, burst.packets), (200, 30, 3));
        assert!(see(&mut bursts, 4, 600).is_empty());
    }

    #[test]
    fn a_drop_report_does_not_end_a_burst() {
        let mut bursts = Bursts::default();
        assert!(see(&mut bursts, 100, 0).is_empty());
        let dropped = see_report(&mut bursts, None, Some(10), 15);
        assert!(dropped.is_empty(), "the queue is full");
        assert!(see(&mut bursts, 100, 20).is_empty());
        let [burst] = see(&mut bursts, 1, 30)[..] else {
            panic!("a burst ends")
        };
        assert_eq!((burst.duration_ns, burst.packets), (20, 2));
    }

    /// The node's clock is not that of the collector.
    #[test]
    fn reports_without_times_of_the_node_have_those_at_which_they_came() {
        const NOW_NS: u64 = 1_800_000_000_000_000_000;
        for (first, second) in [(Some(7), None), (None, Some(7))] {
            let mut bursts = Bursts::default();
            see_report(&mut bursts, Some(100), first, NOW_NS);
            see_report(&mut bursts, Some(100), second, NOW_NS + 30);
            let [burst] = see(&mut bursts, 1, NOW_NS + 40)[..] else {
                panic!("a burst ends")
            };
            assert_eq!((burst.duration_ns, burst.packets), (30, 2), "{first:?}");
        }
    }

    #[test]
    fn a_burst_ends_with_silence() {
        let mut bursts = Bursts::default();
        assert!(see(&mut bursts, 100, 0).is_empty());
        let mut events = Vec::new();
        bursts.time_passes(SILENCE_NS, &mut events);
        assert!(events.is_empty());
        bursts.time_passes(SILENCE_NS + 5, &mut events);
        assert_eq!(found(events).len(), 1);
    }

    /// Whether someone has looked at the time in between or not.
    #[test]
    fn a_queue_that_is_full_again_after_silence_has_another_burst() {
        let mut bursts = Bursts::default();
        assert!(see(&mut bursts, 100, 0).is_empty());
        assert!(see(&mut bursts, 100, 10).is_empty());
        let [burst] = see(&mut bursts, 100, SILENCE_NS + 10)[..] else {
            panic!("a burst ends")
        };
        assert_eq!((burst.received_ns, burst.duration_ns, burst.packets), (5, 10, 2));
        let mut events = Vec::new();
        bursts.time_passes(u64::MAX, &mut events);
        let [burst] = found(events)[..] else {
            panic!("another one")
        };
        assert_eq!((burst.received_ns, burst.packets), (SILENCE_NS + 15, 1));
    }
}
