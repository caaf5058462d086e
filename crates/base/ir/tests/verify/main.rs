//! One broken program for each invariant.

#[path = "../common/mod.rs"]
mod common;
mod graphs;

use common::everything;
use forebay_bits::Bits;
use forebay_ir::text;
use forebay_ir::verify::{MAX_EXPRESSION_DEPTH, MAX_WIDTH, Rule, verify};
use forebay_ir::*;

#[test]
fn the_sample_program_is_valid() {
    let errors = verify(&everything());
    assert!(errors.is_empty(), "{errors:#?}");
}

/// Breaks the sample program and expects this rule, and only this, to be reported.
#[track_caller]
fn breaks(rule: Rule, break_it: impl FnOnce(&mut Program)) {
    let mut program = everything();
    break_it(&mut program);
    let errors = verify(&program);
    assert!(!errors.is_empty(), "nothing was reported");
    for error in &errors {
        assert_eq!(error.rule, rule, "{error}");
    }
}

fn slot(program: &Program, name: &str) -> SlotId {
    let position = program.slots.iter().position(|slot| slot.name == name);
    SlotId(position.expect("the slot exists") as u32)
}

fn body<'a>(program: &'a mut Program, name: &str) -> &'a mut Body {
    program
        .bodies
        .iter_mut()
        .find(|body| body.name == name)
        .expect("the body exists")
}

/// Puts an operation at the beginning of a body.
fn insert(program: &mut Program, name: &str, op: Op) {
    body(program, name).blocks[0].statements.insert(0, Statement::new(op));
}

/// Assigns to the 9-bit `meta.nexthop` in `MyEgress`.
fn assign(program: &mut Program, value: Expr) {
    let slot = slot(program, "meta.nexthop");
    insert(program, "MyEgress", Op::Assign { slot, value });
}

fn constant(width: u32) -> Expr {
    Expr::Const(Bits::zero(width))
}

#[test]
fn ids_are_in_range() {
    breaks(Rule::IdInRange, |p| {
        p.field_lists.insert(2, vec![SlotId(99)]).map_or((), drop)
    });
    breaks(Rule::IdInRange, |p| p.actions[1].body = BodyId(99));
    breaks(Rule::IdInRange, |p| p.tables[0].actions[0].action = ActionId(99));
    breaks(Rule::IdInRange, |p| p.tables[0].default_action.action = 9);
    breaks(Rule::IdInRange, |p| {
        p.stages.insert(Role::Egress, BodyId(99)).map_or((), drop)
    });
    breaks(Rule::IdInRange, |p| assign(p, Expr::Slot(SlotId(99))));
    breaks(Rule::IdInRange, |p| {
        body(p, "MyIngress").blocks[4].terminator = Terminator::Jump(BlockId(99))
    });
    breaks(Rule::IdInRange, |p| {
        insert(
            p,
            "MyEgress",
            Op::Count {
                counter: CounterId(9),
                index: constant(32),
            },
        );
    });
    breaks(Rule::IdInRange, |p| {
        insert(p, "MyDeparser", Op::Emit { header: HeaderId(9) })
    });
}

#[test]
fn files_are_in_range() {
    breaks(Rule::FileInRange, |p| {
        p.tables[0].location = Location { file: 2, line: 1 }
    });
    breaks(Rule::FileInRange, |p| {
        body(p, "NoAction").blocks[0].location = Location { file: 7, line: 3 }
    });
}

#[test]
fn names_of_objects_are_distinct() {
    breaks(Rule::DuplicateName, |p| p.tables[1].name = p.tables[0].name.clone());
    breaks(Rule::DuplicateName, |p| p.counters[1].name = p.counters[0].name.clone());
    breaks(Rule::DuplicateName, |p| p.registers.push(p.registers[0].clone()));
}

#[test]
fn no_width_exceeds_the_limit() {
    let name = "meta.nexthop";
    breaks(Rule::WidthLimit, |p| {
        p.digests.push(Digest {
            name: "d".to_owned(),
            receiver: 0,
            fields: vec![("f".to_owned(), u32::MAX)],
            to: Recipient::Controller,
        });
    });
    breaks(Rule::WidthLimit, |p| p.value_sets[0].components.push(wide_component()));
    breaks(Rule::WidthLimit, |p| {
        p.slots.push(Slot {
            name: name.to_owned(),
            width: MAX_WIDTH + 1,
            signed: false,
            kind: SlotKind::Local,
        });
    });
    breaks(Rule::WidthLimit, |p| {
        let half = || Box::new(Expr::ZeroExtend(MAX_WIDTH, Box::new(constant(9))));
        assign(p, Expr::Truncate(9, Box::new(Expr::Concat(half(), half()))));
    });
}

