//! P4QRS under overload and with faults on its recirculation ports: what leaves is right nevertheless, every byte of
//! it.

use forebay_chip::{
    Books, ChipConfig, ChipSpec, FaultSpec, Loss, Network, Observer, Picos, Place, PortConfig, ProgramDrop,
    QueueConfig, Service,
};
use forebay_driver::FileSources;
use forebay_entries::Controller;
use forebay_packet::SplitMix64;
use forebay_pipeline::{DropReason, Pipeline};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const COMMANDS: &str = "add units ingress_port:0 join_unit(number:0, recirculation_port_0:1, recirculation_port_1:2, output_port:3)\n\
                        mirroring_add 1001 1 114\nmirroring_add 1002 2 114\n";

/// Flows that take turns.
const FLOWS: u64 = 7;

/// Headers are cut to this; all packets are longer.
const HEADER_BYTES: u32 = 114;

fn pipeline(keeps_order: bool) -> Arc<Pipeline> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../programs/p4qrs/p4qrs.p4");
    let defines = [
        "RECIRCULATIONS=4".to_string(),
        format!("KEEP_ORDER={}", u8::from(keeps_order)),
    ];
    let options = forebay_driver::Options {
        provider: &FileSources::new(),
        include_paths: &[],
        defines: &defines,
    };
    let program = forebay_driver::compile(path, &options).program.expect("it compiles");
    let pipeline = Arc::new(Pipeline::load_with(program, forebay_pipeline::Options::default()).expect("it loads"));
    let mut controller = Controller::new(Arc::clone(&pipeline));
    for command in forebay_entries::parse(COMMANDS).expect("commands").commands {
        assert_eq!(controller.apply(&command.value), forebay_entries::Applied::Done);
    }
    pipeline
}

/// Packet `tag`: IPv4 and UDP of one of the flows, any content.
fn frame(tag: u64) -> Vec<u8> {
    let mut random = SplitMix64::new(tag);
    let length = 150 + (random.next_u64() % 500) as usize;
    let mut bytes: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
    bytes[12..16].copy_from_slice(&[8, 0, 0x45, 0]);
    bytes[16..18].copy_from_slice(&((length - 14) as u16).to_be_bytes());
    bytes[20..26].copy_from_slice(&[0, 0, 64, 17, 0, 0]);
    bytes[26..34].copy_from_slice(&[10, 0, 1, (tag % FLOWS) as u8, 10, 0, 2, 2]);
    bytes[34..38].copy_from_slice(&[1, 2, 3, 4]);
    bytes
}

/// What leaves, and what is lost or dropped.
#[derive(Default)]
struct Record {
    left: Vec<(u64, Vec<u8>)>,
    lost: Vec<Loss>,
    dropped: BTreeMap<DropReason, u64>,
}

impl Observer for Record {
    fn departed(&mut self, _place: Place, frame: &[u8], tag: u64, _time: Picos) {
        self.left.push((tag, frame.to_vec()));
    }

    fn lost(&mut self, _place: Place, loss: Loss, _tag: u64, _time: Picos) {
        self.lost.push(loss);
    }

    fn dropped(&mut self, _place: Place, drop: ProgramDrop, _tag: u64, _time: Picos) {
        *self.dropped.entry(drop.reason).or_default() += 1;
    }
}

/// A run to its end.
struct Outcome {
    record: Record,
    books: Books,
    /// The program's counter: merged, expired, unfit, late.
    outcomes: [u64; 4],
}

/// What is offered, and to what.
#[derive(Clone, Copy)]
struct Load {
    keeps_order: bool,
    packets: u64,
    gap: Picos,
    queue_bytes: u64,
}

const CALM: Load = Load {
    keeps_order: false,
    packets: 2_000,
    gap: 200_000,
    queue_bytes: 100_000,
};

