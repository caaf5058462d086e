//! What packets see while the control plane writes.

use crate::common::{Blocks, Switch, bits};
use forebay_ir::{EntryMatch, TableId};
use forebay_pipeline::{Batch, ControlError, CounterValue, Engine, Entry, EntryAction, Options, Pipeline, Worker};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Two tables: the first marks a packet, the second stamps it. Profiles and a counter for the tests that need them.
const TABLES: &str = "action I.stamp(value: bit<8>) = I.stamp\n\
    body I.stamp action {\nblock0:\n h.a = $value\n return\n}\n\
    table I.t {\n key h.a: bit<8> exact = h.a\n action I.forward\n action NoAction\n default NoAction()\n size 2\n \
    direct_counter I.dc\n}\ncounter I.dc packets_and_bytes direct\n\
    table I.u {\n key h.a: bit<8> exact = h.a\n action I.stamp\n action NoAction\n default NoAction()\n size 8\n \
    implementation I.ap\n}\naction_profile I.ap size 4 selector identity width 8";

fn two_tables(engine: Engine) -> Switch {
    Blocks {
        more: TABLES,
        ingress: "apply I.t -> block1\nblock1:\napply I.u -> block2\nblock2:\nreturn",
        ..Blocks::default()
    }
    .load_with(Options {
        engine,
        ..Options::default()
    })
}

fn key(value: u128) -> Vec<EntryMatch> {
    vec![EntryMatch::Exact(bits(8, value))]
}

fn mark(value: u128, mark: u128) -> Entry {
    Entry {
        matches: key(value),
        priority: 0,
        action: EntryAction::call("forward", vec![bits(9, 1), bits(8, mark)]),
    }
}

fn stamp(batch: &mut Batch<'_>, value: u128) -> Result<(), ControlError> {
    batch.modify_member("I.ap", 1, "stamp", &[bits(8, value)])
}

/// Makes packets with the key 7 be marked and stamped with 0.
fn prepare(pipeline: &Pipeline) {
    pipeline.insert_entry("I.t", &mark(7, 0)).unwrap();
    pipeline.insert_member("I.ap", 1, "stamp", &[bits(8, 0)]).unwrap();
    let entry = Entry {
        matches: key(7),
        priority: 0,
        action: EntryAction::Member(1),
    };
    pipeline.insert_entry("I.u", &entry).unwrap();
}

fn sent(switch: &mut Switch) -> Vec<u8> {
    let (_, bytes) = switch.send(&[7, 9]).pop().expect("a packet");
    bytes
}

/// Packets of two workers never see one table's new entry together with the other's old one.
fn all_or_nothing(engine: Engine) {
    let switch = two_tables(engine);
    let pipeline = &switch.pipeline;
    prepare(pipeline);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut switch = Switch {
                    worker: Worker::new(Arc::clone(pipeline)),
                    pipeline: Arc::clone(pipeline),
                };
                while !done.load(Ordering::Relaxed) {
                    let bytes = sent(&mut switch);
                    assert_eq!(bytes[0], bytes[1], "half a batch");
                }
            });
        }
        for round in 0..500u128 {
            let value = round % 251;
            pipeline
                .atomically(|batch| {
                    stamp(batch, value)?;
                    batch.modify_entry("I.t", &mark(7, value))
                })
                .unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    let mut switch = switch;
    assert_eq!(sent(&mut switch), [248, 248]);
}

#[test]
fn an_atomic_batch_is_seen_as_a_whole_by_the_interpreter() {
    all_or_nothing(Engine::Interpreter);
}

#[test]
fn an_atomic_batch_is_seen_as_a_whole_by_machine_code() {
    all_or_nothing(Engine::Jit);
}

#[test]
fn an_atomic_batch_that_fails_changes_nothing() {
    let mut switch = two_tables(Engine::Interpreter);
    let pipeline = Arc::clone(&switch.pipeline);
    prepare(&pipeline);
    sent(&mut switch);
    let before = (pipeline.entries("I.t").unwrap(), pipeline.members("I.ap").unwrap());
    let error = pipeline.atomically(|batch| {
        stamp(batch, 5)?;
        batch.delete_entry("I.t", &key(7), 0)?;
        batch.insert_entry("I.t", &mark(8, 1))?;
        batch.set_multicast_group(3, &[])?;
        batch.insert_entry("I.t", &mark(8, 2))
    });
    assert!(error.is_err());
    assert_eq!(
        (pipeline.entries("I.t").unwrap(), pipeline.members("I.ap").unwrap()),
        before
    );
    assert_eq!(pipeline.multicast_group(3), None);
    assert_eq!(pipeline.read_direct_counter("I.t", &key(7), 0).unwrap().packets, 1);
    assert_eq!(sent(&mut switch), [0, 0]);
}