fn wide_component() -> ValueSetComponent {
    ValueSetComponent {
        name: String::new(),
        width: MAX_WIDTH + 1,
        match_kind: MatchKind::Exact,
    }
}

#[test]
fn widths_agree() {
    breaks(Rule::WidthMismatch, |p| assign(p, constant(8)));
    breaks(Rule::WidthMismatch, |p| {
        assign(
            p,
            Expr::Binary(BinaryOp::Add, Box::new(constant(9)), Box::new(constant(8))),
        );
    });
    breaks(Rule::WidthMismatch, |p| {
        assign(
            p,
            Expr::Binary(BinaryOp::Eq, Box::new(constant(9)), Box::new(constant(9))),
        )
    });
    breaks(Rule::WidthMismatch, |p| {
        let (then_value, else_value) = (Box::new(constant(9)), Box::new(constant(8)));
        assign(
            p,
            Expr::Mux {
                condition: Box::new(constant(1)),
                then_value,
                else_value,
            },
        );
    });
    breaks(Rule::WidthMismatch, |p| {
        let Terminator::Branch { condition, .. } = &mut body(p, "MyIngress").blocks[0].terminator else {
            unreachable!()
        };
        *condition = constant(2);
    });
    breaks(Rule::WidthMismatch, |p| {
        body(p, "MyParser").blocks[3].terminator = Terminator::Reject(constant(8))
    });
    breaks(Rule::WidthMismatch, |p| p.tables[0].keys[0].expr = constant(9));
    breaks(Rule::WidthMismatch, |p| {
        p.tables[0].entries[0].action.args[0] = Bits::zero(8)
    });
    breaks(Rule::WidthMismatch, |p| p.tables[0].entries[0].matches[0] = lpm(9, 4));
    breaks(Rule::WidthMismatch, |p| p.registers[0].initial = Bits::zero(15));
    breaks(Rule::WidthMismatch, |p| {
        insert(
            p,
            "MyEgress",
            Op::Resubmit {
                field_list: Some(constant(9)),
            },
        );
    });
    breaks(Rule::WidthMismatch, |p| {
        let hit = Some(slot(p, "which"));
        let Terminator::Apply { hit: found, .. } = &mut body(p, "MyIngress").blocks[1].terminator else {
            unreachable!()
        };
        *found = hit;
    });
    breaks(Rule::WidthMismatch, |p| {
        let Terminator::Select { cases, .. } = &mut body(p, "MyParser").blocks[0].terminator else {
            unreachable!()
        };
        cases[0].keysets[0] = KeySet::Exact(Bits::zero(8));
    });
    breaks(Rule::WidthMismatch, |p| {
        let op = Op::RegisterWrite {
            register: RegisterId(0),
            index: constant(3),
            value: constant(3),
        };
        insert(p, "MyEgress", op);
    });
}

#[test]
fn shifts_may_have_other_widths() {
    let mut program = everything();
    assign(
        &mut program,
        Expr::Binary(BinaryOp::Shl, Box::new(constant(9)), Box::new(constant(3))),
    );
    assert!(verify(&program).is_empty());
}

#[test]
fn headers_name_their_own_slots() {
    breaks(Rule::HeaderSlot, |p| {
        let own = p.headers[1].fields[0].slot;
        p.slots[own.index()].kind = SlotKind::Metadata;
    });
}

#[test]
fn slots_of_headers_are_named_once() {
    breaks(Rule::SlotOwner, |p| {
        p.headers[0].fields.pop();
    });
    breaks(Rule::SlotOwner, |p| {
        let again = p.headers[0].fields[0].clone();
        p.headers[0].fields.push(again);
    });
}

#[test]
fn headers_have_one_varbit_field() {
    breaks(Rule::OneVarbit, |p| {
        let header = HeaderId(1);
        let slots = [(SlotKind::Field(header), 8), (SlotKind::VarbitLength(header), 32)].map(|(kind, width)| {
            p.slots.push(Slot {
                name: format!("{kind:?}"),
                width,
                signed: false,
                kind,
            });
            SlotId(p.slots.len() as u32 - 1)
        });
        p.headers[1].fields.push(HeaderField {
            name: "more".to_owned(),
            slot: slots[0],
            length: Some(slots[1]),
        });
    });
}

