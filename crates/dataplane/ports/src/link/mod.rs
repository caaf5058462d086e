//! Ports whose other end is a process on this machine, by memory that both share: memif and vhost-user.
//!
//! ```text
//!   worker ── LinkPort ── receive, send ──► Link: a queue behind each lock ◄── Controller: a thread of its own
//!                                             │ shared memory                    │ messages over a socket
//!                                             ▼                                  ▼
//!                                           peer ◄──────────────────────────────┘
//! ```
//!
//! What both have in common is here: the port itself, waiting, and the hand-over between the thread that moves packets
//! and the one that speaks with the peer. A queue is taken by a lock once a burst. Only the controller competes for it,
//! while a connection begins or ends, and receiving then passes the queue over.
//!
//! The controller's thread starts with the first call of the port, not when it is opened, so that it has no more rights
//! than the workers ([`crate::confine()`]).
//!
//! # A peer that misbehaves
//! Everything in shared memory is checked where it is used. What cannot be right is a [`Fault`]: the queue is closed,
//! the controller ends the connection and says why, and waits for the next.

#[cfg(any(test, feature = "fuzzing"))]
mod input;
mod port;
mod thread;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::{fmt, io};

use forebay_packet::{Burst, Packet, PortCounters};

use crate::system::event::{Bell, Event};

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use input::Input;
pub(crate) use port::LinkPort;
pub(crate) use thread::{Controller, Lazy, Patience, Stop, not_connected, wait};

/// What a peer has done that cannot be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault(pub(crate) &'static str);

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

impl std::error::Error for Fault {}

/// A queue by which packets come.
pub(crate) trait ReceiveQueue: Send {
    /// Appends up to `max` packets to the burst, which has room for them, and returns how many.
    fn receive(
        &mut self,
        burst: &mut Burst,
        max: usize,
        now_ns: u64,
        counters: &mut PortCounters,
    ) -> Result<usize, Fault>;

    /// What the peer rings.
    fn event(&self) -> Option<&Event>;

    /// Asks the peer to ring when something comes. Returns whether something is there already.
    fn arm(&mut self) -> bool;

    /// Asks the peer not to ring.
    fn disarm(&mut self);
}

/// A queue by which packets leave.
pub(crate) trait SendQueue: Send {
    /// Sends packets and returns how many were accepted; what is not is counted. Before a fault, the packets that are
    /// counted as sent are.
    fn send(&mut self, packets: &[Packet], counters: &mut PortCounters) -> Result<usize, Fault>;
}

/// What a port and its controller share.
pub(crate) struct Link<R, S> {
    receivers: Vec<Mutex<Option<R>>>,
    senders: Vec<Mutex<Option<S>>>,
    /// Queues for sending that are open: the first ones.
    open_senders: AtomicUsize,
    is_up: AtomicBool,
    /// What the workers of each share wait for.
    bells: Vec<Bell>,
    /// Wakes workers after a change.
    changed: Event,
    fault: Mutex<Option<Fault>>,
    why_down: Mutex<String>,
    /// Wakes the controller.
    pub(crate) attention: Arc<Event>,
}

impl<R: ReceiveQueue, S: SendQueue> Link<R, S> {
    /// A link of up to `queues` queues for each direction, for as many workers as there are `shares`; `attention` wakes
    /// the controller.
    pub(crate) fn new(queues: usize, shares: usize, attention: Arc<Event>) -> io::Result<Link<R, S>> {
        let bells = (0..shares).map(|_| Bell::new()).collect::<io::Result<Vec<_>>>()?;
        let changed = Event::new()?;
        bells.iter().try_for_each(|bell| bell.add(&changed))?;
        Ok(Link {
            receivers: (0..queues).map(|_| Mutex::new(None)).collect(),
            senders: (0..queues).map(|_| Mutex::new(None)).collect(),
            open_senders: AtomicUsize::new(0),
            is_up: AtomicBool::new(false),
            bells,
            changed,
            fault: Mutex::new(None),
            why_down: Mutex::new("no peer has connected yet".to_owned()),
            attention,
        })
    }

    /// Queues for each direction, open or not.
    pub(crate) fn queues(&self) -> usize {
        self.receivers.len()
    }

    pub(crate) fn is_up(&self) -> bool {
        self.is_up.load(Ordering::Relaxed)
    }

