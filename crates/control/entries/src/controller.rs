//! The commands that configure a switch or read its state: all but those that send and await packets.

use crate::entry::{EntryKey, action_call, entry_key, fitting, table_index};
use crate::names::resolve;
use crate::replication::Replication;
use crate::{ActionCall, AddEntry, Command, CounterCondition, CounterIndex, CounterUnit, EntryName, MeterRate};
use forebay_ir::{Counter, Table, TableId};
use forebay_pipeline::{ControlError, CounterValue, Entry, EntryAction, MeterRates, Pipeline, TokenRate};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Elements that `meter_array_set_rates` may write.
const MAX_METERS: u64 = 1 << 20;

/// Applies commands to a pipeline and remembers what later commands refer to.
#[derive(Debug)]
pub struct Controller {
    pipeline: Arc<Pipeline>,
    replication: Replication,
    /// Entries in the order of their commands; `None` when removed.
    entries: Vec<Option<EntryKey>>,
    /// Index into `entries` by handle.
    handles: BTreeMap<String, usize>,
    /// Members that entries of tables with an action profile have made.
    members: u32,
}

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It was done.
    Done,
    /// It was done and has something to say: the value of a register.
    Note(String),
    /// Its condition does not hold: `check_counter`.
    Differs(String),
    /// It cannot be done with this program. Nothing was changed.
    Refused(String),
}

impl Controller {
    /// The only controller of a pipeline.
    pub fn new(pipeline: Arc<Pipeline>) -> Controller {
        Controller {
            pipeline,
            replication: Replication::default(),
            entries: Vec::new(),
            handles: BTreeMap::new(),
            members: 0,
        }
    }

    /// Applies a command. Commands about packets do nothing here.
    pub fn apply(&mut self, command: &Command) -> Applied {
        self.try_apply(command).unwrap_or_else(Applied::Refused)
    }

    fn try_apply(&mut self, command: &Command) -> Result<Applied, String> {
        match command {
            Command::Add(add) => self.add(add),
            Command::SetDefault { table, action } => self.set_default(table, action),
            Command::RemoveAll => self.remove_all(),
            Command::Remove { handle } => self.remove(handle),
            Command::Delete(entry) => self.delete(entry),
            Command::CheckEntries { table, number } => self.check_entries(table, *number),
            Command::CheckCounter {
                counter,
                index,
                condition,
            } => self.check_counter(counter, index, *condition),
            Command::CounterRead { counter, index } => self.counter_read(counter, *index),
            Command::CounterWrite {
                counter,
                index,
                packets,
                bytes,
            } => {
                let name = self.counter(counter)?.name.clone();
                let value = CounterValue {
                    packets: *packets,
                    bytes: *bytes,
                };
                done(self.pipeline.write_counter(&name, *index, value))
            }
            Command::RegisterRead { register, index } => self.register_read(register, *index),
            Command::RegisterWrite { register, index, value } => {
                let (name, width) = self.register(register)?;
                let value = fitting(&value.value, width).map_err(|e| format!("register `{name}`: {e}"))?;
                done(self.pipeline.write_register(&name, *index, &value))
            }
            Command::RegisterReset { register } => {
                let (name, _) = self.register(register)?;
                done(self.pipeline.reset_register(&name))
            }
            Command::MeterGetRates { meter, index } => self.meter_get_rates(meter, *index),
            Command::MeterSetRates { meter, index, rates } => {
                let (name, _) = self.meter(meter)?;
                done(self.pipeline.configure_meter(&name, *index, Some(meter_rates(*rates))))
            }
            Command::MeterArraySetRates { meter, rates } => self.meter_array_set_rates(meter, *rates),
            _ => self.replicate(command),
        }
    }

    fn replicate(&mut self, command: &Command) -> Result<Applied, String> {
        let Controller {
            replication, pipeline, ..
        } = self;
        match command {
            Command::MirroringAdd {
                session,
                port,
                truncate,
            } => {
                replication.clone_to_port(pipeline, *session, *port, *truncate)?;
            }
            Command::MirroringAddMulticast {
                session,
                group,
                truncate,
            } => {
                replication.clone_to_group(pipeline, *session, *group, *truncate)?;
            }
            Command::MirroringDelete { session } => replication.delete_session(pipeline, *session)?,
            Command::MirroringGet { session } => return replication.describe_session(*session).map(Applied::Note),
            Command::MulticastGroupCreate { group } => replication.create_group(pipeline, *group)?,
            Command::MulticastNodeCreate { rid, ports } => replication.create_node(*rid, ports)?,
            Command::MulticastNodeUpdate { node, ports } => replication.update_node(pipeline, *node, ports)?,
            Command::MulticastNodeAssociate { group, node } => replication.associate(pipeline, *group, *node)?,
            _ => {}
        }
        Ok(Applied::Done)
    }

