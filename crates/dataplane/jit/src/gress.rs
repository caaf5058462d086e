//! What an architecture does with a packet on one side of its traffic manager, for a function of each side.
//!
//! ```text
//! ingress   state cleared ─► values given ─► parser ─► checksums verified ─► ingress
//! egress    values given ─► egress ─► drop? copies? ─► checksums computed ─► deparser
//! ```
//!
//! The same bodies one by one ([`crate::Execution::run`]) give the same. Here they are one call, and what the architecture does
//! between them is in the code.

use forebay_ir::{BodyId, SlotId};

/// Values that an architecture gives a packet on one side, at most.
pub const GIVEN_MAX: usize = 8;

/// A packet's values, of which [`MetadataSource::Given`] names some.
pub type Given = [u64; GIVEN_MAX];

/// A side of the traffic manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// From the frame to the traffic manager.
    Ingress,
    /// From there to the new front of the frame.
    Egress,
}

/// Both sides.
#[derive(Clone, Debug)]
pub struct Gresses {
    /// From the frame to the traffic manager.
    pub ingress: IngressHalf,
    /// From there to the new front of the frame.
    pub egress: EgressHalf,
}

/// See [`Gresses::ingress`].
#[derive(Clone, Debug)]
pub struct IngressHalf {
    /// Parser.
    pub parser: BodyId,
    /// Checksum verification, if it does anything.
    pub verify_checksum: Option<BodyId>,
    /// Ingress.
    pub ingress: BodyId,
    /// Values before the parser; all other slots are 0, or what another pass has left for this one.
    pub before_parser: Vec<(SlotId, MetadataSource)>,
    /// Receives the error with which the parser ended, if it did.
    pub parser_error: Option<SlotId>,
    /// The error of a parser that does not end in time; when there is none, that ends the packet.
    pub timeout: Option<u32>,
    /// Receives 1 when a checksum was found wrong.
    pub checksum_error: Option<SlotId>,
}

/// See [`Gresses::egress`].
#[derive(Clone, Debug)]
pub struct EgressHalf {
    /// Egress.
    pub egress: BodyId,
    /// Checksum computation, if it does anything.
    pub compute_checksum: Option<BodyId>,
    /// Deparser.
    pub deparser: BodyId,
    /// Values before egress.
    pub before_egress: Vec<(SlotId, MetadataSource)>,
    /// The slot and its value by which egress drops a packet.
    pub drop: (SlotId, u32),
}

/// The value of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetadataSource {
    /// A constant.
    Number(u64),
    /// The low bits of the given value of this index.
    Given(usize),
}

impl Gresses {
    /// Whether a body is only executed as a part of its side.
    pub(crate) fn is_only_within(&self, body: BodyId) -> bool {
        [
            Some(self.ingress.ingress),
            self.ingress.verify_checksum,
            Some(self.egress.egress),
        ]
        .contains(&Some(body))
    }
}

/// How a side ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GressExit {
    /// At its end.
    Done,
    /// Behind egress, which has dropped the packet.
    Dropped,
    /// Behind egress, which wants copies or has sent digests; checksums and deparser are still to come.
    WantsCopies,
    /// At the limit of steps.
    StepLimit,
    /// At an assertion that does not hold.
    AssertFailed,
}
