//! Entries that packets have added, to be kept over a restart or carried to another program: by names, with values of
//! their own widths, so that a program that has changed takes those that still mean the same.

use forebay_bits::Bits;
use forebay_ir::{ActionId, RegisterId, TableId};
use forebay_pipeline::{AdoptedEntry, Held, LearnedEntries, LearnedEntry, Pipeline};
use prost::Message;
use std::collections::{BTreeMap, HashMap};

/// See the [module](self).
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Learned {
    /// Names, to which entries refer by place.
    #[prost(string, repeated, tag = "1")]
    tables: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    actions: Vec<String>,
    #[prost(string, repeated, tag = "3")]
    registers: Vec<String>,
    #[prost(message, repeated, tag = "4")]
    groups: Vec<Group>,
}

/// Entries that end together.
#[derive(Clone, PartialEq, Message)]
struct Group {
    #[prost(message, repeated, tag = "1")]
    entries: Vec<Entry>,
    #[prost(message, repeated, tag = "2")]
    held: Vec<HeldNumber>,
    /// Entries that are a controller's by now.
    #[prost(message, repeated, tag = "3")]
    adopted: Vec<EntryName>,
}

/// What names an entry.
#[derive(Clone, PartialEq, Message)]
struct EntryName {
    #[prost(uint32, tag = "1")]
    table: u32,
    #[prost(message, repeated, tag = "2")]
    key: Vec<Value>,
}

#[derive(Clone, PartialEq, Message)]
struct Entry {
    #[prost(uint32, tag = "1")]
    table: u32,
    #[prost(message, repeated, tag = "2")]
    key: Vec<Value>,
    #[prost(uint32, tag = "3")]
    action: u32,
    #[prost(message, repeated, tag = "4")]
    args: Vec<Value>,
    #[prost(uint64, tag = "5")]
    timeout_ns: u64,
    #[prost(uint64, tag = "6")]
    idle_ns: u64,
}

#[derive(Clone, PartialEq, Message)]
struct Value {
    #[prost(uint32, tag = "1")]
    width: u32,
    #[prost(bytes = "vec", tag = "2")]
    bytes: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct HeldNumber {
    #[prost(uint32, tag = "1")]
    register: u32,
    #[prost(uint32, tag = "2")]
    number: u32,
}

impl Learned {
    /// All entries that packets have added, or only what is tied to those that controllers have changed; nothing when
    /// there are none.
    pub(crate) fn of(pipeline: &Pipeline, keeps_learned: bool) -> Option<Learned> {
        let learned = if keeps_learned {
            pipeline.learned()
        } else {
            pipeline.adopted()
        };
        if learned.is_empty() {
            return None;
        }
        let program = pipeline.program();
        Some(Learned {
            tables: program.tables.iter().map(|table| table.name.clone()).collect(),
            actions: program.actions.iter().map(|action| action.name.clone()).collect(),
            registers: program.registers.iter().map(|register| register.name.clone()).collect(),
            groups: learned.into_iter().map(Group::of).collect(),
        })
    }

    /// How many there are, by the names of their tables.
    pub(crate) fn by_table(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for entry in self.groups.iter().flat_map(|group| &group.entries) {
            let name = self.tables.get(entry.table as usize).cloned().unwrap_or_default();
            *counts.entry(name).or_default() += 1;
        }
        counts
    }

    /// Adds them to a pipeline that has none yet, or only ties what belongs to entries that controllers have changed.
    /// Those for which the program has no place are left out.
    pub(crate) fn add_to(&self, pipeline: &Pipeline, now_ns: u64, keeps_learned: bool) {
        let program = pipeline.program();
        let places = Places {
            tables: places(&self.tables, program.tables.iter().map(|table| &table.name)),
            actions: places(&self.actions, program.actions.iter().map(|action| &action.name)),
            registers: places(&self.registers, program.registers.iter().map(|register| &register.name)),
        };
        let mut groups: Vec<LearnedEntries> = self.groups.iter().filter_map(|group| group.at(&places)).collect();
        if !keeps_learned {
            groups.retain(|group| !group.adopted.is_empty());
            groups.iter_mut().for_each(|group| group.entries.clear());
        }
        pipeline.learn_again(&groups, now_ns);
    }
}

/// Where a program has what the names mean.
struct Places {
    tables: Vec<Option<u32>>,
    actions: Vec<Option<u32>>,
    registers: Vec<Option<u32>>,
}

fn places<'n>(wanted: &[String], names: impl Iterator<Item = &'n String>) -> Vec<Option<u32>> {
    let numbered: HashMap<&String, u32> = names.zip(0..).collect();
    wanted.iter().map(|name| numbered.get(name).copied()).collect()
}

/// The place of something that is referred to.
fn place(places: &[Option<u32>], index: u32) -> Option<u32> {
    places.get(index as usize).copied().flatten()
}

impl Group {
    fn of(learned: LearnedEntries) -> Group {
        let held = learned.held.iter().map(|held| HeldNumber {
            register: held.register.0,
            number: held.number,
        });
        Group {
            held: held.collect(),
            entries: learned.entries.into_iter().map(Entry::of).collect(),
            adopted: learned.adopted.into_iter().map(EntryName::of).collect(),
        }
    }

    fn at(&self, places: &Places) -> Option<LearnedEntries> {
        let held = self.held.iter().map(|held| {
            Some(Held {
                register: RegisterId(place(&places.registers, held.register)?),
                number: held.number,
            })
        });
        Some(LearnedEntries {
            held: held.collect::<Option<_>>()?,
            entries: self
                .entries
                .iter()
                .map(|entry| entry.at(places))
                .collect::<Option<_>>()?,
            adopted: self.adopted.iter().filter_map(|entry| entry.at(places)).collect(),
        })
    }
}

impl EntryName {
    fn of(entry: AdoptedEntry) -> EntryName {
        EntryName {
            table: entry.table.0,
            key: entry.key.iter().map(Value::of).collect(),
        }
    }

    fn at(&self, places: &Places) -> Option<AdoptedEntry> {
        Some(AdoptedEntry {
            table: TableId(place(&places.tables, self.table)?),
            key: self.key.iter().map(Value::bits).collect::<Option<_>>()?,
        })
    }
}

impl Entry {
    fn of(entry: LearnedEntry) -> Entry {
        Entry {
            table: entry.table.0,
            key: entry.key.iter().map(Value::of).collect(),
            action: entry.action.0,
            args: entry.args.iter().map(Value::of).collect(),
            timeout_ns: entry.timeout_ns,
            idle_ns: entry.idle_ns,
        }
    }

    fn at(&self, places: &Places) -> Option<LearnedEntry> {
        Some(LearnedEntry {
            table: TableId(place(&places.tables, self.table)?),
            key: self.key.iter().map(Value::bits).collect::<Option<_>>()?,
            action: ActionId(place(&places.actions, self.action)?),
            args: self.args.iter().map(Value::bits).collect::<Option<_>>()?,
            timeout_ns: self.timeout_ns,
            idle_ns: self.idle_ns,
        })
    }
}

impl Value {
    fn of(bits: &Bits) -> Value {
        Value {
            width: bits.width(),
            bytes: bits.to_bytes_be(),
        }
    }

    fn bits(&self) -> Option<Bits> {
        let is_whole = self.bytes.len() == self.width.div_ceil(8) as usize;
        is_whole.then(|| Bits::from_bytes_be(self.width, &self.bytes))
    }
}
