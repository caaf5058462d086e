//! `batch`, `begin`, `commit`, `abort`: several changes that are one for the switch.

use super::{Command, Form, Place};
use crate::arguments::{Arguments, OptionForm};
use crate::catalog::Catalog;
use crate::mistake::Mistake;
use forebay_protocol::p4::v1::write_request::Atomicity;

const OPTIONS: &[OptionForm] = &[("rollback", None), ("continue", None)];

pub(super) const FORMS: &[Form] = &[
    Form {
        words: "batch",
        arguments: "FILE",
        about: "does the changes that a file has on its lines: all or none, and packets see them at once",
        places: &[Place::File],
        options: OPTIONS,
        read: batch,
    },
    Form {
        words: "begin",
        arguments: "",
        about: "gathers the changes that follow, until `commit` or `abort`",
        places: &[],
        options: OPTIONS,
        read: |_, arguments| {
            arguments.at_most(0)?;
            Ok(Command::Begin(atomicity(arguments)?))
        },
    },
    Form {
        words: "commit",
        arguments: "",
        about: "does what was gathered since `begin`: all or none, and packets see it at once",
        places: &[],
        options: &[],
        read: |_, arguments| arguments.at_most(0).map(|()| Command::Commit),
    },
    Form {
        words: "abort",
        arguments: "",
        about: "forgets what was gathered since `begin`",
        places: &[],
        options: &[],
        read: |_, arguments| arguments.at_most(0).map(|()| Command::Abort),
    },
];

fn batch(_: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    arguments.at_most(1)?;
    let file = arguments.at(0, "the file")?.to_string();
    Ok(Command::Batch(file, atomicity(arguments)?))
}

/// All at once for packets; with `--rollback` all or none, with `--continue` what can be done.
fn atomicity(arguments: &Arguments) -> Result<Atomicity, Mistake> {
    match (arguments.has("rollback"), arguments.has("continue")) {
        (true, true) => Err(Mistake::new("`--rollback` and `--continue` are not given together")),
        (true, false) => Ok(Atomicity::RollbackOnError),
        (false, true) => Ok(Atomicity::ContinueOnError),
        (false, false) => Ok(Atomicity::DataplaneAtomic),
    }
}
