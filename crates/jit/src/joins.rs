//! Look-ups whose key is what another one has found.
//!
//! ```text
//!   ipv4_lpm ── record: set_next_hop(7) ──► meta.next_hop = 7 ──► next_hops.apply() ── key 7 ──► record
//!                │                                                                                ▲
//!                └── memo: where the second look-up ended, and which state of the table that was ─┘
//! ```
//!
//! When nobody else writes the fields of the key, the second look-up of a packet finds what it found for the last packet with
//! the same record of the first. So records of such a *leading* table have a word behind their data, the memo, in which
//! machine code notes it; [`forebay_tables::search`] says how it is known that a memo still holds.

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
        let tables = || (0..program.tables.len() as u32).map(TableId);
        let leaders = tables().filter_map(|table| {
            let key = key_slots(program, table)?;
            let leader = tables().find(|leader| *leader != table && alone_writes(program, *leader, &key))?;
            Some((table, leader))
        });
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

/// Whether the slots are written by actions of this table and by nothing else, and by one of them as a whole.
fn alone_writes(program: &Program, table: TableId, key: &BTreeSet<SlotId>) -> bool {
    let declared = &program.tables[table.index()];
    let own: BTreeSet<ActionId> = declared.actions.iter().map(|listed| listed.action).collect();
    let shared = (0..program.tables.len() as u32)
        .map(TableId)
        .filter(|other| *other != table);
    let shared: BTreeSet<ActionId> = shared
        .flat_map(|other| &program.tables[other.index()].actions)
        .map(|listed| listed.action)
        .collect();
    let own_bodies: BTreeSet<usize> = own
        .difference(&shared)
        .map(|action| program.actions[action.index()].body.index())
        .collect();
    let others = program.bodies.iter().enumerate();
    let mut others = others
        .filter(|(index, _)| !own_bodies.contains(index))
        .map(|(_, body)| body);
    declared.implementation.is_none()
        && own.iter().any(|action| determines(program, *action, key))
        && !others.any(|body| writes(program, body, key))
}

fn writes(program: &Program, body: &Body, slots: &BTreeSet<SlotId>) -> bool {
    body.blocks.iter().any(|block| {
        let by_statements = block
            .statements
            .iter()
            .flat_map(|statement| statement.op.slots_written(program));
        let by_table = match &block.terminator {
            Terminator::Apply {
                table, hit, action_run, ..
            } => {
                let color = program.tables[table.index()].direct_meter.and_then(|meter| meter.slot);
                [*hit, *action_run, color]
            }
            _ => [None; 3],
        };
        by_statements
            .chain(by_table.into_iter().flatten())
            .any(|slot| slots.contains(&slot))
    })
}
