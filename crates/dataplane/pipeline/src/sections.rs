//! The atomic sections of a program, and their locks.
//!
//! A packet that reads a register, computes a new value and writes it must not be interrupted by another worker's
//! packet that does the same. The specification requires this where the program says `@atomic` (P4_16 §18.4.1). BMv2
//! guarantees more, and programs rely on it: it locks the registers of an action while the action runs, and a sequence
//! of statements in a control is an action there. So, when a program is loaded,
//!
//! * a section marked `@atomic` stays if it accesses registers, also if only the actions of tables applied in it do;
//! * in every action, one section is put around all accesses to registers, unless its table is applied in a section;
//! * other accesses to registers are put into sections, one for each basic block, from the first access to the last.
//!
//! After that every access is in a section, and sections do not nest.
//!
//! # Locks
//!
//! Registers that are accessed in one section belong together and share a *lock*. A lock *covers one index* if all its
//! sections access each of its registers at a single index that is known where the section begins. Then only sections
//! with equal indices exclude each other. The aggregation of messages, whose registers are all indexed by the flow,
//! runs on several workers in this way. Otherwise all sections of the lock exclude each other.
//!
//! A lock has the number of one of its registers. If the lock covers one index, and the elements of that register
//! [have locks](RegisterArray::have_locks), then these are used. An index outside that register needs no lock, because
//! no other register of the lock is longer.

use forebay_ir::{
    Block, BlockId, Body, BodyId, BodyKind, Expr, Op, Program, RegisterId, SlotId, Statement, TableId, Terminator,
};
use forebay_tables::RegisterArray;
use std::collections::BTreeSet;

/// By register: its lock, and whether the lock covers one index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RegisterLocks(Vec<(u32, bool)>);

impl RegisterLocks {
    /// The lock of a register's element, and the index under it.
    pub(crate) fn of(&self, register: usize, index: u64) -> (u32, u64) {
        let (lock, by_index) = self.0[register];
        (lock, if by_index { index } else { 0 })
    }

    /// Whether a lock covers one index.
    pub(crate) fn is_by_index(&self, lock: u32) -> bool {
        self.0[lock as usize].1
    }
}

/// A section: its beginning, and what it accesses.
#[derive(Debug)]
struct Section {
    body: BodyId,
    block: BlockId,
    statement: usize,
    registers: BTreeSet<RegisterId>,
    /// The index of all accesses, if it is one expression whose value does not change in the section.
    index: Option<Expr>,
}

/// Puts every access to a register into a section. Returns the sections' locks.
pub(crate) fn place(program: &mut Program) -> RegisterLocks {
    let covered = covered_actions(program);
    let of_tables: Vec<BTreeSet<RegisterId>> = (0..program.tables.len())
        .map(|table| covered_registers(program, TableId(table as u32), &covered))
        .collect();
    for id in 0..program.bodies.len() {
        let body = &mut program.bodies[id];
        if body.kind == BodyKind::Action {
            unmark(body);
            if !covered.contains(&BodyId(id as u32)) {
                surround_action(body);
            }
        } else {
            surround_applications(body, |table| !of_tables[table.index()].is_empty());
            surround_rest(body);
        }
    }
    let mut sections = Vec::new();
    for id in 0..program.bodies.len() {
        find_sections(program, BodyId(id as u32), &of_tables, &mut sections);
    }
    let locks = locks(program, &sections);
    write_locks(program, &sections, &locks);
    locks
}

fn register_of(op: &Op) -> Option<(RegisterId, &Expr)> {
    match op {
        Op::RegisterRead { register, index, .. } | Op::RegisterWrite { register, index, .. } => {
            Some((*register, index))
        }
        _ => None,
    }
}

fn is_access(statement: &Statement) -> bool {
    register_of(&statement.op).is_some()
}

/// The registers that covered actions of a table access.
fn covered_registers(program: &Program, table: TableId, covered: &BTreeSet<BodyId>) -> BTreeSet<RegisterId> {
    let bodies = program.bodies_of_actions(table).filter(|body| covered.contains(body));
    let statements = bodies.flat_map(|body| program.bodies[body.index()].statements());
    statements
        .filter_map(|statement| register_of(&statement.op))
        .map(|(register, _)| register)
        .collect()
}

/// By block of a body: whether every path to its beginning is inside a marked section.
fn inside_at_start(body: &Body) -> Vec<bool> {
    let mut inside = vec![true; body.blocks.len()];
    inside[0] = false;
    loop {
        let mut changed = false;
        for (id, block) in body.blocks.iter().enumerate() {
            let leaves_inside = inside_after(inside[id], &block.statements);
            for next in successors(&block.terminator) {
                if inside[next.index()] && !leaves_inside {
                    inside[next.index()] = false;
                    changed = true;
                }
            }
        }
        if !changed {
            return inside;
        }
    }
}

fn inside_after(before: bool, statements: &[Statement]) -> bool {
    statements.iter().fold(before, |inside, statement| match statement.op {
        Op::EnterAtomic { .. } => true,
        Op::LeaveAtomic => false,
        _ => inside,
    })
}

