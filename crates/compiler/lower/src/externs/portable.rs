//! Extern objects and functions that only PSA and PNA have: objects whose methods return values, and checksums that
//! are computed step by step.

use super::state::{self, Made};
use super::{Args, checksum};
use crate::architecture::pna;
use crate::build;
use crate::context::Context;
use crate::graph;
use crate::object::{Object, ObjectId};
use crate::place::{self, Place};
use crate::storage;
use crate::types;
use crate::value::{self, Value};
use crate::wire;
use forebay_check::hir::{InstanceId, Type};
use forebay_ir::{self as ir, BinaryOp, DataItem, Expr, HashAlgorithm, MeterId, Op, RegisterId, SlotId};
use forebay_syntax::codes::lower as codes;

/// The number of mirror slots of a PNA packet.
const MIRROR_SLOTS: u8 = 4;

/// Width of a meter's result: an enum without representation.
const COLOR_WIDTH: u32 = 32;

/// `Hash(algorithm)`
pub fn hash(cx: &mut Context, made: &Made) -> Object {
    let member = made.member(cx, 0);
    let algorithm = checksum::algorithm(cx, &member, made.span);
    Object::Hash(algorithm, result_type(made))
}

/// `Checksum(algorithm)`: a slot holds the checksum of the data added so far.
pub fn checksum(cx: &mut Context, made: &Made) -> Object {
    let member = made.member(cx, 0);
    let mut algorithm = checksum::fixed_algorithm(cx, &member, made.span);
    if algorithm == HashAlgorithm::Toeplitz {
        let message = "a Toeplitz hash cannot be computed piece by piece: use a Hash";
        cx.error(codes::UNSUPPORTED_EXTERN, made.span, message);
        algorithm = HashAlgorithm::Crc32;
    }
    let sum = Running::of(algorithm).slot(cx, &made.path);
    Object::Checksum(algorithm, result_type(made), sum)
}

/// How a checksum is continued from its previous value.
#[derive(Clone, Copy)]
enum Running {
    /// By a CRC whose data begins with the previous value.
    Crc(HashAlgorithm, u32),
    /// The ones' complement sum of 16-bit words, whose complement is the checksum.
    Sum,
    /// 16-bit words XORed.
    Xor,
    /// The last bits of the data.
    Data,
}

impl Running {
    fn of(algorithm: HashAlgorithm) -> Running {
        match algorithm {
            HashAlgorithm::Csum16 => Running::Sum,
            HashAlgorithm::Xor16 => Running::Xor,
            HashAlgorithm::Identity => Running::Data,
            HashAlgorithm::Crc16 | HashAlgorithm::Crc16More => Running::Crc(HashAlgorithm::Crc16More, 16),
            HashAlgorithm::Crc32 | HashAlgorithm::Crc32More | HashAlgorithm::Random => {
                Running::Crc(HashAlgorithm::Crc32More, 32)
            }
            HashAlgorithm::Custom(_) => unreachable!("the parameters of checksums are fixed"),
            HashAlgorithm::Toeplitz => unreachable!("checksums have no Toeplitz hash"),
        }
    }

    fn width(self) -> u32 {
        match self {
            Running::Crc(_, width) => width,
            Running::Sum | Running::Xor => 16,
            Running::Data => 64,
        }
    }

    fn slot(self, cx: &mut Context, path: &str) -> SlotId {
        let scalar = types::Scalar {
            width: self.width(),
            signed: false,
        };
        storage::slot(cx, format!("{path}.$sum"), scalar, ir::SlotKind::Local)
    }
}

fn result_type(made: &Made) -> Type {
    made.type_args.first().cloned().unwrap_or(Type::Unknown)
}

/// `InternetChecksum()`: the sum is kept in a slot.
pub fn internet_checksum(cx: &mut Context, made: &Made) -> Object {
    let scalar = types::Scalar {
        width: 16,
        signed: false,
    };
    let name = format!("{}.$sum", made.path);
    Object::InternetChecksum(storage::slot(cx, name, scalar, ir::SlotKind::Local))
}

