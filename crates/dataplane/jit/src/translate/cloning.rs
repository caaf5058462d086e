//! The fast path: clones. The packet itself continues; where ingress or egress has ended, the first bytes of the clone
//! are noted: see [`crate::NotedClones::bytes_of`]. The burst ends after the packet if the next packet could observe
//! that the clone has not been executed yet.

use super::Translator;
use super::value::{ActionData, Value};
use crate::packet_context::verdict;
use crate::route::facts::Facts;
use crate::route::plan::Leaf;
use crate::route::{BailOut, ClonedFrame, Route, varbit_length};
use crate::runtime::{self, CloneShape};
use cranelift_codegen::ir::{self, InstBuilder};
use cranelift_frontend::Variable;
use forebay_ir::{Expr, Header, HeaderField, SlotId};

/// The last clone that the program requested.
#[derive(Clone, Copy)]
pub(super) struct CloneWanted {
    /// 0 when no clone is requested.
    wanted: Variable,
    session: Variable,
    field_list: Variable,
}

impl<'a> Translator<'_, 'a, '_> {
    /// After the parser: no clone is requested.
    pub(super) fn begin_cloning(&mut self, route: &Route, leaf: &Leaf) {
        let may_clone = route.cloning.leave || route.clones(&leaf.program) != [false; 2];
        if !leaf.notes.clones || !may_clone {
            return;
        }
        let zero = self.number(0);
        let [wanted, session, field_list] = [zero; 3].map(|zero| self.variable(zero));
        self.path_mut().clone_wanted = Some(CloneWanted {
            wanted,
            session,
            field_list,
        });
    }

    /// Whether clones from egress may be noted.
    pub(super) fn notes_clones_from_egress(&self, route: &Route, leaf: &Leaf) -> bool {
        leaf.notes.clones && route.clones(&leaf.program)[1]
    }

    /// Records a request for a clone. The last request counts, as on the slow path.
    pub(super) fn clone_on_fast_path(&mut self, session: &Expr, field_list: Option<&Expr>, data: Option<&ActionData>) {
        let Some(clone) = self.on_path().clone_wanted else {
            return self.bail_out(BailOut::Clone);
        };
        let session = self.word_of(session, data);
        let field_list = self.field_list(field_list, data);
        let one = self.number(1);
        for (variable, value) in [
            (clone.wanted, one),
            (clone.session, session),
            (clone.field_list, field_list),
        ] {
            self.builder.def_var(variable, value);
        }
    }

    /// After ingress, where the packet can no longer bail out before egress: notes the clone, if one is requested.
    pub(super) fn note_clone_from_ingress(&mut self, route: &Route, facts: &Facts) {
        let may_note = route.may_note_clone_from_ingress(self.program, facts);
        let Some(clone) = self.on_path().clone_wanted.filter(|_| may_note) else {
            return;
        };
        let wanted = self.builder.use_var(clone.wanted);
        self.when_rarely(wanted, |translator| match route.cloning.frames[0] {
            ClonedFrame::Received => {
                let (head, end) = translator.store_slots(route.kept_by_clones(), 0);
                translator.note_clone(route, clone, false, (head, end));
            }
            _ => translator.note_deparsed(route, facts, clone, false),
        });
        let zero = self.number(0);
        self.builder.def_var(clone.wanted, zero);
    }

    /// After ingress: ends the packet if a clone is requested that must be executed before egress. The burst ends with
    /// it, because it goes on before the next packet.
    pub(super) fn go_on_if_cloned(&mut self, route: &Route, facts: &Facts) {
        let Some(clone) = self
            .on_path()
            .clone_wanted
            .filter(|_| route.cloning.leave && route.may_leave(facts))
        else {
            return;
        };
        let wanted = self.builder.use_var(clone.wanted);
        self.end_when(wanted, |translator| {
            translator.note_clone_of_leaving(clone);
            translator.go_on(route, BailOut::Clone);
        });
    }

    /// Notes the clone of a packet that goes on, and the bits of the headers that were valid before ingress.
    fn note_clone_of_leaving(&mut self, clone: CloneWanted) {
        let parsed = self.on_path().parsed_bits.expect("it was noted after the parser");
        let [session, field_list, header_bits] =
            [clone.session, clone.field_list, parsed].map(|variable| self.builder.use_var(variable));
        let truncate_to = self.truncate_limit();
        let arguments = [self.context, session, field_list, truncate_to, header_bits];
        self.call(runtime::NOTE_CLONE_OF_LEAVING, &arguments);
    }

