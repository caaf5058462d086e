//! The path of clones of a v1model program, as a straight path for specialised code.
//!
//! ```text
//!  packet               parser ─► verify ─► ingress ─► decide ─► egress ─► compute ─► deparser
//!  clone from ingress   head, parser ─────► begin ───► decide ─► egress ─► compute ─► deparser
//!  clone from egress    head, headers ────► begin ───► decide ─► egress ─► compute ─► deparser
//! ```
//!
//! What is known about a clone is in a header before the frame that entered ingress
//! ([`Head`](super::clone_head::Head)): where its session sends it, and the metadata that it keeps. The parser
//! extracts this header first, and no deparser emits it. *Begin* does what the architecture's graph does with a clone:
//! it resets metadata, restores what is kept, and sets what is new.
//!
//! For a clone from egress, the headers that are valid there come before what the parser left of the frame. A second
//! header before them says which headers these are: there is a path through the parser for each set of headers that
//! may be [valid together](validities).

use super::clone_head::FIELDS;
use super::state::State;
use super::validities::{self, Valid, Validities};
use super::{Straight, append, assign, branch, ends, jumps, new_body, new_empty_control, new_slot};
use crate::layout::Layout;
use crate::packet::InstanceType;
use forebay_bits::Bits;
use forebay_ir::{
    Block, BlockId, BodyId, BodyKind, Expr, Header, HeaderField, HeaderId, KeySet, Location, Op, Program, SelectCase,
    Slot, SlotId, SlotKind, Statement, Terminator, build,
};
use forebay_jit::route::{Cloning, DropWhen, Route, Source, varbit_length};
use std::collections::BTreeSet;

/// Why clones from egress cannot be noted, if they cannot: a location, and what the program does there. Besides what
/// such a clone keeps, nothing may be observable in it except the headers that are valid there and the bytes that the
/// parser left, all in whole bytes.
pub(crate) fn obstacle_in_egress(program: &Program, layout: &Layout, route: &Route) -> Option<(Location, String)> {
    let is_validity = |slot| matches!(program.slot(slot).kind, SlotKind::Valid(_));
    let mut parsing = program.bodies[route.parser.index()].statements();
    let more_than_extracts = parsing.find(|statement| match &statement.op {
        Op::Advance { .. } => true,
        op => op.target().is_some_and(is_validity),
    });
    if let Some(statement) = more_than_extracts {
        let words = "skips bits in the parser, or makes a header valid there";
        return Some((statement.location, words.to_owned()));
    }
    let nowhere = Location::default();
    if let Some(header) = program.headers.iter().find(|header| !is_whole(program, header)) {
        let words = format!(
            "has no whole bytes in header `{}`, or several fields of variable length",
            header.name
        );
        return Some((nowhere, words));
    }
    match validities_after_egress(program, layout, route) {
        Some(Validities {
            reads_stale: Some((location, slot)),
            ..
        }) => {
            let name = &program.slot(slot).name;
            Some((location, format!("reads `{name}`, whose header may be invalid")))
        }
        Some(_) => None,
        None => Some((
            nowhere,
            "has too many sets of headers that may be valid together".to_owned(),
        )),
    }
}

/// Whether a header consists of whole bytes, before and after its one field of variable length, and so does that field.
pub(super) fn is_whole(program: &Program, header: &Header) -> bool {
    let mut parts = header.fields.split(|field| field.length.is_some());
    let bits = |fields: &[HeaderField]| -> u32 { fields.iter().map(|field| program.slot(field.slot).width).sum() };
    parts.all(|fields| bits(fields).is_multiple_of(8))
        && header.fields.iter().filter(|field| field.length.is_some()).count() <= 1
}

fn validities_after_egress(program: &Program, layout: &Layout, route: &Route) -> Option<Validities> {
    match egress_of(program, layout, route.egress, InstanceType::EgressClone) {
        Some(special) => validities::of_clones(program, &special, route),
        None => validities::of_clones(program, program, route),
    }
}

