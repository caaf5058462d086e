//! What frames cost on an Ethernet wire, and how much of it is headers.
//!
//! A frame of L bytes (address to payload, no check sequence) takes L + 24 bytes of time on the
//! wire: 7 of preamble, 1 start delimiter, 4 of check sequence, 12 of gap (IEEE 802.3 §3.1, §4.4).
//! Frames under 60 bytes are padded.

use crate::message::MESSAGE_HEADERS;

/// Preamble (7), start frame delimiter (1), frame check sequence (4) and gap (12), in bytes.
pub const OVERHEAD_BYTES: usize = 24;

/// The shortest frame without its check sequence, in bytes.
pub const MINIMUM_FRAME_BYTES: usize = 60;

/// Headers that aggregation saves in the published account: Ethernet 14, IPv4 20, UDP 8. The
/// 6-byte flag header is not counted there.
pub const PUBLISHED_HEADERS: usize = 14 + 20 + 8;

/// Bytes of wire time for a frame of `frame_bytes` (without check sequence).
pub fn wire_bytes(frame_bytes: usize) -> usize {
    frame_bytes.max(MINIMUM_FRAME_BYTES) + OVERHEAD_BYTES
}

/// Length of an N-packet of `count` messages of `payload_bytes`, in frame bytes: 48 + N·P. With
/// `count` 1 it is the message itself.
pub fn aggregate_frame_bytes(payload_bytes: usize, count: usize) -> usize {
    MESSAGE_HEADERS + count * payload_bytes
}

/// The share of headers in what is sent, from 0 to 1, when `count` payloads share one copy of
/// `header_bytes`.
///
/// The published 78, 64, 47 and 30 % for N = 1, 2, 4, 8 are
/// `header_share(PUBLISHED_HEADERS, 12, N)`: 42/(42 + 12·N), for the 12-byte messages of Sigfox,
/// without flag header and framing.
pub fn header_share(header_bytes: usize, payload_bytes: usize, count: usize) -> f64 {
    header_bytes as f64 / (header_bytes + count * payload_bytes) as f64
}

/// How many wire bits of N-packets carry what a bit of single messages carries: L_N/(N·L_1).
/// Times the line rate, it is the rate of N-packets that fills an output port with their messages
/// once they are disaggregated.
pub fn aggregation_ratio(payload_bytes: usize, count: usize) -> f64 {
    let single = wire_bytes(aggregate_frame_bytes(payload_bytes, 1));
    let aggregate = wire_bytes(aggregate_frame_bytes(payload_bytes, count));
    aggregate as f64 / (count * single) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_sixteen_bytes_takes_88_on_the_wire() {
        assert_eq!(aggregate_frame_bytes(16, 1), 64);
        assert_eq!(wire_bytes(64), 88);
        assert_eq!(wire_bytes(42), 84, "short frames are padded");
    }

    #[test]
    fn the_published_header_shares() {
        let percent = |count| (100.0 * header_share(PUBLISHED_HEADERS, 12, count)).round();
        assert_eq!([1, 2, 4, 8].map(percent), [78.0, 64.0, 47.0, 30.0]);
    }

    /// The published theoretical rates of disaggregation in Gbps, by S = flag header + payload.
    /// Two cells (marked) were cut instead of rounded when they were published.
    #[test]
    fn the_published_theoretical_disaggregation_rates() {
        for (message_bytes, count, gbps) in [
            (22, 2, 59.0),
            (22, 4, 38.0), // 38.6, cut
            (22, 8, 28.0),
            (26, 2, 61.0),
            (26, 4, 41.0),
            (26, 8, 32.0),
            (34, 2, 64.0),
            (34, 4, 46.0),
            (34, 8, 37.0),
            (42, 2, 67.0),
            (42, 4, 50.0),
            (42, 8, 42.0),
            (46, 2, 68.0),
            (46, 4, 51.0), // 51.8, cut
        ] {
            let ours = 100.0 * aggregation_ratio(message_bytes - 6, count);
            assert!(
                ours.round() == gbps || ours.floor() == gbps,
                "{message_bytes} {count} {ours}"
            );
        }
    }
}
