//! The control plane inserts, modifies and deletes entries of every kind while workers look them up.
//!
//! Every packet must see the entry as it was before a write or as it is after it: keys that are never written always
//! hit or always miss, whatever else happens, and the two halves of a hit's data belong to one entry. The memory at
//! the end is that of the beginning.
//!
//! `cargo test` makes some thousand writes of each kind. For a million:
//!
//! ```text
//! FOREBAY_STRESS_WRITES=1000000 cargo test -p forebay-pipeline --release --test pipeline stress -- --nocapture --test-threads 1
//! ```

use crate::common::{Blocks, Switch, bits};
use forebay_ir::EntryMatch;
use forebay_packet::SplitMix64;
use forebay_pipeline::{Engine, Entry, EntryAction, Options, Pipeline, Worker};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// By reader: whether it keeps its tables pinned all the time.
const READERS: [bool; 2] = [false, true];
/// Keys in the packets; a quarter always hits, a quarter never does.
const KEYS: u64 = 4096;
/// The most entries of the table.
const SIZE: usize = 4096;
/// The number of versions of an entry's data.
const VERSIONS: u64 = 4;

/// What a test of one match kind needs.
struct Kind {
    name: &'static str,
    /// The table's keys, and what follows its list of actions.
    keys: &'static str,
    rest: &'static str,
    /// The condition that only this key meets.
    matches: fn(u64) -> Vec<EntryMatch>,
    /// Whether entries name groups.
    groups: bool,
}

fn writes() -> u64 {
    let given = std::env::var("FOREBAY_STRESS_WRITES").ok();
    given.map_or(8_000, |number| number.parse().expect("a number"))
}

/// Packets carry the key in `added.x`. A hit sets a port and a mark, both of which depend on key and version.
fn switch(kind: &Kind, engine: Engine) -> Switch {
    let more = format!(
        "table I.t {{\n {}\n action I.forward\n action NoAction\n default NoAction()\n size {SIZE}\n {}",
        kind.keys, kind.rest
    );
    Blocks {
        more: &more,
        parser: "extract added\nextract h\nreturn",
        ingress: "apply I.t -> block1\nblock1:\nreturn",
        ..Blocks::default()
    }
    .load_with(Options {
        engine,
        ..Options::default()
    })
}

fn port(key: u64, version: u64) -> u64 {
    1 + (key % 100) * VERSIONS + version
}

fn mark(key: u64, version: u64) -> u64 {
    (key * 31 + version * 77 + 1) & 0xFF
}

fn data(key: u64, version: u64) -> Vec<forebay_bits::Bits> {
    vec![bits(9, port(key, version).into()), bits(8, mark(key, version).into())]
}

/// Each version of a key is a member of the profile, and a group with one member; both have this number.
fn member(key: u64, version: u64) -> u32 {
    (key % 100 * VERSIONS + version) as u32
}

fn entry(kind: &Kind, key: u64, version: u64) -> Entry {
    Entry {
        matches: (kind.matches)(key),
        priority: 5,
        action: if kind.groups {
            EntryAction::Group(member(key, version))
        } else {
            EntryAction::call("forward", data(key, version))
        },
    }
}

fn is_constant(key: u64) -> bool {
    key.is_multiple_of(2)
}

fn always_hits(key: u64) -> bool {
    key.is_multiple_of(4)
}

/// Checks the result for a packet with this key against the writes of this test.
fn check(kind: &Kind, key: u64, port_seen: u32, mark_seen: u8) {
    let hit = port_seen != 0;
    let version = u64::from(port_seen).wrapping_sub(1) % VERSIONS;
    let is_whole = |version| u64::from(port_seen) == port(key, version);
    // Entries of a profile share members, and therefore marks.
    let marked = if kind.groups { key % 100 } else { key };
    let legal = if hit {
        is_whole(version) && u64::from(mark_seen) == mark(marked, version) && (!is_constant(key) || always_hits(key))
    } else {
        mark_seen == 0 && !always_hits(key)
    };
    assert!(
        legal,
        "{}: key {key} went to port {port_seen} with mark {mark_seen}",
        kind.name
    );
}

struct Reading {
    packets: AtomicU64,
    done: AtomicBool,
}

fn read(kind: &Kind, pipeline: &Arc<Pipeline>, stays_pinned: bool, seed: u64, reading: &Reading) {
    let mut switch = Switch {
        worker: Worker::new(Arc::clone(pipeline)),
        pipeline: Arc::clone(pipeline),
    };
    switch.worker.stay_pinned(stays_pinned);
    let mut random = SplitMix64::new(seed);
    while !reading.done.load(Ordering::Relaxed) {
        let key = random.next_u64() % KEYS;
        let frame = [&address(key).to_be_bytes()[..], &[0, 0]].concat();
        let (port, bytes) = switch.send(&frame).pop().expect("every packet leaves");
        reading.packets.fetch_add(1, Ordering::Relaxed);
        check(kind, key, port, bytes[9]);
    }
}

/// The 64-bit address of a key, spread so that prefixes and masks differ in many bits.
fn address(key: u64) -> u64 {
    key << 40 | (key & 0xFF) << 8 | 7
}

