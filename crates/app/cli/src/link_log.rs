//! Says when a port goes down and comes up again: for logs, since the table of ports and `systemctl status` show only
//! how it is now.

use forebay_packet::PortState;
use forebay_switch::PortReport;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Time between two looks: a port that goes up and down all the time leaves a line a second at most.
const LOOK: Duration = Duration::from_secs(1);

/// How ports were at the last look.
#[derive(Default)]
pub struct LinkLog {
    before: BTreeMap<u32, PortState>,
    looked: Option<Instant>,
}

impl LinkLog {
    /// Looks at the ports when it is time to. Returns what has changed, a sentence for each.
    pub fn look(&mut self, ports: impl FnOnce() -> Vec<PortReport>) -> Vec<String> {
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return Vec::new();
        }
        self.looked = Some(Instant::now());
        self.changes(&ports())
    }

    /// What has changed since the last time. Interfaces that vanish and come back, and ports that fail, are events of the
    /// switch, which are told where they happen.
    fn changes(&mut self, ports: &[PortReport]) -> Vec<String> {
        let change = |port: &PortReport| {
            let before = self.before.insert(port.number, port.state);
            let PortReport { number, name, .. } = port;
            match (before?, port.state, &port.why_down) {
                (PortState::Up, PortState::Down, Some(why)) => Some(format!("port {number}: {name} is down: {why}")),
                (PortState::Down, PortState::Up, _) => Some(format!("port {number}: {name} is up")),
                _ => None,
            }
        };
        ports.iter().filter_map(change).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(state: PortState, why_down: Option<&str>) -> PortReport {
        PortReport {
            number: 2,
            name: "eth2".to_string(),
            state,
            why_down: why_down.map(str::to_string),
            counters: Default::default(),
            drops: Vec::new(),
        }
    }

    #[test]
    fn changes_are_told_once() {
        let mut log = LinkLog::default();
        let mut look = |state, why_down| log.changes(&[port(state, why_down)]);
        let (none, carrier) = (Vec::<String>::new(), Some("the interface has no carrier"));
        assert_eq!(look(PortState::Up, None), none, "how it begins is shown otherwise");
        assert_eq!(
            look(PortState::Down, carrier),
            ["port 2: eth2 is down: the interface has no carrier"]
        );
        assert_eq!(look(PortState::Down, carrier), none);
        assert_eq!(look(PortState::Up, None), ["port 2: eth2 is up"]);
        assert_eq!(look(PortState::Gone, None), none, "that is an event");
        assert_eq!(look(PortState::Up, None), none);
        assert_eq!(look(PortState::Down, None), none, "it has failed");
    }

    #[test]
    fn ports_are_looked_at_once_a_second() {
        let mut log = LinkLog::default();
        let mut looks = 0;
        for _ in 0..3 {
            let told = log.look(|| {
                looks += 1;
                Vec::new()
            });
            assert!(told.is_empty());
        }
        assert_eq!(looks, 1);
    }
}
