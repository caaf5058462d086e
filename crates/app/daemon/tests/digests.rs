//! Digests on their way while a program is replaced.

use forebay_bits::Bits;
use forebay_daemon::{Gates, Join, ProgramSlot, ServeOptions, Start, serve};
use forebay_ir::DigestId;
use forebay_p4runtime::Settings;
use forebay_pipeline::DigestMessage;
use forebay_ports::Clock;
use forebay_server::Options;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

const PROGRAM: &str = r#"
    #include <core.p4>
    #include <v1model.p4>
    struct headers { }
    struct metadata { }
    struct seen_t { bit<9> port; }
    parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) { state start { transition accept; } }
    control C(inout headers h, inout metadata m) { apply { } }
    control I(inout headers h, inout metadata m, inout standard_metadata_t s) {
        apply { digest<seen_t>(1, { s.ingress_port }); }
    }
    control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
    control D(packet_out p, in headers h) { apply { } }
    V1Switch(P(), C(), I(), E(), C(), D()) main;
"#;

fn program() -> Start {
    Start::read(PROGRAM.as_bytes(), Default::default()).expect("a correct program")
}

fn seen(port: u64) -> DigestMessage {
    DigestMessage {
        digest: DigestId(0),
        values: vec![Bits::new(9, port.into())],
    }
}

#[test]
fn those_of_a_program_that_was_replaced_are_lost() {
    let (start, replaced) = (program(), program().pipeline.number());
    let present = start.pipeline.number();
    assert_ne!(present, replaced);
    let slot = ProgramSlot::new(Arc::clone(&start.pipeline), 1);
    let Join {
        port: _port,
        digests,
        link,
    } = Join::new().expect("the system gives descriptors");
    let (tell, told) = channel();
    let replacements = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&replacements);
    let clock = Clock::start();
    let options = ServeOptions {
        server: Options {
            address: None,
            tls: None,
            keep_period: Duration::from_secs(60),
            limits: Default::default(),
            access: Default::default(),
        },
        settings: Settings::default(),
        clock,
        start_ns: clock.now_ns(),
        gates: Gates::default(),
        confine: Box::new(|| Ok(())),
        learned: Some(Box::new(move |message: &DigestMessage| {
            tell.send(message.clone()).expect("the test listens");
        })),
        replaced: Some(Box::new(move || _ = counted.fetch_add(1, Ordering::Relaxed))),
    };
    let control_plane = serve(options, link, start, &slot).expect("it need not listen");
    assert!(digests.send(replaced, seen(1)));
    assert!(digests.send(present, seen(2)));
    assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(seen(2)));
    assert_eq!((digests.take_refused(), digests.take_refused()), (1, 0));
    assert_eq!(replacements.load(Ordering::Relaxed), 0);
    let local = control_plane.server.local();
    let program = local.compile(PROGRAM.as_bytes().to_vec()).expect("a correct program");
    local.save(program).expect("no other one waits");
    local.commit().expect("a program was saved");
    assert_eq!(replacements.load(Ordering::Relaxed), 1);
    assert!(digests.send(present, seen(3)));
    assert!(digests.send(slot.present().number(), seen(4)));
    assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(seen(4)));
    assert_eq!(digests.take_refused(), 1);
    drop(control_plane);
}