#[test]
fn error_zero_is_no_error() {
    breaks(Rule::ErrorNames, |p| p.errors.reverse());
    breaks(Rule::ErrorNames, |p| p.errors.push("NoError".to_owned()));
}

#[test]
fn errors_of_the_parsers_operations_are_declared() {
    for missing in ["PacketTooShort", "HeaderTooShort", "ParserInvalidArgument"] {
        breaks(Rule::ErrorNames, |p| p.errors.retain(|name| name != missing));
    }
}

#[test]
fn intrinsic_fields_are_intrinsic() {
    breaks(Rule::IntrinsicKind, |p| {
        let slot = slot(p, "meta.nexthop");
        p.intrinsic.insert("egress_port".to_owned(), slot);
    });
}

#[test]
fn every_role_is_played_by_the_right_kind() {
    breaks(Rule::StageMissing, |p| {
        p.stages.remove(&Role::Egress);
    });
    breaks(Rule::StageKind, |p| {
        let deparser = p.stages[&Role::Deparser];
        p.stages.insert(Role::Egress, deparser);
    });
}

#[test]
fn bodies_have_blocks_that_are_reachable() {
    breaks(Rule::EmptyBody, |p| body(p, "NoAction").blocks.clear());
    breaks(Rule::UnreachableBlock, |p| {
        let block = body(p, "NoAction").blocks[0].clone();
        body(p, "NoAction").blocks.push(block);
    });
}

#[test]
fn operations_stand_where_they_can_be_executed() {
    breaks(Rule::NotAllowedHere, |p| {
        insert(p, "MyEgress", Op::Emit { header: HeaderId(0) })
    });
    breaks(Rule::NotAllowedHere, |p| {
        insert(p, "MyDeparser", Op::Advance { bits: constant(32) })
    });
    breaks(Rule::NotAllowedHere, |p| {
        insert(p, "MyParser", Op::Truncate { bytes: constant(32) })
    });
    breaks(Rule::NotAllowedHere, |p| {
        let slot = slot(p, "meta.nexthop");
        let (condition, algorithm) = (constant(1), HashAlgorithm::Csum16);
        insert(
            p,
            "MyParser",
            Op::UpdateChecksum {
                condition,
                data: vec![],
                slot,
                algorithm,
                payload: false,
            },
        );
    });
    breaks(Rule::NotAllowedHere, |p| {
        body(p, "MyEgress").blocks[0].terminator = Terminator::Reject(constant(32))
    });
    breaks(Rule::NotAllowedHere, |p| {
        body(p, "MyParser").blocks[1].terminator = Terminator::Exit
    });
    breaks(Rule::NotAllowedHere, |p| {
        let body = body(p, "NoAction");
        body.blocks.push(body.blocks[0].clone());
        let next = BlockId(1);
        body.blocks[0].terminator = Terminator::Apply {
            table: TableId(0),
            hit: None,
            action_run: None,
            next,
        };
    });
    breaks(Rule::NotAllowedHere, |p| {
        let body = body(p, "MyEgress");
        body.blocks.push(body.blocks[0].clone());
        let keysets = vec![KeySet::ValueSet {
            set: ValueSetId(0),
            component: 0,
        }];
        let cases = vec![SelectCase {
            keysets,
            target: BlockId(1),
        }];
        body.blocks[0].terminator = Terminator::Select {
            keys: vec![constant(16)],
            cases,
            default: BlockId(1),
        };
    });
}

#[test]
fn extract_knows_how_long_the_varbit_field_is() {
    breaks(Rule::ExtractVarbit, |p| {
        insert(
            p,
            "MyParser",
            Op::Extract {
                header: HeaderId(1),
                varbit_bits: None,
            },
        );
    });
    breaks(Rule::ExtractVarbit, |p| {
        insert(
            p,
            "MyParser",
            Op::Extract {
                header: HeaderId(0),
                varbit_bits: Some(constant(32)),
            },
        );
    });
}

