//! Ids of objects and numbers of fields, as p4c assigns them.
//!
//! An id has the object's type in its highest 8 bits and a hash of its full name (Jenkins, one at a time) in the rest.
//! First come the ids that `@id` requests, with or without the type; then the types in order of their number, and the
//! names of each in alphabetical order: where an id is taken, the hash is counted up until one is free.

use crate::alias::SuffixSet;
use crate::model::Preamble;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Types of objects that have ids: `P4Ids.Prefix`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SymbolKind {
    /// Action.
    Action,
    /// Table.
    Table,
    /// Parser value set.
    ValueSet,
    /// Header of packet-in or packet-out.
    ControllerHeader,
    /// Action profile or selector.
    ActionProfile,
    /// Indirect counter.
    Counter,
    /// Direct counter.
    DirectCounter,
    /// Indirect meter.
    Meter,
    /// Direct meter.
    DirectMeter,
    /// Register.
    Register,
    /// Digest.
    Digest,
    /// An extern type of an architecture, from 0x81 to 0xfe.
    Extern(u8),
}

impl SymbolKind {
    /// The highest 8 bits of ids.
    pub fn prefix(self) -> u8 {
        match self {
            SymbolKind::Action => 0x01,
            SymbolKind::Table => 0x02,
            SymbolKind::ValueSet => 0x03,
            SymbolKind::ControllerHeader => 0x04,
            SymbolKind::ActionProfile => 0x11,
            SymbolKind::Counter => 0x12,
            SymbolKind::DirectCounter => 0x13,
            SymbolKind::Meter => 0x14,
            SymbolKind::DirectMeter => 0x15,
            SymbolKind::Register => 0x16,
            SymbolKind::Digest => 0x17,
            SymbolKind::Extern(prefix) => prefix,
        }
    }
}

/// An `@id` that cannot be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdError {
    /// The highest 8 bits are those of another type.
    WrongPrefix {
        /// Object.
        name: String,
        /// The requested id.
        id: u32,
        /// What the highest 8 bits should be.
        expected: u8,
    },
    /// Another object has it.
    Duplicate {
        /// Object.
        name: String,
        /// The requested id, with the type.
        id: u32,
    },
    /// A field's number is 0.
    Zero,
    /// Two fields have one number.
    DuplicateField(u32),
    /// All ids of the type are taken.
    Exhausted(SymbolKind),
}

impl fmt::Display for IdError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IdError::WrongPrefix { name, id, expected } => {
                write!(
                    formatter,
                    "@id({id:#x}) of {name}: the highest 8 bits must be {expected:#04x}, or 0"
                )
            }
            IdError::Duplicate { name, id } => write!(formatter, "@id({id:#x}) of {name} is taken by another object"),
            IdError::Zero => write!(formatter, "@id(0) is not allowed"),
            IdError::DuplicateField(id) => write!(formatter, "@id({id}) is used twice"),
            IdError::Exhausted(kind) => write!(formatter, "no id is left for {kind:?}"),
        }
    }
}

impl std::error::Error for IdError {}

/// The objects of a program, to be numbered by [`SymbolTable::assign`].
#[derive(Clone, Debug, Default)]
pub struct SymbolTable {
    /// Objects and their ids, 0 for those to be numbered.
    ids: BTreeMap<SymbolKind, BTreeMap<String, u32>>,
    taken: BTreeSet<u32>,
    suffixes: SuffixSet,
    errors: Vec<IdError>,
}

impl SymbolTable {
    /// Without objects.
    pub fn new() -> Self {
        SymbolTable::default()
    }

    /// Adds an object, with the number of its `@id` if it has one. Adding it again changes nothing.
    pub fn add(&mut self, kind: SymbolKind, name: &str, user_id: Option<u32>) {
        if self.ids.get(&kind).is_some_and(|names| names.contains_key(name)) {
            return;
        }
        let id = user_id.map_or(0, |id| self.take(kind, name, id));
        self.ids.entry(kind).or_default().insert(name.to_owned(), id);
        self.suffixes.insert(name);
    }

    /// The id that the user requests; 0 if it cannot be given.
    fn take(&mut self, kind: SymbolKind, name: &str, id: u32) -> u32 {
        let prefix = u32::from(kind.prefix()) << 24;
        if id >> 24 != 0 && id >> 24 != u32::from(kind.prefix()) {
            self.errors.push(IdError::WrongPrefix {
                name: name.to_owned(),
                id,
                expected: kind.prefix(),
            });
            return 0;
        }
        let id = id | prefix;
        if !self.taken.insert(id) {
            self.errors.push(IdError::Duplicate {
                name: name.to_owned(),
                id,
            });
            return 0;
        }
        id
    }

    /// Gives every object an id.
    pub fn assign(mut self) -> Result<Symbols, Vec<IdError>> {
        for (kind, names) in &mut self.ids {
            for (name, id) in names.iter_mut().filter(|(_, id)| **id == 0) {
                match free_id(*kind, name, &self.taken) {
                    Some(free) => {
                        self.taken.insert(free);
                        *id = free;
                    }
                    None => self.errors.push(IdError::Exhausted(*kind)),
                }
            }
        }
        if self.errors.is_empty() {
            Ok(Symbols {
                ids: self.ids,
                suffixes: self.suffixes,
            })
        } else {
            Err(self.errors)
        }
    }
}

