//! Types that registers, digests and user-defined fields refer to.

use super::{SourceLocation, StructuredAnnotation};
use crate::field::{Bytes, message, oneof};
use std::collections::BTreeMap;

message! {
    /// Every type that is referred to by name.
    P4TypeInfo {
        /// Structs.
        1 "structs" structs: BTreeMap<String, P4StructTypeSpec>,
        /// Headers.
        2 "headers" headers: BTreeMap<String, P4HeaderTypeSpec>,
        /// Header unions.
        3 "header_unions" header_unions: BTreeMap<String, P4HeaderUnionTypeSpec>,
        /// Enums without representation.
        4 "enums" enums: BTreeMap<String, P4EnumTypeSpec>,
        /// The type `error`.
        5 "error" error: Option<P4ErrorTypeSpec>,
        /// Enums with representation.
        6 "serializable_enums" serializable_enums: BTreeMap<String, P4SerializableEnumTypeSpec>,
        /// Types made by `type`.
        7 "new_types" new_types: BTreeMap<String, P4NewTypeSpec>,
    }
}

message! {
    /// A type.
    P4DataTypeSpec {
        oneof
        /// Which.
        type_spec: DataType,
    }
}

oneof! {
    /// A type.
    DataType {
        /// `bit`, `int` or `varbit`.
        1 "bitstring" Bitstring(P4BitstringLikeTypeSpec),
        /// `bool`
        2 "bool" Bool(P4BoolType),
        /// `tuple`
        3 "tuple" Tuple(P4TupleTypeSpec),
        /// A struct of [`P4TypeInfo`].
        4 "struct" Struct(P4NamedType),
        /// A header.
        5 "header" Header(P4NamedType),
        /// A header union.
        6 "header_union" HeaderUnion(P4NamedType),
        /// A stack of headers.
        7 "header_stack" HeaderStack(P4HeaderStackTypeSpec),
        /// A stack of header unions.
        8 "header_union_stack" HeaderUnionStack(P4HeaderUnionStackTypeSpec),
        /// An enum without representation.
        9 "enum" Enum(P4NamedType),
        /// `error`
        10 "error" Error(P4ErrorType),
        /// An enum with representation.
        11 "serializable_enum" SerializableEnum(P4NamedType),
        /// A type made by `type`.
        12 "new_type" NewType(P4NamedType),
    }
}

message! {
    /// The name of a type.
    P4NamedType {
        /// Name.
        1 "name" name: String,
    }
}

message! {
    /// `bool`
    P4BoolType {}
}

message! {
    /// `error`
    P4ErrorType {}
}

message! {
    /// `bit<W>`, `int<W>` or `varbit<W>`.
    P4BitstringLikeTypeSpec {
        /// Annotations.
        4 "annotations" annotations: Vec<String>,
        /// Places of `annotations`.
        5 "annotation_locations" annotation_locations: Vec<SourceLocation>,
        /// Structured annotations.
        6 "structured_annotations" structured_annotations: Vec<StructuredAnnotation>,
        oneof
        /// Which of them.
        type_spec: Bitstring,
    }
}

oneof! {
    /// A string of bits.
    Bitstring {
        /// `bit<W>`
        1 "bit" Bit(P4BitTypeSpec),
        /// `int<W>`
        2 "int" Int(P4IntTypeSpec),
        /// `varbit<W>`
        3 "varbit" Varbit(P4VarbitTypeSpec),
    }
}

message! {
    /// `bit<W>`
    P4BitTypeSpec {
        /// Width.
        1 "bitwidth" bitwidth: i32,
    }
}

message! {
    /// `int<W>`
    P4IntTypeSpec {
        /// Width.
        1 "bitwidth" bitwidth: i32,
    }
}

message! {
    /// `varbit<W>`
    P4VarbitTypeSpec {
        /// Largest width.
        1 "max_bitwidth" max_bitwidth: i32,
    }
}

message! {
    /// `tuple<…>`
    P4TupleTypeSpec {
        /// Members in order.
        1 "members" members: Vec<P4DataTypeSpec>,
    }
}

message! {
    /// A struct.
    P4StructTypeSpec {
        /// Members in order.
        1 "members" members: Vec<StructMember>,
        /// Annotations.
        2 "annotations" annotations: Vec<String>,
        /// Places of `annotations`.
        3 "annotation_locations" annotation_locations: Vec<SourceLocation>,
        /// Structured annotations.
        4 "structured_annotations" structured_annotations: Vec<StructuredAnnotation>,
    }
}

message! {
    /// A member of a struct.
    StructMember {
        /// Name.
        1 "name" name: String,
        /// Type.
        2 "type_spec" type_spec: Option<P4DataTypeSpec>,
    }
}

message! {
    /// A header.
    P4HeaderTypeSpec {
        /// Members in order.
        1 "members" members: Vec<HeaderMember>,
        /// Annotations.
        2 "annotations" annotations: Vec<String>,
        /// Places of `annotations`.
        3 "annotation_locations" annotation_locations: Vec<SourceLocation>,
        /// Structured annotations.
        4 "structured_annotations" structured_annotations: Vec<StructuredAnnotation>,
    }
}

