//! The way of a port's packets into the ingress pipeline.
//!
//! One channel of limited bits and packets a second takes in, one after another, the packets of three buffers: first what
//! is new, then what was recirculated through this port, then what was resubmitted (the published switch gives
//! resubmitted packets lower priority than new ones, and loses them under overload).

use crate::books::Loss;
use crate::pacer::{Pacer, Picos};
use crate::spec::{ChipSpec, Framing};
use forebay_pipeline::IngressPacket;
use std::collections::VecDeque;

/// Where a packet comes from, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    New,
    Recirculated,
    Resubmitted,
}

/// A packet that comes, and how long its frame is: who only lets it wait need not look at it, for it is likely to be far from the
/// processor.
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
    /// The packet that is being taken in. None waits when there is none.
    serving: Option<IngressPacket>,
    buffers: [InputBuffer; 3],
    bits: Pacer,
    packets: Pacer,
    short_packet_bytes: u32,
    framing: Framing,
    busy: Picos,
}

impl ParserChannel {
    pub(crate) fn new(spec: &ChipSpec) -> ParserChannel {
        let parser = &spec.parser;
        let resubmit_packets = parser.resubmit_buffer_packets as usize;
        let by_bytes = |bytes, full| InputBuffer::new(bytes, usize::MAX, full);
        ParserChannel {
            serving: None,
            buffers: [
                by_bytes(spec.ports.input_buffer_bytes, Loss::InputBufferFull),
                by_bytes(parser.recirculation_buffer_bytes, Loss::RecirculationBufferFull),
                InputBuffer::new(u64::MAX, resubmit_packets, Loss::ResubmitBufferFull),
            ],
            bits: Pacer::new(parser.bits_per_second),
            packets: Pacer::new(parser.packets_per_second),
            short_packet_bytes: parser.short_packet_bytes,
            framing: spec.framing,
            busy: 0,
        }
    }

    /// Begins to take in a packet, and says how long that takes; or lets it wait for its turn when another one is being
    /// taken in; or gives it back with the reason why there is no room.
    #[inline(always)]
    pub(crate) fn offer(&mut self, origin: Origin, incoming: Incoming) -> Result<Option<Picos>, (Loss, IngressPacket)> {
        let buffer = &mut self.buffers[origin as usize];
        if !buffer.has_room(incoming.bytes) {
            return Err((buffer.full, incoming.packet));
        }
        if self.serving.is_some() {
            buffer.push(incoming);
            return Ok(None);
        }
        Ok(Some(self.serve(incoming)))
    }

    /// The packet that was being taken in.
    #[inline]
    pub(crate) fn finish(&mut self) -> IngressPacket {
        self.serving.take().expect("an end of service has a beginning")
    }

    /// Begins to take in the next packet that waits, after [`Self::finish`]; says how long that takes.
    #[inline(always)]
    pub(crate) fn begin(&mut self) -> Option<Picos> {
        let incoming = self.buffers.iter_mut().find_map(InputBuffer::pop)?;
        Some(self.serve(incoming))
    }

    #[inline]
    fn serve(&mut self, Incoming { packet, bytes }: Incoming) -> Picos {
        self.serving = Some(packet);
        let by_bits = self.bits.take(8 * self.framing.wire_bytes(bytes));
        let by_packets = if bytes > self.short_packet_bytes {
            self.packets.take(1)
        } else {
            0
        };
        let duration = by_bits.max(by_packets);
        self.busy += duration;
        duration
    }

    /// Time that it has served so far.
    pub(crate) fn busy(&self) -> Picos {
        self.busy
    }

    /// Packets in its buffers, and the one that it takes in.
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

    #[test]
    fn new_packets_go_before_those_that_come_back() {
        let spec = ChipSpec::known("tofino").unwrap();
        let mut channel = ParserChannel::new(&spec);
        let offers = [
            (Origin::Resubmitted, 0),
            (Origin::Resubmitted, 1),
            (Origin::Recirculated, 2),
            (Origin::New, 3),
        ];
        for (origin, tag) in offers {
            let begins = channel.offer(origin, packet(60, tag)).unwrap();
            assert_eq!(begins.is_some(), tag == 0, "the first finds the channel idle");
        }
        let mut order = vec![channel.finish().tag];
        while channel.begin().is_some() {
            order.push(channel.finish().tag);
        }
        assert_eq!(order, [0, 3, 2, 1]);
    }

    #[test]
    fn long_packets_are_limited_by_packets_short_ones_by_bits() {
        let mut spec = ChipSpec::known("tofino").unwrap();
        spec.parser.bits_per_second = 1_000_000_000_000;
        spec.parser.packets_per_second = 100_000_000;
        let mut channel = ParserChannel::new(&spec);
        assert_eq!(channel.offer(Origin::New, packet(76, 0)).unwrap(), Some(800));
        assert_eq!(channel.offer(Origin::New, packet(77, 0)).unwrap(), None);
        channel.finish();
        assert_eq!(channel.begin(), Some(10_000));
    }

    #[test]
    fn the_resubmit_buffer_counts_packets_the_others_bytes() {
        let spec = ChipSpec::known("tofino").unwrap();
        let mut channel = ParserChannel::new(&spec);
        channel.offer(Origin::New, packet(60, 0)).unwrap();
        let mut refused = |origin, bytes| {
            (0..)
                .find_map(|count| Some((count, channel.offer(origin, packet(bytes, 0)).err()?.0)))
                .unwrap()
        };
        assert_eq!(refused(Origin::Resubmitted, 100), (16, Loss::ResubmitBufferFull));
        assert_eq!(refused(Origin::New, 1000), (10, Loss::InputBufferFull));
        assert_eq!(refused(Origin::Recirculated, 1000), (10, Loss::RecirculationBufferFull));
    }
}
