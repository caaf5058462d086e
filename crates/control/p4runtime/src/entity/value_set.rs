//! Parser value sets (P4Runtime §9.6).

use super::{key, modify_only};
use crate::change::Change;
use crate::schema::{Schema, ValueSetSchema, find};
use crate::status::Error;
use forebay_pipeline::Pipeline;
use forebay_protocol::p4::v1::entity::Entity;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{ValueSetEntry, ValueSetMember};
use std::collections::HashSet;

/// Replaces all members.
pub(crate) fn write(change: &mut Change<'_, '_>, how: Type, entry: &ValueSetEntry) -> Result<(), Error> {
    let set = find(&change.schema.value_sets, entry.value_set_id, "value set")?;
    modify_only(how, &format!("value set `{}`", set.name))?;
    if entry.members.len() as u64 > set.size {
        return Err(Error::exhausted(format!(
            "value set `{}` has room for {} members",
            set.name, set.size
        )));
    }
    let mut elements = Vec::with_capacity(entry.members.len());
    let mut seen = HashSet::new();
    for member in &entry.members {
        let element = key::read_fields("value set", &set.name, &set.fields, &member.r#match)?;
        if !seen.insert(element.clone()) {
            return Err(Error::already_exists(format!(
                "value set `{}`: a member is given twice",
                set.name
            )));
        }
        elements.push(element);
    }
    Ok(change.batch.set_value_set(&set.name, &elements)?)
}

/// One set, or all.
pub(crate) fn read(
    schema: &Schema,
    pipeline: &Pipeline,
    wanted: &ValueSetEntry,
    sink: &mut dyn FnMut(Entity),
) -> Result<(), Error> {
    if wanted.value_set_id == 0 {
        schema
            .value_sets
            .iter()
            .try_for_each(|(id, set)| read_one(pipeline, *id, set, sink))
    } else {
        let set = find(&schema.value_sets, wanted.value_set_id, "value set")?;
        read_one(pipeline, wanted.value_set_id, set, sink)
    }
}

fn read_one(pipeline: &Pipeline, id: u32, set: &ValueSetSchema, sink: &mut dyn FnMut(Entity)) -> Result<(), Error> {
    let elements = pipeline.value_set(&set.name)?;
    let members = elements.iter().map(|element| ValueSetMember {
        r#match: key::write(&set.fields, element),
    });
    sink(Entity::ValueSetEntry(ValueSetEntry {
        value_set_id: id,
        members: members.collect(),
    }));
    Ok(())
}
