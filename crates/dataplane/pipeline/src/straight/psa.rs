//! The straight path of a PSA program.

use super::deparsed::Deparsed;
use super::reparse::Reparse;
use super::sides::{EGRESS_PORT, Sides};
use super::{
    Refusal, Straight, append, assign, branch, cloning, ends, exit_in_action, intrinsic, jumps, new_body, new_deparser,
    new_slot, sends_back, side_exit,
};
use forebay_arch::psa;
use forebay_bits::Bits;
use forebay_ir::{
    BinaryOp, Block, BlockId, Body, BodyId, BodyKind, CloneKind, Expr, HeaderId, Location, Op, Program, Role, SlotId,
    SlotKind, Statement, build,
};
use forebay_jit::route::{
    Argument, ClonedFrame, Cloning, DropWhen, PassSet, Replication, Request, RequestKind, Route, SendsBack, Source,
};
use std::collections::BTreeSet;

/// Members of `PSA_PacketPath_t`.
const NORMAL_UNICAST: u64 = 1;
const NORMAL_MULTICAST: u64 = 2;
const RECIRCULATED: u64 = 6;

/// The fields of the intrinsic metadata that the architecture reads and writes around the blocks.
pub(super) struct Fields {
    drop: SlotId,
    clone: SlotId,
    session: SlotId,
    resubmit: SlotId,
    group: SlotId,
    egress_port: SlotId,
    class: SlotId,
    egress_drop: SlotId,
    pub(super) egress_clone: SlotId,
    egress_session: SlotId,
    egress_class: SlotId,
    deparser_port: SlotId,
}

impl Fields {
    fn of(program: &Program) -> Result<Fields, Refusal> {
        let field = |name: &str| intrinsic(program, &format!("psa_{name}"));
        Ok(Fields {
            drop: field("ingress_output_metadata.drop")?,
            clone: field("ingress_output_metadata.clone")?,
            session: field("ingress_output_metadata.clone_session_id")?,
            resubmit: field("ingress_output_metadata.resubmit")?,
            group: field("ingress_output_metadata.multicast_group")?,
            egress_port: field("ingress_output_metadata.egress_port")?,
            class: field("ingress_output_metadata.class_of_service")?,
            egress_drop: field("egress_output_metadata.drop")?,
            egress_clone: field("egress_output_metadata.clone")?,
            egress_session: field("egress_output_metadata.clone_session_id")?,
            egress_class: field("egress_input_metadata.class_of_service")?,
            deparser_port: field("egress_deparser_input_metadata.egress_port")?,
        })
    }

    /// A route through these bodies after ingress: to the queue, egress, the end and the deparser. It makes no requests
    /// and no copies.
    fn route(&self, program: &Program, [hand_over, egress, end, emit]: [BodyId; 4]) -> Route {
        Route {
            parser: program.stages[&Role::IngressParser],
            verify_checksum: program.stages[&Role::Ingress],
            ingress: hand_over,
            egress,
            compute_checksum: end,
            deparser: emit,
            checksum_error: None,
            parser_error: None,
            egress_spec: self.egress_port,
            ingress_drop: is_set(self.drop),
            egress_drop: is_set(self.egress_drop),
            requests: Vec::new(),
            sends_back: None,
            misses: None,
            counted_length: None,
            before_parser: Vec::new(),
            before_egress: Vec::new(),
            replication: None,
            fixed: Vec::new(),
            cloning: Cloning {
                frames: [ClonedFrame::Received, ClonedFrame::Deparsed],
                ..Cloning::default()
            },
            leaving: None,
            without: PassSet::NONE,
        }
    }
}

/// The straight path of a program. Clones from ingress are noted if possible; otherwise packets that ingress clones
/// leave specialised code.
pub(super) fn straight(program: &Program) -> Result<Straight, Refusal> {
    let made = straightened(program, true)?;
    let is_noted = made.route.clones(&made.program) == [false; 2] || made.route.notes_clones(&made.program);
    if is_noted {
        Ok(made)
    } else {
        straightened(program, false)
    }
}

