//! Chains of buffers that were taken together, and the bytes in them.

use super::memory::{GuestMemory, Part};
use super::ring::{CHAIN_MAX, Chain};
use crate::link::Fault;

/// Parts of all chains together, so that another chain of any length fits after those that were taken.
const PARTS_MAX: usize = 2 * CHAIN_MAX;

/// A chain that was taken, and where its parts are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    pub(super) chain: Chain,
    /// Its bytes.
    pub(super) bytes: usize,
    first: usize,
    end: usize,
}

/// Chains, in the order in which they were taken. The memory for them is never more.
pub(crate) struct Chains {
    taken: Vec<Taken>,
    parts: Vec<Part>,
    /// Parts of chains that are whole, and the bytes of the one that is not.
    whole: usize,
    bytes: usize,
}

impl Chains {
    /// Room for up to `count` chains.
    pub(crate) fn new(count: usize) -> Chains {
        Chains {
            taken: Vec::with_capacity(count),
            parts: Vec::with_capacity(PARTS_MAX),
            whole: 0,
            bytes: 0,
        }
    }

    /// Forgets all.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.taken.clear();
        self.parts.clear();
        (self.whole, self.bytes) = (0, 0);
    }

    /// The chains.
    #[inline]
    pub(crate) fn taken(&self) -> &[Taken] {
        &self.taken
    }

    /// The parts of a chain.
    #[inline]
    pub(crate) fn parts(&self, taken: &Taken) -> &[Part] {
        &self.parts[taken.first..taken.end]
    }

    /// The parts of all chains.
    pub(crate) fn all_parts(&self) -> &[Part] {
        &self.parts
    }

    /// Whether another chain can be taken.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.taken.len() < self.taken.capacity() && self.parts.len() <= PARTS_MAX - CHAIN_MAX
    }

    /// Appends a part to the chain that is being taken.
    ///
    /// # Errors
    /// When it has too many.
    #[inline]
    pub(super) fn append(&mut self, part: Part) -> Result<(), Fault> {
        if self.parts.len() == PARTS_MAX {
            return Err(Fault("a chain has too many parts"));
        }
        self.bytes += part.bytes;
        self.parts.push(part);
        Ok(())
    }

    /// The chain that was being taken is whole.
    #[inline]
    pub(super) fn finish(&mut self, chain: Chain) -> &[Part] {
        let (first, end) = (self.whole, self.parts.len());
        let bytes = std::mem::take(&mut self.bytes);
        self.taken.push(Taken {
            chain,
            bytes,
            first,
            end,
        });
        self.whole = end;
        &self.parts[first..end]
    }
}

/// Copies bytes out of parts, from `skip` bytes after their beginning on.
#[inline]
pub(crate) fn gather(memory: &GuestMemory, parts: &[Part], mut skip: usize, mut to: &mut [u8]) {
    for part in parts {
        let skipped = skip.min(part.bytes);
        skip -= skipped;
        let (now, later) = to.split_at_mut((part.bytes - skipped).min(to.len()));
        memory.of(part).copy_out(part.at + skipped, now);
        to = later;
        if to.is_empty() {
            return;
        }
    }
}

/// Writes bytes into parts, one after another.
pub(crate) struct Writer<'a> {
    memory: &'a GuestMemory,
    /// The parts that are not full.
    parts: &'a [Part],
    /// Bytes written to the first of them.
    written: usize,
}

impl<'a> Writer<'a> {
    /// At the beginning of these parts.
    pub(crate) fn new(memory: &'a GuestMemory, parts: &'a [Part]) -> Writer<'a> {
        Writer {
            memory,
            parts,
            written: 0,
        }
    }

    /// Writes as many of the bytes as there is room for.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) {
        while let Some((part, rest)) = self.parts.split_first()
            && !bytes.is_empty()
        {
            let (now, later) = bytes.split_at((part.bytes - self.written).min(bytes.len()));
            self.memory.of(part).copy_in(part.at + self.written, now);
            self.written += now.len();
            bytes = later;
            if self.written == part.bytes {
                (self.parts, self.written) = (rest, 0);
            }
        }
    }
}
