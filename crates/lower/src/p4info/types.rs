//! Types in P4Info: specifications, and `type_info`, which holds every type that something refers to by name.

use super::{Builder, annotations};
use crate::context::Context;
use crate::names;
use crate::types as lowered;
use forebay_bits::Bits;
use forebay_check::annotations as written;
use forebay_check::hir::{self, Type};
use forebay_p4info::model::{
    Bitstring, Bytes, DataType, EnumMember, HeaderMember, HeaderUnionMember, P4BitTypeSpec, P4BitstringLikeTypeSpec,
    P4BoolType, P4DataTypeSpec, P4EnumTypeSpec, P4ErrorType, P4ErrorTypeSpec, P4HeaderStackTypeSpec, P4HeaderTypeSpec,
    P4HeaderUnionStackTypeSpec, P4HeaderUnionTypeSpec, P4IntTypeSpec, P4NamedType, P4NewTypeSpec, P4NewTypeTranslation,
    P4SerializableEnumTypeSpec, P4StructTypeSpec, P4TupleTypeSpec, P4VarbitTypeSpec, Representation, SdnString,
    SdnType, SerializableEnumMember, StructMember,
};
use forebay_syntax::ast::{AnnotationBody, AnnotationTokenKind, CompositeKind};

/// What `@p4runtime_translation("uri", type)` says.
struct Translation {
    uri: String,
    sdn_type: SdnType,
}

fn translation(annotations: &hir::Annotations) -> Option<Translation> {
    let annotation = written::find(annotations, "p4runtime_translation")?;
    let AnnotationBody::Unstructured(tokens) = &annotation.body else {
        return None;
    };
    let uri = tokens
        .iter()
        .find(|token| token.kind == AnnotationTokenKind::String)?
        .text
        .clone();
    let width = tokens.iter().find(|token| token.kind == AnnotationTokenKind::Integer);
    let sdn_type = match width.and_then(|token| token.text.parse().ok()) {
        Some(width) => SdnType::SdnBitwidth(width),
        None => SdnType::SdnString(SdnString {}),
    };
    Some(Translation { uri, sdn_type })
}

/// The name of a type made by `type`.
pub fn new_type_name(cx: &Context, ty: &Type) -> Option<String> {
    match ty {
        Type::NewType(id) => Some(cx.hir.new_types[id.index()].name.clone()),
        _ => None,
    }
}

/// The width that the control plane sees: of a translated type what it is translated to, 0 for strings and errors.
pub fn width(cx: &Context, ty: &Type) -> i32 {
    match ty {
        Type::NewType(id) => {
            let new_type = &cx.hir.new_types[id.index()];
            match translation(&new_type.annotations) {
                Some(Translation {
                    sdn_type: SdnType::SdnBitwidth(width),
                    ..
                }) => width,
                Some(Translation {
                    sdn_type: SdnType::SdnString(_),
                    ..
                }) => 0,
                None => lowered::scalar(cx, &new_type.ty).map_or(0, |scalar| scalar.width as i32),
            }
        }
        Type::Error => 0,
        Type::Enum(id) if cx.hir.enums[id.index()].representation.is_none() => 32,
        _ => lowered::scalar(cx, ty).map_or(0, |scalar| scalar.width as i32),
    }
}

/// Enters what a type needs into `type_info`.
pub fn mention(builder: &mut Builder, ty: &Type) {
    specification(builder, ty);
}

/// A type, entering the named types in it into `type_info`.
pub fn specification(builder: &mut Builder, ty: &Type) -> Option<P4DataTypeSpec> {
    let hir = builder.cx.hir;
    let named = |name: &str| P4NamedType { name: name.to_string() };
    let data_type = match ty {
        Type::Bool => DataType::Bool(P4BoolType {}),
        Type::Bit(_) | Type::Signed(_) | Type::Varbit(_) => DataType::Bitstring(bitstring(ty)?),
        Type::Error => {
            builder.types.error.get_or_insert_with(|| P4ErrorTypeSpec {
                members: hir.errors.clone(),
            });
            DataType::Error(P4ErrorType {})
        }
        Type::Enum(id) => {
            let declaration = &hir.enums[id.index()];
            enumeration(builder, declaration);
            match declaration.representation {
                Some(_) => DataType::SerializableEnum(named(&declaration.name)),
                None => DataType::Enum(named(&declaration.name)),
            }
        }
        Type::NewType(id) => {
            let declaration = &hir.new_types[id.index()];
            new_type(builder, declaration);
            DataType::NewType(named(&declaration.name))
        }
        Type::Tuple(members) => {
            let members = members.iter().filter_map(|ty| specification(builder, ty)).collect();
            DataType::Tuple(P4TupleTypeSpec { members })
        }
        Type::Composite(id, args) => {
            let declaration = &hir.composites[id.index()];
            composite(builder, declaration, &lowered::fields(builder.cx, *id, args));
            match declaration.kind {
                CompositeKind::Struct => DataType::Struct(named(&declaration.name)),
                CompositeKind::Header => DataType::Header(named(&declaration.name)),
                CompositeKind::HeaderUnion => DataType::HeaderUnion(named(&declaration.name)),
            }
        }
        Type::Stack(element, size) => stack(builder, element, *size)?,
        _ => return None,
    };
    Some(P4DataTypeSpec {
        type_spec: Some(data_type),
    })
}