fn successors(terminator: &Terminator) -> Vec<BlockId> {
    let mut terminator = terminator.clone();
    terminator.successors_mut().into_iter().map(|next| *next).collect()
}

/// The bodies of actions that run in marked sections, because their table is applied in one.
fn covered_actions(program: &Program) -> BTreeSet<BodyId> {
    let mut covered = BTreeSet::new();
    for body in program.bodies.iter().filter(|body| body.kind != BodyKind::Action) {
        for (block, inside) in body.blocks.iter().zip(inside_at_start(body)) {
            if let Terminator::Apply { table, .. } = block.terminator
                && inside_after(inside, &block.statements)
            {
                covered.extend(program.bodies_of_actions(table));
            }
        }
    }
    covered
}

fn unmark(body: &mut Body) {
    for block in &mut body.blocks {
        block
            .statements
            .retain(|statement| !matches!(statement.op, Op::EnterAtomic { .. } | Op::LeaveAtomic));
    }
}

fn statement(op: Op, like: &Statement) -> Statement {
    Statement {
        op,
        location: like.location,
    }
}

/// Puts a section around the statements of a range.
fn surround(statements: &mut Vec<Statement>, first: usize, last: usize) {
    let leave = statement(Op::LeaveAtomic, &statements[last]);
    let enter = statement(Op::EnterAtomic { lock: 0, index: None }, &statements[first]);
    statements.insert(last + 1, leave);
    statements.insert(first, enter);
}

fn surround_action(body: &mut Body) {
    let blocks = body.blocks.iter().enumerate();
    let accessing: Vec<usize> = blocks
        .filter(|(_, block)| block.statements.iter().any(is_access))
        .map(|(id, _)| id)
        .collect();
    match accessing[..] {
        [] => {}
        [block] => surround_accesses(&mut body.blocks[block].statements),
        // It ends with the body of the control, or where the next section begins.
        _ => {
            let location = body.blocks[0].location;
            let op = Op::EnterAtomic { lock: 0, index: None };
            body.blocks[0].statements.insert(0, Statement { op, location });
            for block in &mut body.blocks {
                if matches!(block.terminator, Terminator::Return | Terminator::Exit) {
                    let location = block.location;
                    let op = Op::LeaveAtomic;
                    block.statements.push(Statement { op, location });
                }
            }
        }
    }
}

/// Puts one section around all statements from the first access to the last.
fn surround_accesses(statements: &mut Vec<Statement>) {
    let first = statements.iter().position(is_access);
    let last = statements.iter().rposition(is_access);
    if let (Some(first), Some(last)) = (first, last) {
        surround(statements, first, last);
    }
}

/// Puts sections around applications of certain tables that are outside of marked sections.
fn surround_applications(body: &mut Body, is_to_be: impl Fn(TableId) -> bool) {
    let inside = inside_at_start(body);
    for (id, inside) in inside.into_iter().enumerate() {
        let behind = BlockId(body.blocks.len() as u32);
        let block = &mut body.blocks[id];
        let is_inside = inside_after(inside, &block.statements);
        let location = block.location;
        let at = |op| Statement { op, location };
        let Terminator::Apply { table, next, .. } = &mut block.terminator else {
            continue;
        };
        if is_inside || !is_to_be(*table) {
            continue;
        }
        let after = Block {
            label: None,
            statements: vec![at(Op::LeaveAtomic)],
            terminator: Terminator::Jump(*next),
            location,
        };
        *next = behind;
        block.statements.push(at(Op::EnterAtomic { lock: 0, index: None }));
        body.blocks.push(after);
    }
}

/// Puts accesses that are outside of sections into sections.
fn surround_rest(body: &mut Body) {
    let inside = inside_at_start(body);
    for (block, mut inside) in body.blocks.iter_mut().zip(inside) {
        let mut pieces: Vec<Vec<Statement>> = vec![Vec::new()];
        let mut outside = vec![!inside];
        for statement in block.statements.drain(..) {
            let was_inside = inside;
            inside = inside_after(inside, std::slice::from_ref(&statement));
            if inside != was_inside && !was_inside {
                pieces.push(Vec::new());
                outside.push(false);
            }
            let leaves = was_inside && !inside;
            pieces.last_mut().expect("there is one").push(statement);
            if leaves {
                pieces.push(Vec::new());
                outside.push(true);
            }
        }
        for (piece, outside) in pieces.iter_mut().zip(outside) {
            if outside {
                surround_accesses(piece);
            }
        }
        block.statements = pieces.concat();
    }
}

/// Adds the sections of a body.
fn find_sections(program: &Program, id: BodyId, of_tables: &[BTreeSet<RegisterId>], sections: &mut Vec<Section>) {
    let body = &program.bodies[id.index()];
    let inside = inside_at_start(body);
    for (block, statements) in body.blocks.iter().map(|block| &block.statements).enumerate() {
        let enters = statements.iter().enumerate();
        for (at, _) in enters.filter(|(_, statement)| matches!(statement.op, Op::EnterAtomic { .. })) {
            let mut walk = Walk {
                program,
                of_tables,
                indices: Vec::new(),
                is_unknown: false,
                written: BTreeSet::new(),
                section: Section {
                    body: id,
                    block: BlockId(block as u32),
                    statement: at,
                    registers: BTreeSet::new(),
                    index: None,
                },
            };
            walk.run(body, &inside);
            sections.push(walk.finish());
        }
    }
}

