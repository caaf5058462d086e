//! Counters, meters, registers, and value sets of parsers.

use crate::codes::{
    BAD_RATES_LIST, COUNTERS_DISABLED, Failure, Family, INVALID_COUNTER_NAME, INVALID_INFO_RATE_VALUE,
    INVALID_METER_NAME, INVALID_PARSE_VSET_NAME, INVALID_REGISTER_NAME, METERS_DISABLED,
};
use crate::handles::key_of;
use crate::key::long;
use crate::runtime::{Runtime, update};
use crate::switch::Switch;
use forebay_pipeline::TokenRate;
use forebay_protocol::p4::config::v1::{Counter, Meter, Register, Table, ValueSet};
use forebay_protocol::p4::config::v1::{p4_bitstring_like_type_spec, p4_data_type_spec};
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::field_match::{Exact, FieldMatchType};
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{
    CounterData, CounterEntry, DirectCounterEntry, DirectMeterEntry, FieldMatch, Index, MeterConfig, MeterEntry,
    P4Data, RegisterEntry, TableEntry, Update, ValueSetEntry, ValueSetMember, p4_data,
};
use forebay_shell::catalog::{Named, find};
use num_bigint::BigInt;

/// What a counter has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: i64,
    /// Bytes.
    pub bytes: i64,
}

/// A rate with its burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Packets or bytes in a microsecond.
    pub per_microsecond: f64,
    /// Packets or bytes.
    pub burst: i32,
}

fn count_of(data: &CounterData) -> Count {
    Count {
        packets: data.packet_count,
        bytes: data.byte_count,
    }
}

fn data_of(count: Count) -> CounterData {
    CounterData {
        byte_count: count.bytes,
        packet_count: count.packets,
    }
}

/// The committed rate stands before the peak rate.
fn config_of(rates: &[Rate]) -> Result<MeterConfig, Failure> {
    let [committed, peak] = rates else {
        return Err(BAD_RATES_LIST.because(format!("a meter has 2 rates, not {}", rates.len())));
    };
    let is_rate = |rate: &Rate| rate.per_microsecond.is_finite() && rate.per_microsecond >= 0.0;
    if !rates.iter().all(is_rate) {
        return Err(BAD_RATES_LIST.because("a rate is a number from 0 on"));
    }
    if committed.per_microsecond > peak.per_microsecond {
        return Err(INVALID_INFO_RATE_VALUE.because("the second rate is at least as high as the first one"));
    }
    let [cir, pir] = [committed, peak].map(|rate| TokenRate::nearest(rate.per_microsecond * 1e6));
    Ok(MeterConfig {
        cir: cir.per_second.min(i64::MAX as u64) as i64,
        cburst: i64::from(committed.burst),
        pir: pir.per_second.min(i64::MAX as u64) as i64,
        pburst: i64::from(peak.burst),
        eburst: 0,
        forebay_cir_millionths: cir.millionths,
        forebay_pir_millionths: pir.millionths,
    })
}

fn rates_of(config: &MeterConfig) -> Vec<Rate> {
    let rate = |per_second: i64, millionths: u32, burst: i64| Rate {
        per_microsecond: (per_second as f64 + f64::from(millionths) / 1e6) / 1e6,
        burst: i32::try_from(burst).unwrap_or(i32::MAX),
    };
    vec![
        rate(config.cir, config.forebay_cir_millionths, config.cburst),
        rate(config.pir, config.forebay_pir_millionths, config.pburst),
    ]
}

/// Whether a counter or a meter is that of the entry with this key. A key that mentions no field reads those of all
/// entries.
fn is_of(entry: Option<&TableEntry>, key: &TableEntry) -> bool {
    entry.is_some_and(|entry| key_of(entry) == *key)
}

fn index(index: i32) -> Option<Index> {
    Some(Index {
        index: i64::from(index),
    })
}

impl<S: Switch> Runtime<S> {
    pub(crate) fn counter(&self, name: &str) -> Result<Counter, Failure> {
        self.named(name, &self.catalog.info.counters, INVALID_COUNTER_NAME)
    }

    /// An element of a counter array.
    ///
    /// # Errors
    /// When there is none.
    pub fn read_counter(&self, name: &str, number: i32) -> Result<Count, Failure> {
        let wanted = CounterEntry {
            counter_id: self.counter(name)?.id(),
            index: index(number),
            data: None,
        };
        let read = self.read(Family::Counter, Kind::CounterEntry(wanted))?;
        let found = read.into_iter().find_map(|kind| match kind {
            Kind::CounterEntry(entry) => entry.data.as_ref().map(count_of),
            _ => None,
        });
        Ok(found.unwrap_or_default())
    }

