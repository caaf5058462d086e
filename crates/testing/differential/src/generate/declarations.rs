//! Types, parser, controls and deparser.

use super::{Place, Value, Writer};

impl Writer<'_> {
    /// Header types, instances, metadata.
    pub(super) fn declarations(&mut self) {
        // The first has a checksum of 16 bits in front.
        self.types.push(vec![16, 8, 8, 32]);
        for _ in 0..1 + self.below(3) {
            let fields = self.fields();
            self.types.push(fields);
        }
        for (index, fields) in self.types.clone().into_iter().enumerate() {
            self.open(&format!("header kind{index}_t"));
            for (field, width) in fields.iter().enumerate() {
                self.line(&format!("bit<{width}> f{field};"));
            }
            self.close("");
        }
        self.headers.push(("hdr.h0".to_string(), 0));
        for number in 1..2 + self.below(3) {
            let kind = self.below(self.types.len());
            self.headers.push((format!("hdr.h{number}"), kind));
        }
        self.has_stack = self.chance(60);
        self.open("struct headers_t");
        for (name, kind) in self.headers.clone() {
            self.line(&format!("kind{kind}_t {};", name.trim_start_matches("hdr.")));
        }
        if self.has_stack {
            self.line(&format!("kind{}_t[2] stack;", self.types.len() - 1));
        }
        self.close("");
        self.open("struct metadata_t");
        self.line("@field_list(1) bit<8> rounds;");
        self.line("@field_list(1) bit<8> m0;");
        let mut metadata = vec![("m0".to_string(), 8)];
        for number in 1..2 + self.below(4) {
            let width = self.width();
            let preserved = self.pick(&["", "@field_list(1) "]);
            self.line(&format!("{preserved}bit<{width}> m{number};"));
            metadata.push((format!("m{number}"), width));
        }
        self.close("");
        let value = |(name, width)| Value {
            path: format!("meta.{name}"),
            width,
        };
        self.readable = metadata.into_iter().map(value).collect();
        self.assignable = self.readable.clone();
    }

    /// Widths of fields that fill whole bytes.
    fn fields(&mut self) -> Vec<u32> {
        if self.chance(30) {
            // As in real headers, and long.
            let widths = [8, 16, 16, 24, 32, 32, 48, 64];
            return (0..2 + self.below(8)).map(|_| self.pick(&widths)).collect();
        }
        let mut widths: Vec<u32> = (0..1 + self.below(4)).map(|_| self.width()).collect();
        let odd = widths.iter().sum::<u32>() % 8;
        if odd > 0 {
            widths.push(8 - odd);
        }
        widths
    }

    /// The fields of a header.
    fn fields_of(&self, path: &str, kind: usize) -> Vec<Value> {
        let fields = self.types[kind].iter().enumerate();
        let value = |(field, width): (usize, &u32)| Value {
            path: format!("{path}.f{field}"),
            width: *width,
        };
        fields.map(value).collect()
    }

    /// A chain of states that each extract a header, and may leave out the next ones; `first` stands before all.
    pub(super) fn parser(&mut self, head: &str, first: &[&str]) {
        self.line(head);
        self.indent += 4;
        let metadata = self.readable.len();
        let headers = self.headers.clone();
        for (index, (path, kind)) in headers.iter().enumerate() {
            let state = if index == 0 {
                "start".to_string()
            } else {
                format!("s{index}")
            };
            self.open(&format!("state {state}"));
            if index == 0 {
                first.iter().for_each(|line| self.line(line));
            }
            self.line(&format!("packet.extract({path});"));
            self.readable.extend(self.fields_of(path, *kind));
            if self.chance(40) {
                let Value { path, width } = self.pick(&self.assignable.clone());
                let value = self.bits(width, 2);
                self.line(&format!("{path} = {value};"));
            }
            if self.chance(15) {
                let condition = self.boolean(1);
                self.line(&format!(
                    "verify({condition} || meta.m0 < 200, error.ParserInvalidArgument);"
                ));
            }
            let next = match index + 1 < headers.len() {
                true => format!("s{}", index + 1),
                false if self.has_stack => "elements".to_string(),
                false => "accept".to_string(),
            };
            self.transition(path, *kind, &next);
            self.close("");
        }
        if self.has_stack {
            self.stack_states();
        }
        self.close("");
        self.readable.truncate(metadata);
    }

    fn transition(&mut self, path: &str, kind: usize, next: &str) {
        let field = self.below(self.types[kind].len());
        let width = self.types[kind][field];
        if self.chance(30) {
            return self.line(&format!("transition {next};"));
        }
        self.open(&format!("transition select({path}.f{field})"));
        for _ in 0..self.below(3) {
            let (value, mask) = (self.constant(width), self.constant(width));
            let keyset = match self.below(3) {
                0 => format!("{value} &&& {mask}"),
                1 => format!("{width}w0 .. {value}"),
                _ => value,
            };
            let target = self.pick(&[next, "accept", next]).to_string();
            self.line(&format!("{keyset}: {target};"));
        }
        let target = self.pick(&[next, next, "accept", "reject"]).to_string();
        self.line(&format!("default: {target};"));
        self.close("");
    }

    /// Elements of the stack as long as bits that lie ahead say so.
    fn stack_states(&mut self) {
        self.open("state elements");
        self.line("packet.extract(hdr.stack.next);");
        self.open("transition select(packet.lookahead<bit<2>>(), hdr.stack.lastIndex)");
        self.line("(1, 0): elements;");
        self.line("default: accept;");
        self.close("");
        self.close("");
    }

    /// Verification and computation for the first header.
    pub(super) fn checksums(&mut self) {
        let (verifies, computes) = (self.chance(30), self.chance(50));
        let data = "{ hdr.h0.f1, hdr.h0.f2, hdr.h0.f3 }, hdr.h0.f0, HashAlgorithm.csum16";
        for (name, does, call) in [
            ("Verify", verifies, "verify_checksum"),
            ("Compute", computes, "update_checksum"),
        ] {
            self.open(&format!("control {name}(inout headers_t hdr, inout metadata_t meta)"));
            self.open("apply");
            if does {
                self.line(&format!("{call}(hdr.h0.isValid() && hdr.h0.f1 > 3, {data});"));
            }
            self.close("");
            self.close("");
        }
    }

    pub(super) fn control(&mut self, name: &str, place: Place) {
        self.line(&self.dialect.control_head(name, place));
        self.indent += 4;
        let (readable, assignable) = (self.readable.len(), self.assignable.len());
        for (path, kind) in self.headers.clone() {
            let fields = self.fields_of(&path, kind);
            self.readable.extend(fields.clone());
            self.assignable.extend(fields);
        }
        if self.has_stack {
            let kind = self.types.len() - 1;
            for path in ["hdr.stack[0]", "hdr.stack[1]"] {
                let fields = self.fields_of(path, kind);
                self.readable.extend(fields.clone());
                self.assignable.extend(fields);
            }
            self.readable
                .extend(self.fields_of("hdr.stack[(bit<8>)(meta.m0 & 1)]", kind));
        }
        let of_switch = |(path, width): (&str, u32)| Value {
            path: path.to_string(),
            width,
        };
        self.readable
            .extend(self.dialect.readable(place).into_iter().map(of_switch));
        self.objects();
        self.place = Place::Action;
        let plain = self.declared_actions(place);
        self.place = place;
        self.actions = plain;
        self.open("apply");
        if place == Place::Ingress {
            let port = self.below(8);
            self.line(&self.dialect.send(&port.to_string()));
        }
        let count = 3 + self.below(8);
        self.statements(count, 3);
        self.close("");
        self.close("");
        self.readable.truncate(readable);
        self.assignable.truncate(assignable);
        (self.actions, self.tables, self.registers, self.counters) = Default::default();
        self.hashes.clear();
    }

    fn objects(&mut self) {
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
    fn declared_actions(&mut self, place: Place) -> Vec<String> {
        let (mut names, mut plain) = (Vec::new(), Vec::new());
        for number in 0..2 + self.below(3) {
            let params: Vec<Value> = (0..self.below(3))
                .map(|index| Value {
                    path: format!("p{index}"),
                    width: self.width(),
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
            let (tables, actions) = (std::mem::take(&mut self.tables), std::mem::take(&mut self.actions));
            self.action_statements();
            (self.tables, self.actions) = (tables, actions);
            self.place = Place::Action;
            self.readable.truncate(readable);
            self.assignable.truncate(assignable);
            self.close("");
            names.push(format!("a{number}"));
            if params.is_empty() {
                plain.push(format!("a{number}"));
            }
        }
        for number in 0..self.below(4) {
            self.table(number, &names);
        }
        plain
    }

    fn action_statements(&mut self) {
        let count = self.below(4);
        // Conditions in actions are allowed by the language, and by targets that can.
        self.statements(count, 1);
    }

    fn table(&mut self, number: usize, actions: &[String]) {
        let name = format!("t{number}");
        self.open(&format!("table {name}"));
        self.open("key =");
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
            let key = self.bits(width, 1);
            self.line(&format!("{key}: {kind} @name(\"k{index}\");"));
        }
        self.close("");
        let mut listed: Vec<String> = actions.iter().take(1 + self.below(actions.len())).cloned().collect();
        listed.push("NoAction".to_string());
        self.line(&format!("actions = {{ {}; }}", listed.join("; ")));
        self.line("default_action = NoAction();");
        let size = self.pick(&[8, 64, 1024]);
        self.line(&format!("size = {size};"));
        self.close("");
        self.tables.push((name, listed));
    }

    pub(super) fn deparser(&mut self, head: &str, first: &[String]) {
        self.open(&format!("control {head}"));
        self.open("apply");
        first.iter().for_each(|line| self.line(line));
        for (path, _) in self.headers.clone() {
            self.line(&format!("packet.emit({path});"));
        }
        if self.has_stack {
            self.line("packet.emit(hdr.stack);");
        }
        self.close("");
        self.close("");
    }
}
