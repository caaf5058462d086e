//! The fast path: see [`crate::route`].

use super::boundaries::Destination;
use super::burst::Path;
use super::mode::ParserPath;
use super::value_locations::{Address, Field, Home, Homes};
use super::{Ending, Translator};
use crate::analysis::CursorFact;
use crate::flow_slots::{FAR_BYTES, FAR_CALLS, SlotCandidate, SlotLayout};
use crate::flow_trail::ArrayId;
use crate::inline_caches::{key_slots, writes_data_alone};
use crate::packet_context::Shape;
use crate::route::facts::Facts;
use crate::route::flow::{Joint, Stage};
use crate::route::flow_keys::FlowKeys;
use crate::route::plan::{Leaf, Next, Node, NodeId, Plan, Planned};
use crate::route::{Argument, BailOut, Order, Pass, Route, Source};
use crate::tables::TableLayout;
use cranelift_codegen::ir::{self, InstBuilder, types};
use cranelift_frontend::Variable;
use forebay_bits::Bits;
use forebay_ir::{BodyId, Expr, HeaderId, KeySet, Op, SlotId, TableId};
use std::collections::HashMap;

/// What is known at a node of the parser's tree.
#[derive(Clone, Default)]
pub(super) struct Parsed {
    pub(super) homes: Homes,
    /// The extracted fields in the packet.
    pub(super) fields: HashMap<SlotId, Field>,
    /// The positions at which extracted headers begin.
    pub(super) starts: HashMap<HeaderId, Position>,
    /// Registers with the positions of headers.
    carried: Vec<Variable>,
}

/// A position in the packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    pub(super) cursor: CursorFact,
    /// The register that holds the position, if it is not known.
    pub(super) variable: Variable,
}

impl Position {
    /// How many bytes before the packet something begins, at most, that has this many bytes and ends here.
    pub(super) fn bytes_before(self, bytes: u64) -> u64 {
        match self.cursor {
            CursorFact::At(bits) => bytes.saturating_sub(bits / 8),
            _ => bytes,
        }
    }

    /// Whether the position is certainly on a byte boundary.
    pub(super) fn is_aligned(self) -> bool {
        self.cursor.bit_in_byte() == Some(0)
    }
}

impl<'a> Translator<'_, 'a, '_> {
    /// Translates the whole route, in a loop over a burst.
    pub(super) fn route(&mut self, route: &'a Route, plan: &'a Plan, order: Order) -> Shape {
        let tables = (0..self.program.tables.len() as u32).map(TableId);
        let words = tables.map(|table| match self.table_layout(table) {
            TableLayout {
                members: Some(members), ..
            } => members.words(),
            layout => layout.key.words(),
        });
        let key_words = words.max().unwrap_or(0);
        self.environment.slots = match order {
            Order::Cached => self.slot_layout(route, plan),
            Order::RunToCompletion | Order::Staged => None,
        };
        let prepare = |translator: &mut Self| translator.look_up_for_burst(route);
        let path = Path {
            staged: order == Order::Staged,
            uses_lanes: plan.makes_copies(),
            finds_hashes: false,
        };
        self.burst(path, key_words, prepare, |translator| {
            translator.first_segment(route, plan)
        })
    }

    /// Translates the parser alone, in a loop over a burst.
    pub(super) fn hashes(&mut self, route: &'a Route, plan: &'a Plan) {
        let path = Path {
            staged: false,
            uses_lanes: false,
            finds_hashes: true,
        };
        self.burst(path, 0, |_| {}, |translator| translator.first_segment(route, plan));
    }

