//! What becomes of a packet: decisions for the switch, and the named reasons for which packets are dropped.

use crate::packet::{IngressPacket, QueuedPacket};
use forebay_bits::Bits;
use forebay_ir::DigestId;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! drop_reasons {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),+ $(,)?) => {
        /// Why a packet was dropped. The names are stable: they appear in statistics and tests.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum DropReason {
            $($(#[$doc])* $variant),+
        }

        impl DropReason {
            /// Every reason.
            pub const ALL: &[DropReason] = &[$(DropReason::$variant),+];

            /// The stable name.
            pub fn name(self) -> &'static str {
                match self {
                    $(DropReason::$variant => $name),+
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
    /// The multicast group has no member, or does not exist. One for each packet, not for each missing copy.
    NoMulticastMember = "no_multicast_member",
    /// A clone was asked for a session that does not exist. The packet itself goes on: this counts clones.
    NoCloneSession = "no_clone_session",
    /// The packet was resubmitted more often than [`crate::Options::resubmit_limit`].
    ResubmitLimit = "resubmit_limit",
    /// The packet was recirculated more often than [`crate::Options::recirculate_limit`].
    RecirculateLimit = "recirculate_limit",
    /// A clone from egress was cloned more often than [`crate::Options::clone_limit`]. Counts clones.
    CloneLimit = "clone_limit",
    /// A packet sent more digests than it may. Counts digests; the packet itself goes on.
    DigestLimit = "digest_limit",
    /// The packet would become longer than [`crate::Options::packet_limit`] bytes.
    PacketTooLong = "packet_too_long",
    /// The traffic manager's queue was full. Counted by the switch.
    QueueFull = "queue_full",
    /// The egress port does not exist. Counted by the switch.
    NoSuchPort = "no_such_port",
    /// The port could not send. Counted by the switch.
    PortError = "port_error",
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Packets dropped, by reason; shared by all workers.
#[derive(Debug)]
pub struct DropCounters(Vec<AtomicU64>);

impl Default for DropCounters {
    fn default() -> Self {
        DropCounters(DropReason::ALL.iter().map(|_| AtomicU64::new(0)).collect())
    }
}

impl DropCounters {
    /// One more.
    pub fn count(&self, reason: DropReason) {
        self.0[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// How many so far.
    pub fn get(&self, reason: DropReason) -> u64 {
        self.0[reason as usize].load(Ordering::Relaxed)
    }

    /// Reasons that occurred with their counts, in order of [`DropReason::ALL`].
    pub fn nonzero(&self) -> Vec<(DropReason, u64)> {
        DropReason::ALL
            .iter()
            .map(|&reason| (reason, self.get(reason)))
            .filter(|&(_, count)| count > 0)
            .collect()
    }
}

/// A message that a program sends to the control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestMessage {
    /// Which digest of [`forebay_ir::Program::digests`].
    pub digest: DigestId,
    /// Values in order of the digest's fields.
    pub values: Vec<Bits>,
}

/// What ingress decided. For one packet there may be several decisions, in this order: clones, digests, and what becomes
/// of the packet itself: one drop, resubmission or unicast, or one copy for each member of a multicast group.
#[derive(Clone, Debug)]
pub enum IngressDecision {
    /// To the traffic manager: the packet itself, a multicast replica or a clone.
    Enqueue(QueuedPacket),
    /// To the control plane.
    Digest(DigestMessage),
    /// Begins ingress again.
    Resubmit(IngressPacket),
    /// The packet, or a clone of it, is no more. Already counted.
    Drop(DropReason),
}

/// What egress decided; clones and digests come before what becomes of the packet itself.
#[derive(Clone, Debug)]
pub enum EgressDecision {
    /// Leaves the switch.
    Transmit {
        /// The port.
        port: u32,
        /// The frame.
        bytes: Vec<u8>,
        /// The tag of the packet that it was made from.
        tag: u64,
    },
    /// A clone, to the traffic manager.
    Enqueue(QueuedPacket),
    /// To the control plane.
    Digest(DigestMessage),
    /// Begins ingress again.
    Recirculate(IngressPacket),
    /// The packet, or a clone of it, is no more. Already counted.
    Drop(DropReason),
}

/// A decision and the index in the burst of the packet that it is about.
#[derive(Clone, Debug)]
pub struct Decided<D> {
    /// Index into the burst.
    pub packet: usize,
    /// The decision.
    pub decision: D,
}
