//! When memory that readers may still look at can be used again.
//!
//! Readers and one writer share tables without locks. The writer publishes an entry by storing one word, and takes it
//! away by storing another; the memory of what it took away (an entry's place, an array that was replaced) it must
//! leave alone until no reader can hold a reference to it. That is what this module decides: read, copy, update with
//! quiescent states.
//!
//! ```text
//! reader   pin: announce the present epoch ─ fence ─ look up … look up ─ unpin: announce nothing
//! writer   unpublish ─ fence ─ epoch = n, n + 1 from now on … may free when every announced epoch is above n
//! ```
//!
//! * A [`Reader`] belongs to a thread. It pins once for a burst of packets, which costs one store and one fence, and
//!   never waits for anybody.
//! * A reader that saw the old word pinned before the writer's fence, so it announced an epoch of at most `n`, and the
//!   writer's check, which comes after the fence, sees the announcement. The other way round, a reader that pins after
//!   the fence sees the new word. (Fences are sequentially consistent: one of the two comes first.)
//! * The writer never waits either, except where it must not go on ([`Domain::synchronize`]): what it cannot free yet
//!   waits in a limbo list.
//!
//! A reader that pins again and again without a pause may [keep](Pin::keep) its announcement between, and needs no fence as long as
//! the epoch is the same ([`Reader::pin_again`]): what it found stays valid as long as the [`Session`] is the same.
//!
//! What was found under one pin may be remembered and used under a later one if both read the same [`State`] of the tables right
//! after they began, since then nothing has changed in between:
//!
//! ```text
//! writer   changing + 1 ─ unpublish ─ fence, epoch ─ state = a new number ─ changing - 1
//! reader   pin (fence) ─ read changing: not 0? no state ─ read state
//! ```
//!
//! Who reads 0 and afterwards a state has either read that 0 before the writer's first step, so the pin is older than the
//! writer's fence and keeps what is taken away; or behind its last step, and then the state is the new one. A pin that goes on
//! from one that was kept is at least as old.
//!
//! A domain's tables are in [`GROUPS`] groups, each with a [`Version`], so that what was found in one table may be used after others
//! have changed. It is one word, of which the low bits count the writers in the midst of a change: what is said above of `changing` and
//! `state` holds of their zero and of the other bits.
//!
//! All tables of a pipeline share one [`Domain`], so that a worker pins once for all of them. `loom` checks the
//! protocol together with the exact-match engine, see the tests there.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::{Arc, PoisonError};

use crate::search::{MEMO_PLACE_BITS, NEVER};
use crate::sync::{AtomicPtr, AtomicU64, Mutex, Ordering, fence};

/// Readers and writers that know of each other.
#[derive(Debug)]
pub struct Domain {
    epoch: AtomicU64,
    /// See [`crate::search`].
    versions: AtomicU64,
    /// Writers in the midst of a change.
    changing: AtomicU64,
    /// See [`State`].
    state: AtomicU64,
    /// See [`Version`].
    groups: [AtomicU64; GROUPS],
    /// Tables so far, which are put into groups in turn.
    tables: AtomicU64,
    readers: Mutex<Vec<Arc<Announcement>>>,
}

/// The epoch in which a reader pinned, or [`IDLE`]. Two lines apart, so that readers do not share any.
#[derive(Debug)]
#[repr(align(128))]
struct Announcement(AtomicU64);

const IDLE: u64 = 0;

/// What the tables of a domain are: as long as the state is the same, all look-ups find the same, in the same places; only what was
/// missed in a table that [learns](crate::TableSpec::learns) may be there now. No two domains have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State(u64);

/// Groups of a domain's tables whose changes are told apart.
pub const GROUPS: usize = 64;

/// Groups of a domain's tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Groups(u64);

impl Groups {
    /// Those of one group.
    ///
    /// # Panics
    ///
    /// Unless it is below [`GROUPS`].
    pub fn of(group: usize) -> Groups {
        assert!(group < GROUPS, "there are {GROUPS} groups");
        Groups(1 << group)
    }

    /// Both.
    #[must_use]
    pub fn or(self, other: Groups) -> Groups {
        Groups(self.0 | other.0)
    }

