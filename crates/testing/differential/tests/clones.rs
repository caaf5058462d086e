//! Clones of a program like a telemetry sink: they leave as the interpreter sends them, in their order, with machine
//! code that is specialised for them.

use forebay_differential::workers::{Frames, run};
use forebay_driver::{Options as FrontEnd, compile};
use forebay_pipeline::{CloneSession, Engine, FastPath, Options, Pipeline};
use forebay_switch::Spread;
use forebay_syntax::source::MemorySources;
use std::sync::Arc;

/// The first byte says what a packet is, the second how many words of metadata it has. Egress takes them out and
/// reports them in a clone, which is numbered by a register that only clones use; ingress reports packets that it
/// drops. Another register counts all other packets.
const SINK: &str = r#"
#include <core.p4>
#include <v1model.p4>
header kind_t { bit<8> kind; bit<8> words; }
header stack_t { bit<16> first; varbit<1024> words; bit<8> last; }
header report_t { bit<32> number; bit<8> from; bit<8> kind; }
header tail_t { bit<24> tail; }
struct headers_t { report_t report; kind_t kind; stack_t stack; stack_t saved; tail_t tail; }
struct metadata_t { @field_list(1) bit<8> kind; bit<32> seen; }
parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.kind);
        transition select(hdr.kind.kind) {
            0: accept;
            default: stack;
        }
    }
    state stack {
        packet.extract(hdr.stack, (bit<32>) hdr.kind.words << 5);
        transition tail;
    }
    state tail {
        packet.extract(hdr.tail);
        transition accept;
    }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 2;
        meta.kind = hdr.kind.kind;
        if (hdr.kind.kind == 3) {
            clone_preserving_field_list(CloneType.I2E, 6, 1);
            mark_to_drop(sm);
        }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    register<bit<32>>(1) numbers;
    register<bit<32>>(1) others;
    apply {
        if (sm.instance_type == 1 || sm.instance_type == 2) {
            bit<32> number;
            numbers.read(number, 0);
            numbers.write(0, number + 1);
            hdr.report.setValid();
            hdr.report.number = number;
            hdr.report.from = (bit<8>) sm.instance_type;
            hdr.report.kind = meta.kind;
            if (hdr.saved.isValid()) {
                hdr.stack = hdr.saved;
                hdr.stack.last = 0xee;
            }
            return;
        }
        others.read(meta.seen, 0);
        others.write(0, meta.seen + 1);
        bool is_reported = false;
        if (hdr.kind.kind == 1) {
            hdr.saved = hdr.stack;
            hdr.stack.setInvalid();
            is_reported = true;
        } else if (hdr.kind.kind == 2) {
            is_reported = hdr.tail.isValid();
        }
        if (is_reported) {
            clone_preserving_field_list(CloneType.E2E, 6, 1);
        }
        hdr.kind.words = (bit<8>) meta.seen;
    }
}
control C(inout headers_t hdr, inout metadata_t meta) { apply {} }
control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.report);
        packet.emit(hdr.kind);
        packet.emit(hdr.stack);
        packet.emit(hdr.tail);
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;

fn pipeline(engine: Engine, fast_path: FastPath) -> Arc<Pipeline> {
    let sources = MemorySources::new().with("program.p4", SINK);
    let program = compile("program.p4", &FrontEnd::new(&sources));
    let options = Options {
        engine,
        fast_path,
        ..Options::default()
    };
    let pipeline = Pipeline::load_with(program.program.expect("a program"), options).expect("a pipeline");
    pipeline
        .set_clone_session(6, CloneSession::to_port(6))
        .expect("a session");
    Arc::new(pipeline)
}

/// A frame of this kind that announces `words` words and has `present` bytes of them: with fewer than announced it is
/// too short. It ends with its number, so frames can be told apart.
fn frame(kind: u8, words: u8, present: usize, number: u8) -> Vec<u8> {
    let mut frame = vec![kind, words];
    if kind > 0 {
        frame.extend((0..2 + present as u8).map(|byte| byte ^ number));
        frame.extend([0xaa, 1, 2, 3]);
    }
    frame.extend([number, number]);
    frame
}

#[test]
fn a_sink_reports_as_the_interpreter_does() {
    let reference = pipeline(Engine::Interpreter, FastPath::Never);
    let compiled = pipeline(Engine::Jit, FastPath::BeforePackets);
    let clones = compiled
        .obstacles()
        .iter()
        .any(|obstacle| obstacle.text.contains("clone"));
    assert!(!clones, "clones are on the fast path: {:?}", compiled.obstacles());
    // Longer than the field, and shorter than its own length.
    let shapes = [(0, 0), (1, 4), (2, 8), (30, 120), (32, 128), (33, 132), (5, 7), (9, 3)];
    let all = (0..240u32).map(|index| {
        let (words, present) = shapes[index as usize % shapes.len()];
        frame((index / 3 % 4) as u8, words, present, index as u8)
    });
    let frames = Frames::from([(1, all.collect())]);
    // More than once: code for clones comes with the first ones.
    for _ in 0..3 {
        let [expected, found] = [&reference, &compiled].map(|pipeline| run(pipeline, &frames, 1, &Spread::FiveTuple));
        assert_eq!(expected, found);
    }
    assert_eq!(reference.differences(&compiled), Vec::<String>::new());
}
