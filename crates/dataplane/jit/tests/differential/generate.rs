//! Random programs of the IR that its verifier accepts.

mod choices;
mod expressions;
mod operations;
mod related;

use forebay_bits::Bits;
use forebay_exec::Random;
use forebay_ir::{
    Action, ActionCall, ActionId, ActionParam, Architecture, BinaryOp, Block, BlockId, Body, BodyId, BodyKind,
    Calculation, CalculationId, Counter, CustomCrc, Digest, Expr, HashAlgorithm, Header, HeaderField, HeaderId, KeySet,
    Location, MatchKind, Meter, Op, Program, Register, Role, SelectCase, Slot, SlotId, SlotKind, Statement, Table,
    TableAction, TableId, TableKey, Terminator, UnaryOp, Unit, ValueSet, ValueSetComponent, ValueSetId,
};

pub const PARSER: BodyId = BodyId(0);
pub const CONTROL: BodyId = BodyId(1);
pub const DEPARSER: BodyId = BodyId(2);
/// A control that does nothing.
pub const EMPTY: BodyId = BodyId(3);
/// Egress of a plain program.
pub const EGRESS: BodyId = BodyId(4);

/// The output port: the first slot, of 9 bits.
pub const EGRESS_SPEC: SlotId = SlotId(0);
/// The group for whose members the packet is copied, or 0.
pub const COPIES: SlotId = SlotId(1);
/// The copy's instance number, of 16 bits.
pub const INSTANCE: SlotId = SlotId(7);
/// Slots of 1 and of 32 bits.
const CONDITION: SlotId = SlotId(2);
const NUMBER: SlotId = SlotId(8);

/// Headers with the same fields.
const STACK: [u32; 3] = [4, 5, 6];

/// Widths of local slots, near the points where representations change.
const WIDTHS: &[u32] = &[
    9, 16, 1, 1, 7, 8, 13, 16, 32, 33, 48, 63, 64, 65, 100, 127, 128, 129, 200, 256, 600,
];

const ALGORITHMS: &[HashAlgorithm] = &[
    HashAlgorithm::Crc32,
    HashAlgorithm::Crc16,
    HashAlgorithm::Csum16,
    HashAlgorithm::Csum16,
    HashAlgorithm::Identity,
    HashAlgorithm::Xor16,
    HashAlgorithm::Custom(CalculationId(0)),
];

/// A byte of a packet: small numbers are frequent, so that selects hit.
pub fn packet_byte(random: &mut Random) -> u8 {
    let byte = random.next_u64() as u8;
    if byte & 64 == 0 { byte & 3 } else { byte }
}

/// A program with a parser, a control and a deparser. A plain program can take the fast path: it has no loops outside
/// the parser, draws no random numbers, and does not request clones. It may request copies.
pub fn program(random: &mut Random, plain: bool) -> Program {
    with_choices(random, plain, true)
}

/// A program without later additions to the generator: choices among registers, more copies, colours before meters,
/// custom hashes, packets that are sent back. Seeds from before these additions refer to such programs.
pub fn former_program(random: &mut Random, plain: bool) -> Program {
    with_choices(random, plain, false)
}

fn with_choices(random: &mut Random, plain: bool, choices: bool) -> Program {
    let ordered = random.next_u64().is_multiple_of(2);
    let mut generator = Generator {
        ordered,
        choices,
        random,
        program: Program::new(Architecture::V1Model),
        params: Vec::new(),
        plain,
        pure: false,
    };
    generator.declarations();
    generator.bodies();
    generator.program
}

struct Generator<'a> {
    random: &'a mut Random,
    program: Program,
    /// Widths of the parameters of the action under construction.
    params: Vec<u32>,
    plain: bool,
    /// Whether the part under construction has no effect outside the packet.
    pure: bool,
    /// Whether the order of packets may affect objects.
    ordered: bool,
    /// Whether later additions to the generator are used.
    choices: bool,
}

