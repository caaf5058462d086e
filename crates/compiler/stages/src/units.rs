//! A control taken apart into units: what stands in a stage as a whole.
//!
//! Every table is a unit, every register array with all that happens between its reading and its writing, every array
//! of counters or meters, and operations of a block as far as they do not need one another.

use crate::conditions::Conditions;
use crate::demand::{Demand, key_slots, matched};
use crate::effects::{Effects, Slots, reads_of, slots_of};
use forebay_ir::{
    BlockId, Body, CounterId, Expr, HashAlgorithm, Location, MeterId, Op, Program, RegisterId, SlotId, SlotKind, Table,
    TableId, Terminator,
};
use std::collections::{BTreeMap, BTreeSet};

/// See the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) location: Location,
    /// The positions of its first and its last statement in the order of the control.
    pub(crate) begin: usize,
    pub(crate) end: usize,
    /// The blocks that it is taken from, the first one first.
    pub(crate) blocks: Vec<BlockId>,
    /// The slots that it matches: keys, indices, conditions.
    pub(crate) matches: Slots,
    /// The slots that its actions read.
    pub(crate) reads: Slots,
    pub(crate) writes: Slots,
    /// Results that only select the units after it: whether a table hit, which action ran.
    pub(crate) decides: Slots,
    /// Stages of arithmetic, one after the other.
    pub(crate) stages: usize,
    pub(crate) demand: Demand,
    /// The registers that it accesses.
    pub(crate) registers: BTreeSet<RegisterId>,
}

/// What a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Table,
    Register { is_wide: bool },
    Counters,
    Operations,
}

/// The units of a control, and what about it no stage can do.
#[derive(Default)]
pub(crate) struct Units {
    pub(crate) units: Vec<Unit>,
    pub(crate) problems: Vec<String>,
}

/// A statement: block and index.
type Place = (BlockId, usize);

/// Splits a control into units; the arithmetic units of registers have `alu_bits` bits.
pub(crate) fn units_of(program: &Program, body: &Body, conditions: &Conditions, alu_bits: u32) -> Units {
    let indices = index_hashes(program, body, conditions);
    let truths = truths(program, body, conditions);
    let mut splitter = Splitter {
        program,
        body,
        conditions,
        alu_bits,
        absorbed: BTreeSet::new(),
        registers: BTreeMap::new(),
        counters: BTreeMap::new(),
        meters: BTreeMap::new(),
        indices,
        truths,
        found: Units::default(),
    };
    for index in 0..program.registers.len() {
        splitter.register(RegisterId(index as u32));
    }
    for block in &conditions.order {
        splitter.block(*block);
    }
    splitter.found
}

/// Hashes of which nothing but indices is made: by slot, what they are computed of.
fn index_hashes(program: &Program, body: &Body, conditions: &Conditions) -> BTreeMap<SlotId, Slots> {
    let mut hashes: BTreeMap<SlotId, Slots> = BTreeMap::new();
    for block in &conditions.order {
        for statement in &body.blocks[block.index()].statements {
            if let Some(slot) = index_hash(&statement.op) {
                let inputs = &reads_of(&statement.op) | conditions.slots(*block);
                hashes.entry(slot).or_default().extend(inputs);
            }
        }
    }
    let other_reads = body.statements().flat_map(|statement| match &statement.op {
        Op::RegisterWrite { value, .. } => slots_of(value),
        op if index_of(op).is_some() => Slots::new(),
        Op::EnterAtomic { .. } => Slots::new(),
        op => reads_of(op),
    });
    let mut used: Slots = other_reads.collect();
    for block in &body.blocks {
        for expr in block.terminator.exprs() {
            used.extend(slots_of(expr));
        }
    }
    used.extend(reads_elsewhere(program, body));
    used.extend(program.tables.iter().flat_map(key_slots));
    used.extend(program.field_lists.values().flatten().copied());
    // What else a packet has leaves with it.
    let stays = |slot: SlotId| matches!(program.slot(slot).kind, SlotKind::Local | SlotKind::Metadata);
    hashes.retain(|slot, _| !used.contains(slot) && stays(*slot));
    // An index that is something else at times waits for that, too.
    for other in &program.bodies {
        let is_own = std::ptr::eq(other, body);
        for statement in other.statements() {
            let op = &statement.op;
            // A constant of the control itself is there from the start.
            if is_own && (index_hash(op).is_some() || reads_of(op).is_empty()) {
                continue;
            }
            for slot in op.slots_written(program) {
                if let Some(inputs) = hashes.get_mut(&slot) {
                    inputs.insert(slot);
                }
            }
        }
    }
    hashes
}

