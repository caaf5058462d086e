//! Values during lowering: trees with the shape of their type and IR expressions at the leaves.

use crate::build;
use crate::context::Context;
use crate::limits;
use crate::object::ObjectId;
use crate::types;
use forebay_check::hir::Type;
use forebay_ir::{Expr, SlotId};
use forebay_syntax::ast::CompositeKind;
use num_bigint::BigInt;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `bit`, `int<W>`, `bool`, `error`, enums and new types over them.
    Scalar(Expr),
    /// `int`
    Integer(BigInt),
    /// `string`
    Text(String),
    /// `varbit`: the bits, right-aligned, and their number (width 32).
    Varbit {
        /// Bits.
        value: Expr,
        /// The number of bits.
        length: Expr,
    },
    /// A header.
    Header {
        /// Validity.
        valid: Expr,
        /// Fields in order.
        fields: Vec<Value>,
    },
    /// A struct, tuple, list or array.
    Group(Vec<Value>),
    /// A header union: its members, of which at most one is valid.
    Union(Vec<Value>),
    /// A header stack.
    Stack {
        /// Elements.
        elements: Vec<Value>,
        /// `nextIndex` (width 32).
        next_index: Expr,
    },
    /// An extern, parser, control or package.
    Object(ObjectId),
    /// Nothing: the result of a `void` call.
    Void,
}

impl Value {
    /// A truth value.
    pub fn boolean(value: bool) -> Value {
        Value::Scalar(build::boolean(value))
    }

    /// The components of a header, group, union or stack.
    pub fn components(&self) -> &[Value] {
        match self {
            Value::Header { fields, .. } => fields,
            Value::Group(values) | Value::Union(values) | Value::Stack { elements: values, .. } => values,
            _ => &[],
        }
    }

    /// The expression of a scalar; `None` for everything else.
    pub fn expr(self) -> Option<Expr> {
        match self {
            Value::Scalar(expr) => Some(expr),
            _ => None,
        }
    }

    /// The value with every leaf replaced. Validity bits and lengths are leaves, too.
    pub fn map(self, change: &mut dyn FnMut(Expr) -> Expr) -> Value {
        let all = |values: Vec<Value>, change: &mut dyn FnMut(Expr) -> Expr| {
            values.into_iter().map(|value| value.map(change)).collect::<Vec<_>>()
        };
        match self {
            Value::Scalar(expr) => Value::Scalar(change(expr)),
            Value::Varbit { value, length } => Value::Varbit {
                value: change(value),
                length: change(length),
            },
            Value::Header { valid, fields } => {
                let valid = change(valid);
                Value::Header {
                    valid,
                    fields: all(fields, change),
                }
            }
            Value::Group(values) => Value::Group(all(values, change)),
            Value::Union(values) => Value::Union(all(values, change)),
            Value::Stack { elements, next_index } => {
                let elements = all(elements, change);
                Value::Stack {
                    elements,
                    next_index: change(next_index),
                }
            }
            other @ (Value::Integer(_) | Value::Text(_) | Value::Object(_) | Value::Void) => other,
        }
    }

    /// Calls `visit` with every leaf.
    pub fn visit(&self, visit: &mut dyn FnMut(&Expr)) {
        match self {
            Value::Scalar(expr) => visit(expr),
            Value::Varbit { value, length } => {
                visit(value);
                visit(length);
            }
            Value::Header { valid, .. } => visit(valid),
            Value::Stack { next_index, .. } => visit(next_index),
            Value::Group(_) | Value::Union(_) => {}
            Value::Integer(_) | Value::Text(_) | Value::Object(_) | Value::Void => {}
        }
        for component in self.components() {
            component.visit(visit);
        }
    }

    /// The scalars of the value from left to right, headers by their fields. Varbits give their bits.
    pub fn scalars(&self) -> Vec<Expr> {
        let mut scalars = Vec::new();
        self.collect_scalars(&mut scalars);
        scalars
    }

    fn collect_scalars(&self, into: &mut Vec<Expr>) {
        match self {
            Value::Scalar(expr) => into.push(expr.clone()),
            Value::Varbit { value, .. } => into.push(value.clone()),
            _ => self
                .components()
                .iter()
                .for_each(|component| component.collect_scalars(into)),
        }
    }
}

