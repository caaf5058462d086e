//! Extern functions and objects of the core library and of the architectures, recognised by their names.
//!
//! [`packet`]: `packet_in`, `packet_out`, `verify`. [`state`]: counters, meters, registers, action profiles.
//! [`checksum`]: hashes and checksums. [`traffic`]: requests to the traffic manager. [`message`]: messages to users
//! and to the control plane. [`portable`]: externs that only PSA and PNA have. [`known`]: the names. [`signature`]:
//! whether an extern that the program declares itself is the architecture's.

pub mod checksum;
mod known;
pub mod learning;
mod message;
mod packet;
mod pool;
pub mod portable;
pub mod signature;
mod state;
pub mod traffic;

use crate::assign;
use crate::binding::{self, Actual};
use crate::build;
use crate::context::Context;
use crate::expression;
use crate::graph;
use crate::object::{Object, ObjectId};
use crate::place::{self, Place};
use crate::storage::{self, Storage};
use crate::types;
use crate::value::{self, Value};
use forebay_check::hir::{self, Argument, Call, Param, Type};
use forebay_ir::{Architecture, BodyKind, Expr, Op, SlotId};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use signature::Signature;

/// Evaluated arguments of an extern call.
pub struct Args<'a> {
    actuals: Vec<Actual>,
    exprs: &'a [Argument],
    params: &'a [Param],
}

impl Args<'_> {
    fn evaluate<'a>(cx: &mut Context, params: &'a [Param], call: &'a Call) -> Args<'a> {
        let (written_params, written_args) = call.in_written_order(params);
        let mut actuals = binding::evaluate(cx, &written_params, &written_args);
        if !call.written.is_empty() {
            let mut placed: Vec<(usize, Actual)> = call.written.iter().copied().zip(actuals).collect();
            placed.sort_by_key(|(param, _)| *param);
            actuals = placed.into_iter().map(|(_, actual)| actual).collect();
        }
        Args {
            actuals,
            exprs: &call.args,
            params,
        }
    }

    /// The number of arguments.
    pub fn count(&self) -> usize {
        self.actuals.len()
    }

    /// The value of an argument.
    pub fn value(&self, cx: &mut Context, index: usize) -> Value {
        match self.actuals.get(index) {
            Some(Actual::Value(value) | Actual::ReadPlace(_, value)) => value.clone(),
            Some(Actual::Place(place)) => place::read(cx, place, &self.ty(index)),
            Some(Actual::Nothing) | None => Value::Void,
        }
    }

    /// The value of an argument of a scalar type; an `int` gets 32 bits.
    pub fn scalar(&self, cx: &mut Context, index: usize) -> Expr {
        match self.value(cx, index) {
            Value::Scalar(expr) => expr,
            Value::Integer(number) => Expr::Const(forebay_bits::Bits::from_bigint(32, &number)),
            _ => {
                if !cx.aborted {
                    expression::not_scalar(cx, &self.ty(index), self.span(index));
                }
                build::constant(32, 0)
            }
        }
    }

    /// The place of an `out` or `inout` argument; `None` for `_`.
    pub fn place(&self, index: usize) -> Option<&Place> {
        match self.actuals.get(index) {
            Some(Actual::Place(place) | Actual::ReadPlace(place, _)) => Some(place),
            _ => None,
        }
    }

    /// The expression of an argument.
    pub fn expr(&self, index: usize) -> Option<&hir::Expr> {
        self.exprs.get(index)?.value()
    }

    /// The type of an argument.
    pub fn ty(&self, index: usize) -> Type {
        self.expr(index).map_or(Type::Unknown, |expr| expr.ty.clone())
    }

    /// The source location of an argument.
    pub fn span(&self, index: usize) -> Span {
        self.expr(index).map_or(Span::NONE, |expr| expr.span)
    }

    /// The name of the enum member that an argument is. For enums of the architecture, whose members are known by
    /// name.
    pub fn member(&self, cx: &mut Context, index: usize) -> String {
        let value = self.value(cx, index);
        let ty = self
            .params
            .get(index)
            .map(|param| cx.hir.vars[param.var.index()].ty.clone());
        member_name(cx, &value, ty.as_ref().unwrap_or(&Type::Unknown), self.span(index))
    }
}

/// The name of the enum member that a compile-time value is; an error otherwise.
pub fn member_name(cx: &mut Context, value: &Value, ty: &Type, span: Span) -> String {
    let ty = types::resolve(cx, ty);
    if let (Value::Scalar(Expr::Const(bits)), Type::Enum(id)) = (value, &ty) {
        let members = &cx.hir.enums[id.index()].members;
        if let Some((name, _)) = members.get(bits.to_u64_saturating() as usize) {
            return name.clone();
        }
    }
    if !cx.aborted {
        cx.error(
            codes::NOT_COMPILE_TIME,
            span,
            "this must be a member of the enum, known at compile time",
        );
    }
    String::new()
}

