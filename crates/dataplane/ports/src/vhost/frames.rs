//! Frames in chains of buffers, behind the header of virtio-net (Virtual I/O Device 1.2 §5.1.6).
//!
//! A frame from the guest may be unfinished, if that was agreed on: its checksum is completed and a super-frame is cut here, since a
//! P4 program must see the frames of a wire. A frame to the guest may take several chains where buffers are mergeable.

use std::sync::Arc;

use forebay_packet::{Burst, DropReason, Packet, PortCounters};

use super::memory::{GuestMemory, Part};
use super::ring::{Chain, Direction, Ring, parts_room};
use crate::link::{Fault, ReceiveQueue, SendQueue};
use crate::offload::segments::Segments;
use crate::offload::{self, Offload};
use crate::system::OFFLOAD_HEADER;
use crate::system::event::Event;

/// The shortest frame, in bytes: an Ethernet header.
const ETHERNET_HEADER: usize = 14;

/// The longest frame or super-frame, in bytes.
const FRAME_MAX: usize = 65_550;

/// Bytes of the longer header, which ends with the number of chains that a frame takes.
const LONG_HEADER: usize = OFFLOAD_HEADER + 2;

/// The most chains that a frame takes.
const CHAINS_MAX: usize = 1024;

/// How frames stand in chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    /// Frames stand behind the longer header.
    pub(crate) has_long_header: bool,
    /// A frame to the guest may take several chains.
    pub(crate) is_mergeable: bool,
}

impl Format {
    fn header_bytes(self) -> usize {
        if self.has_long_header {
            LONG_HEADER
        } else {
            OFFLOAD_HEADER
        }
    }
}

/// Copies bytes out of parts, from `skip` bytes behind their beginning on.
#[inline]
fn gather(memory: &GuestMemory, parts: &[Part], mut skip: usize, mut to: &mut [u8]) {
    for part in parts {
        let skipped = skip.min(part.bytes);
        skip -= skipped;
        let (now, later) = to.split_at_mut((part.bytes - skipped).min(to.len()));
        memory.of(part).copy_out(part.at + skipped, now);
        to = later;
        if to.is_empty() {
            return;
        }
    }
}

/// Copies bytes into parts, from `skip` bytes behind their beginning on.
#[inline]
fn scatter(memory: &GuestMemory, parts: &[Part], mut skip: usize, mut from: &[u8]) {
    for part in parts {
        let skipped = skip.min(part.bytes);
        skip -= skipped;
        let (now, later) = from.split_at((part.bytes - skipped).min(from.len()));
        memory.of(part).copy_in(part.at + skipped, now);
        from = later;
        if from.is_empty() {
            return;
        }
    }
}

#[inline]
fn total(parts: &[Part]) -> usize {
    parts.iter().map(|part| part.bytes).sum()
}

/// A queue by which the guest sends.
pub(crate) struct Receiver {
    ring: Ring,
    format: Format,
    kick: Arc<Event>,
    call: Option<Arc<Event>>,
    parts: Vec<Part>,
    /// A super-frame before it is cut.
    large: Vec<u8>,
    segments: Segments,
}

impl Receiver {
    pub(crate) fn new(ring: Ring, format: Format, kick: Arc<Event>, call: Option<Arc<Event>>) -> Receiver {
        Receiver {
            ring,
            format,
            kick,
            call,
            parts: parts_room(),
            large: Vec::with_capacity(FRAME_MAX),
            segments: Segments::new(),
        }
    }

