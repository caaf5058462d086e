//! A port whose received frames are delayed, lost, duplicated and reordered on purpose, with exact counts of each.
//!
//! It makes a device whose answer is known: the tester is right when it measures what was injected.

use forebay_packet::{Burst, Packet, Pool, Port, PortError, Readiness, SplitMix64, delegate_port};
use serde::{Deserialize, Serialize};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How long a frame takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Delay {
    /// No time.
    #[default]
    None,
    /// A constant delay in nanoseconds.
    Constant(f64),
    /// Uniformly distributed between two.
    Uniform(f64, f64),
    /// Exponentially distributed, with this mean.
    Exponential(f64),
}

impl Delay {
    fn draw(self, random: &mut SplitMix64) -> u64 {
        let ns = match self {
            Delay::None => 0.0,
            Delay::Constant(ns) => ns,
            Delay::Uniform(from, to) => from + (to - from) * random.uniform(),
            Delay::Exponential(mean) => mean * random.exponential(),
        };
        ns as u64
    }

    /// The share of delays that are at most this long.
    pub fn share_up_to(self, ns: f64) -> f64 {
        match self {
            Delay::None => 1.0,
            Delay::Constant(delay) => f64::from(ns >= delay),
            Delay::Uniform(from, to) => ((ns - from) / (to - from)).clamp(0.0, 1.0),
            Delay::Exponential(mean) => 1.0 - (-ns.max(0.0) / mean).exp(),
        }
    }
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Impairment {
    /// The share of frames that is lost.
    pub loss: f64,
    /// The share that comes twice.
    pub duplication: f64,
    /// The share that is held until others have passed.
    pub reordering: f64,
    /// How many others.
    pub reordering_by: u32,
    /// How long frames take. Frames whose delay is shorter pass others.
    pub delay: Delay,
}

/// What was done to frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Injected {
    pub lost: u64,
    pub duplicated: u64,
    pub reordered: u64,
}

impl Injected {
    /// Both together.
    pub(crate) fn plus(self, other: Injected) -> Injected {
        Injected {
            lost: self.lost + other.lost,
            duplicated: self.duplicated + other.duplicated,
            reordered: self.reordered + other.reordered,
        }
    }
}

/// [`Injected`] of a port that is owned elsewhere.
pub type SharedInjected = Arc<Mutex<Injected>>;

/// Frames that wait for others to pass, with how many still must, of a port that is owned elsewhere.
pub type SharedHeld = Arc<Mutex<Vec<(u32, Packet)>>>;

/// See the [module](self).
pub struct Impaired<P> {
    port: P,
    impairment: Impairment,
    random: SplitMix64,
    line: BinaryHeap<Reverse<Waiting>>,
    held: SharedHeld,
    arrivals: Burst,
    spares: Pool,
    order: u64,
    injected: SharedInjected,
}

struct Waiting {
    due_ns: u64,
    order: u64,
    packet: Packet,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Waiting) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> Ordering {
        (self.due_ns, self.order).cmp(&(other.due_ns, other.order))
    }
}

impl<P: Port> Impaired<P> {
    /// Wraps a port. The seed decides which frames are treated how.
    pub fn new(port: P, impairment: Impairment, seed: u64) -> Impaired<P> {
        Impaired {
            port,
            impairment,
            random: SplitMix64::new(seed),
            line: BinaryHeap::new(),
            held: SharedHeld::default(),
            arrivals: Burst::default(),
            spares: Pool::new(4096),
            order: 0,
            injected: SharedInjected::default(),
        }
    }

    /// What is done to its frames.
    pub fn injected(&self) -> SharedInjected {
        self.injected.clone()
    }

    /// Its frames that wait for others to pass.
    pub fn held(&self) -> SharedHeld {
        self.held.clone()
    }

    fn lock_held(&self) -> MutexGuard<'_, Vec<(u32, Packet)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, count: impl FnOnce(&mut Injected)) {
        count(&mut self.injected.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn collect(&mut self, now_ns: u64) -> Result<(), PortError> {
        let mut arrivals = std::mem::take(&mut self.arrivals);
        let result = self.port.receive(&mut arrivals, usize::MAX, now_ns);
        for packet in arrivals.iter_mut() {
            if self.random.chance(self.impairment.loss) {
                self.count(|injected| injected.lost += 1);
                continue;
            }
            let packet = std::mem::replace(packet, self.spares.take());
            if self.random.chance(self.impairment.reordering) {
                // Until enough others have passed it is lost.
                self.count(|injected| injected.lost += 1);
                let others = self.impairment.reordering_by.max(1);
                self.lock_held().push((others, packet));
                continue;
            }
            self.pass(packet, now_ns);
        }
        arrivals.clear();
        self.arrivals = arrivals;
        result.map(|_| ())
    }

    /// A frame that is not held goes on; it lets go held ones that have waited long enough.
    fn pass(&mut self, packet: Packet, now_ns: u64) {
        if self.random.chance(self.impairment.duplication) {
            self.count(|injected| injected.duplicated += 1);
            let mut copy = self.spares.take();
            copy.copy_from(&packet);
            self.delay(packet, now_ns);
            self.delay(copy, now_ns);
        } else {
            self.delay(packet, now_ns);
        }
        let mut held = std::mem::take(&mut *self.lock_held());
        let mut at = 0;
        while at < held.len() {
            held[at].0 -= 1;
            if held[at].0 == 0 {
                let (_, packet) = held.remove(at);
                self.count(|injected| {
                    injected.lost -= 1;
                    injected.reordered += 1;
                });
                self.delay(packet, now_ns);
            } else {
                at += 1;
            }
        }
        *self.lock_held() = held;
    }

    fn delay(&mut self, packet: Packet, now_ns: u64) {
        let due_ns = now_ns + self.impairment.delay.draw(&mut self.random);
        self.order += 1;
        self.line.push(Reverse(Waiting {
            due_ns,
            order: self.order,
            packet,
        }));
    }

    fn deliver(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> usize {
        let mut count = 0;
        while count < max && !burst.is_full() {
            if self.line.peek().is_none_or(|waiting| waiting.0.due_ns > now_ns) {
                break;
            }
            let Some(Reverse(mut waiting)) = self.line.pop() else {
                break;
            };
            waiting.packet.timestamp_ns = waiting.due_ns;
            let accepted = burst.push_exchange(&mut waiting.packet);
            debug_assert!(accepted, "the burst was checked for room");
            self.spares.give(waiting.packet);
            count += 1;
        }
        count
    }
}

impl<P: Port> Port for Impaired<P> {
    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        let collected = self.collect(now_ns);
        let count = self.deliver(burst, max, now_ns);
        collected.map(|()| count)
    }

    fn readiness(&self) -> Readiness {
        match (self.line.peek(), self.port.readiness()) {
            (_, Readiness::Now) => Readiness::Now,
            (None, readiness) => readiness,
            (Some(waiting), _) => Readiness::At(waiting.0.due_ns),
        }
    }

    delegate_port!(port: name, send, counters, state, why_down, room, is_timer, reads_ids, begin_last_round, flush);
}
