//! Frames in rings of memif: taking them out, and putting them in.

use forebay_packet::{Burst, DropReason, FRAME_BYTES_MAX, Packet, PortCounters};

use super::ring::{CONTINUES, Part, Ring, Side};
use crate::link::{Fault, ReceiveQueue, SendQueue};
use crate::system::event::Event;

/// The shortest frame, in bytes: an Ethernet header.
const ETHERNET_HEADER: usize = 14;

/// The side of a ring that takes packets out.
pub(crate) struct Receiver(Ring);

impl Receiver {
    /// Around a ring. A client puts all its buffers there.
    pub(crate) fn new(ring: Ring) -> Receiver {
        let mut receiver = Receiver(ring);
        if let Side::Client { .. } = receiver.0.side {
            receiver.refill(receiver.0.size());
        }
        receiver.disarm();
        receiver
    }

    /// A client puts the buffers of the last `count` descriptors there again, in front of its position.
    fn refill(&mut self, count: u16) {
        let ring = &self.0;
        let size = ring.size();
        for back in (1..=count).rev() {
            let position = ring.next.wrapping_sub(back);
            let buffer = ring.own_buffer(position);
            ring.describe(position, 0, buffer, buffer.bytes);
        }
        ring.publish_head(ring.next.wrapping_add(size));
    }

    /// Packets, or parts of such, that are there.
    #[inline]
    fn available(&self) -> Result<u16, Fault> {
        let ring = &self.0;
        let end = match ring.side {
            Side::Server => ring.head(),
            Side::Client { .. } => ring.tail(),
        };
        match end.wrapping_sub(ring.next) {
            count if count <= ring.size() => Ok(count),
            _ => Err(Fault("a ring has more in it than it holds")),
        }
    }

    /// Copies the frame at our position, of up to `available` descriptors, into a packet. Returns how many it took.
    fn take(&self, available: u16, packet: &mut Packet) -> Result<(u16, Option<DropReason>), Fault> {
        let ring = &self.0;
        let (flags, first) = ring.descriptor(ring.next)?;
        if flags & CONTINUES == 0 && first.bytes <= packet.receive_room().len().min(FRAME_BYTES_MAX) {
            ring.regions[first.region].copy_out(first.at, &mut packet.receive_room()[..first.bytes]);
            packet.set_received(first.bytes);
            return Ok((1, None));
        }
        self.take_parts(available, packet)
    }

    /// As [`Receiver::take`] for a frame in several parts, or one that needs a larger buffer.
    #[cold]
    fn take_parts(&self, available: u16, packet: &mut Packet) -> Result<(u16, Option<DropReason>), Fault> {
        let ring = &self.0;
        let (mut count, mut length) = (0, 0);
        loop {
            let (flags, part) = ring.descriptor(ring.next.wrapping_add(count))?;
            count += 1;
            let is_too_long = length + part.bytes > FRAME_BYTES_MAX;
            if !is_too_long {
                let room = packet.receive_room_behind(length, part.bytes);
                ring.regions[part.region].copy_out(part.at, room);
                length += part.bytes;
            }
            let continues = flags & CONTINUES != 0;
            if is_too_long || continues && count == available {
                // The rest of it is read as another frame, which is dropped for the same reason or by the program's
                // parser.
                return Ok((count, Some(DropReason::Truncated)));
            }
            if !continues {
                packet.set_received(length);
                return Ok((count, None));
            }
        }
    }

    #[inline]
    fn release(&mut self, count: u16) {
        match self.0.side {
            Side::Server => self.0.publish_tail(self.0.next),
            Side::Client { .. } => self.refill(count),
        }
    }
}

impl ReceiveQueue for Receiver {
    fn receive(
        &mut self,
        burst: &mut Burst,
        max: usize,
        now_ns: u64,
        counters: &mut PortCounters,
    ) -> Result<usize, Fault> {
        let available = self.available()?;
        let (mut taken, mut count, mut frames) = (0, 0, 0);
        // Those that are dropped count too: a peer could keep the worker with a whole ring of them.
        while taken < available && frames < max {
            frames += 1;
            let packet = burst.allocate().expect("there is room for `max` packets");
            let outcome = self.take(available - taken, packet);
            packet.timestamp_ns = now_ns;
            let length = packet.len();
            let dropped = match outcome {
                Ok((descriptors, dropped)) => {
                    taken += descriptors;
                    self.0.next = self.0.next.wrapping_add(descriptors);
                    dropped
                }
                Err(fault) => {
                    burst.truncate(burst.len() - 1);
                    return Err(fault);
                }
            };
            let dropped = dropped.or((length == 0).then_some(DropReason::TooShort));
            match dropped {
                None => {
                    counters.count_received(length);
                    count += 1;
                }
                Some(reason) => {
                    burst.truncate(burst.len() - 1);
                    counters.count_received_drops(reason, 1);
                }
            }
        }
        if taken > 0 {
            self.release(taken);
        }
        Ok(count)
    }

