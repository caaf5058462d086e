//! Packets that arrive before the fast path is compiled, and programs that never have one.

use crate::common::Blocks;
use forebay_packet::Packet;
use forebay_pipeline::{Arrival, Engine, FastPath, Options, PacketVerdict, VerdictRun};

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

#[test]
fn nothing_is_compiled_that_nobody_wants() {
    let switch = Blocks::default().load_with(options(FastPath::Never));
    switch.pipeline.finish_compiling();
    assert!(!switch.worker.has_fast_path());
    assert!(!switch.pipeline.is_compiling());
    assert_eq!(switch.pipeline.obstacles(), []);
}
