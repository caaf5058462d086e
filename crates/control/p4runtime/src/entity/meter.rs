//! Meter arrays and what configures a meter (P4Runtime §9.4).

use super::counter::indices;
use super::direct::{check_counts, counter_data, counter_value};
use super::modify_only;
use crate::change::{Change, Later};
use crate::schema::{MeterSchema, Schema, find};
use crate::status::Error;
use forebay_ir::Unit;
use forebay_pipeline::{ColorCounts, MeterRates, Pipeline, TokenRate};
use forebay_protocol::p4::config::v1::meter_spec::Type as MeterType;
use forebay_protocol::p4::v1::entity::Entity;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{CounterData, Index, MeterConfig, MeterCounterData, MeterEntry};

/// Configures one element, or all when no index is given; without a configuration it is always green.
pub(crate) fn write(change: &mut Change<'_, '_>, how: Type, entry: &MeterEntry) -> Result<(), Error> {
    let meter = find(&change.schema.meters, entry.meter_id, "meter")?;
    modify_only(how, &format!("meter `{}`", meter.name))?;
    let indices = indices(&meter.name, meter.size, entry.index.as_ref())?;
    if let Some(config) = &entry.config {
        check_config(&meter.name, meter.kind, config)?;
    }
    let colours = entry
        .counter_data
        .iter()
        .flat_map(|data| [&data.green, &data.yellow, &data.red]);
    colours
        .filter(|_| !change.writer.writes_again)
        .try_for_each(|counts| check_counts(&meter.name, counts.as_ref()))?;
    change.later.push(Later::Meter {
        name: meter.name.clone(),
        indices: indices.clone(),
        rates: configured(entry.config.as_ref()),
    });
    if let Some(data) = &entry.counter_data {
        change.later.push(Later::MeterCounts {
            name: meter.name.clone(),
            indices,
            counts: counts_of(data),
        });
    }
    Ok(())
}

/// What a meter has counted of each colour, as the pipeline holds it.
pub(crate) fn counts_of(data: &MeterCounterData) -> ColorCounts {
    let value = |data: &Option<CounterData>| counter_value(&data.unwrap_or_default());
    ColorCounts {
        green: value(&data.green),
        yellow: value(&data.yellow),
        red: value(&data.red),
    }
}

/// What a meter has counted of each colour, as the protocol says it.
pub(crate) fn counter_data_of(counts: ColorCounts) -> MeterCounterData {
    let data = |value| Some(counter_data(value, Unit::PacketsAndBytes));
    MeterCounterData {
        green: data(counts.green),
        yellow: data(counts.yellow),
        red: data(counts.red),
    }
}

/// Whether a configuration suits a meter of this type.
///
/// # Errors
/// `INVALID_ARGUMENT` when it does not, `UNIMPLEMENTED` for an excess burst.
pub(crate) fn check_config(name: &str, kind: MeterType, config: &MeterConfig) -> Result<(), Error> {
    let invalid = |problem: &str| Err(Error::invalid(format!("`{name}`: {problem}")));
    if is_default(config) {
        return Ok(());
    }
    let values = [config.cir, config.cburst, config.pir, config.pburst, config.eburst];
    if values.iter().any(|value| *value < 0) {
        return invalid("rates and bursts are not negative; without a configuration packets are green");
    }
    let millionths = [config.forebay_cir_millionths, config.forebay_pir_millionths];
    if millionths.iter().any(|millionths| *millionths >= 1_000_000) {
        return invalid("a rate has less than 1000000 millionths");
    }
    let MeterRates {
        committed_rate,
        committed_burst,
        peak_rate,
        peak_burst,
    } = rates_of(config);
    if committed_rate > peak_rate {
        return invalid("the committed rate is above the peak rate");
    }
    let has_one_rate = (committed_rate, committed_burst) == (peak_rate, peak_burst);
    match kind {
        MeterType::TwoRateThreeColor if config.eburst != 0 => invalid("a meter with two rates has no excess burst"),
        MeterType::SingleRateTwoColor if config.eburst != 0 || !has_one_rate => {
            invalid("a meter with one rate and two colours has equal rates, equal bursts and no excess burst")
        }
        MeterType::SingleRateThreeColor if !has_one_rate => {
            invalid("a meter with one rate has equal rates and equal bursts")
        }
        MeterType::SingleRateThreeColor if config.eburst != 0 => Err(Error::unimplemented(format!(
            "`{name}`: excess bursts: the switch's meters have two rates and two bursts"
        ))),
        _ => Ok(()),
    }
}

/// What an entity configures; none where packets are always green.
pub(crate) fn configured(config: Option<&MeterConfig>) -> Option<MeterRates> {
    config.filter(|config| !is_default(config)).map(rates_of)
}

/// Whether a configuration is PI's form of none: -1 in all places.
fn is_default(config: &MeterConfig) -> bool {
    [config.cir, config.cburst, config.pir, config.pburst] == [-1; 4] && config.eburst == 0
}

/// The rates as the pipeline holds them.
fn rates_of(config: &MeterConfig) -> MeterRates {
    let rate = |per_second: i64, millionths| TokenRate {
        per_second: per_second as u64,
        millionths,
    };
    MeterRates {
        committed_rate: rate(config.cir, config.forebay_cir_millionths),
        committed_burst: config.cburst as u64,
        peak_rate: rate(config.pir, config.forebay_pir_millionths),
        peak_burst: config.pburst as u64,
    }
}

/// The rates as the protocol says them.
pub(crate) fn config_of(rates: MeterRates) -> MeterConfig {
    MeterConfig {
        cir: rates.committed_rate.per_second as i64,
        cburst: rates.committed_burst as i64,
        pir: rates.peak_rate.per_second as i64,
        pburst: rates.peak_burst as i64,
        eburst: 0,
        forebay_cir_millionths: rates.committed_rate.millionths,
        forebay_pir_millionths: rates.peak_rate.millionths,
    }
}

/// Elements of one meter or of all.
pub(crate) fn read(
    schema: &Schema,
    pipeline: &Pipeline,
    wanted: &MeterEntry,
    sink: &mut dyn FnMut(Entity),
) -> Result<(), Error> {
    if wanted.meter_id == 0 {
        let all = MeterEntry { index: None, ..*wanted };
        let mut meters = schema.meters.iter();
        meters.try_for_each(|(id, meter)| read_one(pipeline, *id, meter, &all, sink))
    } else {
        let meter = find(&schema.meters, wanted.meter_id, "meter")?;
        read_one(pipeline, wanted.meter_id, meter, wanted, sink)
    }
}

fn read_one(
    pipeline: &Pipeline,
    id: u32,
    meter: &MeterSchema,
    wanted: &MeterEntry,
    sink: &mut dyn FnMut(Entity),
) -> Result<(), Error> {
    for index in indices(&meter.name, meter.size, wanted.index.as_ref())? {
        let rates = pipeline.meter_rates(&meter.name, index)?;
        let counts = match wanted.counter_data {
            Some(_) => Some(pipeline.meter_counts(&meter.name, index)?),
            None => None,
        };
        sink(Entity::MeterEntry(MeterEntry {
            meter_id: id,
            index: Some(Index { index: index as i64 }),
            config: rates.map(config_of),
            counter_data: counts.map(counter_data_of),
        }));
    }
    Ok(())
}