fn straightened(program: &Program, notes_clones: bool) -> Result<Straight, Refusal> {
    let leaving = side_exit::taken_along(program);
    let mut made = program.clone();
    made.graph = None;
    let program = &mut made;
    let fields = Fields::of(program)?;
    let sides = Sides::of(program);
    let clones = [fields.clone, fields.egress_clone].map(|slot| cloning::place_of_request(program, slot));
    sides.refuse_what_differs(program, clones != [None; 2])?;
    let [before_parser, mut before_egress, mut before_copy] = sources(program, &fields)?;
    let first = Deparsed::of(program, Role::IngressDeparser)?;
    let last = Deparsed::of(program, Role::EgressDeparser)?;
    let emitted: Vec<HeaderId> = last.emitted.iter().chain(&first.emitted).copied().collect();
    let before_queue = BeforeQueue {
        fields: &fields,
        sides: &sides,
        noted: clones[0].filter(|_| notes_clones),
        misses: new_slot(program, "the egress parser's need for more than headers", 1),
        recirculation: Recirculation::of(program, &fields),
    };
    let (hand_over, frame_length) = before_queue.body(program, first)?;
    before_egress.extend(frame_length);
    before_copy.extend(frame_length);
    let BeforeQueue {
        misses, recirculation, ..
    } = before_queue;
    let (egress, end) = egress(program, &fields, clones[1], last.blocks)?;
    let end = recirculation.end(program, &fields, end);
    let end = new_body(program, "end", BodyKind::Control, end);
    let emit = new_deparser(program, emitted.iter().copied());
    let requests = requests(program, &fields, recirculation.leaves, notes_clones);
    let mut route = Route {
        leaving: leaving.filter(|_| !requests.is_empty()),
        requests,
        sends_back: recirculation.back,
        misses: Some(misses),
        counted_length: frame_length.map(|(slot, _)| slot),
        before_parser,
        before_egress,
        replication: Some(Replication {
            group: fields.group,
            before_copy,
        }),
        ..fields.route(program, [hand_over, egress, end, emit])
    };
    refuse_clones_in_parts(program, clones[1], &emitted, &route)?;
    let kept = kept_by_clones(program);
    cloning::note(program, &mut route, kept);
    Ok(Straight { program: made, route })
}

/// Refuses clones after the queue of frames that may not have whole bytes. `cloned` is the line that clones.
fn refuse_clones_in_parts(
    program: &Program,
    cloned: Option<Location>,
    emitted: &[HeaderId],
    route: &Route,
) -> Result<(), Refusal> {
    match cloned {
        Some(location) if !cloning::is_whole(program, emitted, route) => {
            let text = "clones the packet after the queue, where its frame may not have whole bytes";
            Err(Refusal::new(location, text))
        }
        _ => Ok(()),
    }
}

/// How packets recirculate: at most one of both.
struct Recirculation {
    /// They begin again in specialised code.
    back: Option<SendsBack>,
    /// They leave specialised code after ingress, when this slot is 1.
    leaves: Option<SlotId>,
}

impl Recirculation {
    fn of(program: &mut Program, fields: &Fields) -> Recirculation {
        let kept = kept_by_recirculation(program);
        let back = notes_recirculation(program, fields).then(|| sends_back::slots(program, kept));
        let leaves = keeps_metadata(program) && back.is_none() && place_of_recirculation(program, fields).is_some();
        let leaves = leaves.then(|| new_slot(program, "the recirculation port", 1));
        Recirculation { back, leaves }
    }

    /// The blocks after egress, in which packets may begin again.
    fn end(&self, program: &Program, fields: &Fields, end: Vec<Block>) -> Vec<Block> {
        match &self.back {
            Some(back) => with_recirculation(program, fields, back, end),
            None => end,
        }
    }
}

