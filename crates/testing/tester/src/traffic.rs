//! From the entries of a test file to streams: frames, rates, shapes.

use crate::entries;
use crate::frames::{self, Frames, ONE_KIND};
use crate::loaded::Loaded;
use crate::messages;
use crate::numbers::{PPS_MAX, PPS_MIN};
use crate::parser_paths;
use crate::schedule::{Arrivals, Segment, Shape};
use crate::setup::Reader;
use crate::stream::{Rate, Stream};
use crate::tag::STREAMS_MAX;
use crate::test_file::{
    ArrivalsEntry, FlowsEntry, FrameEntry, MessageEntry, ParserEntry, RateEntry, ShapeEntry, TestFile, TrafficEntry,
};
use forebay_packet::pcap;
use forebay_sim::{Library, Pair, Problem, number};
use forebay_traffic::MessageFormat;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// The longest burst that is taken for meant: more than half a second of frames of 60 bytes at 1 Gbps.
const BURST_FRAMES_MAX: u32 = 1 << 20;

/// The highest rate in bits a second that is taken for meant.
const BITS_MAX: f64 = 1e13;

/// The streams of a file.
pub(crate) fn streams(file: &TestFile, loaded: Option<&Loaded>, reader: &mut Reader<'_>) -> Vec<Stream> {
    if file.traffic.is_empty() && file.rfc2889.is_none() {
        reader.problems.push(Problem::new(
            None,
            "there is no traffic; a test has at least one [[traffic]]",
        ));
    }
    if let Some(first) = file.traffic.get(STREAMS_MAX) {
        let message = format!("there are {} streams; {STREAMS_MAX} are possible", file.traffic.len());
        reader.wrong(first.name.span(), message);
        return Vec::new();
    }
    let mut names = BTreeSet::new();
    let mut streams = Vec::new();
    for (entry, index) in file.traffic.iter().zip(0u64..) {
        if entry.name.get_ref().trim().is_empty() {
            reader.wrong(entry.name.span(), "a stream has a name, by which results call it");
        } else if entry.name.get_ref().contains(char::is_control) {
            reader.wrong(
                entry.name.span(),
                "the name of a stream is one line, without control characters",
            );
        } else if !names.insert(entry.name.get_ref()) {
            let message = format!("there are two streams {:?}", entry.name.get_ref());
            reader.wrong(entry.name.span(), message);
        }
        streams.extend(stream(entry, loaded, file.seed.wrapping_add(index), reader));
    }
    streams
}

fn stream(entry: &TrafficEntry, loaded: Option<&Loaded>, seed: u64, reader: &mut Reader<'_>) -> Option<Stream> {
    let frames = match stream_frames(entry, loaded, seed, reader.library) {
        Ok(frames) => Some(frames),
        Err(message) => {
            reader.wrong(wrong_place(entry, loaded, seed, reader.library), message);
            None
        }
    };
    let messages = entry.frame.get_ref().message.as_ref();
    let rate = rate(entry, reader)?;
    if matches!(rate, Rate::Max) {
        without_rate(entry, reader)?;
    }
    let shape = match &entry.shape {
        Some(shape) => match shape_of(shape.get_ref()) {
            Some(shape) => shape,
            None => {
                reader.wrong(shape.span(), WRONG_SHAPE);
                return None;
            }
        },
        None => Shape::flat(),
    };
    if let ArrivalsEntry::Bursts { frames } = entry.arrivals.get_ref()
        && !(1..=BURST_FRAMES_MAX).contains(frames)
    {
        let message = format!("a burst has 1 to {BURST_FRAMES_MAX} frames, not {frames}");
        reader.wrong(entry.arrivals.span(), message);
    }
    let stream = Stream {
        name: entry.name.get_ref().clone(),
        from: *entry.from.get_ref(),
        to: entry.to.as_ref().map(|to| *to.get_ref()),
        frames: Arc::new(frames?),
        rate,
        arrivals: match *entry.arrivals.get_ref() {
            ArrivalsEntry::Constant => Arrivals::Constant,
            ArrivalsEntry::Poisson => Arrivals::Poisson,
            ArrivalsEntry::Bursts { frames } => Arrivals::Bursts(frames),
        },
        shape,
        messages: messages.and_then(|message| Some((MessageFormat::new(message.payload_bytes).ok()?, message.devices))),
    };
    possible_rate(stream, entry, reader)
}

/// A stream that is as fast as the tester can follows no schedule. None when it has one.
fn without_rate(entry: &TrafficEntry, reader: &mut Reader<'_>) -> Option<()> {
    let (what, span) = match (&entry.shape, entry.arrivals.get_ref()) {
        (Some(shape), _) => ("shape goes", shape.span()),
        (None, ArrivalsEntry::Constant) => return Some(()),
        (None, _) => ("arrivals go", entry.arrivals.span()),
    };
    reader.wrong(
        span,
        format!("{what} with a rate: with pps = \"max\" frames follow one another as fast as the tester can"),
    );
    None
}

