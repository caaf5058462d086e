//! Elements of header stacks, selected by an index that is known only at run time.
//!
//! Lowering writes `stack[index].field` as a chain of choices: `index == 0 ? stack[0].field : index == 1 ? ...`. If
//! the fields are at equal distances in the packet, the chain becomes one load from a computed address. Lowering uses
//! the last element for any other index; then that is all. Another value for other indices needs a test of the index.

use super::Translator;
use super::value::{ActionData, Value};
use super::value_locations::{Address, Field};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use forebay_ir::{BinaryOp, Expr, SlotId};

/// Chains with fewer elements are not changed.
const ELEMENTS_MIN: usize = 3;

/// A chain of choices by an index, from 0 on.
struct Chain<'e> {
    index: SlotId,
    elements: Vec<SlotId>,
    /// The value for any other index.
    otherwise: &'e Expr,
}

/// Positions in the packet at equal distances.
struct Places {
    /// The first byte of the first position, and the distance to the next, in bytes.
    first: u64,
    distance: u64,
    /// Bits at each position, in whole bytes.
    width: u32,
}

impl Translator<'_, '_, '_> {
    /// The value of an expression that is an element of a stack in the packet.
    pub(super) fn element_of_stack(&mut self, expr: &Expr, action: Option<&ActionData>) -> Option<Value> {
        let chain = Chain::of(expr).filter(|chain| chain.elements.len() >= ELEMENTS_MIN)?;
        let index = self.word_of_slot(chain.index);
        if let Some(places) = chain.with_last().and_then(|elements| self.places(&elements)) {
            let last = self.number(chain.elements.len() as i64);
            let index = self.ins().umin(index, last);
            return Some(self.load_element(&places, index));
        }
        let places = self.places(&chain.elements)?;
        let kind = if places.width <= 64 { types::I64 } else { types::I128 };
        let result = self.builder.declare_var(kind);
        let is_element = self
            .ins()
            .icmp_imm_u(IntCC::UnsignedLessThan, index, chain.elements.len() as i64);
        self.either(
            is_element,
            |translator| {
                let value = translator.load_element(&places, index);
                translator.define(result, value);
            },
            |translator| {
                let value = translator.value(chain.otherwise, action);
                translator.define(result, value);
            },
        );
        let chosen = self.builder.use_var(result);
        Some(Value::register(places.width, chosen))
    }

    fn load_element(&mut self, places: &Places, index: ir::Value) -> Value {
        // Not before the test of the index, and not once for each use.
        let rests = std::mem::take(&mut self.path_mut().packet_rests);
        let offset = self.times(index, places.distance);
        let packet = self.packet();
        let first = self.address(packet, places.first as i32);
        let element = Field {
            address: Address::Known(self.ins().iadd(first, offset)),
            bytes: places.width / 8,
            first_bit: 0,
        };
        let value = self.load_field(&element, places.width);
        self.path_mut().packet_rests = rests;
        value
    }

    /// The positions of fields, if they are at equal distances. All fields are in the packet, so the load is within it
    /// for any index in range.
    fn places(&self, elements: &[SlotId]) -> Option<Places> {
        let width = self.program.slot(elements[0]).width;
        let starts = elements.iter().map(|slot| {
            let has_width = self.program.slot(*slot).width == width;
            first_byte(self.unchanged(*slot).filter(|_| has_width)?)
        });
        let starts = starts.collect::<Option<Vec<u64>>>()?;
        let distance = starts[1].checked_sub(starts[0])?;
        let are_equal = starts.windows(2).all(|pair| pair[0] + distance == pair[1]);
        let fits = (1..=128).contains(&width) && width.is_multiple_of(8);
        (are_equal && fits).then_some(Places {
            first: starts[0],
            distance,
            width,
        })
    }
}

/// The index of a field's first byte in the packet, if it is known and the field begins on a byte boundary.
fn first_byte(field: Field) -> Option<u64> {
    match field.address {
        Address::InPacket(bytes) if field.first_bit.is_multiple_of(8) => Some(bytes + u64::from(field.first_bit / 8)),
        _ => None,
    }
}

impl<'e> Chain<'e> {
    fn of(expr: &'e Expr) -> Option<Chain<'e>> {
        let (index, first) = (index_of_choice(expr)?.0, expr);
        let mut chain = Chain {
            index,
            elements: Vec::new(),
            otherwise: first,
        };
        while let Expr::Mux {
            then_value, else_value, ..
        } = chain.otherwise
        {
            let (Some((slot, number)), Expr::Slot(element)) = (index_of_choice(chain.otherwise), &**then_value) else {
                break;
            };
            if slot != index || number != chain.elements.len() as u64 {
                break;
            }
            chain.elements.push(*element);
            chain.otherwise = else_value;
        }
        Some(chain)
    }

    /// The elements, followed by the slot for any other index; `None` if the value for these is not in a slot.
    fn with_last(&self) -> Option<Vec<SlotId>> {
        match self.otherwise {
            Expr::Slot(last) => Some(self.elements.iter().chain([last]).copied().collect()),
            _ => None,
        }
    }
}

/// The slot and the number, if an expression is a choice by whether they are equal.
fn index_of_choice(expr: &Expr) -> Option<(SlotId, u64)> {
    let Expr::Mux { condition, .. } = expr else { return None };
    let Expr::Binary(BinaryOp::Eq, left, right) = &**condition else {
        return None;
    };
    match (&**left, &**right) {
        (Expr::Slot(slot), Expr::Const(number)) if number.width() <= 64 => Some((*slot, number.to_u64())),
        _ => None,
    }
}
