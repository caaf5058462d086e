//! Counters, including direct counters, in generated code without calls.
//!
//! A worker counts in words of its own, to which generated code adds. Without such words, generated code calls the
//! runtime.
//!
//! # Packets that bail out
//!
//! On the fast path a packet may be counted and then take the slow path, which counts it again. So each count that may
//! be followed by a bail-out keeps the counted element in a register, and a packet that bails out is first taken back
//! from all of these counters:
//!
//! ```text
//!   src_mac.apply() ─ counts ─► miss? ── yes ─► taken back ─► slow path: counts, sends a digest
//!                                 │ no
//!                                 ▼
//!                          dst_mac.apply()      nothing bails out from here on: only counts
//! ```

use super::Translator;
use super::mode::Mode;
use crate::arrays::{COUNTER_WORDS, default_slot};
use crate::flow_trail::ArrayId;
use crate::route::plan::Leaf;
use crate::route::{BailOut, Route};
use crate::runtime;
use cranelift_codegen::ir::{self, InstBuilder};
use cranelift_frontend::Variable;
use forebay_ir::{Body, CounterId, Op, Program, TableId, Terminator, Unit};
use forebay_tables::SLOT_BITS;

/// Where the current packet has been counted, if it may have to be taken back.
#[derive(Default)]
pub(super) struct Counted {
    /// For each count, in the order of translation: what is counted there, once it is translated, and a register. The
    /// register is 0 when the packet was not counted there. Otherwise it is the element's address or, if the runtime
    /// has counted, twice the element's index plus one.
    places: Vec<(Option<Count>, Variable)>,
    /// The number of bytes that counts after ingress add, if that is not the frame's length.
    bytes_after: Option<Variable>,
    /// How many counts have been translated.
    used: usize,
    /// By block of the flow: whether a packet may bail out in it or after it.
    bails: Vec<bool>,
    /// Whether a packet may bail out after the current position.
    may_bail: bool,
}

/// One count.
#[derive(Clone, Copy)]
struct Count {
    counter: CounterId,
    /// The number of bytes that it adds, if that is not the frame's length.
    bytes: Option<Variable>,
}

/// A packet is taken back from counters, and then takes the slow path.
pub(super) struct TakenBack {
    /// The block for this.
    block: ir::Block,
    reason: BailOut,
    counted: Vec<(Count, Variable)>,
}

impl<'a> Translator<'_, 'a, '_> {
    /// After the parser: the packet has not been counted.
    pub(super) fn begin_counting(&mut self, route: &Route, leaf: &Leaf) {
        let bails = blocks_before_bail_outs(self.program, route, leaf);
        let places = bails
            .iter()
            .zip(&leaf.flow.blocks)
            .filter(|(bails, _)| **bails)
            .map(|(_, block)| places_in_block(self.program, &block.block.statements, &block.block.terminator))
            .sum();
        let zero = self.number(0);
        let mut register = || self.variable(zero);
        let counted = Counted {
            places: (0..places).map(|_| (None, register())).collect(),
            bytes_after: route.counted_length.filter(|_| places > 0).map(|_| register()),
            used: 0,
            bails,
            may_bail: false,
        };
        self.path_mut().counted = counted;
    }

    /// Begins a block of the flow.
    pub(super) fn count_in_block(&mut self, block: usize) {
        let counted = &mut self.path_mut().counted;
        counted.may_bail = counted.bails[block];
    }

    /// The registers that are needed after a look-up at which packets wait.
    pub(super) fn counted_variables(&self) -> Vec<Variable> {
        let counted = &self.on_path().counted;
        let places = counted.places.iter().map(|(_, variable)| *variable);
        places.chain(counted.bytes_after).collect()
    }

    /// Counts the packet in an element; does nothing if the index is outside the array.
    pub(super) fn count_element(&mut self, counter: CounterId, index: ir::Value) {
        let declared = &self.program.counters[counter.index()];
        match declared.size {
            Some(size) => self.when_inside(index, size, |translator| translator.count_inside(counter, index)),
            None => self.count_by_runtime(counter, index),
        }
    }

    /// Counts a hit or a miss of a table with a direct counter.
    pub(super) fn count_directly(&mut self, table: TableId, hit: ir::Value, first_word: ir::Value) {
        let table = &self.program.tables[table.index()];
        let Some(counter) = table.direct_counter else { return };
        let slot = self.masked(SLOT_BITS, first_word);
        let default = self.number(default_slot(table) as i64);
        let index = self.ins().select(hit, slot, default);
        self.count_inside(counter, index);
    }

    /// Counts the packet in an element inside the array.
    fn count_inside(&mut self, counter: CounterId, index: ir::Value) {
        let unit = self.program.counters[counter.index()].unit;
        let counters = self.load(self.context, in_context!(counters));
        let array = self.load(counters, 8 * counter.0 as i32);
        let place = self.next_place(counter);
        self.either(
            array,
            |translator| {
                let element = translator.place_of(array, index, COUNTER_WORDS);
                translator.note_element(ArrayId::Counter(counter), element);
                translator.add_packet(unit, element);
                if let Some(place) = place {
                    translator.builder.def_var(place, element);
                }
            },
            |translator| {
                translator.mark_cold();
                translator.tell_facts();
                let number = translator.number(counter.0.into());
                translator.call_rarely(runtime::COUNT, &[number, index]);
                if let Some(place) = place {
                    let twice = translator.shifted_left(index, 1);
                    let marked = translator.address(twice, 1);
                    translator.builder.def_var(place, marked);
                }
            },
        );
    }

