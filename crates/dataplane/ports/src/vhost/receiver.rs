//! The queue by which a guest sends.
//!
//! A frame from the guest may be unfinished, if that was agreed on: its checksum is completed and a super-frame is cut
//! here, since a P4 program must see the frames of a wire.

use std::sync::Arc;

use forebay_packet::{Burst, DropReason, FRAME_BYTES_MAX, PortCounters};

use super::chains::{Chains, Taken, gather};
use super::format::{ETHERNET_HEADER, FRAME_MAX, Format};
use super::ring::{BATCH, Direction, Ring};
use crate::link::{Fault, ReceiveQueue};
use crate::offload::segments::Segments;
use crate::offload::{self, Offload};
use crate::system::OFFLOAD_HEADER;
use crate::system::event::Event;

/// A queue by which the guest sends.
pub(crate) struct Receiver {
    ring: Ring,
    format: Format,
    kick: Arc<Event>,
    call: Option<Arc<Event>>,
    chains: Chains,
    /// A super-frame before it is cut.
    large: Vec<u8>,
    segments: Segments,
}

impl Receiver {
    /// `segments` are those that an earlier one of the same ring has not delivered.
    pub(crate) fn new(
        ring: Ring,
        format: Format,
        kick: Arc<Event>,
        call: Option<Arc<Event>>,
        segments: Segments,
    ) -> Receiver {
        Receiver {
            ring,
            format,
            kick,
            call,
            chains: Chains::new(BATCH),
            large: Vec::with_capacity(FRAME_MAX),
            segments,
        }
    }

    /// The ring, and segments that were not delivered, to go on with in another way.
    pub(crate) fn into_parts(self) -> (Ring, Segments) {
        (self.ring, self.segments)
    }

    /// The guest is told by another event, or not at all.
    pub(crate) fn set_call(&mut self, call: Option<Arc<Event>>) {
        self.call = call;
    }

    /// Takes chains and puts their frames into the burst until `end` are in it. False when no chain was available.
    #[inline]
    fn receive_some(
        &mut self,
        burst: &mut Burst,
        end: usize,
        now_ns: u64,
        counters: &mut PortCounters,
    ) -> Result<bool, Fault> {
        self.chains.clear();
        let wanted = end - burst.len();
        let outcome = self.ring.take_several(Direction::FromGuest, wanted, &mut self.chains);
        let count = self.chains.taken().len();
        let mut done = 0;
        // A super-frame may fill the burst.
        while done < count && self.segments.is_empty() {
            let taken = self.chains.taken()[done];
            if let Err(reason) = self.copy_frame(&taken, burst, now_ns, counters) {
                counters.count_received_drops(reason, 1);
            }
            self.ring.use_up(taken.chain, 0);
            done += 1;
        }
        self.ring.untake(&self.chains.taken()[done..]);
        outcome.map(|()| count > 0)
    }

    /// Copies the frame of a chain into the burst, which has room, or cuts it.
    #[inline]
    fn copy_frame(
        &mut self,
        taken: &Taken,
        burst: &mut Burst,
        now_ns: u64,
        counters: &mut PortCounters,
    ) -> Result<(), DropReason> {
        let header_bytes = self.format.header_bytes();
        let length = taken.bytes.saturating_sub(header_bytes);
        match length {
            0..ETHERNET_HEADER => return Err(DropReason::TooShort),
            ETHERNET_HEADER..=FRAME_MAX => {}
            _ => return Err(DropReason::TooLong),
        }
        let (memory, parts) = (self.ring.memory(), self.chains.parts(taken));
        let mut header = [0; OFFLOAD_HEADER];
        if self.format.may_be_unfinished {
            gather(memory, parts, 0, &mut header);
        }
        if header[..2] != [0; 2] {
            return self.finish_frame(taken, &Offload::parse(&header), burst, now_ns, counters);
        }
        if length > FRAME_BYTES_MAX {
            return Err(DropReason::TooLong);
        }
        let packet = burst.allocate().expect("there is room");
        gather(memory, parts, header_bytes, packet.receive_room_behind(0, length));
        packet.set_received(length);
        packet.timestamp_ns = now_ns;
        counters.count_received(length);
        Ok(())
    }

    /// As [`Receiver::copy_frame`] for a frame on which something is left to do. Its length was checked.
    fn finish_frame(
        &mut self,
        taken: &Taken,
        offload: &Offload,
        burst: &mut Burst,
        now_ns: u64,
        counters: &mut PortCounters,
    ) -> Result<(), DropReason> {
        let header_bytes = self.format.header_bytes();
        let length = taken.bytes - header_bytes;
        let (memory, parts) = (self.ring.memory(), self.chains.parts(taken));
        if let Some(segmentation) = offload.segmentation {
            self.large.resize(length, 0);
            gather(memory, parts, header_bytes, &mut self.large);
            return self.segments.cut(&self.large, segmentation, None);
        }
        if length > FRAME_BYTES_MAX {
            return Err(DropReason::TooLong);
        }
        let packet = burst.allocate().expect("there is room");
        gather(memory, parts, header_bytes, packet.receive_room_behind(0, length));
        packet.set_received(length);
        packet.timestamp_ns = now_ns;
        if let Some((start, offset)) = offload.checksum
            && !offload::complete_checksum(packet.data_mut(), start, offset)
        {
            burst.truncate(burst.len() - 1);
            return Err(DropReason::Truncated);
        }
        counters.count_received(length);
        Ok(())
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
        // Those that are dropped count too: a guest could keep the worker with a whole ring of them.
        let mut chains = end - before;
        let mut goes_on = Ok(true);
        while burst.len() < end && goes_on == Ok(true) {
            if !self.segments.is_empty() {
                self.segments.deliver(burst, end - burst.len(), now_ns, counters);
            } else if chains > 0 {
                goes_on = self.receive_some(burst, end, now_ns, counters);
                chains = chains.saturating_sub(self.chains.taken().len());
            } else {
                break;
            }
        }
        self.ring.publish(self.call.as_deref());
        goes_on.map(|_| burst.len() - before)
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
