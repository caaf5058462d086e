//! One packet in a buffer with room at both ends.
//!
//! ```text
//!   buffer:  | headroom ........ | data ................ | tailroom ...... |
//!            0                   start                  end               len
//! ```
//!
//! A deparser that emits more header bytes than the parser extracted (encapsulation) takes them
//! from the headroom; one that emits fewer gives them back. The payload does not move in either
//! case. When the headroom is used up the buffer grows: that is correct, merely slower.

use crate::buffer::{Buffer, DEFAULT_HEADROOM, DEFAULT_ROOM};
use std::fmt;

/// A frame with its metadata. See the module's picture.
///
/// The bytes start at the Ethernet destination address and end before the frame check sequence.
#[derive(Clone)]
#[repr(C, align(64))]
pub struct Packet {
    buffer: Buffer,
    /// Length in bytes when it was received, before the program or a snapshot length changed it.
    pub original_length: u32,
    /// An identity, for following copies: packets of one that came have the same. Given where it is read: see
    /// [`crate::Port::reads_ids`].
    pub id: u64,
    /// When it was received, in nanoseconds of the caller's clock.
    pub timestamp_ns: u64,
}

impl Packet {
    /// Where in a packet, in bytes, the address of its first byte is, 64 bits wide, and after it its length in bytes,
    /// as wide: for compiled programs.
    pub const PLACE_OFFSET: usize = std::mem::offset_of!(Packet, buffer);

    /// An empty packet with the default room at both ends.
    pub fn new() -> Packet {
        Packet::with_room(DEFAULT_HEADROOM, DEFAULT_ROOM)
    }

    /// An empty packet with `headroom` bytes in front and at least `room` bytes for data after them.
    pub fn with_room(headroom: usize, room: usize) -> Packet {
        Packet {
            buffer: Buffer::new(headroom + room, headroom),
            original_length: 0,
            id: 0,
            timestamp_ns: 0,
        }
    }

    /// A packet that holds a copy of `data`, with the default headroom.
    pub fn from_bytes(data: &[u8]) -> Packet {
        let mut packet = Packet::with_room(DEFAULT_HEADROOM, data.len().max(DEFAULT_ROOM));
        packet.set_data(data);
        packet
    }

    /// The frame.
    #[inline]
    pub fn data(&self) -> &[u8] {
        self.buffer.data()
    }

    /// The frame, to be changed in place.
    #[inline]
    pub fn data_mut(&mut self) -> &mut [u8] {
        self.buffer.data_mut()
    }

    /// Length of the frame in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether there are no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that can be prepended without moving the data.
    #[inline]
    pub fn headroom(&self) -> usize {
        self.buffer.headroom()
    }

    /// Empties the packet, restores the default headroom and clears the metadata.
    #[inline]
    pub fn reset(&mut self) {
        self.buffer.clear();
        self.original_length = 0;
        self.id = 0;
        self.timestamp_ns = 0;
    }

    /// Replaces the data by a copy of `data`, after the default headroom, and sets the original length to its length.
    #[inline]
    pub fn set_data(&mut self, data: &[u8]) {
        self.buffer.set(data);
        self.original_length = length_u32(data.len());
    }

    /// The same with data of two parts, of which the second may be empty.
    #[inline]
    pub fn set_parts(&mut self, first: &[u8], second: &[u8]) {
        self.set_data(first);
        if !second.is_empty() {
            self.append(second);
            self.original_length = length_u32(self.len());
        }
    }

    /// Makes this packet a copy of `other`, metadata included, in its own buffer.
    pub fn copy_from(&mut self, other: &Packet) {
        self.set_data(other.data());
        self.original_length = other.original_length;
        self.id = other.id;
        self.timestamp_ns = other.timestamp_ns;
    }

    /// The last `count` bytes of the headroom, which are before the data. Their content is unspecified at first.
    ///
    /// # Panics
    /// If there is less headroom.
    #[inline]
    pub fn headroom_mut(&mut self, count: usize) -> &mut [u8] {
        let start = self.headroom();
        &mut self.buffer.memory_mut()[start - count..start]
    }

    /// Puts `count` bytes in front of the data and returns them to be written.
    /// Their content is unspecified (whatever the buffer held).
    pub fn prepend(&mut self, count: usize) -> &mut [u8] {
        if count > self.headroom() {
            self.move_after(count + DEFAULT_HEADROOM);
        }
        self.buffer.place(self.headroom() - count, self.len() + count);
        &mut self.data_mut()[..count]
    }

    /// Removes up to `count` bytes from the front; returns how many were removed.
    fn remove_front(&mut self, count: usize) -> usize {
        let removed = count.min(self.len());
        self.buffer.place(self.headroom() + removed, self.len() - removed);
        removed
    }

