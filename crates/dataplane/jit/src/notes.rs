//! What the fast path notes of packets for the architecture: clones, packets that are sent back, and a packet that goes
//! on in general code.

use forebay_exec::{CloneRequest, Preserve};
use std::ops::Range;

/// A clone that the fast path leaves to the architecture. The packet itself continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotedClone {
    /// The index of its packet among those that the [`FastPath`](crate::FastPath) has taken.
    pub place: usize,
    /// Whether egress made the clone, or else ingress.
    pub from_egress: bool,
    /// The clone session.
    pub session: u32,
    /// The metadata that it keeps.
    pub preserve: Preserve,
    /// See [`NotedClones::bytes_of`].
    pub(crate) bytes: Range<usize>,
}

/// Clones of packets, in order.
#[derive(Clone, Debug, Default)]
pub struct NotedClones {
    pub(crate) noted: Vec<NotedClone>,
    pub(crate) bytes: Vec<u8>,
}

impl NotedClones {
    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, NotedClone> {
        self.noted.iter()
    }

    /// The values of [`crate::route::Cloning::kept`] where the clone was made, each in whole bytes. Then the frame.
    /// In place of [`crate::route::ClonedFrame::Headers`] follow: the packet's length and the length of the frame that
    /// entered ingress, in bytes, each a 32-bit number; a validity bit for each of the program's headers, padded to
    /// whole bytes; the valid headers; and what the parser has left.
    pub fn bytes_of(&self, clone: &NotedClone) -> &[u8] {
        &self.bytes[clone.bytes.clone()]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.noted.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.noted.len()
    }

    /// Removes the clones of the packet at this place from the end; the first `before` clones stay.
    pub(crate) fn take_back(&mut self, place: usize, before: usize) {
        let kept = self.noted[before..].partition_point(|clone| clone.place < place);
        self.noted.truncate(before + kept);
    }

    /// Removes all clones.
    pub fn clear(&mut self) {
        self.noted.clear();
        self.bytes.clear();
    }
}

/// Packets that are sent back to ingress, with what each may keep for its next pass.
#[derive(Clone, Debug, Default)]
pub struct SentBack {
    notes: Vec<(Preserve, Range<usize>)>,
    bytes: Vec<u8>,
}

impl SentBack {
    /// Adds a packet, and returns the number of its note.
    pub(crate) fn add(&mut self, preserve: Preserve, kept: &[u8]) -> usize {
        let first = self.bytes.len();
        self.bytes.extend_from_slice(kept);
        self.notes.push((preserve, first..self.bytes.len()));
        self.notes.len() - 1
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.notes.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.notes.clear();
        self.bytes.clear();
    }

    /// The metadata that the packet of a note keeps, and the values of all slots of
    /// [`crate::route::SendsBack::kept`], each in whole bytes.
    pub fn note(&self, number: u32) -> (Preserve, &[u8]) {
        let (preserve, kept) = &self.notes[number as usize];
        (*preserve, &self.bytes[kept.clone()])
    }
}

/// A packet that leaves specialised code after ingress and goes on in general code: see
/// [`crate::route::Route::leaving`].
#[derive(Clone, Debug, Default)]
pub struct GoingOn {
    /// Its clone, if the program cloned it by an operation. General code executes the clone first.
    pub clone: Option<CloneRequest>,
    /// The most bytes of it that leave, if that is limited.
    pub truncate_to: Option<u32>,
    /// The values of [`crate::route::Route::leaving`], each in whole bytes.
    pub slots: Vec<u8>,
    /// For a packet with such a clone: the bytes of the headers that were valid before ingress.
    pub header_bytes: u64,
    /// The state of the generator of random numbers, if ingress draws any.
    pub random: u64,
    /// The parser's position in bits.
    pub cursor: usize,
}
