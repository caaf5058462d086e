//! `packet_in`, `packet_out` and `verify` of the core library (§13.7, §13.8, §16).

use super::Args;
use crate::binding;
use crate::call;
use crate::context::Context;
use crate::graph;
use crate::limits;
use crate::place::{self, Choice, Place};
use crate::stack;
use crate::storage::{self, Storage};
use crate::types;
use crate::value::Value;
use crate::wire;
use forebay_check::hir::{self, Argument, Call, ExprKind, Param, Type};
use forebay_ir::{Expr, HeaderId, Op, Role, Terminator};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;

/// `verify(condition, error)`: reject with the error unless the condition holds.
pub fn verify(cx: &mut Context, args: &Args) {
    let condition = args.scalar(cx, 0);
    let error = args.scalar(cx, 1);
    let good = graph::new_block(cx);
    let bad = graph::new_block(cx);
    graph::branch(cx, condition, good, bad);
    graph::start(cx, bad);
    graph::terminate(cx, Terminator::Reject(error));
    graph::start(cx, good);
}

/// `extract(header)` and `extract(header, bits)`.
pub fn extract(cx: &mut Context, params: &[Param], args: &[Argument], span: Span) {
    if let Some(Argument::Value(header)) = args.first() {
        let stack = stack_of_next(cx, header);
        let place = place::place(cx, header);
        let varbit_bits = varbit_bits(cx, params, args);
        extract_into(cx, &place, varbit_bits, span);
        if let Some(stack) = stack {
            stack::advance(cx, &stack);
        }
        return;
    }
    skip(cx, params, args, span);
}

/// `extract(_)`: the header's bits are read and discarded.
fn skip(cx: &mut Context, params: &[Param], args: &[Argument], span: Span) {
    let varbit_bits = varbit_bits(cx, params, args);
    let Some(param) = params.first() else { return };
    let ty = types::resolve(cx, &cx.hir.vars[param.var.index()].ty);
    let name = format!("{}.$skipped{}", cx.body.scope(), cx.program.slots.len());
    let storage = storage::local(cx, &ty, &name, span);
    match storage {
        Storage::Header { header, .. } => emit_extract(cx, header, varbit_bits, span),
        _ => cx.error(codes::NOT_A_HEADER, span, "only a header can be extracted"),
    }
}

/// Appends an extraction. It has the length of a varbit field if and only if the header has such a field.
fn emit_extract(cx: &mut Context, header: HeaderId, varbit_bits: Option<Expr>, span: Span) {
    let has_varbit = cx.program.headers[header.index()]
        .fields
        .iter()
        .any(|field| field.length.is_some());
    match (has_varbit, varbit_bits.is_some()) {
        (true, false) => cx.error(
            codes::NOT_A_HEADER,
            span,
            "this header has a varbit field, whose length is missing",
        ),
        (false, true) => cx.error(codes::NOT_A_HEADER, span, "this header has no varbit field"),
        _ => {
            warn_of_bits(cx, header, span);
            graph::emit(cx, Op::Extract { header, varbit_bits });
        }
    }
}

/// Warns of a header whose fields of fixed length do not fill whole bytes, once for each type.
fn warn_of_bits(cx: &mut Context, header: HeaderId, span: Span) {
    let header = &cx.program.headers[header.index()];
    let fixed = header.fields.iter().filter(|field| field.length.is_none());
    let bits: u32 = fixed.map(|field| cx.program.slots[field.slot.index()].width).sum();
    if bits.is_multiple_of(8) {
        return;
    }
    let name = &header.type_name;
    let message = format!("the header `{name}` has {bits} bits, which are not whole bytes");
    let warning = Diagnostic::warning(codes::NOT_WHOLE_BYTES, span, message)
        .cause(format!("{name} has no whole bytes"))
        .hint("look at the widths of its fields: what is extracted after it begins within a byte");
    cx.diagnostics.push(warning);
}

fn varbit_bits(cx: &mut Context, params: &[Param], args: &[Argument]) -> Option<Expr> {
    let (param, arg) = (params.get(1)?, args.get(1)?);
    let args = std::slice::from_ref(arg);
    let evaluated = binding::evaluate(cx, std::slice::from_ref(param), args);
    let args = Args {
        actuals: evaluated,
        exprs: args,
        params: std::slice::from_ref(param),
    };
    Some(args.scalar(cx, 0))
}

