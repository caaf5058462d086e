//! `watch`: counters and their rates, again and again.

use super::{Command, Form, Limit, Place, Watching, counter, entity};
use crate::arguments::Arguments;
use crate::catalog::{Catalog, Named};
use crate::mistake::Mistake;
use forebay_protocol::p4::v1::CounterEntry;
use forebay_protocol::p4::v1::entity::Entity as Kind;

const INTERVAL_NS: i64 = 1_000_000_000;

pub(super) const FORMS: &[Form] = &[Form {
    words: "watch",
    arguments: "[COUNTER...]",
    about: "counters that are not 0 and their rates, refreshed every --interval (1s), --count times; all counters if none is named",
    places: &[Place::Counter],
    options: &[("interval", Some("TIME")), ("count", Some("N"))],
    read,
}];

fn read(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    let mut kinds = Vec::new();
    for name in &arguments.words {
        kinds.extend(counter::questions(catalog, name, None)?);
    }
    if arguments.words.is_empty() {
        kinds.extend(catalog.info.counters.iter().map(all));
        kinds.extend(
            catalog
                .info
                .direct_counters
                .iter()
                .map(|direct| counter::direct_question(direct, false)),
        );
    }
    if kinds.is_empty() {
        return Err(Mistake::new("the program has no counters"));
    }
    Ok(Command::Watch(Watching {
        entities: kinds.into_iter().map(entity).collect(),
        interval_ns: arguments.nanoseconds("interval")?.unwrap_or(INTERVAL_NS).max(1) as u64,
        limit: Limit {
            count: arguments.number("count")?,
        },
    }))
}

fn all<T: Named>(counter: &T) -> Kind {
    Kind::CounterEntry(CounterEntry {
        counter_id: counter.id(),
        ..CounterEntry::default()
    })
}