/// Makes an extern object.
pub fn construct(
    cx: &mut Context,
    id: hir::ExternId,
    type_args: &[Type],
    declaration: &hir::Instance,
    args: Vec<Option<Value>>,
    path: String,
) -> Object {
    let object_type = &cx.hir.externs[id.index()];
    let constructor = declaration
        .constructor
        .and_then(|index| object_type.constructors.get(index));
    let params = constructor.map_or(&[][..], |constructor| &constructor.params);
    let types: Vec<Type> = params
        .iter()
        .map(|param| cx.hir.vars[param.var.index()].ty.clone())
        .collect();
    let span = declaration.span;
    let name = object_type.name.as_str();
    let known = known::objects(cx.program.architecture);
    if !known.contains(&name) {
        unsupported(cx, "extern object", name, &known, span);
        return Object::Unsupported;
    }
    if let Some(constructor) = constructor
        && !signature::require(cx, Signature::of_method(object_type, constructor), span)
    {
        return Object::Unsupported;
    }
    let made = state::Made {
        type_args: type_args.to_vec(),
        args,
        types,
        path,
        annotations: declaration.annotations.clone(),
        span,
    };
    if !matches!(name, "counter" | "Counter") {
        state::refuse_element_names(cx, &made);
    }
    match name {
        "counter" | "Counter" => state::counter(cx, made),
        "direct_counter" | "DirectCounter" => state::direct_counter(cx, made),
        "meter" | "Meter" => state::meter(cx, made),
        "direct_meter" => state::direct_meter(cx, made),
        "register" | "Register" => state::register(cx, made),
        "action_profile" | "ActionProfile" => state::action_profile(cx, made),
        "action_selector" | "ActionSelector" => state::action_selector(cx, made),
        "Checksum16" => Object::Checksum16,
        "Hash" => portable::hash(cx, &made),
        "Checksum" => portable::checksum(cx, &made),
        "InternetChecksum" => portable::internet_checksum(cx, &made),
        "Random" => portable::random(cx, &made),
        "DirectMeter" => portable::direct_meter(cx, made),
        "Digest" => portable::digest(cx, &made),
        "NumberPool" => pool::number_pool(cx, &made),
        "Quota" => pool::quota(cx, &made),
        "PacketReplicationEngine" | "BufferingQueueingEngine" => Object::Engine,
        _ => unreachable!("each known extern object is made above"),
    }
}

fn unsupported(cx: &mut Context, what: &str, name: &str, known: &[&str], span: Span) {
    let architecture = cx.program.architecture.name();
    let message = format!("the {what} `{name}` is not part of {architecture} and cannot be executed");
    let diagnostic = Diagnostic::error(codes::UNSUPPORTED_EXTERN, span, message);
    cx.diagnostics.push(
        diagnostic
            .did_you_mean(name, known.iter().copied())
            .options(known.iter().copied()),
    );
}

