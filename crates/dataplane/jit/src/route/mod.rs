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
//! nothing, not even the packet, so the architecture takes the packet through the slow path from the start. A program
//! that changes something that outlives a packet (a register, a meter) before it may bail out has no such function.
//! [`Route::obstacles`] lists what keeps packets off the fast path, and [`BailOut`] counts it.

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
mod obstacles;
pub(crate) mod plan;
mod specialise;
mod text;
mod unrolling;
mod verify;

pub use bail_out::BailOut;
use flow::{FlowBlock, Joint};
use forebay_bits::Bits;
use forebay_exec::DIGESTS_MAX;
use forebay_ir::{
    Body, BodyId, Expr, Header, HeaderId, Location, Op, Program, RegisterId, SlotId, Statement, TableId, Terminator,
};
pub use obstacles::{Obstacle, ObstacleKind, Stops};
pub use plan::PathId;
use std::collections::{BTreeMap, BTreeSet};

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
}

/// How clones of packets are made. By default, cloned packets bail out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cloning {
    /// Slots whose values clones of the packet may keep. Without it, cloned packets bail out.
    pub kept: Option<Vec<SlotId>>,
    /// Whether clones from egress may be noted, too. This requires that nothing in such a clone can be observed except
    /// the headers that are valid there and what the parser left, in whole bytes.
    pub from_egress: bool,
    /// Why clones from egress of a program that makes them are not noted: a location, and what the program does there.
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
            Source::Number(_) | Source::Argument(_) | Source::EgressPort | Source::Instance => Vec::new(),
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
    /// The state of the random number generator for the first packet of the burst: see [`crate::Seed::of_packet`].
    pub random_seed: u64,
}

impl Route {
    /// The slot with the number of the multicast group.
    pub(crate) fn group(&self) -> Option<SlotId> {
        self.replication.as_ref().map(|replication| replication.group)
    }

    /// Values between ingress and egress of a copy.
    pub(crate) fn before_copy(&self) -> &[(SlotId, Source)] {
        self.replication
            .as_ref()
            .map_or(&[], |replication| &replication.before_copy)
    }

    /// The bodies after the parser, in order.
    pub(crate) fn bodies(&self) -> [BodyId; 5] {
        [
            self.verify_checksum,
            self.ingress,
            self.egress,
            self.compute_checksum,
            self.deparser,
        ]
    }

    /// The values that slots are certain to have before the parser.
    pub(crate) fn known(&self, program: &Program) -> BTreeMap<SlotId, Bits> {
        let zero = |id: u32| (SlotId(id), Bits::zero(program.slots[id as usize].width));
        let mut known: BTreeMap<SlotId, Bits> = (0..program.slots.len() as u32).map(zero).collect();
        for (slot, source) in &self.before_parser {
            match source {
                Source::Number(number) => {
                    known.insert(*slot, Bits::new(program.slot(*slot).width, (*number).into()));
                }
                Source::Argument(_)
                | Source::EgressPort
                | Source::Instance
                | Source::Queue(_)
                | Source::NewLength
                | Source::Payload(_) => {
                    known.remove(slot);
                }
            }
        }
        known
    }

    /// The slots that a body reads, or the architecture after a body.
    pub(crate) fn slots_read(&self, program: &Program) -> BTreeSet<SlotId> {
        let all: Vec<BodyId> = [self.parser].into_iter().chain(self.bodies()).collect();
        let mut read = Use::of(program, &all).read;
        read.extend(
            self.requested()
                .chain(self.misses)
                .chain(self.counted_length)
                .chain([self.egress_spec, self.ingress_drop.slot, self.egress_drop.slot])
                .chain(self.group()),
        );
        let sources = self.before_egress.iter().chain(self.before_copy());
        let wanted: Vec<Source> = sources
            .filter(|(slot, _)| read.contains(slot))
            .map(|(_, source)| *source)
            .collect();
        read.extend(wanted.into_iter().flat_map(|source| source.slots_read(program)));
        read.extend(self.kept());
        read.extend(
            self.sends_back
                .iter()
                .flat_map(|back| [back.resubmit, back.recirculate]),
        );
        if self.notes_clones_from_egress(program) {
            read.extend(program.headers.iter().flat_map(Header::slots));
        }
        read.extend(self.leaving.iter().flatten());
        read
    }

