//! Frames cut from super-frames, until the switch takes them: there may be more than fit in a burst.

use std::collections::VecDeque;

use forebay_packet::{Burst, DropReason, Packet, Pool, PortCounters};

use super::{Segmentation, insert_vlan_tag, segment};

/// Spare packets that are kept: the segments of a super-frame of 64 KiB, and some.
const SPARES: usize = 128;

/// Segments that wait, in order.
pub(crate) struct Segments {
    ready: VecDeque<Packet>,
    spares: Pool,
}

impl Segments {
    pub(crate) fn new() -> Segments {
        Segments {
            ready: VecDeque::with_capacity(SPARES),
            spares: Pool::new(SPARES),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    /// Cuts a super-frame into the frames that a network card would have sent, each with `vlan` put back.
    ///
    /// # Errors
    /// When it cannot be cut here.
    pub(crate) fn cut(
        &mut self,
        frame: &[u8],
        segmentation: Segmentation,
        vlan: Option<(u16, u16)>,
    ) -> Result<(), DropReason> {
        let plan = segment::Plan::new(frame, segmentation).ok_or(DropReason::Unsegmentable)?;
        for number in 0..plan.count() {
            let mut segment = self.spares.take();
            plan.write(frame, number, &mut segment);
            if let Some((protocol, control)) = vlan {
                insert_vlan_tag(&mut segment, protocol, control);
                segment.original_length = segment.len() as u32;
            }
            self.ready.push_back(segment);
        }
        Ok(())
    }

    /// Moves up to `max` segments to the switch, counts them, and returns how many.
    pub(crate) fn deliver(&mut self, burst: &mut Burst, max: usize, now_ns: u64, counters: &mut PortCounters) -> usize {
        let count = max.min(burst.room()).min(self.ready.len());
        for mut packet in self.ready.drain(..count) {
            packet.timestamp_ns = now_ns;
            counters.count_received(packet.len());
            let accepted = burst.push_exchange(&mut packet);
            debug_assert!(accepted, "the count was bounded by the burst's room");
            self.spares.give(packet);
        }
        count
    }
}
