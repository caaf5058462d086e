//! A connection to a switch with the names of its program: does commands.

use super::batch::{self, Gathered};
use super::{Format, pipeline, watch};
use crate::{output, readiness};
use anyhow::{Context, Result};
use forebay_client::{CallError, Client, ClientOptions};
use forebay_protocol::StateReport;
use forebay_protocol::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use forebay_protocol::p4::v1::write_request::Atomicity;
use forebay_protocol::p4::v1::{Entity, Update};
use forebay_shell::{Catalog, Change, Command, Mistake, Modification, Reading, Record, show};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// What is said where there are no names.
const NO_PROGRAM: &str = "the switch has no program yet: `pipeline push FILE.p4`";

/// Updates that go to the switch in one batch.
const BATCH: usize = 1_000;

/// Whether there is to be another command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Yes.
    Go,
    /// The session is to end.
    Quit,
}

/// See the [module](self).
pub struct Session {
    /// The connection.
    pub client: Client,
    /// The names of the program.
    pub catalog: Catalog,
    /// How answers are written.
    pub format: Format,
    has_program: bool,
    /// Changes since `begin`.
    gathered: Option<Gathered>,
    /// Until when the switch may become ready.
    deadline: Instant,
}

impl Session {
    /// Connects, and reads the program's P4Info. While nothing listens at the address, this is tried again for the time
    /// `patience`: a switch may have been started just now.
    ///
    /// # Errors
    /// When the switch cannot be reached.
    pub fn connect(options: ClientOptions, format: Format, patience: Duration) -> Result<Session> {
        let deadline = Instant::now() + patience;
        let mut session = Session {
            client: connect(options, patience)?,
            catalog: Catalog::default(),
            format,
            has_program: false,
            gathered: None,
            deadline,
        };
        session.reload()?;
        Ok(session)
    }

    /// Reads the P4Info again.
    ///
    /// # Errors
    /// When the switch is gone.
    pub fn reload(&mut self) -> Result<()> {
        let info = match self.client.pipeline(ResponseType::P4infoAndCookie) {
            Ok(config) => config.p4info,
            Err(error) if error.is_failed_precondition() => None,
            Err(error) => return Err(error.into()),
        };
        self.has_program = info.is_some();
        self.catalog = Catalog::new(info.unwrap_or_default());
        Ok(())
    }

    /// Does what some words say.
    ///
    /// # Errors
    /// When they are no command ([`Mistake`]), the switch refuses ([`CallError`]), or something cannot be read or
    /// written.
    pub fn perform(&mut self, words: &[String]) -> Result<Next> {
        match self.read_command(words)? {
            Command::Help(text) => output::print(&text)?,
            Command::Show(records) => self.show(&records)?,
            Command::Capabilities => self.capabilities()?,
            Command::State => self.state()?,
            Command::Statistics => self.statistics()?,
            Command::Ready => self.ready()?,
            Command::PipelineShow => pipeline::show(self)?,
            Command::PipelinePush(push) => pipeline::push(self, &push)?,
            Command::PipelineGet(file) => pipeline::get(self, &file)?,
            Command::Read(reading) => self.read(reading)?,
            Command::Write(updates) => self.write(words, updates)?,
            Command::Modify(modification) => {
                let gathered = self.gathered.as_mut();
                let update = modified(&mut self.client, &self.catalog, modification, gathered)?;
                self.write(words, vec![update])?;
            }
            Command::Change(entities, change) => self.change(words, entities, change)?,
            Command::Batch(file, atomicity) => batch::file(self, &file, atomicity)?,
            Command::Begin(atomicity) => self.begin(atomicity)?,
            Command::Commit => {
                let gathered = self.take_gathered()?;
                batch::commit(self, gathered)?;
            }
            Command::Abort => batch::abort(&self.take_gathered()?),
            Command::Watch(watching) => watch::counters(self, &watching)?,
            Command::Digests(ids, limit) => watch::digests(self, &ids, limit)?,
            Command::Packets(limit) => watch::packets(self, limit)?,
            Command::PacketOut(packet) => self.client.send_packet(packet)?,
            Command::Reload => self.reload()?,
            Command::Quit => return Ok(Next::Quit),
        }
        Ok(Next::Go)
    }

    /// What some words ask for.
    pub(super) fn read_command(&self, words: &[String]) -> Result<Command> {
        let command = forebay_shell::read(&self.catalog, words);
        Ok(command.map_err(|mistake| self.without_program(mistake))?)
    }

    /// How many changes wait for a `commit`; none when no `begin` has come.
    pub(super) fn gathered_changes(&self) -> Option<usize> {
        self.gathered.as_ref().map(Gathered::changes)
    }

    /// A line was wrong; if changes are gathered, it is missing among them.
    pub(super) fn miss(&mut self) {
        self.gathered.iter_mut().for_each(Gathered::miss);
    }

