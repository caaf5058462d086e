//! A bounded ring from one thread to another, without locks.
//!
//! ```text
//!            head                       tail
//!             ▼                          ▼
//!  ┌────┬────┬────┬────┬────┬────┬────┬────┬────┬────┐
//!  │    │    │ .. │ .. │ .. │ .. │ .. │    │    │    │     the consumer owns head .. tail, the producer all else
//!  └────┴────┴────┴────┴────┴────┴────┴────┴────┴────┘
//! ```
//!
//! Each place always holds a value. The side that owns a place swaps its value with one of its own: the producer puts
//! in a packet and gets an empty buffer, and the consumer puts in an empty buffer and gets a packet. So buffers
//! circulate, and nothing is allocated.
//!
//! Each side announces its progress once per burst ([`Producer::publish`], [`Consumer::release`]), with one store.
//! Neither ever waits. `loom` checks this: `RUSTFLAGS="--cfg loom" cargo test -p forebay-switch --lib ring --release`.
//!
//! # Why this is sound
//! Only the producer writes `tail`, and only the consumer writes `head`. Each writes with release order after the last
//! access to the places that it gives away, and the other reads with acquire order before the first access to the
//! places that it gains. Positions only grow, and `tail - head` is at most the capacity. So a place is never accessed
//! by both sides.

#![allow(unsafe_code)]

#[cfg(loom)]
use loom::{
    cell::UnsafeCell,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
#[cfg(not(loom))]
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// A cell with loom's interface.
#[cfg(not(loom))]
struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    #[inline]
    fn with_mut<R>(&self, body: impl FnOnce(*mut T) -> R) -> R {
        body(self.0.get())
    }
}

/// A position, alone in its cache lines.
#[repr(align(128))]
struct Position(AtomicUsize);

struct Shared<T> {
    places: Box<[UnsafeCell<T>]>,
    head: Position,
    tail: Position,
}

// SAFETY: see the module: only one side accesses a place at a time, and values may move between threads.
unsafe impl<T: Send> Sync for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Shared<T> {}

impl<T> Shared<T> {
    /// # Safety
    /// The caller must be the side that owns the place.
    #[inline]
    unsafe fn swap(&self, position: usize, value: &mut T) {
        let place = &self.places[position & (self.places.len() - 1)];
        // SAFETY: the other side does not access the place while this side owns it.
        place.with_mut(|place| unsafe { std::ptr::swap(place, value) });
    }
}

/// A ring of at least `capacity` places (the next power of two), each with a value of `spare`.
pub(crate) fn ring<T>(capacity: usize, spare: impl FnMut() -> T) -> (Producer<T>, Consumer<T>) {
    let mut spare = spare;
    let capacity = capacity.max(1).next_power_of_two();
    let shared = Arc::new(Shared {
        places: (0..capacity).map(|_| UnsafeCell::new(spare())).collect(),
        head: Position(AtomicUsize::new(0)),
        tail: Position(AtomicUsize::new(0)),
    });
    let producer = Producer {
        shared: Arc::clone(&shared),
        tail: 0,
        head: 0,
    };
    let consumer = Consumer {
        shared,
        head: 0,
        tail: 0,
    };
    (producer, consumer)
}

/// The side that puts values in.
pub(crate) struct Producer<T> {
    shared: Arc<Shared<T>>,
    /// The position of the next value; not published yet.
    tail: usize,
    /// The consumer's head at the last check.
    head: usize,
}

impl<T> Producer<T> {
    /// The number of values that can be put in now.
    #[inline]
    pub(crate) fn room(&self) -> usize {
        self.places_after(self.shared.head.0.load(Ordering::Acquire))
    }

    #[inline]
    fn places_after(&self, head: usize) -> usize {
        self.shared.places.len() - self.tail.wrapping_sub(head)
    }

    /// Exchanges a value with that of the next place. Returns false, and changes nothing, when there is none.
    #[inline]
    pub(crate) fn exchange(&mut self, value: &mut T) -> bool {
        if self.places_after(self.head) == 0 {
            self.head = self.shared.head.0.load(Ordering::Acquire);
            if self.places_after(self.head) == 0 {
                return false;
            }
        }
        // SAFETY: the producer owns the places that are free, from tail on.
        unsafe { self.shared.swap(self.tail, value) };
        self.tail = self.tail.wrapping_add(1);
        true
    }

    /// Publishes to the consumer what was put in.
    #[inline]
    pub(crate) fn publish(&mut self) {
        self.shared.tail.0.store(self.tail, Ordering::Release);
    }

    /// A view of both sides' progress, for others.
    pub(crate) fn progress(&self) -> Progress<T> {
        Progress(Arc::clone(&self.shared))
    }
}

/// The side that takes values out.
pub(crate) struct Consumer<T> {
    shared: Arc<Shared<T>>,
    /// The position of the next value to take; not released yet.
    head: usize,
    /// The producer's tail at the last check.
    tail: usize,
}