/// Whether clones and other packets use different registers and meters, or none that change: see
/// [`Cloning::are_apart`].
pub(crate) fn are_apart(program: &Program, layout: &Layout, route: &Route) -> bool {
    let from = route.clones(program);
    let (mut of_clones, mut of_others) = (State::default(), State::default());
    for body in [route.verify_checksum, route.ingress] {
        of_others.add(program, body);
    }
    for what in InstanceType::ALL {
        let state = match what {
            InstanceType::IngressClone if from[0] => &mut of_clones,
            InstanceType::EgressClone if from[1] => &mut of_clones,
            InstanceType::IngressClone | InstanceType::EgressClone => continue,
            _ => &mut of_others,
        };
        let Some(special) = egress_of(program, layout, route.egress, what) else {
            return false;
        };
        for body in [route.egress, route.compute_checksum, route.deparser] {
            state.add(&special, body);
        }
    }
    of_clones.is_apart_from(&of_others)
}

/// The path of clones, if there can be specialised code for it.
pub(crate) fn straight(program: &Program, layout: &Layout, route: &Route) -> Option<Straight> {
    if !can_be_straight(program, route) {
        return None;
    }
    let [from_ingress, from_egress] = route.clones(program);
    let forgotten = forgotten(program, layout, route);
    let received = from_ingress.then(|| program.bodies[route.parser.index()].blocks.clone());
    let sets = if from_egress {
        Some(validities_after_egress(program, layout, route)?.sets)
    } else {
        None
    };
    let mut made = program.clone();
    made.graph = None;
    let program = &mut made;
    let (head, fields) = head_of(program, route);
    let head_slots = HeadSlots {
        port: new_slot(program, "clone.its_port", 32),
        length: new_slot(program, "clone.its_length", 32),
        received: new_slot(program, "clone.its_received_length", 32),
    };
    let parser = ParserOfClones {
        program,
        instance_type: layout.slots.instance_type,
        head_slots,
        blocks: Vec::new(),
    };
    let (blocks, state) = parser.blocks((head, &fields), received, sets);
    let begin = Begin {
        program,
        layout,
        head: &fields,
        head_slots,
    };
    let statements = begin.statements(route, &forgotten, [Some(head), state]);
    let parser = new_body(program, "parser of clones", BodyKind::Parser, blocks);
    let nothing = new_empty_control(program);
    let ingress = new_body(program, "begin of clones", BodyKind::Control, vec![ends(statements)]);
    let mut egress = route.egress;
    if let Some(blocks) = egress_of_clones(program, layout, egress, [from_ingress, from_egress]) {
        egress = new_body(program, "egress of clones", BodyKind::Control, blocks);
    }
    let head_valid = program.headers[head.index()].valid;
    let bodies = [parser, nothing, ingress, egress];
    let route = route_of_clones(route, layout, bodies, (head_slots, head_valid));
    Some(Straight { program: made, route })
}

/// Whether there are clones whose path can be straight.
fn can_be_straight(program: &Program, route: &Route) -> bool {
    let mut parsing = program.bodies[route.parser.index()].statements();
    let reads_length = parsing.any(|statement| matches!(statement.op, Op::PacketLength { .. }));
    let draws_random_numbers = route.draws_random_numbers(program)[1];
    let [from_ingress, from_egress] = route.clones(program);
    let are_noted = (from_ingress || from_egress) && route.executes_clones(program);
    if !are_noted || (from_ingress && reads_length) || draws_random_numbers {
        return false;
    }
    // Fields that the parser extracts again must not be kept by a clone.
    route.cloning.kept.iter().flatten().all(|slot| is_reset(program, *slot))
}

/// Whether a clone begins without the value that its packet has in a slot, unless it keeps the slot.
fn is_reset(program: &Program, slot: SlotId) -> bool {
    let kind = program.slot(slot).kind;
    matches!(kind, SlotKind::Metadata | SlotKind::Intrinsic | SlotKind::Local)
}

/// The slots that are reset for a clone: metadata that the parser writes, and the ingress port.
fn forgotten(program: &Program, layout: &Layout, route: &Route) -> Vec<SlotId> {
    let parsing = program.bodies[route.parser.index()].statements();
    let mut forgotten = vec![layout.slots.ingress_port];
    forgotten.extend(parsing.flat_map(|statement| statement.op.slots_written(program)));
    forgotten.retain(|slot| is_reset(program, *slot) && Some(*slot) != layout.slots.instance_type);
    forgotten.sort();
    forgotten.dedup();
    forgotten
}

