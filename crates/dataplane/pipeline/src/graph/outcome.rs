//! The outcomes of packets, as decisions for the switch.

use crate::outcome::{DigestMessage, DropReason, EgressDecision, IngressDecision};
use crate::packet::{IngressPacket, LeavingPacket, QueuedPacket};

/// The outcome of a packet, on either side of the queues: two words, which several callers hand on.
pub(crate) enum Outcome {
    Enqueue(QueuedPacket),
    Digest(Box<DigestMessage>),
    Resubmit(IngressPacket),
    Recirculate(IngressPacket),
    Transmit(LeavingPacket),
    Drop(DropReason),
}

impl Outcome {
    /// The decision about a packet that comes from a port.
    #[inline]
    pub(crate) fn before_queue(self) -> IngressDecision {
        match self {
            Outcome::Enqueue(packet) => IngressDecision::Enqueue(packet),
            Outcome::Digest(message) => IngressDecision::Digest(message),
            Outcome::Resubmit(packet) => IngressDecision::Resubmit(packet),
            Outcome::Recirculate(packet) => IngressDecision::Recirculate(packet),
            Outcome::Drop(reason) => IngressDecision::Drop(reason),
            Outcome::Transmit(_) => unreachable!("the verifier: packets leave after a queue"),
        }
    }

    /// The decision about a packet that comes from a queue.
    #[inline]
    pub(crate) fn after_queue(self) -> EgressDecision {
        match self {
            Outcome::Enqueue(packet) => EgressDecision::Enqueue(packet),
            Outcome::Digest(message) => EgressDecision::Digest(message),
            Outcome::Recirculate(packet) => EgressDecision::Recirculate(packet),
            Outcome::Transmit(packet) => EgressDecision::Transmit(packet),
            Outcome::Drop(reason) => EgressDecision::Drop(reason),
            Outcome::Resubmit(_) => unreachable!("the verifier: packets are resubmitted before a queue"),
        }
    }
}
