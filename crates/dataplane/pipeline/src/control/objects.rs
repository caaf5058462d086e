//! Registers, counters, meters and custom CRCs.

use crate::control::convert::fit;
use crate::control::names::resolve;
use crate::control::{CrcParameters, MeterRates};
use crate::error::{ControlError, ObjectKind};
use crate::load::Pipeline;
use forebay_bits::Bits;
use forebay_ir::{Counter, Register};
use forebay_tables::crc::Crc;
use forebay_tables::{ColorCounts, CounterValue, MeterArray, MeterConfig, MeterError, RegisterArray};
use std::sync::Arc;

impl Pipeline {
    /// The register array that a name denotes.
    ///
    /// # Errors
    /// When there is no such array.
    pub fn register(&self, name: &str) -> Result<&Register, ControlError> {
        Ok(&self.program.registers[self.register_index(name)?])
    }

    /// The counter array or direct counter that a name denotes.
    ///
    /// # Errors
    /// When there is no such counter.
    pub fn counter(&self, name: &str) -> Result<&Counter, ControlError> {
        Ok(&self.program.counters[self.counter_id(name)?])
    }

    /// An element of a register array.
    ///
    /// # Errors
    /// When there is no such array or no such element.
    pub fn read_register(&self, register: &str, index: u64) -> Result<Bits, ControlError> {
        let id = self.register_index(register)?;
        self.check_register_index(id, index)?;
        let array = &self.stateful.registers[id];
        if array.is_written_at_once() {
            return Ok(array.read(index));
        }
        let mut value = Bits::zero(self.program.registers[id].width);
        let read = |array: &RegisterArray, index| value = array.read(index);
        self.stateful
            .for_elements(&self.readers, id, std::iter::once(index), read);
        Ok(value)
    }

    /// Gives each element of a register array.
    ///
    /// # Errors
    /// If there is no such array.
    pub fn each_register_element(&self, register: &str, mut each: impl FnMut(u64, Bits)) -> Result<(), ControlError> {
        let id = self.register_index(register)?;
        let array = &self.stateful.registers[id];
        let indices = 0..array.len() as u64;
        if array.is_written_at_once() {
            indices.for_each(|index| each(index, array.read(index)));
        } else {
            let read = |array: &RegisterArray, index| each(index, array.read(index));
            self.stateful.for_elements(&self.readers, id, indices, read);
        }
        Ok(())
    }

    /// Changes an element of a register array.
    ///
    /// # Errors
    /// When there is no such array or no such element, or the value does not fit in one.
    pub fn write_register(&self, register: &str, index: u64, value: &Bits) -> Result<(), ControlError> {
        let id = self.register_index(register)?;
        self.check_register_index(id, index)?;
        let declared = &self.program.registers[id];
        let value = fit(&declared.name, "an element", value, declared.width)?;
        let write = |array: &RegisterArray, index| array.write(index, &value);
        self.stateful
            .for_elements(&self.readers, id, std::iter::once(index), write);
        Ok(())
    }

    /// Sets all elements to their initial value.
    ///
    /// # Errors
    /// When there is no such array.
    pub fn reset_register(&self, register: &str) -> Result<(), ControlError> {
        let id = self.register_index(register)?;
        let declared = &self.program.registers[id];
        let write = |array: &RegisterArray, index| array.write(index, &declared.initial);
        self.stateful.for_elements(&self.readers, id, 0..declared.size, write);
        Ok(())
    }

    /// An element of a counter array.
    ///
    /// # Errors
    /// When there is no such counter array or no such element, or the counter is a direct one.
    pub fn read_counter(&self, counter: &str, index: u64) -> Result<CounterValue, ControlError> {
        let id = self.counter_index(counter, index)?;
        Ok(self.stateful.counters[id].read(index))
    }

    /// Changes an element of a counter array.
    ///
    /// # Errors
    /// When there is no such counter array or no such element, or the counter is a direct one.
    pub fn write_counter(&self, counter: &str, index: u64, value: CounterValue) -> Result<(), ControlError> {
        let id = self.counter_index(counter, index)?;
        self.stateful.counters[id].write(index, value);
        Ok(())
    }

    /// Sets a meter's rates; without rates it always returns green.
    ///
    /// # Errors
    /// When there is no such meter array or no such element, the meter is a direct one, or the committed rate is above
    /// the peak rate.
    pub fn configure_meter(&self, meter: &str, index: u64, rates: Option<MeterRates>) -> Result<(), ControlError> {
        let id = self.meter_index(meter, index)?;
        let configured = self.write_rates(id, index, rates);
        configured.map_err(|error| meter_error(&self.program.meters[id].name, index, error))
    }

    /// A meter's rates, if it was configured.
    ///
    /// # Errors
    /// When there is no such meter array or no such element, or the meter is a direct one.
    pub fn meter_rates(&self, meter: &str, index: u64) -> Result<Option<MeterRates>, ControlError> {
        let id = self.meter_index(meter, index)?;
        Ok(self.stateful.meters[id].config(index).map(rates_from_tables))
    }

