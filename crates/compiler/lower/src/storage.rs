//! Storage: trees with the shape of their type and slots at the leaves.

use crate::build;
use crate::context::Context;
use crate::limits;
use crate::types::{self, Scalar};
use crate::value::Value;
use forebay_check::hir::Type;
use forebay_ir::{Expr, Header, HeaderField, HeaderId, Slot, SlotId, SlotKind};
use forebay_syntax::ast::CompositeKind;
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use std::rc::Rc;

/// Where a variable is stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Storage {
    /// One slot.
    Scalar(SlotId),
    /// A varbit.
    Varbit {
        /// Bits, right-aligned.
        value: SlotId,
        /// How many (width 32).
        length: SlotId,
    },
    /// A header.
    Header {
        /// Its entry in the program.
        header: HeaderId,
        /// Validity.
        valid: SlotId,
        /// Fields.
        fields: Rc<[Storage]>,
    },
    /// A struct, tuple or array.
    Group(Rc<[Storage]>),
    /// A header union.
    Union(Rc<[Storage]>),
    /// A header stack.
    Stack {
        /// Elements.
        elements: Rc<[Storage]>,
        /// `nextIndex`.
        next_index: SlotId,
    },
    /// A type without run-time values.
    Nothing,
}

impl Storage {
    /// The components of a header, group, union or stack.
    pub fn components(&self) -> &[Storage] {
        match self {
            Storage::Header { fields, .. } => fields,
            Storage::Group(parts) | Storage::Union(parts) | Storage::Stack { elements: parts, .. } => parts,
            Storage::Scalar(_) | Storage::Varbit { .. } | Storage::Nothing => &[],
        }
    }

    /// All slots, validity bits and lengths included.
    pub fn slots(&self) -> Vec<SlotId> {
        let mut slots = Vec::new();
        self.collect_slots(&mut slots);
        slots
    }

    fn collect_slots(&self, into: &mut Vec<SlotId>) {
        match self {
            Storage::Scalar(slot) => into.push(*slot),
            Storage::Varbit { value, length } => into.extend([*value, *length]),
            Storage::Header { valid, .. } => into.push(*valid),
            Storage::Stack { next_index, .. } => into.push(*next_index),
            Storage::Group(_) | Storage::Union(_) | Storage::Nothing => {}
        }
        self.components().iter().for_each(|part| part.collect_slots(into));
    }

    /// Every header inside, union members and stack elements included, in order.
    pub fn headers(&self) -> Vec<HeaderId> {
        let mut headers = Vec::new();
        self.collect_headers(&mut headers);
        headers
    }

    fn collect_headers(&self, into: &mut Vec<HeaderId>) {
        match self {
            Storage::Header { header, .. } => into.push(*header),
            _ => self.components().iter().for_each(|part| part.collect_headers(into)),
        }
    }

    /// The slots that determine what exists: validity bits, stacks' `nextIndex`, lengths of varbits outside headers.
    pub fn state_slots(&self) -> Vec<SlotId> {
        let mut slots = Vec::new();
        self.collect_state_slots(&mut slots);
        slots
    }

    fn collect_state_slots(&self, into: &mut Vec<SlotId>) {
        match self {
            Storage::Header { valid, .. } => return into.push(*valid),
            Storage::Varbit { length, .. } => into.push(*length),
            Storage::Stack { next_index, .. } => into.push(*next_index),
            Storage::Scalar(_) | Storage::Group(_) | Storage::Union(_) | Storage::Nothing => {}
        }
        self.components().iter().for_each(|part| part.collect_state_slots(into));
    }

    /// The current value of the storage.
    pub fn read(&self) -> Value {
        let all = |parts: &[Storage]| parts.iter().map(Storage::read).collect();
        match self {
            Storage::Scalar(slot) => Value::Scalar(Expr::Slot(*slot)),
            Storage::Varbit { value, length } => Value::Varbit {
                value: Expr::Slot(*value),
                length: Expr::Slot(*length),
            },
            Storage::Header { valid, fields, .. } => Value::Header {
                valid: Expr::Slot(*valid),
                fields: all(fields),
            },
            Storage::Group(parts) => Value::Group(all(parts)),
            Storage::Union(parts) => Value::Union(all(parts)),
            Storage::Stack { elements, next_index } => Value::Stack {
                elements: all(elements),
                next_index: Expr::Slot(*next_index),
            },
            Storage::Nothing => Value::Void,
        }
    }
}

