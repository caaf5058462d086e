//! Whatever the chip, the program and the load: nothing is lost without a name, and the same inputs give the same
//! results.

use forebay_chip::{
    Books, ChipConfig, ChipSpec, Connection, FaultSpec, HostEvent, LinkSpec, Loss, Network, NoObserver, Observer,
    PfcConfig, Picos, Place, PortConfig, QueueConfig, Service, Stop,
};
use forebay_driver::FileSources;
use forebay_entries::Controller;
use forebay_ir::Program;
use forebay_packet::SplitMix64;
use forebay_pipeline::{Engine, Options, Pipeline};
use proptest::prelude::*;
use std::sync::{Arc, OnceLock};

/// A program of the repository with the commands that fill its tables.
#[derive(Clone, Copy, Debug)]
struct Subject {
    program: &'static str,
    defines: &'static [&'static str],
    commands: &'static str,
}

const SUBJECTS: &[Subject] = &[
    Subject {
        program: "iot_disaggregate",
        defines: &["N=4", "METHOD=1"],
        commands: "add ipv4_lpm ipv4.dst_addr:0x0A000000/8 to_next_hop(next_hop_id:7, port:2)\n\
                   add next_hops next_hop:7 set_macs(src_addr:1, dst_addr:2)\nmirroring_add 1002 2\n",
    },
    Subject {
        program: "iot_disaggregate",
        defines: &["N=4", "METHOD=2"],
        commands: "add ipv4_lpm ipv4.dst_addr:0x0A000000/8 to_next_hop(next_hop_id:7, port:2)\n\
                   add next_hops next_hop:7 set_macs(src_addr:1, dst_addr:2)\nmc_mgrp_create 1002\n\
                   mc_node_create 0 2\nmc_node_associate 1002 0\nmc_node_create 1 2\nmc_node_associate 1002 1\n\
                   mc_node_create 2 2\nmc_node_associate 1002 2\n",
    },
    Subject {
        program: "p4qrs",
        defines: &["RECIRCULATIONS=3"],
        commands: "add units ingress_port:0 join_unit(number:0, recirculation_port_0:1, recirculation_port_1:2, output_port:3)\n\
                   mirroring_add 1001 1 114\nmirroring_add 1002 2 114\n",
    },
    Subject {
        program: "iot_disaggregate",
        defines: &["N=2", "METHOD=1", "RESUBMISSIONS=2"],
        commands: "add ipv4_lpm ipv4.dst_addr:0x0A000000/8 to_next_hop(next_hop_id:7, port:2)\n\
                   add next_hops next_hop:7 set_macs(src_addr:1, dst_addr:2)\nmirroring_add 1002 2\n",
    },
];

/// Index of disaggregation as it was published, for two messages: resubmitted twice.
const PUBLISHED_ROUNDS: usize = 3;

/// Index of P4QRS, which recirculates.
const RENDEZVOUS: usize = 2;

/// Two messages of 16 bytes without a UDP checksum.
const N_PACKET: [u8; 80] = {
    let mut bytes = [0; 80];
    let head = [
        2, 0, 0, 0, 0, 0xfe, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 0x42, 0, 0, 0, 0, 0x40, 0x11, 0x63, 0xa9, 10, 0, 1, 1,
        10, 0, 2, 2, 0x0f, 0xa1, 0x23, 0x28, 0, 0x2e, 0, 0, 0xfc,
    ];
    let mut index = 0;
    while index < head.len() {
        bytes[index] = head[index];
        index += 1;
    }
    bytes
};

fn compiled(index: usize) -> Program {
    static PROGRAMS: OnceLock<Vec<Program>> = OnceLock::new();
    let all = PROGRAMS.get_or_init(|| SUBJECTS.iter().map(compile).collect());
    all[index].clone()
}

fn compile(subject: &Subject) -> Program {
    let path = format!(
        "{}/../../../programs/{1}/{1}.p4",
        env!("CARGO_MANIFEST_DIR"),
        subject.program
    );
    let defines: Vec<String> = subject.defines.iter().map(|define| define.to_string()).collect();
    let provider = FileSources::new();
    let options = forebay_driver::Options {
        provider: &provider,
        include_paths: &[],
        defines: &defines,
    };
    forebay_driver::compile(&path, &options)
        .program
        .expect("the program compiles")
}

