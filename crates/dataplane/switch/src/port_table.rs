//! The ports of a switch by their P4 numbers.

use crate::counters::{Drops, PortReport};
use forebay_packet::{Burst, Packet, Port, PortError, PortState};
use forebay_pipeline::DropReason;

/// A port, with the packets that wait to be handed to it.
struct PortSlot {
    number: u32,
    port: Box<dyn Port>,
    outgoing: Burst,
    /// Whether packets get their tags as ids: see [`Port::reads_ids`].
    reads_ids: bool,
    drops: Drops,
    /// Set when the port has reported a failure. It is not polled any more, unless it [still sends](Port::still_sends).
    failed: bool,
    /// Whether the port was gone at the last check.
    was_gone: bool,
    /// Set in the last round for ports that take no part in it.
    is_shut: bool,
}

/// A change in the presence of a port's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It has vanished; the port waits for it to return.
    Gone,
    /// It is back.
    Back,
}

/// Ports ordered by number. They are served in this order.
#[derive(Default)]
pub(crate) struct PortTable {
    slots: Vec<PortSlot>,
    /// The indices in `slots` of the ports with low numbers, plus 1; 0 for no port.
    places: Vec<u16>,
    failures: Vec<(u32, PortError)>,
}

/// Ports with numbers below this one are found through an array.
pub(crate) const LOW_NUMBERS: u32 = 512;

impl PortTable {
    pub(crate) fn insert(&mut self, number: u32, port: Box<dyn Port>, burst: usize) {
        let slot = PortSlot {
            number,
            reads_ids: port.reads_ids(),
            port,
            outgoing: Burst::new(burst),
            drops: Drops::default(),
            failed: false,
            was_gone: false,
            is_shut: false,
        };
        match self.slots.binary_search_by_key(&number, |slot| slot.number) {
            Ok(place) => self.slots[place] = slot,
            Err(place) => self.slots.insert(place, slot),
        }
        self.places = vec![0; LOW_NUMBERS as usize];
        for (slot, place) in self.slots.iter().zip(1..).filter(|(slot, _)| slot.number < LOW_NUMBERS) {
            self.places[slot.number as usize] = place;
        }
    }

    /// Takes all ports.
    pub(crate) fn take_all(&mut self) -> Vec<Box<dyn Port>> {
        self.places.clear();
        let slots = std::mem::take(&mut self.slots).into_iter();
        slots.map(|slot| slot.port).collect()
    }

    /// The index of a port in their order.
    #[inline]
    pub(crate) fn place(&self, number: u32) -> Option<usize> {
        match self.places.get(number as usize) {
            Some(place) => usize::from(*place).checked_sub(1),
            None => self.slots.binary_search_by_key(&number, |slot| slot.number).ok(),
        }
    }

    #[inline]
    fn slot_mut(&mut self, number: u32) -> Option<&mut PortSlot> {
        let place = self.place(number)?;
        self.slots.get_mut(place)
    }

    pub(crate) fn contains(&self, number: u32) -> bool {
        self.place(number).is_some()
    }

    /// The number of packets that the port accepts. A failed port takes, and drops, everything.
    pub(crate) fn room(&self, number: u32) -> usize {
        self.place(number).map_or(usize::MAX, |place| self.slots[place].room())
    }

    /// The number of packets that every port accepts.
    #[inline]
    pub(crate) fn least_room(&self) -> usize {
        self.slots.iter().map(PortSlot::room).min().unwrap_or(usize::MAX)
    }

