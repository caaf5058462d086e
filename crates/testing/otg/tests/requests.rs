//! Scripts' requests, against a wire in memory.

use forebay_otg::{Answer, Generator, Memory};
use forebay_packet::{Burst, MemoryPort, Port, PortError, delegate_port};
use forebay_tester::device;
use forebay_tester::impairment::{Delay, Impairment};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A generator whose ports are joined two by two.
fn generator() -> Generator {
    let wire = |numbers: &[u32]| Ok(device::wire(numbers, &[(1, 2), (2, 1)], 4096));
    Generator::new(Memory(wire)).expect("a thread")
}

fn config(packets: u64) -> Value {
    json!({
        "ports": [{ "name": "a", "location": "1" }, { "name": "b", "location": "2" }],
        "flows": [{
            "name": "f",
            "tx_rx": { "choice": "port", "port": { "tx_name": "a", "rx_names": ["b"] } },
            "packet": [{ "choice": "ethernet" }, { "choice": "ipv4" }, { "choice": "udp" }],
            "size": { "choice": "fixed", "fixed": 128 },
            "rate": { "choice": "pps", "pps": "20000" },
            "duration": { "choice": "fixed_packets", "fixed_packets": { "packets": packets } },
            "metrics": { "enable": true, "loss": true, "latency": { "enable": true }, "timestamps": true },
        }],
        "captures": [{ "name": "c", "port_names": ["b"], "format": "pcapng" }],
    })
}

fn done(answer: Answer) -> Value {
    match answer {
        Answer::Json(value) => value,
        other => panic!("{other:?}"),
    }
}

fn transmit(generator: &mut Generator, state: &str) {
    let body =
        json!({ "choice": "traffic", "traffic": { "choice": "flow_transmit", "flow_transmit": { "state": state } } });
    done(generator.request("POST", "/control/state", &body));
}

fn flow(generator: &mut Generator) -> Value {
    let body = json!({ "choice": "flow", "flow": { "flow_names": ["f"] } });
    done(generator.request("POST", "/monitor/metrics", &body))["flow_metrics"][0].clone()
}

