//! What packets request from tables: lists of messages, and how the words of a message become those of an entry.

use super::Hold;
use forebay_bits::Bits;
use forebay_exec::DigestRequest;
use forebay_ir::{DigestId, Program, Recipient, TableId};
use forebay_tables::{ActionCall, Key, Placement, Table};
use std::ops::Range;

/// What the packets of a session request from tables, in order. The memory of a list is reused.
#[derive(Debug, Default)]
pub(crate) struct LearnedList {
    items: Vec<Learned>,
    /// The values of messages, of each value the least significant word first.
    words: Vec<u64>,
}

/// A request of a list.
#[derive(Clone, Debug)]
pub(super) enum Learned {
    /// A message to a table, a pool or a quota, with the place of its words.
    Request(DigestId, Range<usize>),
    /// Something that a packet has taken and that belongs to no entry.
    Taken(Hold),
    /// The following requests belong to another packet.
    PacketEnds,
}

impl LearnedList {
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Adds a message with the words of its values.
    pub(crate) fn request(&mut self, digest: DigestId, values: impl IntoIterator<Item = u64>) {
        let first = self.words.len();
        self.words.extend(values);
        self.items.push(Learned::Request(digest, first..self.words.len()));
    }

    pub(crate) fn request_values(&mut self, request: &DigestRequest) {
        self.request(request.digest, request.values.iter().flat_map(Bits::limbs));
    }

    pub(crate) fn end_packet(&mut self) {
        self.items.push(Learned::PacketEnds);
    }

    pub(super) fn taken(&mut self, holds: Vec<Hold>) {
        self.items.extend(holds.into_iter().map(Learned::Taken));
    }

    pub(super) fn items(&self) -> &[Learned] {
        &self.items
    }

    pub(super) fn words(&self, place: &Range<usize>) -> &[u64] {
        &self.words[place.clone()]
    }

    pub(super) fn clear(&mut self) {
        self.items.clear();
        self.words.clear();
    }
}

/// How the words of a message become entries.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) entry: EntryPlan,
    /// The other entry of a pair.
    pub(super) reverse: Option<EntryPlan>,
    /// The number of the expiry profile.
    profile: Value,
}

/// How the words of a message become the key and the record of an entry.
#[derive(Debug)]
pub(super) struct EntryPlan {
    pub(super) table: TableId,
    key: Box<[(Value, Placement)]>,
    record: Box<[(Value, Placement)]>,
    key_words: usize,
    record_words: usize,
    /// The index of its action.
    action: (u64, Placement),
}

/// A value of a message: its words.
type Value = Range<usize>;

/// The values of a message, one after another.
struct Values<'a> {
    widths: std::slice::Iter<'a, (String, u32)>,
    next: usize,
}

impl Values<'_> {
    fn take(&mut self) -> Option<Value> {
        let (_, width) = self.widths.next()?;
        let first = self.next;
        self.next += width.div_ceil(u64::BITS) as usize;
        Some(first..self.next)
    }
}

impl Plan {
    /// The plan for a message; `None` when it is for no table, or its action may not be used in entries.
    pub(super) fn of(program: &Program, tables: &[Table], digest: DigestId) -> Option<Plan> {
        let declared = &program.digests[digest.index()];
        let mut values = Values {
            widths: declared.fields.iter(),
            next: 0,
        };
        let mut plan =
            |table: TableId, action| EntryPlan::of(program, &tables[table.index()], (table, action), &mut values);
        let (entry, reverse) = match declared.to {
            Recipient::Controller | Recipient::Number { .. } | Recipient::Share { .. } => return None,
            Recipient::NewTimeout { table } => (plan(table, None)?, None),
            Recipient::NewEntry { table, action } => (plan(table, Some(action))?, None),
            Recipient::NewPair {
                table,
                action,
                reverse,
                reverse_action,
            } => (plan(table, Some(action))?, Some(plan(reverse, Some(reverse_action))?)),
        };
        Some(Plan {
            entry,
            reverse,
            profile: values.take()?,
        })
    }

    /// The number of the expiry profile.
    pub(super) fn profile(&self, words: &[u64]) -> u64 {
        words[self.profile.clone()].first().copied().unwrap_or(0)
    }
}

impl EntryPlan {
    /// The plan for an entry with the table's action of this index; without one, for its key alone.
    fn of(
        program: &Program,
        table: &Table,
        (id, action): (TableId, Option<u32>),
        values: &mut Values<'_>,
    ) -> Option<EntryPlan> {
        let (keys, records) = (table.view().key_layout(), table.view().record_layout());
        let mut placed = |places: &mut dyn Iterator<Item = Placement>| {
            let placed = places.map(|place| Some((values.take()?, place)));
            placed.collect::<Option<Box<[_]>>>()
        };
        let key = placed(&mut keys.places().iter().copied().flatten())?;
        let (index, record) = match action {
            None => (0, Box::default()),
            Some(action) => {
                let listed = program.tables[id.index()].actions[action as usize].action;
                let spec = &table.spec().actions;
                let index = spec.iter().position(|spec| spec.id.0 == listed.0)?;
                let zeros = spec[index].parameter_widths.iter().map(|width| Bits::zero(*width));
                table
                    .check_entry_call(&ActionCall::new(spec[index].id, zeros.collect()))
                    .ok()?;
                (index, placed(&mut records.data(index).iter().copied())?)
            }
        };
        Some(EntryPlan {
            table: id,
            key,
            record,
            key_words: keys.words(),
            record_words: records.words(),
            action: (index as u64, records.action()),
        })
    }

    /// The words of the key.
    pub(super) fn key(&self, words: &[u64]) -> Key {
        let mut key = Key::from_elem(0, self.key_words);
        put_all(&self.key, words, &mut key);
        key
    }

    /// The words of the record, without a slot.
    pub(super) fn record(&self, words: &[u64]) -> Key {
        let mut record = Key::from_elem(0, self.record_words);
        let (action, place) = self.action;
        place.put_words(&mut record, &[action]);
        put_all(&self.record, words, &mut record);
        record
    }
}

fn put_all(placed: &[(Value, Placement)], words: &[u64], target: &mut [u64]) {
    for (value, place) in placed {
        place.put_words(target, &words[value.clone()]);
    }
}
