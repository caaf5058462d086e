//! The traffic of a measurement, prepared in memory.

use forebay_switch::five_tuple_hash;

/// Frames in order, one after the other, each with the number of its flow.
#[derive(Clone, Debug, Default)]
pub struct FrameSet {
    bytes: Vec<u8>,
    /// The place in `bytes` behind each frame.
    ends: Vec<usize>,
    flows: Vec<u32>,
}

impl FrameSet {
    /// No frames yet; room for `count` of `length` bytes.
    pub fn new(length: usize, count: usize) -> FrameSet {
        FrameSet {
            bytes: Vec::with_capacity(length * count),
            ends: Vec::with_capacity(count),
            flows: Vec::with_capacity(count),
        }
    }

    /// Frames of any kind, from a capture file for example; those with the same addresses and ports are of one flow.
    pub fn of<'a>(frames: impl IntoIterator<Item = &'a [u8]>) -> FrameSet {
        let mut set = FrameSet::default();
        for frame in frames {
            set.push((five_tuple_hash(frame) >> 32) as u32, frame);
        }
        set
    }

    /// Appends a frame.
    pub fn push(&mut self, flow: u32, frame: &[u8]) {
        self.bytes.extend_from_slice(frame);
        self.ends.push(self.bytes.len());
        self.flows.push(flow);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// A frame.
    #[inline]
    pub fn frame(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[index]]
    }

    /// The number of a frame's flow.
    pub fn flow(&self, index: usize) -> u32 {
        self.flows[index]
    }

    /// All frames.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> + Clone {
        (0..self.len()).map(|index| self.frame(index))
    }

    /// Bytes of a frame, on average.
    pub fn mean_bytes(&self) -> f64 {
        self.bytes.len() as f64 / self.len().max(1) as f64
    }

    /// The first frames.
    pub fn take(&self, count: usize) -> FrameSet {
        let mut taken = FrameSet::default();
        for index in 0..count.min(self.len()) {
            taken.push(self.flows[index], self.frame(index));
        }
        taken
    }

    /// The frames of one worker among `workers`: every flow belongs to one of them, as receive-side scaling deals them
    /// out.
    pub fn share(&self, worker: usize, workers: usize) -> FrameSet {
        let mut share = FrameSet::default();
        for index in (0..self.len()).filter(|index| self.flows[*index] as usize % workers == worker) {
            share.push(self.flows[index], self.frame(index));
        }
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_keep_their_order_and_length() {
        let mut set = FrameSet::new(4, 3);
        for (flow, frame) in [(0, &b"a"[..]), (1, b""), (2, b"abcd")] {
            set.push(flow, frame);
        }
        assert_eq!(set.iter().collect::<Vec<_>>(), [&b"a"[..], b"", b"abcd"]);
        assert_eq!(set.take(2).iter().collect::<Vec<_>>(), [&b"a"[..], b""]);
        assert_eq!(set.mean_bytes(), 5.0 / 3.0);
    }

    /// Captures of hosts have short frames beside segments of 64 KiB.
    #[test]
    fn a_long_frame_does_not_lengthen_the_others() {
        let long = vec![7; 70_000];
        let set = FrameSet::of([&b"a"[..], &long[..], &b"bc"[..]]);
        assert_eq!((set.frame(1).len(), set.frame(2)), (70_000, &b"bc"[..]));
        assert_eq!(set.bytes.len(), 70_003);
    }

    #[test]
    fn a_flow_belongs_to_one_worker() {
        let mut set = FrameSet::new(1, 10);
        for number in 0..10_u8 {
            set.push(u32::from(number) % 5, &[number]);
        }
        let shares = [set.share(0, 2), set.share(1, 2)];
        assert_eq!(
            shares[0].iter().map(|frame| frame[0]).collect::<Vec<_>>(),
            [0, 2, 4, 5, 7, 9]
        );
        assert_eq!(shares[1].len(), 4);
    }
}
