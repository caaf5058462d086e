//! The fast path: look-ups that reuse the results of the flow's last packet: see [`crate::flows`].

use super::Translator;
use super::access::within_bounds;
use super::search::Match;
use super::value::{Place, Value};
use super::value_locations::Home;
use crate::flow_pages::{ENTRY_BYTES, GROUP};
use crate::flow_slots::{FlowPlace, FoundForFlow, Nothing, SlotLayout, Sought};
use crate::flow_trail::ArrayId;
use crate::route::Route;
use crate::route::flow_keys::FlowKeys;
use crate::route::plan::Leaf;
use crate::runtime;
use crate::tables::TableLayout;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use cranelift_frontend::Variable;
use forebay_ir::{Expr, IndexSet, MeterId, SlotId, TableId};
use forebay_tables::NO_SLOT;
use forebay_tables::search::HASH_FACTOR;
use std::collections::HashMap;

/// The most words of fields that may identify a flow.
const FLOW_WORDS_MAX: usize = 16;

/// The bits of a slot's first word that are the flow's hash; the other bits are the tag.
const SIGNATURE_HASH: u64 = !0 << u32::BITS;

/// The rotation of the previous words when the next one is added to the hash.
const TURN: i64 = 29;

/// The current packet's slot in the flow cache.
#[derive(Clone)]
pub(super) struct FlowSlot {
    variable: Variable,
    /// Fields that were read, unchanged, to find the slot.
    values: HashMap<SlotId, Value>,
}

impl<'a> Translator<'_, 'a, '_> {
    /// After the parser: finds the packet's slot, if a table with a place in it is looked up on this path.
    pub(super) fn begin_flow(&mut self, route: &Route, leaf: &'a Leaf) {
        let Some(layout) = self.environment.slots.clone() else {
            return;
        };
        if let Some((hash, values)) = self.hash_of_flow(route, leaf, &layout) {
            let slot = self.slot_of_flow(layout, hash);
            let variable = self.variable(slot);
            self.path_mut().flow_slot = Some(FlowSlot { variable, values });
        }
    }

    /// In a function that finds hashes: stores the hash of the packet's flow, or 0, in place of the verdict.
    pub(super) fn tell_hash(&mut self, route: &Route, leaf: &'a Leaf) {
        let layout = self.environment.slots.clone();
        let hash = layout.and_then(|layout| self.hash_of_flow(route, leaf, &layout));
        let hash = match hash {
            Some((hash, _)) => hash,
            None => self.number(0),
        };
        self.store_verdict(hash);
        let next = self.next_lane_block();
        self.ins().jump(next, &[]);
    }

    /// The hash of the packet's flow, and the fields that it is computed from; records which tables are looked up with
    /// the slot. `None` if no table has a place in it.
    fn hash_of_flow(
        &mut self,
        route: &Route,
        leaf: &'a Leaf,
        layout: &SlotLayout,
    ) -> Option<(ir::Value, HashMap<SlotId, Value>)> {
        let mut keys = FlowKeys::of(self.program, route, &leaf.flow);
        keys.tables.retain(|table| layout.place(*table).is_some());
        // Slots that are constant on this path do not distinguish flows; nor do slots that are computed from others.
        keys.slots.retain(|slot| !leaf.known.contains_key(slot));
        let has_tables = !keys.tables.is_empty();
        self.path_mut().flow_tables = keys.tables;
        if !has_tables {
            return None;
        }
        // Nothing has been written since the parser.
        self.changed = IndexSet::new(self.program.slots.len());
        let mut values = HashMap::new();
        let mut hash = None;
        for word in self.flow_words(&keys.slots, &mut values) {
            hash = Some(match hash {
                Some(others) => {
                    let turned = self.ins().rotl_imm_u(others, TURN);
                    self.ins().bxor(turned, word)
                }
                None => word,
            });
        }
        Some((self.ins().imul_imm_u(hash?, HASH_FACTOR as i64), values))
    }

    /// The runtime executes meters, so it notes the element of a meter, unless one is noted already.
    pub(super) fn note_meter(&mut self, meter: MeterId, index: ir::Value) {
        let Some((slot, offset)) = self.place_of_element(ArrayId::Meter(meter)) else {
            return;
        };
        let lines = self.address(slot, offset);
        let present = self.load(lines, 0);
        let is_unknown = self.ins().icmp_imm_u(IntCC::Equal, present, 0);
        self.when_rarely(is_unknown, |translator| {
            let meter = translator.number(meter.0.into());
            translator.call_rarely(runtime::NOTE_METER, &[meter, index, lines]);
        });
    }

    /// Notes in the packet's slot which element of an array it uses.
    pub(super) fn note_element(&mut self, array: ArrayId, address: ir::Value) {
        if let Some((slot, offset)) = self.place_of_element(array) {
            self.store(address, slot, offset);
        }
    }

    /// The packet's slot, and the place in it for the address of an element.
    fn place_of_element(&mut self, array: ArrayId) -> Option<(ir::Value, i32)> {
        let word = self.environment.slots.as_ref()?.element(array)?;
        let slot = self.flow_variable()?;
        Some((self.builder.use_var(slot), 8 * word as i32))
    }

