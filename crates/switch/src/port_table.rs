//! The ports of a switch by their P4 numbers.

use crate::counters::{Drops, PortReport};
use forebay_packet::{Burst, Packet, Port, PortError, PortState};
use forebay_pipeline::DropReason;
use std::collections::BTreeMap;

/// A port with the packets that wait to be handed to it.
struct PortSlot {
    number: u32,
    port: Box<dyn Port>,
    outgoing: Burst,
    drops: Drops,
    /// Set when the port reported that it is out of order; it is not asked for packets any more.
    failed: bool,
}

/// Ports in order of their numbers, which is also the order in which they are served.
#[derive(Default)]
pub(crate) struct PortTable {
    slots: BTreeMap<u32, PortSlot>,
    failures: Vec<(u32, PortError)>,
}

impl PortTable {
    pub(crate) fn insert(&mut self, number: u32, port: Box<dyn Port>, burst: usize) {
        let slot = PortSlot {
            number,
            port,
            outgoing: Burst::new(burst),
            drops: Drops::default(),
            failed: false,
        };
        self.slots.insert(number, slot);
    }

    pub(crate) fn contains(&self, number: u32) -> bool {
        self.slots.contains_key(&number)
    }

    /// Packets that can be handed to a port so that it accepts them; a port that has failed takes, and drops, everything.
    pub(crate) fn room(&self, number: u32) -> usize {
        self.slots.get(&number).map_or(usize::MAX, PortSlot::room)
    }

    /// Whether every port would accept a burst of so many packets from each.
    pub(crate) fn have_room(&self, burst: usize) -> bool {
        let needed = burst * self.slots.len();
        self.slots.values().all(|slot| slot.room() >= needed)
    }

    /// Asks every port for up to `max` packets and gives what came, with the port's number, to `take`. `burst` is empty
    /// before and after.
    pub(crate) fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64, mut take: impl FnMut(u32, &Burst)) {
        for slot in self.slots.values_mut().filter(|slot| !slot.failed) {
            if let Err(error) = slot.port.receive(burst, max, now_ns) {
                slot.failed = true;
                self.failures.push((slot.number, error));
            }
            if !burst.is_empty() {
                take(slot.number, burst);
                burst.clear();
            }
        }
    }

    /// The numbers of the ports, in order.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        self.slots.keys().copied().collect()
    }

    /// Asks a port for up to `max` packets. `burst` is empty before.
    pub(crate) fn receive_from(&mut self, number: u32, burst: &mut Burst, max: usize, now_ns: u64) {
        let Some(slot) = self.slots.get_mut(&number).filter(|slot| !slot.failed) else {
            return;
        };
        if let Err(error) = slot.port.receive(burst, max, now_ns) {
            slot.failed = true;
            self.failures.push((slot.number, error));
        }
    }

    /// Queues a packet for the port and leaves an empty one in its place. When the port's burst is full that is sent
    /// first. `None`, and the packet stays, when there is no such port.
    pub(crate) fn exchange(&mut self, number: u32, packet: &mut Packet, now_ns: u64) -> Option<Sent> {
        let slot = self.slots.get_mut(&number)?;
        let sent = if slot.outgoing.is_full() {
            slot.flush(now_ns, &mut self.failures)
        } else {
            Sent::default()
        };
        packet.port = number;
        packet.timestamp_ns = now_ns;
        let has_room = slot.outgoing.push_exchange(packet);
        debug_assert!(has_room, "a flushed burst has room");
        Some(sent)
    }

    /// Queues a frame for the port. When its burst is full that is sent first. `None` when there is no such port.
    pub(crate) fn send(&mut self, number: u32, frame: &[u8], tag: u64, now_ns: u64) -> Option<Sent> {
        let slot = self.slots.get_mut(&number)?;
        let sent = if slot.outgoing.is_full() {
            slot.flush(now_ns, &mut self.failures)
        } else {
            Sent::default()
        };
        let packet = slot.outgoing.allocate().expect("a flushed burst has room");
        packet.set_data(frame);
        packet.port = number;
        packet.id = tag;
        packet.timestamp_ns = now_ns;
        Some(sent)
    }

    /// Sends what is queued at all ports.
    pub(crate) fn flush(&mut self, now_ns: u64) -> Sent {
        let failures = &mut self.failures;
        self.slots
            .values_mut()
            .fold(Sent::default(), |sum, slot| sum + slot.flush(now_ns, failures))
    }

    /// Counts a drop for a port; nothing happens when there is no such port.
    pub(crate) fn count_drop(&mut self, number: u32, reason: DropReason) {
        if let Some(slot) = self.slots.get_mut(&number) {
            slot.drops.count(reason, 1);
        }
    }

    pub(crate) fn take_failures(&mut self) -> Vec<(u32, PortError)> {
        std::mem::take(&mut self.failures)
    }

    pub(crate) fn reports(&self, errors: &[String]) -> Vec<PortReport> {
        self.slots.values().map(|slot| slot.report(errors)).collect()
    }

    /// Ports that have not failed.
    pub(crate) fn working(&self) -> impl Iterator<Item = &dyn Port> {
        self.slots.values().filter(|slot| !slot.failed).map(|slot| &*slot.port)
    }

    /// Makes files complete.
    pub(crate) fn flush_files(&mut self) -> Result<(), PortError> {
        self.slots.values_mut().try_for_each(|slot| slot.port.flush())
    }
}

impl PortSlot {
    fn room(&self) -> usize {
        if self.failed {
            return usize::MAX;
        }
        self.port.room().saturating_sub(self.outgoing.len())
    }

    fn flush(&mut self, now_ns: u64, failures: &mut Vec<(u32, PortError)>) -> Sent {
        let offered = self.outgoing.len() as u64;
        if offered == 0 {
            return Sent::default();
        }
        let result = self.port.send(&mut self.outgoing, now_ns);
        self.outgoing.clear();
        let accepted = match result {
            Ok(accepted) => accepted as u64,
            Err(error) => {
                if !self.failed {
                    self.failed = true;
                    failures.push((self.number, error));
                }
                0
            }
        };
        self.drops.count(DropReason::PortError, offered - accepted);
        Sent {
            accepted,
            refused: offered - accepted,
        }
    }

    fn report(&self, errors: &[String]) -> PortReport {
        let state = match self.port.state() {
            PortState::Up if self.failed => PortState::Down,
            state => state,
        };
        PortReport {
            number: self.number,
            name: self.port.name().to_string(),
            state,
            counters: self.port.counters(),
            drops: self.drops.labelled(errors),
        }
    }
}

/// What ports did with packets handed to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Accepted for sending.
    pub(crate) accepted: u64,
    /// Dropped by the port.
    pub(crate) refused: u64,
}

impl std::ops::Add for Sent {
    type Output = Sent;

    fn add(self, other: Sent) -> Sent {
        Sent {
            accepted: self.accepted + other.accepted,
            refused: self.refused + other.refused,
        }
    }
}
