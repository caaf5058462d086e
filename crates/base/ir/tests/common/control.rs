//! Random valid controls over metadata and local slots, and a direct execution of them.

use crate::common::Choices;
use forebay_bits::Bits;
use forebay_ir::*;

/// Widths of the slots; each has two metadata slots and three local ones.
const WIDTHS: &[u32] = &[1, 8, 130];
const SLOTS_PER_WIDTH: u32 = 5;
const METADATA_PER_WIDTH: u32 = 2;

/// The most blocks that are executed.
const MAX_STEPS: usize = 60;

/// A program of two controls, which share some local slots.
pub fn program(choices: &mut Choices) -> Program {
    let mut program = Program::new(Architecture::V1Model);
    for width in WIDTHS {
        for index in 0..SLOTS_PER_WIDTH {
            let kind = if index < METADATA_PER_WIDTH {
                SlotKind::Metadata
            } else {
                SlotKind::Local
            };
            program.slots.push(Slot {
                name: format!("s{width}_{index}"),
                width: *width,
                signed: false,
                kind,
            });
        }
    }
    for name in ["A", "B"] {
        let count = 1 + choices.below(7);
        let blocks = (0..count).map(|_| block(choices, count)).collect();
        program.bodies.push(Body {
            name: name.to_owned(),
            kind: BodyKind::Control,
            blocks,
        });
    }
    program
}

/// The values of the metadata slots after both controls (the first one twice, because actions run more than once), and
/// whether the controls ended.
pub fn run(program: &Program, input: u64) -> (Vec<Bits>, bool) {
    let inputs = &mut Choices::new(input);
    let initial = |slot: &Slot, inputs: &mut Choices| match slot.kind {
        SlotKind::Local => Bits::zero(slot.width),
        _ => Bits::new(slot.width, u128::from(inputs.bits())),
    };
    let mut slots: Vec<Bits> = program.slots.iter().map(|slot| initial(slot, inputs)).collect();
    let ended = [0, 0, 1]
        .into_iter()
        .all(|body| execute(&program.bodies[body], &mut slots));
    let kept = slots
        .into_iter()
        .zip(&program.slots)
        .filter(|(_, slot)| slot.kind == SlotKind::Metadata);
    // A control that does not end was stopped at a point that passes may move.
    if ended {
        (kept.map(|(value, _)| value).collect(), true)
    } else {
        (Vec::new(), false)
    }
}

fn execute(body: &Body, slots: &mut [Bits]) -> bool {
    let mut at = BlockId(0);
    for _ in 0..MAX_STEPS {
        let block = &body.blocks[at.index()];
        for statement in &block.statements {
            if let Op::Assign { slot, value } = &statement.op {
                slots[slot.index()] = evaluate(value, slots);
            }
        }
        at = match &block.terminator {
            Terminator::Jump(next) => *next,
            Terminator::Branch {
                condition,
                then_block,
                else_block,
            } => {
                if evaluate(condition, slots).is_zero() {
                    *else_block
                } else {
                    *then_block
                }
            }
            Terminator::Select { keys, cases, default } => {
                let keys: Vec<Bits> = keys.iter().map(|key| evaluate(key, slots)).collect();
                let matches =
                    |case: &&SelectCase| keys.iter().zip(&case.keysets).all(|(k, set)| contains(set, k, slots));
                cases.iter().find(matches).map_or(*default, |case| case.target)
            }
            _ => return true,
        };
    }
    false
}

fn contains(keyset: &KeySet, key: &Bits, slots: &[Bits]) -> bool {
    match keyset {
        KeySet::Any => true,
        KeySet::Exact(value) => key == value,
        KeySet::Mask { value, mask } => key.and(mask) == value.and(mask),
        KeySet::Range { low, high } => key.cmp_unsigned(low).is_ge() && key.cmp_unsigned(high).is_le(),
        KeySet::Equals(value) => *key == evaluate(value, slots),
        KeySet::EqualsMasked { .. } | KeySet::ValueSet { .. } => unreachable!("not generated"),
    }
}

fn evaluate(expr: &Expr, slots: &[Bits]) -> Bits {
    match expr {
        Expr::Const(value) => value.clone(),
        Expr::Slot(slot) => slots[slot.index()].clone(),
        Expr::Unary(op, operand) => op.apply(&evaluate(operand, slots)),
        Expr::Binary(op, left, right) => op.apply(&evaluate(left, slots), &evaluate(right, slots)),
        Expr::Slice { operand, hi, lo } => evaluate(operand, slots).slice(*hi, *lo),
        Expr::Concat(high, low) => Bits::concat(&evaluate(high, slots), &evaluate(low, slots)),
        Expr::ZeroExtend(width, operand) => evaluate(operand, slots).zext(*width),
        Expr::SignExtend(width, operand) => evaluate(operand, slots).sext(*width),
        Expr::Truncate(width, operand) => evaluate(operand, slots).truncate(*width),
        Expr::Mux {
            condition,
            then_value,
            else_value,
        } => evaluate(
            if evaluate(condition, slots).is_zero() {
                else_value
            } else {
                then_value
            },
            slots,
        ),
        Expr::Param { .. } => unreachable!("not generated"),
    }
}

