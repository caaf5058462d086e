//! The metrics of a real switch: served, in the form that Prometheus reads, with values that agree with its books.

mod support;

use forebay_telemetry::{Exporter, Family, Kind, ReadyPage, Source, prometheus, switch};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::busy_switch;

/// A sample as the text has it: name with labels, value.
type Samples = BTreeMap<String, f64>;

/// Reads the text as Prometheus's parser does, and checks what it demands.
fn parsed(text: &str) -> Samples {
    let mut kinds = BTreeMap::new();
    let mut helped = BTreeSet::new();
    let mut samples = Samples::new();
    for line in text.lines() {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        match words[..] {
            ["#", "HELP", name, help] => {
                assert!(helped.insert(name.to_string()), "{name} is there twice");
                assert!(help.ends_with('.'), "{line}");
            }
            ["#", "TYPE", name, kind] => {
                assert!(helped.contains(name), "HELP goes before TYPE: {line}");
                kinds.insert(name.to_string(), kind.to_string());
            }
            _ => {
                let (series, value) = line.rsplit_once(' ').expect("a value");
                let name = series.split('{').next().expect("a name");
                assert!(
                    name.chars()
                        .all(|one| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '_'),
                    "{name}"
                );
                let base = ["_bucket", "_sum", "_count"]
                    .iter()
                    .find_map(|end| name.strip_suffix(end));
                let of_histogram = base.filter(|base| kinds.get(*base).is_some_and(|kind| kind == "histogram"));
                let kind = kinds
                    .get(of_histogram.unwrap_or(name))
                    .unwrap_or_else(|| panic!("no TYPE: {line}"));
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                let value: f64 = value.parse().expect("a number");
                assert!(
                    samples.insert(series.to_string(), value).is_none(),
                    "{series} is there twice"
                );
            }
        }
    }
    samples
}

fn promtool(text: &str) {
    let started = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut process) = started else {
        assert!(
            std::env::var_os("FOREBAY_STRICT").is_none(),
            "promtool is not installed"
        );
        eprintln!("promtool is not installed (Debian: prometheus): its check is left out");
        return;
    };
    let mut input = process.stdin.take().expect("a pipe");
    input.write_all(text.as_bytes()).expect("promtool reads");
    drop(input);
    let output = process.wait_with_output().expect("promtool ends");
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn a_switch_tells_what_it_has_done() {
    let running = busy_switch();
    let families = switch::families(&running.report(), &running.program(), None);
    let text = prometheus::text(&families);
    promtool(&text);
    let samples = parsed(&text);
    let value = |series: &str| {
        *samples
            .get(series)
            .unwrap_or_else(|| panic!("{series} is not in\n{text}"))
    };
    assert_eq!(value("forebay_received_packets_total"), 300.0);
    assert_eq!(value("forebay_sent_packets_total"), 200.0);
    assert_eq!(value("forebay_dropped_packets_total"), 100.0);
    assert_eq!(value("forebay_inside_packets"), 0.0);
    assert_eq!(
        value("forebay_port_received_packets_total{port=\"1\",name=\"first\"}"),
        300.0
    );
    let drops = "forebay_port_dropped_packets_total{port=\"1\",name=\"first\",by=\"switch\",reason=\"ingress_drop\"}";
    assert_eq!(value(drops), 100.0);
    assert_eq!(
        value("forebay_p4_counted_packets_total{counter=\"I.seen\",index=\"3\",name=\"\"}"),
        300.0
    );
    assert_eq!(
        value("forebay_p4_counted_packets_total{counter=\"I.sorts\",index=\"1\",name=\"even\"}"),
        300.0
    );
    assert_eq!(value("forebay_table_entries{table=\"I.filter\"}"), 1.0);
    assert_eq!(value("forebay_packet_poll_seconds_count"), 300.0);
    assert_eq!(value("forebay_packet_delay_seconds_count"), 20.0);
    assert_eq!(value("forebay_packet_delay_seconds_bucket{le=\"+Inf\"}"), 20.0);
    let paths: f64 = samples
        .iter()
        .filter(|(series, _)| series.contains("_path_packets_total"))
        .map(|(_, packets)| packets)
        .sum();
    assert_eq!(paths, 300.0);
    running.stop().expect("it stops");
}

