//! Tables, actions, action profiles.

use super::{Any, Documentation, P4NamedType, Preamble, SourceLocation, StructuredAnnotation};
use crate::field::{Bytes, enumeration, message, oneof};

message! {
    /// A match-action table.
    Table {
        /// Id and names.
        1 "preamble" preamble: Preamble,
        /// Key fields; selector fields are left out.
        2 "match_fields" match_fields: Vec<MatchField>,
        /// Actions.
        3 "action_refs" action_refs: Vec<ActionRef>,
        /// The default action, if it is const; 0 if not.
        4 "const_default_action_id" const_default_action_id: u32,
        /// The default action at the start.
        5 "initial_default_action" initial_default_action: Option<TableActionCall>,
        /// Id of the action profile; 0 for a direct table.
        6 "implementation_id" implementation_id: u32,
        /// Ids of direct counters and meters.
        7 "direct_resource_ids" direct_resource_ids: Vec<u32>,
        /// Number of entries that it must hold.
        8 "size" size: i64,
        /// Whether entries may have idle time-outs.
        9 "idle_timeout_behavior" idle_timeout_behavior: IdleTimeoutBehavior,
        /// Whether its entries are `const entries`.
        10 "is_const_table" is_const_table: bool,
        /// Whether the program gives it at least one entry.
        11 "has_initial_entries" has_initial_entries: bool,
        /// Properties of an architecture.
        100 "other_properties" other_properties: Option<Any>,
    }
}

message! {
    /// A key field of a table, or a component of a value set.
    MatchField {
        /// Number within the table.
        1 "id" id: u32,
        /// Name.
        2 "name" name: String,
        /// Annotations.
        3 "annotations" annotations: Vec<String>,
        /// Width in bits; 0 when the control plane sees a string.
        4 "bitwidth" bitwidth: i32,
        /// Description.
        6 "doc" doc: Option<Documentation>,
        /// Its type, if the program defines it.
        8 "type_name" type_name: Option<P4NamedType>,
        /// Structured annotations.
        9 "structured_annotations" structured_annotations: Vec<StructuredAnnotation>,
        /// Places of `annotations`.
        10 "annotation_locations" annotation_locations: Vec<SourceLocation>,
        oneof
        /// How it is matched.
        match_kind: Match,
    }
}

oneof! {
    /// How a field is matched.
    Match {
        /// A kind that P4Runtime knows.
        5 "match_type" MatchType(MatchType),
        /// A kind of the architecture.
        7 "other_match_type" OtherMatchType(String),
    }
}

enumeration! {
    /// Match kinds that P4Runtime knows.
    MatchType {
        /// None of them.
        Unspecified = 0 "UNSPECIFIED",
        /// `exact`
        Exact = 2 "EXACT",
        /// `lpm`
        Lpm = 3 "LPM",
        /// `ternary`
        Ternary = 4 "TERNARY",
        /// `range`
        Range = 5 "RANGE",
        /// `optional`
        Optional = 6 "OPTIONAL",
    }
}

enumeration! {
    /// What happens to an entry that is not hit for a while.
    IdleTimeoutBehavior {
        /// Nothing.
        NoTimeout = 0 "NO_TIMEOUT",
        /// The control plane is told.
        NotifyControl = 1 "NOTIFY_CONTROL",
    }
}

message! {
    /// An action in a table's list.
    ActionRef {
        /// Action.
        1 "id" id: u32,
        /// Annotations of the reference.
        2 "annotations" annotations: Vec<String>,
        /// Where it may be used.
        3 "scope" scope: Scope,
        /// Structured annotations of the reference.
        4 "structured_annotations" structured_annotations: Vec<StructuredAnnotation>,
        /// Places of `annotations`.
        5 "annotation_locations" annotation_locations: Vec<SourceLocation>,
    }
}

enumeration! {
    /// Where a table's action may be used.
    Scope {
        /// In entries and as the default action.
        TableAndDefault = 0 "TABLE_AND_DEFAULT",
        /// In entries (`@tableonly`).
        TableOnly = 1 "TABLE_ONLY",
        /// As the default action (`@defaultonly`).
        DefaultOnly = 2 "DEFAULT_ONLY",
    }
}

message! {
    /// An action with its data.
    TableActionCall {
        /// Action.
        1 "action_id" action_id: u32,
        /// Data.
        4 "arguments" arguments: Vec<Argument>,
    }
}

message! {
    /// The value of an action's parameter.
    Argument {
        /// Number of the parameter.
        2 "param_id" param_id: u32,
        /// Value, the most significant byte first, as many bytes as the width needs.
        3 "value" value: Bytes,
    }
}

message! {
    /// An action.
    Action {
        /// Id and names.
        1 "preamble" preamble: Preamble,
        /// Action data.
        2 "params" params: Vec<Param>,
    }
}

message! {
    /// A parameter of an action.
    Param {
        /// Number within the action.
        1 "id" id: u32,
        /// Name.
        2 "name" name: String,
        /// Annotations.
        3 "annotations" annotations: Vec<String>,
        /// Width in bits; 0 when the control plane sees a string.
        4 "bitwidth" bitwidth: i32,
        /// Description.
        5 "doc" doc: Option<Documentation>,
        /// Its type, if the program defines it.
        6 "type_name" type_name: Option<P4NamedType>,
        /// Structured annotations.
        7 "structured_annotations" structured_annotations: Vec<StructuredAnnotation>,
        /// Places of `annotations`.
        8 "annotation_locations" annotation_locations: Vec<SourceLocation>,
    }
}

message! {
    /// An action profile, or an action selector.
    ActionProfile {
        /// Id and names.
        1 "preamble" preamble: Preamble,
        /// Tables that use it.
        2 "table_ids" table_ids: Vec<u32>,
        /// Whether it is a selector.
        3 "with_selector" with_selector: bool,
        /// Number of members, or what `selector_size_semantics` says.
        4 "size" size: i64,
        /// Largest group; 0 without a selector.
        5 "max_group_size" max_group_size: i32,
        /// Whether members of groups may not have weights.
        8 "weights_disallowed" weights_disallowed: bool,
        oneof
        /// What `size` and `max_group_size` count.
        selector_size_semantics: SelectorSizeSemantics,
    }
}

oneof! {
    /// What a selector's sizes count.
    SelectorSizeSemantics {
        /// Weights.
        6 "sum_of_weights" SumOfWeights(SumOfWeights),
        /// Members.
        7 "sum_of_members" SumOfMembers(SumOfMembers),
    }
}

message! {
    /// Sizes count weights.
    SumOfWeights {}
}

message! {
    /// Sizes count members.
    SumOfMembers {
        /// The largest weight of one member.
        1 "max_member_weight" max_member_weight: i32,
    }
}
