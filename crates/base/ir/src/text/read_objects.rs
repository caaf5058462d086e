//! Reads tables, actions and stateful objects.

use super::cursor::Read;
use super::lexer::Token;
use super::read_program::{FixedType, Reader};
use crate::{
    Action, ActionCall, ActionId, ActionParam, ActionProfile, ActionProfileId, BodyId, Calculation, Counter, CounterId,
    Digest, DirectMeter, EntryMatch, Location, Meter, MeterId, Recipient, Register, RegisterId, Table, TableAction,
    TableEntry, TableId, TableKey, Unit, ValueSet, ValueSetComponent,
};

impl Reader {
    pub(super) fn action(&mut self) -> Read<()> {
        let name = self.cursor.declared_name(self.program.actions.len())?;
        self.cursor.expect("(")?;
        let mut params = Vec::new();
        while !self.cursor.accept(")") {
            if !params.is_empty() {
                self.cursor.expect(",")?;
            }
            let name = self.cursor.name()?;
            self.cursor.expect(":")?;
            let FixedType { width, signed } = self.fixed_type()?;
            params.push(ActionParam { name, width, signed });
        }
        self.cursor.expect("=")?;
        let body = BodyId(self.cursor.reference(&self.names.bodies)?);
        self.program.actions.push(Action { name, params, body });
        Ok(())
    }

    pub(super) fn table(&mut self) -> Read<()> {
        let name = self.cursor.declared_name(self.program.tables.len())?;
        let mut table = empty_table(name, self.cursor.location()?);
        self.cursor.expect("{")?;
        while !self.cursor.accept("}") {
            self.table_property(&mut table)?;
        }
        self.program.tables.push(table);
        Ok(())
    }

    fn table_property(&mut self, table: &mut Table) -> Read<()> {
        let constant = self.cursor.accept_word("const");
        let Some(word) = self.cursor.peek_word().map(str::to_owned) else {
            return self.cursor.expected("a table property");
        };
        if constant && !matches!(word.as_str(), "default" | "entries" | "entry") {
            return self.cursor.expected("`default`, `entries` or `entry`");
        }
        self.cursor.advance();
        match word.as_str() {
            "key" => table.keys.push(self.table_key()?),
            "action" => table.actions.push(self.table_action()?),
            "default" => {
                table.default_action = self.action_call(&table.actions)?;
                table.default_is_const = constant;
            }
            "size" => table.size = self.cursor.number()?,
            "implementation" => {
                table.implementation = Some(ActionProfileId(self.cursor.reference(&self.names.action_profiles)?));
            }
            "empty_group" => table.empty_group_action = Some(self.action_call(&table.actions)?),
            "direct_counter" => table.direct_counter = Some(CounterId(self.cursor.reference(&self.names.counters)?)),
            "direct_meter" => {
                let meter = MeterId(self.cursor.reference(&self.names.meters)?);
                let slot = if self.cursor.accept("=") {
                    Some(self.slot_reference()?)
                } else {
                    None
                };
                table.direct_meter = Some(DirectMeter { meter, slot });
            }
            "idle_timeout" => table.supports_timeout = true,
            "deletes_idle" => table.deletes_idle = true,
            "expire_seconds" => table.expire_seconds.push(self.cursor.number()?),
            "hidden" => table.is_hidden = true,
            "entries" => table.entries_are_const = true,
            "entry" => table.entries.push(self.table_entry(&table.actions, constant)?),
            _ => return self.cursor.error(format!("`{word}` is no table property")),
        }
        Ok(())
    }

    fn table_key(&mut self) -> Read<TableKey> {
        let name = self.cursor.name()?;
        self.cursor.expect(":")?;
        let FixedType { width, .. } = self.fixed_type()?;
        let match_kind = self.cursor.keyword()?;
        self.cursor.expect("=")?;
        let expr = self.expr(None)?;
        Ok(TableKey {
            name,
            expr,
            width,
            match_kind,
        })
    }

    fn table_action(&mut self) -> Read<TableAction> {
        let action = ActionId(self.cursor.reference(&self.names.actions)?);
        let table_only = self.cursor.accept_word("table_only");
        let default_only = self.cursor.accept_word("default_only");
        Ok(TableAction {
            action,
            table_only,
            default_only,
        })
    }

