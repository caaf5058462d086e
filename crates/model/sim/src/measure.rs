//! What is looked at while a simulation runs.

use crate::departures::Record;
use crate::messages::Messages;
use crate::parts::Parts;
use crate::recording::Recording;
use crate::reordering::Reordering;
use crate::results::{LatencyResults, PartsResults, ReorderingResults};
use forebay_chip::{Framing, Loss, Observer, Part, Picos, Place, ProgramDrop};
use forebay_pipeline::DropReason;
use hdrhistogram::Histogram;
use std::collections::{BTreeMap, VecDeque};

/// Bits of a tag that are a sequence number; the stream's index stands above.
const SEQUENCE_BITS: u32 = 48;

/// Frames of a stream whose times of arrival are remembered. A power of two.
const REMEMBERED: usize = 1 << 17;

/// The largest delay that the histogram distinguishes: a second, in nanoseconds.
const LATENCY_MAX_NS: u64 = 1_000_000_000;

/// What is known of the packets of a stream.
struct StreamMeter {
    /// The framing of its wire.
    framing: Framing,
    /// Time of arrival by sequence number modulo [`REMEMBERED`].
    arrived: Vec<Picos>,
    next: u64,
    /// The first sequence number sent after the warm-up: delays and order are about this frame and later ones,
    /// whenever they leave.
    first_measured: u64,
    /// A bit for each sequence number modulo [`REMEMBERED`]: whether a frame of it has come out.
    seen: Vec<u64>,
    delivered: u64,
    copies: u64,
    parts: Option<Parts>,
    lost: Counts<Loss>,
    dropped: Counts<DropReason>,
    latency: Histogram<u64>,
    reordering: Reordering,
    /// Frames of which the last byte may not be out yet: when it is, and the sequence number, in the order of leaving.
    /// Frames of several ports are not reported in this order.
    leaving: VecDeque<(Picos, u64)>,
    sent_measured_bits: u64,
}

/// Packets that belong to no stream: those of a timer, or of a host.
#[derive(Default)]
struct Others {
    /// How many there were.
    count: u64,
    /// When the last of them came in, of a host, while departures are recorded; at most [`REMEMBERED`].
    arrived: VecDeque<Picos>,
}

impl Others {
    /// When a packet came in, if that is known.
    fn arrival(&self, sequence: u64) -> Option<Picos> {
        let back = usize::try_from(self.count.checked_sub(sequence + 1)?).ok()?;
        let place = self.arrived.len().checked_sub(back + 1)?;
        self.arrived.get(place).copied()
    }

    fn came(&mut self, now: Picos) {
        if self.arrived.len() == REMEMBERED {
            self.arrived.pop_front();
        }
        self.arrived.push_back(now);
    }
}

/// How often something happened, by place and reason. There are few, so a list is searched faster than a tree.
type Counts<R> = Vec<((Place, R), u64)>;

fn count<R: PartialEq>(counts: &mut Counts<R>, key: (Place, R)) {
    match counts.iter_mut().find(|(known, _)| *known == key) {
        Some((_, count)) => *count += 1,
        None => counts.push((key, 1)),
    }
}

/// A port that leads outside.
#[derive(Default)]
pub(crate) struct OutputMeter {
    pub(crate) frames: u64,
    pub(crate) measured_frames: u64,
    pub(crate) measured_bits: u64,
    pub(crate) samples_bits: Vec<u64>,
}

/// Counts packets that come, leave and are lost.
pub(crate) struct Meter {
    streams: Vec<StreamMeter>,
    /// Timers, then hosts: their tags go on where those of streams end.
    others: Vec<Others>,
    pub(crate) outputs: BTreeMap<Place, OutputMeter>,
    pub(crate) lost: BTreeMap<(Place, Loss), u64>,
    /// Messages one by one, when they are followed.
    pub(crate) messages: Option<Messages>,
    /// Frames that left, one by one, when they are recorded.
    pub(crate) departures: Option<Vec<Record>>,
    /// Packets one by one, when they are recorded.
    pub(crate) recording: Option<Box<Recording>>,
    /// When measurement begins and ends.
    begins: Picos,
    ends: Picos,
    /// When the last frame of a stream came in.
    now: Picos,
    sample: Picos,
    /// By chip.
    framing: Vec<Framing>,
}

