//! A bounded vector of packets in flight, with its own spare buffers.
//!
//! ```text
//!   buffers: | in flight, in order ......... | spare .............. |
//!            0                             length          buffers.len() <= capacity
//! ```
//!
//! A packet that leaves the end of the burst becomes a spare, and a spare becomes a packet, by moving the border
//! between them: no buffer is moved or allocated for it.

use crate::Packet;

/// How many packets a burst holds unless told otherwise: enough to overlap the memory accesses of
/// table look-ups, few enough to stay in the first-level cache.
pub const DEFAULT_BURST: usize = 64;

/// Up to `capacity` packets, in order.
///
/// Packets that leave by [`Burst::clear`], [`Burst::truncate`] or a port's `send` become
/// spares, and [`Burst::allocate`] takes from the spares. [`Burst::push_exchange`] moves a packet
/// from another burst in exchange for a spare, so that both bursts keep as many buffers as they
/// had.
#[derive(Debug)]
pub struct Burst {
    /// Packets in flight, and after them the spares.
    buffers: Vec<Packet>,
    length: usize,
    capacity: usize,
    created: u64,
}

impl Burst {
    /// An empty burst for at most `capacity` packets (at least one).
    pub fn new(capacity: usize) -> Burst {
        let capacity = capacity.max(1);
        Burst {
            buffers: Vec::new(),
            length: 0,
            capacity,
            created: 0,
        }
    }

    /// The most packets it holds.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many packets it holds.
    #[inline]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it holds none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Whether there is no room for another packet.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.length >= self.capacity
    }

    /// How many more packets fit.
    #[inline]
    pub fn room(&self) -> usize {
        self.capacity - self.length
    }

    /// Appends an empty packet and returns it, or `None` when the burst is full.
    #[inline]
    pub fn allocate(&mut self) -> Option<&mut Packet> {
        if self.is_full() {
            return None;
        }
        self.length += 1;
        Some(self.spare(self.length - 1))
    }

    /// Appends `packet`.
    ///
    /// # Errors
    /// Gives the packet back when the burst is full.
    pub fn push(&mut self, mut packet: Packet) -> Result<(), Packet> {
        if self.is_full() {
            return Err(packet);
        }
        if let Some(spare) = self.buffers.get_mut(self.length) {
            std::mem::swap(spare, &mut packet);
            self.give_spare(packet);
        } else {
            self.buffers.push(packet);
        }
        self.length += 1;
        Ok(())
    }

    /// Appends what `packet` holds and leaves an empty spare buffer in its place.
    /// Returns false, and changes nothing, when the burst is full.
    #[inline]
    pub fn push_exchange(&mut self, packet: &mut Packet) -> bool {
        if self.is_full() {
            return false;
        }
        let position = self.length;
        self.make_spare(position);
        // Emptied afterwards: fields that have just been stored one by one are slow to load together.
        std::mem::swap(&mut self.buffers[position], packet);
        packet.reset();
        self.length += 1;
        true
    }

    /// Appends the first of these packets, as many as fit, and returns them at their new places. Spare buffers with
    /// unspecified contents take their places in `packets`; a caller must empty these before it uses them.
    #[inline]
    pub fn exchange_all(&mut self, packets: &mut [Packet]) -> &mut [Packet] {
        let first = self.length;
        let count = packets.len().min(self.room());
        while self.buffers.len() < first + count {
            self.make_spare(self.buffers.len());
        }
        self.length += count;
        let places = &mut self.buffers[first..first + count];
        places.swap_with_slice(&mut packets[..count]);
        places
    }

    /// The first `count` spares, made if necessary, with unspecified contents. The burst must be empty.
    ///
    /// # Panics
    ///
    /// If the burst is not empty, or cannot hold as many packets.
    #[inline]
    pub fn spares_mut(&mut self, count: usize) -> &mut [Packet] {
        assert!(
            self.is_empty() && count <= self.capacity,
            "a burst holds what fits into it"
        );
        while self.buffers.len() < count {
            self.make_spare(self.buffers.len());
        }
        &mut self.buffers[..count]
    }

    /// Makes the first `count` spares packets of the burst, with their contents: see [`Burst::spares_mut`].
    #[inline]
    pub fn fill_from_spares(&mut self, count: usize) {
        self.spares_mut(count);
        self.length = count;
    }

    /// Removes and returns the last packet.
    pub fn pop(&mut self) -> Option<Packet> {
        self.length = self.length.checked_sub(1)?;
        Some(self.buffers.swap_remove(self.length))
    }

    /// Gives a buffer that is no longer needed to the spares.
    fn give_spare(&mut self, packet: Packet) {
        if self.buffers.len() < self.capacity {
            self.buffers.push(packet);
        }
    }

    /// Drops all packets into the spares.
    #[inline]
    pub fn clear(&mut self) {
        self.length = 0;
    }

    /// Drops the packets from position `length` on into the spares.
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Keeps the packets for which `keep` says true, in order; the others become spares.
    pub fn retain(&mut self, mut keep: impl FnMut(&mut Packet) -> bool) {
        let mut kept = 0;
        for index in 0..self.length {
            if keep(&mut self.buffers[index]) {
                self.buffers.swap(kept, index);
                kept += 1;
            }
        }
        self.truncate(kept);
    }

    /// The packets, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Packet> {
        self.as_slice().iter()
    }

    /// The packets, in order, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Packet> {
        self.as_mut_slice().iter_mut()
    }

    /// The packets as a slice.
    #[inline]
    pub fn as_slice(&self) -> &[Packet] {
        &self.buffers[..self.length]
    }

    /// The packets as a slice, to be changed.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [Packet] {
        &mut self.buffers[..self.length]
    }

    /// How many buffers this burst had to allocate so far; constant after a warm-up.
    pub fn buffers_created(&self) -> u64 {
        self.created
    }

    /// Makes the spare at a position if there is none.
    #[inline]
    fn make_spare(&mut self, position: usize) {
        if position == self.buffers.len() {
            self.created += 1;
            self.buffers.push(Packet::new());
        }
    }

    /// The spare at a position, emptied.
    #[inline]
    fn spare(&mut self, position: usize) -> &mut Packet {
        self.make_spare(position);
        let spare = &mut self.buffers[position];
        spare.reset();
        spare
    }
}

