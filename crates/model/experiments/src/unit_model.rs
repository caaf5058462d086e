//! The analytical model of a rendezvous unit (Yoshinaka et al. 2024, section VI), as we read it.
//!
//! One server of 200 Gbps stands for both recirculation ports, shared by headers and payloads by deficit weighted round
//! robin; header, payload and output queues are M/M/1. A payload that comes round `m` times spends as much time as its
//! header, which comes round `n` times:
//!
//! ```text
//! (n + 1)(W_H + W_c) + W_O + W_c = m (W_P + W_c)     Extended: what is simulated
//!      n (W_H + W_c) + W_O + W_c = m (W_P + W_c)     Printed: Equation VI.1
//! ```
//!
//! The header that recirculates n times passes its queue n + 1 times: it waits there before the first pass too. The
//! equation is printed with n; both readings are computed. What tells them apart is the lower end of the feasible
//! range.
//!
//! W are waiting times, W_c = 750 ns the constant part of a pass. When both kinds of packets wait, headers get the
//! share s = ωh/(ωh + p) of the server, when only one does all of it; how often that is follows from the loads
//! themselves (aggregation of variables), a fixed point. The published values at n = 8, r = 70 Gbps, ω = 20 are m =
//! 2.00, feasible from 1.58 to 2.04; n + 1 gives 2.00, 1.58 and 2.04, n gives 1.99, 1.37 and 2.04.

/// What the model is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    /// Header recirculations.
    pub(crate) n: f64,
    /// Gbps of packets into the unit.
    pub(crate) gbps: f64,
    /// Headers served for each payload.
    pub(crate) weight: f64,
    /// Bytes of a packet without framing.
    pub(crate) packet_bytes: f64,
    /// Gbps of each port, and bytes of framing: the chip's.
    pub(crate) port_gbps: f64,
    pub(crate) framing_bytes: f64,
    pub(crate) reading: Reading,
}

/// How Equation VI.1 is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Headers wait n + 1 times.
    Extended,
    /// As it is printed: n times.
    Printed,
}

/// Bytes of a header.
pub(crate) const HEADER_BYTES: f64 = 114.0;

/// The constant part of a pass, in nanoseconds: the paper's, section VI.
const PASS_NS: f64 = 750.0;

/// More than any solution.
const RECIRCULATIONS_MAX: f64 = 100.0;

/// Steps of the fixed point and of the search, more than enough.
const STEPS: usize = 500;

impl Unit {
    /// How often payloads come round; none when no number balances.
    pub(crate) fn payload_recirculations(&self) -> Option<f64> {
        let (mut low, mut high) = (0.01, RECIRCULATIONS_MAX);
        // The more often payloads come round, the longer they wait each time, and the less often they need to.
        for _ in 0..STEPS {
            let middle = (low + high) / 2.0;
            match self.balance(middle) {
                Some(needed) if needed > middle => low = middle,
                _ => high = middle,
            }
        }
        let needed = self.balance(low)?;
        ((needed - low).abs() < 0.01 * low).then_some(low)
    }

    /// The recirculations that payloads need when they make `m` of them; none when a queue grows for ever.
    fn balance(&self, m: f64) -> Option<f64> {
        let payload = self.packet_bytes + self.framing_bytes;
        let header = HEADER_BYTES + self.framing_bytes;
        // Bytes a nanosecond of the output port, and of both recirculation ports.
        let output = self.port_gbps / 8.0;
        let recirculation = 2.0 * output;
        let arrivals = self.gbps / 8.0 / payload;
        let (headers, payloads) = ((self.n + 1.0) * arrivals, m * arrivals);
        let share = self.weight * header / (self.weight * header + payload);
        let (mut header_load, mut payload_load) = (0.5, 0.5);
        let (mut header_rate, mut payload_rate) = (0.0, 0.0);
        for _ in 0..STEPS {
            header_rate = recirculation / header * ((1.0 - payload_load) + payload_load * share);
            payload_rate = recirculation / payload * ((1.0 - header_load) + header_load * (1.0 - share));
            header_load = (headers / header_rate).min(1.0);
            payload_load = (payloads / payload_rate).min(1.0);
        }
        let header_wait = waiting_time(headers, header_rate)?;
        let payload_wait = waiting_time(payloads, payload_rate)?;
        let output_wait = waiting_time(arrivals, output / payload)?;
        let passes = match self.reading {
            Reading::Extended => self.n + 1.0,
            Reading::Printed => self.n,
        };
        let of_header = passes * (header_wait + PASS_NS) + output_wait + PASS_NS;
        Some(of_header / (payload_wait + PASS_NS))
    }
}

/// The mean wait in the queue of M/M/1, without the service; none if the queue grows without end.
fn waiting_time(arrivals: f64, rate: f64) -> Option<f64> {
    (arrivals < rate).then(|| arrivals / rate / (rate - arrivals))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(n: f64, gbps: f64) -> Unit {
        Unit {
            n,
            gbps,
            weight: 20.0,
            packet_bytes: 1500.0,
            port_gbps: 100.0,
            framing_bytes: 24.0,
            reading: Reading::Extended,
        }
    }

    /// The equation as it is printed gives nearly the same solution, but another feasible range.
    #[test]
    fn the_printed_equation() {
        let printed = Unit {
            reading: Reading::Printed,
            ..unit(8.0, 70.0)
        };
        let m = printed.payload_recirculations().unwrap();
        assert_eq!((m * 100.0).round(), 199.0);
        let feasible = |m: &f64| printed.balance(*m).is_some_and(|needed| needed < printed.n);
        let least = (100..300).map(|m| f64::from(m) / 100.0).find(feasible);
        assert_eq!(least, Some(1.37));
    }

    #[test]
    fn the_published_solution() {
        let m = unit(8.0, 70.0).payload_recirculations().unwrap();
        assert_eq!((m * 100.0).round(), 200.0);
    }

    /// From 1.58 to 2.04 payloads need fewer recirculations than headers make, and no queue grows for ever.
    #[test]
    fn the_published_feasible_range() {
        let unit = unit(8.0, 70.0);
        let feasible = |m: &f64| unit.balance(*m).is_some_and(|needed| needed < unit.n);
        let range: Vec<f64> = (100..300).map(|m| f64::from(m) / 100.0).filter(feasible).collect();
        assert_eq!((range.first(), range.last()), (Some(&1.59), Some(&2.04)));
    }

    #[test]
    fn solutions_over_the_rate() {
        for (n, gbps, expected) in [
            (2.0, 50.0, 3.04),
            (4.0, 50.0, 3.24),
            (6.0, 70.0, 2.16),
            (8.0, 50.0, 3.07),
            (10.0, 90.0, 1.22),
        ] {
            let m = unit(n, gbps).payload_recirculations();
            assert!(
                m.is_some_and(|m| (m - expected).abs() < 0.01),
                "n = {n}, r = {gbps}: {m:?} instead of {expected}"
            );
        }
    }
}