    /// Their numbers.
    fn numbers(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let group = rest.trailing_zeros() as usize;
            rest &= rest.wrapping_sub(1);
            (group < GROUPS).then_some(group)
        })
    }
}

/// What the tables of a group are: as long as it is the same, look-ups in them find the same, in the same places, as for a [`State`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version(u64);

/// The bits of a group's word that count writers in the midst of a change.
const WRITERS_BITS: u32 = 16;

/// States so far, of all domains.
static STATES: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

fn next_state() -> u64 {
    STATES.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

/// A change of tables, until it is dropped.
#[derive(Debug)]
pub(crate) struct Change(Arc<Domain>, Groups);

impl Drop for Change {
    fn drop(&mut self) {
        for group in self.1.numbers() {
            // One writer less, and another version.
            self.0.groups[group].fetch_add((1 << WRITERS_BITS) - 1, Ordering::Release);
        }
        // Who reads this has seen the changes of all whose states it replaced, too.
        self.0.state.swap(next_state(), Ordering::AcqRel);
        self.0.changing.fetch_sub(1, Ordering::Release);
    }
}

/// Readers so far, of all domains.
static READERS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// Which [`Pin`]s of which reader: what was found with one of them stays valid while another one of the same session lives, for
/// the reader stayed pinned between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    reader: u64,
    pins: u64,
}

impl Domain {
    /// A domain without readers.
    pub fn new() -> Arc<Domain> {
        Arc::new(Domain {
            epoch: AtomicU64::new(IDLE + 1),
            versions: AtomicU64::new(1),
            changing: AtomicU64::new(0),
            state: AtomicU64::new(next_state()),
            groups: std::array::from_fn(|_| AtomicU64::new(0)),
            tables: AtomicU64::new(0),
            readers: Mutex::new(Vec::new()),
        })
    }

    /// A reader for the calling thread.
    pub fn reader(self: &Arc<Domain>) -> Reader {
        let announcement = Arc::new(Announcement(AtomicU64::new(IDLE)));
        self.with_readers(|readers| readers.push(Arc::clone(&announcement)));
        Reader {
            domain: Arc::clone(self),
            announcement,
            session: Session {
                reader: READERS.fetch_add(1, std::sync::atomic::Ordering::Relaxed),
                pins: 0,
            },
        }
    }

    /// Waits until every reader that is pinned now has unpinned at least once.
    ///
    /// For control planes: what they published before, all readers see afterwards. A thread that calls this while it
    /// holds a [`Pin`] itself waits for ever.
    pub fn synchronize(&self) {
        let epoch = self.retire();
        while self.oldest() <= epoch {
            std::thread::yield_now();
        }
    }

    /// The group of the next table.
    pub(crate) fn next_group(&self) -> usize {
        self.tables.fetch_add(1, Ordering::Relaxed) as usize % GROUPS
    }

    /// A change of what readers find in tables of these groups begins: nothing is published or taken away but between this and the end of
    /// the result, unless it is an entry of a table that [learns](crate::TableSpec::learns).
    pub(crate) fn begin_change(self: &Arc<Domain>, groups: Groups) -> Change {
        self.changing.fetch_add(1, Ordering::Relaxed);
        for group in groups.numbers() {
            self.groups[group].fetch_add(1, Ordering::Relaxed);
        }
        Change(Arc::clone(self), groups)
    }

    /// The version of a group, unless one of its tables is being changed.
    fn version(&self, group: usize) -> Option<Version> {
        let word = self.groups[group].load(Ordering::Acquire);
        let rests = word & ((1 << WRITERS_BITS) - 1) == 0;
        rests.then_some(Version(word))
    }

    /// The state of the tables, unless one is being changed. What a reader looks up that has pinned before belongs to this state or a
    /// later one.
    #[inline]
    fn state(&self) -> Option<State> {
        let rests = self.changing.load(Ordering::Acquire) == 0;
        rests.then(|| State(self.state.load(Ordering::Acquire)))
    }