impl Meter {
    /// A measurement of streams, of a number of timers and hosts, and of chips: the framing of the wires of each.
    pub(crate) fn new(
        (streams, others, framing): (&[Framing], usize, Vec<Framing>),
        window: (Picos, Picos),
        sample: Picos,
        distances: &[u32],
    ) -> Meter {
        let stream = |framing: &Framing| StreamMeter {
            framing: *framing,
            arrived: vec![0; REMEMBERED],
            next: 0,
            first_measured: 0,
            seen: vec![0; REMEMBERED / 64],
            delivered: 0,
            copies: 0,
            parts: None,
            lost: Vec::new(),
            dropped: Vec::new(),
            latency: histogram(),
            reordering: Reordering::new(distances),
            leaving: VecDeque::new(),
            sent_measured_bits: 0,
        };
        Meter {
            streams: streams.iter().map(stream).collect(),
            others: (0..others).map(|_| Others::default()).collect(),
            outputs: BTreeMap::new(),
            lost: BTreeMap::new(),
            messages: None,
            departures: None,
            recording: None,
            begins: window.0,
            ends: window.1,
            now: 0,
            sample,
            framing,
        }
    }

    /// From now on messages are followed one by one; the lengths of payloads by stream, where all are alike.
    pub(crate) fn follow_messages(&mut self, payload_bytes: Vec<Option<usize>>) {
        self.messages = Some(Messages::new(histogram(), payload_bytes));
    }

    /// From now on, counts which packets, of `frames` frames each, are lost entirely and which in part.
    pub(crate) fn follow_parts(&mut self, frames: u8) {
        let streams = self.streams.iter_mut();
        streams.for_each(|stream| stream.parts = Some(Parts::new(frames, REMEMBERED)));
    }

    fn measures(&self, time: Picos) -> bool {
        (self.begins..self.ends).contains(&time)
    }

    /// A frame of a stream comes; its tag.
    pub(crate) fn sent(&mut self, stream: usize, bytes: usize, now: Picos) -> u64 {
        let (measured, is_warm) = (self.measures(now), now >= self.begins);
        self.now = now;
        let meter = &mut self.streams[stream];
        let sequence = meter.next;
        meter.next += 1;
        if !is_warm {
            meter.first_measured = meter.next;
        }
        meter.arrived[sequence as usize % REMEMBERED] = now;
        let (word, bit) = meter.seen_bit(sequence);
        meter.seen[word] &= !bit;
        if let Some(parts) = &mut meter.parts {
            parts.sent(sequence);
        }
        if measured {
            meter.sent_measured_bits += 8 * meter.framing.wire_bytes(bytes as u32);
        }
        tag(stream, sequence)
    }

    /// All frames have left.
    pub(crate) fn end(&mut self) {
        self.streams.iter_mut().for_each(|stream| stream.pass_time(Picos::MAX));
    }

    /// A packet of a timer begins, or one of a host, with this number among timers and hosts; its tag.
    pub(crate) fn begun(&mut self, number: usize) -> u64 {
        let others = &mut self.others[number];
        others.count += 1;
        tag(self.streams.len() + number, others.count - 1)
    }

    /// A frame of a host comes to its port; its tag. The number is that among timers and hosts.
    pub(crate) fn came(&mut self, number: usize, place: Place, frame: &[u8], now: Picos) -> u64 {
        let tag = self.begun(number);
        if self.departures.is_some() {
            self.others[number].came(now);
        }
        if let Some(recording) = &mut self.recording {
            recording.arrived(place, frame, tag, now);
        }
        tag
    }

    /// When a frame of a stream, or of a host, came in; none when that is not known.
    fn arrival(&self, origin: usize, sequence: u64) -> Option<Picos> {
        match origin.checked_sub(self.streams.len()) {
            None => self.streams[origin].arrival(sequence),
            Some(number) => self.others.get(number)?.arrival(sequence),
        }
    }

