//! The harness itself, with small counts: its counters add up. No speed is tested here.

use forebay_bench::account::account;
use forebay_bench::measure::Contender;
use forebay_bench::report;
use forebay_bench::workload::{Aggregate, Custom, Disaggregate, IotScale, L3, PortForward, Scale};
use forebay_bench::{BenchError, Job, Options, Workload, measure};
use forebay_pipeline::{Engine, PassSet};
use std::time::Duration;

const SCALE: Scale = Scale {
    entries: 10,
    flows: 20,
    frame_bytes: 64,
};

const SHORT: Options = Options {
    delay_sample: None,
    without_passes: PassSet::NONE,
    rounds: 2,
    round: Duration::from_millis(1),
};

fn job<'a>(workload: &'a dyn Workload, engines: &[Engine], workers: usize) -> Job<'a> {
    Job {
        workload,
        engines: engines.to_vec(),
        workers,
    }
}

#[test]
fn every_contender_has_its_turns() {
    let workload = L3::new(SCALE).expect("possible");
    let engines = [Engine::Interpreter, Engine::Jit];
    let measured = measure(&[job(&workload, &engines, 1)], &SHORT, |_| {}).expect("they agree");
    let [measured] = &measured[..] else { panic!("one job") };
    let contenders: Vec<_> = measured.figures.iter().map(|figure| figure.contender).collect();
    let expected = [
        Contender::Program(Engine::Interpreter),
        Contender::Program(Engine::Jit),
        Contender::HandWritten,
        Contender::Harness,
    ];
    assert_eq!(contenders, expected);
    for figure in &measured.figures {
        assert_eq!(figure.turns.len(), 2);
        assert!(figure.received_per_s() > 0.0 && figure.transmitted_per_s() > 0.0);
    }
    let json = report::measured_json(measured);
    assert_eq!(json["program"], "l3fwd");
    assert_eq!(json["contenders"].as_array().map(Vec::len), Some(4));
    assert_eq!(report::lines(measured).lines().count(), 2);
    assert!(report::comparisons(std::slice::from_ref(measured)).contains("jit / interp"));
}

#[test]
fn several_workers_share_the_flows() {
    let workload = Aggregate::new(IotScale::default()).expect("possible");
    let jobs = [job(&workload, &[Engine::Jit], 1), job(&workload, &[Engine::Jit], 2)];
    let measured = measure(&jobs, &SHORT, |_| {}).expect("they agree");
    assert_eq!(
        measured.iter().map(|measured| measured.workers).collect::<Vec<_>>(),
        [1, 2]
    );
    assert!(report::comparisons(&measured).contains("2 workers / 1 workers"));
}

#[test]
fn a_program_without_a_twin_has_no_ratio() {
    let forwarding = PortForward::new(SCALE).expect("possible");
    let custom = Custom {
        name: "mine".to_string(),
        program: forwarding.compile().expect("it compiles"),
        configure: Box::new(|_| Ok(())),
        ports: vec![1, 2],
        frames: forwarding.frames(),
        updates: None,
    };
    let measured = measure(&[job(&custom, &[Engine::Jit], 1)], &SHORT, |_| {}).expect("it is measured");
    assert_eq!(
        measured[0].ratio(Contender::Program(Engine::Jit), Contender::HandWritten),
        None
    );
    assert_eq!(measured[0].scale, None);
}

#[test]
fn impossible_sizes_are_refused() {
    let refused = |scale| matches!(L3::new(scale), Err(BenchError::Scale(_)));
    assert!(refused(Scale { entries: 0, ..SCALE }));
    assert!(refused(Scale {
        entries: 1 << 21,
        ..SCALE
    }));
    assert!(refused(Scale { flows: 0, ..SCALE }));
    assert!(refused(Scale {
        frame_bytes: 41,
        ..SCALE
    }));
    let batch = IotScale {
        batch: 3,
        ..IotScale::default()
    };
    assert!(matches!(Aggregate::new(batch), Err(BenchError::Scale(_))));
}

#[test]
fn every_malformed_packet_is_accounted_for() {
    let workloads: [Box<dyn Workload>; 4] = [
        Box::new(PortForward::new(SCALE).expect("possible")),
        Box::new(L3::new(SCALE).expect("possible")),
        Box::new(Aggregate::new(IotScale::default()).expect("possible")),
        Box::new(Disaggregate::new(IotScale::default()).expect("possible")),
    ];
    for workload in workloads {
        let account = account(&*workload, Engine::Jit, PassSet::NONE, 10_000, 0.2).expect("the books balance");
        let dropped: u64 = account.drops.iter().map(|(_, count)| count).sum();
        assert_eq!(account.received, 10_000, "{}", account.name);
        assert_eq!(account.received + account.copies, account.transmitted + dropped);
        let damaged: u64 = account.damaged.iter().map(|(_, count)| count).sum();
        assert!((1_000..3_000).contains(&damaged), "{damaged}");
        if account.name == "l3fwd" {
            assert!(
                account
                    .drops
                    .iter()
                    .any(|(reason, _)| reason == "parser_error.PacketTooShort")
            );
        }
    }
}
