//! Closed formulas for what is simulated.
//!
//! Those of aggregation and disaggregation say how much of the wire N-packets may take (messages, for a ring), in Gbps.
//! With L(N) the bytes of an N-packet on the wire:
//!
//! | name | formula | what limits |
//! |---|---|---|
//! | `aggregate` | min(100, M·8·L(1)) | parser channel, in packets |
//! | `theory` | 100·L(N)/(N·L(1)) | the output port |
//! | `resubmit` | min(B, M·8·L(N))/(N + 1) | parser channel: N + 1 passes |
//! | `multicast` | min(`theory`, 100/(N − 1)) | replication bus: N − 1 copies |
//! | `ring-resubmit`, `ring-multicast` | min(`aggregate`, C/(`theory`/100)) | whichever of both switches |
//!
//! `payload-recirculations` is the analytical model of a rendezvous unit (`unit_model`), and `naive-P`: P·100/(n + 1) for recirculation of whole packets with P ports.

use crate::unit_model::Unit;
use std::collections::BTreeMap;

/// Rate of a port, in Gbps.
const LINE: f64 = 100.0;

/// Parser channel of `tofino`, in Gbps and in packets per nanosecond; packets up to so many bytes are not counted.
const PARSER_GBPS: f64 = 105.0;
const PARSER_PACKETS_PER_NS: f64 = 0.115;
const SHORT_PACKET_BYTES: usize = 76;

/// The value of a formula; none when there is no formula of this name, or a parameter is missing.
pub(crate) fn value(name: &str, parameters: &BTreeMap<String, String>) -> Option<f64> {
    let number = |key: &str| parameters.get(key)?.parse::<usize>().ok();
    if let Some(ports) = name.strip_prefix("naive-") {
        let recirculations = number("n")? as f64;
        return Some(ports.parse::<f64>().ok()? * LINE / (recirculations + 1.0));
    }
    if name == "payload-recirculations" {
        return unit(parameters)?.payload_recirculations();
    }
    let (count, payload) = (number("N")?, number("S")? - 6);
    match name {
        "aggregate" => Some(aggregate(payload)),
        "theory" => Some(theory(payload, count)),
        "resubmit" => Some(resubmit(payload, count)),
        "multicast" => Some(multicast(payload, count)),
        "ring-resubmit" => Some(ring(payload, count, resubmit(payload, count))),
        "ring-multicast" => Some(ring(payload, count, multicast(payload, count))),
        _ => None,
    }
}

fn unit(parameters: &BTreeMap<String, String>) -> Option<Unit> {
    let number = |key: &str| parameters.get(key)?.parse::<f64>().ok();
    Some(Unit {
        n: number("n")?,
        gbps: number("GBPS")?,
        weight: WEIGHT,
        packet_bytes: PACKET_BYTES,
    })
}

/// Headers for each payload, and the length of packets, in the figures of the analytical model.
const WEIGHT: f64 = 20.0;
const PACKET_BYTES: f64 = 1500.0;

/// What a parser channel takes, in Gbps, of frames of this length.
fn parser(frame_bytes: usize) -> f64 {
    let bits = 8.0 * forebay_traffic::wire::wire_bytes(frame_bytes) as f64;
    match frame_bytes > SHORT_PACKET_BYTES {
        true => PARSER_GBPS.min(PARSER_PACKETS_PER_NS * bits),
        false => PARSER_GBPS,
    }
}

fn aggregate(payload: usize) -> f64 {
    LINE.min(parser(forebay_traffic::wire::aggregate_frame_bytes(payload, 1)))
}

fn theory(payload: usize, count: usize) -> f64 {
    LINE * forebay_traffic::wire::aggregation_ratio(payload, count)
}

fn resubmit(payload: usize, count: usize) -> f64 {
    let passes = if count == 1 { 1.0 } else { count as f64 + 1.0 };
    let frame = forebay_traffic::wire::aggregate_frame_bytes(payload, count);
    LINE.min(parser(frame) / passes)
}

fn multicast(payload: usize, count: usize) -> f64 {
    theory(payload, count).min(LINE / (count as f64 - 1.0).max(1.0))
}

fn ring(payload: usize, count: usize, disaggregation: f64) -> f64 {
    aggregate(payload).min(disaggregation * LINE / theory(payload, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formulas_give_what_stands_in_the_documents() {
        let of = |name, count: usize, message: usize| {
            let parameters = BTreeMap::from([("N", count), ("S", message)]);
            let parameters = parameters
                .into_iter()
                .map(|(key, value)| (key.to_string(), value.to_string()));
            (10.0 * value(name, &parameters.collect()).unwrap()).round() / 10.0
        };
        assert_eq!(of("theory", 8, 46), 43.8);
        assert_eq!(of("resubmit", 2, 22), 31.9);
        assert_eq!(of("resubmit", 2, 46), 35.0);
        assert_eq!(of("multicast", 4, 22), 33.3);
        assert_eq!(of("ring-multicast", 4, 22), 86.3);
        assert_eq!(value("none", &BTreeMap::new()), None);
    }
}
