//! Counters, meters, registers, action profiles.

use super::{Args, checksum, member_name, receive};
use crate::assign;
use crate::context::Context;
use crate::graph;
use crate::limits;
use crate::names;
use crate::object::Object;
use crate::storage;
use crate::table;
use crate::types;
use crate::value::Value;
use crate::wire;
use forebay_bits::Bits;
use forebay_check::annotations;
use forebay_check::hir::{self, Type};
use forebay_ir::{self as ir, CounterId, Expr, MeterId, Op, RegisterId, SlotId, Unit};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;

/// An extern object's constructor call.
pub struct Made {
    /// Type arguments of the object.
    pub type_args: Vec<Type>,
    /// Constructor arguments.
    pub args: Vec<Option<Value>>,
    /// Types of the constructor's parameters.
    pub types: Vec<Type>,
    /// Control-plane name.
    pub path: String,
    /// Annotations.
    pub annotations: hir::Annotations,
    /// Place.
    pub span: Span,
}

/// Bytes of a counter: packets and bytes.
const COUNTER_BYTES: u64 = 16;

/// The annotation of counters.
const ELEMENT_NAMES: &str = "element_names";

/// Bytes of a meter: two buckets, their rates and sizes, the time of the last packet.
const METER_BYTES: u64 = 64;

impl Made {
    fn arg(&self, index: usize) -> Option<&Value> {
        self.args.get(index).and_then(Option::as_ref)
    }

    /// The number of elements of an array whose elements take `element_bytes` bytes each.
    pub fn array_size(&self, cx: &mut Context, index: usize, element_bytes: u64) -> u64 {
        let size = self.size(cx, index);
        if size.saturating_mul(element_bytes) > limits::MAX_ARRAY_BYTES {
            let largest = limits::MAX_ARRAY_BYTES / element_bytes;
            let message = format!("`{}` has {size} elements; there can be at most {largest}", self.path);
            cx.error(codes::SIZE_TOO_LARGE, self.span, message);
        }
        size
    }

    fn size(&self, cx: &mut Context, index: usize) -> u64 {
        table::size_of(cx, self.arg(index), self.span)
    }

    /// The member of an enum that an argument is.
    pub fn member(&self, cx: &mut Context, index: usize) -> String {
        let ty = self.types.get(index).unwrap_or(&Type::Unknown);
        member_name(cx, self.arg(index).unwrap_or(&Value::Void), ty, self.span)
    }

    fn unit(&self, cx: &mut Context, index: usize) -> Unit {
        match self.member(cx, index).to_lowercase().as_str() {
            "bytes" => Unit::Bytes,
            "packets_and_bytes" => Unit::PacketsAndBytes,
            _ => Unit::Packets,
        }
    }
}

/// `counter(size, type)`
pub fn counter(cx: &mut Context, made: Made) -> Object {
    let size = made.array_size(cx, 0, COUNTER_BYTES);
    let unit = made.unit(cx, 1);
    check_element_names(cx, &made, size);
    Object::Counter(add_counter(cx, made, unit, Some(size)))
}

/// The names that `@element_names` gives to the elements of an array.
fn element_names(made: &Made) -> Vec<String> {
    let annotation = annotations::find(&made.annotations, ELEMENT_NAMES);
    let values = annotation.map(annotations::values).unwrap_or_default();
    let names = values.into_iter().filter_map(|value| match value {
        annotations::Value::String(name) => Some(name),
        annotations::Value::Int(_) | annotations::Value::Bool(_) => None,
    });
    names.collect()
}

/// Reports names that are not as many as the elements.
fn check_element_names(cx: &mut Context, made: &Made, elements: u64) {
    let Some(annotation) = annotations::find(&made.annotations, ELEMENT_NAMES) else {
        return;
    };
    let names = element_names(made).len() as u64;
    // Without names a mistake in them has been reported.
    if names > 0 && names != elements {
        let message = format!("{names} names for the {elements} elements of `{}`", made.path);
        let error = Diagnostic::error(codes::ELEMENT_NAMES, annotation.span, message);
        let hint = "each element has one name; the first is that of element 0";
        cx.diagnostics
            .push(error.secondary(made.span, "the counter").hint(hint));
    }
}

