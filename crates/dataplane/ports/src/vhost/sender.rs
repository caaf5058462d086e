//! The queue by which a guest receives.
//!
//! Most frames fit into one chain: those are written in groups, whose chains are taken together. A frame that takes
//! several, which is possible where buffers are mergeable, is written by itself. TCP segments that were cut from one
//! super-frame go to the guest as one again, if that was agreed on ([`crate::offload::join`]).

use std::iter::once;
use std::sync::Arc;

use forebay_packet::{DropReason, Packet, PortCounters};

use super::chains::{Chains, Taken, Writer};
use super::format::{ETHERNET_HEADER, FRAME_MAX, Format, LONG_HEADER};
use super::memory::{GuestMemory, Part};
use super::ring::{BATCH, Direction, Ring};
use crate::link::{Fault, SendQueue};
use crate::offload::join::Joined;
use crate::system::OFFLOAD_HEADER;
use crate::system::event::Event;

/// The most chains that a frame takes.
const CHAINS_MAX: usize = 1024;

/// The header of a frame on which nothing is left to do.
const FINISHED: [u8; OFFLOAD_HEADER] = [0; OFFLOAD_HEADER];

/// A queue by which the guest receives.
pub(crate) struct Sender {
    ring: Ring,
    format: Format,
    call: Option<Arc<Event>>,
    chains: Chains,
}

/// The longer header of a frame that takes this number of chains.
#[inline]
fn long_header(offload: &[u8; OFFLOAD_HEADER], chains: usize) -> [u8; LONG_HEADER] {
    let mut header = [0; LONG_HEADER];
    header[..OFFLOAD_HEADER].copy_from_slice(offload);
    header[OFFLOAD_HEADER..].copy_from_slice(&(chains as u16).to_ne_bytes());
    header
}

/// Writes a frame and its header into a chain that has room for them.
#[inline]
fn put(memory: &GuestMemory, parts: &[Part], format: Format, frame: &[u8]) {
    let header = long_header(&FINISHED, 1);
    match parts {
        [first, ..] if format.has_long_header && first.bytes >= LONG_HEADER + frame.len() => {
            let memory = memory.of(first);
            memory.replace(first.at, &header);
            memory.copy_in(first.at + LONG_HEADER, frame);
        }
        _ => {
            let mut writer = Writer::new(memory, parts);
            writer.write(&header[..format.header_bytes()]);
            writer.write(frame);
        }
    }
}

impl Sender {
    pub(crate) fn new(ring: Ring, format: Format, call: Option<Arc<Event>>) -> Sender {
        Sender {
            ring,
            format,
            call,
            chains: Chains::new(CHAINS_MAX),
        }
    }

    /// The ring, to go on with in another way.
    pub(crate) fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The guest is told by another event, or not at all.
    pub(crate) fn set_call(&mut self, call: Option<Arc<Event>>) {
        self.call = call;
    }

    fn send_all(&mut self, packets: &[Packet], counters: &mut PortCounters) -> Result<(), Fault> {
        let mut rest = packets;
        while !rest.is_empty() {
            let (singly, joined) = self.plan(rest);
            let sent = self.send_group(&rest[..singly], counters)?;
            rest = &rest[sent..];
            if sent < singly {
                self.send_alone(&rest[0], counters)?;
                rest = &rest[1..];
            } else if let Some(joined) = joined {
                let (segments, behind) = rest.split_at(joined.segments());
                self.send_joined(&joined, segments, counters)?;
                rest = behind;
            }
        }
        Ok(())
    }

    /// How many of the first packets go as they are, and what follows them joined.
    #[inline]
    fn plan(&self, packets: &[Packet]) -> (usize, Option<Joined>) {
        let group = packets.len().min(BATCH);
        if !self.format.takes_super_frames {
            return (group, None);
        }
        let joined = (0..group).find_map(|at| Joined::first_of(&packets[at..], FRAME_MAX).map(|joined| (at, joined)));
        joined.map_or((group, None), |(at, joined)| (at, Some(joined)))
    }

