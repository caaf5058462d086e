//! When frames are to be sent: intended times, independent of when they are.
//!
//! Arrivals are a process of unit rate on an axis of *work*: constant, Poisson, or bursts. A [`Shape`], the rate over
//! time, maps work to time: frame n is due when the integral of the rate reaches its work. For Poisson arrivals this is
//! the exact inhomogeneous process. Work is counted in frames when the rate is frames a second, and in bits on the wire
//! when it is bits a second.

use forebay_packet::SplitMix64;

/// How frames of a stream follow one another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// At equal distances.
    Constant,
    /// With exponential distances.
    Poisson,
    /// This number of frames at once, at equal distances.
    Bursts(u32),
}

/// A stretch of time in which the rate changes linearly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// How long it is, in seconds.
    pub seconds: f64,
    /// The rate at its beginning, as a factor of the stream's rate.
    pub from: f64,
    /// The factor at its end.
    pub to: f64,
}

impl Segment {
    fn area(&self) -> f64 {
        self.seconds * (self.from + self.to) / 2.0
    }

    /// Seconds after which the area reaches this, which is no more than that of the segment.
    fn time_of(&self, area: f64) -> f64 {
        let slope = (self.to - self.from) / self.seconds;
        if slope.abs() < 1e-12 {
            return if area > 0.0 { area / self.from } else { 0.0 };
        }
        let root = (self.from * self.from + 2.0 * slope * area).max(0.0).sqrt();
        // The form without cancellation: the numerator of the other becomes a difference of near numbers for small
        // slopes.
        if self.from + root > 0.0 {
            (2.0 * area / (self.from + root)).min(self.seconds)
        } else {
            0.0
        }
    }
}

/// Up to this number, the periods of a shape are added one by one, with the same rounding as when each has frames.
const SKIPPED_MIN: f64 = 1000.0;

/// So near to the end of a segment, as a share of all work so far, a frame is due in the next one: with the rounding of
/// sums of many periods, each has as many frames as its area says.
const ROUNDING: f64 = 1e-12;

/// The rate over time: segments one after another, again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape(Vec<Segment>);

impl Shape {
    /// The same rate for ever.
    pub fn flat() -> Shape {
        Shape(vec![Segment {
            seconds: 1.0,
            from: 1.0,
            to: 1.0,
        }])
    }

    /// These segments; none when their lengths are not positive, a factor is negative, or all factors are 0.
    pub fn new(segments: Vec<Segment>) -> Option<Shape> {
        let is_right = |segment: &Segment| {
            segment.seconds > 0.0 && segment.seconds.is_finite() && segment.from >= 0.0 && segment.to >= 0.0
        };
        let area: f64 = segments.iter().map(Segment::area).sum();
        (segments.iter().all(is_right) && area > 0.0 && area.is_finite()).then_some(Shape(segments))
    }

    /// Sent for some time, then silent for some time. The factor is 1 while it is sent.
    pub fn on_off(on_seconds: f64, off_seconds: f64) -> Option<Shape> {
        let level = |seconds, factor| Segment {
            seconds,
            from: factor,
            to: factor,
        };
        Shape::new(vec![level(on_seconds, 1.0), level(off_seconds, 0.0)])
    }

    /// The largest factor.
    pub fn peak(&self) -> f64 {
        let ends = self.0.iter().flat_map(|segment| [segment.from, segment.to]);
        ends.fold(0.0, f64::max)
    }

    /// The mean factor.
    pub fn mean(&self) -> f64 {
        self.area() / self.seconds()
    }

    /// How long it takes until it begins again.
    fn seconds(&self) -> f64 {
        self.0.iter().map(|segment| segment.seconds).sum()
    }

    /// The integral of the factor from the beginning to a time in seconds.
    pub fn work_until(&self, seconds: f64) -> f64 {
        let period = self.seconds();
        let mut work = (seconds / period).floor() * self.area();
        let mut left = seconds.rem_euclid(period);
        for segment in &self.0 {
            let part = left.clamp(0.0, segment.seconds);
            let end = segment.from + (segment.to - segment.from) * part / segment.seconds;
            work += part * (segment.from + end) / 2.0;
            left -= part;
        }
        work
    }

    fn area(&self) -> f64 {
        self.0.iter().map(Segment::area).sum()
    }
}