    /// Sets an element of a counter array, or all.
    ///
    /// # Errors
    /// When there is none.
    pub fn write_counter(&self, name: &str, number: Option<i32>, count: Count) -> Result<(), Failure> {
        let entry = CounterEntry {
            counter_id: self.counter(name)?.id(),
            index: number.and_then(index),
            data: Some(data_of(count)),
        };
        self.write_one(Family::Counter, Type::Modify, Kind::CounterEntry(entry))
    }

    fn direct_counter_of(&self, table: &str) -> Result<Table, Failure> {
        let table = self.table(table)?;
        let mut counters = self.catalog.info.direct_counters.iter();
        if counters.any(|counter| counter.direct_table_id == table.id()) {
            Ok(table)
        } else {
            Err(COUNTERS_DISABLED.because(format!("table `{}` has no direct counter", table.name())))
        }
    }

    /// What the packets of an entry have counted.
    ///
    /// # Errors
    /// When there is no such entry, or the table does not count.
    pub fn read_direct_counter(&mut self, table: &str, handle: i32) -> Result<Count, Failure> {
        let table = self.direct_counter_of(table)?;
        let key = self.key_by_handle(table.id(), handle)?;
        let wanted = DirectCounterEntry {
            table_entry: Some(key.clone()),
            data: None,
        };
        let read = self.read(Family::Table, Kind::DirectCounterEntry(wanted))?;
        let found = read.into_iter().find_map(|kind| match kind {
            Kind::DirectCounterEntry(entry) if is_of(entry.table_entry.as_ref(), &key) => {
                entry.data.as_ref().map(count_of)
            }
            _ => None,
        });
        Ok(found.unwrap_or_default())
    }

    /// Sets what the packets of an entry have counted.
    ///
    /// # Errors
    /// When there is no such entry, or the table does not count.
    pub fn write_direct_counter(&mut self, table: &str, handle: i32, count: Count) -> Result<(), Failure> {
        let table = self.direct_counter_of(table)?;
        let entry = DirectCounterEntry {
            table_entry: Some(self.key_by_handle(table.id(), handle)?),
            data: Some(data_of(count)),
        };
        self.write_one(Family::Table, Type::Modify, Kind::DirectCounterEntry(entry))
    }

    /// Sets the direct counters of all entries to 0.
    ///
    /// # Errors
    /// When the table does not count.
    pub fn reset_direct_counters(&mut self, table: &str) -> Result<(), Failure> {
        let table = self.direct_counter_of(table)?;
        let entries = self.entries_of(table.id())?;
        let updates = entries.iter().map(|entry| {
            let entry = DirectCounterEntry {
                table_entry: Some(key_of(entry)),
                data: Some(CounterData::default()),
            };
            update(Type::Modify, Kind::DirectCounterEntry(entry))
        });
        self.write(Family::Table, &updates.collect::<Vec<_>>())
    }

    pub(crate) fn meter(&self, name: &str) -> Result<Meter, Failure> {
        self.named(name, &self.catalog.info.meters, INVALID_METER_NAME)
    }

    /// The rates of an element of a meter array; none while it has none.
    ///
    /// # Errors
    /// When there is no such element.
    pub fn meter_rates(&self, name: &str, number: i32) -> Result<Vec<Rate>, Failure> {
        let wanted = MeterEntry {
            meter_id: self.meter(name)?.id(),
            index: index(number),
            ..MeterEntry::default()
        };
        let read = self.read(Family::Meter, Kind::MeterEntry(wanted))?;
        let found = read.into_iter().find_map(|kind| match kind {
            Kind::MeterEntry(entry) => entry.config.as_ref().map(rates_of),
            _ => None,
        });
        Ok(found.unwrap_or_default())
    }

    /// Sets the rates of an element of a meter array.
    ///
    /// # Errors
    /// When there is no such element, or these are no rates.
    pub fn set_meter_rates(&self, name: &str, number: i32, rates: &[Rate]) -> Result<(), Failure> {
        self.set_rates_of_array(name, index(number), rates)
    }

