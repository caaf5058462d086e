//! What a program declares, as JSON for `forebay.Program`.

use forebay_ir::{Action, Counter, Header, Meter, Program, Table, Unit};
use serde_json::{Value, json};

pub(crate) fn program(program: &Program) -> Value {
    json!({
        "architecture": program.architecture.name(),
        "tables": program.tables.iter().map(|it| table(program, it)).collect::<Vec<_>>(),
        "registers": program.registers.iter()
            .map(|it| json!({ "name": it.name, "width": it.width, "size": it.size })).collect::<Vec<_>>(),
        "counters": program.counters.iter().map(counter).collect::<Vec<_>>(),
        "meters": program.meters.iter().map(meter).collect::<Vec<_>>(),
        "action_profiles": program.action_profiles.iter()
            .map(|it| json!({ "name": it.name, "size": it.size, "selector": it.selector.is_some() })).collect::<Vec<_>>(),
        "value_sets": program.value_sets.iter()
            .map(|it| json!({ "name": it.name, "size": it.size })).collect::<Vec<_>>(),
        "digests": program.digests.iter().map(|it| it.name.clone()).collect::<Vec<_>>(),
        "calculations": program.calculations.iter()
            .map(|it| (it.name.clone(), json!(it.crc.name()))).collect::<serde_json::Map<_, _>>(),
        "headers": program.headers.iter().map(|it| header(program, it)).collect::<Vec<_>>(),
        "errors": program.errors,
    })
}

fn table(program: &Program, table: &Table) -> Value {
    let keys = table
        .keys
        .iter()
        .map(|key| json!({ "name": key.name, "width": key.width, "match_kind": key.match_kind.name() }));
    let actions = table.actions.iter();
    let actions = actions.map(|listed| action(&program.actions[listed.action.index()]));
    json!({
        "name": table.name,
        "keys": keys.collect::<Vec<_>>(),
        "actions": actions.collect::<Vec<_>>(),
        "size": table.size,
        "constant": table.entries_are_const,
        "action_profile": table.implementation.map(|id| program.action_profiles[id.index()].name.clone()),
        "direct_counter": table.direct_counter.map(|id| program.counters[id.index()].name.clone()),
        "direct_meter": table.direct_meter.map(|direct| program.meters[direct.meter.index()].name.clone()),
    })
}

fn action(action: &Action) -> Value {
    let parameters = action.params.iter();
    let parameters = parameters.map(|param| json!({ "name": param.name, "width": param.width }));
    json!({ "name": action.name, "parameters": parameters.collect::<Vec<_>>() })
}

fn counter(counter: &Counter) -> Value {
    json!({
        "name": counter.name,
        "size": counter.size,
        "unit": unit(counter.unit),
        "elements": counter.element_names,
    })
}

fn meter(meter: &Meter) -> Value {
    json!({ "name": meter.name, "size": meter.size, "unit": unit(meter.unit) })
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Packets => "packets",
        Unit::Bytes => "bytes",
        Unit::PacketsAndBytes => "packets and bytes",
    }
}

fn header(program: &Program, header: &Header) -> Value {
    let fields = header.fields.iter().map(|field| {
        let slot = program.slot(field.slot);
        json!({ "name": field.name, "width": slot.width, "signed": slot.signed, "varbit": field.length.is_some() })
    });
    json!({ "name": header.name, "type": header.type_name, "fields": fields.collect::<Vec<_>>() })
}
