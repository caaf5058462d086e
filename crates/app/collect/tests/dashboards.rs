//! The dashboards for Grafana: every metric and label in an expression exists, and promtool accepts the expression.

mod support;

use forebay_collect::{Collector, Settings};
use forebay_daemon::{Daemon, Start};
use forebay_p4runtime::KeepingStatus;
use forebay_packet::MemoryPort;
use forebay_server::{CallReport, Calls};
use forebay_telemetry::switch::{self, ControlReport};
use forebay_telemetry::{Family, Kind, Pusher, Target, push};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../functions/telemetry/grafana")
}

/// The expressions of a dashboard, with what its panels are called.
fn expressions(name: &str) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(folder().join(name)).expect("a dashboard");
    let dashboard: Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let mut found = Vec::new();
    for panel in panels {
        let title = panel["title"].as_str().expect("a title");
        for target in panel["targets"].as_array().expect("targets") {
            found.push((
                title.to_string(),
                target["expr"].as_str().expect("an expression").to_string(),
            ));
        }
    }
    for variable in dashboard["templating"]["list"].as_array().expect("variables") {
        if let Some(query) = variable["query"]["query"].as_str() {
            let inner = query
                .trim_start_matches("label_values(")
                .split(',')
                .next()
                .expect("a metric");
            found.push(("a variable".to_string(), inner.to_string()));
        }
    }
    found
}

/// The metrics of a switch with everything: controllers, saved state, timed packets, databases.
fn of_switch() -> Vec<Family> {
    const PROGRAM: &str = include_str!("support/counting.p4");
    let start = Start::read(PROGRAM.as_bytes(), Default::default()).expect("a correct program");
    let (port, mut outside) = MemoryPort::pair("port", "outside", 16);
    let mut daemon = Daemon::new(start.pipeline, Default::default());
    daemon.sample_delays(1);
    daemon.attach(1, Box::new(port));
    let running = daemon.start().expect("threads");
    assert!(outside.inject(&[1; 60]));
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while running.report().counters.received == 0 {
        assert!(std::time::Instant::now() < end, "the packet comes");
    }
    let mut times = forebay_daemon::Histogram::default();
    times.record(1);
    let control = ControlReport {
        calls: CallReport {
            methods: vec![Calls {
                method: "P4Runtime/Write",
                ended: vec![("OK", 1)],
                times,
            }],
            messages_dropped: 0,
        },
        keeping: KeepingStatus {
            keeps_state: true,
            ..KeepingStatus::default()
        },
    };
    let mut report = running.report();
    report.ports[0].drops = vec![("ingress_drop".to_string(), 1)];
    let mut families = switch::families(&report, &running.program(), Some(&control));
    let pusher = Pusher::new(
        Target::otlp("http://localhost").expect("a target"),
        None,
        Box::new(|_| ()),
    );
    families.extend(push::families(&[pusher]));
    families.extend(switch::process(0));
    running.stop().expect("it stops");
    families
}

/// The metrics of a collector that has seen something of everything.
fn of_collector() -> Vec<Family> {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = Settings {
        store: Some(folder.path().to_path_buf()),
        ..Settings::default()
    };
    let mut collector = Collector::new(settings).expect("a collector");
    collector.receive(&support::datagram(&support::Sent::default()), 1);
    let drop = support::Sent {
        drop_reason: Some(1),
        ..support::Sent::default()
    };
    collector.receive(&support::datagram(&drop), 2);
    collector.metrics()()
}

/// Series by name: their labels.
fn series(families: &[Family]) -> BTreeMap<String, BTreeSet<String>> {
    let mut known = BTreeMap::new();
    for family in families {
        assert!(
            !family.samples.is_empty(),
            "{} has no sample: the test must bring one about",
            family.name
        );
        let mut labels: BTreeSet<String> = family.samples[0]
            .labels
            .iter()
            .map(|(name, _)| name.to_string())
            .collect();
        labels.extend(["instance", "job"].map(str::to_string));
        let ends: &[&str] = match family.kind {
            Kind::Histogram => &["_bucket", "_sum", "_count"],
            Kind::Counter | Kind::Gauge => &[""],
        };
        for end in ends {
            let mut labels = labels.clone();
            if *end == "_bucket" {
                labels.insert("le".to_string());
            }
            known.insert(format!("{}{end}", family.name), labels);
        }
    }
    known
}

fn is_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// The metrics that an expression names, and the labels in its braces and after `by`.
fn names(expression: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let words = |text: &str| -> BTreeSet<String> {
        text.split(|one| !is_name(one))
            .filter(|word| !word.is_empty())
            .map(str::to_string)
            .collect()
    };
    let metrics = words(expression)
        .into_iter()
        .filter(|word| word.starts_with("forebay_"))
        .collect();
    let mut labels = BTreeSet::new();
    for part in expression.split("by (").skip(1) {
        labels.extend(words(part.split(')').next().unwrap_or_default()));
    }
    for part in expression.split('{').skip(1) {
        let inside = part.split('}').next().unwrap_or_default();
        let pairs = inside.split(',');
        labels.extend(
            pairs
                .filter_map(|pair| pair.split(['=', '!']).next())
                .map(|name| name.trim().to_string()),
        );
    }
    (metrics, labels)
}

fn promtool(expressions: &[(String, String)]) {
    let mut rules = String::from("groups:\n- name: dashboards\n  rules:\n");
    for (number, (_, expression)) in expressions.iter().enumerate() {
        let expression = expression.replace("$__rate_interval", "1m").replace('\'', "''");
        rules += &format!("  - record: dashboard:{number}\n    expr: '{expression}'\n");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rules.yml");
    std::fs::write(&path, rules).expect("a file");
    match Command::new("promtool").args(["check", "rules"]).arg(&path).output() {
        Ok(output) => {
            let said = [output.stdout, output.stderr].concat();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
        }
        Err(_) => {
            assert!(
                std::env::var_os("FOREBAY_STRICT").is_none(),
                "promtool is not installed"
            );
            eprintln!("promtool is not installed (Debian: prometheus): its check is left out");
        }
    }
}

fn check(name: &str, families: &[Family]) {
    let known = series(families);
    let expressions = expressions(name);
    assert!(expressions.len() > 10, "{name} has {} expressions", expressions.len());
    for (title, expression) in &expressions {
        let (metrics, labels) = names(expression);
        assert!(!metrics.is_empty(), "{name}, {title}: {expression}");
        for metric in &metrics {
            let own = known
                .get(metric)
                .unwrap_or_else(|| panic!("{name}, {title}: there is no metric {metric}"));
            for label in &labels {
                assert!(own.contains(label), "{name}, {title}: {metric} has no label {label}");
            }
        }
    }
    promtool(&expressions);
}

#[test]
fn every_expression_is_about_metrics_that_exist() {
    check("switch.json", &of_switch());
    check("int.json", &of_collector());
}

#[test]
fn the_files_are_what_the_script_writes() {
    let Ok(output) = Command::new("python3")
        .arg(folder().join("make.py"))
        .arg("--check")
        .output()
    else {
        eprintln!("python3 is not installed: the check is left out");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
