//! What a switch keeps over a restart: snapshots of everything, and each batch of writes since the last one.
//!
//! Both are bytes here; where they are kept is the server's matter. A snapshot holds the programs (the running one, and
//! one that was saved and is not yet committed) as they were pushed, and updates that make their forwarding state anew.
//! What packets have written (registers, counters) is in it as of the moment when it was made. Strings that the switch
//! has numbered keep their numbers, since packets may have stored them. Entries that packets have added are in it if
//! that is asked for, as of the same moment; what is written again then allows for them having come and gone. What an
//! entry holds that a controller has changed (a number of a pool) is in it in any case.
//!
//! Behind a snapshot stands the time of packets at which it was made ([`clock`]), since programs keep times in
//! registers.
//!
//! Not kept: how full meters are, and since when entries are idle. Both begin anew.

use crate::change::Writer;
use crate::device::{Device, Now, Settings};
use crate::forwarding::Forwarding;
use crate::learned::Learned;
use crate::ports::Ports;
use crate::reconcile;
use crate::roles::RoleConfig;
use crate::schema::dictionary::Dictionary;
use crate::status::{Code, Error};
use forebay_ir::TableId;
use forebay_pipeline::{Entry, Pipeline};
use forebay_protocol::p4::config::v1::P4Info;
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::write_request::Atomicity;
use forebay_protocol::p4::v1::{ForwardingPipelineConfig, Update};
use prost::Message;
use std::sync::Arc;

/// All of a device.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Snapshot {
    #[prost(message, optional, tag = "1")]
    pub(crate) running: Option<State>,
    #[prost(message, optional, tag = "2")]
    pub(crate) saved: Option<State>,
    /// The program that the switch was started with, by which the next start knows that it is the same.
    #[prost(bytes = "vec", tag = "3")]
    origin: Vec<u8>,
    /// The time of packets when all of it was kept; see [`clock`].
    #[prost(uint64, tag = "4")]
    clock_ns: u64,
    /// The P4Info of the program that the switch was started with.
    #[prost(message, optional, tag = "5")]
    origin_info: Option<P4Info>,
}

impl Snapshot {
    /// Whether controllers cannot tell the program that it is of from one with this P4Info.
    fn has_info(&self, info: Option<&P4Info>) -> bool {
        let states = [&self.running, &self.saved].into_iter().flatten();
        let mut configs = states.filter_map(|state| state.config.as_ref());
        // Snapshots of earlier versions have it only of the programs that they hold.
        let of_origin = configs.find(|config| config.p4_device_config == self.origin);
        let held = of_origin.and_then(|config| config.p4info.as_ref());
        let own = self.origin_info.as_ref().or(held);
        own.is_some() && own == info
    }

    /// Makes it that of the program that the switch is started with, which has the same P4Info: compiled by another version
    /// of the compiler, or changed where controllers do not see it.
    fn follow(&mut self, settings: &Settings) {
        for state in [&mut self.running, &mut self.saved].into_iter().flatten() {
            if let Some(config) = &mut state.config
                && config.p4_device_config == self.origin
            {
                config.p4_device_config.clone_from(&settings.origin);
            }
        }
        self.origin.clone_from(&settings.origin);
        self.origin_info.clone_from(&settings.origin_info);
    }
}

/// Bytes that are kept after those of a snapshot: the time of packets by then, from which a switch goes on that is
/// restored. To be read after the snapshot was made, so that no time in a register is later.
pub fn clock(switch_ns: u64) -> Vec<u8> {
    let clock = Snapshot {
        clock_ns: switch_ns,
        ..Snapshot::default()
    };
    clock.encode_to_vec()
}

/// A program with its forwarding state.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct State {
    #[prost(message, optional, tag = "1")]
    pub(crate) config: Option<ForwardingPipelineConfig>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) updates: Vec<Update>,
    #[prost(message, repeated, tag = "3")]
    words: Vec<Words>,
    /// What packets have added to tables, if that is kept.
    #[prost(message, optional, tag = "4")]
    pub(crate) learned: Option<Learned>,
}

/// Strings of one translated type, with their numbers.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Words {
    #[prost(string, tag = "1")]
    type_name: String,
    #[prost(bytes = "vec", repeated, tag = "2")]
    texts: Vec<Vec<u8>>,
    #[prost(uint64, repeated, tag = "3")]
    numbers: Vec<u64>,
}

/// Updates that were done together.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Batch {
    #[prost(message, repeated, tag = "1")]
    pub(crate) updates: Vec<Update>,
    /// Strings that the batch has numbered.
    #[prost(message, repeated, tag = "2")]
    words: Vec<Words>,
}

impl Device {
    /// All that is to be kept.
    pub fn snapshot(&self) -> Vec<u8> {
        let snapshot = Snapshot {
            running: self.running.as_ref().map(|running| state(running, &self.settings)),
            saved: self.saved.as_ref().map(|saved| state(saved, &self.settings)),
            origin: self.settings.origin.clone(),
            clock_ns: 0,
            origin_info: self.settings.origin_info.clone(),
        };
        snapshot.encode_to_vec()
    }