/// Deleted entries make room, and the new entry's direct counter begins at 0 in any slot.
#[test]
fn an_atomic_batch_may_replace_all_entries() {
    let mut switch = two_tables(Engine::Interpreter);
    let pipeline = Arc::clone(&switch.pipeline);
    prepare(&pipeline);
    pipeline.insert_entry("I.t", &mark(6, 0)).unwrap();
    sent(&mut switch);
    let replaced = pipeline.atomically(|batch| {
        batch.clear_entries("I.t")?;
        batch.insert_entry("I.t", &mark(7, 3))?;
        batch.insert_entry("I.t", &mark(8, 3))
    });
    replaced.unwrap();
    let counter = |value| pipeline.read_direct_counter("I.t", &key(value), 0).unwrap();
    assert_eq!((counter(7), counter(8)), Default::default());
    assert_eq!(sent(&mut switch), [0, 3]);
    assert_eq!(counter(7), CounterValue { packets: 1, bytes: 2 });
    // A slot that is free after the batch can be reused.
    pipeline.delete_entry("I.t", &key(8), 0).unwrap();
    pipeline.insert_entry("I.t", &mark(9, 3)).unwrap();
}

/// A plain batch keeps what it wrote before an error.
#[test]
fn a_batch_goes_as_far_as_it_can() {
    let mut switch = two_tables(Engine::Interpreter);
    prepare(&switch.pipeline);
    let result = switch.pipeline.batch(|batch| {
        stamp(batch, 5)?;
        batch.insert_entry("I.t", &mark(7, 1))
    });
    assert!(result.is_err());
    assert_eq!(sent(&mut switch), [5, 0]);
}

/// A slow writer does not delay packets.
#[test]
fn packets_do_not_wait_for_a_writer() {
    let switch = two_tables(Engine::Interpreter);
    let pipeline = &switch.pipeline;
    prepare(pipeline);
    let packets_go_on = || {
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let mut switch = Switch {
                    worker: Worker::new(Arc::clone(pipeline)),
                    pipeline: Arc::clone(pipeline),
                };
                (0..100).map(|_| sent(&mut switch)).collect::<Vec<_>>()
            });
            worker.join().unwrap()
        })
    };
    pipeline.batch(|batch| {
        batch.modify_entry("I.t", &mark(7, 1)).unwrap();
        assert!(packets_go_on().iter().all(|bytes| bytes == &[0, 1]));
    });
    let written = pipeline.atomically(|batch| {
        batch.modify_entry("I.t", &mark(7, 2))?;
        assert!(packets_go_on().iter().all(|bytes| bytes == &[0, 1]));
        Ok::<(), ControlError>(())
    });
    written.unwrap();
    assert!(packets_go_on().iter().all(|bytes| bytes == &[0, 2]));
}

#[test]
fn memory_is_reported_by_table() {
    let switch = two_tables(Engine::Interpreter);
    prepare(&switch.pipeline);
    let memory = switch.pipeline.table_memory();
    let names: Vec<_> = memory
        .iter()
        .map(|table| (table.table.as_str(), table.entries))
        .collect();
    assert_eq!(names, [("I.t", 1), ("I.u", 1)]);
    assert!(memory.iter().all(|table| table.bytes > 0));
}

/// A table to which packets add entries.
const LEARNS: &str = "action I.pass() = I.pass\naction I.open() = I.open\n\
    table I.flows {\n key h.a: bit<8> exact = h.a\n action I.pass\n action I.open default_only\n const default I.open()\n \
    size 8\n idle_timeout\n deletes_idle\n expire_seconds 5\n}\n\
    digest I.add receiver 0 entry I.flows -> 0 {\n a: bit<8>\n \"$profile\": bit<8>\n}\n\
    body I.pass action {\nblock0:\n sm.egress_spec = 9w0x2\n return\n}\n\
    body I.open action {\nblock0:\n digest(I.add, h.a, 8w0x0)\n return\n}";

#[test]
fn an_atomic_batch_that_fails_leaves_entries_to_the_packets_that_added_them() {
    let mut switch = Blocks {
        more: LEARNS,
        ingress: "apply I.flows -> block1\nblock1:\nreturn",
        ..Blocks::default()
    }
    .load();
    switch.receive(&[7, 9]);
    let pipeline = Arc::clone(&switch.pipeline);
    let change = |batch: &mut Batch<'_>| {
        let record = batch.record(TableId(0), &key(7), 0)?;
        batch.modify_record(TableId(0), &record.entry, record.idle)
    };
    let failed = pipeline.atomically(|batch| {
        change(batch)?;
        batch.delete_entry("I.flows", &key(8), 0)
    });
    assert!(matches!(failed, Err(ControlError::NotFound { .. })), "{failed:?}");
    assert_eq!(pipeline.learned().len(), 1);
    pipeline.atomically(change).unwrap();
    assert_eq!(pipeline.learned().len(), 0, "the entry is the controller's");
    switch.receive(&[8, 9]);
    assert_eq!(pipeline.learned().len(), 1);
    let learned = pipeline.entries("I.flows").unwrap().remove(1);
    pipeline.modify_entry("I.flows", &learned).unwrap();
    assert_eq!(pipeline.learned().len(), 0, "this one, too");
}