    /// After ingress: ends the packet, which goes on before the next packet, and with it the burst.
    fn go_on(&mut self, route: &Route, reason: BailOut) {
        let slots = route.leaving.as_deref().expect("packets leave");
        let (head, end) = self.store_slots(slots, 0);
        let bytes = self.ins().isub(end, head);
        self.tell_packet();
        self.call(runtime::NOTE_GOING_ON, &[self.context, head, bytes]);
        let verdict = self.number((verdict::GOES_ON << 32 | reason as u64) as i64);
        self.end_burst_with(verdict);
    }

    /// After ingress: ends a packet in which this slot is not 0. It goes on, or bails out if nothing is noted.
    pub(super) fn end_if_requested(&mut self, route: &Route, slot: SlotId, reason: BailOut) {
        if !self.on_path().leaf.notes.requests {
            return self.bail_out_if_set(slot, reason);
        }
        let is_set = self.word_of_slot(slot);
        self.end_when(is_set, |translator| translator.go_on(route, reason));
    }

    /// After egress: notes the clone of a packet for which these facts are certain, if one is requested.
    pub(super) fn note_clone_from_egress(&mut self, route: &Route, leaf: &'a Leaf, facts: &Facts) {
        let may_note =
            self.notes_clones_from_egress(route, leaf) && route.may_note_clone_from_egress(&leaf.program, facts);
        let Some(clone) = self.on_path().clone_wanted.filter(|_| may_note) else {
            return;
        };
        let wanted = self.builder.use_var(clone.wanted);
        self.when_rarely(wanted, |translator| match route.cloning.frames[1] {
            ClonedFrame::Deparsed => translator.note_deparsed(route, facts, clone, true),
            _ => translator.note_from_egress(route, leaf, facts, clone),
        });
    }

    /// Notes a clone with the headers that the deparser emits.
    fn note_deparsed(&mut self, route: &Route, facts: &Facts, clone: CloneWanted, from_egress: bool) {
        let leaf = self.on_path().leaf;
        let emitted = leaf.emitted.as_deref().expect("the deparser has no conditions");
        let headers: Vec<&Header> = emitted.iter().map(|id| &leaf.program.headers[id.index()]).collect();
        let bytes = self.bytes_max(&headers, facts);
        let (head, end) = self.store_slots(route.kept_by_clones(), bytes);
        let place = self.variable(end);
        for header in headers {
            self.store_header_if_valid(place, header, facts);
        }
        let end = self.builder.use_var(place);
        self.note_clone(route, clone, from_egress, (head, end));
    }

    /// The most bytes of headers.
    fn bytes_max(&self, headers: &[&Header], facts: &Facts) -> usize {
        let leaf = self.on_path().leaf;
        let is_possible = |header: &&&Header| self.known_validity(header, facts) != Some(false);
        let bits = |header: &&Header| {
            let (fixed, varbit_max) = leaf.program.header_bits(header);
            (fixed + varbit_max) as usize
        };
        headers.iter().filter(is_possible).map(|header| bits(header) / 8).sum()
    }

    pub(super) fn store_header_if_valid(&mut self, place: Variable, header: &Header, facts: &Facts) {
        match self.known_validity(header, facts) {
            Some(false) => {}
            Some(true) => self.store_header(place, header),
            None => {
                let valid = self.word_of_slot(header.valid);
                self.when(valid, |translator| translator.store_header(place, header));
            }
        }
    }

    /// Notes a clone: the packet's lengths, which headers are valid, the lengths of their varbit fields, and the
    /// headers.
    fn note_from_egress(&mut self, route: &Route, leaf: &'a Leaf, facts: &Facts, clone: CloneWanted) {
        let headers = &leaf.program.headers;
        let varbits: Vec<(&Header, SlotId)> = (headers.iter())
            .filter_map(|header| Some((header, varbit_length(header)?)))
            .collect();
        let bytes = self.bytes_max(&headers.iter().collect::<Vec<_>>(), facts);
        let before = 8 + headers.len().div_ceil(8) + 4 * varbits.len();
        let (head, end) = self.store_slots(route.kept_by_clones(), before + bytes);
        let length = self.new_length(facts);
        let frame = self.received_bytes();
        let mut values = [length, frame].map(|bytes| self.value_of_u64(32, bytes)).to_vec();
        values.extend(headers.iter().map(|header| self.validity_bit(header, facts)));
        values.push(self.padding(headers.len()));
        for (header, length) in varbits {
            let length = self.length_if_valid(header, length, facts);
            values.push(self.value_of_u64(32, length));
        }
        self.store_packed_at(end, &values);
        let next = self.address(end, before as i32);
        let place = self.variable(next);
        for id in Route::headers_of_clones(&leaf.program) {
            self.store_header_if_valid(place, &headers[id.index()], facts);
        }
        let end = self.builder.use_var(place);
        self.note_clone(route, clone, true, (head, end));
    }

