//! A device that keeps its state in a folder, while every operation on files fails in every way: whatever a restart
//! loads is a state that the device had, with everything that was acknowledged.
//!
//! `crates/base/journal/tests/faults.rs` does the same with bytes, and with more ways for names and content to get
//! lost.

mod session;

use forebay_journal::memory::{Content, Disk, End, Failure, Fault};
use session::Session;
use session::Step::{
    self, Commit, Delete, Digest, Insert, Meter, Modify, Push, Reconcile, Refresh, Register, Restart, Save,
};

const SCRIPT: &[Step] = &[
    Push(0),
    Insert(1),
    Insert(2),
    Modify(1),
    Register(7),
    Refresh,
    Insert(3),
    Reconcile(1),
    Digest,
    Delete(2),
    Restart,
    Meter,
    Save(0),
    Insert(4),
    Commit,
    Modify(4),
];

/// What follows when the fault is over.
const AFTERWARDS: &[Step] = &[Push(1), Insert(8), Modify(8)];

const FAILURES: [Failure; 5] = [
    Failure::NoSpace,
    Failure::Error,
    Failure::ErrorAfter,
    Failure::ShortWrite,
    Failure::SyncLost,
];

const ENDS: [End; 5] = [
    End::Kill,
    power(0, Content::Lost),
    power(!0, Content::Torn),
    power(0, Content::Kept),
    power(1, Content::Blank),
];

const fn power(names: u32, content: Content) -> End {
    End::Power { names, content }
}

fn operations() -> u64 {
    let disk = Disk::new(None);
    let mut session = Session::new(disk.clone());
    session.run(SCRIPT);
    session.expect_all_acknowledged();
    session.check(&ENDS);
    disk.operations()
}

fn with_fault(operation: u64, failure: Failure, lasts: bool) -> Session {
    Session::new(Disk::new(Some(Fault {
        operation,
        failure,
        lasts,
    })))
}

#[test]
fn the_machine_stops_at_every_operation() {
    let mut cases = 0;
    for operation in 0..operations() {
        for failure in [Failure::StopBefore, Failure::StopWithin] {
            let mut session = with_fault(operation, failure, false);
            session.run(SCRIPT);
            cases += session.check(&ENDS);
        }
    }
    println!("{cases} ends of a switch that stops: 0 lost, 0 half-applied");
}

#[test]
fn every_operation_fails_and_the_switch_goes_on() {
    let (mut cases, mut sessions) = (0, 0);
    for operation in 0..operations() {
        for failure in FAILURES {
            for lasts in [false, true] {
                let mut session = with_fault(operation, failure, lasts);
                session.run(SCRIPT);
                if !session.disk.has_failed() {
                    continue;
                }
                sessions += 1;
                cases += session.check(&ENDS);
                session.disk.heal();
                session.run(AFTERWARDS);
                session.expect_all_acknowledged();
                cases += session.check(&ENDS);
            }
        }
    }
    println!("{sessions} faults, {cases} ends: 0 lost, 0 half-applied");
}

/// The fault is reported once, and its end once; each call returns its own outcome.
#[test]
fn a_full_disk_is_told_and_heals() {
    let disk = Disk::new(None);
    let mut session = Session::new(disk.clone());
    session.run(&[Push(0), Insert(1)]);
    disk.fail_later(Fault {
        operation: disk.operations(),
        failure: Failure::NoSpace,
        lasts: true,
    });
    session.run(&[Insert(2)]);
    let message = session.last_error();
    assert!(message.contains("is in force, but it is not saved"), "{message}");
    assert!(session.has_entry(2), "packets see it");
    for step in [Insert(3), Push(1), Insert(3)] {
        session.run(&[step]);
        let message = session.last_error();
        assert!(message.contains("nothing was done"), "{message}");
        assert!(!session.has_entry(3));
    }
    assert_eq!(session.status().refused_calls, 3);
    assert_eq!(session.events().len(), 1, "{:?}", session.events());
    disk.heal();
    session.run(&[Insert(3)]);
    session.expect_all_acknowledged();
    assert!(session.has_entry(2) && session.has_entry(3));
    assert_eq!(session.status().fault, None);
    let events = session.events();
    assert_eq!(events.len(), 2, "{events:?}");
    assert!(events[0].contains("changes by controllers are refused"), "{events:?}");
    assert!(events[1].contains("is saved again"), "{events:?}");
}

/// Attempts become rarer, and are never far apart.
#[test]
fn pauses_between_attempts() {
    let disk = Disk::new(None);
    let mut session = Session::new(disk.clone());
    session.run(&[Push(0)]);
    disk.fail_later(Fault {
        operation: disk.operations(),
        failure: Failure::Error,
        lasts: true,
    });
    session.run(&[Insert(1)]);
    let mut last_ns = 0;
    for attempt in 0..12 {
        let pause_ns = session.retry_when_due();
        assert!(
            pause_ns >= last_ns && pause_ns <= 8_000_000_000,
            "{attempt}: {pause_ns}"
        );
        last_ns = pause_ns;
    }
    assert_eq!(last_ns, 8_000_000_000);
    disk.heal();
    session.retry_when_due();
    session.expect_all_acknowledged();
}

/// Only the fresh snapshot fails: nothing is unsaved, and changes go on.
#[test]
fn a_snapshot_that_fails_refuses_nothing() {
    let disk = Disk::new(None);
    let mut session = Session::new(disk.clone());
    session.run(&[Push(0), Insert(1)]);
    disk.fail_later(Fault {
        operation: disk.operations() + 6,
        failure: Failure::NoSpace,
        lasts: true,
    });
    session.run(&[Refresh]);
    assert!(session.status().fault.as_ref().is_some_and(|fault| !fault.is_behind));
    disk.heal();
    session.run(&[Insert(2)]);
    session.expect_all_acknowledged();
    assert!(session.status().fault.is_some(), "until a snapshot succeeds");
    session.run(&[Refresh]);
    assert_eq!(session.status().fault, None);
    session.check(&ENDS);
}