/// Reports `@element_names` on an object that is no counter array.
pub fn refuse_element_names(cx: &mut Context, made: &Made) {
    if let Some(annotation) = annotations::find(&made.annotations, ELEMENT_NAMES) {
        let message = format!("`{}` has no elements that @{ELEMENT_NAMES} names", made.path);
        let error = Diagnostic::error(codes::ELEMENT_NAMES, annotation.span, message);
        cx.diagnostics
            .push(error.hint("it names the elements of a counter array"));
    }
}

/// `direct_counter(type)`
pub fn direct_counter(cx: &mut Context, made: Made) -> Object {
    let unit = made.unit(cx, 0);
    Object::DirectCounter(add_counter(cx, made, unit, None))
}

fn add_counter(cx: &mut Context, made: Made, unit: Unit, size: Option<u64>) -> CounterId {
    names::declare(cx, "counters", &made.path, made.span);
    cx.program.counters.push(ir::Counter {
        element_names: element_names(&made),
        name: made.path,
        unit,
        size,
    });
    CounterId(cx.program.counters.len() as u32 - 1)
}

/// `meter(size, type)`
pub fn meter(cx: &mut Context, made: Made) -> Object {
    let size = made.array_size(cx, 0, METER_BYTES);
    let unit = made.unit(cx, 1);
    Object::Meter(add_meter(cx, made, unit, Some(size)))
}

/// `direct_meter<T>(type)`
pub fn direct_meter(cx: &mut Context, made: Made) -> Object {
    let unit = made.unit(cx, 0);
    let scalar = made.type_args.first().and_then(|ty| types::scalar(cx, ty));
    let slot = scalar.map(|scalar| {
        let name = format!("{}.$color", made.path);
        storage::slot(cx, name, scalar, ir::SlotKind::Local)
    });
    Object::DirectMeter(add_meter(cx, made, unit, None), slot)
}

fn add_meter(cx: &mut Context, made: Made, unit: Unit, size: Option<u64>) -> MeterId {
    names::declare(cx, "meters", &made.path, made.span);
    cx.program.meters.push(ir::Meter {
        name: made.path,
        unit,
        size,
    });
    MeterId(cx.program.meters.len() as u32 - 1)
}

/// `register<T>(size)` and, in newer architectures, `register<T>(size, initial)`.
pub fn register(cx: &mut Context, made: Made) -> Object {
    let element = made.type_args.first().cloned().unwrap_or(Type::Unknown);
    let width = wire::bit_width(cx, &element).filter(|width| (1..=u64::from(limits::MAX_WIDTH)).contains(width));
    let Some(width) = width.map(|width| width as u32) else {
        cx.error(
            codes::UNSUPPORTED_TYPE,
            made.span,
            "a register can only hold values of a fixed number of bits",
        );
        return Object::Unsupported;
    };
    let size = made.array_size(cx, 0, u64::from(width.div_ceil(8)));
    let signed = types::is_signed(cx, &element);
    let initial = initial_value(cx, &made, width);
    let id = RegisterId(cx.program.registers.len() as u32);
    names::declare(cx, "registers", &made.path, made.span);
    cx.program.registers.push(ir::Register {
        name: made.path,
        width,
        signed,
        size,
        initial,
    });
    Object::Register(id, element)
}

/// The initial value of a register's elements: 0 if none is given.
fn initial_value(cx: &mut Context, made: &Made, width: u32) -> Bits {
    let bits = match made.arg(1) {
        None => return Bits::zero(width),
        Some(Value::Integer(number)) => return Bits::from_bigint(width, number),
        Some(value) => wire::to_bits(value),
    };
    match bits {
        Expr::Const(bits) if bits.width() == width => bits,
        _ => {
            let message = "the initial value of a register must be known when the program is compiled";
            cx.error(codes::UNSUPPORTED_TYPE, made.span, message);
            Bits::zero(width)
        }
    }
}

/// `action_profile(size)`
pub fn action_profile(cx: &mut Context, made: Made) -> Object {
    let size = made.size(cx, 0);
    add_profile(cx, made, size, None)
}

