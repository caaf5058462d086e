//! Paths through a parser that the fast path does not cover at first: those that packets take are compiled.

use crate::common::{Blocks, Switch};
use forebay_packet::Packet;
use forebay_pipeline::{Arrival, DropReason, Engine, FastForm, FastPath, Options};
use std::fmt::Write;

/// A decision for each bit of the first byte: 256 paths.
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
    compiled(Blocks {
        parser: &parser,
        ..Blocks::default()
    })
}

fn compiled(blocks: Blocks<'_>) -> Switch {
    blocks.load_with(Options {
        engine: Engine::Jit,
        fast_path: FastPath::BeforePackets,
        ..Options::default()
    })
}

/// Whether a packet with this first byte goes through specialised code, and unchanged.
fn is_fast(switch: &mut Switch, first: u8) -> bool {
    let (is_fast, left) = pass(switch, &[first, 0]);
    assert_eq!(left, [first, 0], "the packet is not changed");
    is_fast
}

/// Sends a packet. Returns whether it went through specialised code, and its bytes afterwards.
fn pass(switch: &mut Switch, bytes: &[u8]) -> (bool, Vec<u8>) {
    let fast = |switch: &Switch| {
        let paths = switch.worker.paths();
        let forms = paths.fast().filter(|(form, _)| *form != FastForm::General);
        forms.map(|(_, packets)| packets).sum::<u64>()
    };
    let before = fast(switch);
    let mut packets = [Packet::from_bytes(bytes)];
    switch.worker.pass(&mut packets, Arrival::default(), 0, &mut Vec::new());
    (fast(switch) > before, packets[0].data().to_vec())
}

#[test]
fn paths_that_packets_take_are_compiled() {
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

/// The parser rejects in two ways. Ingress reports this in the packet, and drops what begins with 3.
#[test]
fn packets_that_are_rejected_have_their_paths() {
    let mut switch = compiled(Blocks {
        parser: "extract h\nselect (h.a) { (8w0x1) => block1 (8w0x3) => block2 default => block3 }\nblock1:\nreturn\n\
                 block2:\nreject 32w0x6\nblock3:\nreject 32w0x2",
        ingress: "h.b = trunc(8, sm.parser_error)\nsm.egress_spec = (h.a == 8w0x3) ? 9w0x1ff : 9w0x1\nreturn",
        ..Blocks::default()
    });
    let dropped = |switch: &Switch| switch.pipeline.drops().get(DropReason::ParserError(6));
    assert_eq!(pass(&mut switch, &[1, 9]), (true, vec![1, 0]));
    let tried = (0..1_000).find(|_| pass(&mut switch, &[2, 9]) == (true, vec![2, 2]));
    assert!(tried.is_some_and(|tried| tried >= 100), "{tried:?}");
    assert_eq!(dropped(&switch), 0);
    let tried = (0..1_000u64)
        .find(|_| pass(&mut switch, &[3, 9]).0)
        .expect("it is compiled, too");
    assert_eq!(dropped(&switch), tried + 1, "each is dropped for the error");
    assert_eq!(pass(&mut switch, &[2, 9]), (true, vec![2, 2]), "the other one is kept");
    assert_eq!(pass(&mut switch, &[1, 9]), (true, vec![1, 0]));
}

/// Packets that end before the parser has read all headers continue with the headers that they have.
#[test]
fn packets_that_end_early_have_their_paths() {
    let mut switch = compiled(Blocks {
        more: "slot last.$valid$: bit<1> valid last\nslot last.x: bit<8> field last\n\
               header last last_t { valid last.$valid$ field x = last.x }",
        parser: "extract h\nselect (h.a) { (8w0x1) => block1 default => block2 }\nblock1:\nextract last\nextract added\nreturn\n\
                 block2:\nreturn",
        ingress: "h.b = trunc(8, sm.parser_error)\nsm.egress_spec = 9w0x1\nreturn",
        deparser: "emit h\nemit last\nemit added\nreturn",
        ..Blocks::default()
    });
    let too_short = switch
        .pipeline
        .program()
        .error("PacketTooShort")
        .expect("it is declared") as u8;
    assert_eq!(pass(&mut switch, &[2, 9]), (true, vec![2, 0]));
    let whole = [1, 9, 7, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    let expected = [&[1, 0], &whole[2..]].concat();
    assert_eq!(pass(&mut switch, &whole), (true, expected.clone()));
    for (packet, left) in [
        (&[1, 9][..], vec![1, too_short]),
        (&[1, 9, 7, 1], vec![1, too_short, 7, 1]),
    ] {
        let tried = (0..1_000).find(|_| {
            let (is_fast, sent) = pass(&mut switch, packet);
            assert_eq!(sent, left, "the slow path does the same");
            is_fast
        });
        assert!(tried.is_some_and(|tried| tried >= 100), "{packet:?}: {tried:?}");
    }
    assert_eq!(
        pass(&mut switch, &[1, 9]),
        (true, vec![1, too_short]),
        "the first one is kept"
    );
    assert_eq!(pass(&mut switch, &[2, 9]), (true, vec![2, 0]));
    assert_eq!(pass(&mut switch, &whole), (true, expected));
}

/// A path after which there are very many statements is left to general code. It is named, and no packets have it
/// compiled.
#[test]
fn a_path_with_very_many_statements_is_left_out() {
    let ingress = format!(
        "branch h.a == 8w0x1, block1, block2\nblock1:\n{}jump block2\nblock2:\nsm.egress_spec = 9w0x1\nreturn",
        "h.b = (h.b + h.a) ^ 8w0x5\n".repeat(20_000)
    );
    let mut switch = compiled(Blocks {
        parser: "extract h\nselect (h.a) { (8w0x1) => block1 default => block1 }\nblock1:\nreturn",
        ingress: &ingress,
        ..Blocks::default()
    });
    let expected = (0..20_000).fold(9u8, |value, _| value.wrapping_add(1) ^ 5);
    for _ in 0..1_000 {
        assert_eq!(pass(&mut switch, &[1, 9]), (false, vec![1, expected]));
    }
    assert_eq!(pass(&mut switch, &[2, 9]), (true, vec![2, 9]));
    let said: Vec<String> = switch
        .pipeline
        .obstacles()
        .into_iter()
        .map(|obstacle| obstacle.text)
        .collect();
    let text = "program too large for the fast path: more than 18000 statements after a path through the parser";
    assert_eq!(said, [text]);
}

/// After a few paths with very many statements after them, no more are tried.
#[test]
fn many_paths_with_very_many_statements_are_not_all_looked_at() {
    let cases: String = (1..=40).map(|case| format!("(8w{case:#x}) => block1 ")).collect();
    let switch = compiled(Blocks {
        parser: &format!("extract h\nselect (h.a) {{ {cases}default => block1 }}\nblock1:\nreturn"),
        ingress: &format!(
            "{}sm.egress_spec = 9w0x1\nreturn",
            "h.b = (h.b + h.a) ^ 8w0x5\n".repeat(20_000)
        ),
        ..Blocks::default()
    });
    let obstacles = switch.pipeline.obstacles().into_iter();
    let said: Vec<String> = obstacles.map(|obstacle| obstacle.text).collect();
    let texts = [
        "none of the 41 paths through the parser is compiled at the start, each when packets take it",
        "program too large for the fast path: more than 18000 statements after each of 2 paths through the parser",
    ];
    assert_eq!(said, texts);
}
