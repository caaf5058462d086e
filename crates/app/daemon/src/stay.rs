//! How long packets are inside a switch: from the poll that receives a burst to its end, when what leaves at once has been given to
//! its ports.
//!
//! A worker reads the clock once a poll, so the end of a poll is the beginning of the next: measuring costs no further system call.
//! What waits in a queue for a busy port leaves in a later poll; queues have counters of their own. Times are counted in buckets,
//! four for each power of two, so that a quantile is at most a quarter too high.

/// Buckets for times of up to 2^40 ns, 18 minutes.
const BUCKETS: usize = 160;

/// How many packets stayed how long. See the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stay {
    packets: [u64; BUCKETS],
}

impl Default for Stay {
    fn default() -> Stay {
        Stay { packets: [0; BUCKETS] }
    }
}

impl Stay {
    /// Counts packets of one poll.
    pub(crate) fn record(&mut self, duration_ns: u64, packets: u64) {
        self.packets[bucket(duration_ns)] += packets;
    }

    /// Adds what another worker has counted.
    pub(crate) fn merge(&mut self, other: &Stay) {
        for (own, other) in self.packets.iter_mut().zip(other.packets) {
            *own += other;
        }
    }

    /// What has been counted since an earlier report.
    pub fn since(&self, earlier: &Stay) -> Stay {
        let mut packets = self.packets;
        for (own, earlier) in packets.iter_mut().zip(earlier.packets) {
            *own = own.saturating_sub(earlier);
        }
        Stay { packets }
    }

    /// Packets that were counted.
    pub fn packets(&self) -> u64 {
        self.packets.iter().sum()
    }

    /// The time in nanoseconds that this share of packets (0 to 1) did not exceed; none without packets.
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let all = self.packets();
        let wanted = ((share * all as f64).ceil() as u64).clamp(1, all.max(1));
        let mut seen = 0;
        let found = self.packets.iter().position(|packets| {
            seen += packets;
            seen >= wanted
        });
        found.map(highest_ns)
    }
}

/// The bucket of a time: times below 4 ns have their own, longer ones share one with those of the same highest three bits.
fn bucket(duration_ns: u64) -> usize {
    if duration_ns < 4 {
        return duration_ns as usize;
    }
    let exponent = duration_ns.ilog2();
    let quarter = duration_ns >> (exponent - 2) & 3;
    (4 * (exponent as usize - 1) + quarter as usize).min(BUCKETS - 1)
}

/// The longest time of a bucket.
fn highest_ns(bucket: usize) -> u64 {
    if bucket < 4 {
        return bucket as u64;
    }
    let (exponent, quarter) = (bucket / 4 + 1, bucket as u64 % 4);
    ((5 + quarter) << (exponent - 2)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_a_quarter_wide_at_most() {
        for duration in (0..5_000).chain([123_456, 9_999_999, 1 << 39]) {
            let highest = highest_ns(bucket(duration));
            assert!(
                (duration..=duration + duration / 4).contains(&highest),
                "{duration}: {highest}"
            );
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_over_packets() {
        let mut stay = Stay::default();
        assert_eq!(stay.quantile_ns(0.5), None);
        stay.record(1_000, 99);
        stay.record(1_000_000, 1);
        let (half, most) = (stay.quantile_ns(0.5).unwrap(), stay.quantile_ns(1.0).unwrap());
        assert!((1_000..1_250).contains(&half), "{half}");
        assert_eq!(stay.quantile_ns(0.99), Some(half));
        assert!((1_000_000..1_250_000).contains(&most), "{most}");
        let later = {
            let mut later = stay.clone();
            later.record(2_000, 10);
            later.since(&stay)
        };
        assert_eq!(later.packets(), 10);
    }
}
