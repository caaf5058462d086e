//! When the frames of a stream come.

use crate::scenario::ArrivalsEntry;
use forebay_chip::{Pacer, Picos, Place};
use forebay_packet::SplitMix64;
use std::sync::Arc;

/// Picoseconds in a microsecond.
pub(crate) const MICROSECOND: f64 = 1e6;

/// A stream of frames into a port.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    /// The traffic entry, and which of its ports.
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) frames: Arc<Vec<Vec<u8>>>,
    pub(crate) arrivals: ArrivalsEntry,
    /// Times and rates in bits a second, the first at its start; the last rate is 0.
    pub(crate) rates: Vec<(Picos, u64)>,
    pub(crate) line_bits_per_second: u64,
    /// For frames of a capture: the distance of each to the next, in mean distances. Empty for other streams.
    pub(crate) gaps: Arc<Vec<f64>>,
    /// Bytes of the payload of each of its messages, when all are alike.
    pub(crate) payload_bytes: Option<usize>,
}

/// A stream at some time of its simulation.
pub(crate) struct Source<'a> {
    stream: &'a Stream,
    wire_bytes: Box<dyn Fn(u32) -> u64 + 'a>,
    random: SplitMix64,
    /// The present step of the rates, and what paces them.
    step: usize,
    pacer: Pacer,
    line: Pacer,
    /// When the next frame would begin if the line were free.
    due: Picos,
    line_free: Picos,
    sent: u64,
    left_in_burst: u32,
    burst_gap: Picos,
    /// What is left of the present time without pauses, in picoseconds.
    left_of_on: f64,
    /// Bits that a frame takes on the line, mean of all frames.
    mean_bits: u64,
    /// How much later than its rates say it begins, as a share of the first interval.
    phase: f64,
}

