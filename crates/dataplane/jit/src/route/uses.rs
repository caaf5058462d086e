//! What the program of a route does: the questions that planning and translation ask.

use super::facts::Facts;
use super::flow::{FlowBlock, Joint};
use super::{Argument, Order, Route, SendsBack, Source, Stops};
use forebay_bits::Bits;
use forebay_exec::DIGESTS_MAX;
use forebay_ir::{
    Body, BodyId, Expr, Header, HeaderId, Op, Program, RegisterId, SlotId, Statement, TableId, Terminator,
};
use std::collections::{BTreeMap, BTreeSet};

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

    /// The parser and the bodies after it.
    fn with_parser(&self) -> Vec<BodyId> {
        [self.parser].into_iter().chain(self.bodies()).collect()
    }

    /// The bodies after the parser, and those of the actions of their tables.
    pub(super) fn bodies_with_actions(&self, program: &Program) -> BTreeSet<BodyId> {
        let tables = self.tables(program).into_iter();
        let actions = tables.flat_map(|table| program.bodies_of_actions(table));
        actions.chain(self.bodies()).collect()
    }

    /// The bodies between the parser and the queue.
    fn before_queue(&self) -> [BodyId; 2] {
        [self.verify_checksum, self.ingress]
    }

    /// The bodies after the queue.
    fn after_queue(&self) -> [BodyId; 3] {
        [self.egress, self.compute_checksum, self.deparser]
    }

    /// The values that slots are certain to have before the parser.
    pub(crate) fn known(&self, program: &Program) -> BTreeMap<SlotId, Bits> {
        let zero = |id: u32| (SlotId(id), Bits::zero(program.slots[id as usize].width));
        let mut known: BTreeMap<SlotId, Bits> = (0..program.slots.len() as u32).map(zero).collect();
        for (slot, source) in &self.before_parser {
            match source {
                Source::Number(number) => known.insert(*slot, Bits::new(program.slot(*slot).width, (*number).into())),
                _ => known.remove(slot),
            };
        }
        known
    }

    /// The slots that a body reads, or the architecture after a body.
    pub(crate) fn slots_read(&self, program: &Program) -> BTreeSet<SlotId> {
        let mut read = Use::of(program, &self.with_parser()).read;
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
        [&self.before_queue()[..], &self.after_queue()[..]].map(|bodies| Use::of(program, bodies).random)
    }

    /// The arguments that are the same for all packets of a burst and that packets do not change, with their slots.
    pub(crate) fn burst_constants(&self, program: &Program) -> Vec<(SlotId, Source)> {
        let written = Use::of(program, &self.with_parser()).written;
        let set = || self.before_egress.iter().chain(self.before_copy());
        let by_architecture = |slot| set().any(|(other, _)| *other == slot);
        let is_constant =
            |source: &Source| matches!(source, Source::Argument(Argument::IngressPort | Argument::Timestamp));
        let arguments = self.before_parser.iter().copied();
        let arguments = arguments.filter(|(slot, source)| is_constant(source) && !written.contains(slot));
        arguments.filter(|(slot, _)| !by_architecture(*slot)).collect()
    }

    /// The tables that packets may look up.
    pub(crate) fn tables(&self, program: &Program) -> BTreeSet<TableId> {
        let bodies = self.bodies().into_iter().map(|body| &program.bodies[body.index()]);
        bodies.flat_map(|body| body.applied_tables()).collect()
    }

    /// Whether what packets do to stateful objects depends on their order, or a packet may have to begin again before
    /// the next one. Then each packet finishes before the next one begins, and there is no staged variant.
    pub fn keeps_order(&self, program: &Program) -> bool {
        self.sends_back.is_some() || Use::of(program, &self.with_parser()).ordered
    }

    /// The slot that says that a packet is resubmitted, where a packet may be.
    pub(crate) fn resubmits(&self, facts: &Facts) -> Option<SlotId> {
        let slot = self.sends_back.as_ref()?.resubmit;
        (facts.value(slot) != Some(0)).then_some(slot)
    }

    /// The slot that says that a packet is recirculated, where a packet may be.
    pub(crate) fn recirculates(&self, facts: &Facts) -> Option<SlotId> {
        let slot = self.sends_back.as_ref()?.recirculate;
        (facts.value(slot) != Some(0)).then_some(slot)
    }

    /// Whether egress may recirculate a packet.
    pub fn recirculates_in_egress(&self, program: &Program) -> bool {
        let behind = Use::of(program, &self.after_queue());
        let may_be_set = |back: &SendsBack| behind.may_be_set.contains(&back.recirculate);
        self.sends_back.as_ref().is_some_and(may_be_set)
    }

    /// Whether ingress may resubmit a packet.
    pub(crate) fn resubmits_in_ingress(&self, program: &Program) -> bool {
        let before = Use::of(program, &self.before_queue());
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
    /// different state for clones than for other packets, unless such packets [leave](super::Cloning::leave). It must
    /// not send digests either: those of clones come first.
    pub fn notes_clones(&self, program: &Program) -> bool {
        let [before, behind] = self.clones(program);
        let has_order = self.clones_share_state(program) || Use::of(program, &self.after_queue()).digests > 0;
        let is_noted = !(before && has_order) && (!behind || self.cloning.from_egress);
        self.cloning.kept.is_some() && (before || behind || self.cloning.leave) && is_noted
    }

    /// Whether egress changes state for a clone that it may find for another packet.
    fn clones_share_state(&self, program: &Program) -> bool {
        !self.cloning.are_apart && self.changes_state_in_egress(program)
    }

    /// Whether packets that ingress clones have to [leave](super::Cloning::leave), and can.
    pub fn leaves_with_clones(&self, program: &Program) -> bool {
        let all = Use::of(program, &self.bodies());
        let is_only_cloned = !all.asserts && !all.random && all.digests == 0;
        let [before, behind] = self.clones(program);
        before && self.clones_share_state(program) && is_only_cloned && (!behind || self.cloning.from_egress)
    }

    /// The slots that are read after ingress, by bodies or by the architecture.
    pub fn slots_read_after(&self, program: &Program) -> BTreeSet<SlotId> {
        let mut read = Use::of(program, &self.after_queue()).read;
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
    pub(crate) fn may_note_clone_from_ingress(&self, program: &Program, facts: &Facts) -> bool {
        self.clones(program)[0] && self.cloning.marker.is_none_or(|slot| facts.value(slot) != Some(0))
    }

    /// Whether the packet may have a noted clone from egress where these facts are certain.
    pub(crate) fn may_note_clone_from_egress(&self, program: &Program, facts: &Facts) -> bool {
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
    pub(crate) fn clones_commute(&self, program: &Program) -> bool {
        let behind = Use::of(program, &self.after_queue());
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
            let behind = Use::of(program, &self.after_queue());
            !self.clones(program)[0] && behind.digests == 0 && self.notes_clones(program)
        };
        self.clones_commute(program) || in_turn()
    }

    /// Whether packets may be cloned before egress without [leaving](super::Cloning::leave), and from egress on.
    pub fn clones(&self, program: &Program) -> [bool; 2] {
        let [before, behind] =
            [&self.before_queue()[..], &self.after_queue()[..]].map(|bodies| Use::of(program, bodies).clones);
        [before && !self.cloning.leave, behind]
    }

    /// Whether a packet may leave after ingress where these facts are certain.
    pub(crate) fn may_leave(&self, facts: &Facts) -> bool {
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
            let mut bodies = program.bodies_of_actions(table);
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
        let all = Use::of(program, &self.with_parser());
        !(all.effects || all.ordered || all.clones || all.digests > 0 || all.random)
            && self.sends_back.is_none()
            && all.registers_read.is_empty()
    }

    /// Whether the result may depend on the packet's time of arrival.
    pub(crate) fn depends_on_time(&self, program: &Program) -> bool {
        let read = Use::of(program, &self.with_parser()).read;
        let mut sources = self
            .before_parser
            .iter()
            .chain(&self.before_egress)
            .chain(self.before_copy());
        sources.any(|(slot, source)| *source == Source::Argument(Argument::Timestamp) && read.contains(slot))
    }

    /// Whether a packet may be replicated.
    pub(crate) fn may_replicate(&self, program: &Program) -> bool {
        let ingress = Use::of(program, &self.before_queue());
        self.group().is_some_and(|group| ingress.may_be_set.contains(&group))
    }

    /// Whether registers or meters are changed before egress.
    pub(crate) fn changes_state_in_ingress(&self, program: &Program) -> bool {
        Use::of(program, &self.before_queue()).changes_state
    }

    /// Whether one is changed in egress.
    fn changes_state_in_egress(&self, program: &Program) -> bool {
        Use::of(program, &self.after_queue()).changes_state
    }

    /// Whether what follows ingress can be done for each copy of a packet.
    pub(crate) fn copies_can_be_processed(&self, program: &Program) -> bool {
        let behind = Use::of(program, &self.after_queue());
        !behind.clones && behind.digests == 0
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
            block
                .terminator
                .for_each_slot_read(program, &mut |slot| self.read(slot));
            self.write(block.terminator.slots_written(program));
            if let Terminator::Apply { table, .. } = &block.terminator {
                let declared = &program.tables[table.index()];
                let is_metered = declared.direct_meter.is_some();
                self.effects |= declared.direct_counter.is_some() || is_metered || declared.supports_timeout;
                self.ordered |= is_metered;
                self.changes_state |= is_metered;
                for action in program.actions_of(*table) {
                    self.body(program, action);
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