/// Allocates storage for a variable of a resolved type.
pub fn allocate(cx: &mut Context, ty: &Type, name: &str, kind: SlotKind, span: Span) -> Storage {
    let mut allocation = Allocation {
        kind,
        span,
        header_fields: None,
    };
    allocation.allocate(cx, ty, name)
}

/// Allocates storage for a local variable or temporary.
pub fn local(cx: &mut Context, ty: &Type, name: &str, span: Span) -> Storage {
    allocate(cx, ty, name, SlotKind::Local, span)
}

/// Allocates one slot.
pub fn slot(cx: &mut Context, name: String, scalar: Scalar, kind: SlotKind) -> SlotId {
    let id = SlotId(cx.program.slots.len() as u32);
    cx.program.slots.push(Slot {
        name,
        width: scalar.width,
        signed: scalar.signed,
        kind,
    });
    id
}

/// Allocates one slot for a temporary of lowering.
pub fn temporary(cx: &mut Context, width: u32) -> SlotId {
    let name = format!("{}.$tmp{}", cx.body.scope(), cx.program.slots.len());
    slot(cx, name, Scalar { width, signed: false }, SlotKind::Local)
}

struct Allocation {
    kind: SlotKind,
    span: Span,
    /// Inside a header: the header and its fields so far, with the length of the prefix of their names.
    header_fields: Option<(HeaderId, usize, Vec<HeaderField>)>,
}

impl Allocation {
    fn allocate(&mut self, cx: &mut Context, ty: &Type, name: &str) -> Storage {
        if !limits::check_size(cx, self.span) {
            return Storage::Nothing;
        }
        if let Some(scalar) = types::scalar(cx, ty) {
            return Storage::Scalar(self.field(cx, scalar, name));
        }
        match ty {
            Type::Varbit(width) => self.varbit(cx, *width, name),
            Type::Composite(id, args) => {
                let kind = cx.hir.composites[id.index()].kind;
                let fields = types::fields(cx, *id, args);
                match kind {
                    CompositeKind::Header => {
                        let type_name = cx.hir.composites[id.index()].name.clone();
                        self.header(cx, &fields, name, type_name)
                    }
                    CompositeKind::Struct => Storage::Group(self.parts(cx, &fields, name)),
                    CompositeKind::HeaderUnion => Storage::Union(self.parts(cx, &fields, name)),
                }
            }
            Type::Record(fields) => Storage::Group(self.parts(cx, fields, name)),
            Type::Tuple(elements) => Storage::Group(
                elements
                    .iter()
                    .enumerate()
                    .map(|(i, ty)| self.allocate(cx, ty, &format!("{name}.{i}")))
                    .collect(),
            ),
            Type::Stack(element, size) => self.stack(cx, element, *size, name),
            Type::Int | Type::List(_) | Type::Set(_) => {
                cx.error(
                    codes::UNSUPPORTED_TYPE,
                    self.span,
                    format!("`{name}` has a type that has no run-time values"),
                );
                Storage::Nothing
            }
            _ => Storage::Nothing,
        }
    }

    fn parts(&mut self, cx: &mut Context, fields: &[(String, Type)], name: &str) -> Rc<[Storage]> {
        fields
            .iter()
            .map(|(field, ty)| self.allocate(cx, ty, &format!("{name}.{field}")))
            .collect()
    }

    /// Allocates one slot; inside a header it becomes one of the header's fields.
    fn field(&mut self, cx: &mut Context, scalar: Scalar, name: &str) -> SlotId {
        if scalar.width > limits::MAX_WIDTH {
            cx.error(
                codes::UNSUPPORTED_TYPE,
                self.span,
                format!("`{name}` is wider than {} bits", limits::MAX_WIDTH),
            );
        }
        match &mut self.header_fields {
            Some((header, prefix, fields)) => {
                let id = slot(cx, name.to_string(), scalar, SlotKind::Field(*header));
                fields.push(HeaderField {
                    name: name[*prefix..].to_string(),
                    slot: id,
                    length: None,
                });
                id
            }
            None => slot(cx, name.to_string(), scalar, self.kind),
        }
    }