/// The intended times of a stream's frames.
#[derive(Clone, Debug)]
pub struct Schedule {
    arrivals: Arrivals,
    shape: Shape,
    /// Work a second at factor 1.
    rate: f64,
    start_ns: f64,
    random: SplitMix64,
    /// The position in the shape: the segment, and the time and work at which it begins.
    segment: usize,
    segment_s: f64,
    segment_work: f64,
    /// Work until the frame that is due next.
    work: f64,
    in_burst: u32,
    burst_work: f64,
}

impl Schedule {
    /// A schedule that begins at `start_ns`. The first frame is due there, or, with Poisson arrivals, after a random
    /// time.
    pub fn new(arrivals: Arrivals, shape: &Shape, rate: f64, start_ns: u64, seed: u64) -> Schedule {
        let mut schedule = Schedule {
            arrivals,
            shape: shape.clone(),
            rate,
            start_ns: start_ns as f64,
            random: SplitMix64::new(seed),
            segment: 0,
            segment_s: 0.0,
            segment_work: 0.0,
            work: 0.0,
            in_burst: 0,
            burst_work: 0.0,
        };
        if arrivals == Arrivals::Poisson {
            schedule.work = schedule.random.exponential();
        }
        schedule
    }

    /// Begins within a first interval of its own, which the seed decides: streams of equal distances are not in step.
    /// `mean_work` is that of a frame. Poisson arrivals are not in step anyway.
    #[must_use]
    pub fn with_own_phase(mut self, mean_work: f64) -> Schedule {
        let frames = match self.arrivals {
            Arrivals::Constant => 1.0,
            Arrivals::Bursts(frames) => f64::from(frames),
            Arrivals::Poisson => return self,
        };
        self.work = self.random.uniform() * frames * mean_work;
        self
    }

    /// When the frame that is due next should be sent, in nanoseconds.
    #[inline]
    pub fn due_ns(&mut self) -> u64 {
        loop {
            let segment = self.shape.0[self.segment];
            let work = self.work / self.rate;
            let within = work - self.segment_work;
            if within < segment.area() - work * ROUNDING {
                return (self.start_ns + (self.segment_s + segment.time_of(within)) * 1e9).round() as u64;
            }
            self.segment_work += segment.area();
            self.segment_s += segment.seconds;
            self.segment = (self.segment + 1) % self.shape.0.len();
            self.skip_periods();
        }
    }

    /// Goes on by whole periods of the shape, of which very many may lie between two frames.
    fn skip_periods(&mut self) {
        let left = self.work / self.rate - self.segment_work;
        let periods = (left / self.shape.area()).floor();
        if periods > SKIPPED_MIN {
            self.segment_s += periods * self.shape.seconds();
            // Work is counted anew from here on: a sum of very many periods would not change by one more.
            self.work = (left % self.shape.area()) * self.rate;
            self.segment_work = 0.0;
        }
    }

