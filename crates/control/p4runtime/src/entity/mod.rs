//! The entities of P4Runtime, a file each: how they are written and read.

pub(crate) mod action;
pub(crate) mod counter;
pub(crate) mod digest;
pub(crate) mod direct;
pub(crate) mod group;
pub(crate) mod key;
pub(crate) mod member;
pub(crate) mod meter;
pub(crate) mod one_shot;
pub(crate) mod register;
pub(crate) mod replication;
pub(crate) mod table_entry;
pub(crate) mod table_read;
pub(crate) mod value_set;

use crate::change::Change;
use crate::status::Error;
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{Entity, Update};

/// Does one update. When it fails, nothing has changed.
pub(crate) fn write(change: &mut Change<'_, '_>, update: &Update) -> Result<(), Error> {
    let how = update.r#type();
    if how == Type::Unspecified {
        return Err(Error::invalid("an update must be an INSERT, a MODIFY or a DELETE"));
    }
    let Some(Entity { entity: Some(kind) }) = &update.entity else {
        return Err(Error::invalid("the update has no entity"));
    };
    match kind {
        Kind::TableEntry(entry) => table_entry::write(change, how, entry),
        Kind::ActionProfileMember(member) => member::write(change, how, member),
        Kind::ActionProfileGroup(group) => group::write(change, how, group),
        Kind::MeterEntry(entry) => meter::write(change, how, entry),
        Kind::DirectMeterEntry(entry) => direct::write_meter(change, how, entry),
        Kind::CounterEntry(entry) => counter::write(change, how, entry),
        Kind::DirectCounterEntry(entry) => direct::write_counter(change, how, entry),
        Kind::PacketReplicationEngineEntry(entry) => replication::write(change, how, entry),
        Kind::ValueSetEntry(entry) => value_set::write(change, how, entry),
        Kind::RegisterEntry(entry) => register::write(change, how, entry),
        Kind::DigestEntry(entry) => digest::write(change, how, entry),
        Kind::ExternEntry(_) => Err(no_extern()),
    }
}

/// Programs have externs only of the kinds that have entities of their own: counters, meters and so on.
pub(crate) fn no_extern() -> Error {
    Error::unimplemented("there are no externs beside counters, meters, registers, profiles and digests")
}

/// Entities that can only be modified.
fn modify_only(how: Type, what: &str) -> Result<(), Error> {
    match how {
        Type::Modify => Ok(()),
        _ => Err(Error::invalid(format!("{what} can only be modified"))),
    }
}
