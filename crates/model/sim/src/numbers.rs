//! Numbers of a scenario that make no sense, each named at its key.

use crate::certainty::{LEVELS, SEARCHES_MAX};
use crate::pair::Pair;
use crate::scenario::{ArrivalsEntry, FaultEntry, LinkEntry, Scenario, SearchEntry, TimerEntry, TrafficEntry};
use crate::setup::Reader;
use crate::words::number;
use forebay_chip::ChipSpec;
use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};

/// The longest simulation that is taken for meant: a minute of simulated time.
const DURATION_MAX_US: f64 = 60e6;

/// The shortest: a nanosecond.
const DURATION_MIN_US: f64 = 1e-3;

/// The largest rate of a stream.
pub(crate) const RATE_MAX_GBPS: f64 = 10_000.0;

/// The longest delay of a wire: a second.
const DELAY_MAX_NS: f64 = 1e9;

/// The least rate of a port, a link or a host's line.
pub(crate) const PORT_RATE_MIN_GBPS: f64 = 0.001;

/// The least rate of a stream that sends: a bit a millisecond.
const STREAM_RATE_MIN_GBPS: f64 = 1e-6;

/// The shortest mean time without pauses: less than the shortest frame takes.
const ON_MIN_US: f64 = 0.001;

/// The most runs of each load of a search.
const SEEDS_MAX: u32 = 1_000;

/// The most lengths of trials: the last is a thousand times the first.
const LENGTHS_MAX: u32 = 6;

/// The most frames that come out for one that goes in.
const DELIVERED_PER_SENT_MAX: f64 = 65_536.0;

/// The most frames that a search may miss.
const MISSING_FRAMES_MAX: f64 = 1e9;

/// Numbers that the packets of a timer may have.
const TIMER_PACKETS_MAX: u32 = 1 << 20;

/// The largest distance of reordering: a number is kept for each flow.
const DISTANCE_MAX: u32 = 65_536;

/// Samples of a run that are kept.
const SAMPLES_MAX: f64 = 100_000.0;

/// Times that lie within the longest simulation.
pub(crate) const TIMES_US: RangeInclusive<f64> = 0.0..=DURATION_MAX_US;

/// Delays that a wire can have.
pub(crate) const DELAYS_NS: RangeInclusive<f64> = 0.0..=DELAY_MAX_NS;

/// Shares.
pub(crate) const SHARES: RangeInclusive<f64> = 0.0..=1.0;

impl Reader<'_> {
    /// Whether the value of a key lies within bounds; notes the mistake when it does not. The key stands in the table
    /// of `near`.
    pub(crate) fn within(&mut self, near: Range<usize>, key: &str, value: f64, bounds: RangeInclusive<f64>) -> bool {
        let is_right = bounds.contains(&value);
        if !is_right {
            let (least, most) = (number(*bounds.start()), number(*bounds.end()));
            self.wrong_key(
                near,
                key,
                format!("{key} is {}; it is {least} to {most}", number(value)),
            );
        }
        is_right
    }

    /// The same for the rate of a wire, of which 0 stands for that of the port.
    pub(crate) fn wire_rate(&mut self, near: Range<usize>, gbps: f64) {
        if gbps != 0.0 && !(PORT_RATE_MIN_GBPS..=RATE_MAX_GBPS).contains(&gbps) {
            let limits = format!("{PORT_RATE_MIN_GBPS} to {RATE_MAX_GBPS}, or 0 for the rate of the port");
            self.wrong_key(near, "gbps", format!("gbps is {}; it is {limits}", number(gbps)));
        }
    }

    /// A port of a chip sends and takes no more than the fastest ports that the chip can have.
    pub(crate) fn port_rate(&mut self, near: Range<usize>, gbps: f64, spec: &ChipSpec) {
        let most = spec.ports.max_bits_per_second.unwrap_or(spec.ports.bits_per_second) as f64 / 1e9;
        if most > 0.0 && gbps > most && gbps <= RATE_MAX_GBPS {
            let message = format!(
                "gbps is {}; a port of {} has {most} Gbps at most: another rate is that of another chip, in a file of its own",
                number(gbps),
                spec.name
            );
            self.wrong_key(near, "gbps", message);
        }
    }

    /// A name by which results and other tables call something.
    pub(crate) fn name(&mut self, name: &toml::Spanned<String>, what: &str) {
        if name.get_ref().trim().is_empty() {
            self.wrong(name.span(), format!("a {what} has a name"));
        }
    }

    fn without_line(&mut self, message: &str) {
        self.problems.push(crate::Problem::new(None, message));
    }
}

