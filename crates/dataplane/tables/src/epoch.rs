//! Epoch-based reclamation: when memory that readers may still access can be reused.
//!
//! Readers and one writer share tables without locks. The writer publishes an entry by storing one word, and removes
//! it by storing another. It must not reuse the memory of what it removed (an entry's place, a replaced array) before
//! no reader can hold a reference to it. This module decides when that is the case: read, copy, update with quiescent
//! states.
//!
//! ```text
//! reader   pin: announce the current epoch ─ fence ─ look up … look up ─ unpin: announce nothing
//! writer   unpublish ─ fence ─ epoch = n, n + 1 from now on … may free when every announced epoch is above n
//! ```
//!
//! * A [`Reader`] belongs to a thread. It pins once for a burst of packets, which costs one store and one fence, and
//!   never waits.
//! * A reader that saw the old word pinned before the writer's fence. So it announced an epoch of at most `n`, and the
//!   writer's check, which comes after the fence, sees the announcement. Conversely, a reader that pins after the
//!   fence sees the new word. (Fences are sequentially consistent: one of the two comes first.)
//! * The writer does not wait either, except where it must not continue ([`Domain::synchronize`]): what it cannot free
//!   yet is kept in a limbo list.
//!
//! A reader that pins repeatedly without a pause may [keep](Pin::keep) its announcement between pins, and needs no
//! fence as long as the epoch is the same ([`Reader::pin_again`]). What it found stays valid as long as the
//! [`Session`] is the same.
//!
//! What was found under one pin may be remembered and used under a later one if both read the same [`State`] of the
//! tables right after they began, because nothing has changed in between:
//!
//! ```text
//! writer   changing + 1 ─ unpublish ─ fence, epoch ─ state = a new number ─ changing - 1
//! reader   pin (fence) ─ read changing: not 0? no state ─ read state
//! ```
//!
//! A reader that reads `changing` as 0 and then a state did one of two things. Either it read the 0 before the
//! writer's first step: then its pin is older than the writer's fence and protects what is removed. Or it read the 0
//! after the writer's last step: then it reads the new state. A pin that continues a kept one is at least as old.
//!
//! A domain's tables are in [`GROUPS`] groups, each with a [`Version`], so that a result from one table stays usable
//! after changes to other groups. A version is one word, whose low bits count the writers that are making a change.
//! What is said above about `changing` and `state` applies to these bits being 0, and to the other bits.
//!
//! All tables of a pipeline share one [`Domain`], so a worker pins once for all of them. `loom` checks the protocol
//! together with the exact-match engine: see the tests there.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::{Arc, PoisonError};

use crate::search::{MEMO_PLACE_BITS, NEVER};
use crate::sync::{AtomicPtr, AtomicU64, Mutex, Ordering, fence};

/// The readers and writers that take part in one protocol.
#[derive(Debug)]
pub struct Domain {
    epoch: AtomicU64,
    /// See [`crate::search`].
    versions: AtomicU64,
    /// The number of writers that are making a change.
    changing: AtomicU64,
    /// See [`State`].
    state: AtomicU64,
    /// See [`Version`].
    groups: [AtomicU64; GROUPS],
    /// The number of tables so far. Tables are assigned to groups in turn.
    tables: AtomicU64,
    readers: Mutex<Vec<Arc<Announcement>>>,
}

/// The epoch in which a reader pinned, or [`IDLE`]. Aligned to two cache lines, so that readers do not share any.
#[derive(Debug)]
#[repr(align(128))]
struct Announcement(AtomicU64);

const IDLE: u64 = 0;

/// Identifies what the tables of a domain contain: as long as the state is the same, all look-ups have the same
/// results at the same addresses. The exception is a key missed in a table that [learns](crate::TableSpec::learns),
/// which may be present now. States of different domains differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State(u64);

/// The number of groups into which a domain's tables are divided.
pub const GROUPS: usize = 64;

/// A set of groups of a domain's tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Groups(u64);

impl Groups {
    /// The set of one group.
    ///
    /// # Panics
    ///
    /// Unless the group is below [`GROUPS`].
    pub fn of(group: usize) -> Groups {
        assert!(group < GROUPS, "there are {GROUPS} groups");
        Groups(1 << group)
    }

    /// The union of two sets.
    #[must_use]
    pub fn or(self, other: Groups) -> Groups {
        Groups(self.0 | other.0)
    }

    /// The numbers of the groups in the set.
    fn numbers(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let group = rest.trailing_zeros() as usize;
            rest &= rest.wrapping_sub(1);
            (group < GROUPS).then_some(group)
        })
    }
}

/// Identifies what the tables of a group contain: the guarantee is that of [`State`], for the tables of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version(u64);

