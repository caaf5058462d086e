//! Look-ups whose key is what another one has found.
//!
//! ```text
//!   ipv4_lpm ── record: set_next_hop(7) ──► meta.next_hop = 7 ──► next_hops.apply() ── key 7 ──► record
//!                │                                                                                ▲
//!                └── memo: where the second look-up ended, and which state of the table that was ─┘
//! ```
//!
//! If table A's action data alone determines table B's key, B's result is a function of A's record and B's version. It is cached in
//! A's record (an inline cache): records of such a *leading* table have a word after their data, the memo, which machine code
//! writes. [`forebay_tables::search`] says how machine code knows that a memo is still valid.

use crate::analysis::action_body;
use crate::tables::key_spec;
use forebay_ir::{ActionId, Body, Expr, Op, Program, SlotId, TableId, Terminator};
use forebay_tables::{KeySpec, Search};
use std::collections::{BTreeMap, BTreeSet};

/// Which tables lead to which.
#[derive(Clone, Debug, Default)]
pub(crate) struct Joins {
    leaders: BTreeMap<TableId, TableId>,
}

/// The tables whose records have a memo: see [`forebay_tables::TableSpec::memo`].
pub fn leading_tables(program: &Program) -> BTreeSet<TableId> {
    Joins::of(program).leaders.into_values().collect()
}

impl Joins {
    /// Those of a program.
    pub(crate) fn of(program: &Program) -> Joins {
        let writers = Writers::of(program);
        let tables = (0..program.tables.len() as u32).map(TableId);
        let leaders = tables.filter_map(|table| Some((table, writers.leader(program, table)?)));
        Joins {
            leaders: leaders.collect(),
        }
    }

    pub(crate) fn leads(&self, table: TableId) -> bool {
        self.leaders.values().any(|leader| *leader == table)
    }

    /// The table whose record says what the key is.
    pub(crate) fn leader(&self, table: TableId) -> Option<TableId> {
        self.leaders.get(&table).copied()
    }

    /// The tables that one leads to.
    pub(crate) fn followers(&self, leader: TableId) -> impl Iterator<Item = TableId> + '_ {
        let pairs = self.leaders.iter();
        pairs.filter(move |(_, by)| **by == leader).map(|(table, _)| *table)
    }
}

/// The slots that are the key of a table that machine code searches as a hash table; nothing when it is another, or more is
/// done with them.
pub(crate) fn key_slots(program: &Program, table: TableId) -> Option<BTreeSet<SlotId>> {
    let table = &program.tables[table.index()];
    let keys: Vec<KeySpec> = table.keys.iter().map(key_spec).collect();
    let is_searched = table.implementation.is_none() && matches!(Search::new(&keys, 1), Some(Search::Exact { .. }));
    if !is_searched {
        return None;
    }
    let slots = table.keys.iter().map(|key| match key.expr {
        Expr::Slot(slot) => Some(slot),
        _ => None,
    });
    slots.collect()
}

/// Whether an action sets the key to what its data say, whatever else there is.
pub(crate) fn determines(program: &Program, action: ActionId, key: &BTreeSet<SlotId>) -> bool {
    let body = action_body(program, &program.actions[action.index()]);
    let [block] = &body.blocks[..] else { return false };
    let mut set = BTreeSet::new();
    for statement in &block.statements {
        let written = statement.op.slots_written(program);
        if !written.iter().any(|slot| key.contains(slot)) {
            continue;
        }
        match &statement.op {
            Op::Assign { slot, value } if is_data(value) => set.insert(*slot),
            _ => return false,
        };
    }
    set == *key
}

/// Whether an expression is made of nothing but constants and the action's data.
fn is_data(expr: &Expr) -> bool {
    match expr {
        Expr::Const(_) | Expr::Param { .. } => true,
        Expr::Slice { operand, .. }
        | Expr::ZeroExtend(_, operand)
        | Expr::SignExtend(_, operand)
        | Expr::Truncate(_, operand)
        | Expr::Unary(_, operand) => is_data(operand),
        Expr::Concat(one, other) | Expr::Binary(_, one, other) => is_data(one) && is_data(other),
        _ => false,
    }
}

/// Which bodies write a slot, and to which table alone a body belongs.
///
/// Both are found in one pass over the program, so that the joins of a program with many tables do not take the square of
/// their number.
struct Writers {
    /// Indices of bodies.
    of_slots: BTreeMap<SlotId, BTreeSet<usize>>,
    /// By body: the tables one of whose actions it is, if no other table lists this action.
    owners: BTreeMap<usize, BTreeSet<TableId>>,
}

impl Writers {
    fn of(program: &Program) -> Writers {
        let mut of_slots: BTreeMap<SlotId, BTreeSet<usize>> = BTreeMap::new();
        for (index, body) in program.bodies.iter().enumerate() {
            for slot in written(program, body) {
                of_slots.entry(slot).or_default().insert(index);
            }
        }
        let mut listing: BTreeMap<ActionId, BTreeSet<TableId>> = BTreeMap::new();
        for (index, table) in program.tables.iter().enumerate() {
            for listed in &table.actions {
                listing.entry(listed.action).or_default().insert(TableId(index as u32));
            }
        }
        let mut owners: BTreeMap<usize, BTreeSet<TableId>> = BTreeMap::new();
        for (action, tables) in listing {
            if tables.len() == 1 {
                let body = program.actions[action.index()].body.index();
                owners.entry(body).or_default().extend(tables);
            }
        }
        Writers { of_slots, owners }
    }

    /// The first table whose actions, and nothing else, write the key of another table, one of them as a whole.
    fn leader(&self, program: &Program, table: TableId) -> Option<TableId> {
        let key = key_slots(program, table)?;
        let writing: BTreeSet<usize> = key
            .iter()
            .filter_map(|slot| self.of_slots.get(slot))
            .flatten()
            .copied()
            .collect();
        let owns = |leader: &TableId, body: &usize| self.owners.get(body).is_some_and(|owners| owners.contains(leader));
        let leads = |leader: &TableId| {
            *leader != table && writing.iter().all(|body| owns(leader, body)) && may_lead(program, *leader, &key)
        };
        match writing.first() {
            Some(body) => self.owners.get(body)?.iter().copied().find(leads),
            None if key.is_empty() => (0..program.tables.len() as u32).map(TableId).find(leads),
            None => None,
        }
    }
}

/// Whether one of a table's actions says what the slots are.
fn may_lead(program: &Program, table: TableId, key: &BTreeSet<SlotId>) -> bool {
    let declared = &program.tables[table.index()];
    let mut actions = declared.actions.iter();
    declared.implementation.is_none() && actions.any(|listed| determines(program, listed.action, key))
}

/// The slots that a body writes.
fn written(program: &Program, body: &Body) -> BTreeSet<SlotId> {
    let mut slots = BTreeSet::new();
    for block in &body.blocks {
        for statement in &block.statements {
            slots.extend(statement.op.slots_written(program));
        }
        if let Terminator::Apply {
            table, hit, action_run, ..
        } = &block.terminator
        {
            let color = program.tables[table.index()].direct_meter.and_then(|meter| meter.slot);
            slots.extend([*hit, *action_run, color].into_iter().flatten());
        }
    }
    slots
}
