//! Programs that do not read packets: all packets of a port have the same verdict until something is written.

use crate::common::{Blocks, Switch, bits};
use forebay_ir::EntryMatch;
use forebay_packet::Packet;
use forebay_pipeline::{
    Arrival, CounterValue, DropReason, Engine, Entry, EntryAction, FastPath, Options, PacketVerdict, Pipeline, Worker,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const TABLE: &str = "action I.to(port: bit<9>) = I.to\nbody I.to action {\nblock0:\n sm.egress_spec = $port\n return\n}\n\
    table I.t {\n key sm.ingress_port: bit<9> exact = sm.ingress_port\n action I.to\n action I.drop\n action NoAction\n \
    default I.drop()\n size 512\n";
const APPLY: &str = "apply I.t -> block1\nblock1:\nreturn";

fn switch(table: &str, ingress: &str) -> Switch {
    let switch = Blocks {
        more: &format!("{TABLE}{table}"),
        parser: "return",
        ingress,
        deparser: "return",
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

/// The port by which packets leave that arrive at a port.
fn pass(worker: &mut Worker, ingress_port: u32, timestamp_us: u64, packets: usize) -> Option<u32> {
    let mut packets = vec![Packet::from_bytes(&[1, 2, 3]); packets];
    let arrival = Arrival {
        ingress_port,
        timestamp_us,
        ..Arrival::default()
    };
    let mut verdicts = Vec::new();
    match worker.pass(&mut packets, arrival, 0, &mut verdicts) {
        Some(leaving) => {
            assert_eq!((leaving.packets, verdicts.len()), (packets.len(), 0));
            Some(leaving.port)
        }
        None => {
            let verdicts: Vec<_> = verdicts.iter().map(|run| (run.verdict, run.packets)).collect();
            assert_eq!(
                verdicts,
                [(PacketVerdict::Drop(DropReason::IngressDrop), packets.len())]
            );
            None
        }
    }
}

fn entry(from: u32, to: u32) -> Entry {
    Entry {
        matches: vec![EntryMatch::Exact(bits(9, from.into()))],
        priority: 0,
        action: EntryAction::call("to", vec![bits(9, to.into())]),
    }
}

#[test]
fn what_is_written_is_met_by_the_next_packets() {
    let Switch { mut worker, pipeline } = switch("}", APPLY);
    for stays_pinned in [false, true] {
        worker.stay_pinned(stays_pinned);
        let mut meet = |expected: [Option<u32>; 2]| {
            // The second time nothing has changed.
            for _ in 0..2 {
                assert_eq!([3, 3 + 64].map(|port| pass(&mut worker, port, 0, 5)), expected);
            }
        };
        meet([None, None]);
        pipeline.insert_entry("I.t", &entry(3, 7)).unwrap();
        meet([Some(7), None]);
        pipeline.insert_entry("I.t", &entry(3 + 64, 8)).unwrap();
        meet([Some(7), Some(8)]);
        pipeline.modify_entry("I.t", &entry(3, 9)).unwrap();
        meet([Some(9), Some(8)]);
        pipeline.delete_entry("I.t", &entry(3 + 64, 8).matches, 0).unwrap();
        pipeline.delete_entry("I.t", &entry(3, 9).matches, 0).unwrap();
        meet([None, None]);
        pipeline.set_default_action("I.t", "to", &[bits(9, 2)]).unwrap();
        meet([Some(2), Some(2)]);
        pipeline.reset_default_action("I.t").unwrap();
        meet([None, None]);
    }
}

#[test]
fn a_packet_that_is_too_long_does_not_leave() {
    let Switch { mut worker, pipeline } = switch("}", APPLY);
    pipeline.insert_entry("I.t", &entry(3, 7)).unwrap();
    assert_eq!(pass(&mut worker, 3, 0, 1), Some(7));
    let too_long = vec![0; Options::default().packet_limit as usize + 1];
    let mut packets = [Packet::from_bytes(&[1]), Packet::from_bytes(&too_long)];
    let arrival = Arrival {
        ingress_port: 3,
        ..Arrival::default()
    };
    let mut verdicts = Vec::new();
    assert_eq!(worker.pass(&mut packets, arrival, 0, &mut verdicts), None);
    let sent: Vec<_> = verdicts.iter().map(|run| (run.verdict, run.packets)).collect();
    assert_eq!(
        sent,
        [
            (PacketVerdict::Transmit(7), 1),
            (PacketVerdict::Drop(DropReason::PacketTooLong), 1)
        ]
    );
}

#[test]
fn what_depends_on_the_time_is_found_out_for_each_burst() {
    let ingress = "sm.egress_spec = sm.ingress_global_timestamp[8:0]\nreturn";
    let mut worker = switch("}", ingress).worker;
    for time in [1, 1, 5, 6, 6, 1] {
        assert_eq!(pass(&mut worker, 3, time, 4), Some(time as u32));
    }
}

#[test]
fn every_packet_is_counted() {
    let Switch { mut worker, pipeline } =
        switch("direct_counter I.dc\n}\ncounter I.dc packets_and_bytes direct", APPLY);
    pipeline.insert_entry("I.t", &entry(3, 7)).unwrap();
    for _ in 0..10 {
        assert_eq!(pass(&mut worker, 3, 0, 5), Some(7));
    }
    let counted = pipeline.read_direct_counter("I.t", &entry(3, 7).matches, 0).unwrap();
    assert_eq!(
        counted,
        CounterValue {
            packets: 50,
            bytes: 150
        }
    );
}

/// Modifies the entry while packets pass, with workers that stay pinned. Packets see what had been written when the
/// burst began, or something written later.
#[test]
fn no_burst_goes_where_an_entry_led_before_it_was_modified() {
    const WRITES: u32 = 400;
    let pipeline: Arc<Pipeline> = switch("}", APPLY).pipeline;
    pipeline.insert_entry("I.t", &entry(3, 0)).unwrap();
    let (begun, ended) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let mut worker = Worker::new(Arc::clone(&pipeline));
            let (begun, ended) = (&begun, &ended);
            scope.spawn(move || {
                worker.stay_pinned(true);
                let mut before = 0;
                while before < WRITES {
                    before = ended.load(Ordering::SeqCst);
                    let port = pass(&mut worker, 3, 0, 4).expect("the entry always leads somewhere");
                    let after = begun.load(Ordering::SeqCst);
                    assert!((before..=after).contains(&port), "{port} between {before} and {after}");
                }
            });
        }
        for write in 1..=WRITES {
            begun.store(write, Ordering::SeqCst);
            match write % 3 {
                // This write waits for all workers.
                0 => pipeline.atomically(|batch| batch.modify_entry("I.t", &entry(3, write))),
                _ => pipeline.modify_entry("I.t", &entry(3, write)),
            }
            .unwrap();
            ended.store(write, Ordering::SeqCst);
        }
    });
}
