//! Every operation on files of a session fails in every way. Whatever is loaded afterwards is a state that the session
//! had, and has everything that was acknowledged.

use forebay_journal::memory::{Content, Disk, End, Failure, Fault};
use forebay_journal::{Recovered, Store, Sync};
use std::path::Path;
use std::sync::Arc;

const FOLDER: &str = "/state";

/// What a session does.
#[derive(Clone, Copy)]
enum Step {
    /// A change that is kept as a batch of this many bytes.
    Batch(usize),
    /// A change that is kept by a snapshot of everything.
    Push,
    /// A fresh snapshot without a change.
    Refresh,
    /// The process ends and starts again.
    Restart,
}
use Step::{Batch, Push, Refresh, Restart};

/// Batches that fit into a sector, and some that go over several.
const SESSION: &[Step] = &[
    Batch(1),
    Batch(700),
    Refresh,
    Batch(3),
    Push,
    Batch(1500),
    Batch(2),
    Restart,
    Batch(509),
    Refresh,
    Push,
    Batch(40),
];

/// A switch whose state is a list of numbers.
struct Session {
    disk: Disk,
    sync: Sync,
    store: Option<Store>,
    state: Vec<u8>,
    /// Every state that there was, in order; the first is the empty one.
    history: Vec<Vec<u8>>,
    /// The last one that was acknowledged.
    acknowledged: Option<usize>,
    /// Whether the state has a change that only a snapshot can keep.
    is_behind: bool,
    next: u8,
}

impl Session {
    fn new(disk: Disk, sync: Sync) -> Session {
        Session {
            disk,
            sync,
            store: None,
            state: Vec::new(),
            history: vec![Vec::new()],
            acknowledged: None,
            is_behind: false,
            next: 0,
        }
    }

    /// Starts with what is there; false when that is not possible.
    fn start(&mut self) -> bool {
        let opened = Store::open_with(Arc::new(self.disk.clone()), Path::new(FOLDER), self.sync);
        let Ok((mut store, found)) = opened else { return false };
        match found {
            Some(found) => {
                self.state = loaded(&found);
                self.check_loaded(&self.state.clone());
                let place = self.history.iter().rposition(|state| *state == self.state);
                // Otherwise what was read may not be on the disk, and nothing follows it.
                if store.takes_batches() {
                    self.acknowledged = place.max(self.acknowledged);
                }
            }
            None => {
                assert_eq!(self.acknowledged, None, "all is gone");
                self.state.clear();
                if store.snapshot(&[]).is_err() {
                    return false;
                }
                self.acknowledged = Some(self.history.len() - 1);
            }
        }
        self.is_behind = false;
        self.store = Some(store);
        true
    }

    fn check_loaded(&self, state: &[u8]) {
        let first = self.acknowledged.unwrap_or(0);
        assert!(
            self.history[first..].iter().any(|known| known == state),
            "loaded {} numbers, {} were acknowledged",
            state.len(),
            self.history[first].len()
        );
    }

    fn run(&mut self, steps: &[Step]) {
        for step in steps {
            if self.store.is_none() && !self.start() {
                continue;
            }
            match step {
                Batch(bytes) => self.batch(*bytes),
                Push => self.push(),
                Refresh => self.refresh(),
                Restart => {
                    self.store = None;
                    self.start();
                }
            }
        }
    }

    fn refresh(&mut self) {
        let store = self.store.as_mut().expect("it has started");
        if store.snapshot(&self.state).is_ok() {
            self.is_behind = false;
            self.acknowledged = Some(self.history.len() - 1);
        }
    }

    /// Before a change: whether one may follow.
    fn may_change(&mut self) -> bool {
        let takes_batches = self.store.as_ref().is_some_and(Store::takes_batches);
        if self.is_behind || !takes_batches {
            self.is_behind = true;
            self.refresh();
        }
        !self.is_behind
    }

    fn batch(&mut self, bytes: usize) {
        if !self.may_change() {
            return;
        }
        let batch = vec![self.number(); bytes];
        self.state.extend(&batch);
        self.history.push(self.state.clone());
        let store = self.store.as_mut().expect("it has started");
        match store.append(&batch) {
            Ok(()) => self.acknowledged = Some(self.history.len() - 1),
            Err(_) => {
                assert!(!store.takes_batches());
                assert!(store.append(b"another").is_err(), "nothing may follow a gap");
            }
        }
    }

    fn push(&mut self) {
        if !self.may_change() {
            return;
        }
        self.state = vec![self.number(); 30];
        self.history.push(self.state.clone());
        self.is_behind = true;
        self.refresh();
    }

    fn number(&mut self) -> u8 {
        self.next += 1;
        self.next
    }

    /// Ends in every way, and looks at what is there.
    fn check_ends(&self, cases: &mut u64) {
        self.check_these_ends(&ends(&self.disk, self.sync), cases);
    }

    fn check_these_ends(&self, ends: &[End], cases: &mut u64) {
        for end in ends.iter().copied() {
            *cases += 1;
            let after = self.disk.after(end);
            let opened = Store::open_with(Arc::new(after.clone()), Path::new(FOLDER), self.sync);
            let (store, found) = opened.unwrap_or_else(|error| panic!("{end:?}: {error}"));
            let Some(found) = found else {
                assert_eq!(self.acknowledged, None, "{end:?}: all is gone");
                continue;
            };
            let state = loaded(&found);
            self.check_loaded(&state);
            check_it_goes_on(store, &after, &state, self.sync);
        }
    }
}