fn pipeline(index: usize, engine: Engine) -> Arc<Pipeline> {
    let options = Options {
        engine,
        ..Options::default()
    };
    let pipeline = Arc::new(Pipeline::load_with(compiled(index), options).unwrap());
    let mut controller = Controller::new(Arc::clone(&pipeline));
    for command in forebay_entries::parse(SUBJECTS[index].commands).unwrap().commands {
        assert_eq!(
            controller.apply(&command.value),
            forebay_entries::Applied::Done,
            "{command:?}"
        );
    }
    pipeline
}

/// Frames that the programs do something with: IPv4, UDP to the port of IoT messages, any content.
fn frame(random: &mut SplitMix64) -> Vec<u8> {
    let length = 60 + (random.next_u64() % 600) as usize;
    let mut bytes: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
    bytes[12..16].copy_from_slice(&[8, 0, 0x45, 0]);
    bytes[16..18].copy_from_slice(&((length - 14) as u16).to_be_bytes());
    bytes[20..24].copy_from_slice(&[0, 0, 64, 17]);
    bytes[30..34].copy_from_slice(&[10, 0, 2, 2]);
    bytes[36..38].copy_from_slice(&9000u16.to_be_bytes());
    bytes
}

/// Keeps all that leaves.
#[derive(Default)]
struct Record(Vec<(Place, Vec<u8>, u64, Picos)>, Vec<(Loss, u64)>);

impl Observer for Record {
    fn departed(&mut self, place: Place, frame: &[u8], tag: u64, time: Picos) {
        self.0.push((place, frame.to_vec(), tag, time));
    }

    fn lost(&mut self, _place: Place, loss: Loss, tag: u64, _time: Picos) {
        self.1.push((loss, tag));
    }
}

/// A chip much smaller than any real one, so that everything overflows.
fn small_chip() -> impl Strategy<Value = ChipSpec> {
    (
        10_000_000u64..2_000_000_000,
        any::<bool>(),
        1u64..4_000,
        1u32..8,
        5u64..250,
        0u32..500,
        0u64..10,
        0u64..500_000,
    )
        .prop_map(|(clock, fast, input, resubmit, cells, share, own, latency)| {
            let mut spec = ChipSpec::known("tofino").unwrap();
            spec.ports.count = 8;
            spec.ports.bits_per_second = 10_000_000_000;
            spec.ports.input_buffer_bytes = input;
            spec.pipelines.clock_hz = if fast { 0 } else { clock };
            spec.parser.resubmit_buffer_packets = resubmit;
            // Half of the chips permit the second resubmission of PUBLISHED_ROUNDS.
            spec.parser.max_resubmissions = resubmit % 2;
            spec.buffer.cells = cells;
            spec.buffer.share_percent = share;
            spec.buffer.base_cells = own / 2;
            spec.buffer.queue_cells = own;
            spec.latency.ingress_rest_ps = latency;
            spec
        })
}

fn config(spec: &ChipSpec, subject: usize, engine: Engine, quantum: u32) -> ChipConfig {
    let queue = QueueConfig {
        service: Service::Quantum(quantum),
        capacity_bytes: 3_000,
    };
    let loopback = |number| PortConfig {
        number,
        loopback: true,
        queues: vec![queue, queue],
        ..PortConfig::default()
    };
    ChipConfig {
        spec: spec.clone(),
        pipeline: pipeline(subject, engine),
        ports: vec![loopback(1), loopback(4)],
        of_other_pipes: Vec::new(),
        alike: 1,
        pfc: None,
        seed: 1,
    }
}

/// What is beside a chip's specification.
#[derive(Clone, Debug)]
struct Around {
    quantum: u32,
    /// Registers for each pipeline.
    own_registers: bool,
    pfc: Option<PfcConfig>,
    fault: FaultSpec,
    /// A host in place of the outside.
    has_host: bool,
}

fn around() -> impl Strategy<Value = Around> {
    let pfc =
        (any::<u8>(), 0u64..3_000, 0u64..3_000, 0u64..6_000).prop_map(|(queues, above, below, headroom)| PfcConfig {
            queues,
            pause_above_bytes: above,
            resume_below_bytes: below.min(above),
            headroom_bytes: headroom,
        });
    let fault =
        (0.0..0.2, 0.0..0.2, 0.0..0.2, 0u64..1_000_000).prop_map(|(loss, duplication, delay, late)| FaultSpec {
            bytes: (0, 500),
            loss,
            duplication,
            delay,
            delay_ps: late,
            seed: 3,
        });
    let pfc = proptest::option::of(pfc);
    (1u32..5_000, any::<bool>(), pfc, fault, any::<bool>()).prop_map(
        |(quantum, own_registers, pfc, fault, has_host)| Around {
            quantum,
            own_registers,
            pfc,
            fault,
            has_host,
        },
    )
}