    /// The slot of the flow with this hash, which is assigned if necessary.
    fn slot_of_flow(&mut self, layout: SlotLayout, hash: ir::Value) -> ir::Value {
        let shift = self.load(self.context, in_context!(flow_shift));
        let entry = self.ins().ushr(hash, shift);
        let tag = self.load(self.context, in_context!(flow_tag));
        let signature = self.ins().band_imm_u(hash, SIGNATURE_HASH as i64);
        let signature = self.ins().bor(signature, tag);
        let found = self.builder.create_block();
        let slot = self.builder.append_block_param(found, types::I64);
        for other in GROUP {
            let elsewhere = self.builder.create_block();
            let slot = match other {
                0 => self.slot_of_entry(&layout, entry),
                _ => {
                    let other = self.ins().bxor_imm_u(entry, other as i64);
                    self.slot_of_entry(&layout, other)
                }
            };
            let present = self.load(slot, 0);
            let same = self.ins().icmp(IntCC::Equal, signature, present);
            self.ins().brif(same, found, &[slot.into()], elsewhere, &[]);
            self.enter_cold(elsewhere);
        }
        let kept = self.environment.pool.keep(layout.clone());
        let kept = self.pointer(kept);
        self.call_rarely(runtime::ADMIT_FLOW, &[kept, entry, signature]);
        let admitted = self.slot_of_entry(&layout, entry);
        self.ins().jump(found, &[admitted.into()]);

        self.enter(found);
        slot
    }

    /// The slot whose number is in an entry of the index.
    fn slot_of_entry(&mut self, layout: &SlotLayout, entry: ir::Value) -> ir::Value {
        let index = self.load(self.context, in_context!(flow_index));
        let offset = self.shifted_left(entry, ENTRY_BYTES.ilog2());
        let place = self.ins().iadd(index, offset);
        let number = self.ins().uload32(within_bounds(), place, 0);
        let offset = self.times(number, layout.bytes as u64);
        self.ins().iadd(index, offset)
    }

    /// The words of these slots' values in the packet. Unchanged fields are also added to `values`.
    fn flow_words(&mut self, slots: &[SlotId], values: &mut HashMap<SlotId, Value>) -> Vec<ir::Value> {
        let mut words = Vec::new();
        for &slot in slots {
            let home = self.homes.of(slot);
            if matches!(home, Home::Constant(_)) {
                continue;
            }
            let is_field = matches!(home, Home::Packet(_));
            let value = self.read_slot(slot);
            let count = runtime::words(value.width);
            if words.len() + count > FLOW_WORDS_MAX {
                continue;
            }
            if is_field && matches!(value.place, Place::Word(_)) && !self.changed.contains(slot.index()) {
                values.insert(slot, value);
            }
            let limbs = (0..count).map(|index| self.limb(value, index));
            words.extend(limbs.collect::<Vec<_>>());
        }
        words
    }

    /// The register with the address of the packet's slot.
    fn flow_variable(&self) -> Option<Variable> {
        Some(self.path()?.flow_slot.as_ref()?.variable)
    }

    /// The value of a key's field that was read when the slot was found.
    pub(super) fn value_of_flow(&self, expr: &Expr) -> Option<Value> {
        let Expr::Slot(slot) = expr else { return None };
        let value = self.path()?.flow_slot.as_ref()?.values.get(slot)?;
        (!self.changed.contains(slot.index())).then_some(*value)
    }

    /// The place of a table in the packet's slot.
    pub(super) fn flow_place(&mut self, table: TableId) -> Option<(ir::Value, FlowPlace)> {
        let path = self.path()?;
        let is_of_flow = path.flow_tables.contains(&table) && path.copy_loop.is_none();
        let slot = self.flow_variable().filter(|_| is_of_flow)?;
        let place = self.environment.slots.as_ref()?.place(table)?;
        Some((self.builder.use_var(slot), place))
    }

    /// The result noted for the flow. Without one, looks the key up and notes the result.
    pub(super) fn find_for_flow(
        &mut self,
        table: TableId,
        layout: &TableLayout,
        (slot, place): (ir::Value, FlowPlace),
    ) -> Match {
        let key = self.key_words(table, layout);
        let [known, unknown] = self.blocks();
        let different = match (place.key_words, place.nothing) {
            (0, nothing) => {
                let (word, value) = nothing.word();
                let (present, value) = (self.load(slot, 8 * word as i32), self.number(value as i64));
                self.ins().icmp(IntCC::Equal, present, value)
            }
            _ => self.different(slot, 8 * place.key as i32, &key),
        };
        self.ins().brif(different, unknown, &[], known, &[]);

        self.builder.switch_to_block(known);
        let record = match place.found {
            FoundForFlow::Address(word) => self.load(slot, 8 * word as i32),
            FoundForFlow::Copy(word, _) => self.address(slot, 8 * word as i32),
        };
        let found = self.builder.create_block();
        match place.nothing {
            Nothing::Null(_) if place.key_words > 0 => self.ins().brif(record, found, &[], unknown, &[]),
            _ => self.ins().jump(found, &[]),
        };

        self.enter_cold(unknown);
        self.store_key(&key);
        let slots = self.environment.slots.as_ref().expect("they have places");
        let sought = Sought {
            table,
            key_words: key.len(),
            place,
            followers: slots.followers(table).to_vec(),
            members: layout.members.clone(),
            lines: slots.lines_of(&place),
            learns: self.program.learns(table),
        };
        let sought = self.environment.pool.keep(sought);
        let (lane, sought) = (self.lane(), self.pointer(sought));
        self.call_rarely(runtime::FIND_FOR_FLOW, &[sought, lane, slot]);
        self.ins().jump(known, &[]);
        self.builder.seal_block(known);

        self.enter(found);
        let first_word = self.load(record, 0);
        let missed = self.ins().band_imm_u(first_word, i64::from(NO_SLOT));
        let hit = self.ins().icmp_imm_u(IntCC::Equal, missed, 0);
        let hit = self.ins().uextend(types::I64, hit);
        Match { record, hit }
    }
}
