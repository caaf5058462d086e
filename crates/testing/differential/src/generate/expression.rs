//! Random expressions of a given width, without side effects.

use super::{Function, Place, Value, Writer};

/// Operators that take two operands of one width and give that width.
const OPERATORS: &[&str] = &["+", "-", "*", "&", "|", "^", "|+|", "|-|"];
/// Those of them that signed operands may have and results depend on the sign of.
const SIGNED: &[&str] = &["|+|", "|-|", "+", "*"];
const COMPARISONS: &[&str] = &["==", "!=", "<", "<=", ">", ">="];

/// Concatenations are no wider.
const WIDTH_MAX: u32 = 512;

impl Writer<'_> {
    /// An expression of type `bit<width>`; the deeper, the simpler.
    pub(super) fn bits(&mut self, width: u32, depth: usize) -> String {
        if depth == 0 || self.chance(30) {
            return self.leaf(width);
        }
        let inner = depth - 1;
        match self.below(15) {
            0..=3 => {
                let operator = self.pick(OPERATORS);
                format!("({} {operator} {})", self.bits(width, inner), self.bits(width, inner))
            }
            4 => {
                let (left, operator) = (self.bits(width, inner), self.pick(&["<<", ">>"]));
                format!("({left} {operator} {})", self.bits(8, inner.min(1)))
            }
            5 => {
                let (condition, then) = (self.boolean(inner), self.bits(width, inner));
                format!("({condition} ? {then} : {})", self.bits(width, inner))
            }
            6 => format!("({}{})", self.pick(&["~", "-"]), self.bits(width, inner)),
            7 if width >= 2 => {
                let high = 1 + self.below(width as usize - 1) as u32;
                format!("({} ++ {})", self.bits(high, inner), self.bits(width - high, inner))
            }
            8 => self.signed_as_bits(width, inner),
            9 => {
                let other = self.width();
                format!("(bit<{width}>)({})", self.bits(other, inner))
            }
            10 => self.slice(width, inner),
            12 if self.sees_headers() => self.of_metadata(width),
            13 if self.sees_headers() && self.stack > 0 => self.chain(width),
            14 if self.functions.iter().any(Function::is_pure) => self.call(width, inner),
            _ if width >= 2 => {
                let (left, operator) = (self.bits(width, inner), self.pick(&["/", "%"]));
                format!("({left} {operator} {width}w{})", 1 + self.below(3))
            }
            _ => self.leaf(width),
        }
    }

    /// An expression of type `bool`.
    pub(super) fn boolean(&mut self, depth: usize) -> String {
        let inner = depth.saturating_sub(1);
        match self.below(if depth == 0 { 6 } else { 10 }) {
            0..=3 => {
                let width = self.width();
                let (left, operator) = (self.bits(width, inner), self.pick(COMPARISONS));
                format!("({left} {operator} {})", self.bits(width, inner))
            }
            4 => {
                let width = 2 + self.below(62) as u32;
                let (left, operator) = (self.signed(width, inner), self.pick(COMPARISONS));
                format!("({left} {operator} {})", self.signed(width, inner))
            }
            5 if self.sees_headers() => {
                let header = self.header();
                format!("{header}.isValid()")
            }
            6 => format!("(!{})", self.boolean(inner)),
            7 => format!("({} && {})", self.boolean(inner), self.boolean(inner)),
            8 => format!("({} || {})", self.boolean(inner), self.boolean(inner)),
            9 if self.sees_headers() => {
                let (one, other) = (self.pick(&self.headers.clone()), self.pick(&self.headers.clone()));
                let headers = format!("({} == {})", one.0, other.0);
                let mut known = vec!["meta.flag", "(meta.pair == meta.other)", "(meta.name == name_t.C)"];
                if one.1 == other.1 {
                    known.push(&headers);
                }
                self.pick(&known).to_string()
            }
            _ => self.pick(&["true", "false"]).to_string(),
        }
    }

    /// Whether headers and their validity can be read here.
    fn sees_headers(&self) -> bool {
        !matches!(self.place, Place::Parser | Place::Function)
    }

    /// What is in the metadata and no `bit<W>`.
    fn of_metadata(&mut self, width: u32) -> String {
        let known = ["(bit<1>) meta.flag", "(bit<16>) meta.number", "(bit<8>) meta.name"];
        let field = self.pick(&known);
        format!("(bit<{width}>)({field})")
    }

    /// The element of the stack that metadata names, as programs write it whose target has no computed index.
    fn chain(&mut self, width: u32) -> String {
        let kind = self.types.len() - 1;
        let field = self.below(self.types[kind].len());
        let index = self.pick(&["meta.m0", "(meta.m0 & 3)"]);
        let of_elements = (0..self.stack)
            .map(|element| format!("{index} == {element} ? (bit<{width}>) hdr.stack[{element}].f{field} : "));
        let chain: String = of_elements.collect();
        format!("({chain}{})", self.constant(width))
    }

    /// A call of a function that only reads its operands.
    fn call(&mut self, width: u32, depth: usize) -> String {
        let pure: Vec<Function> = self
            .functions
            .iter()
            .filter(|function| function.is_pure())
            .cloned()
            .collect();
        let function = self.pick(&pure);
        let operands: Vec<String> = function
            .params
            .iter()
            .map(|(_, width)| self.bits(*width, depth.min(1)))
            .collect();
        format!("(bit<{width}>) {}({})", function.name, operands.join(", "))
    }

    /// The element of the stack that metadata names.
    pub(super) fn element(&self) -> String {
        format!("hdr.stack[(bit<8>)(meta.m0 & {})]", self.stack - 1)
    }

    /// A header instance, or an element of the stack.
    pub(super) fn header(&mut self) -> String {
        let mut all: Vec<String> = self.headers.iter().map(|(name, _)| name.clone()).collect();
        if self.has_union {
            all.push(self.pick(&["hdr.either.a", "hdr.either.b"]).to_string());
        }
        if self.has_options {
            all.push("hdr.options".to_string());
        }
        if self.stack > 0 {
            all.push(format!("hdr.stack[{}]", self.below(self.stack)));
            all.push(self.element());
        }
        self.pick(&all)
    }

    /// A constant of `width` bits; small ones are frequent.
    pub(super) fn constant(&mut self, width: u32) -> String {
        let value = match self.below(4) {
            0 => self.random.next_u64(),
            1 => u64::MAX,
            _ => self.random.next_u64() & 3,
        };
        let value = if width < 64 { value & ((1 << width) - 1) } else { value };
        format!("{width}w{value}")
    }

    fn leaf(&mut self, width: u32) -> String {
        if self.readable.is_empty() || self.chance(25) {
            return self.constant(width);
        }
        let fitting: Vec<Value> = self
            .readable
            .iter()
            .filter(|value| value.width == width)
            .cloned()
            .collect();
        if !fitting.is_empty() && self.chance(80) {
            return self.pick(&fitting).path;
        }
        let Value { path, width: other } = self.pick(&self.readable.clone());
        if other == width {
            path
        } else {
            format!("(bit<{width}>){path}")
        }
    }

    fn slice(&mut self, width: u32, depth: usize) -> String {
        let (more, low) = (self.below(20) as u32, self.below(20) as u32);
        let low = low.min(more);
        if width + more > WIDTH_MAX {
            return self.leaf(width);
        }
        format!("({})[{}:{low}]", self.bits(width + more, depth), low + width - 1)
    }

    fn signed(&mut self, width: u32, depth: usize) -> String {
        let whole = self.bits(width, depth);
        match self.below(3) {
            0 if depth > 0 => {
                let (operator, other) = (self.pick(SIGNED), self.bits(width, depth - 1));
                format!("((int<{width}>)({whole}) {operator} (int<{width}>)({other}))")
            }
            1 => format!("((int<{width}>)({whole}) >> {}w{})", 8, self.below(70)),
            _ => format!("(int<{width}>)({whole})"),
        }
    }

    fn signed_as_bits(&mut self, width: u32, depth: usize) -> String {
        if width < 2 {
            return self.leaf(width);
        }
        let other = 2 + self.below(62) as u32;
        if self.chance(50) {
            format!("(bit<{width}>)({})", self.signed(width, depth))
        } else {
            format!("(bit<{width}>)(int<{width}>)({})", self.signed(other, depth))
        }
    }
}