    fn add(&mut self, add: &AddEntry) -> Result<Applied, String> {
        let program = self.pipeline.program();
        let key = entry_key(program, &add.entry)?;
        let table = &program.tables[key.table];
        let (action, args) = action_call(program, table, &add.action)?;
        let action = match table.implementation {
            None => EntryAction::Call { action, args },
            Some(profile) => {
                let profile = &program.action_profiles[profile.index()].name;
                let member = self.members;
                self.pipeline
                    .insert_member(profile, member, &action, &args)
                    .map_err(|error| error.to_string())?;
                self.members += 1;
                EntryAction::Member(member)
            }
        };
        let entry = Entry {
            matches: key.matches.clone(),
            priority: key.priority,
            action,
        };
        if let Err(error) = self.pipeline.insert_entry(&table.name, &entry) {
            self.forget_member(table, &entry.action);
            return Err(error.to_string());
        }
        if let Some(handle) = &add.handle {
            self.handles.insert(handle.clone(), self.entries.len());
        }
        self.entries.push(Some(key));
        Ok(Applied::Done)
    }

    fn set_default(&mut self, table: &str, call: &ActionCall) -> Result<Applied, String> {
        let program = self.pipeline.program();
        let table = &program.tables[table_index(program, table)?];
        let (action, args) = action_call(program, table, call)?;
        done(self.pipeline.set_default_action(&table.name, &action, &args))
    }

    fn remove_all(&mut self) -> Result<Applied, String> {
        for index in 0..self.entries.len() {
            self.remove_entry(index)?;
        }
        Ok(Applied::Done)
    }

    fn remove(&mut self, handle: &str) -> Result<Applied, String> {
        let index = self.handle(handle)?;
        self.remove_entry(index)?;
        Ok(Applied::Done)
    }

    fn delete(&mut self, entry: &EntryName) -> Result<Applied, String> {
        let program = self.pipeline.program();
        let key = entry_key(program, entry)?;
        self.delete_entry(&key)?;
        for known in &mut self.entries {
            if known.as_ref() == Some(&key) {
                *known = None;
            }
        }
        Ok(Applied::Done)
    }

    fn check_entries(&self, table: &str, number: u64) -> Result<Applied, String> {
        let program = self.pipeline.program();
        let table = table_index(program, table)?;
        let found = self.pipeline.entry_count(TableId(table as u32)) as u64;
        Ok(if found == number {
            Applied::Done
        } else {
            let name = &program.tables[table].name;
            Applied::Differs(format!("table `{name}` has {found} entries, not {number}"))
        })
    }

    fn remove_entry(&mut self, index: usize) -> Result<(), String> {
        let Some(key) = self.entries[index].take() else {
            return Ok(());
        };
        self.delete_entry(&key)
    }

    /// Deletes an entry, and the member that was made for it.
    fn delete_entry(&self, key: &EntryKey) -> Result<(), String> {
        let table = self.table(key);
        let id = TableId(key.table as u32);
        let record = self.pipeline.record(id, &key.matches, key.priority);
        let deleted = self.pipeline.delete_entry(&table.name, &key.matches, key.priority);
        deleted.map_err(|error| error.to_string())?;
        if let Ok(record) = record {
            self.forget_member(table, &record.entry.action);
        }
        Ok(())
    }

    fn forget_member(&self, table: &Table, action: &EntryAction) {
        if let (Some(profile), EntryAction::Member(member)) = (table.implementation, action) {
            let profile = &self.pipeline.program().action_profiles[profile.index()].name;
            // One that something else names stays.
            let _ = self.pipeline.delete_member(profile, *member);
        }
    }

    fn check_counter(
        &self,
        counter: &str,
        index: &CounterIndex,
        condition: Option<CounterCondition>,
    ) -> Result<Applied, String> {
        let name = &self.counter(counter)?.name;
        let value = match index {
            CounterIndex::Element(index) => self.counted(counter, *index)?,
            CounterIndex::Entry(handle) => self.direct_counter(name, handle)?,
        };
        let Some(CounterCondition {
            unit,
            comparison,
            value: wanted,
        }) = condition
        else {
            return Ok(Applied::Done);
        };
        let (counted, unit) = match unit {
            CounterUnit::Packets => (value.packets, "packets"),
            CounterUnit::Bytes => (value.bytes, "bytes"),
        };
        if comparison.holds(counted, wanted) {
            return Ok(Applied::Done);
        }
        Ok(Applied::Differs(format!(
            "counter `{name}` has counted {counted} {unit}, expected {} {wanted}",
            comparison.symbol()
        )))
    }

