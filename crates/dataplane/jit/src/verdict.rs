//! Frames of a burst, and the verdicts on them.

use crate::route::BailOut;

/// A frame in memory. Compiled code reads the descriptor, and updates it for a frame that leaves.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Its first byte.
    pub start: *mut u8,
    /// Its length in bytes.
    pub length: usize,
}

/// The frame descriptors of a burst.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frames {
    /// The first descriptor.
    pub first: *mut Frame,
    /// The distance between descriptors in bytes.
    pub stride: usize,
    /// The number of frames.
    pub count: usize,
}

/// The verdicts of a burst's frames when all that leave do so by one port: see
/// [`FastPath::departures`](crate::FastPath::departures).
#[derive(Clone, Copy, Debug)]
pub struct Departures {
    /// The port.
    pub port: u32,
    /// The number of frames dropped in ingress.
    pub dropped_in_ingress: usize,
    /// The number of frames dropped in egress, on their way to the same port.
    pub dropped_in_egress: usize,
    /// A bit for each frame that leaves.
    pub(crate) leaving: u64,
}

impl Departures {
    /// The indices in the burst of the frames that leave, in order.
    #[inline]
    pub fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let lowest = |bits: u64| (bits > 0).then_some(bits);
        let left = std::iter::successors(lowest(self.leaving), move |bits| lowest(bits & (bits - 1)));
        left.map(|bits| bits.trailing_zeros() as usize)
    }

    /// The number of frames that leave.
    #[inline]
    pub fn count(&self) -> usize {
        self.leaving.count_ones() as usize
    }
}

/// The verdict of a packet on the fast path: the verdict that compiled code has written for it, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It leaves; its [`Frame`] now says where it starts and how long it is.
    Plain {
        /// The port.
        port: u32,
    },
    /// It leaves, with other headers.
    Rewritten {
        /// The port.
        port: u32,
        /// Its headers.
        headers: Rewriting,
    },
    /// It begins again as it was received: see [`FastPath::take_sent_back`](crate::FastPath::take_sent_back).
    Resubmitted {
        /// The number of its note.
        note: u32,
    },
    /// It begins again as it would have left: see [`FastPath::take_sent_back`](crate::FastPath::take_sent_back).
    Recirculated {
        /// The number of its note.
        note: u32,
        /// Its headers, if they are others.
        headers: Option<Rewriting>,
    },
    /// The program dropped it in ingress.
    DroppedInIngress {
        /// The parser's error; 0 when it had accepted the packet.
        parser_error: u16,
    },
    /// The program dropped it in egress.
    DroppedInEgress {
        /// The port by which it would have left.
        port: u32,
    },
    /// An assertion failed.
    AssertFailed,
    /// It became `count` copies, from number `first` on. See [`Memory::copy`](crate::Memory::copy).
    Replicated {
        /// The number of the first copy.
        first: usize,
        /// The number of copies.
        count: usize,
    },
    /// It has passed ingress, and goes on in general code for this reason: see
    /// [`FastPath::going_on`](crate::FastPath::going_on). Its frame is unchanged.
    GoesOn(BailOut),
    /// It must take the slow path, for this reason. Nothing has been changed.
    BailedOut(BailOut),
}

/// A part of [`FastPath::output`](crate::FastPath::output) that takes the place of the parsed headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewriting {
    /// The length of the parsed headers in bits.
    pub parsed_bits: usize,
    /// The start of the part, in bytes.
    pub output_start: usize,
    /// Its length in bits.
    pub output_bits: usize,
    /// The packet is cut to at most this number of bytes.
    pub length_max: u32,
}

/// The verdict of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyVerdict {
    /// It leaves, with the length in its [`Frame`].
    Leaves {
        /// Its egress port.
        port: u32,
    },
    /// Egress dropped it.
    Dropped {
        /// Its egress port.
        port: u32,
    },
    /// An assertion failed.
    AssertFailed {
        /// Its egress port.
        port: u32,
    },
    /// It begins again, with the length in its [`Frame`]: see
    /// [`FastPath::take_sent_back`](crate::FastPath::take_sent_back).
    Recirculated {
        /// The number of its note.
        note: u32,
    },
}
