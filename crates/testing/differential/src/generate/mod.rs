//! Text of random programs that are well typed, for each of the architectures ([`dialect`]).
//!
//! What is written down is what a program is made of: headers (some of them in a stack, a union, of variable length)
//! and metadata ([`declarations`]), [`functions`], parsers ([`parser`]), controls with actions and tables ([`tables`])
//! that call other controls, checksums, deparsers. Expressions are made for a width that is wanted ([`expression`]),
//! statements for a place ([`statement`]).

mod declarations;
mod dialect;
mod expression;
mod functions;
mod parser;
mod statement;
mod tables;

use dialect::Dialect;
use forebay_exec::Random;
use std::fmt::Write;

/// The text of the program of a seed.
pub fn program(seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut writer = Writer::new(&mut random, Dialect::of_seed(seed));
    writer.blocks();
    writer.text
}

/// Whether a packet of the program with this text may come round again or be cloned.
pub fn goes_again(text: &str) -> bool {
    text.lines().any(|line| line.contains("meta.rounds < 2"))
}

/// A field or variable that can be read: how it is written, and its width.
#[derive(Clone, Debug)]
struct Value {
    path: String,
    width: u32,
}

/// A parameter's direction and width.
type Param = (&'static str, u32);

/// A function of the program.
#[derive(Clone, Debug)]
struct Function {
    name: String,
    params: Vec<Param>,
    /// The width of its result.
    width: u32,
}

impl Function {
    /// Whether it only reads its operands.
    fn is_pure(&self) -> bool {
        self.params.iter().all(|(direction, _)| *direction == "in")
    }
}

/// What is declared, and the text so far.
struct Writer<'a> {
    random: &'a mut Random,
    dialect: Dialect,
    text: String,
    /// Spaces before the next line.
    indent: usize,
    /// By header type: widths of its fields, which are called `f0`, `f1`, ...
    types: Vec<Vec<u32>>,
    /// Header instances: name and type.
    headers: Vec<(String, usize)>,
    /// Elements of the stack of the last type, `hdr.stack`: none, two or four.
    stack: usize,
    /// Whether there is a union of headers of the first two types: `hdr.either`.
    has_union: bool,
    /// Whether there are headers of variable length: `hdr.options`, `hdr.saved`.
    has_options: bool,
    functions: Vec<Function>,
    /// What can be read here, and what can be assigned.
    readable: Vec<Value>,
    assignable: Vec<Value>,
    /// Actions of the present control that can be called without data, and tables that were not applied yet with their
    /// actions.
    actions: Vec<String>,
    tables: Vec<(String, Vec<String>)>,
    /// Registers of the present control: name, width of an element.
    registers: Vec<(String, u32)>,
    /// Counters of the present control.
    counters: Vec<String>,
    /// Hashes of the present control, where they are objects: name, width.
    hashes: Vec<(String, u32)>,
    /// Actions with directions of the present control: name, parameters.
    calls: Vec<(String, Vec<Param>)>,
    /// Actions without parameters that the present action may call.
    callable: Vec<String>,
    /// Instances of other controls that the next control declares: name, what it is made of.
    instances: Vec<(String, String)>,
    /// Instances of other controls in the present one.
    subs: Vec<String>,
    /// Which control: what asks for clones, resubmission and the like differs.
    place: Place,
    variables: usize,
}

/// Where statements stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Parser,
    /// The apply block of a control.
    Ingress,
    Egress,
    /// An action, in which there are no tables.
    Action,
    /// A function, which sees its parameters alone.
    Function,
}

/// Widths of fields, where representations change among them.
const WIDTHS: &[u32] = &[
    1, 2, 3, 4, 7, 8, 8, 9, 12, 13, 16, 16, 16, 20, 24, 31, 32, 32, 33, 48, 63, 64, 65, 100, 127, 128, 129, 160,
];

/// Elements of registers and counters.
const ELEMENTS: u32 = 8;

impl<'a> Writer<'a> {
    fn new(random: &'a mut Random, dialect: Dialect) -> Self {
        Writer {
            random,
            dialect,
            text: String::new(),
            indent: 0,
            types: Vec::new(),
            headers: Vec::new(),
            stack: 0,
            has_union: false,
            has_options: false,
            functions: Vec::new(),
            readable: Vec::new(),
            assignable: Vec::new(),
            actions: Vec::new(),
            tables: Vec::new(),
            registers: Vec::new(),
            counters: Vec::new(),
            hashes: Vec::new(),
            calls: Vec::new(),
            callable: Vec::new(),
            instances: Vec::new(),
            subs: Vec::new(),
            place: Place::Parser,
            variables: 0,
        }
    }

    /// A number below `limit`, which is not 0.
    fn below(&mut self, limit: usize) -> usize {
        (self.random.next_u64() % limit as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    fn width(&mut self) -> u32 {
        self.pick(WIDTHS)
    }

    fn line(&mut self, line: &str) {
        writeln!(self.text, "{:1$}{line}", "", self.indent).expect("memory takes text");
    }

    fn open(&mut self, line: &str) {
        self.line(&format!("{line} {{"));
        self.indent += 4;
    }

    fn close(&mut self, behind: &str) {
        self.indent -= 4;
        self.line(&format!("}}{behind}"));
    }
}
