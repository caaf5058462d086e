//! Random programs of any form, mostly meaningless: the text form must survive them.

use crate::common::Choices;
use forebay_bits::Bits;
use forebay_ir::*;

const NAMES: &[&str] = &[
    "a",
    "b",
    "hdr.ipv4.ttl",
    "hdr.mpls[2].label",
    "hdr.x.$valid$",
    "",
    " ",
    "slot",
    "block3",
    "table",
    "packets",
    "exact",
    "crc32",
    "_",
    "\"",
    "\\",
    "line\nbreak",
    "é",
    "\u{1}",
    "a[",
    "a..b",
    "1x",
    "x#1",
    "default",
    "s",
    "$0",
    "in",
    "_x",
];

pub fn program(choices: &mut Choices) -> Program {
    let c = choices;
    let mut program = Program::new(Architecture::V1Model);
    program.files = c.many(2, name);
    program.errors = c.many(2, name);
    program.slots = c.many(8, |c| Slot {
        name: name(c),
        width: number(c),
        signed: c.flag(),
        kind: slot_kind(c),
    });
    program.headers = c.many(3, header);
    program.bodies = c.many(3, body);
    program.stages = c.many(3, |c| (role(c), BodyId(number(c)))).into_iter().collect();
    program.intrinsic = c.many(3, |c| (name(c), slot(c))).into_iter().collect();
    program.field_lists = c.many(2, |c| (number(c), c.many(3, slot))).into_iter().collect();
    program.actions = c.many(4, |c| Action {
        name: name(c),
        params: c.many(3, action_param),
        body: BodyId(c.below(4)),
    });
    program.tables = c.many(2, table);
    program.action_profiles = c.many(2, |c| ActionProfile {
        name: name(c),
        size: c.bits(),
        selector: c.maybe(|c| (algorithm(c), number(c))),
    });
    program.registers = c.many(2, |c| Register {
        name: name(c),
        width: number(c),
        signed: c.flag(),
        size: c.bits(),
        initial: constant(c),
    });
    program.counters = c.many(2, |c| Counter {
        name: name(c),
        unit: unit(c),
        size: c.maybe(Choices::bits),
        element_names: c.many(3, name),
    });
    program.meters = c.many(2, |c| Meter {
        name: name(c),
        unit: unit(c),
        size: c.maybe(Choices::bits),
    });
    program.value_sets = c.many(2, |c| ValueSet {
        name: name(c),
        size: c.bits(),
        components: c.many(2, |c| ValueSetComponent {
            name: name(c),
            width: number(c),
            match_kind: match_kind(c),
        }),
    });
    program.calculations = c.many(2, |c| Calculation {
        name: name(c),
        crc: c.pick(&[CustomCrc::Crc16, CustomCrc::Crc32]),
    });
    program.digests = c.many(2, |c| Digest {
        name: name(c),
        receiver: number(c),
        fields: c.many(2, |c| (name(c), number(c))),
        to: Recipient::Controller,
    });
    program
}

fn name(c: &mut Choices) -> String {
    c.pick(NAMES).to_owned()
}

fn number(c: &mut Choices) -> u32 {
    if c.below(8) == 0 { c.bits() as u32 } else { c.below(6) }
}

fn slot(c: &mut Choices) -> SlotId {
    SlotId(number(c))
}

fn block(c: &mut Choices) -> BlockId {
    BlockId(number(c))
}

fn location(c: &mut Choices) -> Location {
    c.maybe(|c| Location {
        file: number(c),
        line: number(c),
    })
    .unwrap_or_default()
}

fn constant(c: &mut Choices) -> Bits {
    let width = c.pick(&[0, 1, 8, 9, 64, 128, 129, 700]);
    let value = (u128::from(c.bits()) << 64) | u128::from(c.bits());
    Bits::new(width, value).shl(u64::from(c.below(600)))
}

fn slot_kind(c: &mut Choices) -> SlotKind {
    let header = HeaderId(number(c));
    c.pick(&[
        SlotKind::Field(header),
        SlotKind::Valid(header),
        SlotKind::VarbitLength(header),
        SlotKind::NextIndex,
        SlotKind::Metadata,
        SlotKind::Intrinsic,
        SlotKind::Local,
    ])
}

fn header(c: &mut Choices) -> Header {
    let fields = c.many(3, |c| HeaderField {
        name: name(c),
        slot: slot(c),
        length: c.maybe(slot),
    });
    Header {
        name: name(c),
        type_name: name(c),
        valid: slot(c),
        fields,
    }
}

fn action_param(c: &mut Choices) -> ActionParam {
    ActionParam {
        name: name(c),
        width: c.below(4),
        signed: c.flag(),
    }
}

fn role(c: &mut Choices) -> Role {
    c.pick(&[
        Role::Parser,
        Role::VerifyChecksum,
        Role::Ingress,
        Role::Egress,
        Role::ComputeChecksum,
        Role::Deparser,
    ])
}

