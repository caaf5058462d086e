//! Objects of controls, actions, and tables that use them.

use super::dialect::Dialect;
use super::{Place, Value, Writer};

impl Writer<'_> {
    pub(super) fn objects(&mut self) {
        for number in 0..self.below(3) {
            let width = self.width();
            self.line(&self.dialect.register(width, &format!("r{number}")));
            self.registers.push((format!("r{number}"), width));
        }
        if self.chance(40) {
            let counts_bytes = self.chance(50);
            self.line(&self.dialect.counter("c0", counts_bytes));
            self.counters.push("c0".to_string());
        }
        if let Some(algorithms) = self.dialect.hashes() {
            for number in 0..self.below(3) {
                let width = self.pick(&[16, 32]);
                let algorithm = if width == 16 { "CRC16" } else { "CRC32" };
                self.line(&format!("Hash<bit<{width}>>({algorithms}.{algorithm}) h{number};"));
                self.hashes.push((format!("h{number}"), width));
            }
        }
    }

    /// Actions with and without data, and tables that use them; gives the names of those without.
    pub(super) fn declared_actions(&mut self, place: Place) -> Vec<String> {
        let (mut names, mut plain) = (Vec::new(), Vec::new());
        for number in 0..2 + self.below(3) {
            let params: Vec<Value> = (0..self.below(3))
                .map(|index| Value {
                    path: format!("p{index}"),
                    width: self.width_of_data(),
                })
                .collect();
            let (readable, assignable) = (self.readable.len(), self.assignable.len());
            let list = params
                .iter()
                .map(|param| format!("bit<{}> {}", param.width, param.path));
            let list = list.collect::<Vec<_>>().join(", ");
            self.open(&format!("action a{number}({list})"));
            self.readable.extend(params.iter().cloned());
            // Egress chooses no port.
            if place == Place::Egress {
                self.place = Place::Egress;
            }
            self.action_statements();
            self.place = Place::Action;
            self.readable.truncate(readable);
            self.assignable.truncate(assignable);
            self.close("");
            names.push(format!("a{number}"));
            if params.is_empty() {
                plain.push(format!("a{number}"));
            }
            // The next ones may call it.
            self.callable.clone_from(&plain);
        }
        self.callable.clear();
        if self.chance(40) {
            self.action_with_directions(place);
        }
        for number in 0..self.below(4) {
            self.table(number, &names);
        }
        plain
    }

    /// The width of an entry's action data: more often than elsewhere one that does not fill its last word.
    fn width_of_data(&mut self) -> u32 {
        if self.chance(25) {
            return self.pick(&[65, 70, 96, 100, 127, 130, 150]);
        }
        self.width()
    }

    /// An action that is called with operands.
    fn action_with_directions(&mut self, place: Place) {
        let widths = [self.width(), self.width(), self.width()];
        let [one, other, last] = widths;
        self.open(&format!(
            "action d0(in bit<{one}> x, inout bit<{other}> y, out bit<{last}> z)"
        ));
        let (readable, assignable) = (self.readable.len(), self.assignable.len());
        for (path, width) in ["x", "y", "z"].into_iter().zip(widths) {
            let value = Value {
                path: path.to_string(),
                width,
            };
            if path != "z" {
                self.readable.push(value.clone());
            }
            if path != "x" {
                self.assignable.push(value);
            }
        }
        let value = self.bits(last, 1);
        self.line(&format!("z = {value};"));
        if place == Place::Egress {
            self.place = Place::Egress;
        }
        self.action_statements();
        self.place = Place::Action;
        self.readable.truncate(readable);
        self.assignable.truncate(assignable);
        self.close("");
        self.calls
            .push(("d0".to_string(), vec![("in", one), ("inout", other), ("out", last)]));
    }

    fn action_statements(&mut self) {
        let outside = (
            std::mem::take(&mut self.tables),
            std::mem::take(&mut self.actions),
            std::mem::take(&mut self.subs),
        );
        let count = self.below(4);
        // Conditions in actions are allowed by the language, and by targets that can.
        self.statements(count, 1);
        (self.tables, self.actions, self.subs) = outside;
    }

    fn table(&mut self, number: usize, actions: &[String]) {
        let name = format!("t{number}");
        let implementation = self.implementation(number);
        let counter = self.direct_counter(number);
        let mut listed: Vec<String> = actions.iter().take(1 + self.below(actions.len())).cloned().collect();
        listed.extend(counter.as_ref().and_then(|(_, action)| action.clone()));
        listed.push("NoAction".to_string());
        self.open(&format!("table {name}"));
        self.open("key =");
        let of_metadata = self.chance(40);
        let (mut kinds, mut keys) = (vec!["exact", "exact", "ternary", "range", "optional"], self.below(4));
        if self.chance(35) {
            let width = self.pick(&[8, 16, 32, 32, 48, 128]);
            let key = self.bits(width, 1);
            self.line(&format!("{key}: lpm @name(\"l\");"));
            kinds.truncate(2);
            keys = keys.min(1);
        }
        for index in 0..keys {
            let (width, kind) = (self.width(), self.pick(&kinds));
            let key = if of_metadata {
                self.metadata()
            } else {
                self.bits(width, 1)
            };
            self.line(&format!("{key}: {kind} @name(\"k{index}\");"));
        }
        if implementation.as_ref().is_some_and(|(_, selects)| *selects) {
            let key = self.metadata();
            self.line(&format!("{key}: selector @name(\"s\");"));
        }
        self.close("");
        if let Some((property, _)) = implementation {
            self.line(&property);
        }
        if let Some((property, _)) = counter {
            self.line(&property);
        }
        self.line(&format!("actions = {{ {}; }}", listed.join("; ")));
        self.line("default_action = NoAction();");
        let size = self.pick(&[8, 64, 1024]);
        self.line(&format!("size = {size};"));
        self.close("");
        self.tables.push((name, listed));
    }

    /// A field of metadata that others than the parser write.
    fn metadata(&mut self) -> String {
        let fields = self.readable.iter().filter(|value| value.path.starts_with("meta."));
        let fields: Vec<String> = fields.map(|value| value.path.clone()).collect();
        self.pick(&fields)
    }

    /// Declares an action profile or selector for some tables: the table's property, and whether it selects.
    fn implementation(&mut self, number: usize) -> Option<(String, bool)> {
        let selects = match self.below(10) {
            0 => false,
            1 => true,
            _ => return None,
        };
        let (declaration, property) = self.dialect.implementation(selects, &format!("profile{number}"));
        self.line(&declaration);
        Some((property, selects))
    }

    /// Declares a direct counter for some tables: the table's property, and the action that counts where one must.
    fn direct_counter(&mut self, number: usize) -> Option<(String, Option<String>)> {
        if !self.chance(20) {
            return None;
        }
        let name = format!("direct{number}");
        let (declaration, property) = self.dialect.direct_counter(&name);
        self.line(&declaration);
        if self.dialect == Dialect::V1Model {
            return Some((property, None));
        }
        let action = format!("counted{number}");
        self.open(&format!("action {action}()"));
        self.line(&format!("{name}.count();"));
        self.close("");
        Some((property, Some(action)))
    }
}