/// What was loaded is loaded again, with what follows.
fn check_it_goes_on(mut store: Store, disk: &Disk, state: &[u8], sync: Sync) {
    store.append(b"after").expect("the disk is sound");
    drop(store);
    let power = End::Power {
        names: 0,
        content: Content::Lost,
    };
    let end = if sync == Sync::Disk { power } else { End::Kill };
    let disk = disk.after(end);
    let (_, found) = Store::open_with(Arc::new(disk), Path::new(FOLDER), sync).expect("the disk is sound");
    assert_eq!(loaded(&found.expect("it was there")), [state, b"after"].concat());
}

fn loaded(found: &Recovered) -> Vec<u8> {
    [&found.snapshot[..], &found.batches.concat()].concat()
}

/// Ways for a session to end: killed, or without power and every subset of the names that are not on the disk.
fn ends(disk: &Disk, sync: Sync) -> Vec<End> {
    let mut ends = vec![End::Kill];
    if sync == Sync::Disk {
        let contents = [
            Content::Lost,
            Content::Kept,
            Content::Torn,
            Content::Zeros,
            Content::Blank,
        ];
        for names in 0..1 << disk.unsynced_names().min(4) {
            // Names beyond the fourth go with the highest bit.
            let names = if names >> 3 & 1 == 1 { names | !0xf } else { names };
            ends.extend(contents.map(|content| End::Power { names, content }));
        }
    }
    ends
}

fn operations(sync: Sync) -> u64 {
    let disk = Disk::new(None);
    let mut session = Session::new(disk.clone(), sync);
    session.run(SESSION);
    assert_eq!(session.acknowledged, Some(session.history.len() - 1));
    session.check_ends(&mut 0);
    disk.operations()
}

const FAILURES: [Failure; 5] = [
    Failure::NoSpace,
    Failure::Error,
    Failure::ErrorAfter,
    Failure::ShortWrite,
    Failure::SyncLost,
];
const STOPS: [Failure; 2] = [Failure::StopBefore, Failure::StopWithin];

fn with_fault(operation: u64, failure: Failure, lasts: bool, sync: Sync) -> Session {
    let disk = Disk::new(Some(Fault {
        operation,
        failure,
        lasts,
    }));
    Session::new(disk, sync)
}

#[test]
fn the_machine_stops_at_every_operation() {
    let mut cases = 0;
    for sync in [Sync::Disk, Sync::System] {
        for operation in 0..operations(sync) {
            for failure in STOPS {
                let mut session = with_fault(operation, failure, false, sync);
                session.run(SESSION);
                session.check_ends(&mut cases);
            }
        }
    }
    println!("{cases} ends of a session that stops: 0 lost, 0 half-applied");
}

#[test]
fn every_operation_fails_and_the_session_goes_on() {
    let mut cases = 0;
    for sync in [Sync::Disk, Sync::System] {
        for operation in 0..operations(sync) {
            for failure in FAILURES {
                for lasts in [false, true] {
                    let mut session = with_fault(operation, failure, lasts, sync);
                    session.run(SESSION);
                    if !session.disk.has_failed() {
                        continue;
                    }
                    session.check_ends(&mut cases);
                    session.disk.heal();
                    let before = session.history.len();
                    session.run(&[Batch(7), Batch(600)]);
                    assert_eq!(session.history.len(), before + 2, "it heals by itself");
                    assert_eq!(session.acknowledged, Some(before + 1), "and everything is kept again");
                    session.check_ends(&mut cases);
                }
            }
        }
    }
    println!("{cases} ends of a session with a fault: 0 lost, 0 half-applied");
}

#[test]
fn an_operation_fails_and_then_the_machine_stops() {
    let mut cases = 0;
    let sync = Sync::Disk;
    let power = |names, content| End::Power { names, content };
    let few = [
        End::Kill,
        power(0, Content::Lost),
        power(1, Content::Torn),
        power(2, Content::Zeros),
        power(5, Content::Blank),
        power(!1, Content::Kept),
    ];
    for operation in 0..operations(sync) {
        for failure in FAILURES {
            for later in [1, 2, 3, 4, 6, 9, 14, 22] {
                let mut session = with_fault(operation, failure, false, sync);
                let stop = Fault {
                    operation: operation + later,
                    failure: Failure::StopWithin,
                    lasts: false,
                };
                session.disk.fail_later(stop);
                session.run(SESSION);
                if session.disk.has_failed() {
                    session.check_these_ends(&few, &mut cases);
                }
            }
        }
    }
    println!("{cases} ends of a session with a fault that then stops: 0 lost, 0 half-applied");
}

/// A disk that stays full or broken does not fill up with attempts.
#[test]
fn attempts_leave_no_files() {
    for failure in FAILURES {
        for operation in 0..operations(Sync::Disk) {
            let mut session = with_fault(operation, failure, true, Sync::Disk);
            session.run(SESSION);
            for _ in 0..20 {
                session.run(&[Refresh]);
            }
            session.disk.heal();
            let names = forebay_journal::Files::list(&session.disk, Path::new(FOLDER)).unwrap_or_default();
            assert!(names.len() <= 7, "{failure:?} at {operation}: {names:?}");
        }
    }
}
