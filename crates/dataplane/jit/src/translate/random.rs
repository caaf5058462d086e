//! Random numbers: the same as those of [`forebay_exec::Random`].
//!
//! On the fast path, the generator is set to the packet's [seed](crate::Seed) after the parser if ingress draws
//! numbers, and again before egress if egress does. Numbers from a constant range of at most 2^32 numbers, or of a
//! power of two, are drawn without a call.

use super::Translator;
use super::value::ActionData;
use crate::context::Context;
use crate::route::Route;
use crate::runtime;
use crate::seed;
use cranelift_codegen::ir::{self, InstBuilder};
use forebay_exec::Random;
use forebay_ir::{Expr, SlotId};
use std::mem::offset_of;

/// The increment of the generator, and the factors of its mixing function.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
const FACTORS: [u64; 2] = [0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB];

/// The offset of the generator's state.
const STATE: usize = offset_of!(Context<'_>, random);

const _: () = assert!(size_of::<Random>() == size_of::<u64>(), "a generator is its state");

impl Translator<'_, '_, '_> {
    /// After the parser: sets the generator for ingress.
    pub(super) fn begin_random_numbers(&mut self, route: &Route) {
        if route.draws_random_numbers(self.program)[0] {
            let seed = self.packet_seed();
            self.store(seed, self.context, STATE as i32);
        }
    }

    /// Sets the generator for egress of a packet, or of a copy of it, at a port.
    pub(super) fn begin_random_numbers_of_egress(&mut self, route: &Route, port: ir::Value, instance: ir::Value) {
        if !route.draws_random_numbers(self.program)[1] {
            return;
        }
        let seed = self.packet_seed();
        let [port_factor, instance_factor, egress] =
            [seed::PORT, seed::INSTANCE, seed::EGRESS].map(|number| self.number(number as i64));
        let place = self.builder.ins().imul(port, port_factor);
        let copy = self.builder.ins().imul(instance, instance_factor);
        let seed = self.builder.ins().iadd(seed, egress);
        let seed = self.builder.ins().iadd(seed, place);
        let seed = self.builder.ins().iadd(seed, copy);
        self.store(seed, self.context, STATE as i32);
    }

    /// The seed of the current packet: that of the burst's first packet, plus an offset for the packet's index.
    fn packet_seed(&mut self) -> ir::Value {
        let place = self.place_in_burst();
        let factor = self.number(seed::PACKET as i64);
        let offset = self.builder.ins().imul(place, factor);
        let first = self.load_random_seed();
        self.builder.ins().iadd(first, offset)
    }

    /// Draws a number into a slot. Reversed bounds leave the slot unchanged.
    pub(super) fn random(&mut self, low: &Expr, high: &Expr, slot: SlotId, data: Option<&ActionData>) {
        if let (Expr::Const(low), Expr::Const(high)) = (low, high)
            && let (low, high) = (low.to_u64_saturating(), high.to_u64_saturating())
            && let Some(span) = high.checked_sub(low).and_then(|most| most.checked_add(1))
            && (span.is_power_of_two() || span <= 1 << 32)
        {
            let drawn = self.draw_below(span);
            let low = self.number(low as i64);
            let number = self.builder.ins().iadd(low, drawn);
            let value = self.value_of_u64(self.program.slot(slot).width, number);
            return self.write_slot(slot, value);
        }
        let (low, high) = (self.saturated_of(low, data), self.saturated_of(high, data));
        let target = self.temporary_address(1);
        let drawn = self.call_for_result(runtime::RANDOM, &[self.context, low, high, target]);
        self.when(drawn, |translator| {
            let number = translator.load(target, 0);
            let value = translator.value_of_u64(translator.program.slot(slot).width, number);
            translator.write_slot(slot, value);
        });
    }

    /// The next 128 bits modulo a number that is at most 2^32 or a power of two.
    fn draw_below(&mut self, span: u64) -> ir::Value {
        let before = self.load(self.context, STATE as i32);
        let step = self.number(STEP as i64);
        let first = self.builder.ins().iadd(before, step);
        let second = self.builder.ins().iadd(first, step);
        self.store(second, self.context, STATE as i32);
        let low = self.mixed(second);
        if span.is_power_of_two() {
            let mask = self.number((span - 1) as i64);
            return self.builder.ins().band(low, mask);
        }
        let high = self.mixed(first);
        let span_value = self.number(span as i64);
        // 2^64 modulo the span.
        let turn = self.number((u64::MAX % span + 1) as i64 % span as i64);
        let high = self.builder.ins().urem(high, span_value);
        let high = self.builder.ins().imul(high, turn);
        let low = self.builder.ins().urem(low, span_value);
        let sum = self.builder.ins().iadd(high, low);
        self.builder.ins().urem(sum, span_value)
    }

    fn mixed(&mut self, state: ir::Value) -> ir::Value {
        let [one, other] = FACTORS.map(|factor| self.number(factor as i64));
        let mixed = self.folded(state, 30);
        let mixed = self.builder.ins().imul(mixed, one);
        let mixed = self.folded(mixed, 27);
        let mixed = self.builder.ins().imul(mixed, other);
        self.folded(mixed, 31)
    }

    /// A word XORed with itself shifted right.
    fn folded(&mut self, word: ir::Value, by: u32) -> ir::Value {
        let high = self.shifted_right(word, by);
        self.builder.ins().bxor(word, high)
    }
}