    /// A version of a table that none has had: see [`crate::search`].
    pub(crate) fn next_version(&self) -> u64 {
        let version = self.versions.fetch_add(1, Ordering::Relaxed);
        if version >> MEMO_PLACE_BITS == 0 {
            version
        } else {
            NEVER
        }
    }

    /// The epoch that ends now: what was unpublished before it ends can be freed when [`Domain::oldest`] is above it.
    fn retire(&self) -> u64 {
        fence(Ordering::SeqCst);
        self.epoch.fetch_add(1, Ordering::SeqCst)
    }

    /// The oldest epoch that a pinned reader announced.
    fn oldest(&self) -> u64 {
        self.with_readers(|readers| {
            let epochs = readers.iter().map(|reader| reader.0.load(Ordering::Acquire));
            epochs.filter(|&epoch| epoch != IDLE).min().unwrap_or(u64::MAX)
        })
    }

    fn with_readers<R>(&self, body: impl FnOnce(&mut Vec<Arc<Announcement>>) -> R) -> R {
        body(&mut self.readers.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A thread that reads the tables of a [`Domain`].
#[derive(Debug)]
pub struct Reader {
    domain: Arc<Domain>,
    announcement: Arc<Announcement>,
    session: Session,
}

impl Reader {
    /// Begins to read. What is found while the pin lives stays valid until it is dropped.
    #[inline]
    pub fn pin(&mut self) -> Pin<'_> {
        let epoch = self.domain.epoch.load(Ordering::Relaxed);
        self.announcement.0.store(epoch, Ordering::Release);
        fence(Ordering::SeqCst);
        self.session.pins += 1;
        self.pinned()
    }

    #[inline]
    fn pinned(&self) -> Pin<'_> {
        Pin {
            domain: Arc::as_ptr(&self.domain),
            reader: Some(self),
            state: self.domain.state(),
            not_sync: PhantomData,
        }
    }

    /// As [`Reader::pin`], but without a fence when the pin before was [kept](Pin::keep) and nothing was taken away since.
    #[inline]
    pub fn pin_again(&mut self) -> Pin<'_> {
        let announced = self.announcement.0.load(Ordering::Relaxed);
        if announced == IDLE || announced != self.domain.epoch.load(Ordering::Relaxed) {
            return self.pin();
        }
        self.pinned()
    }

    /// Ends the pin that was kept, if there is one.
    #[inline]
    pub fn unpin(&mut self) {
        self.announcement.0.store(IDLE, Ordering::Release);
    }

    /// The domain.
    pub fn domain(&self) -> &Arc<Domain> {
        &self.domain
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let own = Arc::as_ptr(&self.announcement);
        self.domain
            .with_readers(|readers| readers.retain(|reader| Arc::as_ptr(reader) != own));
    }
}

/// Proof that nothing a reader finds is freed: see [`Reader::pin`].
#[derive(Debug)]
pub struct Pin<'reader> {
    domain: *const Domain,
    /// `None` when the writer itself reads and so cannot write.
    reader: Option<&'reader Reader>,
    /// The state of the tables right after it began.
    state: Option<State>,
    not_sync: PhantomData<*const ()>,
}

impl Pin<'_> {
    /// A pin for the one writer.
    ///
    /// # Safety
    ///
    /// While the pin lives, nobody writes to the tables of the domain that are read with it.
    pub(crate) unsafe fn of_writer(domain: &Arc<Domain>) -> Pin<'static> {
        Pin {
            domain: Arc::as_ptr(domain),
            reader: None,
            state: None,
            not_sync: PhantomData,
        }
    }

    /// Of which session it is; nothing for the writer's own.
    #[inline]
    pub fn session(&self) -> Option<Session> {
        self.reader.map(|reader| reader.session)
    }

    /// The state of the tables when it began; nothing if one was being changed, and for the writer's own. What was found under a pin
    /// may be used under another one of the reader's that has the same state.
    #[inline]
    pub fn state(&self) -> Option<State> {
        self.state
    }

    /// Whether the tables are still in the state in which they were when it began.
    pub fn is_current(&self) -> bool {
        let state = self.reader.and_then(|reader| reader.domain.state());
        state.is_some() && state == self.state
    }

    /// The version of a group of tables now; nothing if one of them is being changed, and for the writer's own. What was found in them
    /// under a pin, after this was read, may be used under another one of the reader's for which it is the same.
    pub fn version(&self, group: usize) -> Option<Version> {
        self.reader?.domain.version(group)
    }

    /// Ends, but the reader still counts as pinned until [`Reader::unpin`], or another pin ends: nothing that it could have
    /// found is freed, and nobody who waits for it gets on.
    #[inline]
    pub fn keep(self) {
        std::mem::forget(self);
    }

    /// Stops the program when a pin of another domain is used: it would protect nothing.
    #[inline]
    pub(crate) fn assert_guards(&self, domain: &Arc<Domain>) {
        assert!(
            std::ptr::eq(self.domain, Arc::as_ptr(domain)),
            "a pin of the table's domain"
        );
    }
}

