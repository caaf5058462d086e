//! The way of clones from ingress of a v1model program, as one straight way for specialised code.
//!
//! ```text
//!  packet   parser ─► verify ─► ingress ─► decide ─► egress ─► compute ─► deparser
//!  clone    head, parser ─────► begin ───► decide ─► egress ─► compute ─► deparser
//! ```
//!
//! What is known of a clone stands in a header before the frame that entered ingress ([`Head`]): where its session sends
//! it, and the metadata that it keeps. The parser extracts this header first, and no deparser emits it. *Begin* does what the
//! graph of the architecture does with a clone: it forgets metadata, gives back what is kept, and says what is new.

use super::{Straight, assign, block, new_body, new_slot};
use crate::layout::{Layout, field_list};
use crate::packet::InstanceType;
use crate::replication::{CloneSession, Replica};
use forebay_bits::Bits;
use forebay_exec::Preserve;
use forebay_ir::{
    Block, BlockId, BodyKind, Expr, Header, HeaderField, HeaderId, Op, Program, Slot, SlotId, SlotKind, Statement,
    Terminator, build,
};
use forebay_jit::route::{DropWhen, Route, Source};

/// The fields before what is kept, with their widths.
const FIELDS: [(&str, u32); 5] = [
    ("port", 32),
    ("length", 32),
    ("limit", 32),
    ("instance", 16),
    ("class", 16),
];

/// What stands before the frame of a clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    /// The slots that clones may keep, with their widths. Each has whole bytes.
    kept: Vec<(SlotId, u32)>,
}

impl Head {
    /// Bytes of [`FIELDS`]; what the fast path notes stands behind them.
    pub(crate) const FIXED_BYTES: usize = 16;

    pub(crate) fn of(program: &Program, route: &Route) -> Head {
        let kept = route.preserved.iter();
        Head {
            kept: kept.map(|slot| (*slot, program.slot(*slot).width)).collect(),
        }
    }

    fn kept_bytes(&self) -> usize {
        self.kept.iter().map(|(_, width)| bytes(*width)).sum()
    }

    /// Its length.
    pub(crate) fn bytes(&self) -> usize {
        Self::FIXED_BYTES + self.kept_bytes()
    }

    /// Writes it and the frame of a clone for one of a session's ports. `noted` is what the fast path has noted of it: all that
    /// clones may keep, and the frame.
    pub(crate) fn write(
        &self,
        program: &Program,
        (noted, preserve): (&[u8], Preserve),
        (session, replica): (&CloneSession, Replica),
        target: &mut [u8],
    ) {
        let limit = session.packet_length_bytes.unwrap_or(u32::MAX);
        let length = (noted.len() - self.kept_bytes()) as u32;
        for (word, value) in target.chunks_mut(4).zip([replica.egress_port, length, limit]) {
            word.copy_from_slice(&value.to_be_bytes());
        }
        target[12..14].copy_from_slice(&replica.instance.to_be_bytes());
        target[14..16].copy_from_slice(&u16::from(session.class_of_service).to_be_bytes());
        target[Self::FIXED_BYTES..].copy_from_slice(noted);
        let listed = field_list(program, preserve);
        let mut place = Self::FIXED_BYTES;
        for (slot, width) in &self.kept {
            if !listed.contains(slot) {
                target[place..][..bytes(*width)].fill(0);
            }
            place += bytes(*width);
        }
    }

    /// What a clone keeps; 0 of what it does not.
    pub(crate) fn kept_by(&self, packet: &[u8]) -> Vec<(SlotId, Bits)> {
        let mut rest = &packet[Self::FIXED_BYTES..];
        let mut value = |width: u32| {
            let (bytes, behind) = rest.split_at(bytes(width));
            rest = behind;
            Bits::from_bytes_be(width, bytes)
        };
        self.kept.iter().map(|(slot, width)| (*slot, value(*width))).collect()
    }
}

fn bytes(width: u32) -> usize {
    width.div_ceil(8) as usize
}

/// The way of clones, if they may go it together: when nobody can tell in what order they and other packets are executed.
pub(crate) fn straight(program: &Program, layout: &Layout, route: &Route) -> Option<Straight> {
    let parser = &program.bodies[route.parser.index()];
    let parsing = || parser.blocks.iter().flat_map(|block| &block.statements);
    let reads_length = parsing().any(|statement| matches!(statement.op, Op::PacketLength { .. }));
    let draws_random_numbers = route.draws_random_numbers(program)[1];
    if !route.clones_commute(program) || reads_length || draws_random_numbers {
        return None;
    }
    let is_forgotten = |slot: &SlotId| {
        let kind = program.slot(*slot).kind;
        matches!(kind, SlotKind::Metadata | SlotKind::Intrinsic | SlotKind::Local)
    };
    // Fields that the parser extracts anew are not what a clone keeps.
    if !route.preserved.iter().all(is_forgotten) {
        return None;
    }
    let mut forgotten = vec![layout.slots.ingress_port];
    forgotten.extend(parsing().flat_map(|statement| statement.op.slots_written(program)));
    forgotten.retain(is_forgotten);
    forgotten.sort();
    forgotten.dedup();
    let mut parser_blocks = parser.blocks.clone();
    for block in &mut parser_blocks {
        block
            .terminator
            .successors_mut()
            .into_iter()
            .for_each(|next| next.0 += 1);
    }
    let mut made = program.clone();
    made.graph = None;
    let program = &mut made;
    let (head, fields) = header(program, route);
    let extract = Statement::new(Op::Extract {
        header: head,
        varbit_bits: None,
    });
    let mut blocks = vec![block(vec![extract], Terminator::Jump(BlockId(1)))];
    blocks.extend(parser_blocks);
    let begin = Begin {
        program,
        layout,
        head: &fields,
    };
    let [port, length] = ["port", "length"].map(|name| new_slot(begin.program, &format!("clone.its_{name}"), 32));
    let statements = begin.statements(route, &forgotten, (head, port, length));
    let parser = new_body(program, "parser of clones", BodyKind::Parser, blocks);
    let ends = |statements: Vec<Statement>| -> Vec<Block> { vec![block(statements, Terminator::Return)] };
    let nothing = new_body(program, "nothing", BodyKind::Control, ends(Vec::new()));
    let ingress = new_body(program, "begin of clones", BodyKind::Control, ends(statements));
    let route = Route {
        parser,
        verify_checksum: nothing,
        ingress,
        checksum_error: None,
        egress_spec: port,
        ingress_drop: DropWhen {
            slot: program.headers[head.index()].valid,
            value: 1,
        },
        counted_length: Some(length),
        before_parser: vec![(
            layout.slots.ingress_port,
            Source::Argument(forebay_jit::route::Argument::IngressPort),
        )],
        before_egress: before_egress(route, layout),
        replication: None,
        preserved: Vec::new(),
        ..route.clone()
    };
    Some(Straight { program: made, route })
}