fn unit(c: &mut Choices) -> Unit {
    c.pick(&[Unit::Packets, Unit::Bytes, Unit::PacketsAndBytes])
}

fn match_kind(c: &mut Choices) -> MatchKind {
    use MatchKind::*;
    c.pick(&[Exact, Lpm, Ternary, Range, Optional, Selector])
}

fn algorithm(c: &mut Choices) -> HashAlgorithm {
    use HashAlgorithm::*;
    let custom = Custom(CalculationId(number(c)));
    c.pick(&[Crc32, Crc16, Random, Identity, Csum16, Xor16, custom])
}

fn table(c: &mut Choices) -> Table {
    Table {
        name: name(c),
        keys: c.many(2, |c| TableKey {
            name: name(c),
            expr: expr(c, 3),
            width: number(c),
            match_kind: match_kind(c),
        }),
        actions: c.many(3, |c| TableAction {
            action: ActionId(number(c)),
            table_only: c.flag(),
            default_only: c.flag(),
        }),
        default_action: call(c),
        default_is_const: c.flag(),
        entries: c.many(3, |c| TableEntry {
            matches: c.many(3, entry_match),
            priority: c.bits() as i64,
            action: call(c),
            is_const: c.flag(),
            location: location(c),
        }),
        entries_are_const: c.flag(),
        size: c.bits(),
        implementation: c.maybe(|c| ActionProfileId(number(c))),
        empty_group_action: c.maybe(call),
        direct_counter: c.maybe(|c| CounterId(number(c))),
        direct_meter: c.maybe(|c| DirectMeter {
            meter: MeterId(number(c)),
            slot: c.maybe(slot),
        }),
        supports_timeout: c.flag(),
        deletes_idle: c.flag(),
        expire_seconds: c.many(3, |c| c.bits()),
        is_hidden: c.flag(),
        location: location(c),
    }
}

fn call(c: &mut Choices) -> ActionCall {
    ActionCall {
        action: number(c),
        args: c.many(2, constant),
    }
}

fn entry_match(c: &mut Choices) -> EntryMatch {
    match c.below(6) {
        0 => EntryMatch::Exact(constant(c)),
        1 => EntryMatch::Lpm {
            value: constant(c),
            prefix_length: number(c),
        },
        2 => EntryMatch::Ternary {
            value: constant(c),
            mask: constant(c),
        },
        3 => EntryMatch::Range {
            low: constant(c),
            high: constant(c),
        },
        4 => EntryMatch::Optional(Some(constant(c))),
        _ => EntryMatch::Optional(None),
    }
}

fn body(c: &mut Choices) -> Body {
    let kind = c.pick(&[
        BodyKind::Parser,
        BodyKind::Control,
        BodyKind::Deparser,
        BodyKind::Action,
    ]);
    let blocks = c.many(4, |c| Block {
        label: c.maybe(name),
        statements: c.many(4, |c| Statement {
            op: op(c),
            location: location(c),
        }),
        terminator: terminator(c),
        location: location(c),
    });
    Body {
        name: name(c),
        kind,
        blocks,
    }
}

fn terminator(c: &mut Choices) -> Terminator {
    match c.below(7) {
        0 => Terminator::Jump(block(c)),
        1 => Terminator::Branch {
            condition: expr(c, 4),
            then_block: block(c),
            else_block: block(c),
        },
        2 => Terminator::Select {
            keys: c.many(3, |c| expr(c, 3)),
            cases: c.many(3, |c| SelectCase {
                keysets: c.many(3, keyset),
                target: block(c),
            }),
            default: block(c),
        },
        3 => Terminator::Apply {
            table: TableId(number(c)),
            hit: c.maybe(slot),
            action_run: c.maybe(slot),
            next: block(c),
        },
        4 => Terminator::Return,
        5 => Terminator::Exit,
        _ => Terminator::Reject(expr(c, 3)),
    }
}

fn keyset(c: &mut Choices) -> KeySet {
    match c.below(7) {
        0 => KeySet::Any,
        1 => KeySet::Exact(constant(c)),
        2 => KeySet::Mask {
            value: constant(c),
            mask: constant(c),
        },
        3 => KeySet::Range {
            low: constant(c),
            high: constant(c),
        },
        4 => KeySet::Equals(expr(c, 3)),
        5 => KeySet::EqualsMasked {
            value: expr(c, 3),
            mask: expr(c, 3),
        },
        _ => KeySet::ValueSet {
            set: ValueSetId(number(c)),
            component: number(c),
        },
    }
}

fn data_item(c: &mut Choices) -> DataItem {
    if c.flag() {
        DataItem::Value(expr(c, 3))
    } else {
        DataItem::Varbit {
            value: slot(c),
            length: slot(c),
        }
    }
}

