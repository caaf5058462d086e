//! Parameters of a chip, each changed alone in small steps: results follow, and show no step that the specification
//! does not have.
//!
//! A result that jumps between neighbouring values hangs on an accident of the model, such as two events whose order a
//! picosecond decides. Counts of frames are compared, never the time that a simulation takes.

mod programs;

use forebay_ir::Program;
use forebay_sim::{Library, Run, Setup, Silent};
use programs::Programs;

const CHIP: &str = include_str!("../../chip/chips/tofino.toml");

/// Values of a parameter, as shares of its own.
const SHARES: [f64; 11] = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0];

/// How many times as much as its parameter a count may change, and how much for other reasons: what is on its way at
/// the end of so short a run.
const GAIN: f64 = 2.0;
const NOISE: f64 = 0.03;

/// The chip with one value changed, and the program, which is compiled once.
struct Changed<'p> {
    chip: String,
    program: &'p Program,
}

impl Library for Changed<'_> {
    fn program(&self, _: &str, _: &[String]) -> Result<Program, String> {
        Ok(self.program.clone())
    }

    fn text(&self, _: &str) -> Result<String, String> {
        Ok(self.chip.clone())
    }

    fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        Err(format!("there is no {path}"))
    }
}

fn program(name: &str, defines: &[&str]) -> Program {
    let defines: Vec<String> = defines.iter().map(ToString::to_string).collect();
    Programs.program(name, &defines).expect("the program compiles")
}

/// Frames of 60 bytes at half of the line rate, so that no value of the port's own rate is too small for them.
const FORWARDING: &str = r#"
description = "forwarding"
duration_us = 20
[[chip]]
name = "switch"
spec = "changed.toml"
engine = "interp"
program = "portfwd"
commands = "add ports ingress_port:1 forward(port:3)"
[[traffic]]
name = "in"
to = ["switch:1"]
gbps = 50
frame = { udp = { bytes = 60 } }
"#;

/// Packets that are taken apart by resubmission: parser and pipeline limit what comes out.
const DISAGGREGATION: &str = r#"
description = "disaggregation"
duration_us = 20
[[chip]]
name = "switch"
spec = "changed.toml"
engine = "interp"
program = "iot_disaggregate_tofino"
ignore_fit = true
ignore_fit_reason = "its time is looked at"
max_resubmissions = 0
max_resubmissions_reason = "its time is looked at"
max_egress_bytes = 0
max_egress_bytes_reason = "its time is looked at"
commands = """
mirroring_add 1002 2
add ipv4_lpm ipv4.dst_addr:0x0A000200/24 to_next_hop(next_hop_id:7, port:2)
add next_hops next_hop:7 set_macs(src_addr:0x0200000001FE, dst_addr:0x020000000102)
"""
[[traffic]]
name = "in"
to = ["switch:1"]
gbps = 50
frame = { n-packet = { payload_bytes = 20, messages = 4 } }
"#;

/// Parameters with their values that are not structure: how many ports and pipelines there are.
fn parameters() -> Vec<(String, String, i64)> {
    let chip: toml::Table = CHIP.parse().expect("a chip");
    let tables = chip.iter().filter(|(name, _)| *name != "from");
    let tables = tables.filter_map(|(name, value)| Some((name, value.as_table()?)));
    let values = tables.flat_map(|(table, keys)| {
        let own = move |(key, value): (&String, &toml::Value)| Some((table.clone(), key.clone(), value.as_integer()?));
        keys.iter().filter_map(own)
    });
    values.filter(|(_, key, _)| key != "count").collect()
}

fn changed(table: &str, key: &str, value: i64) -> String {
    let mut chip: toml::Table = CHIP.parse().expect("a chip");
    chip[table][key] = toml::Value::Integer(value);
    chip.to_string()
}

/// Frames that come out with one value changed; none when the chip then does not take the scenario.
fn frames_out(scenario: &str, program: &Program, table: &str, key: &str, value: i64) -> Option<f64> {
    let chip = changed(table, key, value);
    let setup = Setup::new(scenario, &Changed { chip, program }).ok()?;
    let results = setup.run(Run { seed: 1, gbps: None }, &mut Silent);
    Some(results.outputs.iter().map(|output| output.frames as f64).sum())
}

/// Neighbouring values between which a count changes more than they do.
fn steps(scenario: &str, program: &Program) -> Vec<String> {
    let mut found = Vec::new();
    for (table, key, own) in parameters() {
        let mut values: Vec<i64> = SHARES.iter().map(|share| (own as f64 * share).round() as i64).collect();
        values.dedup();
        let counts = values
            .into_iter()
            .filter_map(|value| Some((value, frames_out(scenario, program, &table, &key, value)?)));
        let counts: Vec<(i64, f64)> = counts.collect();
        for pair in counts.windows(2) {
            let [(before, from), (after, to)] = pair else { continue };
            let change = |from: f64, to: f64| (to - from).abs() / from.max(to).max(1.0);
            if change(*from, *to) > GAIN * change(*before as f64, *after as f64) + NOISE {
                found.push(format!(
                    "{table}.{key} from {before} to {after}: {from} frames become {to}"
                ));
            }
        }
    }
    found
}

#[test]
fn forwarding_follows_each_parameter_of_the_chip() {
    assert_eq!(steps(FORWARDING, &program("portfwd", &[])), Vec::<String>::new());
}

#[test]
fn disaggregation_follows_each_parameter_of_the_chip() {
    let program = program(
        "iot_disaggregate_tofino",
        &["N=4", "S=26", "METHOD=1", "RESUBMISSIONS=4"],
    );
    assert_eq!(steps(DISAGGREGATION, &program), Vec::<String>::new());
}