/// What follows ingress, up to the queue. The parser after the queue belongs to it, because its headers are known here.
struct BeforeQueue<'a> {
    fields: &'a Fields,
    sides: &'a Sides,
    /// The line on which packets are cloned, if clones are noted.
    noted: Option<Location>,
    misses: SlotId,
    recirculation: Recirculation,
}

impl BeforeQueue<'_> {
    /// The body; and the slot of the frame's length with its source, if bytes are counted after the queue. `first` is
    /// the deparser of ingress.
    fn body(&self, program: &mut Program, first: Deparsed) -> Result<(BodyId, Option<(SlotId, Source)>), Refusal> {
        let parser = self.sides.parser_without_loops(program);
        let reparse = Reparse {
            program,
            parser: &parser,
            emitted: &first.emitted,
            misses: self.misses,
        };
        let parsed = reparse.blocks()?;
        let counted = self.sides.counts_bytes(program);
        let lengths = counted
            .map(|location| Lengths::of(program, &first.emitted, location))
            .transpose()?;
        let set = self.set(program, &first.emitted, lengths.as_ref())?;
        let blocks = self.hand_over(program)?.blocks(first.blocks, parsed, set);
        let body = new_body(program, "hand over", BodyKind::Control, blocks);
        let frame_length = lengths.map(|lengths| (lengths.frame, Source::Payload(lengths.emitted)));
        Ok((body, frame_length))
    }

    /// What is set before the parser after the queue: slots of ingress that are 0 there, and the length of the headers.
    fn set(
        &self,
        program: &Program,
        emitted: &[HeaderId],
        lengths: Option<&Lengths>,
    ) -> Result<Vec<Statement>, Refusal> {
        let mut set = self.sides.zeroed(program, emitted)?;
        set.extend(lengths.map(|lengths| lengths.emit.clone()));
        // What the packet has kept from the pass before is for the parser before the queue alone.
        let kept = self.recirculation.back.iter().flat_map(|back| &back.kept);
        set.extend(kept.map(|slot| assign(*slot, build::constant(program.slot(*slot).width, 0))));
        Ok(set)
    }

    fn hand_over<'p>(&'p self, program: &'p Program) -> Result<HandOver<'p>, Refusal> {
        let path = intrinsic(program, "psa_egress_parser_input_metadata.packet_path")?;
        let port = intrinsic(program, EGRESS_PORT)?;
        let place_of_port = self.sides.place_of_read(program, port);
        Ok(HandOver {
            program,
            fields: self.fields,
            recirculates: self.recirculation.leaves,
            noted: self.noted,
            path: self.sides.parser_reads(program, path).then_some(path),
            port: place_of_port.map(|place| (port, place)),
            misses: self.misses,
        })
    }
}

/// The slots that clones may keep.
fn kept_by_clones(program: &Program) -> Vec<SlotId> {
    let lists = [psa::CLONE_I2E, psa::CLONE_E2E];
    let slots = lists.iter().filter_map(|list| program.field_lists.get(list)).flatten();
    let slots: BTreeSet<SlotId> = slots.copied().collect();
    slots.into_iter().collect()
}

/// The port by which packets that go round again leave, unless they keep values.
pub(super) fn loop_port(program: &Program) -> Option<u32> {
    let port = *program
        .intrinsic
        .get("psa_egress_deparser_input_metadata.egress_port")?;
    let port = Bits::new(program.slot(port).width, psa::PORT_RECIRCULATE.into());
    (!keeps_metadata(program)).then(|| port.to_u64() as u32)
}

/// Whether packets that recirculate keep values. Other packets go round after they have left by the port for
/// recirculation.
fn keeps_metadata(program: &Program) -> bool {
    let kept = program.field_lists.get(&psa::RECIRCULATE);
    kept.is_some_and(|slots| !slots.is_empty())
}

