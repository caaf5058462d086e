//! The register of annotations that have a meaning: what stands in their brackets, and where they may stand.
//!
//! The parser reads the bodies of these as expressions; the bodies of all others stay lists of tokens. The checker
//! computes the expressions and reports a known annotation at a place where it could have no effect. An annotation that
//! is not listed means nothing here and may contain anything.
//!
//! [`TABLE_PROPERTIES`] lists the properties of tables.

use std::fmt;

/// What stands in an annotation's brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Nothing: the annotation itself says everything.
    Nothing,
    /// One string.
    Text,
    /// Strings, at least one, no two alike.
    Texts,
    /// One integer, between these bounds.
    Number(i64, i64),
    /// Integers, at least one, between these bounds.
    Numbers(i64, i64),
    /// `key = value, ...`, where each value has the type that the key's row says.
    Pairs(&'static [(&'static str, Pair)]),
    /// A URI, and `bit<W>`, a width or `string`.
    Translation,
    /// The name of a match kind; read as tokens.
    MatchKind,
    /// A constraint in quotation marks; read as tokens.
    Constraint,
    /// Anything; the annotation has no effect here, but its name belongs to P4's tools.
    Free,
}

/// The type of a value in [`Body::Pairs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pair {
    /// A string.
    Text,
    /// An integer from 0 to 2^31 - 1.
    Number,
}

/// What an annotation stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A constant.
    Constant,
    /// A variable.
    Variable,
    /// An instance.
    Instance,
    /// An error or match kind declaration.
    Members,
    /// A struct.
    Struct,
    /// A header.
    Header,
    /// A header union.
    HeaderUnion,
    /// A field of one of these.
    Field,
    /// A `typedef`.
    Typedef,
    /// A `type`.
    NewType,
    /// An enum.
    Enum,
    /// A function.
    Function,
    /// An action.
    Action,
    /// An extern object.
    Extern,
    /// A method of an extern object.
    Method,
    /// A parser.
    Parser,
    /// A control.
    Control,
    /// A package.
    Package,
    /// A parameter.
    Parameter,
    /// A state of a parser.
    State,
    /// A value set.
    ValueSet,
    /// A table.
    Table,
    /// An element of a table's key.
    Key,
    /// An action in a table's list.
    ActionReference,
    /// An entry of a table.
    Entry,
    /// Another property of a table.
    Property,
    /// A block of statements.
    Block,
    /// A loop.
    Loop,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Place::Constant => "a constant",
            Place::Variable => "a variable",
            Place::Instance => "an instance",
            Place::Members => "a list of names",
            Place::Struct => "a struct",
            Place::Header => "a header",
            Place::HeaderUnion => "a header union",
            Place::Field => "a field",
            Place::Typedef => "a typedef",
            Place::NewType => "a `type` declaration",
            Place::Enum => "an enum",
            Place::Function => "a function",
            Place::Action => "an action",
            Place::Extern => "an extern",
            Place::Method => "a method",
            Place::Parser => "a parser",
            Place::Control => "a control",
            Place::Package => "a package",
            Place::Parameter => "a parameter",
            Place::State => "a parser state",
            Place::ValueSet => "a value set",
            Place::Table => "a table",
            Place::Key => "an element of a table's key",
            Place::ActionReference => "an action in a table's list",
            Place::Entry => "an entry of a table",
            Place::Property => "a property of a table",
            Place::Block => "a block",
            Place::Loop => "a loop",
        })
    }
}

/// One annotation.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// What stands in its brackets.
    pub body: Body,
    /// Where it has an effect; empty if it may stand anywhere.
    pub places: &'static [Place],
}

impl Known {
    /// Whether it has an effect there.
    pub fn belongs_on(&self, place: Place) -> bool {
        self.places.is_empty() || self.places.contains(&place)
    }
}

const MAX_SIZE: i64 = i32::MAX as i64;

/// Keys of `@pkginfo` (P4Runtime specification, "PkgInfo").
const PKGINFO: &[(&str, Pair)] = &[
    ("name", Pair::Text),
    ("version", Pair::Text),
    ("arch", Pair::Text),
    ("organization", Pair::Text),
    ("contact", Pair::Text),
    ("url", Pair::Text),
];

/// Keys of `@platform_property`.
const PLATFORM: &[(&str, Pair)] = &[
    ("multicast_group_table_size", Pair::Number),
    ("multicast_group_table_total_replicas", Pair::Number),
    ("multicast_group_table_max_replicas_per_entry", Pair::Number),
];

/// Objects, and parts of objects, that have a number in P4Runtime.
const NUMBERED: &[Place] = &[
    Place::Table,
    Place::Action,
    Place::Instance,
    Place::ValueSet,
    Place::Key,
    Place::Parameter,
    Place::Field,
    Place::Header,
    Place::Struct,
    Place::Property,
    Place::Control,
    Place::Parser,
    Place::Extern,
];

/// Action profiles and selectors: instances, or constructor calls in a property of a table.
const PROFILES: &[Place] = &[Place::Instance, Place::Property];

/// Ten years.
const MAX_EXPIRE_SECONDS: i64 = 315_360_000;

