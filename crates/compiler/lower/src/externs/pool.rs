//! `NumberPool` and `Quota` of forebay.p4: what packets take for the entries that they add.
//!
//! A pool is a ring of numbers in a register, so that every executor supports it. Element `i` is the number at place
//! `i` minus `i`, so that zeros stand for the numbers in order. A second register has the first place, the last place,
//! and how many numbers are taken. A quota is a register with the numbers of shares taken.
//!
//! A message ([`Recipient::Number`], [`Recipient::Share`]) records what a packet has taken, so that it is given back
//! when the packet's entry ends. The message comes before the registers change, because packets leave the fast path at
//! it.

use super::Args;
use super::message;
use super::state::Made;
use crate::assign;
use crate::build;
use crate::context::Context;
use crate::graph;
use crate::names;
use crate::object::Object;
use crate::storage;
use crate::value::Value;
use forebay_bits::Bits;
use forebay_ir::{self as ir, BinaryOp, Digest, DigestId, Expr, Op, Recipient, RegisterId};

/// Bits of numbers and counts.
const WIDTH: u32 = 32;

/// The elements of a pool's second register.
const FIRST: u32 = 0;
const TAKEN: u32 = 2;
const COUNTS: u64 = 3;

/// `NumberPool(size)`
pub fn number_pool(cx: &mut Context, made: &Made) -> Object {
    let size = made.array_size(cx, 0, u64::from(WIDTH / 8)).max(1);
    let ring = register(cx, made, "ring", size);
    let counts = register(cx, made, "counts", COUNTS);
    let name = format!("{}.$claim", made.path);
    let digest = declare(cx, name, "number", Recipient::Number { ring, counts });
    Object::NumberPool { ring, counts, digest }
}

/// `Quota(size)`
pub fn quota(cx: &mut Context, made: &Made) -> Object {
    let size = made.array_size(cx, 0, u64::from(WIDTH / 8)).max(1);
    let taken = register(cx, made, "taken", size);
    let name = format!("{}.$take", made.path);
    let digest = declare(cx, name, "index", Recipient::Share { taken });
    Object::Quota { taken, digest }
}

fn register(cx: &mut Context, made: &Made, part: &str, size: u64) -> RegisterId {
    let name = format!("{}.{part}", made.path);
    names::declare(cx, "registers", &name, made.span);
    cx.program.registers.push(ir::Register {
        name,
        width: WIDTH,
        signed: false,
        size,
        initial: Bits::zero(WIDTH),
    });
    RegisterId(cx.program.registers.len() as u32 - 1)
}

fn declare(cx: &mut Context, name: String, field: &str, to: Recipient) -> DigestId {
    let fields = vec![(field.to_string(), WIDTH), ("taken".to_string(), 1)];
    let digest = Digest {
        name,
        receiver: 0,
        fields,
        to,
    };
    message::declare(cx, digest)
}

/// `claim(number)`: whether there is a free number. The number is the one that has been free for the longest time.
pub fn claim(cx: &mut Context, (ring, counts, digest): (RegisterId, RegisterId, DigestId), args: &Args) -> Value {
    let size = cx.program.registers[ring.index()].size;
    let is_free = section(cx, |cx| {
        let first = read(cx, counts, number(FIRST.into()));
        let taken = read(cx, counts, number(TAKEN.into()));
        let offset = read(cx, ring, first.clone());
        let claimed = save(cx, WIDTH, build::binary(BinaryOp::Add, offset, first.clone()));
        let is_free = save(cx, 1, build::binary(BinaryOp::Lt, taken.clone(), number(size)));
        tell(cx, digest, claimed.clone(), is_free.clone());
        let is_last = build::equal(first.clone(), number(size - 1));
        let next = build::mux(is_last, number(0), plus_one(first.clone()));
        write(
            cx,
            counts,
            number(FIRST.into()),
            build::mux(is_free.clone(), next, first),
        );
        let more = build::mux(is_free.clone(), plus_one(taken.clone()), taken);
        write(cx, counts, number(TAKEN.into()), more);
        if let Some(to) = args.place(0) {
            assign::write(cx, to, Value::Scalar(claimed));
        }
        is_free
    });
    Value::Scalar(is_free)
}

/// `take(index, limit)`: whether fewer than `limit` shares of the index were taken.
pub fn take(cx: &mut Context, (taken, digest): (RegisterId, DigestId), args: &Args) -> Value {
    let index = args.scalar(cx, 0);
    let index = graph::save_expr(cx, index);
    let limit = args.scalar(cx, 1);
    let size = cx.program.registers[taken.index()].size;
    let got = section(cx, |cx| {
        let before = read(cx, taken, index.clone());
        let is_inside = build::binary(BinaryOp::Lt, index.clone(), number(size));
        let is_below = build::binary(BinaryOp::Lt, before.clone(), limit);
        let got = save(cx, 1, build::and(is_inside, is_below));
        tell(cx, digest, index.clone(), got.clone());
        let after = build::mux(got.clone(), plus_one(before.clone()), before);
        write(cx, taken, index, after);
        got
    });
    Value::Scalar(got)
}

/// Appends steps as one atomic section.
fn section(cx: &mut Context, steps: impl FnOnce(&mut Context) -> Expr) -> Expr {
    let is_outside = cx.body.atomic_depth == 0;
    if is_outside {
        graph::emit(cx, Op::EnterAtomic { lock: 0, index: None });
    }
    let result = steps(cx);
    if is_outside {
        graph::emit(cx, Op::LeaveAtomic);
    }
    result
}

fn tell(cx: &mut Context, digest: DigestId, value: Expr, is_taken: Expr) {
    let data = vec![value, is_taken];
    graph::emit(cx, Op::Digest { digest, data });
}

fn read(cx: &mut Context, register: RegisterId, index: Expr) -> Expr {
    let slot = storage::temporary(cx, WIDTH);
    graph::emit(cx, Op::RegisterRead { register, index, slot });
    Expr::Slot(slot)
}

fn write(cx: &mut Context, register: RegisterId, index: Expr, value: Expr) {
    graph::emit(cx, Op::RegisterWrite { register, index, value });
}

fn save(cx: &mut Context, width: u32, value: Expr) -> Expr {
    let slot = storage::temporary(cx, width);
    graph::assign(cx, slot, value);
    Expr::Slot(slot)
}

fn number(value: u64) -> Expr {
    build::constant(WIDTH, value.into())
}

fn plus_one(value: Expr) -> Expr {
    build::binary(BinaryOp::Add, value, number(1))
}
