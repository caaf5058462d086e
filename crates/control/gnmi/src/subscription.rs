//! Which values of a subscription are due (gNMI specification §3.5.1.5): no network, and the time is an argument.

use super::interfaces::Interface;
use super::leaves::{Leaf, Scalar, places, steps};
use forebay_protocol::gnmi::{Path, Subscription as Wanted, SubscriptionMode};
use tonic::Status;

/// The shortest time between two samples; a request for 0 means this time (§3.5.1.5.2).
const MIN_INTERVAL_NS: u64 = 50_000_000;

/// How often it is looked for changes and heartbeats.
const LOOK_NS: u64 = 50_000_000;

/// How often counters are sampled when the client leaves it to the switch.
const TARGET_INTERVAL_NS: u64 = 1_000_000_000;

/// A path of a subscription that streams, and what was sent of it.
#[derive(Debug)]
pub(crate) struct Subscription {
    rule: Rule,
    interval_ns: u64,
    /// When the next sample is due.
    sample_ns: u64,
    /// The values that the path means. Interfaces are those of the start, so their places are looked for once.
    meant: Vec<Sent>,
}

/// What is to be sent at a time.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Due {
    /// Values as they are.
    pub(crate) updates: Vec<Leaf>,
    /// Places of values that are not there any more.
    pub(crate) deletes: Vec<usize>,
}

/// What is due of all subscriptions of a stream: each value once, in the order of their places. The leaves are those
/// of the same interfaces as in the beginning.
pub(crate) fn due(subscriptions: &mut [Subscription], leaves: &[Leaf], now_ns: u64) -> Due {
    let mut due = Due::default();
    for subscription in subscriptions {
        let Due { updates, deletes } = subscription.due(leaves, now_ns);
        due.updates.extend(updates);
        due.deletes.extend(deletes);
    }
    due.updates.sort_by_key(|leaf| leaf.place);
    due.updates.dedup_by_key(|leaf| leaf.place);
    due.deletes.sort_unstable();
    due.deletes.dedup();
    due
}

/// The places of what the subscriptions of a stream mean, in order.
pub(crate) fn meant_places(subscriptions: &[Subscription]) -> Vec<usize> {
    let meant = subscriptions.iter().flat_map(|subscription| &subscription.meant);
    let mut places: Vec<usize> = meant.map(|sent| sent.place).collect();
    places.sort_unstable();
    places.dedup();
    places
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
    /// Its place among all leaves ([`Leaf::place`]).
    place: usize,
    /// None while the interface has no such value.
    value: Option<Scalar>,
    sent_ns: u64,
}

impl Subscription {
    /// A subscription that begins now. What is there then (`leaves` of `interfaces`) counts as sent: it is sent before
    /// all else, or not wanted.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an unknown mode, or for a sample interval that is too short.
    pub(crate) fn new(
        prefix: Option<&Path>,
        wanted: &Wanted,
        (interfaces, leaves): (&[Interface], &[Leaf]),
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
        let sent = |place: usize| Sent {
            place,
            value: at(leaves, place).map(|leaf| leaf.value.clone()),
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
            meant: places(interfaces, &steps).into_iter().map(sent).collect(),
        })
    }

    /// How many values it may mean at most.
    pub(crate) fn values(&self) -> usize {
        self.meant.len()
    }

    /// When something may be due again after a look at `now_ns`: at the next sample, or with a change or a heartbeat,
    /// for which it is looked often.
    pub(crate) fn next_look_ns(&self, now_ns: u64) -> u64 {
        match (self.rule.mode, self.rule.heartbeat_ns) {
            (SubscriptionMode::Sample, None) => self.sample_ns,
            _ => self.sample_ns.min(now_ns.saturating_add(LOOK_NS)),
        }
    }

    fn due(&mut self, leaves: &[Leaf], now_ns: u64) -> Due {
        let is_sample = self.take_sample(now_ns);
        let mut due = Due::default();
        for sent in &mut self.meant {
            match at(leaves, sent.place) {
                Some(leaf) if self.rule.is_due(sent, leaf, is_sample, now_ns) => {
                    sent.value = Some(leaf.value.clone());
                    sent.sent_ns = now_ns;
                    due.updates.push(leaf.clone());
                }
                None if is_sample || self.rule.mode != SubscriptionMode::Sample => {
                    due.deletes.extend(sent.value.take().map(|_| sent.place));
                }
                _ => {}
            }
        }
        due
    }

    /// Whether a sample is due. Samples keep to their distances; those that were missed are not made up for.
    fn take_sample(&mut self, now_ns: u64) -> bool {
        let is_due = now_ns >= self.sample_ns;
        if is_due {
            let missed = (now_ns - self.sample_ns) / self.interval_ns;
            self.sample_ns = self
                .sample_ns
                .saturating_add((missed + 1).saturating_mul(self.interval_ns));
        }
        is_due
    }
}