/// The bits of a group's word that count the writers that are making a change.
const WRITERS_BITS: u32 = 16;

/// The number of states so far, in all domains.
static STATES: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

fn next_state() -> u64 {
    STATES.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

/// A change of tables. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Change(Arc<Domain>, Groups);

impl Drop for Change {
    fn drop(&mut self) {
        for group in self.1.numbers() {
            // One writer less, and a new version.
            self.0.groups[group].fetch_add((1 << WRITERS_BITS) - 1, Ordering::Release);
        }
        // A thread that reads this state also sees the changes of all states that it replaced.
        self.0.state.swap(next_state(), Ordering::AcqRel);
        self.0.changing.fetch_sub(1, Ordering::Release);
    }
}

/// The number of readers so far, in all domains.
static READERS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// Identifies a reader and a sequence of its [`Pin`]s. What was found under one pin stays valid under another pin of
/// the same session, because the reader stayed pinned between them.
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
    /// For control planes: afterwards all readers see what was published before the call. A thread that holds a
    /// [`Pin`] itself must not call this: it would wait for ever.
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

    /// Begins a change of what readers find in tables of these groups. Anything may be published or removed only
    /// between this call and the drop of its result, except new entries of a table that
    /// [learns](crate::TableSpec::learns).
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

    /// The state of the tables, unless one is being changed. If the caller has pinned before, its look-ups see this
    /// state or a later one.
    #[inline]
    fn state(&self) -> Option<State> {
        let rests = self.changing.load(Ordering::Acquire) == 0;
        rests.then(|| State(self.state.load(Ordering::Acquire)))
    }

    /// A new version for a table, different from all others: see [`crate::search`].
    pub(crate) fn next_version(&self) -> u64 {
        let version = self.versions.fetch_add(1, Ordering::Relaxed);
        if version >> MEMO_PLACE_BITS == 0 {
            version
        } else {
            NEVER
        }
    }

    /// Ends an epoch and returns it. What was unpublished before can be freed when [`Domain::oldest`] is above this
    /// epoch.
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
    /// Begins reading. What is found under the pin stays valid until the pin is dropped.
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

    /// Like [`Reader::pin`], but without a fence if the previous pin was [kept](Pin::keep) and nothing has been
    /// removed since.
    #[inline]
    pub fn pin_again(&mut self) -> Pin<'_> {
        let announced = self.announcement.0.load(Ordering::Relaxed);
        if announced == IDLE || announced != self.domain.epoch.load(Ordering::Relaxed) {
            return self.pin();
        }
        self.pinned()
    }

    /// Ends the kept pin, if there is one.
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

/// Proof that nothing that the reader finds is freed: see [`Reader::pin`].
#[derive(Debug)]
pub struct Pin<'reader> {
    domain: *const Domain,
    /// `None` for the writer, which cannot write while it reads.
    reader: Option<&'reader Reader>,
    /// The state of the tables right after the pin began.
    state: Option<State>,
    not_sync: PhantomData<*const ()>,
}

impl Pin<'_> {
    /// A pin for the one writer.
    ///
    /// # Safety
    ///
    /// While the pin lives, there must be no writes to the tables that are read with it.
    pub(crate) unsafe fn of_writer(domain: &Arc<Domain>) -> Pin<'static> {
        Pin {
            domain: Arc::as_ptr(domain),
            reader: None,
            state: None,
            not_sync: PhantomData,
        }
    }

    /// The session of the pin; `None` for the writer's own.
    #[inline]
    pub fn session(&self) -> Option<Session> {
        self.reader.map(|reader| reader.session)
    }

    /// The state of the tables when the pin began; `None` if a table was being changed, and for the writer's own. What
    /// was found under a pin may be used under another pin of the same reader with the same state.
    #[inline]
    pub fn state(&self) -> Option<State> {
        self.state
    }

    /// Whether the state of the tables is still that at the pin's beginning.
    pub fn is_current(&self) -> bool {
        let state = self.reader.and_then(|reader| reader.domain.state());
        state.is_some() && state == self.state
    }

    /// The current version of a group of tables; `None` if one of them is being changed, and for the writer's own.
    /// What was found in them under a pin, after the version was read, may be used under another pin of the same
    /// reader that reads the same version.
    pub fn version(&self, group: usize) -> Option<Version> {
        self.reader?.domain.version(group)
    }

    /// Ends the pin, but the reader still counts as pinned until [`Reader::unpin`], or until another pin ends. Until
    /// then nothing that the reader could have found is freed, and [`Domain::synchronize`] keeps waiting.
    #[inline]
    pub fn keep(self) {
        std::mem::forget(self);
    }

    /// Panics if the pin belongs to another domain, because it would protect nothing.
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