    /// Polls every port for up to `max` packets, and passes them with the port's number to `take`. `burst` is empty
    /// before and after.
    pub(crate) fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64, mut take: impl FnMut(u32, &Burst)) {
        for slot in self.slots.iter_mut().filter(|slot| slot.is_polled()) {
            if let Err(error) = slot.port.receive(burst, max, now_ns) {
                slot.fail(error, &mut self.failures);
            }
            if !burst.is_empty() {
                take(slot.number, burst);
                burst.clear();
            }
        }
    }

    /// From now on, ports deliver only what they keep for the end.
    pub(crate) fn begin_last_round(&mut self) {
        for slot in &mut self.slots {
            slot.is_shut = !slot.port.begin_last_round();
        }
    }

    /// The number of ports.
    pub(crate) fn count(&self) -> usize {
        self.slots.len()
    }

    /// Polls the port at an index for up to `max` packets, and returns the port's number. `burst` must be empty.
    pub(crate) fn receive_at(&mut self, place: usize, burst: &mut Burst, max: usize, now_ns: u64) -> u32 {
        let slot = &mut self.slots[place];
        if !slot.is_polled() {
            return slot.number;
        }
        if let Err(error) = slot.port.receive(burst, max, now_ns) {
            slot.fail(error, &mut self.failures);
        }
        slot.number
    }

    /// Sends a whole burst after what is queued for the port; the burst is empty afterwards. The packets get tags: the
    /// first tag, and how many consecutive packets have the same. With no `tags` their ids are their tags. Returns
    /// `None`, and leaves the burst as it is, when there is no such port.
    pub(crate) fn send_burst(
        &mut self,
        number: u32,
        burst: &mut Burst,
        tags: Option<(u64, usize)>,
        now_ns: u64,
    ) -> Option<Sent> {
        let place = self.place(number)?;
        let slot = &mut self.slots[place];
        if slot.reads_ids
            && let Some((first_tag, each)) = tags
        {
            tag(burst.as_mut_slice(), first_tag, each);
        }
        let before = slot.flush(now_ns, &mut self.failures);
        Some(before + slot.transmit(burst, now_ns, &mut self.failures))
    }

    /// Queues packets with tags for the port at an index, and leaves buffers with unspecified contents in their place.
    /// Packets for which there is no tag keep their ids. When the port's burst is full, it is sent first.
    #[inline]
    pub(crate) fn exchange_at(
        &mut self,
        place: usize,
        mut packets: &mut [Packet],
        mut tags: impl Iterator<Item = u64>,
        now_ns: u64,
    ) -> Sent {
        let slot = &mut self.slots[place];
        let mut sent = Sent::default();
        while !packets.is_empty() {
            if slot.outgoing.is_full() {
                sent = sent + slot.flush(now_ns, &mut self.failures);
            }
            let queued = slot.outgoing.exchange_all(packets);
            let count = queued.len();
            if slot.reads_ids {
                for (packet, tag) in queued.iter_mut().zip(&mut tags) {
                    packet.id = tag;
                }
            }
            packets = &mut packets[count..];
        }
        sent
    }

    /// Queues a frame for the port. When the port's burst is full, it is sent first. `None` when there is no such
    /// port.
    pub(crate) fn send(&mut self, number: u32, frame: &[u8], tag: u64, now_ns: u64) -> Option<Sent> {
        let place = self.place(number)?;
        let slot = &mut self.slots[place];
        let sent = if slot.outgoing.is_full() {
            slot.flush(now_ns, &mut self.failures)
        } else {
            Sent::default()
        };
        let packet = slot.outgoing.allocate().expect("a flushed burst has room");
        packet.set_data(frame);
        packet.id = tag;
        Some(sent)
    }

    /// Sends what is queued, at all ports.
    pub(crate) fn flush(&mut self, now_ns: u64) -> Sent {
        let mut sent = Sent::default();
        for slot in &mut self.slots {
            if !slot.outgoing.is_empty() {
                sent = sent + slot.send_outgoing(now_ns, &mut self.failures);
            }
        }
        sent
    }

    /// Counts drops for a port; does nothing when there is no such port.
    pub(crate) fn count_drops(&mut self, number: u32, reason: DropReason, count: u64) {
        if let Some(slot) = self.slot_mut(number) {
            slot.drops.count(reason, count);
        }
    }

    /// The program with these parser errors has been replaced.
    pub(crate) fn program_replaced(&mut self, errors: &[String]) {
        for slot in &mut self.slots {
            slot.drops.program_replaced(errors);
        }
    }

    /// Reports every port that has vanished or come back since the last call. Failed ports are reported as failures
    /// instead.
    pub(crate) fn presence_changes(&mut self, mut tell: impl FnMut(u32, &str, Presence)) {
        for slot in self.slots.iter_mut().filter(|slot| !slot.failed) {
            let is_gone = slot.port.state() == PortState::Gone;
            if is_gone != slot.was_gone {
                slot.was_gone = is_gone;
                let presence = if is_gone { Presence::Gone } else { Presence::Back };
                tell(slot.number, slot.port.name(), presence);
            }
        }
    }

    pub(crate) fn take_failures(&mut self) -> Vec<(u32, PortError)> {
        std::mem::take(&mut self.failures)
    }

    pub(crate) fn reports(&self, errors: &[String]) -> Vec<PortReport> {
        self.slots.iter().map(|slot| slot.report(errors)).collect()
    }

    /// Ports that have not failed.
    pub(crate) fn working(&self) -> impl Iterator<Item = &dyn Port> {
        self.slots.iter().filter(|slot| !slot.failed).map(|slot| &*slot.port)
    }

    /// Completes files. A port that cannot has failed.
    pub(crate) fn flush_files(&mut self) {
        for slot in &mut self.slots {
            if let Err(error) = slot.port.flush() {
                slot.fail(error, &mut self.failures);
            }
        }
    }
}

