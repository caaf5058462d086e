//! Expressions of random programs.

use super::{Generator, WIDTHS};
use forebay_bits::Bits;
use forebay_ir::{BinaryOp, Expr, SlotId, UnaryOp};

const BINARY: &[BinaryOp] = &[
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::Mod,
    BinaryOp::SatAddUnsigned,
    BinaryOp::SatAddSigned,
    BinaryOp::SatSubUnsigned,
    BinaryOp::SatSubSigned,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Xor,
    BinaryOp::Shl,
    BinaryOp::Shr,
    BinaryOp::ShrSigned,
];

const COMPARISONS: &[BinaryOp] = &[
    BinaryOp::Eq,
    BinaryOp::Ne,
    BinaryOp::Lt,
    BinaryOp::Le,
    BinaryOp::LtSigned,
    BinaryOp::LeSigned,
];

impl Generator<'_> {
    pub(super) fn bits(&mut self, width: u32) -> Bits {
        match self.below(4) {
            0 => Bits::new(width, self.below(5) as u128),
            1 => Bits::ones(width).sub(&Bits::new(width, self.below(3) as u128)),
            _ => {
                let limbs: Vec<u64> = (0..width.div_ceil(64)).map(|_| self.random.next_u64()).collect();
                Bits::from_limbs(width, &limbs)
            }
        }
    }

    fn leaf(&mut self, width: u32) -> Expr {
        let param = self.params.iter().position(|&param| param == width);
        if let Some(index) = param
            && self.chance(50)
        {
            return Expr::Param {
                index: index as u32,
                width,
            };
        }
        let slots: Vec<u32> = (0..self.program.slots.len() as u32)
            .filter(|&slot| self.program.slots[slot as usize].width == width)
            .collect();
        if !slots.is_empty() && self.chance(75) {
            return Expr::Slot(SlotId(self.pick(&slots)));
        }
        Expr::Const(self.bits(width))
    }

    pub(super) fn expr(&mut self, width: u32, depth: u32) -> Expr {
        if depth == 0 {
            return self.leaf(width);
        }
        let operand = |generator: &mut Self, width| Box::new(generator.expr(width, depth - 1));
        match self.below(10) {
            0 => Expr::Unary(self.pick(&[UnaryOp::Not, UnaryOp::Negate]), operand(self, width)),
            1 | 2 => {
                let operator = self.pick(BINARY);
                let right = if operator.is_shift() {
                    self.pick(&[3, 8, 64, 70, 130])
                } else {
                    width
                };
                Expr::Binary(operator, operand(self, width), operand(self, right))
            }
            3 if width == 1 => {
                let of = self.pick(WIDTHS);
                Expr::Binary(self.pick(COMPARISONS), operand(self, of), operand(self, of))
            }
            3 | 4 => {
                let of = width + self.pick(&[0, 1, 8, 60, 64, 130]);
                let lo = self.below((of - width + 1) as usize) as u32;
                Expr::Slice {
                    operand: operand(self, of),
                    hi: lo + width - 1,
                    lo,
                }
            }
            5 if width > 1 => {
                let high = 1 + self.below(width as usize - 1) as u32;
                Expr::Concat(operand(self, high), operand(self, width - high))
            }
            6 => {
                let from = 1 + self.below(width as usize) as u32;
                Expr::ZeroExtend(width, operand(self, from))
            }
            7 => {
                let from = 1 + self.below(width as usize) as u32;
                Expr::SignExtend(width, operand(self, from))
            }
            8 => {
                let from = width + self.pick(&[0, 1, 30, 64, 100]);
                Expr::Truncate(width, operand(self, from))
            }
            9 => Expr::Mux {
                condition: operand(self, 1),
                then_value: operand(self, width),
                else_value: operand(self, width),
            },
            _ => self.leaf(width),
        }
    }
}