    /// Stores the values of slots, each in whole bytes. Returns the beginning and the end of these values; after the
    /// end there is room for `more` bytes.
    pub(super) fn store_slots(&mut self, slots: &[SlotId], more: usize) -> (ir::Value, ir::Value) {
        let mut values = Vec::new();
        let mut bits = 0;
        for slot in slots {
            let width = self.program.slot(*slot).width as usize;
            values.push(self.padding(width));
            values.push(self.read_slot(*slot));
            bits += width.next_multiple_of(8);
        }
        let bytes = bits / 8;
        let head = self.temporary_address((bytes + more).div_ceil(8));
        self.store_packed_at(head, &values);
        (head, self.address(head, bytes as i32))
    }

    /// The zero bits that pad a value of `bits` bits to whole bytes.
    fn padding(&mut self, bits: usize) -> Value {
        let zero = self.number(0);
        self.value_of_u64((bits.next_multiple_of(8) - bits) as u32, zero)
    }

    fn validity_bit(&mut self, header: &Header, facts: &Facts) -> Value {
        match self.known_validity(header, facts) {
            Some(is_valid) => {
                let bit = self.number(is_valid.into());
                self.value_of_u64(1, bit)
            }
            None => self.read_slot(header.valid),
        }
    }

    /// The length of a header's varbit field; 0 if the header is not valid.
    fn length_if_valid(&mut self, header: &Header, length: SlotId, facts: &Facts) -> ir::Value {
        let zero = self.number(0);
        let known = self.known_validity(header, facts);
        if known == Some(false) {
            return zero;
        }
        let length = self.word_of_slot(length);
        if known == Some(true) {
            return length;
        }
        let valid = self.word_of_slot(header.valid);
        self.ins().select(valid, length, zero)
    }

    fn store_header(&mut self, place: Variable, header: &Header) {
        let varbit = header.fields.iter().position(|field| field.length.is_some());
        let (before, rest) = header.fields.split_at(varbit.unwrap_or(header.fields.len()));
        self.store_fields(place, before);
        if let [varbit, behind @ ..] = rest {
            self.store_varbit(place, varbit);
            self.store_fields(place, behind);
        }
    }

    /// Stores fields of fixed width, whole bytes.
    fn store_fields(&mut self, place: Variable, fields: &[HeaderField]) {
        let packed = self.pack_slots(fields.iter().map(|field| field.slot));
        self.append_packed(place, &packed);
    }

    fn store_varbit(&mut self, place: Variable, field: &HeaderField) {
        let length = self.word_of_slot(field.length.expect("it has one"));
        let value = self.read_slot(field.slot);
        let width = self.number(value.width.into());
        let (target, value) = (self.builder.use_var(place), self.address_of(value));
        self.call(runtime::STORE_VARBIT, &[target, value, width, length]);
        let bytes = self.shifted_right(length, 3);
        self.move_by(place, bytes);
    }

    fn store_packed_at(&mut self, target: ir::Value, values: &[Value]) {
        let packed = self.pack(values);
        self.store_words(target, &packed.words, packed.bits / 8);
    }

    /// Notes a clone that begins with the bytes from `head` to `end`.
    fn note_clone(
        &mut self,
        route: &Route,
        clone: CloneWanted,
        from_egress: bool,
        (head, end): (ir::Value, ir::Value),
    ) {
        let shape = CloneShape {
            from_egress,
            whole_frame: route.cloning.frames[usize::from(from_egress)] == ClonedFrame::Received,
            ends_burst: !route.clones_commute(self.environment.program),
        };
        let shape = self.environment.pool.keep(shape);
        let shape = self.pointer(shape);
        self.tell_packet();
        let bytes = self.ins().isub(end, head);
        let session = self.builder.use_var(clone.session);
        let field_list = self.builder.use_var(clone.field_list);
        let place = self.place_in_burst();
        let arguments = [self.context, shape, head, bytes, session, field_list, place];
        self.call(runtime::NOTE_CLONE, &arguments);
    }
}