fn bitstring(ty: &Type) -> Option<P4BitstringLikeTypeSpec> {
    let type_spec = match ty {
        Type::Bit(width) => Bitstring::Bit(P4BitTypeSpec {
            bitwidth: *width as i32,
        }),
        Type::Signed(width) => Bitstring::Int(P4IntTypeSpec {
            bitwidth: *width as i32,
        }),
        Type::Varbit(width) => Bitstring::Varbit(P4VarbitTypeSpec {
            max_bitwidth: *width as i32,
        }),
        _ => return None,
    };
    Some(P4BitstringLikeTypeSpec {
        type_spec: Some(type_spec),
        ..Default::default()
    })
}

fn stack(builder: &mut Builder, element: &Type, size: u32) -> Option<DataType> {
    specification(builder, element);
    let Type::Composite(id, _) = element else { return None };
    let declaration = &builder.cx.hir.composites[id.index()];
    let name = Some(P4NamedType {
        name: declaration.name.clone(),
    });
    let size = size as i32;
    match declaration.kind {
        CompositeKind::Header => Some(DataType::HeaderStack(P4HeaderStackTypeSpec { header: name, size })),
        CompositeKind::HeaderUnion => Some(DataType::HeaderUnionStack(P4HeaderUnionStackTypeSpec {
            header_union: name,
            size,
        })),
        CompositeKind::Struct => None,
    }
}

fn composite(builder: &mut Builder, declaration: &hir::Composite, fields: &[(String, Type)]) {
    let name = declaration.name.clone();
    match declaration.kind {
        CompositeKind::Struct => {
            let mut members = Vec::new();
            for (name, ty) in fields {
                members.push(StructMember {
                    name: name.clone(),
                    type_spec: specification(builder, ty),
                });
            }
            builder.types.structs.entry(name).or_insert(P4StructTypeSpec {
                members,
                ..Default::default()
            });
        }
        CompositeKind::Header => {
            let mut members = Vec::new();
            header_members(builder, fields, "", &mut members);
            builder.types.headers.entry(name).or_insert(P4HeaderTypeSpec {
                members,
                ..Default::default()
            });
        }
        CompositeKind::HeaderUnion => {
            let mut members = Vec::new();
            for (name, ty) in fields {
                specification(builder, ty);
                let header = lowered::name(builder.cx, ty).map(|name| P4NamedType { name });
                members.push(HeaderUnionMember {
                    name: name.clone(),
                    header,
                });
            }
            builder
                .types
                .header_unions
                .entry(name)
                .or_insert(P4HeaderUnionTypeSpec {
                    members,
                    ..Default::default()
                });
        }
    }
}

/// Fields of a header, those of structs inside it one by one.
fn header_members(builder: &mut Builder, fields: &[(String, Type)], prefix: &str, members: &mut Vec<HeaderMember>) {
    for (name, ty) in fields {
        let name = names::join(prefix, name);
        match ty {
            Type::Composite(id, args) => {
                let inner = lowered::fields(builder.cx, *id, args);
                header_members(builder, &inner, &name, members);
            }
            _ => {
                specification(builder, ty);
                let as_bits = || lowered::scalar(builder.cx, ty).map(|scalar| Type::Bit(scalar.width));
                let type_spec = bitstring(ty).or_else(|| bitstring(&as_bits()?));
                members.push(HeaderMember { name, type_spec });
            }
        }
    }
}

fn enumeration(builder: &mut Builder, declaration: &hir::Enum) {
    let name = declaration.name.clone();
    let Some(representation) = &declaration.representation else {
        let member = |(name, _): &(String, _)| EnumMember {
            name: name.clone(),
            ..Default::default()
        };
        let members = declaration.members.iter().map(member).collect();
        builder.types.enums.entry(name).or_insert(P4EnumTypeSpec {
            members,
            ..Default::default()
        });
        return;
    };
    let width = lowered::scalar(builder.cx, representation).map_or(0, |scalar| scalar.width);
    let members = declaration.members.iter().map(|(name, value)| {
        let value = value
            .as_ref()
            .map(|value| Bits::from_bigint(width, value).to_bytes_be());
        SerializableEnumMember {
            name: name.clone(),
            value: Bytes(value.unwrap_or_default()),
            ..Default::default()
        }
    });
    let specification = P4SerializableEnumTypeSpec {
        underlying_type: Some(P4BitTypeSpec { bitwidth: width as i32 }),
        members: members.collect(),
        ..Default::default()
    };
    builder.types.serializable_enums.entry(name).or_insert(specification);
}

fn new_type(builder: &mut Builder, declaration: &hir::NewType) {
    let mut underlying = &declaration.ty;
    while let Type::NewType(id) = underlying {
        underlying = &builder.cx.hir.new_types[id.index()].ty;
    }
    let original = specification(builder, underlying);
    let representation = match translation(&declaration.annotations) {
        Some(Translation { uri, sdn_type }) => Some(Representation::TranslatedType(P4NewTypeTranslation {
            uri,
            sdn_type: Some(sdn_type),
        })),
        None => original.map(Representation::OriginalType),
    };
    let specification = P4NewTypeSpec {
        annotations: annotations::texts(&declaration.annotations, &["p4runtime_translation"]),
        structured_annotations: annotations::structured(&declaration.annotations),
        representation,
        ..Default::default()
    };
    builder
        .types
        .new_types
        .entry(declaration.name.clone())
        .or_insert(specification);
}