/// The slot of a hash that may be an index.
fn index_hash(op: &Op) -> Option<SlotId> {
    match op {
        Op::Hash { slot, algorithm, .. } if *algorithm != HashAlgorithm::Csum16 => Some(*slot),
        _ => None,
    }
}

/// What actions, and controls beside this one, read.
fn reads_elsewhere(program: &Program, body: &Body) -> Slots {
    let others = program.bodies.iter().filter(|other| !std::ptr::eq(*other, body));
    let mut reads = Slots::new();
    for block in others.flat_map(|other| &other.blocks) {
        reads.extend(block.statements.iter().flat_map(|statement| reads_of(&statement.op)));
        reads.extend(block.terminator.exprs().into_iter().flat_map(slots_of));
    }
    reads
}

/// What actions, and controls beside this one, write.
fn writes_elsewhere(program: &Program, body: &Body) -> Slots {
    let others = program.bodies.iter().filter(|other| !std::ptr::eq(*other, body));
    others
        .flat_map(|other| other.statements())
        .flat_map(|statement| statement.op.slots_written(program))
        .collect()
}

/// Truth values of which nothing but conditions is made, which a stage computes where they are needed: by slot, what
/// they are computed of.
fn truths(program: &Program, body: &Body, conditions: &Conditions) -> BTreeMap<SlotId, Slots> {
    let mut truths: BTreeMap<SlotId, Slots> = BTreeMap::new();
    let mut others = Slots::new();
    for block in &conditions.order {
        for statement in &body.blocks[block.index()].statements {
            match &statement.op {
                Op::Assign { slot, value } if is_truth(program, *slot) => {
                    let inputs = &slots_of(value) | conditions.slots(*block);
                    truths.entry(*slot).or_default().extend(inputs);
                }
                op => {
                    others.extend(reads_of(op));
                    others.extend(op.slots_written(program));
                }
            }
        }
        let terminator = &body.blocks[block.index()].terminator;
        others.extend(terminator.results());
        if let Terminator::Apply { table, .. } = terminator {
            others.extend(key_slots(&program.tables[table.index()]));
        }
    }
    others.extend(reads_elsewhere(program, body));
    others.extend(writes_elsewhere(program, body));
    truths.retain(|slot, _| !others.contains(slot));
    // Truth values may be made of one another.
    for _ in 0..truths.len() {
        let known = truths.clone();
        for inputs in truths.values_mut() {
            *inputs = expanded(inputs, &known);
        }
    }
    truths
}

/// A local variable that is true or false.
fn is_truth(program: &Program, slot: SlotId) -> bool {
    let slot = program.slot(slot);
    slot.width == 1 && slot.kind == SlotKind::Local
}

/// Slots with what they are computed of in place of truth values.
fn expanded(slots: &Slots, truths: &BTreeMap<SlotId, Slots>) -> Slots {
    let inputs = slots
        .iter()
        .map(|slot| truths.get(slot).cloned().unwrap_or_else(|| Slots::from([*slot])));
    inputs.flatten().filter(|slot| !truths.contains_key(slot)).collect()
}

/// The index by which an operation reaches an array.
fn index_of(op: &Op) -> Option<&Expr> {
    match op {
        Op::RegisterRead { index, .. }
        | Op::RegisterWrite { index, .. }
        | Op::Count { index, .. }
        | Op::ExecuteMeter { index, .. } => Some(index),
        _ => None,
    }
}

struct Splitter<'a> {
    program: &'a Program,
    body: &'a Body,
    conditions: &'a Conditions,
    alu_bits: u32,
    /// Statements that belong to a register.
    absorbed: BTreeSet<Place>,
    /// Units of registers, by their first access.
    registers: BTreeMap<Place, Unit>,
    /// Places of units that were made for arrays.
    counters: BTreeMap<CounterId, usize>,
    meters: BTreeMap<MeterId, usize>,
    indices: BTreeMap<SlotId, Slots>,
    truths: BTreeMap<SlotId, Slots>,
    found: Units,
}

