//! `psa_empty_group_action`: a PSA program whose entry names a group of an action selector, with and without members.

use forebay_bits::Bits;
use forebay_daemon::{Daemon, Start};
use forebay_ir::EntryMatch;
use forebay_packet::MemoryPort;
use forebay_pipeline::{Engine, Entry, EntryAction, Options};
use std::time::{Duration, Instant};

const PROGRAM: &str = r#"
#include <psa.p4>
header byte_t { bit<8> value; }
struct headers_t { byte_t byte; }
struct none_t { }
parser IP(packet_in p, out headers_t h, inout none_t m, in psa_ingress_parser_input_metadata_t i, in none_t r, in none_t c) {
    state start { p.extract(h.byte); transition accept; }
}
control I(inout headers_t h, inout none_t m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o) {
    ActionSelector(PSA_HashAlgorithm_t.CRC32, 8, 8) selector;
    action forward(PortId_t port, bit<8> mark) {
        send_to_port(o, port);
        h.byte.value = mark;
    }
    table hosts {
        key = { h.byte.value : exact; i.ingress_port : selector; }
        actions = { NoAction; forward; }
        psa_implementation = selector;
        const psa_empty_group_action = forward((PortId_t) 2, 8w0xee);
    }
    apply {
        switch (hosts.apply().action_run) {
            forward: { h.byte.value = h.byte.value ^ 1; }
        }
    }
}
control ID(packet_out p, out none_t c, out none_t r, out none_t n, inout headers_t h, in none_t m, in psa_ingress_output_metadata_t o) {
    apply { p.emit(h.byte); }
}
parser EP(packet_in p, out headers_t h, inout none_t m, in psa_egress_parser_input_metadata_t i, in none_t n, in none_t a, in none_t b) {
    state start { transition accept; }
}
control E(inout headers_t h, inout none_t m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) { apply { } }
control ED(packet_out p, out none_t c, out none_t r, inout headers_t h, in none_t m, in psa_egress_output_metadata_t o,
           in psa_egress_deparser_input_metadata_t i) { apply { } }
IngressPipeline(IP(), I(), ID()) ingress;
EgressPipeline(EP(), E(), ED()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
"#;

fn bits(width: u32, value: u128) -> Bits {
    Bits::new(width, value)
}

fn next_frame(port: &mut MemoryPort) -> Vec<u8> {
    let begin = Instant::now();
    loop {
        if let Some(frame) = port.extract() {
            return frame;
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "no packet has come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn an_empty_group_runs_the_action_that_the_program_names() {
    for engine in [Engine::Interpreter, Engine::Jit] {
        let options = Options {
            engine,
            ..Options::default()
        };
        let start = Start::read(PROGRAM.as_bytes(), options).expect("a correct program");
        let pipeline = start.pipeline.clone();
        let (first, mut sender) = MemoryPort::pair("first", "sender", 64);
        let (second, mut receiver) = MemoryPort::pair("second", "receiver", 64);
        let mut daemon = Daemon::new(start.pipeline, Default::default());
        daemon.attach(1, Box::new(first));
        daemon.attach(2, Box::new(second));
        let running = daemon.start().expect("the system gives a thread");
        pipeline.insert_group("selector", 7, &[]).expect("a group");
        let entry = Entry {
            matches: vec![EntryMatch::Exact(bits(8, 5))],
            priority: 0,
            action: EntryAction::Group(7),
        };
        pipeline.insert_entry("hosts", &entry).expect("an entry");
        sender.inject(&[5]);
        assert_eq!(next_frame(&mut receiver), [0xef], "{engine:?}: the group is empty");
        let member = [bits(32, 2), bits(8, 0x10)];
        pipeline
            .insert_member("selector", 1, "forward", &member)
            .expect("a member");
        pipeline
            .modify_group("selector", 7, &[(1, 1)])
            .expect("a member of the group");
        sender.inject(&[5]);
        assert_eq!(next_frame(&mut receiver), [0x11], "{engine:?}: the group has a member");
        running.stop().expect("no worker fails");
    }
}
