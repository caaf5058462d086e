//! Loads and stores, and their Cranelift flags.

use super::Translator;
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, types};

/// Flags for a memory access that is known to be within bounds.
pub(crate) fn within_bounds() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

/// Flags for a load of data that does not change while the function runs, so that one load suffices.
pub(super) fn unchanging() -> MemFlagsData {
    within_bounds().with_readonly().with_can_move()
}

/// The integer type of 1, 2, 4 or 8 bytes.
pub(super) fn int_of(bytes: u32) -> ir::Type {
    ir::Type::int_with_byte_size(bytes as u16).expect("loads and stores have 1, 2, 4 or 8 bytes")
}

impl Translator<'_, '_, '_> {
    pub(super) fn load(&mut self, address: ir::Value, offset: i32) -> ir::Value {
        self.ins().load(types::I64, within_bounds(), address, offset)
    }

    /// Loads words of the context.
    pub(super) fn words_of_context<const COUNT: usize>(&mut self, offsets: [i32; COUNT]) -> [ir::Value; COUNT] {
        offsets.map(|offset| self.load(self.context, offset))
    }

    /// Flags for loads from headers that the parser has extracted.
    pub(super) fn packet_flags(&self) -> MemFlagsData {
        if self.packet_rests() {
            unchanging()
        } else {
            within_bounds()
        }
    }

    /// Loads from a header that the parser has extracted, and extends with zeros.
    pub(super) fn load_from_packet(&mut self, kind: ir::Type, address: ir::Value, offset: i32) -> ir::Value {
        let (flags, rests) = (self.packet_flags(), self.packet_rests());
        let ins = self.builder.ins();
        match kind {
            // Cranelift hoists only plain loads out of loops.
            _ if rests => {
                let loaded = ins.load(kind, flags, address, offset);
                self.ins().uextend(types::I64, loaded)
            }
            types::I8 => ins.uload8(types::I64, flags, address, offset),
            types::I16 => ins.uload16(types::I64, flags, address, offset),
            types::I32 => ins.uload32(flags, address, offset),
            other => unreachable!("{other} has no zeros above it"),
        }
    }

    /// Loads data that does not change while the function runs.
    pub(super) fn load_unchanging(&mut self, address: ir::Value, offset: usize) -> ir::Value {
        self.ins().load(types::I64, unchanging(), address, offset as i32)
    }

    pub(super) fn store(&mut self, value: ir::Value, address: ir::Value, offset: i32) {
        self.ins().store(within_bounds(), value, address, offset);
    }

    /// Stores words one after another.
    pub(super) fn store_limbs(&mut self, limbs: &[ir::Value], address: ir::Value, offset: i32) {
        for (limb, offset) in limbs.iter().zip((offset..).step_by(8)) {
            self.store(*limb, address, offset);
        }
    }
}
