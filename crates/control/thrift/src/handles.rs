//! Handles of entries: the numbers by which BMv2 names them, where P4Runtime has their keys.
//!
//! The lowest free number is given; in its upper eight bits stands how often it was given before, so that the handle of
//! an entry that is gone does not mean the one in its place (`handle_mgr.h` of BMv2).

use forebay_protocol::p4::v1::TableEntry;
use prost::Message;
use std::collections::{BTreeSet, HashMap};

const INDEX_BITS: u32 = 24;

/// Why a handle means nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoEntry {
    /// No entry has this number.
    Invalid,
    /// Another entry has it by now.
    Expired,
}

/// The entries of a table by handle.
#[derive(Debug, Default)]
pub struct Handles {
    slots: Vec<Slot>,
    free: BTreeSet<u32>,
    by_key: HashMap<Vec<u8>, u32>,
}

#[derive(Debug)]
struct Slot {
    version: u8,
    key: Option<TableEntry>,
}

/// The part of an entry that names it.
pub fn key_of(entry: &TableEntry) -> TableEntry {
    let mut fields = entry.r#match.clone();
    fields.sort_by_key(|field| field.field_id);
    TableEntry {
        table_id: entry.table_id,
        r#match: fields,
        priority: entry.priority,
        ..TableEntry::default()
    }
}

impl Handles {
    /// The handle of an entry; a new one if it has none. None when there are too many.
    pub fn of(&mut self, entry: &TableEntry) -> Option<i32> {
        let key = key_of(entry);
        let encoded = key.encode_to_vec();
        if let Some(index) = self.by_key.get(&encoded) {
            return Some(self.handle(*index));
        }
        let index = match self.free.pop_first() {
            Some(index) => index,
            None if self.slots.len() < 1 << INDEX_BITS => {
                self.slots.push(Slot { version: 0, key: None });
                self.slots.len() as u32 - 1
            }
            None => return None,
        };
        self.slots[index as usize].key = Some(key);
        self.by_key.insert(encoded, index);
        Some(self.handle(index))
    }

    /// The key of the entry with this handle.
    ///
    /// # Errors
    /// When there is none.
    pub fn key(&self, handle: i32) -> Result<&TableEntry, NoEntry> {
        let index = handle as u32 & ((1 << INDEX_BITS) - 1);
        let slot = self.slots.get(index as usize).ok_or(NoEntry::Invalid)?;
        let key = slot.key.as_ref().ok_or(NoEntry::Invalid)?;
        if self.handle(index) == handle {
            Ok(key)
        } else {
            Err(NoEntry::Expired)
        }
    }

    /// The entry is gone.
    pub fn forget(&mut self, entry: &TableEntry) {
        if let Some(index) = self.by_key.remove(&key_of(entry).encode_to_vec()) {
            let slot = &mut self.slots[index as usize];
            slot.key = None;
            slot.version = slot.version.wrapping_add(1);
            self.free.insert(index);
        }
    }

    /// Forgets the entries that are not among these, and gives handles to those that have none.
    pub fn keep_only(&mut self, entries: &[TableEntry]) {
        let present: BTreeSet<Vec<u8>> = entries.iter().map(|entry| key_of(entry).encode_to_vec()).collect();
        let gone: Vec<TableEntry> = (self.slots.iter())
            .filter_map(|slot| slot.key.clone())
            .filter(|key| !present.contains(&key.encode_to_vec()))
            .collect();
        gone.iter().for_each(|key| self.forget(key));
        for entry in entries {
            let _ = self.of(entry);
        }
    }

    fn handle(&self, index: u32) -> i32 {
        (u32::from(self.slots[index as usize].version) << INDEX_BITS | index) as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(priority: i32) -> TableEntry {
        TableEntry {
            table_id: 1,
            priority,
            idle_timeout_ns: 5,
            ..TableEntry::default()
        }
    }

    #[test]
    fn the_lowest_number_is_given_again_with_another_version() {
        let mut handles = Handles::default();
        assert_eq!(handles.of(&entry(1)), Some(0));
        assert_eq!(handles.of(&entry(2)), Some(1));
        assert_eq!(handles.of(&entry(1)), Some(0), "an entry keeps its handle");
        handles.forget(&entry(1));
        assert_eq!(handles.key(0), Err(NoEntry::Invalid));
        assert_eq!(handles.of(&entry(3)), Some(1 << 24));
        assert_eq!(handles.key(0), Err(NoEntry::Expired));
        assert_eq!(handles.key(1 << 24).unwrap().priority, 3);
        assert_eq!(handles.key(2), Err(NoEntry::Invalid));
    }

    #[test]
    fn what_others_have_written_gets_handles_too() {
        let mut handles = Handles::default();
        handles.of(&entry(1));
        handles.keep_only(&[entry(2), entry(3)]);
        assert_eq!(handles.key(0), Err(NoEntry::Expired));
        assert_eq!(handles.of(&entry(2)), Some(1 << 24));
        assert_eq!(handles.of(&entry(3)), Some(1));
    }
}
