//! The way of a port's packets into ingress: input buffers and the parser.
//!
//! The parser takes one packet after another, each for as many cycles as it has states for it (see [`crate::parse`]):
//! first what is new, then what was recirculated through this port, then what was resubmitted (the published switch
//! gives resubmitted packets lower priority than new ones, and loses them under overload).

use crate::books::Loss;
use crate::pacer::{Pacer, Picos};
use crate::spec::ChipSpec;
use crate::timing::{Arrival, Timing};
use forebay_pipeline::IngressPacket;
use std::collections::VecDeque;

/// Where a packet comes from, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    New,
    Recirculated,
    Resubmitted,
}

/// An arriving packet, and the length of its frame. The length is stored here so that queuing the packet does not
/// access its memory, which is probably not in a cache.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) packet: IngressPacket,
    pub(crate) bytes: u32,
}

impl From<IngressPacket> for Incoming {
    #[inline]
    fn from(packet: IngressPacket) -> Incoming {
        Incoming {
            bytes: packet.bytes.len() as u32,
            packet,
        }
    }
}

/// A buffer with a limit of bytes and one of packets.
#[derive(Debug)]
struct InputBuffer {
    packets: VecDeque<Incoming>,
    bytes: u64,
    bytes_max: u64,
    packets_max: usize,
    full: Loss,
}

#[derive(Debug)]
pub(crate) struct ParserChannel {
    /// The packet that is being parsed. None waits when there is none.
    serving: Option<(IngressPacket, Arrival)>,
    /// How long that takes.
    duration: Picos,
    buffers: [InputBuffer; 3],
    parts: Pacer,
    /// Time for all packets so far, to the end of the one that is being parsed.
    busy: Picos,
    busy_until: Picos,
}

impl ParserChannel {
    pub(crate) fn new(spec: &ChipSpec, timing: &Timing) -> ParserChannel {
        let resubmit_packets = spec.parser.resubmit_buffer_packets as usize;
        let by_bytes = |full| InputBuffer::new(spec.ports.input_buffer_bytes, usize::MAX, full);
        ParserChannel {
            serving: None,
            duration: 0,
            buffers: [
                by_bytes(Loss::InputBufferFull),
                by_bytes(Loss::RecirculationBufferFull),
                InputBuffer::new(u64::MAX, resubmit_packets, Loss::ResubmitBufferFull),
            ],
            parts: Pacer::new(timing.parts_per_second),
            busy: 0,
            busy_until: 0,
        }
    }

    /// Begins to parse a packet, and returns the time that this takes; or queues the packet when another one is being
    /// parsed; or gives it back with the reason why there is no room.
    #[inline(always)]
    pub(crate) fn offer(
        &mut self,
        origin: Origin,
        incoming: Incoming,
        timing: &Timing,
        now: Picos,
    ) -> Result<Option<Picos>, (Loss, IngressPacket)> {
        let buffer = &mut self.buffers[origin as usize];
        if !buffer.has_room(incoming.bytes) {
            return Err((buffer.full, incoming.packet));
        }
        if self.serving.is_some() {
            buffer.push(incoming);
            return Ok(None);
        }
        Ok(Some(self.serve(incoming, timing, now)))
    }

    /// The tag of the packet that is being parsed, and how long that takes.
    #[inline]
    pub(crate) fn serving(&self) -> Option<(u64, Picos)> {
        let (packet, _) = self.serving.as_ref()?;
        Some((packet.tag, self.duration))
    }

    /// The packet that was being parsed.
    #[inline]
    pub(crate) fn finish(&mut self) -> (IngressPacket, Arrival) {
        self.serving.take().expect("an end of service has a beginning")
    }

    /// Begins to parse the next packet that waits, after [`Self::finish`]. Returns the time that this takes.
    #[inline(always)]
    pub(crate) fn begin(&mut self, timing: &Timing, now: Picos) -> Option<Picos> {
        let incoming = self.buffers.iter_mut().find_map(InputBuffer::pop)?;
        Some(self.serve(incoming, timing, now))
    }

