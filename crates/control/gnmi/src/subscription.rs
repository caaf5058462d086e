//! Which values of a subscription are due (gNMI specification §3.5.1.5): no network, and the time is an argument.

use super::leaves::{Leaf, Scalar, steps};
use forebay_protocol::gnmi::{Path, Subscription as Wanted, SubscriptionMode};
use tonic::Status;

/// The shortest time between two samples; a request for 0 means this time (§3.5.1.5.2).
const MIN_INTERVAL_NS: u64 = 50_000_000;

/// How often counters are sampled when the client leaves it to the switch.
const TARGET_INTERVAL_NS: u64 = 1_000_000_000;

/// A path of a subscription that streams, and what was sent of it.
#[derive(Debug)]
pub(crate) struct Subscription {
    rule: Rule,
    interval_ns: u64,
    /// When the next sample is due.
    sample_ns: u64,
    /// The values that the path means. Ports and leaves are those of the start, so they are looked for once.
    meant: Vec<Sent>,
}

/// When a value is sent again.
#[derive(Clone, Copy, Debug)]
struct Rule {
    mode: SubscriptionMode,
    heartbeat_ns: Option<u64>,
    suppresses: bool,
}

/// A value that a subscription means: what was sent of it, and when.
#[derive(Debug)]
struct Sent {
    /// Its place among all leaves.
    index: usize,
    value: Scalar,
    sent_ns: u64,
}

impl Subscription {
    /// A subscription that begins now. What is there then counts as sent: it is sent before all else, or not wanted.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an unknown mode, or for a sample interval that is too short.
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
        let steps = steps(prefix, wanted.path.as_ref())?;
        let meant = leaves.iter().enumerate().filter(|(_, leaf)| leaf.is_meant_by(&steps));
        let sent = |(index, leaf): (usize, &Leaf)| Sent {
            index,
            value: leaf.value.clone(),
            sent_ns: now_ns,
        };
        Ok(Subscription {
            rule: Rule {
                mode,
                heartbeat_ns: Some(wanted.heartbeat_interval).filter(|interval| *interval > 0),
                suppresses: wanted.suppress_redundant,
            },
            interval_ns,
            sample_ns: now_ns.saturating_add(interval_ns),
            meant: meant.map(sent).collect(),
        })
    }

    /// How many values it means.
    pub(crate) fn values(&self) -> usize {
        self.meant.len()
    }

    /// When the next sample is due.
    pub(crate) fn sample_ns(&self) -> u64 {
        self.sample_ns
    }

    /// The values that are to be sent now. The leaves are those of the beginning, in the same order.
    pub(crate) fn due(&mut self, leaves: &[Leaf], now_ns: u64) -> Vec<Leaf> {
        let is_sample = now_ns >= self.sample_ns;
        if is_sample {
            // Samples keep to their distances; those that were missed are not made up for.
            let missed = (now_ns - self.sample_ns) / self.interval_ns;
            self.sample_ns = self
                .sample_ns
                .saturating_add((missed + 1).saturating_mul(self.interval_ns));
        }
        let mut due = Vec::new();
        for sent in &mut self.meant {
            let Some(leaf) = leaves.get(sent.index) else { continue };
            if self.rule.is_due(sent, leaf, is_sample, now_ns) {
                sent.value.clone_from(&leaf.value);
                sent.sent_ns = now_ns;
                due.push(leaf.clone());
            }
        }
        due
    }
}

impl Rule {
    fn is_due(self, sent: &Sent, leaf: &Leaf, is_sample: bool, now_ns: u64) -> bool {
        let is_changed = sent.value != leaf.value;
        let heartbeat = self.heartbeat_ns;
        if heartbeat.is_some_and(|interval| now_ns >= sent.sent_ns.saturating_add(interval)) {
            return true;
        }
        match self.mode {
            SubscriptionMode::OnChange => is_changed,
            SubscriptionMode::Sample => is_sample && (is_changed || !self.suppresses),
            SubscriptionMode::TargetDefined => is_changed && (is_sample || !leaf.is_counter()),
        }
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

    /// A path that means nothing else costs nothing else.
    #[test]
    fn values_of_other_paths_are_not_kept() {
        let subscription = subscribed(SubscriptionMode::OnChange, |wanted| {
            wanted.path = Some(path("interfaces/interface[name=eth1]/state/counters"));
        });
        assert_eq!(subscription.values(), 1);
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