impl Generator<'_> {
    fn below(&mut self, limit: usize) -> usize {
        (self.random.next_u64() % limit as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn algorithm(&mut self) -> HashAlgorithm {
        if self.choices {
            self.pick(ALGORITHMS)
        } else {
            self.pick(&ALGORITHMS[..ALGORITHMS.len() - 1])
        }
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn slot(&mut self, width: u32, kind: SlotKind) -> SlotId {
        let id = SlotId(self.program.slots.len() as u32);
        self.program.slots.push(Slot {
            name: format!("s{}", id.0),
            width,
            signed: false,
            kind,
        });
        id
    }

    fn declarations(&mut self) {
        let errors = [
            "NoError",
            "PacketTooShort",
            "NoMatch",
            "StackOutOfBounds",
            "HeaderTooShort",
            "ParserTimeout",
            "ParserInvalidArgument",
        ];
        self.program.errors = errors.map(str::to_owned).to_vec();
        for (&width, id) in WIDTHS.iter().zip(0..) {
            // A slot that the architecture reads is not local to a body.
            let kind = match SlotId(id) {
                EGRESS_SPEC | COPIES | INSTANCE => SlotKind::Intrinsic,
                _ => SlotKind::Local,
            };
            self.slot(width, kind);
        }
        for index in 0..4 {
            self.header(index);
        }
        let width = self.pick(&[8, 16, 24, 64, 80, 128]);
        for index in STACK {
            self.element(index, width);
        }
        let wide = self.pick(&[9, 64, 65, 128, 300]);
        let alike = if self.choices { self.pick(&[8, 64, 70, 300]) } else { 8 };
        for (index, width) in [16, wide, alike, alike, alike].into_iter().enumerate() {
            self.program.registers.push(Register {
                name: format!("r{index}"),
                width,
                signed: false,
                size: 8,
                initial: Bits::zero(width),
            });
        }
        let unit = self.pick(&[Unit::Packets, Unit::Bytes, Unit::PacketsAndBytes]);
        self.program.counters.push(Counter {
            name: "c".into(),
            unit,
            size: Some(4),
            element_names: Vec::new(),
        });
        self.program.calculations.push(Calculation {
            name: "calc".to_string(),
            crc: CustomCrc::Crc32,
        });
        self.program.meters.push(Meter {
            name: "m".into(),
            unit: Unit::Packets,
            size: Some(4),
        });
        let component = |width| ValueSetComponent {
            name: format!("p{width}"),
            width,
            match_kind: MatchKind::Exact,
        };
        self.program.value_sets.push(ValueSet {
            name: "vs".into(),
            size: 4,
            components: vec![component(8), component(100)],
        });
        self.program.digests.push(Digest {
            name: "d".into(),
            receiver: 1,
            fields: vec![("a".into(), 9), ("b".into(), 70), ("c".into(), 200)],
            to: forebay_ir::Recipient::Controller,
        });
    }

    /// A header of a stack.
    fn element(&mut self, index: u32, width: u32) {
        let id = HeaderId(index);
        let valid = self.slot(1, SlotKind::Valid(id));
        let field = HeaderField {
            name: "f0".into(),
            slot: self.slot(width, SlotKind::Field(id)),
            length: None,
        };
        self.program.headers.push(Header {
            name: format!("h{index}"),
            type_name: "element_t".into(),
            valid,
            fields: vec![field],
        });
    }

    /// A field of an element selected by an index, as lowering writes it; another value when the index is too large.
    fn chosen_element(&mut self) -> Op {
        let index = self.pick(&[SlotId(5), SlotId(6)]);
        let fields = STACK.map(|header| self.program.headers[header as usize].fields[0].slot);
        let width = self.program.slot(fields[0]).width;
        let mut value = self.expr(width, 1);
        for (number, field) in fields.into_iter().enumerate().rev() {
            let number = Bits::new(self.program.slot(index).width, number as u128);
            let is = Expr::Binary(BinaryOp::Eq, Box::new(Expr::Slot(index)), Box::new(Expr::Const(number)));
            value = Expr::Mux {
                condition: Box::new(is),
                then_value: Box::new(Expr::Slot(field)),
                else_value: Box::new(value),
            };
        }
        let slot = self.slot(width, SlotKind::Local);
        Op::Assign { slot, value }
    }

    fn header(&mut self, index: u32) {
        let id = HeaderId(index);
        let valid = self.slot(1, SlotKind::Valid(id));
        let count = 1 + self.below(5);
        let mut fields = Vec::new();
        // Most headers are whole bytes, some are not.
        let whole = self.chance(75);
        let mut bits = 0;
        for number in 0..count {
            let mut width = self.pick(&[1, 3, 4, 8, 8, 12, 13, 16, 16, 32, 48, 64, 7, 65, 128, 160, 700]);
            if width == 700 && self.chance(80) {
                width = 24;
            }
            if whole && number + 1 == count {
                width += (8 - (bits + width) % 8) % 8;
            }
            bits += width;
            fields.push(HeaderField {
                name: format!("f{number}"),
                slot: self.slot(width, SlotKind::Field(id)),
                length: None,
            });
        }
        if self.chance(30) {
            let width = self.pick(&[16, 64, 200]);
            let position = self.below(fields.len() + 1);
            let field = HeaderField {
                name: "v".into(),
                slot: self.slot(width, SlotKind::Field(id)),
                length: Some(self.slot(32, SlotKind::VarbitLength(id))),
            };
            fields.insert(position, field);
        }
        self.program.headers.push(Header {
            name: format!("h{index}"),
            type_name: format!("h{index}_t"),
            valid,
            fields,
        });
    }

    fn bodies(&mut self) {
        let empty = |name: &str, kind| Body {
            name: name.to_owned(),
            kind,
            blocks: Vec::new(),
        };
        self.program.bodies = vec![
            empty("P", BodyKind::Parser),
            empty("C", BodyKind::Control),
            empty("D", BodyKind::Deparser),
            empty("E", BodyKind::Control),
            empty("G", BodyKind::Control),
        ];
        for index in 0..3 {
            self.action(index);
        }
        for index in 0..2 {
            self.table(index, 0..3);
        }
        self.pure = true;
        let short = self.chance(50);
        self.action(3);
        if short {
            self.short_action(3);
        }
        self.table(2, 3..4);
        self.program.bodies[EGRESS.index()].blocks = if short {
            self.short_egress()
        } else {
            self.blocks(BodyKind::Control)
        };
        self.pure = false;
        self.program.bodies[3].blocks = vec![block(Vec::new(), Terminator::Return)];
        for body in [PARSER, CONTROL, DEPARSER] {
            self.params.clear();
            let kind = self.program.bodies[body.index()].kind;
            self.program.bodies[body.index()].blocks = self.blocks(kind);
        }
        if self.plain && self.chance(40) {
            self.related_look_ups();
        }
        if self.plain && self.choices && self.chance(10) {
            let group = Expr::Const(Bits::new(16, 1 + self.below(3) as u128));
            let copied = Statement::new(Op::Assign {
                slot: COPIES,
                value: group,
            });
            let blocks = &mut self.program.bodies[CONTROL.index()].blocks;
            blocks[0].statements.push(copied);
        }
        if self.chance(30) {
            let extracts = STACK.map(|header| {
                Statement::new(Op::Extract {
                    header: HeaderId(header),
                    varbit_bits: None,
                })
            });
            let parser = &mut self.program.bodies[PARSER.index()].blocks;
            parser[0].statements.splice(0..0, extracts);
        }
        let roles = [
            (Role::Parser, PARSER),
            (Role::VerifyChecksum, BodyId(3)),
            (Role::Ingress, CONTROL),
            (Role::Egress, BodyId(3)),
            (Role::ComputeChecksum, BodyId(3)),
            (Role::Deparser, DEPARSER),
        ];
        self.program.stages = roles.into_iter().collect();
    }

    fn action(&mut self, index: usize) {
        let widths: Vec<u32> = (0..self.below(3)).map(|_| self.pick(WIDTHS)).collect();
        self.params = widths.clone();
        let mut blocks = self.blocks(BodyKind::Action);
        if index == 0 {
            // More statements than are copied.
            let more = (0..70).map(|_| Statement::new(self.assign()));
            let more: Vec<Statement> = more.collect();
            blocks[0].statements.extend(more);
        }
        let body = BodyId(self.program.bodies.len() as u32);
        self.program.bodies.push(Body {
            name: format!("a{index}"),
            kind: BodyKind::Action,
            blocks,
        });
        let param = |(width, number)| ActionParam {
            name: format!("p{number}"),
            width,
            signed: false,
        };
        self.program.actions.push(Action {
            name: format!("a{index}"),
            params: widths.into_iter().zip(0..).map(param).collect(),
            body,
        });
        self.params.clear();
    }

    fn table(&mut self, index: usize, actions: std::ops::Range<u32>) {
        let keys = (0..1 + self.below(3))
            .map(|number| {
                let width = self.pick(WIDTHS);
                TableKey {
                    name: format!("k{number}"),
                    expr: self.expr(width, 2),
                    width,
                    match_kind: MatchKind::Exact,
                }
            })
            .collect();
        let listed = |action| TableAction {
            action: ActionId(action),
            table_only: false,
            default_only: false,
        };
        let args = self.program.actions[actions.start as usize]
            .params
            .iter()
            .map(|param| Bits::zero(param.width))
            .collect();
        self.program.tables.push(Table {
            name: format!("t{index}"),
            keys,
            actions: actions.map(listed).collect(),
            default_action: ActionCall { action: 0, args },
            default_is_const: false,
            entries: Vec::new(),
            entries_are_const: false,
            size: 8,
            implementation: None,
            empty_group_action: None,
            direct_counter: None,
            direct_meter: None,
            supports_timeout: false,
            deletes_idle: false,
            expire_seconds: Vec::new(),
            is_hidden: false,
            location: Location::default(),
        });
    }

    /// Reachable blocks: each is followed by the next one, and possibly by others, including earlier ones.
    fn blocks(&mut self, kind: BodyKind) -> Vec<Block> {
        if self.plain && kind == BodyKind::Deparser && self.chance(60) {
            let mut header = || Op::Emit {
                header: HeaderId(self.below(4) as u32),
            };
            let statements = (0..4).map(|_| Statement::new(header())).collect();
            return vec![block(statements, Terminator::Return)];
        }
        let count = 1 + self.below(5);
        let blocks = (0..count)
            .map(|index| {
                let statements = (0..self.below(6)).map(|_| Statement::new(self.op(kind))).collect();
                let terminator = if index + 1 == count {
                    self.last_terminator(kind)
                } else {
                    self.terminator(kind, BlockId(index as u32 + 1), count)
                };
                block(statements, terminator)
            })
            .collect();
        if kind == BodyKind::Control && self.choices && self.ordered && !self.pure && self.chance(30) {
            self.after_choice(blocks)
        } else {
            blocks
        }
    }

    fn any_block(&mut self, kind: BodyKind, next: BlockId, count: usize) -> BlockId {
        let all = self.chance(10) && (!self.plain || kind == BodyKind::Parser);
        let first = if all { 0 } else { next.index() };
        BlockId((first + self.below(count - first)) as u32)
    }

    fn last_terminator(&mut self, kind: BodyKind) -> Terminator {
        match kind {
            BodyKind::Parser if self.chance(if self.plain { 2 } else { 20 }) => Terminator::Reject(self.expr(32, 1)),
            BodyKind::Control | BodyKind::Action if self.chance(20) => Terminator::Exit,
            _ => Terminator::Return,
        }
    }

    fn terminator(&mut self, kind: BodyKind, next: BlockId, count: usize) -> Terminator {
        match self.below(4) {
            0 => Terminator::Jump(next),
            1 => Terminator::Branch {
                condition: self.decision(),
                then_block: next,
                else_block: self.any_block(kind, next, count),
            },
            2 if kind == BodyKind::Control => Terminator::Apply {
                table: TableId(if self.pure { 2 } else { self.below(2) as u32 }),
                hit: self.chance(50).then_some(CONDITION),
                action_run: self.chance(50).then_some(NUMBER),
                next,
            },
            _ => self.select(kind, next, count),
        }
    }

    /// A condition, often one that implies something about another condition.
    fn decision(&mut self) -> Expr {
        let small = [COPIES, SlotId(5), SlotId(6)];
        let is = |generator: &mut Self| {
            let slot = generator.pick(&small);
            let value = Bits::new(generator.program.slot(slot).width, generator.below(3) as u128);
            let operator = generator.pick(&[BinaryOp::Eq, BinaryOp::Eq, BinaryOp::Ne]);
            Expr::Binary(operator, Box::new(Expr::Slot(slot)), Box::new(Expr::Const(value)))
        };
        match self.below(6) {
            0 | 1 => is(self),
            2 => Expr::Unary(UnaryOp::Not, Box::new(is(self))),
            3 => {
                let operator = self.pick(&[BinaryOp::And, BinaryOp::Or]);
                Expr::Binary(operator, Box::new(is(self)), Box::new(is(self)))
            }
            _ => self.expr(1, 3),
        }
    }

    fn select(&mut self, kind: BodyKind, next: BlockId, count: usize) -> Terminator {
        if kind == BodyKind::Parser && self.chance(15) {
            let keys = vec![self.expr(8, 1), self.expr(100, 1)];
            let component = |component| KeySet::ValueSet {
                set: ValueSetId(0),
                component,
            };
            let case = SelectCase {
                keysets: vec![component(0), component(1)],
                target: self.any_block(kind, next, count),
            };
            return Terminator::Select {
                keys,
                cases: vec![case],
                default: next,
            };
        }
        let widths: Vec<u32> = (0..1 + self.below(2))
            .map(|_| self.pick(&[1, 8, 8, 16, 64, 100, 200]))
            .collect();
        let simple = self.chance(50);
        let cases = (0..self.below(5))
            .map(|_| SelectCase {
                keysets: widths.iter().map(|&width| self.keyset(width, simple)).collect(),
                target: self.any_block(kind, next, count),
            })
            .collect();
        Terminator::Select {
            keys: widths.iter().map(|&width| self.expr(width, 2)).collect(),
            cases,
            default: next,
        }
    }

    fn keyset(&mut self, width: u32, simple: bool) -> KeySet {
        let choice = if simple { self.below(8) / 7 } else { self.below(6) };
        match choice {
            0 => KeySet::Exact(Bits::new(width, self.below(4) as u128)),
            1 => KeySet::Any,
            2 => KeySet::Mask {
                value: self.bits(width),
                mask: self.bits(width),
            },
            3 => KeySet::Range {
                low: self.bits(width),
                high: self.bits(width),
            },
            4 => KeySet::Equals(self.expr(width, 1)),
            _ => KeySet::EqualsMasked {
                value: self.expr(width, 1),
                mask: self.expr(width, 1),
            },
        }
    }
}

fn block(statements: Vec<Statement>, terminator: Terminator) -> Block {
    Block {
        label: None,
        statements,
        terminator,
        location: Location::default(),
    }
}