/// What the writer removed and cannot free yet, oldest first.
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
    /// Takes an item that readers can no longer find.
    pub(crate) fn retire(&mut self, domain: &Domain, item: T) {
        self.retired.push_back((domain.retire(), item));
    }

    /// Passes on every item that no reader can hold any more.
    pub(crate) fn collect(&mut self, domain: &Domain, mut free: impl FnMut(T)) {
        if self.retired.is_empty() {
            return;
        }
        let oldest = domain.oldest();
        while let Some((_, item)) = self.retired.pop_front_if(|(epoch, _)| *epoch < oldest) {
            free(item);
        }
    }

    /// Forgets all items, because their memory belongs to something that is retired as a whole.
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

    /// The current value.
    #[inline]
    pub(crate) fn load<'pin>(&'pin self, _pin: &'pin Pin<'_>) -> &'pin T {
        // SAFETY: the pointer comes from `Box::into_raw`, and the caller of `replace` must keep the old value as long
        // as a pin lives that began before.
        unsafe { &*self.pointer.load(Ordering::Acquire) }
    }

    /// The current value, for the single writer.
    ///
    /// # Safety
    ///
    /// Only the writer may call this, and it must not use the value after replacing it.
    #[inline]
    pub(crate) unsafe fn load_as_writer(&self) -> &T {
        // SAFETY: only the writer replaces the value.
        unsafe { &*self.pointer.load(Ordering::Acquire) }
    }

    /// Publishes a new value and returns the old one, which must go into a [`Limbo`].
    pub(crate) fn replace(&self, value: T) -> Box<T> {
        let old = self.pointer.swap(Box::into_raw(Box::new(value)), Ordering::AcqRel);
        // SAFETY: it came from `Box::into_raw`, and the swap made this thread its only owner.
        unsafe { Box::from_raw(old) }
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: a value that is dropped is not borrowed, and the pointer came from `Box::into_raw`.
        drop(unsafe { Box::from_raw(self.pointer.load(Ordering::Relaxed)) });
    }
}

/// A value that is replaced as a whole: while pinned, readers see the old one or the new one.
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

    /// The current value.
    ///
    /// # Panics
    ///
    /// Unless the pin belongs to the domain.
    #[inline]
    pub fn load<'a>(&'a self, pin: &'a Pin<'_>) -> &'a T {
        pin.assert_guards(&self.domain);
        self.present.load(pin)
    }

    /// Replaces the value. Readers that are pinned may use the old one until they unpin. `changed` takes the old value
    /// and returns the groups of tables in which readers now find something else.
    pub fn publish(&self, value: Arc<T>, changed: impl FnOnce(&T) -> Groups) {
        let mut former = self.former.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: values are replaced only here, under the lock.
        let groups = changed(unsafe { self.present.load_as_writer() });
        let _change = self.domain.begin_change(groups);
        let old = self.present.replace(value);
        former.retire(&self.domain, old);
        former.collect(&self.domain, drop);
    }

    /// Frees former values that no reader can use any more. Publishing another value does this, too.
    pub fn collect(&self) {
        let mut former = self.former.lock().unwrap_or_else(PoisonError::into_inner);
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
    fn a_former_value_is_freed_when_its_readers_have_unpinned() {
        let domain = Domain::new();
        let mut reader = domain.reader();
        let first = Arc::new(1);
        let published = Published::new(&domain, Arc::clone(&first));
        let pin = reader.pin();
        published.publish(Arc::new(2), |_| Groups::default());
        published.collect();
        assert_eq!(Arc::strong_count(&first), 2, "the reader may use it");
        drop(pin);
        published.collect();
        assert_eq!(Arc::strong_count(&first), 1);
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

    /// Values at indices; an index that is free may hold anything.
    struct Places {
        domain: Arc<Domain>,
        present: AtomicU64,
        free: [AtomicU64; 3],
    }

    /// What stays the same as long as nothing changes: a state, or the version of a group.
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

    /// The group to which the values belong.
    const GROUP: usize = 5;

    /// Bursts of a reader that remembers where it found a value, as long as the mark is the same. It may stay pinned
    /// between bursts.
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
            if stays_pinned { pin.keep() } else { drop(pin) }
        }
        reader.unpin();
    }

    /// Makes another index the current one. The previous one is free when no reader can hold it.
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

    /// A writer that waits for readers which stay pinned sees what they did before, and they see what it published.
    #[test]
    fn synchronize_waits_for_a_reader_that_stays_pinned() {
        loom::model(|| {
            let places = places();
            let its = Arc::clone(&places);
            let reader = loom::thread::spawn(move || {
                let mut reader = its.domain.reader();
                for _ in 0..3 {
                    let pin = reader.pin_again();
                    // Mutual exclusion: a thread that assumes to be alone must be.
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