/// What is wrong with a stream's frames: their flows, when the frames alone are right.
fn wrong_place(entry: &TrafficEntry, loaded: Option<&Loaded>, seed: u64, library: &dyn Library) -> Range<usize> {
    let alone = TrafficEntry {
        flows: None,
        ..entry.clone()
    };
    match &entry.flows {
        Some(flows) if stream_frames(&alone, loaded, seed, library).is_ok() => flows.span(),
        _ => entry.frame.span(),
    }
}

/// The stream, when its rate is one that is taken for meant.
fn possible_rate(stream: Stream, entry: &TrafficEntry, reader: &mut Reader<'_>) -> Option<Stream> {
    let places = [
        entry.pps.as_ref().map(|pps| pps.span()),
        entry.gbps.as_ref().map(|gbps| gbps.span()),
        entry.mbps.as_ref().map(|mbps| mbps.span()),
    ];
    let place = places.into_iter().flatten().next().unwrap_or(0..0);
    let too_many = stream.pps().filter(|pps| *pps > PPS_MAX);
    match (stream.rate, too_many) {
        (Rate::Bits(bits), _) if bits > BITS_MAX => {
            reader.wrong(
                place,
                format!("{} Gbps; a rate is at most {} Gbps", number(bits / 1e9), BITS_MAX / 1e9),
            );
        }
        (Rate::Frames(_), Some(_)) => reader.wrong(place, "a rate is at most 10^9 frames a second"),
        _ if stream.pps().is_some_and(|pps| pps < PPS_MIN) => {
            let message =
                format!("a rate is at least {PPS_MIN} frames a second; pps counts single frames, not millions");
            reader.wrong(place, message);
        }
        (_, Some(pps)) => {
            let message =
                format!("a rate is at most 10^9 frames a second; these are {pps:.3e} of frames of this length");
            reader.wrong(place, message);
        }
        _ => return Some(stream),
    }
    None
}

const WRONG_SHAPE: &str = "a shape is exactly one of { on_s = 0.1, off_s = 0.4 }, { steps = [[0, 1.0], [0.5, 2.0]] } and \
                           { ramp = [[0, 0.1], [1, 1.0]] }; times begin at 0 and grow, factors are not negative, and one is more than 0";

fn stream_frames(
    entry: &TrafficEntry,
    loaded: Option<&Loaded>,
    seed: u64,
    library: &dyn Library,
) -> Result<Frames, String> {
    let frame = entry.frame.get_ref();
    let flows = entry.flows.as_ref().map(|flows| flows.get_ref());
    let kinds = [
        frame.udp.is_some(),
        frame.tcp.is_some(),
        frame.hex.is_some(),
        frame.pcap.is_some(),
        frame.message.is_some(),
        frame.parser.is_some(),
    ];
    if kinds.iter().filter(|kind| **kind).count() != 1 {
        return Err(ONE_KIND.to_string());
    }
    if frame.udp.is_none() && frame.tcp.is_none() && frame.has_ethernet() {
        let message = "source_mac, destination_mac, vlan and priority go with udp and tcp; other frames have Ethernet headers of their own";
        return Err(message.to_string());
    }
    match (&frame.pcap, &frame.message) {
        (Some(path), _) if flows.is_none() => capture(path, library),
        (_, Some(message)) if flows.is_none() => message_frames(message),
        (Some(_), _) => Err("the frames of a capture file are its flows; leave out `flows`".to_string()),
        (_, Some(_)) => {
            Err("the flows of messages are their devices; write devices = N in place of `flows`".to_string())
        }
        _ => described_frames(frame, flows, *entry.from.get_ref(), loaded, seed),
    }
}

/// Variants of a way through a parser at most.
const VARIANTS_MAX: usize = 1 << 10;

fn parser_frames(
    entry: &ParserEntry,
    flows: Option<&FlowsEntry>,
    port: u32,
    loaded: Option<&Loaded>,
    seed: u64,
) -> Result<Frames, String> {
    if flows.is_some() {
        return Err("the frames of a parser are its flows; leave out `flows`".to_string());
    }
    if !(1..=VARIANTS_MAX).contains(&entry.variants) || entry.bytes > frames::BYTES_MAX {
        let most = frames::BYTES_MAX;
        return Err(format!("variants are 1 to {VARIANTS_MAX}, bytes at most {most}"));
    }
    let loaded = loaded.ok_or("frames of a parser need the program of [device]")?;
    let pipeline = loaded.reference()?;
    parser_paths::frames(&pipeline, port, entry.bytes, entry.variants, seed).map(Frames::in_turn)
}

