//! Packets that come round again in programs with registers: the fast path completes their passes, and every engine
//! accesses registers in the same order.

use forebay_differential::workers::{Frames, run};
use forebay_driver::{Options as FrontEnd, compile};
use forebay_packet::MemoryPort;
use forebay_pipeline::{CloneSession, Engine, FastPath, NoTrace, ObstacleKind, Options, Pipeline, Replica, Stops};
use forebay_switch::{Config, Settled, Spread, Switch};
use forebay_syntax::source::MemorySources;
use std::sync::Arc;

/// The first byte says how a packet comes round again. Every pass takes a number on each side of the queue, and leaves
/// both in the frame: so each frame that leaves tells when its passes were.
const NUMBERED: &str = r#"
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> kind; bit<8> passes; bit<16> before; bit<16> behind; bit<8> kept; bit<8> origin; }
header more_t { bit<16> value; }
struct headers_t { h_t h; more_t more; }
struct metadata_t {
    @field_list(1) bit<8> rounds;
    @field_list(1, 2) bit<12> kept;
    @field_list(2) bit<70> wide;
    @field_list(1) bit<136> wider;
    bit<8> forgotten;
}
parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.h);
        transition accept;
    }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    register<bit<16>>(1) numbers;
    register<bit<32>>(256) passes_of;
    action again() { resubmit_preserving_field_list(1); }
    table resubmits { actions = { again; } const default_action = again(); }
    apply {
        bit<16> number;
        numbers.read(number, 0);
        number = number + 1;
        numbers.write(0, number);
        bit<32> count;
        passes_of.read(count, (bit<32>) hdr.h.kind);
        passes_of.write((bit<32>) hdr.h.kind, count + 1);
        TELL(hdr.h.before = number;)
        DRAW(random(meta.forgotten, 0, 255);)
        hdr.h.passes = hdr.h.passes + 1;
        hdr.h.kept = hdr.h.kept ^ (bit<8>) meta.kept ^ (bit<8>) meta.wide ^ meta.wider[135:128] ^ meta.forgotten;
        hdr.h.origin = (bit<8>) sm.instance_type;
        sm.egress_spec = 2;
        meta.forgotten = 0xff;
        meta.kept = meta.kept + 0x105;
        meta.wide = meta.wide + 70w0x21;
        meta.wider = meta.wider + 136w0x10_0000_0000_0000_0000_0000_0000_0000_0003;
        if (hdr.h.kind == 2 && meta.rounds < 2) {
            meta.rounds = meta.rounds + 1;
            resubmit_preserving_field_list(1);
        } else if (hdr.h.kind == 3 && hdr.h.passes < 3) {
            recirculate_preserving_field_list(2);
        } else if (hdr.h.kind == 4) {
            sm.mcast_grp = 1;
        } else if (hdr.h.kind == 5 && meta.rounds < 1) {
            meta.rounds = meta.rounds + 1;
            CLONE_BEFORE(clone_preserving_field_list(CloneType.I2E, 5, 2);)
            resubmits.apply();
        } else if (hdr.h.kind == 6) {
            resubmit_preserving_field_list(1);
        } else if (hdr.h.kind == 7) {
            sm.mcast_grp = 1;
            recirculate_preserving_field_list(1);
        } else if (hdr.h.kind == 8 && sm.instance_type == 0) {
            // The last request counts, and a resubmission comes before a drop.
            resubmit_preserving_field_list(1);
            resubmit_preserving_field_list(9);
            mark_to_drop(sm);
        } else if (hdr.h.kind == 9) {
            recirculate_preserving_field_list(1);
        } else if (hdr.h.kind == 10) {
            mark_to_drop(sm);
        } else if (hdr.h.kind == 14) {
            hdr.more.setValid();
            TELL(hdr.more.value = number;)
            CLONE_BEFORE(clone_preserving_field_list(CloneType.I2E, 5, 2);)
        } else if (hdr.h.kind == 15) {
            CLONE_BEFORE(clone(CloneType.I2E, 5);)
            sm.mcast_grp = 1;
            truncate(9);
        } else if (hdr.h.kind == 16 && hdr.h.passes < 3) {
            CLONE_BEFORE(clone_preserving_field_list(CloneType.I2E, 5, 1);)
            recirculate_preserving_field_list(1);
        } else if (hdr.h.kind == 17) {
            CLONE_BEFORE(clone(CloneType.I2E, 5);)
            mark_to_drop(sm);
        }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    register<bit<16>>(1) numbers;
    apply {
        if (!hdr.h.isValid()) {
            return;
        }
        bit<16> number = 0;
        NUMBER_BEHIND(numbers.read(number, 0);)
        number = number + 1;
        NUMBER_BEHIND(numbers.write(0, number);)
        TELL(hdr.h.behind = number;)
        DRAW(random(hdr.h.origin, 0, 255);)
        if (hdr.h.kind == 1 && meta.rounds < 3) {
            meta.rounds = meta.rounds + 1;
            recirculate_preserving_field_list(1);
        } else if (hdr.h.kind == 4 && hdr.h.passes < 3) {
            recirculate_preserving_field_list(2);
        } else if (hdr.h.kind == 9) {
            mark_to_drop(sm);
        } else if (hdr.h.kind == 11 && sm.instance_type != 4) {
            hdr.more.setValid();
            hdr.more.value = number;
            truncate(11);
            recirculate_preserving_field_list(1);
        } else if (hdr.h.kind == 12) {
            recirculate_preserving_field_list(1);
        } else if (hdr.h.kind == 13 && meta.rounds < 1) {
            meta.rounds = meta.rounds + 1;
            CLONE_BEHIND(clone_preserving_field_list(CloneType.E2E, 5, 1);)
            recirculate_preserving_field_list(1);
        }
    }
}
control C(inout headers_t hdr, inout metadata_t meta) { apply {} }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;