impl Drop for Pin<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(reader) = self.reader {
            reader.announcement.0.store(IDLE, Ordering::Release);
        }
    }
}

/// What the writer took away and cannot free yet, oldest first.
#[derive(Debug)]
pub(crate) struct Limbo<T> {
    retired: VecDeque<(u64, T)>,
}

impl<T> Default for Limbo<T> {
    fn default() -> Self {
        Limbo {
            retired: VecDeque::new(),
        }
    }
}

impl<T> Limbo<T> {
    /// Takes something that readers cannot find any more from now on.
    pub(crate) fn retire(&mut self, domain: &Domain, item: T) {
        self.retired.push_back((domain.retire(), item));
    }

    /// Hands out everything that no reader can hold.
    pub(crate) fn collect(&mut self, domain: &Domain, mut free: impl FnMut(T)) {
        if self.retired.is_empty() {
            return;
        }
        let oldest = domain.oldest();
        while let Some((_, item)) = self.retired.pop_front_if(|(epoch, _)| *epoch < oldest) {
            free(item);
        }
    }

    /// Forgets everything: its memory belongs to something that is retired as a whole.
    pub(crate) fn clear(&mut self) {
        self.retired.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.retired.len()
    }
}

/// A value that a writer replaces while readers use it.
#[derive(Debug)]
pub(crate) struct Shared<T> {
    pointer: AtomicPtr<T>,
    owns: PhantomData<Box<T>>,
}

impl<T> Shared<T> {
    pub(crate) fn new(value: T) -> Shared<T> {
        Shared {
            pointer: AtomicPtr::new(Box::into_raw(Box::new(value))),
            owns: PhantomData,
        }
    }

    /// The present value.
    #[inline]
    pub(crate) fn load<'pin>(&'pin self, _pin: &'pin Pin<'_>) -> &'pin T {
        // SAFETY: the pointer comes from `Box::into_raw`, and `replace` makes its caller keep the old value as long
        // as a pin lives that began before.
        unsafe { &*self.pointer.load(Ordering::Acquire) }
    }

    /// The present value, for the one writer.
    ///
    /// # Safety
    ///
    /// Only the writer calls this, and does not use the value after replacing it.
    #[inline]
    pub(crate) unsafe fn load_as_writer(&self) -> &T {
        // SAFETY: only the writer replaces the value.
        unsafe { &*self.pointer.load(Ordering::Acquire) }
    }

    /// Publishes a new value and returns the old one, which must go into a [`Limbo`].
    pub(crate) fn replace(&self, value: T) -> Box<T> {
        let old = self.pointer.swap(Box::into_raw(Box::new(value)), Ordering::AcqRel);
        // SAFETY: it came from `Box::into_raw` and nobody else takes it.
        unsafe { Box::from_raw(old) }
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: nobody can hold a reference into a value that is dropped, and the pointer came from `Box::into_raw`.
        drop(unsafe { Box::from_raw(self.pointer.load(Ordering::Relaxed)) });
    }
}

/// A value that is replaced as a whole: readers see the old one or the new one for as long as they are pinned.
#[derive(Debug)]
pub struct Published<T> {
    domain: Arc<Domain>,
    present: Shared<Arc<T>>,
    #[expect(
        clippy::redundant_allocation,
        reason = "readers hold the address of the box, which must not move"
    )]
    former: Mutex<Limbo<Box<Arc<T>>>>,
}

