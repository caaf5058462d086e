//! Statements of actions and apply blocks.

use super::dialect::Dialect;
use super::{ELEMENTS, Place, Value, Writer};

impl Writer<'_> {
    /// `count` statements, each of which may contain others, nested up to `depth`.
    pub(super) fn statements(&mut self, count: usize, depth: usize) {
        for _ in 0..count {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: usize) {
        match self.below(24) {
            0..=7 => self.assignment(),
            8 => self.slice_assignment(),
            9 | 10 if depth > 0 => self.conditional(depth),
            11..=14 if self.place != Place::Action => self.apply(depth),
            15 => self.validity(),
            16 => self.register(),
            17 if !self.counters.is_empty() => {
                let counter = self.pick(&self.counters.clone());
                let index = self.bits(32, 1);
                self.line(&format!("{counter}.count({index} & {});", ELEMENTS * 2 - 1));
            }
            18 => self.hash(),
            19 if !self.actions.is_empty() && self.place != Place::Action => {
                let action = self.pick(&self.actions.clone());
                self.line(&format!("{action}();"));
            }
            20 => self.egress_port(),
            21 => self.rare(depth),
            22 => self.variable(),
            _ => self.assignment(),
        }
    }

    fn assignment(&mut self) {
        let Value { path, width } = self.pick(&self.assignable.clone());
        let value = self.bits(width, 3);
        self.line(&format!("{path} = {value};"));
        if self.chance(15) {
            // What is written at once again.
            let value = self.bits(width, 2);
            self.line(&format!("{path} = ({path} ^ {value});"));
        }
    }

    fn slice_assignment(&mut self) {
        let Value { path, width } = self.pick(&self.assignable.clone());
        let low = self.below(width as usize) as u32;
        let high = low + self.below((width - low) as usize) as u32;
        let value = self.bits(high - low + 1, 2);
        self.line(&format!("{path}[{high}:{low}] = {value};"));
    }

    /// A variable that the statements after it in the block can use.
    fn variable(&mut self) {
        let (width, name) = (self.width(), format!("v{}", self.variables));
        self.variables += 1;
        let value = self.bits(width, 2);
        self.line(&format!("bit<{width}> {name} = {value};"));
        let value = Value { path: name, width };
        self.readable.push(value.clone());
        self.assignable.push(value);
    }

    /// Statements in braces; variables declared in them are not known behind.
    fn block(&mut self, head: &str, depth: usize) {
        let (readable, assignable) = (self.readable.len(), self.assignable.len());
        self.open(head);
        let count = self.below(4);
        self.statements(count, depth - 1);
        self.readable.truncate(readable);
        self.assignable.truncate(assignable);
        self.indent -= 4;
    }

    fn conditional(&mut self, depth: usize) {
        let condition = self.boolean(2);
        self.block(&format!("if ({condition})"), depth);
        if self.chance(50) {
            self.block("} else", depth);
        }
        self.line("}");
    }

    /// Applies a table that was not applied yet.
    fn apply(&mut self, depth: usize) {
        let Some((table, actions)) = self.tables.pop() else {
            return self.assignment();
        };
        match self.below(4) {
            0 if depth > 0 => {
                let test = self.pick(&["hit", "miss"]);
                self.block(&format!("if ({table}.apply().{test})"), depth);
                self.block("} else", depth);
                self.line("}");
            }
            1 if depth > 0 => {
                self.open(&format!("switch ({table}.apply().action_run)"));
                for action in actions.iter().take(2) {
                    self.block(&format!("{action}:"), depth);
                    self.line("}");
                }
                if self.chance(50) {
                    self.block("default:", depth);
                    self.line("}");
                }
                self.close("");
            }
            _ => self.line(&format!("{table}.apply();")),
        }
    }

    fn validity(&mut self) {
        let header = self.header();
        match self.below(6) {
            0 | 1 => self.line(&format!("{header}.setValid();")),
            2 | 3 => self.line(&format!("{header}.setInvalid();")),
            4 if self.has_stack => {
                let operation = self.pick(&["push_front", "pop_front"]);
                self.line(&format!("hdr.stack.{operation}(1);"));
            }
            _ => {
                let ((to, kind), (from, other)) = (self.pick(&self.headers.clone()), self.pick(&self.headers.clone()));
                match kind == other {
                    true => self.line(&format!("{to} = {from};")),
                    false => self.assignment(),
                }
            }
        }
    }

    fn register(&mut self) {
        if self.registers.is_empty() {
            return self.assignment();
        }
        let (register, width) = self.pick(&self.registers.clone());
        let index = format!("{} & {}", self.bits(32, 1), ELEMENTS * 2 - 1);
        let targets: Vec<Value> = self
            .assignable
            .iter()
            .filter(|value| value.width == width)
            .cloned()
            .collect();
        if targets.is_empty() || self.chance(50) {
            let value = self.bits(width, 2);
            return self.line(&format!("{register}.write({index}, {value});"));
        }
        let target = self.pick(&targets).path;
        self.line(&self.dialect.register_read(&register, &target, &index));
    }

    fn hash(&mut self) {
        let Value { path, width } = self.pick(&self.assignable.clone());
        let algorithm = self.pick(&["crc32", "crc16", "csum16", "identity", "xor16"]);
        let base = self.constant(width);
        let data: Vec<String> = (0..1 + self.below(3))
            .map(|_| {
                let width = 8 * (1 + self.below(6) as u32);
                self.bits(width, 1)
            })
            .collect();
        let max = 1 + self.below(200);
        if self.dialect.hashes().is_some() {
            let Some((hash, _)) = self.hashes.first().cloned() else {
                return self.assignment();
            };
            return self.line(&format!(
                "{path} = (bit<{width}>) {hash}.get_hash({{ {} }});",
                data.join(", ")
            ));
        }
        self.line(&format!(
            "hash({path}, HashAlgorithm.{algorithm}, {base}, {{ {} }}, 32w{max});",
            data.join(", ")
        ));
    }

    fn egress_port(&mut self) {
        match self.place {
            Place::Ingress | Place::Action => {
                let port = self.bits(self.dialect.port_width(), 1);
                self.line(&self.dialect.send(&format!("{port} & 7")));
            }
            Place::Egress | Place::Parser => self.assignment(),
        }
    }

    /// What ends a packet's way, or makes several of it.
    fn rare(&mut self, depth: usize) {
        let condition = self.boolean(1);
        let statement = match (self.place, self.below(8)) {
            (Place::Ingress | Place::Egress, 1) if depth < 2 => "exit;",
            (_, 2) if depth < 2 => "return;",
            (place, number) => match self.dialect.rare(place, number) {
                Some(said) => said,
                None => return self.assignment(),
            },
        };
        // Twice at most: copies of copies would never end.
        match Dialect::goes_again(statement) {
            true => self.line(&format!(
                "if (meta.rounds < 2 && {condition}) {{ meta.rounds = meta.rounds + 1; {statement} }}"
            )),
            false => self.line(&format!("if ({condition}) {{ {statement} }}")),
        }
    }
}