/// Numbers that make no sense.
pub(crate) fn check(scenario: &Scenario, reader: &mut Reader<'_>) {
    times(scenario, reader);
    measures(scenario, reader);
    if scenario.chip.is_empty() {
        reader.without_line("there is no chip; a scenario has at least one [[chip]]");
    }
    let is_silent = scenario.traffic.is_empty() && scenario.timer.is_empty() && scenario.flow.is_empty();
    match (is_silent, reader.is_cosimulation) {
        (true, false) => {
            reader.without_line("there is no traffic; a scenario has at least one [[traffic]], [[timer]] or [[flow]]")
        }
        (false, true) => reader
            .without_line("in a co-simulation frames come from outside; remove [[traffic]], [[timer]] and [[flow]]"),
        _ => {}
    }
    chips(scenario, reader);
    scenario.link.iter().for_each(|entry| link(entry, reader));
    scenario.fault.iter().for_each(|entry| fault(entry, reader));
    scenario.timer.iter().for_each(|entry| timer(entry, reader));
    scenario.traffic.iter().for_each(|entry| traffic(entry, reader));
    if let Some(entry) = &scenario.search {
        search(entry, reader);
    }
}

fn times(scenario: &Scenario, reader: &mut Reader<'_>) {
    let duration = *scenario.duration_us.get_ref();
    let span = scenario.duration_us.span();
    if !(DURATION_MIN_US..=DURATION_MAX_US).contains(&duration) {
        let message = format!(
            "duration_us is {}; it must be more than 0 (at least {DURATION_MIN_US}) and at most {DURATION_MAX_US}",
            number(duration)
        );
        return reader.wrong(span, message);
    }
    let warm_up = scenario.warm_up_us;
    if !(0.0..duration).contains(&warm_up) {
        let message = format!(
            "warm_up_us is {}; it must be less than the duration of {duration}",
            number(warm_up)
        );
        reader.wrong_key(span.clone(), "warm_up_us", message);
    }
    reader.within(span.clone(), "drain_us", scenario.drain_us, TIMES_US);
    let sample = scenario.measure.sample_us;
    let near = reader.table("[measure]").unwrap_or(span);
    if reader.within(near.clone(), "sample_us", sample, TIMES_US) && sample > 0.0 && duration / sample > SAMPLES_MAX {
        let message = format!("sample_us gives more than {SAMPLES_MAX} samples; make it larger");
        reader.wrong_key(near, "sample_us", message);
    }
}

fn measures(scenario: &Scenario, reader: &mut Reader<'_>) {
    let measure = &scenario.measure;
    let carries_messages = |entry: &TrafficEntry| entry.frame.get_ref().udp.is_none();
    if *measure.messages.get_ref() && !scenario.traffic.iter().any(carries_messages) {
        reader.wrong(
            measure.messages.span(),
            "no stream carries messages to follow; their frames are message, n-packet or pcap",
        );
    }
    let distances = &measure.reordering_distances;
    for distance in distances.get_ref() {
        let bounds = 1.0..=f64::from(DISTANCE_MAX);
        reader.within(distances.span(), "reordering_distances", (*distance).into(), bounds);
    }
    if let Some(frames) = &measure.frames_per_packet {
        reader.within(
            frames.span(),
            "frames_per_packet",
            (*frames.get_ref()).into(),
            1.0..=255.0,
        );
    }
}

