//! `meter …`: arrays, and the meters of table entries.

use super::{Change, Command, DEFAULT, Form, Place, elements, entity, reading, table, update};
use crate::arguments::Arguments;
use crate::catalog::{Catalog, Named, find};
use crate::listing::Record;
use crate::mistake::Mistake;
use forebay_protocol::p4::config::v1::meter_spec::Unit;
use forebay_protocol::p4::config::v1::{DirectMeter, Meter, MeterSpec};
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{DirectMeterEntry, Index, MeterConfig, MeterCounterData, MeterEntry, TableEntry};

const RATES: &[(&str, Option<&str>)] = &[
    ("cir", Some("RATE")),
    ("cburst", Some("SIZE")),
    ("pir", Some("RATE")),
    ("pburst", Some("SIZE")),
    ("priority", Some("N")),
];

pub(super) const FORMS: &[Form] = &[
    Form {
        words: "meter list",
        arguments: "",
        about: "meters of the program",
        places: &[],
        options: &[],
        read: list,
    },
    Form {
        words: "meter read",
        arguments: "METER [INDEX | FROM..TO | default]",
        about: "rates; of a direct meter, for each entry of its table or the default one; --colours also counts",
        places: &[Place::Meter, Place::Other],
        options: &[("colours", None)],
        read,
    },
    Form {
        words: "meter set",
        arguments: "METER INDEX | FROM..TO | FIELD=MATCH... --cir RATE --cburst SIZE --pir RATE --pburst SIZE",
        about: "sets rates in units a second, and bursts in units; of a direct meter, of an entry",
        places: &[Place::Meter, Place::Other],
        options: RATES,
        read: set,
    },
    Form {
        words: "meter reset",
        arguments: "METER [INDEX | FROM..TO]",
        about: "takes rates away: all packets are green",
        places: &[Place::Meter, Place::Other],
        options: &[],
        read: reset,
    },
];

/// A meter that a name means.
enum Found<'a> {
    Array(&'a Meter),
    Direct(&'a DirectMeter),
}

fn found<'a>(catalog: &'a Catalog, name: &str) -> Result<Found<'a>, Mistake> {
    let (arrays, directs) = (&catalog.info.meters, &catalog.info.direct_meters);
    let direct = find(name, directs).map(Found::Direct);
    direct.or_else(|_| find(name, arrays).map(Found::Array)).map_err(|_| {
        let known = arrays.iter().map(Named::alias).chain(directs.iter().map(Named::alias));
        Mistake::unknown("meter", name, known)
    })
}

fn questions(catalog: &Catalog, arguments: &Arguments) -> Result<Vec<Kind>, Mistake> {
    arguments.at_most(2)?;
    let index = arguments.words.get(1).map(String::as_str);
    match found(catalog, arguments.at(0, "the name of the meter")?)? {
        Found::Array(meter) => {
            let chosen = elements(index, &format!("meter `{}`", meter.alias()), meter.size)?;
            Ok(match chosen {
                None => vec![array_entry(meter, None, None)],
                Some(range) => range.map(|index| array_entry(meter, Some(index), None)).collect(),
            })
        }
        Found::Direct(meter) => match index {
            None => Ok(vec![direct_question(meter, false)]),
            Some(DEFAULT) => Ok(vec![direct_question(meter, true)]),
            Some(index) => {
                let table = catalog.table_by_id(meter.direct_table_id).map_or("", Named::alias);
                let mistake = Mistake::new(format!("`{index}`: a direct meter has no indices but entries"));
                let help = format!(
                    "`table dump {table} FIELD=MATCH` shows that of an entry, `default` that of the default entry"
                );
                Err(mistake.help(help))
            }
        },
    }
}

/// All meters of a table's entries, or that of its default entry.
fn direct_question(meter: &DirectMeter, is_default_action: bool) -> Kind {
    Kind::DirectMeterEntry(DirectMeterEntry {
        table_entry: Some(TableEntry {
            table_id: meter.direct_table_id,
            is_default_action,
            ..TableEntry::default()
        }),
        ..DirectMeterEntry::default()
    })
}

/// A question about meters that also asks for what was counted of each colour.
fn with_colours(kind: Kind) -> Kind {
    let counter_data = Some(MeterCounterData::default());
    match kind {
        Kind::MeterEntry(entry) => Kind::MeterEntry(MeterEntry { counter_data, ..entry }),
        Kind::DirectMeterEntry(entry) => Kind::DirectMeterEntry(DirectMeterEntry { counter_data, ..entry }),
        other => other,
    }
}