    /// What an element of a meter array has counted of each colour.
    ///
    /// # Errors
    /// When there is no such meter array or no such element, or the meter is a direct one.
    pub fn meter_counts(&self, meter: &str, index: u64) -> Result<ColorCounts, ControlError> {
        let id = self.meter_index(meter, index)?;
        Ok(self.stateful.meters[id].counts(index).unwrap_or_default())
    }

    /// Changes what an element of a meter array has counted.
    ///
    /// # Errors
    /// When there is no such meter array or no such element, or the meter is a direct one.
    pub fn write_meter_counts(&self, meter: &str, index: u64, counts: ColorCounts) -> Result<(), ControlError> {
        let id = self.meter_index(meter, index)?;
        self.write_counts(id, index, counts);
        Ok(())
    }

    pub(super) fn write_rates(&self, meter: usize, index: u64, rates: Option<MeterRates>) -> Result<(), MeterError> {
        let rates = rates.map(rates_to_tables);
        let write = |meters: &MeterArray| meters.configure(index, rates);
        self.stateful.write_meter(&self.readers, meter, write)
    }

    pub(super) fn write_counts(&self, meter: usize, index: u64, counts: ColorCounts) {
        let write = |meters: &MeterArray| meters.set_counts(index, counts);
        self.stateful.write_meter(&self.readers, meter, write);
    }

    /// Sets the parameters of a hash with `crc16_custom` or `crc32_custom` ([`forebay_ir::Program::calculations`]).
    ///
    /// # Errors
    /// If the program has no such hash, or a parameter has more bits than the CRC.
    pub fn set_crc_parameters(&self, calculation: &str, parameters: CrcParameters) -> Result<(), ControlError> {
        let calculations = &self.program.calculations;
        let names = calculations.iter().map(|calculation| calculation.name.as_str());
        let id = resolve(ObjectKind::Calculation, calculation, names)?;
        let width = calculations[id].crc.width();
        let number = |field: &str, value: u64| fit(calculation, field, &Bits::new(64, value.into()), width);
        let crc = Crc::new(forebay_tables::crc::CrcParameters {
            width,
            polynomial: number("polynomial", parameters.polynomial)?.to_u64(),
            initial: number("initial", parameters.initial)?.to_u64(),
            final_xor: number("final_xor", parameters.final_xor)?.to_u64(),
            reflect_data: parameters.reflect_input,
            reflect_remainder: parameters.reflect_output,
        });
        self.batch(|batch| {
            batch.change(|snapshot| {
                Arc::make_mut(&mut snapshot.calculations)[id] = Arc::new(crc);
            });
        });
        Ok(())
    }

    fn register_index(&self, name: &str) -> Result<usize, ControlError> {
        resolve(
            ObjectKind::Register,
            name,
            self.program.registers.iter().map(|register| register.name.as_str()),
        )
    }

    fn check_register_index(&self, id: usize, index: u64) -> Result<(), ControlError> {
        let declared = &self.program.registers[id];
        check_index(&declared.name, index, Some(declared.size))
    }

    fn counter_id(&self, name: &str) -> Result<usize, ControlError> {
        let names = self.program.counters.iter().map(|counter| counter.name.as_str());
        resolve(ObjectKind::Counter, name, names)
    }

    fn counter_index(&self, name: &str, index: u64) -> Result<usize, ControlError> {
        let id = self.counter_id(name)?;
        let declared = &self.program.counters[id];
        check_index(&declared.name, index, declared.size).map(|()| id)
    }

    fn meter_index(&self, name: &str, index: u64) -> Result<usize, ControlError> {
        let names = self.program.meters.iter().map(|meter| meter.name.as_str());
        let id = resolve(ObjectKind::Meter, name, names)?;
        let declared = &self.program.meters[id];
        check_index(&declared.name, index, declared.size).map(|()| id)
    }
}

/// `size` is `None` for a direct object.
fn check_index(name: &str, index: u64, size: Option<u64>) -> Result<(), ControlError> {
    match size {
        Some(size) if index < size => Ok(()),
        Some(size) => Err(ControlError::OutOfRange {
            name: name.to_string(),
            index,
            size,
        }),
        None => Err(ControlError::Unsuitable {
            name: name.to_string(),
            expected: "belongs to a table's entries: name the table and the entry",
        }),
    }
}

pub(crate) fn rates_to_tables(rates: MeterRates) -> MeterConfig {
    MeterConfig {
        committed_rate: rates.committed_rate,
        committed_burst: rates.committed_burst,
        peak_rate: rates.peak_rate,
        peak_burst: rates.peak_burst,
    }
}

pub(crate) fn rates_from_tables(config: MeterConfig) -> MeterRates {
    MeterRates {
        committed_rate: config.committed_rate,
        committed_burst: config.committed_burst,
        peak_rate: config.peak_rate,
        peak_burst: config.peak_burst,
    }
}

pub(crate) fn meter_error(name: &str, index: u64, error: MeterError) -> ControlError {
    let name = name.to_string();
    match error {
        MeterError::NoSuchIndex { len } => ControlError::OutOfRange {
            name,
            index,
            size: len as u64,
        },
        MeterError::CommittedAbovePeak => ControlError::Unsuitable {
            name,
            expected: "needs a peak rate that is at least the committed rate",
        },
    }
}
