//! What a program requested from its architecture.
//!
//! `clone`, `resubmit` and similar calls have no effect while a control executes. The architecture reads the requests
//! after the control has ended, and decides in which order they take effect.

use forebay_bits::Bits;
use forebay_ir::pipeline::Argument;
use forebay_ir::{CloneKind, DigestId};

/// The most digests that one packet may send in one pass. Further ones are counted and discarded.
pub const DIGESTS_MAX: usize = 64;

/// Requests of one packet, collected until the architecture takes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// The last `clone`: v1model makes at most one clone in a pass.
    pub clone: Option<CloneRequest>,
    /// `digest`, in order.
    pub digests: Vec<DigestRequest>,
    /// Digests beyond [`DIGESTS_MAX`].
    pub digests_lost: u64,
    /// The last `resubmit_preserving_field_list`.
    pub resubmit: Option<Preserve>,
    /// The last `recirculate_preserving_field_list`.
    pub recirculate: Option<Preserve>,
    /// The least length in bytes of all `truncate` calls.
    pub truncate_to: Option<u32>,
    /// A `verify_checksum` found a difference.
    pub checksum_error: bool,
}

impl Requests {
    /// Whether there are digests, including lost ones.
    pub fn has_digests(&self) -> bool {
        !self.digests.is_empty() || self.digests_lost > 0
    }

    /// A bit for each of [`Argument::REQUESTS`], in their order. Where the bit is 0, [`Requests::argument`] is 0, too.
    #[inline]
    pub fn asked(&self) -> u64 {
        let bit = |place: u32, asked: bool| u64::from(asked) << place;
        bit(0, self.checksum_error)
            | bit(1, self.clone.is_some())
            | bit(2, self.clone.is_some())
            | bit(3, self.resubmit.is_some())
            | bit(4, self.recirculate.is_some())
            | bit(5, self.truncate_to.is_some())
    }

    /// The requests as values of arguments ([`Argument`]); 0 for arguments that are not requests.
    pub fn argument(&self, argument: Argument) -> u64 {
        let listed = |preserve: Preserve| preserve.field_list.map_or(1, |list| u64::from(list) + 2);
        match argument {
            Argument::ChecksumError => self.checksum_error.into(),
            Argument::CloneRequest => self.clone.map_or(0, |clone| listed(clone.preserve)),
            Argument::CloneSession => self.clone.map_or(0, |clone| clone.session.into()),
            Argument::ResubmitRequest => self.resubmit.map_or(0, listed),
            Argument::RecirculateRequest => self.recirculate.map_or(0, listed),
            Argument::TruncateRequest => self.truncate_to.map_or(0, |bytes| u64::from(bytes) + 1),
            _ => 0,
        }
    }

    /// Removes all requests, and keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        let Requests {
            clone,
            digests,
            digests_lost,
            resubmit,
            recirculate,
            truncate_to,
            checksum_error,
        } = self;
        *clone = None;
        digests.clear();
        *digests_lost = 0;
        *resubmit = None;
        *recirculate = None;
        *truncate_to = None;
        *checksum_error = false;
    }
}

/// The metadata that a new pass keeps: the index of a field list, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preserve {
    /// Index into [`forebay_ir::Program::field_lists`].
    pub field_list: Option<u32>,
}

/// A `clone`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CloneRequest {
    /// The kind that the program gave.
    pub kind: CloneKind,
    /// Clone session.
    pub session: u32,
    /// The metadata that the clone keeps.
    pub preserve: Preserve,
}

/// A `digest`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestRequest {
    /// The digest's declaration.
    pub digest: DigestId,
    /// Values of its fields when it was called.
    pub values: Vec<Bits>,
}

impl DigestRequest {
    /// A message whose fields have these widths, with its values as words, one after another, of each the least
    /// significant first.
    pub fn of_words(digest: DigestId, widths: impl Iterator<Item = u32>, mut words: &[u64]) -> DigestRequest {
        let values = widths.map(|width| {
            let (value, rest) = words.split_at(width.div_ceil(u64::BITS) as usize);
            words = rest;
            Bits::from_limbs(width, value)
        });
        DigestRequest {
            digest,
            values: values.collect(),
        }
    }
}