fn chips(scenario: &Scenario, reader: &mut Reader<'_>) {
    let mut names = BTreeSet::new();
    for chip in &scenario.chip {
        reader.name(&chip.name, "chip");
        if !names.insert(chip.name.get_ref()) {
            reader.wrong(
                chip.name.span(),
                format!("there are two chips {:?}", chip.name.get_ref()),
            );
        }
    }
}

fn link(link: &LinkEntry, reader: &mut Reader<'_>) {
    let near = link.from.span();
    reader.within(near.clone(), "loss", link.loss, SHARES);
    reader.within(near.clone(), "delay_ns", link.delay_ns, DELAYS_NS);
    reader.wire_rate(near, link.gbps);
}

fn fault(fault: &FaultEntry, reader: &mut Reader<'_>) {
    let near = fault.port.span();
    let shares = [
        ("loss", fault.loss),
        ("duplication", fault.duplication),
        ("delay", fault.delay),
    ];
    for (key, share) in shares {
        reader.within(near.clone(), key, share.unwrap_or(0.0), SHARES);
    }
    reader.within(near.clone(), "delay_ns", fault.delay_ns.unwrap_or(0.0), DELAYS_NS);
    // A share of 0 may be one of several values of a parameter.
    if shares.iter().all(|(_, share)| share.is_none()) {
        reader.wrong(
            near.clone(),
            "the fault does nothing: give it loss, duplication or delay",
        );
    }
    for (key, is_given, other, other_is_given) in [
        ("delay", fault.delay.is_some(), "delay_ns", fault.delay_ns.is_some()),
        ("delay_ns", fault.delay_ns.is_some(), "delay", fault.delay.is_some()),
    ] {
        if is_given && !other_is_given {
            let message =
                format!("{key} does nothing without {other}: the share of frames that come late, and how late");
            reader.wrong_key(near.clone(), key, message);
        }
    }
    if fault.bytes.0 > fault.bytes.1 {
        reader.wrong_key(
            near,
            "bytes",
            "bytes of a fault are the shortest length, then the longest",
        );
    }
}

fn timer(timer: &TimerEntry, reader: &mut Reader<'_>) {
    let near = timer.port.span();
    reader.within(
        near.clone(),
        "interval_ns",
        timer.interval_ns,
        1.0..=DURATION_MAX_US * 1e3,
    );
    let packets = 1.0..=f64::from(TIMER_PACKETS_MAX);
    reader.within(near, "packets", timer.packets.into(), packets);
}

fn traffic(traffic: &TrafficEntry, reader: &mut Reader<'_>) {
    let near = traffic.name.span();
    reader.name(&traffic.name, "stream");
    if traffic.to.get_ref().is_empty() {
        reader.wrong(traffic.to.span(), "`to` is empty; traffic goes to at least one port");
    }
    let is_rate = |gbps: f64| gbps == 0.0 || (STREAM_RATE_MIN_GBPS..=RATE_MAX_GBPS).contains(&gbps);
    let limits = format!("a rate is 0, or {STREAM_RATE_MIN_GBPS} to {RATE_MAX_GBPS} Gbps");
    if !is_rate(*traffic.gbps.get_ref()) {
        reader.wrong(traffic.gbps.span(), limits.clone());
    }
    if traffic.steps.iter().any(|Pair(_, gbps)| !is_rate(*gbps)) {
        reader.wrong_key(near.clone(), "steps", limits);
    }
    match traffic.arrivals {
        ArrivalsEntry::Bursts { frames: 0 } => {
            reader.wrong_key(near.clone(), "arrivals", "a burst has at least a frame")
        }
        ArrivalsEntry::OnOff { on_us } if !(ON_MIN_US..=DURATION_MAX_US).contains(&on_us) => {
            let message = format!("on_us of arrivals is {ON_MIN_US} to {DURATION_MAX_US}");
            reader.wrong_key(near.clone(), "arrivals", message);
        }
        _ => {}
    }
    reader.within(near.clone(), "start_us", traffic.start_us, TIMES_US);
    if let Some(stop) = &traffic.stop_us {
        let (stop_us, start_us) = (*stop.get_ref(), traffic.start_us);
        if reader.within(stop.span(), "stop_us", stop_us, TIMES_US) && stop_us <= start_us {
            let message = format!("stop_us is {stop_us}; it must be more than start_us, which is {start_us}");
            reader.wrong(stop.span(), message);
        }
    }
    let times: Vec<f64> = traffic.steps.iter().map(|Pair(time, _)| *time).collect();
    let begins_late = times.first().is_none_or(|first| *first >= traffic.start_us);
    if !(times.is_sorted() && times.iter().all(|time| TIMES_US.contains(time)) && begins_late) {
        reader.wrong_key(near, "steps", "steps are in order of time, none before start_us");
    }
}

