//! Select: the first case that matches.
//!
//! One key of at most 64 bits that is compared with constants becomes a search; otherwise there is a chain of tests.
//! Fields of the packet are compared with constants in memory order, several at once: see [`super::fused_compare`].

use super::Translator;
use super::value::{ActionData, Place, Value};
use crate::runtime::{self, ValueSetShape};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use cranelift_frontend::Switch;
use forebay_bits::Bits;
use forebay_ir::{BinaryOp, Expr, KeySet, ValueSetId};

/// A key is compared with up to this many constants one by one, and searched for among more.
const COMPARED_MAX: usize = 3;

impl Translator<'_, '_, '_> {
    /// Jumps to the target of the first matching case, or to `default`.
    pub(super) fn select(
        &mut self,
        keys: &[Expr],
        cases: &[(&[KeySet], ir::Block)],
        default: ir::Block,
        data: Option<&ActionData>,
    ) {
        let values: Vec<Value> = keys.iter().map(|key| self.value(key, data)).collect();
        if let [
            Value {
                place: Place::Word(key),
                ..
            },
        ] = values[..]
            && let Some((switch, otherwise)) = search(cases, default)
        {
            if switch.entries().len() > COMPARED_MAX {
                return switch.emit(&mut self.builder, key, otherwise);
            }
            return self.select_by_comparing(values[0], switch, otherwise);
        }
        for &(keysets, target) in cases {
            let condition = match self.case_in_packet(keys, keysets) {
                Some(condition) => Some(condition),
                None => self.case_condition(keysets, &values, data),
            };
            let Some(condition) = condition else {
                self.ins().jump(target, &[]);
                return;
            };
            self.go_on_unless(condition, target);
        }
        self.ins().jump(default, &[]);
    }

    /// Jumps to the target of one of a few distinct constants, by comparisons.
    fn select_by_comparing(&mut self, key: Value, switch: Switch, otherwise: ir::Block) {
        let mut cases: Vec<(u128, ir::Block)> = switch
            .entries()
            .iter()
            .map(|(number, block)| (*number, *block))
            .collect();
        cases.sort_by_key(|(number, _)| *number);
        for (number, target) in cases {
            let number = self.constant(&Bits::new(key.width, number));
            let equal = self.equal(key, number);
            self.go_on_unless(equal, target);
        }
        self.ins().jump(otherwise, &[]);
    }

    /// Whether all keysets match; `None` when they match any keys.
    fn case_condition(&mut self, keysets: &[KeySet], keys: &[Value], data: Option<&ActionData>) -> Option<ir::Value> {
        let mut all = None;
        for position in 0..keysets.len() {
            if let Some(one) = self.keyset_condition(keysets, keys, position, data) {
                all = Some(match all {
                    Some(all) => self.ins().band(all, one),
                    None => one,
                });
            }
        }
        all
    }

    /// Whether the keyset at a position matches its key; `None` when it matches any key.
    fn keyset_condition(
        &mut self,
        keysets: &[KeySet],
        keys: &[Value],
        position: usize,
        data: Option<&ActionData>,
    ) -> Option<ir::Value> {
        let key = keys[position];
        Some(match &keysets[position] {
            KeySet::Any => return None,
            KeySet::Exact(value) => {
                let value = self.constant(value);
                self.equal(key, value)
            }
            KeySet::Mask { value, mask } => {
                let (value, mask) = (self.constant(&value.and(mask)), self.constant(mask));
                let masked = self.binary(BinaryOp::And, key, mask);
                self.equal(masked, value)
            }
            KeySet::Range { low, high } => {
                let (low, high) = (self.constant(low), self.constant(high));
                let above = self.comparison(BinaryOp::Le, low, key);
                let below = self.comparison(BinaryOp::Le, key, high);
                self.ins().band(above, below)
            }
            KeySet::Equals(expr) => {
                let value = self.value(expr, data);
                self.equal(key, value)
            }
            KeySet::EqualsMasked { value, mask } => {
                let (value, mask) = (self.value(value, data), self.value(mask, data));
                let value = self.binary(BinaryOp::And, value, mask);
                let masked = self.binary(BinaryOp::And, key, mask);
                self.equal(masked, value)
            }
            // One member must match all components, so the first component tests all of them.
            KeySet::ValueSet { set, component: 0 } => {
                let following = keysets[position..].iter().zip(0..);
                let count = following
                    .take_while(|(keyset, index)| is_component(keyset, *set, *index))
                    .count();
                self.value_set_condition(*set, &keys[position..position + count])
            }
            KeySet::ValueSet { .. } => return None,
        })
    }

    fn value_set_condition(&mut self, set: ValueSetId, components: &[Value]) -> ir::Value {
        let widths = components.iter().map(|component| component.width).collect();
        let shape = self.environment.pool.keep(ValueSetShape { set, widths });
        let shape = self.pointer(shape);
        let components = self.store_all(components);
        let contains = self.call_for_result(runtime::VALUE_SET_CONTAINS, &[self.context, shape, components]);
        self.ins().icmp_imm_u(IntCC::NotEqual, contains, 0)
    }
}

fn is_component(keyset: &KeySet, of: ValueSetId, index: u32) -> bool {
    matches!(keyset, KeySet::ValueSet { set, component } if *set == of && *component == index)
}

/// The cases of one key as a search, if all are constants, and the target if none is found.
fn search(cases: &[(&[KeySet], ir::Block)], default: ir::Block) -> Option<(Switch, ir::Block)> {
    let mut switch = Switch::new();
    for &(keysets, target) in cases {
        match keysets {
            [KeySet::Any] => return Some((switch, target)),
            [KeySet::Exact(value)] => {
                let value = value.to_u128();
                if !switch.entries().contains_key(&value) {
                    switch.set_entry(value, target);
                }
            }
            _ => return None,
        }
    }
    Some((switch, default))
}
