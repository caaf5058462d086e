//! Values that a specification of a chip can have.
//!
//! A chip does something: what it divides by, and what its ports send, is not 0. And it is one that could be built: the
//! bounds keep sums of cycles, bytes and picoseconds far from where numbers wrap around, and no chip comes near to
//! them.

use crate::spec::ChipSpec;
use std::ops::RangeInclusive;

/// The most ports: `egress_spec` of v1model has 9 bits, and 511 means drop.
const PORTS_MAX: u16 = 511;

/// What is wrong with a specification, if something is.
pub(crate) fn problem(spec: &ChipSpec) -> Option<String> {
    let ports = spec.ports.count;
    if ports == 0 || ports > PORTS_MAX {
        return Some(format!("ports.count is {ports}; a chip has 1 to {PORTS_MAX} ports"));
    }
    if spec.pipelines.count == 0 || spec.pipelines.count > ports {
        return Some("pipelines.count: a chip has at least one pipeline, and at most one for each port".to_string());
    }
    let numbers = numbers(spec);
    numbers
        .iter()
        .find_map(|(name, value)| zero(name, *value).or_else(|| beyond(name, *value)))
}

/// All whole numbers of a specification, by `table.key`.
fn numbers(spec: &ChipSpec) -> Vec<(String, u64)> {
    let written = toml::Value::try_from(spec).ok();
    let written = written.iter().filter_map(toml::Value::as_table).flatten();
    let tables = written.filter(|(name, _)| *name != "from");
    let tables = tables.filter_map(|(name, value)| Some((name, value.as_table()?)));
    let of_table = |(table, keys): (&String, &toml::Table)| {
        let number = |(key, value): (&String, &toml::Value)| {
            Some((format!("{table}.{key}"), u64::try_from(value.as_integer()?).ok()?))
        };
        keys.iter().filter_map(number).collect::<Vec<_>>()
    };
    tables.flat_map(of_table).collect()
}

/// A value that is 0 where the chip would then do nothing at all.
fn zero(name: &str, value: u64) -> Option<String> {
    let why = match name {
        "ports.bits_per_second" => "a port without a rate sends nothing",
        "buffer.cells" => "a buffer without cells holds no packet",
        "buffer.cell_bytes" => "a cell holds at least a byte",
        "parser.state_bytes"
        | "parser.word_state_bytes"
        | "parser.late_word_state_bytes"
        | "parser.register_state_bytes" => "a parser state takes at least a byte",
        "scheduler.bytes_per_weight" => "a queue with a weight has at least a byte in a turn",
        _ => return None,
    };
    (value == 0).then(|| format!("{name} is 0; {why}"))
}

/// A value that no chip has.
fn beyond(name: &str, value: u64) -> Option<String> {
    let bounds = bounds(name);
    let (least, most) = (bounds.start(), bounds.end());
    let no_clock = name == CLOCK && value == 0;
    let or = if name == CLOCK { "0 (no clock), or " } else { "" };
    (!no_clock && !bounds.contains(&value)).then(|| format!("{name} is {value}; it is {or}{least} to {most}"))
}

const CLOCK: &str = "pipelines.clock_hz";

/// A second in picoseconds.
const SECOND: u64 = 1_000_000_000_000;

/// The possible values of a number.
fn bounds(name: &str) -> RangeInclusive<u64> {
    match name {
        "ports.bits_per_second" => 1_000_000..=10_000_000_000_000,
        "ports.max_bits_per_second" => 0..=10_000_000_000_000,
        CLOCK => 1_000_000..=SECOND,
        "latency.ingress_rest_ps" | "latency.egress_rest_ps" => 0..=SECOND,
        "ports.input_buffer_bytes" | "buffer.cells" | "buffer.base_cells" | "buffer.queue_cells" => 0..=1 << 40,
        _ if name.starts_with("framing.") => 0..=65_536,
        _ if name.starts_with("latency.") => 0..=1_000_000,
        _ => 0..=1 << 20,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOFINO: &str = include_str!("../chips/tofino.toml");

    /// The error about tofino with another value of a key.
    fn said(key: &str, value: u64) -> String {
        let from = format!("\n{key} = ");
        assert!(TOFINO.contains(&from), "{key}");
        let text = TOFINO.replacen(&from, &format!("\n{key} = {value} # "), 1);
        ChipSpec::from_toml(&text).map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn values_with_which_a_chip_does_nothing_are_refused() {
        for (key, expected) in [
            ("cells", "buffer.cells is 0; a buffer without cells holds no packet"),
            ("word_state_bytes", "parser.word_state_bytes is 0; a parser state"),
            ("bytes_per_weight", "scheduler.bytes_per_weight is 0"),
            ("bits_per_second", "ports.bits_per_second is 0; a port without a rate"),
        ] {
            assert!(said(key, 0).contains(expected), "{}", said(key, 0));
        }
        assert_eq!(said("clock_hz", 0), "", "no clock");
    }

    #[test]
    fn values_that_no_chip_has_are_refused() {
        let spec = ChipSpec::known("tofino").unwrap();
        for (name, _) in numbers(&spec) {
            let (table, key) = name.split_once('.').unwrap();
            // `count` stands in two tables.
            if key == "count" {
                continue;
            }
            let beyond = bounds(&name).end() + 1;
            let narrow = ["u32", "u16"].iter().any(|kind| said(key, beyond).contains(kind));
            let expected = format!("{table}.{key} is {beyond}; it is ");
            assert!(narrow || said(key, beyond).contains(&expected), "{}", said(key, beyond));
        }
        let most = u64::from(u32::MAX);
        assert_eq!(
            said("gap_bytes", most),
            "framing.gap_bytes is 4294967295; it is 0 to 65536"
        );
        assert_eq!(
            said("base_cycles", most),
            "latency.base_cycles is 4294967295; it is 0 to 1000000"
        );
        assert_eq!(
            said("clock_hz", 5),
            "pipelines.clock_hz is 5; it is 0 (no clock), or 1000000 to 1000000000000"
        );
    }
}
