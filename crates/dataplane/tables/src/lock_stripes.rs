//! Locks of atomic sections: to all other packets, what one packet does to registers is one step (P4_16 §18.4.1).
//!
//! A program's atomic sections are known when it is loaded. Each has a *lock*, a small number, and an *index*.
//! Sections of one lock exclude each other when their indices are equal, and may do so when they are not. Sections do
//! not nest: a thread never waits for a lock while it holds another, so there is no deadlock.
//!
//! # Where locks are
//!
//! A [`Lock`] is one byte of a word whose other bytes have another use. A lock that covers one index is in the
//! elements of a register, if those have room for it ([`RegisterArray::lock`](crate::RegisterArray::lock)). Then
//! taking the lock also fetches the line of memory with the element, and workers whose packets access different
//! elements do not contend. All other locks share a fixed number of cache lines ([`SectionLocks::shared`]).
//!
//! # Alone
//!
//! As long as there is one party (a worker, or a control plane that reads and writes elements), it takes no locks. A
//! second party [arrives](SectionLocks::arrive) and waits until the current burst has ended; later bursts see that
//! there are two:
//!
//! ```text
//! worker   pin ─ parties is 1: no locks ─ burst ─ unpin        pin ─ parties is 2: locks ─ burst ...
//! second           parties = 2 ─ synchronize ................ ─ locks ...
//! ```
//!
//! The argument is that of [`crate::epoch`]: the second party waits for a worker that pinned before its fence; a
//! worker that pins after the fence sees the new number.
//!
//! # Waiting
//!
//! A section is a few register accesses long, so a thread that finds it occupied spins. Now and then it lets other
//! threads run, in case the owner was interrupted.

use crate::epoch::Domain;
use crate::sync::{AtomicU64 as Count, Ordering};
use std::sync::atomic::AtomicU64;

/// The number of shared locks. Sections of different indices rarely share one.
const STRIPES: usize = 256;

/// Spins before other threads are allowed to run.
const SPINS: u32 = 64;

/// A lock in cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
struct Stripe(AtomicU64);

/// The locks of a program's atomic sections; see the [module documentation](self).
#[derive(Debug)]
pub struct SectionLocks {
    stripes: Box<[Stripe]>,
    parties: Count,
}

/// A lock.
#[derive(Clone, Copy, Debug)]
pub struct Lock<'a>(&'a AtomicU64);

impl<'a> Lock<'a> {
    /// The byte of the word, counted from the least significant, that is 1 while the lock is held, and 0 otherwise.
    pub const BYTE: u32 = 7;

    const TAKEN: u64 = 1 << (8 * Lock::BYTE);

    /// The lock in a word. All writes to the other bytes must leave this byte unchanged.
    pub fn in_word(word: &'a AtomicU64) -> Lock<'a> {
        Lock(word)
    }

    /// The word that contains the lock.
    pub fn word(self) -> &'a AtomicU64 {
        self.0
    }

    /// Waits until the lock is free, and takes it.
    #[inline]
    pub fn acquire(self) {
        let mut spins = 0;
        while self.0.fetch_or(Lock::TAKEN, Ordering::Acquire) & Lock::TAKEN != 0 {
            spins += 1;
            if spins % SPINS == 0 {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }

    /// Releases the lock.
    #[inline]
    pub fn release(self) {
        // While the lock is held, other threads change no bit of the word.
        let others = self.0.load(Ordering::Relaxed) & !Lock::TAKEN;
        self.0.store(others, Ordering::Release);
    }
}

impl Default for SectionLocks {
    fn default() -> SectionLocks {
        SectionLocks {
            stripes: (0..STRIPES).map(|_| Stripe(AtomicU64::new(0))).collect(),
            parties: Count::new(0),
        }
    }
}

impl SectionLocks {
    /// Adds a party, which may use the locks when this returns. The caller must not hold a pin of the domain.
    pub fn arrive(&self, readers: &Domain) {
        if self.parties.fetch_add(1, Ordering::SeqCst) > 0 {
            readers.synchronize();
        }
    }

    /// Removes a party.
    pub fn leave(&self) {
        self.parties.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether a burst that begins now must take locks. A party must call this right after pinning.
    #[inline]
    pub fn are_needed(&self) -> bool {
        self.parties.load(Ordering::Acquire) > 1
    }

    /// The lock for a lock's number and an index, when it is not in a register's elements.
    #[inline]
    pub fn shared(&self, lock: u32, index: u64) -> Lock<'_> {
        let place = index.wrapping_add(u64::from(lock).wrapping_mul(0x9E37_79B9)) % STRIPES as u64;
        Lock(&self.stripes[place as usize].0)
    }

    /// A party for a short time, for example a control plane that reads or writes elements.
    pub fn guest(&self, readers: &Domain) -> Guest<'_> {
        self.arrive(readers);
        Guest(self)
    }
}

/// See [`SectionLocks::guest`]. The party leaves when this is dropped.
#[derive(Debug)]
pub struct Guest<'a>(&'a SectionLocks);

impl Guest<'_> {
    /// Runs `body` as a section, with a lock if it needs one.
    pub fn within<R>(&self, lock: Option<Lock<'_>>, body: impl FnOnce() -> R) -> R {
        lock.into_iter().for_each(Lock::acquire);
        let result = body();
        lock.into_iter().for_each(Lock::release);
        result
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::register::RegisterArray;
    use forebay_bits::Bits;

    /// Adds one to elements as a worker does: burst by burst, with locks when they are needed.
    fn count(locks: &SectionLocks, domain: &std::sync::Arc<Domain>, registers: [&RegisterArray; 2], times: u64) {
        locks.arrive(domain);
        let mut reader = domain.reader();
        for _ in 0..times {
            let pin = reader.pin();
            let needed = locks.are_needed();
            for (array, index) in registers
                .iter()
                .flat_map(|array| [0, 0, 1, 257].map(|index| (array, index)))
            {
                let lock = needed.then(|| lock_of(locks, array, index));
                lock.into_iter().for_each(Lock::acquire);
                add_one(array, index);
                lock.into_iter().for_each(Lock::release);
            }
            drop(pin);
        }
        locks.leave();
    }

    fn lock_of<'a>(locks: &'a SectionLocks, array: &'a RegisterArray, index: u64) -> Lock<'a> {
        if RegisterArray::have_locks(array.width()) {
            array.lock(index).expect("there is such an element")
        } else {
            locks.shared(7, index)
        }
    }

    fn add_one(array: &RegisterArray, index: u64) {
        let value = array.read(index).add(&Bits::new(array.width(), 1));
        array.write(index, &value);
    }

    #[test]
    fn nothing_is_lost_while_workers_come_and_go() {
        let (locks, domain) = (SectionLocks::default(), Domain::new());
        let wide = RegisterArray::new(100, 300).unwrap();
        let narrow = RegisterArray::new(48, 300).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        count(&locks, &domain, [&wide, &narrow], 50);
                    }
                });
            }
            for _ in 0..100 {
                for array in [&wide, &narrow] {
                    let lock = lock_of(&locks, array, 1);
                    locks.guest(&domain).within(Some(lock), || add_one(array, 1));
                }
            }
        });
        for array in [wide, narrow] {
            let read = |index| array.read(index).to_u64();
            assert_eq!((read(0), read(1), read(257)), (6000, 3100, 3000));
        }
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
