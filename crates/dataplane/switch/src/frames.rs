//! Frames in memory of the caller: those that enter a [`crate::MemorySwitch`], and those that leave it.

use forebay_packet::{Burst, Packet, prefetch};
use std::ops::Range;

/// The most bytes that are prefetched of the next burst. These lines arrive while the present burst passes the switch,
/// and the processor's own prefetching goes on from there.
const AHEAD_MAX: usize = 1 << 10;

/// Frames that arrive, one after another in one buffer.
#[derive(Clone, Copy, Debug)]
pub struct Arriving<'f> {
    /// The bytes of all frames.
    pub data: &'f [u8],
    /// Frame `i` is `data[offsets[i]..offsets[i + 1]]`, and empty if that is not within the data. There is one more
    /// offset than frames.
    pub offsets: &'f [i64],
    /// The port at which each frame arrives, or one port for all.
    pub ports: &'f [u32],
}

/// Consecutive frames in one buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frames {
    /// The bytes of all frames.
    pub data: Vec<u8>,
    /// Frame `i` is `data[offsets[i]..offsets[i + 1]]`. There is one more offset than frames, as in Arrow's large
    /// binary arrays.
    pub offsets: Vec<i64>,
    /// The port by which each frame left.
    pub ports: Vec<u32>,
    /// For each frame, the index of the input frame from which it was made.
    pub origins: Vec<i64>,
}

/// Packets that have left a switch together by one port.
pub struct Left<'a> {
    /// The port.
    pub port: u32,
    /// The packets, in order.
    pub packets: &'a [Packet],
    /// The number of the first input packet.
    pub(crate) first: u64,
}

/// Where packets go that leave a switch in memory.
pub trait Sink {
    /// Takes packets that have left. They are given up afterwards.
    fn take(&mut self, left: &Left<'_>);

    /// Announces that this number of frames is about to pass the switch. About as many leave: a hint to prefetch what
    /// [`Sink::take`] writes beside their bytes.
    #[inline]
    fn expect(&mut self, _frames: usize) {}

    /// Announces one of these frames by its bytes, counted from the first byte of the first: a hint to prefetch the
    /// memory of its copy. Called frame by frame, because too many prefetches at once stall the processor.
    #[inline]
    fn expect_frame(&mut self, _bytes: Range<usize>) {}
}

impl Arriving<'_> {
    /// The number of frames.
    pub fn len(&self) -> usize {
        let frames = self.offsets.len().saturating_sub(1);
        match self.ports.len() {
            1 => frames,
            ports => frames.min(ports),
        }
    }

    /// Whether there are no frames.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The frames from `first` on that arrive at one port, at most `max`, and the port.
    #[inline]
    pub(crate) fn run(&self, first: usize, max: usize) -> Option<(u32, Range<usize>)> {
        let end = self.len().min(first.saturating_add(max));
        if first >= end {
            return None;
        }
        if let [port] = self.ports {
            return Some((*port, first..end));
        }
        let ports = &self.ports[first..end];
        let count = ports.iter().take_while(|port| **port == ports[0]).count();
        Some((ports[0], first..first + count))
    }

    /// Puts frames into an empty burst that has room for them; they arrive at this time. The sink is told to expect
    /// them.
    ///
    /// The frames after them are prefetched: memory that the processor's own prefetching reaches too late, since
    /// programs execute locked instructions, which wait for all earlier accesses.
    #[inline]
    pub(crate) fn put(&self, frames: Range<usize>, burst: &mut Burst, now_ns: u64, sink: &mut impl Sink) {
        sink.expect(frames.len());
        let offsets = &self.offsets[frames.start..=frames.end];
        let mut bytes = 0;
        for (packet, ends) in burst.spares_mut(frames.len()).iter_mut().zip(offsets.windows(2)) {
            let frame = self.data.get(ends[0] as usize..ends[1] as usize).unwrap_or_default();
            packet.set_data(frame);
            packet.timestamp_ns = now_ns;
            sink.expect_frame(bytes..bytes + frame.len());
            bytes += frame.len();
        }
        burst.fill_from_spares(frames.len());
        let behind = self.data.get(offsets[frames.len()] as usize..).unwrap_or_default();
        prefetch::to_read(&behind[..bytes.min(AHEAD_MAX).min(behind.len())]);
    }
}

impl Default for Frames {
    fn default() -> Frames {
        Frames {
            data: Vec::new(),
            offsets: vec![0],
            ports: Vec::new(),
            origins: Vec::new(),
        }
    }
}

impl Frames {
    /// The number of frames.
    pub fn len(&self) -> usize {
        self.ports.len()
    }

    /// Whether there are no frames.
    pub fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }

    /// The bytes of a frame.
    pub fn frame(&self, index: usize) -> &[u8] {
        &self.data[self.offsets[index] as usize..self.offsets[index + 1] as usize]
    }
}

impl Sink for Frames {
    /// Appends the packets.
    fn take(&mut self, left: &Left<'_>) {
        for packet in left.packets {
            self.data.extend_from_slice(packet.data());
            self.offsets.push(self.data.len() as i64);
            self.ports.push(left.port);
            self.origins.push(left.origin(packet));
        }
    }
}

impl Left<'_> {
    /// The index of the input frame from which a packet was made; negative for an input frame of an earlier call.
    #[inline]
    pub fn origin(&self, packet: &Packet) -> i64 {
        packet.id as i64 - self.first as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES: Arriving<'_> = Arriving {
        data: b"abcdef",
        offsets: &[0, 1, 3, 3, 6],
        ports: &[1, 1, 2, 1],
    };

    #[test]
    fn runs_end_where_the_port_changes() {
        let runs = |first, max| FRAMES.run(first, max);
        assert_eq!(runs(0, 64), Some((1, 0..2)));
        assert_eq!(runs(0, 1), Some((1, 0..1)));
        assert_eq!(runs(2, 64), Some((2, 2..3)));
        assert_eq!(runs(3, usize::MAX), Some((1, 3..4)));
        assert_eq!(runs(4, 64), None);
        let one_port = Arriving { ports: &[7], ..FRAMES };
        assert_eq!(one_port.run(1, 2), Some((7, 1..3)));
        assert_eq!(Arriving { ports: &[], ..FRAMES }.run(0, 64), None);
        assert_eq!(Arriving { offsets: &[], ..FRAMES }.run(0, 64), None);
    }

    #[test]
    fn frames_that_are_not_in_the_data_are_empty() {
        let frames = Arriving {
            offsets: &[-1, 2, 9, 4, 6],
            ports: &[0],
            ..FRAMES
        };
        let mut burst = Burst::new(8);
        frames.put(0..4, &mut burst, 5, &mut Frames::default());
        let data: Vec<&[u8]> = burst.iter().map(Packet::data).collect();
        assert_eq!(data, [&b""[..], b"", b"", b"ef"]);
        assert!(burst.iter().all(|packet| packet.timestamp_ns == 5));
    }
}