impl<T> Published<T> {
    /// The first value, for readers of `domain`.
    pub fn new(domain: &Arc<Domain>, value: Arc<T>) -> Published<T> {
        Published {
            domain: Arc::clone(domain),
            present: Shared::new(value),
            former: Mutex::new(Limbo::default()),
        }
    }

    /// The present value.
    ///
    /// # Panics
    ///
    /// Unless the pin is one of the domain.
    #[inline]
    pub fn load<'a>(&'a self, pin: &'a Pin<'_>) -> &'a T {
        pin.assert_guards(&self.domain);
        self.present.load(pin)
    }

    /// Replaces the value. Readers that are pinned may keep the old one until they unpin. `changed` says, by the value before, in which
    /// groups of tables readers find something else now.
    pub fn publish(&self, value: Arc<T>, changed: impl FnOnce(&T) -> Groups) {
        let mut former = self.former.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: values are replaced only here, under the lock.
        let groups = changed(unsafe { self.present.load_as_writer() });
        let _change = self.domain.begin_change(groups);
        let old = self.present.replace(value);
        former.retire(&self.domain, old);
        former.collect(&self.domain, drop);
    }
}

// SAFETY: a `Shared` owns a `T` and hands out references to it in any thread.
unsafe impl<T: Send + Sync> Sync for Shared<T> {}
// SAFETY: as above; moving it moves the `T`.
unsafe impl<T: Send + Sync> Send for Shared<T> {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn another_version_of_one_group_is_none_of_others() {
        let domain = Domain::new();
        let mut reader = domain.reader();
        let mut versions = || [0, 1, 63].map(|group| reader.pin().version(group));
        let before = versions();
        assert!(before.iter().all(Option::is_some), "{before:?}");
        let change = domain.begin_change(Groups::of(0).or(Groups::of(63)));
        let another = domain.begin_change(Groups::of(63));
        assert_eq!(versions(), [None, before[1], None]);
        drop(another);
        assert_eq!(versions(), [None, before[1], None], "one writer is left");
        drop(change);
        let after = versions();
        assert!(after.iter().all(Option::is_some), "{after:?}");
        assert!(after[0] != before[0] && after[1] == before[1] && after[2] != before[2]);
    }

    #[test]
    fn a_session_lasts_while_the_reader_stays_pinned_and_nothing_is_taken_away() {
        let domain = Domain::new();
        let (mut reader, mut other) = (domain.reader(), domain.reader());
        let kept = |reader: &mut Reader| {
            let pin = reader.pin_again();
            let session = pin.session();
            pin.keep();
            session
        };
        let first = kept(&mut reader);
        assert_eq!(kept(&mut reader), first);
        assert_ne!(kept(&mut other), first, "another reader's is another one");
        domain.retire();
        let second = kept(&mut reader);
        assert_ne!(second, first, "something was taken away");
        reader.unpin();
        assert_ne!(kept(&mut reader), second, "the reader paused");
    }
}

#[cfg(all(test, loom))]
mod publication {
    use super::*;

    /// Values in places; a place that is free may be anything.
    struct Places {
        domain: Arc<Domain>,
        present: AtomicU64,
        free: [AtomicU64; 3],
    }

    /// What is the same as long as nothing changes: a state, or the version of a group.
    trait Mark: Copy + PartialEq {
        fn of(pin: &Pin<'_>) -> Option<Self>;
    }

    impl Mark for State {
        fn of(pin: &Pin<'_>) -> Option<State> {
            pin.state()
        }
    }

    impl Mark for Version {
        fn of(pin: &Pin<'_>) -> Option<Version> {
            pin.version(GROUP)
        }
    }

    /// The group of the place.
    const GROUP: usize = 5;