    /// Whether the length after ingress is read: see [`Source::NewLength`].
    pub(crate) fn reads_new_length(&self, program: &Program) -> bool {
        let read = self.slots_read(program);
        let mut sources = self.before_egress.iter().chain(self.before_copy());
        sources.any(|(slot, source)| *source == Source::NewLength && read.contains(slot))
    }

    /// Whether packets draw random numbers before egress, and from egress on.
    pub fn draws_random_numbers(&self, program: &Program) -> [bool; 2] {
        let before = [self.verify_checksum, self.ingress];
        let behind = [self.egress, self.compute_checksum, self.deparser];
        [&before[..], &behind[..]].map(|bodies| Use::of(program, bodies).random)
    }

    /// The arguments that are the same for all packets of a burst and that packets do not change, with their slots.
    pub(crate) fn burst_constants(&self, program: &Program) -> Vec<(SlotId, Source)> {
        let all: Vec<BodyId> = [self.parser].into_iter().chain(self.bodies()).collect();
        let written = Use::of(program, &all).written;
        let set = || self.before_egress.iter().chain(self.before_copy());
        let by_architecture = |slot| set().any(|(other, _)| *other == slot);
        let is_constant = |source: &Source| match source {
            Source::Argument(Argument::IngressPort | Argument::Timestamp) => true,
            Source::Argument(Argument::PacketLength) | Source::Number(_) => false,
            Source::EgressPort | Source::Instance | Source::Queue(_) | Source::NewLength | Source::Payload(_) => false,
        };
        let arguments = self.before_parser.iter().copied();
        let arguments = arguments.filter(|(slot, source)| is_constant(source) && !written.contains(slot));
        arguments.filter(|(slot, _)| !by_architecture(*slot)).collect()
    }

    /// The tables that packets may look up.
    pub(crate) fn tables(&self, program: &Program) -> BTreeSet<TableId> {
        let bodies = self.bodies().into_iter().map(|body| &program.bodies[body.index()]);
        let terminators = bodies.flat_map(|body| &body.blocks).map(|block| &block.terminator);
        let tables = terminators.filter_map(|terminator| match terminator {
            Terminator::Apply { table, .. } => Some(*table),
            _ => None,
        });
        tables.collect()
    }

    /// Whether what packets do to stateful objects depends on their order, or a packet may have to begin again before
    /// the next one. Then each packet finishes before the next one begins, and there is no staged variant.
    pub fn keeps_order(&self, program: &Program) -> bool {
        let all: Vec<BodyId> = [self.parser].into_iter().chain(self.bodies()).collect();
        self.sends_back.is_some() || Use::of(program, &all).ordered
    }

    /// The slot that says that a packet is resubmitted, where a packet may be.
    pub(crate) fn resubmits(&self, facts: &facts::Facts) -> Option<SlotId> {
        let slot = self.sends_back.as_ref()?.resubmit;
        (facts.value(slot) != Some(0)).then_some(slot)
    }

    /// The slot that says that a packet is recirculated, where a packet may be.
    pub(crate) fn recirculates(&self, facts: &facts::Facts) -> Option<SlotId> {
        let slot = self.sends_back.as_ref()?.recirculate;
        (facts.value(slot) != Some(0)).then_some(slot)
    }

    /// Whether egress may recirculate a packet.
    pub fn recirculates_in_egress(&self, program: &Program) -> bool {
        let behind = Use::of(program, &[self.egress, self.compute_checksum, self.deparser]);
        let may_be_set = |back: &SendsBack| behind.may_be_set.contains(&back.recirculate);
        self.sends_back.as_ref().is_some_and(may_be_set)
    }