/// Waits until the metrics of the flow are as they should be.
fn wait(generator: &mut Generator, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let found = flow(generator);
        if is_so(&found) {
            return found;
        }
        assert!(Instant::now() < end, "{what}: {found}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A port that takes some frames, refuses some, and then is out of order.
struct Failing {
    port: Box<dyn Port>,
    bursts: u32,
}

impl Port for Failing {
    fn send(&mut self, burst: &mut Burst, now_ns: u64) -> Result<usize, PortError> {
        self.bursts += 1;
        if self.bursts <= 20 {
            return self.port.send(burst, now_ns);
        }
        burst.clear();
        if self.bursts <= 25 {
            return Ok(0);
        }
        Err(PortError::Failed {
            port: "a".to_string(),
            operation: "send",
            detail: "a fault".to_string(),
        })
    }

    delegate_port!(
        port: name, receive, counters, state, why_down, readiness, room, is_timer, reads_ids, begin_last_round, flush
    );
}

#[test]
fn a_port_that_fails_stops_flows_and_keeps_their_counters() {
    let failing = |numbers: &[u32]| {
        let mut device = device::wire(numbers, &[(1, 2), (2, 1)], 4096);
        let spare: Box<dyn Port> = Box::new(MemoryPort::loopback("spare", 1));
        let port = std::mem::replace(&mut device.ports[0].port, spare);
        device.ports[0].port = Box::new(Failing { port, bursts: 0 });
        Ok(device)
    };
    let mut generator = Generator::new(Memory(failing)).expect("a thread");
    done(generator.request("POST", "/config", &config(100_000)));
    transmit(&mut generator, "start");
    let found = wait(&mut generator, "the flow stops", |found| {
        found["transmit"] == "stopped" && found["frames_tx"] == found["frames_rx"]
    });
    let sent: u64 = found["frames_tx"]
        .as_str()
        .and_then(|sent| sent.parse().ok())
        .expect("a number");
    assert!((20..=20 * 8).contains(&sent), "{found}");
}

/// A port that keeps what it receives, or gives what another one has kept.
struct Late {
    port: Box<dyn Port>,
    kept: Arc<Mutex<Vec<Vec<u8>>>>,
    keeps: bool,
}

impl Port for Late {
    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        let mut count = self.port.receive(burst, max, now_ns)?;
        let mut kept = self.kept.lock().expect("no panic");
        if self.keeps {
            kept.extend(burst.iter().map(|packet| packet.data().to_vec()));
            burst.clear();
            return Ok(0);
        }
        // They come among those of the flow that is sent then.
        while count > 0 && count < max && !kept.is_empty() {
            let Some(packet) = burst.allocate() else { break };
            packet.set_data(&kept.remove(0));
            count += 1;
        }
        Ok(count)
    }

    delegate_port!(
        port: name, send, counters, state, why_down, readiness, room, is_timer, reads_ids, begin_last_round, flush
    );
}

/// What is under way when a configuration is set again is of no flow of it.
#[test]
fn frames_of_the_configuration_before_are_not_counted() {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let (all, mut keeps) = (kept.clone(), true);
    let late = move |numbers: &[u32]| {
        let mut device = device::wire(numbers, &[(1, 2), (2, 1)], 4096);
        let spare: Box<dyn Port> = Box::new(MemoryPort::loopback("spare", 1));
        let port = std::mem::replace(&mut device.ports[1].port, spare);
        let kept = kept.clone();
        device.ports[1].port = Box::new(Late { port, kept, keeps });
        keeps = false;
        Ok(device)
    };
    let mut generator = Generator::new(Memory(late)).expect("a thread");
    done(generator.request("POST", "/config", &config(100)));
    transmit(&mut generator, "start");
    wait(&mut generator, "all are sent", |found| found["transmit"] == "stopped");
    let end = Instant::now() + Duration::from_secs(20);
    while all.lock().expect("no panic").len() < 100 {
        assert!(Instant::now() < end, "all are kept");
        std::thread::sleep(Duration::from_millis(10));
    }
    done(generator.request("POST", "/config", &config(100)));
    transmit(&mut generator, "start");
    let is_over = |found: &Value| found["transmit"] == "stopped" && found["frames_rx"] == "100";
    wait(&mut generator, "all packets", is_over);
    let distributions = done(generator.request("GET", "/forebay/v1/flows", &Value::Null));
    assert_eq!(distributions["flows"][0]["duplicated"], 0);
    let ports = done(generator.request("POST", "/monitor/metrics", &json!({ "choice": "port", "port": {} })));
    assert_eq!(ports["port_metrics"][1]["frames_rx"], "200", "the port counts them");
}

/// After an error a script may go on with its previous configuration.
#[test]
fn a_refused_configuration_leaves_the_one_before_it() {
    let mut generator = generator();
    done(generator.request("POST", "/config", &config(100)));
    let mut elsewhere = config(100);
    elsewhere["ports"][1]["location"] = json!("nowhere");
    let refused = generator.request("POST", "/config", &elsewhere);
    assert!(matches!(refused, Answer::Wrong(_)), "{refused:?}");
    transmit(&mut generator, "start");
    wait(&mut generator, "all frames arrive", |flow| flow["frames_rx"] == "100");
}

#[test]
fn a_flow_is_sent_captured_and_measured() {
    let mut generator = generator();
    done(generator.request("POST", "/config", &config(500)));
    let capture = json!({ "choice": "port", "port": { "choice": "capture", "capture": { "state": "start" } } });
    done(generator.request("POST", "/control/state", &capture));
    transmit(&mut generator, "start");
    let found = wait(&mut generator, "all packets", |found| found["frames_rx"] == "500");
    assert_eq!(
        (&found["frames_tx"], &found["bytes_tx"]),
        (&json!("500"), &json!("64000"))
    );
    assert_eq!((&found["loss"], &found["transmit"]), (&json!(0.0), &json!("stopped")));
    assert!(found["latency"]["minimum_ns"].as_f64() > Some(0.0), "{found}");
    let Answer::Bytes(file) = generator.request("POST", "/monitor/capture", &json!({ "port_name": "b" })) else {
        panic!("no file");
    };
    assert_eq!(forebay_packet::pcap::read_all(&file).expect("pcapng").len(), 500);
    let ports = done(generator.request("POST", "/monitor/metrics", &json!({ "choice": "port", "port": {} })));
    assert_eq!(ports["port_metrics"][1]["link"], "up");
    assert_eq!(ports["port_metrics"][1]["frames_rx"], "500");
    let distributions = done(generator.request("GET", "/forebay/v1/flows", &Value::Null));
    assert_eq!(distributions["flows"][0]["latency"]["count"], 500);
    let own = &distributions["self_test"];
    assert_eq!(own["lost"], 0, "{own}");
    assert!(own["pps"].as_f64() > Some(0.0), "{own}");
}

/// Scripts start protocols before they send, whether the configuration has devices or not.
#[test]
fn protocols_of_no_devices_start_and_stop() {
    let mut generator = generator();
    done(generator.request("POST", "/config", &config(1)));
    for state in ["start", "stop"] {
        let body = json!({ "choice": "protocol", "protocol": { "choice": "all", "all": { "state": state } } });
        let answer = done(generator.request("POST", "/control/state", &body));
        assert_eq!(answer, json!({ "warnings": [] }));
    }
}

#[test]
fn a_flow_pauses_goes_on_and_begins_anew() {
    let mut generator = generator();
    done(generator.request("POST", "/config", &config(1_000_000)));
    transmit(&mut generator, "start");
    wait(&mut generator, "a start", |found| found["frames_rx"] != "0");
    transmit(&mut generator, "pause");
    let paused = wait(&mut generator, "all that was sent", |found| {
        found["frames_rx"] == found["frames_tx"]
    });
    assert_eq!(paused["transmit"], "paused");
    transmit(&mut generator, "resume");
    wait(&mut generator, "more", |found| {
        found["frames_rx"] != paused["frames_rx"]
    });
    transmit(&mut generator, "stop");
    transmit(&mut generator, "start");
    wait(&mut generator, "counters from 0", |found| {
        found["transmit"] == "started"
    });
}

/// Flows come and go, and the others stay in the configuration.
#[test]
fn flows_are_appended_and_deleted() {
    let mut generator = generator();
    done(generator.request("POST", "/config", &config(5)));
    let mut other = config(7)["flows"][0].clone();
    other["name"] = json!("g");
    let append = json!({ "config_append_list": [{ "choice": "flows", "flows": [other] }] });
    let answer = done(generator.request("PATCH", "/config/append", &append));
    assert_eq!(
        answer["warnings"],
        json!(["all flows are stopped, and their counters begin anew"])
    );
    let Answer::Wrong(wrong) = generator.request("PATCH", "/config/append", &append) else {
        panic!("there is one already");
    };
    assert_eq!(wrong.to_string(), "flows[2].name: there are two flows \"g\"");
    transmit(&mut generator, "start");
    wait(&mut generator, "the first flow", |found| found["frames_rx"] == "5");
    let delete = json!([{ "choice": "flows", "flows": ["f"] }]);
    done(generator.request("PATCH", "/config/delete", &delete));
    let Answer::Wrong(wrong) = generator.request("PATCH", "/config/delete", &delete) else {
        panic!("there is none any more");
    };
    assert_eq!(wrong.to_string(), "[0].flows[0]: there is no flow \"f\"");
    let kept = done(generator.request("GET", "/config", &Value::Null));
    let names: Vec<&Value> = kept["flows"].as_array().into_iter().flatten().collect();
    assert!(names.len() == 1 && names[0]["name"] == "g", "{kept}");
}

/// Flows have metrics when their configuration says so.
#[test]
fn flows_without_metrics_are_left_out() {
    let mut generator = generator();
    let mut wanted = config(1);
    let mut other = wanted["flows"][0].clone();
    other["name"] = json!("g");
    for metrics in [Value::Null, json!({ "loss": true }), json!({ "enable": false })] {
        other["metrics"] = metrics;
        wanted["flows"] = json!([wanted["flows"][0], other]);
        done(generator.request("POST", "/config", &wanted));
        let all = done(generator.request("POST", "/monitor/metrics", &json!({ "choice": "flow", "flow": {} })));
        let names: Vec<&Value> = all["flow_metrics"].as_array().into_iter().flatten().collect();
        assert!(names.len() == 1 && names[0]["name"] == "f", "{all}");
    }
    let named = json!({ "choice": "flow", "flow": { "flow_names": ["f", "g"] } });
    let Answer::Wrong(wrong) = generator.request("POST", "/monitor/metrics", &named) else {
        panic!("it has no metrics");
    };
    assert_eq!(
        wrong.to_string(),
        "flow.flow_names: flow \"g\" has no metrics; its metrics.enable makes them"
    );
}

/// A flow that is resumed after it has stopped begins again, and its counters go on.
#[test]
fn a_stopped_flow_that_is_resumed_begins_again() {
    let mut generator = generator();
    done(generator.request("POST", "/config", &config(101)));
    // At first it was never started.
    for run in 1..=3 {
        transmit(&mut generator, "resume");
        let all = (101 * run).to_string();
        let found = wait(&mut generator, "all packets of a run", |found| {
            found["frames_rx"] == all && found["transmit"] == "stopped"
        });
        assert_eq!((&found["frames_tx"], &found["loss"]), (&json!(all), &json!(0.0)));
    }
    let distributions = done(generator.request("GET", "/forebay/v1/flows", &Value::Null));
    let flow = &distributions["flows"][0];
    assert_eq!((&flow["duplicated"], &flow["reordered"]), (&json!(0), &json!(0)));
}

/// A flow ends in time even if it is asked for more than can be sent.
#[test]
fn seconds_of_a_flow_are_those_of_the_clock() {
    let mut generator = generator();
    let mut wanted = config(1);
    wanted["flows"][0]["rate"]["pps"] = json!(1_000_000_000);
    wanted["flows"][0]["duration"] = json!({ "choice": "fixed_seconds", "fixed_seconds": { "seconds": 0.2 } });
    done(generator.request("POST", "/config", &wanted));
    transmit(&mut generator, "start");
    wait(&mut generator, "the flow ends", |found| {
        found["transmit"] == "stopped" && found["frames_tx"] == found["frames_rx"]
    });
}

/// A frame that comes twice is received twice, and makes up for none that is lost.
#[test]
fn duplicates_are_received_and_hide_no_loss() {
    let doubling = |numbers: &[u32]| {
        let mut device = device::wire(numbers, &[(1, 2), (2, 1)], 4096);
        let impairment = Impairment {
            loss: 0.5,
            duplication: 1.0,
            ..Impairment::default()
        };
        device.impair(2, impairment, 1);
        Ok(device)
    };
    let mut generator = Generator::new(Memory(doubling)).expect("a thread");
    done(generator.request("POST", "/config", &config(1000)));
    transmit(&mut generator, "start");
    let number = |found: &Value, name: &str| -> f64 {
        let text = found[name].as_str().and_then(|text| text.parse().ok());
        text.expect("a number")
    };
    let are_all_here = |found: &Value| {
        let lost = found["loss"].as_f64().expect("a share") / 100.0 * number(found, "frames_tx");
        let came = 2.0 * (number(found, "frames_tx") - lost);
        (400.0..600.0).contains(&lost) && (number(found, "frames_rx") - came).abs() < 0.5
    };
    let found = wait(&mut generator, "every frame that is not lost comes twice", |found| {
        found["transmit"] == "stopped" && are_all_here(found)
    });
    assert_eq!(number(&found, "bytes_rx"), 128.0 * number(&found, "frames_rx"));
}

/// What was under way during a pause took as long as everything else.
#[test]
fn a_pause_makes_no_latency_shorter() {
    const DELAY_NS: f64 = 200e6;
    let slow = |numbers: &[u32]| {
        let mut device = device::wire(numbers, &[(1, 2), (2, 1)], 4096);
        let impairment = Impairment {
            delay: Delay::Constant(DELAY_NS),
            ..Impairment::default()
        };
        device.impair(2, impairment, 1);
        Ok(device)
    };
    let mut generator = Generator::new(Memory(slow)).expect("a thread");
    let mut wanted = config(100);
    wanted["flows"][0]["rate"]["pps"] = json!(1000);
    done(generator.request("POST", "/config", &wanted));
    transmit(&mut generator, "start");
    std::thread::sleep(Duration::from_millis(50));
    transmit(&mut generator, "pause");
    std::thread::sleep(Duration::from_millis(50));
    transmit(&mut generator, "resume");
    let found = wait(&mut generator, "all packets", |found| found["frames_rx"] == "100");
    assert!(found["latency"]["minimum_ns"].as_f64() >= Some(DELAY_NS), "{found}");
}

#[test]
fn what_is_wrong_is_named_and_changes_nothing() {
    let mut generator = generator();
    let mut wrong = |path: &str, body: Value| match generator.request("POST", path, &body) {
        Answer::Wrong(wrong) => wrong.to_string(),
        other => panic!("{other:?}"),
    };
    let mut elsewhere = config(1);
    elsewhere["ports"][1]["location"] = json!("eth0");
    assert!(wrong("/config", elsewhere).starts_with("ports[1].location: \"eth0\" is no port"));
    let state = json!({ "choice": "protocol", "protocol": { "choice": "bgp" } });
    assert!(wrong("/control/state", state).starts_with("protocol.choice: \"bgp\" is not supported"));
    let names = json!({ "choice": "flow", "flow": { "flow_names": ["g"] } });
    assert_eq!(
        wrong("/monitor/metrics", names),
        "flow.flow_names: there is no flow \"g\""
    );
    assert_eq!(
        wrong("/monitor/capture", json!({ "port_name": 3 })),
        "port_name: a string is expected"
    );
    assert!(matches!(
        generator.request("DELETE", "/config", &Value::Null),
        Answer::Unknown(_)
    ));
    assert_eq!(done(generator.request("GET", "/config", &Value::Null)), json!({}));
}

#[test]
fn the_description_lists_what_is_served() {
    let mut generator = generator();
    let document = done(generator.request("GET", "/openapi.json", &Value::Null));
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for method in methods.as_object().expect("methods").keys() {
            let answer = generator.request(&method.to_uppercase(), path, &json!({}));
            assert!(!matches!(answer, Answer::Unknown(_)), "{method} {path}");
        }
    }
}

