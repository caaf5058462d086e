//! Reading packets (P4_16 §13.8) and writing them (§16).
//!
//! The cursor counts bits, so headers need not begin on a byte boundary.

use crate::execution::{Execution, Flow};
use forebay_bits::{Bits, read_bits};
use forebay_exec::{Event, Objects, Tracer};
use forebay_ir::{Expr, HeaderId, Location, Op};

impl<'a, O: Objects, T: Tracer> Execution<'a, O, T> {
    /// Executes an operation that only parsers have.
    pub(crate) fn parser_op(&mut self, op: &'a Op, location: Location) -> Flow {
        match op {
            Op::Extract { header, varbit_bits } => self.extract(*header, varbit_bits.as_ref(), location),
            Op::Advance { bits } => {
                let bits = self.eval(bits, &[]).to_u64_saturating();
                if bits > self.bits_left() {
                    return self.reject_with("PacketTooShort", location);
                }
                self.cursor += bits as usize;
                if T::ON {
                    self.tracer.event(Event::Advance { bits, location });
                }
                Flow::Continue
            }
            Op::Lookahead { slot } => {
                let width = self.program.slot(*slot).width;
                if u64::from(width) > self.bits_left() {
                    return self.reject_with("PacketTooShort", location);
                }
                let value = read_bits(self.packet, self.cursor, width);
                self.assign(*slot, value, location);
                Flow::Continue
            }
            Op::PacketLength { slot } => {
                let width = self.program.slot(*slot).width;
                self.assign(*slot, Bits::new(width, self.packet.len() as u128), location);
                Flow::Continue
            }
            other => unreachable!("{other:?} is not an operation of parsers"),
        }
    }

    fn bits_left(&self) -> u64 {
        (self.packet.len() * 8).saturating_sub(self.cursor) as u64
    }

    /// Extracts a header (§13.8.1 and §13.8.2). The checks are in BMv2's order: the value of the argument, the bits
    /// left in the packet, the room in the field.
    fn extract(&mut self, id: HeaderId, varbit_bits: Option<&Expr>, location: Location) -> Flow {
        let header = &self.program.headers[id.index()];
        let varbit_bits = varbit_bits.map_or(0, |bits| self.eval(bits, &[]).to_u64_saturating());
        if !varbit_bits.is_multiple_of(8) {
            return self.reject_with("ParserInvalidArgument", location);
        }
        let (fixed_bits, varbit_max) = self.program.header_bits(header);
        if varbit_bits.saturating_add(fixed_bits) > self.bits_left() {
            return self.reject_with("PacketTooShort", location);
        }
        if varbit_bits > varbit_max {
            return self.reject_with("HeaderTooShort", location);
        }
        for field in &header.fields {
            let width = self.program.slot(field.slot).width;
            let present = if field.length.is_some() {
                varbit_bits as u32
            } else {
                width
            };
            let value = read_bits(self.packet, self.cursor, present);
            self.cursor += present as usize;
            self.state
                .set(field.slot, if present == width { value } else { value.zext(width) });
            if let Some(length) = field.length {
                self.state.set_number(length, present.into());
            }
        }
        self.state.set_number(header.valid, 1);
        if T::ON {
            self.trace_extract(id, location);
        }
        Flow::Continue
    }

    fn trace_extract(&mut self, id: HeaderId, location: Location) {
        let fields = &self.program.headers[id.index()].fields;
        let values: Vec<Bits> = fields.iter().map(|field| self.state.get(field.slot)).collect();
        self.tracer.event(Event::Extract {
            header: id,
            fields: &values,
            cursor: self.cursor,
            location,
        });
    }

    /// Appends a header if it is valid (§16.1).
    pub(crate) fn emit(&mut self, id: HeaderId, location: Location) {
        let header = &self.program.headers[id.index()];
        let valid = self.state.is_set(header.valid);
        if T::ON {
            self.tracer.event(Event::Emit {
                header: id,
                valid,
                location,
            });
        }
        if !valid {
            return;
        }
        for field in &header.fields {
            let value = self.state.get(field.slot);
            match field.length {
                None => self.buffers.output.push(&value),
                Some(length) => {
                    let present = self.state.get(length).to_u64().min(value.width().into()) as u32;
                    self.buffers.output.push(&value.truncate(present));
                }
            }
        }
    }
}