message! {
    /// A field of a header.
    HeaderMember {
        /// Name.
        1 "name" name: String,
        /// Type.
        2 "type_spec" type_spec: Option<P4BitstringLikeTypeSpec>,
    }
}

message! {
    /// A header union.
    P4HeaderUnionTypeSpec {
        /// Members in order.
        1 "members" members: Vec<HeaderUnionMember>,
        /// Annotations.
        2 "annotations" annotations: Vec<String>,
        /// Places of `annotations`.
        3 "annotation_locations" annotation_locations: Vec<SourceLocation>,
        /// Structured annotations.
        4 "structured_annotations" structured_annotations: Vec<StructuredAnnotation>,
    }
}

message! {
    /// A member of a header union.
    HeaderUnionMember {
        /// Name.
        1 "name" name: String,
        /// Header type.
        2 "header" header: Option<P4NamedType>,
    }
}

message! {
    /// A stack of headers.
    P4HeaderStackTypeSpec {
        /// Header type.
        1 "header" header: Option<P4NamedType>,
        /// Number of elements.
        2 "size" size: i32,
    }
}

message! {
    /// A stack of header unions.
    P4HeaderUnionStackTypeSpec {
        /// Header union type.
        1 "header_union" header_union: Option<P4NamedType>,
        /// Number of elements.
        2 "size" size: i32,
    }
}

message! {
    /// An enum without representation.
    P4EnumTypeSpec {
        /// Members in order.
        1 "members" members: Vec<EnumMember>,
        /// Annotations.
        2 "annotations" annotations: Vec<String>,
        /// Structured annotations.
        3 "structured_annotations" structured_annotations: Vec<StructuredAnnotation>,
        /// Places of `annotations`.
        4 "annotation_locations" annotation_locations: Vec<SourceLocation>,
    }
}

message! {
    /// A member of an enum without representation.
    EnumMember {
        /// Name.
        1 "name" name: String,
        /// Annotations.
        2 "annotations" annotations: Vec<String>,
        /// Structured annotations.
        3 "structured_annotations" structured_annotations: Vec<StructuredAnnotation>,
        /// Places of `annotations`.
        4 "annotation_locations" annotation_locations: Vec<SourceLocation>,
    }
}

message! {
    /// An enum with representation.
    P4SerializableEnumTypeSpec {
        /// Its representation.
        1 "underlying_type" underlying_type: Option<P4BitTypeSpec>,
        /// Members in order.
        2 "members" members: Vec<SerializableEnumMember>,
        /// Annotations.
        3 "annotations" annotations: Vec<String>,
        /// Structured annotations.
        4 "structured_annotations" structured_annotations: Vec<StructuredAnnotation>,
        /// Places of `annotations`.
        5 "annotation_locations" annotation_locations: Vec<SourceLocation>,
    }
}

message! {
    /// A member of an enum with representation.
    SerializableEnumMember {
        /// Name.
        1 "name" name: String,
        /// Value, the most significant byte first.
        2 "value" value: Bytes,
        /// Annotations.
        3 "annotations" annotations: Vec<String>,
        /// Structured annotations.
        4 "structured_annotations" structured_annotations: Vec<StructuredAnnotation>,
        /// Places of `annotations`.
        5 "annotation_locations" annotation_locations: Vec<SourceLocation>,
    }
}

message! {
    /// The type `error`.
    P4ErrorTypeSpec {
        /// Members.
        1 "members" members: Vec<String>,
    }
}

message! {
    /// A type made by `type`.
    P4NewTypeSpec {
        /// Annotations but for `@p4runtime_translation`.
        3 "annotations" annotations: Vec<String>,
        /// Structured annotations.
        4 "structured_annotations" structured_annotations: Vec<StructuredAnnotation>,
        /// Places of `annotations`.
        5 "annotation_locations" annotation_locations: Vec<SourceLocation>,
        oneof
        /// What it is made of, or what the control plane sees.
        representation: Representation,
    }
}

oneof! {
    /// Representation of a new type.
    Representation {
        /// The type that it is made of.
        1 "original_type" OriginalType(P4DataTypeSpec),
        /// What the control plane sees (`@p4runtime_translation`).
        2 "translated_type" TranslatedType(P4NewTypeTranslation),
    }
}

message! {
    /// What the control plane sees of a translated type.
    P4NewTypeTranslation {
        /// Which translation.
        1 "uri" uri: String,
        oneof
        /// In which form.
        sdn_type: SdnType,
    }
}

oneof! {
    /// Form of a translated value.
    SdnType {
        /// A number of this width in bits.
        2 "sdn_bitwidth" SdnBitwidth(i32),
        /// A string.
        3 "sdn_string" SdnString(SdnString),
    }
}

message! {
    /// A string.
    SdnString {}
}