/// The route of clones through these bodies, beside that of other packets.
fn route_of_clones(
    route: &Route,
    layout: &Layout,
    [parser, verify_checksum, ingress, egress]: [BodyId; 4],
    (head_slots, head_valid): (HeadSlots, SlotId),
) -> Route {
    Route {
        parser,
        verify_checksum,
        ingress,
        egress,
        checksum_error: None,
        parser_error: None,
        egress_spec: head_slots.port,
        ingress_drop: DropWhen {
            slot: head_valid,
            value: 1,
        },
        counted_length: Some(head_slots.received),
        before_parser: vec![(
            layout.slots.ingress_port,
            Source::Argument(forebay_jit::route::Argument::IngressPort),
        )],
        before_egress: before_egress(route, layout),
        replication: None,
        cloning: Cloning::default(),
        leaving: None,
        ..route.clone()
    }
}

/// The values that packets get before egress, without their instance type and length.
fn before_egress(route: &Route, layout: &Layout) -> Vec<(SlotId, Source)> {
    let slots = &layout.slots;
    let told = route.before_egress.iter().copied();
    told.filter(|(slot, _)| ![slots.instance_type, slots.packet_length].contains(&Some(*slot)))
        .collect()
}

/// The program with its egress specialised for packets of one instance type. `None` if the program writes the instance
/// type, or has no slot for it.
fn egress_of(program: &Program, layout: &Layout, egress: BodyId, what: InstanceType) -> Option<Program> {
    let instance_type = layout.slots.instance_type?;
    let mut special = program.clone();
    let what = build::constant(program.slot(instance_type).width, what as u128);
    let mut statements = program.statements();
    if statements.any(|statement| statement.op.slots_written(program).contains(&instance_type)) {
        return None;
    }
    for block in &mut special.bodies[egress.index()].blocks {
        block.exprs_mut().for_each(|expr| replace(expr, instance_type, &what));
    }
    forebay_ir::passes::optimize(&mut special);
    Some(special)
}

/// Egress specialised for these clones. `None` if it cannot be: see [`egress_of`].
fn egress_of_clones(program: &Program, layout: &Layout, egress: BodyId, from: [bool; 2]) -> Option<Vec<Block>> {
    let special =
        |what| egress_of(program, layout, egress, what).map(|program| program.bodies[egress.index()].blocks.clone());
    match from {
        [true, true] => {
            let [first, second] = [
                special(InstanceType::IngressClone)?,
                special(InstanceType::EgressClone)?,
            ];
            if first == second {
                return Some(first);
            }
            let instance_type = layout.slots.instance_type?;
            let from_ingress = build::constant(program.slot(instance_type).width, InstanceType::IngressClone as u128);
            let end = BlockId((1 + first.len() + second.len()) as u32);
            let is_from_ingress = build::equal(Expr::Slot(instance_type), from_ingress);
            let second_begins = BlockId(1 + first.len() as u32);
            let mut blocks = vec![branch(is_from_ingress, BlockId(1), second_begins)];
            append(&mut blocks, first, end);
            append(&mut blocks, second, end);
            blocks.push(ends(Vec::new()));
            Some(blocks)
        }
        [true, false] => special(InstanceType::IngressClone),
        [false, _] => special(InstanceType::EgressClone),
    }
}

fn replace(expr: &mut Expr, slot: SlotId, by: &Expr) {
    match expr {
        Expr::Slot(found) if *found == slot => expr.clone_from(by),
        _ => expr.for_each_operand_mut(&mut |operand| replace(operand, slot, by)),
    }
}

/// A header with these fields that no deparser emits.
fn new_header(program: &mut Program, name: &str, fields: &[(String, u32)]) -> (HeaderId, Vec<SlotId>) {
    let id = HeaderId(program.headers.len() as u32);
    let mut slot = |field: &str, width: u32, kind: SlotKind| {
        let slot = SlotId(program.slots.len() as u32);
        program.slots.push(Slot {
            name: format!("{name}.{field}"),
            width,
            signed: false,
            kind,
        });
        slot
    };
    let valid = slot("$valid$", 1, SlotKind::Valid(id));
    let slots: Vec<SlotId> = fields
        .iter()
        .map(|(field, width)| slot(field, *width, SlotKind::Field(id)))
        .collect();
    let named = |((name, _), slot): (&(String, u32), &SlotId)| HeaderField {
        name: name.clone(),
        slot: *slot,
        length: None,
    };
    program.headers.push(Header {
        name: name.to_owned(),
        type_name: format!("{name}_t"),
        valid,
        fields: fields.iter().zip(&slots).map(named).collect(),
    });
    (id, slots)
}

