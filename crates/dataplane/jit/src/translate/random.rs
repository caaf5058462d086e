//! Random numbers: the same as those of [`forebay_exec::Random`].
//!
//! On the fast path, the generator is set to the packet's [seed](Seed) after the parser if ingress draws
//! numbers, and again before egress if egress does.

use super::Translator;
use super::value::ActionData;
use crate::route::Route;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use forebay_exec::{Random, Seed};
use forebay_ir::{Expr, SlotId};

const _: () = assert!(size_of::<Random>() == size_of::<u64>(), "a generator is its state");

impl Translator<'_, '_, '_> {
    /// After the parser: sets the generator for ingress.
    pub(super) fn begin_random_numbers(&mut self, route: &Route) {
        if route.draws_random_numbers(self.program)[0] {
            let seed = self.packet_seed();
            self.store(seed, self.context, in_context!(random));
        }
    }

    /// Sets the generator for egress of a packet, or of a copy of it, at a port.
    pub(super) fn begin_random_numbers_of_egress(&mut self, route: &Route, port: ir::Value, instance: ir::Value) {
        if !route.draws_random_numbers(self.program)[1] {
            return;
        }
        let seed = self.packet_seed();
        let seed = self.seed_in_egress(seed, port);
        let copy = self.ins().imul_imm_u(instance, Seed::INSTANCE as i64);
        let seed = self.ins().iadd(seed, copy);
        self.store(seed, self.context, in_context!(random));
    }

    /// The seed of a packet for egress at a port, from its seed for ingress: see [`Seed::in_egress`].
    pub(super) fn seed_in_egress(&mut self, seed: ir::Value, port: ir::Value) -> ir::Value {
        let [factor, egress] = [Seed::PORT, Seed::EGRESS].map(|number| self.number(number as i64));
        let place = self.ins().imul(port, factor);
        let seed = self.ins().iadd(seed, egress);
        self.ins().iadd(seed, place)
    }

    /// The seed of the current packet: that of the burst's first packet, plus an offset for the packet's index.
    fn packet_seed(&mut self) -> ir::Value {
        let place = self.place_in_burst();
        let offset = self.ins().imul_imm_u(place, Seed::PACKET as i64);
        let first = self.load(self.context, in_context!(random_seed));
        self.ins().iadd(first, offset)
    }

    /// Draws a number into a slot. Reversed bounds draw none, and leave the slot unchanged.
    pub(super) fn random(&mut self, low: &Expr, high: &Expr, slot: SlotId, data: Option<&ActionData>) {
        let (low, high) = (self.saturated_of(low, data), self.saturated_of(high, data));
        let in_order = self.ins().icmp(IntCC::UnsignedLessThanOrEqual, low, high);
        self.when(in_order, |translator| {
            let number = translator.number_between(low, high);
            translator.write_number(slot, number);
        });
    }

    /// [`Random::between`] of bounds that are in order.
    fn number_between(&mut self, low: ir::Value, high: ir::Value) -> ir::Value {
        let state = self.load(self.context, in_context!(random));
        let increment = self.number(Random::INCREMENT as i64);
        let first = self.ins().iadd(state, increment);
        let second = self.ins().iadd(first, increment);
        self.store(second, self.context, in_context!(random));
        let (upper, lower) = (self.mixed(first), self.mixed(second));

        let last = self.ins().isub(high, low);
        let count = self.ins().iadd_imm_u(last, 1);
        let below = self.ins().umulhi(lower, count);
        let product_low = self.ins().imul(upper, count);
        let product_high = self.ins().umulhi(upper, count);
        let sum = self.ins().iadd(product_low, below);
        let carries = self.ins().icmp(IntCC::UnsignedLessThan, sum, below);
        let carry = self.ins().uextend(types::I64, carries);
        let offset = self.ins().iadd(product_high, carry);
        // All 2^64 numbers, whose count is 0 in a word: the upper part as it is.
        let of_all = self.ins().icmp_imm_u(IntCC::Equal, count, 0);
        let offset = self.ins().select(of_all, upper, offset);
        self.ins().iadd(low, offset)
    }

    /// The number that a state of the generator gives.
    fn mixed(&mut self, state: ir::Value) -> ir::Value {
        Random::MIX.into_iter().fold(state, |mixed, (shift, factor)| {
            let shifted = self.ins().ushr_imm_u(mixed, i64::from(shift));
            let mixed = self.ins().bxor(mixed, shifted);
            match factor {
                Some(factor) => self.ins().imul_imm_u(mixed, factor as i64),
                None => mixed,
            }
        })
    }
}