#[test]
fn direct_objects_belong_to_tables_and_arrays_do_not() {
    breaks(Rule::DirectObject, |p| {
        insert(
            p,
            "MyEgress",
            Op::Count {
                counter: CounterId(1),
                index: constant(32),
            },
        )
    });
    breaks(Rule::DirectObject, |p| {
        let slot = slot(p, "meta.nexthop");
        insert(
            p,
            "MyEgress",
            Op::ExecuteMeter {
                meter: MeterId(1),
                index: constant(32),
                before: None,
                slot,
            },
        );
    });
    breaks(Rule::DirectObject, |p| {
        p.tables[1].direct_counter = p.tables[0].direct_counter
    });
    breaks(Rule::DirectObject, |p| p.tables[1].direct_counter = Some(CounterId(0)));
}

#[test]
fn a_counter_has_a_name_for_each_element_or_for_none() {
    breaks(Rule::ElementNames, |p| {
        p.counters[0].element_names = vec!["first".into()]
    });
    breaks(Rule::ElementNames, |p| {
        p.counters[1].element_names = vec!["first".into()]
    });
}

#[test]
fn a_digest_has_a_value_for_each_field() {
    breaks(Rule::DigestArity, |p| {
        insert(
            p,
            "MyEgress",
            Op::Digest {
                digest: DigestId(0),
                data: vec![constant(48)],
            },
        );
    });
}

#[test]
fn a_select_case_has_a_keyset_for_each_key() {
    breaks(Rule::SelectArity, |p| {
        let Terminator::Select { cases, .. } = &mut body(p, "MyParser").blocks[0].terminator else {
            unreachable!()
        };
        cases[0].keysets.pop();
    });
}

#[test]
fn value_sets_stand_for_components_that_they_have() {
    breaks(Rule::ValueSetComponent, |p| {
        let Terminator::Select { cases, .. } = &mut body(p, "MyParser").blocks[0].terminator else {
            unreachable!()
        };
        cases[2].keysets[0] = KeySet::ValueSet {
            set: ValueSetId(0),
            component: 1,
        };
    });
}

#[test]
fn expressions_are_not_too_deep() {
    let nested = |depth: usize| (1..depth).fold(constant(9), |inner, _| Expr::Unary(UnaryOp::Not, Box::new(inner)));
    breaks(Rule::ExpressionDepth, |p| assign(p, nested(MAX_EXPRESSION_DEPTH + 1)));
    let mut program = everything();
    assign(&mut program, nested(MAX_EXPRESSION_DEPTH));
    assert!(verify(&program).is_empty());
}

#[test]
fn slices_lie_within_their_operand() {
    let slice = |hi, lo| Expr::Slice {
        operand: Box::new(constant(16)),
        hi,
        lo,
    };
    breaks(Rule::SliceRange, |p| assign(p, slice(16, 8)));
    breaks(Rule::SliceRange, |p| assign(p, slice(3, 4)));
}

#[test]
fn extensions_extend_and_truncations_truncate() {
    breaks(Rule::ResizeDirection, |p| {
        assign(p, Expr::ZeroExtend(9, Box::new(constant(10))))
    });
    breaks(Rule::ResizeDirection, |p| {
        assign(p, Expr::SignExtend(9, Box::new(constant(10))))
    });
    breaks(Rule::ResizeDirection, |p| {
        assign(p, Expr::Truncate(9, Box::new(constant(8))))
    });
}

#[test]
fn action_data_is_read_in_its_action() {
    breaks(Rule::ParamOutsideAction, |p| {
        assign(p, Expr::Param { index: 0, width: 9 })
    });
    breaks(Rule::ParamOutsideAction, |p| {
        p.tables[0].keys[0].expr = Expr::Param { index: 0, width: 8 }
    });
    breaks(Rule::ParamMismatch, |p| {
        p.actions[0].params.truncate(1);
        p.tables.iter_mut().for_each(|table| table.entries.clear());
    });
    breaks(Rule::ParamMismatch, |p| {
        let slot = slot(p, "meta.nexthop");
        insert(
            p,
            "NoAction",
            Op::Assign {
                slot,
                value: Expr::Param { index: 0, width: 9 },
            },
        );
    });
}

#[test]
fn the_body_of_an_action_is_an_action() {
    breaks(Rule::ActionBody, |p| p.actions[1].body = p.stages[&Role::Egress]);
}

#[test]
fn default_only_and_table_only_are_obeyed() {
    breaks(Rule::ActionScope, |p| p.tables[1].actions[0].table_only = true);
    breaks(Rule::ActionScope, |p| p.tables[0].actions[1].table_only = true);
    breaks(Rule::ActionScope, |p| p.tables[1].actions[1].default_only = true);
}

