//! The deparser of the fast path: puts emitted headers in place.
//!
//! ```text
//! extracted   │ ethernet │ vlan │ ipv4 │ payload            ethernet and vlan differ, ipv4 and the payload stay
//! emitted            │ ethernet │ ipv4 │ payload            ethernet is put where vlan ended, ipv4's changes into it
//! ```
//!
//! The last headers, if they are emitted as they were extracted, stay where they are, and only their changed fields
//! are written. The headers before them are put together and stored in front, so the frame may begin earlier or later
//! than the packet did. If the deparser has conditions on a few validities, there is a copy of the code for each case;
//! if on more, each of the headers before the last ones is stored on its own condition. Anything else goes through the
//! output.

use super::copies::CopyLoop;
use super::pack::Packed;
use super::route::{Parsed, Position};
use super::value::{ActionData, Value};
use super::value_locations::{Field, Home};
use super::{Translator, int_of, within_bounds};
use crate::analysis::CursorFact;
use crate::packet_context::{Lane, verdict};
use crate::route::facts::Facts;
use crate::route::plan::{COMPOSED_BITS_MAX, Leaf, UNCERTAIN_MAX};
use crate::route::{Route, varbit_length};
use crate::runtime::{self, words};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use cranelift_frontend::Variable;
use forebay_bits::Bits;
use forebay_ir::{HeaderId, Op, SlotId, Statement};
use std::collections::BTreeSet;
use std::mem::offset_of;

/// The most bytes by which a frame grows at its front where headers are stored on their own conditions: received frames
/// have as many there, and all would have to be moved for more.
const IN_FRONT_MAX: u64 = 128;

impl<'a> Translator<'_, 'a, '_> {
    /// Emits the headers and ends the packet.
    pub(super) fn deparse(&mut self, route: &'a Route, leaf: &'a Leaf, parsed: &Parsed) {
        let few = |translator: &Self, headers: &[HeaderId]| {
            let uncertain = headers.iter().filter(|id| translator.validity(**id).is_none());
            uncertain.count() <= UNCERTAIN_MAX
        };
        match &leaf.emitted {
            Some(headers) if few(self, headers) => self.deparse_cases(route, leaf, parsed, headers, Vec::new()),
            Some(headers) => match self.copy_loop() {
                Some(copies) => self.append_to_copy(copies, leaf, headers),
                None => self.place_valid(route, leaf, parsed, headers),
            },
            None => self.deparse_to_output(route),
        }
    }

    /// Whether a header is valid, if that is known.
    fn validity(&self, id: HeaderId) -> Option<bool> {
        match self.homes.of(self.program.headers[id.index()].valid) {
            Home::Constant(value) => Some(!value.is_zero()),
            _ => None,
        }
    }

    /// Branches on the validity of the headers in `rest`, one after another; `chosen` are the valid ones before them.
    fn deparse_cases(
        &mut self,
        route: &'a Route,
        leaf: &'a Leaf,
        parsed: &Parsed,
        rest: &[HeaderId],
        mut chosen: Vec<HeaderId>,
    ) {
        let [first, rest @ ..] = rest else {
            return self.place(route, leaf, parsed, &chosen);
        };
        match self.validity(*first) {
            Some(true) => {
                chosen.push(*first);
                self.deparse_cases(route, leaf, parsed, rest, chosen);
            }
            Some(false) => self.deparse_cases(route, leaf, parsed, rest, chosen),
            None => {
                let slot = self.program.headers[first.index()].valid;
                let valid = self.word_of_slot(slot);
                let [with, without] = self.blocks();
                self.ins().brif(valid, with, &[], without, &[]);
                let homes = self.homes.clone();
                for (block, is_valid) in [(with, true), (without, false)] {
                    self.enter(block);
                    self.homes.set(slot, Home::Constant(Bits::from_bool(is_valid)));
                    let mut chosen = chosen.clone();
                    if is_valid {
                        chosen.push(*first);
                    }
                    self.deparse_cases(route, leaf, parsed, rest, chosen);
                    self.homes = homes.clone();
                }
            }
        }
    }