    /// Whether ingress may resubmit a packet.
    pub(crate) fn resubmits_in_ingress(&self, program: &Program) -> bool {
        let before = Use::of(program, &[self.verify_checksum, self.ingress]);
        let may_be_set = |back: &SendsBack| before.may_be_set.contains(&back.resubmit);
        self.sends_back.as_ref().is_some_and(may_be_set)
    }

    /// What the fast path notes about packets in this order.
    pub(crate) fn notes(&self, program: &Program, order: Order) -> Notes {
        let waits = order == Order::Staged;
        Notes {
            requests: !waits && self.leaving.is_some(),
            digests: !waits && self.notes_digests(program),
            clones: !waits && self.notes_clones(program),
        }
    }

    /// The slots of [`Route::requests`].
    pub(crate) fn requested(&self) -> impl Iterator<Item = SlotId> {
        self.requests.iter().map(|request| request.slot)
    }

    /// The slots whose values clones may keep.
    pub(crate) fn kept_by_clones(&self) -> &[SlotId] {
        self.cloning.kept.as_deref().unwrap_or_default()
    }

    /// The slots whose values clones, or packets that are sent back, may keep.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &SlotId> {
        let back = self.sends_back.iter().flat_map(|back| &back.kept);
        self.kept_by_clones().iter().chain(back)
    }

    /// Whether cloned packets can stay on the fast path. It notes clones; a clone is executed after its packet and
    /// before the next packet. So if packets are cloned before egress, egress must change no state, or must change
    /// different state for clones than for other packets, unless such packets [leave](Cloning::leave).
    pub fn notes_clones(&self, program: &Program) -> bool {
        let [before, behind] = self.clones(program);
        let is_noted = !(before && self.clones_share_state(program)) && (!behind || self.cloning.from_egress);
        self.cloning.kept.is_some() && (before || behind || self.cloning.leave) && is_noted
    }

    /// Whether egress changes state for a clone that it may find for another packet.
    fn clones_share_state(&self, program: &Program) -> bool {
        !self.cloning.are_apart && self.changes_state_in_egress(program)
    }

    /// Whether packets that ingress clones have to [leave](Cloning::leave), and can.
    pub fn leaves_with_clones(&self, program: &Program) -> bool {
        let all = Use::of(program, &self.bodies());
        let is_only_cloned = !all.asserts && !all.random && all.digests == 0;
        let [before, behind] = self.clones(program);
        before && self.clones_share_state(program) && is_only_cloned && (!behind || self.cloning.from_egress)
    }

    /// The slots that are read after ingress, by bodies or by the architecture.
    pub fn slots_read_behind(&self, program: &Program) -> BTreeSet<SlotId> {
        let mut read = Use::of(program, &[self.egress, self.compute_checksum, self.deparser]).read;
        read.extend(program.headers.iter().flat_map(Header::slots));
        read.extend(
            self.before_egress
                .iter()
                .flat_map(|(_, source)| source.slots_read(program)),
        );
        read.extend(self.group().into_iter().chain(self.parser_error));
        read.extend([self.egress_spec, self.ingress_drop.slot]);
        read.extend(self.kept());
        let returns = self.sends_back.iter();
        read.extend(returns.flat_map(|back| [back.resubmit, back.recirculate]));
        read
    }

    /// Whether the packet may have a noted clone from ingress where these facts are certain.
    pub(crate) fn may_note_clone_from_ingress(&self, program: &Program, facts: &facts::Facts) -> bool {
        self.clones(program)[0] && self.cloning.marker.is_none_or(|slot| facts.value(slot) != Some(0))
    }

    /// Whether the packet may have a noted clone from egress where these facts are certain.
    pub(crate) fn may_note_clone_from_egress(&self, program: &Program, facts: &facts::Facts) -> bool {
        self.notes_clones_from_egress(program) && self.cloning.marker.is_none_or(|slot| facts.value(slot) != Some(0))
    }

    /// Whether the fast path notes clones from egress.
    pub(crate) fn notes_clones_from_egress(&self, program: &Program) -> bool {
        self.clones(program)[1] && self.notes_clones(program)
    }

    /// The headers of a program in the order in which noted clones from egress have them: headers of fixed length come
    /// first, so that their positions are known.
    pub fn headers_of_clones(program: &Program) -> Vec<HeaderId> {
        let ids = (0..program.headers.len() as u32).map(HeaderId);
        let (fixed, varying): (Vec<_>, Vec<_>) =
            ids.partition(|id| varbit_length(&program.headers[id.index()]).is_none());
        fixed.into_iter().chain(varying).collect()
    }

    /// Whether noted clones may be executed later, after subsequent packets, without any visible difference.
    pub fn clones_commute(&self, program: &Program) -> bool {
        let behind = Use::of(program, &[self.egress, self.compute_checksum, self.deparser]);
        let finds_changes = || !behind.registers_read.is_empty() && self.changes_state_in_ingress(program);
        let shares_state = !self.cloning.are_apart && (behind.changes_state || finds_changes());
        self.notes_clones(program) && !shares_state && behind.digests == 0 && !self.recirculates_in_egress(program)
    }

    /// Whether clones must be executed in the order of their packets, as a later packet or clone could see a
    /// difference.
    pub(crate) fn keeps_order_of_clones(&self, program: &Program) -> bool {
        !self.clones_commute(program) || self.changes_state_in_egress(program)
    }

    /// Whether noted clones may be executed by specialised code: all together, or, if they all come from egress and
    /// the next packet could see a difference, those of each packet before the next one.
    pub fn executes_clones(&self, program: &Program) -> bool {
        let in_turn = || {
            let behind = Use::of(program, &[self.egress, self.compute_checksum, self.deparser]);
            !self.clones(program)[0] && behind.digests == 0 && self.notes_clones(program)
        };
        self.clones_commute(program) || in_turn()
    }

    /// Whether packets may be cloned before egress without [leaving](Cloning::leave), and from egress on.
    pub fn clones(&self, program: &Program) -> [bool; 2] {
        let [before, behind] = self.asks_for_clones(program);
        [before && !self.cloning.leave, behind]
    }

    /// Whether the program may clone packets before egress, and from egress on.
    fn asks_for_clones(&self, program: &Program) -> [bool; 2] {
        let before = [self.verify_checksum, self.ingress];
        let behind = [self.egress, self.compute_checksum, self.deparser];
        [&before[..], &behind[..]].map(|bodies| Use::of(program, bodies).clones)
    }

    /// Whether a packet may leave after ingress where these facts are certain.
    pub(crate) fn may_leave(&self, facts: &facts::Facts) -> bool {
        let may_be_set = |slot| facts.value(slot) != Some(0);
        let is_cloned = self.cloning.leave && self.cloning.marker.is_none_or(may_be_set);
        self.leaving.is_some() && (is_cloned || self.requested().any(may_be_set))
    }

    /// Whether the fast path itself notes digests. In orders in which packets do not wait for each other, the digests
    /// then come in the order of packets. The fast path cannot take back the digests of a packet that fails an
    /// assertion, so programs with assertions bail out instead.
    pub(crate) fn notes_digests(&self, program: &Program) -> bool {
        let all = Use::of(program, &self.bodies());
        all.digests > 0 && all.digests <= DIGESTS_MAX && !all.asserts
    }

    /// Whether packets request changes of tables, pools or quotas.
    pub(crate) fn asks_tables(&self, program: &Program) -> bool {
        Use::of(program, &self.bodies()).asks_tables
    }

    /// Whether a packet may bail out after the parser for a reason other than replication.
    pub(crate) fn may_bail_out(&self, program: &Program, notes: Notes) -> bool {
        let all = Use::of(program, &self.bodies());
        all.bails_out(notes) || (!notes.requests && self.requested().any(|slot| all.may_be_set.contains(&slot)))
    }

    /// Whether a packet may bail out in a block of a flow, or at its end.
    pub(crate) fn may_bail_out_at(&self, program: &Program, block: &FlowBlock, notes: Notes) -> bool {
        let asks = |statement: &Statement| {
            let mut used = Use::default();
            used.op(program, &statement.op);
            used.bails_out(notes)
        };
        let in_actions = |table: TableId| {
            let listed = program.tables[table.index()].actions.iter();
            let mut bodies = listed.map(|listed| program.actions[listed.action.index()].body);
            bodies.any(|body| Use::of(program, &[body]).bails_out(notes))
        };
        let at_end = match (block.joint, &block.block.terminator) {
            (Some(Joint::Decide { replicate }), _) => {
                let has_group = |group| block.facts.value(group) != Some(0) && self.may_replicate(program);
                let may_be_set = |slot: SlotId| block.facts.value(slot) != Some(0);
                let requested = self.requested().filter(|_| !notes.requests);
                requested.chain(self.misses).any(may_be_set)
                    || (replicate.is_none() && self.group().is_some_and(has_group))
            }
            (_, Terminator::Apply { table, .. }) => in_actions(*table),
            _ => false,
        };
        at_end || block.block.statements.iter().any(asks)
    }

    /// Whether the result for a packet depends, besides tables, on nothing that outlives packets, and the packet
    /// changes no state.
    pub(crate) fn is_stateless(&self, program: &Program) -> bool {
        let all: Vec<BodyId> = [self.parser].into_iter().chain(self.bodies()).collect();
        let all = Use::of(program, &all);
        !(all.effects || all.ordered || all.clones || all.digests > 0 || all.random)
            && self.sends_back.is_none()
            && all.registers_read.is_empty()
    }

    /// Whether the result may depend on the packet's time of arrival.
    pub(crate) fn depends_on_time(&self, program: &Program) -> bool {
        let all: Vec<BodyId> = [self.parser].into_iter().chain(self.bodies()).collect();
        let read = Use::of(program, &all).read;
        let mut sources = self
            .before_parser
            .iter()
            .chain(&self.before_egress)
            .chain(self.before_copy());
        sources.any(|(slot, source)| *source == Source::Argument(Argument::Timestamp) && read.contains(slot))
    }

    /// Whether a packet may be replicated.
    pub(crate) fn may_replicate(&self, program: &Program) -> bool {
        let ingress = Use::of(program, &[self.verify_checksum, self.ingress]);
        self.group().is_some_and(|group| ingress.may_be_set.contains(&group))
    }

    /// Whether registers or meters are changed before egress.
    pub(crate) fn changes_state_in_ingress(&self, program: &Program) -> bool {
        Use::of(program, &[self.verify_checksum, self.ingress]).changes_state
    }

    /// Whether one is changed in egress.
    fn changes_state_in_egress(&self, program: &Program) -> bool {
        Use::of(program, &[self.egress, self.compute_checksum, self.deparser]).changes_state
    }

    /// Whether what follows ingress can be done for each copy of a packet.
    pub(crate) fn copies_can_be_processed(&self, program: &Program) -> bool {
        let behind = Use::of(program, &[self.egress, self.compute_checksum, self.deparser]);
        !behind.asserts && !behind.clones && behind.digests == 0
    }

    /// Whether no packet can take the fast path: see [`Route::obstacles`].
    pub fn is_blocked(&self, program: &Program, step_limit: u64) -> bool {
        let obstacles = self.obstacles(program, step_limit);
        obstacles.iter().any(|obstacle| obstacle.stops == Stops::All)
    }
}

