//! The route of a v1model program, which is straight already. Requests that take effect later become slots.

use super::sends_back::{self, LIST_WIDTH};
use super::{assign, clones, new_slot};
use crate::layout::{Layout, field_list};
use crate::packet::InstanceType;
use forebay_arch::v1model::DROP_PORT;
use forebay_exec::Preserve;
use forebay_ir::{BinaryOp, Expr, Op, Program, SlotId, SlotKind, build};
use forebay_jit::route::{Argument, Cloning, DropWhen, PassSet, Replication, Route, SendsBack, Source};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The program and its route. Requests to send a packet back are [slots](SendsBack). If clones from egress are noted,
/// or packets that ingress clones leave, another slot says [whether the packet was cloned](Cloning::marker).
pub(crate) fn straight<'a>(program: &'a Program, layout: &Layout) -> (Cow<'a, Program>, Route) {
    let mut route = route(program, layout);
    let mut program = Cow::Borrowed(program);
    let is_return = |op: &Op| matches!(op, Op::Resubmit { .. } | Op::Recirculate { .. });
    if ops(&program).any(is_return) {
        send_back_by_slots(program.to_mut(), &mut route);
    }
    if route.leaves_with_clones(&program) {
        let mut slots = route.slots_read_after(&program);
        slots.extend(layout.slots.priority);
        route.leaving = Some(slots.into_iter().collect());
        route.cloning.leave = true;
    }
    if route.cloning.from_egress || route.cloning.leave {
        tell_clones(program.to_mut(), &mut route);
    }
    (program, route)
}

/// Replaces resubmissions and recirculations by assignments to slots, of which the last one counts. For a replica, a
/// recirculation that ingress requested is cancelled.
fn send_back_by_slots(program: &mut Program, route: &mut Route) {
    let lists =
        |op: &Op| matches!(op, Op::Resubmit { field_list } | Op::Recirculate { field_list } if field_list.is_some());
    let kept = slots_of_field_lists(program, lists);
    let back = sends_back::slots(program, kept);
    for statement in program.statements_mut() {
        let (slot, list) = match &statement.op {
            Op::Resubmit { field_list } => (back.resubmit, field_list),
            Op::Recirculate { field_list } => (back.recirculate, field_list),
            _ => continue,
        };
        statement.op = Op::Assign {
            slot,
            value: number_of_list(list.clone()),
        };
    }
    let copies = route.replication.iter_mut();
    copies.for_each(|replication| replication.before_copy.push((back.recirculate, Source::Number(0))));
    route.sends_back = Some(back);
}

/// The number by which [`SendsBack`] names a field list, or none.
fn number_of_list(list: Option<Expr>) -> Expr {
    list.map_or(sends_back::value(SendsBack::NO_LIST), |list| {
        let list = build::resize(list, LIST_WIDTH, LIST_WIDTH + 1, false);
        build::binary(BinaryOp::Add, list, sends_back::value(SendsBack::FIRST_LIST))
    })
}

/// Adds [`Cloning::marker`]: after each operation that clones a packet, the slot becomes 1.
pub(super) fn tell_clones(program: &mut Program, route: &mut Route) {
    let cloned = new_slot(program, "has_been_cloned", 1);
    for block in program.bodies.iter_mut().flat_map(|body| &mut body.blocks) {
        let statements = std::mem::take(&mut block.statements);
        for statement in statements {
            let is_clone = matches!(statement.op, Op::Clone { .. });
            let location = statement.location;
            block.statements.push(statement);
            if is_clone {
                let mut says_so = assign(cloned, build::constant(1, 1));
                says_so.location = location;
                block.statements.push(says_so);
            }
        }
    }
    route.before_egress.push((cloned, Source::Number(0)));
    route.cloning.marker = Some(cloned);
}

fn ops(program: &Program) -> impl Iterator<Item = &Op> {
    program.statements().map(|statement| &statement.op)
}

