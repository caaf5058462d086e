//! What is known of the ports.

use forebay_packet::{PortCounters, PortState};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is known of a port beside what it carries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortInfo {
    /// Its P4 number.
    pub number: u32,
    /// Its name: of an interface or a file.
    pub name: String,
    /// Its MAC address, if it has one.
    pub mac_address: Option<[u8; 6]>,
    /// The longest packet after the Ethernet header, in bytes, if that is limited.
    pub mtu: Option<u32>,
    /// Its speed in Mbit/s, if it has one.
    pub speed_mbps: Option<u32>,
}

/// What changes of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortStatus {
    /// Whether it carries packets.
    pub state: PortState,
    /// What it has carried and dropped.
    pub counters: PortCounters,
}

/// A port with its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interface {
    pub(crate) info: PortInfo,
    pub(crate) status: PortStatus,
    pub(crate) is_enabled: bool,
    /// When it came up or went down at last, in nanoseconds since 1970.
    pub(crate) last_change_ns: i64,
}

impl Interface {
    /// As OpenConfig writes it.
    pub(crate) fn oper_status(&self) -> &'static str {
        match self.status.state {
            PortState::Up | PortState::Finished if self.is_enabled => "UP",
            PortState::Gone => "NOT_PRESENT",
            _ => "DOWN",
        }
    }

    /// Packets that came and were not taken.
    pub(crate) fn in_discards(&self) -> u64 {
        self.status.counters.received_drops()
    }

    /// Packets that were not sent.
    pub(crate) fn out_discards(&self) -> u64 {
        self.status.counters.refusals()
    }
}

/// All ports of the switch, by number.
#[derive(Debug, Default)]
pub struct Interfaces(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    by_number: BTreeMap<u32, Interface>,
    /// The same for readers, if one has read since the last change: streams look often, and share a copy.
    copy: Option<Arc<[Interface]>>,
}

impl Interfaces {
    /// Ports of which nothing has been counted yet.
    pub fn new(ports: Vec<PortInfo>, epoch_ns: i64) -> Interfaces {
        let interface = |info: PortInfo| {
            let status = PortStatus {
                state: PortState::Up,
                counters: PortCounters::default(),
            };
            let interface = Interface {
                info,
                status,
                is_enabled: true,
                last_change_ns: epoch_ns,
            };
            (interface.info.number, interface)
        };
        Interfaces(Mutex::new(Known {
            by_number: ports.into_iter().map(interface).collect(),
            copy: None,
        }))
    }

    /// Records a port's state. A port that was not registered before is not an interface.
    pub fn update(&self, number: u32, status: PortStatus, epoch_ns: i64) {
        self.change(number, epoch_ns, |interface| interface.status = status);
    }

    /// Records what a port is now: its MTU may have changed, or another interface may have its name.
    pub fn describe(&self, info: PortInfo) {
        let mut known = self.lock();
        known.copy = None;
        if let Some(interface) = known.by_number.get_mut(&info.number) {
            interface.info = info;
        }
    }

    /// Takes note that a port is enabled or disabled.
    pub fn enable(&self, number: u32, is_enabled: bool, epoch_ns: i64) {
        self.change(number, epoch_ns, |interface| interface.is_enabled = is_enabled);
    }

    fn change(&self, number: u32, epoch_ns: i64, change: impl FnOnce(&mut Interface)) {
        let mut known = self.lock();
        known.copy = None;
        let Some(interface) = known.by_number.get_mut(&number) else {
            return;
        };
        let before = interface.oper_status();
        change(interface);
        if interface.oper_status() != before {
            interface.last_change_ns = epoch_ns;
        }
    }

    /// The ports, whether each carries packets, and whether it is enabled.
    pub fn ports(&self) -> Vec<(PortInfo, bool, bool)> {
        let with_state = |interface: &Interface| {
            let is_up = interface.oper_status() == "UP";
            (interface.info.clone(), is_up, interface.is_enabled)
        };
        self.all().iter().map(with_state).collect()
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.lock().by_number.len()
    }

    /// All of them as they are now. Copies them once a change.
    pub(crate) fn all(&self) -> Arc<[Interface]> {
        let mut known = self.lock();
        let Known { by_number, copy } = &mut *known;
        Arc::clone(copy.get_or_insert_with(|| by_number.values().cloned().collect()))
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_packet::DropReason;

    #[test]
    fn discards_are_told_apart_by_direction() {
        let interfaces = Interfaces::new(vec![PortInfo::default()], 0);
        let mut counters = PortCounters::default();
        counters.count_received_drops(DropReason::ReceiveDisabled, 7);
        counters.count_received_drops(DropReason::Unsegmentable, 1);
        counters.count_drops(DropReason::TooShort, 3);
        counters.count_drops(DropReason::Disabled, 2);
        let status = PortStatus {
            state: PortState::Down,
            counters,
        };
        interfaces.update(0, status, 1);
        let interface = &interfaces.all()[0];
        assert_eq!((interface.in_discards(), interface.out_discards()), (8, 5));
    }

    #[test]
    fn a_port_is_what_was_said_of_it_last() {
        let info = |number, mtu| PortInfo {
            number,
            mtu: Some(mtu),
            ..PortInfo::default()
        };
        let interfaces = Interfaces::new(vec![info(1, 1500)], 0);
        interfaces.describe(info(1, 9000));
        interfaces.describe(info(2, 9000));
        let all = interfaces.all();
        assert_eq!((all.len(), all[0].info.mtu), (1, Some(9000)));
    }

    #[test]
    fn changes_have_times() {
        let info = PortInfo {
            number: 1,
            name: "eth1".to_string(),
            ..PortInfo::default()
        };
        let interfaces = Interfaces::new(vec![info], 5);
        interfaces.enable(1, true, 6);
        assert_eq!(interfaces.all()[0].last_change_ns, 5);
        interfaces.enable(1, false, 7);
        let interface = &interfaces.all()[0];
        assert_eq!((interface.oper_status(), interface.last_change_ns), ("DOWN", 7));
        interfaces.enable(2, false, 8);
        assert_eq!(interfaces.all().len(), 1);
    }

    #[test]
    fn readers_share_a_copy_until_something_changes() {
        let interfaces = Interfaces::new(vec![PortInfo::default()], 0);
        let first = interfaces.all();
        assert!(Arc::ptr_eq(&first, &interfaces.all()));
        interfaces.enable(0, false, 1);
        let second = interfaces.all();
        assert_eq!((first[0].is_enabled, second[0].is_enabled), (true, false));
        interfaces.describe(PortInfo {
            mtu: Some(9000),
            ..PortInfo::default()
        });
        assert_eq!(interfaces.all()[0].info.mtu, Some(9000));
    }
}
