//! Which values of a subscription are due (gNMI specification §3.5.1.5): no network, and the time is an argument.

use super::leaves::{Leaf, Scalar, steps};
use forebay_protocol::gnmi::{Path, PathElem, Subscription as Wanted, SubscriptionMode};
use std::collections::HashMap;

/// How often values are sampled when the client leaves it to the switch, and the shortest time between two samples.
const DEFAULT_INTERVAL_NS: u64 = 1_000_000_000;
const MIN_INTERVAL_NS: u64 = 50_000_000;

/// A path of a subscription that streams, and what was sent of it.
#[derive(Debug)]
pub(crate) struct Subscription {
    steps: Vec<PathElem>,
    mode: SubscriptionMode,
    interval_ns: u64,
    heartbeat_ns: Option<u64>,
    suppresses: bool,
    sampled_ns: u64,
    /// What was sent of each value, and when.
    sent: HashMap<(String, &'static [&'static str]), (Scalar, u64)>,
}

impl Subscription {
    /// A subscription that begins now. What is there then counts as sent: it is sent before all else, or not wanted.
    pub(crate) fn new(prefix: Option<&Path>, wanted: &Wanted, leaves: &[Leaf], now_ns: u64) -> Subscription {
        let interval_ns = match wanted.sample_interval {
            0 => DEFAULT_INTERVAL_NS,
            interval => interval.max(MIN_INTERVAL_NS),
        };
        let mut subscription = Subscription {
            steps: steps(prefix, wanted.path.as_ref()),
            mode: wanted.mode(),
            interval_ns,
            heartbeat_ns: Some(wanted.heartbeat_interval).filter(|interval| *interval > 0),
            suppresses: wanted.suppress_redundant,
            sampled_ns: now_ns,
            sent: HashMap::new(),
        };
        for leaf in leaves {
            subscription.note(leaf, now_ns);
        }
        subscription
    }

    /// The values that are to be sent now.
    pub(crate) fn due(&mut self, leaves: &[Leaf], now_ns: u64) -> Vec<Leaf> {
        let is_sample = now_ns >= self.sampled_ns.saturating_add(self.interval_ns);
        if is_sample {
            self.sampled_ns = now_ns;
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
    use super::super::leaves::tests::path;
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn leaves(octets: u64) -> Vec<Leaf> {
        let leaf = |names, value| Leaf {
            interface: "eth1".to_string(),
            names,
            value,
        };
        vec![
            leaf(&["state", "oper-status"], Scalar::Text("UP".to_string())),
            leaf(&["state", "counters", "in-octets"], Scalar::Number(octets)),
        ]
    }

    fn subscribed(mode: SubscriptionMode, change: impl FnOnce(&mut Wanted)) -> Subscription {
        let mut wanted = Wanted {
            path: Some(path("interfaces/interface[name=*]/state")),
            mode: mode.into(),
            ..Wanted::default()
        };
        change(&mut wanted);
        Subscription::new(None, &wanted, &leaves(0), 0)
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
