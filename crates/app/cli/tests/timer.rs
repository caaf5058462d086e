//! Messages of different lengths are gathered for a bounded time, and nothing is lost when the switch stops: in memory
//! with a clock of the test's, and as a user runs it.

use forebay_driver::FileSources;
use forebay_entries::Controller;
use forebay_packet::pcap::{TimestampUnit, Writer, read_all};
use forebay_packet::{MemoryPort, TimerPort};
use forebay_pipeline::{NoTrace, Options, Pipeline};
use forebay_switch::{Config, Settled, Switch};
use forebay_traffic::{FrameSpec, MessageFormat, MessageId, inspect, mixed};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

const AGGREGATE: &str = "iot_aggregate_timed";
const DISAGGREGATE: &str = "iot_disaggregate_mixed";

/// Port 2 leads to the server.
const ENTRIES: &str = "add ipv4_lpm ipv4.dst_addr:0x0A000200/24 to_next_hop(next_hop_id:7, port:2)\n\
                       add next_hops next_hop:7 set_macs(src_addr:1, dst_addr:2)\n";

const MICROSECOND: u64 = 1_000;
const BATCHES: u32 = 64;
const AGE_US: u64 = 100;
const INTERVAL_NS: u64 = 500;

/// Frames that a memory port holds.
const QUEUE: usize = 1024;

fn program(name: &str) -> String {
    format!("{}/../../../programs/{name}/{name}.p4", env!("CARGO_MANIFEST_DIR"))
}

fn switch(name: &str, defines: &[&str], entries: &str) -> Switch {
    let defines: Vec<String> = defines.iter().map(|define| define.to_string()).collect();
    let options = forebay_driver::Options {
        provider: &FileSources::new(),
        include_paths: &[],
        defines: &defines,
    };
    let compiled = forebay_driver::compile(&program(name), &options);
    let program = compiled.program.expect("the program compiles");
    let pipeline = Arc::new(Pipeline::load_with(program, Options::default()).expect("it loads"));
    let mut controller = Controller::new(Arc::clone(&pipeline));
    for command in forebay_entries::parse(entries).expect("commands").commands {
        assert_eq!(controller.apply(&command.value), forebay_entries::Applied::Done);
    }
    Switch::new(pipeline, Config::default())
}

/// Multicast groups of 1 to 8 copies to port 2.
fn groups() -> String {
    let nodes = (0..8).map(|rid| format!("mc_node_create {rid} 2\n"));
    let groups = (1..=8).map(|copies| {
        let group = 1000 + 8 * 2 + copies - 1;
        let members = (0..copies).map(|rid| format!("mc_node_associate {group} {rid}\n"));
        format!("mc_mgrp_create {group}\n{}", members.collect::<String>())
    });
    nodes.chain(groups).collect()
}

/// A message of 12 to 31 bytes of a flow.
fn message(id: MessageId) -> Vec<u8> {
    let format = MessageFormat::new(12 + (id.sequence as usize * 7 + id.flow as usize) % 20).expect("a length");
    let mut datagram = Vec::new();
    format.write_message(id, &mut datagram);
    let device = Ipv4Addr::from(0x0a00_0100 + id.flow);
    FrameSpec::udp_ipv4((device, 4000), (Ipv4Addr::new(10, 0, 2, 2), 9000)).build(&datagram)
}

fn payloads(frame: &[u8]) -> Vec<Vec<u8>> {
    let inspected = inspect(frame).expect("a correct frame");
    let payloads = mixed::payloads(&frame[inspected.payload]).expect("messages");
    payloads.into_iter().map(<[u8]>::to_vec).collect()
}

