//! Digests, log messages, assertions.

use super::Args;
use crate::context::Context;
use crate::graph;
use crate::names;
use crate::types;
use crate::value::Value;
use forebay_check::hir::{Call, Type};
use forebay_ir::{Digest, DigestId, Expr, Op, Recipient};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;

/// `digest(receiver, data)`
pub fn digest(cx: &mut Context, args: &Args, call: &Call) {
    let receiver = match args.scalar(cx, 0) {
        Expr::Const(bits) => bits.to_u64_saturating() as u32,
        _ => 0,
    };
    let data = args.value(cx, 1);
    let data = data.scalars();
    let ty = call.type_args.first().cloned().unwrap_or_else(|| args.ty(1));
    let ty = types::resolve(cx, &ty);
    let name = crate::p4info::type_name(cx.hir, &ty).unwrap_or_else(|| name_of_call(cx, call, &ty));
    let mut field_names = Vec::new();
    leaf_names(cx, &ty, String::new(), &mut field_names);
    let fields = field_names
        .into_iter()
        .zip(&data)
        .map(|(name, expr)| (name, expr.width(&cx.program)))
        .collect();
    let digest = declare(
        cx,
        Digest {
            name,
            receiver,
            fields,
            to: Recipient::Controller,
        },
    );
    graph::emit(cx, Op::Digest { digest, data });
}

/// Declares a digest with its own name; `None` when its data has no fields of fixed width.
pub fn declare_named(cx: &mut Context, name: String, ty: &Type) -> Option<DigestId> {
    let mut leaves = Vec::new();
    typed_leaves(cx, ty, String::new(), &mut leaves)?;
    let fields = leaves;
    Some(declare(
        cx,
        Digest {
            name,
            receiver: 0,
            fields,
            to: Recipient::Controller,
        },
    ))
}

/// Names and widths of the scalars of a type, in the order of their values.
fn typed_leaves(cx: &Context, ty: &Type, name: String, leaves: &mut Vec<(String, u32)>) -> Option<()> {
    match ty {
        Type::Composite(id, args) => types::fields(cx, *id, args)
            .into_iter()
            .try_for_each(|(field, ty)| typed_leaves(cx, &ty, names::join(&name, &field), leaves)),
        Type::Record(fields) => fields
            .iter()
            .try_for_each(|(field, ty)| typed_leaves(cx, ty, names::join(&name, field), leaves)),
        Type::Tuple(elements) => (0..).zip(elements.iter()).try_for_each(|(index, ty): (usize, _)| {
            typed_leaves(cx, ty, names::join(&name, &index.to_string()), leaves)
        }),
        Type::Stack(element, size) => {
            (0..*size).try_for_each(|index| typed_leaves(cx, element, format!("{name}[{index}]"), leaves))
        }
        _ => {
            leaves.push((name, types::scalar(cx, ty)?.width));
            Some(())
        }
    }
}

/// The name in P4Info of a digest whose data has an unnamed type.
fn name_of_call(cx: &mut Context, call: &Call, ty: &Type) -> String {
    let hir = cx.hir;
    let names = cx.digest_names.get_or_insert_with(|| crate::p4info::digest_names(hir));
    let name = names.get(&(std::ptr::from_ref(call), ty.clone())).cloned();
    name.unwrap_or_else(|| automatic_name(cx))
}

/// A name for a digest that P4Info does not have.
fn automatic_name(cx: &Context) -> String {
    let unnamed = cx
        .program
        .digests
        .iter()
        .filter(|digest| digest.name.starts_with(AUTOMATIC_PREFIX));
    format!("{AUTOMATIC_PREFIX}{}", unnamed.count())
}

const AUTOMATIC_PREFIX: &str = "$digest_";

/// The number of a digest, which is declared if necessary.
pub fn declare(cx: &mut Context, digest: Digest) -> DigestId {
    let known = cx.program.digests.iter().position(|known| *known == digest);
    let index = known.unwrap_or_else(|| {
        cx.program.digests.push(digest);
        cx.program.digests.len() - 1
    });
    DigestId(index as u32)
}

/// Names of the scalars of a type, in the order of their values.
fn leaf_names(cx: &Context, ty: &Type, name: String, names: &mut Vec<String>) {
    match ty {
        Type::Composite(id, args) => {
            for (field, ty) in types::fields(cx, *id, args) {
                leaf_names(cx, &ty, names::join(&name, &field), names);
            }
        }
        Type::Record(fields) => {
            for (field, ty) in fields.iter() {
                leaf_names(cx, ty, names::join(&name, field), names);
            }
        }
        Type::Tuple(elements) => {
            for (index, ty) in elements.iter().enumerate() {
                leaf_names(cx, ty, names::join(&name, &index.to_string()), names);
            }
        }
        Type::Stack(element, size) => {
            for index in 0..*size {
                leaf_names(cx, element, format!("{name}[{index}]"), names);
            }
        }
        _ => names.push(name),
    }
}

/// `log_msg(format)`, `log_msg(format, data)`
pub fn log(cx: &mut Context, args: &Args) {
    let Value::Text(format) = args.value(cx, 0) else { return };
    let values = args.value(cx, 1).scalars();
    let places = format.matches("{}").count();
    if places != values.len() {
        let message = format!(
            "values for the message: {}; places `{{}}` in its text: {places}",
            values.len()
        );
        let warning = Diagnostic::warning(codes::LOG_VALUES, args.span(0), message);
        cx.diagnostics
            .push(warning.hint("write one for each value: `log_msg(\"{} {}\", { a, b });`"));
    }
    graph::emit(cx, Op::LogMessage { format, args: values });
}

/// `assert(condition)`, `assume(condition)`
pub fn assertion(cx: &mut Context, args: &Args, is_assumption: bool) {
    let condition = args.scalar(cx, 0);
    let text = cx.sources.text(args.span(0)).to_string();
    let op = if is_assumption {
        Op::Assume { condition, text }
    } else {
        Op::Assert { condition, text }
    };
    graph::emit(cx, op);
}
