//! Windows of TCP senders: NewReno (RFC 5681, RFC 6582), CUBIC (RFC 9438) and DCTCP (RFC 8257). In segments.

use super::entries::Transport;

/// Segments in the first window (RFC 6928).
const INITIAL: f64 = 10.0;

/// CUBIC's constants (RFC 9438, section 4.6).
const CUBIC_C: f64 = 0.4;
const CUBIC_BETA: f64 = 0.7;

/// DCTCP's weight of the last window (RFC 8257, section 4.2).
const DCTCP_G: f64 = 1.0 / 16.0;

/// A congestion window.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// Segments that may be under way.
    pub(super) size: f64,
    threshold: f64,
    control: Control,
}

#[derive(Clone, Debug)]
enum Control {
    NewReno,
    Cubic(Cubic),
    Dctcp(Dctcp),
}

#[derive(Clone, Debug, Default)]
struct Cubic {
    /// The window before its last reduction, and what it was reduced from then.
    largest: f64,
    prior: f64,
    /// When the present growth began, in seconds; none right after a reduction.
    began: Option<f64>,
    /// Seconds until the window is the largest again.
    k: f64,
    /// What NewReno's window would be.
    estimate: f64,
}

#[derive(Clone, Debug)]
struct Dctcp {
    alpha: f64,
    acknowledged: u64,
    marked: u64,
}

impl Window {
    /// The first one; none for a transport without one.
    pub(super) fn new(transport: Transport) -> Window {
        Window {
            size: INITIAL,
            threshold: f64::INFINITY,
            control: match transport {
                Transport::Cubic => Control::Cubic(Cubic::default()),
                Transport::Dctcp => Control::Dctcp(Dctcp {
                    alpha: 1.0,
                    acknowledged: 0,
                    marked: 0,
                }),
                Transport::NewReno | Transport::Roce => Control::NewReno,
            },
        }
    }

    /// `segments` segments were acknowledged, outside of recovery. Times are in seconds.
    pub(super) fn grow(&mut self, segments: f64, now: f64, round_trip: f64) {
        if self.size < self.threshold {
            // RFC 5681, section 3.1: by a segment at most, also when a hole is filled and much is acknowledged at once.
            self.size += segments.min(1.0);
            return;
        }
        match &mut self.control {
            Control::NewReno | Control::Dctcp(_) => self.size += segments / self.size,
            Control::Cubic(cubic) => self.size = cubic.grown(self.size, segments, now, round_trip),
        }
    }

    /// Something is lost, or RFC 3168 says that it would have been: what the window is from then on.
    pub(super) fn reduce(&mut self) {
        let size = match &mut self.control {
            Control::NewReno | Control::Dctcp(_) => self.size / 2.0,
            Control::Cubic(cubic) => cubic.reduced(self.size),
        };
        self.size = size.max(2.0);
        self.threshold = self.size;
    }

    /// A time-out: one segment, and up to what a reduction leaves by slow start.
    pub(super) fn collapse(&mut self, under_way: f64) {
        self.size = self.size.min(under_way.max(2.0));
        self.reduce();
        self.size = 1.0;
        if let Control::Cubic(cubic) = &mut self.control {
            // RFC 9438, section 4.8: growth begins at the window with which congestion avoidance begins.
            cubic.largest = 0.0;
        }
    }

    /// Limits the window to the segments under way, before a reduction (RFC 5681, section 3.1).
    pub(super) fn limit(&mut self, under_way: f64) {
        // The window may have a part of a segment more, for which there is no room.
        self.size = self.size.min(under_way + 1.0);
    }

    /// The threshold of slow start.
    pub(super) fn threshold(&self) -> f64 {
        self.threshold
    }

    /// A switch has marked something, for the first time in this window of data.
    pub(super) fn react_to_mark(&mut self) {
        match &self.control {
            Control::Dctcp(dctcp) => {
                self.size = (self.size * (1.0 - dctcp.alpha / 2.0)).max(2.0);
                self.threshold = self.size;
            }
            _ => self.reduce(),
        }
    }

    /// Counts what marks say of.
    pub(super) fn count(&mut self, bytes: u64, is_marked: bool) {
        if let Control::Dctcp(dctcp) = &mut self.control {
            dctcp.acknowledged += bytes;
            dctcp.marked += if is_marked { bytes } else { 0 };
        }
    }

