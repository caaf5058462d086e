//! Controls: tables, conditions and calls of actions, each a node that names the next.

use super::Translator;
use crate::error::{At, Error, Result, options};
use crate::model::{Conditional, DirectCall, Pipeline, Table};
use forebay_ir::{BlockId, Body, BodyKind};
use std::collections::BTreeMap;

/// The block of each node, and the end.
pub struct Nodes {
    blocks: BTreeMap<String, BlockId>,
    end: BlockId,
}

impl Nodes {
    /// The block of a node; without a name, the end.
    pub fn block(&self, name: Option<&str>) -> Result<BlockId> {
        let Some(name) = name else { return Ok(self.end) };
        self.blocks.get(name).copied().ok_or_else(|| {
            let known = options(self.blocks.keys().map(String::as_str));
            Error::new(format!("there is no table or condition `{name}`; {known}"))
        })
    }
}

impl Translator<'_> {
    /// A control; one that is not there does nothing.
    pub(super) fn pipeline(&mut self, name: &str) -> Result<Body> {
        let json = self.json;
        let pipeline = json.pipelines.iter().find(|pipeline| pipeline.name == name);
        self.build(name, BodyKind::Control, |this| match pipeline {
            Some(pipeline) => this.nodes(pipeline).at(&pipeline.at),
            None => Ok(()),
        })
    }

    fn nodes(&mut self, pipeline: &Pipeline) -> Result<()> {
        let names = pipeline.tables.iter().map(|table| &table.name);
        let names = names.chain(pipeline.conditionals.iter().map(|conditional| &conditional.name));
        let names = names.chain(pipeline.calls.iter().map(|call| &call.name));
        let blocks = names.map(|name| (name.clone(), self.body.block(None)));
        let nodes = Nodes {
            blocks: blocks.collect(),
            end: self.body.block(None),
        };
        self.body.jump(nodes.block(pipeline.first.as_deref())?);
        for table in &pipeline.tables {
            self.table_node(table, &nodes).at(&table.at)?;
        }
        for conditional in &pipeline.conditionals {
            self.conditional(conditional, &nodes).at(&conditional.at)?;
        }
        for call in &pipeline.calls {
            self.call(call, &nodes).at(&call.at)?;
        }
        self.body.start(nodes.end);
        Ok(())
    }

    fn table_node(&mut self, table: &Table, nodes: &Nodes) -> Result<()> {
        forebay_budget::check();
        self.body.start(nodes.block(Some(&table.name))?);
        self.locate(&table.source);
        if self.is_hidden(table) {
            self.run_hidden(table, nodes)
        } else {
            self.apply(table, nodes)
        }
    }

    fn conditional(&mut self, conditional: &Conditional, nodes: &Nodes) -> Result<()> {
        self.body.start(nodes.block(Some(&conditional.name))?);
        self.locate(&conditional.source);
        let condition = self.truth(&conditional.expression)?;
        let then_block = nodes.block(conditional.then_next.as_deref())?;
        let else_block = nodes.block(conditional.else_next.as_deref())?;
        self.body.branch(condition, then_block, else_block);
        Ok(())
    }

    fn call(&mut self, call: &DirectCall, nodes: &Nodes) -> Result<()> {
        self.body.start(nodes.block(Some(&call.name))?);
        let action = self.json_action(call.action)?;
        self.run_action(action, &[])?;
        self.body.jump(nodes.block(call.next.as_deref())?);
        Ok(())
    }
}
