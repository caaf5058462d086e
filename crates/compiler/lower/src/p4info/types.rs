//! Types: how messages refer to them, and [`P4TypeInfo`](forebay_p4info::model::P4TypeInfo), which describes each
//! named type once.

use super::value::padded;
use super::{Context, annotation};
use crate::names::control_plane_name;
use forebay_check::annotations;
use forebay_check::hir::{Composite, CompositeId, EnumId, NewTypeId, Program, Type};
use forebay_check::size::size_in_bits;
use forebay_p4info::model::{
    Bitstring, Bytes, DataType, EnumMember, HeaderMember, HeaderUnionMember, P4BitTypeSpec, P4BitstringLikeTypeSpec,
    P4BoolType, P4DataTypeSpec, P4EnumTypeSpec, P4ErrorType, P4ErrorTypeSpec, P4HeaderStackTypeSpec, P4HeaderTypeSpec,
    P4HeaderUnionStackTypeSpec, P4HeaderUnionTypeSpec, P4IntTypeSpec, P4NamedType, P4NewTypeSpec, P4NewTypeTranslation,
    P4SerializableEnumTypeSpec, P4StructTypeSpec, P4TupleTypeSpec, P4VarbitTypeSpec, Representation, SdnString,
    SdnType, SerializableEnumMember, StructMember,
};
use forebay_syntax::ast::{Annotation, CompositeKind};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use num_traits::ToPrimitive;

/// The annotation that gives the control plane's representation of a new type.
const TRANSLATION: &str = "p4runtime_translation";

/// The deepest nesting of structs.
const MAX_NESTING: usize = 100;

/// The control-plane name of a composite.
pub fn composite_name(composite: &Composite) -> &str {
    plain_name(&composite.name, &composite.annotations)
}

fn plain_name<'a>(name: &'a str, written: &'a [Annotation]) -> &'a str {
    let name = annotations::name(written).unwrap_or(name);
    name.strip_prefix('.').unwrap_or(name)
}

/// The name of a type that the program declares.
pub fn named(program: &Program, ty: &Type) -> Option<String> {
    match ty {
        Type::Composite(id, args) => Some(instance_name(program, *id, args)),
        Type::Enum(id) => Some(enum_name(program, *id)),
        Type::NewType(id) => Some(new_type_name(program, *id)),
        _ => None,
    }
}

/// The name of a composite with its type arguments, in p4c's form: `pair_bit8_bool` for `pair<bit<8>, bool>`. A
/// `@name` is used alone.
fn instance_name(program: &Program, id: CompositeId, args: &[Type]) -> String {
    let declared = &program.composites[id.index()];
    let mut name = composite_name(declared).to_string();
    if annotations::name(&declared.annotations).is_none() {
        for arg in args {
            let arg = program
                .display(arg)
                .replace(['<', '>', ' '], "")
                .replace([',', '.'], "_");
            name = format!("{name}_{arg}");
        }
    }
    name
}

fn enum_name(program: &Program, id: EnumId) -> String {
    let declared = &program.enums[id.index()];
    plain_name(&declared.name, &declared.annotations).to_string()
}

fn new_type_name(program: &Program, id: NewTypeId) -> String {
    let declared = &program.new_types[id.index()];
    plain_name(&declared.name, &declared.annotations).to_string()
}

/// A reference to a type by name, if it was declared with `type`: other types are described by their widths.
pub fn new_type_reference(program: &Program, ty: &Type) -> Option<P4NamedType> {
    match ty {
        Type::NewType(id) => Some(P4NamedType {
            name: new_type_name(program, *id),
        }),
        _ => None,
    }
}

/// The width for the control plane: that of the translated type, 0 for strings and for types without a width.
pub fn control_plane_width(program: &Program, ty: &Type) -> i32 {
    match translation(program, ty) {
        Some((_, Translated::Bits(width))) => width,
        Some((_, Translated::String)) => 0,
        None => size_in_bits(program, ty).map_or(0, |size| narrow(size.min)),
    }
}

/// A width or size as a signed number of a message. Larger ones do not exist.
fn narrow(number: u64) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// The control plane's representation of a translated type.
enum Translated {
    /// A number of bits.
    Bits(i32),
    /// Text.
    String,
}

/// `@p4runtime_translation("uri", string)`, `("uri", bit<32>)` or `("uri", 32)`.
fn translation(program: &Program, ty: &Type) -> Option<(String, Translated)> {
    let Type::NewType(id) = ty else { return None };
    let annotation = annotations::find(&program.new_types[id.index()].annotations, TRANSLATION)?;
    let mut values = annotations::values(annotation).into_iter();
    let Some(annotations::Value::String(uri)) = values.next() else {
        return None;
    };
    let translated = match values.next() {
        Some(annotations::Value::Int(width)) => Translated::Bits(width.to_i32()?),
        _ => Translated::String,
    };
    Some((uri, translated))
}

