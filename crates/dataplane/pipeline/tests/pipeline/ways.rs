//! A parser with more ways than the fast path is compiled with: those that packets take are.

use crate::common::{Blocks, Switch};
use forebay_packet::Packet;
use forebay_pipeline::{Arrival, Engine, FastForm, FastPath, Options};
use std::fmt::Write;

/// A decision for each bit of the first byte: 256 ways.
fn switch() -> Switch {
    let mut parser = String::from("extract h\n");
    for bit in 0..8 {
        let (set, next) = (2 * bit + 1, 2 * bit + 2);
        let _ = write!(
            parser,
            "branch (h.a & 8w{:#x}) == 8w0x0, block{set}, block{next}\nblock{set}:\nkept = 16w{set:#x}\njump block{next}\nblock{next}:\n",
            1 << bit
        );
    }
    parser.push_str("return");
    Blocks {
        parser: &parser,
        ..Blocks::default()
    }
    .load_with(Options {
        engine: Engine::Jit,
        fast_path: FastPath::BeforePackets,
        ..Options::default()
    })
}

/// Whether a packet that begins like this goes through specialised code.
fn is_fast(switch: &mut Switch, first: u8) -> bool {
    let fast = |switch: &Switch| {
        let paths = switch.worker.paths();
        let forms = paths.fast().filter(|(form, _)| *form != FastForm::General);
        forms.map(|(_, packets)| packets).sum::<u64>()
    };
    let before = fast(switch);
    let mut packets = [Packet::from_bytes(&[first, 0])];
    switch.worker.pass(&mut packets, Arrival::default(), 0, &mut Vec::new());
    assert_eq!(packets[0].data(), [first, 0], "the packet is not changed");
    fast(switch) > before
}

#[test]
fn ways_that_packets_take_are_compiled() {
    let mut switch = switch();
    assert!(!is_fast(&mut switch, 0xff), "it is the last one of 256");
    assert!(is_fast(&mut switch, 0), "it is the first one");
    let tried = (0..1_000).find(|_| is_fast(&mut switch, 0xff));
    assert!(tried.is_some_and(|tried| tried >= 100), "{tried:?}");
    let tried = (0..10_000).find(|_| is_fast(&mut switch, 0xfe));
    assert!(tried.is_some_and(|tried| tried > 0), "{tried:?}");
    assert!(is_fast(&mut switch, 0xff), "it is kept");
    assert!(is_fast(&mut switch, 0), "there is room for others");
}