/// Inserts, modifies and deletes entries of odd keys, and finally deletes all of them.
fn write(kind: &Kind, pipeline: &Pipeline, writes: u64, random: &mut SplitMix64) {
    let mut present = vec![false; KEYS as usize];
    for _ in 0..writes {
        let key = (random.next_u64() % KEYS) | 1;
        let entry = entry(kind, key, random.next_u64() % VERSIONS);
        let is_present = &mut present[key as usize];
        if *is_present && random.next_u64().is_multiple_of(4) {
            pipeline.modify_entry("I.t", &entry).unwrap();
            continue;
        }
        if *is_present {
            pipeline.delete_entry("I.t", &entry.matches, entry.priority).unwrap()
        } else {
            pipeline.insert_entry("I.t", &entry).unwrap()
        }
        *is_present = !*is_present;
    }
    for (key, present) in (0..).zip(present) {
        if present {
            pipeline.delete_entry("I.t", &(kind.matches)(key), 5).unwrap();
        }
    }
}

fn prepare(kind: &Kind, pipeline: &Pipeline) {
    for key in 0..if kind.groups { 100 } else { 0 } {
        for version in 0..VERSIONS {
            let member = member(key, version);
            pipeline
                .insert_member("I.ap", member, "forward", &data(key, version))
                .unwrap();
            pipeline.insert_group("I.ap", member, &[(member, 1)]).unwrap();
        }
    }
    for key in (0..KEYS).filter(|&key| always_hits(key)) {
        pipeline.insert_entry("I.t", &entry(kind, key, key % VERSIONS)).unwrap();
    }
}

fn stress(kind: &Kind, engine: Engine) {
    let pipeline = switch(kind, engine).pipeline;
    prepare(kind, &pipeline);
    let reading = Reading {
        packets: AtomicU64::new(0),
        done: AtomicBool::new(false),
    };
    let writes = writes();
    let bytes = || pipeline.table_memory()[0].bytes;
    let mut sizes = vec![bytes()];
    let mut random = SplitMix64::new(7);
    let start = Instant::now();
    std::thread::scope(|scope| {
        let readers = READERS.map(|stays_pinned| {
            let (reading, pipeline, seed) = (&reading, &pipeline, random.next_u64());
            scope.spawn(move || read(kind, pipeline, stays_pinned, seed, reading))
        });
        // On a busy machine, readers may start only after everything is written. A reader that has ended has failed.
        while reading.packets.load(Ordering::Relaxed) == 0 && !readers.iter().any(|reader| reader.is_finished()) {
            std::thread::yield_now();
        }
        for _ in 0..2 {
            write(kind, &pipeline, writes / 2, &mut random);
            sizes.push(bytes());
        }
        reading.done.store(true, Ordering::Relaxed);
    });
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{} ({engine:?}): {writes} writes in {seconds:.1} s beside {} packets; bytes of the table at first, after half of \
         the writes and at last: {sizes:?}",
        kind.name,
        reading.packets.load(Ordering::Relaxed),
    );
    // Memory for as many entries as the table may hold is kept, however many writes there were.
    assert!(sizes[2] <= sizes[0] + SIZE * 128, "memory is kept: {sizes:?}");
}

fn both_engines(kind: &Kind) {
    stress(kind, Engine::Interpreter);
    stress(kind, Engine::Jit);
}

fn exact(key: u64) -> Vec<EntryMatch> {
    vec![EntryMatch::Exact(bits(64, address(key).into()))]
}

#[test]
fn exact_entries() {
    both_engines(&Kind {
        name: "exact",
        keys: "key added.x: bit<64> exact = added.x",
        rest: "}",
        matches: exact,
        groups: false,
    });
}

#[test]
fn prefixes() {
    both_engines(&Kind {
        name: "lpm",
        keys: "key added.x: bit<64> lpm = added.x",
        rest: "}",
        matches: |key| {
            let prefix_length = [24u32, 40, 56, 64][(key >> 1) as usize % 4];
            let value = bits(64, address(key).into())
                .shr(u64::from(64 - prefix_length))
                .shl(u64::from(64 - prefix_length));
            vec![EntryMatch::Lpm { value, prefix_length }]
        },
        groups: false,
    });
}

#[test]
fn ternary_entries() {
    both_engines(&Kind {
        name: "ternary",
        keys: "key added.x: bit<64> ternary = added.x",
        rest: "}",
        matches: |key| {
            let mask = bits(64, 0xFFF << 40 | u128::from(key % 61) << 8 | 7);
            let value = bits(64, address(key).into()).and(&mask);
            vec![EntryMatch::Ternary { value, mask }]
        },
        groups: false,
    });
}

#[test]
fn ranges() {
    both_engines(&Kind {
        name: "range",
        keys: "key added.x: bit<64> range = added.x",
        rest: "}",
        matches: |key| {
            let low = bits(64, (address(key) - key % 7).into());
            let high = bits(64, (address(key) + key % 1000).into());
            vec![EntryMatch::Range { low, high }]
        },
        groups: false,
    });
}

#[test]
fn selectors() {
    both_engines(&Kind {
        name: "selector",
        keys: "key added.x: bit<64> exact = added.x\n key h.a: bit<8> selector = h.a",
        rest: "implementation I.ap\n}\naction_profile I.ap size 1024 selector identity width 8",
        matches: exact,
        groups: true,
    });
}