/// The leaf at a place, if its interface has it now. Leaves are in the order of their places.
fn at(leaves: &[Leaf], place: usize) -> Option<&Leaf> {
    let found = leaves.binary_search_by_key(&place, |leaf| leaf.place);
    found.ok().map(|index| &leaves[index])
}

impl Rule {
    fn is_due(self, sent: &Sent, leaf: &Leaf, is_sample: bool, now_ns: u64) -> bool {
        let is_changed = sent.value.as_ref() != Some(&leaf.value);
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
    use super::super::interfaces::{Interfaces, PortInfo};
    use super::super::leaves;
    use super::super::leaves::tests::{leaf, path};
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn leaves(octets: u64) -> Vec<Leaf> {
        vec![
            leaf(&["state", "oper-status"], Scalar::Text("UP".to_string())),
            leaf(&["state", "counters", "in-octets"], Scalar::Long(octets)),
        ]
    }

    /// Interfaces with these names and speeds.
    fn interfaces(known: &[(&str, Option<u32>)]) -> Vec<Interface> {
        let info = |(number, (name, speed_mbps)): (u32, &(&str, Option<u32>))| PortInfo {
            number,
            name: (*name).to_string(),
            speed_mbps: *speed_mbps,
            ..PortInfo::default()
        };
        Interfaces::new((1..).zip(known).map(info).collect(), 0).all().to_vec()
    }

    fn subscribed(mode: SubscriptionMode, change: impl FnOnce(&mut Wanted)) -> Subscription {
        let mut wanted = Wanted {
            path: Some(path("interfaces/interface[name=*]/state")),
            mode: mode.into(),
            ..Wanted::default()
        };
        change(&mut wanted);
        let interfaces = interfaces(&[("eth1", None)]);
        Subscription::new(None, &wanted, (&interfaces, &leaves(0)), 0).expect("a right subscription")
    }

    #[test]
    fn on_change_tells_changes_alone() {
        let mut subscription = subscribed(SubscriptionMode::OnChange, |_| {});
        assert_eq!(subscription.due(&leaves(0), 1).updates, []);
        assert_eq!(subscription.due(&leaves(5), 2).updates, leaves(5)[1..]);
        assert_eq!(subscription.due(&leaves(5), 9 * SECOND).updates, []);
    }

    /// A path that means nothing else costs nothing else.
    #[test]
    fn values_of_other_paths_are_not_kept() {
        let subscription = subscribed(SubscriptionMode::OnChange, |wanted| {
            wanted.path = Some(path("interfaces/interface[name=eth1]/state/counters/in-octets"));
        });
        assert_eq!(subscription.values(), 1);
    }

    #[test]
    fn heartbeats_come_without_changes() {
        let mut subscription = subscribed(SubscriptionMode::OnChange, |wanted| wanted.heartbeat_interval = SECOND);
        assert_eq!(subscription.due(&leaves(0), SECOND - 1).updates, []);
        assert_eq!(subscription.due(&leaves(0), SECOND).updates, leaves(0));
        assert_eq!(subscription.due(&leaves(0), SECOND + 1).updates, []);
    }

    #[test]
    fn samples_come_at_their_times() {
        let mut subscription = subscribed(SubscriptionMode::Sample, |wanted| wanted.sample_interval = 2 * SECOND);
        assert_eq!(subscription.due(&leaves(5), SECOND).updates, []);
        assert_eq!(subscription.due(&leaves(5), 2 * SECOND).updates, leaves(5));
        assert_eq!(subscription.due(&leaves(5), 3 * SECOND).updates, []);
        assert_eq!(subscription.due(&leaves(5), 4 * SECOND).updates, leaves(5));
    }

    /// A look that comes late does not move the samples after it.
    #[test]
    fn samples_keep_their_distances() {
        let mut subscription = subscribed(SubscriptionMode::Sample, |wanted| wanted.sample_interval = SECOND);
        assert_eq!(subscription.due(&leaves(5), SECOND + 9).updates.len(), 2);
        assert_eq!(subscription.sample_ns, 2 * SECOND);
        assert_eq!(subscription.due(&leaves(5), 4 * SECOND + 9).updates.len(), 2);
        assert_eq!(subscription.sample_ns, 5 * SECOND);
    }

    #[test]
    fn samples_are_not_looked_for_before_their_time() {
        let minute = |wanted: &mut Wanted| wanted.sample_interval = 60 * SECOND;
        let mut sampled = subscribed(SubscriptionMode::Sample, minute);
        assert_eq!(sampled.next_look_ns(SECOND), 60 * SECOND);
        assert_eq!(sampled.due(&leaves(5), 60 * SECOND).updates.len(), 2);
        assert_eq!(sampled.next_look_ns(60 * SECOND), 120 * SECOND);
        let changed = subscribed(SubscriptionMode::OnChange, minute);
        assert_eq!(changed.next_look_ns(SECOND), SECOND + LOOK_NS);
        let with_heartbeat = subscribed(SubscriptionMode::Sample, |wanted| {
            wanted.sample_interval = 60 * SECOND;
            wanted.heartbeat_interval = 2 * SECOND;
        });
        assert_eq!(with_heartbeat.next_look_ns(SECOND), SECOND + LOOK_NS);
    }

    /// A stream makes the values that it is subscribed to, and no others.
    #[test]
    fn what_two_subscriptions_mean_has_one_place() {
        let octets = |wanted: &mut Wanted| {
            wanted.path = Some(path("interfaces/interface[name=eth1]/state/counters/in-octets"));
        };
        let status = |wanted: &mut Wanted| {
            wanted.path = Some(path("interfaces/interface[name=eth1]/state/oper-status"));
        };
        let both = [
            subscribed(SubscriptionMode::OnChange, octets),
            subscribed(SubscriptionMode::OnChange, status),
            subscribed(SubscriptionMode::Sample, octets),
        ];
        let interfaces = interfaces(&[("eth1", None)]);
        let values = leaves::at_places(&interfaces, &meant_places(&both));
        let all = leaves::all(&interfaces);
        let kept = |name: &str| {
            let found = all.iter().find(|leaf| leaf.names.last() == Some(&name));
            found.expect("every interface has it").clone()
        };
        assert_eq!(values, [kept("oper-status"), kept("in-octets")]);
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        let code = |interval: u64, mode: i32| {
            let wanted = Wanted {
                mode,
                sample_interval: interval,
                ..Wanted::default()
            };
            Subscription::new(None, &wanted, (&[], &[]), 0)
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
        assert_eq!(subscription.due(&leaves(5), SECOND).updates, leaves(5)[1..]);
        assert_eq!(subscription.due(&leaves(5), 2 * SECOND).updates, []);
    }

    #[test]
    fn the_switch_chooses_samples_for_counters() {
        let mut subscription = subscribed(SubscriptionMode::TargetDefined, |_| {});
        assert_eq!(subscription.due(&leaves(5), 1).updates, []);
        assert_eq!(subscription.due(&leaves(5), SECOND).updates, leaves(5)[1..]);
    }

    #[test]
    fn a_value_of_two_subscriptions_is_told_once() {
        let mut both = [
            subscribed(SubscriptionMode::OnChange, |_| {}),
            subscribed(SubscriptionMode::Sample, |wanted| wanted.sample_interval = SECOND),
        ];
        assert_eq!(due(&mut both, &leaves(5), SECOND).updates, leaves(5));
    }

    /// The speed of an interface is not known while it is down, so that it has a leaf less than before.
    #[test]
    fn an_interface_that_goes_down_does_not_move_the_values_of_others() {
        let mut wanted = Wanted {
            path: Some(path("interfaces/interface[name=eth2]/state/oper-status")),
            mode: SubscriptionMode::OnChange.into(),
            ..Wanted::default()
        };
        let (up, down) = (
            interfaces(&[("eth1", Some(10_000)), ("eth2", Some(10_000))]),
            interfaces(&[("eth1", None), ("eth2", Some(10_000))]),
        );
        let (before, after) = (leaves::all(&up), leaves::all(&down));
        assert!(after.len() < before.len());
        let begin = |wanted: &Wanted| Subscription::new(None, wanted, (&up, &before), 0).expect("a right subscription");
        assert_eq!(begin(&wanted).due(&after, 1), Due::default());
        wanted.path = Some(path("interfaces/interface[name=*]/ethernet/state/port-speed"));
        let mut speeds = begin(&wanted);
        let gone = speeds.due(&after, 1);
        assert_eq!((gone.updates, gone.deletes.len()), (Vec::new(), 1));
        assert_eq!(
            leaves::path_of(&down, gone.deletes[0]),
            Some(path("interfaces/interface[name=eth1]/ethernet/state/port-speed"))
        );
        assert_eq!(speeds.due(&after, 2), Due::default(), "it was deleted once");
        let back = speeds.due(&before, 3);
        assert_eq!((back.updates.len(), back.deletes), (1, Vec::new()));
        assert_eq!(back.updates[0].interface, "eth1");
    }
}
