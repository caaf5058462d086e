//! `select` (§13.6) and value sets (§13.11).
//!
//! Keys that are structs or tuples become one key for each of their scalars; so do their keysets. A range over a signed
//! key that crosses zero becomes two cases, since the IR's ranges are unsigned.

use crate::build;
use crate::context::Context;
use crate::expression;
use crate::graph;
use crate::limits;
use crate::names;
use crate::operator;
use crate::table;
use crate::types;
use crate::value::Value;
use forebay_bits::Bits;
use forebay_check::annotations;
use forebay_check::hir::{self, StateTarget, Type};
use forebay_ir::{self as ir, BlockId, Expr, KeySet, MatchKind, SelectCase, Terminator, ValueSetComponent};
use forebay_syntax::ast::{AnnotationBody, BinaryOp};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::source::Span;
use std::cmp::Ordering;

/// The keys of a select, flattened: the columns that every case fills.
struct Columns {
    keys: Vec<Expr>,
    /// For each key of the source: its first column, its number of columns, and whether it is signed.
    spans: Vec<(usize, usize, bool)>,
}

/// Ends the current block with a select.
pub fn select(
    cx: &mut Context,
    keys: &[hir::Expr],
    cases: &[(Vec<hir::KeySet>, StateTarget, Span)],
    target: &dyn Fn(&StateTarget) -> BlockId,
    default: BlockId,
) {
    let mut columns = columns(cx, keys);
    let declared = columns.keys.len();
    let mut rows: Vec<(Vec<KeySet>, BlockId)> = Vec::new();
    for (keysets, state, span) in cases {
        let mut alternatives = vec![Vec::new()];
        let mut conditions = Vec::new();
        for (index, keyset) in keysets.iter().enumerate() {
            let sets = keyset_columns(cx, &columns, index, keyset, *span, &mut conditions);
            if alternatives.len() * sets.len() > limits::MAX_ALTERNATIVES {
                cx.abort(
                    codes::TOO_MANY_ALTERNATIVES,
                    *span,
                    "this case has too many signed ranges".to_string(),
                );
                return;
            }
            alternatives = alternatives
                .into_iter()
                .flat_map(|row: Vec<KeySet>| {
                    sets.iter()
                        .map(move |set| row.iter().chain(set).cloned().collect::<Vec<_>>())
                        .collect::<Vec<_>>()
                })
                .collect();
        }
        for mut row in alternatives {
            row.resize(declared, KeySet::Any);
            row.extend(std::iter::repeat_n(KeySet::Any, columns.keys.len() - declared));
            row.extend(conditions.iter().map(|_| KeySet::Exact(Bits::from_bool(true))));
            rows.push((row, target(state)));
        }
        columns.keys.extend(conditions);
    }
    let width = columns.keys.len();
    let catch_all = rows
        .iter()
        .position(|(row, _)| row.iter().all(|set| matches!(set, KeySet::Any)));
    let mut default = default;
    if let Some(index) = catch_all {
        default = rows[index].1;
        rows.truncate(index);
    }
    if rows.is_empty() {
        return graph::jump(cx, default);
    }
    let cases = rows.into_iter().map(|(mut keysets, target)| {
        keysets.resize(width, KeySet::Any);
        SelectCase { keysets, target }
    });
    let cases = cases.collect();
    graph::terminate(
        cx,
        Terminator::Select {
            keys: columns.keys,
            cases,
            default,
        },
    );
}

fn columns(cx: &mut Context, keys: &[hir::Expr]) -> Columns {
    let values = key_values(cx, keys);
    let mut columns = Columns {
        keys: Vec::new(),
        spans: Vec::new(),
    };
    for (key, value) in keys.iter().zip(values) {
        let scalars = value.scalars();
        let signed = types::is_signed(cx, &key.ty);
        columns.spans.push((columns.keys.len(), scalars.len(), signed));
        columns.keys.extend(scalars);
    }
    columns
}

/// The values of keys from left to right. The parts of a tuple are keys of their own; a call that computes it is made once.
fn key_values(cx: &mut Context, keys: &[hir::Expr]) -> Vec<Value> {
    let mut values = Vec::new();
    let mut computed: Option<(Span, Value)> = None;
    for (index, key) in keys.iter().enumerate() {
        let value = match &key.kind {
            hir::ExprKind::TupleElement(base, part) if base.span == key.span && expression::has_effects(base) => {
                let whole = match computed.take() {
                    Some((span, whole)) if span == base.span && *part > 0 => whole,
                    _ => {
                        let whole = expression::expression(cx, base);
                        graph::save(cx, whole)
                    }
                };
                let value = whole.components().get(*part).cloned().unwrap_or(Value::Void);
                computed = Some((base.span, whole));
                value
            }
            _ => expression::expression(cx, key),
        };
        let disturbed = keys[index + 1..].iter().any(expression::has_effects);
        values.push(if disturbed { graph::save(cx, value) } else { value });
    }
    values
}