    /// The ring, to go on with in another way.
    pub(crate) fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Copies the frame in `self.parts` into the burst, which has room, or cuts it.
    #[inline]
    fn copy_frame(&mut self, burst: &mut Burst, now_ns: u64) -> Result<(), DropReason> {
        let header_bytes = self.format.header_bytes();
        let length = total(&self.parts).saturating_sub(header_bytes);
        match length {
            0..ETHERNET_HEADER => return Err(DropReason::TooShort),
            ETHERNET_HEADER..=FRAME_MAX => {}
            _ => return Err(DropReason::TooLong),
        }
        let memory = self.ring.memory();
        let mut header = [0; OFFLOAD_HEADER];
        gather(memory, &self.parts, 0, &mut header);
        let offload = Offload::parse(&header);
        if let Some(segmentation) = offload.segmentation {
            self.large.resize(length, 0);
            gather(memory, &self.parts, header_bytes, &mut self.large);
            return self.segments.cut(&self.large, segmentation, None);
        }
        let packet = burst.allocate().expect("there is room");
        gather(memory, &self.parts, header_bytes, packet.receive_room_behind(0, length));
        packet.set_received(length);
        packet.timestamp_ns = now_ns;
        match offload.checksum {
            Some((start, offset)) if !offload::complete_checksum(packet.data_mut(), start, offset) => {
                burst.truncate(burst.len() - 1);
                Err(DropReason::Truncated)
            }
            _ => Ok(()),
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
        let before = burst.len();
        let end = before + max.min(burst.room());
        let mut result = Ok(());
        while burst.len() < end {
            if !self.segments.is_empty() {
                let room = end - burst.len();
                self.segments.deliver(burst, room, now_ns, counters);
                continue;
            }
            self.parts.clear();
            let chain = match self.ring.take(Direction::FromGuest, &mut self.parts) {
                Ok(Some(chain)) => chain,
                Ok(None) => break,
                Err(fault) => {
                    result = Err(fault);
                    break;
                }
            };
            let in_burst = burst.len();
            match self.copy_frame(burst, now_ns) {
                Ok(()) => {
                    let frames = &burst.as_slice()[in_burst..];
                    frames.iter().for_each(|packet| counters.count_received(packet.len()));
                }
                Err(reason) => counters.count_drops(reason, 1),
            }
            self.ring.use_up(chain, 0);
        }
        self.ring.publish(self.call.as_deref());
        result.map(|()| burst.len() - before)
    }

    fn event(&self) -> Option<&Event> {
        Some(&self.kick)
    }

    fn arm(&mut self) -> bool {
        self.ring.arm() || !self.segments.is_empty()
    }

    fn disarm(&mut self) {
        self.ring.disarm();
    }
}

/// A queue by which the guest receives.
pub(crate) struct Sender {
    ring: Ring,
    format: Format,
    call: Option<Arc<Event>>,
    parts: Vec<Part>,
    /// Chains of a frame, each with where its parts end.
    chains: Vec<(Chain, usize)>,
}

impl Sender {
    pub(crate) fn new(ring: Ring, format: Format, call: Option<Arc<Event>>) -> Sender {
        Sender {
            ring,
            format,
            call,
            parts: parts_room(),
            chains: Vec::with_capacity(CHAINS_MAX),
        }
    }

    /// The ring, to go on with in another way.
    pub(crate) fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Takes chains until `bytes` fit into their parts. What was taken in vain is available again.
    #[inline]
    fn take_room(&mut self, bytes: usize) -> Result<Result<(), DropReason>, Fault> {
        self.parts.clear();
        self.chains.clear();
        let mut room = 0;
        loop {
            let first = self.parts.len();
            let Some(chain) = self.ring.take(Direction::ToGuest, &mut self.parts)? else {
                self.give_back();
                return Ok(Err(DropReason::QueueFull));
            };
            room += total(&self.parts[first..]);
            self.chains.push((chain, self.parts.len()));
            if room >= bytes {
                return Ok(Ok(()));
            }
            if !self.format.is_mergeable || self.chains.len() == CHAINS_MAX {
                self.give_back();
                return Ok(Err(DropReason::TooLong));
            }
        }
    }

    #[cold]
    fn give_back(&mut self) {
        for (chain, _) in self.chains.drain(..).rev() {
            self.ring.untake(&[chain]);
        }
    }

    /// Writes a frame, for which there is room, and says so chain by chain.
    #[inline]
    fn put(&mut self, frame: &[u8]) {
        let header_bytes = self.format.header_bytes();
        let mut header = [0; LONG_HEADER];
        header[OFFLOAD_HEADER..].copy_from_slice(&(self.chains.len() as u16).to_ne_bytes());
        let memory = self.ring.memory();
        scatter(memory, &self.parts, 0, &header[..header_bytes]);
        scatter(memory, &self.parts, header_bytes, frame);
        let (mut rest, mut first) = (header_bytes + frame.len(), 0);
        for (chain, end) in &self.chains {
            let written = total(&self.parts[first..*end]).min(rest);
            self.ring.use_up(*chain, written as u32);
            rest -= written;
            first = *end;
        }
    }
}

impl SendQueue for Sender {
    fn send(&mut self, packets: &[Packet], counters: &mut PortCounters) -> Result<usize, Fault> {
        let mut accepted = 0;
        let mut result = Ok(());
        for packet in packets {
            if packet.len() < ETHERNET_HEADER {
                counters.count_drops(DropReason::TooShort, 1);
                continue;
            }
            match self.take_room(self.format.header_bytes() + packet.len()) {
                Ok(Ok(())) => {
                    self.put(packet.data());
                    counters.count_sent(packet.len());
                    accepted += 1;
                }
                Ok(Err(reason)) => counters.count_drops(reason, 1),
                Err(fault) => {
                    result = Err(fault);
                    break;
                }
            }
        }
        self.ring.publish(self.call.as_deref());
        // The driver need not tell of new room: the next frame finds it.
        self.ring.disarm();
        result.map(|()| accepted)
    }
}
