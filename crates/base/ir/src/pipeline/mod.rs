//! What an architecture does around the bodies of a program, as a graph.
//!
//! A builder of the architecture makes the graph from [`crate::Program::stages`] and [`crate::Program::intrinsic`].
//! Its blocks run bodies, move values between the switch and slots, and decide what happens to the packet:
//!
//! ```text
//!  arrival ─► run parser ─► run ingress ─► suspend ┄┄ queue ┄┄► dequeued 0 ─► run egress ─► reframe ─► finish transmit
//!                                 └► replicate ─► replica 0 ─► suspend
//! ```
//!
//! A packet enters the graph at an [`Entry`], and leaves it with an [`End`] that has no next block: it waits in a
//! queue ([`End::Suspend`]), is replicated ([`End::Replicate`]), or ends ([`End::Finish`]). Execution never returns
//! into the middle of a block: a suspended packet continues at an entry.
//!
//! # State of a packet
//!
//! The state consists of the packet's slots, its frame, and the parser's position in the frame. At `arrival`,
//! `resubmitted`, `recirculated` and at clone entries that begin with a frame, all slots are 0. A `replica`, a
//! `dequeued` packet and a clone [`MirrorFrame::WithState`] have the slots of their origin. Slots of kind
//! [`crate::SlotKind::Request`] belong to the graph, and only the graph reads them.
//!
//! # Order of effects
//!
//! Digests of a body are sent at the next [`GlueOp::Commit`]. The uncommitted digests of a packet that an assertion or
//! the step limit ends are taken back. Mirrored packets are processed, up to their queue, before the packet itself
//! continues.

use crate::{BlockId, BodyId, Expr, Location, SlotId, SlotKind};
use forebay_bits::Bits;
use std::collections::BTreeMap;

/// The glue of an architecture for one program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// The points at which packets enter; several entries may name one block.
    pub entries: BTreeMap<Entry, EntryInfo>,
    /// Blocks; [`BlockId`] is the index.
    pub blocks: Vec<GlueBlock>,
}

/// How a packet enters the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Entry {
    /// From a port.
    Arrival,
    /// From [`Finish::Resubmit`], with the frame that arrived.
    Resubmitted,
    /// From [`Finish::Recirculate`], with the frame that left.
    Recirculated,
    /// From a mirror before the queue.
    CloneIngress,
    /// From a mirror after the queue.
    CloneEgress,
    /// A copy made by the replicate with this number.
    Replica(u8),
    /// From a queue, into which the suspend with this number has put it.
    Dequeued(u8),
}

/// What holds where packets enter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryInfo {
    /// The first block.
    pub block: BlockId,
    /// Slots that [`GlueOp::Restore`] sets to the values that came with the packet.
    pub preserved: Vec<SlotId>,
}

/// A block of glue.
#[derive(Clone, Debug, PartialEq)]
pub struct GlueBlock {
    /// Its name in the text form, unique in the graph.
    pub label: String,
    /// Operations in order.
    pub ops: Vec<GlueOp>,
    /// What follows.
    pub end: End,
    /// Source location of what the block represents, if it has one.
    pub location: Location,
}

/// An operation of glue.
#[derive(Clone, Debug, PartialEq)]
pub enum GlueOp {
    /// `slot = value`
    Set {
        /// Target.
        slot: SlotId,
        /// Value of the same width.
        value: Expr,
    },
    /// `slot = $argument`: the low bits of an argument, as many as the slot has.
    Take {
        /// Target.
        slot: SlotId,
        /// The argument.
        argument: Argument,
    },
    /// Sets slots to 0.
    Clear(Clear),
    /// Sets preserved slots to the values that came with the packet.
    Restore,
    /// Makes the emitted bytes, followed by what the parser left, the frame. The parser's position becomes its
    /// beginning.
    Reframe {
        /// One more than the number of bytes that remain; 0 keeps them all.
        truncate: Option<Expr>,
    },
    /// Makes a further packet, which is processed at once.
    Mirror(Mirror),
    /// Commits the digests so far: they are sent even if the packet is dropped later.
    Commit,
}