/// Describes the named types within a type, and returns how a message refers to it; `None` for a type that messages
/// cannot contain.
pub fn describe(cx: &mut Context, ty: &Type) -> Option<P4DataTypeSpec> {
    data_type(cx, ty, 0).map(spec)
}

fn spec(data_type: DataType) -> P4DataTypeSpec {
    P4DataTypeSpec {
        type_spec: Some(data_type),
    }
}

fn data_type(cx: &mut Context, ty: &Type, depth: usize) -> Option<DataType> {
    Some(match ty {
        Type::Bool => DataType::Bool(P4BoolType {}),
        Type::Bit(_) | Type::Signed(_) | Type::Varbit(_) => DataType::Bitstring(bitstring(cx.program, ty)),
        Type::Error => {
            cx.types.error.get_or_insert_with(|| P4ErrorTypeSpec {
                members: cx.program.errors.clone(),
            });
            DataType::Error(P4ErrorType {})
        }
        Type::Enum(id) => enumeration(cx, *id),
        Type::NewType(id) => new_type(cx, *id, depth),
        Type::Composite(id, args) => composite(cx, *id, args, depth),
        Type::Stack(element, size) => stack(data_type(cx, element, depth)?, narrow(u64::from(*size)))?,
        Type::Tuple(elements) => tuple(cx, elements.iter(), depth),
        Type::Record(fields) => tuple(cx, fields.iter().map(|(_, ty)| ty), depth),
        _ => return None,
    })
}

fn stack(element: DataType, size: i32) -> Option<DataType> {
    match element {
        DataType::Header(name) => Some(DataType::HeaderStack(P4HeaderStackTypeSpec {
            header: Some(name),
            size,
        })),
        DataType::HeaderUnion(name) => Some(DataType::HeaderUnionStack(P4HeaderUnionStackTypeSpec {
            header_union: Some(name),
            size,
        })),
        _ => None,
    }
}

fn tuple<'a>(cx: &mut Context, elements: impl Iterator<Item = &'a Type>, depth: usize) -> DataType {
    let members = elements
        .filter_map(|element| data_type(cx, element, depth + 1).map(spec))
        .collect();
    DataType::Tuple(P4TupleTypeSpec { members })
}

/// A string of bits, also for types that are represented as bits.
fn bitstring(program: &Program, ty: &Type) -> P4BitstringLikeTypeSpec {
    let type_spec = match program.underlying(ty) {
        Type::Signed(width) => Bitstring::Int(P4IntTypeSpec {
            bitwidth: narrow(u64::from(width)),
        }),
        Type::Varbit(width) => Bitstring::Varbit(P4VarbitTypeSpec {
            max_bitwidth: narrow(u64::from(width)),
        }),
        ty => Bitstring::Bit(P4BitTypeSpec {
            bitwidth: size_in_bits(program, &ty).map_or(0, |size| narrow(size.max)),
        }),
    };
    P4BitstringLikeTypeSpec {
        type_spec: Some(type_spec),
        ..P4BitstringLikeTypeSpec::default()
    }
}

fn enumeration(cx: &mut Context, id: EnumId) -> DataType {
    let declared = &cx.program.enums[id.index()];
    let name = enum_name(cx.program, id);
    let reference = P4NamedType { name: name.clone() };
    let Some(representation) = &declared.representation else {
        let members = declared.members.iter();
        let members = members
            .map(|(name, _)| EnumMember {
                name: name.clone(),
                ..EnumMember::default()
            })
            .collect();
        cx.types.enums.insert(
            name,
            P4EnumTypeSpec {
                members,
                ..P4EnumTypeSpec::default()
            },
        );
        return DataType::Enum(reference);
    };
    let width = representation.width().unwrap_or(0);
    let members = declared.members.iter().map(|(name, value)| SerializableEnumMember {
        name: name.clone(),
        value: Bytes(value.as_ref().map_or_else(Vec::new, |value| padded(value, width))),
        ..SerializableEnumMember::default()
    });
    let described = P4SerializableEnumTypeSpec {
        underlying_type: Some(P4BitTypeSpec {
            bitwidth: narrow(u64::from(width)),
        }),
        members: members.collect(),
        ..P4SerializableEnumTypeSpec::default()
    };
    cx.types.serializable_enums.insert(name, described);
    DataType::SerializableEnum(reference)
}

fn new_type(cx: &mut Context, id: NewTypeId, depth: usize) -> DataType {
    let declared = &cx.program.new_types[id.index()];
    let name = new_type_name(cx.program, id);
    if !cx.types.new_types.contains_key(&name) {
        let representation = match translation(cx.program, &Type::NewType(id)) {
            Some((uri, translated)) => {
                let sdn_type = Some(match translated {
                    Translated::Bits(width) => SdnType::SdnBitwidth(width),
                    Translated::String => SdnType::SdnString(SdnString {}),
                });
                Some(Representation::TranslatedType(P4NewTypeTranslation { uri, sdn_type }))
            }
            None => {
                let original = cx.program.unwrapped(&declared.ty);
                data_type(cx, &original, depth + 1)
                    .map(spec)
                    .map(Representation::OriginalType)
            }
        };
        let (annotations, structured_annotations) = annotation::written(&declared.annotations, &[TRANSLATION]);
        let described = P4NewTypeSpec {
            annotations,
            structured_annotations,
            representation,
            ..P4NewTypeSpec::default()
        };
        cx.types.new_types.insert(name.clone(), described);
    }
    DataType::NewType(P4NamedType { name })
}

