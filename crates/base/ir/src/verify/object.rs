//! Actions, tables, stateful objects.

use super::{Place, Rule, Verifier};
use crate::{
    Action, ActionCall, BodyKind, Digest, EntryMatch, MatchKind, Recipient, RegisterId, Table, TableEntry, TableId,
    TableKey, Unit,
};
use forebay_bits::Bits;
use std::collections::BTreeSet;

impl Verifier<'_> {
    pub(super) fn objects(&mut self) {
        let program = self.program;
        for action in &program.actions {
            self.place = Place::Declaration("action", action.name.clone());
            self.action(action);
        }
        for table in &program.tables {
            self.place = Place::Declaration("table", table.name.clone());
            self.table(table);
        }
        self.arrays();
        self.place = Place::Program;
        self.direct_objects();
        self.names();
    }

    fn action(&mut self, action: &Action) {
        for param in &action.params {
            self.width_limit(param.width);
        }
        if self.in_range("body", action.body.0, self.program.bodies.len()) {
            let body = &self.program.bodies[action.body.index()];
            self.require(body.kind == BodyKind::Action, Rule::ActionBody, || {
                format!("{} is no action", body.name)
            });
        }
    }

    fn table(&mut self, table: &Table) {
        self.location(table.location);
        for key in &table.keys {
            self.expr_of_width(&format!("key field {}", key.name), &key.expr, key.width);
        }
        for listed in &table.actions {
            self.in_range("action", listed.action.0, self.program.actions.len());
            let contradiction = listed.table_only && listed.default_only;
            self.require(!contradiction, Rule::ActionScope, || {
                "@tableonly and @defaultonly".to_owned()
            });
        }
        self.call(table, &table.default_action);
        let default = table.actions.get(table.default_action.action as usize);
        let allowed = default.is_none_or(|listed| !listed.table_only);
        self.require(allowed, Rule::ActionScope, || {
            "the default action is @tableonly".to_owned()
        });
        for entry in &table.entries {
            self.entry(table, entry);
        }
        self.implementation(table);
    }

    fn call(&mut self, table: &Table, call: &ActionCall) {
        if !self.in_range("action of the table", call.action, table.actions.len()) {
            return;
        }
        let listed = &table.actions[call.action as usize];
        let Some(action) = self.program.actions.get(listed.action.index()) else {
            return;
        };
        let (given, wanted) = (call.args.len(), action.params.len());
        self.require(given == wanted, Rule::CallArity, || {
            format!("{} gets {given} arguments, expected {wanted}", action.name)
        });
        for (argument, param) in call.args.iter().zip(&action.params) {
            self.same_width(
                &format!("argument {} of {}", param.name, action.name),
                argument.width(),
                param.width,
            );
        }
    }

    fn entry(&mut self, table: &Table, entry: &TableEntry) {
        self.location(entry.location);
        let consistent = entry.is_const || !table.entries_are_const;
        self.require(consistent, Rule::ConstEntries, || {
            "an entry of const entries is not const".to_owned()
        });
        self.call(table, &entry.action);
        let listed = table.actions.get(entry.action.action as usize);
        let allowed = listed.is_none_or(|listed| !listed.default_only);
        self.require(allowed, Rule::ActionScope, || {
            "an entry's action is @defaultonly".to_owned()
        });
        let fields: Vec<&TableKey> = table
            .keys
            .iter()
            .filter(|key| key.match_kind != MatchKind::Selector)
            .collect();
        let (given, wanted) = (entry.matches.len(), fields.len());
        self.require(given == wanted, Rule::EntryArity, || {
            format!("{given} matches, expected {wanted}")
        });
        for (found, key) in entry.matches.iter().zip(fields) {
            self.entry_match(found, key);
        }
    }

    fn entry_match(&mut self, found: &EntryMatch, key: &TableKey) {
        let kind = match found {
            EntryMatch::Exact(_) => MatchKind::Exact,
            EntryMatch::Lpm { .. } => MatchKind::Lpm,
            EntryMatch::Ternary { .. } => MatchKind::Ternary,
            EntryMatch::Range { .. } => MatchKind::Range,
            EntryMatch::Optional(_) => MatchKind::Optional,
        };
        self.require(kind == key.match_kind, Rule::EntryMatchKind, || {
            format!("{kind:?} for {} of kind {:?}", key.name, key.match_kind)
        });
        for value in match_values(found) {
            self.same_width(&format!("the match of {}", key.name), value.width(), key.width);
        }
        if let EntryMatch::Lpm { prefix_length, .. } = found {
            self.require(*prefix_length <= key.width, Rule::PrefixLength, || {
                format!("a prefix of {prefix_length} bits for {} bits", key.width)
            });
        }
    }

    fn implementation(&mut self, table: &Table) {
        if let Some(profile) = table.implementation {
            self.in_range("action profile", profile.0, self.program.action_profiles.len());
        }
        if let Some(action) = &table.empty_group_action {
            self.call(table, action);
            let profile = table.implementation.map(|profile| profile.index());
            let profile = profile.and_then(|index| self.program.action_profiles.get(index));
            let has_groups = profile.is_some_and(|profile| profile.selector.is_some());
            self.require(has_groups, Rule::EmptyGroupAction, || {
                "an action of empty groups without a selector".to_owned()
            });
        }
    }

    fn arrays(&mut self) {
        let program = self.program;
        for register in &program.registers {
            self.place = Place::Declaration("register", register.name.clone());
            self.width_limit(register.width);
            self.same_width("the initial value", register.initial.width(), register.width);
        }
        for meter in &program.meters {
            self.place = Place::Declaration("meter", meter.name.clone());
            let one_unit = meter.unit != Unit::PacketsAndBytes;
            self.require(one_unit, Rule::MeterUnit, || "packets and bytes at once".to_owned());
        }
        for set in &program.value_sets {
            self.place = Place::Declaration("value set", set.name.clone());
            set.components
                .iter()
                .for_each(|component| self.width_limit(component.width));
        }
        for digest in &program.digests {
            self.place = Place::Declaration("digest", digest.name.clone());
            digest.fields.iter().for_each(|(_, width)| self.width_limit(*width));
            self.recipient(digest);
        }
    }

    /// Checks that direct objects belong to one table each, and that tables have only direct objects.
    fn direct_objects(&mut self) {
        let mut counters = vec![0u32; self.program.counters.len()];
        let mut meters = vec![0u32; self.program.meters.len()];
        for table in &self.program.tables {
            if let Some(counter) = table.direct_counter
                && self.in_range("counter", counter.0, counters.len())
            {
                counters[counter.index()] += 1;
            }
            if let Some(direct) = &table.direct_meter
                && self.in_range("meter", direct.meter.0, meters.len())
            {
                meters[direct.meter.index()] += 1;
                direct.slot.map(|slot| self.slot_width(slot));
            }
        }
        for (counter, users) in self.program.counters.iter().zip(counters) {
            self.direct_object(&counter.name, counter.size.is_none(), users);
            let names = counter.element_names.len() as u64;
            self.require(names == 0 || counter.size == Some(names), Rule::ElementNames, || {
                format!("{} has names for {names} elements", counter.name)
            });
        }
        for (meter, users) in self.program.meters.iter().zip(meters) {
            self.direct_object(&meter.name, meter.size.is_none(), users);
        }
    }

    fn direct_object(&mut self, name: &str, is_direct: bool, tables: u32) {
        let allowed = if is_direct { 1 } else { 0 };
        self.require(tables <= allowed, Rule::DirectObject, || {
            format!("{name} is attached to {tables} tables")
        });
    }

    fn names(&mut self) {
        let program = self.program;
        self.distinct("tables", program.tables.iter().map(|x| &x.name));
        self.distinct("action profiles", program.action_profiles.iter().map(|x| &x.name));
        self.distinct("registers", program.registers.iter().map(|x| &x.name));
        self.distinct("counters", program.counters.iter().map(|x| &x.name));
        self.distinct("meters", program.meters.iter().map(|x| &x.name));
        self.distinct("value sets", program.value_sets.iter().map(|x| &x.name));
        self.distinct("calculations", program.calculations.iter().map(|x| &x.name));
    }

    fn distinct<'a>(&mut self, kind: &str, names: impl Iterator<Item = &'a String>) {
        let mut seen = BTreeSet::new();
        for name in names {
            self.require(seen.insert(name), Rule::DuplicateName, || {
                format!("two {kind} are named {name}")
            });
        }
    }
}

