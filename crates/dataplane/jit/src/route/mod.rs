//! The fast path through a program: one function for everything from a frame to the port that it leaves by.
//!
//! Between ingress and egress an architecture may queue a packet, copy it or send it back. Most packets of most programs
//! are neither copied nor sent back, and the untimed switch's queues are empty when they come. For those the parser, all
//! controls and the deparser become one function, in which
//!
//! * slots are registers, and those that nobody reads do not exist;
//! * the parser's ways are kept apart ([`plan`]): behind each it is known where in the packet every header is, and which
//!   headers are valid, so conditions on validity are gone;
//! * fields that the program does not change stay in the packet and are loaded where they are used;
//! * fields that it changes are changed in the packet, at once where nothing can make it give up any more, otherwise by
//!   the deparser; headers that stay where they are in the packet are not copied.
//!
//! Copies for the members of a multicast group are made by a loop around what follows ingress. The function *bails out*
//! where something rare happens: a parser error, a clone, a digest, a resubmission. Until then
//! it has changed nothing, not even the packet, so the architecture takes the packet the slow path, from the start. A
//! program that changes something that outlives a packet (a register, a counter) before it may give up has no such
//! function. What keeps packets off this way is listed by [`Route::obstacles`], and counted by [`BailOut`].

mod bail_out;
mod changes;
mod coalescing;
pub(crate) mod facts;
pub(crate) mod flow;
pub(crate) mod flow_keys;
pub(crate) mod indexed_stores;
mod jump_threading;
mod known;
mod limits;
pub(crate) mod live_sets;
pub(crate) mod look_up_hoisting;
pub(crate) mod loop_invariant_tables;
mod obstacles;
pub(crate) mod plan;
mod specialise;
mod unrolling;

pub use bail_out::BailOut;
use flow::{FlowBlock, Joint};
use forebay_bits::Bits;
use forebay_exec::DIGESTS_MAX;
use forebay_ir::{
    Body, BodyId, Expr, Header, HeaderId, Op, Program, RegisterId, SlotId, Statement, TableId, Terminator,
};
pub use obstacles::{Obstacle, ObstacleKind, Stops};
pub use plan::WayId;
use std::collections::{BTreeMap, BTreeSet};

/// In what order packets of a burst go the fast path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One after the other, from its beginning to its end. Tables are searched in place.
    Straight,
    /// All up to a look-up, then all from there, so that accesses to memory overlap.
    Staged,
    /// As [`Order::Straight`], and each takes what look-ups found for the last packet of its flow: see [`crate::flows`].
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
    /// Receives 1 when a checksum was found wrong.
    pub checksum_error: Option<SlotId>,
    /// Receives the parser's error of a packet that it rejects and that goes on to ingress all the same. Without it, packets that are
    /// rejected bail out.
    pub parser_error: Option<SlotId>,
    /// Where the packet shall leave.
    pub egress_spec: SlotId,
    /// What drops the packet behind ingress.
    pub ingress_drop: DropWhen,
    /// What drops it behind egress.
    pub egress_drop: DropWhen,
    /// A packet in which one of these is not 0 behind ingress does not take the fast path.
    pub copying: Vec<SlotId>,
    /// A slot that ingress sets where this route does not know the rest of a packet's way; such packets bail out. A way through the
    /// parser on which that may come after a change of state is not compiled.
    pub misses: Option<SlotId>,
    /// The length in bytes that counters and meters behind ingress count; without it they count that of the frame as received.
    pub counted_length: Option<SlotId>,
    /// Values before the parser; all other slots are 0.
    pub before_parser: Vec<(SlotId, Source)>,
    /// Values between ingress and egress.
    pub before_egress: Vec<(SlotId, Source)>,
    /// How packets become several.
    pub replication: Option<Replication>,
    /// Slots that programs that take the fast path may not write.
    pub fixed: Vec<SlotId>,
    /// Slots whose values clones of the packet may keep. Without it, packets that are cloned bail out.
    pub preserved: Option<Vec<SlotId>>,
    /// Whether clones from egress, too, may be noted: with the headers that are valid there and what the parser has left, in whole bytes,
    /// and nothing else that can be seen.
    pub clones_from_egress: bool,
    /// Whether clones and other packets use different registers and meters, or none that change: then it does not matter whether a clone
    /// is executed before or after other packets that are no clones.
    pub clones_are_apart: bool,
}

/// A packet is dropped when a slot has this value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropWhen {
    /// The slot.
    pub slot: SlotId,
    /// Its value.
    pub value: u64,
}

/// How a packet becomes copies for the members of a group, each of which goes through egress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replication {
    /// The number of the group behind ingress; 0 when the packet is not copied.
    pub group: SlotId,
    /// Values between ingress and egress of a copy.
    pub before_copy: Vec<(SlotId, Source)>,
}

/// A member of a group: a copy that it makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Replica {
    /// Where the copy goes.
    pub egress_port: u32,
    /// What tells copies for one port apart: `standard_metadata.egress_rid`.
    pub instance: u16,
}