/// Calls an extern function.
pub fn function(cx: &mut Context, id: hir::FunctionId, call: &Call, span: Span) -> Value {
    let hir = cx.hir;
    let function = &hir.functions[id.index()];
    let args = Args::evaluate(cx, &function.params, call);
    bind_types(cx, &function.type_params, &call.type_args);
    let known = known::functions(cx.program.architecture);
    if !known.contains(&function.name.as_str()) {
        unsupported(cx, "extern function", &function.name, &known, span);
        return result_of(cx, &function.result);
    }
    if !signature::require(cx, Signature::of_function(function), span) {
        return result_of(cx, &function.result);
    }
    if !require_body(cx, bodies_of(&function.name), &function.name, span) {
        return result_of(cx, &function.result);
    }
    checksum::warn_of_other_control(cx, &function.name, span);
    match function.name.as_str() {
        "verify" => packet::verify(cx, &args),
        "static_assert" => return Value::boolean(true),
        "mark_to_drop" => traffic::mark_to_drop(cx, &args),
        "random" => traffic::random(cx, &args),
        "digest" => message::digest(cx, &args, call),
        "hash" => checksum::hash(cx, &args),
        "verify_checksum" => checksum::verify(cx, &args, false),
        "verify_checksum_with_payload" => checksum::verify(cx, &args, true),
        "update_checksum" => checksum::update(cx, &args, false),
        "update_checksum_with_payload" => checksum::update(cx, &args, true),
        "clone" | "clone3" | "clone_preserving_field_list" => traffic::clone(cx, &args, &function.name),
        "resubmit" | "resubmit_preserving_field_list" => traffic::resubmit(cx, &args, &function.name),
        "recirculate" if cx.program.architecture == Architecture::Pna => {
            portable::choose(cx, portable::Fate::Recirculate)
        }
        "drop_packet" => portable::choose(cx, portable::Fate::Drop),
        "send_to_port" => portable::send_to_port(cx, &args),
        "mirror_packet" => portable::mirror_packet(cx, &args),
        "is_host_port" => return portable::is_host_port(cx, &args),
        "is_net_port" => return portable::is_net_port(cx, &args),
        "add_entry" => return learning::add_entry(cx, &args, &function.result, span),
        "add_entry_if" => return learning::add_entry_if(cx, &args, span),
        "add_entry_pair" => return learning::add_entry_pair(cx, &args, span),
        "allocate_flow_id" => return learning::allocate_flow_id(cx, &function.result),
        "set_entry_expire_time" => learning::set_entry_expire_time(cx, &args, 0, span),
        "set_entry_expire_time_if" => {
            let condition = args.scalar(cx, 0);
            graph::when(cx, condition, |cx| learning::set_entry_expire_time(cx, &args, 1, span));
        }
        "update_expire_info" => learning::update_expire_info(cx, &args, span),
        // Every hit restarts the timer.
        "restart_expire_timer" => {}
        "SelectByDirection" => return portable::select_by_direction(cx, &args),
        "recirculate" | "recirculate_preserving_field_list" => traffic::recirculate(cx, &args, &function.name),
        "truncate" => traffic::truncate(cx, &args),
        "log_msg" => message::log(cx, &args),
        "assert" | "assume" => message::assertion(cx, &args, function.name == "assume"),
        name => {
            return portable::way(cx, name, &args).unwrap_or_else(|| {
                let message = format!("`{name}` reads a field that its argument does not have");
                cx.error(codes::UNSUPPORTED_EXTERN, span, message);
                result_of(cx, &function.result)
            });
        }
    }
    Value::Void
}

/// The kinds of bodies in which an extern function may be called.
fn bodies_of(function: &str) -> &'static [BodyKind] {
    use BodyKind::*;
    match function {
        "verify" => &[Parser],
        "digest" | "truncate" => &[Control, Action],
        name if name.starts_with("clone") => &[Control, Action],
        name if name.starts_with("resubmit") || name.starts_with("recirculate") => &[Control, Action],
        name if name.starts_with("verify_checksum") || name.starts_with("update_checksum") => {
            &[Control, Deparser, Action]
        }
        _ => &[Parser, Control, Deparser, Action],
    }
}

fn bind_types(cx: &mut Context, params: &[hir::TypeVarId], args: &[Type]) {
    let args: Vec<Type> = args.iter().map(|ty| types::resolve(cx, ty)).collect();
    for (param, arg) in params.iter().zip(args) {
        cx.environment.bind_type(*param, arg);
    }
}

fn result_of(cx: &Context, ty: &Type) -> Value {
    value::zero(cx, &types::resolve(cx, ty))
}

/// Calls a method of an extern object.
pub fn method(
    cx: &mut Context,
    receiver: &hir::Expr,
    extern_type: hir::ExternId,
    method: usize,
    call: &Call,
    span: Span,
) -> Value {
    let hir = cx.hir;
    let declaration = &hir.externs[extern_type.index()];
    let Some(method) = declaration.methods.get(method) else {
        return Value::Void;
    };
    let Value::Object(id) = expression::expression(cx, receiver) else {
        cx.error(codes::UNSUPPORTED_EXPRESSION, receiver.span, "this is no extern object");
        return Value::Void;
    };
    bind_types(cx, &method.type_params, &call.type_args);
    if matches!(cx.object(id), Object::OfTarget) {
        let architecture = cx.program.architecture.name();
        let message = format!(
            "the methods of `{}` are for another target of {architecture} and cannot be executed",
            declaration.name
        );
        cx.error(codes::UNSUPPORTED_EXTERN, span, message);
        return result_of(cx, &method.result);
    }
    if matches!(cx.object(id), Object::Unsupported)
        || !signature::require(cx, Signature::of_method(declaration, method), span)
    {
        return result_of(cx, &method.result);
    }
    let bodies: &[BodyKind] = match cx.object(id) {
        Object::PacketIn => &[BodyKind::Parser],
        Object::PacketOut => &[BodyKind::Deparser],
        _ => &[
            BodyKind::Parser,
            BodyKind::Control,
            BodyKind::Deparser,
            BodyKind::Action,
        ],
    };
    if !require_body(cx, bodies, &method.name, span) {
        return result_of(cx, &method.result);
    }
    match (cx.object(id), method.name.as_str()) {
        (Object::PacketIn, "extract") => {
            packet::extract(cx, &method.params, &call.args, span);
            return Value::Void;
        }
        (Object::PacketIn, "lookahead") => return packet::lookahead(cx, call, span),
        (Object::PacketIn, "length") => return packet::length(cx),
        _ => {}
    }
    let args = Args::evaluate(cx, &method.params, call);
    dispatch(cx, id, &method.name, &args, span).unwrap_or_else(|| result_of(cx, &method.result))
}