    /// Sends the first packets, as long as each fits into the next chain. Returns how many.
    #[inline]
    fn send_group(&mut self, packets: &[Packet], counters: &mut PortCounters) -> Result<usize, Fault> {
        let Sender {
            ring, format, chains, ..
        } = self;
        chains.clear();
        let outcome = ring.take_several(Direction::ToGuest, packets.len(), chains);
        let mut sent = 0;
        for (packet, taken) in packets.iter().zip(chains.taken()) {
            let bytes = format.header_bytes() + packet.len();
            if bytes > taken.bytes || packet.len() < ETHERNET_HEADER {
                break;
            }
            put(ring.memory(), chains.parts(taken), *format, packet.data());
            ring.use_up(taken.chain, bytes as u32);
            counters.count_sent(packet.len());
            sent += 1;
        }
        ring.untake(&chains.taken()[sent..]);
        outcome.map(|()| sent)
    }

    /// Sends a packet in as many chains as it takes, or drops it.
    fn send_alone(&mut self, packet: &Packet, counters: &mut PortCounters) -> Result<(), Fault> {
        let outcome = match packet.len() {
            0..ETHERNET_HEADER => Err(DropReason::TooShort),
            length => self.send_over(&FINISHED, length, once(packet.data()))?,
        };
        match outcome {
            Ok(()) => counters.count_sent(packet.len()),
            Err(reason) => counters.count_drops(reason, 1),
        }
        Ok(())
    }

    /// Sends segments as a super-frame, or by themselves when there is no room for all.
    fn send_joined(&mut self, joined: &Joined, segments: &[Packet], counters: &mut PortCounters) -> Result<(), Fault> {
        let payloads = || segments.iter().map(|packet| joined.payload(packet));
        let length = joined.headers().len() + payloads().map(<[u8]>::len).sum::<usize>();
        match self.send_over(&joined.offload, length, once(joined.headers()).chain(payloads()))? {
            Ok(()) => segments.iter().for_each(|packet| counters.count_sent(packet.len())),
            Err(_) => segments
                .iter()
                .try_for_each(|packet| self.send_alone(packet, counters))?,
        }
        Ok(())
    }

    /// Sends a frame of `length` bytes, which come piece by piece, in as many chains as it takes, and says so chain by
    /// chain.
    fn send_over<'a>(
        &mut self,
        offload: &[u8; OFFLOAD_HEADER],
        length: usize,
        pieces: impl Iterator<Item = &'a [u8]>,
    ) -> Result<Result<(), DropReason>, Fault> {
        let header_bytes = self.format.header_bytes();
        if let Err(reason) = self.take_room(header_bytes + length)? {
            self.ring.untake(self.chains.taken());
            return Ok(Err(reason));
        }
        let header = long_header(offload, self.chains.taken().len());
        let mut writer = Writer::new(self.ring.memory(), self.chains.all_parts());
        writer.write(&header[..header_bytes]);
        pieces.for_each(|piece| writer.write(piece));
        let mut rest = header_bytes + length;
        for Taken { chain, bytes, .. } in self.chains.taken() {
            let written = rest.min(*bytes);
            self.ring.use_up(*chain, written as u32);
            rest -= written;
        }
        Ok(Ok(()))
    }

    /// Takes chains until `bytes` fit into them.
    fn take_room(&mut self, bytes: usize) -> Result<Result<(), DropReason>, Fault> {
        self.chains.clear();
        let mut room = 0;
        while room < bytes {
            let count = self.chains.taken().len();
            if count > 0 && (!self.format.is_mergeable || count == CHAINS_MAX) {
                return Ok(Err(DropReason::TooLong));
            }
            self.ring.take_several(Direction::ToGuest, 1, &mut self.chains)?;
            match self.chains.taken().get(count) {
                Some(taken) => room += taken.bytes,
                None => return Ok(Err(DropReason::QueueFull)),
            }
        }
        Ok(Ok(()))
    }
}

impl SendQueue for Sender {
    fn send(&mut self, packets: &[Packet], counters: &mut PortCounters) -> Result<usize, Fault> {
        let before = counters.sent_packets;
        let result = self.send_all(packets, counters);
        self.ring.publish(self.call.as_deref());
        // The driver need not tell of new room: the next frame finds it.
        self.ring.disarm();
        result.map(|()| (counters.sent_packets - before) as usize)
    }
}
