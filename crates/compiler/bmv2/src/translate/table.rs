//! Tables and what follows them.

use super::Translator;
use super::control::Nodes;
use crate::error::{Error, Result, options};
use crate::known::KnownTable;
use crate::model::{Action, DefaultEntry, MatchSpec, Operand, Table, TableKey};
use forebay_bits::Bits;
use forebay_ir::{
    self as ir, ActionCall, ActionProfileId, BlockId, Counter, CounterId, DirectMeter, Expr, KeySet, MatchKind,
    MeterId, SelectCase, TableAction, TableId, Terminator, Unit, build,
};

/// Key of `NextTables::by_name` for a hit.
pub const HIT: &str = "__HIT__";

/// The same for a miss.
pub const MISS: &str = "__MISS__";

impl Translator<'_> {
    /// Looks a table up and goes on with what follows.
    pub(super) fn apply(&mut self, table: &Table, nodes: &Nodes) -> Result<()> {
        let actions = self.actions_of(table)?;
        let id = self.declare_table(table, &actions)?;
        let after = self.body.block(None);
        if table.next.by_name.contains_key(HIT) || table.next.by_name.contains_key(MISS) {
            return self.branch_on_hit(table, id, after, nodes);
        }
        let base = nodes.block(table.next.base_default.as_deref())?;
        let targets = actions.iter().map(|action| match table.next.by_name.get(&action.name) {
            Some(next) => nodes.block(next.as_deref()),
            None => Ok(base),
        });
        let targets: Vec<BlockId> = targets.collect::<Result<_>>()?;
        if targets.iter().all(|target| *target == targets[0])
            && (targets.first() == Some(&base) || self.runs_listed(id))
        {
            self.terminate_apply(id, None, None, *targets.first().unwrap_or(&base));
            return Ok(());
        }
        let run = self.temporary(32);
        self.terminate_apply(id, None, Some(run), after);
        self.body.start(after);
        let cases = targets.iter().zip(0..).map(|(target, index)| SelectCase {
            keysets: vec![KeySet::Exact(Bits::new(32, index))],
            target: *target,
        });
        self.body.terminate(Terminator::Select {
            keys: vec![Expr::Slot(run)],
            cases: cases.collect(),
            default: base,
        });
        Ok(())
    }

    /// Whether the actions that the JSON lists are all that can run.
    fn runs_listed(&self, table: TableId) -> bool {
        let table = &self.program.tables[table.index()];
        let default = &table.actions[table.default_action.action as usize];
        !default.default_only
    }

    fn terminate_apply(
        &mut self,
        table: TableId,
        hit: Option<ir::SlotId>,
        action_run: Option<ir::SlotId>,
        next: BlockId,
    ) {
        self.body.terminate(Terminator::Apply {
            table,
            hit,
            action_run,
            next,
        });
    }

    fn branch_on_hit(&mut self, table: &Table, id: TableId, after: BlockId, nodes: &Nodes) -> Result<()> {
        let next = |key: &str| {
            let next = table.next.by_name.get(key).unwrap_or(&table.next.base_default);
            nodes.block(next.as_deref())
        };
        let (then_block, else_block) = (next(HIT)?, next(MISS)?);
        let hit = self.temporary(1);
        self.terminate_apply(id, Some(hit), None, after);
        self.body.start(after);
        self.body.branch(Expr::Slot(hit), then_block, else_block);
        Ok(())
    }

    fn declare_table(&mut self, table: &Table, listed: &[&Action]) -> Result<TableId> {
        let known = self.known.tables.get(&table.name);
        let keys = self.keys(table, known)?;
        let mut actions = Vec::new();
        for action in listed {
            actions.push(TableAction {
                action: self.action(action)?,
                table_only: false,
                default_only: false,
            });
        }
        let default_action = self.default_action(table.default.as_ref(), listed, &mut actions)?;
        let is_const = table.entries.is_some() && known.is_none_or(|known| known.entries_are_const);
        let entries = self.entries(table, &keys, listed, is_const)?;
        let location = self.location(&table.source);
        let declared = ir::Table {
            name: table.name.clone(),
            keys,
            actions,
            default_action,
            default_is_const: table.default.as_ref().is_some_and(|default| default.is_const),
            entries,
            entries_are_const: is_const,
            size: table.size.min(1 << 32),
            implementation: self.implementation(table)?,
            empty_group_action: None,
            direct_counter: self.direct_counter(table),
            direct_meter: self.direct_meter(table)?,
            supports_timeout: table.supports_timeout,
            deletes_idle: false,
            expire_seconds: Vec::new(),
            is_hidden: self.is_left_out(table),
            location,
        };
        let id = TableId(self.program.tables.len() as u32);
        self.program.tables.push(declared);
        Ok(id)
    }

    fn keys(&mut self, table: &Table, known: Option<&KnownTable>) -> Result<Vec<ir::TableKey>> {
        let known = known.map(|known| known.fields.as_slice()).unwrap_or_default();
        let mut keys = Vec::new();
        for (index, key) in table.key.iter().enumerate() {
            let known = known.get(index);
            let match_kind = match_kind(key.match_kind, known.map(|known| known.match_kind));
            let name = known.map(|known| known.name.clone()).or_else(|| key.name.clone());
            keys.push(self.key(key, name.unwrap_or_else(|| key_name(key)), match_kind)?);
        }
        for input in self.selector_inputs(table) {
            let expr = self.exact(&input)?.expr;
            keys.push(ir::TableKey {
                name: operand_name(&input),
                width: expr.width(&self.program),
                expr,
                match_kind: MatchKind::Selector,
            });
        }
        Ok(keys)
    }

    fn key(&mut self, key: &TableKey, name: String, match_kind: MatchKind) -> Result<ir::TableKey> {
        let value = self.exact(&key.target)?.expr;
        let width = value.width(&self.program);
        let expr = match &key.mask {
            Some(mask) => build::binary(ir::BinaryOp::And, value, Expr::Const(Bits::from_bigint(width, mask))),
            None => value,
        };
        Ok(ir::TableKey {
            name,
            expr,
            width,
            match_kind,
        })
    }

    fn selector_inputs(&self, table: &Table) -> Vec<Operand> {
        let selectors = self.objects.selectors.iter();
        let own = selectors.filter(|(name, _)| Some(name) == table.profile.as_ref());
        own.flat_map(|(_, input)| input.clone()).collect()
    }

    /// The default action; one that does nothing where the JSON names none.
    fn default_action(
        &mut self,
        default: Option<&DefaultEntry>,
        listed: &[&Action],
        actions: &mut Vec<TableAction>,
    ) -> Result<ActionCall> {
        if let Some(default) = default {
            return self.action_call(default.action, &default.data, listed);
        }
        actions.push(TableAction {
            action: self.no_action()?,
            table_only: false,
            default_only: true,
        });
        Ok(ActionCall {
            action: actions.len() as u32 - 1,
            args: Vec::new(),
        })
    }

    fn implementation(&self, table: &Table) -> Result<Option<ActionProfileId>> {
        let Some(name) = &table.profile else { return Ok(None) };
        let profiles = &self.program.action_profiles;
        let position = profiles.iter().position(|profile| profile.name == *name);
        let position = position.ok_or_else(|| {
            let known = options(profiles.iter().map(|profile| profile.name.as_str()));
            Error::new(format!("there is no action profile `{name}`; {known}"))
        })?;
        Ok(Some(ActionProfileId(position as u32)))
    }

    /// The direct counter; JSON that says only that there is one does not name it.
    fn direct_counter(&mut self, table: &Table) -> Option<CounterId> {
        if !table.with_counters {
            return None;
        }
        let binding = |name: &String| *name == table.name;
        let position = self
            .json
            .counters
            .iter()
            .position(|counter| counter.binding.as_ref().is_some_and(binding));
        let position = position.unwrap_or_else(|| {
            self.program.counters.push(Counter {
                name: format!("{}_counter", table.name),
                unit: Unit::PacketsAndBytes,
                size: None,
                element_names: Vec::new(),
            });
            self.program.counters.len() - 1
        });
        Some(CounterId(position as u32))
    }

    fn direct_meter(&self, table: &Table) -> Result<Option<DirectMeter>> {
        let Some(name) = &table.direct_meter else {
            return Ok(None);
        };
        let position = self.json.meters.iter().position(|meter| meter.array.name == *name);
        let position = position.ok_or_else(|| Error::new(format!("there is no direct meter `{name}`")))?;
        let slot = match &self.json.meters[position].target {
            Some((header, field)) => Some(self.storage.field(header, field)?.slot),
            None => None,
        };
        Ok(Some(DirectMeter {
            meter: MeterId(position as u32),
            slot,
        }))
    }
}

/// The match kind; only a P4Info tells `optional` from `ternary`.
fn match_kind(written: MatchSpec, known: Option<MatchKind>) -> MatchKind {
    match written {
        MatchSpec::Exact | MatchSpec::Valid => MatchKind::Exact,
        MatchSpec::Lpm => MatchKind::Lpm,
        MatchSpec::Ternary if known == Some(MatchKind::Optional) => MatchKind::Optional,
        MatchSpec::Ternary => MatchKind::Ternary,
        MatchSpec::Range => MatchKind::Range,
        MatchSpec::Optional => MatchKind::Optional,
    }
}

/// The name of a key field that has none: that of its target.
fn key_name(key: &TableKey) -> String {
    operand_name(&key.target)
}

fn operand_name(operand: &Operand) -> String {
    match operand {
        Operand::Field(header, field) => format!("{}.{field}", operand_name(header)),
        Operand::Named(_, name) => name.clone(),
        Operand::StackField(stack, field) => format!("{stack}.last.{field}"),
        _ => "key".to_owned(),
    }
}