    /// The layout of flow slots, with places for the tables that packets look up individually.
    fn slot_layout(&self, route: &Route, plan: &Plan) -> Option<SlotLayout> {
        let shared = self.tables_of_bursts(route);
        let mut tables = route.tables(self.program);
        tables.retain(|table| !shared.contains(table));
        let joins = &self.environment.joins;
        let leader = |table| {
            let leader = joins.leader(table)?;
            let key = key_slots(self.program, table);
            // A slot that an action leaves unchanged must be constant.
            let sources = route.before_parser.iter().chain(&route.before_egress);
            let mut others = sources.chain(route.before_copy()).map(|(slot, _)| slot);
            if others.any(|slot| key.as_ref().is_some_and(|key| key.contains(slot))) {
                return None;
            }
            // Nor may an action compute it from anything but its data.
            let actions = &self.program.tables[leader.index()].actions;
            let is_of_data = |key| {
                let mut listed = actions.iter();
                listed.all(|listed| writes_data_alone(self.program, listed.action, key))
            };
            if !key.as_ref().is_some_and(is_of_data) {
                return None;
            }
            let leads = |leaf: &Leaf| {
                let known = FlowKeys::of(&leaf.program, route, &leaf.flow).tables;
                key_slots(&leaf.program, table) == key
                    && leaf.flow.always_after(leader, table)
                    && leaf.flow.at_most_once(leader)
                    && (known.contains(&leader) || !known.contains(&table))
            };
            plan.leaves.iter().all(leads).then_some(leader)
        };
        // Tables with a leading table come after the others.
        let (followers, others): (Vec<TableId>, Vec<TableId>) =
            tables.into_iter().partition(|table| joins.leader(*table).is_some());
        let candidates = others.into_iter().chain(followers).map(|table| SlotCandidate {
            table,
            layout: self.table_layout(table),
            leader: leader(table).filter(|_| !self.program.learns(table)),
            learns: self.program.learns(table),
        });
        let candidates: Vec<SlotCandidate> = candidates.collect();
        let arrays = if route.without.has(Pass::FlowTrail) {
            Vec::new()
        } else {
            ArrayId::far(self.program, &self.environment.banks)
        };
        let is_called = |table: &&SlotCandidate| table.layout.search.is_none() || table.layout.members.is_some();
        let calls = candidates.iter().filter(is_called).count();
        let bytes = |table: &SlotCandidate| {
            let words = (table.layout.key.words() + table.layout.record.words()) as u64;
            self.program.tables[table.table.index()].size.saturating_mul(8 * words)
        };
        let bytes = candidates.iter().map(bytes).fold(0, u64::saturating_add);
        let waits = route.keeps_order(self.program) && (!arrays.is_empty() || bytes > FAR_BYTES);
        let mut layout = SlotLayout::new(candidates, &arrays)?;
        layout.goes_far = waits || calls >= FAR_CALLS;
        Some(layout)
    }

    /// The tables whose keys consist only of constants and of arguments that all packets of a burst share.
    fn tables_of_bursts(&self, route: &Route) -> Vec<TableId> {
        let constants = route.burst_constants(self.program);
        let is_constant = |slot: SlotId| constants.iter().any(|(constant, _)| *constant == slot);
        let tables = route.tables(self.program).into_iter();
        let shared = tables.filter(|table| {
            let mut all_constant = true;
            for key in &self.program.tables[table.index()].keys {
                key.expr.for_each_slot(&mut |slot| all_constant &= is_constant(slot));
            }
            all_constant && self.program.tables[table.index()].implementation.is_none()
        });
        shared.collect()
    }

    /// Makes the look-ups that are the same for all packets of a burst: those whose keys consist only of constants and
    /// shared arguments.
    fn look_up_for_burst(&mut self, route: &Route) {
        let program = self.program;
        let constants = route.burst_constants(program);
        self.homes = Homes::new(program.slots.len());
        for (slot, source) in &constants {
            self.set_source(*slot, *source, None, &Facts::default());
        }
        for id in self.tables_of_bursts(route) {
            let layout = self.table_layout(id);
            self.look_up_ahead(id, &layout);
        }
    }

    fn first_segment(&mut self, route: &'a Route, plan: &'a Plan) {
        let slots = self.program.slots.len();
        self.homes = Homes::new(slots);
        for slot in (0..slots as u32).map(SlotId) {
            let zero = Bits::zero(self.program.slot(slot).width);
            self.homes.set(slot, Home::Constant(zero));
        }
        let zero = self.number(0);
        let fast = self.fast_path();
        for variable in [fast.checksum_failed, fast.cursor] {
            self.builder.def_var(variable, zero);
        }
        let read = route.slots_read(self.program);
        for (slot, source) in &route.before_parser {
            match source {
                Source::Number(number) => {
                    let value = Bits::new(self.program.slot(*slot).width, (*number).into());
                    self.homes.set(*slot, Home::Constant(value));
                }
                _ if !read.contains(slot) => {}
                _ => self.set_source(*slot, *source, None, &Facts::default()),
            }
        }
        let parsed = Parsed {
            homes: self.homes.clone(),
            ..Parsed::default()
        };
        self.node(route, plan, plan.root(), parsed);
    }