/// Gives packets tags; `each` consecutive ones get the same.
#[inline]
fn tag(packets: &mut [Packet], first_tag: u64, each: usize) {
    if each == 1 {
        return packets
            .iter_mut()
            .zip(first_tag..)
            .for_each(|(packet, tag)| packet.id = tag);
    }
    for (copies, tag) in packets.chunks_mut(each).zip(first_tag..) {
        copies.iter_mut().for_each(|copy| copy.id = tag);
    }
}

impl PortSlot {
    #[inline]
    fn is_polled(&self) -> bool {
        !self.is_shut && (!self.failed || self.port.still_sends())
    }

    fn room(&self) -> usize {
        if self.failed {
            return usize::MAX;
        }
        self.port.room().saturating_sub(self.outgoing.len())
    }

    #[inline]
    fn flush(&mut self, now_ns: u64, failures: &mut Vec<(u32, PortError)>) -> Sent {
        if self.outgoing.is_empty() {
            Sent::default()
        } else {
            self.send_outgoing(now_ns, failures)
        }
    }

    fn send_outgoing(&mut self, now_ns: u64, failures: &mut Vec<(u32, PortError)>) -> Sent {
        let offered = self.outgoing.len() as u64;
        let result = self.port.send(&mut self.outgoing, now_ns);
        self.outgoing.clear();
        self.booked(offered, result, failures)
    }

    fn transmit(&mut self, burst: &mut Burst, now_ns: u64, failures: &mut Vec<(u32, PortError)>) -> Sent {
        let offered = burst.len() as u64;
        let result = self.port.send(burst, now_ns);
        burst.clear();
        self.booked(offered, result, failures)
    }

    /// Marks the port as failed; reported once.
    #[cold]
    fn fail(&mut self, error: PortError, failures: &mut Vec<(u32, PortError)>) {
        if !std::mem::replace(&mut self.failed, true) {
            failures.push((self.number, error));
        }
    }

    /// Counts what the port did with a burst.
    #[inline]
    fn booked(&mut self, offered: u64, result: Result<usize, PortError>, failures: &mut Vec<(u32, PortError)>) -> Sent {
        let accepted = match result {
            Ok(accepted) => accepted as u64,
            Err(error) => {
                self.fail(error, failures);
                0
            }
        };
        if accepted != offered {
            self.drops.count(DropReason::PortError, offered - accepted);
        }
        Sent {
            accepted,
            refused: offered - accepted,
        }
    }

    fn report(&self, errors: &[String]) -> PortReport {
        let state = match self.port.state() {
            PortState::Up | PortState::Finished if self.failed => PortState::Down,
            state => state,
        };
        let counters = self.port.counters();
        let drops = self.drops.without(DropReason::PortError, counters.refusals());
        PortReport {
            number: self.number,
            name: self.port.name().to_string(),
            state,
            why_down: (self.port.why_down()).filter(|_| matches!(state, PortState::Down | PortState::Gone)),
            counters,
            drops: drops.labelled(errors),
        }
    }
}

/// What ports did with the packets handed to them.
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
