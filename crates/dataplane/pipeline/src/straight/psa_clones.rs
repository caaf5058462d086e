//! The path of clones of a PSA program, as a straight path for specialised code.
//!
//! ```text
//!  clone   head, egress parser ─► begin ─► decide ─► egress ─► end ─► emit
//! ```
//!
//! A clone is a frame: as received, or as the egress deparser has put it together. The header before it
//! ([`Head`](super::clone_head::Head)) says what is known about the clone. A clone for the recirculation port bails
//! out.

use super::clones::{extract, head_of};
use super::{Straight, append, assign, branch, ends, jumps, new_body, new_empty_control, new_slot};
use forebay_arch::psa::{CLONE_E2E_PATH, CLONE_I2E_PATH, PORT_RECIRCULATE};
use forebay_ir::{BlockId, BodyKind, Expr, Program, Role, SlotId, Statement, build};
use forebay_jit::route::{Cloning, Request, RequestKind, Route, Source};

/// The path of clones of a straight program with this route, if there can be specialised code for it.
pub(crate) fn straight(program: &Program, route: &Route) -> Option<Straight> {
    let from = route.clones(program);
    let are_noted = from != [false; 2] && route.executes_clones(program);
    if !are_noted || route.draws_random_numbers(program)[1] {
        return None;
    }
    let mut made = program.clone();
    let program = &mut made;
    let (_, head) = head_of(program, route);
    let head_slots = HeadSlots {
        port: new_slot(program, "clone.its_port", 32),
        length: new_slot(program, "clone.its_length", 32),
        recirculates: new_slot(program, "clone.recirculates", 1),
    };
    let clones = Clones {
        program,
        head: &head,
        head_slots,
    };
    let parser = clones.parser(route, from)?;
    let begin = clones.begin()?;
    let before_egress = route.before_egress.iter().copied();
    let before_egress = before_egress.filter(|(_, source)| matches!(source, Source::EgressPort | Source::Argument(_)));
    let route = Route {
        parser: new_body(program, "parser of clones", BodyKind::Parser, parser),
        verify_checksum: new_empty_control(program),
        ingress: new_body(program, "begin of clones", BodyKind::Control, begin),
        egress_spec: head_slots.port,
        requests: vec![Request {
            slot: head_slots.recirculates,
            kind: RequestKind::Recirculate,
        }],
        misses: None,
        counted_length: Some(head_slots.length),
        before_parser: Vec::new(),
        before_egress: before_egress.collect(),
        replication: None,
        cloning: Cloning {
            kept: None,
            from_egress: false,
            marker: None,
            ..route.cloning.clone()
        },
        leaving: None,
        ..route.clone()
    };
    Some(Straight { program: made, route })
}

/// The slots in which the parser stores what the head says about a clone.
#[derive(Clone, Copy)]
struct HeadSlots {
    port: SlotId,
    length: SlotId,
    recirculates: SlotId,
}

/// The bodies before egress.
struct Clones<'a> {
    program: &'a Program,
    /// The fields of the header before the frame.
    head: &'a [SlotId],
    head_slots: HeadSlots,
}

impl Clones<'_> {
    fn field(&self, name: &str) -> Option<SlotId> {
        self.program.intrinsic.get(&format!("psa_{name}")).copied()
    }

    /// Sets a slot to a field of the header.
    fn give(&self, slot: SlotId, field: SlotId) -> Statement {
        let width = |slot: SlotId| self.program.slot(slot).width;
        assign(slot, build::resize(Expr::Slot(field), width(field), width(slot), false))
    }

    /// The egress parser, after the head has been extracted.
    fn parser(&self, route: &Route, from: [bool; 2]) -> Option<Vec<forebay_ir::Block>> {
        let &[port, length, _, _, from_egress, _, ref kept @ ..] = self.head else {
            unreachable!("the header has these fields")
        };
        let header = forebay_ir::HeaderId(self.program.headers.len() as u32 - 1);
        let mut first = vec![extract(header)];
        let preserved = route.cloning.kept.iter().flatten().zip(kept);
        first.extend(preserved.map(|(slot, field)| self.give(*slot, *field)));
        first.push(self.give(self.field("egress_parser_input_metadata.egress_port")?, port));
        first.push(self.give(self.head_slots.port, port));
        first.push(self.give(self.head_slots.length, length));
        let paths = [
            self.field("egress_parser_input_metadata.packet_path")?,
            self.field("egress_input_metadata.packet_path")?,
        ];
        let on_path = |path: u64| {
            let sets = |slot: &SlotId| assign(*slot, build::constant(self.program.slot(*slot).width, path.into()));
            jumps(paths.iter().map(sets).collect(), BlockId(3))
        };
        let [of_ingress, of_egress] = [1, 2].map(BlockId);
        let mut begin = match from {
            [true, true] => {
                let is_of_egress = build::equal(Expr::Slot(from_egress), build::constant(8, 1));
                branch(is_of_egress, of_egress, of_ingress)
            }
            [true, false] => jumps(Vec::new(), of_ingress),
            [false, _] => jumps(Vec::new(), of_egress),
        };
        begin.statements = first;
        let mut blocks = vec![begin, on_path(CLONE_I2E_PATH), on_path(CLONE_E2E_PATH)];
        let own = self.program.stage(Role::EgressParser)?.blocks.clone();
        let end = BlockId((blocks.len() + own.len()) as u32);
        append(&mut blocks, own, end);
        blocks.push(ends(Vec::new()));
        Some(blocks)
    }

    /// What takes the place of ingress.
    fn begin(&self) -> Option<Vec<forebay_ir::Block>> {
        let &[_, _, _, instance, _, class, ..] = self.head else {
            unreachable!("the header has these fields")
        };
        let statements = vec![
            self.give(self.field("egress_input_metadata.class_of_service")?, class),
            self.give(self.field("egress_input_metadata.instance")?, instance),
        ];
        // The constant has as many bits as the program's type of ports, as in the graph.
        let port = self.field("egress_deparser_input_metadata.egress_port")?;
        let width = self.program.slot(port).width;
        let port = build::resize(Expr::Slot(self.head_slots.port), 32, width, false);
        let is_round = build::equal(port, build::constant(width, PORT_RECIRCULATE.into()));
        let mut begin = branch(is_round, BlockId(1), BlockId(2));
        begin.statements = statements;
        let round = assign(self.head_slots.recirculates, build::boolean(true));
        Some(vec![begin, ends(vec![round]), ends(Vec::new())])
    }
}