    /// Sets the rates of all elements of a meter array; of a direct meter those of all entries, and of those that are
    /// added later.
    ///
    /// # Errors
    /// When there is no such meter, or these are no rates.
    pub fn set_all_meter_rates(&mut self, name: &str, rates: &[Rate]) -> Result<(), Failure> {
        let Some(table) = self.table_of_direct_meter(name) else {
            return self.set_rates_of_array(name, None, rates);
        };
        let config = config_of(rates)?;
        let entries = self.entries_of(table.id())?.into_iter();
        let updates: Vec<Update> = entries
            .map(|entry| {
                let entry = DirectMeterEntry {
                    table_entry: Some(key_of(&entry)),
                    config: Some(config),
                    counter_data: None,
                };
                update(Type::Modify, Kind::DirectMeterEntry(entry))
            })
            .collect();
        self.write(Family::Table, &updates)?;
        self.rates_of_entries.insert(table.id(), config);
        Ok(())
    }

    /// Takes the rates away from all elements of a meter array.
    pub(crate) fn reset_meter_rates(&self, name: &str) -> Result<(), Failure> {
        self.configure_array(name, None, None)
    }

    fn set_rates_of_array(&self, name: &str, index: Option<Index>, rates: &[Rate]) -> Result<(), Failure> {
        self.configure_array(name, index, Some(config_of(rates)?))
    }

    fn configure_array(&self, name: &str, index: Option<Index>, config: Option<MeterConfig>) -> Result<(), Failure> {
        let entry = MeterEntry {
            meter_id: self.meter(name)?.id(),
            index,
            config,
            counter_data: None,
        };
        self.write_one(Family::Meter, Type::Modify, Kind::MeterEntry(entry))
    }

    fn direct_meter_of(&self, table: &str) -> Result<Table, Failure> {
        let table = self.table(table)?;
        let mut meters = self.catalog.info.direct_meters.iter();
        if meters.any(|meter| meter.direct_table_id == table.id()) {
            Ok(table)
        } else {
            Err(METERS_DISABLED.because(format!("table `{}` has no direct meter", table.name())))
        }
    }

    /// The rates of an entry.
    ///
    /// # Errors
    /// When there is no such entry, or the table does not meter.
    pub fn direct_meter_rates(&mut self, table: &str, handle: i32) -> Result<Vec<Rate>, Failure> {
        let table = self.direct_meter_of(table)?;
        let key = self.key_by_handle(table.id(), handle)?;
        let config = self.meter_config(&table, &key)?;
        Ok(config.as_ref().map(rates_of).unwrap_or_default())
    }

    /// The configuration of an entry's meter, which a change of the entry must repeat; none when there is none.
    pub(crate) fn meter_config(&self, table: &Table, key: &TableEntry) -> Result<Option<MeterConfig>, Failure> {
        if self.direct_meter_of(table.name()).is_err() {
            return Ok(None);
        }
        let wanted = DirectMeterEntry {
            table_entry: Some(key.clone()),
            ..DirectMeterEntry::default()
        };
        let read = self.read(Family::Table, Kind::DirectMeterEntry(wanted))?;
        Ok(read.into_iter().find_map(|kind| match kind {
            Kind::DirectMeterEntry(entry) if is_of(entry.table_entry.as_ref(), key) => entry.config,
            _ => None,
        }))
    }

    /// Sets the rates of an entry.
    ///
    /// # Errors
    /// When there is no such entry, or the table does not meter.
    pub fn set_direct_meter_rates(&mut self, table: &str, handle: i32, rates: &[Rate]) -> Result<(), Failure> {
        let table = self.direct_meter_of(table)?;
        let entry = DirectMeterEntry {
            table_entry: Some(self.key_by_handle(table.id(), handle)?),
            config: Some(config_of(rates)?),
            counter_data: None,
        };
        self.write_one(Family::Table, Type::Modify, Kind::DirectMeterEntry(entry))
    }

    pub(crate) fn register(&self, name: &str) -> Result<Register, Failure> {
        self.named(name, &self.catalog.info.registers, INVALID_REGISTER_NAME)
    }

    /// One element of a register array, or all.
    ///
    /// # Errors
    /// When there is no such element, or elements are no numbers.
    pub fn read_register(&self, name: &str, number: Option<i32>) -> Result<Vec<BigInt>, Failure> {
        let register = self.register(name)?;
        let wanted = RegisterEntry {
            register_id: register.id(),
            index: number.and_then(index),
            data: None,
        };
        let is_signed = width(&register)?.is_signed;
        let read = self.read(Family::Register, Kind::RegisterEntry(wanted))?;
        let values = read.into_iter().filter_map(|kind| match kind {
            Kind::RegisterEntry(entry) => entry.data,
            _ => None,
        });
        Ok(values.map(|data| number_in(&data, is_signed)).collect())
    }