/// The slot with the length of a header's varbit field, if it has one.
pub fn varbit_length(header: &Header) -> Option<SlotId> {
    header.fields.iter().find_map(|field| field.length)
}

/// What the fast path notes about a packet, so that the packet need not take the slow path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Notes {
    /// Digests.
    pub(crate) digests: bool,
    /// Clones.
    pub(crate) clones: bool,
    /// The values that go with a packet that [leaves](Route::leaving) after ingress.
    pub(crate) requests: bool,
}

/// What the bodies of a route do.
#[derive(Default)]
struct Use {
    read: BTreeSet<SlotId>,
    written: BTreeSet<SlotId>,
    /// Slots that are assigned something other than the constant 0.
    may_be_set: BTreeSet<SlotId>,
    random: bool,
    effects: bool,
    /// Registers or meters change. Unlike counts, these changes cannot be taken back.
    changes_state: bool,
    /// Effects whose result depends on their order.
    ordered: bool,
    clones: bool,
    /// How many operations send a digest, and whether one of the digests is for a table.
    digests: usize,
    asks_tables: bool,
    asserts: bool,
    registers_read: BTreeSet<RegisterId>,
}

impl Use {
    /// Whether a packet that does this bails out.
    fn bails_out(&self, notes: Notes) -> bool {
        (self.clones && !notes.clones) || (self.digests > 0 && !notes.digests)
    }