const KINDS: u8 = 19;

/// Forms of the program: numbers after the queue, too; clones from ingress, which leave for egress if that changes
/// registers; clones from egress; all of these. Random numbers.
const FORMS: [&[&str]; 7] = [
    &["TELL", "NUMBER_BEHIND"],
    &["TELL", "CLONE_BEFORE"],
    &["TELL", "NUMBER_BEHIND", "CLONE_BEFORE"],
    &["TELL", "NUMBER_BEHIND", "CLONE_BEHIND"],
    &["TELL", "NUMBER_BEHIND", "CLONE_BEFORE", "CLONE_BEHIND"],
    &["TELL", "NUMBER_BEHIND", "DRAW"],
    &["TELL", "CLONE_BEFORE", "DRAW"],
];

/// The program with these parts.
fn program(parts: &[&str]) -> String {
    let all = ["TELL", "NUMBER_BEHIND", "CLONE_BEFORE", "CLONE_BEHIND", "DRAW"];
    let define = |part: &str| {
        format!(
            "#define {part}(what) {}\n",
            if parts.contains(&part) { "what" } else { "" }
        )
    };
    all.map(define).concat() + NUMBERED
}

fn pipeline(text: &str, engine: Engine) -> Arc<Pipeline> {
    let sources = MemorySources::new().with("program.p4", text);
    let compiled = compile("program.p4", &FrontEnd::new(&sources));
    let options = Options {
        engine,
        fast_path: FastPath::BeforePackets,
        ..Options::default()
    };
    let program = compiled.program.expect("a program");
    let pipeline = Pipeline::load_with(program, options).expect("a pipeline");
    let member = |egress_port, instance| Replica { egress_port, instance };
    let members = [member(3, 0), member(4, 1), member(4, 2)];
    pipeline.set_multicast_group(1, &members).expect("a group");
    pipeline
        .set_clone_session(5, CloneSession::to_port(6))
        .expect("a session");
    Arc::new(pipeline)
}

fn frame(kind: u8, index: u8) -> Vec<u8> {
    vec![kind, 0, 0, 0, 0, 0, 0, 0, index, 1, 2, 3, 4]
}

/// Bursts from two ports in which one of three packets is of a kind.
fn bursts(kind: u8) -> Frames {
    let of_port = |first: u8| (first..first + 40).map(|index| frame(if index % 3 == 0 { kind } else { 0 }, index));
    Frames::from([(1, of_port(0).collect()), (7, of_port(100).collect())])
}

/// All kinds in one burst.
fn mixed() -> Frames {
    Frames::from([(1, (0..200).map(|index| frame(index % KINDS, index)).collect())])
}

#[test]
fn registers_are_accessed_in_the_same_order() {
    for form in FORMS {
        let text = program(form);
        let (reference, compiled) = (pipeline(&text, Engine::Interpreter), pipeline(&text, Engine::Jit));
        let obstacles = compiled.obstacles();
        let stops_all = obstacles.iter().find(|obstacle| obstacle.stops == Stops::All);
        // Copies that may be cloned are not made in place, and ingress has written a register: all packets take general
        // code.
        let expected = form.contains(&"CLONE_BEHIND").then_some(ObstacleKind::StateAndCopies);
        assert_eq!(stops_all.map(|obstacle| obstacle.kind), expected, "{form:?}");
        for frames in (0..KINDS).map(bursts).chain([mixed()]) {
            let [expected, found] = [&reference, &compiled].map(|it| run(it, &frames, 1, &Spread::FiveTuple));
            assert_eq!(expected, found, "{form:?}, {:?}", &frames[&1][0]);
            assert_eq!(reference.differences(&compiled), Vec::<String>::new());
        }
    }
}