/// As packets have it, but for what they are, and how long.
fn before_egress(route: &Route, layout: &Layout) -> Vec<(SlotId, Source)> {
    let slots = &layout.slots;
    let told = route.before_egress.iter().copied();
    let told = told.filter(|(slot, _)| ![slots.instance_type, slots.packet_length].contains(&Some(*slot)));
    let clone = Source::Number(InstanceType::IngressClone as u64);
    told.chain(slots.instance_type.map(|slot| (slot, clone))).collect()
}

/// The header, and its fields in their order.
fn header(program: &mut Program, route: &Route) -> (HeaderId, Vec<SlotId>) {
    let id = HeaderId(program.headers.len() as u32);
    let mut slot = |name: &str, width: u32, kind: SlotKind| {
        let slot = SlotId(program.slots.len() as u32);
        program.slots.push(Slot {
            name: format!("clone.{name}"),
            width,
            signed: false,
            kind,
        });
        slot
    };
    let valid = slot("$valid$", 1, SlotKind::Valid(id));
    let mut fields: Vec<SlotId> = FIELDS
        .iter()
        .map(|(name, width)| slot(name, *width, SlotKind::Field(id)))
        .collect();
    let widths: Vec<u32> = route.preserved.iter().map(|kept| program.slot(*kept).width).collect();
    for (width, place) in widths.into_iter().zip(0..) {
        let field = SlotId(program.slots.len() as u32);
        program.slots.push(Slot {
            name: format!("clone.kept_{place}"),
            width: 8 * width.div_ceil(8),
            signed: false,
            kind: SlotKind::Field(id),
        });
        fields.push(field);
    }
    let named = |slot: &SlotId| HeaderField {
        name: program.slot(*slot).name.clone(),
        slot: *slot,
        length: None,
    };
    let fields_of_header = fields.iter().map(named).collect();
    program.headers.push(Header {
        name: "clone".to_owned(),
        type_name: "clone_t".to_owned(),
        valid,
        fields: fields_of_header,
    });
    (id, fields)
}

/// What stands in place of ingress.
struct Begin<'a> {
    program: &'a mut Program,
    layout: &'a Layout,
    head: &'a [SlotId],
}

impl Begin<'_> {
    fn resized(&self, from: SlotId, to: u32) -> Expr {
        build::resize(Expr::Slot(from), self.program.slot(from).width, to, false)
    }

    fn give(&self, slot: SlotId, from: SlotId) -> Statement {
        assign(slot, self.resized(from, self.program.slot(slot).width))
    }

    fn statements(
        &self,
        route: &Route,
        forgotten: &[SlotId],
        (head, own_port, own_length): (HeaderId, SlotId, SlotId),
    ) -> Vec<Statement> {
        let slots = &self.layout.slots;
        let &[port, length, limit, instance, class, ref kept @ ..] = self.head else {
            unreachable!("the header has these fields")
        };
        let zero = |slot: &SlotId| assign(*slot, build::constant(self.program.slot(*slot).width, 0));
        let mut statements: Vec<Statement> = forgotten.iter().map(zero).collect();
        statements.extend(
            route
                .preserved
                .iter()
                .zip(kept)
                .map(|(slot, field)| self.give(*slot, *field)),
        );
        statements.extend(slots.priority.map(|priority| self.priority(priority, class)));
        let told = [(slots.packet_length, length), (slots.egress_rid, instance)];
        statements.extend(
            told.into_iter()
                .filter_map(|(slot, field)| Some(self.give(slot?, field))),
        );
        statements.push(self.give(own_port, port));
        statements.push(self.give(own_length, length));
        statements.push(Statement::new(Op::Truncate {
            bytes: Expr::Slot(limit),
        }));
        statements.push(zero(&self.program.headers[head.index()].valid));
        statements
    }

    /// The session's class of service, or, when that is 0, the priority that the clone keeps.
    fn priority(&self, priority: SlotId, class: SlotId) -> Statement {
        let has_none = build::equal(Expr::Slot(class), build::constant(16, 0));
        let width = self.program.slot(priority).width;
        let chosen = build::mux(has_none, Expr::Slot(priority), self.resized(class, width));
        assign(priority, chosen)
    }
}