/// The slots that packets keep that recirculate, in ascending order.
fn kept_by_recirculation(program: &Program) -> Vec<SlotId> {
    let kept = program.field_lists.get(&psa::RECIRCULATE).into_iter().flatten();
    let kept: BTreeSet<SlotId> = kept.copied().collect();
    kept.into_iter().collect()
}

/// Whether packets that recirculate end their pass in specialised code, and may begin the next one there: if the program
/// names the port for it, keeps no headers, and neither clones nor resubmits packets. A program that merely computes
/// ports keeps the variants of its code that have no order of packets.
fn notes_recirculation(program: &Program, fields: &Fields) -> bool {
    let is_expected = line_of_recirculation(program, fields.egress_port).is_some();
    let is_metadata = |slot: &SlotId| program.slot(*slot).kind == SlotKind::Metadata;
    let others = [fields.clone, fields.egress_clone, fields.resubmit];
    let has_others = others.map(|slot| cloning::place_of_request(program, slot).is_some());
    is_expected && has_others == [false; 3] && kept_by_recirculation(program).iter().all(is_metadata)
}

/// The blocks after egress, and what follows them: a packet for the port of recirculation begins again.
fn with_recirculation(program: &Program, fields: &Fields, back: &SendsBack, end: Vec<Block>) -> Vec<Block> {
    let [decide, again, leaves, first] = [1, 2, 3, 4].map(BlockId);
    let asks = |value| Statement {
        location: place_of_recirculation(program, fields).unwrap_or_default(),
        ..assign(back.recirculate, value)
    };
    let mut blocks = vec![
        jumps(Vec::new(), first),
        branch(is_recirculation(program, fields.deparser_port), again, leaves),
        ends(vec![asks(sends_back::keeping(psa::RECIRCULATE))]),
        ends(vec![asks(sends_back::value(0))]),
    ];
    append(&mut blocks, end, decide);
    blocks
}

/// Whether a port is that of recirculation. The constant has as many bits as the program's type of ports, as in the
/// graph.
fn is_recirculation(program: &Program, port: SlotId) -> Expr {
    let number = build::constant(program.slot(port).width, psa::PORT_RECIRCULATE.into());
    build::equal(Expr::Slot(port), number)
}

/// The sources before the parser of a packet that was recirculated. `sources` are those of a packet from a port.
pub(super) fn sources_of_returns(program: &Program, sources: &[(SlotId, Source)]) -> Vec<(SlotId, Source)> {
    let number = |slot: SlotId| Bits::new(program.slot(slot).width, psa::PORT_RECIRCULATE.into()).to_u64();
    let again = |&(slot, source): &(SlotId, Source)| match source {
        Source::Argument(Argument::IngressPort) => (slot, Source::Number(number(slot))),
        _ => (slot, source),
    };
    let blocks = ["parser_input", "input"].into_iter();
    let paths = blocks.filter_map(|block| {
        let name = format!("psa_ingress_{block}_metadata.packet_path");
        program.intrinsic.get(&name).copied()
    });
    let paths = paths.map(|slot| (slot, Source::Number(RECIRCULATED)));
    sources.iter().map(again).chain(paths).collect()
}

/// The requests with which packets leave after ingress, as far as the program makes them.
fn requests(program: &Program, fields: &Fields, recirculates: Option<SlotId>, notes_clones: bool) -> Vec<Request> {
    let request = |(kind, slot)| Request { slot, kind };
    let clone = (!notes_clones).then_some((RequestKind::Clone, fields.clone));
    let round = recirculates.map(|slot| (RequestKind::Recirculate, slot));
    let all = clone.into_iter().chain([(RequestKind::Resubmit, fields.resubmit)]);
    let all = all.chain(round).map(request);
    let is_made = |request: &Request| cloning::place_of_request(program, request.slot).is_some();
    all.filter(is_made).collect()
}