/// The first header, and its fields in order.
pub(super) fn head_of(program: &mut Program, route: &Route) -> (HeaderId, Vec<SlotId>) {
    let mut fields: Vec<(String, u32)> = FIELDS.iter().map(|(name, width)| (name.to_string(), *width)).collect();
    let kept = route.cloning.kept.iter().flatten().zip(0..);
    fields.extend(kept.map(|(slot, place)| (format!("kept_{place}"), program.slot(*slot).width.next_multiple_of(8))));
    new_header(program, "clone", &fields)
}

/// The slots in which the parser stores what the head says about a clone.
#[derive(Clone, Copy)]
struct HeadSlots {
    port: SlotId,
    /// The length after the queue.
    length: SlotId,
    /// The length that counters count.
    received: SlotId,
}

/// The parser of clones.
struct ParserOfClones<'a> {
    program: &'a mut Program,
    instance_type: Option<SlotId>,
    head_slots: HeadSlots,
    blocks: Vec<Block>,
}

impl ParserOfClones<'_> {
    /// The parser's blocks: for clones from ingress with those of the program's parser, and for clones from egress
    /// with the headers that may be valid together. Also returns the header that says which headers are valid.
    fn blocks(
        mut self,
        (head, fields): (HeaderId, &[SlotId]),
        received: Option<Vec<Block>>,
        sets: Option<BTreeSet<Valid>>,
    ) -> (Vec<Block>, Option<HeaderId>) {
        self.blocks.push(ends(vec![extract(head)]));
        let of_ingress = received.map(|blocks| {
            let first = self.next();
            let behind = BlockId(first.0 + blocks.len() as u32);
            append(&mut self.blocks, blocks, behind);
            self.end(InstanceType::IngressClone, [fields[1]; 2]);
            first
        });
        let (of_egress, state) = sets.map(|sets| self.of_egress(&sets)).unzip();
        self.blocks[0].terminator = match (of_ingress, of_egress) {
            (Some(ingress), Some(egress)) => Terminator::Branch {
                condition: build::equal(Expr::Slot(fields[4]), build::constant(8, 0)),
                then_block: ingress,
                else_block: egress,
            },
            (Some(only), None) | (None, Some(only)) => Terminator::Jump(only),
            (None, None) => unreachable!("there are clones"),
        };
        (self.blocks, state)
    }

    fn next(&self) -> BlockId {
        BlockId(self.blocks.len() as u32)
    }

    /// Ends a path: sets the clone's instance type and these lengths.
    fn end(&mut self, what: InstanceType, lengths: [SlotId; 2]) {
        let width = |slot: SlotId| self.program.slot(slot).width;
        let what = self
            .instance_type
            .map(|slot| assign(slot, build::constant(width(slot), what as u128)));
        let to = [self.head_slots.length, self.head_slots.received];
        let lengths = to
            .into_iter()
            .zip(lengths)
            .map(|(to, from)| assign(to, Expr::Slot(from)));
        let statements = lengths.chain(what).collect();
        self.blocks.push(ends(statements));
    }

    /// Parses the headers of clones from egress.
    fn of_egress(&mut self, sets: &BTreeSet<Valid>) -> (BlockId, HeaderId) {
        // The last one is the clone's head.
        let headers: Vec<HeaderId> = (0..self.program.headers.len() as u32 - 1).map(HeaderId).collect();
        let words: Vec<&[HeaderId]> = headers.chunks(64).collect();
        let mut fields = vec![("length".to_owned(), 32), ("received".to_owned(), 32)];
        fields.extend(words.iter().map(|word| ("valid".to_owned(), word.len() as u32)));
        let rest = headers.len().next_multiple_of(8) - headers.len();
        fields.extend((rest > 0).then(|| ("rest".to_owned(), rest as u32)));
        let varying = |id: &&HeaderId| varbit_length(&self.program.headers[id.index()]).is_some();
        let varying: Vec<HeaderId> = headers.iter().filter(varying).copied().collect();
        let first_length = fields.len();
        fields.extend(varying.iter().map(|_| ("bits".to_owned(), 32)));
        let mut order = Route::headers_of_clones(self.program);
        order.retain(|id| headers.contains(id));
        let (state, slots) = new_header(self.program, "clone_headers", &fields);
        let first = self.next();
        self.blocks.push(ends(vec![extract(state)]));
        self.end(InstanceType::EgressClone, [slots[0], slots[1]]);
        let end = BlockId(first.0 + 1);
        let mut cases = Vec::new();
        for set in sets {
            let bits = |word: &&[HeaderId]| {
                let number = word
                    .iter()
                    .fold(0, |bits, header| bits << 1 | u128::from(set.contains(header)));
                KeySet::Exact(Bits::new(word.len() as u32, number))
            };
            cases.push(SelectCase {
                keysets: words.iter().map(bits).collect(),
                target: self.next(),
            });
            let present = order.iter().filter(|header| set.contains(header));
            let all = present.map(|header| match varying.iter().position(|other| other == header) {
                Some(place) => extract_with_varbit(*header, slots[first_length + place]),
                None => extract(*header),
            });
            let all = all.collect();
            self.blocks.push(jumps(all, end));
        }
        let default = self.next();
        let error = build::constant(32, 0);
        self.blocks.push(Block::new(Vec::new(), Terminator::Reject(error)));
        self.blocks[first.index()].terminator = Terminator::Select {
            keys: slots[2..][..words.len()].iter().map(|slot| Expr::Slot(*slot)).collect(),
            cases,
            default,
        };
        (first, state)
    }
}

