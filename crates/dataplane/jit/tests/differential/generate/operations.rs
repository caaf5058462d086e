//! Operations of random programs.

use super::{COPIES, Generator, NUMBER, WIDTHS};
use forebay_bits::Bits;
use forebay_ir::{
    BinaryOp, BodyKind, CloneKind, CounterId, DataItem, DigestId, Expr, HeaderId, MeterId, Op, RegisterId, SlotId,
    SlotKind,
};

impl Generator<'_> {
    pub(super) fn assign(&mut self) -> Op {
        let slot = self.any_slot();
        let width = self.program.slot(slot).width;
        let value = self.expr(width, 4);
        Op::Assign { slot, value }
    }

    /// Assigns a small number to a slot that conditions test: a group in ingress, or a header's validity.
    fn small_assignment(&mut self, kind: BodyKind) -> Op {
        let valid = self.pick(&[0, 1, 2, 3]);
        let valid = self.program.headers[valid].valid;
        let slot = match kind {
            BodyKind::Control if self.plain && !self.pure && self.chance(40) => COPIES,
            BodyKind::Parser => SlotId(5),
            _ => self.pick(&[SlotId(5), SlotId(6), valid]),
        };
        let width = self.program.slot(slot).width;
        let value = Expr::Const(Bits::new(width, self.below(if width == 1 { 2 } else { 4 }) as u128));
        Op::Assign { slot, value }
    }

    /// A slot that programs may write. The length of a varbit field must be a number of bits that fits.
    fn any_slot(&mut self) -> SlotId {
        loop {
            let slot = SlotId(self.below(self.program.slots.len()) as u32);
            if self.plain && slot == COPIES {
                continue;
            }
            if !matches!(self.program.slot(slot).kind, SlotKind::VarbitLength(_)) {
                return slot;
            }
        }
    }

    pub(super) fn op(&mut self, kind: BodyKind) -> Op {
        if self.chance(10) {
            return self.small_assignment(kind);
        }
        if self.chance(5) && kind == BodyKind::Control {
            return self.chosen_element();
        }
        if self.chance(40) {
            return match kind {
                BodyKind::Parser => self.parser_op(),
                BodyKind::Deparser => Op::Emit {
                    header: HeaderId(self.below(4) as u32),
                },
                BodyKind::Control | BodyKind::Action if self.plain && self.choices && self.chance(20) => {
                    self.send_back()
                }
                BodyKind::Control | BodyKind::Action if self.plain => Op::Truncate {
                    bytes: self.expr(32, 1),
                },
                BodyKind::Control | BodyKind::Action => self.request(),
            };
        }
        if self.chance(40) && !(self.plain && kind == BodyKind::Parser) {
            return self.extern_op(kind);
        }
        self.assign()
    }

    fn parser_op(&mut self) -> Op {
        match self.below(6) {
            0 => Op::Advance {
                bits: match self.below(3) {
                    0 => Expr::Const(Bits::new(32, 8 * self.below(4) as u128)),
                    1 => Expr::Const(Bits::new(32, self.below(20) as u128)),
                    _ => self.length(),
                },
            },
            1 => Op::Lookahead { slot: self.any_slot() },
            2 => Op::PacketLength { slot: NUMBER },
            _ => {
                let header = HeaderId(self.below(4) as u32);
                let has_varbit = self.program.headers[header.index()]
                    .fields
                    .iter()
                    .any(|field| field.length.is_some());
                let varbit_bits = has_varbit.then(|| self.length());
                Op::Extract { header, varbit_bits }
            }
        }
    }

    /// A number of bits, mostly a multiple of 8.
    fn length(&mut self) -> Expr {
        let small = Expr::ZeroExtend(32, Box::new(self.expr(7, 1)));
        match self.below(4) {
            0 => small,
            1 => self.expr(65, 1),
            _ => Expr::Binary(BinaryOp::Shl, Box::new(small), Box::new(Expr::Const(Bits::new(8, 3)))),
        }
    }

    fn data(&mut self) -> Vec<DataItem> {
        let varbits: Vec<(SlotId, SlotId)> = self
            .program
            .headers
            .iter()
            .flat_map(|header| &header.fields)
            .filter_map(|field| Some((field.slot, field.length?)))
            .collect();
        let use_varbit = self.chance(15);
        (0..1 + self.below(6))
            .map(|_| match varbits.first() {
                Some(&(value, length)) if use_varbit => DataItem::Varbit { value, length },
                _ => {
                    let width = self.pick(&[1, 4, 8, 12, 16, 16, 32, 48, 64, 65, 128, 200, 600]);
                    DataItem::Value(self.expr(width, 1))
                }
            })
            .collect()
    }

    fn extern_op(&mut self, kind: BodyKind) -> Op {
        let register = RegisterId(self.below(2) as u32);
        let width = self.program.registers[register.index()].width;
        let choice = match kind {
            _ if !self.plain => self.below(9),
            BodyKind::Deparser => 5 + self.below(4),
            _ if self.pure => self.pick(&[6, 7, 8]),
            _ if self.ordered => self.below(9),
            _ => self.pick(&[0, 2, 5, 6, 7, 8]),
        };
        match choice {
            0 => {
                let slot = self.slot(width, SlotKind::Local);
                Op::RegisterRead {
                    register,
                    index: self.index(),
                    slot,
                }
            }
            1 => Op::RegisterWrite {
                register,
                index: self.index(),
                value: self.expr(width, 2),
            },
            2 => Op::Count {
                counter: CounterId(0),
                index: self.index(),
            },
            3 => Op::ExecuteMeter {
                meter: MeterId(0),
                index: self.index(),
                before: (self.choices && self.chance(50)).then(|| self.expr(8, 1)),
                slot: self.any_slot(),
            },
            4 if !self.plain => {
                let slot = SlotId(self.below(WIDTHS.len()) as u32);
                let width = self.program.slot(slot).width;
                Op::Random {
                    low: self.expr(width, 1),
                    high: self.expr(width, 1),
                    slot,
                }
            }
            5 if self.chance(30) => Op::Assert {
                condition: self.expr(1, 2),
                text: String::new(),
            },
            6 if kind != BodyKind::Parser => Op::VerifyChecksum {
                condition: self.expr(1, 1),
                data: self.data(),
                checksum: {
                    let width = self.pick(&[8, 16, 64, 100, 200]);
                    self.expr(width, 1)
                },
                algorithm: self.algorithm(),
                payload: self.chance(30),
            },
            7 if kind != BodyKind::Parser => Op::UpdateChecksum {
                condition: self.expr(1, 1),
                data: self.data(),
                slot: self.any_slot(),
                algorithm: self.algorithm(),
                payload: self.chance(30),
            },
            _ => {
                let (base, max) = (self.pick(WIDTHS), self.pick(WIDTHS));
                Op::Hash {
                    algorithm: self.algorithm(),
                    data: self.data(),
                    range: if self.chance(60) {
                        Some((self.expr(base, 1), self.expr(max, 1)))
                    } else {
                        None
                    },
                    slot: self.any_slot(),
                }
            }
        }
    }

    pub(super) fn index(&mut self) -> Expr {
        let width = self.pick(&[3, 8, 32, 64, 70, 200]);
        self.expr(width, 2)
    }

    fn send_back(&mut self) -> Op {
        let field_list = if self.chance(50) { Some(self.expr(8, 1)) } else { None };
        if self.chance(30) {
            Op::Resubmit { field_list }
        } else {
            Op::Recirculate { field_list }
        }
    }

    fn request(&mut self) -> Op {
        let field_list = if self.chance(50) { Some(self.expr(8, 1)) } else { None };
        match self.below(5) {
            0 => Op::Clone {
                kind: CloneKind::EgressToEgress,
                session: self.expr(32, 1),
                field_list,
            },
            1 => Op::Resubmit { field_list },
            2 => Op::Recirculate { field_list },
            3 => {
                let width = self.pick(&[16, 32, 64]);
                Op::Truncate {
                    bytes: self.expr(width, 1),
                }
            }
            _ => Op::Digest {
                digest: DigestId(0),
                data: vec![self.expr(9, 2), self.expr(70, 2), self.expr(200, 2)],
            },
        }
    }
}
