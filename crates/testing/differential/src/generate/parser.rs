//! Parsers of random programs.

use super::{Value, Writer};

impl Writer<'_> {
    /// A chain of states that each extract a header, and may leave out the next ones; `first` stands before all.
    pub(super) fn parser(&mut self, head: &str, first: &[&str]) {
        self.line(head);
        self.indent += 4;
        let metadata = self.readable.len();
        let headers = self.headers.clone();
        let has_set = self.chance(30);
        if has_set {
            self.line("value_set<bit<8>>(4) known;");
        }
        let optional = [
            ("either", self.has_union),
            ("options", self.has_options),
            ("elements", self.stack > 0),
        ];
        let declared = optional.iter().filter(|(_, is_there)| *is_there);
        let mut last: Vec<&str> = declared.map(|(state, _)| *state).collect();
        last.push("accept");
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
            if self.chance(8) {
                self.line("packet.advance(8);");
            }
            if self.chance(8) {
                let Value { path, width } = self.pick(&self.assignable.clone());
                let kind = self.pick(&["bit<16>", "pair_t"]);
                match kind {
                    "pair_t" => self.line("meta.pair = packet.lookahead<pair_t>();"),
                    _ => self.line(&format!("{path} = (bit<{width}>) packet.lookahead<{kind}>();")),
                }
            }
            if has_set && self.chance(30) {
                let next = if index + 1 < headers.len() {
                    format!("s{}", index + 1)
                } else {
                    last[0].to_string()
                };
                let other = self.pick(&["accept", next.as_str(), "reject"]).to_string();
                self.line(&format!(
                    "transition select(packet.lookahead<bit<8>>()) {{ known: {next}; default: {other}; }}"
                ));
                self.close("");
                continue;
            }
            if self.chance(15) {
                let condition = self.boolean(1);
                self.line(&format!(
                    "verify({condition} || meta.m0 < 200, error.ParserInvalidArgument);"
                ));
            }
            let next = if index + 1 < headers.len() {
                format!("s{}", index + 1)
            } else {
                last[0].to_string()
            };
            self.transition(path, *kind, &next);
            self.close("");
        }
        for (index, state) in last.iter().enumerate() {
            let next = last.get(index + 1).copied().unwrap_or("accept");
            match *state {
                "either" => self.union_states(next),
                "options" => self.options_state(next),
                "elements" => self.stack_states(),
                _ => {}
            }
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
        let target = self
            .pick(&[next, next, next, next, next, "accept", "accept", "reject"])
            .to_string();
        self.line(&format!("default: {target};"));
        self.close("");
    }

    /// One of the headers of the union, or none.
    fn union_states(&mut self, next: &str) {
        self.open("state either");
        self.open("transition select(packet.lookahead<bit<8>>())");
        self.line("0 .. 1: first;");
        self.line("2: second;");
        self.line(&format!("default: {next};"));
        self.close("");
        self.close("");
        for (state, member) in [("first", "a"), ("second", "b")] {
            self.open(&format!("state {state}"));
            self.line(&format!("packet.extract(hdr.either.{member});"));
            self.line(&format!("transition {next};"));
            self.close("");
        }
    }

    /// A header whose length its first byte says; at times it is longer than may be.
    fn options_state(&mut self, next: &str) {
        self.open("state options");
        let mask = self.pick(&[3, 15, 15, 31]);
        self.line(&format!(
            "packet.extract(hdr.options, (bit<32>)(packet.lookahead<bit<8>>() & {mask}) << 3);"
        ));
        self.line(&format!("transition {next};"));
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
}
