//! A program in place of another, with the state that both have (P4Runtime §14, `RECONCILE_AND_COMMIT`).
//!
//! What controllers have written to the old program is written to the new one, entity by entity, as if a controller did
//! so. What the new program has no place for makes the whole fail: nothing is lost silently. Entries that packets have
//! added follow, as far as the new program has a place for them.

use crate::change::Writer;
use crate::entity;
use crate::entity::meter::counts_of;
use crate::forwarding::Forwarding;
use crate::learned::Learned;
use crate::ports::Ports;
use crate::roles::{self, RoleConfig};
use crate::schema::{RegisterSchema, TableSchema};
use crate::status::{Code, Error};
use forebay_bits::Bits;
use forebay_ir::TableEntry as TableEntryOfProgram;
use forebay_pipeline::{ColorCounts, Entry, EntryAction};
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::packet_replication_engine_entry::Type as Replication;
use forebay_protocol::p4::v1::table_action::Type as ActionType;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::write_request::Atomicity;
use forebay_protocol::p4::v1::{
    ActionProfileGroup, ActionProfileMember, CloneSessionEntry, CounterData, CounterEntry, DigestEntry,
    DirectCounterEntry, DirectMeterEntry, Entity, MeterConfig, MeterCounterData, MeterEntry, MulticastGroupEntry,
    PacketReplicationEngineEntry, TableEntry, Update, ValueSetEntry,
};
use std::collections::BTreeMap;

/// Writes the state of `old` to `new`, which has none yet.
///
/// # Errors
/// `INVALID_ARGUMENT` when the new program has no place for something; the message says for what.
pub(crate) fn carry_over(old: &Forwarding, new: &mut Forwarding, ports: &Ports, now_ns: u64) -> Result<(), Error> {
    let updates = state(old, &initial_registers(old, new));
    for update in &updates {
        check_meaning(old, new, update).map_err(|error| lost(old, update, &error))?;
    }
    let writer = Writer {
        role: &RoleConfig::default(),
        ports,
        now_ns,
        writes_again: true,
        is_bound: old.config.p4info != new.config.p4info,
        is_bmv2: true,
    };
    remove_deleted(old, new)?;
    for (name, dictionary) in old.schema.dictionaries() {
        let width = |forwarding: &Forwarding| forwarding.schema.types.translations.width(name);
        // Packets may have stored the numbers.
        if let Some(same) = new.schema.dictionaries().get(name)
            && width(old) == width(new)
        {
            let strings = dictionary.all().into_iter();
            strings.for_each(|(number, text)| same.set(number, text));
        }
    }
    let mut write = |update: &Update| {
        let results = new.write(std::slice::from_ref(update), Atomicity::ContinueOnError, writer);
        results.into_iter().collect::<Result<(), Error>>()
    };
    for mut update in updates {
        let mut done = write(&update);
        if done.as_ref().is_err_and(|error| error.code == Code::AlreadyExists) {
            // An entry that the new program begins with.
            update.r#type = Type::Modify as i32;
            done = write(&update);
        }
        done.map_err(|error| lost(old, &update, &error))?;
    }
    if let Some(learned) = Learned::of(&old.pipeline, true) {
        learned.add_to(&new.pipeline, now_ns, true);
    }
    Ok(())
}

/// Removes entries that both programs begin with and a controller has deleted.
fn remove_deleted(old: &Forwarding, new: &Forwarding) -> Result<(), Error> {
    let (before, after) = (old.pipeline.program(), new.pipeline.program());
    for table in new.schema.tables.values() {
        let Some(same) = old.schema.tables.values().find(|same| same.name == table.name) else {
            continue;
        };
        let began = &before.tables[same.index.index()].entries;
        for entry in &after.tables[table.index.index()].entries {
            let is_same = |other: &TableEntryOfProgram| {
                other.matches == entry.matches && other.priority == entry.priority && !other.is_const
            };
            let is_deleted = || old.pipeline.record(same.index, &entry.matches, entry.priority).is_err();
            if !entry.is_const && began.iter().any(is_same) && is_deleted() {
                new.pipeline.delete_entry(&table.name, &entry.matches, entry.priority)?;
            }
        }
    }
    Ok(())
}