    /// Goes on to the next frame, after one with this much work.
    #[inline]
    pub fn advance(&mut self, work: f64) {
        match self.arrivals {
            Arrivals::Constant => self.work += work,
            Arrivals::Poisson => self.work += work * self.random.exponential(),
            Arrivals::Bursts(frames) => {
                self.burst_work += work;
                self.in_burst += 1;
                if self.in_burst >= frames {
                    self.work += std::mem::take(&mut self.burst_work);
                    self.in_burst = 0;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(mut schedule: Schedule, count: usize) -> Vec<u64> {
        let mut next = || {
            let due = schedule.due_ns();
            schedule.advance(1.0);
            due
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn constant_times_are_exact_however_long() {
        let schedule = Schedule::new(Arrivals::Constant, &Shape::flat(), 3e6, 10, 1);
        let times = times(schedule, 30_000_001);
        assert_eq!(times[..4], [10, 343, 677, 1010]);
        assert_eq!(times[30_000_000], 10_000_000_010, "after ten seconds");
    }

    #[test]
    fn bursts_keep_the_mean_rate() {
        let schedule = Schedule::new(Arrivals::Bursts(4), &Shape::flat(), 1e9, 0, 1);
        assert_eq!(times(schedule, 9), [0, 0, 0, 0, 4, 4, 4, 4, 8]);
    }

    #[test]
    fn on_and_off() {
        let shape = Shape::on_off(2e-9, 8e-9).expect("positive times");
        assert!((shape.mean() - 0.2).abs() < 1e-9);
        let schedule = Schedule::new(Arrivals::Constant, &shape, 1e9, 0, 1);
        let found = times(schedule, 6);
        assert_eq!(found, [0, 1, 10, 11, 20, 21]);
    }

    #[test]
    fn each_period_has_as_many_frames_as_its_rate_says() {
        for (pps, frames, off_s) in [(1000.0, 10u32, 0.1), (148_000.0, 64, 0.001), (333_333.0, 7, 0.0005)] {
            let on_s = f64::from(frames) / pps;
            let shape = Shape::on_off(on_s, off_s).expect("positive times");
            let schedule = Schedule::new(Arrivals::Constant, &shape, pps, 0, 1);
            let found = times(schedule, 1000 * frames as usize);
            for (period, burst) in found.chunks(frames as usize).enumerate() {
                let begin_ns = period as f64 * (on_s + off_s) * 1e9;
                assert!((burst[0] as f64 - begin_ns).abs() <= 1.0, "{pps}: {period}");
            }
        }
    }

    #[test]
    fn a_shape_that_begins_with_silence_sends_nothing_then() {
        let level = |factor| Segment {
            seconds: 1e-6,
            from: factor,
            to: factor,
        };
        let shape = Shape::new(vec![level(0.0), level(1.0)]).expect("a shape");
        let found = times(Schedule::new(Arrivals::Constant, &shape, 2e6, 0, 1), 3);
        assert_eq!(found, [1000, 1500, 3000]);
    }

    #[test]
    fn a_ramp_from_zero_has_the_area_of_its_triangle() {
        let ramp = Segment {
            seconds: 1.0,
            from: 0.0,
            to: 2.0,
        };
        let shape = Shape::new(vec![ramp]).expect("a ramp");
        let found = times(Schedule::new(Arrivals::Constant, &shape, 1000.0, 0, 1), 1001);
        assert_eq!(found[0], 0);
        assert_eq!(
            found[250] / 1000,
            500_000,
            "a quarter of the frames in half of the time"
        );
        assert_eq!(found[1000], 1_000_000_000);
    }

    #[test]
    fn poisson_distances_are_exponential() {
        let mut found = times(Schedule::new(Arrivals::Poisson, &Shape::flat(), 1e6, 0, 3), 20_001);
        assert_eq!(
            found,
            times(Schedule::new(Arrivals::Poisson, &Shape::flat(), 1e6, 0, 3), 20_001),
            "the seed decides"
        );
        let mut distances: Vec<u64> = found.windows(2).map(|pair| pair[1] - pair[0]).collect();
        distances.sort_unstable();
        let mean = found.pop().expect("some") as f64 / 20_000.0;
        assert!((mean - 1000.0).abs() < 20.0, "{mean}");
        let deviation = distances.iter().enumerate().map(|(rank, distance)| {
            let expected = 1.0 - (-(*distance as f64) / 1000.0).exp();
            (expected - rank as f64 / 20_000.0).abs()
        });
        assert!(deviation.fold(0.0, f64::max) < 0.0138, "Kolmogorov-Smirnov at 0.1 %");
    }

    #[test]
    fn streams_of_equal_distances_have_phases_of_their_own() {
        let schedule = |seed| Schedule::new(Arrivals::Constant, &Shape::flat(), 1e6, 0, seed).with_own_phase(1.0);
        let [first, second] = [1, 2].map(|seed| times(schedule(seed), 100));
        assert!(first[0] < 1000 && second[0] < 1000 && first[0] != second[0]);
        assert!(first.windows(2).all(|pair| pair[1] - pair[0] == 1000), "{first:?}");
        assert_eq!(first, times(schedule(1), 100), "the seed decides");
        let bursts = Schedule::new(Arrivals::Bursts(4), &Shape::flat(), 1e6, 0, 3).with_own_phase(1.0);
        let found = times(bursts, 8);
        assert!(
            found[0] < 4000 && found[3] == found[0] && found[4] == found[0] + 4000,
            "{found:?}"
        );
    }

    /// A frame in years, with a shape that changes each nanosecond: its time is found at once.
    #[test]
    fn very_slow_streams_take_no_longer() {
        let shape = Shape::on_off(1e-9, 3e-9).expect("positive times");
        for rate in [1e-10, 1e-300] {
            let found = times(Schedule::new(Arrivals::Constant, &shape, rate, 0, 1), 2);
            let expected = (4e9 / rate).min(u64::MAX as f64);
            assert!((found[1] as f64 / expected - 1.0).abs() < 1e-6, "{found:?}");
        }
    }

    #[test]
    fn shapes_that_send_nothing_are_refused() {
        assert_eq!(Shape::on_off(0.0, 1.0), None);
        assert_eq!(Shape::new(Vec::new()), None);
        let negative = Segment {
            seconds: 1.0,
            from: -1.0,
            to: 3.0,
        };
        assert_eq!(Shape::new(vec![negative]), None);
    }
}
