//! The port of a link.

use std::cell::Cell;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use forebay_packet::{Burst, DropReason, Port, PortCounters, PortError, PortState, Readiness};

use super::{Controller, Link, ReceiveQueue, SendQueue, lock, try_lock};

/// Looks without a packet before a worker may wait: waking it costs both sides a system call, and what comes next often
/// comes soon. They become fewer while waits are long: where the peer runs on the same processor, it cannot send while
/// a worker looks.
const LOOKS_MIN: u32 = 4;
const LOOKS_MAX: u32 = 64;

/// A wait that is shorter, in nanoseconds, would have been better spent looking.
const LONG_WAIT_NS: u64 = 20_000;

/// Less time between two looks is no wait: another port of the worker was not ready for one.
const SHORTEST_WAIT_NS: u64 = 2_000;

/// A port, or the share of one worker in it.
pub(crate) struct LinkPort<R, S> {
    name: String,
    link: Arc<Link<R, S>>,
    controller: Arc<dyn Controller>,
    /// Receives by queue `share`, `share + shares`, …
    share: usize,
    shares: usize,
    /// The queue that is asked first.
    first: usize,
    counters: PortCounters,
    is_busy_polling: bool,
    is_started: Cell<bool>,
    /// Peers ring when something comes.
    is_armed: Cell<bool>,
    idle_looks: Cell<u32>,
    looks_before_waiting: u32,
    /// The time of the last check for packets.
    looked_ns: u64,
}

/// The number of checks before the next wait.
fn looks_after(waited_ns: u64, looks: u32) -> u32 {
    match waited_ns {
        0..SHORTEST_WAIT_NS => looks,
        SHORTEST_WAIT_NS..LONG_WAIT_NS => LOOKS_MAX.min(looks * 2),
        _ => LOOKS_MIN.max(looks / 2),
    }
}

impl<R: ReceiveQueue, S: SendQueue> LinkPort<R, S> {
    /// The share number `share` of `shares` in a link.
    pub(crate) fn new(
        name: String,
        link: Arc<Link<R, S>>,
        controller: Arc<dyn Controller>,
        (share, shares): (usize, usize),
        is_busy_polling: bool,
    ) -> LinkPort<R, S> {
        LinkPort {
            name,
            link,
            controller,
            share,
            shares,
            first: share,
            counters: PortCounters::default(),
            is_busy_polling,
            is_started: Cell::new(false),
            is_armed: Cell::new(false),
            idle_looks: Cell::new(0),
            looks_before_waiting: LOOKS_MAX,
            looked_ns: 0,
        }
    }

    #[inline]
    fn start(&self) {
        if !self.is_started.replace(true) {
            self.controller.start();
        }
    }

    /// Takes what has come by one queue.
    #[inline]
    fn receive_by(&mut self, queue: usize, burst: &mut Burst, max: usize, now_ns: u64) -> usize {
        let Some(mut place) = try_lock(&self.link.receivers[queue]) else {
            return 0;
        };
        let Some(receiver) = place.as_mut() else { return 0 };
        let before = burst.len();
        if let Err(fault) = receiver.receive(burst, max, now_ns, &mut self.counters) {
            self.link.fail(fault);
        }
        burst.len() - before
    }

    /// Asks all peers' queues to ring or not; returns whether something is there already.
    fn arm(&self, is_on: bool) -> bool {
        let mut is_pending = false;
        for queue in (self.share..self.link.queues()).step_by(self.shares) {
            if let Some(receiver) = lock(&self.link.receivers[queue]).as_mut() {
                if is_on {
                    is_pending |= receiver.arm()
                } else {
                    receiver.disarm()
                }
            }
        }
        is_pending
    }

    /// The worker has waited, if no other port has kept it from that.
    #[cold]
    fn disarm(&mut self, now_ns: u64) {
        self.is_armed.set(false);
        self.arm(false);
        let waited_ns = now_ns.saturating_sub(self.looked_ns);
        self.looks_before_waiting = looks_after(waited_ns, self.looks_before_waiting);
    }

    fn drop_all(&mut self, burst: &mut Burst) -> usize {
        self.counters.count_drops(DropReason::LinkDown, burst.len() as u64);
        burst.clear();
        0
    }
}

impl<R: ReceiveQueue, S: SendQueue> Port for LinkPort<R, S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        self.start();
        if self.is_armed.get() {
            self.disarm(now_ns);
        }
        self.looked_ns = now_ns;
        if !self.link.is_up() {
            return Ok(0);
        }
        let max = max.min(burst.room());
        let (queues, mut count, mut queue) = (self.link.queues(), 0, self.first);
        // All of its queues once, from the first one on.
        loop {
            if count < max {
                count += self.receive_by(queue, burst, max - count, now_ns);
            }
            queue = if queue + self.shares < queues {
                queue + self.shares
            } else {
                self.share
            };
            if queue == self.first {
                break;
            }
        }
        self.first = if queue + self.shares < queues {
            queue + self.shares
        } else {
            self.share
        };
        let idle_looks = if count == 0 {
            self.idle_looks.get().saturating_add(1)
        } else {
            0
        };
        self.idle_looks.set(idle_looks);
        Ok(count)
    }

    fn send(&mut self, burst: &mut Burst, _now_ns: u64) -> Result<usize, PortError> {
        let open = self.link.open_senders.load(std::sync::atomic::Ordering::Relaxed);
        if open == 0 || !self.link.is_up() {
            return Ok(self.drop_all(burst));
        }
        let mut place = lock(&self.link.senders[self.share % open]);
        let Some(sender) = place.as_mut() else {
            drop(place);
            return Ok(self.drop_all(burst));
        };
        let before = self.counters.sent_packets;
        let sent = sender.send(burst.as_slice(), &mut self.counters);
        burst.clear();
        sent.or_else(|fault| {
            self.link.fail(fault);
            Ok((self.counters.sent_packets - before) as usize)
        })
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }

    fn state(&self) -> PortState {
        if self.link.is_up() {
            PortState::Up
        } else {
            PortState::Down
        }
    }

    fn why_down(&self) -> Option<String> {
        (!self.link.is_up()).then(|| lock(&self.link.why_down).clone())
    }

    fn readiness(&self) -> Readiness {
        self.start();
        let bell = Readiness::Descriptor(self.link.bells[self.share].as_fd().as_raw_fd());
        if self.is_busy_polling || self.is_armed.get() {
            return bell;
        }
        if self.idle_looks.get() < self.looks_before_waiting && self.link.is_up() {
            return Readiness::Now;
        }
        self.is_armed.set(true);
        // Arming ends with a check, which finds what has been announced so far.
        self.link.bells[self.share].hush();
        if self.arm(true) { Readiness::Now } else { bell }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_as_many_as_have_paid() {
        let after = |waits: &[u64]| {
            waits
                .iter()
                .fold(LOOKS_MAX, |looks, waited_ns| looks_after(*waited_ns, looks))
        };
        assert_eq!(after(&[50_000_000]), LOOKS_MAX / 2);
        assert_eq!(after(&[100_000; 20]), LOOKS_MIN);
        assert_eq!(after(&[100_000, 100_000, 500]), LOOKS_MAX / 4);
        assert_eq!(after(&[100_000, 100_000, 5_000, 5_000, 5_000]), LOOKS_MAX);
    }
}