impl Default for Burst {
    fn default() -> Burst {
        Burst::new(DEFAULT_BURST)
    }
}

impl<'a> IntoIterator for &'a Burst {
    type Item = &'a Packet;
    type IntoIter = std::slice::Iter<'a, Packet>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Burst {
    type Item = &'a mut Packet;
    type IntoIter = std::slice::IterMut<'a, Packet>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burst_of(payloads: &[&[u8]]) -> Burst {
        let mut burst = Burst::new(4);
        for payload in payloads {
            burst.allocate().expect("the burst has room").set_data(payload);
        }
        burst
    }

    #[test]
    fn a_full_burst_refuses_more() {
        let mut burst = burst_of(&[b"a", b"b", b"c", b"d"]);
        assert!(burst.is_full());
        assert!(burst.allocate().is_none());
        let mut packet = Packet::from_bytes(b"e");
        assert!(!burst.push_exchange(&mut packet));
        assert_eq!(packet.data(), b"e");
        assert!(burst.push(packet).is_err());
    }

    #[test]
    fn packets_change_places_as_far_as_they_fit() {
        let (mut first, mut second) = (burst_of(&[b"a", b"b", b"c"]), burst_of(&[b"x", b"y"]));
        let moved = second.exchange_all(first.as_mut_slice());
        assert_eq!(moved.iter().map(Packet::data).collect::<Vec<_>>(), [b"a", b"b"]);
        assert!(second.is_full());
        assert_eq!(first.as_slice()[2].data(), b"c", "there was no room for it");
        assert!(second.exchange_all(&mut first.as_mut_slice()[2..]).is_empty());
    }

    #[test]
    fn spares_are_written_and_become_packets() {
        let mut burst = burst_of(&[b"a"]);
        burst.clear();
        for (spare, name) in burst.spares_mut(3).iter_mut().zip([b"x", b"y", b"z"]) {
            spare.set_data(name);
        }
        burst.fill_from_spares(2);
        assert_eq!(burst.iter().map(Packet::data).collect::<Vec<_>>(), [b"x", b"y"]);
        assert_eq!(burst.buffers_created(), 3);
    }

    #[test]
    fn retain_keeps_the_order() {
        let mut burst = burst_of(&[b"a", b"b", b"c", b"d"]);
        burst.retain(|packet| packet.data() != b"b");
        let left: Vec<_> = burst.iter().map(|packet| packet.data().to_vec()).collect();
        assert_eq!(left, [b"a", b"c", b"d"]);
    }

    #[test]
    fn moving_between_bursts_allocates_nothing_after_the_first_round() {
        let (mut first, mut second) = (Burst::new(4), Burst::new(4));
        let mut created = 0;
        for round in 0..10 {
            for _ in 0..4 {
                first.allocate().expect("the burst is empty").set_data(b"x");
            }
            assert!(first.iter_mut().all(|packet| second.push_exchange(packet)));
            first.clear();
            second.clear();
            let now = first.buffers_created() + second.buffers_created();
            assert!(round == 0 || now == created, "round {round} allocated");
            created = now;
        }
    }
}