    /// A device as it was kept: the last snapshot, and the batches since then. Its time goes on from
    /// [`Device::clock_ns`].
    ///
    /// # Errors
    /// When something cannot be loaded or written again; the message says what. Nothing runs then.
    pub fn restore(settings: Settings, snapshot: &[u8], batches: &[Vec<u8>], now: Now) -> Result<Device, Error> {
        let mut snapshot = Snapshot::decode(snapshot).map_err(unreadable)?;
        let is_other = snapshot.origin != settings.origin && !settings.origin.is_empty();
        let is_changed = is_other && !snapshot.has_info(settings.origin_info.as_ref());
        if is_changed && !settings.reconciles {
            return Err(Error::precondition(
                "what was kept belongs to another program than that of the command line: push the new one to the running \
                 switch with RECONCILE_AND_COMMIT, let --save-reconcile do that at the start, or keep its state in another folder",
            ));
        }
        if is_other && !is_changed {
            snapshot.follow(&settings);
        }
        let started_with = (settings.origin.clone(), settings.origin_info.clone());
        let now = Now {
            switch_ns: now.switch_ns.max(snapshot.clock_ns),
            ..now
        };
        let mut device = Device::new(Settings {
            origin: snapshot.origin,
            origin_info: snapshot.origin_info.or_else(|| settings.origin_info.clone()),
            ..settings
        });
        device.clock_ns = snapshot.clock_ns;
        let load = |state: State| load(state, &device.settings, now);
        let running = snapshot.running.map(load).transpose()?;
        let saved = snapshot.saved.map(load).transpose()?;
        (device.running, device.saved) = (running, saved);
        for (number, batch) in (1..).zip(batches) {
            device.replay(batch, now).map_err(|error| Error {
                code: error.code,
                message: format!("batch {number} of the log: {error}"),
            })?;
        }
        if is_changed {
            device.carry_over(started_with, now)?;
        }
        Ok(device)
    }

    /// Writes what was restored to the program that the switch is started with, as `RECONCILE_AND_COMMIT` does.
    ///
    /// # Errors
    /// When the new program has no place for something, or another program than the one before has been pushed.
    fn carry_over(&mut self, (origin, info): (Vec<u8>, Option<P4Info>), now: Now) -> Result<(), Error> {
        let old = self.running.as_ref().filter(|_| self.saved.is_none());
        let old = old.filter(|old| old.config.p4_device_config == self.settings.origin);
        let old = old.ok_or_else(|| {
            Error::precondition(
                "what was kept has a program that a controller has pushed, and the program of the command line has changed: \
                 start with the one before, or keep the state of this one in another folder",
            )
        })?;
        let config = ForwardingPipelineConfig {
            p4info: info.clone(),
            p4_device_config: origin.clone(),
            cookie: None,
        };
        let mut new = Forwarding::load(&config, self.settings.options)?;
        reconcile::carry_over(old, &mut new, self.ports(), now.switch_ns)?;
        self.running = Some(new);
        (self.settings.origin, self.settings.origin_info) = (origin, info);
        self.is_carried_over = true;
        Ok(())
    }

    /// Whether what was restored has been written to another program than it was of.
    pub fn is_carried_over(&self) -> bool {
        self.is_carried_over
    }

    /// Does a batch again that was kept.
    ///
    /// # Errors
    /// When it cannot be read or written again; the message says what. Part of it may have been done.
    pub fn replay(&mut self, batch: &[u8], now: Now) -> Result<(), Error> {
        let Batch { updates, words } = Batch::decode(batch).map_err(unreadable)?;
        let forwarding = self.saved.as_mut().or(self.running.as_mut());
        let forwarding = forwarding.ok_or_else(|| Error::invalid("it was kept without a program"))?;
        write_again(forwarding, &updates, &words, (self.settings.cpu_port, now))
    }

    /// The time of packets by which the state was kept that this device was restored from; 0 without any.
    pub fn clock_ns(&self) -> u64 {
        self.clock_ns
    }

    /// What packets go through; none without a program.
    pub fn pipeline(&self) -> Option<&Arc<Pipeline>> {
        Some(&self.running.as_ref()?.pipeline)
    }
}

/// What is to be kept of a batch: the updates that were done.
pub(crate) fn batch(forwarding: &Forwarding, updates: &[Update], results: &[Result<(), Error>]) -> Vec<u8> {
    let done = updates.iter().zip(results).filter(|(_, result)| result.is_ok());
    let batch = Batch {
        updates: done.map(|(update, _)| update.clone()).collect(),
        words: words(forwarding, Dictionary::of_batch),
    };
    batch.encode_to_vec()
}

pub(crate) fn unreadable(error: prost::DecodeError) -> Error {
    Error::invalid(format!("what was kept cannot be read: {error}"))
}

fn state(forwarding: &Forwarding, settings: &Settings) -> State {
    State {
        config: Some((*forwarding.config).clone()),
        updates: reconcile::changes(forwarding),
        words: words(forwarding, Dictionary::all),
        learned: Learned::of(&forwarding.pipeline, settings.keeps_learned),
    }
}