/// The alternatives of a keyset for its key's columns, each with a set for each column. A condition that no keyset of
/// the IR can express is added to `conditions` instead.
fn keyset_columns(
    cx: &mut Context,
    columns: &Columns,
    index: usize,
    keyset: &hir::KeySet,
    span: Span,
    conditions: &mut Vec<Expr>,
) -> Vec<Vec<KeySet>> {
    let Some((first, count, signed)) = columns.spans.get(index).copied() else {
        return vec![Vec::new()];
    };
    match keyset {
        hir::KeySet::Any => vec![vec![KeySet::Any; count]],
        hir::KeySet::Value(value) => vec![scalars(cx, value).into_iter().map(equals).collect()],
        hir::KeySet::Mask(value, mask) => {
            let pairs = scalars(cx, value).into_iter().zip(scalars(cx, mask));
            vec![pairs.map(|(value, mask)| equals_masked(value, mask)).collect()]
        }
        hir::KeySet::Range(low, high) => {
            let low = expression::scalar(cx, low);
            let high = expression::scalar(cx, high);
            match (low, high) {
                (Expr::Const(low), Expr::Const(high)) => ranges(low, high, signed),
                (low, high) => {
                    let key = Value::Scalar(columns.keys[first].clone());
                    let above = operator::apply(cx, BinaryOp::Ge, key.clone(), Value::Scalar(low), signed, span);
                    let below = operator::apply(cx, BinaryOp::Le, key, Value::Scalar(high), signed, span);
                    let both = above
                        .expr()
                        .zip(below.expr())
                        .map(|(above, below)| build::and(above, below));
                    conditions.extend(both);
                    vec![vec![KeySet::Any]]
                }
            }
        }
        hir::KeySet::ValueSet(set) => match cx.environment.value_set(*set) {
            Some(set) => {
                let component = |column| KeySet::ValueSet {
                    set,
                    component: column as u32,
                };
                vec![(first..first + count).map(component).collect()]
            }
            None => vec![vec![KeySet::Any; count]],
        },
    }
}

fn scalars(cx: &mut Context, expr: &hir::Expr) -> Vec<Expr> {
    expression::expression(cx, expr).scalars()
}

fn equals(value: Expr) -> KeySet {
    match value {
        Expr::Const(value) => KeySet::Exact(value),
        value => KeySet::Equals(value),
    }
}

fn equals_masked(value: Expr, mask: Expr) -> KeySet {
    match (value, mask) {
        (Expr::Const(value), Expr::Const(mask)) => KeySet::Mask {
            value: value.and(&mask),
            mask,
        },
        (value, mask) => KeySet::EqualsMasked { value, mask },
    }
}

/// A constant range as unsigned ranges.
fn ranges(low: Bits, high: Bits, signed: bool) -> Vec<Vec<KeySet>> {
    let range = |low, high| vec![KeySet::Range { low, high }];
    if !signed || low.is_negative() == high.is_negative() {
        return vec![range(low, high)];
    }
    if low.cmp_signed(&high) == Ordering::Greater {
        return Vec::new();
    }
    let width = low.width();
    vec![range(low, Bits::ones(width)), range(Bits::zero(width), high)]
}

/// Makes the value set of a parser instance.
pub fn declare_value_set(cx: &mut Context, id: hir::ValueSetId, scope: &str) -> ir::ValueSetId {
    let declaration = &cx.hir.value_sets[id.index()];
    let name = names::control_plane_name(scope, &declaration.name, &declaration.annotations);
    names::declare(cx, "value sets", &name, declaration.span);
    let size = table::constant_size(cx, &declaration.size);
    let element = types::resolve(cx, &declaration.element);
    let mut components = Vec::new();
    value_set_components(
        cx,
        &element,
        String::new(),
        MatchKind::Exact,
        declaration.span,
        &mut components,
    );
    let lowered = ir::ValueSetId(cx.program.value_sets.len() as u32);
    cx.program.value_sets.push(ir::ValueSet { name, size, components });
    lowered
}

fn value_set_components(
    cx: &mut Context,
    ty: &Type,
    name: String,
    match_kind: MatchKind,
    span: Span,
    components: &mut Vec<ValueSetComponent>,
) {
    if let Some(scalar) = types::scalar(cx, ty) {
        components.push(ValueSetComponent {
            name,
            width: scalar.width,
            match_kind,
        });
        return;
    }
    match ty {
        Type::Composite(id, args) => {
            let declared = &cx.hir.composites[id.index()].fields;
            let fields = types::fields(cx, *id, args);
            for (field, (field_name, ty)) in declared.iter().zip(fields) {
                let kind = written_match_kind(cx, field);
                value_set_components(cx, &ty, names::join(&name, &field_name), kind, field.span, components);
            }
        }
        Type::Tuple(elements) => {
            for (index, ty) in elements.iter().enumerate() {
                let name = names::join(&name, &index.to_string());
                value_set_components(cx, ty, name, match_kind, span, components);
            }
        }
        _ => cx.error(
            codes::UNSUPPORTED_TYPE,
            span,
            "a value set cannot have elements of this type",
        ),
    }
}

/// `@match(ternary)` on a field of a value set's element.
fn written_match_kind(cx: &mut Context, field: &hir::Field) -> MatchKind {
    let Some(annotation) = annotations::find(&field.annotations, "match") else {
        return MatchKind::Exact;
    };
    match &annotation.body {
        AnnotationBody::Unstructured(tokens) => match tokens.first() {
            Some(token) => table::match_kind(cx, &token.text, annotation.span),
            None => MatchKind::Exact,
        },
        _ => MatchKind::Exact,
    }
}