    /// Sees to it that there are at least `headroom` bytes before the data of each packet.
    #[inline]
    pub fn make_headroom_in_all(packets: &mut [Packet], headroom: usize) {
        let have_default = || Buffer::all_begin_as_usual(packets.iter().map(|packet| &packet.buffer));
        if headroom > DEFAULT_HEADROOM || !have_default() {
            packets.iter_mut().for_each(|packet| packet.make_headroom(headroom));
        }
    }

    /// Replaces the first `old_count` bytes by `new`, moving only the start of the data.
    /// `old_count` beyond the data is taken as the whole data.
    pub fn replace_front(&mut self, old_count: usize, new: &[u8]) {
        self.remove_front(old_count);
        self.prepend(new.len()).copy_from_slice(new);
    }

    /// Appends a copy of `bytes`.
    #[inline]
    pub fn append(&mut self, bytes: &[u8]) {
        let (start, length) = (self.headroom(), self.len());
        self.buffer.grow(start + length + bytes.len());
        self.buffer.place(start, length + bytes.len());
        self.data_mut()[length..].copy_from_slice(bytes);
    }

    /// Sets where the data lies after a change in place: `start` bytes after the beginning of the buffer, `length`
    /// bytes long.
    ///
    /// # Panics
    /// When that is not within the buffer.
    #[inline]
    pub fn place_data(&mut self, start: usize, length: usize) {
        self.buffer.place(start, length);
    }

    /// Shortens the data to at most `length` bytes.
    #[inline]
    pub fn truncate(&mut self, length: usize) {
        self.buffer.truncate(length);
    }

    /// The room after an *empty* packet's start, for a receiver to write into.
    /// Follow with [`Packet::set_received`].
    #[inline]
    pub fn receive_room(&mut self) -> &mut [u8] {
        let start = self.headroom();
        &mut self.buffer.memory_mut()[start..]
    }

    /// Makes the data of each packet begin after the default headroom, with room for at least `bytes` bytes from there.
    /// The contents of the packets are unspecified afterwards.
    #[inline]
    pub fn make_room_in_all(packets: &mut [Packet], bytes: usize) {
        if !Buffer::all_begin_with_room(packets.iter().map(|packet| &packet.buffer), bytes) {
            for packet in packets {
                packet.reset();
                packet.buffer.grow(DEFAULT_HEADROOM + bytes);
            }
        }
    }

    /// Room for `bytes` more of a frame of which `length` bytes have been written to [`Packet::receive_room`]. What was
    /// written stays when the buffer grows.
    pub fn receive_room_behind(&mut self, length: usize, bytes: usize) -> &mut [u8] {
        let start = self.headroom() + length;
        self.buffer.grow(start + bytes);
        &mut self.buffer.memory_mut()[start..start + bytes]
    }

    /// Records that a receiver wrote `length` bytes, at most the length of [`Packet::receive_room`], and sets the
    /// original length.
    #[inline]
    pub fn set_received(&mut self, length: usize) {
        self.buffer.set_length(length);
        self.original_length = length_u32(length);
    }

    /// Makes sure that there are at least `headroom` bytes before the data.
    fn make_headroom(&mut self, headroom: usize) {
        if headroom > self.headroom() {
            self.move_after(headroom);
        }
    }

    /// Moves the data so that it begins after `headroom` bytes.
    fn move_after(&mut self, headroom: usize) {
        let (start, length) = (self.headroom(), self.len());
        self.buffer.grow(headroom + length);
        self.buffer.memory_mut().copy_within(start..start + length, headroom);
        self.buffer.place(headroom, length);
    }
}

