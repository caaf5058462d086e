//! What a P4Info says of a program that its JSON does not.

use forebay_ir::{MatchKind, Unit};
use std::collections::BTreeMap;

/// What is known of a program from its P4Info. Without one it is empty, and the JSON has to do: tables that p4c made
/// itself are known by their names, keys of match kind `optional` are taken for `ternary`, counters count packets and
/// bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Whether there is a P4Info: what it leaves out is not for controllers.
    pub is_given: bool,
    /// Tables that a controller sees, by name.
    pub tables: BTreeMap<String, KnownTable>,
    /// What counters count, by name, direct ones included.
    pub counters: BTreeMap<String, Unit>,
    /// Components of the elements of value sets, by name of the set.
    pub value_sets: BTreeMap<String, Vec<KnownField>>,
}

/// What is known of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownTable {
    /// Its match fields in order.
    pub fields: Vec<KnownField>,
    /// Whether its entries, if the program has any, cannot be changed.
    pub entries_are_const: bool,
}

/// What is known of a match field, or of a component of a value set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownField {
    /// Name.
    pub name: String,
    /// Match kind.
    pub match_kind: MatchKind,
}