    /// Sets one element of a register array, or all; bits that an element has not are left out, as BMv2 does.
    ///
    /// # Errors
    /// When there is no such element, or elements are no numbers.
    pub fn write_register(&self, name: &str, number: Option<i32>, value: &BigInt) -> Result<(), Failure> {
        let register = self.register(name)?;
        let width = width(&register)?;
        let data = match width.kind {
            ElementKind::Bool => p4_data::Data::Bool(*value != BigInt::ZERO),
            ElementKind::Number => p4_data::Data::Bitstring(width.bytes(value)),
        };
        let entry = RegisterEntry {
            register_id: register.id(),
            index: number.and_then(index),
            data: Some(P4Data { data: Some(data) }),
        };
        self.write_one(Family::Register, Type::Modify, Kind::RegisterEntry(entry))
    }

    pub(crate) fn value_set(&self, name: &str) -> Result<ValueSet, Failure> {
        self.named(name, &self.catalog.info.value_sets, INVALID_PARSE_VSET_NAME)
    }

    /// The values of a value set, each as the bytes of its fields.
    ///
    /// # Errors
    /// When there is no such set.
    pub fn values(&self, name: &str) -> Result<Vec<Vec<u8>>, Failure> {
        let set = self.value_set(name)?;
        let members = self.value_set_members(&set)?;
        let values = members.iter().map(|member| {
            let fields = set.r#match.iter().map(|field| {
                let said = member.r#match.iter().find(|said| said.field_id == field.id);
                match said.and_then(|said| said.field_match_type.as_ref()) {
                    Some(FieldMatchType::Exact(exact)) => long(&exact.value, field.bitwidth),
                    _ => long(&[], field.bitwidth),
                }
            });
            fields.collect::<Vec<_>>().concat()
        });
        Ok(values.collect())
    }

    /// Adds a value to a value set, or removes it.
    ///
    /// # Errors
    /// When there is no such set, or it has more than one field.
    pub fn change_value(&self, name: &str, value: &[u8], is_added: bool) -> Result<(), Failure> {
        let set = self.value_set(name)?;
        let [field] = &set.r#match[..] else {
            let message = format!("`{}` has {} fields: use P4Runtime", set.name(), set.r#match.len());
            return Err(Failure::undeclared(message));
        };
        let zeros = value.iter().take_while(|byte| **byte == 0).count();
        let short = &value[zeros.min(value.len().saturating_sub(1))..];
        let member = ValueSetMember {
            r#match: vec![FieldMatch {
                field_id: field.id,
                field_match_type: Some(FieldMatchType::Exact(Exact { value: short.to_vec() })),
            }],
        };
        let mut members = self.value_set_members(&set)?;
        members.retain(|known| *known != member);
        if is_added {
            members.push(member);
        }
        self.write_value_set(&set, members)
    }

    /// Empties a value set.
    ///
    /// # Errors
    /// When there is no such set.
    pub fn clear_values(&self, name: &str) -> Result<(), Failure> {
        self.write_value_set(&self.value_set(name)?, Vec::new())
    }

    fn value_set_members(&self, set: &ValueSet) -> Result<Vec<ValueSetMember>, Failure> {
        let wanted = ValueSetEntry {
            value_set_id: set.id(),
            members: Vec::new(),
        };
        let read = self.read(Family::ValueSet, Kind::ValueSetEntry(wanted))?;
        let members = read.into_iter().find_map(|kind| match kind {
            Kind::ValueSetEntry(entry) => Some(entry.members),
            _ => None,
        });
        Ok(members.unwrap_or_default())
    }

    fn write_value_set(&self, set: &ValueSet, members: Vec<ValueSetMember>) -> Result<(), Failure> {
        let entry = ValueSetEntry {
            value_set_id: set.id(),
            members,
        };
        self.write_one(Family::ValueSet, Type::Modify, Kind::ValueSetEntry(entry))
    }

    /// The table of a direct counter with this name.
    pub(crate) fn table_of_direct_counter(&self, name: &str) -> Option<Table> {
        let found = find(name, &self.catalog.info.direct_counters).ok()?;
        self.catalog.table_by_id(found.direct_table_id).cloned()
    }

    /// The table of a direct meter with this name.
    pub(crate) fn table_of_direct_meter(&self, name: &str) -> Option<Table> {
        let found = find(name, &self.catalog.info.direct_meters).ok()?;
        self.catalog.table_by_id(found.direct_table_id).cloned()
    }
}