/// A length as it is kept in packet metadata; lengths over 4 GiB do not occur and saturate.
fn length_u32(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

impl Default for Packet {
    fn default() -> Packet {
        Packet::new()
    }
}

/// Two packets are equal if a program could not distinguish them: same data and metadata.
impl PartialEq for Packet {
    fn eq(&self, other: &Packet) -> bool {
        self.data() == other.data()
            && self.original_length == other.original_length
            && self.id == other.id
            && self.timestamp_ns == other.timestamp_ns
    }
}

impl Eq for Packet {}

impl fmt::Debug for Packet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Packet(id {}, {} bytes:", self.id, self.len())?;
        for byte in self.data().iter().take(64) {
            write!(formatter, " {byte:02x}")?;
        }
        write!(formatter, "{})", if self.len() > 64 { " …" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_new_packet_is_empty_with_room_at_both_ends() {
        let packet = Packet::new();
        assert!(packet.is_empty());
        let behind = packet.buffer.size() - packet.headroom();
        assert_eq!((packet.headroom(), behind), (DEFAULT_HEADROOM, DEFAULT_ROOM));
    }

    #[test]
    fn headers_change_size_without_touching_the_payload() {
        let mut packet = Packet::from_bytes(b"HEADpayload");
        packet.replace_front(4, b"LONGERHEAD");
        assert_eq!(packet.data(), b"LONGERHEADpayload");
        packet.replace_front(10, b"");
        assert_eq!(packet.data(), b"payload");
        assert_eq!(packet.original_length, 11);
    }

    #[test]
    fn bytes_before_the_data_are_no_part_of_it() {
        let mut packet = Packet::from_bytes(b"frame");
        packet.headroom_mut(4).copy_from_slice(b"note");
        assert_eq!(packet.data(), b"frame");
        packet.prepend(4);
        assert_eq!(packet.data(), b"noteframe");
    }

    #[test]
    fn data_of_two_parts_is_one_frame() {
        let mut packet = Packet::from_bytes(&[9; 20]);
        let (head, tail) = ([1; 42], vec![2; 5000]);
        packet.set_parts(&head, &tail);
        assert_eq!(
            (packet.data(), packet.original_length),
            (&[&head[..], &tail].concat()[..], 5042)
        );
        packet.set_parts(&head, &[]);
        assert_eq!((packet.data(), packet.original_length), (&head[..], 42));
    }

    #[test]
    fn prepending_beyond_the_headroom_grows_the_buffer() {
        let mut packet = Packet::from_bytes(b"tail");
        packet.prepend(1000).fill(7);
        assert_eq!(packet.len(), 1004);
        assert!(packet.data()[..1000].iter().all(|&byte| byte == 7));
        assert_eq!(&packet.data()[1000..], b"tail");
        assert!(packet.headroom() > 0, "growing leaves headroom for the next header");
    }

    #[test]
    fn room_that_is_made_again_and_again_does_not_add_up() {
        let mut packet = Packet::new();
        for _ in 0..10 {
            packet.set_data(b"frame");
            packet.make_headroom(500);
            assert_eq!((packet.data(), packet.headroom()), (&b"frame"[..], 500));
            packet.prepend(600).fill(1);
            assert_eq!((packet.len(), packet.headroom()), (605, DEFAULT_HEADROOM));
        }
        assert_eq!(packet.buffer.size(), DEFAULT_HEADROOM + DEFAULT_ROOM);
        packet.make_headroom(5000);
        assert_eq!((packet.len(), packet.headroom()), (605, 5000));
    }

    #[test]
    fn a_receiver_cannot_claim_more_than_the_room() {
        let mut packet = Packet::with_room(4, 300);
        packet.reset();
        let room = packet.receive_room().len();
        packet.set_received(10_000);
        assert_eq!(packet.len(), room);
        assert_eq!(packet.original_length, 10_000);
    }

    /// An operation on a packet, to be compared with the same operation on a plain vector.
    #[derive(Debug, Clone)]
    enum Operation {
        Prepend(Vec<u8>),
        Append(Vec<u8>),
        RemoveFront(usize),
        Truncate(usize),
        ReplaceFront(usize, Vec<u8>),
    }

    fn operation() -> impl Strategy<Value = Operation> {
        let bytes = || proptest::collection::vec(any::<u8>(), 0..300);
        prop_oneof![
            bytes().prop_map(Operation::Prepend),
            bytes().prop_map(Operation::Append),
            (0..400usize).prop_map(Operation::RemoveFront),
            (0..3000usize).prop_map(Operation::Truncate),
            ((0..100usize), bytes()).prop_map(|(count, new)| Operation::ReplaceFront(count, new)),
        ]
    }

    fn apply(packet: &mut Packet, model: &mut Vec<u8>, operation: Operation) {
        match operation {
            Operation::Prepend(bytes) => {
                packet.prepend(bytes.len()).copy_from_slice(&bytes);
                model.splice(0..0, bytes);
            }
            Operation::Append(bytes) => {
                packet.append(&bytes);
                model.extend(bytes);
            }
            Operation::RemoveFront(count) => {
                packet.remove_front(count);
                model.drain(..count.min(model.len()));
            }
            Operation::Truncate(length) => {
                packet.truncate(length);
                model.truncate(length);
            }
            Operation::ReplaceFront(count, new) => {
                packet.replace_front(count, &new);
                model.splice(..count.min(model.len()), new);
            }
        }
    }

    proptest! {
        #[test]
        fn a_packet_behaves_like_a_vector(
            start in proptest::collection::vec(any::<u8>(), 0..2500),
            operations in proptest::collection::vec(operation(), 0..30),
        ) {
            let mut packet = Packet::from_bytes(&start);
            let mut model = start;
            for operation in operations {
                apply(&mut packet, &mut model, operation);
                prop_assert_eq!(packet.data(), &model[..]);
            }
        }
    }
}
