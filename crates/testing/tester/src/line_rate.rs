//! Streams and the wires of the ports that they are sent by. No port takes more than its wire carries.

use crate::device::LineRate;
use crate::stream::Stream;

/// A load on a port that its wire does not carry.
pub(crate) struct TooFast {
    /// The stream to name: the last one of those that are sent by the port.
    pub stream: usize,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// Bits a second of a stream on the wire: on average, and at the peak of its shape. None when it is as fast as the port
/// takes.
fn bits_per_second(stream: &Stream, line: LineRate) -> Option<(f64, f64)> {
    let mean = stream.mean_pps()? * stream.mean_of(|bytes| 8.0 * line.framing.wire_bytes(bytes as u32) as f64);
    Some((mean, mean * stream.shape.peak() / stream.shape.mean()))
}

/// What the streams of a port ask of its wire, in bits a second: the sum of their averages, or the peak of one of them
/// when that is more.
fn load<'s>(streams: impl Iterator<Item = &'s Stream>, line: LineRate) -> f64 {
    let rates: Vec<(f64, f64)> = streams.filter_map(|stream| bits_per_second(stream, line)).collect();
    let sum: f64 = rates.iter().map(|(mean, _)| mean).sum();
    rates.iter().map(|(_, peak)| *peak).fold(sum, f64::max)
}

/// The last stream of each port, with the load on it.
fn loads(streams: &[Stream], line: LineRate) -> impl Iterator<Item = (usize, f64)> {
    let is_last = move |index: &usize| {
        streams[index + 1..]
            .iter()
            .all(|other| other.from != streams[*index].from)
    };
    (0..streams.len()).filter(is_last).map(move |index| {
        let of_port = streams.iter().filter(move |stream| stream.from == streams[index].from);
        (index, load(of_port, line))
    })
}

/// Rounding of rates that are meant to be line rate.
const ROUNDING: f64 = 1e-9;

/// The first port whose streams are faster than its wire.
pub(crate) fn too_fast(streams: &[Stream], line: LineRate) -> Option<TooFast> {
    let most = line.bits_per_second as f64;
    let (stream, load) = loads(streams, line).find(|(_, load)| *load > most * (1.0 + ROUNDING))?;
    let bits = 8.0 * streams[stream].mean_of(|bytes| line.framing.wire_bytes(bytes as u32) as f64);
    let message = format!(
        "the streams from port {} ask for {:.4} Gbps on the wire; it carries {} Gbps, which are {:.4} million of these frames a second",
        streams[stream].from,
        load / 1e9,
        most / 1e9,
        most / bits / 1e6
    );
    Some(TooFast { stream, message })
}

/// How many times as fast all streams may be so that each port is at line rate at most. None when no stream has a rate.
pub(crate) fn scale_max(streams: &[Stream], line: LineRate) -> Option<f64> {
    let scales = loads(streams, line).filter(|(_, load)| *load > 0.0);
    let scales = scales.map(|(_, load)| line.bits_per_second as f64 / load);
    scales.min_by(f64::total_cmp)
}