    fn direct_counter(&self, name: &str, handle: &str) -> Result<CounterValue, String> {
        let index = self.handle(handle)?;
        let key = self.entries[index]
            .as_ref()
            .ok_or_else(|| format!("the entry `{handle}` has been removed"))?;
        let table = self.table(key);
        let counter = table
            .direct_counter
            .map(|id| &self.pipeline.program().counters[id.index()].name);
        if counter.is_none_or(|counter| counter != name) {
            return Err(format!("`{name}` is not the direct counter of table `{}`", table.name));
        }
        self.pipeline
            .read_direct_counter(&table.name, &key.matches, key.priority)
            .map_err(|error| error.to_string())
    }

    /// What an element of a counter array has counted.
    fn counted(&self, counter: &str, index: u64) -> Result<CounterValue, String> {
        let Counter { name, size, .. } = self.counter(counter)?;
        if size.is_none() {
            return Err(format!(
                "`{name}` is a direct counter: `check_counter {name}(HANDLE)` is about the entry that `add ... = HANDLE` has made"
            ));
        }
        self.pipeline
            .read_counter(name, index)
            .map_err(|error| error.to_string())
    }

    fn counter_read(&self, counter: &str, index: u64) -> Result<Applied, String> {
        let name = &self.counter(counter)?.name;
        let CounterValue { packets, bytes } = self.counted(counter, index)?;
        Ok(Applied::Note(format!(
            "{name}[{index}] = {packets} packets, {bytes} bytes"
        )))
    }

    fn register_read(&self, register: &str, index: u64) -> Result<Applied, String> {
        let (name, _) = self.register(register)?;
        let value = self
            .pipeline
            .read_register(&name, index)
            .map_err(|error| error.to_string())?;
        Ok(Applied::Note(format!("{name}[{index}] = {}", value.to_biguint())))
    }

    fn meter_get_rates(&self, meter: &str, index: u64) -> Result<Applied, String> {
        let (name, _) = self.meter(meter)?;
        Ok(Applied::Note(
            match self
                .pipeline
                .meter_rates(&name, index)
                .map_err(|error| error.to_string())?
            {
                None => format!("{name}[{index}] has no rates"),
                Some(rates) => format!(
                    "{name}[{index}]: committed {} per second, burst {}; peak {} per second, burst {}",
                    rates.committed_rate, rates.committed_burst, rates.peak_rate, rates.peak_burst
                ),
            },
        ))
    }

    fn meter_array_set_rates(&self, meter: &str, rates: [MeterRate; 2]) -> Result<Applied, String> {
        let (name, size) = self.meter(meter)?;
        let size = size.ok_or_else(|| format!("`{name}` is a direct meter, not an array"))?;
        if size > MAX_METERS {
            return Err(format!(
                "`{name}` has {size} elements; at most {MAX_METERS} are set at once"
            ));
        }
        for index in 0..size {
            self.pipeline
                .configure_meter(&name, index, Some(meter_rates(rates)))
                .map_err(|error| error.to_string())?;
        }
        Ok(Applied::Done)
    }

    fn handle(&self, handle: &str) -> Result<usize, String> {
        self.handles
            .get(handle)
            .copied()
            .ok_or_else(|| format!("no `add` has made an entry `= {handle}`"))
    }

    fn table(&self, key: &EntryKey) -> &Table {
        &self.pipeline.program().tables[key.table]
    }

    fn counter(&self, name: &str) -> Result<&Counter, String> {
        let counters = &self.pipeline.program().counters;
        Ok(&counters[resolve("counter", name, counters.iter().map(|counter| counter.name.as_str()))?])
    }

    /// Name and width of an element.
    fn register(&self, name: &str) -> Result<(String, u32), String> {
        let registers = &self.pipeline.program().registers;
        let register = &registers[resolve(
            "register",
            name,
            registers.iter().map(|register| register.name.as_str()),
        )?];
        Ok((register.name.clone(), register.width))
    }

    /// Name and number of elements.
    fn meter(&self, name: &str) -> Result<(String, Option<u64>), String> {
        let meters = &self.pipeline.program().meters;
        let meter = &meters[resolve("meter", name, meters.iter().map(|meter| meter.name.as_str()))?];
        Ok((meter.name.clone(), meter.size))
    }
}

fn done(result: Result<(), ControlError>) -> Result<Applied, String> {
    result.map(|()| Applied::Done).map_err(|error| error.to_string())
}

/// STF counts per microsecond.
fn meter_rates([committed, peak]: [MeterRate; 2]) -> MeterRates {
    let per_second = |rate: MeterRate| TokenRate::nearest(rate.per_microsecond * 1e6);
    MeterRates {
        committed_rate: per_second(committed),
        committed_burst: committed.burst,
        peak_rate: per_second(peak),
        peak_burst: peak.burst,
    }
}