    pub(crate) fn sent_frames(&self, stream: usize) -> u64 {
        self.streams[stream].next
    }

    pub(crate) fn sent_measured_bits(&self, stream: usize) -> u64 {
        self.streams[stream].sent_measured_bits
    }

    pub(crate) fn delivered(&self, stream: usize) -> u64 {
        self.streams[stream].delivered
    }

    pub(crate) fn copies(&self, stream: usize) -> u64 {
        self.streams[stream].copies
    }

    pub(crate) fn parts(&self, stream: usize) -> Option<PartsResults> {
        self.streams[stream].parts.as_ref().map(Parts::results)
    }

    /// What chips lost of a stream.
    pub(crate) fn lost_of(&self, stream: usize) -> impl Iterator<Item = ((Place, Loss), u64)> + '_ {
        self.streams[stream].lost.iter().copied()
    }

    /// What programs dropped of a stream.
    pub(crate) fn dropped_of(&self, stream: usize) -> impl Iterator<Item = ((Place, DropReason), u64)> + '_ {
        self.streams[stream].dropped.iter().cloned()
    }

    pub(crate) fn latency(&self, stream: usize) -> LatencyResults {
        latency_results(&self.streams[stream].latency)
    }

    pub(crate) fn reordering(&self, stream: usize) -> ReorderingResults {
        let reordering = &self.streams[stream].reordering;
        let (reordered, extent_max) = reordering.reordered();
        let arrived = reordering.arrived();
        ReorderingResults {
            arrived,
            reordered_ratio: reordered as f64 / arrived.max(1) as f64,
            extent_max,
            ratio_at_distance: reordering.by_distance().collect(),
        }
    }
}

impl StreamMeter {
    /// When a frame came in, unless that is forgotten.
    fn arrival(&self, sequence: u64) -> Option<Picos> {
        (self.next - sequence <= REMEMBERED as u64).then(|| self.arrived[sequence as usize % REMEMBERED])
    }

    /// Where it is noted that a frame of a sequence number has come out.
    fn seen_bit(&self, sequence: u64) -> (usize, u64) {
        let place = sequence as usize % REMEMBERED;
        (place / 64, 1 << (place % 64))
    }

    /// A frame comes out. Of a packet that was sent so long ago that it is forgotten it counts as the first.
    fn deliver(&mut self, sequence: u64) {
        let (word, bit) = self.seen_bit(sequence);
        let remembered = self.next - sequence <= REMEMBERED as u64;
        if let Some(parts) = self.parts.as_mut().filter(|_| remembered) {
            parts.delivered(sequence);
        }
        if remembered && self.seen[word] & bit != 0 {
            self.copies += 1;
            return;
        }
        if remembered {
            self.seen[word] |= bit;
        }
        self.delivered += 1;
    }

    /// A frame leaves at a time that is not past.
    fn leave(&mut self, sequence: u64, time: Picos, now: Picos) {
        self.pass_time(now);
        let before = self.leaving.iter().rposition(|(other, _)| *other <= time);
        self.leaving
            .insert(before.map_or(0, |before| before + 1), (time, sequence));
    }

    /// What leaves up to now has left.
    fn pass_time(&mut self, now: Picos) {
        while let Some((_, sequence)) = self.leaving.front().copied().filter(|(time, _)| *time <= now) {
            self.leaving.pop_front();
            self.reordering.arrive(sequence);
        }
    }
}

/// The mark of a frame and of all that is made of it.
pub(crate) fn tag(stream: usize, sequence: u64) -> u64 {
    (stream as u64) << SEQUENCE_BITS | sequence
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_MAX_NS, 3).expect("bounds that a histogram can have")
}