/// The value of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A constant.
    Number(u64),
    /// The low bits of an argument.
    Argument(Argument),
    /// The value that `egress_spec` had behind ingress; the port of a copy.
    EgressPort,
    /// Of a copy: see [`Replica::instance`].
    Instance,
    /// Behind ingress: the value of a slot there, at most [`Arguments::last_queue`].
    Queue(SlotId),
    /// Behind ingress: the frame's length in bytes without the headers that were valid behind the parser, and with those that are
    /// valid now.
    NewLength,
    /// Behind ingress: bytes that the parser has left of the frame, and as many more as a slot says there.
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

/// What is said of a packet that takes the fast path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// See [`Arguments::ingress_port`].
    IngressPort,
    /// The frame's length in bytes.
    PacketLength,
    /// See [`Arguments::timestamp_us`].
    Timestamp,
}

/// What is said of a packet that takes the fast path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Where it came from.
    pub ingress_port: u32,
    /// When, in microseconds.
    pub timestamp_us: u64,
    /// The number of the last queue of every port.
    pub last_queue: u32,
    /// Where the random numbers of the first packet of the burst begin: see [`crate::Seed::of_packet`].
    pub random_seed: u64,
}

impl Route {
    /// The slot with the number of the group for whose members the packet is copied.
    pub(crate) fn group(&self) -> Option<SlotId> {
        self.replication.as_ref().map(|replication| replication.group)
    }

    /// Values between ingress and egress of a copy.
    pub(crate) fn before_copy(&self) -> &[(SlotId, Source)] {
        self.replication
            .as_ref()
            .map_or(&[], |replication| &replication.before_copy)
    }

    /// The bodies behind the parser, in order.
    pub(crate) fn bodies(&self) -> [BodyId; 5] {
        [
            self.verify_checksum,
            self.ingress,
            self.egress,
            self.compute_checksum,
            self.deparser,
        ]
    }

    /// The values that slots certainly have before the parser.
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

    /// The slots that any body reads, or the architecture behind one.
    pub(crate) fn slots_read(&self, program: &Program) -> BTreeSet<SlotId> {
        let all: Vec<BodyId> = [self.parser].into_iter().chain(self.bodies()).collect();
        let mut read = Use::of(program, &all).read;
        read.extend(
            self.copying
                .iter()
                .copied()
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
        if self.notes_clones_from_egress(program) {
            read.extend(program.headers.iter().flat_map(Header::slots));
        }
        read
    }

    /// Whether the length behind ingress is asked for: see [`Source::NewLength`].
    pub(crate) fn reads_new_length(&self, program: &Program) -> bool {
        let read = self.slots_read(program);
        let mut sources = self.before_egress.iter().chain(self.before_copy());
        sources.any(|(slot, source)| *source == Source::NewLength && read.contains(slot))
    }

    /// Whether packets draw random numbers before egress, and in it.
    pub fn draws_random_numbers(&self, program: &Program) -> [bool; 2] {
        let before = [self.verify_checksum, self.ingress];
        let behind = [self.egress, self.compute_checksum, self.deparser];
        [&before[..], &behind[..]].map(|bodies| Use::of(program, bodies).random)
    }

    /// The arguments that are the same for all packets of a burst and that no packet changes, with their slots.
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

    /// Whether what packets do to stateful objects depends on their order: then one packet goes all the way before the
    /// next one, and there is no staged form.
    pub fn keeps_order(&self, program: &Program) -> bool {
        let all: Vec<BodyId> = [self.parser].into_iter().chain(self.bodies()).collect();
        Use::of(program, &all).ordered
    }

    /// What the fast path notes of packets in this order.
    pub(crate) fn notes(&self, program: &Program, order: Order) -> Notes {
        let waits = order == Order::Staged;
        Notes {
            digests: !waits && self.notes_digests(program),
            clones: !waits && self.notes_clones(program),
        }
    }

    /// The slots whose values clones may keep.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &SlotId> {
        self.preserved.iter().flatten()
    }

    /// Whether the fast path itself notes clones of packets that go on along it. The clone is executed before the next packet, but
    /// behind the packet itself. So where packets are cloned before egress, egress must keep no state, or other state for clones.
    pub(crate) fn notes_clones(&self, program: &Program) -> bool {
        let [before, behind] = self.clones(program);
        let keeps_state = || !self.clones_are_apart && self.changes_state_in_egress(program);
        let is_noted = !(before && keeps_state()) && (!behind || self.clones_from_egress);
        self.preserved.is_some() && (before || behind) && is_noted
    }

    /// Whether it notes those from egress.
    pub(crate) fn notes_clones_from_egress(&self, program: &Program) -> bool {
        self.clones(program)[1] && self.notes_clones(program)
    }

    /// The headers of a program in the order in which clones from egress have them: those of fixed length first, whose places are then
    /// known.
    pub fn headers_of_clones(program: &Program) -> Vec<HeaderId> {
        let ids = (0..program.headers.len() as u32).map(HeaderId);
        let (fixed, varying): (Vec<_>, Vec<_>) =
            ids.partition(|id| varbit_length(&program.headers[id.index()]).is_none());
        fixed.into_iter().chain(varying).collect()
    }