/// `Random(min, max)`
pub fn random(cx: &mut Context, made: &Made) -> Object {
    let ty = result_type(made);
    let width = types::scalar(cx, &ty).map_or(32, |scalar| scalar.width);
    let bound = |index: usize| match made.args.get(index) {
        Some(Some(Value::Scalar(expr))) => expr.clone(),
        Some(Some(Value::Integer(number))) => Expr::Const(forebay_bits::Bits::from_bigint(width, number)),
        _ => build::constant(width, 0),
    };
    Object::Random {
        low: bound(0),
        high: bound(1),
        width,
    }
}

/// `DirectMeter(type)`: a table puts the colour into a slot.
pub fn direct_meter(cx: &mut Context, made: Made) -> Object {
    let scalar = types::Scalar {
        width: COLOR_WIDTH,
        signed: false,
    };
    let slot = storage::slot(cx, format!("{}.$color", made.path), scalar, ir::SlotKind::Local);
    match state::direct_meter(cx, made) {
        Object::DirectMeter(meter, _) => Object::DirectMeter(meter, Some(slot)),
        other => other,
    }
}

/// `get_hash(data)`, `get_hash(base, data, max)`
pub fn get_hash(cx: &mut Context, algorithm: HashAlgorithm, ty: &Type, args: &Args) -> Value {
    let width = types::scalar(cx, ty).map_or(32, |scalar| scalar.width);
    let (data, range) = match args.count() {
        3 => {
            let range = (args.scalar(cx, 0), args.scalar(cx, 2));
            (args.value(cx, 1), Some(range))
        }
        _ => (args.value(cx, 0), None),
    };
    let data = checksum::data_items(cx, &data);
    let data = whole_bytes(cx, data);
    let slot = storage::temporary(cx, width);
    graph::emit(
        cx,
        Op::Hash {
            algorithm,
            data,
            range,
            slot,
        },
    );
    Value::Scalar(Expr::Slot(slot))
}

/// Data with zeros in front, so that it consists of whole bytes, as in BMv2's `psa_switch` (`build_buffer` in its
/// `psa_hash.cpp`). v1model's `hash` has the zeros at the end. Values of a varbit field count as whole bytes.
fn whole_bytes(cx: &Context, mut data: Vec<DataItem>) -> Vec<DataItem> {
    let bits: u32 = data
        .iter()
        .map(|item| match item {
            DataItem::Value(value) => value.width(&cx.program),
            DataItem::Varbit { .. } => 0,
        })
        .sum();
    match bits.next_multiple_of(8) - bits {
        0 => {}
        missing => data.insert(0, DataItem::Value(build::constant(missing, 0))),
    }
    data
}

/// `update(data)` of a checksum. Data that is not whole bytes gets zeros in front, like that of a [`hash`].
pub fn update(cx: &mut Context, algorithm: HashAlgorithm, sum: SlotId, args: &Args) {
    let running = Running::of(algorithm);
    if matches!(running, Running::Sum) {
        return accumulate(cx, sum, args, false);
    }
    let data = args.value(cx, 0);
    let data = checksum::data_items(cx, &data);
    let mut data = whole_bytes(cx, data);
    match running {
        Running::Crc(more, _) => {
            data.insert(0, DataItem::Value(Expr::Slot(sum)));
            hash_into(cx, more, data, sum);
        }
        Running::Xor => {
            let words = storage::temporary(cx, 16);
            hash_into(cx, HashAlgorithm::Xor16, data, words);
            let all = build::binary(BinaryOp::Xor, Expr::Slot(sum), Expr::Slot(words));
            graph::assign(cx, sum, all);
        }
        Running::Data | Running::Sum => append(cx, sum, data),
    }
}

fn hash_into(cx: &mut Context, algorithm: HashAlgorithm, data: Vec<DataItem>, slot: SlotId) {
    let op = Op::Hash {
        algorithm,
        data,
        range: None,
        slot,
    };
    graph::emit(cx, op);
}

/// Appends data to the contents of a slot of 64 bits, whose first bits are lost.
fn append(cx: &mut Context, slot: SlotId, data: Vec<DataItem>) {
    const WIDTH: u32 = 64;
    for item in data {
        let (value, length) = match item {
            DataItem::Value(value) => {
                let length = build::constant(32, value.width(&cx.program).into());
                (value, length)
            }
            DataItem::Varbit { value, length } => (Expr::Slot(value), Expr::Slot(length)),
        };
        let width = value.width(&cx.program);
        let shifted = build::binary(BinaryOp::Shl, Expr::Slot(slot), length);
        let behind = build::resize(value, width, WIDTH, false);
        graph::assign(cx, slot, build::binary(BinaryOp::Or, shifted, behind));
    }
}