    /// Puts exactly these headers in place.
    fn place(&mut self, route: &'a Route, leaf: &'a Leaf, parsed: &Parsed, emitted: &[HeaderId]) {
        self.temporaries_used = 0;
        if let Some(copies) = self.copy_loop() {
            return self.place_copy(copies, leaf, emitted);
        }
        let (composed, staying) = self.composed_and_staying(leaf, parsed, emitted);
        let start = self.start_of(leaf, parsed, staying);
        let bits: u64 = composed.iter().map(|id| self.fixed_bits(*id)).sum();
        let is_fixed = |id: &HeaderId| varbit_length(&self.program.headers[id.index()]).is_none();
        let fits = composed.iter().all(is_fixed) && bits.is_multiple_of(8) && bits <= COMPOSED_BITS_MAX;
        match start.filter(|start| fits && start.is_aligned()) {
            Some(start) => self.place_at(leaf, parsed, (composed, staying), start),
            None => self.deparse_to_output(route),
        }
    }

    /// Splits emitted headers, none of which is certainly invalid, into those that are put together, and the last ones
    /// if they certainly stay where they are. Of the latter, the extracted ones are returned.
    fn composed_and_staying<'h>(
        &self,
        leaf: &'a Leaf,
        parsed: &Parsed,
        emitted: &'h [HeaderId],
    ) -> (&'h [HeaderId], &'a [HeaderId]) {
        // A header that was extracted twice has the values, and the position, of the last time.
        let mut before = BTreeSet::new();
        let stays = |pair: &(&HeaderId, &HeaderId)| {
            self.validity(*pair.0) == Some(true)
                && self.have_same_fields(*pair.0, *pair.1)
                && before.insert(*pair.1)
                && self.can_stay(*pair.1, leaf, parsed)
        };
        let staying = if leaf.contiguous {
            let pairs = emitted.iter().rev().zip(leaf.extracted.iter().rev());
            pairs.take_while(stays).count()
        } else {
            0
        };
        let staying_of = leaf.extracted.len() - staying;
        (&emitted[..emitted.len() - staying], &leaf.extracted[staying_of..])
    }

    /// Where the headers that stay begin, or what the parser left if none stays.
    fn start_of(&self, leaf: &Leaf, parsed: &Parsed, staying: &[HeaderId]) -> Option<Position> {
        match staying.first() {
            Some(header) => parsed.starts.get(header).copied(),
            None => Some(self.position_after(leaf)),
        }
    }

    /// Puts those of these headers in place that are valid.
    fn place_valid(&mut self, route: &'a Route, leaf: &'a Leaf, parsed: &Parsed, headers: &[HeaderId]) {
        let may_be_valid = headers.iter().copied().filter(|id| self.validity(*id) != Some(false));
        let emitted: Vec<HeaderId> = may_be_valid.collect();
        let (composed, staying) = self.composed_and_staying(leaf, parsed, &emitted);
        let most: u64 = composed.iter().map(|id| self.fixed_bits(*id) / 8).sum();
        let is_plain = |id: &HeaderId| {
            self.fixed_bits(*id).is_multiple_of(8) && varbit_length(&self.program.headers[id.index()]).is_none()
        };
        let are_plain = composed.iter().all(is_plain);
        let start = self.start_of(leaf, parsed, staying);
        let fits = |start: &Position| are_plain && start.is_aligned() && start.bytes_before(most) <= IN_FRONT_MAX;
        match start.filter(fits) {
            Some(start) => self.place_valid_at(leaf, parsed, (composed, staying), start, most),
            None => self.deparse_to_output(route),
        }
    }

    /// Puts those of the composed headers that are valid in front of those that stay, which begin at `start`. All of
    /// them together have `most` bytes.
    fn place_valid_at(
        &mut self,
        leaf: &Leaf,
        parsed: &Parsed,
        (composed, staying): (&[HeaderId], &[HeaderId]),
        start: Position,
        most: u64,
    ) {
        self.temporaries_used = 0;
        self.environment.headroom = self.environment.headroom.max(start.bytes_before(most) as usize);
        let program = self.program;
        // Everything is loaded before anything is stored, also of headers that turn out to be invalid.
        let mut parts = Vec::new();
        let mut length = self.number(0);
        for id in composed {
            let valid = self.word_of_slot(program.headers[id.index()].valid);
            let packed = self.pack_headers(&[*id]);
            let (bytes, zero) = (self.number((packed.bits / 8).into()), self.number(0));
            let present = self.ins().select(valid, bytes, zero);
            length = self.ins().iadd(length, present);
            parts.push((valid, packed));
        }
        self.store_changed_fields(leaf, parsed, staying);
        let end = self.byte_at(start);
        let start = self.ins().isub(end, length);
        let packet = self.packet();
        let first = self.ins().iadd(packet, start);
        let place = self.variable(first);
        for (valid, packed) in parts {
            self.when(valid, |translator| translator.append_packed(place, &packed));
        }
        self.move_frame(Some(start));
        self.send_lane(verdict::PLAIN);
    }

    /// Writes exactly these headers, and what the parser left, into the memory of a copy.
    fn place_copy(&mut self, copies: CopyLoop, leaf: &Leaf, emitted: &[HeaderId]) {
        let packed = self.pack_headers(emitted);
        let headers = packed.bits / 8;
        let target = self.copy_target(copies);
        self.store_words(target, &packed.words, headers);
        let headers = self.number(headers.into());
        self.complete_copy(copies, leaf, target, headers);
    }

    /// Writes the headers that are valid, one after another, and what the parser left into the memory of a copy. This
    /// takes code for each header, where [`Self::deparse_cases`] takes code for each set of them.
    fn append_to_copy(&mut self, copies: CopyLoop, leaf: &Leaf, emitted: &[HeaderId]) {
        let program = self.program;
        let target = self.copy_target(copies);
        let end = self.variable(target);
        for id in emitted {
            self.temporaries_used = 0;
            self.store_header_if_valid(end, &program.headers[id.index()], &Facts::default());
        }
        let end = self.builder.use_var(end);
        let headers = self.ins().isub(end, target);
        self.complete_copy(copies, leaf, target, headers);
    }

    /// Writes what the parser left after the headers of a copy, which take this many bytes from `target` on.
    fn complete_copy(&mut self, copies: CopyLoop, leaf: &Leaf, target: ir::Value, headers: ir::Value) {
        let parsed = self.byte_at(self.position_after(leaf));
        let bytes = self.received_bytes();
        let left = self.ins().isub(bytes, parsed);
        // At most the bytes that will leave.
        let limit = self.truncate_limit();
        let limit = self.ins().umax(limit, headers);
        let room = self.ins().isub(limit, headers);
        // Not `umin`: Cranelift does not fold it with an operand that becomes 0 only after everything is translated.
        let are_less = self.ins().icmp(IntCC::UnsignedLessThan, left, room);
        let count = self.ins().select(are_less, left, room);
        self.when(count, |translator| {
            let packet = translator.packet();
            let source = translator.ins().iadd(packet, parsed);
            let target = translator.ins().iadd(target, headers);
            translator.call(runtime::COPY_BYTES, &[target, source, count]);
        });
        let length = self.ins().iadd(headers, count);
        self.finish_copy(copies, length);
    }

    /// Packs the fields of headers.
    fn pack_headers(&mut self, headers: &[HeaderId]) -> Packed {
        let program = self.program;
        let fields = headers.iter().flat_map(|id| &program.headers[id.index()].fields);
        self.pack_slots(fields.map(|field| field.slot))
    }

    /// The parser's position after the last header.
    fn position_after(&self, leaf: &Leaf) -> Position {
        Position {
            cursor: leaf.cursor,
            variable: self.fast_path().cursor,
        }
    }

    /// The byte in which a position is.
    fn byte_at(&mut self, position: Position) -> ir::Value {
        match position.cursor {
            CursorFact::At(bits) => self.number((bits / 8) as i64),
            _ => {
                let bits = self.builder.use_var(position.variable);
                self.shifted_right(bits, 3)
            }
        }
    }

    /// Whether two headers are the same, or have the same fields after coalescing: see `route/coalescing.rs`.
    fn have_same_fields(&self, one: HeaderId, other: HeaderId) -> bool {
        let [one, other] = [one, other].map(|id| self.program.headers[id.index()].fields.iter());
        one.map(|field| field.slot).eq(other.map(|field| field.slot))
    }

    fn fixed_bits(&self, id: HeaderId) -> u64 {
        self.program.header_bits(&self.program.headers[id.index()]).0
    }

    /// Whether an extracted header can stay where it is, with changed fields written in place.
    fn can_stay(&self, id: HeaderId, leaf: &Leaf, parsed: &Parsed) -> bool {
        let header = &self.program.headers[id.index()];
        let is_changed = |slot| leaf.written.contains(&slot) || leaf.changed.contains(&slot);
        let keeps_length = header.fields.iter().all(|field| match field.length {
            Some(length) => !is_changed(field.slot) && !is_changed(length),
            None => true,
        });
        let mut changed = self.changed_fields(&[id], leaf).into_iter();
        keeps_length && changed.all(|slot| parsed.fields.contains_key(&slot))
    }

    /// The slots of fields of extracted headers that may differ from the packet.
    fn changed_fields(&self, headers: &[HeaderId], leaf: &Leaf) -> Vec<SlotId> {
        let program = self.program;
        let headers = headers.iter().map(|header| &program.headers[header.index()]);
        let slots = headers.flat_map(|header| &header.fields).map(|field| field.slot);
        slots
            .filter(|slot| leaf.written.contains(slot) || leaf.changed.contains(slot))
            .collect()
    }

    /// Puts the composed headers in front of those that stay, which begin at `start`.
    fn place_at(
        &mut self,
        leaf: &Leaf,
        parsed: &Parsed,
        (composed, staying): (&[HeaderId], &[HeaderId]),
        start: Position,
    ) {
        // Everything is loaded before anything is stored, because composed headers may overlap those that they
        // replace.
        let composed = self.compose(composed);
        self.store_changed_fields(leaf, parsed, staying);
        let length = composed.bytes();
        let in_front = start.bytes_before(length.into());
        self.environment.headroom = self.environment.headroom.max(in_front as usize);
        let start = match start.cursor {
            CursorFact::At(bits) if bits == 8 * u64::from(length) => None,
            CursorFact::At(bits) => Some(self.number((bits / 8) as i64 - i64::from(length))),
            _ => {
                let bytes = self.byte_at(start);
                let length = self.number(length.into());
                Some(self.ins().isub(bytes, length))
            }
        };
        if length > 0 {
            let packet = self.packet();
            let target = match start {
                Some(start) => self.ins().iadd(packet, start),
                None => packet,
            };
            self.store_composed(target, &composed);
        }
        self.move_frame(start);
        self.send_lane(verdict::PLAIN);
    }

    /// Stores the changed fields of headers that stay.
    fn store_changed_fields(&mut self, leaf: &Leaf, parsed: &Parsed, staying: &[HeaderId]) {
        for slot in self.changed_fields(staying, leaf) {
            if matches!(self.homes.of(slot), Home::Packet(_)) {
                // The field was changed in the packet at once.
                continue;
            }
            let value = self.read_slot(slot);
            self.store_field(&parsed.fields[&slot], value);
        }
    }

    /// Stores the first `length` bytes of words whose first byte is the most significant.
    pub(super) fn store_words(&mut self, target: ir::Value, words: &[ir::Value], length: u32) {
        for (index, &word) in (0..).zip(words) {
            let first = 8 * index;
            let bytes = (length - first).min(8);
            let part = self.shifted_right(word, 64 - 8 * bytes);
            self.store_bytes(target, first, first + bytes, part);
        }
    }

    /// Writes packed bytes at the address in a variable, and moves the address past them.
    pub(super) fn append_packed(&mut self, place: Variable, packed: &Packed) {
        let (target, bytes) = (self.builder.use_var(place), packed.bits / 8);
        self.store_words(target, &packed.words, bytes);
        let end = self.address(target, bytes as i32);
        self.builder.def_var(place, end);
    }

    /// Lets the runtime collect what the deparser emits. Not for copies.
    fn deparse_to_output(&mut self, route: &'a Route) {
        assert!(
            self.copy_loop().is_none(),
            "the plan makes copies where they can be put together"
        );
        let lane = self.lane();
        self.call(runtime::OUTPUT_BEGIN, &[self.context, lane]);
        self.control(route.deparser);
        let lane = self.lane();
        self.call(runtime::OUTPUT_END, &[self.context, lane]);
        let parsed = self.load_cursor();
        self.store_lane(offset_of!(Lane, parsed_bits), parsed);
        self.send_lane(verdict::REWRITTEN);
    }

    /// The number of assignments, from the first on, that write fields in the packet and do not read what the previous
    /// ones wrote; 0 if there are fewer than two.
    pub(super) fn written_together(&self, statements: &[Statement]) -> usize {
        let mut written: Vec<SlotId> = Vec::new();
        for statement in statements {
            let Op::Assign { slot, value } = &statement.op else {
                break;
            };
            let mut reads_written = written.contains(slot);
            value.for_each_slot(&mut |slot| reads_written |= written.contains(&slot));
            if reads_written || self.whole_bytes_in_packet(*slot).is_none() {
                break;
            }
            written.push(*slot);
        }
        if written.len() < 2 { 0 } else { written.len() }
    }

    /// The field of a slot, if it consists of whole bytes and is changed in the packet at once.
    fn whole_bytes_in_packet(&self, slot: SlotId) -> Option<Field> {
        let width = self.program.slot(slot).width;
        match self.homes.of(slot) {
            Home::Packet(field) if self.path().is_some_and(|path| path.leaf.in_place) => {
                let is_whole = field.first_bit.is_multiple_of(8) && width.is_multiple_of(8);
                (is_whole && (1..=64).contains(&width)).then_some(*field)
            }
            _ => None,
        }
    }

    /// Writes such fields. Adjacent fields are first put together.
    pub(super) fn write_together(&mut self, statements: &[Statement], data: Option<&ActionData>) {
        let mut writes = Vec::new();
        for statement in statements {
            let Op::Assign { slot, value } = &statement.op else {
                unreachable!("only assignments are written together")
            };
            let field = self.whole_bytes_in_packet(*slot).expect("it is in the packet");
            writes.push((field, self.value(value, data)));
        }
        writes.sort_by_key(|(field, _)| field.first_bit);
        while let Some((first, value)) = writes.first().copied() {
            let (mut run, mut bits) = (vec![value], value.width);
            let mut others = Vec::new();
            for (field, value) in writes.drain(1..) {
                if first.is_followed_by(bits, &field) {
                    bits += value.width;
                    run.push(value);
                } else {
                    others.push((field, value));
                }
            }
            writes = others;
            let packed = self.pack(&run);
            let address = self.address_of_field(&first);
            let address = self.address(address, (first.first_bit / 8) as i32);
            self.store_words(address, &packed.words, bits / 8);
        }
    }

    /// Writes a field to its position in the packet.
    pub(super) fn store_field(&mut self, place: &Field, value: Value) {
        let address = self.address_of_field(place);
        for index in 0..words(value.width) {
            let end = place.first_bit + value.width - 64 * index as u32;
            let width = (value.width - 64 * index as u32).min(64);
            let word = self.limb(value, index);
            self.store_bits(address, end - width, width, word);
        }
    }

    /// Writes the low `width` bits of a word, whose other bits are zero.
    fn store_bits(&mut self, address: ir::Value, first_bit: u32, width: u32, word: ir::Value) {
        let end = first_bit + width;
        if first_bit.is_multiple_of(8) && end.is_multiple_of(8) {
            return self.store_bytes(address, first_bit / 8, end / 8, word);
        }
        for byte in first_bit / 8..end.div_ceil(8) {
            // Bits of this byte that belong to other fields: `skip` on the left, `behind` on the right.
            let skip = first_bit.saturating_sub(8 * byte);
            let behind = (8 * byte + 8).saturating_sub(end);
            let part = if behind > 0 {
                self.shifted_left(word, behind)
            } else {
                self.shifted_right(word, end - 8 * byte - 8)
            };
            let mask = (0xFFi64 >> skip) & !((1 << behind) - 1);
            let old = self.load_big_endian(1, address, byte as i32);
            let old = self.ins().band_imm_u(old, 0xFF & !mask);
            let part = self.ins().band_imm_u(part, mask);
            let new = self.ins().bor(old, part);
            self.ins().istore8(within_bounds(), new, address, byte as i32);
        }
    }

    /// Writes whole bytes, in parts whose sizes are powers of two.
    pub(super) fn store_bytes(&mut self, address: ir::Value, first: u32, end: u32, word: ir::Value) {
        let mut at = first;
        while at < end {
            let size = 1u32 << (end - at).ilog2();
            let mut part = self.shifted_right(word, 8 * (end - at - size));
            if size < 8 {
                part = self.ins().ireduce(int_of(size), part);
            }
            if size > 1 {
                part = self.ins().bswap(part);
            }
            self.ins().store(within_bounds(), part, address, at as i32);
            at += size;
        }
    }
}