/// A line that may send packets to the recirculation port: one that assigns the port's number, otherwise one that
/// computes a port. `None` if no packet is recirculated, but copies of packets.
fn place_of_recirculation(program: &Program, fields: &Fields) -> Option<Location> {
    let port = fields.egress_port;
    let computes = |op: &Op| match op {
        Op::Assign {
            slot,
            value: Expr::Const(_),
        } if *slot == port => false,
        op => op.slots_written(program).contains(&port),
    };
    line_of_recirculation(program, port).or_else(|| line_of(program, computes))
}

/// A line that assigns the number of the recirculation port.
fn line_of_recirculation(program: &Program, egress_port: SlotId) -> Option<Location> {
    let number = Bits::new(program.slot(egress_port).width, psa::PORT_RECIRCULATE.into());
    line_of(
        program,
        |op| matches!(op, Op::Assign { slot, value: Expr::Const(value) } if *slot == egress_port && *value == number),
    )
}

/// The first line with such an operation.
fn line_of(program: &Program, is_such: impl Fn(&Op) -> bool) -> Option<Location> {
    let mut statements = program.statements();
    let statement = statements.find(|statement| is_such(&statement.op));
    statement.map(|statement| statement.location)
}

pub(super) fn stage(program: &Program, role: Role) -> &Body {
    program.stage(role).expect("the graph runs it")
}

fn is_set(slot: SlotId) -> DropWhen {
    DropWhen { slot, value: 1 }
}

/// The sources of slots: before the parser, and between ingress and egress for a packet and for a copy.
fn sources(program: &Program, fields: &Fields) -> Result<[Vec<(SlotId, Source)>; 3], Refusal> {
    let field = |name: &str| intrinsic(program, &format!("psa_{name}"));
    let (port, time) = (
        Source::Argument(Argument::IngressPort),
        Source::Argument(Argument::Timestamp),
    );
    let before_parser = vec![
        (field("ingress_parser_input_metadata.ingress_port")?, port),
        (field("ingress_input_metadata.ingress_port")?, port),
        (field("ingress_input_metadata.ingress_timestamp")?, time),
        (fields.drop, Source::Number(1)),
    ];
    let of_egress = |path: u64, instance: Source| {
        Ok(vec![
            (field("egress_input_metadata.egress_port")?, Source::EgressPort),
            (field("egress_input_metadata.packet_path")?, Source::Number(path)),
            (field("egress_input_metadata.instance")?, instance),
            (field("egress_input_metadata.egress_timestamp")?, time),
            (field("egress_deparser_input_metadata.egress_port")?, Source::EgressPort),
        ])
    };
    let before_egress = of_egress(NORMAL_UNICAST, Source::Number(0))?;
    let before_copy = of_egress(NORMAL_MULTICAST, Source::Instance)?;
    Ok([before_parser, before_egress, before_copy])
}

/// The body of egress, and the blocks for packets that leave: the deparser without its emits. If dropped packets must be
/// deparsed, too, because the deparser has effects or because packets are cloned on the line `cloned`, the deparser is
/// part of egress instead. This is refused if an action exits: `exit` ends only the control, but it would skip the
/// deparser, too.
fn egress(
    program: &mut Program,
    fields: &Fields,
    cloned: Option<Location>,
    deparser: Vec<Block>,
) -> Result<(BodyId, Vec<Block>), Refusal> {
    let egress = program.stages[&Role::Egress];
    let has_effects = psa::has_effects(program, Role::EgressDeparser);
    if !has_effects && cloned.is_none() {
        return Ok((egress, deparser));
    }
    if let Some(location) = exit_in_action(program, Role::Egress) {
        let text = "ends egress in an action, and the packet may be cloned or its deparser has effects";
        return Err(Refusal::new(location, text));
    }
    let control = program.bodies[egress.index()].blocks.clone();
    let [is_cloned, is_dropped, first] = [0, 1, 2].map(|place| BlockId((control.len() + place) as u32));
    let [behind, clone, end] = [0, 1, 2].map(|place| BlockId(first.0 + (deparser.len() + place) as u32));
    let mut blocks = Vec::new();
    append(&mut blocks, control, is_cloned);
    blocks.push(branch(Expr::Slot(fields.egress_clone), first, is_dropped));
    let of_dropped = if has_effects { first } else { end };
    blocks.push(branch(Expr::Slot(fields.egress_drop), of_dropped, first));
    append(&mut blocks, deparser, behind);
    let op = cloning::clone(
        program,
        CloneKind::EgressToEgress,
        fields.egress_session,
        Some(psa::CLONE_E2E),
    );
    let statement = cloned.map(|location| Statement { op, location });
    let wanted = cloned.map_or(build::boolean(false), |_| Expr::Slot(fields.egress_clone));
    blocks.push(branch(wanted, clone, end));
    blocks.push(ends(statement.into_iter().collect()));
    blocks.push(ends(Vec::new()));
    let egress = new_body(program, "egress with its deparser", BodyKind::Control, blocks);
    Ok((egress, vec![ends(Vec::new())]))
}