    fn event(&self) -> Option<&Event> {
        Some(self.0.event())
    }

    fn arm(&mut self) -> bool {
        self.0.want_events(true);
        self.available() != Ok(0)
    }

    fn disarm(&mut self) {
        self.0.want_events(false);
    }
}

/// The side of a ring that puts packets in.
pub(crate) struct Sender(Ring);

impl Sender {
    /// Around a ring.
    pub(crate) fn new(ring: Ring) -> Sender {
        Sender(ring)
    }

    /// Descriptors that can be written.
    #[inline]
    fn room(&self) -> Result<u16, Fault> {
        let ring = &self.0;
        let size = ring.size();
        match ring.side {
            Side::Server => match ring.head().wrapping_sub(ring.next) {
                room if room <= size => Ok(room),
                _ => Err(Fault("a ring has more buffers in it than it holds")),
            },
            Side::Client { .. } => match ring.next.wrapping_sub(ring.tail()) {
                used if used <= size => Ok(size - used),
                _ => Err(Fault("a ring has more taken out than was in it")),
            },
        }
    }

    /// The buffer at a position.
    #[inline]
    fn buffer(&self, position: u16) -> Result<Part, Fault> {
        match self.0.side {
            Side::Server => self.0.descriptor(position).map(|(_, part)| part),
            Side::Client { .. } => Ok(self.0.own_buffer(position)),
        }
    }

    /// Writes a frame, for which there are up to `room` buffers; returns how many it took, 0 when they are too few.
    #[inline]
    fn put(&self, frame: &[u8], room: u16) -> Result<u16, Fault> {
        if room == 0 {
            return Ok(0);
        }
        let ring = &self.0;
        let buffer = self.buffer(ring.next)?;
        if frame.len() > buffer.bytes {
            return self.put_parts(frame, room);
        }
        ring.regions[buffer.region].copy_in(buffer.at, frame);
        ring.describe(ring.next, 0, buffer, frame.len());
        Ok(1)
    }

    /// As [`Sender::put`] for a frame that one buffer does not hold. No descriptor is written unless all of it fits,
    /// because those of a client tell how long its buffers are.
    #[cold]
    fn put_parts(&self, frame: &[u8], room: u16) -> Result<u16, Fault> {
        let ring = &self.0;
        let mut total = 0;
        for count in 0..room {
            total += self.buffer(ring.next.wrapping_add(count))?.bytes;
            if total >= frame.len() {
                break;
            }
        }
        if total < frame.len() {
            return Ok(0);
        }
        let mut rest = frame;
        for count in 0..room {
            let position = ring.next.wrapping_add(count);
            let buffer = self.buffer(position)?;
            let (part, after) = rest.split_at(rest.len().min(buffer.bytes));
            ring.regions[buffer.region].copy_in(buffer.at, part);
            let flags = if after.is_empty() { 0 } else { CONTINUES };
            ring.describe(position, flags, buffer, part.len());
            if after.is_empty() {
                return Ok(count + 1);
            }
            rest = after;
        }
        Err(Fault("a buffer has become shorter while it was filled"))
    }
}

impl SendQueue for Sender {
    fn send(&mut self, packets: &[Packet], counters: &mut PortCounters) -> Result<usize, Fault> {
        let mut room = self.room()?;
        let (mut accepted, mut fault) = (0, None);
        let before = self.0.next;
        for packet in packets {
            let put = match packet.len() {
                ETHERNET_HEADER.. => self.put(packet.data(), room),
                _ => Ok(0),
            };
            let count = match put {
                Ok(count) => count,
                Err(found) => {
                    fault = Some(found);
                    break;
                }
            };
            if count == 0 {
                let is_short = packet.len() < ETHERNET_HEADER;
                let reason = if is_short {
                    DropReason::TooShort
                } else {
                    DropReason::QueueFull
                };
                counters.count_drops(reason, 1);
                continue;
            }
            room -= count;
            self.0.next = self.0.next.wrapping_add(count);
            counters.count_sent(packet.len());
            accepted += 1;
        }
        if self.0.next != before {
            match self.0.side {
                Side::Server => self.0.publish_tail(self.0.next),
                Side::Client { .. } => self.0.publish_head(self.0.next),
            }
            self.0.ring_peer();
        }
        fault.map_or(Ok(accepted), Err)
    }
}
