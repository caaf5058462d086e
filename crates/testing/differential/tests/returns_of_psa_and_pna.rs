//! Packets of PSA and PNA programs that come round again: the fast path completes their passes, and their next ones
//! take it too.

use forebay_differential::workers::{Frames, run};
use forebay_driver::{Options as FrontEnd, compile};
use forebay_packet::MemoryPort;
use forebay_pipeline::{Engine, FastForm, FastPath, NoTrace, Options, Pipeline, Replica};
use forebay_switch::{Config, Settled, Spread, Switch};
use forebay_syntax::source::MemorySources;
use std::sync::Arc;

/// The first byte says how a packet comes round again. Every pass takes a number on each side of the queue.
const PSA: &str = r#"
#include <psa.p4>
header h_t { bit<8> kind; bit<8> passes; bit<16> before; bit<16> behind; bit<8> kept; bit<8> path; bit<32> port; }
struct headers_t { h_t h; }
struct none_t {}
#ifdef KEEPS
struct again_t { bit<8> rounds; bit<12> more; }
#else
struct again_t {}
#endif
struct meta_t { bit<8> kept; bit<8> path; bit<32> port; }
parser IP(packet_in packet, out headers_t hdr, inout meta_t meta, in psa_ingress_parser_input_metadata_t istd,
          in none_t resubmitted, in again_t recirculated) {
    state start {
        packet.extract(hdr.h);
        meta.port = (PortIdUint_t) istd.ingress_port;
        meta.path = 1;
#ifdef KEEPS
        meta.kept = recirculated.rounds ^ (bit<8>) recirculated.more;
#else
        meta.kept = 0;
#endif
        transition select(istd.packet_path) {
            PSA_PacketPath_t.RECIRCULATE: again;
            default: accept;
        }
    }
    state again {
        meta.path = 7;
        transition accept;
    }
}
control I(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
          inout psa_ingress_output_metadata_t ostd) {
    Register<bit<16>, bit<8>>(1, 0) numbers;
    apply {
        bit<16> number = numbers.read(0) + 1;
        numbers.write(0, number);
        hdr.h.before = number;
        hdr.h.passes = hdr.h.passes + 1;
        hdr.h.kept = hdr.h.kept ^ meta.kept;
        hdr.h.path = meta.path;
        hdr.h.port = meta.port ^ ((PortIdUint_t) istd.ingress_port << 8);
        send_to_port(ostd, (PortId_t) 2);
        if (hdr.h.kind == 1 && hdr.h.passes < 3) {
            send_to_port(ostd, PSA_PORT_RECIRCULATE);
        } else if (hdr.h.kind == 2 && istd.packet_path == PSA_PacketPath_t.NORMAL) {
            multicast(ostd, (MulticastGroup_t) 1);
        } else if (hdr.h.kind == 3) {
            send_to_port(ostd, PSA_PORT_RECIRCULATE);
        } else if (hdr.h.kind == 4 && istd.ingress_port == PSA_PORT_RECIRCULATE) {
            ingress_drop(ostd);
        } else if (hdr.h.kind >= 4 && hdr.h.passes < 4) {
            send_to_port(ostd, PSA_PORT_RECIRCULATE);
        }
    }
}
control ID(packet_out packet, out none_t clone_i2e_meta, out none_t resubmit_meta, out none_t normal_meta,
           inout headers_t hdr, in meta_t meta, in psa_ingress_output_metadata_t istd) {
    apply { packet.emit(hdr); }
}
parser EP(packet_in packet, out headers_t hdr, inout meta_t meta, in psa_egress_parser_input_metadata_t istd,
          in none_t normal_meta, in none_t clone_i2e_meta, in none_t clone_e2e_meta) {
    state start {
        packet.extract(hdr.h);
        transition accept;
    }
}
control E(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd,
          inout psa_egress_output_metadata_t ostd) {
    Register<bit<16>, bit<8>>(1, 0) numbers;
    apply {
        bit<16> number = numbers.read(0) + 1;
        numbers.write(0, number);
        hdr.h.behind = number;
        if (hdr.h.kind == 5 && hdr.h.passes == 2) {
            egress_drop(ostd);
        }
    }
}
control ED(packet_out packet, out none_t clone_e2e_meta, out again_t recirculate_meta, inout headers_t hdr,
           in meta_t meta, in psa_egress_output_metadata_t istd, in psa_egress_deparser_input_metadata_t edstd) {
    apply {
#ifdef KEEPS
        // Kind 6 keeps nothing after its second pass.
        if (psa_recirculate(istd, edstd) && (hdr.h.kind != 6 || hdr.h.passes == 1)) {
            recirculate_meta.rounds = hdr.h.passes + 0x10;
            recirculate_meta.more = 0x105;
        }
#endif
        packet.emit(hdr);
    }
}
IngressPipeline(IP(), I(), ID()) ingress;
EgressPipeline(EP(), E(), ED()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
"#;

/// The same for PNA, whose blocks are told the number of passes.
const PNA: &str = r#"
#include <pna.p4>
header h_t { bit<8> kind; bit<8> passes; bit<16> number; bit<8> in_parser; bit<8> in_pre; bit<8> in_main; bit<8> mark; }
header more_t { bit<16> value; }
struct headers_t { more_t more; h_t h; }
struct meta_t { bit<8> in_parser; bit<8> in_pre; bit<8> mark; }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, in pna_main_parser_input_metadata_t istd) {
    state start {
        meta.in_parser = (bit<8>) (PassNumberUint_t) istd.pass;
        transition select(istd.recirculated, packet.lookahead<bit<8>>()) {
            (true, 0xfe): more;
            default: rest;
        }
    }
    state more {
        packet.extract(hdr.more);
        transition rest;
    }
    state rest {
        packet.extract(hdr.h);
        transition select(istd.direction) {
            PNA_Direction_t.HOST_TO_NET: from_host;
            default: accept;
        }
    }
    state from_host {
        meta.in_parser = meta.in_parser + 0x80;
        transition accept;
    }
}
control Pre(in headers_t hdr, inout meta_t meta, in pna_pre_input_metadata_t istd,
            inout pna_pre_output_metadata_t ostd) {
    apply { meta.in_pre = (bit<8>) (PassNumberUint_t) istd.pass + 0x40; }
}
control M(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
          inout pna_main_output_metadata_t ostd) {
    Register<bit<16>, bit<8>>(1, 0) numbers;
    apply {
        bit<16> number = numbers.read(0) + 1;
        numbers.write(0, number);
        hdr.h.number = number;
        hdr.h.passes = hdr.h.passes + 1;
        hdr.h.in_parser = meta.in_parser;
        hdr.h.in_pre = meta.in_pre;
        hdr.h.in_main = (bit<8>) (PassNumberUint_t) istd.pass;
        hdr.h.mark = hdr.h.mark + meta.mark;
        meta.mark = 0xff;
        send_to_port((PortId_t) 2);
        if (hdr.h.kind == 1 && hdr.h.passes < 3) {
            recirculate();
        } else if (hdr.h.kind == 2 && !istd.recirculated) {
            hdr.more.setValid();
            hdr.more.value = 0xfe00 | number;
            recirculate();
        } else if (hdr.h.kind == 2) {
            hdr.more.setInvalid();
        } else if (hdr.h.kind == 3) {
            recirculate();
        } else if (hdr.h.kind == 4) {
            recirculate();
            drop_packet();
        } else if (hdr.h.kind == 5) {
            drop_packet();
            if (istd.pass == (PassNumber_t) 0) {
                recirculate();
            }
        } else if (hdr.h.kind == 6 && istd.pass != (PassNumber_t) 7) {
            recirculate();
        }
    }
}
control D(packet_out packet, in headers_t hdr, in meta_t meta, in pna_main_output_metadata_t ostd) {
    apply { packet.emit(hdr); }
}
PNA_NIC(P(), Pre(), M(), D()) main;
"#;

