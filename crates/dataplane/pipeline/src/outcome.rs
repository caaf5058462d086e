//! The verdicts on packets: decisions for the switch, and the named reasons for drops.

use crate::packet::{IngressPacket, LeavingPacket, QueuedPacket};
use forebay_bits::Bits;
use forebay_ir::DigestId;
use forebay_tables::{CounterArray, CounterKind};
use std::fmt;

macro_rules! drop_reasons {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),+ $(,)?) => {
        /// Why a packet was dropped. The names are stable: they appear in statistics and tests.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum DropReason {
            $($(#[$doc])* $variant,)+
            /// The parser ended with this error (an index into [`forebay_ir::Program::errors`], never `NoError`), and
            /// the program dropped the packet in ingress.
            ParserError(u16),
        }

        /// The reasons that every program has, as numbers.
        enum Fixed {
            $($variant),+
        }

        impl DropReason {
            /// Every reason except those with a program's error.
            pub const FIXED: &[DropReason] = &[$(DropReason::$variant),+];

            /// The stable name; for a parser error without the error's own name, see [`DropReason::label`].
            pub fn name(self) -> &'static str {
                match self {
                    $(DropReason::$variant => $name,)+
                    DropReason::ParserError(_) => "parser_error",
                }
            }

            /// A dense number: the index in [`DropReason::FIXED`], or a number after these for an error.
            pub fn index(self) -> usize {
                match self {
                    $(DropReason::$variant => Fixed::$variant as usize,)+
                    DropReason::ParserError(error) => DropReason::FIXED.len() + usize::from(error),
                }
            }
        }
    };
}

drop_reasons! {
    /// The program set `egress_spec` to the drop port in ingress.
    IngressDrop = "ingress_drop",
    /// The program set `egress_spec` to the drop port in egress.
    EgressDrop = "egress_drop",
    /// A body executed more operations than the limit of [`crate::Options::step_limit`].
    StepLimit = "step_limit",
    /// `assert` or `assume` did not hold.
    AssertFailed = "assert_failed",
    /// The multicast group has no member, or does not exist. Counts packets, not missing copies.
    NoMulticastMember = "no_multicast_member",
    /// A clone was requested for a session that does not exist. Counts clones; the packet itself continues.
    NoCloneSession = "no_clone_session",
    /// The packet was resubmitted more often than [`crate::Options::resubmit_limit`].
    ResubmitLimit = "resubmit_limit",
    /// The packet was recirculated more often than [`crate::Options::recirculate_limit`].
    RecirculateLimit = "recirculate_limit",
    /// A clone from egress was cloned more often than [`crate::Options::clone_limit`]. Counts clones.
    CloneLimit = "clone_limit",
    /// A packet sent more digests than allowed. Counts digests; the packet itself continues.
    DigestLimit = "digest_limit",
    /// The packet would become longer than [`crate::Options::packet_limit`] bytes.
    PacketTooLong = "packet_too_long",
    /// The traffic manager's queue was full. Counted by the switch.
    QueueFull = "queue_full",
    /// The egress port is not attached: the packet is dropped after egress, when it would be sent. Counted by the
    /// switch.
    NoSuchPort = "no_such_port",
    /// The port could not send. Counted by the switch.
    PortError = "port_error",
    /// The packet was in the switch when its program was replaced, and could not leave in time. Counted by the switch.
    ProgramReplaced = "program_replaced",
}

impl DropReason {
    /// The reason with this [`DropReason::index`].
    pub fn from_index(index: usize) -> DropReason {
        match DropReason::FIXED.get(index) {
            Some(reason) => *reason,
            None => DropReason::ParserError((index - DropReason::FIXED.len()) as u16),
        }
    }

