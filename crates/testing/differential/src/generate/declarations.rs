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
        if self.chance(60) {
            self.stack = self.pick(&[2, 2, 4]);
        }
        self.has_union = self.chance(25);
        self.has_options = self.chance(25);
        if self.has_union {
            self.line("header_union either_t { kind0_t a; kind1_t b; }");
        }
        if self.has_options {
            self.line("header options_t { bit<8> f0; varbit<128> data; }");
        }
        self.open("struct headers_t");
        for (name, kind) in self.headers.clone() {
            self.line(&format!("kind{kind}_t {};", name.trim_start_matches("hdr.")));
        }
        if self.has_union {
            self.line("either_t either;");
        }
        if self.has_options {
            self.line("options_t options;");
            self.line("options_t saved;");
        }
        if self.stack > 0 {
            self.line(&format!("kind{}_t[{}] stack;", self.types.len() - 1, self.stack));
        }
        self.close("");
        self.line("enum bit<8> name_t { A = 0, B = 1, C = 3, D = 255 }");
        self.line("struct pair_t { bit<16> a; bit<33> b; }");
        self.line("struct message_t { bit<8> m0; bit<32> number; }");
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
        self.line("bool flag;");
        self.line("int<16> number;");
        self.line("name_t name;");
        self.line("pair_t pair;");
        self.line("pair_t other;");
        self.close("");
        for (name, width) in [("pair.a", 16), ("pair.b", 33), ("other.a", 16), ("other.b", 33)] {
            metadata.push((name.to_string(), width));
        }
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
    pub(super) fn fields_of(&self, path: &str, kind: usize) -> Vec<Value> {
        let fields = self.types[kind].iter().enumerate();
        let value = |(field, width): (usize, &u32)| Value {
            path: format!("{path}.f{field}"),
            width: *width,
        };
        fields.map(value).collect()
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
        self.inside_control(place);
    }

    /// What stands in the braces of a control.
    fn inside_control(&mut self, place: Place) {
        self.indent += 4;
        let (readable, assignable) = (self.readable.len(), self.assignable.len());
        let mut headers = self.headers.clone();
        if self.has_union {
            headers.push(("hdr.either.a".to_string(), 0));
            headers.push(("hdr.either.b".to_string(), 1));
        }
        let of_stack = (0..self.stack).map(|index| format!("hdr.stack[{index}]"));
        let at_index = (self.stack > 0).then(|| self.element());
        let kind = self.types.len() - 1;
        headers.extend(of_stack.chain(at_index).map(|path| (path, kind)));
        for (path, kind) in headers {
            let fields = self.fields_of(&path, kind);
            self.readable.extend(fields.clone());
            self.assignable.extend(fields);
        }
        if self.has_options {
            let length = Value {
                path: "hdr.options.f0".to_string(),
                width: 8,
            };
            self.readable.push(length.clone());
            self.assignable.push(length);
        }
        let of_switch = |(path, width): (&str, u32)| Value {
            path: path.to_string(),
            width,
        };
        self.readable
            .extend(self.dialect.readable(place).into_iter().map(of_switch));
        for (name, made) in std::mem::take(&mut self.instances) {
            self.line(&format!("{made} {name};"));
            self.subs.push(name);
        }
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
        (self.hashes, self.calls, self.subs) = Default::default();
    }

    /// A control that the next one has instances of, with parameters of the same types.
    pub(super) fn sub_control(&mut self, place: Place) {
        if self.chance(60) {
            return;
        }
        let name = format!("Sub{}", self.variables);
        self.variables += 1;
        let head = self.dialect.control_head(&name, place);
        self.line(&head.replace(") {", ")(bit<8> given) {"));
        let given = Value {
            path: "given".to_string(),
            width: 8,
        };
        self.readable.push(given);
        self.inside_control(place);
        self.readable.pop();
        for number in 0..1 + self.below(2) {
            let value = self.below(4);
            self.instances
                .push((format!("sub{number}"), format!("{name}({value})")));
        }
    }

    pub(super) fn deparser(&mut self, head: &str, first: &[String]) {
        self.open(&format!("control {head}"));
        self.open("apply");
        first.iter().for_each(|line| self.line(line));
        for (path, _) in self.headers.clone() {
            self.line(&format!("packet.emit({path});"));
        }
        if self.has_union {
            self.line("packet.emit(hdr.either);");
        }
        if self.has_options {
            self.line("packet.emit(hdr.options);");
        }
        if self.stack > 0 {
            self.line("packet.emit(hdr.stack);");
        }
        self.close("");
        self.close("");
    }
}
