//! Packets that arrive before the fast path is compiled, and programs that never have one.

use crate::common::Blocks;
use forebay_packet::Packet;
use forebay_pipeline::{Arrival, BesideWorkers, Engine, FastPath, Options, PacketVerdict, VerdictRun};
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

fn options(fast_path: FastPath) -> Options {
    Options {
        engine: Engine::Jit,
        fast_path,
        ..Options::default()
    }
}

#[test]
fn packets_go_the_slow_path_until_the_short_one_is_ready() {
    let mut switch = Blocks::default().load_with(options(FastPath::BesidePackets));
    let sent = switch.send(&[7, 9]);
    assert_eq!(sent, [(1, vec![7, 9])], "whether it is ready or not");
    switch.pipeline.finish_compiling();
    assert!(switch.worker.has_fast_path());
    let (mut packets, mut verdicts) = ([Packet::from_bytes(&[7, 9])], Vec::new());
    let leaving = switch.worker.pass(&mut packets, Arrival::default(), 0, &mut verdicts);
    let port = leaving.map(|leaving| leaving.port).or(match verdicts[..] {
        [
            VerdictRun {
                verdict: PacketVerdict::Transmit(port),
                ..
            },
        ] => Some(port),
        _ => None,
    });
    assert_eq!((port, packets[0].data()), (Some(1), &[7, 9][..]));
}

/// A thread that compiles inherits the processor of the worker that starts it, unless it begins with this.
#[test]
fn a_thread_that_compiles_beside_packets_leaves_its_worker_first() {
    thread_local! {
        static HAS_BEGUN: Cell<bool> = const { Cell::new(false) };
    }
    static BEGUN: AtomicU32 = AtomicU32::new(0);
    fn begin() {
        assert!(!HAS_BEGUN.replace(true), "each thread begins once");
        BEGUN.fetch_add(1, Ordering::Relaxed);
    }
    let load = |fast_path| {
        let switch = Blocks::default().load_with(Options {
            beside_workers: BesideWorkers(begin),
            ..options(fast_path)
        });
        switch.pipeline.finish_compiling();
    };
    load(FastPath::BeforePackets);
    assert_eq!(BEGUN.load(Ordering::Relaxed), 0, "the program waits for this one");
    load(FastPath::BesidePackets);
    assert_eq!(BEGUN.load(Ordering::Relaxed), 1);
    assert!(!HAS_BEGUN.get(), "it is another thread");
}

#[test]
fn nothing_is_compiled_that_nobody_wants() {
    let switch = Blocks::default().load_with(options(FastPath::Never));
    switch.pipeline.finish_compiling();
    assert!(!switch.worker.has_fast_path());
    assert!(!switch.pipeline.is_compiling());
    assert_eq!(switch.pipeline.obstacles(), []);
}

/// Code for each word of such values would be ten times as long, and take as much longer to compile.
#[test]
fn operators_on_very_wide_values_are_calls() {
    let step = "I.wide = (I.wide << 8w0x64) + I.wide\n".repeat(40);
    let ingress = format!("I.wide = zext(2048, h.a)\n{step}h.a = I.wide[107:100]\nsm.egress_spec = 9w0x1\nreturn");
    let blocks = Blocks {
        more: "slot I.wide: bit<2048> local\n",
        ingress: &ingress,
        ..Blocks::default()
    };
    let switch = blocks.load_with(options(FastPath::BeforePackets));
    let code = switch.pipeline.machine_code().expect("its packets take the fast path");
    assert!(code.len() < 40_000, "{} bytes", code.len());
}
