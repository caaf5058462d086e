//! `watch`: counters and their rates, again and again.

use super::{Command, Form, Limit, Place, Watching, counter, entity};
use crate::arguments::{Arguments, time};
use crate::catalog::{Catalog, Named};
use crate::mistake::Mistake;
use forebay_protocol::p4::v1::CounterEntry;
use forebay_protocol::p4::v1::entity::Entity as Kind;

/// From one look to the next, unless it is said, and at least.
const INTERVAL_NS: i64 = 1_000_000_000;
const INTERVAL_NS_MIN: i64 = 1_000_000;

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
    let interval_ns = arguments.nanoseconds("interval")?.unwrap_or(INTERVAL_NS);
    if interval_ns < INTERVAL_NS_MIN {
        let mistake = Mistake::new(format!(
            "--interval: {} is too short: each look is a call",
            time(interval_ns)
        ));
        return Err(mistake.help("write 1ms or more, for example --interval 1s"));
    }
    Ok(Command::Watch(Watching {
        entities: kinds.into_iter().map(entity).collect(),
        interval_ns: interval_ns as u64,
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
