//! Traces of packets through programs.

use crate::capture;
use crate::support::{folder, forebay, program, write};

#[test]
fn a_trace_shows_the_way() {
    let ran = forebay(&["trace", &program(), "--hex", "00 03 aa", "--port", "1"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[..2], ["packet 1 enters port 1, 3 bytes", "  0000  00 03 aa"]);
    assert!(lines.contains(&"control Ingress"), "{}", ran.stdout);
    assert!(
        lines.contains(&"  standard_metadata.egress_spec = 0x003, was 0x001"),
        "{}",
        ran.stdout
    );
    let last = &lines[lines.len() - 2..];
    assert_eq!(last, ["packet leaves port 3, 3 bytes", "  0000  00 03 aa"]);
}

#[test]
fn a_trace_names_entries_and_fields() {
    let programs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../programs/l3fwd");
    let (program, entries) = (format!("{programs}/l3fwd.p4"), format!("{programs}/entries.stf"));
    let packet = "0200000000fe02000000000108004500001c0000000040115ec30a0001010a0707070001000200080000";
    let arguments = ["trace", &program, "--entries", &entries, "--port", "1", "--hex", packet];
    let text = forebay(&arguments).stdout;
    for line in [
        "ether_type  0x0800 (2048)",
        "table L3Ingress.ipv4_lpm: hit",
        "hdr.ipv4.dst_addr  0x0a070707  matches 0x0a000000/8",
        "-> L3Ingress.set_next_hop(next_hop = 0x00000001)",
        "`if (ipv4_lpm.apply().hit)` is true",
    ] {
        assert!(text.contains(line), "{line}\nis not in\n{text}");
    }
    let json = forebay(&[&arguments[..], &["--json"]].concat()).stdout;
    let events = json
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let lookup = events
        .into_iter()
        .find(|event| event["table"] == "L3Ingress.ipv4_lpm")
        .expect("the look-up");
    assert_eq!(lookup["entry"][0], "0x0a000000/8");
    assert_eq!(lookup["args"]["next_hop"], "0x1");
}

#[test]
fn a_trace_of_a_capture_as_json() {
    let folder = folder();
    let capture = capture(folder.path(), "in.pcap", &[&[0, 3], &[1, 0]]);
    let ran = forebay(&["trace", &program(), "--packet", &capture, "--json"]);
    let events: Vec<serde_json::Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let count = |name: &str| events.iter().filter(|event| event["event"] == name).count();
    assert_eq!((count("packet_enters"), count("packet_leaves")), (2, 1));
}

#[test]
fn a_trace_shows_the_program_and_not_the_compiler() {
    let folder = folder();
    let program = r#"
#include <v1model.p4>
header hop_t { bit<1> last; bit<7> port; }
struct headers_t { hop_t[3] hops; }
struct meta_t {}
const bit<1> MORE = 0;
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        transition hop;
    }
    state hop {
        packet.extract(hdr.hops.next);
        transition select(hdr.hops.last.last) {
            MORE: hop;
            default: accept;
        }
    }
}
control V(inout headers_t hdr, inout meta_t meta) { apply {} }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.hops[0].isValid()
            && hdr.hops[0].port != 0) {
            standard_metadata.egress_spec = (bit<9>)hdr.hops[0].port;
            hdr.hops.pop_front(1);
        }
    }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) { apply {} }
control C(inout headers_t hdr, inout meta_t meta) { apply {} }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.hops); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;
    let program = write(folder.path(), "hops.p4", program);
    let ran = forebay(&["trace", &program, "--port", "1", "--hex", "02 83 aa"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for line in [
        "hops.p4:8     state start",
        "hops.p4:11    state hop",
        "select (0): MORE -> hop",
        "select (1): default -> accept",
        "`if (hdr.hops[0].isValid() && hdr.hops[0].port != 0)` is true",
        "`hdr.hops.pop_front(1)`",
        "hdr.hops[1]       becomes invalid",
        "emit hdr.hops[1] and 1 more: not valid",
    ] {
        assert!(ran.stdout.contains(line), "{line}\nis not in\n{}", ran.stdout);
    }
    for leftover in ["hops.next", "case 1", "$"] {
        assert!(!ran.stdout.contains(leftover), "{leftover}\nis in\n{}", ran.stdout);
    }
}
