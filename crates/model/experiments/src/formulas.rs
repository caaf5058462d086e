//! Closed formulas for what is simulated.
//!
//! Those of aggregation and disaggregation say how much of the wire N-packets may take (messages, for a ring), in Gbps.
//! With L(N) the bytes of an N-packet on the wire, W the rate of a port, and a parser that takes one state a cycle of f
//! Hz: a and b states of the compiler's own before those of ingress and egress, four for the headers of a message, r(1)
//! for a payload that goes into registers (none does at N = 1, where e(1) stands in its place) and e(N) for those of an
//! N-packet:
//!
//! | name | formula | what limits |
//! |---|---|---|
//! | `aggregate` | min(W, f·8·L(1)/(a + 4 + r(1))) | ingress parser |
//! | `theory` | W·L(N)/(N·L(1)) | the output port |
//! | `multicast` | min(`theory`, f·8·L(N)/(N·(b + 4 + e(N)))) | egress parser: N copies |
//! | `resubmit` | min(`multicast`, f·8·L(N)/((N + 1)·(a + 4 + e(N)))) | ingress parser: N + 1 passes |
//! | `ring-resubmit`, `ring-multicast` | min(`aggregate`, C/(`theory`/W)) | whichever of both switches |
//! | `naive-P` | P·W/(n + 1) | P ports, for recirculation of whole packets |
//! | `payload-recirculations` | the analytical model of a rendezvous unit (`unit_model`), read with n + 1 passes of a header | |
//! | `payload-recirculations-printed` | the same as Equation VI.1 is printed, with n | |
//!
//! All constants are those of the chip's specification that the simulation reads, so a formula that reads a fitted one
//! is no evidence of its own: see [`constants`].

use crate::unit_model::{Reading, Unit};
use forebay_sim::ChipSpec;
use std::collections::BTreeMap;

/// The value of a formula; none when there is no formula of this name, or a parameter is missing.
pub(crate) fn value(name: &str, parameters: &BTreeMap<String, String>, spec: &ChipSpec) -> Option<f64> {
    let number = |key: &str| parameters.get(key)?.parse::<usize>().ok();
    let chip = Chip(spec);
    if let Some(ports) = name.strip_prefix("naive-") {
        let recirculations = number("n")? as f64;
        return Some(ports.parse::<f64>().ok()? * chip.line() / (recirculations + 1.0));
    }
    match name {
        "payload-recirculations" => return unit(parameters, spec, Reading::Extended)?.payload_recirculations(),
        "payload-recirculations-printed" => return unit(parameters, spec, Reading::Printed)?.payload_recirculations(),
        _ => {}
    }
    let (count, payload) = (number("N")?, number("S")?.checked_sub(FLAG_BYTES)?);
    match name {
        "aggregate" => Some(chip.aggregate(payload, count)),
        "theory" => Some(chip.theory(payload, count)),
        "resubmit" => Some(chip.resubmit(payload, count)),
        "multicast" => Some(chip.multicast(payload, count)),
        "ring-resubmit" => Some(chip.ring(payload, count, chip.resubmit(payload, count))),
        "ring-multicast" => Some(chip.ring(payload, count, chip.multicast(payload, count))),
        _ => None,
    }
}

/// Whether there is a formula of this name.
pub(crate) fn is_known(name: &str) -> bool {
    let ports = name.strip_prefix("naive-").map(|ports| ports.parse::<u32>().is_ok());
    ports.unwrap_or_else(|| NAMES.contains(&name))
}

/// Formulas by name, but for `naive-P`.
pub(crate) const NAMES: [&str; 8] = [
    "aggregate",
    "theory",
    "resubmit",
    "multicast",
    "ring-resubmit",
    "ring-multicast",
    "payload-recirculations",
    "payload-recirculations-printed",
];

/// The constants of the chip's specification that a formula reads, beside the rate of ports and the framing.
pub(crate) fn constants(name: &str) -> &'static [&'static str] {
    const REGISTERS: &str = "parser.register_state_bytes";
    const WORDS: &str = "parser.word_group_bytes";
    match name {
        "aggregate" => &[REGISTERS, WORDS],
        "resubmit" | "multicast" => &[WORDS],
        "ring-resubmit" | "ring-multicast" => &[REGISTERS, WORDS],
        _ => &[],
    }
}

/// Parser states of Ethernet, IPv4, UDP and flag headers.
const HEADER_STATES: u32 = 4;

/// Bytes of the flag header in S, the length of a message.
const FLAG_BYTES: usize = 6;

fn unit(parameters: &BTreeMap<String, String>, spec: &ChipSpec, reading: Reading) -> Option<Unit> {
    let number = |key: &str| parameters.get(key)?.parse::<f64>().ok();
    Some(Unit {
        n: number("n")?,
        gbps: number("GBPS")?,
        weight: number("OMEGA")?,
        packet_bytes: number("BYTES")?,
        port_gbps: Chip(spec).line(),
        framing_bytes: (spec.wire_bytes(PLAIN_BYTES) - u64::from(PLAIN_BYTES)) as f64,
        reading,
    })
}

/// A frame that is longer than the shortest.
const PLAIN_BYTES: u32 = 1500;