fn composite(cx: &mut Context, id: CompositeId, args: &[Type], depth: usize) -> DataType {
    let declared = &cx.program.composites[id.index()];
    let name = instance_name(cx.program, id, args);
    if depth >= MAX_NESTING {
        let message = format!("structs are nested more than {MAX_NESTING} deep in a type that the control plane sees");
        cx.diagnostics
            .push(Diagnostic::error(codes::UNSUPPORTED_TYPE, declared.span, message));
    } else {
        match declared.kind {
            CompositeKind::Struct => structure(cx, &name, id, args, depth),
            CompositeKind::Header => header(cx, &name, id, args),
            CompositeKind::HeaderUnion => header_union(cx, &name, id, args, depth),
        }
    }
    let reference = P4NamedType { name };
    match declared.kind {
        CompositeKind::Struct => DataType::Struct(reference),
        CompositeKind::Header => DataType::Header(reference),
        CompositeKind::HeaderUnion => DataType::HeaderUnion(reference),
    }
}

fn structure(cx: &mut Context, name: &str, id: CompositeId, args: &[Type], depth: usize) {
    if cx.types.structs.contains_key(name) {
        return;
    }
    let mut members = Vec::new();
    for (field, ty) in cx.program.composites[id.index()]
        .fields
        .iter()
        .zip(cx.program.field_types(id, args))
    {
        let type_spec = data_type(cx, &ty, depth + 1).map(spec);
        members.push(StructMember {
            name: control_plane_name("", &field.name, &field.annotations),
            type_spec,
        });
    }
    cx.types.structs.insert(
        name.to_string(),
        P4StructTypeSpec {
            members,
            ..P4StructTypeSpec::default()
        },
    );
}

fn header(cx: &mut Context, name: &str, id: CompositeId, args: &[Type]) {
    if cx.types.headers.contains_key(name) {
        return;
    }
    let mut members = Vec::new();
    for field in header_fields(cx.program, id, args) {
        let type_spec = Some(bitstring(cx.program, &field.ty));
        members.push(HeaderMember {
            name: field.name,
            type_spec,
        });
    }
    cx.types.headers.insert(
        name.to_string(),
        P4HeaderTypeSpec {
            members,
            ..P4HeaderTypeSpec::default()
        },
    );
}

fn header_union(cx: &mut Context, name: &str, id: CompositeId, args: &[Type], depth: usize) {
    if cx.types.header_unions.contains_key(name) {
        return;
    }
    let mut members = Vec::new();
    for (field, ty) in cx.program.composites[id.index()]
        .fields
        .iter()
        .zip(cx.program.field_types(id, args))
    {
        let header = match data_type(cx, &ty, depth + 1) {
            Some(DataType::Header(header)) => Some(header),
            _ => None,
        };
        members.push(HeaderUnionMember {
            name: control_plane_name("", &field.name, &field.annotations),
            header,
        });
    }
    let described = P4HeaderUnionTypeSpec {
        members,
        ..P4HeaderUnionTypeSpec::default()
    };
    cx.types.header_unions.insert(name.to_string(), described);
}

/// A field of a header, or of a struct in it.
pub struct HeaderField {
    /// Its name; `outer.inner` inside a struct.
    pub name: String,
    /// Its type, never a struct.
    pub ty: Type,
    /// Its annotations and those of the structs around it, the innermost of each name.
    pub annotations: Vec<Annotation>,
}

/// The fields of a header, with structs expanded. The checker limits their number.
pub fn header_fields(program: &Program, id: CompositeId, args: &[Type]) -> Vec<HeaderField> {
    let mut opened = Vec::new();
    let declared = program.composites[id.index()]
        .fields
        .iter()
        .zip(program.field_types(id, args));
    for (field, ty) in declared {
        match &ty {
            Type::Composite(inner, inner_args) => {
                for nested in header_fields(program, *inner, inner_args) {
                    let name = format!("{}.{}", field.name, nested.name);
                    let mut merged = nested.annotations;
                    let outer = field
                        .annotations
                        .iter()
                        .filter(|a| !annotations::has(&merged, &a.name.name));
                    let outer: Vec<Annotation> = outer.cloned().collect();
                    merged.extend(outer);
                    opened.push(HeaderField {
                        name,
                        ty: nested.ty,
                        annotations: merged,
                    });
                }
            }
            _ => opened.push(HeaderField {
                name: control_plane_name("", &field.name, &field.annotations),
                ty,
                annotations: field.annotations.to_vec(),
            }),
        }
    }
    opened
}