/// The slots that [`GlueOp::Clear`] changes. It does not change slots of kind [`crate::SlotKind::Request`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clear {
    /// User metadata, intrinsic metadata and local variables.
    Metadata,
    /// All slots, including headers.
    All,
}

impl Clear {
    /// Whether this includes slots of a kind.
    pub fn concerns(self, kind: &SlotKind) -> bool {
        match (self, kind) {
            (_, SlotKind::Request) => false,
            (Clear::All, _) => true,
            (Clear::Metadata, kind) => matches!(kind, SlotKind::Metadata | SlotKind::Intrinsic | SlotKind::Local),
        }
    }
}

/// A value that the switch provides for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Argument {
    /// The port at which the packet, or the one from which it was made, arrived.
    IngressPort,
    /// Bytes of the frame.
    FrameLength,
    /// Bytes of all valid headers.
    HeaderBytes,
    /// Microseconds from the start of the switch to the time at which this side of the queue began.
    TimeUs,
    /// Error with which the last parser ended.
    ParserError,
    /// Whether `verify_checksum` has found a difference.
    ChecksumError,
    /// After a queue: the port.
    EgressPort,
    /// After a queue: the class.
    Class,
    /// After a queue: the time at which the packet entered the queue, in microseconds.
    EnqueueTimeUs,
    /// After a queue: packets in the queue when it entered.
    EnqueueDepth,
    /// After a queue: packets in the queue when it left.
    DequeueDepth,
    /// For a replica: its port.
    ReplicaPort,
    /// For a replica: its instance.
    ReplicaInstance,
    /// For a mirrored packet: its session.
    Session,
    /// For a mirrored packet: the session's class of service, 0 for none.
    SessionClass,
    /// For a mirrored packet: bytes to which the session truncates frames, plus 1; 0 for no limit.
    SessionLimit,
    /// The request of bodies by `clone`: 0 for none, 1 for a clone, 2 + n for a clone that preserves field list n.
    CloneRequest,
    /// The session of that clone.
    CloneSession,
    /// The request by `resubmit`, encoded in the same way.
    ResubmitRequest,
    /// The request by `recirculate`, encoded in the same way.
    RecirculateRequest,
    /// Bytes to which bodies have truncated the packet, plus 1; 0 for no limit.
    TruncateRequest,
}

/// Slots, each with the slot of the new packet that gets its value.
pub type Pairs = Vec<(SlotId, SlotId)>;

/// A further packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Mirror {
    /// Session of the replication engine (width 32). If there is no such session, no packet is made, and the loss is
    /// counted.
    pub session: Expr,
    /// The entry at which the packet enters the graph.
    pub to: Entry,
    /// What it consists of.
    pub frame: MirrorFrame,
    /// Values that come with the packet.
    pub preserve: Pairs,
}

/// What a mirrored packet consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MirrorFrame {
    /// The frame with which the packet entered the graph.
    AsReceived,
    /// The frame of the last [`GlueOp::Reframe`].
    AsDeparsed,
    /// The frame with which the packet entered, with its slots and the parser's position.
    WithState,
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// Continue at a block.
    Jump(BlockId),
    /// Branch on a condition of width 1.
    Branch {
        /// Condition.
        condition: Expr,
        /// Target if it is 1.
        then_block: BlockId,
        /// Target if it is 0.
        else_block: BlockId,
    },
    /// Continue at the case with the value of the key.
    Select {
        /// Key.
        key: Expr,
        /// Distinct values, with their targets.
        cases: Vec<(Bits, BlockId)>,
        /// Target for all other values.
        default: BlockId,
    },
    /// Executes a body. After `return`, `exit` and `accept` it continues at `next`.
    Run {
        /// Body.
        body: BodyId,
        /// The block after it.
        next: BlockId,
        /// The block after a parser that rejects.
        reject: Option<BlockId>,
    },
    /// Makes a copy of the packet for each member.
    Replicate {
        /// The group of members.
        target: Target,
        /// The entry at which each copy continues: an [`Entry::Replica`].
        each: Entry,
        /// The block at which the packet continues if there is no member. Without it, the packet ends there.
        none: Option<BlockId>,
    },
    /// Puts the packet into a queue.
    Suspend {
        /// The port of the queue.
        port: Expr,
        /// The class that selects one of the port's queues.
        class: Expr,
        /// The packet's length in bytes, as the queue counts it (width 32).
        length: Expr,
        /// The entry at which it continues: an [`Entry::Dequeued`].
        resume: Entry,
        /// Values that come with the packet.
        preserve: Pairs,
    },
    /// Ends the packet.
    Finish(Finish),
}

