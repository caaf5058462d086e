//! The fast path through a program: one function for the whole pipeline, from a received frame to its output port.
//!
//! Between ingress and egress an architecture may queue a packet, copy it or send it back. Most packets of most
//! programs are neither copied nor sent back, and they find the untimed switch's queues empty. For those packets the
//! parser, all controls and the deparser become one function, in which
//!
//! * slots are registers, and slots that are never read do not exist;
//! * each path through the parser is compiled separately ([`plan`]): after it, the position and validity of every
//!   header are known, so conditions on validity are gone;
//! * fields that the program does not change stay in the packet and are loaded where they are used;
//! * fields that the program changes are changed in the packet: at once if the packet can no longer bail out,
//!   otherwise by the deparser; headers that keep their position in the packet are not copied.
//!
//! A loop around what follows ingress makes the copies for the members of a multicast group. The function *bails out*
//! where something rare happens: a parser error, a copy that cannot be made in place. Until then it has changed
//! nothing but counters, from which it takes the packet back, so the packet can go through general code from the start.
//! A program that changes something else that outlives a packet (a register, a meter) before it may bail out has no
//! such function. [`Route::obstacles`] lists what keeps packets off the fast path, and [`BailOut`] counts it.

mod bail_out;
mod changes;
mod coalescing;
#[cfg(test)]
mod example;
pub(crate) mod facts;
pub(crate) mod flow;
pub(crate) mod flow_keys;
mod jump_threading;
mod known;
mod limits;
pub(crate) mod live_sets;
pub(crate) mod look_up_hoisting;
pub(crate) mod loop_invariant_tables;
mod named;
mod obstacles;
mod passes;
pub(crate) mod plan;
mod specialise;
mod text;
mod unrolling;
mod uses;
mod verify;

pub use bail_out::BailOut;
use forebay_ir::{BodyId, Location, Program, SlotId};
pub use obstacles::{Obstacle, ObstacleKind, Stops, only_parses};
pub use passes::{Pass, PassSet, Watch};
pub use plan::PathId;
pub use unrolling::unroll;
pub(crate) use uses::Notes;
pub use uses::varbit_length;

/// The order in which the packets of a burst take the fast path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One after another, each from beginning to end. Tables are searched in place.
    RunToCompletion,
    /// All packets up to a look-up, then all packets from there on, so that memory accesses overlap.
    Staged,
    /// As [`Order::RunToCompletion`], but each packet reuses the look-up results of its flow's last packet: see
    /// [`crate::flows`].
    Cached,
}

/// What an architecture does with a packet that takes the fast path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Parser.
    pub parser: BodyId,
    /// Checksum verification.
    pub verify_checksum: BodyId,
    /// Ingress.
    pub ingress: BodyId,
    /// Egress.
    pub egress: BodyId,
    /// Checksum computation.
    pub compute_checksum: BodyId,
    /// Deparser.
    pub deparser: BodyId,
    /// Set to 1 when a checksum was found to be wrong.
    pub checksum_error: Option<SlotId>,
    /// Set to the parser's error when the parser rejects a packet that nevertheless goes on to ingress. Without it,
    /// rejected packets bail out.
    pub parser_error: Option<SlotId>,
    /// The output port.
    pub egress_spec: SlotId,
    /// The condition on which the packet is dropped after ingress.
    pub ingress_drop: DropWhen,
    /// The condition on which it is dropped after egress.
    pub egress_drop: DropWhen,
    /// A packet in which the slot of one of these is not 0 after ingress [leaves](Route::leaving) there, or bails out.
    pub requests: Vec<Request>,
    /// How packets are sent back to ingress, if the program may do so.
    pub sends_back: Option<SendsBack>,
    /// A slot that ingress sets if this route does not describe how the packet continues; the packet then bails out. A
    /// path through the parser is not compiled if packets on it may set the slot after they have changed state.
    pub misses: Option<SlotId>,
    /// The length in bytes that counters and meters use after ingress. Without it they use the length of the received
    /// frame.
    pub counted_length: Option<SlotId>,
    /// Values before the parser; all other slots are 0.
    pub before_parser: Vec<(SlotId, Source)>,
    /// Values between ingress and egress.
    pub before_egress: Vec<(SlotId, Source)>,
    /// How a packet is replicated.
    pub replication: Option<Replication>,
    /// Slots that a program may not write if it is to have a fast path.
    pub fixed: Vec<SlotId>,
    /// How clones of packets are made.
    pub cloning: Cloning,
    /// The slots whose values go with a packet that leaves specialised code after ingress. The packet
    /// [goes on](crate::Verdict::GoesOn) in general code from there, so nothing that ingress has done is repeated.
    /// Without these slots, packets with a [request](Route::requests) bail out.
    pub leaving: Option<Vec<SlotId>>,
    /// The passes that are left out.
    pub without: PassSet,
}

/// How clones of packets are made. By default, cloned packets bail out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cloning {
    /// Slots whose values clones of the packet may keep. Without it, cloned packets bail out.
    pub kept: Option<Vec<SlotId>>,
    /// Whether clones from egress may be noted, too. This requires that nothing in such a clone can be observed except
    /// the headers that are valid there and what the parser left, in whole bytes.
    pub from_egress: bool,
    /// Why clones from egress of a program that makes them are not noted, so that none of its clones are: a location, and
    /// what the program does there.
    pub cannot_note: Option<(Location, String)>,
    /// The frames of noted clones from ingress and from egress.
    pub frames: [ClonedFrame; 2],
    /// A slot that is 0 before ingress and before egress, and 1 once the packet was cloned there. Only jump threading
    /// reads it, to separate paths with a clone from those without, so packets that are not cloned keep nothing for
    /// clones.
    pub marker: Option<SlotId>,
    /// Whether no register or meter that clones change is used by other packets, and vice versa. Then clones may be
    /// executed before or after packets that are no clones.
    pub are_apart: bool,
    /// Whether packets that ingress clones leave there. The clone must then pass egress before its packet, because both
    /// find the same state.
    pub leave: bool,
}

