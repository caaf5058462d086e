//! Calls about counters, meters, registers and value sets.

use super::Answer;
use super::arguments::Arguments;
use crate::arrays::{Count, Rate};
use crate::codes::Failure;
use crate::runtime::Runtime;
use crate::switch::Switch;
use crate::wire::{Fields, Value};
use num_bigint::BigInt;

pub(super) fn call<S: Switch>(runtime: &mut Runtime<S>, method: &str, arguments: &Arguments) -> Option<Answer> {
    let nothing = |done: Result<(), Failure>| done.map(|()| None);
    Some(match method {
        "bm_counter_read" => read_counter(runtime, arguments),
        "bm_counter_write" => nothing(write_counter(runtime, arguments)),
        "bm_counter_reset_all" => nothing(
            arguments
                .text(2)
                .and_then(|name| runtime.write_counter(name, None, Count::default())),
        ),
        "bm_mt_read_counter" => read_direct_counter(runtime, arguments),
        "bm_mt_write_counter" => nothing(write_direct_counter(runtime, arguments)),
        "bm_mt_reset_counters" => nothing(arguments.text(2).and_then(|table| runtime.reset_direct_counters(table))),
        "bm_meter_get_rates" => rates(runtime, arguments),
        "bm_meter_set_rates" => nothing(set_rates(runtime, arguments)),
        "bm_meter_array_set_rates" => nothing(set_all_rates(runtime, arguments)),
        "bm_mt_get_meter_rates" => direct_rates(runtime, arguments),
        "bm_mt_set_meter_rates" => nothing(set_direct_rates(runtime, arguments)),
        "bm_register_read" => read_register(runtime, arguments),
        "bm_register_read_all" => read_registers(runtime, arguments),
        "bm_register_write" => nothing(write_register(runtime, arguments)),
        "bm_register_write_range" => nothing(write_registers(runtime, arguments)),
        "bm_register_reset" => nothing(
            arguments
                .text(2)
                .and_then(|name| runtime.write_register(name, None, &BigInt::ZERO)),
        ),
        "bm_parse_vset_add" => nothing(change_value(runtime, arguments, true)),
        "bm_parse_vset_remove" => nothing(change_value(runtime, arguments, false)),
        "bm_parse_vset_get" => values(runtime, arguments),
        "bm_parse_vset_clear" => nothing(arguments.text(2).and_then(|name| runtime.clear_values(name))),
        _ => return None,
    })
}

fn read_counter<S: Switch>(runtime: &Runtime<S>, arguments: &Arguments) -> Answer {
    let count = runtime.read_counter(arguments.text(2)?, arguments.i32(3)?)?;
    Ok(Some(written_count(count)))
}

fn write_counter<S: Switch>(runtime: &Runtime<S>, arguments: &Arguments) -> Result<(), Failure> {
    runtime.write_counter(arguments.text(2)?, Some(arguments.i32(3)?), arguments.count(4)?)
}

fn read_direct_counter<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Answer {
    let count = runtime.read_direct_counter(arguments.text(2)?, arguments.i32(3)?)?;
    Ok(Some(written_count(count)))
}

fn write_direct_counter<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Result<(), Failure> {
    runtime.write_direct_counter(arguments.text(2)?, arguments.i32(3)?, arguments.count(4)?)
}

/// `BmCounterValue`
fn written_count(count: Count) -> Value {
    let fields = Fields::default()
        .with(1, Value::I64(count.bytes))
        .with(2, Value::I64(count.packets));
    Value::Struct(fields)
}

fn rates<S: Switch>(runtime: &Runtime<S>, arguments: &Arguments) -> Answer {
    let rates = runtime.meter_rates(arguments.text(2)?, arguments.i32(3)?)?;
    Ok(Some(written_rates(&rates)))
}

fn set_rates<S: Switch>(runtime: &Runtime<S>, arguments: &Arguments) -> Result<(), Failure> {
    runtime.set_meter_rates(arguments.text(2)?, arguments.i32(3)?, &arguments.rates(4)?)
}

fn set_all_rates<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Result<(), Failure> {
    runtime.set_all_meter_rates(arguments.text(2)?, &arguments.rates(3)?)
}

fn direct_rates<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Answer {
    let rates = runtime.direct_meter_rates(arguments.text(2)?, arguments.i32(3)?)?;
    Ok(Some(written_rates(&rates)))
}

fn set_direct_rates<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Result<(), Failure> {
    runtime.set_direct_meter_rates(arguments.text(2)?, arguments.i32(3)?, &arguments.rates(4)?)
}

/// `list<BmMeterRateConfig>`
fn written_rates(rates: &[Rate]) -> Value {
    let rates = rates.iter().map(|rate| {
        let fields = Fields::default()
            .with(1, Value::Double(rate.per_microsecond))
            .with(2, Value::I32(rate.burst));
        Value::Struct(fields)
    });
    Value::List(rates.collect())
}

/// `BmRegisterValue` has 64 bits; of a wider element these are the lowest.
fn written_element(value: &BigInt) -> Value {
    let low = value & BigInt::from(u64::MAX);
    let digits = low.iter_u64_digits().next().unwrap_or(0);
    Value::I64(digits as i64)
}

fn read_register<S: Switch>(runtime: &Runtime<S>, arguments: &Arguments) -> Answer {
    let values = runtime.read_register(arguments.text(2)?, Some(arguments.i32(3)?))?;
    Ok(values.first().map(written_element))
}

fn read_registers<S: Switch>(runtime: &Runtime<S>, arguments: &Arguments) -> Answer {
    let values = runtime.read_register(arguments.text(2)?, None)?;
    Ok(Some(Value::List(values.iter().map(written_element).collect())))
}

fn write_register<S: Switch>(runtime: &Runtime<S>, arguments: &Arguments) -> Result<(), Failure> {
    let value = BigInt::from(arguments.i64(4)?);
    runtime.write_register(arguments.text(2)?, Some(arguments.i32(3)?), &value)
}

fn write_registers<S: Switch>(runtime: &Runtime<S>, arguments: &Arguments) -> Result<(), Failure> {
    let (name, value) = (arguments.text(2)?, BigInt::from(arguments.i64(5)?));
    (arguments.i32(3)?..arguments.i32(4)?).try_for_each(|index| runtime.write_register(name, Some(index), &value))
}

fn change_value<S: Switch>(runtime: &Runtime<S>, arguments: &Arguments, is_added: bool) -> Result<(), Failure> {
    runtime.change_value(arguments.text(2)?, arguments.bytes(3)?, is_added)
}

fn values<S: Switch>(runtime: &Runtime<S>, arguments: &Arguments) -> Answer {
    let values = runtime.values(arguments.text(2)?)?;
    Ok(Some(Value::List(values.into_iter().map(Value::Bytes).collect())))
}