/// `action_selector(algorithm, size, output_width)`
pub fn action_selector(cx: &mut Context, made: Made) -> Object {
    let member = made.member(cx, 0);
    let algorithm = checksum::fixed_algorithm(cx, &member, made.span);
    let size = made.size(cx, 1);
    let width = made.size(cx, 2).min(64) as u32;
    add_profile(cx, made, size, Some((algorithm, width)))
}

fn add_profile(cx: &mut Context, made: Made, size: u64, selector: Option<(ir::HashAlgorithm, u32)>) -> Object {
    names::declare(cx, "action profiles", &made.path, made.span);
    cx.program.action_profiles.push(ir::ActionProfile {
        name: made.path,
        size,
        selector,
    });
    Object::ActionProfile(ir::ActionProfileId(cx.program.action_profiles.len() as u32 - 1))
}

/// Warns of a constant index that no element has.
fn warn_outside(cx: &mut Context, name: &str, size: Option<u64>, index: &Expr, span: Span) {
    let (Expr::Const(index), Some(size)) = (index, size) else {
        return;
    };
    let index = index.to_u64_saturating();
    if index < size {
        return;
    }
    let message = format!("the index {index} is outside of `{name}`, which has {size} elements");
    let warning = Diagnostic::warning(codes::INDEX_OUTSIDE, span, message);
    let hint = match size {
        0 => "give it a size".to_string(),
        _ => format!("indices are 0 to {}", size - 1),
    };
    cx.diagnostics.push(warning.hint(hint));
}

fn warn_outside_register(cx: &mut Context, register: RegisterId, index: &Expr, span: Span) {
    let ir::Register { name, size, .. } = &cx.program.registers[register.index()];
    let (name, size) = (name.clone(), *size);
    warn_outside(cx, &name, Some(size), index, span);
}

/// `count(index)`
pub fn count(cx: &mut Context, counter: CounterId, args: &Args) {
    let index = args.scalar(cx, 0);
    let ir::Counter { name, size, .. } = &cx.program.counters[counter.index()];
    let (name, size) = (name.clone(), *size);
    warn_outside(cx, &name, size, &index, args.span(0));
    graph::emit(cx, Op::Count { counter, index });
}

/// `execute_meter(index, result)`
pub fn execute_meter(cx: &mut Context, meter: MeterId, args: &Args) {
    let index = args.scalar(cx, 0);
    receive(cx, args.place(1), &args.ty(1), |slot| Op::ExecuteMeter {
        meter,
        index,
        before: None,
        slot,
    });
}

/// `read(result)` of a direct meter: the table has put the colour into the slot.
pub fn read_direct_meter(cx: &mut Context, slot: Option<SlotId>, args: &Args) {
    let (Some(slot), Some(place)) = (slot, args.place(0)) else {
        return;
    };
    assign::write(cx, place, Value::Scalar(Expr::Slot(slot)));
}

/// `read(result, index)`. An element that is a struct is stored as the bits of its fields.
pub fn read_register(cx: &mut Context, register: RegisterId, element: &Type, args: &Args) {
    let index = args.scalar(cx, 1);
    warn_outside_register(cx, register, &index, args.span(1));
    if types::scalar(cx, element).is_some() {
        return receive(cx, args.place(0), &args.ty(0), |slot| Op::RegisterRead {
            register,
            index,
            slot,
        });
    }
    let width = cx.program.registers[register.index()].width;
    let slot = storage::temporary(cx, width);
    graph::emit(cx, Op::RegisterRead { register, index, slot });
    let value = wire::from_bits(cx, element, &Expr::Slot(slot), width);
    if let Some(place) = args.place(0) {
        assign::write(cx, place, value);
    }
}

/// `write(index, value)`
pub fn write_register(cx: &mut Context, register: RegisterId, args: &Args) {
    let index = args.scalar(cx, 0);
    warn_outside_register(cx, register, &index, args.span(0));
    let value = wire::to_bits(&args.value(cx, 1));
    graph::emit(cx, Op::RegisterWrite { register, index, value });
}