fn run(load: Load, fault: Option<&FaultSpec>) -> Outcome {
    let queue = QueueConfig {
        service: Service::Quantum(1_500),
        capacity_bytes: load.queue_bytes,
    };
    let loopback = |number| PortConfig {
        number,
        loopback: true,
        queues: vec![queue, queue],
        ..PortConfig::default()
    };
    let mut network = Network::new();
    let chip = ChipConfig {
        spec: ChipSpec::known("tofino").expect("a known chip"),
        pipeline: pipeline(load.keeps_order),
        ports: vec![loopback(1), loopback(2)],
        of_other_pipes: Vec::new(),
        alike: 1,
        pfc: None,
        seed: 1,
    };
    network.add_chip(chip).expect("ports exist");
    for (port, fault) in [1, 2].into_iter().zip(fault.into_iter().chain(fault)) {
        network
            .add_fault(Place { chip: 0, port }, fault)
            .expect("the port exists");
    }
    let mut record = Record::default();
    for tag in 0..load.packets {
        network.advance(network.now() + load.gap, &mut record);
        network.arrive(Place { chip: 0, port: 0 }, &frame(tag), tag, &mut record);
    }
    network.settle(Picos::MAX, &mut record);
    network.audit().expect("the books balance");
    let name = &network.pipeline(0).program().counters[0].name;
    let outcome = |index| {
        network
            .pipeline(0)
            .read_counter(name, index)
            .expect("it exists")
            .packets
    };
    Outcome {
        record,
        books: network.books(0).clone(),
        outcomes: [0, 1, 2, 3].map(outcome),
    }
}

/// What leaves when nothing goes wrong, by packet.
fn expected() -> BTreeMap<u64, Vec<u8>> {
    let calm = run(CALM, None);
    assert_eq!(calm.record.left.len() as u64, CALM.packets);
    calm.record.left.into_iter().collect()
}

/// Every packet that left is what it should be, none left twice, and nothing is still inside; which did not leave.
fn check(outcome: &Outcome, expected: &BTreeMap<u64, Vec<u8>>) -> BTreeSet<u64> {
    let mut missing: BTreeSet<u64> = expected.keys().copied().collect();
    for (tag, frame) in &outcome.record.left {
        assert_eq!(expected.get(tag), Some(frame), "packet {tag} is wrong");
        assert!(missing.remove(tag), "packet {tag} left twice");
    }
    assert_eq!(outcome.books.inside(), 0, "nothing stays");
    assert_eq!(outcome.outcomes[0], outcome.record.left.len() as u64);
    missing
}

#[test]
fn a_rendezvous_is_never_wrong_under_overload() {
    let expected = expected();
    for keeps_order in [false, true] {
        let load = Load {
            keeps_order,
            gap: 50_000,
            queue_bytes: 3_000,
            ..CALM
        };
        let overloaded = run(load, None);
        let lost = overloaded
            .record
            .lost
            .iter()
            .filter(|loss| **loss == Loss::QueueFull)
            .count();
        assert!(lost > 20, "the load is too much: {lost}");
        let missing = check(&overloaded, &expected);
        assert!((20..1_990).contains(&missing.len()), "{}", missing.len());
    }
}

const NO_FAULT: FaultSpec = FaultSpec {
    bytes: (0, u32::MAX),
    loss: 0.0,
    duplication: 0.0,
    delay: 0.0,
    delay_ps: 3_000_000,
    seed: 7,
};

/// Headers and payloads by their lengths.
const KINDS: [(&str, (u32, u32)); 2] = [("header", (0, HEADER_BYTES)), ("payload", (HEADER_BYTES + 1, u32::MAX))];

