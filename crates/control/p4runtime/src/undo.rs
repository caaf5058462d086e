//! Batches that are done as a whole or not at all, without copies of tables.
//!
//! `ROLLBACK_ON_ERROR` (§12.2) lets packets see a part of a batch. Its updates are done one after the other in the
//! tables that packets look up, and undone when a later one fails. That costs as much as the updates; a batch that
//! packets see at once costs a copy of every table that it touches
//! ([`Pipeline::atomically`](forebay_pipeline::Pipeline::atomically)).
//!
//! * Insertions and modifications of entries can be undone.
//! * Deletions cannot, since the counters of an entry would begin anew. They are checked first and done when all else
//!   has succeeded, which is the same where the rest of the batch is about other entries.
//! * Writes to counters, meters and registers follow at the end of any batch ([`Later`]).
//!
//! A batch with anything else, or one that fails, is left to the copies: nothing has changed, and they find the errors.

use crate::change::{Change, Later, Writer};
use crate::entity::{self, table_entry};
use crate::forwarding::{Forwarding, begin};
use crate::ledger::EntryNotes;
use crate::schema::{Schema, TableSchema};
use forebay_ir::TableId;
use forebay_pipeline::{Pipeline, Record};
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{TableEntry, Update};
use std::collections::HashSet;

/// What an update has done.
enum Done<'a> {
    Inserted(&'a TableSchema, Record),
    Modified(&'a TableSchema, Record, Option<EntryNotes>),
}

/// Entries that a batch deletes.
type Deleted = HashSet<(TableId, u64)>;

/// Does a batch. Returns false when nothing was done, and the batch is to be tried with copies.
pub(crate) fn write(forwarding: &mut Forwarding, updates: &[Update], writer: Writer<'_>) -> bool {
    let Forwarding {
        schema,
        ledger,
        pipeline,
        timers,
        ..
    } = forwarding;
    let (schema, pipeline): (&Schema, &Pipeline) = (schema, pipeline);
    let has_deletions = updates.iter().any(|update| update.r#type() == Type::Delete);
    let may = |update: &Update| {
        is_suitable(schema, pipeline, update, has_deletions) && writer.role.check_write(update, schema).is_ok()
    };
    if !updates.iter().all(may) {
        return false;
    }
    let mut later: Vec<Later> = Vec::new();
    let is_done = pipeline.batch(|batch| {
        let mut change = Change {
            schema,
            writer,
            ledger,
            timers,
            batch,
            later: &mut later,
        };
        let Some(deleted) = deletions(&change, updates) else {
            return false;
        };
        let mut done = Vec::new();
        let (last, first): (Vec<&Update>, Vec<&Update>) =
            updates.iter().partition(|update| update.r#type() == Type::Delete);
        for update in first {
            if write_one(&mut change, update, &deleted, &mut done).is_none() {
                undo(&mut change, done);
                return false;
            }
        }
        for update in last {
            begin(schema, update);
            let written = entity::write(&mut change, update);
            debug_assert!(written.is_ok(), "deletions were checked before");
        }
        true
    });
    if is_done {
        later.into_iter().for_each(|later| later.apply(pipeline));
    }
    is_done
}

/// Whether an update is of a kind that can be undone, or need not be.
fn is_suitable(schema: &Schema, pipeline: &Pipeline, update: &Update, has_deletions: bool) -> bool {
    let kind = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
    match kind {
        Some(Kind::TableEntry(entry)) => schema.table(entry.table_id).is_ok_and(|table| {
            // The time of an entry's last packet would begin anew, and one that packets have added would stay the
            // controller's.
            let keeps_time = !table.supports_timeout && !pipeline.deletes_idle(table.index);
            !entry.is_default_action && table.profile.is_none() && (update.r#type() == Type::Insert || keeps_time)
        }),
        Some(Kind::CounterEntry(_) | Kind::MeterEntry(_) | Kind::RegisterEntry(_)) => true,
        // The batch may have deleted their entry before.
        Some(Kind::DirectCounterEntry(_) | Kind::DirectMeterEntry(_)) => !has_deletions,
        _ => false,
    }
}

/// The entries that are to be deleted; none when one of the deletions may fail.
fn deletions(change: &Change<'_, '_>, updates: &[Update]) -> Option<Deleted> {
    let mut deleted = Deleted::new();
    for update in updates.iter().filter(|update| update.r#type() == Type::Delete) {
        let entry = table_entry_of(update)?;
        begin(change.schema, update);
        let (table, record) = find(change, entry)?;
        let is_free = !record.is_const && !entry.is_const && !change.batch.has_partner(table.index, record.id);
        if !is_free || !deleted.insert((table.index, record.id)) {
            return None;
        }
    }
    Some(deleted)
}

/// Does an update that is no deletion; none when it fails, or when its entry is to be deleted.
fn write_one<'a>(
    change: &mut Change<'a, '_>,
    update: &Update,
    deleted: &Deleted,
    done: &mut Vec<Done<'a>>,
) -> Option<()> {
    begin(change.schema, update);
    let Some(entry) = table_entry_of(update) else {
        return entity::write(change, update).ok();
    };
    if update.r#type() == Type::Insert {
        entity::write(change, update).ok()?;
        let (table, record) = find(change, entry)?;
        done.push(Done::Inserted(table, record));
        return Some(());
    }
    let (table, record) = find(change, entry)?;
    if deleted.contains(&(table.index, record.id)) {
        return None;
    }
    let notes = change.ledger.entry(table.id, record.id).cloned();
    entity::write(change, update).ok()?;
    if !record.is_const {
        done.push(Done::Modified(table, record, notes));
    }
    Some(())
}

fn table_entry_of(update: &Update) -> Option<&TableEntry> {
    match update.entity.as_ref()?.entity.as_ref()? {
        Kind::TableEntry(entry) => Some(entry),
        _ => None,
    }
}

fn find<'a>(change: &Change<'a, '_>, entry: &TableEntry) -> Option<(&'a TableSchema, Record)> {
    let table = change.schema.table(entry.table_id).ok()?;
    Some((table, table_entry::find(change, table, entry).ok()?))
}

/// Undoes updates, the last one first.
fn undo(change: &mut Change<'_, '_>, done: Vec<Done<'_>>) {
    for one in done.into_iter().rev() {
        let undone = match one {
            Done::Inserted(table, record) => {
                change.ledger.take_entry(table.id, record.id);
                let Record { entry, .. } = record;
                change.batch.delete_entry(&table.name, &entry.matches, entry.priority)
            }
            Done::Modified(table, record, notes) => {
                change.ledger.set_entry(table.id, record.id, notes.unwrap_or_default());
                change.batch.modify_record(table.index, &record.entry, record.idle)
            }
        };
        debug_assert_eq!(undone, Ok(()), "what was there before can be there again");
    }
}
