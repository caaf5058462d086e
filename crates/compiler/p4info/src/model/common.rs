//! What all objects have: names, ids, annotations, documentation.

use crate::field::{Bytes, message, oneof};

message! {
    /// The author's description of the program as a whole (`@pkginfo`).
    PkgInfo {
        /// Name.
        1 "name" name: String,
        /// Version, in any form.
        2 "version" version: String,
        /// Description.
        3 "doc" doc: Option<Documentation>,
        /// Annotations of `main`.
        4 "annotations" annotations: Vec<String>,
        /// Architecture: `v1model`.
        5 "arch" arch: String,
        /// Organisation.
        6 "organization" organization: String,
        /// Whom to ask.
        7 "contact" contact: String,
        /// Where to read more.
        8 "url" url: String,
        /// Structured annotations of `main`.
        9 "structured_annotations" structured_annotations: Vec<StructuredAnnotation>,
        /// Places of `annotations`.
        10 "annotation_locations" annotation_locations: Vec<SourceLocation>,
        /// What the program needs of a target (`@platform_property`).
        11 "platform_properties" platform_properties: Option<PlatformProperties>,
    }
}

message! {
    /// The least that a target must offer; 0 for no requirement.
    PlatformProperties {
        /// Multicast groups.
        1 "multicast_group_table_size" multicast_group_table_size: i32,
        /// Replicas of all groups together.
        2 "multicast_group_table_total_replicas" multicast_group_table_total_replicas: i32,
        /// Replicas of one group.
        3 "multicast_group_table_max_replicas_per_entry" multicast_group_table_max_replicas_per_entry: i32,
    }
}

message! {
    /// `@brief` and `@description`.
    Documentation {
        /// A sentence.
        1 "brief" brief: String,
        /// More.
        2 "description" description: String,
    }
}

message! {
    /// A place in the source.
    SourceLocation {
        /// File.
        1 "file" file: String,
        /// Line, from 1.
        2 "line" line: i32,
        /// Column, from 1.
        3 "column" column: i32,
    }
}

message! {
    /// Id and names of an object.
    Preamble {
        /// Id: type in the highest 8 bits (see [`crate::ids`]).
        1 "id" id: u32,
        /// Full name.
        2 "name" name: String,
        /// Short name (see [`crate::alias`]).
        3 "alias" alias: String,
        /// Annotations as written, `@name(body)`; those with a place of their own in P4Info are left out.
        4 "annotations" annotations: Vec<String>,
        /// Description.
        5 "doc" doc: Option<Documentation>,
        /// Structured annotations.
        6 "structured_annotations" structured_annotations: Vec<StructuredAnnotation>,
        /// Places of `annotations`.
        7 "annotation_locations" annotation_locations: Vec<SourceLocation>,
    }
}

message! {
    /// `@name[…]`
    StructuredAnnotation {
        /// Name.
        1 "name" name: String,
        /// Place.
        4 "source_location" source_location: Option<SourceLocation>,
        oneof
        /// What is between the brackets, if anything.
        body: AnnotationBody,
    }
}

oneof! {
    /// Body of a structured annotation.
    AnnotationBody {
        /// `@name[1, "two"]`
        2 "expression_list" ExpressionList(ExpressionList),
        /// `@name[a=1, b="two"]`
        3 "kv_pair_list" KeyValuePairList(KeyValuePairList),
    }
}

message! {
    /// Values.
    ExpressionList {
        /// In order.
        1 "expressions" expressions: Vec<Expression>,
    }
}

message! {
    /// A value in an annotation.
    Expression {
        oneof
        /// The value.
        value: Literal,
    }
}

oneof! {
    /// A literal.
    Literal {
        /// String.
        1 "string_value" String(String),
        /// Integer.
        2 "int64_value" Int64(i64),
        /// Truth value.
        3 "bool_value" Bool(bool),
    }
}

message! {
    /// Named values.
    KeyValuePairList {
        /// In order.
        1 "kv_pairs" kv_pairs: Vec<KeyValuePair>,
    }
}

message! {
    /// A named value.
    KeyValuePair {
        /// Name.
        1 "key" key: String,
        /// Value.
        2 "value" value: Option<Expression>,
    }
}

message! {
    /// A message of any type, encoded.
    Any {
        /// Type.
        1 "type_url" type_url: String,
        /// Encoded message.
        2 "value" value: Bytes,
    }
}