/// Sends bytes to the service, and reads all that it answers.
fn exchange(request: &[u8]) -> String {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let listener = runtime
        .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
        .expect("a port");
    let address = listener.local_addr().expect("an address");
    let tls = forebay_otg::Tls::optional().expect("random numbers");
    runtime.spawn(forebay_otg::serve(listener, tls, generator(), std::future::pending()));
    let mut stream = std::net::TcpStream::connect(address).expect("the service listens");
    stream.write_all(request).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

/// Every refusal is JSON, also that of a body which is not read.
#[test]
fn a_request_that_is_too_long_is_refused_as_json() {
    let bytes = (4 << 20) + 1;
    let mut request =
        format!("POST /config HTTP/1.1\r\nHost: here\r\nContent-Length: {bytes}\r\nConnection: close\r\n\r\n")
            .into_bytes();
    request.resize(request.len() + bytes, b' ');
    let answer = exchange(&request);
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 413"), "{head}");
    let said: Value = serde_json::from_str(body).expect("JSON");
    assert_eq!(said["errors"], json!(["a request has at most 4194304 bytes"]), "{said}");
}

/// Two routers' neighbours on one wire, each of which is the other's gateway.
fn devices() -> Value {
    let device = |name: &str, port: &str, number: u8, other: u8| {
        json!({ "name": name, "ethernets": [{
            "name": format!("{name}.eth"),
            "connection": { "choice": "port_name", "port_name": port },
            "mac": format!("02:00:00:00:00:{number:02x}"),
            "mtu": 1500,
            "vlans": [{ "name": format!("{name}.vlan"), "id": 7, "priority": 3 }],
            "ipv4_addresses": [{ "name": format!("{name}.ipv4"), "address": format!("192.0.2.{number}"),
                "gateway": format!("192.0.2.{other}"), "prefix": 24 }],
            "ipv6_addresses": [{ "name": format!("{name}.ipv6"), "address": format!("2001:db8::{number}"),
                "gateway": format!("2001:db8::{other}"), "prefix": 64 }],
        }] })
    };
    json!([device("d1", "a", 1, 2), device("d2", "b", 2, 1)])
}

fn protocols(generator: &mut Generator, state: &str) {
    let body = json!({ "choice": "protocol", "protocol": { "choice": "all", "all": { "state": state } } });
    done(generator.request("POST", "/control/state", &body));
}

/// Devices find their gateways, and flows between them have their addresses, tags and destinations.
#[test]
fn devices_answer_and_send() {
    let mut generator = generator();
    let mut wanted = config(50);
    wanted["devices"] = devices();
    let start =
        json!({ "choice": "traffic", "traffic": { "choice": "flow_transmit", "flow_transmit": { "state": "start" } } });
    wanted["flows"][0]["tx_rx"] =
        json!({ "choice": "device", "device": { "tx_names": ["d1"], "rx_names": ["d2.eth"] } });
    for (packet, is_ipv6) in [
        (json!([]), false),
        (
            json!([{ "choice": "ethernet" }, { "choice": "ipv6" }, { "choice": "udp" }]),
            true,
        ),
    ] {
        wanted["flows"][0]["packet"] = packet;
        done(generator.request("POST", "/config", &wanted));
        if is_ipv6 {
            protocols(&mut generator, "stop");
            let Answer::Wrong(wrong) = generator.request("POST", "/control/state", &start) else {
                panic!("devices are stopped");
            };
            assert!(
                wrong.to_string().ends_with("the protocols of devices are stopped"),
                "{wrong}"
            );
            protocols(&mut generator, "start");
        }
        let capture = json!({ "choice": "port", "port": { "choice": "capture", "capture": { "state": "start" } } });
        done(generator.request("POST", "/control/state", &capture));
        let answer = done(generator.request("POST", "/control/state", &start));
        assert_eq!(answer["warnings"], json!([]));
        wait(&mut generator, "all packets", |found| found["frames_rx"] == "50");
        let Answer::Bytes(file) = generator.request("POST", "/monitor/capture", &json!({ "port_name": "b" })) else {
            panic!("no file");
        };
        let frames = forebay_packet::pcap::read_all(&file).expect("pcapng");
        let frame = frames.last().expect("a frame").data();
        assert_eq!(frame[..12], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
        assert_eq!(frame[12..16], [0x81, 0, 0x60, 7]);
        if is_ipv6 {
            assert_eq!((frame[41], frame[57]), (1, 2))
        } else {
            assert_eq!(frame[30..38], [192, 0, 2, 1, 192, 0, 2, 2])
        }
        let (choice, key) = if is_ipv6 {
            ("ipv6_neighbors", "ipv6_address")
        } else {
            ("ipv4_neighbors", "ipv4_address")
        };
        let body = json!({ "choice": choice, choice: { "ethernet_names": ["d1.eth"] } });
        let states = done(generator.request("POST", "/monitor/states", &body));
        assert_eq!(states[choice][0]["link_layer_address"], "02:00:00:00:00:02", "{states}");
        assert_eq!(
            states[choice][0][key],
            if is_ipv6 { "2001:db8::2" } else { "192.0.2.2" }
        );
        protocols(&mut generator, "stop");
    }
}

/// A flow in both directions has metrics of each.
#[test]
fn a_flow_goes_in_both_directions() {
    let mut generator = generator();
    let mut wanted = config(50);
    wanted["devices"] = devices();
    wanted["flows"][0]["packet"] = json!([]);
    wanted["flows"][0]["tx_rx"] = json!({ "choice": "device", "device": { "tx_names": ["d1"], "rx_names": ["d2"],
        "bidirectional": true } });
    done(generator.request("POST", "/config", &wanted));
    transmit(&mut generator, "start");
    let body = json!({ "choice": "flow", "flow": { "flow_names": ["f"] } });
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let found = done(generator.request("POST", "/monitor/metrics", &body));
        let rows = found["flow_metrics"].as_array().expect("a list");
        let ends: Vec<_> = rows.iter().map(|row| (&row["port_tx"], &row["port_rx"])).collect();
        assert_eq!(ends, [(&json!("a"), &json!("b")), (&json!("b"), &json!("a"))]);
        if rows.iter().all(|row| row["frames_rx"] == "50") {
            break;
        }
        assert!(Instant::now() < end, "all packets: {found}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until the first device has the MAC address of its gateway.
fn wait_for_gateway(generator: &mut Generator) {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let states = neighbours(generator);
        if states[0]["link_layer_address"].is_string() {
            return;
        }
        assert!(Instant::now() < end, "the gateway answers: {states}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn neighbours(generator: &mut Generator) -> Value {
    let body = json!({ "choice": "ipv4_neighbors", "ipv4_neighbors": {} });
    done(generator.request("POST", "/monitor/states", &body))["ipv4_neighbors"].clone()
}

/// Devices ping each other, and wait in vain for others.
#[test]
fn devices_ping() {
    let mut generator = generator();
    let mut wanted = config(50);
    wanted["devices"] = devices();
    done(generator.request("POST", "/config", &wanted));
    wait_for_gateway(&mut generator);
    let [there, away] = ["192.0.2.2", "192.0.2.9"];
    let requests = json!([{ "src_name": "d1.ipv4", "dst_ip": there }, { "src_name": "d1.ipv4", "dst_ip": away }]);
    let ping = json!({ "choice": "ping", "ping": { "requests": requests } });
    let protocol = json!({ "choice": "ipv4", "ipv4": ping });
    let body = json!({ "choice": "protocol", "protocol": protocol });
    let answer = done(generator.request("POST", "/control/action", &body));
    let responses = &answer["response"]["protocol"]["ipv4"]["ping"]["responses"];
    assert_eq!(
        responses,
        &json!([
            { "src_name": "d1.ipv4", "dst_ip": there, "result": "succeeded" },
            { "src_name": "d1.ipv4", "dst_ip": away, "result": "failed" },
        ])
    );
    let ports = done(generator.request("POST", "/monitor/metrics", &json!({ "choice": "port", "port": {} })));
    assert_eq!(ports["port_metrics"][0]["frames_rx"], "0", "an answer is of no flow");
}

/// Devices are started with the configuration, unless its options say otherwise.
#[test]
fn devices_find_their_gateways_before_any_flow_starts() {
    for starts_devices in [true, false] {
        let mut generator = generator();
        let mut wanted = config(50);
        wanted["devices"] = devices();
        wanted["options"] = json!({ "protocol_options": { "auto_start_all": starts_devices } });
        done(generator.request("POST", "/config", &wanted));
        if starts_devices {
            wait_for_gateway(&mut generator);
        } else {
            std::thread::sleep(Duration::from_millis(500));
            let states = neighbours(&mut generator);
            assert!(
                states[0].is_object() && !states[0]["link_layer_address"].is_string(),
                "{states}"
            );
        }
    }
}

/// A gateway that is not there has no address, and its flow does not start.
#[test]
fn a_flow_to_a_gateway_that_does_not_answer_is_refused() {
    let mut generator = generator();
    let mut wanted = config(50);
    wanted["devices"] = devices();
    wanted["devices"][0]["ethernets"][0]["ipv4_addresses"][0]["gateway"] = json!("192.0.2.77");
    wanted["flows"][0]["tx_rx"] =
        json!({ "choice": "device", "device": { "tx_names": ["d1.ipv4"], "rx_names": ["d2.ipv4"] } });
    wanted["flows"][0]["packet"] = json!([]);
    done(generator.request("POST", "/config", &wanted));
    protocols(&mut generator, "start");
    let start =
        json!({ "choice": "traffic", "traffic": { "choice": "flow_transmit", "flow_transmit": { "state": "start" } } });
    let Answer::Wrong(wrong) = generator.request("POST", "/control/state", &start) else {
        panic!("there is no gateway");
    };
    assert_eq!(
        wrong.to_string(),
        "flow \"f\": the MAC address of 192.0.2.77, the gateway of \"d1.ipv4\", is not known: it has not answered"
    );
    wanted["devices"][0]["ethernets"][0]["ipv4_addresses"][0]["gateway_mac"] =
        json!({ "choice": "value", "value": "02:00:00:00:00:02" });
    done(generator.request("POST", "/config", &wanted));
    transmit(&mut generator, "start");
    wait(&mut generator, "all packets", |found| found["frames_rx"] == "50");
}