/// A walk through all blocks of a section.
struct Walk<'a> {
    program: &'a Program,
    /// By table: the registers accessed by those of its actions that have no sections of their own.
    of_tables: &'a [BTreeSet<RegisterId>],
    indices: Vec<Expr>,
    /// Whether registers are accessed at an unknown index: in the actions of a table.
    is_unknown: bool,
    written: BTreeSet<SlotId>,
    section: Section,
}

impl Walk<'_> {
    fn run(&mut self, body: &Body, inside: &[bool]) {
        let mut seen = BTreeSet::new();
        let mut waiting = vec![(self.section.block, self.section.statement + 1)];
        while let Some((id, first)) = waiting.pop() {
            let block = &body.blocks[id.index()];
            if !self.statements(&block.statements[first..]) {
                continue;
            }
            if let Terminator::Apply { table, .. } = block.terminator {
                self.apply(table);
            }
            self.written.extend(block.terminator.results());
            let next = successors(&block.terminator).into_iter();
            waiting.extend(
                next.filter(|next| inside[next.index()] && seen.insert(*next))
                    .map(|next| (next, 0)),
            );
        }
    }

    /// Whether the section continues after the statements.
    fn statements(&mut self, statements: &[Statement]) -> bool {
        for statement in statements {
            if matches!(statement.op, Op::EnterAtomic { .. } | Op::LeaveAtomic) {
                return false;
            }
            self.written.extend(statement.op.slots_written(self.program));
            if let Some((register, index)) = register_of(&statement.op) {
                self.section.registers.insert(register);
                self.indices.push(index.clone());
            }
        }
        true
    }

    fn apply(&mut self, table: TableId) {
        self.section.registers.extend(&self.of_tables[table.index()]);
        self.is_unknown |= !self.of_tables[table.index()].is_empty();
        for body in self.program.bodies_of_actions(table) {
            for statement in self.program.bodies[body.index()].statements() {
                self.written.extend(statement.op.slots_written(self.program));
            }
        }
    }

    fn finish(self) -> Section {
        let Walk {
            indices,
            written,
            mut section,
            ..
        } = self;
        let mut is_changed = self.is_unknown;
        section.index = indices.first().cloned();
        if let Some(index) = &section.index {
            index.for_each_slot(&mut |slot| is_changed |= written.contains(&slot));
        }
        if is_changed || indices.iter().any(|index| section.index.as_ref() != Some(index)) {
            section.index = None;
        }
        section
    }
}

/// Gives the registers of one section one lock.
fn locks(program: &Program, sections: &[Section]) -> RegisterLocks {
    let mut lock: Vec<u32> = (0..program.registers.len() as u32).collect();
    for section in sections {
        let joined: BTreeSet<u32> = section
            .registers
            .iter()
            .map(|register| lock[register.index()])
            .collect();
        let Some(&first) = joined.first() else { continue };
        lock.iter_mut()
            .filter(|lock| joined.contains(lock))
            .for_each(|lock| *lock = first);
    }
    let without_index = sections.iter().filter(|section| section.index.is_none());
    let whole: BTreeSet<u32> = without_index
        .flat_map(|section| section.registers.first())
        .map(|register| lock[register.index()])
        .collect();
    let numbers = numbers(program, &lock);
    let lock_of = |class: u32| (numbers[class as usize], !whole.contains(&class));
    RegisterLocks(lock.into_iter().map(lock_of).collect())
}

/// By class of registers that share a lock: the register that gives the lock its number. No register of the class is
/// longer. Among the longest ones it is one whose elements have locks, if there is one.
fn numbers(program: &Program, classes: &[u32]) -> Vec<u32> {
    let rank = |register: u32| {
        let declared = &program.registers[register as usize];
        (declared.size, RegisterArray::have_locks(declared.width))
    };
    let mut numbers: Vec<u32> = (0..classes.len() as u32).collect();
    for (register, class) in (0..).zip(classes) {
        let number = &mut numbers[*class as usize];
        if rank(register) > rank(*number) {
            *number = register;
        }
    }
    numbers
}

/// Writes the lock of each section into the program, and removes sections that access no register.
fn write_locks(program: &mut Program, sections: &[Section], locks: &RegisterLocks) {
    // From the end, so that removals do not move later positions.
    for section in sections.iter().rev() {
        let statements = &mut program.bodies[section.body.index()].blocks[section.block.index()].statements;
        let Some(register) = section.registers.first() else {
            statements.remove(section.statement);
            continue;
        };
        let (lock, by_index) = locks.0[register.index()];
        let index = section.index.clone().filter(|_| by_index);
        statements[section.statement].op = Op::EnterAtomic { lock, index };
    }
    for body in &mut program.bodies {
        let is_entered = |statement: &Statement| matches!(statement.op, Op::EnterAtomic { .. });
        if !body.statements().any(is_entered) {
            unmark(body);
        }
    }
}