pub(super) fn extract(header: HeaderId) -> Statement {
    Statement::new(Op::Extract {
        header,
        varbit_bits: None,
    })
}

fn extract_with_varbit(header: HeaderId, bits: SlotId) -> Statement {
    Statement::new(Op::Extract {
        header,
        varbit_bits: Some(Expr::Slot(bits)),
    })
}

/// The body in place of ingress.
struct Begin<'a> {
    program: &'a Program,
    layout: &'a Layout,
    head: &'a [SlotId],
    head_slots: HeadSlots,
}

impl Begin<'_> {
    fn resized(&self, from: SlotId, to: u32) -> Expr {
        build::resize(Expr::Slot(from), self.program.slot(from).width, to, false)
    }

    fn give(&self, slot: SlotId, from: SlotId) -> Statement {
        assign(slot, self.resized(from, self.program.slot(slot).width))
    }

    fn statements(&self, route: &Route, forgotten: &[SlotId], heads: [Option<HeaderId>; 2]) -> Vec<Statement> {
        let slots = &self.layout.slots;
        let &[port, _, limit, instance, _, class, ref kept @ ..] = self.head else {
            unreachable!("the header has these fields")
        };
        let zero = |slot: &SlotId| assign(*slot, build::constant(self.program.slot(*slot).width, 0));
        let mut statements: Vec<Statement> = forgotten.iter().map(zero).collect();
        let preserved = route.cloning.kept.iter().flatten().zip(kept);
        statements.extend(preserved.map(|(slot, field)| self.give(*slot, *field)));
        statements.extend(slots.priority.map(|priority| self.priority(priority, class)));
        let told = [
            (slots.packet_length, self.head_slots.length),
            (slots.egress_rid, instance),
        ];
        statements.extend(
            told.into_iter()
                .filter_map(|(slot, field)| Some(self.give(slot?, field))),
        );
        statements.push(self.give(self.head_slots.port, port));
        statements.push(Statement::new(Op::Truncate {
            bytes: Expr::Slot(limit),
        }));
        let valid = |head: HeaderId| zero(&self.program.headers[head.index()].valid);
        statements.extend(heads.into_iter().flatten().map(valid));
        statements
    }

    /// The session's class of service, or, when that is 0, the priority that the clone keeps.
    fn priority(&self, priority: SlotId, class: SlotId) -> Statement {
        let has_none = build::equal(Expr::Slot(class), build::constant(8, 0));
        let width = self.program.slot(priority).width;
        let chosen = build::mux(has_none, Expr::Slot(priority), self.resized(class, width));
        assign(priority, chosen)
    }
}
