//! `info`, `capabilities`, `state`, `statistics`, `ready` and `pipeline …`: the program and the switch.

use super::{Command, Form, Place, Push, counter, meter, profile, register, table, value_set};
use crate::arguments::Arguments;
use crate::catalog::{Catalog, Named};
use crate::listing::{Cell, Record};
use crate::mistake::Mistake;

pub(super) const FORMS: &[Form] = &[
    Form {
        words: "info",
        arguments: "[tables | actions | counters | meters | registers | profiles | digests | vsets | packets]",
        about: "what the program has",
        places: &[Place::Kind],
        options: &[],
        read: info,
    },
    Form {
        words: "capabilities",
        arguments: "",
        about: "the version of P4Runtime that the switch speaks",
        places: &[],
        options: &[],
        read: |_, arguments| arguments.at_most(0).map(|()| Command::Capabilities),
    },
    Form {
        words: "state",
        arguments: "",
        about: "whether what controllers wrote is saved for a restart (--save-state)",
        places: &[],
        options: &[],
        read: |_, arguments| arguments.at_most(0).map(|()| Command::State),
    },
    Form {
        words: "statistics",
        arguments: "",
        about: "what the data plane has counted: packets, which code took them and why, delays (--delay-sample)",
        places: &[],
        options: &[],
        read: |_, arguments| arguments.at_most(0).map(|()| Command::Statistics),
    },
    Form {
        words: "ready",
        arguments: "",
        about: "whether the switch carries traffic: its program runs, ports are up, tables have the entries of --ready-entries; waits for \
                it as long as --wait says",
        places: &[],
        options: &[],
        read: |_, arguments| arguments.at_most(0).map(|()| Command::Ready),
    },
    Form {
        words: "pipeline show",
        arguments: "",
        about: "the program that runs",
        places: &[],
        options: &[],
        read: |_, arguments| arguments.at_most(0).map(|()| Command::PipelineShow),
    },
    Form {
        words: "pipeline push",
        arguments: "FILE",
        about: "runs another program: P4 source, or a compiler's output with --p4info; --keep keeps entries",
        places: &[Place::File],
        options: &[
            ("p4info", Some("FILE")),
            ("define", Some("NAME=VALUE,...")),
            ("keep", None),
            ("cookie", Some("N")),
        ],
        read: push,
    },
    Form {
        words: "pipeline get",
        arguments: "FILE",
        about: "writes the program that runs to FILE, and its P4Info to FILE.p4info.txtpb",
        places: &[Place::File],
        options: &[],
        read: get,
    },
];

/// The kinds that `info` can show.
pub(crate) const KINDS: &[&str] = &[
    "tables",
    "actions",
    "counters",
    "meters",
    "registers",
    "profiles",
    "digests",
    "vsets",
    "packets",
];

fn push(_: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    arguments.at_most(1)?;
    let defines = arguments.option("define").into_iter().flat_map(|all| all.split(','));
    Ok(Command::PipelinePush(Push {
        file: arguments.at(0, "the file")?.to_string(),
        p4info: arguments.option("p4info").map(str::to_string),
        defines: defines.map(str::to_string).collect(),
        keeps_state: arguments.has("keep"),
        cookie: arguments.number("cookie")?,
    }))
}

fn get(_: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    arguments.at_most(1)?;
    Ok(Command::PipelineGet(arguments.at(0, "the file")?.to_string()))
}

fn info(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    arguments.at_most(1)?;
    Ok(Command::Show(match arguments.words.first().map(String::as_str) {
        None => summary(catalog),
        Some("tables") => table::records(catalog),
        Some("actions") => actions(catalog),
        Some("counters") => counter::records(catalog),
        Some("meters") => meter::records(catalog),
        Some("registers") => register::records(catalog),
        Some("profiles") => profile::records(catalog),
        Some("digests") => digests(catalog),
        Some("vsets") => value_set::records(catalog),
        Some("packets") => headers(catalog),
        Some(other) => return Err(Mistake::unknown("kind", other, KINDS.iter().copied())),
    }))
}

/// A line for each kind of which there is one.
fn summary(catalog: &Catalog) -> Vec<Record> {
    let info = &catalog.info;
    let kinds = [
        ("tables", names(&info.tables)),
        ("actions", names(&info.actions)),
        (
            "counters",
            [names(&info.counters), names(&info.direct_counters)].concat(),
        ),
        ("meters", [names(&info.meters), names(&info.direct_meters)].concat()),
        ("registers", names(&info.registers)),
        ("profiles", names(&info.action_profiles)),
        ("digests", names(&info.digests)),
        ("vsets", names(&info.value_sets)),
        ("packets", names(&info.controller_packet_metadata)),
    ];
    let present = kinds.into_iter().filter(|(_, names)| !names.is_empty());
    present
        .map(|(kind, names)| Record::default().text("kind", kind).with("names", Cell::List(names)))
        .collect()
}

fn names<T: Named>(objects: &[T]) -> Vec<String> {
    objects.iter().map(|object| object.alias().to_string()).collect()
}

fn actions(catalog: &Catalog) -> Vec<Record> {
    let actions = catalog.info.actions.iter().map(|action| {
        let parameters = catalog.parameters(action);
        let parameters = parameters
            .iter()
            .map(|field| format!("{}:{}", field.name, field.type_name()));
        Record::default()
            .text("action", action.alias())
            .with("parameters", Cell::List(parameters.collect()))
    });
    actions.collect()
}

fn digests(catalog: &Catalog) -> Vec<Record> {
    let types = catalog.types();
    let digests = catalog.info.digests.iter().map(|digest| {
        let shape = digest
            .type_spec
            .as_ref()
            .and_then(|spec| crate::data::Shape::new(&types, spec, ""));
        let fields = shape.map(|shape| shape.names()).unwrap_or_default();
        Record::default()
            .text("digest", digest.alias())
            .with("fields", Cell::List(fields))
    });
    digests.collect()
}

fn headers(catalog: &Catalog) -> Vec<Record> {
    let headers = catalog.info.controller_packet_metadata.iter().map(|header| {
        let fields = catalog.header_fields(header.name());
        let fields = fields
            .iter()
            .map(|field| format!("{}:{}", field.name, field.type_name()));
        Record::default()
            .text("header", header.name())
            .with("fields", Cell::List(fields.collect()))
    });
    headers.collect()
}