    fn of(program: &Program, bodies: &[BodyId]) -> Use {
        let mut found = Use::default();
        for body in bodies {
            found.body(program, &program.bodies[body.index()]);
        }
        found
    }

    fn body(&mut self, program: &Program, body: &Body) {
        for block in &body.blocks {
            for statement in &block.statements {
                self.op(program, &statement.op);
            }
            for expr in block.terminator.exprs() {
                expr.for_each_slot(&mut |slot| self.read(slot));
            }
            if let Terminator::Apply {
                table, hit, action_run, ..
            } = &block.terminator
            {
                self.write(hit.iter().chain(action_run).copied());
                let table = &program.tables[table.index()];
                self.effects |=
                    table.direct_counter.is_some() || table.direct_meter.is_some() || table.supports_timeout;
                self.ordered |= table.direct_meter.is_some();
                self.changes_state |= table.direct_meter.is_some();
                self.write(table.direct_meter.and_then(|meter| meter.slot));
                for key in &table.keys {
                    key.expr.for_each_slot(&mut |slot| self.read(slot));
                }
                for listed in &table.actions {
                    let action = &program.actions[listed.action.index()];
                    self.body(program, &program.bodies[action.body.index()]);
                }
            }
        }
    }

    fn read(&mut self, slot: SlotId) {
        self.read.insert(slot);
    }