/// Strings of each type with their numbers, those that `of` gives.
fn words(forwarding: &Forwarding, of: impl Fn(&Dictionary) -> Vec<(u64, Vec<u8>)>) -> Vec<Words> {
    let dictionaries = forwarding.schema.dictionaries().iter();
    let words = dictionaries.map(|(type_name, dictionary)| {
        let (numbers, texts) = of(dictionary).into_iter().unzip();
        Words {
            type_name: type_name.clone(),
            texts,
            numbers,
        }
    });
    words.filter(|words| !words.texts.is_empty()).collect()
}

fn load(state: State, settings: &Settings, now: Now) -> Result<Forwarding, Error> {
    let config = state
        .config
        .ok_or_else(|| Error::invalid("a program was kept without its configuration"))?;
    let mut forwarding = Forwarding::load(&config, settings.options)?;
    reconcile::clear(&forwarding)?;
    write_again(&mut forwarding, &state.updates, &state.words, (settings.cpu_port, now))?;
    if let Some(learned) = &state.learned {
        learned.add_to(&forwarding.pipeline, now.switch_ns, settings.keeps_learned);
    }
    Ok(forwarding)
}

/// Writes what was kept; clones may go to the controllers' port.
fn write_again(
    forwarding: &mut Forwarding,
    updates: &[Update],
    words: &[Words],
    (cpu, now): (Option<u32>, Now),
) -> Result<(), Error> {
    for words in words {
        let dictionary = forwarding.schema.dictionaries().get(&words.type_name);
        let dictionary = dictionary
            .ok_or_else(|| Error::invalid(format!("the program has no translated type `{}`", words.type_name)))?;
        for (number, text) in words.numbers.iter().zip(&words.texts) {
            dictionary.set(*number, text.clone());
        }
    }
    let writer = Writer {
        role: &RoleConfig::default(),
        ports: &Ports {
            cpu,
            ..Ports::default()
        },
        now_ns: now.switch_ns,
        writes_again: true,
        is_bound: false,
        is_bmv2: true,
    };
    let failed = |error: Error| Error {
        code: error.code,
        message: format!("what was kept cannot be written again: {error}"),
    };
    if forwarding.pipeline.any_deletes_idle() {
        let mut each = updates.iter();
        return each.try_for_each(|update| write_among_ended(forwarding, update, writer).map_err(failed));
    }
    let results = forwarding.write(updates, Atomicity::ContinueOnError, writer);
    results.into_iter().collect::<Result<(), Error>>().map_err(failed)
}

/// Writes an update again. In tables whose entries packets add and time removes, the log does not say which entries
/// there were when the update was done: an insertion may find its entry, a change or deletion may not.
fn write_among_ended(forwarding: &mut Forwarding, update: &Update, writer: Writer<'_>) -> Result<(), Error> {
    let mut write = |update: &Update| {
        let results = forwarding.write(std::slice::from_ref(update), Atomicity::ContinueOnError, writer);
        results.into_iter().collect::<Result<(), Error>>()
    };
    let Err(error) = write(update) else { return Ok(()) };
    let Some(table) = table_of(forwarding, update).filter(|table| forwarding.pipeline.deletes_idle(*table)) else {
        return Err(error);
    };
    let how = |r#type: Type| Update {
        r#type: r#type as i32,
        ..update.clone()
    };
    match (update.r#type(), error.code) {
        (Type::Insert, Code::AlreadyExists) => write_among_ended(forwarding, &how(Type::Modify), writer),
        (Type::Modify, Code::NotFound) if is_entry(update) => write_among_ended(forwarding, &how(Type::Insert), writer),
        (Type::Modify | Type::Delete, Code::NotFound) => Ok(()),
        (Type::Insert, Code::ResourceExhausted) if remove_oldest(forwarding, table) => {
            write_among_ended(forwarding, update, writer)
        }
        _ => Err(error),
    }
}

fn is_entry(update: &Update) -> bool {
    let entity = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
    matches!(entity, Some(Kind::TableEntry(_)))
}

/// The table whose entry an update is about.
fn table_of(forwarding: &Forwarding, update: &Update) -> Option<TableId> {
    let id = match update.entity.as_ref()?.entity.as_ref()? {
        Kind::TableEntry(entry) => entry.table_id,
        Kind::DirectCounterEntry(entry) => entry.table_entry.as_ref()?.table_id,
        Kind::DirectMeterEntry(entry) => entry.table_entry.as_ref()?.table_id,
        _ => return None,
    };
    Some(forwarding.schema.table(id).ok()?.index)
}

/// Removes the first entry that may have ended; false when there is none.
fn remove_oldest(forwarding: &Forwarding, table: TableId) -> bool {
    let records = forwarding.pipeline.records(table).into_iter();
    let Some(oldest) = records
        .filter(|record| record.idle.timeout_ns > 0)
        .min_by_key(|record| record.id)
    else {
        return false;
    };
    let name = &forwarding.pipeline.program().tables[table.index()].name;
    let Entry { matches, priority, .. } = oldest.entry;
    forwarding.pipeline.delete_entry(name, &matches, priority).is_ok()
}