/// What is said when the new program has no place for something.
fn lost(old: &Forwarding, update: &Update, error: &Error) -> Error {
    let entity = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
    let id = entity.and_then(roles::object);
    let owner = id.and_then(|id| old.schema.describe(id));
    let owner = owner.map_or(String::new(), |owner| {
        format!("what {owner} holds has no place in the new program: ")
    });
    Error::invalid(format!("the forwarding state cannot be kept: {owner}{error}"))
}

/// A table that means something else in the new program cannot keep its entries, even if they would fit.
fn check_meaning(old: &Forwarding, new: &Forwarding, update: &Update) -> Result<(), Error> {
    let Some(Kind::TableEntry(entry)) = update.entity.as_ref().and_then(|entity| entity.entity.as_ref()) else {
        return Ok(());
    };
    let (before, after) = (old.schema.table(entry.table_id)?, new.schema.table(entry.table_id)?);
    let key = |table: &TableSchema| -> Vec<(String, i32, u32)> {
        let fields = table.fields.iter();
        fields
            .map(|field| (field.name.clone(), field.kind as i32, field.value.width))
            .collect()
    };
    if key(before) == key(after) {
        Ok(())
    } else {
        Err(Error::invalid("its key has changed"))
    }
}

/// Whether a default action is another than the program says.
fn is_default_changed(old: &Forwarding, table: &TableSchema) -> bool {
    let program = old.pipeline.program();
    let declared = &program.tables[table.index.index()];
    let listed = declared.actions[declared.default_action.action as usize].action;
    let initial = EntryAction::Call {
        action: program.actions[listed.index()].name.clone(),
        args: declared.default_action.args.clone(),
    };
    old.pipeline
        .default_action(&table.name)
        .is_ok_and(|present| present != initial)
}

/// Updates that make anew what controllers have written, those first that others name. What counters, meters and
/// registers hold from the beginning is left out: of registers these values, by id.
fn state(old: &Forwarding, initial: &BTreeMap<u32, Bits>) -> Vec<Update> {
    let mut updates = Vec::new();
    for wanted in everything() {
        let wanted = Entity { entity: Some(wanted) };
        let read = old.read_written(&wanted, &mut |entity| {
            if is_written(&entity) {
                updates.extend(updates_of(old, entity));
            }
        });
        debug_assert_eq!(read, Ok(()), "everything can be read");
    }
    for (id, register) in &old.schema.registers {
        let written = |index, value: Bits| {
            if initial.get(id) != Some(&value) {
                let entry = entity::register::entry(&old.schema, (*id, register), index, &value);
                updates.push(update(Type::Modify, Kind::RegisterEntry(entry)));
            }
        };
        let read = old.pipeline.each_register_element(&register.name, written);
        debug_assert_eq!(read, Ok(()), "everything can be read");
    }
    updates
}

/// False for value sets, counters and meters that hold what they begin with.
fn is_written(entity: &Kind) -> bool {
    match entity {
        Kind::ValueSetEntry(entry) => !entry.members.is_empty(),
        Kind::CounterEntry(entry) => entry.data != Some(CounterData::default()),
        Kind::MeterEntry(entry) => entry.config.is_some() || has_counted(entry.counter_data.as_ref()),
        _ => true,
    }
}

/// Updates that bring the program, loaded anew and [cleared](clear), to its present state.
pub(crate) fn changes(forwarding: &Forwarding) -> Vec<Update> {
    state(forwarding, &initial_registers(forwarding, forwarding))
}

/// What each register of the old program holds in the beginning, in the new one if that has the register too.
fn initial_registers(old: &Forwarding, new: &Forwarding) -> BTreeMap<u32, Bits> {
    let initial = |forwarding: &Forwarding, name: &str| {
        let declared = forwarding.pipeline.program().registers.iter();
        let mut named = declared.filter(|register| register.name == name);
        named.next().map(|register| register.initial.clone())
    };
    let of_both = |(id, register): (&u32, &RegisterSchema)| {
        let before = initial(old, &register.name)?;
        let after = initial(new, &register.name).unwrap_or_else(|| before.clone());
        Some((*id, after))
    };
    old.schema.registers.iter().filter_map(of_both).collect()
}

/// Removes the entries that a program begins with, but for const ones.
pub(crate) fn clear(forwarding: &Forwarding) -> Result<(), Error> {
    for table in forwarding.schema.tables.values() {
        let records = forwarding.pipeline.records(table.index);
        for record in records.into_iter().filter(|record| !record.is_const) {
            let Entry { matches, priority, .. } = record.entry;
            forwarding.pipeline.delete_entry(&table.name, &matches, priority)?;
        }
    }
    Ok(())
}

