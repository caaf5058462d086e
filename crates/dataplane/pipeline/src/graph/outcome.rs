//! The outcomes of packets, as decisions for the switch.

use crate::frame_buffer::FrameBuffer;
use crate::outcome::{DigestMessage, DropReason, EgressDecision, IngressDecision};
use crate::packet::{IngressPacket, QueuedPacket};

/// The outcome of a packet, on either side of the queues.
pub(crate) enum Outcome {
    Enqueue(QueuedPacket),
    Digest(DigestMessage),
    Resubmit(IngressPacket),
    Recirculate(IngressPacket),
    Transmit { port: u32, bytes: FrameBuffer, tag: u64 },
    Drop(DropReason),
}

impl Outcome {
    /// The decision about a packet that comes from a port.
    #[inline]
    pub(crate) fn before_queue(self) -> IngressDecision {
        match self {
            Outcome::Enqueue(packet) => IngressDecision::Enqueue(packet),
            Outcome::Digest(message) => IngressDecision::Digest(Box::new(message)),
            Outcome::Resubmit(packet) => IngressDecision::Resubmit(packet),
            Outcome::Recirculate(packet) => IngressDecision::Recirculate(packet),
            Outcome::Drop(reason) => IngressDecision::Drop(reason),
            Outcome::Transmit { .. } => unreachable!("the verifier: packets leave behind a queue"),
        }
    }

    /// The decision about a packet that comes from a queue.
    #[inline]
    pub(crate) fn behind_queue(self) -> EgressDecision {
        match self {
            Outcome::Enqueue(packet) => EgressDecision::Enqueue(packet),
            Outcome::Digest(message) => EgressDecision::Digest(message),
            Outcome::Recirculate(packet) => EgressDecision::Recirculate(packet),
            Outcome::Transmit { port, bytes, tag } => EgressDecision::Transmit { port, bytes, tag },
            Outcome::Drop(reason) => EgressDecision::Drop(reason),
            Outcome::Resubmit(_) => unreachable!("the verifier: packets are resubmitted before a queue"),
        }
    }
}
