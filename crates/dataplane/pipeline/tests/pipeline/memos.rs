//! A table whose records determine the key of the next table: machine code caches in them what it found there, and for
//! flows what it found in both. Whatever is written to either table, packets see the current contents of both.

use crate::common::{Blocks, Switch, bits};
use forebay_ir::EntryMatch;
use forebay_packet::{Packet, SplitMix64};
use forebay_pipeline::{
    Arrival, ControlError, Engine, Entry, EntryAction, FastPath, Options, PacketVerdict, Pipeline, Worker,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const TABLES: &str = "action I.lead(next: bit<16>) = I.lead\n\
    body I.lead action {\nblock0:\n kept = $next\n return\n}\n\
    table I.t {\n key h.a: bit<8> exact = h.a\n action I.lead\n action NoAction\n default NoAction()\n size 256\n}\n\
    table I.u {\n key kept: bit<16> exact = kept\n action I.forward\n action NoAction\n default NoAction()\n size 4096\n}";

fn switch() -> Switch {
    let switch = Blocks {
        more: TABLES,
        ingress: "apply I.t -> block1\nblock1:\napply I.u -> block2\nblock2:\nreturn",
        ..Blocks::default()
    }
    .load_with(Options {
        engine: Engine::Jit,
        fast_path: FastPath::BeforePackets,
        ..Options::default()
    });
    assert!(switch.worker.has_fast_path());
    switch
}

/// The ports by which packets with these first bytes leave, and their marks.
fn pass(worker: &mut Worker, firsts: &[u8]) -> Vec<(u32, u8)> {
    let mut packets: Vec<Packet> = firsts.iter().map(|first| Packet::from_bytes(&[*first, 0])).collect();
    let mut runs = Vec::new();
    let all = worker.pass(&mut packets, Arrival::default(), 0, &mut runs);
    let mut verdicts = all.map_or_else(Vec::new, |leaving| {
        vec![PacketVerdict::Transmit(leaving.port); leaving.packets]
    });
    verdicts.extend(runs.iter().flat_map(|run| vec![run.verdict; run.packets]));
    verdicts.resize(packets.len(), PacketVerdict::SlowPath);
    let left = packets.iter().zip(verdicts).map(|(packet, verdict)| match verdict {
        PacketVerdict::Transmit(port) => (port, packet.data()[1]),
        other => panic!("the packet leaves on the fast path: {other:?}"),
    });
    left.collect()
}

fn lead(first: u8, next: u16) -> Entry {
    Entry {
        matches: vec![EntryMatch::Exact(bits(8, first.into()))],
        priority: 0,
        action: EntryAction::call("lead", vec![bits(16, next.into())]),
    }
}

fn forward(key: u16, port: u16, mark: u8) -> Entry {
    Entry {
        matches: vec![EntryMatch::Exact(bits(16, key.into()))],
        priority: 0,
        action: EntryAction::call("forward", vec![bits(9, port.into()), bits(8, mark.into())]),
    }
}

/// The contents of the tables.
#[derive(Default)]
struct Model {
    leads: HashMap<u8, u16>,
    forwards: HashMap<u16, (u16, u8)>,
}

impl Model {
    fn outcome(&self, first: u8) -> (u32, u8) {
        let key = self.leads.get(&first).copied().unwrap_or(0);
        let (port, mark) = self.forwards.get(&key).copied().unwrap_or((0, 0));
        (port.into(), mark)
    }

    /// Makes a random write to both tables and to this model.
    fn write(&mut self, switch: &Switch, random: &mut SplitMix64) -> Result<(), ControlError> {
        let (pipeline, number) = (&switch.pipeline, random.next_u64());
        let (first, key) = ((number >> 8) as u8 % 8, (number >> 16) as u16 % 600);
        let (port, mark) = ((number >> 32) as u16 % 500, (number >> 48) as u8);
        match number % 8 {
            0 if self.leads.contains_key(&first) => {
                self.leads.insert(first, key);
                pipeline.modify_entry("I.t", &lead(first, key))
            }
            1 if self.leads.remove(&first).is_some() => pipeline.delete_entry("I.t", &lead(first, 0).matches, 0),
            0..=2 if !self.leads.contains_key(&first) => {
                self.leads.insert(first, key);
                pipeline.insert_entry("I.t", &lead(first, key))
            }
            3 if self.forwards.remove(&key).is_some() => pipeline.delete_entry("I.u", &forward(key, 0, 0).matches, 0),
            // A clone of the table is written, and replaces the current one.
            4 if self.forwards.insert(key, (port, mark)).is_some() => {
                pipeline.atomically(|batch| batch.modify_entry("I.u", &forward(key, port, mark)))
            }
            4 => pipeline.atomically(|batch| batch.insert_entry("I.u", &forward(key, port, mark))),
            _ if self.forwards.insert(key, (port, mark)).is_some() => {
                pipeline.modify_entry("I.u", &forward(key, port, mark))
            }
            _ => pipeline.insert_entry("I.u", &forward(key, port, mark)),
        }
    }
}

/// Makes the flow cache useless, until the worker stops using it.
fn tire(pipeline: &Pipeline, worker: &mut Worker) {
    for round in 0..600 {
        let written = match round % 2 {
            0 => pipeline.insert_entry("I.t", &lead(0, 0)),
            _ => pipeline.delete_entry("I.t", &lead(0, 0).matches, 0),
        };
        written.expect("the write suits the table");
        pass(worker, &[0, 1, 2, 3]);
    }
}

#[test]
fn packets_meet_what_stands_in_both_tables() {
    let (mut switch, mut model, mut random) = (switch(), Model::default(), SplitMix64::new(1));
    tire(&switch.pipeline, &mut switch.worker);
    for step in 0..6_000 {
        // Half of the time with flow caches, which are useful at first.
        if step >= 3_000 && step % 200 == 0 {
            switch.worker = Worker::new(Arc::clone(&switch.pipeline));
        }
        model.write(&switch, &mut random).expect("the write suits the tables");
        let firsts: Vec<u8> = (0..12).map(|_| random.next_u64() as u8 % 9).collect();
        let expected: Vec<_> = firsts.iter().map(|first| model.outcome(*first)).collect();
        // The second time from the cache.
        for _ in 0..2 {
            assert_eq!(pass(&mut switch.worker, &firsts), expected, "step {step}: {firsts:?}");
        }
    }
}

/// The data of a key's entry, in each of its two forms.
fn data(key: u16, form: u16) -> (u16, u8) {
    (1 + key % 200 * 2 + form, (key * 7 + form) as u8)
}

#[test]
fn no_memo_leads_to_what_never_stood_there() {
    nothing_is_found_that_never_stood_there(tire);
}

#[test]
fn no_flow_leads_to_what_never_stood_there() {
    nothing_is_found_that_never_stood_there(|_, _| ());
}

/// With workers that are prepared in this way.
fn nothing_is_found_that_never_stood_there(prepare: impl Fn(&Pipeline, &mut Worker) + Sync) {
    let switch = switch();
    let mut workers = [0, 1].map(|_| Worker::new(Arc::clone(&switch.pipeline)));
    workers.iter_mut().for_each(|worker| prepare(&switch.pipeline, worker));
    for first in 0..8u8 {
        switch.pipeline.insert_entry("I.t", &lead(first, first.into())).unwrap();
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for (seed, mut worker) in (0..).zip(workers) {
            let done = &done;
            scope.spawn(move || {
                // One of them keeps its tables pinned all the time.
                worker.stay_pinned(seed == 1);
                let mut random = SplitMix64::new(seed);
                while !done.load(Ordering::Relaxed) {
                    let firsts: Vec<u8> = (0..16).map(|_| random.next_u64() as u8 % 8).collect();
                    for (first, seen) in firsts.iter().zip(pass(&mut worker, &firsts)) {
                        let keys = [u16::from(*first), u16::from(*first) + 50];
                        let legal =
                            |key: u16| (0..2).any(|form| (u32::from(data(key, form).0), data(key, form).1) == seen);
                        assert!(seen == (0, 0) || keys.into_iter().any(legal), "{first} became {seen:?}");
                    }
                }
            });
        }
        let (mut random, mut present) = (SplitMix64::new(9), HashMap::new());
        for _ in 0..30_000 {
            let number = random.next_u64();
            let (first, key, form) = (
                (number >> 8) as u8 % 8,
                (number >> 16) as u16 % 300,
                (number >> 40) as u16 % 2,
            );
            let (port, mark) = data(key, form);
            let written = match number % 4 {
                0 => switch
                    .pipeline
                    .modify_entry("I.t", &lead(first, u16::from(first) + 50 * form)),
                1 if present.remove(&key).is_some() => {
                    switch.pipeline.delete_entry("I.u", &forward(key, 0, 0).matches, 0)
                }
                _ if present.insert(key, form).is_none() => {
                    switch.pipeline.insert_entry("I.u", &forward(key, port, mark))
                }
                // A clone of the table replaces the current one.
                _ if (number >> 48).is_multiple_of(32) => switch
                    .pipeline
                    .atomically(|batch| batch.modify_entry("I.u", &forward(key, port, mark))),
                _ => switch.pipeline.modify_entry("I.u", &forward(key, port, mark)),
            };
            written.expect("the write suits the tables");
        }
        done.store(true, Ordering::Relaxed);
    });
}
