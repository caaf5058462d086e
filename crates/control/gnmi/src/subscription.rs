//! Which values of a subscription are due (gNMI specification §3.5.1.5): no network, and the time is an argument.

use super::leaves::{Leaf, Scalar, steps};
use forebay_protocol::gnmi::{Path, PathElem, Subscription as Wanted, SubscriptionMode};
use std::collections::HashMap;
use tonic::Status;

/// The shortest time between two samples, which is also meant by 0 (§3.5.1.5.2).
const MIN_INTERVAL_NS: u64 = 50_000_000;

/// How often counters are sampled when the client leaves it to the switch.
const TARGET_INTERVAL_NS: u64 = 1_000_000_000;

/// A path of a subscription that streams, and what was sent of it.
#[derive(Debug)]
pub(crate) struct Subscription {
    steps: Vec<PathElem>,
    mode: SubscriptionMode,
    interval_ns: u64,
    heartbeat_ns: Option<u64>,
    suppresses: bool,
    /// When the next sample is due.
    sample_ns: u64,
    /// What was sent of each value, and when.
    sent: HashMap<(String, &'static [&'static str]), (Scalar, u64)>,
}

impl Subscription {
    /// A subscription that begins now. What is there then counts as sent: it is sent before all else, or not wanted.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a mode that there is not, or samples that are wanted more often than they can be had.
    pub(crate) fn new(
        prefix: Option<&Path>,
        wanted: &Wanted,
        leaves: &[Leaf],
        now_ns: u64,
    ) -> Result<Subscription, Status> {
        let mode = SubscriptionMode::try_from(wanted.mode)
            .map_err(|_| Status::invalid_argument(format!("there is no mode {} of subscriptions", wanted.mode)))?;
        let interval_ns = match (mode, wanted.sample_interval) {
            (SubscriptionMode::TargetDefined, 0) => TARGET_INTERVAL_NS,
            (_, 0) => MIN_INTERVAL_NS,
            (_, short @ ..MIN_INTERVAL_NS) => {
                return Err(Status::invalid_argument(format!(
                    "a sample every {short} ns is too often: the shortest interval is {MIN_INTERVAL_NS} ns"
                )));
            }
            (_, interval) => interval,
        };
        let mut subscription = Subscription {
            steps: steps(prefix, wanted.path.as_ref())?,
            mode,
            interval_ns,
            heartbeat_ns: Some(wanted.heartbeat_interval).filter(|interval| *interval > 0),
            suppresses: wanted.suppress_redundant,
            sample_ns: now_ns.saturating_add(interval_ns),
            sent: HashMap::new(),
        };
        for leaf in leaves {
            subscription.note(leaf, now_ns);
        }
        Ok(subscription)
    }

    /// When the next sample is due.
    pub(crate) fn sample_ns(&self) -> u64 {
        self.sample_ns
    }

    /// The values that are to be sent now.
    pub(crate) fn due(&mut self, leaves: &[Leaf], now_ns: u64) -> Vec<Leaf> {
        let is_sample = now_ns >= self.sample_ns;
        if is_sample {
            // Samples keep to their distances; those that were missed are not made up for.
            let missed = (now_ns - self.sample_ns) / self.interval_ns;
            self.sample_ns = self
                .sample_ns
                .saturating_add((missed + 1).saturating_mul(self.interval_ns));
        }
        let meant = leaves.iter().filter(|leaf| leaf.is_meant_by(&self.steps));
        let due: Vec<Leaf> = meant
            .filter(|leaf| self.is_due(leaf, is_sample, now_ns))
            .cloned()
            .collect();
        for leaf in &due {
            self.note(leaf, now_ns);
        }
        due
    }

    fn is_due(&self, leaf: &Leaf, is_sample: bool, now_ns: u64) -> bool {
        let sent = self.sent.get(&(leaf.interface.clone(), leaf.names));
        let is_changed = sent.is_none_or(|(value, _)| *value != leaf.value);
        let is_old = |(_, sent_ns): &(Scalar, u64)| {
            let heartbeat = self.heartbeat_ns;
            heartbeat.is_some_and(|interval| now_ns >= sent_ns.saturating_add(interval))
        };
        if sent.is_some_and(is_old) {
            return true;
        }
        match self.mode {
            SubscriptionMode::OnChange => is_changed,
            SubscriptionMode::Sample => is_sample && (is_changed || !self.suppresses),
            SubscriptionMode::TargetDefined => is_changed && (is_sample || !leaf.is_counter()),
        }
    }