/// The first free id from the name's hash on.
fn free_id(kind: SymbolKind, name: &str, taken: &BTreeSet<u32>) -> Option<u32> {
    let hash = jenkins_one_at_a_time(name.as_bytes());
    let candidates = (0..1 << 24).map(|step| u32::from(kind.prefix()) << 24 | hash.wrapping_add(step) & 0xff_ffff);
    candidates.into_iter().find(|id| !taken.contains(id))
}

/// Bob Jenkins' hash "one at a time".
fn jenkins_one_at_a_time(bytes: &[u8]) -> u32 {
    let mut hash = 0u32;
    for byte in bytes {
        hash = hash.wrapping_add(u32::from(*byte));
        hash = hash.wrapping_add(hash << 10);
        hash ^= hash >> 6;
    }
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash.wrapping_add(hash << 15)
}

/// Objects with their ids and aliases.
#[derive(Clone, Debug)]
pub struct Symbols {
    ids: BTreeMap<SymbolKind, BTreeMap<String, u32>>,
    suffixes: SuffixSet,
}

impl Symbols {
    /// The id of an object.
    ///
    /// # Panics
    ///
    /// When it was not added.
    pub fn id(&self, kind: SymbolKind, name: &str) -> u32 {
        let id = self.ids.get(&kind).and_then(|names| names.get(name));
        *id.unwrap_or_else(|| panic!("{kind:?} {name} was added to the symbol table"))
    }

    /// The alias of a name.
    pub fn alias<'a>(&self, name: &'a str) -> &'a str {
        self.suffixes.alias(name)
    }

    /// A preamble with id, name and alias.
    ///
    /// # Panics
    ///
    /// When the object was not added.
    pub fn preamble(&self, kind: SymbolKind, name: &str) -> Preamble {
        Preamble {
            id: self.id(kind, name),
            name: name.to_owned(),
            alias: self.alias(name).to_owned(),
            ..Preamble::default()
        }
    }
}

/// Numbers of match fields, parameters or packet metadata, from the `@id`s that some have. The others get the smallest
/// free number that is not less than their place, counted from 1.
pub fn field_ids(user_ids: &[Option<u32>]) -> Result<Vec<u32>, IdError> {
    let mut taken = BTreeSet::new();
    for id in user_ids.iter().flatten() {
        if *id == 0 {
            return Err(IdError::Zero);
        }
        if !taken.insert(*id) {
            return Err(IdError::DuplicateField(*id));
        }
    }
    let mut next = 1;
    let mut ids = Vec::with_capacity(user_ids.len());
    for user_id in user_ids {
        let Some(id) = user_id else {
            while taken.contains(&next) {
                next += 1;
            }
            taken.insert(next);
            ids.push(next);
            continue;
        };
        next += 1;
        ids.push(*id);
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assigned(objects: &[(SymbolKind, &str, Option<u32>)]) -> Result<Symbols, Vec<IdError>> {
        let mut table = SymbolTable::new();
        objects.iter().for_each(|(kind, name, id)| table.add(*kind, name, *id));
        table.assign()
    }

    #[test]
    fn ids_are_those_of_p4c() {
        let symbols = assigned(&[
            (SymbolKind::Action, "NoAction", None),
            (SymbolKind::Table, "ingress.t", None),
        ])
        .unwrap();
        assert_eq!(symbols.id(SymbolKind::Action, "NoAction"), 21257015);
        assert_eq!(symbols.id(SymbolKind::Table, "ingress.t"), 34728461);
        assert_eq!(symbols.preamble(SymbolKind::Table, "ingress.t").alias, "t");
    }

    #[test]
    fn taken_ids_are_passed_over() {
        let hashed = 34728461;
        let symbols = assigned(&[
            (SymbolKind::Table, "ingress.t", None),
            (SymbolKind::Table, "a", Some(hashed)),
        ])
        .unwrap();
        assert_eq!(symbols.id(SymbolKind::Table, "ingress.t"), hashed + 1);
    }

    #[test]
    fn user_ids_may_lack_the_type() {
        let symbols = assigned(&[
            (SymbolKind::Table, "a", Some(5)),
            (SymbolKind::Table, "b", Some(0x0200_0006)),
        ])
        .unwrap();
        assert_eq!(symbols.id(SymbolKind::Table, "a"), 0x0200_0005);
        assert_eq!(symbols.id(SymbolKind::Table, "b"), 0x0200_0006);
    }

    #[test]
    fn impossible_user_ids_are_errors() {
        let errors = assigned(&[
            (SymbolKind::Table, "a", Some(0x0100_0005)),
            (SymbolKind::Table, "b", Some(7)),
            (SymbolKind::Table, "c", Some(0x0200_0007)),
        ])
        .unwrap_err();
        let messages: Vec<String> = errors.iter().map(IdError::to_string).collect();
        assert_eq!(
            messages,
            [
                "@id(0x1000005) of a: the highest 8 bits must be 0x02, or 0",
                "@id(0x2000007) of c is taken by another object"
            ]
        );
    }

    #[test]
    fn fields_are_numbered_from_one() {
        assert_eq!(field_ids(&[None, None]), Ok(vec![1, 2]));
        assert_eq!(field_ids(&[Some(2), None, None]), Ok(vec![2, 3, 4]));
        assert_eq!(field_ids(&[None, Some(1), None]), Ok(vec![2, 1, 3]));
        assert_eq!(field_ids(&[None, Some(7), None]), Ok(vec![1, 7, 2]));
        assert_eq!(field_ids(&[Some(0)]), Err(IdError::Zero));
        assert_eq!(field_ids(&[Some(3), Some(3)]), Err(IdError::DuplicateField(3)));
    }
}