/// The stack whose `next` an l-value contains.
fn stack_of_next(cx: &mut Context, expr: &hir::Expr) -> Option<Place> {
    match &expr.kind {
        ExprKind::StackNext(stack) => Some(place::place(cx, stack)),
        ExprKind::Field(base, _) | ExprKind::Index(base, _) => stack_of_next(cx, base),
        _ => None,
    }
}

/// Extracts into the header that the place selects.
fn extract_into(cx: &mut Context, place: &Place, varbit_bits: Option<Expr>, span: Span) {
    let after = graph::new_block(cx);
    for choice in &place.choices {
        let Storage::Header { header, .. } = &choice.storage else {
            cx.error(codes::NOT_A_HEADER, span, "only a header can be extracted");
            return;
        };
        let header = *header;
        if cx.role == Some(Role::Parser) {
            cx.extracted.entry(header).or_insert(span);
        }
        let this = Place {
            choices: vec![Choice {
                guard: None,
                ..choice.clone()
            }],
            part: None,
        };
        match &choice.guard {
            Some(guard) => {
                let here = graph::new_block(cx);
                let next = graph::new_block(cx);
                graph::branch(cx, guard.clone(), here, next);
                graph::start(cx, here);
                emit_extract(cx, header, varbit_bits.clone(), span);
                call::invalidate_siblings(cx, &this);
                graph::jump(cx, after);
                graph::start(cx, next);
            }
            None => {
                emit_extract(cx, header, varbit_bits.clone(), span);
                call::invalidate_siblings(cx, &this);
            }
        }
    }
    graph::jump(cx, after);
    graph::start(cx, after);
}

/// `lookahead<T>()`
pub fn lookahead(cx: &mut Context, call: &Call, span: Span) -> Value {
    let ty = call
        .type_args
        .first()
        .map_or(Type::Unknown, |ty| types::resolve(cx, ty));
    let width = wire::bit_width(cx, &ty).unwrap_or(0);
    if width == 0 || width > u64::from(limits::MAX_WIDTH) {
        if !cx.aborted {
            cx.error(
                codes::UNSUPPORTED_TYPE,
                span,
                "this type has no fixed number of bits that could be looked at",
            );
        }
        return crate::value::zero(cx, &ty);
    }
    let slot = storage::temporary(cx, width as u32);
    graph::emit(cx, Op::Lookahead { slot });
    wire::from_bits(cx, &ty, &Expr::Slot(slot), width as u32)
}

/// `advance(bits)`
pub fn advance(cx: &mut Context, args: &Args) {
    let bits = args.scalar(cx, 0);
    graph::emit(cx, Op::Advance { bits });
}

/// `length()`
pub fn length(cx: &mut Context) -> Value {
    let slot = storage::temporary(cx, 32);
    graph::emit(cx, Op::PacketLength { slot });
    Value::Scalar(Expr::Slot(slot))
}

/// `emit(value)`: every header inside, in order, if it is valid.
pub fn emit(cx: &mut Context, args: &Args) {
    match args.place(0).cloned() {
        Some(place) => emit_place(cx, &place, args.span(0)),
        None => {
            let ty = types::resolve(cx, &args.ty(0));
            let name = format!("{}.$emitted{}", cx.body.scope(), cx.program.slots.len());
            let storage = storage::local(cx, &ty, &name, args.span(0));
            let value = args.value(cx, 0);
            crate::assign::write_whole(cx, &storage, value);
            emit_headers(cx, &storage.headers(), args.span(0));
        }
    }
}

fn emit_place(cx: &mut Context, place: &Place, span: Span) {
    for choice in &place.choices {
        let headers = choice.storage.headers();
        match &choice.guard {
            Some(guard) => graph::when(cx, guard.clone(), |cx| emit_headers(cx, &headers, span)),
            None => emit_headers(cx, &headers, span),
        }
    }
}

fn emit_headers(cx: &mut Context, headers: &[HeaderId], span: Span) {
    for header in headers {
        if cx.role == Some(Role::Deparser) {
            cx.emitted.push((*header, span));
        }
        graph::emit(cx, Op::Emit { header: *header });
    }
}