    /// `MyIngress.forward(9w0x1)`; `2(9w0x1)` is the table's action 2.
    fn action_call(&mut self, listed: &[TableAction]) -> Read<ActionCall> {
        let action = if let Token::Number(_) = self.cursor.peek() {
            self.cursor.number32()?
        } else {
            let action = ActionId(self.cursor.reference(&self.names.actions)?);
            match listed.iter().position(|candidate| candidate.action == action) {
                Some(position) => position as u32,
                None => return self.cursor.error("the table does not list this action"),
            }
        };
        self.cursor.expect("(")?;
        let args = self.cursor.list(")", |cursor| cursor.constant())?;
        Ok(ActionCall { action, args })
    }

    fn table_entry(&mut self, listed: &[TableAction], is_const: bool) -> Read<TableEntry> {
        self.cursor.expect("(")?;
        let mut matches = Vec::new();
        while !self.cursor.accept(")") {
            if !matches.is_empty() {
                self.cursor.expect(",")?;
            }
            matches.push(self.entry_match()?);
        }
        self.cursor.expect("->")?;
        let action = self.action_call(listed)?;
        self.cursor.expect_word("priority")?;
        let priority = self.signed_number()?;
        let location = self.cursor.location()?;
        Ok(TableEntry {
            matches,
            priority,
            action,
            is_const,
            location,
        })
    }

    fn signed_number(&mut self) -> Read<i64> {
        let negative = self.cursor.accept("-");
        let magnitude = i128::from(self.cursor.number()?);
        let value = if negative { -magnitude } else { magnitude };
        i64::try_from(value).or_else(|_| self.cursor.error("the number is too large"))
    }

    fn entry_match(&mut self) -> Read<EntryMatch> {
        if self.cursor.accept_word("_") {
            return Ok(EntryMatch::Optional(None));
        }
        if self.cursor.accept("?") {
            return Ok(EntryMatch::Optional(Some(self.cursor.constant()?)));
        }
        let value = self.cursor.constant()?;
        if self.cursor.accept("/") {
            return Ok(EntryMatch::Lpm {
                value,
                prefix_length: self.cursor.number32()?,
            });
        }
        if self.cursor.accept("&&&") {
            return Ok(EntryMatch::Ternary {
                value,
                mask: self.cursor.constant()?,
            });
        }
        if self.cursor.accept("..") {
            return Ok(EntryMatch::Range {
                low: value,
                high: self.cursor.constant()?,
            });
        }
        Ok(EntryMatch::Exact(value))
    }

    pub(super) fn action_profile(&mut self) -> Read<()> {
        let name = self.cursor.declared_name(self.program.action_profiles.len())?;
        self.cursor.expect_word("size")?;
        let size = self.cursor.number()?;
        let mut selector = None;
        if self.cursor.accept_word("selector") {
            let algorithm = self.algorithm()?;
            self.cursor.expect_word("width")?;
            selector = Some((algorithm, self.cursor.number32()?));
        }
        self.program
            .action_profiles
            .push(ActionProfile { name, size, selector });
        Ok(())
    }

    pub(super) fn register(&mut self) -> Read<()> {
        let name = self.cursor.declared_name(self.program.registers.len())?;
        self.cursor.expect(":")?;
        let FixedType { width, signed } = self.fixed_type()?;
        self.cursor.expect_word("size")?;
        let size = self.cursor.number()?;
        self.cursor.expect_word("initial")?;
        let initial = self.cursor.constant()?;
        self.program.registers.push(Register {
            name,
            width,
            signed,
            size,
            initial,
        });
        Ok(())
    }

    pub(super) fn counter(&mut self) -> Read<()> {
        let name = self.cursor.declared_name(self.program.counters.len())?;
        let (unit, size) = self.array()?;
        let mut element_names = Vec::new();
        if self.cursor.accept_word("elements") {
            element_names.push(self.cursor.string()?);
            while self.cursor.accept(",") {
                element_names.push(self.cursor.string()?);
            }
        }
        self.program.counters.push(Counter {
            name,
            unit,
            size,
            element_names,
        });
        Ok(())
    }

    pub(super) fn meter(&mut self) -> Read<()> {
        let name = self.cursor.declared_name(self.program.meters.len())?;
        let (unit, size) = self.array()?;
        self.program.meters.push(Meter { name, unit, size });
        Ok(())
    }