impl<T> Consumer<T> {
    /// The number of values that can be taken now.
    #[inline]
    pub(crate) fn waiting(&mut self) -> usize {
        self.tail = self.shared.tail.0.load(Ordering::Acquire);
        self.tail.wrapping_sub(self.head)
    }

    /// Whether nothing can be taken now.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.shared.tail.0.load(Ordering::Acquire) == self.head
    }

    /// Exchanges a spare with the next value. Returns false, and changes nothing, when [`Consumer::waiting`] has found
    /// none.
    #[inline]
    pub(crate) fn exchange(&mut self, spare: &mut T) -> bool {
        if self.head == self.tail {
            return false;
        }
        // SAFETY: the consumer owns the places from head up to tail.
        unsafe { self.shared.swap(self.head, spare) };
        self.head = self.head.wrapping_add(1);
        true
    }

    /// Releases the places of what was taken to the producer.
    #[inline]
    pub(crate) fn release(&mut self) {
        self.shared.head.0.store(self.head, Ordering::Release);
    }
}

/// The progress of both sides of a ring, for a third party.
pub(crate) struct Progress<T>(Arc<Shared<T>>);

impl<T> Progress<T> {
    /// The number of values ever published.
    pub(crate) fn published(&self) -> usize {
        self.0.tail.0.load(Ordering::SeqCst)
    }

    /// The number of values that were published and are not yet taken and released.
    pub(crate) fn waiting(&self) -> usize {
        // In this order the result is never below 0: the head does not pass the tail.
        let head = self.0.head.0.load(Ordering::SeqCst);
        self.published().wrapping_sub(head)
    }

    /// Whether all that was published has been taken and released.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting() == 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn values_come_out_in_order_and_spares_go_back() {
        let (mut producer, mut consumer) = ring(3, || 0);
        assert_eq!(producer.room(), 4);
        for mut value in 1..=4 {
            assert!(producer.exchange(&mut value));
            assert_eq!(value, 0);
        }
        assert!(!producer.exchange(&mut 5));
        assert_eq!(consumer.waiting(), 0);
        producer.publish();
        assert_eq!(consumer.waiting(), 4);
        for expected in 1..=4 {
            let mut value = -expected;
            assert!(consumer.exchange(&mut value));
            assert_eq!(value, expected);
        }
        assert!(!consumer.exchange(&mut 0));
        assert_eq!(producer.room(), 0);
        consumer.release();
        let mut value = 5;
        assert!(producer.exchange(&mut value));
        assert_eq!(value, -1);
    }

    #[test]
    fn a_third_sees_what_is_under_way() {
        let (mut producer, mut consumer) = ring(2, || 0);
        let progress = producer.progress();
        assert!(producer.exchange(&mut 1) && progress.is_empty());
        producer.publish();
        assert!(!progress.is_empty() && progress.waiting() == 1);
        assert!(consumer.waiting() == 1 && consumer.exchange(&mut 0));
        consumer.release();
        assert!(progress.is_empty() && progress.published() == 1);
    }

    #[test]
    fn threads_lose_and_repeat_nothing() {
        const VALUES: u64 = 100_000;
        let (mut producer, mut consumer) = ring(4096, || 0);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut next = 1;
                while next <= VALUES {
                    let mut value = next;
                    if producer.exchange(&mut value) {
                        next += 1
                    } else {
                        std::thread::yield_now()
                    }
                    if next % 64 == 0 || next > VALUES || producer.room() == 0 {
                        producer.publish();
                    }
                }
            });
            let mut expected = 1;
            while expected <= VALUES {
                if consumer.waiting() == 0 {
                    std::thread::yield_now();
                }
                let mut value = 0;
                while consumer.exchange(&mut value) {
                    assert_eq!(value, expected);
                    expected += 1;
                }
                consumer.release();
            }
        });
    }
}

/// Every interleaving of a producer that runs out of places and a consumer that waits for values.
#[cfg(all(test, loom))]
mod model {
    use super::*;

    #[test]
    fn no_place_is_accessed_by_both() {
        loom::model(|| {
            let (mut producer, mut consumer) = ring(2, || Box::new(0));
            let sender = loom::thread::spawn(move || {
                let mut next = 1;
                while next <= 3 {
                    let mut value = Box::new(next);
                    if producer.exchange(&mut value) {
                        producer.publish();
                        next += 1;
                    } else {
                        loom::thread::yield_now();
                    }
                }
            });
            let mut expected = 1;
            while expected <= 3 {
                if consumer.waiting() == 0 {
                    loom::thread::yield_now();
                    continue;
                }
                let mut value = Box::new(0);
                assert!(consumer.exchange(&mut value));
                assert_eq!(*value, expected);
                consumer.release();
                expected += 1;
            }
            sender.join().unwrap();
        });
    }
}