/// What follows ingress. Nothing follows for a packet that leaves. A dropped packet is deparsed only for the deparser's
/// effects and for its clone. For other packets the frame is emitted and parsed.
struct HandOver<'a> {
    program: &'a Program,
    fields: &'a Fields,
    recirculates: Option<SlotId>,
    /// The line on which packets are cloned, if clones are noted.
    noted: Option<Location>,
    /// The packet's path, if the egress parser reads it.
    path: Option<SlotId>,
    /// Its port, if the egress parser reads that, and where. Copies have several.
    port: Option<(SlotId, Location)>,
    misses: SlotId,
}

impl HandOver<'_> {
    fn blocks(&self, deparser: Vec<Block>, parser: Vec<Block>, zeroed: Vec<Statement>) -> Vec<Block> {
        let HandOver { program, fields, .. } = *self;
        let [not_cloned, leaves, dropped, kept, stays, loops, deparsed] = [1, 2, 3, 4, 5, 6, 7].map(BlockId);
        let [clone, cloned, crossing, unicast, multicast, parsed, is_cloned] = [8, 9, 10, 11, 12, 13, 14].map(BlockId);
        let deparse = BlockId(15);
        let parse = BlockId(deparse.0 + deparser.len() as u32);
        let is_set = Expr::Slot;
        let zero = |slot| assign(slot, build::constant(program.slot(slot).width, 0));
        let of_dropped = match (psa::has_effects(program, Role::IngressDeparser), self.noted) {
            (true, _) => deparse,
            (false, Some(_)) => is_cloned,
            (false, None) => dropped,
        };
        let mut blocks = vec![
            match self.noted {
                Some(_) => jumps(Vec::new(), not_cloned),
                None => branch(is_set(fields.clone), leaves, not_cloned),
            },
            branch(is_set(fields.drop), of_dropped, kept),
            ends(Vec::new()),
            ends(vec![zero(fields.group), zero(fields.resubmit)]),
            branch(is_set(fields.resubmit), leaves, stays),
            branch(self.is_recirculated(), loops, deparse),
            ends(self.recirculates().into_iter().collect()),
            match self.noted {
                Some(_) => branch(is_set(fields.clone), clone, cloned),
                None => jumps(Vec::new(), cloned),
            },
            jumps(self.clone().into_iter().collect(), cloned),
            if of_dropped == dropped {
                jumps(Vec::new(), crossing)
            } else {
                branch(is_set(fields.drop), dropped, crossing)
            },
            if self.path.is_some() || self.port.is_some() {
                branch(self.is_copied(), multicast, unicast)
            } else {
                jumps(Vec::new(), parse)
            },
            jumps(self.of_unicast(), parse),
            match self.port {
                Some((_, place)) => jumps(vec![self.miss(place)], parsed),
                None => jumps(self.on_path(NORMAL_MULTICAST), parse),
            },
            ends(vec![self.class()]),
            branch(is_set(fields.clone), deparse, dropped),
        ];
        blocks[crossing.index()].statements = zeroed;
        append(&mut blocks, deparser, deparsed);
        append(&mut blocks, parser, parsed);
        blocks
    }

    fn width(&self, slot: SlotId) -> u32 {
        self.program.slot(slot).width
    }

    /// Whether the packet recirculates, and leaves for that.
    fn is_recirculated(&self) -> Expr {
        let is_port = is_recirculation(self.program, self.fields.egress_port);
        self.recirculates.map_or(build::boolean(false), |_| is_port)
    }

    fn recirculates(&self) -> Option<Statement> {
        let location = place_of_recirculation(self.program, self.fields).unwrap_or_default();
        self.recirculates.map(|slot| Statement {
            location,
            ..assign(slot, build::boolean(true))
        })
    }

    fn clone(&self) -> Option<Statement> {
        let Fields { session, .. } = *self.fields;
        let op = cloning::clone(self.program, CloneKind::IngressToEgress, session, Some(psa::CLONE_I2E));
        self.noted.map(|location| Statement { op, location })
    }

    fn is_copied(&self) -> Expr {
        let group = self.fields.group;
        let none = build::constant(self.width(group), 0);
        build::not(build::equal(Expr::Slot(group), none))
    }

    fn on_path(&self, path: u64) -> Vec<Statement> {
        let set = |slot| assign(slot, build::constant(self.width(slot), path.into()));
        self.path.map(set).into_iter().collect()
    }

    /// What the egress parser is told of a packet that is not copied.
    fn of_unicast(&self) -> Vec<Statement> {
        let from = self.fields.egress_port;
        let number = |port| build::resize(Expr::Slot(from), self.width(from), self.width(port), false);
        let port = self.port.map(|(port, _)| assign(port, number(port)));
        self.on_path(NORMAL_UNICAST).into_iter().chain(port).collect()
    }

    /// The egress parser, which reads the port at this location, is executed for each copy.
    fn miss(&self, location: Location) -> Statement {
        Statement {
            location,
            ..assign(self.misses, build::boolean(true))
        }
    }

    fn class(&self) -> Statement {
        let Fields {
            class, egress_class, ..
        } = *self.fields;
        let supported = psa::supported_class(self.program, class);
        let value = build::resize(supported, 8, self.width(egress_class), false);
        assign(egress_class, value)
    }
}

