//! A program with its forwarding state: what a controller writes to and reads from.

use crate::adopt;
use crate::change::{Change, Writer};
use crate::entity::{self, table_read};
use crate::in_use;
use crate::ledger::Ledger;
use crate::ports::Ports;
use crate::program::{self, Loaded};
use crate::schema::Schema;
use crate::schema::dictionary::Dictionary;
use crate::status::Error;
use crate::stream::idle::IdleTimers;
use crate::undo;
use forebay_ir::Program;
use forebay_pipeline::{EndedEntries, Options, Pipeline};
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::write_request::Atomicity;
use forebay_protocol::p4::v1::{Entity, ForwardingPipelineConfig, Update};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Forwarding {
    /// Unique among all that this process has loaded.
    pub(crate) number: u64,
    /// As it was pushed; shared with answers.
    pub(crate) config: Arc<ForwardingPipelineConfig>,
    pub(crate) schema: Schema,
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) ledger: Ledger,
    /// The timers of entries with idle time-outs.
    pub(crate) timers: IdleTimers,
    /// Whether numbers of strings were freed since everything was kept ([`crate::save`]).
    pub(crate) has_freed_numbers: bool,
    /// While the updates of a call are done one by one.
    ended: EndedEntries,
}

fn next_number() -> u64 {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

impl Forwarding {
    /// Loads a configuration.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when it cannot be realised, with the reason.
    pub(crate) fn load(config: &ForwardingPipelineConfig, options: Options) -> Result<Forwarding, Error> {
        let info = config
            .p4info
            .as_ref()
            .ok_or_else(|| Error::invalid("the configuration has no p4info"))?;
        let program = program::load_with(&config.p4_device_config, Some(info))?.program;
        let schema = Schema::new(info, &program)?;
        Forwarding::with(config.clone(), schema, program, options)
    }

    /// Loads a program without P4Info, which is derived from it.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when it cannot be realised, with the reason.
    pub(crate) fn of_blob(blob: Vec<u8>, options: Options) -> Result<Forwarding, Error> {
        let Loaded { program, p4info } = program::load(&blob)?;
        let info = p4info.ok_or_else(|| Error::invalid("the program has no P4Info, and none came with it"))?;
        let schema = Schema::new(&info, &program)?;
        let config = ForwardingPipelineConfig {
            p4info: Some(info),
            p4_device_config: blob,
            cookie: None,
        };
        Forwarding::with(config, schema, program, options)
    }

    /// A program that was loaded already, with a pipeline that may hold entries already.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the P4Info does not belong to the program.
    pub(crate) fn adopt(config: ForwardingPipelineConfig, pipeline: Arc<Pipeline>) -> Result<Forwarding, Error> {
        let info = config
            .p4info
            .as_ref()
            .ok_or_else(|| Error::invalid("the configuration has no p4info"))?;
        let schema = Schema::new(info, pipeline.program())?;
        in_use::reserve(&schema, &pipeline);
        Ok(Forwarding {
            number: next_number(),
            ledger: adopt::ledger(&schema, &pipeline)?,
            timers: IdleTimers::of(&schema, &pipeline),
            schema,
            config: Arc::new(config),
            pipeline,
            has_freed_numbers: false,
            ended: EndedEntries::default(),
        })
    }

    fn with(
        config: ForwardingPipelineConfig,
        schema: Schema,
        program: Program,
        options: Options,
    ) -> Result<Forwarding, Error> {
        let pipeline = Pipeline::load_with(program, options);
        let pipeline = pipeline.map_err(|error| Error::invalid(format!("the program cannot be loaded: {error}")))?;
        in_use::reserve(&schema, &pipeline);
        Ok(Forwarding {
            number: next_number(),
            timers: IdleTimers::of(&schema, &pipeline),
            config: Arc::new(config),
            schema,
            pipeline: Arc::new(pipeline),
            ledger: Ledger::default(),
            has_freed_numbers: false,
            ended: EndedEntries::default(),
        })
    }

    /// Does the updates of a batch in order. The result has one for each; when the batch is atomic, an error of one
    /// means that none was done.
    pub(crate) fn write(
        &mut self,
        updates: &[Update],
        atomicity: Atomicity,
        writer: Writer<'_>,
    ) -> Vec<Result<(), Error>> {
        self.each_dictionary(Dictionary::begin_batch);
        let results = match atomicity {
            Atomicity::ContinueOnError => self.write_each(updates, writer),
            // A single update is done or not. No table is copied for it, even if it is refused.
            Atomicity::RollbackOnError if updates.len() == 1 => self.write_each(updates, writer),
            Atomicity::RollbackOnError => self.write_or_undo(updates, writer),
            Atomicity::DataplaneAtomic => self.write_whole(updates, writer),
        };
        self.timers.tidy(&self.schema, &self.pipeline);
        self.ledger.tidy(&self.schema, &self.pipeline);
        self.ended = EndedEntries::default();
        results
    }

    /// Does the updates one by one, whatever becomes of the others.
    fn write_each(&mut self, updates: &[Update], writer: Writer<'_>) -> Vec<Result<(), Error>> {
        let each = updates.iter();
        each.map(|update| self.with_numbers(|this| this.write_one(update, writer), Result::is_ok))
            .collect()
    }

    /// Does all updates where they can be undone, or else as a whole.
    fn write_or_undo(&mut self, updates: &[Update], writer: Writer<'_>) -> Vec<Result<(), Error>> {
        if self.with_numbers(|this| undo::write(this, updates, writer), |is_done| *is_done) {
            return updates.iter().map(|_| Ok(())).collect();
        }
        self.write_whole(updates, writer)
    }

    /// Does all updates or none; packets see all at once.
    fn write_whole(&mut self, updates: &[Update], writer: Writer<'_>) -> Vec<Result<(), Error>> {
        let is_whole = |results: &Vec<Result<(), Error>>| results.iter().all(Result::is_ok);
        self.with_numbers(|this| this.write_atomically(updates, writer), is_whole)
    }

    /// Does something that may give numbers to strings, which stay if it is done. When numbers run short, those that
    /// nothing uses are freed and it is tried again.
    fn with_numbers<R>(&mut self, write: impl Fn(&mut Forwarding) -> R, is_done: impl Fn(&R) -> bool) -> R {
        let result = self.once_with_numbers(&write, &is_done);
        let is_short = self.schema.dictionaries().values().any(|words| words.is_short());
        if is_done(&result) || !is_short || !in_use::sweep(&self.schema, &self.pipeline) {
            return result;
        }
        self.has_freed_numbers = true;
        self.once_with_numbers(&write, &is_done)
    }

    fn once_with_numbers<R>(&mut self, write: impl Fn(&mut Forwarding) -> R, is_done: impl Fn(&R) -> bool) -> R {
        let result = write(self);
        self.each_dictionary(|words| words.end(is_done(&result)));
        result
    }

    fn each_dictionary(&self, act: impl Fn(&Dictionary)) {
        self.schema.dictionaries().values().for_each(|words| act(words));
    }

    fn write_one(&mut self, update: &Update, writer: Writer<'_>) -> Result<(), Error> {
        let Forwarding {
            schema,
            ledger,
            pipeline,
            timers,
            ended,
            ..
        } = self;
        writer.role.check_write(update, schema)?;
        begin(schema, update);
        let mut later = Vec::new();
        pipeline.batch(|batch| {
            batch.swap_ended(ended);
            let change = &mut Change {
                schema,
                writer,
                ledger,
                timers,
                batch,
                later: &mut later,
            };
            let done = entity::write(change, update);
            batch.swap_ended(ended);
            done
        })?;
        later.into_iter().for_each(|later| later.apply(pipeline));
        Ok(())
    }

    fn write_atomically(&mut self, updates: &[Update], writer: Writer<'_>) -> Vec<Result<(), Error>> {
        let Forwarding {
            schema,
            ledger,
            pipeline,
            timers,
            ..
        } = self;
        let before = ledger.clone();
        let mut later = Vec::new();
        let done = pipeline.atomically(|batch| {
            let mut change = Change {
                schema,
                writer,
                ledger,
                timers,
                batch,
                later: &mut later,
            };
            for (index, update) in updates.iter().enumerate() {
                begin(schema, update);
                let done = writer
                    .role
                    .check_write(update, schema)
                    .and_then(|()| entity::write(&mut change, update));
                done.map_err(|error| (index, error))?;
            }
            Ok(())
        });
        match done {
            Ok(()) => {
                later.into_iter().for_each(|later| later.apply(pipeline));
                updates.iter().map(|_| Ok(())).collect()
            }
            Err((failed, error)) => {
                *ledger = before;
                let others = |index| {
                    if index == failed {
                        Err(error.clone())
                    } else {
                        Err(Error::undone(failed))
                    }
                };
                (0..updates.len()).map(others).collect()
            }
        }
    }

    /// Passes each requested entity to `sink`.
    pub(crate) fn read(&self, wanted: &Entity, now_ns: u64, sink: &mut dyn FnMut(Kind)) -> Result<(), Error> {
        self.read_from(&self.source(now_ns, false), wanted, sink)
    }

    /// Reads entities without the entries that packets have added.
    ///
    /// # Errors
    /// As [`Forwarding::read`].
    pub(crate) fn read_written(&self, wanted: &Entity, sink: &mut dyn FnMut(Kind)) -> Result<(), Error> {
        self.read_from(&self.source(0, true), wanted, sink)
    }

    fn source(&self, now_ns: u64, without_learned: bool) -> table_read::Source<'_> {
        table_read::Source {
            schema: &self.schema,
            ledger: &self.ledger,
            pipeline: &self.pipeline,
            now_ns,
            without_learned,
        }
    }

    fn read_from(
        &self,
        source: &table_read::Source<'_>,
        wanted: &Entity,
        sink: &mut dyn FnMut(Kind),
    ) -> Result<(), Error> {
        let (schema, ledger, pipeline) = (&self.schema, &self.ledger, &*self.pipeline);
        let Some(kind) = &wanted.entity else {
            return Err(Error::invalid("a request must say which kind of entity is wanted"));
        };
        match kind {
            Kind::TableEntry(wanted) => table_read::read(source, wanted, sink),
            Kind::DirectCounterEntry(wanted) => table_read::read_counters(source, wanted, sink),
            Kind::DirectMeterEntry(wanted) => table_read::read_meters(source, wanted, sink),
            Kind::ActionProfileMember(wanted) => entity::member::read(schema, ledger, wanted, sink),
            Kind::ActionProfileGroup(wanted) => entity::group::read(schema, ledger, wanted, sink),
            Kind::CounterEntry(wanted) => entity::counter::read(schema, pipeline, wanted, sink),
            Kind::MeterEntry(wanted) => entity::meter::read(schema, pipeline, wanted, sink),
            Kind::RegisterEntry(wanted) => entity::register::read(schema, pipeline, wanted, sink),
            Kind::ValueSetEntry(wanted) => entity::value_set::read(schema, pipeline, wanted, sink),
            Kind::PacketReplicationEngineEntry(wanted) => entity::replication::read(ledger, wanted, sink),
            Kind::DigestEntry(wanted) => entity::digest::read(schema, ledger, wanted, sink),
            Kind::ExternEntry(wanted) if wanted.extern_type_id == 0 => Ok(()),
            Kind::ExternEntry(_) => Err(entity::no_extern()),
        }
    }

    /// Brings groups and sessions up to date after a port has gone down or come up.
    pub(crate) fn ports_changed(&mut self, ports: &Ports) -> Result<(), Error> {
        let Forwarding {
            schema,
            ledger,
            pipeline,
            ..
        } = self;
        pipeline.batch(|batch| {
            entity::group::refresh(schema, ledger, ports, batch)?;
            entity::replication::refresh(schema, ledger, ports, batch)
        })
    }
}

/// To be called before each update. A deletion gives no numbers to strings, since it is about an entry that exists.
pub(crate) fn begin(schema: &Schema, update: &Update) {
    let gives_numbers = update.r#type() != Type::Delete;
    schema
        .dictionaries()
        .values()
        .for_each(|words| words.begin(gives_numbers));
}
