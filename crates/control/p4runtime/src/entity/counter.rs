//! Counter arrays (P4Runtime §9.3.2).

use super::direct::{check_counts, counter_data, counter_value};
use super::modify_only;
use crate::change::{Change, Later};
use crate::schema::{CounterSchema, Schema, find};
use crate::status::Error;
use forebay_pipeline::Pipeline;
use forebay_protocol::p4::v1::entity::Entity;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{CounterEntry, Index};

/// Sets one element, or all when no index is given.
pub(crate) fn write(change: &mut Change<'_, '_>, how: Type, entry: &CounterEntry) -> Result<(), Error> {
    let counter = find(&change.schema.counters, entry.counter_id, "counter")?;
    modify_only(how, &format!("counter `{}`", counter.name))?;
    let indices = indices(&counter.name, counter.size, entry.index.as_ref())?;
    check_counts(&counter.name, entry.data.as_ref())?;
    if let Some(data) = &entry.data {
        change.later.push(Later::Counter {
            name: counter.name.clone(),
            indices,
            value: counter_value(data),
        });
    }
    Ok(())
}

/// The elements that an index means: all when there is none.
///
/// # Errors
/// `INVALID_ARGUMENT` when it is negative, `OUT_OF_RANGE` when the array has no such element.
pub(crate) fn indices(name: &str, size: u64, index: Option<&Index>) -> Result<std::ops::Range<u64>, Error> {
    match index.map(|index| index.index) {
        None => Ok(0..size),
        Some(..=-1) => Err(Error::invalid(format!("`{name}`: an index is not negative"))),
        Some(index) if (index as u64) < size => Ok(index as u64..index as u64 + 1),
        Some(index) => Err(Error::out_of_range(format!(
            "`{name}` has {size} elements, so there is no index {index}"
        ))),
    }
}

/// Elements of one counter or of all.
pub(crate) fn read(
    schema: &Schema,
    pipeline: &Pipeline,
    wanted: &CounterEntry,
    sink: &mut dyn FnMut(Entity),
) -> Result<(), Error> {
    if wanted.counter_id == 0 {
        schema
            .counters
            .iter()
            .try_for_each(|(id, counter)| read_one(pipeline, *id, counter, None, sink))
    } else {
        let counter = find(&schema.counters, wanted.counter_id, "counter")?;
        read_one(pipeline, wanted.counter_id, counter, wanted.index.as_ref(), sink)
    }
}

fn read_one(
    pipeline: &Pipeline,
    id: u32,
    counter: &CounterSchema,
    index: Option<&Index>,
    sink: &mut dyn FnMut(Entity),
) -> Result<(), Error> {
    for index in indices(&counter.name, counter.size, index)? {
        let value = pipeline.read_counter(&counter.name, index)?;
        sink(Entity::CounterEntry(CounterEntry {
            counter_id: id,
            index: Some(Index { index: index as i64 }),
            data: Some(counter_data(value, counter.unit)),
        }));
    }
    Ok(())
}
