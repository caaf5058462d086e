//! What controllers wrote that packets do not need, but readers want back.
//!
//! Reads answer with what was written: metadata of entries, one-shot groups in the form in which they came, ports that
//! are down now, configurations of digests. A clone shares everything with its original, so that a batch that fails is
//! undone by putting the clone back.

use crate::schema::Schema;
use forebay_pipeline::Pipeline;
use forebay_protocol::p4::v1::{
    ActionProfileActionSet, ActionProfileGroup, ActionProfileMember, CloneSessionEntry, MulticastGroupEntry,
    digest_entry,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Members and groups that one-shots make have numbers from here on. Those of controllers may be the same: a selector
/// has either one-shots or members and groups of a controller.
const FIRST_HIDDEN: u32 = 0x8000_0000;
const HIDDEN_COUNT: u32 = u32::MAX - FIRST_HIDDEN;

/// There may be twice as many notes as entries, and this many more, before those of expired entries are removed.
const SPARE: usize = 1024;

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// By table id and [`forebay_pipeline::Record::id`]; entries without any notes are left out.
    entries: BTreeMap<u32, Arc<HashMap<u64, EntryNotes>>>,
    /// By table id.
    defaults: Arc<BTreeMap<u32, EntryNotes>>,
    /// By profile and member id, without those of one-shots.
    members: Arc<BTreeMap<(u32, u32), ActionProfileMember>>,
    /// By profile and group id, without those of one-shots.
    groups: Arc<BTreeMap<(u32, u32), ActionProfileGroup>>,
    /// Entries with one-shots by profile.
    one_shots: BTreeMap<u32, u64>,
    multicast_groups: Arc<BTreeMap<u32, MulticastGroupEntry>>,
    clone_sessions: Arc<BTreeMap<u32, CloneSessionEntry>>,
    digests: Arc<BTreeMap<u32, digest_entry::Config>>,
    /// How many of the numbers for one-shots were used since the first one was used last.
    hidden: u32,
    /// Numbers that one-shots had then.
    in_use: Arc<HashSet<u32>>,
}

/// Notes of a table entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct EntryNotes {
    pub(crate) metadata: Vec<u8>,
    pub(crate) controller_metadata: u64,
    pub(crate) one_shot: Option<OneShot>,
}

/// The group of an action selector that belongs to one entry.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OneShot {
    /// As it was written.
    pub(crate) set: ActionProfileActionSet,
    /// What stands for it in the profile.
    pub(crate) group: u32,
    /// One for each action of the set.
    pub(crate) members: Vec<u32>,
}

