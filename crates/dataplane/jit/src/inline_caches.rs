//! Look-ups whose key comes from the result of another look-up.
//!
//! ```text
//!   ipv4_lpm ── record: set_next_hop(7) ──► meta.next_hop = 7 ──► next_hops.apply() ── key 7 ──► record
//!                │                                                                                ▲
//!                └── memo: where the second look-up ended, and which state of the table that was ─┘
//! ```
//!
//! If table A's action data alone determines table B's key, B's result is a function of A's record and B's version. The
//! result is cached in A's record (an inline cache): records of such a *leading* table have a word after their data,
//! the memo, which machine code writes. [`forebay_tables::search`] says how machine code tests whether a memo is still
//! valid.

use crate::tables::key_spec;
use forebay_ir::{ActionId, Expr, Op, Program, SlotId, TableId};
use forebay_tables::{KeySpec, Search};
use std::collections::{BTreeMap, BTreeSet};

/// The leading table of each table that has one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Joins {
    leaders: BTreeMap<TableId, TableId>,
}

/// The tables whose records have a memo: see [`forebay_tables::TableSpec::memo`].
pub fn leading_tables(program: &Program) -> BTreeSet<TableId> {
    Joins::of(program).leaders.into_values().collect()
}

impl Joins {
    /// The joins of a program.
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

    /// The leading table, whose record determines the key.
    pub(crate) fn leader(&self, table: TableId) -> Option<TableId> {
        self.leaders.get(&table).copied()
    }

    /// The tables that a leading table leads to.
    pub(crate) fn followers(&self, leader: TableId) -> impl Iterator<Item = TableId> + '_ {
        let pairs = self.leaders.iter();
        pairs.filter(move |(_, by)| **by == leader).map(|(table, _)| *table)
    }
}

/// The slots that form the key of a table, if machine code searches this table as a hash table. `None` for other
/// tables, and for keys that are not plain slots.
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

/// Whether an action sets the whole key from its data alone.
pub(crate) fn determines(program: &Program, action: ActionId, key: &BTreeSet<SlotId>) -> bool {
    let body = program.body_of(action);
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

/// Whether the key depends on the action's data alone after the action, if it was constant before.
pub(crate) fn writes_data_alone(program: &Program, action: ActionId, key: &BTreeSet<SlotId>) -> bool {
    let body = program.body_of(action);
    let is_straight = body.blocks.len() == 1;
    let mut statements = body.statements();
    statements.all(|statement| {
        let written = statement.op.slots_written(program);
        let is_of_data = matches!(&statement.op, Op::Assign { value, .. } if is_straight && is_data(value));
        is_of_data || !written.iter().any(|slot| key.contains(slot))
    })
}

/// Whether an expression consists only of constants and the action's data.
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

/// The bodies that write each slot, and the tables that alone own a body.
///
/// Both are found in one pass over the program, so that finding joins does not take time quadratic in the number of
/// tables.
struct Writers {
    /// Indices of bodies, by slot.
    of_slots: BTreeMap<SlotId, BTreeSet<usize>>,
    /// By body: the tables that have it as an action, if no other table lists this action.
    owners: BTreeMap<usize, BTreeSet<TableId>>,
}

impl Writers {
    fn of(program: &Program) -> Writers {
        let mut of_slots: BTreeMap<SlotId, BTreeSet<usize>> = BTreeMap::new();
        for (index, body) in program.bodies.iter().enumerate() {
            for slot in body.slots_written(program) {
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

    /// The first table that leads to `table`: its actions, and nothing else, write the key, and one of them writes all
    /// of it.
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

/// Whether one of a table's actions determines the key.
fn may_lead(program: &Program, table: TableId, key: &BTreeSet<SlotId>) -> bool {
    let declared = &program.tables[table.index()];
    let mut actions = declared.actions.iter();
    declared.implementation.is_none() && actions.any(|listed| determines(program, listed.action, key))
}