    /// Gathers changes from now on. Those that are gathered already are not forgotten.
    fn begin(&mut self, atomicity: Atomicity) -> Result<()> {
        if let Some(changes) = self.gathered_changes() {
            let mistake = Mistake::new(format!("a `begin` has come already, with {changes} changes after it"));
            return Err(mistake.help("end them with `commit`, or with `abort`").into());
        }
        self.gathered = Some(Gathered::new(atomicity));
        Ok(())
    }

    fn take_gathered(&mut self) -> Result<Gathered> {
        let gathered = self.gathered.take();
        Ok(gathered.ok_or_else(|| Mistake::new("nothing is gathered").help("`begin` comes before the changes"))?)
    }

    /// Without a program there is no name: that is said instead.
    fn without_program(&self, mistake: Mistake) -> Mistake {
        if self.has_program {
            mistake
        } else {
            mistake.help(NO_PROGRAM)
        }
    }

    fn capabilities(&mut self) -> Result<()> {
        let version = self.client.capabilities()?;
        let object = json!({ "p4runtime_api_version": version });
        self.format.fact(&format!("P4Runtime {version}"), &object)
    }

    /// Says whether the state is saved; an error when it should be and is not.
    fn state(&mut self) -> Result<()> {
        let Some(report) = self.client.state()? else {
            let object = json!({ "keeps_state": null });
            return self
                .format
                .fact("the switch does not say whether its state is saved", &object);
        };
        self.format.fact(&sentence(&report), &state_json(&report))?;
        match fault(&report) {
            None => Ok(()),
            Some(fault) => Err(Mistake::new(fault).into()),
        }
    }

    fn statistics(&mut self) -> Result<()> {
        let Some(text) = self.client.statistics()? else {
            return self.format.fact("the switch does not tell its counters", &json!({}));
        };
        let counters: Value = serde_json::from_str(&text).context("the switch's counters are no JSON")?;
        let text = crate::statistics::counters_text(&counters);
        self.format.fact(text.trim_end(), &counters)
    }

    /// Says whether the switch carries traffic; an error when it does not in time, or has ended. What is lacking is
    /// said while it is waited for.
    fn ready(&mut self) -> Result<()> {
        let begin = Instant::now();
        let mut said = String::new();
        loop {
            let json = self.readiness(begin)?;
            let sentence = readiness::sentence(&json);
            if readiness::is_ready(&json) {
                return self.format.fact(&sentence, &json);
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                if self.format.is_json() {
                    output::print_json(&json)?;
                }
                return Err(Mistake::new(sentence).into());
            }
            if begin.elapsed() >= SAID_AFTER && said != sentence {
                output::note(&format!("{sentence}; waiting {} s at most", left.as_secs_f64().ceil()));
                said = sentence;
            }
            std::thread::sleep(TRIES_EVERY);
        }
    }

    /// What the switch says of its readiness, for which a command waits since `begin`.
    fn readiness(&mut self, begin: Instant) -> Result<Value> {
        let text = self.client.statistics().map_err(|error| gone(error, begin))?;
        let counters: Value = serde_json::from_str(&text.unwrap_or_default()).unwrap_or_default();
        if let Some(readiness) = counters.get("readiness") {
            return Ok(readiness.clone());
        }
        if self.client.state()?.is_none() {
            return Err(Mistake::new("this switch never says whether it carries traffic")
                .help("`ready` is for switches that `forebay` runs")
                .into());
        }
        Ok(json!({ "ready": false, "lacks": ["the switch does not say yet whether it carries traffic"] }))
    }

    fn read(&mut self, reading: Reading) -> Result<()> {
        let found = self.client.read(reading.entities.clone())?;
        let found = reading.wanted(found);
        let records = show::entities(&self.catalog, &found);
        if records.is_empty() && self.has_program && !self.format.is_json() {
            output::print("nothing there\n")
        } else {
            self.show(&records)
        }
    }

    /// Shows records, or says why there can be none.
    fn show(&self, records: &[Record]) -> Result<()> {
        if self.has_program || self.format.is_json() || !records.is_empty() {
            return self.format.records(records);
        }
        output::info(NO_PROGRAM);
        Ok(())
    }

    /// Writes, or adds to what is gathered.
    fn write(&mut self, words: &[String], updates: Vec<Update>) -> Result<()> {
        if let Some(gathered) = &mut self.gathered {
            gathered.add(&words.join(" "), updates);
            return Ok(());
        }
        let count = updates.len();
        self.client.write(updates, Atomicity::ContinueOnError)?;
        self.format.changed(count, false)
    }

    fn change(&mut self, words: &[String], entities: Vec<Entity>, change: Change) -> Result<()> {
        let updates = self.updates_of(entities, change)?;
        if let Some(gathered) = &mut self.gathered {
            gathered.add(&words.join(" "), updates);
            return Ok(());
        }
        let count = updates.len();
        for batch in updates.chunks(BATCH) {
            self.client.write(batch.to_vec(), Atomicity::ContinueOnError)?;
        }
        self.format.changed(count, true)
    }