/// `clear()` of a checksum: discards the data added so far.
pub fn clear(cx: &mut Context, sum: SlotId) {
    let width = cx.program.slot(sum).width;
    graph::assign(cx, sum, build::constant(width, 0));
}

/// Clears the checksums among the instances of a parser or control that begins, because these instances are new for
/// each application (PSA 1.2 §7.9).
pub fn clear_checksums(cx: &mut Context, instances: &[(InstanceId, ObjectId)]) {
    for (_, id) in instances {
        if let Object::Checksum(_, _, sum) | Object::InternetChecksum(sum) = *cx.object(*id) {
            clear(cx, sum);
        }
    }
}

/// `get()` of a checksum.
pub fn get(cx: &mut Context, algorithm: HashAlgorithm, ty: &Type, sum: SlotId) -> Value {
    let width = types::scalar(cx, ty).map_or(32, |scalar| scalar.width);
    let running = Running::of(algorithm);
    let all = match running {
        Running::Sum => build::not(Expr::Slot(sum)),
        _ => Expr::Slot(sum),
    };
    Value::Scalar(build::resize(all, running.width(), width, false))
}

/// Methods of `InternetChecksum`; `None` when there is no such method.
pub fn internet_method(cx: &mut Context, sum: SlotId, method: &str, args: &Args) -> Option<Value> {
    let is = |value: Expr| Some(Value::Scalar(value));
    match method {
        "clear" => graph::assign(cx, sum, build::constant(16, 0)),
        "add" | "subtract" => accumulate(cx, sum, args, method == "subtract"),
        "get" => return is(build::not(Expr::Slot(sum))),
        "get_state" => return is(Expr::Slot(sum)),
        "set_state" => {
            let state = args.scalar(cx, 0);
            graph::assign(cx, sum, state);
        }
        _ => return None,
    }
    Some(Value::Void)
}

/// Adds the 16-bit words of the data in ones' complement. Subtracting adds the complement of every word.
fn accumulate(cx: &mut Context, sum: SlotId, args: &Args, inverted: bool) {
    let data = args.value(cx, 0);
    let mut data = checksum::data_items(cx, &data);
    if inverted {
        for item in &mut data {
            match item {
                DataItem::Value(value) => *value = build::not(value.clone()),
                DataItem::Varbit { value, .. } => {
                    let width = cx.program.slot(*value).width;
                    let complement = storage::temporary(cx, width);
                    graph::assign(cx, complement, build::not(Expr::Slot(*value)));
                    *value = complement;
                }
            }
        }
    }
    let complement = storage::temporary(cx, 16);
    let op = Op::Hash {
        algorithm: HashAlgorithm::Csum16,
        data,
        range: None,
        slot: complement,
    };
    graph::emit(cx, op);
    let wide = |expr: Expr| Expr::ZeroExtend(17, Box::new(expr));
    let total = storage::temporary(cx, 17);
    let added = build::not(Expr::Slot(complement));
    graph::assign(
        cx,
        total,
        build::binary(BinaryOp::Add, wide(Expr::Slot(sum)), wide(added)),
    );
    let low = build::slice(Expr::Slot(total), 17, 15, 0);
    let carry = build::slice(Expr::Slot(total), 17, 16, 16);
    let carry = Expr::ZeroExtend(16, Box::new(carry));
    graph::assign(cx, sum, build::binary(BinaryOp::Add, low, carry));
}

/// `read()` of a random number generator.
pub fn read_random(cx: &mut Context, low: Expr, high: Expr, width: u32) -> Value {
    let slot = storage::temporary(cx, width);
    graph::emit(cx, Op::Random { low, high, slot });
    Value::Scalar(Expr::Slot(slot))
}