    /// Bursts of a reader that remembers where it found something, as long as the mark is the same. It may stay pinned between
    /// bursts.
    fn read<M: Mark>(places: &Places, bursts: usize, stays_pinned: bool) {
        let mut reader = places.domain.reader();
        let mut remembered: Option<(M, u64)> = None;
        for _ in 0..bursts {
            let pin = reader.pin_again();
            let state = M::of(&pin);
            let place = match remembered {
                Some((then, place)) if Some(then) == state => place,
                _ => places.present.load(Ordering::Acquire),
            };
            assert_eq!(
                places.free[place as usize].load(Ordering::Relaxed),
                0,
                "a place that was taken away"
            );
            remembered = state.map(|state| (state, place));
            match stays_pinned {
                true => pin.keep(),
                false => drop(pin),
            }
        }
        reader.unpin();
    }

    /// Has another place be the present one; the one before is free when nobody can have it.
    fn write(places: &Places, place: u64) -> Limbo<u64> {
        let mut limbo = Limbo::default();
        let _change = places.domain.begin_change(Groups::of(GROUP));
        let before = places.present.swap(place, Ordering::AcqRel);
        limbo.retire(&places.domain, before);
        limbo
    }

    fn free(places: &Places, mut limbo: Limbo<u64>) {
        limbo.collect(&places.domain, |place| {
            places.free[place as usize].store(1, Ordering::Relaxed)
        });
    }

    fn places() -> Arc<Places> {
        Arc::new(Places {
            domain: Domain::new(),
            present: AtomicU64::new(0),
            free: std::array::from_fn(|_| AtomicU64::new(0)),
        })
    }

    fn one_writer<M: Mark>(stays_pinned: bool) {
        loom::model(move || {
            let places = places();
            let its = Arc::clone(&places);
            let reader = loom::thread::spawn(move || read::<M>(&its, 3, stays_pinned));
            let limbo = write(&places, 1);
            free(&places, limbo);
            reader.join().unwrap();
        });
    }

    fn two_writers<M: Mark>(stays_pinned: bool) {
        loom::model(move || {
            let places = places();
            let (its, anothers) = (Arc::clone(&places), Arc::clone(&places));
            let reader = loom::thread::spawn(move || read::<M>(&its, 2, stays_pinned));
            let writer = loom::thread::spawn(move || {
                let limbo = write(&anothers, 1);
                free(&anothers, limbo);
            });
            let limbo = write(&places, 2);
            free(&places, limbo);
            writer.join().unwrap();
            reader.join().unwrap();
        });
    }

    #[test]
    fn what_is_remembered_is_there_while_the_state_is_the_same() {
        one_writer::<State>(false);
    }

    #[test]
    fn the_same_for_a_reader_that_stays_pinned() {
        one_writer::<State>(true);
    }

    #[test]
    fn and_while_the_version_of_its_group_is() {
        one_writer::<Version>(false);
    }

    #[test]
    fn and_while_that_is_for_a_reader_that_stays_pinned() {
        one_writer::<Version>(true);
    }

    #[test]
    fn the_same_beside_two_writers() {
        two_writers::<State>(false);
    }

    #[test]
    fn the_same_beside_two_writers_for_a_reader_that_stays_pinned() {
        two_writers::<State>(true);
    }

    #[test]
    fn versions_beside_two_writers() {
        two_writers::<Version>(true);
    }

    /// Who waits for readers that stay pinned sees what they have done before, and they see what he has published.
    #[test]
    fn who_waits_is_behind_the_bursts_of_a_reader_that_stays_pinned() {
        loom::model(|| {
            let places = places();
            let its = Arc::clone(&places);
            let reader = loom::thread::spawn(move || {
                let mut reader = its.domain.reader();
                for _ in 0..3 {
                    let pin = reader.pin_again();
                    // Two may not be in here, of whom one believes to be alone.
                    if its.present.load(Ordering::Acquire) == 0 {
                        assert_eq!(its.free[0].load(Ordering::Relaxed), 0, "the other one has waited");
                    }
                    pin.keep();
                }
                reader.unpin();
            });
            places.present.store(1, Ordering::SeqCst);
            let epoch = places.domain.retire();
            if places.domain.oldest() > epoch {
                places.free[0].store(1, Ordering::Relaxed);
            }
            reader.join().unwrap();
        });
    }
}