macro_rules! maps {
    ($($(#[$doc:meta])* $field:ident, $change:ident: $key:ty => $value:ty;)*) => {$(
        $(#[$doc])*
        pub(crate) fn $field(&self) -> &BTreeMap<$key, $value> {
            &self.$field
        }

        /// The same, to be changed.
        pub(crate) fn $change(&mut self) -> &mut BTreeMap<$key, $value> {
            Arc::make_mut(&mut self.$field)
        }
    )*};
}

impl Ledger {
    maps! {
        /// Members by profile and number.
        members, members_mut: (u32, u32) => ActionProfileMember;
        /// Groups by profile and number.
        groups, groups_mut: (u32, u32) => ActionProfileGroup;
        /// Multicast groups.
        multicast_groups, multicast_groups_mut: u32 => MulticastGroupEntry;
        /// Clone sessions.
        clone_sessions, clone_sessions_mut: u32 => CloneSessionEntry;
        /// Digests that are sent.
        digests, digests_mut: u32 => digest_entry::Config;
    }

    /// The notes of an entry.
    pub(crate) fn entry(&self, table: u32, id: u64) -> Option<&EntryNotes> {
        self.entries.get(&table)?.get(&id)
    }

    /// Replaces the notes of an entry.
    pub(crate) fn set_entry(&mut self, table: u32, id: u64, notes: EntryNotes) {
        if notes == EntryNotes::default() {
            self.take_entry(table, id);
            return;
        }
        Arc::make_mut(self.entries.entry(table).or_default()).insert(id, notes);
    }

    /// Removes the notes of an entry.
    pub(crate) fn take_entry(&mut self, table: u32, id: u64) -> Option<EntryNotes> {
        let notes = self.entries.get_mut(&table)?;
        if !notes.contains_key(&id) {
            return None;
        }
        Arc::make_mut(notes).remove(&id)
    }

    /// Removes the notes of entries that have expired, when there are many. Only tables that delete idle entries can
    /// have such notes.
    pub(crate) fn tidy(&mut self, schema: &Schema, pipeline: &Pipeline) {
        for (table, notes) in &mut self.entries {
            let Some(index) = schema.tables.get(table).map(|table| table.index) else {
                continue;
            };
            if notes.len() <= SPARE || !pipeline.deletes_idle(index) {
                continue;
            }
            if notes.len() > 2 * pipeline.entry_count(index) + SPARE {
                Arc::make_mut(notes).retain(|entry, _| pipeline.idle_time(index, *entry).is_some());
            }
        }
    }

    /// The notes of a default entry.
    pub(crate) fn default_entry(&self, table: u32) -> Option<&EntryNotes> {
        self.defaults.get(&table)
    }

    /// Replaces the notes of a default entry.
    pub(crate) fn set_default_entry(&mut self, table: u32, notes: EntryNotes) {
        Arc::make_mut(&mut self.defaults).insert(table, notes);
    }

    /// Removes the notes of a default entry: it is as if no controller had written it.
    pub(crate) fn take_default_entry(&mut self, table: u32) {
        Arc::make_mut(&mut self.defaults).remove(&table);
    }

    /// All one-shots, for changes of ports: table, entry, group.
    pub(crate) fn one_shots(&self) -> impl Iterator<Item = (u32, &OneShot)> {
        let notes = self
            .entries
            .iter()
            .flat_map(|(table, notes)| notes.values().map(move |notes| (*table, notes)));
        notes.filter_map(|(table, notes)| Some((table, notes.one_shot.as_ref()?)))
    }

    /// Whether entries of the profile's tables have one-shots.
    pub(crate) fn has_one_shots(&self, profile: u32) -> bool {
        self.one_shots.get(&profile).is_some_and(|count| *count > 0)
    }

    /// Whether the profile has members that a controller has numbered.
    pub(crate) fn has_members(&self, profile: u32) -> bool {
        self.members.range((profile, 0)..=(profile, u32::MAX)).next().is_some()
    }

    /// Whether the profile has groups that a controller has numbered.
    pub(crate) fn has_groups(&self, profile: u32) -> bool {
        self.groups.range((profile, 0)..=(profile, u32::MAX)).next().is_some()
    }

    /// Counts one-shots of a profile.
    pub(crate) fn count_one_shot(&mut self, profile: u32, change: i64) {
        let count = self.one_shots.entry(profile).or_default();
        *count = count.saturating_add_signed(change);
    }

    /// Numbers for the group and the members of a one-shot, which no other one-shot has. When all were used once, those
    /// that are free are used again.
    pub(crate) fn take_hidden(&mut self, count: usize) -> Vec<u32> {
        let numbers = self.next_hidden(count);
        if numbers.len() == count {
            return numbers;
        }
        let one_shots = self.one_shots().map(|(_, one_shot)| one_shot);
        let used = one_shots.flat_map(|one_shot| one_shot.members.iter().chain([&one_shot.group]));
        self.in_use = Arc::new(used.copied().collect());
        self.hidden = 0;
        self.next_hidden(count)
    }

    fn next_hidden(&mut self, count: usize) -> Vec<u32> {
        let ahead = (self.hidden..HIDDEN_COUNT).map(|number| FIRST_HIDDEN + number);
        let free = ahead.filter(|number| !self.in_use.contains(number));
        let numbers: Vec<u32> = free.take(count).collect();
        if let Some(last) = numbers.last() {
            self.hidden = last - FIRST_HIDDEN + 1;
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_shots_keep_their_numbers_when_all_were_used_once() {
        let mut ledger = Ledger::default();
        let take = |ledger: &mut Ledger, entry| {
            let numbers = ledger.take_hidden(3);
            let one_shot = OneShot {
                set: ActionProfileActionSet::default(),
                group: numbers[0],
                members: numbers[1..].to_vec(),
            };
            let notes = EntryNotes {
                one_shot: Some(one_shot),
                ..EntryNotes::default()
            };
            ledger.set_entry(1, entry, notes);
            numbers
        };
        let mut numbers = take(&mut ledger, 1);
        let given_back = take(&mut ledger, 2);
        ledger.take_entry(1, 2);
        ledger.hidden = HIDDEN_COUNT - 2;
        for entry in 3..6 {
            numbers.extend(take(&mut ledger, entry));
        }
        assert_eq!(numbers[3..6], given_back);
        let distinct: HashSet<&u32> = numbers.iter().collect();
        assert_eq!(distinct.len(), numbers.len(), "{numbers:x?}");
    }
}