/// Slots with lengths in bytes: of the headers that the first deparser emitted, and of the frame that begins with
/// them.
struct Lengths {
    emitted: SlotId,
    frame: SlotId,
    /// Computes `emitted`.
    emit: Statement,
}

impl Lengths {
    fn of(program: &mut Program, emitted: &[HeaderId], counting: Location) -> Result<Lengths, Refusal> {
        let mut sum = build::constant(32, 0);
        for header in emitted.iter().map(|id| &program.headers[id.index()]) {
            let fixed = header.fields.iter().filter(|field| field.length.is_none());
            let bits: u32 = fixed.map(|field| program.slot(field.slot).width).sum();
            if !bits.is_multiple_of(8) {
                let text = "counts bytes after the queue, in a frame whose headers are no whole bytes";
                return Err(Refusal::new(counting, text));
            }
            let mut bytes = build::constant(32, (bits / 8).into());
            for length in header.fields.iter().filter_map(|field| field.length) {
                let eight = build::constant(32, 8);
                let varbit = build::binary(BinaryOp::Div, Expr::Slot(length), eight);
                bytes = build::binary(BinaryOp::Add, bytes, varbit);
            }
            let bytes = build::mux(Expr::Slot(header.valid), bytes, build::constant(32, 0));
            sum = build::binary(BinaryOp::Add, sum, bytes);
        }
        let frame = new_slot(program, "length.frame", 32);
        let emitted = new_slot(program, "length.emitted", 32);
        Ok(Lengths {
            emitted,
            frame,
            emit: assign(emitted, sum),
        })
    }
}