/// Frames from a description, with flows that are counted, or one for each entry of a table.
pub(crate) fn described_frames(
    frame: &FrameEntry,
    flows: Option<&FlowsEntry>,
    port: u32,
    loaded: Option<&Loaded>,
    seed: u64,
) -> Result<Frames, String> {
    if let Some(parser) = &frame.parser {
        return parser_frames(parser, flows, port, loaded, seed);
    }
    let Some((flows, table)) = flows.and_then(|flows| Some((flows, flows.entries.as_ref()?))) else {
        if let Some(flows) = flows.filter(|flows| flows.count.is_none() || flows.misses != 0.0) {
            let what = if flows.count.is_none() {
                "count = N or entries = \"TABLE\""
            } else {
                "entries for its misses"
            };
            return Err(format!("flows need {what}"));
        }
        return frames::frames(frame, flows, seed);
    };
    if flows.count.is_some() || !(0.0..1.0).contains(&flows.misses) {
        return Err("flows are count = N, or entries = \"TABLE\" with a share of misses below 1".to_string());
    }
    if flows.vary.is_some() {
        return Err("flows from entries differ in what the table matches; leave out `vary`".to_string());
    }
    let loaded = loaded.ok_or("flows from entries need the program of [device]")?;
    let base = frames::frames(frame, None, seed)?;
    let [base] = base.templates() else {
        return Err("flows from entries have frames of one length".to_string());
    };
    let found = entries::frames(&loaded.reference()?, port, base, table, flows.misses, seed)?;
    Frames::with_misses(found.frames, found.hits, flows, seed)
}

fn capture(path: &str, library: &dyn Library) -> Result<Frames, String> {
    let bytes = library.bytes(path)?;
    let packets = pcap::read_all(&bytes).map_err(|error| format!("{path}: {error}"))?;
    let captured = packets.iter().map(|packet| packet.data().to_vec()).collect();
    frames::captured(captured).map_err(|error| format!("{path}: {error}"))
}

fn message_frames(entry: &MessageEntry) -> Result<Frames, String> {
    let format = MessageFormat::new(entry.payload_bytes).map_err(|error| error.to_string())?;
    if !(1..=65_535).contains(&entry.devices) {
        return Err(format!("devices is {}; it is 1 to 65535", entry.devices));
    }
    let macs = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 0xfe]);
    Ok(Frames::in_turn(messages::templates(format, entry.devices, macs)))
}

fn rate(entry: &TrafficEntry, reader: &mut Reader<'_>) -> Option<Rate> {
    let (rate, span) = match (&entry.pps, &entry.gbps, &entry.mbps) {
        (Some(pps), None, None) => match pps.get_ref() {
            RateEntry::Fixed(rate) => (Rate::Frames(*rate), pps.span()),
            RateEntry::Max => return Some(Rate::Max),
        },
        (None, Some(gbps), None) => (Rate::Bits(gbps.get_ref() * 1e9), gbps.span()),
        (None, None, Some(mbps)) => (Rate::Bits(mbps.get_ref() * 1e6), mbps.span()),
        _ => {
            reader.wrong(entry.name.span(), "a stream has exactly one rate: pps, mbps or gbps");
            return None;
        }
    };
    let (Rate::Frames(value) | Rate::Bits(value)) = rate else {
        return Some(rate);
    };
    if !(value > 0.0 && value.is_finite()) {
        reader.wrong(span, "a rate is more than 0, and finite");
        return None;
    }
    Some(rate)
}

fn shape_of(entry: &ShapeEntry) -> Option<Shape> {
    match (entry.on_s, entry.off_s, &entry.steps, &entry.ramp) {
        (Some(on), Some(off), None, None) => Shape::on_off(on, off),
        (None, None, Some(steps), None) => Shape::new(segments(steps, |from, _| (from, from))?),
        (None, None, None, Some(ramp)) => Shape::new(segments(ramp, |from, to| (from, to))?),
        _ => None,
    }
}

/// How long the last factor of a shape holds.
const FOR_EVER_S: f64 = 1e6;

fn segments(points: &[Pair<f64>], factors: impl Fn(f64, f64) -> (f64, f64)) -> Option<Vec<Segment>> {
    let (first, last) = (points.first()?, points.last()?);
    if first.0 != 0.0 {
        return None;
    }
    let segment = |pair: &[Pair<f64>]| {
        let (from, to) = factors(pair[0].1, pair[1].1);
        Segment {
            seconds: pair[1].0 - pair[0].0,
            from,
            to,
        }
    };
    let mut segments: Vec<Segment> = points.windows(2).map(segment).collect();
    segments.push(Segment {
        seconds: FOR_EVER_S,
        from: last.1,
        to: last.1,
    });
    Some(segments)
}
