//! The commands: their forms, and the command of a line of words.
//!
//! A [`Form`] is everything that is known of a command: how it is written, what stands at each place (for completion),
//! its options, and the function that reads its words. Help, completion and reading all use the same list.

mod batch;
mod counter;
mod digest;
mod meter;
mod modification;
mod packet;
mod pipeline;
mod profile;
mod register;
mod replication;
mod session;
mod table;
mod value_set;
mod watch;

pub use modification::{Modification, identity};
pub(crate) use pipeline::KINDS;
pub use session::help_with;

use crate::arguments::{Arguments, OptionForm};
use crate::catalog::Catalog;
use crate::listing::Record;
use crate::mistake::Mistake;
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::write_request::Atomicity;
use forebay_protocol::p4::v1::{Entity, PacketOut, Update, update};

/// The command of a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Print this text.
    Help(String),
    /// Print these records: the P4Info has the answer.
    Show(Vec<Record>),
    /// Ask for the version of the protocol.
    Capabilities,
    /// Tell whether the state of the switch is saved.
    State,
    /// Tell what the data plane has counted.
    Statistics,
    /// Tell whether the switch carries traffic.
    Ready,
    /// Tell which program runs.
    PipelineShow,
    /// Run another program.
    PipelinePush(Push),
    /// Write the program that runs to a file.
    PipelineGet(String),
    /// Read entities, and print them.
    Read(Reading),
    /// Write.
    Write(Vec<Update>),
    /// Read an entity, then change what is named of it.
    Modify(Modification),
    /// Read entities, then change each of them.
    Change(Vec<Entity>, Change),
    /// Write what the lines of this file say, as one batch.
    Batch(String, Atomicity),
    /// Gather what is to be written from now on.
    Begin(Atomicity),
    /// Write what was gathered, as one batch.
    Commit,
    /// Forget what was gathered.
    Abort,
    /// Print counters again and again.
    Watch(Watching),
    /// Print digests as they come; those with these ids, or all.
    Digests(Vec<u32>, Limit),
    /// Print packets to the controllers as they come.
    Packets(Limit),
    /// Send a packet.
    PacketOut(PacketOut),
    /// Ask for the P4Info again.
    Reload,
    /// End the session.
    Quit,
}

/// Entities to read.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// What to ask for.
    pub entities: Vec<Entity>,
    /// The most that are shown.
    pub limit: Option<usize>,
    /// Only entries of priority 0 are wanted: a request with that priority is about all entries.
    pub is_of_priority_0: bool,
}

impl Reading {
    /// What is wanted of what was found.
    pub fn wanted(&self, mut found: Vec<Entity>) -> Vec<Entity> {
        if self.is_of_priority_0 {
            let has_priority_0 = |kind: &Kind| matches!(kind, Kind::TableEntry(entry) if entry.priority == 0);
            found.retain(|entity| entity.entity.as_ref().is_some_and(has_priority_0));
        }
        found.truncate(self.limit.unwrap_or(usize::MAX));
        found
    }
}

/// When to stop watching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// The number of messages after which it ends; `None` for never.
    pub count: Option<u64>,
}

/// Counters to watch.
#[derive(Clone, Debug, PartialEq)]
pub struct Watching {
    /// What to read.
    pub entities: Vec<Entity>,
    /// Time between two looks, in nanoseconds.
    pub interval_ns: u64,
    /// How often to look.
    pub limit: Limit,
}

/// A program to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// P4 source, or what a compiler made of it.
    pub file: String,
    /// Its P4Info in the text form; without one, the program is compiled to have it.
    pub p4info: Option<String>,
    /// Macros for the preprocessor, when it is source.
    pub defines: Vec<String>,
    /// Keep the entries of the program that runs.
    pub keeps_state: bool,
    /// A mark for the program.
    pub cookie: Option<u64>,
}

/// What is done with entities that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Delete them.
    Delete,
    /// Set counters to 0, meters to no rates.
    Reset,
}

impl Change {
    /// The updates that change the entities; what cannot be changed (const entries, default actions) is left out.
    pub fn updates(self, catalog: &Catalog, entities: Vec<Entity>) -> Vec<Update> {
        let kinds = entities.into_iter().filter_map(|entity| entity.entity);
        match self {
            Change::Delete => kinds
                .filter(|kind| table::is_deletable(catalog, kind))
                .map(|kind| update(update::Type::Delete, kind))
                .collect(),
            Change::Reset => kinds
                .map(|kind| update(update::Type::Modify, counter::reset(kind)))
                .collect(),
        }
    }
}

/// What stands at a place of a command, for completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The name of a table.
    Table,
    /// Key fields of the table before, and then what an entry does.
    Key,
    /// The name of an action profile.
    Profile,
    /// A name of a counter, direct ones included.
    Counter,
    /// A name of a meter, direct ones included.
    Meter,
    /// The name of a register.
    Register,
    /// The name of a digest.
    Digest,
    /// The name of a value set.
    ValueSet,
    /// Fields of the header of packets out.
    PacketOutField,
    /// The name of a file.
    File,
    /// One of the kinds of objects.
    Kind,
    /// Anything else.
    Other,
}

/// A command as it can be written.
pub struct Form {
    /// The words that it begins with.
    pub words: &'static str,
    /// What follows, for help.
    pub arguments: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// What stands at each place; the last one repeats.
    pub places: &'static [Place],
    /// Its options.
    pub options: &'static [OptionForm],
    read: fn(&Catalog, &Arguments) -> Result<Command, Mistake>,
}