#[test]
fn calls_and_entries_are_complete() {
    breaks(Rule::CallArity, |p| p.tables[0].entries[0].action.args.clear());
    breaks(Rule::CallArity, |p| p.tables[0].default_action.args.push(Bits::zero(1)));
    breaks(Rule::EntryArity, |p| p.tables[1].entries[0].matches.truncate(2));
    breaks(Rule::EntryMatchKind, |p| {
        p.tables[0].entries[0].matches[0] = EntryMatch::Exact(Bits::zero(8))
    });
    breaks(Rule::PrefixLength, |p| p.tables[0].entries[0].matches[0] = lpm(8, 9));
    breaks(Rule::ConstEntries, |p| p.tables[1].entries[0].is_const = false);
    breaks(Rule::EmptyGroupAction, |p| {
        p.tables[1].empty_group_action = Some(p.tables[1].default_action.clone())
    });
    breaks(Rule::CallArity, |p| {
        p.tables[0].empty_group_action = p.tables[0].empty_group_action.take().map(|action| ActionCall {
            args: vec![Bits::zero(1); 9],
            ..action
        });
    });
}

fn lpm(width: u32, prefix_length: u32) -> EntryMatch {
    EntryMatch::Lpm {
        value: Bits::zero(width),
        prefix_length,
    }
}

#[test]
fn meters_have_one_unit() {
    breaks(Rule::MeterUnit, |p| p.meters[0].unit = Unit::PacketsAndBytes);
}

/// A message that adds an entry to the first table of the sample program whose keys are all exact.
fn adds_entry(program: &mut Program, fields: &[u32]) {
    let exact = |table: &Table| table.keys.iter().all(|key| key.match_kind == MatchKind::Exact);
    let table = program.tables.iter().position(exact).expect("one has exact keys");
    program.digests.push(Digest {
        name: "$add_entry".to_owned(),
        receiver: 0,
        fields: fields.iter().map(|width| ("f".to_owned(), *width)).collect(),
        to: Recipient::NewTimeout {
            table: TableId(table as u32),
        },
    });
}

#[test]
fn messages_to_tables_have_a_value_for_each_key() {
    let mut program = everything();
    program.tables[0]
        .keys
        .iter_mut()
        .for_each(|key| key.match_kind = MatchKind::Exact);
    program.tables[0].entries.clear();
    let widths: Vec<u32> = program.tables[0].keys.iter().map(|key| key.width).chain([8]).collect();
    let mut good = program.clone();
    adds_entry(&mut good, &widths);
    assert_eq!(verify(&good), []);
    assert_eq!(text::read(&text::write(&good)), Ok(good));
    adds_entry(&mut program, &widths[1..]);
    let errors = verify(&program);
    assert!(
        errors.iter().any(|error| error.rule == Rule::WidthMismatch),
        "{errors:?}"
    );
}

#[test]
fn messages_of_pairs_have_the_values_of_both_entries() {
    let mut program = everything();
    program.tables[0]
        .keys
        .iter_mut()
        .for_each(|key| key.match_kind = MatchKind::Exact);
    program.tables[0].entries.clear();
    let table = TableId(0);
    let action = program.tables[0].actions[0].action;
    let params = program.actions[action.index()].params.iter().map(|param| param.width);
    let entry: Vec<u32> = program.tables[0]
        .keys
        .iter()
        .map(|key| key.width)
        .chain(params)
        .collect();
    let pair = |widths: &[u32]| Digest {
        name: "$add_entry_pair".to_owned(),
        receiver: 0,
        fields: widths.iter().map(|width| ("f".to_owned(), *width)).collect(),
        to: Recipient::NewPair {
            table,
            action: 0,
            reverse: table,
            reverse_action: 0,
        },
    };
    let mut good = program.clone();
    good.digests.push(pair(&[&entry[..], &entry, &[8]].concat()));
    good.digests.push(Digest {
        to: Recipient::NewEntry { table, action: 0 },
        ..pair(&[&entry[..], &[8]].concat())
    });
    assert_eq!(verify(&good), []);
    assert_eq!(text::read(&text::write(&good)), Ok(good));
    program.digests.push(pair(&[&entry[..], &[8]].concat()));
    let errors = verify(&program);
    assert!(
        errors.iter().any(|error| error.rule == Rule::WidthMismatch),
        "{errors:?}"
    );
}
