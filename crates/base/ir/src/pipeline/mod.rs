//! What an architecture does around the bodies of a program, as a graph.
//!
//! A builder of the architecture makes the graph from [`crate::Program::stages`] and [`crate::Program::intrinsic`].
//! Its blocks run bodies, move values between the switch and slots, and decide what becomes of the packet:
//!
//! ```text
//!  arrival ─► run parser ─► run ingress ─► suspend ┄┄ queue ┄┄► dequeued 0 ─► run egress ─► reframe ─► finish transmit
//!                                 └► replicate ─► replica 0 ─► suspend
//! ```
//!
//! A packet enters the graph at an [`Entry`], and leaves it with an [`End`] that has no next block: it waits in a queue
//! ([`End::Suspend`]), it becomes copies ([`End::Replicate`]), or it is at its end ([`End::Finish`]). Code never returns
//! into the middle of a block: what was suspended goes on at an entry.
//!
//! # State of a packet
//!
//! Its slots, its frame, and the parser's position in the frame. At `arrival`, `resubmitted`, `recirculated` and at clone
//! entries that begin with a frame, all slots are 0. A `replica`, a `dequeued` packet and a clone
//! [`MirrorFrame::WithState`] have the slots that their origin had. Slots of kind [`crate::SlotKind::Request`] belong to
//! the graph and are read by nothing else.
//!
//! # Order of effects
//!
//! Digests of a body are sent at the next [`GlueOp::Commit`]. A packet that an assertion or the step limit ends takes its
//! uncommitted digests back. Mirrored packets go their way, up to their queue, before the packet itself goes on.

use crate::{BlockId, BodyId, Expr, Location, SlotId, SlotKind};
use forebay_bits::Bits;
use std::collections::BTreeMap;

/// The glue of an architecture for one program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// Where packets enter; several entries may name one block.
    pub entries: BTreeMap<Entry, EntryInfo>,
    /// Blocks; [`BlockId`] is the index.
    pub blocks: Vec<GlueBlock>,
}

/// How a packet comes to the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Entry {
    /// From a port.
    Arrival,
    /// From [`Finish::Resubmit`], with the frame that arrived.
    Resubmitted,
    /// From [`Finish::Recirculate`], with the frame that left.
    Recirculated,
    /// From a mirror on the side of the queue where packets arrive.
    CloneIngress,
    /// From a mirror behind the queue.
    CloneEgress,
    /// A copy that the replicate with this number has made.
    Replica(u8),
    /// From a queue, where the suspend with this number has put it.
    Dequeued(u8),
}

/// What is true where packets enter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryInfo {
    /// The first block.
    pub block: BlockId,
    /// Slots to which [`GlueOp::Restore`] gives the values that came with the packet.
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
    /// Place in the source of what the block stands for, if it has one.
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
    /// `slot = $argument`: the low bits of what the switch says, as many as the slot has.
    Take {
        /// Target.
        slot: SlotId,
        /// What the switch says.
        argument: Argument,
    },
    /// Makes slots 0.
    Clear(Clear),
    /// Preserved slots get the values that came with the packet.
    Restore,
    /// What the deparser emitted and what the parser left become the frame, of which the parser has read nothing.
    Reframe {
        /// One more than the number of bytes that remain; 0 keeps them all.
        truncate: Option<Expr>,
    },
    /// Makes a further packet, which goes its way at once.
    Mirror(Mirror),
    /// Digests so far are sent, whatever becomes of the packet.
    Commit,
}

/// Which slots [`GlueOp::Clear`] changes. Slots of kind [`crate::SlotKind::Request`] stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clear {
    /// User metadata, intrinsic metadata and local variables.
    Metadata,
    /// All, headers too.
    All,
}

impl Clear {
    /// Whether it changes slots of this kind.
    pub fn concerns(self, kind: &SlotKind) -> bool {
        match (self, kind) {
            (_, SlotKind::Request) => false,
            (Clear::All, _) => true,
            (Clear::Metadata, kind) => matches!(kind, SlotKind::Metadata | SlotKind::Intrinsic | SlotKind::Local),
        }
    }
}

