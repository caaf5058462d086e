//! Locks of atomic sections: what one packet does to registers is one step for all others (P4_16 §18.4.1).
//!
//! A program's atomic sections are known when it is loaded. Each has a *lock*, a small number, and an *index*: sections
//! of one lock exclude each other when their indices are the same, and may when they are not. Sections do not nest, so
//! nobody ever waits for a lock while he has another, and there is no deadlock.
//!
//! # Where locks are
//!
//! A [`Lock`] is a byte of a word whose other bytes are somebody else's. A lock that tells indices apart is in the elements of a
//! register, if those have room for it ([`RegisterArray::lock`](crate::RegisterArray::lock)): then a packet that has it has the line
//! of memory that it came for, and workers whose packets go to different elements do not meet at all. All other locks share a
//! number of lines ([`SectionLocks::shared`]).
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
//! This is the argument of [`crate::epoch`]: a worker that pinned before the second's fence is waited for, one that pins
//! after it sees the new number.
//!
//! # Waiting
//!
//! A section is a few register accesses long, so who finds it occupied spins, and lets other threads run now and then in
//! case the owner has been interrupted.

use crate::epoch::Domain;
use crate::sync::{AtomicU64 as Count, Ordering};
use std::sync::atomic::AtomicU64;

/// Locks that sections share. More than enough for sections of different indices to rarely meet.
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
    parties: Count,
}

/// A lock.
#[derive(Clone, Copy, Debug)]
pub struct Lock<'a>(&'a AtomicU64);

impl<'a> Lock<'a> {
    /// The byte of the word, counted from the least significant one, that is 1 as long as somebody has the lock, and 0
    /// otherwise.
    pub const BYTE: u32 = 7;

    const TAKEN: u64 = 1 << (8 * Lock::BYTE);

    /// The lock in a word. Who writes the other bytes leaves this one as it is.
    pub fn in_word(word: &'a AtomicU64) -> Lock<'a> {
        Lock(word)
    }

    /// The word that it is in.
    pub fn word(self) -> &'a AtomicU64 {
        self.0
    }

    /// Waits until nobody else has it.
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

    /// Lets others in.
    #[inline]
    pub fn release(self) {
        // Nobody else writes the word in the meantime: others write what is there already.
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

    /// The lock of a number and an index that is in no register's elements.
    #[inline]
    pub fn shared(&self, lock: u32, index: u64) -> Lock<'_> {
        let place = index.wrapping_add(u64::from(lock).wrapping_mul(0x9E37_79B9)) % STRIPES as u64;
        Lock(&self.stripes[place as usize].0)
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
    /// Runs `body` as a section of its own, with a lock if it needs one.
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