/// What v1model does with a packet that takes the fast path.
fn route(program: &Program, layout: &Layout) -> Route {
    let (blocks, slots) = (&layout.blocks, &layout.slots);
    let mut before_parser = vec![(slots.ingress_port, Source::Argument(Argument::IngressPort))];
    let mut before_egress = vec![
        (slots.egress_port, Source::EgressPort),
        (slots.egress_spec, Source::Number(u64::from(DROP_PORT) + 1)),
    ];
    let set = |list: &mut Vec<(SlotId, Source)>, slot: Option<SlotId>, source| {
        list.extend(slot.map(|slot| (slot, source)));
    };
    let timestamp = Source::Argument(Argument::Timestamp);
    let length = Source::Argument(Argument::PacketLength);
    set(&mut before_parser, slots.packet_length, length);
    set(&mut before_parser, slots.ingress_global_timestamp, timestamp);
    set(&mut before_egress, slots.egress_global_timestamp, timestamp);
    set(&mut before_egress, slots.enq_timestamp, timestamp);
    set(&mut before_egress, slots.instance_type, Source::Number(0));
    set(&mut before_egress, slots.deq_timedelta, Source::Number(0));
    set(&mut before_egress, slots.enq_qdepth, Source::Number(0));
    set(&mut before_egress, slots.deq_qdepth, Source::Number(0));
    set(
        &mut before_egress,
        slots.qid,
        slots.priority.map_or(Source::Number(0), Source::Queue),
    );
    let new_length = if changes_lengths(program) {
        Source::NewLength
    } else {
        length
    };
    set(&mut before_egress, slots.packet_length, new_length);
    let dropped = DropWhen {
        slot: slots.egress_spec,
        value: DROP_PORT.into(),
    };
    let mut route = Route {
        parser: blocks.parser,
        verify_checksum: blocks.verify_checksum,
        ingress: blocks.ingress,
        egress: blocks.egress,
        compute_checksum: blocks.compute_checksum,
        deparser: blocks.deparser,
        checksum_error: slots.checksum_error,
        parser_error: slots.parser_error,
        egress_spec: slots.egress_spec,
        ingress_drop: dropped,
        egress_drop: dropped,
        requests: Vec::new(),
        sends_back: None,
        misses: None,
        counted_length: None,
        replication: slots.mcast_grp.map(|group| Replication {
            group,
            before_copy: before_copy(layout, &before_egress),
        }),
        before_parser,
        before_egress,
        fixed: slots.parser_error.into_iter().collect(),
        cloning: Cloning {
            kept: Some(preserved_by_clones(program)),
            ..Cloning::default()
        },
        leaving: None,
        without: PassSet::NONE,
    };
    if route.clones(program)[1] {
        route.cloning.cannot_note = clones::obstacle_in_egress(program, layout, &route);
        route.cloning.from_egress = route.cloning.cannot_note.is_none();
    }
    route.cloning.are_apart = route.clones(program) != [false; 2] && clones::are_apart(program, layout, &route);
    route
}

/// The slots of all field lists, if clones preserve fields.
fn preserved_by_clones(program: &Program) -> Vec<SlotId> {
    slots_of_field_lists(
        program,
        |op| matches!(op, Op::Clone { field_list, .. } if field_list.is_some()),
    )
}

/// The slots of all field lists, if the program has an operation for which `names_list` is true; none otherwise.
fn slots_of_field_lists(program: &Program, names_list: impl Fn(&Op) -> bool) -> Vec<SlotId> {
    if !ops(program).any(names_list) {
        return Vec::new();
    }
    let lists = program.field_lists.keys().map(|number| Preserve {
        field_list: Some(*number),
    });
    let slots: BTreeSet<SlotId> = lists.flat_map(|list| field_list(program, list)).copied().collect();
    slots.into_iter().collect()
}

/// The values that differ for copies: their instance type, and their instance number.
fn before_copy(layout: &Layout, before_egress: &[(SlotId, Source)]) -> Vec<(SlotId, Source)> {
    let slots = &layout.slots;
    let origin = Source::Number(InstanceType::Replicated as u64);
    let of_copy = |&(slot, source): &(SlotId, Source)| {
        let is_origin = Some(slot) == slots.instance_type;
        (slot, if is_origin { origin } else { source })
    };
    let instance = slots.egress_rid.map(|slot| (slot, Source::Instance));
    before_egress.iter().map(of_copy).chain(instance).collect()
}

/// Whether controls, not only the parser, add or remove headers, or change their lengths.
fn changes_lengths(program: &Program) -> bool {
    let bodies = program
        .bodies
        .iter()
        .filter(|body| body.kind != forebay_ir::BodyKind::Parser);
    let mut statements = bodies.flat_map(|body| body.statements());
    let is_length = |slot| matches!(program.slot(slot).kind, SlotKind::Valid(_) | SlotKind::VarbitLength(_));
    statements.any(|statement| statement.op.target().is_some_and(is_length))
}