/// Sends frames at random times, audits now and then, and returns the outcomes.
fn drive(spec: &ChipSpec, subject: usize, engine: Engine, seed: u64, around: &Around) -> (Record, Vec<Books>) {
    let mut network = Network::new();
    for _ in 0..2 {
        let mut config = config(spec, subject, engine, around.quantum);
        config.pfc = around.pfc;
        if around.own_registers {
            let others = 1..spec.pipelines.count;
            config.of_other_pipes = others.map(|_| pipeline(subject, engine)).collect();
        }
        let chip = network.add_chip(config).unwrap();
        network.add_fault(Place { chip, port: 1 }, &around.fault).unwrap();
    }
    if around.has_host {
        let line = LinkSpec {
            loss: 0.1,
            ..LinkSpec::default()
        };
        assert_eq!(network.attach(Place { chip: 1, port: 2 }, &line), Ok(0));
    }
    let link = LinkSpec {
        delay_ps: 1_000,
        loss: 0.1,
        ..LinkSpec::default()
    };
    for port in [2, 3] {
        let (from, to) = (Place { chip: 0, port }, Place { chip: 1, port: 0 });
        network
            .connect(&Connection {
                from,
                to,
                link: link.clone(),
            })
            .unwrap();
    }
    let mut random = SplitMix64::new(seed);
    let mut record = Record::default();
    for tag in 0..400 {
        let time = network.now() + random.next_u64() % 200_000;
        while network.advance(time, &mut record) != Stop::Until {
            let event = network.take_host_event();
            assert!(
                event.is_some_and(|event| matches!(event, HostEvent::Frame { host: 0, .. } | HostEvent::Pause { .. }))
            );
        }
        let place = Place {
            chip: 0,
            port: (random.next_u64() % 2 * 5) as u16,
        };
        network.arrive(place, &frame(&mut random), tag, &mut record);
        network.audit().unwrap();
    }
    network.settle(network.now() + 1_000_000_000_000, &mut record);
    network.audit().unwrap();
    assert!(network.is_idle(), "every program ends");
    let books = vec![network.books(0).clone(), network.books(1).clone()];
    assert!(books.iter().all(|books| books.inside() == 0), "nothing stays");
    (record, books)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn nothing_is_lost_without_a_name_and_runs_repeat(
        spec in small_chip(),
        subject in 0..SUBJECTS.len(),
        seed in any::<u64>(),
        around in around(),
    ) {
        let (first, first_books) = drive(&spec, subject, Engine::Jit, seed, &around);
        let (second, second_books) = drive(&spec, subject, Engine::Interpreter, seed, &around);
        prop_assert_eq!(first.0, second.0);
        prop_assert_eq!(first.1, second.1);
        prop_assert_eq!(first_books, second_books);
    }
}

/// Over the limit N-packets lose some of their messages, far over it also all of them (Wang et al. 2019, section 9). A
/// little over it, with packets at equal distances, only passes are lost that would have taken no message.
#[test]
fn too_many_n_packets_are_lost_in_part_and_as_a_whole() {
    let mut spec = ChipSpec::known("tofino-a0").unwrap();
    spec.parser.max_resubmissions = 0;
    let losses = |load: f64| {
        let mut network = Network::new();
        network
            .add_chip(config(&spec, PUBLISHED_ROUNDS, Engine::Jit, 1_500))
            .unwrap();
        let mut record = Record::default();
        // Three passes of nine states at 1.1 GHz: three of the compiler's own, four headers, 32 bytes of payload.
        let gap = 3.0 * 9.0 * 1e3 / 1.1 / load;
        for tag in 0..4_000u64 {
            network.advance((tag as f64 * gap) as Picos, &mut record);
            network.arrive(Place { chip: 0, port: 0 }, &N_PACKET, tag, &mut record);
        }
        network.settle(Picos::MAX, &mut record);
        let mut messages = vec![0; 4_000];
        record.0.iter().for_each(|(_, _, tag, _)| messages[*tag as usize] += 1);
        let count = |wanted| messages.iter().filter(|count| **count == wanted).count();
        (count(0), count(1), count(2))
    };
    assert_eq!(losses(0.99), (0, 0, 4_000));
    let (whole, part, _) = losses(1.7);
    assert!(whole == 0 && part > 0, "{whole} {part}");
    let (whole, part, _) = losses(3.5);
    assert!(whole > 0 && part > 0, "{whole} {part}");
}

