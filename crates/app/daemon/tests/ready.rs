//! What a switch lacks to carry traffic.

use forebay_daemon::{Daemon, Lacks, ReadyWhen, Running, Start, Watch};
use forebay_packet::{Burst, MemoryPort, Packet, Port};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Has a table with `entries`.
fn program(entries: &str) -> Start {
    let source = r#"
        #include <core.p4>
        #include <v1model.p4>
        struct headers { }
        struct metadata { }
        parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) { state start { transition accept; } }
        control C(inout headers h, inout metadata m) { apply { } }
        control I(inout headers h, inout metadata m, inout standard_metadata_t s) {
            action deny() { mark_to_drop(s); }
            table filter { key = { s.ingress_port: exact; } actions = { deny; NoAction; } ENTRIES }
            apply { filter.apply(); }
        }
        control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
        control D(packet_out p, in headers h) { apply { } }
        V1Switch(P(), C(), I(), E(), C(), D()) main;
    "#;
    Start::read(source.replace("ENTRIES", entries).as_bytes(), Default::default()).expect("a correct program")
}

fn start(ready_when: ReadyWhen) -> (Running, MemoryPort) {
    let (port, end) = MemoryPort::pair("port", "end", 4);
    let mut daemon = Daemon::new(program("").pipeline, Default::default());
    daemon.ready_when(ready_when);
    daemon.attach(1, Box::new(port));
    (daemon.start().expect("the system gives threads"), end)
}

fn lacks(words: &[&str]) -> Lacks {
    Lacks(words.iter().map(|word| (*word).to_owned()).collect())
}

#[test]
fn a_switch_whose_ports_are_up_is_ready_until_it_is_closed() {
    let (running, _end) = start(ReadyWhen::default());
    let watch = running.watch();
    assert_eq!(watch.lacks(), lacks(&[]));
    running.close();
    assert_eq!(watch.lacks(), lacks(&["the switch is ending"]));
}

#[test]
fn a_switch_that_has_ended_says_so_and_its_last_counters() {
    let (running, mut end) = start(ReadyWhen::default());
    let mut burst = Burst::new(1);
    burst.push(Packet::from_bytes(&[0; 60])).expect("there is room");
    assert_eq!(end.send(&mut burst, 0).expect("a link in memory"), 1);
    drop(end);
    assert!(running.wait(Duration::from_secs(30)), "nothing more can come");
    let watch = running.watch();
    let begin = Instant::now();
    assert_eq!(
        watch.lacks(),
        lacks(&["the switch has ended: its ports bring no more packets"])
    );
    assert!(!running.replace(program("").pipeline), "no worker takes it over");
    assert_eq!(watch.report().counters.received, 1);
    // An answer is waited for one second, the change of the program two.
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
}

#[test]
fn entries_and_a_program_are_waited_for() {
    let (running, _end) = start(ReadyWhen {
        needs_program: true,
        entries: vec![("filter".to_owned(), 1)],
    });
    let watch = running.watch();
    let table = "table `I.filter` has 0 of at least 1 entries";
    let program_missing = "there is no program yet: a controller must push one";
    assert_eq!(watch.lacks(), lacks(&[program_missing, table]));
    assert!(running.replace(program("").pipeline));
    assert_eq!(watch.lacks(), lacks(&[table]));
    assert!(running.replace(program("const entries = { 1: deny(); }").pipeline));
    assert_eq!(watch.lacks(), lacks(&[]));
}

/// A report for one reader is not late because another one asks at the same time: a worker answers both with one
/// report.
#[test]
fn many_may_ask_at_the_same_time() {
    let (running, _end) = start(ReadyWhen::default());
    let watch = Arc::new(running.watch());
    let ask = |watch: Arc<Watch>| move || (0..20).all(|_| watch.lacks().is_ready());
    let begin = Instant::now();
    let threads: Vec<_> = (0..8).map(|_| std::thread::spawn(ask(Arc::clone(&watch)))).collect();
    assert!(threads.into_iter().all(|thread| thread.join().expect("no panic")));
    // 20 answers, each of which a worker gives within 50 ms; a missed one takes a second.
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
}