impl<'a> Source<'a> {
    /// `scale` multiplies all rates.
    pub(crate) fn new(stream: &'a Stream, scale: f64, seed: u64, wire_bytes: impl Fn(u32) -> u64 + 'a) -> Source<'a> {
        let mut source = Source {
            stream,
            wire_bytes: Box::new(wire_bytes),
            random: SplitMix64::new(seed),
            step: 0,
            pacer: Pacer::new(0),
            line: Pacer::new(stream.line_bits_per_second),
            due: stream.rates[0].0,
            line_free: 0,
            sent: 0,
            left_in_burst: 0,
            burst_gap: 0,
            left_of_on: 0.0,
            mean_bits: 0,
            phase: 0.0,
        };
        let bits = stream
            .frames
            .iter()
            .map(|frame| 8 * (source.wire_bytes)(frame.len() as u32));
        source.mean_bits = bits.sum::<u64>() / stream.frames.len().max(1) as u64;
        source.pacer = source.pacer_of(0, scale);
        source
    }

    /// The same stream with a first frame within an interval, not at once: streams of equal distances are not in step
    /// then.
    pub(crate) fn with_own_phase(mut self, scale: f64) -> Source<'a> {
        if matches!(
            self.stream.arrivals,
            ArrivalsEntry::Constant | ArrivalsEntry::Bursts { .. }
        ) {
            self.phase = (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            self.due = self.begin(0, scale);
        }
        self
    }

    /// When the first frame of a step of the rates is due: within the step.
    fn begin(&self, step: usize, scale: f64) -> Picos {
        let (begins, rate) = self.stream.rates[step];
        let ends = self.stream.rates.get(step + 1).map_or(begins, |(ends, _)| *ends);
        if rate == 0 || self.phase == 0.0 {
            return begins;
        }
        let frames = match self.stream.arrivals {
            ArrivalsEntry::Bursts { frames } => f64::from(frames),
            _ => 1.0,
        };
        let interval = frames * self.mean_bits as f64 * 1e12 / (rate as f64 * scale);
        begins + ((self.phase * interval) as Picos).min((ends - begins).saturating_sub(1))
    }

    fn bits_per_second(&self, step: usize, scale: f64) -> u64 {
        (self.stream.rates[step].1 as f64 * scale) as u64
    }

    fn pacer_of(&self, step: usize, scale: f64) -> Pacer {
        Pacer::new(self.bits_per_second(step, scale))
    }

    /// What is left of the distance to the next frame when the next step begins: at twice the rate half of it.
    fn left_of_gap(&self, begins: Picos, rate: u64) -> Picos {
        let before = self.stream.rates[self.step].1;
        let left = self.due - begins;
        match (before, rate) {
            // Behind a pause the first frame has been set already.
            (0, _) => left,
            (_, 0) => 0,
            _ => (u128::from(left) * u128::from(before) / u128::from(rate)) as Picos,
        }
    }

    /// When the last byte of the next frame comes, and the frame; none when the stream has ended.
    pub(crate) fn next(&mut self, scale: f64) -> Option<(Picos, &'a [u8])> {
        while let Some(&(begins, rate)) = self.stream.rates.get(self.step + 1) {
            if self.due < begins {
                break;
            }
            self.due = begins + self.left_of_gap(begins, rate);
            self.step += 1;
            self.pacer = self.pacer_of(self.step, scale);
        }
        if self.bits_per_second(self.step, scale) == 0 {
            return self.skip_pause(scale);
        }
        let frame = &self.stream.frames[self.sent as usize % self.stream.frames.len()];
        self.sent += 1;
        let bits = 8 * (self.wire_bytes)(frame.len() as u32);
        let begins = (self.due + self.jitter(bits)).max(self.line_free);
        self.line_free = begins + self.line.take(bits);
        self.due += self.gap(bits);
        Some((self.line_free, frame))
    }

    /// To the next step with a rate, if there is one.
    fn skip_pause(&mut self, scale: f64) -> Option<(Picos, &'a [u8])> {
        self.stream.rates.get(self.step + 1)?;
        self.due = self.begin(self.step + 1, scale);
        self.next(scale)
    }

    /// How much later a frame begins than the stream's rate says: up to twice the time that it takes on the line.
    fn jitter(&mut self, bits: u64) -> Picos {
        if !matches!(self.stream.arrivals, ArrivalsEntry::Jittered) {
            return 0;
        }
        let frame = u128::from(bits) * 1_000_000_000_000 / u128::from(self.stream.line_bits_per_second.max(1));
        ((2 * frame * u128::from(self.random.next_u64())) >> 64) as Picos
    }

    /// From the beginning of a frame to that of the next.
    fn gap(&mut self, bits: u64) -> Picos {
        let mean = self.pacer.take(bits);
        match self.stream.arrivals {
            ArrivalsEntry::Constant | ArrivalsEntry::Jittered => mean,
            ArrivalsEntry::Poisson => (mean as f64 * self.random.exponential()) as Picos,
            ArrivalsEntry::Bursts { frames } => {
                self.burst_gap += mean;
                self.left_in_burst = self.left_in_burst.checked_sub(1).unwrap_or(frames.max(1) - 1);
                if self.left_in_burst > 0 {
                    return 0;
                }
                std::mem::take(&mut self.burst_gap)
            }
            ArrivalsEntry::OnOff { on_us } => self.gap_of_on_off(bits, mean, on_us * MICROSECOND),
            ArrivalsEntry::Capture => {
                let gaps = &self.stream.gaps;
                let place = (self.sent as usize + gaps.len() - 1) % gaps.len();
                let mean = self.mean_bits as f64 / bits as f64 * mean as f64;
                (mean * gaps[place]) as Picos
            }
        }
    }

    /// The line is taken for times of a mean of `on`, and free in between: as long as the rate asks for.
    fn gap_of_on_off(&mut self, bits: u64, mean: Picos, on: f64) -> Picos {
        let frame = bits as f64 * 1e12 / self.stream.line_bits_per_second.max(1) as f64;
        let off = on * (mean as f64 / frame - 1.0).max(0.0);
        self.left_of_on -= frame;
        let mut gap = frame;
        while self.left_of_on <= 0.0 {
            gap += off * self.random.exponential();
            self.left_of_on += on * self.random.exponential();
        }
        gap as Picos
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(arrivals: ArrivalsEntry, rates: Vec<(Picos, u64)>) -> Stream {
        Stream {
            name: String::new(),
            place: Place { chip: 0, port: 0 },
            frames: Arc::new(vec![vec![0; 101]]),
            arrivals,
            rates,
            line_bits_per_second: 100_000_000_000,
            gaps: Arc::new(vec![0.5, 1.5]),
            payload_bytes: None,
        }
    }

    fn times(stream: &Stream) -> Vec<Picos> {
        let mut source = Source::new(stream, 1.0, 1, |bytes| u64::from(bytes) + 24);
        std::iter::from_fn(|| source.next(1.0).map(|(time, _)| time)).collect()
    }

    #[test]
    fn a_constant_rate_is_exact() {
        let stream = stream(ArrivalsEntry::Constant, vec![(0, 10_000_000_000), (1_000_000, 0)]);
        let times = times(&stream);
        assert_eq!(times.len(), 10);
        assert_eq!(
            times[..2],
            [10_000, 110_000],
            "1000 bits take 10 ns on the wire, and come each 100 ns"
        );
    }

    #[test]
    fn streams_of_equal_distances_have_phases_of_their_own() {
        let stream = stream(ArrivalsEntry::Constant, vec![(0, 10_000_000_000), (1_000_000, 0)]);
        let times = |seed| -> Vec<Picos> {
            let source = Source::new(&stream, 1.0, seed, |bytes| u64::from(bytes) + 24);
            let mut source = source.with_own_phase(1.0);
            std::iter::from_fn(|| source.next(1.0).map(|(time, _)| time)).collect()
        };
        let (first, second) = (times(1), times(2));
        assert!(first[0] != second[0] && first[0] < 110_000 && second[0] < 110_000);
        assert!(first.windows(2).all(|pair| pair[1] - pair[0] == 100_000), "{first:?}");
    }

    #[test]
    fn jitter_keeps_the_rate_and_the_order() {
        let rates = vec![(0, 10_000_000_000), (1_000_000, 0)];
        let times = times(&stream(ArrivalsEntry::Jittered, rates));
        assert_eq!(times.len(), 10);
        for (frame, time) in (0..).zip(&times) {
            let exact = 10_000 + 100_000 * frame;
            assert!((exact..exact + 20_000).contains(time), "{times:?}");
        }
    }

    #[test]
    fn frames_of_a_burst_follow_one_another_on_the_line() {
        let stream = stream(
            ArrivalsEntry::Bursts { frames: 4 },
            vec![(0, 10_000_000_000), (1_000_000, 0)],
        );
        let times = times(&stream);
        assert_eq!(times[..5], [10_000, 20_000, 30_000, 40_000, 410_000]);
    }

    #[test]
    fn on_and_off_times_give_the_rate_on_average() {
        let rates = vec![(0, 25_000_000_000), (10_000_000_000, 0)];
        let times = times(&stream(ArrivalsEntry::OnOff { on_us: 1.0 }, rates));
        let back_to_back = times.windows(2).filter(|pair| pair[1] - pair[0] < 10_500).count();
        let mean = 10_000_000_000 / times.len() as u64;
        assert!((39_000..41_000).contains(&mean), "{mean}");
        let share = back_to_back as f64 / times.len() as f64;
        assert!((0.98..1.0).contains(&share), "a hundred frames in a row: {share}");
    }

    #[test]
    fn frames_of_a_capture_keep_the_proportions_of_their_distances() {
        let rates = vec![(0, 10_000_000_000), (1_000_000, 0)];
        let times = times(&stream(ArrivalsEntry::Capture, rates));
        assert_eq!(times[..4], [10_000, 60_000, 210_000, 260_000]);
    }

    #[test]
    fn a_step_of_the_rate_does_not_wait_for_the_next_frame() {
        // 1000 bits each 100 ns, then each 10 ns: of the distance from 100 to 200 ns half is left at 150.
        let steps = vec![(0, 10_000_000_000), (150_000, 100_000_000_000), (1_000_000, 0)];
        let stepped = times(&stream(ArrivalsEntry::Constant, steps));
        assert_eq!(stepped[..4], [10_000, 110_000, 165_000, 175_000]);
        // The next frame would be due after a millisecond.
        let pauses = vec![(0, 1_000_000), (150_000, 0), (300_000, 10_000_000_000), (450_000, 0)];
        let paused = times(&stream(ArrivalsEntry::Constant, pauses));
        assert_eq!(paused, [10_000, 310_000, 410_000]);
    }

    #[test]
    fn a_rate_that_is_scaled_to_nothing_sends_nothing() {
        let stream = stream(ArrivalsEntry::Poisson, vec![(0, 1_000), (1_000_000, 0)]);
        for scale in [0.0, 1e-4] {
            let mut source = Source::new(&stream, scale, 1, |bytes| u64::from(bytes) + 24);
            assert!(source.next(scale).is_none());
        }
    }

    #[test]
    fn random_arrivals_have_the_mean_rate_and_steps_change_it() {
        let rates = vec![(0, 10_000_000_000), (100_000_000, 50_000_000_000), (200_000_000, 0)];
        let times = times(&stream(ArrivalsEntry::Poisson, rates));
        let first = times.iter().filter(|time| **time < 100_000_000).count();
        assert!((900..1_100).contains(&first), "{first}");
        assert!((5_700..6_300).contains(&times.len()), "{}", times.len());
    }
}