/// What an element of a register is.
pub(crate) struct ElementWidth {
    pub(crate) bits: u32,
    is_signed: bool,
    kind: ElementKind,
}

#[derive(Clone, Copy)]
enum ElementKind {
    Bool,
    Number,
}

impl ElementWidth {
    /// The value in the width of an element, as bytes.
    fn bytes(&self, value: &BigInt) -> Vec<u8> {
        let modulus = BigInt::from(1) << self.bits;
        let mut cut = value % &modulus;
        if cut.sign() == num_bigint::Sign::Minus {
            cut += &modulus;
        }
        if self.is_signed {
            if cut.bit(u64::from(self.bits) - 1) {
                cut -= &modulus;
            }
            return cut.to_signed_bytes_be();
        }
        cut.to_bytes_be().1
    }
}

/// The width of a register's elements.
///
/// # Errors
/// When they are structures: BMv2's interface has numbers alone.
pub(crate) fn width(register: &Register) -> Result<ElementWidth, Failure> {
    use p4_bitstring_like_type_spec::TypeSpec as Bits;
    let spec = register.type_spec.as_ref().and_then(|spec| spec.type_spec.as_ref());
    let (bits, is_signed, kind) = match spec {
        Some(p4_data_type_spec::TypeSpec::Bitstring(spec)) => match &spec.type_spec {
            Some(Bits::Bit(bit)) => (bit.bitwidth, false, ElementKind::Number),
            Some(Bits::Int(int)) => (int.bitwidth, true, ElementKind::Number),
            _ => (0, false, ElementKind::Number),
        },
        Some(p4_data_type_spec::TypeSpec::Bool(_)) => (1, false, ElementKind::Bool),
        _ => (0, false, ElementKind::Number),
    };
    match u32::try_from(bits) {
        Ok(bits) if bits > 0 => Ok(ElementWidth { bits, is_signed, kind }),
        _ => {
            let message = format!(
                "elements of register `{}` are no numbers: use P4Runtime",
                register.name()
            );
            Err(Failure::undeclared(message))
        }
    }
}

fn number_in(data: &P4Data, is_signed: bool) -> BigInt {
    match &data.data {
        Some(p4_data::Data::Bitstring(bytes)) if is_signed => BigInt::from_signed_bytes_be(bytes),
        Some(p4_data::Data::Bitstring(bytes)) => BigInt::from_bytes_be(num_bigint::Sign::Plus, bytes),
        Some(p4_data::Data::Bool(flag)) => BigInt::from(u8::from(*flag)),
        _ => BigInt::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_go_there_and_back() {
        let rates = [
            Rate {
                per_microsecond: 0.000_5,
                burst: 9,
            },
            Rate {
                per_microsecond: 0.2,
                burst: 30,
            },
        ];
        let config = config_of(&rates).unwrap();
        assert_eq!((config.cir, config.pir, config.pburst), (500, 200_000, 30));
        assert_eq!(rates_of(&config), rates);
        assert!(config_of(&rates[..1]).is_err());
        assert!(
            config_of(
                &[Rate {
                    per_microsecond: f64::NAN,
                    burst: 1
                }; 2]
            )
            .is_err()
        );
    }

    #[test]
    fn values_are_cut_to_the_width() {
        let width = |bits, is_signed| ElementWidth {
            bits,
            is_signed,
            kind: ElementKind::Number,
        };
        let bytes = |bits, is_signed, value: i64| width(bits, is_signed).bytes(&value.into());
        assert_eq!(bytes(8, false, 0x1ff), [0xff]);
        assert_eq!(bytes(8, false, -1), [0xff]);
        assert_eq!(bytes(16, true, -2), [0xfe]);
        assert_eq!(bytes(64, false, -1), [0xff; 8]);
        assert_eq!(bytes(8, true, 0x80), [0x80]);
        let large = BigInt::from(u64::MAX);
        assert_eq!(width(128, false).bytes(&large), [0xff; 8], "no bits are added in front");
    }
}
