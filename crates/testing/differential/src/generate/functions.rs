//! Functions, and calls of them and of actions with operands.

use super::{Function, Param, Place, Value, Writer};

impl Writer<'_> {
    /// Up to three functions. They see their parameters alone, and those before.
    pub(super) fn functions(&mut self) {
        let (readable, assignable) = (std::mem::take(&mut self.readable), std::mem::take(&mut self.assignable));
        self.place = Place::Function;
        for number in 0..self.below(4) {
            let params: Vec<Param> = (0..1 + self.below(3))
                .map(|_| (self.pick(&["in", "in", "in", "inout", "out"]), self.width()))
                .collect();
            let function = Function {
                name: format!("function{number}"),
                params,
                width: self.width(),
            };
            self.function(&function);
            self.functions.push(function);
        }
        self.place = Place::Parser;
        (self.readable, self.assignable) = (readable, assignable);
    }

    fn function(&mut self, function: &Function) {
        let params = (0..)
            .zip(&function.params)
            .map(|(index, (direction, width))| format!("{direction} bit<{width}> q{index}"));
        let list = params.collect::<Vec<String>>().join(", ");
        self.open(&format!("bit<{}> {}({list})", function.width, function.name));
        for (index, (direction, width)) in (0..).zip(&function.params) {
            let value = Value {
                path: format!("q{index}"),
                width: *width,
            };
            if *direction == "out" {
                let first = self.constant(*width);
                self.line(&format!("q{index} = {first};"));
            }
            if *direction != "in" {
                self.assignable.push(value.clone());
            }
            self.readable.push(value);
        }
        // Without a parameter that can be assigned, a variable.
        self.variable();
        let count = self.below(4);
        self.statements(count, 2);
        if self.chance(30) {
            let (condition, value) = (self.boolean(1), self.bits(function.width, 1));
            self.line(&format!("if ({condition}) {{ return {value}; }}"));
            let count = self.below(3);
            self.statements(count, 1);
        }
        let value = self.bits(function.width, 2);
        self.line(&format!("return {value};"));
        self.close("");
        self.readable.clear();
        self.assignable.clear();
    }

    /// A call whose operands are read and written, the same one twice at times.
    pub(super) fn call_with_operands(&mut self) {
        let of_functions = self.functions.iter().cloned();
        let calls: Vec<(String, Vec<Param>, Option<u32>)> = of_functions
            .map(|function| (function.name, function.params, Some(function.width)))
            .chain(self.calls.iter().cloned().map(|(name, params)| (name, params, None)))
            .collect();
        if calls.is_empty() {
            return self.assignment();
        }
        let (name, params, result) = self.pick(&calls);
        let operands: Vec<String> = params.iter().map(|&param| self.operand(param)).collect();
        let call = format!("{name}({})", operands.join(", "));
        match result {
            None => self.line(&format!("{call};")),
            Some(result) => {
                let Value { path, width } = self.pick(&self.assignable.clone());
                if result == width {
                    self.line(&format!("{path} = {call};"))
                } else {
                    self.line(&format!("{path} = (bit<{width}>) {call};"))
                }
            }
        }
    }

    fn operand(&mut self, (direction, width): Param) -> String {
        if direction == "in" {
            return self.bits(width, 1);
        }
        let fitting = self.assignable.iter().filter(|value| value.width == width);
        let fitting: Vec<String> = fitting.map(|value| value.path.clone()).collect();
        if fitting.is_empty() {
            let name = format!("v{}", self.variables);
            self.variables += 1;
            let value = self.bits(width, 1);
            self.line(&format!("bit<{width}> {name} = {value};"));
            let value = Value { path: name, width };
            self.readable.push(value.clone());
            self.assignable.push(value.clone());
            return value.path;
        }
        self.pick(&fitting)
    }
}