    #[inline]
    fn serve(&mut self, Incoming { packet, .. }: Incoming, timing: &Timing, now: Picos) -> Picos {
        let (parts, arrival) = timing.parse(&packet);
        self.serving = Some((packet, arrival));
        self.duration = self.parts.take(parts.into());
        self.busy += self.duration;
        self.busy_until = now + self.duration;
        self.duration
    }

    /// The time for which it has been busy so far.
    pub(crate) fn busy(&self, now: Picos) -> Picos {
        self.busy - self.busy_until.saturating_sub(now)
    }

    /// Packets in its buffers, and the one that it parses.
    pub(crate) fn packets(&self) -> u64 {
        let waiting: usize = self.buffers.iter().map(|buffer| buffer.packets.len()).sum();
        waiting as u64 + u64::from(self.serving.is_some())
    }
}

impl InputBuffer {
    fn new(bytes_max: u64, packets_max: usize, full: Loss) -> InputBuffer {
        InputBuffer {
            packets: VecDeque::new(),
            bytes: 0,
            bytes_max,
            packets_max,
            full,
        }
    }

    #[inline]
    fn has_room(&self, bytes: u32) -> bool {
        self.bytes + u64::from(bytes) <= self.bytes_max && self.packets.len() < self.packets_max
    }

    #[inline]
    fn push(&mut self, incoming: Incoming) {
        self.bytes += u64::from(incoming.bytes);
        self.packets.push_back(incoming);
    }

    #[inline]
    fn pop(&mut self) -> Option<Incoming> {
        let incoming = self.packets.pop_front()?;
        self.bytes -= u64::from(incoming.bytes);
        Some(incoming)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_pipeline::IngressArguments;

    fn packet(bytes: usize, tag: u64) -> Incoming {
        let mut packet = IngressPacket::new(vec![0; bytes], IngressArguments::default());
        packet.tag = tag;
        packet.into()
    }

    /// A parser of one state for every packet, of 1 ns.
    fn timing() -> Timing {
        Timing::of_one_state(1_000_000_000)
    }

    #[test]
    fn new_packets_go_before_those_that_come_back() {
        let (spec, timing) = (ChipSpec::known("tofino").unwrap(), timing());
        let mut channel = ParserChannel::new(&spec, &timing);
        let offers = [
            (Origin::Resubmitted, 0),
            (Origin::Resubmitted, 1),
            (Origin::Recirculated, 2),
            (Origin::New, 3),
        ];
        for (origin, tag) in offers {
            let begins = channel.offer(origin, packet(60, tag), &timing, 0).unwrap();
            assert_eq!(begins, (tag == 0).then_some(1_000), "the first finds the parser idle");
        }
        let mut order = vec![channel.finish().0.tag];
        while channel.begin(&timing, 0).is_some() {
            order.push(channel.finish().0.tag);
        }
        assert_eq!(order, [0, 3, 2, 1]);
    }

    #[test]
    fn the_resubmit_buffer_counts_packets_the_others_bytes() {
        let (mut spec, timing) = (ChipSpec::known("tofino").unwrap(), timing());
        spec.ports.input_buffer_bytes = 10_000;
        let mut channel = ParserChannel::new(&spec, &timing);
        channel.offer(Origin::New, packet(60, 0), &timing, 0).unwrap();
        let mut refused = |origin, bytes| {
            let offer = |count| Some((count, channel.offer(origin, packet(bytes, 0), &timing, 0).err()?.0));
            (0..).find_map(offer).unwrap()
        };
        assert_eq!(refused(Origin::Resubmitted, 100), (16, Loss::ResubmitBufferFull));
        assert_eq!(refused(Origin::New, 1000), (10, Loss::InputBufferFull));
        assert_eq!(refused(Origin::Recirculated, 1000), (10, Loss::RecirculationBufferFull));
    }
}
