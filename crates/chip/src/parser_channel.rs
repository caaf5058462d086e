//! The way of a port's packets into the ingress pipeline.
//!
//! One channel of limited bits and packets a second takes in, one after another, the packets of three buffers: first what
//! is new, then what was recirculated through this port, then what was resubmitted (the published switch gives
//! resubmitted packets lower priority than new ones, and loses them under overload).

use crate::books::Loss;
use crate::pacer::{Pacer, Picos};
use crate::spec::ChipSpec;
use forebay_pipeline::IngressPacket;
use std::collections::VecDeque;

/// Where a packet comes from, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    New,
    Recirculated,
    Resubmitted,
}

/// A buffer with a limit of bytes and one of packets.
#[derive(Debug)]
struct InputBuffer {
    /// Also the packet that the channel takes in, first of all, when it is one of these.
    packets: VecDeque<IngressPacket>,
    /// Those that wait, and their bytes.
    waiting: usize,
    bytes: u64,
    bytes_max: u64,
    packets_max: usize,
    full: Loss,
}

#[derive(Debug)]
pub(crate) struct ParserChannel {
    buffers: [InputBuffer; 3],
    bits: Pacer,
    packets: Pacer,
    short_packet_bytes: u32,
    /// The buffer whose first packet is being taken in.
    serving: Option<usize>,
    busy: Picos,
}

impl ParserChannel {
    pub(crate) fn new(spec: &ChipSpec) -> ParserChannel {
        let parser = &spec.parser;
        let resubmit_packets = parser.resubmit_buffer_packets as usize;
        let by_bytes = |bytes, full| InputBuffer::new(bytes, usize::MAX, full);
        ParserChannel {
            buffers: [
                by_bytes(spec.ports.input_buffer_bytes, Loss::InputBufferFull),
                by_bytes(parser.recirculation_buffer_bytes, Loss::RecirculationBufferFull),
                InputBuffer::new(u64::MAX, resubmit_packets, Loss::ResubmitBufferFull),
            ],
            bits: Pacer::new(parser.bits_per_second),
            packets: Pacer::new(parser.packets_per_second),
            short_packet_bytes: parser.short_packet_bytes,
            serving: None,
            busy: 0,
        }
    }

    /// Lets a packet wait for its turn, or gives it back with the reason why there is no room.
    pub(crate) fn offer(&mut self, origin: Origin, packet: IngressPacket) -> Result<(), (Loss, IngressPacket)> {
        self.buffers[origin as usize].push(packet)
    }

    /// Begins to take in the next packet when none is being taken in; says how long that takes.
    pub(crate) fn begin(&mut self, spec: &ChipSpec) -> Option<Picos> {
        if self.serving.is_some() {
            return None;
        }
        let next = self.buffers.iter().position(|buffer| buffer.waiting > 0)?;
        self.serving = Some(next);
        let bytes = self.buffers[next].begin();
        let by_bits = self.bits.take(8 * spec.wire_bytes(bytes));
        let by_packets = if bytes > self.short_packet_bytes {
            self.packets.take(1)
        } else {
            0
        };
        let duration = by_bits.max(by_packets);
        self.busy += duration;
        Some(duration)
    }

    /// The packet that was being taken in.
    pub(crate) fn finish(&mut self) -> IngressPacket {
        let served = self.serving.take().map(|buffer| &mut self.buffers[buffer]);
        let packet = served.and_then(|buffer| buffer.packets.pop_front());
        packet.expect("an end of service has a beginning")
    }

    /// Time that it has served so far.
    pub(crate) fn busy(&self) -> Picos {
        self.busy
    }

    /// Packets in its buffers, and the one that it takes in.
    pub(crate) fn packets(&self) -> u64 {
        self.buffers.iter().map(|buffer| buffer.packets.len() as u64).sum()
    }
}

impl InputBuffer {
    fn new(bytes_max: u64, packets_max: usize, full: Loss) -> InputBuffer {
        InputBuffer {
            packets: VecDeque::new(),
            waiting: 0,
            bytes: 0,
            bytes_max,
            packets_max,
            full,
        }
    }

    fn push(&mut self, packet: IngressPacket) -> Result<(), (Loss, IngressPacket)> {
        let bytes = self.bytes + packet.bytes.len() as u64;
        if bytes > self.bytes_max || self.waiting >= self.packets_max {
            return Err((self.full, packet));
        }
        self.bytes = bytes;
        self.waiting += 1;
        self.packets.push_back(packet);
        Ok(())
    }

    /// The first packet waits no more; its length.
    fn begin(&mut self) -> u32 {
        let length = self.packets[0].bytes.len();
        self.bytes -= length as u64;
        self.waiting -= 1;
        length as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_pipeline::IngressArguments;

    fn packet(bytes: usize, tag: u64) -> IngressPacket {
        let mut packet = IngressPacket::new(vec![0; bytes], IngressArguments::default());
        packet.tag = tag;
        packet
    }

    #[test]
    fn new_packets_go_before_those_that_come_back() {
        let spec = ChipSpec::known("tofino").unwrap();
        let mut channel = ParserChannel::new(&spec);
        for (origin, tag) in [(Origin::Resubmitted, 1), (Origin::Recirculated, 2), (Origin::New, 3)] {
            channel.offer(origin, packet(60, tag)).unwrap();
        }
        let mut order = Vec::new();
        while channel.begin(&spec).is_some() {
            order.push(channel.finish().tag);
        }
        assert_eq!(order, [3, 2, 1]);
    }

    #[test]
    fn long_packets_are_limited_by_packets_short_ones_by_bits() {
        let mut spec = ChipSpec::known("tofino").unwrap();
        spec.parser.bits_per_second = 1_000_000_000_000;
        spec.parser.packets_per_second = 100_000_000;
        let mut channel = ParserChannel::new(&spec);
        channel.offer(Origin::New, packet(76, 0)).unwrap();
        channel.offer(Origin::New, packet(77, 0)).unwrap();
        assert_eq!(channel.begin(&spec), Some(800));
        channel.finish();
        assert_eq!(channel.begin(&spec), Some(10_000));
    }

    #[test]
    fn the_resubmit_buffer_counts_packets_the_others_bytes() {
        let spec = ChipSpec::known("tofino").unwrap();
        let mut channel = ParserChannel::new(&spec);
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