    pub(super) fn set_source(&mut self, slot: SlotId, source: Source, destination: Option<Destination>, facts: &Facts) {
        let number = match source {
            Source::Queue(slot) => {
                let (wanted, last) = (
                    self.word_of_slot(slot),
                    self.load(self.context, in_context!(last_queue)),
                );
                self.ins().umin(wanted, last)
            }
            Source::NewLength => self.new_length(facts),
            Source::Payload(slot) => self.payload_and(slot),
            Source::Number(number) => self.number(number as i64),
            Source::Argument(Argument::IngressPort) => self.load(self.context, in_context!(ingress_port)),
            Source::Argument(Argument::Timestamp) => self.load(self.context, in_context!(timestamp_us)),
            Source::Argument(Argument::PacketLength) => self.received_bytes(),
            Source::EgressPort => destination.map_or_else(|| self.number(0), |destination| destination.port),
            Source::Instance => destination.map_or_else(|| self.number(0), |destination| destination.instance),
            Source::BeforeFrame(bytes) => return self.load_before_frame(slot, bytes),
        };
        self.write_number(slot, number);
    }

    /// Gives a slot the number that begins this many bytes before the frame.
    fn load_before_frame(&mut self, slot: SlotId, bytes_before: u32) {
        self.environment.headroom = self.environment.headroom.max(bytes_before as usize);
        let width = self.program.slot(slot).width;
        let bytes = width.div_ceil(8);
        let packet = self.packet();
        let number = Field {
            address: Address::Known(self.address(packet, -(bytes_before as i32))),
            bytes,
            first_bit: 8 * bytes - width,
        };
        self.read_into(slot, &number);
    }

    /// Translates a node of the parser's tree, and the subtree below it.
    fn node(&mut self, route: &'a Route, plan: &'a Plan, id: NodeId, mut parsed: Parsed) {
        let node: &'a Node = &plan.nodes[id.0];
        self.homes = parsed.homes.clone();
        self.bits_assured = node.bits_assured;
        for (index, planned) in node.statements.iter().enumerate() {
            self.cursor = planned.cursor;
            self.temporaries_used = 0;
            self.require_headers(&node.statements[index..]);
            self.fast_path_mut().too_short = planned.too_short;
            self.parse_statement(&planned.op, &mut parsed);
        }
        self.fast_path_mut().too_short = None;
        self.bits_assured = 0;
        if let Next::Leaf(index) = &node.next {
            for (slot, value) in &plan.leaves[*index].known {
                self.homes.set(*slot, Home::Constant(value.clone()));
            }
        }
        parsed.homes = self.homes.clone();
        self.temporaries_used = 0;
        match &node.next {
            Next::BailOut(reason) => {
                let end = self.ending(Ending::BailedOut(*reason));
                self.ins().jump(end, &[]);
            }
            Next::LeftOut(reason, index) => {
                let end = self.ending(Ending::LeftOut(*reason, *index as u32));
                self.ins().jump(end, &[]);
            }
            Next::Leaf(index) => self.leaf(route, &plan.leaves[*index], &parsed),
            Next::Branch {
                condition,
                then_node,
                else_node,
            } => {
                let condition = self.condition(condition, None);
                self.two_nodes(route, plan, condition, [*then_node, *else_node], &parsed);
            }
            Next::HasBits {
                end,
                then_node,
                else_node,
            } => {
                let condition = self.packet_has(*end);
                self.two_nodes(route, plan, condition, [*then_node, *else_node], &parsed);
            }
            Next::Select { keys, cases, default } => {
                let targets: Vec<ir::Block> = cases.iter().map(|_| self.builder.create_block()).collect();
                let default_block = self.builder.create_block();
                let targets_of: Vec<(&[KeySet], ir::Block)> = cases
                    .iter()
                    .map(|(keysets, _)| &keysets[..])
                    .zip(targets.iter().copied())
                    .collect();
                self.select(keys, &targets_of, default_block, None);
                let nodes = cases.iter().map(|(_, node)| *node).chain([*default]);
                for (node, block) in nodes.zip(targets.iter().copied().chain([default_block])) {
                    self.enter(block);
                    self.node(route, plan, node, parsed.clone());
                }
            }
        }
    }