    fn write(&mut self, slots: impl IntoIterator<Item = SlotId>) {
        for slot in slots {
            self.written.insert(slot);
            self.may_be_set.insert(slot);
        }
    }

    fn op(&mut self, program: &Program, op: &Op) {
        op.for_each_slot_read(&mut |slot| self.read(slot));
        match op {
            Op::Assign {
                slot,
                value: Expr::Const(value),
            } if value.is_zero() => {
                self.written.insert(*slot);
            }
            _ => self.write(op.slots_written(program)),
        }
        if let Op::RegisterRead { register, .. } = op {
            self.registers_read.insert(*register);
        }
        self.random |= matches!(op, Op::Random { .. });
        self.effects |= matches!(
            op,
            Op::RegisterWrite { .. } | Op::Count { .. } | Op::ExecuteMeter { .. }
        );
        self.changes_state |= matches!(op, Op::RegisterWrite { .. } | Op::ExecuteMeter { .. });
        self.ordered |= matches!(
            op,
            Op::RegisterWrite { .. } | Op::ExecuteMeter { .. } | Op::EnterAtomic { .. } | Op::Random { .. }
        );
        self.asserts |= matches!(op, Op::Assert { .. } | Op::Assume { .. });
        self.clones |= matches!(op, Op::Clone { .. });
        if let Op::Digest { digest, .. } = op {
            self.digests += 1;
            // The next packet must find what a table learns from this one.
            let asks_table = program.is_for_table(*digest);
            self.asks_tables |= asks_table;
            self.ordered |= asks_table;
        }
    }
}