/// The rule of the chip: each N-packet wants a second resubmission, and is lost there with one message out.
#[test]
fn a_packet_is_resubmitted_as_often_as_the_chip_permits() {
    let lost = |max_resubmissions| {
        let mut spec = ChipSpec::known("tofino").unwrap();
        spec.parser.max_resubmissions = max_resubmissions;
        let mut network = Network::new();
        network
            .add_chip(config(&spec, PUBLISHED_ROUNDS, Engine::Interpreter, 1_500))
            .unwrap();
        for tag in 0..10 {
            network.arrive(Place { chip: 0, port: 0 }, &N_PACKET, tag, &mut NoObserver);
            network.settle(Picos::MAX, &mut NoObserver);
        }
        network.audit().unwrap();
        network.books(0).lost(Loss::ResubmittedTooOften)
    };
    assert_eq!(ChipSpec::known("tofino").unwrap().parser.max_resubmissions, 1);
    assert_eq!((lost(1), lost(2), lost(0)), (10, 0, 0));
}

/// What a program recirculates does not go along the line of the port that it takes.
#[test]
fn recirculation_takes_no_time_on_a_line() {
    let departs = |line: Option<LinkSpec>| {
        let spec = ChipSpec::known("tofino").unwrap();
        let mut config = config(&spec, RENDEZVOUS, Engine::Interpreter, 1_500);
        config.ports.clear();
        let mut network = Network::new();
        network.add_chip(config).unwrap();
        for (port, line) in [1, 2].into_iter().zip(line.iter().cycle()) {
            network.attach(Place { chip: 0, port }, line).unwrap();
        }
        let mut record = Record::default();
        let frame = frame(&mut SplitMix64::new(3));
        network.arrive(Place { chip: 0, port: 0 }, &frame, 0, &mut record);
        network.settle(Picos::MAX, &mut record);
        record.0.iter().map(|(_, _, _, time)| *time).collect::<Vec<Picos>>()
    };
    let alone = departs(None);
    assert_eq!(alone.len(), 1);
    let line = LinkSpec {
        delay_ps: 100_000_000,
        ..LinkSpec::default()
    };
    assert_eq!(departs(Some(line)), alone);
}

/// A pause frame takes as long as any other of its length on the line of its port.
#[test]
fn a_pause_takes_the_time_of_its_port() {
    let paused_at = |bits_per_second| {
        let spec = ChipSpec::known("tofino").unwrap();
        let mut config = config(&spec, RENDEZVOUS, Engine::Interpreter, 1_500);
        config.ports = vec![PortConfig {
            number: 0,
            bits_per_second,
            ..PortConfig::default()
        }];
        config.pfc = Some(PfcConfig {
            queues: 255,
            pause_above_bytes: 0,
            resume_below_bytes: 0,
            headroom_bytes: 0,
        });
        let mut network = Network::new();
        network.add_chip(config).unwrap();
        let place = Place { chip: 0, port: 0 };
        network.attach(place, &LinkSpec::default()).unwrap();
        network.arrive(place, &frame(&mut SplitMix64::new(3)), 0, &mut NoObserver);
        assert_eq!(network.advance(1_000_000_000, &mut NoObserver), Stop::Host);
        let event = network.take_host_event();
        assert!(matches!(event, Some(HostEvent::Pause { is_paused: true, .. })));
        network.now()
    };
    let (slow, fast) = (paused_at(1_000_000_000), paused_at(100_000_000_000));
    assert_eq!(slow - fast, 672_000 - 6_720, "84 bytes");
}

#[test]
fn a_network_says_what_it_cannot_be() {
    let spec = ChipSpec::known("tofino").unwrap();
    let mut network = Network::new();
    let mut wrong = config(&spec, 0, Engine::Interpreter, 1);
    wrong.ports[0].number = 64;
    assert_eq!(
        network.add_chip(wrong).unwrap_err().to_string(),
        "chip 0 has no port 64"
    );
    network.add_chip(config(&spec, 0, Engine::Interpreter, 1)).unwrap();
    let connect = |network: &mut Network, from, to| {
        let place = |port| Place { chip: 0, port };
        let link = LinkSpec::default();
        network.connect(&Connection {
            from: place(from),
            to: place(to),
            link,
        })
    };
    assert!(connect(&mut network, 1, 2).is_err(), "a loopback port");
    assert!(connect(&mut network, 2, 99).is_err(), "no such port");
    assert!(connect(&mut network, 2, 3).is_ok());
    network.arrive(Place { chip: 0, port: 0 }, &[0; 60], 0, &mut NoObserver);
    network.settle(Picos::MAX, &mut NoObserver);
    assert_eq!(network.books(0).inside(), 0);
}