/// `read(index)` of a register.
pub fn read_register(cx: &mut Context, register: RegisterId, element: &Type, args: &Args) -> Value {
    let index = args.scalar(cx, 0);
    let width = cx.program.registers[register.index()].width;
    let slot = storage::temporary(cx, width);
    graph::emit(cx, Op::RegisterRead { register, index, slot });
    match types::scalar(cx, element) {
        Some(_) => Value::Scalar(Expr::Slot(slot)),
        None => wire::from_bits(cx, element, &Expr::Slot(slot), width),
    }
}

/// `execute(index)`, `execute(index, color)`; `count` is the number of arguments that are used.
pub fn execute_meter(cx: &mut Context, meter: MeterId, args: &Args, count: usize) -> Value {
    let index = args.scalar(cx, 0);
    let slot = storage::temporary(cx, COLOR_WIDTH);
    let before = (count > 1).then(|| number_of_color(args.scalar(cx, 1)));
    // The result when the index is outside the array.
    graph::assign(cx, slot, before.clone().unwrap_or(build::constant(COLOR_WIDTH, 0)));
    graph::emit(
        cx,
        Op::ExecuteMeter {
            meter,
            index,
            before,
            slot,
        },
    );
    member_of_color(cx, slot, Expr::Slot(slot))
}

/// `execute()`, `execute(color)` of a direct meter, which its table has already executed as for a green packet. The
/// result is the worse of the two colours.
pub fn execute_direct_meter(cx: &mut Context, slot: Option<SlotId>, args: &Args, count: usize) -> Value {
    let before = (count > 0).then(|| number_of_color(args.scalar(cx, 0)));
    let Some(slot) = slot else { return Value::Void };
    let mut result = Expr::Slot(slot);
    if let Some(before) = before {
        let better = build::binary(BinaryOp::Lt, result.clone(), before.clone());
        result = build::mux(better, before, result);
    }
    member_of_color(cx, slot, result)
}

/// Converts a member of `PSA_MeterColor_t` (0 red, 1 green, 2 yellow) to the numbers that meters use: 0 green, 1
/// yellow, 2 red.
fn number_of_color(member: Expr) -> Expr {
    let number = |value| build::constant(COLOR_WIDTH, value);
    let is_red = build::equal(member.clone(), number(0));
    build::mux(is_red, number(2), build::binary(BinaryOp::Sub, member, number(1)))
}

/// Converts a meter's result back. If the slot says that the meter is not configured, the result is green, whatever
/// colour the packet had.
fn member_of_color(cx: &mut Context, slot: SlotId, result: Expr) -> Value {
    let number = |value| build::constant(COLOR_WIDTH, value);
    let is_unmetered = build::equal(Expr::Slot(slot), number(ir::UNMETERED.into()));
    let is_red = build::equal(result.clone(), number(2));
    let member = build::mux(is_red, number(0), build::binary(BinaryOp::Add, result, number(1)));
    let member = build::mux(is_unmetered, number(1), member);
    let slot = storage::temporary(cx, COLOR_WIDTH);
    graph::assign(cx, slot, member);
    Value::Scalar(Expr::Slot(slot))
}

/// `psa_clone_i2e(istd)` and similar functions: which paths the packet takes, from the fields that determine it.
/// `None` for other functions.
pub fn way(cx: &mut Context, function: &str, args: &Args) -> Option<Value> {
    let way = match function {
        "psa_clone_i2e" | "psa_clone_e2e" => field(cx, args, 0, "clone")?,
        "psa_resubmit" | "psa_normal" => {
            let kept = build::not(field(cx, args, 0, "drop")?);
            let resubmitted = field(cx, args, 0, "resubmit")?;
            match function {
                "psa_resubmit" => build::and(kept, resubmitted),
                _ => build::and(kept, build::not(resubmitted)),
            }
        }
        "psa_recirculate" => {
            let kept = build::not(field(cx, args, 0, "drop")?);
            let port = field(cx, args, 1, "egress_port")?;
            let width = port.width(&cx.program);
            build::and(kept, build::equal(port, build::constant(width, 0xffff_fffa)))
        }
        _ => return None,
    };
    Some(Value::Scalar(way))
}

/// A scalar field of an argument that is a struct.
fn field(cx: &mut Context, args: &Args, argument: usize, name: &str) -> Option<Expr> {
    let ty = types::resolve(cx, &args.ty(argument));
    let Type::Composite(id, type_args) = &ty else {
        return None;
    };
    let fields = types::fields(cx, *id, type_args);
    let index = fields.iter().position(|(field, _)| field == name)?;
    match args.place(argument).map(|place| place.component(index)) {
        Some(part) => read(cx, &part, &fields[index].1),
        None => args.value(cx, argument).components().get(index)?.clone().expr(),
    }
}