/// The table.
pub const KNOWN: &[Known] = &[
    // The language (P4_16 specification, "Annotations").
    known("name", Body::Text, &[]),
    known("deprecated", Body::Text, &[]),
    known("noWarn", Body::Text, &[]),
    known("hidden", Body::Nothing, &[]),
    known("atomic", Body::Nothing, &[]),
    known("pure", Body::Nothing, &[]),
    known("noSideEffects", Body::Nothing, &[]),
    known("optional", Body::Nothing, &[]),
    known("tableonly", Body::Nothing, &[Place::ActionReference]),
    known("defaultonly", Body::Nothing, &[Place::ActionReference]),
    known("match", Body::MatchKind, &[Place::Field]),
    // Of v1model.
    known("field_list", Body::Numbers(0, 255), &[Place::Field]),
    known("priority", Body::Number(0, u32::MAX as i64), &[Place::Entry]),
    // P4Runtime. A program may describe itself in any place; what stands on `main` counts.
    known("id", Body::Number(0, u32::MAX as i64), NUMBERED),
    known("brief", Body::Text, &[]),
    known("description", Body::Text, &[]),
    known("controller_header", Body::Text, &[Place::Header]),
    known("pkginfo", Body::Pairs(PKGINFO), &[]),
    known("platform_property", Body::Pairs(PLATFORM), &[]),
    known("p4runtime_translation", Body::Translation, &[Place::NewType]),
    known("max_group_size", Body::Number(0, MAX_SIZE), PROFILES),
    known("max_member_weight", Body::Number(0, MAX_SIZE), PROFILES),
    known("selector_size_semantics", Body::Text, PROFILES),
    known("weights_disallowed", Body::Nothing, PROFILES),
    known("entry_restriction", Body::Constraint, &[Place::Table]),
    known("action_restriction", Body::Constraint, &[Place::Action]),
    // PNA and forebay.p4.
    known("expire_seconds", Body::Numbers(0, MAX_EXPIRE_SECONDS), &[Place::Table]),
    // Forebay: names of the elements of a counter array, in their order.
    known("element_names", Body::Texts, &[Place::Instance]),
    // Without effect here.
    known("alias", Body::Free, &[]),
    known("command_line", Body::Free, &[]),
    known("deparser", Body::Free, &[]),
    known("disable_optimization", Body::Free, &[]),
    known("format", Body::Free, &[]),
    known("length", Body::Free, &[]),
    known("likely", Body::Free, &[]),
    known("unlikely", Body::Free, &[]),
    known("metadata", Body::Free, &[]),
    known("nounroll", Body::Free, &[]),
    known("unroll", Body::Free, &[]),
    known("p4runtime_role", Body::Free, &[]),
    known("p4runtime_translation_mappings", Body::Free, &[]),
    known("pipeline", Body::Free, &[]),
    known("pragma", Body::Free, &[]),
    known("proto_id", Body::Free, &[]),
    known("refers_to", Body::Free, &[]),
    known("referenced_by", Body::Free, &[]),
    known("synchronous", Body::Free, &[]),
    known("unsupported", Body::Free, &[]),
];

const fn known(name: &'static str, body: Body, places: &'static [Place]) -> Known {
    Known { name, body, places }
}

/// The row of an annotation.
pub fn find(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}

/// The known name that a name is probably meant to be: one that differs by case or by one letter.
pub fn probably_meant(name: &str) -> Option<&'static str> {
    let close = |known: &&Known| {
        known.name.eq_ignore_ascii_case(name)
            || name.len() >= 5 && crate::diagnostic::edit_distance(known.name, name) == 1
    };
    let found = KNOWN.iter().find(close)?;
    (found.name != name).then_some(found.name)
}

/// Properties of tables: those of the language, then those of architectures.
pub const TABLE_PROPERTIES: &[&str] = &[
    "key",
    "actions",
    "default_action",
    "entries",
    "size",
    "largest_priority_wins",
    "priority_delta",
    // Of v1model.
    "implementation",
    "counters",
    "meters",
    "support_timeout",
    // Of PSA.
    "psa_implementation",
    "psa_direct_counter",
    "psa_direct_meter",
    "psa_idle_timeout",
    "psa_empty_group_action",
    // Of PNA.
    "pna_implementation",
    "pna_direct_counter",
    "pna_direct_meter",
    "pna_idle_timeout",
    "pna_empty_group_action",
    "add_on_miss",
    "default_idle_timeout_for_data_plane",
    "default_idle_timeout_for_data_plane_added_entries",
    "idle_timeout_with_auto_delete",
    // Of Tofino.
    "alpm",
    "atcam",
    "dynamic_key_mask",
    "filters",
    "hash_action",
    "idle_timeout",
    "proxy_hash",
    "registers",
    "requires_versioning",
    // Of DPDK's back end.
    "n_groups_max",
    "n_members_per_group_max",
    "selector",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_unique() {
        for (index, row) in KNOWN.iter().enumerate() {
            assert!(
                KNOWN[..index].iter().all(|other| other.name != row.name),
                "{}",
                row.name
            );
        }
    }

    #[test]
    fn misspellings_are_near_a_name() {
        assert_eq!(probably_meant("defaultOnly"), Some("defaultonly"));
        assert_eq!(probably_meant("field_lists"), Some("field_list"));
        assert_eq!(probably_meant("field_list"), None);
        assert_eq!(probably_meant("ids"), None);
        assert_eq!(probably_meant("sai_acl"), None);
    }
}