fn match_values(found: &EntryMatch) -> Vec<&Bits> {
    match found {
        EntryMatch::Exact(value) | EntryMatch::Optional(Some(value)) | EntryMatch::Lpm { value, .. } => vec![value],
        EntryMatch::Ternary { value, mask } => vec![value, mask],
        EntryMatch::Range { low, high } => vec![low, high],
        EntryMatch::Optional(None) => Vec::new(),
    }
}

impl Verifier<'_> {
    /// Checks that a message to a table has the fields that the table needs, and that a message about numbers names
    /// registers.
    fn recipient(&mut self, digest: &Digest) {
        let given: Vec<u32> = digest.fields.iter().map(|(_, width)| *width).collect();
        let expected = match digest.to {
            Recipient::Controller => return,
            Recipient::NewTimeout { table } => self.message_of(table, None),
            Recipient::NewEntry { table, action } => self.message_of(table, Some(action)),
            Recipient::NewPair {
                table,
                action,
                reverse,
                reverse_action,
            } => {
                let first = self.message_of(table, Some(action));
                let second = self.message_of(reverse, Some(reverse_action));
                first.zip(second).map(|(first, second)| [first, second].concat())
            }
            Recipient::Number { ring, counts } => return self.number(digest, &given, ring, counts),
            Recipient::Share { taken } => return self.share(digest, &given, taken),
        };
        let Some(expected) = expected else { return };
        let fits = given.split_last().is_some_and(|(_, values)| values == expected);
        self.require(fits, Rule::WidthMismatch, || {
            format!("fields of {given:?} bits, expected {expected:?} and a profile")
        });
    }

    /// Widths of the key fields of a table with exact keys, and of the parameters of one of its actions.
    fn message_of(&mut self, id: TableId, action: Option<u32>) -> Option<Vec<u32>> {
        let program = self.program;
        if !self.in_range("table", id.0, program.tables.len()) {
            return None;
        }
        let table = &program.tables[id.index()];
        let exact = table.keys.iter().all(|key| key.match_kind == MatchKind::Exact);
        self.require(exact, Rule::EntryMatchKind, || {
            format!("{} has keys that are not exact", table.name)
        });
        let mut widths: Vec<u32> = table.keys.iter().map(|key| key.width).collect();
        if let Some(action) = action {
            if !self.in_range("action of the table", action, table.actions.len()) {
                return None;
            }
            let id = table.actions[action as usize].action;
            if !self.in_range("action", id.0, program.actions.len()) {
                return None;
            }
            widths.extend(program.actions[id.index()].params.iter().map(|param| param.width));
        }
        Some(widths)
    }

    fn number(&mut self, digest: &Digest, given: &[u32], ring: RegisterId, counts: RegisterId) {
        let registers = &self.program.registers;
        if !self.in_range("register", ring.0, registers.len()) || !self.in_range("register", counts.0, registers.len())
        {
            return;
        }
        let expected = [registers[ring.index()].width, 1];
        let fits = given == expected && registers[counts.index()].size >= 3;
        self.require(fits, Rule::WidthMismatch, || {
            format!("{} does not have a number and a truth value", digest.name)
        });
    }

    fn share(&mut self, digest: &Digest, given: &[u32], taken: RegisterId) {
        if !self.in_range("register", taken.0, self.program.registers.len()) {
            return;
        }
        self.require(matches!(given, [_, 1]), Rule::WidthMismatch, || {
            format!("{} does not have an index and a truth value", digest.name)
        });
    }
}