    /// Lets the runtime count.
    fn count_by_runtime(&mut self, counter: CounterId, index: ir::Value) {
        let counter = self.number(counter.0.into());
        self.tell_facts();
        self.call(runtime::COUNT, &[self.context, counter, index]);
    }

    /// The register for the next count, if that may have to be taken back.
    fn next_place(&mut self, counter: CounterId) -> Option<Variable> {
        if !self.path().is_some_and(|path| path.counted.may_bail) {
            return None;
        }
        let bytes = self.keep_counted_bytes(counter);
        let counted = &mut self.path_mut().counted;
        let (count, variable) = &mut counted.places[counted.used];
        *count = Some(Count { counter, bytes });
        counted.used += 1;
        Some(*variable)
    }

    /// Keeps the number of bytes that a counter adds here, if it is not the frame's length.
    fn keep_counted_bytes(&mut self, counter: CounterId) -> Option<Variable> {
        let is_of_bytes = self.program.counters[counter.index()].unit != Unit::Packets;
        let kept = self.on_path().counted.bytes_after?;
        if !is_of_bytes || self.on_path().counted_length.is_none() {
            return None;
        }
        let bytes = self.counted_bytes();
        self.builder.def_var(kept, bytes);
        Some(kept)
    }

    /// Adds the packet to an element that belongs to this worker alone.
    fn add_packet(&mut self, unit: Unit, element: ir::Value) {
        if unit != Unit::Bytes {
            let one = self.number(1);
            self.add_to(element, 0, one);
        }
        if unit != Unit::Packets {
            let bytes = self.counted_bytes();
            self.add_to(element, 8, bytes);
        }
    }

    fn add_to(&mut self, address: ir::Value, offset: i32, amount: ir::Value) {
        let before = self.load(address, offset);
        let after = self.ins().iadd(before, amount);
        self.store(after, address, offset);
    }

    /// The block in which the packet is taken back from all counters and then takes the slow path.
    pub(super) fn bail_out_block(&mut self, reason: BailOut) -> ir::Block {
        let end = self.ending(super::Ending::BailedOut(reason));
        let counted = self.path().map(|path| &path.counted);
        let used = counted.into_iter().flat_map(|counted| &counted.places[..counted.used]);
        let counted: Vec<(Count, Variable)> = used.filter_map(|(count, place)| Some(((*count)?, *place))).collect();
        if counted.is_empty() {
            return end;
        }
        let block = self.builder.create_block();
        self.fast_path_mut()
            .taken_back
            .push(TakenBack { block, reason, counted });
        block
    }

    /// Translates the blocks that take packets back.
    pub(super) fn fill_taken_back(&mut self) {
        let Mode::FastPath(fast) = &mut self.mode else { return };
        for TakenBack { block, reason, counted } in std::mem::take(&mut fast.taken_back) {
            self.builder.switch_to_block(block);
            self.builder.set_cold_block(block);
            for (count, variable) in counted {
                let counted = self.builder.use_var(variable);
                self.when_rarely(counted, |translator| translator.take_back(count, counted));
            }
            let end = self.ending(super::Ending::BailedOut(reason));
            self.ins().jump(end, &[]);
        }
    }

    /// Takes the packet back from one counter: see [`Counted::places`].
    fn take_back(&mut self, Count { counter, bytes }: Count, counted: ir::Value) {
        let unit = self.program.counters[counter.index()].unit;
        let bytes = match bytes {
            Some(kept) => self.builder.use_var(kept),
            None => self.received_bytes(),
        };
        let is_shared = self.ins().band_imm_u(counted, 1);
        self.either(
            is_shared,
            |translator| {
                let index = translator.shifted_right(counted, 1);
                let number = translator.number(counter.0.into());
                translator.tell_bytes(bytes);
                translator.call_rarely(runtime::TAKE_BACK_COUNT, &[number, index]);
            },
            |translator| {
                if unit != Unit::Bytes {
                    let less = translator.number(-1);
                    translator.add_to(counted, 0, less);
                }
                if unit != Unit::Packets {
                    let less = translator.ins().ineg(bytes);
                    translator.add_to(counted, 8, less);
                }
            },
        );
    }
}

/// By block of a flow, in topological order: whether a packet may bail out in it or after it.
fn blocks_before_bail_outs(program: &Program, route: &Route, leaf: &Leaf) -> Vec<bool> {
    let flow = &leaf.flow;
    let mut bails = vec![false; flow.blocks.len()];
    for (index, block) in flow.blocks.iter().enumerate().rev() {
        let here = route.may_bail_out_at(program, block, leaf.notes);
        bails[index] = here || block.successors().iter().any(|next| bails[next.index()]);
    }
    bails
}

/// How many counts there are in statements and in the table that is applied after them.
fn places_in_block(program: &Program, statements: &[forebay_ir::Statement], terminator: &Terminator) -> usize {
    let counts = |statement: &&forebay_ir::Statement| matches!(statement.op, Op::Count { .. });
    let own = statements.iter().filter(counts).count();
    let Terminator::Apply { table, .. } = terminator else {
        return own;
    };
    let is_counted = program.tables[table.index()].direct_counter.is_some();
    let of_actions = program.actions_of(*table).map(|action| places_in_body(program, action));
    own + usize::from(is_counted) + of_actions.sum::<usize>()
}

fn places_in_body(program: &Program, body: &Body) -> usize {
    let blocks = body.blocks.iter();
    blocks
        .map(|block| places_in_block(program, &block.statements, &block.terminator))
        .sum()
}