/// Requests that read everything that can be written.
fn everything() -> Vec<Kind> {
    let replication = |kind| Kind::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type: Some(kind) });
    vec![
        replication(Replication::MulticastGroupEntry(MulticastGroupEntry::default())),
        replication(Replication::CloneSessionEntry(CloneSessionEntry::default())),
        Kind::ValueSetEntry(ValueSetEntry::default()),
        Kind::DigestEntry(DigestEntry::default()),
        Kind::CounterEntry(CounterEntry::default()),
        Kind::MeterEntry(MeterEntry {
            counter_data: Some(MeterCounterData::default()),
            ..MeterEntry::default()
        }),
        Kind::ActionProfileMember(ActionProfileMember::default()),
        Kind::ActionProfileGroup(ActionProfileGroup::default()),
        Kind::TableEntry(with_resources(false)),
        Kind::TableEntry(with_resources(true)),
    ]
}

/// A request that reads all entries, or all default entries, with their counters and meters.
fn with_resources(is_default_action: bool) -> TableEntry {
    TableEntry {
        is_default_action,
        counter_data: Some(CounterData::default()),
        meter_config: Some(MeterConfig::default()),
        meter_counter_data: Some(MeterCounterData::default()),
        ..TableEntry::default()
    }
}

/// The updates that write an entity as it was read; none for what the program itself says.
fn updates_of(old: &Forwarding, entity: Kind) -> Vec<Update> {
    match entity {
        Kind::TableEntry(entry) => entry_updates(old, entry),
        Kind::ValueSetEntry(_) | Kind::CounterEntry(_) | Kind::MeterEntry(_) => {
            vec![update(Type::Modify, entity)]
        }
        _ => vec![update(Type::Insert, entity)],
    }
}

fn update(how: Type, entity: Kind) -> Update {
    Update {
        r#type: how as i32,
        entity: Some(Entity { entity: Some(entity) }),
    }
}

/// The entry itself, if the program does not bring it, and its counter and meter where they cannot be written with it.
fn entry_updates(old: &Forwarding, mut entry: TableEntry) -> Vec<Update> {
    let counts = entry.meter_counter_data.take();
    entry.counter_data = entry.counter_data.filter(|data| *data != CounterData::default());
    let key = TableEntry {
        table_id: entry.table_id,
        r#match: entry.r#match.clone(),
        priority: entry.priority,
        is_default_action: entry.is_default_action,
        ..TableEntry::default()
    };
    let (counter_data, config) = (entry.counter_data, entry.meter_config);
    let is_written = if entry.is_default_action {
        is_default_written(old, &entry)
    } else {
        !entry.is_const
    };
    let counter = Kind::DirectCounterEntry(DirectCounterEntry {
        table_entry: Some(key.clone()),
        data: counter_data,
    });
    let meter = Kind::DirectMeterEntry(DirectMeterEntry {
        table_entry: Some(key),
        config,
        counter_data: counts,
    });
    let mut updates = Vec::new();
    if is_written {
        let how = if entry.is_default_action {
            Type::Modify
        } else {
            Type::Insert
        };
        updates.push(update(how, Kind::TableEntry(entry)));
    } else if counter_data.is_some() {
        updates.push(update(Type::Modify, counter));
    }
    if (!is_written && config.is_some()) || has_counted(counts.as_ref()) {
        updates.push(update(Type::Modify, meter));
    }
    updates
}

/// Whether a controller has written a default entry.
fn is_default_written(old: &Forwarding, entry: &TableEntry) -> bool {
    let Some(table) = old.schema.tables.get(&entry.table_id) else {
        return false;
    };
    let has_notes = old.ledger.default_entry(table.id).is_some();
    // With an action profile it can only be reset, or be a member or a group.
    let action = entry.action.as_ref().and_then(|action| action.r#type.as_ref());
    let is_action = matches!(action, Some(ActionType::Action(_)));
    let is_writable = !table.default_is_const && (table.profile.is_none() || !is_action);
    is_writable && (has_notes || is_default_changed(old, table))
}

fn has_counted(data: Option<&MeterCounterData>) -> bool {
    data.is_some_and(|data| counts_of(data) != ColorCounts::default())
}