    /// Says whether packets can pass, and wakes workers.
    pub(crate) fn set_up(&self, is_up: bool) {
        self.is_up.store(is_up, Ordering::Relaxed);
        self.changed.ring();
    }

    /// What keeps packets from passing, until something else does.
    pub(crate) fn set_why_down(&self, why: String) {
        *lock(&self.why_down) = why;
    }

    /// Puts a queue by which packets come in its place, or none; returns the one that was there. Workers are woken for
    /// a new one: its peer does not ring before a worker has asked for that.
    pub(crate) fn set_receiver(&self, queue: usize, new: Option<R>) -> Option<R> {
        let bell = &self.bells[queue % self.bells.len()];
        let mut place = lock(&self.receivers[queue]);
        if let Some(event) = place.as_ref().and_then(ReceiveQueue::event) {
            bell.remove(event);
        }
        if let Some(event) = new.as_ref().and_then(ReceiveQueue::event) {
            // Not watched, it would be found by the longest wait only.
            let _ = bell.add(event);
        }
        let is_there = new.is_some();
        let before = std::mem::replace(&mut *place, new);
        drop(place);
        if is_there {
            self.changed.ring();
        }
        before
    }

    /// Puts a queue by which packets leave in its place, or none; returns the one that was there.
    pub(crate) fn set_sender(&self, queue: usize, new: Option<S>) -> Option<S> {
        std::mem::replace(&mut *lock(&self.senders[queue]), new)
    }

    /// Changes a queue by which packets come, if it is there, between two bursts.
    pub(crate) fn change_receiver(&self, queue: usize, change: impl FnOnce(&mut R)) {
        if let Some(receiver) = lock(&self.receivers[queue]).as_mut() {
            change(receiver);
        }
    }

    /// Changes a queue by which packets leave, if it is there, between two bursts.
    pub(crate) fn change_sender(&self, queue: usize, change: impl FnOnce(&mut S)) {
        if let Some(sender) = lock(&self.senders[queue]).as_mut() {
            change(sender);
        }
    }

    /// The first queues are open for sending, as many as `count`.
    pub(crate) fn set_open_senders(&self, count: usize) {
        self.open_senders.store(count, Ordering::Relaxed);
    }

    /// Closes all queues.
    pub(crate) fn close(&self) {
        self.set_up(false);
        self.set_open_senders(0);
        for queue in 0..self.queues() {
            self.set_receiver(queue, None);
            self.set_sender(queue, None);
        }
        *lock(&self.fault) = None;
    }

    /// A worker has found a fault.
    #[cold]
    fn fail(&self, fault: Fault) {
        *lock(&self.fault) = Some(fault);
        self.is_up.store(false, Ordering::Relaxed);
        self.attention.ring();
    }

    /// What workers have found since the last look.
    pub(crate) fn take_fault(&self) -> Option<Fault> {
        lock(&self.fault).take()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a lock guards, unless another thread has it.
#[inline]
fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, AsRawFd};

    use super::*;
    use crate::system::{PollDescriptor, poll};

    /// A queue that carries nothing.
    struct Idle;

    impl ReceiveQueue for Idle {
        fn receive(
            &mut self,
            _burst: &mut Burst,
            _max: usize,
            _now_ns: u64,
            _counters: &mut PortCounters,
        ) -> Result<usize, Fault> {
            Ok(0)
        }

        fn event(&self) -> Option<&Event> {
            None
        }

        fn arm(&mut self) -> bool {
            false
        }

        fn disarm(&mut self) {}
    }

    impl SendQueue for Idle {
        fn send(&mut self, _packets: &[Packet], _counters: &mut PortCounters) -> Result<usize, Fault> {
            Ok(0)
        }
    }

    #[test]
    fn a_worker_that_waits_is_woken_for_a_new_queue() {
        let attention = Arc::new(Event::new().expect("an event"));
        let link = Link::<Idle, Idle>::new(1, 1, attention).expect("a link");
        let bell = link.bells[0].as_fd().as_raw_fd();
        let is_woken = || poll(&mut [PollDescriptor::readable(bell)], 0).expect("can poll");
        assert!(!is_woken());
        link.set_receiver(0, Some(Idle));
        assert!(is_woken());
        link.bells[0].hush();
        link.set_receiver(0, None);
        assert!(!is_woken());
    }
}