/// All forms, in the order of help.
pub fn forms() -> impl Iterator<Item = &'static Form> {
    let groups = [
        pipeline::FORMS,
        table::FORMS,
        counter::FORMS,
        meter::FORMS,
        register::FORMS,
        profile::FORMS,
        replication::FORMS,
        digest::FORMS,
        packet::FORMS,
        value_set::FORMS,
        watch::FORMS,
        batch::FORMS,
        session::FORMS,
    ];
    groups.into_iter().flatten()
}

/// The form whose words a line begins with, and the words after them.
pub fn form_of(words: &[String]) -> Option<(&'static Form, &[String])> {
    let begins = |form: &Form| {
        let mut own = form.words.split(' ');
        let count = own.clone().count();
        let same = words.len() >= count && own.by_ref().zip(words).all(|(own, word)| own == word);
        same.then_some(count)
    };
    let found = forms().filter_map(|form| begins(form).map(|count| (form, count)));
    found
        .max_by_key(|(_, count)| *count)
        .map(|(form, count)| (form, &words[count..]))
}

/// Looks whether words begin as a command does, for which no program need be known.
///
/// # Errors
/// When they do not.
pub fn check(words: &[String]) -> Result<(), Mistake> {
    form_of(words).map(|_| ()).ok_or_else(|| unknown(words))
}

/// Reads a line of words.
///
/// # Errors
/// When it is no command, or names what is not there, or a value is none of its field.
pub fn read(catalog: &Catalog, words: &[String]) -> Result<Command, Mistake> {
    let Some((form, rest)) = form_of(words) else {
        return Err(unknown(words));
    };
    if rest.iter().any(|word| word == "--help") {
        return Ok(Command::Help(session::help_of(form)));
    }
    let arguments = Arguments::read(rest, form.options)?;
    (form.read)(catalog, &arguments).map_err(|mistake| with_usage(mistake, form, &arguments))
}

/// A command without any argument has its usage in the message, unless that says something else.
fn with_usage(mistake: Mistake, form: &Form, arguments: &Arguments) -> Mistake {
    if arguments.words.is_empty() {
        mistake.or_help(format!("write: {} {}", form.words, form.arguments))
    } else {
        mistake
    }
}

/// A line that is no command: the next words of those that begin in the same way, or the nearest.
fn unknown(words: &[String]) -> Mistake {
    let Some(first) = words.first() else {
        return Mistake::new("there is no command").help("`help` lists them");
    };
    let mut firsts: Vec<&str> = forms().filter_map(|form| form.words.split(' ').next()).collect();
    firsts.dedup();
    if !firsts.contains(&first.as_str()) {
        return Mistake::unknown("command", first, firsts).or_help("`help` lists them");
    }
    let same = forms().filter(|form| form.words.split(' ').next() == Some(first));
    let seconds: Vec<&str> = same
        .filter_map(|form| form.words.split_once(' ').map(|(_, rest)| rest))
        .collect();
    match words.get(1..) {
        Some([]) | None => {
            let mistake = Mistake::new(format!("`{first}` is not complete"));
            mistake.help(format!("it continues with {}", crate::mistake::listed(&seconds)))
        }
        Some(rest) => {
            let known = |second: &&str| rest.first().is_some_and(|word| second.split(' ').next() == Some(word));
            let written = if seconds.iter().any(known) {
                rest.join(" ")
            } else {
                rest[0].clone()
            };
            let mistake = Mistake::unknown(&format!("command `{first}` with"), &written, seconds.iter().copied());
            match seconds.iter().find(|second| second.starts_with(&written)) {
                Some(meant) => mistake.help(format!("did you mean `{meant}`?")),
                None => mistake,
            }
        }
    }
}

/// The word for the default entry of a table, where direct counters and meters are meant.
const DEFAULT: &str = "default";

/// An entity of a request.
fn entity(kind: Kind) -> Entity {
    Entity { entity: Some(kind) }
}

/// An update of a request.
fn update(how: update::Type, kind: Kind) -> Update {
    Update {
        r#type: how.into(),
        entity: Some(entity(kind)),
    }
}

/// A command that writes one thing.
fn write(how: update::Type, kind: Kind) -> Command {
    Command::Write(vec![update(how, kind)])
}

/// A command that adds a thing, or changes what the words name of it.
fn write_named(how: update::Type, kind: Kind, arguments: &Arguments) -> Command {
    match how {
        update::Type::Modify => Command::Modify(Modification::new(kind, arguments.named())),
        _ => write(how, kind),
    }
}

/// A command that reads.
fn reading(kinds: impl IntoIterator<Item = Kind>) -> Command {
    Command::Read(Reading {
        entities: kinds.into_iter().map(entity).collect(),
        limit: None,
        is_of_priority_0: false,
    })
}

/// The elements of an array that a word means: `5`, `0..15`, or all when there is none. `size` is that of the array.
///
/// # Errors
/// When the array has no such elements.
fn elements(text: Option<&str>, what: &str, size: i64) -> Result<Option<std::ops::RangeInclusive<i64>>, Mistake> {
    let Some(text) = text.filter(|text| !matches!(*text, "*" | "all")) else {
        return Ok(None);
    };
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let read = |text| crate::arguments::number::<u32>(text, "index").map(i64::from);
    let (low, high) = (read(low)?, read(high)?);
    if low <= high && high < size {
        Ok(Some(low..=high))
    } else {
        Err(Mistake::new(format!("{what} has no elements {text}")).help(format!(
            "its elements are 0 to {}; write 3, 0..15 or nothing for all",
            size - 1
        )))
    }
}
