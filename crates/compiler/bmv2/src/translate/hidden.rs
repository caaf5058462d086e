//! Tables that p4c has made itself: for statements outside of tables, and for `switch` over a value.
//!
//! Controllers do not know them, and nothing about them can change: their actions run in place.

use super::Translator;
use super::control::Nodes;
use super::table::{HIT, MISS};
use crate::error::{At, Error, Result};
use crate::model::{Entry, KeyMatch, MatchSpec, Table};
use forebay_bits::Bits;
use forebay_ir::{BlockId, KeySet, SelectCase, Terminator};
use num_bigint::BigInt;

impl Translator<'_> {
    /// Whether p4c has made a table that the program does not declare.
    pub(super) fn is_hidden(&self, table: &Table) -> bool {
        let cannot_change = table.default.as_ref().is_some_and(|default| default.is_const)
            && (table.key.is_empty() || table.entries.is_some());
        let has_objects = table.profile.is_some() || table.with_counters || table.direct_meter.is_some();
        // A select has no prefixes, of which the longest wins.
        let has_prefixes = table.key.iter().any(|key| key.match_kind == MatchSpec::Lpm);
        let is_unknown = if self.known.is_given {
            !self.known.tables.contains_key(&table.name)
        } else {
            is_made_by_p4c(&table.name)
        };
        cannot_change && !has_objects && !has_prefixes && is_unknown
    }

    /// Whether the P4Info leaves a table out. A P4Info that has tables, but none of the program, is that of another
    /// program and leaves nothing out.
    pub(super) fn is_left_out(&self, table: &Table) -> bool {
        let known = &self.known.tables;
        let mut tables = self.json.pipelines.iter().flat_map(|pipeline| &pipeline.tables);
        let is_of_program = known.is_empty() || tables.any(|table| known.contains_key(&table.name));
        self.known.is_given && is_of_program && !known.contains_key(&table.name)
    }

    /// Runs the action that the table would find.
    pub(super) fn run_hidden(&mut self, table: &Table, nodes: &Nodes) -> Result<()> {
        let Some(default) = &table.default else { return Ok(()) };
        if !table.key.is_empty() {
            let miss = self.body.block(None);
            self.select_entry(table, nodes, miss)?;
            self.body.start(miss);
        }
        self.run_and_go_on(table, default.action, &default.data, MISS, nodes)
    }

    /// A select over the key, with a case for each entry.
    fn select_entry(&mut self, table: &Table, nodes: &Nodes, miss: BlockId) -> Result<()> {
        let mut keys = Vec::new();
        for key in &table.key {
            keys.push(self.exact(&key.target)?.expr);
        }
        let widths: Vec<u32> = keys.iter().map(|key| key.width(&self.program)).collect();
        let mut entries: Vec<&Entry> = table.entries.iter().flatten().collect();
        entries.sort_by_key(|entry| entry.priority);
        let cases = entries.iter().map(|entry| {
            let keysets = entry
                .matches
                .iter()
                .zip(&widths)
                .map(|(found, width)| keyset(found, *width));
            Ok(SelectCase {
                keysets: keysets.collect::<Result<_>>().at(&entry.at)?,
                target: self.body.block(None),
            })
        });
        let cases: Vec<SelectCase> = cases.collect::<Result<_>>()?;
        let targets: Vec<BlockId> = cases.iter().map(|case| case.target).collect();
        self.body.terminate(Terminator::Select {
            keys,
            cases,
            default: miss,
        });
        for (entry, target) in entries.into_iter().zip(targets) {
            self.body.start(target);
            self.run_and_go_on(table, entry.action, &entry.data, HIT, nodes)
                .at(&entry.at)?;
        }
        Ok(())
    }

    fn run_and_go_on(
        &mut self,
        table: &Table,
        action: u32,
        data: &[BigInt],
        outcome: &str,
        nodes: &Nodes,
    ) -> Result<()> {
        let action = self.json_action(action)?;
        self.run_action(action, data)?;
        let next = table
            .next
            .by_name
            .get(outcome)
            .or_else(|| table.next.by_name.get(&action.name));
        let next = next.unwrap_or(&table.next.base_default);
        self.body.jump(nodes.block(next.as_deref())?);
        Ok(())
    }
}

/// Whether a name is one that p4c gives to its own tables.
fn is_made_by_p4c(name: &str) -> bool {
    let is_switch = name.starts_with("switch_") && name.ends_with("_table");
    !name.contains('.') && (name.starts_with("tbl_") || is_switch)
}

fn keyset(found: &KeyMatch, width: u32) -> Result<KeySet> {
    let bits = |value: &BigInt| Bits::from_bigint(width, value);
    match found {
        KeyMatch::Value(value) => Ok(KeySet::Exact(bits(value))),
        KeyMatch::Masked(value, mask) => Ok(KeySet::Mask {
            value: bits(value).and(&bits(mask)),
            mask: bits(mask),
        }),
        KeyMatch::Range(low, high) => Ok(KeySet::Range {
            low: bits(low),
            high: bits(high),
        }),
        KeyMatch::Prefix(..) => Err(Error::new("a table that controllers do not know cannot match a prefix")),
    }
}