    fn varbit(&mut self, cx: &mut Context, width: u32, name: &str) -> Storage {
        let earlier = self.header_fields.iter().flat_map(|(_, _, fields)| fields);
        if earlier.filter(|field| field.length.is_some()).count() == 1 {
            let message = format!("`{name}` is the second field of variable length in its header, which can have one");
            let error = Diagnostic::error(codes::UNSUPPORTED_TYPE, self.span, message);
            cx.diagnostics
                .push(error.hint("extract() takes one length: split the header in two"));
        }
        let declared = width;
        let width = limits::varbit_width(declared);
        if width < declared {
            self.warn_of_room(cx, declared, name);
        }
        let value = self.field(cx, Scalar { width, signed: false }, name);
        let kind = match &self.header_fields {
            Some((header, ..)) => SlotKind::VarbitLength(*header),
            None => self.kind,
        };
        let length = slot(
            cx,
            format!("{name}.$length"),
            Scalar {
                width: 32,
                signed: false,
            },
            kind,
        );
        if let Some(field) = self.header_fields.as_mut().and_then(|(_, _, fields)| fields.last_mut()) {
            field.length = Some(length);
        }
        Storage::Varbit { value, length }
    }

    /// Warns of a varbit that is wider than what is kept of it, once for each field of a header type.
    fn warn_of_room(&self, cx: &mut Context, declared: u32, name: &str) {
        let what = match &self.header_fields {
            Some((header, prefix, _)) => {
                let type_name = &cx.program.headers[header.index()].type_name;
                format!("`{}` of {type_name}", &name[*prefix..])
            }
            None => format!("`{name}`"),
        };
        let room = limits::varbit_width(declared);
        let message = format!("{what} has room for {room} of its {declared} bits");
        let bytes = room / 8;
        let hint = format!("a packet from which more than {bytes} bytes are extracted into it is rejected");
        let warning = Diagnostic::warning(codes::LITTLE_ROOM, self.span, message)
            .cause(format!("{what} has little room"))
            .hint(hint);
        cx.diagnostics.push(warning);
    }

    fn header(&mut self, cx: &mut Context, fields: &[(String, Type)], name: &str, type_name: String) -> Storage {
        let header = HeaderId(cx.program.headers.len() as u32);
        let bit = Scalar {
            width: 1,
            signed: false,
        };
        let valid = slot(cx, format!("{name}.$valid"), bit, SlotKind::Valid(header));
        cx.program.headers.push(Header {
            name: name.to_string(),
            type_name,
            valid,
            fields: Vec::new(),
        });
        let outer = self.header_fields.replace((header, name.len() + 1, Vec::new()));
        let parts = self.parts(cx, fields, name);
        if let Some((_, _, fields)) = std::mem::replace(&mut self.header_fields, outer) {
            cx.program.headers[header.index()].fields = fields;
        }
        Storage::Header {
            header,
            valid,
            fields: parts,
        }
    }

    fn stack(&mut self, cx: &mut Context, element: &Type, size: u32, name: &str) -> Storage {
        let mut elements = Vec::new();
        for index in 0..size {
            elements.push(self.allocate(cx, element, &format!("{name}[{index}]")));
            if cx.aborted {
                return Storage::Nothing;
            }
        }
        let elements: Rc<[Storage]> = elements.into();
        if !types::is_stack_element(cx, element) {
            return Storage::Group(elements);
        }
        let scalar = Scalar {
            width: 32,
            signed: false,
        };
        let next_index = slot(cx, format!("{name}.$next"), scalar, SlotKind::NextIndex);
        Storage::Stack { elements, next_index }
    }
}

/// Makes headers invalid and stacks empty, as when a variable's declaration is executed (§8.18, §8.20). Slots are zero
/// when a packet enters, but a declaration in a loop, a state or an inlined call may be executed again.
pub fn reset(cx: &mut Context, storage: &Storage) {
    for slot in storage.state_slots() {
        let width = cx.program.slot(slot).width;
        crate::graph::assign(cx, slot, build::constant(width, 0));
    }
}