/// What the switch says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Argument {
    /// Port at which the packet, or the one it was made of, arrived.
    IngressPort,
    /// Bytes of the frame.
    FrameLength,
    /// Bytes of all valid headers.
    HeaderBytes,
    /// Microseconds since the switch started, when this side of the queue began.
    TimeUs,
    /// Error with which the last parser ended.
    ParserError,
    /// Whether `verify_checksum` has found a difference.
    ChecksumError,
    /// Behind a queue: the port.
    EgressPort,
    /// Behind a queue: the class.
    Class,
    /// Behind a queue: when the packet came to the queue, in microseconds.
    EnqueueTimeUs,
    /// Behind a queue: packets in the queue when it came.
    EnqueueDepth,
    /// Behind a queue: packets in the queue when it left.
    DequeueDepth,
    /// Of a replica: its port.
    ReplicaPort,
    /// Of a replica: its instance.
    ReplicaInstance,
    /// Of a mirrored packet: its session.
    Session,
    /// Of a mirrored packet: the session's class of service, 0 for none.
    SessionClass,
    /// Of a mirrored packet: bytes to which the session cuts frames, plus 1; 0 for no limit.
    SessionLimit,
    /// What bodies asked for by `clone`: 0 nothing, 1 a clone, 2 + n a clone that preserves field list n.
    CloneRequest,
    /// The session of that clone.
    CloneSession,
    /// The same by `resubmit`.
    ResubmitRequest,
    /// The same by `recirculate`.
    RecirculateRequest,
    /// Bytes to which bodies have truncated the packet, plus 1; 0 for no limit.
    TruncateRequest,
}

/// Slots with the slots of the new packet that get their values.
pub type Pairs = Vec<(SlotId, SlotId)>;

/// A further packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Mirror {
    /// Session of the replication engine (width 32). Without such a session nothing is made, and the loss is counted.
    pub session: Expr,
    /// Where it enters the graph.
    pub to: Entry,
    /// What it consists of.
    pub frame: MirrorFrame,
    /// Values that come with it.
    pub preserve: Pairs,
}

/// What a mirrored packet consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MirrorFrame {
    /// The frame with which the packet entered the graph.
    AsReceived,
    /// The frame of the last [`GlueOp::Reframe`].
    AsDeparsed,
    /// The frame with which the packet entered, its slots and the parser's position.
    WithState,
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// Go on there.
    Jump(BlockId),
    /// On a condition of width 1.
    Branch {
        /// Condition.
        condition: Expr,
        /// When 1.
        then_block: BlockId,
        /// When 0.
        else_block: BlockId,
    },
    /// The case with the value of the key.
    Select {
        /// Key.
        key: Expr,
        /// Values, each once, and where they lead.
        cases: Vec<(Bits, BlockId)>,
        /// Of all other values.
        default: BlockId,
    },
    /// Executes a body. `return`, `exit` and `accept` lead to `next`.
    Run {
        /// Body.
        body: BodyId,
        /// After it.
        next: BlockId,
        /// After a parser that rejects.
        reject: Option<BlockId>,
    },
    /// The packet becomes a copy for each member.
    Replicate {
        /// Of what.
        target: Target,
        /// Where each copy goes on: [`Entry::Replica`].
        each: Entry,
        /// When there is no member; without, the packet is gone.
        none: Option<BlockId>,
    },
    /// To a queue.
    Suspend {
        /// The port's.
        port: Expr,
        /// The port's queue for this class.
        class: Expr,
        /// Bytes that it counts for (width 32).
        length: Expr,
        /// Where it goes on: [`Entry::Dequeued`].
        resume: Entry,
        /// Values that come with it.
        preserve: Pairs,
    },
    /// The packet is at its end.
    Finish(Finish),
}

/// Members of which [`End::Replicate`] makes copies.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// Of the multicast group with this number.
    Group(Expr),
    /// Of the session of the mirror that made the packet.
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
    /// A slot with the parser's error, which is the reason when it is not 0.
    pub error: Option<SlotId>,
    /// The reason otherwise.
    pub otherwise: DropReason,
}

/// Reasons of architectures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// The program decided so before the queue.
    Ingress,
    /// The program decided so behind the queue.
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

    /// The bodies that packets run, in the order of their blocks; one that several blocks run comes several times.
    pub fn bodies(&self) -> impl Iterator<Item = BodyId> + '_ {
        self.blocks.iter().filter_map(|block| match block.end {
            End::Run { body, .. } => Some(body),
            _ => None,
        })
    }
}

impl Argument {
    /// What bodies ask for: of the packet's requests.
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

    /// The entries at which the packet, or its copies, may go on.
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
