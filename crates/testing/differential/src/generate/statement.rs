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
        match self.below(34) {
            0..=7 => self.assignment(),
            8 => self.slice_assignment(),
            9 | 10 if depth > 0 => self.conditional(depth),
            11..=14 if self.is_apply_block() => self.apply(depth),
            15 if self.place != Place::Function => self.validity(),
            16 if self.place != Place::Function => self.register(),
            17 if !self.counters.is_empty() => {
                let counter = self.pick(&self.counters.clone());
                let index = self.bits(32, 1);
                self.line(&format!("{counter}.count({index} & {});", ELEMENTS * 2 - 1));
            }
            18 if self.place != Place::Function => self.hash(),
            19 if self.is_apply_block() && !self.actions.is_empty() => {
                let action = self.pick(&self.actions.clone());
                self.line(&format!("{action}();"));
            }
            19 if !self.callable.is_empty() => {
                let action = self.pick(&self.callable.clone());
                self.line(&format!("{action}();"));
            }
            20 => self.egress_port(),
            21 | 32 | 33 if self.place != Place::Function => self.rare(depth),
            22 => self.variable(),
            23 | 24 if depth > 0 => self.repetition(depth),
            25 if depth > 0 => self.choice(depth),
            26 | 27 => self.call_with_operands(),
            28 | 29 if self.place != Place::Function => self.of_metadata_assignment(),
            30 if self.is_apply_block() && !self.subs.is_empty() => {
                let sub = self.subs.swap_remove(0);
                let metadata = self.dialect.passed_on();
                self.line(&format!("{sub}.apply(hdr, meta, {metadata});"));
            }
            31 if self.has_options && self.place != Place::Function => {
                let statement = self.pick(&["hdr.saved = hdr.options;", "hdr.options = hdr.saved;"]);
                self.line(statement);
            }
            _ => self.assignment(),
        }
    }

    /// Whether tables can be applied here, and actions called.
    fn is_apply_block(&self) -> bool {
        matches!(self.place, Place::Ingress | Place::Egress)
    }

    pub(super) fn assignment(&mut self) {
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
    pub(super) fn variable(&mut self) {
        let (width, name) = (self.width(), format!("v{}", self.variables));
        self.variables += 1;
        let value = self.bits(width, 2);
        self.line(&format!("bit<{width}> {name} = {value};"));
        let value = Value { path: name, width };
        self.readable.push(value.clone());
        self.assignable.push(value);
    }

    /// Statements in braces; variables declared in them are not known after them.
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

    /// A loop of at most three rounds. Tables are applied outside.
    fn repetition(&mut self, depth: usize) {
        let name = format!("i{}", self.variables);
        self.variables += 1;
        let bound = if self.chance(50) {
            self.below(4).to_string()
        } else {
            format!("({} & 3)", self.bits(8, 1))
        };
        let head = if self.chance(30) {
            format!("for (bit<8> {name} in 1 .. 3)")
        } else {
            format!("for (bit<8> {name} = 0; {name} < {bound}; {name} = {name} + 1)")
        };
        let tables = std::mem::take(&mut self.tables);
        let subs = std::mem::take(&mut self.subs);
        let readable = self.readable.len();
        self.readable.push(Value { path: name, width: 8 });
        self.block(&head, depth);
        self.readable.truncate(readable);
        self.indent += 4;
        if self.chance(30) {
            let (condition, end) = (self.boolean(1), self.pick(&["break", "continue"]));
            self.line(&format!("if ({condition}) {{ {end}; }}"));
            self.assignment();
        }
        self.close("");
        (self.tables, self.subs) = (tables, subs);
    }

    /// A switch over a value.
    fn choice(&mut self, depth: usize) {
        let width = self.width();
        let value = self.bits(width, 1);
        self.open(&format!("switch ({value})"));
        for label in 0..2u32.min(1 << width.min(2)) {
            if label == 1 && width > 1 && self.chance(30) {
                self.line(&format!("{width}w2:"));
            }
            self.block(&format!("{width}w{label}:"), depth);
            self.line("}");
        }
        if self.chance(60) {
            self.block("default:", depth);
            self.line("}");
        }
        self.close("");
    }

    /// An assignment to what is in the metadata and no `bit<W>`.
    fn of_metadata_assignment(&mut self) {
        match self.below(6) {
            0 => {
                let value = self.boolean(2);
                self.line(&format!("meta.flag = {value};"));
            }
            1 => {
                let (value, operator) = (self.bits(16, 1), self.pick(&["|+|", "-", "*"]));
                self.line(&format!("meta.number = meta.number {operator} (int<16>)({value});"));
            }
            2 => {
                let value = self.bits(8, 1);
                self.line(&format!("meta.name = (name_t)({value});"));
            }
            3 => {
                let name = self.pick(&["A", "B", "C", "D"]);
                self.line(&format!("meta.name = name_t.{name};"));
            }
            4 => {
                let (one, other) = (self.bits(16, 1), self.bits(33, 1));
                self.line(&format!("meta.pair = {{ {one}, {other} }};"));
            }
            _ => self.line("meta.other = meta.pair;"),
        }
    }

    /// Applies a table that was not applied yet, or once more.
    fn apply(&mut self, depth: usize) {
        let Some((table, actions)) = self.tables.pop() else {
            return self.assignment();
        };
        if self.chance(15) {
            self.tables.insert(0, (table.clone(), actions.clone()));
        }
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
            4 if self.stack > 0 => {
                let operation = self.pick(&["push_front", "pop_front"]);
                self.line(&format!("hdr.stack.{operation}(1);"));
            }
            _ => {
                let ((to, kind), (from, other)) = (self.pick(&self.headers.clone()), self.pick(&self.headers.clone()));
                if kind == other {
                    self.line(&format!("{to} = {from};"))
                } else {
                    self.assignment()
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
            Place::Egress | Place::Parser | Place::Function => self.assignment(),
        }
    }

    /// What ends a packet's way, or makes several of it.
    fn rare(&mut self, depth: usize) {
        let condition = self.boolean(1);
        let statement = match (self.place, self.below(9)) {
            (Place::Ingress | Place::Egress | Place::Action, 1) if depth < 2 => "exit;",
            (_, 2) if depth < 2 => "return;",
            (place, number) => match self.dialect.rare(place, number) {
                Some(said) => said,
                None => return self.assignment(),
            },
        };
        // Twice at most: copies of copies would never end.
        if Dialect::goes_again(statement) {
            self.line(&format!(
                "if (meta.rounds < 2 && {condition}) {{ meta.rounds = meta.rounds + 1; {statement} }}"
            ))
        } else {
            self.line(&format!("if ({condition}) {{ {statement} }}"))
        }
    }
}