    fn note(&mut self, leaf: &Leaf, now_ns: u64) {
        let place = (leaf.interface.clone(), leaf.names);
        self.sent.insert(place, (leaf.value.clone(), now_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::super::leaves::tests::{leaf, path};
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn leaves(octets: u64) -> Vec<Leaf> {
        vec![
            leaf(&["state", "oper-status"], Scalar::Text("UP".to_string())),
            leaf(&["state", "counters", "in-octets"], Scalar::Long(octets)),
        ]
    }

    fn subscribed(mode: SubscriptionMode, change: impl FnOnce(&mut Wanted)) -> Subscription {
        let mut wanted = Wanted {
            path: Some(path("interfaces/interface[name=*]/state")),
            mode: mode.into(),
            ..Wanted::default()
        };
        change(&mut wanted);
        Subscription::new(None, &wanted, &leaves(0), 0).expect("a right subscription")
    }

    #[test]
    fn on_change_tells_changes_alone() {
        let mut subscription = subscribed(SubscriptionMode::OnChange, |_| {});
        assert_eq!(subscription.due(&leaves(0), 1), []);
        assert_eq!(subscription.due(&leaves(5), 2), leaves(5)[1..]);
        assert_eq!(subscription.due(&leaves(5), 9 * SECOND), []);
    }

    #[test]
    fn heartbeats_come_without_changes() {
        let mut subscription = subscribed(SubscriptionMode::OnChange, |wanted| wanted.heartbeat_interval = SECOND);
        assert_eq!(subscription.due(&leaves(0), SECOND - 1), []);
        assert_eq!(subscription.due(&leaves(0), SECOND), leaves(0));
        assert_eq!(subscription.due(&leaves(0), SECOND + 1), []);
    }

    #[test]
    fn samples_come_at_their_times() {
        let mut subscription = subscribed(SubscriptionMode::Sample, |wanted| wanted.sample_interval = 2 * SECOND);
        assert_eq!(subscription.due(&leaves(5), SECOND), []);
        assert_eq!(subscription.due(&leaves(5), 2 * SECOND), leaves(5));
        assert_eq!(subscription.due(&leaves(5), 3 * SECOND), []);
        assert_eq!(subscription.due(&leaves(5), 4 * SECOND), leaves(5));
    }

    /// A look that comes late does not move the samples after it.
    #[test]
    fn samples_keep_their_distances() {
        let mut subscription = subscribed(SubscriptionMode::Sample, |wanted| wanted.sample_interval = SECOND);
        assert_eq!(subscription.due(&leaves(5), SECOND + 9).len(), 2);
        assert_eq!(subscription.sample_ns(), 2 * SECOND);
        assert_eq!(subscription.due(&leaves(5), 4 * SECOND + 9).len(), 2);
        assert_eq!(subscription.sample_ns(), 5 * SECOND);
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        let code = |interval: u64, mode: i32| {
            let wanted = Wanted {
                mode,
                sample_interval: interval,
                ..Wanted::default()
            };
            Subscription::new(None, &wanted, &[], 0)
                .map(|_| ())
                .map_err(|status| status.code())
        };
        let sample = SubscriptionMode::Sample.into();
        assert_eq!(code(MIN_INTERVAL_NS - 1, sample), Err(tonic::Code::InvalidArgument));
        assert_eq!(code(0, 9), Err(tonic::Code::InvalidArgument));
        assert_eq!(code(0, sample), Ok(()));
    }

    #[test]
    fn redundant_samples_are_suppressed() {
        let mut subscription = subscribed(SubscriptionMode::Sample, |wanted| {
            wanted.sample_interval = SECOND;
            wanted.suppress_redundant = true;
        });
        assert_eq!(subscription.due(&leaves(5), SECOND), leaves(5)[1..]);
        assert_eq!(subscription.due(&leaves(5), 2 * SECOND), []);
    }

    #[test]
    fn the_switch_chooses_samples_for_counters() {
        let mut subscription = subscribed(SubscriptionMode::TargetDefined, |_| {});
        assert_eq!(subscription.due(&leaves(5), 1), []);
        assert_eq!(subscription.due(&leaves(5), SECOND), leaves(5)[1..]);
    }
}