impl<'a> Splitter<'a> {
    fn op(&self, (block, index): Place) -> &'a Op {
        &self.body.blocks[block.index()].statements[index].op
    }

    /// Where a statement, or the end of a block, stands in the order of the control.
    fn position(&self, (block, index): Place) -> usize {
        let before = self.conditions.order.iter().take_while(|other| **other != block);
        let statements = |block: &BlockId| self.body.blocks[block.index()].statements.len();
        let ahead: usize = before.map(|block| statements(block) + 1).sum();
        ahead + index.min(statements(&block))
    }

    fn places(&self) -> impl Iterator<Item = Place> + use<'a> {
        let (order, body) = (self.conditions.order.clone(), self.body);
        order
            .into_iter()
            .flat_map(move |block| (0..body.blocks[block.index()].statements.len()).map(move |index| (block, index)))
    }

    /// The slots that an index is made of.
    fn index_slots(&self, index: &Expr) -> Slots {
        let slots = slots_of(index).into_iter();
        let inputs = slots.map(|slot| self.indices.get(&slot).cloned().unwrap_or_else(|| Slots::from([slot])));
        expanded(&inputs.flatten().collect(), &self.truths)
    }

    /// The slots that decide whether a block is executed.
    fn condition(&self, block: BlockId) -> Slots {
        expanded(self.conditions.slots(block), &self.truths)
    }

    /// Gathers a register's accesses and what is computed between them.
    fn register(&mut self, id: RegisterId) {
        let accesses: Vec<Place> = self
            .places()
            .filter(|place| match self.op(*place) {
                Op::RegisterRead { register, .. } | Op::RegisterWrite { register, .. } => *register == id,
                _ => false,
            })
            .collect();
        let Some(first) = accesses.first().copied() else { return };
        let absorbed = self.between(&accesses);
        let mut unit = self.register_unit(id, &accesses, &absorbed);
        unit.location = self.body.blocks[first.0.index()].statements[first.1].location;
        self.absorbed.extend(accesses);
        self.absorbed.extend(absorbed);
        self.registers.insert(first, unit);
    }

    /// The assignments that what was read goes through before it is written back, or that decide about it.
    fn between(&self, accesses: &[Place]) -> BTreeSet<Place> {
        let mut derived = Slots::new();
        let mut candidates = Vec::new();
        for place in self.places() {
            match self.op(place) {
                Op::RegisterRead { slot, .. } if accesses.contains(&place) => {
                    derived.insert(*slot);
                }
                Op::Assign { slot, value } if !slots_of(value).is_disjoint(&derived) || derived.contains(slot) => {
                    derived.insert(*slot);
                    candidates.push(place);
                }
                _ => {}
            }
        }
        let mut needed = Slots::new();
        for place in accesses {
            if let Op::RegisterWrite { value, .. } = self.op(*place) {
                needed.extend(slots_of(value));
                needed.extend(&self.condition(place.0));
            }
        }
        let mut absorbed = BTreeSet::new();
        for place in candidates.into_iter().rev() {
            if let Op::Assign { slot, value } = self.op(place)
                && needed.contains(slot)
                && derived.contains(slot)
            {
                needed.extend(slots_of(value));
                absorbed.insert(place);
            }
        }
        absorbed
    }

    fn register_unit(&self, id: RegisterId, accesses: &[Place], absorbed: &BTreeSet<Place>) -> Unit {
        let register = &self.program.registers[id.index()];
        let (mut matches, mut reads, mut writes) = (Slots::new(), Slots::new(), Slots::new());
        let mut index_slots = Slots::new();
        for place in accesses.iter().chain(absorbed) {
            matches.extend(&self.condition(place.0));
            match self.op(*place) {
                Op::RegisterRead { index, slot, .. } => {
                    index_slots.extend(self.index_slots(index));
                    writes.insert(*slot);
                }
                Op::RegisterWrite { index, value, .. } => {
                    index_slots.extend(self.index_slots(index));
                    reads.extend(slots_of(value));
                }
                Op::Assign { slot, value } => {
                    reads.extend(slots_of(value));
                    writes.insert(*slot);
                }
                other => unreachable!("{other:?} is no register's"),
            }
        }
        let index_bits = index_slots.iter().map(|slot| self.program.slot(*slot).width).sum();
        matches.extend(index_slots);
        Unit {
            name: register.name.clone(),
            kind: Kind::Register {
                is_wide: register.width > self.alu_bits,
            },
            location: Location::default(),
            begin: self.position(accesses[0]),
            end: accesses
                .iter()
                .chain(absorbed)
                .map(|place| self.position(*place))
                .max()
                .unwrap_or(0),
            blocks: accesses.iter().map(|place| place.0).collect(),
            matches: &matches - &writes,
            reads: &reads - &writes,
            writes,
            decides: Slots::new(),
            stages: 1,
            demand: Demand::of_register(register, index_bits, self.alu_bits),
            registers: BTreeSet::from([id]),
        }
    }

    fn block(&mut self, block: BlockId) {
        let body = self.body;
        let mut group: Vec<usize> = Vec::new();
        let mut written = Slots::new();
        for (index, statement) in body.blocks[block.index()].statements.iter().enumerate() {
            if let Some(unit) = self.registers.remove(&(block, index)) {
                self.found.units.push(unit);
            }
            if self.absorbed.contains(&(block, index)) || !self.is_operation(&statement.op, block) {
                continue;
            }
            let op_writes: Slots = statement.op.slots_written(self.program).into_iter().collect();
            if !reads_of(&statement.op).is_disjoint(&written) || !op_writes.is_disjoint(&written) {
                self.operations(block, &std::mem::take(&mut group));
                written.clear();
            }
            written.extend(op_writes);
            group.push(index);
        }
        self.operations(block, &group);
        let terminator = &body.blocks[block.index()].terminator;
        if let Terminator::Apply { table, .. } = terminator {
            self.table(*table, block, terminator.results().collect());
        }
    }

    /// Whether something is left to be done for an operation; what belongs to arrays is noted.
    fn is_operation(&mut self, op: &Op, block: BlockId) -> bool {
        match op {
            Op::EnterAtomic { .. }
            | Op::LeaveAtomic
            | Op::LogMessage { .. }
            | Op::Assert { .. }
            | Op::Assume { .. } => false,
            Op::Hash { slot, .. } if self.indices.contains_key(slot) => false,
            Op::Assign { slot, .. } if self.truths.contains_key(slot) => false,
            Op::Hash {
                algorithm: HashAlgorithm::Csum16,
                ..
            } => {
                let name = &self.body.name;
                let problem = format!("{name}: csum16 is computed by parser and deparser, not in a stage");
                if !self.found.problems.contains(&problem) {
                    self.found.problems.push(problem);
                }
                true
            }
            Op::Count { counter, index } => {
                let array = &self.program.counters[counter.index()];
                let known = self.counters.get(counter).copied();
                let demand = Demand::of_counters(array.size.unwrap_or(1));
                let place = self.array(known, &array.name, index, block, demand, None);
                self.counters.insert(*counter, place);
                false
            }
            Op::ExecuteMeter { meter, index, slot, .. } => {
                let array = &self.program.meters[meter.index()];
                let known = self.meters.get(meter).copied();
                let demand = Demand::of_counters(array.size.unwrap_or(1));
                let place = self.array(known, &array.name, index, block, demand, Some(*slot));
                self.meters.insert(*meter, place);
                false
            }
            _ => true,
        }
    }

    /// The unit of an array of counters or meters, at `known` if it has one.
    fn array(
        &mut self,
        known: Option<usize>,
        name: &str,
        index: &Expr,
        block: BlockId,
        demand: Demand,
        result: Option<SlotId>,
    ) -> usize {
        let place = known.unwrap_or(self.found.units.len());
        if known.is_none() {
            self.found.units.push(Unit {
                name: name.to_string(),
                kind: Kind::Counters,
                location: Location::default(),
                begin: self.position((block, 0)),
                end: self.position((block, 0)),
                blocks: Vec::new(),
                matches: Slots::new(),
                reads: Slots::new(),
                writes: Slots::new(),
                decides: Slots::new(),
                stages: 1,
                demand,
                registers: BTreeSet::new(),
            });
        }
        let matches = &self.index_slots(index) | &self.condition(block);
        let unit = &mut self.found.units[place];
        unit.blocks.push(block);
        unit.matches.extend(matches);
        unit.writes.extend(result);
        place
    }

    fn operations(&mut self, block: BlockId, statements: &[usize]) {
        let Some(first) = statements.first() else { return };
        let all = &self.body.blocks[block.index()].statements;
        let ops = statements.iter().map(|index| &all[*index].op);
        let effects = Effects::of(self.program, ops.clone());
        let location = all[*first].location;
        self.note_impossible(&effects, location);
        let mut demand = Demand::of_operations();
        for op in ops {
            if let Op::Hash { slot, .. } = op {
                let inputs = reads_of(op)
                    .into_iter()
                    .map(|slot| self.program.slot(slot).width)
                    .sum::<u32>();
                demand.hash_bits += self.program.slot(*slot).width;
                demand.exact_crossbar_bytes += inputs.div_ceil(8);
            }
        }
        self.found.units.push(Unit {
            name: place_name(self.program, location),
            kind: Kind::Operations,
            location,
            begin: self.position((block, *first)),
            end: self.position((block, *first)),
            blocks: vec![block],
            matches: self.condition(block),
            reads: effects.reads,
            writes: effects.writes,
            decides: Slots::new(),
            stages: effects.stages.max(1),
            demand,
            registers: BTreeSet::new(),
        });
    }

    fn table(&mut self, id: TableId, block: BlockId, decides: Slots) {
        let program = self.program;
        let table: &Table = &program.tables[id.index()];
        let actions = table
            .actions
            .iter()
            .map(|listed| &program.actions[listed.action.index()]);
        let effects = actions.clone().map(|action| Effects::of_action(program, action));
        let effects = effects.fold(Effects::default(), Effects::or);
        self.note_impossible(&effects, table.location);
        let mut demand = Demand::of_table(program, table);
        let bodies = actions.map(|action| &program.bodies[action.body.index()]);
        let ops = bodies.flat_map(|body: &Body| body.statements());
        let (mut registers, mut counters, mut meters) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for statement in ops {
            match &statement.op {
                Op::RegisterRead { register, .. } | Op::RegisterWrite { register, .. } => {
                    registers.insert(*register);
                }
                Op::Count { counter, .. } => {
                    counters.insert(*counter);
                }
                Op::ExecuteMeter { meter, .. } => {
                    meters.insert(*meter);
                }
                _ => {}
            }
        }
        for register in &registers {
            demand += Demand::of_register(&program.registers[register.index()], 0, self.alu_bits);
        }
        for counter in counters {
            demand += Demand::of_counters(program.counters[counter.index()].size.unwrap_or(1));
        }
        // What the meter of the table itself takes is known.
        let direct = table.direct_meter.as_ref().map(|direct| direct.meter);
        for meter in meters.into_iter().filter(|meter| Some(*meter) != direct) {
            demand += Demand::of_counters(program.meters[meter.index()].size.unwrap_or(1));
        }
        demand.tables = 1;
        self.found.units.push(Unit {
            name: table.name.clone(),
            kind: Kind::Table,
            location: table.location,
            begin: self.position((block, usize::MAX)),
            end: self.position((block, usize::MAX)),
            blocks: vec![block],
            matches: &key_slots(table) | &self.condition(block),
            reads: effects.reads,
            writes: effects.writes,
            decides,
            // Without a key there is nothing to wait for.
            stages: effects.stages.max(usize::from(matched(table).next().is_some())).max(1),
            demand,
            registers,
        });
    }

    fn note_impossible(&mut self, effects: &Effects, location: Location) {
        for what in &effects.impossible {
            let place = place_name(self.program, location);
            self.found.problems.push(format!("{place}: stages have no {what}"));
        }
    }
}

/// `file.p4:12`.
fn place_name(program: &Program, location: Location) -> String {
    let file = program.files.get(location.file as usize).map_or("", String::as_str);
    let file = file.rsplit('/').next().unwrap_or(file);
    match location.line {
        0 => "operations".to_string(),
        line => format!("{file}:{line}"),
    }
}
