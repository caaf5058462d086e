//! For packets of other workers, what a packet reads and then writes is one step.

use crate::common::{Blocks, Switch, bits};
use forebay_ir::{EntryMatch, Op};
use forebay_packet::Packet;
use forebay_pipeline::{Arrival, Engine, Entry, EntryAction, FastPath, Options, Worker};
use std::sync::Arc;

const PACKETS: u64 = 3000;
const WORKERS: u64 = 3;

/// A program with wide and narrow registers, and an action that counts in one.
fn program(ingress: &str) -> Blocks<'_> {
    Blocks {
        more: "slot I.wide: bit<100> local\nslot I.narrow: bit<32> local\nslot I.index: bit<8> local\n\
            register I.w: bit<100> size 4 initial 100w0x0\nregister I.n: bit<32> size 4 initial 32w0x0\n\
            register I.other: bit<32> size 4 initial 32w0x0\nslot I.time: bit<48> local\n\
            register I.times: bit<48> size 4 initial 48w0xfffffffffff0\n\
            action I.add(step: bit<32>) = I.add\n\
            body I.add action {\nblock0:\n I.narrow = register_read(I.n, h.a)\n I.narrow = I.narrow + $step\n \
            register_write(I.n, h.a, I.narrow)\n return\n}\n\
            table I.t {\n key h.a: bit<8> exact = h.a\n action I.add\n action NoAction\n default NoAction()\n size 8\n}",
        ingress,
        ..Blocks::default()
    }
}

/// Entries for the keys 0 and 1.
fn add_entries(switch: &Switch) {
    for key in [0, 1] {
        let entry = Entry {
            matches: vec![EntryMatch::Exact(bits(8, key))],
            priority: 0,
            action: EntryAction::call("add", vec![bits(32, 1)]),
        };
        switch.pipeline.insert_entry("I.t", &entry).unwrap();
    }
}

/// Sends packets with keys 0 and 1 alternately through all workers at the same time.
fn contend(ingress: &str, engine: Engine) -> Switch {
    let options = Options {
        engine,
        ..Options::default()
    };
    let switch = program(ingress).load_with(options);
    let pipeline = &switch.pipeline;
    add_entries(&switch);
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                let mut switch = Switch {
                    worker: Worker::new(Arc::clone(pipeline)),
                    pipeline: Arc::clone(pipeline),
                };
                for packet in 0..PACKETS {
                    switch.receive(&[packet as u8 % 2, 0]);
                }
            });
        }
    });
    switch
}

fn registers(switch: &Switch, name: &str) -> [u64; 2] {
    [0, 1].map(|index| switch.pipeline.read_register(name, index).unwrap().to_u64())
}

/// Reads, adds and writes, in one block and in several.
const COUNT: &str =
    "I.wide = register_read(I.w, h.a)\nI.wide = I.wide + 100w0x1\nregister_write(I.w, h.a, I.wide)\nreturn";
/// The same with a lock in the element, in one block. Some packets use an element that does not exist.
const COUNT_BY_ELEMENT: &str = "I.time = register_read(I.times, h.a)\nI.time = I.time + 48w0x1\nregister_write(I.times, h.a, I.time)\njump block1\n\
    block1:\nI.index = h.a + 8w0x3\nI.narrow = register_read(I.n, I.index)\nI.narrow = I.narrow + 32w0x1\n\
    register_write(I.n, I.index, I.narrow)\nreturn";
const COUNT_IN_BLOCKS: &str = "enter_atomic(0)\nI.wide = register_read(I.w, h.a)\n\
    branch I.wide == 100w0x0, block1, block2\n\
    block1:\nregister_write(I.w, h.a, 100w0x1)\njump block3\n\
    block2:\nregister_write(I.w, h.a, I.wide + 100w0x1)\njump block3\n\
    block3:\nleave_atomic\nsm.egress_spec = 9w0x1\nreturn";

#[test]
fn nothing_is_lost_in_a_block_or_a_marked_section() {
    for engine in [Engine::Interpreter, Engine::Jit] {
        for ingress in [COUNT, COUNT_IN_BLOCKS] {
            let switch = contend(ingress, engine);
            assert_eq!(registers(&switch, "I.w"), [WORKERS * PACKETS / 2; 2], "{ingress}");
        }
    }
}

#[test]
fn nothing_is_lost_where_elements_have_the_locks() {
    for engine in [Engine::Interpreter, Engine::Jit] {
        let switch = contend(COUNT_BY_ELEMENT, engine);
        let times = registers(&switch, "I.times");
        assert_eq!(
            times,
            [WORKERS * PACKETS / 2 - 16; 2],
            "it passes zero, and the lock is no part of it"
        );
        assert_eq!(
            switch.pipeline.read_register("I.n", 3).unwrap().to_u64(),
            WORKERS * PACKETS / 2
        );
    }
}

#[test]
fn nothing_is_lost_in_an_action() {
    for engine in [Engine::Interpreter, Engine::Jit] {
        let switch = contend("apply I.t -> block1\nblock1:\nreturn", engine);
        assert_eq!(registers(&switch, "I.n"), [WORKERS * PACKETS / 2; 2]);
    }
}

/// A reader in a section always sees the same value in the action's counter and in another one.
const COUNT_WITH_ACTION: &str = "enter_atomic(0)\napply I.t -> block1\nblock1:\nI.narrow = register_read(I.n, h.a)\n\
    I.wide = register_read(I.w, h.a)\n\
    assert((I.wide + 100w0x1) == zext(100, I.narrow), \"both\")\n\
    register_write(I.w, h.a, I.wide + 100w0x1)\nleave_atomic\nreturn";