    /// A window of data has been acknowledged.
    pub(super) fn end_window_of_data(&mut self) {
        if let Control::Dctcp(dctcp) = &mut self.control
            && dctcp.acknowledged > 0
        {
            let share = dctcp.marked as f64 / dctcp.acknowledged as f64;
            dctcp.alpha = (1.0 - DCTCP_G) * dctcp.alpha + DCTCP_G * share;
            (dctcp.acknowledged, dctcp.marked) = (0, 0);
        }
    }
}

impl Cubic {
    fn grown(&mut self, size: f64, segments: f64, now: f64, round_trip: f64) -> f64 {
        let began = match self.began {
            Some(began) => began,
            None => {
                self.k = ((self.largest - size).max(0.0) / CUBIC_C).cbrt();
                self.largest = self.largest.max(size);
                self.estimate = size;
                *self.began.insert(now)
            }
        };
        let cubic = |time: f64| CUBIC_C * (time - self.k).powi(3) + self.largest;
        let elapsed = now - began;
        let friendly = if self.estimate < self.prior {
            3.0 * (1.0 - CUBIC_BETA) / (1.0 + CUBIC_BETA)
        } else {
            1.0
        };
        let (at_present, wanted) = (cubic(elapsed), cubic(elapsed + round_trip));
        self.estimate += friendly * segments / size;
        if at_present < self.estimate {
            return size.max(self.estimate);
        }
        let target = wanted.clamp(size, 1.5 * size);
        size + segments * (target - size) / size
    }

    fn reduced(&mut self, size: f64) -> f64 {
        // Fast convergence.
        self.largest = if size < self.largest {
            size * (1.0 + CUBIC_BETA) / 2.0
        } else {
            size
        };
        self.prior = size;
        self.began = None;
        size * CUBIC_BETA
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_doubles_and_congestion_avoidance_adds_one() {
        let mut window = Window::new(Transport::NewReno);
        (0..10).for_each(|_| window.grow(1.0, 0.0, 0.0));
        assert_eq!(window.size, 20.0);
        window.reduce();
        assert_eq!((window.size, window.threshold()), (10.0, 10.0));
        (0..10).for_each(|_| window.grow(1.0, 0.0, 0.0));
        assert!((10.9..11.0).contains(&window.size), "{}", window.size);
        window.collapse(10.0);
        assert_eq!((window.size, window.threshold()), (1.0, 5.0));
    }

    #[test]
    fn slow_start_after_a_time_out_does_not_jump_over_its_threshold() {
        let mut window = Window::new(Transport::NewReno);
        window.size = 100.0;
        window.collapse(100.0);
        window.grow(100.0, 0.0, 0.0);
        assert_eq!((window.size, window.threshold()), (2.0, 50.0));
    }

    #[test]
    fn cubic_grows_from_where_slow_start_ends_after_a_time_out() {
        let mut window = Window::new(Transport::Cubic);
        window.size = 1_000.0;
        window.collapse(1_000.0);
        window.size = window.threshold();
        window.grow(1.0, 5.0, 0.0);
        let Control::Cubic(cubic) = &window.control else {
            unreachable!()
        };
        assert_eq!((cubic.k, cubic.largest), (0.0, 700.0));
    }

    #[test]
    fn cubic_is_at_its_largest_window_again_after_k() {
        let mut window = Window::new(Transport::Cubic);
        window.size = 1_000.0;
        window.reduce();
        assert_eq!(window.size, 700.0);
        let k = (300.0f64 / 0.4).cbrt();
        let round_trip = 0.1;
        let mut now = 0.0;
        while now < k {
            let size = window.size;
            window.grow(size, now, round_trip);
            now += round_trip;
        }
        assert!((window.size - 1_000.0).abs() < 20.0, "{}", window.size);
    }

    #[test]
    fn dctcp_reduces_by_half_of_what_is_marked() {
        let mut window = Window::new(Transport::Dctcp);
        window.size = 100.0;
        for _ in 0..200 {
            window.count(90, false);
            window.count(10, true);
            window.end_window_of_data();
        }
        window.react_to_mark();
        assert!((window.size - 95.0).abs() < 0.1, "{}", window.size);
    }
}