fn array_entry(meter: &Meter, index: Option<i64>, config: Option<MeterConfig>) -> Kind {
    Kind::MeterEntry(MeterEntry {
        meter_id: meter.id(),
        index: index.map(|index| Index { index }),
        config,
        counter_data: None,
    })
}

fn list(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    arguments.at_most(0)?;
    Ok(Command::Show(records(catalog)))
}

/// What is known of every meter.
pub(super) fn records(catalog: &Catalog) -> Vec<Record> {
    let arrays = catalog.info.meters.iter().map(|meter| {
        let record = Record::default().text("meter", meter.alias()).text("of", "index");
        record
            .text("unit", unit(meter.spec.as_ref()))
            .number("size", meter.size)
    });
    let directs = catalog.info.direct_meters.iter().map(|meter| {
        let table = catalog.table_by_id(meter.direct_table_id).map_or("", Named::alias);
        let record = Record::default()
            .text("meter", meter.alias())
            .text("of", format!("table {table}"));
        record.text("unit", unit(meter.spec.as_ref()))
    });
    arrays.chain(directs).collect()
}

fn unit(spec: Option<&MeterSpec>) -> &'static str {
    match spec.map(MeterSpec::unit) {
        Some(Unit::Bytes) => "bytes",
        Some(Unit::Packets) => "packets",
        _ => "unknown",
    }
}

fn read(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    let kinds = questions(catalog, arguments)?.into_iter();
    Ok(if arguments.has("colours") {
        reading(kinds.map(with_colours))
    } else {
        reading(kinds)
    })
}

fn reset(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    let entities = questions(catalog, arguments)?.into_iter().map(entity).collect();
    Ok(Command::Change(entities, Change::Reset))
}

fn set(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    let name = arguments.at(0, "the name of the meter")?;
    let config = rates(arguments)?;
    let kinds = match found(catalog, name)? {
        Found::Array(meter) => set_array(meter, arguments, config)?,
        Found::Direct(meter) => vec![set_direct(catalog, meter, arguments, config)?],
    };
    let updates = kinds.into_iter().map(|kind| update(Type::Modify, kind));
    Ok(Command::Write(updates.collect()))
}

fn set_array(meter: &Meter, arguments: &Arguments, config: MeterConfig) -> Result<Vec<Kind>, Mistake> {
    arguments.at_most(2)?;
    if arguments.has("priority") {
        let mistake = Mistake::new(format!("meter `{}` has indices, and no priority", meter.alias()));
        return Err(mistake.help("--priority names an entry of a table that has a direct meter"));
    }
    let index = arguments.at(1, "the index")?;
    let chosen = elements(Some(index), &format!("meter `{}`", meter.alias()), meter.size)?;
    // Without an index all elements are meant, however many there are.
    Ok(match chosen {
        None => vec![array_entry(meter, None, Some(config))],
        Some(range) => range
            .map(|index| array_entry(meter, Some(index), Some(config)))
            .collect(),
    })
}

fn set_direct(
    catalog: &Catalog,
    meter: &DirectMeter,
    arguments: &Arguments,
    config: MeterConfig,
) -> Result<Kind, Mistake> {
    let name = catalog.table_by_id(meter.direct_table_id).map_or("", Named::name);
    let mut of_table = arguments.clone();
    of_table.words[0] = name.to_string();
    let entry = table::entry(catalog, &of_table, arguments.from(1))?;
    Ok(Kind::DirectMeterEntry(DirectMeterEntry {
        table_entry: Some(entry),
        config: Some(config),
        counter_data: None,
    }))
}

/// The rates of the options; without peak rates those of the committed ones hold.
fn rates(arguments: &Arguments) -> Result<MeterConfig, Mistake> {
    let rate = |name: &str| arguments.number::<i64>(name);
    let (Some(cir), Some(cburst)) = (rate("cir")?, rate("cburst")?) else {
        let mistake = Mistake::new("the committed rate and burst are missing");
        return Err(mistake.help("write --cir RATE --cburst SIZE, and --pir and --pburst if they are to differ"));
    };
    Ok(MeterConfig {
        cir,
        cburst,
        pir: rate("pir")?.unwrap_or(cir),
        pburst: rate("pburst")?.unwrap_or(cburst),
        ..MeterConfig::default()
    })
}