fn read(cx: &mut Context, place: &Place, ty: &Type) -> Option<Expr> {
    place::read(cx, place, ty).expr()
}

/// The fate of a PNA packet, with the numbers of `pna.fate`.
#[derive(Clone, Copy)]
pub enum Fate {
    /// It is dropped.
    Drop = 0,
    /// It goes to a port.
    Send = 1,
    /// It is parsed again.
    Recirculate = 2,
}

/// `drop_packet()`, `recirculate()`: the last call decides.
pub fn choose(cx: &mut Context, fate: Fate) {
    let slot = pna::request(cx, "pna.fate", 2);
    graph::assign(cx, slot, build::constant(2, fate as u128));
}

/// `send_to_port(port)`
pub fn send_to_port(cx: &mut Context, args: &Args) {
    let port = args.scalar(cx, 0);
    let width = port.width(&cx.program);
    let slot = pna::request(cx, "pna.port", 32);
    graph::assign(cx, slot, build::resize(port, width, 32, false));
    choose(cx, Fate::Send);
}

/// `mirror_packet(slot, session)`
pub fn mirror_packet(cx: &mut Context, args: &Args) {
    let (index, session) = (args.scalar(cx, 0), args.scalar(cx, 1));
    let (width, session_width) = (index.width(&cx.program), session.width(&cx.program));
    let session = build::resize(session, session_width, 16, false);
    for number in 0..MIRROR_SLOTS {
        let is_this = build::equal(index.clone(), build::constant(width, number.into()));
        if build::as_bool(&is_this) == Some(false) {
            continue;
        }
        let wanted = pna::request(cx, &format!("pna.mirror_{number}"), 1);
        let slot = pna::request(cx, &format!("pna.session_{number}"), 16);
        let chosen = build::mux(is_this.clone(), session.clone(), Expr::Slot(slot));
        graph::assign(cx, slot, chosen);
        graph::assign(cx, wanted, build::or(Expr::Slot(wanted), is_this));
    }
}

/// `is_net_port(port)`
pub fn is_net_port(cx: &mut Context, args: &Args) -> Value {
    Value::Scalar(leads_to_network(cx, args))
}

/// `is_host_port(port)`
pub fn is_host_port(cx: &mut Context, args: &Args) -> Value {
    Value::Scalar(build::not(leads_to_network(cx, args)))
}

fn leads_to_network(cx: &mut Context, args: &Args) -> Expr {
    let port = args.scalar(cx, 0);
    let width = port.width(&cx.program);
    let port = build::resize(port, width, 32, false);
    build::binary(BinaryOp::Lt, port, build::constant(32, ir::PNA_FIRST_HOST_PORT.into()))
}

/// `SelectByDirection(direction, of_network, of_host)`, or a form that first has whether the packet comes from the
/// network.
pub fn select_by_direction(cx: &mut Context, args: &Args) -> Value {
    let first = args.scalar(cx, 0);
    let from_network = if types::resolve(cx, &args.ty(0)) == Type::Bool {
        first
    } else {
        let width = first.width(&cx.program);
        build::equal(first, build::constant(width, 0))
    };
    let (network, host) = (args.value(cx, 1), args.value(cx, 2));
    value::mux(&from_network, network, host)
}

/// `Digest<T>()`
pub fn digest(cx: &mut Context, made: &Made) -> Object {
    let ty = types::resolve(cx, &result_type(made));
    let digest = super::message::declare_named(cx, made.path.clone(), &ty);
    match digest {
        Some(digest) => Object::Digest(digest),
        None => {
            let message = "a digest can only hold values of a fixed number of bits";
            cx.error(codes::UNSUPPORTED_TYPE, made.span, message);
            Object::Unsupported
        }
    }
}

/// `pack(data)`
pub fn pack(cx: &mut Context, digest: ir::DigestId, args: &Args) {
    let data = args.value(cx, 0).scalars();
    graph::emit(cx, Op::Digest { digest, data });
}
