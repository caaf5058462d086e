//! Meter arrays and what configures a meter (P4Runtime §9.4).

use super::counter::indices;
use super::modify_only;
use crate::change::{Change, Later};
use crate::schema::{MeterSchema, Schema, find};
use crate::status::Error;
use forebay_pipeline::{MeterRates, Pipeline};
use forebay_protocol::p4::config::v1::meter_spec::Type as MeterType;
use forebay_protocol::p4::v1::entity::Entity;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{Index, MeterConfig, MeterEntry};

/// Configures one element, or all when no index is given; without a configuration it is always green.
pub(crate) fn write(change: &mut Change<'_, '_>, how: Type, entry: &MeterEntry) -> Result<(), Error> {
    let meter = find(&change.schema.meters, entry.meter_id, "meter")?;
    modify_only(how, &format!("meter `{}`", meter.name))?;
    if entry.counter_data.is_some() {
        return Err(Error::unimplemented(format!(
            "`{}`: meters do not count by colour",
            meter.name
        )));
    }
    let indices = indices(&meter.name, meter.size, entry.index.as_ref())?;
    if let Some(config) = &entry.config {
        check_config(&meter.name, meter.kind, config)?;
    }
    change.later.extend(indices.map(|index| Later::Meter {
        name: meter.name.clone(),
        index,
        rates: entry.config.as_ref().map(rates_of),
    }));
    Ok(())
}

/// Whether a configuration suits a meter of this type.
///
/// # Errors
/// `INVALID_ARGUMENT` when it does not, `UNIMPLEMENTED` for an excess burst.
pub(crate) fn check_config(name: &str, kind: MeterType, config: &MeterConfig) -> Result<(), Error> {
    let invalid = |problem: &str| Err(Error::invalid(format!("`{name}`: {problem}")));
    let values = [config.cir, config.cburst, config.pir, config.pburst, config.eburst];
    if values.iter().any(|value| *value < 0) {
        return invalid("rates and bursts are not negative");
    }
    if config.cir > config.pir {
        return invalid("the committed rate is above the peak rate");
    }
    let has_one_rate = (config.pir, config.pburst) == (config.cir, config.cburst);
    match kind {
        MeterType::TwoRateThreeColor if config.eburst != 0 => invalid("a meter with two rates has no excess burst"),
        MeterType::SingleRateTwoColor if config.eburst != 0 || !has_one_rate => {
            invalid("a meter with one rate and two colours has equal rates, equal bursts and no excess burst")
        }
        MeterType::SingleRateThreeColor if !has_one_rate => {
            invalid("a meter with one rate has equal rates and equal bursts")
        }
        MeterType::SingleRateThreeColor if config.eburst != 0 => Err(Error::unimplemented(format!(
            "`{name}`: excess bursts; v1model's meters have two rates"
        ))),
        _ => Ok(()),
    }
}

/// The rates as the pipeline holds them.
pub(crate) fn rates_of(config: &MeterConfig) -> MeterRates {
    MeterRates {
        committed_rate: config.cir as u64,
        committed_burst: config.cburst as u64,
        peak_rate: config.pir as u64,
        peak_burst: config.pburst as u64,
    }
}

/// The rates as the protocol says them.
pub(crate) fn config_of(rates: MeterRates) -> MeterConfig {
    MeterConfig {
        cir: rates.committed_rate as i64,
        cburst: rates.committed_burst as i64,
        pir: rates.peak_rate as i64,
        pburst: rates.peak_burst as i64,
        eburst: 0,
    }
}

/// Elements of one meter or of all.
pub(crate) fn read(
    schema: &Schema,
    pipeline: &Pipeline,
    wanted: &MeterEntry,
    sink: &mut dyn FnMut(Entity),
) -> Result<(), Error> {
    if wanted.counter_data.is_some() {
        return Err(Error::unimplemented("meters do not count by colour"));
    }
    if wanted.meter_id == 0 {
        schema
            .meters
            .iter()
            .try_for_each(|(id, meter)| read_one(pipeline, *id, meter, None, sink))
    } else {
        let meter = find(&schema.meters, wanted.meter_id, "meter")?;
        read_one(pipeline, wanted.meter_id, meter, wanted.index.as_ref(), sink)
    }
}

fn read_one(
    pipeline: &Pipeline,
    id: u32,
    meter: &MeterSchema,
    index: Option<&Index>,
    sink: &mut dyn FnMut(Entity),
) -> Result<(), Error> {
    for index in indices(&meter.name, meter.size, index)? {
        let rates = pipeline.meter_rates(&meter.name, index)?;
        sink(Entity::MeterEntry(MeterEntry {
            meter_id: id,
            index: Some(Index { index: index as i64 }),
            config: rates.map(config_of),
            counter_data: None,
        }));
    }
    Ok(())
}