/// A distribution of delays in nanoseconds.
pub(crate) fn latency_results(histogram: &Histogram<u64>) -> LatencyResults {
    let percentiles = ["5", "25", "50", "75", "95", "99", "99.9"];
    let percentile = |name: &str| {
        let percent = name.parse().expect("a number");
        (name.to_string(), histogram.value_at_percentile(percent) as f64)
    };
    LatencyResults {
        count: histogram.len(),
        min_ns: if histogram.is_empty() {
            0.0
        } else {
            histogram.min() as f64
        },
        mean_ns: histogram.mean(),
        max_ns: histogram.max() as f64,
        percentiles_ns: percentiles.map(percentile).into_iter().collect(),
    }
}

impl Observer for Meter {
    fn inside(&mut self, place: Place, part: Part, tag: u64, from: Picos, until: Picos) {
        if let Some(recording) = &mut self.recording {
            recording.inside(place, part, tag, from, until);
        }
    }

    fn departed(&mut self, place: Place, frame: &[u8], tag: u64, time: Picos) {
        if let Some(recording) = &mut self.recording {
            recording.departed(place, frame, tag, time);
        }
        let measured = self.measures(time);
        let bits = 8 * self.framing[usize::from(place.chip)].wire_bytes(frame.len() as u32);
        let output = self.outputs.entry(place).or_default();
        output.frames += 1;
        if self.sample > 0 && time < self.ends {
            let sample = (time / self.sample) as usize;
            if output.samples_bits.len() <= sample {
                output.samples_bits.resize(sample + 1, 0);
            }
            output.samples_bits[sample] += bits;
        }
        if measured {
            output.measured_frames += 1;
            output.measured_bits += bits;
        }
        if let Some(messages) = &mut self.messages {
            messages.departed(frame, (tag >> SEQUENCE_BITS) as usize, time);
        }
        let stream = (tag >> SEQUENCE_BITS) as usize;
        let sequence = tag & ((1 << SEQUENCE_BITS) - 1);
        if let Some(mut departures) = self.departures.take() {
            departures.push(Record {
                place,
                origin: stream,
                sequence,
                arrived: self.arrival(stream, sequence),
                departed: time,
                bytes: frame.len(),
            });
            self.departures = Some(departures);
        }
        // What a timer or a host has begun belongs to no stream.
        let Some(meter) = self.streams.get_mut(stream) else {
            return;
        };
        meter.deliver(sequence);
        if sequence < meter.first_measured {
            return;
        }
        meter.leave(sequence, time, self.now);
        if let Some(arrived) = meter.arrival(sequence) {
            meter.latency.saturating_record(((time - arrived) / 1_000).max(1));
        }
    }

    fn lost(&mut self, place: Place, loss: Loss, tag: u64, time: Picos) {
        if let Some(recording) = &mut self.recording {
            recording.lost(place, loss, tag, time);
        }
        *self.lost.entry((place, loss)).or_insert(0) += 1;
        if let Some(meter) = self.streams.get_mut((tag >> SEQUENCE_BITS) as usize) {
            count(&mut meter.lost, (place, loss));
        }
    }

    fn dropped(&mut self, place: Place, drop: ProgramDrop, tag: u64, time: Picos) {
        if let Some(recording) = &mut self.recording {
            recording.dropped(place, drop, tag, time);
        }
        if let Some(meter) = self.streams.get_mut((tag >> SEQUENCE_BITS) as usize) {
            count(&mut meter.dropped, (place, drop.reason));
        }
    }

    fn wants_locations(&self) -> bool {
        self.recording
            .as_ref()
            .is_some_and(|recording| recording.wants_locations())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_several_ports_are_in_the_order_of_their_last_bytes() {
        let framing = forebay_chip::ChipSpec::known("tofino").unwrap().framing;
        let mut meter = Meter::new((&[framing], 0, vec![framing]), (0, 1_000_000), 0, &[]);
        for (port, left) in [(1, 500_000), (2, 200_000), (1, 900_000), (2, 400_000)] {
            let tag = meter.sent(0, 100, 0);
            meter.departed(Place { chip: 0, port }, &[0; 100], tag, left);
        }
        meter.end();
        let found = meter.reordering(0);
        assert_eq!((found.arrived, found.reordered_ratio, found.extent_max), (4, 0.5, 2));
    }
}
