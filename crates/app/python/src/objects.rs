//! Registers, counters and meters as arrays.

use crate::errors;
use crate::guard::detached;
use forebay_bits::Bits;
use forebay_entries::fitting;
use forebay_pipeline::{CounterValue, MeterRates, Pipeline};
use num_bigint::BigUint;
use numpy::{PyArray1, ToPyArray};
use pyo3::prelude::*;
use std::ops::Range;

/// Elements of a register array: unsigned integers of 64 bits, or Python's own when elements are wider.
pub(crate) fn read_register(
    py: Python<'_>,
    pipeline: &Pipeline,
    name: &str,
    first: u64,
    count: Option<u64>,
) -> PyResult<Py<PyAny>> {
    let (width, values): (u32, Vec<Bits>) = detached(py, || {
        let declared = pipeline.register(name).map_err(errors::control)?;
        let read = |index| pipeline.read_register(&declared.name, index);
        let values = elements(first, count, declared.size)
            .map(read)
            .collect::<Result<_, _>>();
        Ok((declared.width, values.map_err(errors::control)?))
    })?;
    Ok(match width {
        ..=64 => {
            let narrow: Vec<u64> = values.iter().map(Bits::to_u64).collect();
            narrow.to_pyarray(py).into_any().unbind()
        }
        _ => {
            let wide: Vec<BigUint> = values.iter().map(Bits::to_biguint).collect();
            wide.into_pyobject(py)?.unbind()
        }
    })
}

/// From `first` on, `count` elements or all.
fn elements(first: u64, count: Option<u64>, size: u64) -> Range<u64> {
    let last = count.map_or(size, |count| first.saturating_add(count));
    first..last.max(first)
}

/// Writes elements of a register array from `first` on: all of them, or none.
pub(crate) fn write_register(pipeline: &Pipeline, name: &str, first: u64, values: Vec<BigUint>) -> PyResult<()> {
    let declared = pipeline.register(name).map_err(errors::control)?;
    let wrong = |problem: String| errors::control(format!("register `{}`: {problem}", declared.name));
    let fit = values.iter().map(|value| fitting(value, declared.width));
    let fit: Vec<Bits> = fit.collect::<Result<_, _>>().map_err(wrong)?;
    if let Some(more) = (fit.len() as u64).checked_sub(1) {
        // An index that there is not says so before anything is written.
        let last = first.saturating_add(more);
        pipeline.read_register(&declared.name, last).map_err(errors::control)?;
    }
    for (index, value) in (first..=u64::MAX).zip(&fit) {
        let written = pipeline.write_register(&declared.name, index, value);
        written.map_err(errors::control)?;
    }
    Ok(())
}

/// Packets of each element of a counter array, and bytes of each.
pub(crate) type Counted<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u64>>);

/// Elements of a counter array.
pub(crate) fn read_counter<'py>(
    py: Python<'py>,
    pipeline: &Pipeline,
    name: &str,
    first: u64,
    count: Option<u64>,
) -> PyResult<Counted<'py>> {
    let values: Vec<CounterValue> = detached(py, || {
        let declared = pipeline.counter(name).map_err(errors::control)?;
        let read = |index| pipeline.read_counter(&declared.name, index);
        let values = elements(first, count, declared.size.unwrap_or(1)).map(read);
        values.collect::<Result<_, _>>().map_err(errors::control)
    })?;
    let packets: Vec<u64> = values.iter().map(|value| value.packets).collect();
    let bytes: Vec<u64> = values.iter().map(|value| value.bytes).collect();
    Ok((packets.to_pyarray(py), bytes.to_pyarray(py)))
}

/// Rates of a meter: committed rate and burst, peak rate and burst.
pub(crate) type Rates = (u64, u64, u64, u64);

pub(crate) fn rates((committed_rate, committed_burst, peak_rate, peak_burst): Rates) -> MeterRates {
    MeterRates {
        committed_rate: committed_rate.into(),
        committed_burst,
        peak_rate: peak_rate.into(),
        peak_burst,
    }
}

/// The rates of an element of a meter array.
pub(crate) fn read_meter(pipeline: &Pipeline, name: &str, index: u64) -> PyResult<Option<Rates>> {
    let rates = pipeline.meter_rates(name, index).map_err(errors::control)?;
    Ok(rates.map(|rates| {
        (
            rates.committed_rate.per_second,
            rates.committed_burst,
            rates.peak_rate.per_second,
            rates.peak_burst,
        )
    }))
}