#[test]
fn an_action_in_a_marked_section_is_part_of_it() {
    for engine in [Engine::Interpreter, Engine::Jit] {
        let switch = contend(COUNT_WITH_ACTION, engine);
        assert_eq!(registers(&switch, "I.n"), [WORKERS * PACKETS / 2; 2]);
        assert_eq!(registers(&switch, "I.w"), [WORKERS * PACKETS / 2; 2]);
    }
}

#[test]
fn an_action_in_a_marked_section_is_part_of_it_on_the_fast_path() {
    let switch = program(COUNT_WITH_ACTION).load_with(Options {
        engine: Engine::Jit,
        fast_path: FastPath::BeforePackets,
        ..Options::default()
    });
    assert!(switch.worker.has_fast_path());
    add_entries(&switch);
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                let mut worker = Worker::new(Arc::clone(&switch.pipeline));
                for _ in 0..PACKETS / 10 {
                    let packet = |first: u8| Packet::from_bytes(&[first % 2, 0]);
                    let mut packets: Vec<Packet> = (0..10).map(packet).collect();
                    worker.pass(&mut packets, Arrival::default(), 0, &mut Vec::new());
                }
            });
        }
    });
    assert_eq!(registers(&switch, "I.n"), [WORKERS * PACKETS / 2; 2]);
    assert_eq!(registers(&switch, "I.w"), [WORKERS * PACKETS / 2; 2]);
}

/// A section that a `return` leaves early, or that an assertion ends, is over.
#[test]
fn a_section_that_is_left_early_is_over() {
    let ingress = "enter_atomic(0)\nI.wide = register_read(I.w, h.a)\nregister_write(I.w, h.a, I.wide + 100w0x1)\n\
        branch h.a == 8w0x0, block1, block2\n\
        block1:\nreturn\nblock2:\nassert(h.a == 8w0x0, \"never\")\nleave_atomic\nreturn";
    for engine in [Engine::Interpreter, Engine::Jit] {
        let switch = contend(ingress, engine);
        assert_eq!(registers(&switch, "I.w"), [WORKERS * PACKETS / 2; 2]);
    }
}

/// The control plane adds while packets add.
#[test]
fn the_control_plane_writes_between_sections() {
    let switch = program(COUNT).load();
    let pipeline = &switch.pipeline;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut switch = Switch {
                worker: Worker::new(Arc::clone(pipeline)),
                pipeline: Arc::clone(pipeline),
            };
            for _ in 0..PACKETS {
                switch.receive(&[0, 0]);
            }
        });
        // All bits of an element change at once, so a half-written value would be neither.
        for _ in 0..200 {
            pipeline.write_register("I.w", 0, &bits(100, u128::MAX >> 28)).unwrap();
            let seen = pipeline.read_register("I.w", 0).unwrap().to_u128();
            assert!(seen == u128::MAX >> 28 || seen < u128::from(PACKETS), "{seen:x}");
        }
    });
}

/// The control plane reads elements that machine code writes in two pieces.
#[test]
fn the_control_plane_reads_no_halves() {
    let ingress = "I.time = register_read(I.times, h.a)\nI.time = I.time + 48w0x100000001\n\
        register_write(I.times, h.a, I.time)\nreturn";
    let options = Options {
        engine: Engine::Jit,
        ..Options::default()
    };
    let switch = program(ingress).load_with(options);
    let pipeline = &switch.pipeline;
    pipeline.write_register("I.times", 0, &bits(48, 0)).unwrap();
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let mut switch = Switch {
                worker: Worker::new(Arc::clone(pipeline)),
                pipeline: Arc::clone(pipeline),
            };
            for _ in 0..PACKETS {
                switch.receive(&[0, 0]);
            }
        });
        while !worker.is_finished() {
            let seen = pipeline.read_register("I.times", 0).unwrap().to_u64();
            assert_eq!(seen >> 32, seen & 0xffff);
        }
    });
}

/// The locks of all sections of a program: number, and whether packets with different indices exclude each other.
fn locks(ingress: &str) -> Vec<(u32, bool)> {
    let switch = program(ingress).load();
    let statements = switch.pipeline.program().statements();
    statements
        .filter_map(|statement| match &statement.op {
            Op::EnterAtomic { lock, index } => Some((*lock, index.is_none())),
            _ => None,
        })
        .collect()
}

#[test]
fn sections_are_told_apart_by_register_and_index() {
    // The action's own section comes first: it uses another register.
    let locks_of = |ingress| locks(ingress)[1..].to_vec();
    let action = |ingress| locks(ingress)[0];
    assert_eq!((action(COUNT).1, locks_of(COUNT)), (false, vec![(1, false)]));
    assert_eq!(locks_of(COUNT_IN_BLOCKS), [(1, false)]);
    let two_indices = "I.wide = register_read(I.w, h.a)\nregister_write(I.w, h.b, I.wide)\nreturn";
    assert_eq!(locks_of(two_indices), [(1, true)]);
    let index_changes = "I.wide = register_read(I.w, h.a)\nh.a = 8w0x1\nregister_write(I.w, h.a, I.wide)\nreturn";
    assert_eq!(locks_of(index_changes), [(1, true)]);
    let joined = "I.wide = register_read(I.w, h.a)\nregister_write(I.other, h.a, 32w0x1)\njump block1\n\
        block1:\nregister_write(I.other, h.b, 32w0x1)\nreturn";
    assert_eq!(
        locks_of(joined),
        [(3, false), (3, false)],
        "the one whose elements have locks"
    );
    let nothing = "enter_atomic(0)\nh.a = 8w0x1\nleave_atomic\nreturn";
    assert_eq!(locks_of(nothing), []);
}
