//! Register arrays (P4Runtime §9.7).

use super::counter::indices;
use super::modify_only;
use crate::change::{Change, Later};
use crate::data;
use crate::schema::{RegisterSchema, Schema, find};
use crate::status::Error;
use forebay_bits::Bits;
use forebay_pipeline::Pipeline;
use forebay_protocol::p4::v1::entity::Entity;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{Index, RegisterEntry};

/// Sets one element, or all when no index is given.
pub(crate) fn write(change: &mut Change<'_, '_>, how: Type, entry: &RegisterEntry) -> Result<(), Error> {
    let register = find(&change.schema.registers, entry.register_id, "register")?;
    let what = format!("register `{}`", register.name);
    modify_only(how, &what)?;
    let indices = indices(&register.name, register.size, entry.index.as_ref())?;
    let given = entry
        .data
        .as_ref()
        .ok_or_else(|| Error::invalid(format!("{what}: there is no data")))?;
    let mut numbers = Vec::new();
    data::read(&change.schema.types, &register.spec, given, &what, &mut numbers)?;
    let joined = numbers.iter().fold(None, |joined: Option<Bits>, number| {
        Some(joined.map_or_else(|| number.clone(), |joined| Bits::concat(&joined, number)))
    });
    let value = joined.filter(|value| value.width() <= register.width);
    let value = value.ok_or_else(|| Error::invalid(format!("{what}: the data is not of its type")))?;
    change.later.push(Later::Register {
        name: register.name.clone(),
        indices,
        value: value.zext(register.width),
    });
    Ok(())
}

/// Elements of one register or of all.
pub(crate) fn read(
    schema: &Schema,
    pipeline: &Pipeline,
    wanted: &RegisterEntry,
    sink: &mut dyn FnMut(Entity),
) -> Result<(), Error> {
    if wanted.register_id == 0 {
        let mut registers = schema.registers.iter();
        registers.try_for_each(|(id, register)| read_one(schema, pipeline, *id, register, None, sink))
    } else {
        let register = find(&schema.registers, wanted.register_id, "register")?;
        read_one(
            schema,
            pipeline,
            wanted.register_id,
            register,
            wanted.index.as_ref(),
            sink,
        )
    }
}

fn read_one(
    schema: &Schema,
    pipeline: &Pipeline,
    id: u32,
    register: &RegisterSchema,
    index: Option<&Index>,
    sink: &mut dyn FnMut(Entity),
) -> Result<(), Error> {
    for index in indices(&register.name, register.size, index)? {
        let value = pipeline.read_register(&register.name, index)?;
        sink(Entity::RegisterEntry(entry(schema, (id, register), index, &value)));
    }
    Ok(())
}

/// An element as it is read.
pub(crate) fn entry(
    schema: &Schema,
    (id, register): (u32, &RegisterSchema),
    index: u64,
    value: &Bits,
) -> RegisterEntry {
    RegisterEntry {
        register_id: id,
        index: Some(Index { index: index as i64 }),
        data: data::write_joined(&schema.types, &register.spec, value),
    }
}
