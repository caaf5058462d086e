//! Meters of a worker that is alone, and so takes no locks, while the control plane changes them.

use crate::common::{Blocks, Switch};
use forebay_pipeline::{Engine, MeterRates, Options, TokenRate, Worker};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const ONE_PER_SECOND: TokenRate = TokenRate {
    per_second: 1,
    millionths: 0,
};

const RATES: MeterRates = MeterRates {
    committed_rate: ONE_PER_SECOND,
    committed_burst: 2,
    peak_rate: ONE_PER_SECOND,
    peak_burst: 5,
};

fn switch(engine: Engine) -> Switch {
    Blocks {
        ingress: "lost = execute_meter(I.m, h.a)\nh.b = lost[7:0]\nsm.egress_spec = 9w0x1\nreturn",
        ..Blocks::default()
    }
    .load_with(Options {
        engine,
        ..Options::default()
    })
}

/// All packets that an element has counted.
fn counted(switch: &Switch, index: u64) -> u64 {
    let counts = switch.pipeline.meter_counts("m", index).expect("it is there");
    [counts.green, counts.yellow, counts.red]
        .map(|value| value.packets)
        .iter()
        .sum()
}

#[test]
fn packets_are_coloured_alike_with_and_without_other_workers() {
    for engine in [Engine::Interpreter, Engine::Jit] {
        let colours = [false, true].map(|has_company| {
            let mut switch = switch(engine);
            let _company = has_company.then(|| Worker::new(Arc::clone(&switch.pipeline)));
            switch
                .pipeline
                .configure_meter("m", 1, Some(RATES))
                .expect("it is there");
            let colours: Vec<u8> = (0..8).map(|_| switch.send(&[1, 9])[0].1[1]).collect();
            assert_eq!(counted(&switch, 1), 8);
            colours
        });
        assert_eq!(colours, [[0, 0, 1, 1, 1, 2, 2, 2]; 2]);
    }
}

/// How often the control plane writes.
const WRITES: u64 = 2_000;

#[test]
fn the_control_plane_changes_meters_in_use() {
    for engine in [Engine::Interpreter, Engine::Jit] {
        let mut switch = switch(engine);
        let (pipeline, begun, done) = (
            Arc::clone(&switch.pipeline),
            AtomicBool::new(false),
            AtomicBool::new(false),
        );
        let sent = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !begun.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                for write in 0..WRITES {
                    let rates = (write % 3 > 0).then_some(RATES);
                    pipeline.configure_meter("m", 2, rates).expect("it is there");
                    assert_eq!(pipeline.meter_rates("m", 2), Ok(rates));
                }
                done.store(true, Ordering::Relaxed);
            });
            let mut sent = 0;
            while !done.load(Ordering::Relaxed) {
                assert!(switch.send(&[2, 0])[0].1[1] <= 2);
                sent += 1;
                begun.store(true, Ordering::Relaxed);
            }
            sent
        });
        assert_eq!(counted(&switch, 2), sent, "no packet is lost");
    }
}