/// Sends a request, and returns status line, headers and body.
fn request(address: SocketAddr, text: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .expect("a timeout");
    stream.write_all(text.as_bytes()).expect("sent");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (head.to_string(), body.to_string())
}

fn get(address: SocketAddr, method: &str, path: &str) -> (String, String) {
    request(
        address,
        &format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
    )
}

#[test]
fn the_server_answers_what_prometheus_asks_and_refuses_the_rest() {
    let source: Source = Arc::new(|| vec![Family::gauge("forebay_answer", "An answer.").of(42u64)]);
    let mut exporter = Exporter::new(Duration::from_secs(10), "test");
    let address = exporter.listen("0").expect("a free port");
    assert!(address.ip().is_loopback());
    exporter.start(source).expect("a thread");

    let (head, body) = get(address, "GET", "/metrics");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(
        head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"),
        "{head}"
    );
    let samples = parsed(&body);
    assert_eq!(
        (samples["forebay_answer"], samples["forebay_scrapes_total"]),
        (42.0, 1.0)
    );
    assert!(samples["forebay_start_time_seconds"] > 1.6e9);
    promtool(&body);

    let (head, body) = get(address, "HEAD", "/metrics");
    assert!(head.starts_with("HTTP/1.1 200 ") && body.is_empty(), "{head}");
    assert!(get(address, "GET", "/healthz").0.starts_with("HTTP/1.1 200 "));
    // These metrics belong to no switch, so that nothing is ready.
    assert!(get(address, "GET", "/ready").0.starts_with("HTTP/1.1 404 "));
    assert!(get(address, "GET", "/other").0.starts_with("HTTP/1.1 404 "));
    assert!(get(address, "POST", "/metrics").0.starts_with("HTTP/1.1 405 "));
    assert!(request(address, "rubbish\r\n\r\n").0.starts_with("HTTP/1.1 400 "));
    let long = format!("GET /metrics HTTP/1.1\r\nHost: {}\r\n\r\n", "x".repeat(100_000));
    assert!(request(address, &long).0.starts_with("HTTP/1.1 4"));
    // Connections that are silent, or send half of a request, are no obstacle, however many there are.
    let silent = |half: &str| {
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.write_all(half.as_bytes()).expect("it takes that");
        stream
    };
    let _silent: Vec<TcpStream> = (0..100)
        .map(|number| silent(["", "GET /metrics HT"][number % 2]))
        .collect();
    assert!(get(address, "GET", "/metrics").0.starts_with("HTTP/1.1 200 "));
}

#[test]
fn readiness_is_a_status_with_its_reason() {
    let is_ready = Arc::new(AtomicBool::new(false));
    let ready = Arc::clone(&is_ready);
    let answer = move || ReadyPage {
        is_ready: ready.load(Ordering::Relaxed),
        text: "why\n".to_owned(),
        json: "{}\n".to_owned(),
    };
    let mut exporter = Exporter::new(Duration::from_secs(10), "test");
    exporter.serve_ready(Arc::new(answer));
    let address = exporter.listen("0").expect("a free port");
    exporter.start(Arc::new(Vec::new)).expect("a thread");
    let (head, body) = get(address, "GET", "/ready");
    assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
    assert_eq!(body, "why\n");
    is_ready.store(true, Ordering::Relaxed);
    let wants_json = "GET /ready HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\nConnection: close\r\n\r\n";
    let (head, body) = request(address, wants_json);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(head.contains("content-type: application/json"), "{head}");
    assert_eq!(body, "{}\n");
}

#[test]
fn counters_have_names_that_say_so() {
    let running = busy_switch();
    let mut families = switch::families(&running.report(), &running.program(), None);
    families.extend(switch::process(0));
    for family in &families {
        assert_eq!(
            family.kind == Kind::Counter,
            family.name.ends_with("_total"),
            "{}",
            family.name
        );
    }
    running.stop().expect("it stops");
}