    /// The name for users and statistics: `ingress_drop`, or `parser_error.PacketTooShort` for an error of `errors`
    /// ([`forebay_ir::Program::errors`]).
    pub fn label(self, errors: &[String]) -> String {
        match self {
            DropReason::ParserError(error) => match errors.get(usize::from(error)) {
                Some(name) => format!("{}.{name}", self.name()),
                None => format!("{}.{error}", self.name()),
            },
            _ => self.name().to_string(),
        }
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Dropped packets by reason. All workers share it; each counts in a shard of its own.
#[derive(Debug)]
pub struct DropCounters(CounterArray);

impl DropCounters {
    /// All zero, for a program with this many errors.
    pub(crate) fn new(errors: usize) -> Self {
        let reasons = DropReason::FIXED.len() + errors;
        DropCounters(CounterArray::new(CounterKind::Packets, reasons).expect("errors have numbers of 16 bits"))
    }

    pub(crate) fn make_shard(&self, shard: usize) {
        self.0.make_shard(shard);
    }

    /// Counts one drop. Only the worker with this shard calls it.
    #[inline]
    pub(crate) fn count(&self, shard: usize, reason: DropReason) {
        self.count_many(shard, reason, 1);
    }

    /// Counts several drops.
    #[inline]
    pub(crate) fn count_many(&self, shard: usize, reason: DropReason, packets: u64) {
        self.0.count_many(shard, reason.index() as u64, packets, 0);
    }

    /// The number of drops so far.
    pub fn get(&self, reason: DropReason) -> u64 {
        self.0.read(reason.index() as u64).packets
    }

    /// The reasons that occurred, with their counts, in order of [`DropReason::index`].
    pub fn nonzero(&self) -> Vec<(DropReason, u64)> {
        let reasons = (0..self.0.len()).map(DropReason::from_index);
        let counts = reasons.map(|reason| (reason, self.get(reason)));
        counts.filter(|(_, count)| *count > 0).collect()
    }
}

/// A message that a program sends to the control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestMessage {
    /// The digest's index in [`forebay_ir::Program::digests`].
    pub digest: DigestId,
    /// Values in order of the digest's fields.
    pub values: Vec<Bits>,
}

/// A decision of ingress. One packet may have several, in this order: clones, digests, and the verdict on the packet
/// itself, which is one drop, resubmission or unicast, or one copy for each member of a multicast group.
#[derive(Clone, Debug)]
pub enum IngressDecision {
    /// To the traffic manager: the packet itself, a multicast replica or a clone.
    Enqueue(QueuedPacket),
    /// To the control plane. Boxed, so that the most frequent decision stays small.
    Digest(Box<DigestMessage>),
    /// Begins ingress again, with the received frame.
    Resubmit(IngressPacket),
    /// Begins ingress again, with the frame with which it would leave.
    Recirculate(IngressPacket),
    /// The packet, or a clone of it, was dropped. Already counted.
    Drop(DropReason),
}

/// A decision of egress. Clones and digests come before the verdict on the packet itself.
#[derive(Clone, Debug)]
pub enum EgressDecision {
    /// Leaves the switch.
    Transmit(LeavingPacket),
    /// A clone, to the traffic manager.
    Enqueue(QueuedPacket),
    /// To the control plane. Boxed, as above.
    Digest(Box<DigestMessage>),
    /// Begins ingress again.
    Recirculate(IngressPacket),
    /// The packet, or a clone of it, was dropped. Already counted.
    Drop(DropReason),
}

impl IngressDecision {
    /// Whether it is the verdict on the packet, or on a copy or clone of it, and not a message.
    pub fn is_verdict(&self) -> bool {
        !matches!(self, IngressDecision::Digest(_))
    }
}

impl EgressDecision {
    /// Whether it is the verdict on the packet, or on a clone of it, and not a message.
    pub fn is_verdict(&self) -> bool {
        !matches!(self, EgressDecision::Digest(_))
    }
}

/// A decision, and the index of its packet in the burst.
#[derive(Clone, Debug)]
pub struct Decided<D> {
    /// Index into the burst.
    pub packet: usize,
    /// The decision.
    pub decision: D,
}