/// The members for which [`End::Replicate`] makes copies.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// The replicas of the multicast group with this number.
    Group(Expr),
    /// The replicas of the session of the mirror that made the packet.
    Session,
}

/// The end of a packet.
#[derive(Clone, Debug, PartialEq)]
pub enum Finish {
    /// It leaves the switch by a port.
    Transmit {
        /// The port.
        port: Expr,
    },
    /// It is dropped.
    Drop(Reason),
    /// Its frame as received enters again at [`Entry::Resubmitted`].
    Resubmit(Pairs),
    /// Its frame enters again at [`Entry::Recirculated`].
    Recirculate(Pairs),
}

/// Why the program drops a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reason {
    /// A slot with the parser's error. If it is not 0, it is the reason.
    pub error: Option<SlotId>,
    /// The reason if there is no parser error.
    pub otherwise: DropReason,
}

/// The drop reasons of architectures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// A decision of the program before the queue.
    Ingress,
    /// A decision of the program after the queue.
    Egress,
    /// A multicast group without members.
    NoMember,
}

impl From<DropReason> for Reason {
    fn from(otherwise: DropReason) -> Reason {
        Reason { error: None, otherwise }
    }
}

impl Graph {
    /// The block with this id.
    pub fn block(&self, id: BlockId) -> &GlueBlock {
        &self.blocks[id.index()]
    }

    /// The bodies that packets run, in the order of their blocks. A body occurs once for each block that runs it.
    pub fn bodies(&self) -> impl Iterator<Item = BodyId> + '_ {
        self.blocks.iter().filter_map(|block| match block.end {
            End::Run { body, .. } => Some(body),
            _ => None,
        })
    }
}

impl Argument {
    /// The arguments that are requests of bodies.
    pub const REQUESTS: [Argument; 6] = [
        Argument::ChecksumError,
        Argument::CloneRequest,
        Argument::CloneSession,
        Argument::ResubmitRequest,
        Argument::RecirculateRequest,
        Argument::TruncateRequest,
    ];
}

impl End {
    /// The blocks that may follow.
    pub fn successors(&self) -> Vec<BlockId> {
        let mut copy = self.clone();
        let mut found = Vec::new();
        copy.for_each_target(&mut |block| found.push(*block));
        found
    }

    /// Every block that may follow, to be changed.
    pub fn for_each_target(&mut self, change: &mut impl FnMut(&mut BlockId)) {
        match self {
            End::Jump(next) => change(next),
            End::Branch {
                then_block, else_block, ..
            } => {
                change(then_block);
                change(else_block);
            }
            End::Select { cases, default, .. } => {
                cases.iter_mut().for_each(|(_, target)| change(target));
                change(default);
            }
            End::Run { next, reject, .. } => {
                change(next);
                reject.iter_mut().for_each(change);
            }
            End::Replicate { none, .. } => none.iter_mut().for_each(change),
            End::Suspend { .. } | End::Finish(_) => {}
        }
    }

    /// The entries at which the packet, or its copies, may continue.
    pub fn entries(&self) -> Option<(Entry, &[(SlotId, SlotId)])> {
        match self {
            End::Replicate { each, .. } => Some((*each, &[])),
            End::Suspend { resume, preserve, .. } => Some((*resume, preserve)),
            End::Finish(Finish::Resubmit(pairs)) => Some((Entry::Resubmitted, pairs)),
            End::Finish(Finish::Recirculate(pairs)) => Some((Entry::Recirculated, pairs)),
            _ => None,
        }
    }
}