const KINDS: u8 = 8;

fn programs() -> [String; 3] {
    [PSA.to_owned(), format!("#define KEEPS\n{PSA}"), PNA.to_owned()]
}

fn pipeline(text: &str, engine: Engine) -> Arc<Pipeline> {
    let sources = MemorySources::new().with("program.p4", text);
    let compiled = compile("program.p4", &FrontEnd::new(&sources));
    let options = Options {
        engine,
        fast_path: FastPath::BeforePackets,
        recirculate_limit: 30,
        ..Options::default()
    };
    let program = compiled.program.expect("a program");
    let pipeline = Pipeline::load_with(program, options).expect("a pipeline");
    let member = |egress_port, instance| Replica { egress_port, instance };
    let members = [member(3, 0), member(4, 1)];
    pipeline.set_multicast_group(1, &members).expect("a group");
    Arc::new(pipeline)
}

fn frame(kind: u8, index: u8) -> Vec<u8> {
    vec![kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, index, 1, 2, 3]
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
fn engines_make_the_same_passes() {
    for text in programs() {
        let (reference, compiled) = (pipeline(&text, Engine::Interpreter), pipeline(&text, Engine::Jit));
        let obstacles = compiled.obstacles();
        assert!(obstacles.is_empty(), "{obstacles:?}");
        for frames in (0..KINDS).map(bursts).chain([mixed()]) {
            let [expected, found] = [&reference, &compiled].map(|it| run(it, &frames, 1, &Spread::FiveTuple));
            assert_eq!(expected, found, "{:?}", &frames[&1][0]);
            assert_eq!(reference.differences(&compiled), Vec::<String>::new());
        }
    }
}

#[test]
fn recirculated_packets_take_the_fast_path() {
    for text in programs() {
        let mut switch = Switch::new(pipeline(&text, Engine::Jit), Config::default());
        let (near, mut far) = MemoryPort::pair("near", "far", 1024);
        switch.attach(2, Box::new(near));
        for index in 0..20 {
            assert!(far.inject(&frame([1, 6][usize::from(index) % 2], index)));
        }
        assert_eq!(switch.settle(0, 100, &mut NoTrace), Settled::Idle);
        let further = switch.paths().further_passes;
        assert!(further.total() > 20, "{further:?}");
        assert_eq!(further.fast, further.total());
    }
}

/// Lets a copy for each packet that is copied come round again.
fn copy_round(pipeline: &Pipeline) {
    let members = [(3, 0), (0xffff_fffa, 1), (4, 2)].map(|(egress_port, instance)| Replica { egress_port, instance });
    pipeline.set_multicast_group(1, &members).expect("a group");
}

/// A multicast group with the port of recirculation: that copy comes round again.
#[test]
fn copies_come_round() {
    for text in &programs()[..2] {
        let both = [Engine::Interpreter, Engine::Jit].map(|engine| pipeline(text, engine));
        both.iter().for_each(|pipeline| copy_round(pipeline));
        let frames = bursts(2);
        let [expected, found] = both.each_ref().map(|it| run(it, &frames, 1, &Spread::FiveTuple));
        assert_eq!(expected, found);
        assert_eq!(both[0].differences(&both[1]), Vec::<String>::new());
    }
}

#[test]
fn packets_whose_copies_come_round_take_the_fast_path() {
    for text in &programs()[..2] {
        let pipeline = pipeline(text, Engine::Jit);
        copy_round(&pipeline);
        let mut switch = Switch::new(pipeline, Config::default());
        let (near, mut far) = MemoryPort::pair("near", "far", 1024);
        switch.attach(2, Box::new(near));
        assert!((0..20).all(|index| far.inject(&frame(2, index))));
        assert_eq!(switch.settle(0, 100, &mut NoTrace), Settled::Idle);
        let paths = switch.paths();
        assert_eq!((paths.further_passes.fast, paths.further_passes.total()), (20, 20));
        let is_general = |(form, packets): (FastForm, u64)| form == FastForm::General && packets > 0;
        assert!(!paths.fast().any(is_general), "{paths:?}");
    }
}