/// Methods whose arguments need no special treatment. `None` when the result is `void` or unknown.
fn dispatch(cx: &mut Context, id: ObjectId, method: &str, args: &Args, span: Span) -> Option<Value> {
    match (cx.object(id).clone(), method) {
        (Object::PacketIn, "advance") => packet::advance(cx, args),
        (Object::PacketOut, "emit") => packet::emit(cx, args),
        (Object::Counter(counter), "count") => state::count(cx, counter, args),
        // A direct counter counts every hit of its table.
        (Object::DirectCounter(_), "count") => {}
        (Object::Meter(meter), "execute_meter") => state::execute_meter(cx, meter, args),
        (Object::DirectMeter(_, slot), "read") => state::read_direct_meter(cx, slot, args),
        (Object::Register(register, element), "read") if args.count() == 1 => {
            return Some(portable::read_register(cx, register, &element, args));
        }
        (Object::Register(register, element), "read") => state::read_register(cx, register, &element, args),
        (Object::Register(register, _), "write") => state::write_register(cx, register, args),
        (Object::Checksum16, "get") => return Some(checksum::checksum16(cx, args)),
        (Object::Meter(meter), "execute") => return Some(portable::execute_meter(cx, meter, args, args.count())),
        (Object::DirectMeter(_, slot), "execute") => {
            return Some(portable::execute_direct_meter(cx, slot, args, args.count()));
        }
        // The last argument is a length; the packet's own length counts.
        (Object::Meter(meter), "dpdk_execute") => {
            return Some(portable::execute_meter(cx, meter, args, args.count() - 1));
        }
        (Object::DirectMeter(_, slot), "dpdk_execute") => {
            return Some(portable::execute_direct_meter(cx, slot, args, args.count() - 1));
        }
        (Object::Hash(algorithm, ty), "get_hash") => return Some(portable::get_hash(cx, algorithm, &ty, args)),
        (Object::Checksum(algorithm, _, sum), "update") => portable::update(cx, algorithm, sum, args),
        (Object::Checksum(_, _, sum), "clear") => portable::clear(cx, sum),
        (Object::Checksum(algorithm, ty, sum), "get") => return Some(portable::get(cx, algorithm, &ty, sum)),
        (Object::InternetChecksum(sum), method) => return portable::internet_method(cx, sum, method, args),
        (Object::Random { low, high, width }, "read") => return Some(portable::read_random(cx, low, high, width)),
        (Object::NumberPool { ring, counts, digest }, "claim") => {
            return Some(pool::claim(cx, (ring, counts, digest), args));
        }
        (Object::Quota { taken, digest }, "take") => return Some(pool::take(cx, (taken, digest), args)),
        (Object::Digest(digest), "pack") => portable::pack(cx, digest, args),
        _ => {
            let message = format!("the method `{method}` of this object cannot be executed");
            cx.error(codes::UNSUPPORTED_EXTERN, span, message);
        }
    }
    None
}

/// Whether a call is in a body of one of these kinds; an error otherwise.
fn require_body(cx: &mut Context, kinds: &[BodyKind], what: &str, span: Span) -> bool {
    let fits = kinds.contains(&cx.body.kind());
    if !fits && !cx.aborted {
        let place = match cx.body.kind() {
            BodyKind::Parser => "a parser",
            BodyKind::Control => "a control",
            BodyKind::Deparser => "the deparser",
            BodyKind::Action => "an action that a table invokes",
        };
        cx.error(
            codes::MISPLACED_CALL,
            span,
            format!("`{what}` cannot be called in {place}"),
        );
    }
    fits
}

/// Makes an operation put its result of `width` bits into `place`: directly if it is one slot.
fn receive(cx: &mut Context, place: Option<&Place>, ty: &Type, op: impl FnOnce(SlotId) -> Op) {
    let width = types::scalar(cx, ty).map_or(32, |scalar| scalar.width);
    match place.and_then(Place::as_storage) {
        Some(Storage::Scalar(slot)) => graph::emit(cx, op(*slot)),
        _ => {
            let slot = storage::temporary(cx, width);
            graph::emit(cx, op(slot));
            if let Some(place) = place {
                assign::write(cx, place, Value::Scalar(Expr::Slot(slot)));
            }
        }
    }
}