    /// Translates two nodes, between which a condition decides.
    fn two_nodes(
        &mut self,
        route: &'a Route,
        plan: &'a Plan,
        condition: ir::Value,
        nodes: [NodeId; 2],
        parsed: &Parsed,
    ) {
        let blocks = [self.builder.create_block(), self.builder.create_block()];
        self.ins().brif(condition, blocks[0], &[], blocks[1], &[]);
        for (block, node) in blocks.into_iter().zip(nodes) {
            self.enter(block);
            self.node(route, plan, node, parsed.clone());
        }
    }

    /// Tests once whether the packet has all of several consecutive headers at known positions. A packet that does not
    /// is left to the slow path at once, under the parser path on which the first missing header is missing.
    fn require_headers(&mut self, statements: &[Planned]) {
        let program = self.program;
        let ends = statements
            .iter()
            .map_while(|planned| match (&planned.op, planned.cursor) {
                (
                    Op::Extract {
                        header,
                        varbit_bits: None,
                    },
                    CursorFact::At(position),
                ) => {
                    let bits = program.header_bits(&program.headers[header.index()]).0;
                    Some((position.checked_add(bits)?, planned.too_short))
                }
                _ => None,
            });
        let ends: Vec<(u64, Option<usize>)> = ends.filter(|(end, _)| *end > self.bits_assured).collect();
        let Some((all, _)) = ends.last() else { return };
        let has_all = self.packet_has(*all);
        let [next, lacks] = self.blocks();
        self.ins().brif(has_all, next, &[], lacks, &[]);
        self.enter_cold(lacks);
        for (index, (end, too_short)) in ends.iter().enumerate() {
            self.fast_path_mut().too_short = *too_short;
            let short = self.ending(Ending::Rejected(self.environment.errors.packet_too_short));
            if index + 1 == ends.len() {
                self.ins().jump(short, &[]);
            } else {
                let has = self.packet_has(*end);
                self.go_on_if(has, short);
                self.mark_cold();
            }
        }
        self.enter(next);
        self.bits_assured = *all;
    }

    fn parse_statement(&mut self, op: &Op, parsed: &mut Parsed) {
        match op {
            Op::Extract { header, varbit_bits } => self.locate(*header, varbit_bits.as_ref(), parsed),
            _ => self.statement(op, None),
        }
    }

    /// Extracts a header: determines its position.
    fn locate(&mut self, id: HeaderId, varbit_bits: Option<&Expr>, parsed: &mut Parsed) {
        let start = self.here(parsed);
        parsed.starts.insert(id, start);
        let program = self.program;
        let header = &program.headers[id.index()];
        let (fixed, _) = program.header_bits(header);
        let (None, Some(bit)) = (varbit_bits, self.cursor.bit_in_byte()) else {
            return self.extract_to_slots(id, varbit_bits, parsed);
        };
        let bits = self.number(fixed as i64);
        let position = self.require_bits(bits);
        let address = match start.cursor {
            CursorFact::At(bits) => Address::InPacket(bits / 8),
            _ => Address::AfterBits(start.variable),
        };
        let mut offset = bit;
        for field in &header.fields {
            let width = program.slot(field.slot).width;
            let place = Field {
                address,
                bytes: (bit + fixed as u32).div_ceil(8),
                first_bit: offset,
            };
            offset += width;
            parsed.fields.insert(field.slot, place);
            if width <= 128 {
                self.homes.set(field.slot, Home::Packet(place));
            } else {
                self.homes.set(field.slot, Home::State);
                self.read_wide(field.slot, &place, width);
            }
        }
        self.homes.set(header.valid, Home::Constant(Bits::from_bool(true)));
        let end = self.ins().iadd(position, bits);
        self.store_cursor(end);
    }

    /// The parser's position, kept for later.
    fn here(&mut self, parsed: &mut Parsed) -> Position {
        let (cursor, mut variable) = (self.cursor, self.fast_path().cursor);
        if !matches!(cursor, CursorFact::At(_)) {
            let position = self.load_cursor();
            variable = self.variable(position);
            parsed.carried.push(variable);
        }
        Position { cursor, variable }
    }