#[test]
fn no_message_waits_for_longer_than_its_batch_may_and_none_is_lost() {
    let (mut devices, upstream) = MemoryPort::pair("devices", "upstream", QUEUE);
    let (near, far) = MemoryPort::pair("near", "far", QUEUE);
    let (downstream, mut server) = MemoryPort::pair("downstream", "server", QUEUE);
    let defines = [
        format!("FLOWS={BATCHES}"),
        format!("MAX_AGE={AGE_US}"),
        "N=8".to_string(),
    ];
    let defines: Vec<&str> = defines.iter().map(String::as_str).collect();
    let mut first = switch(AGGREGATE, &defines, ENTRIES);
    first.attach(1, Box::new(upstream));
    first.attach(2, Box::new(near));
    first.attach(63, Box::new(TimerPort::new("timer", INTERVAL_NS, BATCHES)));
    let mut second = switch(DISAGGREGATE, &["N=8"], &(ENTRIES.to_string() + &groups()));
    second.attach(1, Box::new(far));
    second.attach(2, Box::new(downstream));

    let mut came: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    let mut carry = |first: &mut Switch, now_ns: u64, came: &mut BTreeMap<Vec<u8>, u64>| {
        assert_eq!(first.settle(now_ns, 100, &mut NoTrace), Settled::Idle);
        assert_eq!(second.settle(now_ns, 100, &mut NoTrace), Settled::Idle);
        let mut waits = Vec::new();
        while let Some(frame) = server.extract() {
            for payload in payloads(&frame) {
                let came = came.remove(&payload).expect("it was sent, and has not come before");
                waits.push(now_ns - came);
            }
        }
        waits
    };
    let mut longest = 0;
    for step in 0..20_000u64 {
        let now_ns = step * MICROSECOND / 4;
        // Some flows are fast, others send a message and no more for a long time.
        let flow = (0..20).find(|flow| step % (3 + (1 << flow.min(&12))) == 0);
        if let Some(flow) = flow {
            let frame = message(MessageId {
                flow,
                sequence: step as u32,
            });
            came.insert(payloads(&frame).remove(0), now_ns);
            devices.inject(&frame);
        }
        let waits = carry(&mut first, now_ns, &mut came);
        longest = waits.into_iter().fold(longest, u64::max);
    }
    let bound = AGE_US * MICROSECOND + u64::from(BATCHES) * INTERVAL_NS;
    // The program's clock has microseconds, and a step is a quarter of one.
    assert!(
        (AGE_US * MICROSECOND..=bound + 2 * MICROSECOND).contains(&longest),
        "{longest} ns"
    );
    assert!(!came.is_empty(), "the last messages are still kept");
    first.begin_last_round();
    carry(&mut first, 6_000 * MICROSECOND, &mut came);
    assert_eq!(came.len(), 0, "nothing is left behind");
    assert_eq!(first.counters().in_flight(), 0);
}

/// Runs the aggregation as a user does, from a capture to a capture; the payloads that came out.
fn run_from_capture(folder: &Path, frames: &[Vec<u8>], workers: &str) -> Vec<Vec<u8>> {
    let (input, output, entries) = (folder.join("in.pcap"), folder.join("out.pcap"), folder.join("e.stf"));
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, TimestampUnit::Nanoseconds).expect("memory");
    for frame in frames {
        writer.write(0, frame, frame.len()).expect("memory");
    }
    std::fs::write(&input, file).expect("a file");
    std::fs::write(&entries, ENTRIES).expect("a file");
    let result = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args([
            "run",
            &program(AGGREGATE),
            "-D",
            "N=8",
            "-D",
            "MAX_AGE=1000000000",
            "--json",
            "--workers",
            workers,
        ])
        .args([
            "-i",
            &format!("1@pcap:{},", input.display()),
            "-i",
            &format!("2@pcap:,{}", output.display()),
        ])
        .args(["-i", "63@timer:1s,256", "--entries"])
        .arg(&entries)
        .stdin(Stdio::null())
        .output()
        .expect("the command runs");
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    let written = std::fs::read(&output).expect("the output");
    let packets = read_all(&written).expect("a capture");
    packets.iter().flat_map(|packet| payloads(packet.data())).collect()
}

#[test]
fn what_is_gathered_goes_when_the_switch_stops() {
    let ids = (0..100).map(|index| MessageId {
        flow: index % 9,
        sequence: index,
    });
    let frames: Vec<Vec<u8>> = ids.map(message).collect();
    let mut sent: Vec<Vec<u8>> = frames.iter().flat_map(|frame| payloads(frame)).collect();
    sent.sort();
    for workers in ["1", "2"] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut came = run_from_capture(folder.path(), &frames, workers);
        came.sort();
        assert_eq!(came, sent, "{workers} workers");
    }
}