/// `condition ? then_value : else_value` for values of one type.
pub fn mux(condition: &Expr, then_value: Value, else_value: Value) -> Value {
    let each = |left: Vec<Value>, right: Vec<Value>| {
        left.into_iter()
            .zip(right)
            .map(|(left, right)| mux(condition, left, right))
            .collect::<Vec<_>>()
    };
    let choose = |left, right| build::mux(condition.clone(), left, right);
    match (then_value, else_value) {
        (Value::Scalar(left), Value::Scalar(right)) => Value::Scalar(choose(left, right)),
        (
            Value::Varbit { value, length },
            Value::Varbit {
                value: other,
                length: other_length,
            },
        ) => Value::Varbit {
            value: choose(value, other),
            length: choose(length, other_length),
        },
        (
            Value::Header { valid, fields },
            Value::Header {
                valid: other,
                fields: other_fields,
            },
        ) => Value::Header {
            valid: choose(valid, other),
            fields: each(fields, other_fields),
        },
        (Value::Group(left), Value::Group(right)) => Value::Group(each(left, right)),
        (Value::Union(left), Value::Union(right)) => Value::Union(each(left, right)),
        (
            Value::Stack { elements, next_index },
            Value::Stack {
                elements: others,
                next_index: other,
            },
        ) => Value::Stack {
            elements: each(elements, others),
            next_index: choose(next_index, other),
        },
        (then_value, _) => then_value,
    }
}

/// The default value of a resolved type: zero, false, invalid, `NoError`, the first member. A type that is too large
/// to store has none; code that stores the value reports that.
pub fn zero(cx: &Context, ty: &Type) -> Value {
    if types::leaf_count(cx, ty) > limits::MAX_SLOTS as u64 {
        Value::Void
    } else {
        zero_of(cx, ty)
    }
}

fn zero_of(cx: &Context, ty: &Type) -> Value {
    if let Some(scalar) = types::scalar(cx, ty) {
        return Value::Scalar(build::constant(scalar.width, 0));
    }
    match ty {
        Type::Int => Value::Integer(BigInt::ZERO),
        Type::String => Value::Text(String::new()),
        Type::Varbit(width) => Value::Varbit {
            value: build::constant(limits::varbit_width(*width), 0),
            length: build::constant(32, 0),
        },
        Type::Composite(id, args) => {
            let fields = types::fields(cx, *id, args);
            let values = fields.iter().map(|(_, ty)| zero_of(cx, ty)).collect();
            match cx.hir.composites[id.index()].kind {
                CompositeKind::Struct => Value::Group(values),
                CompositeKind::Header => Value::Header {
                    valid: build::boolean(false),
                    fields: values,
                },
                CompositeKind::HeaderUnion => Value::Union(values),
            }
        }
        Type::Stack(element, size) => {
            let elements = vec![zero_of(cx, element); *size as usize];
            if types::is_stack_element(cx, element) {
                Value::Stack {
                    elements,
                    next_index: build::constant(32, 0),
                }
            } else {
                Value::Group(elements)
            }
        }
        Type::Tuple(elements) => Value::Group(elements.iter().map(|ty| zero_of(cx, ty)).collect()),
        Type::Record(fields) => Value::Group(fields.iter().map(|(_, ty)| zero_of(cx, ty)).collect()),
        _ => Value::Void,
    }
}

/// Whether the expression reads a slot for which `is_read` is true.
pub fn reads(expr: &Expr, is_read: &dyn Fn(SlotId) -> bool) -> bool {
    match expr {
        Expr::Slot(slot) => is_read(*slot),
        Expr::Const(_) | Expr::Param { .. } => false,
        Expr::Unary(_, operand) | Expr::Slice { operand, .. } => reads(operand, is_read),
        Expr::ZeroExtend(_, operand) | Expr::SignExtend(_, operand) | Expr::Truncate(_, operand) => {
            reads(operand, is_read)
        }
        Expr::Binary(_, left, right) | Expr::Concat(left, right) => reads(left, is_read) || reads(right, is_read),
        Expr::Mux {
            condition,
            then_value,
            else_value,
        } => reads(condition, is_read) || reads(then_value, is_read) || reads(else_value, is_read),
    }
}