    /// `packets size 16` or `bytes direct`
    fn array(&mut self) -> Read<(Unit, Option<u64>)> {
        let unit = self.cursor.keyword()?;
        if self.cursor.accept_word("direct") {
            return Ok((unit, None));
        }
        self.cursor.expect_word("size")?;
        Ok((unit, Some(self.cursor.number()?)))
    }

    pub(super) fn calculation(&mut self) -> Read<()> {
        let name = self.cursor.declared_name(self.program.calculations.len())?;
        let crc = self.cursor.keyword()?;
        self.program.calculations.push(Calculation { name, crc });
        Ok(())
    }

    pub(super) fn value_set(&mut self) -> Read<()> {
        let name = self.cursor.declared_name(self.program.value_sets.len())?;
        self.cursor.expect_word("size")?;
        let size = self.cursor.number()?;
        self.cursor.expect("{")?;
        let mut components = Vec::new();
        while !self.cursor.accept("}") {
            let name = self.cursor.name()?;
            self.cursor.expect(":")?;
            let FixedType { width, .. } = self.fixed_type()?;
            components.push(ValueSetComponent {
                name,
                width,
                match_kind: self.cursor.keyword()?,
            });
        }
        self.program.value_sets.push(ValueSet { name, size, components });
        Ok(())
    }

    pub(super) fn digest(&mut self) -> Read<()> {
        let name = self.cursor.declared_name(self.program.digests.len())?;
        self.cursor.expect_word("receiver")?;
        let receiver = self.cursor.number32()?;
        let to = self.recipient()?;
        self.cursor.expect("{")?;
        let mut fields = Vec::new();
        while !self.cursor.accept("}") {
            let name = self.cursor.name()?;
            self.cursor.expect(":")?;
            let FixedType { width, .. } = self.fixed_type()?;
            fields.push((name, width));
        }
        self.program.digests.push(Digest {
            name,
            receiver,
            fields,
            to,
        });
        Ok(())
    }

    /// `entry TABLE -> ACTION`, `pair TABLE -> ACTION, TABLE -> ACTION`, `idle_timeout TABLE`,
    /// `number REGISTER REGISTER`, `share REGISTER`, or nothing.
    fn recipient(&mut self) -> Read<Recipient> {
        if self.cursor.accept_word("entry") {
            let table = TableId(self.cursor.reference(&self.names.tables)?);
            self.cursor.expect("->")?;
            let action = self.cursor.number32()?;
            return Ok(Recipient::NewEntry { table, action });
        }
        if self.cursor.accept_word("pair") {
            let table = TableId(self.cursor.reference(&self.names.tables)?);
            self.cursor.expect("->")?;
            let action = self.cursor.number32()?;
            self.cursor.expect(",")?;
            let reverse = TableId(self.cursor.reference(&self.names.tables)?);
            self.cursor.expect("->")?;
            let reverse_action = self.cursor.number32()?;
            return Ok(Recipient::NewPair {
                table,
                action,
                reverse,
                reverse_action,
            });
        }
        if self.cursor.accept_word("idle_timeout") {
            let table = TableId(self.cursor.reference(&self.names.tables)?);
            return Ok(Recipient::NewTimeout { table });
        }
        if self.cursor.accept_word("number") {
            let ring = RegisterId(self.cursor.reference(&self.names.registers)?);
            let counts = RegisterId(self.cursor.reference(&self.names.registers)?);
            return Ok(Recipient::Number { ring, counts });
        }
        if self.cursor.accept_word("share") {
            let taken = RegisterId(self.cursor.reference(&self.names.registers)?);
            return Ok(Recipient::Share { taken });
        }
        Ok(Recipient::Controller)
    }
}

fn empty_table(name: String, location: Location) -> Table {
    Table {
        name,
        keys: Vec::new(),
        actions: Vec::new(),
        default_action: ActionCall {
            action: 0,
            args: Vec::new(),
        },
        default_is_const: false,
        entries: Vec::new(),
        entries_are_const: false,
        size: 0,
        implementation: None,
        empty_group_action: None,
        direct_counter: None,
        direct_meter: None,
        supports_timeout: false,
        deletes_idle: false,
        expire_seconds: Vec::new(),
        is_hidden: false,
        location,
    }
}