/// Recirculated packets, also clones and copies of packets, take the fast path again and again.
#[test]
fn recirculated_packets_take_the_fast_path() {
    for (form, kinds) in [
        (FORMS[0], &[1, 3, 4][..]),
        (FORMS[1], &[13, 16]),
        (FORMS[5], &[1, 3, 4]),
    ] {
        let pipeline = pipeline(&program(form), Engine::Jit);
        let obstacles = pipeline.obstacles();
        let mut texts = obstacles.iter().map(|obstacle| &obstacle.text);
        assert!(texts.all(|text| !text.contains("recirculates the packet")));
        let mut switch = Switch::new(pipeline, Config::default());
        let (near, mut far) = MemoryPort::pair("near", "far", 1024);
        switch.attach(2, Box::new(near));
        for index in 0..20 {
            assert!(far.inject(&frame(kinds[usize::from(index) % kinds.len()], index)));
        }
        assert_eq!(switch.settle(0, 100, &mut NoTrace), Settled::Idle);
        let further = switch.paths().further_passes;
        assert!(further.total() > 20, "{further:?}");
        assert_eq!(further.fast, further.total());
    }
}

/// A clone of a packet in its second pass reads the value of a header that has become invalid there, as no packet's
/// clone does in the first pass.
const CLONED_IN_THE_SECOND_PASS: &str = r#"
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> kind; bit<8> value; }
header o_t { bit<8> seen; }
struct headers_t { o_t o; h_t h; }
struct metadata_t { @field_list(1) bit<8> rounds; }
parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.h);
        transition accept;
    }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 2;
        if (AGAIN) {
            hdr.h.setInvalid();
            hdr.o.setValid();
            hdr.o.seen = 0;
        }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (sm.instance_type == 2) {
            hdr.o.seen = hdr.h.value;
        } else if (hdr.h.isValid()) {
            meta.rounds = 1;
            recirculate_preserving_field_list(1);
        } else {
            clone(CloneType.E2E, 5);
        }
    }
}
control C(inout headers_t hdr, inout metadata_t meta) { apply {} }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;

#[test]
fn clones_of_further_passes_have_the_headers_of_these() {
    let frames = Frames::from([(1, (0..10).map(|index| vec![index, 0x40 + index, 9]).collect())]);
    for again in ["meta.rounds == 1", "sm.instance_type == 4"] {
        let text = format!("#define AGAIN {again}\n{CLONED_IN_THE_SECOND_PASS}");
        let (reference, compiled) = (pipeline(&text, Engine::Interpreter), pipeline(&text, Engine::Jit));
        let [expected, found] = [&reference, &compiled].map(|it| run(it, &frames, 1, &Spread::FiveTuple));
        assert_eq!(expected, found, "{again}");
    }
}

/// Which numbers packets take depends on the workers, but not how many passes there are.
#[test]
fn several_workers_make_the_same_passes() {
    let sorted = |pipeline: &Arc<Pipeline>, frames: &Frames, workers: usize| {
        let mut sent = run(pipeline, frames, workers, &Spread::FiveTuple);
        sent.values_mut().for_each(|frames| frames.sort());
        sent
    };
    // A packet's random numbers depend on its worker, too.
    for form in FORMS.into_iter().filter(|form| !form.contains(&"DRAW")) {
        let text = program(&form[1..]);
        let (reference, compiled) = (pipeline(&text, Engine::Interpreter), pipeline(&text, Engine::Jit));
        let frames = mixed();
        assert_eq!(sorted(&reference, &frames, 1), sorted(&compiled, &frames, 3));
        assert_eq!(reference.differences(&compiled), Vec::<String>::new());
    }
}

/// Packets that wait for their next pass when the program is replaced end with the old program, which they keep values
/// for, as far as they end.
#[test]
fn packets_that_wait_for_their_next_pass_end_with_their_program() {
    for engine in [Engine::Interpreter, Engine::Jit] {
        let text = program(FORMS[0]);
        let first = pipeline(&text, engine);
        let mut switch = Switch::new(Arc::clone(&first), Config::default());
        let (near, mut far) = MemoryPort::pair("near", "far", 16);
        switch.attach(2, Box::new(near));
        for kind in [1, 0, 3] {
            assert!(far.inject(&frame(kind, 0)));
        }
        switch.poll(0, &mut NoTrace);
        let mut sent = || -> Vec<u8> { std::iter::from_fn(|| far.extract()).map(|frame| frame[1]).collect() };
        assert_eq!(sent(), [1], "one packet leaves, two come round");
        let next = pipeline(&text, engine);
        switch.replace_pipeline(Arc::clone(&next), 0, &mut NoTrace);
        assert_eq!(sent(), [3, 4], "the others leave after all of their passes");
        assert_eq!(switch.settle(0, 100, &mut NoTrace), Settled::Idle);
        assert_eq!(
            next.differences(&pipeline(&text, engine)),
            Vec::<String>::new(),
            "the new program saw nothing"
        );
    }
}