fn search(search: &SearchEntry, reader: &mut Reader<'_>) {
    loads(search, reader);
    tolerated_losses(search, reader);
    repetitions(search, reader);
}

fn loads(search: &SearchEntry, reader: &mut Reader<'_>) {
    let (from, to) = (search.from_gbps, *search.to_gbps.get_ref());
    if !(from >= 0.0 && to > from && to <= RATE_MAX_GBPS) {
        let message = format!("to_gbps is larger than from_gbps, which is not negative, and at most {RATE_MAX_GBPS}");
        reader.wrong(search.to_gbps.span(), message);
    }
    let tolerance = *search.tolerance_gbps.get_ref();
    if !(tolerance > 0.0 && tolerance <= to) {
        reader.wrong(
            search.tolerance_gbps.span(),
            "tolerance_gbps is more than 0 and at most to_gbps",
        );
    }
}

/// How many frames must come out, and how many of them may be missing.
fn tolerated_losses(search: &SearchEntry, reader: &mut Reader<'_>) {
    let near = search.to_gbps.span();
    if !(0.0..1.0).contains(&search.missing_share) {
        let share = number(search.missing_share);
        let message = format!("missing_share is {share}; it is a share, less than 1");
        reader.wrong_key(near.clone(), "missing_share", message);
    }
    if let Some(frames) = search.missing_frames {
        reader.within(near.clone(), "missing_frames", frames, 0.0..=MISSING_FRAMES_MAX);
    }
    let tolerated = [
        ("missing_share", search.missing_share > 0.0),
        ("missing_frames", search.missing_frames.is_some()),
    ];
    for (key, _) in tolerated.iter().filter(|(_, is_given)| *is_given) {
        if search.delivered_per_sent.is_none() {
            let message = format!("{key} needs delivered_per_sent, which says how many frames must come out");
            reader.wrong_key(near.clone(), key, message);
        }
    }
    if let Some(frames) = search.delivered_per_sent
        && !(frames > 0.0 && frames <= DELIVERED_PER_SENT_MAX)
    {
        let message = format!(
            "delivered_per_sent is {}; it is more than 0 and at most {DELIVERED_PER_SENT_MAX}",
            number(frames)
        );
        reader.wrong_key(near, "delivered_per_sent", message);
    }
}

/// How often loads are tried, and searches repeated.
fn repetitions(search: &SearchEntry, reader: &mut Reader<'_>) {
    let near = search.to_gbps.span();
    for (key, value, most) in [
        ("seeds", search.seeds, SEEDS_MAX),
        ("lengths_max", search.lengths_max(), LENGTHS_MAX),
    ] {
        reader.within(near.clone(), key, value.into(), 1.0..=most.into());
    }
    if let Some(confidence) = &search.confidence
        && !LEVELS.contains(confidence.get_ref())
    {
        let message = format!(
            "confidence is {}; it is 0.9, 0.95 or 0.99",
            number(*confidence.get_ref())
        );
        reader.wrong(confidence.span(), message);
    }
    let within = search.within();
    if !(within > 0.0 && within <= 1.0) {
        let message = format!("within is {}; it is more than 0 and at most 1", number(within));
        reader.wrong_key(near.clone(), "within", message);
    }
    reader.within(
        near,
        "searches_max",
        search.searches_max().into(),
        3.0..=SEARCHES_MAX.into(),
    );
}