impl Default for Cloning {
    fn default() -> Cloning {
        Cloning {
            kept: None,
            from_egress: false,
            cannot_note: None,
            frames: [ClonedFrame::Received, ClonedFrame::Headers],
            marker: None,
            are_apart: false,
            leave: false,
        }
    }
}

/// The frame of a noted clone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClonedFrame {
    /// As it entered ingress.
    Received,
    /// Lengths, a validity bit for each header, the valid [headers](Route::headers_of_clones), and what the parser
    /// left.
    Headers,
    /// As the deparser puts it together.
    Deparsed,
}

/// A request of ingress to the architecture, which ingress makes by setting a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The slot; 0 if there is no request.
    pub slot: SlotId,
    /// The kind.
    pub kind: RequestKind,
}

/// The kinds of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// A clone.
    Clone,
    /// A clone in a mirror slot of PNA.
    Mirror,
    /// The packet begins again as it was received.
    Resubmit,
    /// The packet begins again as it would leave.
    Recirculate,
}

impl RequestKind {
    /// What a program does that makes such a request, as the end of a sentence.
    pub fn words(self) -> &'static str {
        match self {
            RequestKind::Clone => "clones the packet",
            RequestKind::Mirror => "mirrors the packet",
            RequestKind::Resubmit => "resubmits the packet",
            RequestKind::Recirculate => "recirculates the packet",
        }
    }

    /// Why a packet with such a request leaves specialised code.
    pub(crate) fn reason(self) -> BailOut {
        match self {
            RequestKind::Clone | RequestKind::Mirror => BailOut::Clone,
            RequestKind::Resubmit | RequestKind::Recirculate => BailOut::SentBack,
        }
    }
}

/// A packet is dropped when a slot has this value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropWhen {
    /// The slot.
    pub slot: SlotId,
    /// Its value.
    pub value: u64,
}

/// How packets are sent back to ingress. The fast path completes the pass of such a packet, and notes what the packet
/// keeps for its next pass: see [`crate::SentBack`].
///
/// A slot is 0 if the packet is not sent back. Otherwise it is [`SendsBack::NO_LIST`], or [`SendsBack::FIRST_LIST`]
/// plus the number of a field list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendsBack {
    /// Read after ingress: the packet begins again as it was received, before anything else happens to it.
    pub resubmit: SlotId,
    /// Read after the checksums are computed: the packet does not leave by its port, but begins again.
    pub recirculate: SlotId,
    /// Slots whose values may be kept.
    pub kept: Vec<SlotId>,
    /// Whether the next pass of a recirculated packet has specialised code, too. Only [obstacles](Route::obstacles)
    /// depend on it.
    pub recirculates_fast: bool,
}

impl SendsBack {
    /// The packet keeps no values.
    pub const NO_LIST: u64 = 1;
    /// The packet keeps the values of field list 0.
    pub const FIRST_LIST: u64 = 2;
}

/// How a packet is copied for the members of a group. Each copy goes through egress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replication {
    /// The number of the group after ingress; 0 when the packet is not copied.
    pub group: SlotId,
    /// Values between ingress and egress of a copy.
    pub before_copy: Vec<(SlotId, Source)>,
}

/// A member of a multicast group, for which one copy is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Replica {
    /// The copy's output port.
    pub egress_port: u32,
    /// Distinguishes the copies for one port: `standard_metadata.egress_rid`.
    pub instance: u16,
}

/// The value of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A constant.
    Number(u64),
    /// The low bits of an argument.
    Argument(Argument),
    /// The value of `egress_spec` after ingress; for a copy, its port.
    EgressPort,
    /// For a copy: see [`Replica::instance`].
    Instance,
    /// After ingress: the value of a slot, at most [`Arguments::last_queue`].
    Queue(SlotId),
    /// After ingress: the frame's length in bytes, without the headers that were valid after the parser, and with
    /// those that are valid now.
    NewLength,
    /// After ingress: the bytes that the parser left of the frame, plus the value of a slot.
    Payload(SlotId),
    /// Before the parser: a number that begins this many bytes before the frame, in as many whole bytes as the slot
    /// needs.
    BeforeFrame(u32),
}

impl Source {
    /// The slots that the value depends on.
    pub(crate) fn slots_read(self, program: &Program) -> Vec<SlotId> {
        match self {
            Source::Queue(slot) | Source::Payload(slot) => vec![slot],
            Source::NewLength => {
                let headers = program.headers.iter();
                let lengths = headers.flat_map(|header| {
                    let lengths = header.fields.iter().filter_map(|field| field.length);
                    lengths.chain([header.valid])
                });
                lengths.collect()
            }
            Source::Number(_)
            | Source::Argument(_)
            | Source::EgressPort
            | Source::Instance
            | Source::BeforeFrame(_) => Vec::new(),
        }
    }
}

/// An argument of a packet that takes the fast path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// See [`Arguments::ingress_port`].
    IngressPort,
    /// The frame's length in bytes.
    PacketLength,
    /// See [`Arguments::timestamp_us`].
    Timestamp,
}

/// The arguments of the packets that take the fast path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// The port by which the packet arrived.
    pub ingress_port: u32,
    /// The time of arrival, in microseconds.
    pub timestamp_us: u64,
    /// The number of the last queue of every port.
    pub last_queue: u32,
    /// The state of the random number generator for the first packet of the burst: see [`forebay_exec::Seed::of_packet`].
    pub random_seed: u64,
}