    /// Extracts a header whose fields do not have known positions: reads them at once.
    fn extract_to_slots(&mut self, id: HeaderId, varbit_bits: Option<&Expr>, parsed: &mut Parsed) {
        let header = &self.program.headers[id.index()];
        for slot in header.slots() {
            self.move_to_register(slot);
            parsed.fields.remove(&slot);
        }
        for field in &header.fields {
            if field.length.is_some() {
                self.homes.set(field.slot, Home::State);
            }
        }
        self.extract(id, varbit_bits);
        self.homes.set(header.valid, Home::Constant(Bits::from_bool(true)));
    }

    /// Translates everything after the parser on one path.
    fn leaf(&mut self, route: &'a Route, leaf: &'a Leaf, parsed: &Parsed) {
        let whole = std::mem::replace(&mut self.program, &leaf.program);
        self.cursor = leaf.cursor;
        let egress_port = self.builder.declare_var(types::I64);
        self.fast_path_mut().path = Some(ParserPath::new(leaf, egress_port));
        if self.fast_path().finds_hashes {
            self.tell_hash(route, leaf);
        } else {
            self.begin_leaf(route, leaf, parsed);
            self.begin_flow(route, leaf);
            self.settle(leaf);
            self.flow(route, leaf, parsed);
        }
        self.fast_path_mut().path = None;
        self.program = whole;
    }

    fn begin_leaf(&mut self, route: &'a Route, leaf: &'a Leaf, parsed: &Parsed) {
        self.begin_memos();
        self.begin_truncation();
        self.begin_sums(route, leaf);
        self.begin_counting(route, leaf);
        self.begin_cloning(route, leaf);
        self.begin_new_length(route, leaf);
        self.begin_random_numbers(route);
        let burst = self.burst_state();
        burst.parsed = parsed.homes.clone();
        burst.asked_at.clear();
    }

    /// The registers other than slots that are needed after a look-up.
    pub(super) fn carry(&mut self, leaf: &Leaf, parsed: &Parsed, stage: Stage) {
        let mut carried = parsed.carried.clone();
        carried.extend(self.sum_variables());
        carried.extend(self.memo_variables());
        carried.extend(self.counted_variables());
        carried.extend(self.on_path().parsed_bits);
        match stage {
            Stage::Verification => carried.push(self.fast_path().checksum_failed),
            Stage::Ingress => {}
            Stage::Egress => carried.push(self.on_path().egress_port),
        }
        if !matches!(leaf.cursor, CursorFact::At(_)) {
            carried.push(self.fast_path().cursor);
        }
        self.burst_state().carried = carried;
    }

    /// Moves the slots that the bodies write to registers with their current values, except those that are changed in
    /// the packet. A constant that no block reads is not stored in the state. Copies of a packet begin with the values
    /// of all slots.
    fn settle(&mut self, leaf: &Leaf) {
        let has_copies = leaf
            .flow
            .blocks
            .iter()
            .any(|block| block.joint == Some(Joint::Replicate));
        for &slot in &leaf.written {
            let moves = match self.homes.of(slot) {
                Home::Constant(_) => true,
                Home::Packet(_) => !leaf.in_place,
                Home::State | Home::Register(_) => false,
            };
            if !moves {
                continue;
            }
            let is_needed = has_copies || leaf.needed.contains(slot.index());
            let is_known = matches!(self.homes.of(slot), Home::Constant(_));
            let value = self.read_slot(slot);
            self.move_to_register(slot);
            if is_needed || !is_known || !matches!(self.homes.of(slot), Home::State) {
                self.write_slot(slot, value);
            }
        }
    }

    /// Translates a control.
    pub(super) fn control(&mut self, id: BodyId) {
        let program = self.program;
        let next = self.builder.create_block();
        self.on_exit = Some(next);
        self.body(&program.bodies[id.index()], None, next);
        self.on_exit = None;
        self.enter(next);
        self.temporaries_used = 0;
    }

    pub(super) fn is_known_zero(&self, slot: SlotId) -> bool {
        matches!(self.homes.of(slot), Home::Constant(value) if value.is_zero())
    }

    /// The packet takes the slow path from here.
    pub(super) fn bail_out(&mut self, reason: BailOut) {
        let end = self.bail_out_block(reason);
        self.ins().jump(end, &[]);
        // The following code is unreachable.
        let next = self.builder.create_block();
        self.builder.switch_to_block(next);
    }
}