fn block(c: &mut Choices, blocks: u32) -> Block {
    let statements = c.many(4, |c| {
        let width = c.pick(WIDTHS);
        Statement::new(Op::Assign {
            slot: slot(c, width),
            value: expr(c, width, 3),
        })
    });
    let label = if c.below(6) == 0 {
        Some("state".to_owned())
    } else {
        None
    };
    Block {
        label,
        statements,
        terminator: terminator(c, blocks),
        location: Location::default(),
    }
}

fn terminator(c: &mut Choices, blocks: u32) -> Terminator {
    let target = |c: &mut Choices| BlockId(c.below(blocks));
    match c.below(8) {
        0 | 1 => Terminator::Jump(target(c)),
        2 | 3 => Terminator::Branch {
            condition: expr(c, 1, 2),
            then_block: target(c),
            else_block: target(c),
        },
        4 | 5 => {
            let widths = [c.pick(WIDTHS), c.pick(WIDTHS)];
            let keys = widths.iter().map(|width| expr(c, *width, 1)).collect();
            let case = |c: &mut Choices| SelectCase {
                keysets: widths.iter().map(|width| keyset(c, *width)).collect(),
                target: target(c),
            };
            Terminator::Select {
                keys,
                cases: c.many(3, case),
                default: target(c),
            }
        }
        6 => Terminator::Return,
        _ => Terminator::Exit,
    }
}

fn keyset(c: &mut Choices, width: u32) -> KeySet {
    match c.below(5) {
        0 => KeySet::Any,
        1 => KeySet::Exact(constant(c, width)),
        2 => KeySet::Mask {
            value: constant(c, width),
            mask: constant(c, width),
        },
        3 => KeySet::Range {
            low: constant(c, width),
            high: constant(c, width),
        },
        _ => KeySet::Equals(expr(c, width, 1)),
    }
}

fn slot(c: &mut Choices, width: u32) -> SlotId {
    let group = WIDTHS
        .iter()
        .position(|candidate| *candidate == width)
        .expect("a width of a slot") as u32;
    SlotId(group * SLOTS_PER_WIDTH + c.below(SLOTS_PER_WIDTH))
}

fn constant(c: &mut Choices, width: u32) -> Bits {
    let any = c.bits();
    let value = c.pick(&[0, 1, 2, u64::MAX, any]);
    if value == u64::MAX {
        Bits::ones(width)
    } else {
        Bits::new(width, u128::from(value))
    }
}

/// An expression of one of the slots' widths.
fn expr(c: &mut Choices, width: u32, depth: u32) -> Expr {
    let operand = |c: &mut Choices, width| Box::new(expr(c, width, depth - 1));
    match if depth == 0 { c.below(2) } else { c.below(11) } {
        0 => Expr::Const(constant(c, width)),
        1 | 2 => Expr::Slot(slot(c, width)),
        3 => Expr::Unary(c.pick(&[UnaryOp::Not, UnaryOp::Negate]), operand(c, width)),
        4 | 5 => binary(c, width, depth),
        6 => Expr::Mux {
            condition: operand(c, 1),
            then_value: operand(c, width),
            else_value: operand(c, width),
        },
        7 => {
            let from = c.pick(&[130, 130, width]);
            let lo = c.below(from - width + 1);
            Expr::Slice {
                operand: operand(c, from),
                hi: lo + width - 1,
                lo,
            }
        }
        8 => Expr::Truncate(width, operand(c, c_wider(width))),
        9 => {
            let extend = if c.flag() { Expr::ZeroExtend } else { Expr::SignExtend };
            extend(width, operand(c, if width == 130 { 8 } else { width }))
        }
        _ if width == 8 => {
            let low = Expr::Slice {
                operand: operand(c, 8),
                hi: 6,
                lo: 0,
            };
            Expr::Concat(operand(c, 1), Box::new(low))
        }
        _ => Expr::Slot(slot(c, width)),
    }
}

fn c_wider(width: u32) -> u32 {
    if width == 1 { 8 } else { 130 }
}

fn binary(c: &mut Choices, width: u32, depth: u32) -> Expr {
    use BinaryOp::*;
    let operand = |c: &mut Choices, width| Box::new(expr(c, width, depth - 1));
    if width == 1 && c.flag() {
        let compared = c.pick(WIDTHS);
        let op = c.pick(&[Eq, Ne, Lt, Le, LtSigned, LeSigned]);
        return Expr::Binary(op, operand(c, compared), operand(c, compared));
    }
    let all = [
        Add,
        Sub,
        Mul,
        Div,
        Mod,
        SatAddUnsigned,
        SatAddSigned,
        SatSubUnsigned,
        SatSubSigned,
        And,
        Or,
        Xor,
        Shl,
        Shr,
        ShrSigned,
    ];
    let op = c.pick(&all);
    let right = if op.is_shift() { c.pick(WIDTHS) } else { width };
    Expr::Binary(op, operand(c, width), operand(c, right))
}
