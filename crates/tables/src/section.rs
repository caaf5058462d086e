//! Locks of atomic sections: what one packet does to registers is one step for all others (P4_16 §18.4.1).
//!
//! A program's atomic sections are known when it is loaded. Each has a *lock*, a small number, and an *index*: sections
//! of one lock exclude each other when their indices are the same, and may when they are not. Sections do not nest, so
//! nobody ever waits for a lock while he has another, and there is no deadlock.
//!
//! # Alone
//!
//! As long as there is one party (a worker, or a control plane that reads and writes elements), nobody needs a lock, and
//! the only one takes none. Who comes second [arrives](SectionLocks::arrive) and waits until the burst that runs has
//! ended; bursts that begin later see that they are not alone:
//!
//! ```text
//! worker   pin ─ parties is 1: no locks ─ burst ─ unpin        pin ─ parties is 2: locks ─ burst ...
//! second           parties = 2 ─ synchronize ................ ─ locks ...
//! ```
//!
//! This is the argument of [`crate::reclaim`]: a worker that pinned before the second's fence is waited for, one that pins
//! after it sees the new number.
//!
//! # Waiting
//!
//! A section is a few register accesses long, so who finds it occupied spins, and lets other threads run now and then in
//! case the owner has been interrupted.

use crate::reclaim::Domain;
use crate::sync::{AtomicU64, Ordering};

/// Locks that all sections share. More than enough for sections of different indices to rarely meet.
const STRIPES: usize = 256;

/// Spins before another thread is let run.
const SPINS: u32 = 64;

/// A lock in cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
struct Stripe(AtomicU64);

/// The locks of a program's atomic sections; see the [module documentation](self).
#[derive(Debug)]
pub struct SectionLocks {
    stripes: Box<[Stripe]>,
    parties: AtomicU64,
}

/// A lock that somebody has, or would have if he were not alone.
pub type Lock = u32;

impl Default for SectionLocks {
    fn default() -> SectionLocks {
        SectionLocks {
            stripes: (0..STRIPES).map(|_| Stripe(AtomicU64::new(0))).collect(),
            parties: AtomicU64::new(0),
        }
    }
}

impl SectionLocks {
    /// One more party, which may use the locks when this returns. The caller must not hold a pin of the domain.
    pub fn arrive(&self, readers: &Domain) {
        if self.parties.fetch_add(1, Ordering::SeqCst) > 0 {
            readers.synchronize();
        }
    }

    /// One party less.
    pub fn leave(&self) {
        self.parties.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether locks must be taken in the burst that begins. Asked by a party that has just pinned.
    #[inline]
    pub fn are_needed(&self) -> bool {
        self.parties.load(Ordering::Acquire) > 1
    }

    /// Waits until nobody else is in a section of this lock and index.
    #[inline]
    pub fn acquire(&self, lock: u32, index: u64) -> Lock {
        let stripe = stripe_of(lock, index);
        let place = &self.stripes[stripe as usize].0;
        let mut spins = 0;
        while place.swap(1, Ordering::Acquire) != 0 {
            spins += 1;
            if spins % SPINS == 0 {
                yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
        stripe
    }

    /// Lets others in.
    #[inline]
    pub fn release(&self, lock: Lock) {
        self.stripes[lock as usize].0.store(0, Ordering::Release);
    }

    /// A party for a short time: a control plane that reads or writes elements.
    pub fn guest(&self, readers: &Domain) -> Guest<'_> {
        self.arrive(readers);
        Guest(self)
    }
}

/// See [`SectionLocks::guest`]. Leaves when it is dropped.
#[derive(Debug)]
pub struct Guest<'a>(&'a SectionLocks);

impl Guest<'_> {
    /// Runs `body` as a section of its own.
    pub fn within<R>(&self, lock: u32, index: u64, body: impl FnOnce() -> R) -> R {
        let held = self.0.acquire(lock, index);
        let result = body();
        self.0.release(held);
        result
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

fn stripe_of(lock: u32, index: u64) -> u32 {
    let spread = index.wrapping_add(u64::from(lock).wrapping_mul(0x9E37_79B9)) % STRIPES as u64;
    spread as u32
}

#[cfg(not(loom))]
fn yield_now() {
    std::thread::yield_now();
}

#[cfg(loom)]
fn yield_now() {
    loom::thread::yield_now();
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::register::RegisterArray;
    use forebay_bits::Bits;

    /// Adds one to a wide element as a worker does: burst by burst, with locks when they are needed.
    fn count(locks: &SectionLocks, domain: &std::sync::Arc<Domain>, registers: &RegisterArray, times: u64) {
        locks.arrive(domain);
        let mut reader = domain.reader();
        for _ in 0..times {
            let pin = reader.pin();
            let needed = locks.are_needed();
            for index in [0, 0, 1, 257] {
                let held = needed.then(|| locks.acquire(7, index));
                let value = registers.read(index).add(&Bits::new(100, 1));
                registers.write(index, &value);
                held.into_iter().for_each(|held| locks.release(held));
            }
            drop(pin);
        }
        locks.leave();
    }

    #[test]
    fn nothing_is_lost_while_workers_come_and_go() {
        let (locks, domain) = (SectionLocks::default(), Domain::new());
        let registers = RegisterArray::new(100, 300).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        count(&locks, &domain, &registers, 50);
                    }
                });
            }
            for _ in 0..100 {
                locks.guest(&domain).within(7, 1, || {
                    let value = registers.read(1).add(&Bits::new(100, 1));
                    registers.write(1, &value);
                });
            }
        });
        let read = |index| registers.read(index).to_u64();
        assert_eq!((read(0), read(1), read(257)), (6000, 3100, 3000));
    }

    #[test]
    fn one_party_needs_no_locks() {
        let (locks, domain) = (SectionLocks::default(), Domain::new());
        locks.arrive(&domain);
        assert!(!locks.are_needed());
        locks.arrive(&domain);
        assert!(locks.are_needed());
        locks.leave();
        assert!(!locks.are_needed());
    }
}