fn op(c: &mut Choices) -> Op {
    match c.below(27) {
        0..=3 => Op::Assign {
            slot: slot(c),
            value: expr(c, 6),
        },
        4 => Op::Extract {
            header: HeaderId(number(c)),
            varbit_bits: c.maybe(|c| expr(c, 3)),
        },
        5 => Op::Advance { bits: expr(c, 3) },
        6 => Op::Lookahead { slot: slot(c) },
        7 => Op::PacketLength { slot: slot(c) },
        8 => Op::Emit {
            header: HeaderId(number(c)),
        },
        9 => Op::RegisterRead {
            register: RegisterId(number(c)),
            index: expr(c, 3),
            slot: slot(c),
        },
        10 => Op::RegisterWrite {
            register: RegisterId(number(c)),
            index: expr(c, 3),
            value: expr(c, 3),
        },
        11 => Op::Count {
            counter: CounterId(number(c)),
            index: expr(c, 3),
        },
        12 => Op::ExecuteMeter {
            meter: MeterId(number(c)),
            index: expr(c, 3),
            before: c.maybe(|c| expr(c, 3)),
            slot: slot(c),
        },
        13 => Op::Hash {
            algorithm: algorithm(c),
            data: c.many(3, data_item),
            range: c.maybe(|c| (expr(c, 3), expr(c, 3))),
            slot: slot(c),
        },
        14 => Op::VerifyChecksum {
            condition: expr(c, 3),
            data: c.many(3, data_item),
            checksum: expr(c, 3),
            algorithm: algorithm(c),
            payload: c.flag(),
        },
        15 => Op::UpdateChecksum {
            condition: expr(c, 3),
            data: c.many(3, data_item),
            slot: slot(c),
            algorithm: algorithm(c),
            payload: c.flag(),
        },
        16 => Op::Random {
            low: expr(c, 3),
            high: expr(c, 3),
            slot: slot(c),
        },
        17 => Op::Digest {
            digest: DigestId(number(c)),
            data: c.many(3, |c| expr(c, 3)),
        },
        18 => Op::Clone {
            kind: c.pick(&[CloneKind::IngressToEgress, CloneKind::EgressToEgress]),
            session: expr(c, 3),
            field_list: c.maybe(|c| expr(c, 2)),
        },
        19 => Op::Resubmit {
            field_list: c.maybe(|c| expr(c, 2)),
        },
        20 => Op::Recirculate {
            field_list: c.maybe(|c| expr(c, 2)),
        },
        21 => Op::Truncate { bytes: expr(c, 3) },
        22 => Op::EnterAtomic {
            lock: number(c),
            index: c.maybe(|c| expr(c, 3)),
        },
        23 => Op::LeaveAtomic,
        24 => Op::LogMessage {
            format: name(c),
            args: c.many(2, |c| expr(c, 3)),
        },
        25 => Op::Assert {
            condition: expr(c, 3),
            text: name(c),
        },
        _ => Op::Assume {
            condition: expr(c, 3),
            text: name(c),
        },
    }
}

pub const BINARY: &[BinaryOp] = &[
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::Mod,
    BinaryOp::SatAddUnsigned,
    BinaryOp::SatAddSigned,
    BinaryOp::SatSubUnsigned,
    BinaryOp::SatSubSigned,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Xor,
    BinaryOp::Shl,
    BinaryOp::Shr,
    BinaryOp::ShrSigned,
    BinaryOp::Eq,
    BinaryOp::Ne,
    BinaryOp::Lt,
    BinaryOp::Le,
    BinaryOp::LtSigned,
    BinaryOp::LeSigned,
];

fn expr(c: &mut Choices, depth: u32) -> Expr {
    let kind = if depth == 0 { c.below(3) } else { c.below(12) };
    let operand = |c: &mut Choices| Box::new(expr(c, depth.saturating_sub(1)));
    match kind {
        0 => Expr::Const(constant(c)),
        1 => Expr::Slot(slot(c)),
        2 => Expr::Param {
            index: c.below(4),
            width: c.below(4),
        },
        3 => Expr::Unary(c.pick(&[UnaryOp::Not, UnaryOp::Negate]), operand(c)),
        4..=6 => Expr::Binary(c.pick(BINARY), operand(c), operand(c)),
        7 => Expr::Slice {
            operand: operand(c),
            hi: number(c),
            lo: number(c),
        },
        8 => Expr::Concat(operand(c), operand(c)),
        9 => match c.below(3) {
            0 => Expr::ZeroExtend(number(c), operand(c)),
            1 => Expr::SignExtend(number(c), operand(c)),
            _ => Expr::Truncate(number(c), operand(c)),
        },
        _ => Expr::Mux {
            condition: operand(c),
            then_value: operand(c),
            else_value: operand(c),
        },
    }
}