#[test]
fn lost_headers_and_payloads_do_no_harm_to_others() {
    let expected = expected();
    for (kind, bytes) in KINDS {
        let fault = FaultSpec {
            bytes,
            loss: 0.02,
            ..NO_FAULT
        };
        let outcome = run(CALM, Some(&fault));
        let missing = check(&outcome, &expected).len();
        assert_eq!(
            missing,
            outcome.record.lost.len(),
            "each lost {kind} costs its packet alone"
        );
        assert!(missing > 50, "{kind}: {missing}");
        let expired = if kind == "header" { missing as u64 } else { 0 };
        assert_eq!(outcome.outcomes, [2_000 - missing as u64, expired, 0, 0], "{kind}");
    }
}

#[test]
fn headers_and_payloads_that_come_twice_are_merged_once() {
    let expected = expected();
    for (kind, bytes) in KINDS {
        let fault = FaultSpec {
            bytes,
            duplication: 0.02,
            ..NO_FAULT
        };
        let outcome = run(CALM, Some(&fault));
        let copies = outcome.books.copies - 2_000;
        assert!(copies > 50, "{kind}: {copies}");
        let merged_twice = run_twice(&outcome, &expected);
        // A second payload finds nothing and ends; a second header leaves again what was taken already.
        let expired = if kind == "payload" { copies - merged_twice } else { 0 };
        assert_eq!(outcome.outcomes, [2_000 + merged_twice, expired, 0, 0], "{kind}");
    }
}

/// Merged packets are on the same wires once more: those that are doubled there leave twice, as from any wire that
/// doubles frames. All the same every byte is right.
fn run_twice(outcome: &Outcome, expected: &BTreeMap<u64, Vec<u8>>) -> u64 {
    let mut times: BTreeMap<u64, u64> = BTreeMap::new();
    for (tag, frame) in &outcome.record.left {
        assert_eq!(expected.get(tag), Some(frame), "packet {tag} is wrong");
        *times.entry(*tag).or_default() += 1;
    }
    assert_eq!(times.len(), expected.len(), "none is missing");
    assert_eq!(outcome.books.inside(), 0);
    outcome.record.left.len() as u64 - times.len() as u64
}

#[test]
fn headers_and_payloads_that_come_late_do_no_harm() {
    let expected = expected();
    for (kind, bytes) in KINDS {
        let fault = FaultSpec {
            bytes,
            delay: 0.02,
            ..NO_FAULT
        };
        let outcome = run(CALM, Some(&fault));
        let missing = check(&outcome, &expected).len() as u64;
        // A header that is later than LIMIT rounds of its payload finds it gone.
        assert_eq!(outcome.outcomes, [2_000 - missing, missing, 0, 0], "{kind}");
        assert!(missing < 300, "{kind}: {missing}");
        let order: Vec<u64> = outcome.record.left.iter().map(|(tag, _)| *tag).collect();
        assert!(!order.is_sorted(), "some {kind} was overtaken");
    }
}

/// Packets of a flow leave in the order in which they came, also when packets are lost, doubled or late.
#[test]
fn packets_of_a_flow_stay_in_order() {
    let expected = expected();
    let faults = [
        NO_FAULT,
        FaultSpec {
            loss: 0.002,
            ..NO_FAULT
        },
        FaultSpec {
            delay: 0.01,
            ..NO_FAULT
        },
        FaultSpec {
            duplication: 0.01,
            ..NO_FAULT
        },
    ];
    for fault in faults {
        let load = Load {
            keeps_order: true,
            gap: 1_000_000,
            ..CALM
        };
        let outcome = run(load, Some(&fault));
        let missing = check(&outcome, &expected);
        let mut last: BTreeMap<u64, u64> = BTreeMap::new();
        for (tag, _) in &outcome.record.left {
            let before = last.insert(tag % FLOWS, *tag);
            assert!(
                before.is_none_or(|before| before < *tag),
                "{tag} behind {before:?}: {fault:?}"
            );
        }
        if fault == NO_FAULT || fault.duplication > 0.0 {
            assert!(missing.is_empty(), "{missing:?}: {fault:?}");
        }
        assert!(missing.len() < 400, "{}: {fault:?}", missing.len());
    }
}