    /// Whether clones that are noted may be executed after the packets behind theirs: nobody can tell.
    pub fn clones_commute(&self, program: &Program) -> bool {
        let behind = Use::of(program, &[self.egress, self.compute_checksum, self.deparser]);
        let finds_changes = || !behind.registers_read.is_empty() && self.changes_state_in_ingress(program);
        let shares_state = !self.clones_are_apart && (behind.changes_state || finds_changes());
        self.notes_clones(program) && !shares_state && behind.digests == 0 && !behind.requests
    }

    /// Whether clones must be executed in the order of their packets: the next packet or the next clone could tell.
    pub(crate) fn keeps_order_of_clones(&self, program: &Program) -> bool {
        !self.clones_commute(program) || self.changes_state_in_egress(program)
    }

    /// Whether clones that are noted may be executed by code like this: together, or, where they all come from egress and the next packet
    /// could tell, those of a packet before that.
    pub fn executes_clones(&self, program: &Program) -> bool {
        let in_turn = || {
            let behind = Use::of(program, &[self.egress, self.compute_checksum, self.deparser]);
            !self.clones(program)[0] && behind.digests == 0 && self.notes_clones(program)
        };
        self.clones_commute(program) || in_turn()
    }

    /// Whether packets may be cloned before egress, and in it.
    pub fn clones(&self, program: &Program) -> [bool; 2] {
        let before = [self.verify_checksum, self.ingress];
        let behind = [self.egress, self.compute_checksum, self.deparser];
        [&before[..], &behind[..]].map(|bodies| Use::of(program, bodies).clones)
    }

    /// Whether the fast path itself notes digests, where packets do not wait for each other: then they come in the order of packets.
    /// A packet that fails an assertion takes its digests back, which the fast path does not.
    pub(crate) fn notes_digests(&self, program: &Program) -> bool {
        let all = Use::of(program, &self.bodies());
        all.digests > 0 && all.digests <= DIGESTS_MAX && !all.asserts
    }

    /// Whether packets ask tables for entries, pools or quotas.
    pub(crate) fn asks_tables(&self, program: &Program) -> bool {
        Use::of(program, &self.bodies()).asks_tables
    }

    /// Whether a packet may give up behind the parser, when it need not for being replicated.
    pub(crate) fn may_bail_out(&self, program: &Program, notes: Notes) -> bool {
        let all = Use::of(program, &self.bodies());
        all.bails_out(notes) || self.copying.iter().any(|slot| all.may_be_set.contains(slot))
    }

    /// Whether a packet may bail out at the end of a block of a flow, or in it.
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
                let may_be_set = |slot: &SlotId| block.facts.value(*slot) != Some(0);
                self.copying.iter().chain(&self.misses).any(may_be_set)
                    || (replicate.is_none() && self.group().is_some_and(has_group))
            }
            (_, Terminator::Apply { table, .. }) => in_actions(*table),
            _ => false,
        };
        at_end || block.block.statements.iter().any(asks)
    }

    /// Whether what becomes of packets depends on nothing that outlives them, but for tables, and leaves nothing else as it
    /// was not before.
    pub(crate) fn is_stateless(&self, program: &Program) -> bool {
        let all: Vec<BodyId> = [self.parser].into_iter().chain(self.bodies()).collect();
        let all = Use::of(program, &all);
        !(all.effects || all.ordered || all.requests || all.clones || all.digests > 0 || all.random)
            && all.registers_read.is_empty()
    }

    /// Whether it may depend on when the packet comes.
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

    /// Whether a register or a meter is changed before egress.
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
        !behind.asserts && !behind.requests && !behind.clones && behind.digests == 0
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

/// What the fast path notes of a packet, which then need not take the slow path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Notes {
    /// Digests.
    pub(crate) digests: bool,
    /// Clones.
    pub(crate) clones: bool,
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
    /// Registers or meters change, which cannot be taken back as what was counted can.
    changes_state: bool,
    /// Effects that do not give the same result in another order.
    ordered: bool,
    /// Resubmissions and recirculations.
    requests: bool,
    clones: bool,
    /// In how many places a digest is sent, and whether one of them is for a table.
    digests: usize,
    asks_tables: bool,
    asserts: bool,
    registers_read: BTreeSet<RegisterId>,
}

impl Use {
    /// Whether a packet bails out that does this.
    fn bails_out(&self, notes: Notes) -> bool {
        self.requests || (self.clones && !notes.clones) || (self.digests > 0 && !notes.digests)
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
        self.requests |= matches!(op, Op::Resubmit { .. } | Op::Recirculate { .. });
        self.clones |= matches!(op, Op::Clone { .. });
        if let Op::Digest { digest, .. } = op {
            self.digests += 1;
            // What a table learns from a packet the next packet finds.
            let asks_table = program.is_for_table(*digest);
            self.asks_tables |= asks_table;
            self.ordered |= asks_table;
        }
    }
}