    /// What changes the entities that these requests find.
    pub(super) fn updates_of(&mut self, entities: Vec<Entity>, change: Change) -> Result<Vec<Update>> {
        let found = self.client.read(entities)?;
        Ok(change.updates(&self.catalog, found))
    }
}

/// A change of what is named of an entity, as it is after the changes that are gathered already.
pub(super) fn modified(
    client: &mut Client,
    catalog: &Catalog,
    modification: Modification,
    gathered: Option<&mut Gathered>,
) -> Result<Update> {
    let before = gathered.and_then(|gathered| gathered.before(&modification, catalog));
    let found = match before {
        Some(entity) => vec![entity],
        None => match client.read(vec![modification.question(catalog)]) {
            // The change itself says so, with its line of a batch.
            Err(error) if error.is_not_found() => Vec::new(),
            found => found?,
        },
    };
    Ok(modification.update(catalog, &found))
}

/// Whether the state of a switch is saved, in words.
fn sentence(report: &StateReport) -> String {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let StateReport {
        problem, refused_calls, ..
    } = report;
    if !report.keeps_state {
        return "not saved: the switch runs without --save-state".to_string();
    }
    if problem.is_empty() {
        return match report.faults {
            0 => "saved".to_string(),
            faults => format!("saved; faults since the start: {faults}, calls refused meanwhile: {refused_calls}"),
        };
    }
    let since = seconds(report.fault_ns);
    let next = seconds(report.next_try_ns);
    if report.refuses_changes {
        format!(
            "NOT SAVED for {since:.1} s: {problem}\nchanges are refused until it is ({refused_calls} calls so far); packets go \
             on; next try in {next:.1} s"
        )
    } else {
        format!(
            "no new snapshot for {since:.1} s: {problem}\nwhat controllers write is saved, what packets write is not; next \
             try in {next:.1} s"
        )
    }
}

/// What is wrong with the state of a switch that keeps it.
fn fault(report: &StateReport) -> Option<&'static str> {
    let is_faulty = report.keeps_state && !report.problem.is_empty();
    is_faulty.then_some(if report.refuses_changes {
        "the state of the switch is not saved"
    } else {
        "the switch makes no new snapshots"
    })
}

fn state_json(report: &StateReport) -> Value {
    let is_sound = report.problem.is_empty();
    json!({
        "keeps_state": report.keeps_state,
        "saved": report.keeps_state && is_sound,
        "problem": (!is_sound).then_some(&report.problem),
        "refuses_changes": report.refuses_changes,
        "fault_seconds": report.fault_ns as f64 / 1e9,
        "next_try_seconds": report.next_try_ns as f64 / 1e9,
        "faults": report.faults,
        "refused_calls": report.refused_calls,
    })
}

/// An error of a switch that has been waited for since `begin`: one that answered before has ended.
fn gone(error: CallError, begin: Instant) -> anyhow::Error {
    let has_answered = begin.elapsed() >= TRIES_EVERY;
    let is_refusal = error.is_refusal();
    let error = anyhow::Error::from(error);
    if has_answered && !is_refusal {
        return error.context("the switch has ended while it was waited for");
    }
    error
}

/// Time between two tries to connect.
const TRIES_EVERY: Duration = Duration::from_millis(50);

/// When it is said that a switch is waited for.
const SAID_AFTER: Duration = Duration::from_millis(300);

fn connect(options: ClientOptions, patience: Duration) -> Result<Client> {
    let begin = Instant::now();
    let mut is_said = false;
    loop {
        let error = match Client::connect(options.clone()) {
            Ok(client) => return Ok(client),
            Err(error) => error,
        };
        let waited = begin.elapsed();
        if !error.is_connection_refused() || waited >= patience {
            return Err(error.into());
        }
        if !is_said && waited >= SAID_AFTER {
            is_said = true;
            output::note(&format!(
                "nothing listens at {} yet; waiting for the switch to start, {} s at most",
                options.address,
                patience.as_secs_f64()
            ));
        }
        std::thread::sleep(TRIES_EVERY);
    }
}

/// Whether an error leaves the connection as it was.
pub(super) fn is_harmless(error: &anyhow::Error) -> bool {
    let is_refusal = error.downcast_ref::<CallError>().is_none_or(CallError::is_refusal);
    is_refusal && !output::is_broken_pipe(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_is_not_saved_is_a_fault() {
        let mut report = StateReport {
            keeps_state: true,
            ..StateReport::default()
        };
        assert_eq!(fault(&report), None);
        report.problem = "No space left on device".to_string();
        assert_eq!(fault(&report), Some("the switch makes no new snapshots"));
        report.refuses_changes = true;
        assert_eq!(fault(&report), Some("the state of the switch is not saved"));
        assert_eq!(fault(&StateReport::default()), None, "it keeps none");
    }
}
