//! Random numbers: the same as those of [`forebay_exec::Random`].
//!
//! On the fast path, the generator is set to the packet's [seed](crate::Seed) after the parser if ingress draws
//! numbers, and again before egress if egress does. The runtime draws the numbers.

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
        let (low, high) = (self.saturated_of(low, data), self.saturated_of(high, data));
        let target = self.temporary_address(1);
        let drawn = self.call_for_result(runtime::RANDOM, &[self.context, low, high, target]);
        self.when(drawn, |translator| {
            let number = translator.load(target, 0);
            let value = translator.value_of_u64(translator.program.slot(slot).width, number);
            translator.write_slot(slot, value);
        });
    }
}