/// The formulas for a chip; rates in Gbps, 0 in the specification means without a limit.
struct Chip<'a>(&'a ChipSpec);

impl Chip<'_> {
    fn line(&self) -> f64 {
        limit(self.0.ports.bits_per_second)
    }

    /// The cost of a parser if each frame of this length makes it go through `states` states.
    fn parser(&self, frame_bytes: usize, states: f64) -> f64 {
        let bits = 8.0 * self.0.wire_bytes(frame_bytes as u32) as f64;
        match self.0.pipelines.clock_hz {
            0 => f64::INFINITY,
            clock => clock as f64 / 1e9 * bits / states,
        }
    }

    /// States for the payloads of an N-packet.
    fn payloads(&self, bytes: usize) -> f64 {
        let parser = &self.0.parser;
        let wide = (parser.word_group_bytes as usize).min(bytes);
        wide as f64 / f64::from(parser.word_state_bytes)
            + (bytes - wide) as f64 / f64::from(parser.late_word_state_bytes)
    }

    /// A batch of one message keeps nothing in registers.
    fn aggregate(&self, payload: usize, count: usize) -> f64 {
        let parser = &self.0.parser;
        let frame = forebay_traffic::wire::aggregate_frame_bytes(payload, 1);
        let of_payload = match count {
            1 => self.payloads(payload),
            _ => (payload as u32).div_ceil(parser.register_state_bytes).into(),
        };
        let states = f64::from(parser.added_states + HEADER_STATES) + of_payload;
        self.line().min(self.parser(frame, states))
    }

    fn theory(&self, payload: usize, count: usize) -> f64 {
        self.line() * forebay_traffic::wire::aggregation_ratio(payload, count)
    }

    /// The cost of a parser for N-packets that pass it `passes` times, with `added_states` states that the compiler
    /// adds.
    fn passes(&self, payload: usize, count: usize, passes: usize, added_states: u32) -> f64 {
        let frame = forebay_traffic::wire::aggregate_frame_bytes(payload, count);
        let states = f64::from(added_states + HEADER_STATES) + self.payloads(payload * count);
        self.parser(frame, states) / passes as f64
    }

    fn multicast(&self, payload: usize, count: usize) -> f64 {
        let copies = self.passes(payload, count, count, self.0.parser.added_states_egress);
        self.theory(payload, count).min(copies)
    }

    fn resubmit(&self, payload: usize, count: usize) -> f64 {
        let passes = if count == 1 { 1 } else { count + 1 };
        let rounds = self.passes(payload, count, passes, self.0.parser.added_states_resubmit);
        self.multicast(payload, count).min(rounds)
    }

    fn ring(&self, payload: usize, count: usize, disaggregation: f64) -> f64 {
        let of_messages = disaggregation * self.line() / self.theory(payload, count);
        self.aggregate(payload, count).min(of_messages)
    }
}

fn limit(bits_per_second: u64) -> f64 {
    match bits_per_second {
        0 => f64::INFINITY,
        bits => bits as f64 / 1e9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, count: usize, message: usize, spec: &ChipSpec) -> f64 {
        let parameters = BTreeMap::from([("N", count), ("S", message)]);
        let parameters = parameters
            .into_iter()
            .map(|(key, value)| (key.to_string(), value.to_string()));
        (10.0 * value(name, &parameters.collect(), spec).unwrap()).round() / 10.0
    }

    #[test]
    fn the_formulas_give_what_stands_in_the_documents() {
        let chip = ChipSpec::known("tofino-a0").unwrap();
        assert_eq!(of("theory", 8, 46, &chip), 43.8);
        assert_eq!(of("aggregate", 2, 42, &chip), 95.0);
        assert_eq!(of("resubmit", 2, 22, &chip), 33.9);
        assert_eq!(of("resubmit", 2, 46, &chip), 36.2);
        assert_eq!(of("multicast", 4, 22, &chip), 33.2);
        assert_eq!(of("ring-multicast", 4, 22, &chip), 86.0);
        assert_eq!(value("none", &BTreeMap::new(), &chip), None);
        assert!(NAMES.iter().all(|name| is_known(name)) && is_known("naive-30") && !is_known("none"));
    }

    #[test]
    fn a_single_message_passes_by_the_registers() {
        let chip = ChipSpec::known("tofino-a0").unwrap();
        for message in [22, 26, 34, 42, 46] {
            assert_eq!(of("aggregate", 1, message, &chip), 100.0, "S = {message}");
            assert_eq!(of("ring-multicast", 1, message, &chip), 100.0, "S = {message}");
        }
        assert_eq!(of("ring-resubmit", 1, 22, &chip), of("resubmit", 1, 22, &chip));
        assert_eq!(of("ring-resubmit", 1, 42, &chip), 100.0);
    }

    #[test]
    fn the_formulas_read_the_chips_specification() {
        let mut chip = ChipSpec::known("tofino-a0").unwrap();
        chip.pipelines.clock_hz = 550_000_000;
        assert_eq!(of("resubmit", 2, 46, &chip), 18.1);
        chip.pipelines.clock_hz = 0;
        assert_eq!(of("multicast", 8, 22, &chip), 28.4);
        chip.ports.bits_per_second = 400_000_000_000;
        assert_eq!(of("theory", 8, 46, &chip), 175.0);
    }
}
