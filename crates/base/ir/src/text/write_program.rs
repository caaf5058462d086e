//! Declarations as text, in the order of [`Program`]'s fields, except that bodies come last.

use super::names::{Keyword, plain_or_quoted, quoted};
use super::write_body::location;
use super::write_expr::{ExprPrinter, constant};
use crate::{
    ActionCall, BodyId, Counter, EntryMatch, Header, Program, Recipient, RegisterId, Slot, SlotKind, Table, TableEntry,
    Unit, ValueSet,
};
use std::fmt::Write;

/// Prints a program.
pub(super) fn write(program: &Program) -> String {
    let printer = ExprPrinter::new(program);
    let mut text = format!("program {}\n", program.architecture.name());
    storage(&mut text, &printer);
    roles(&mut text, &printer);
    objects(&mut text, &printer);
    for index in 0..program.bodies.len() {
        text.push('\n');
        printer.body(&mut text, BodyId(index as u32));
    }
    if let Some(graph) = &program.graph {
        text.push('\n');
        printer.graph(&mut text, graph);
    }
    text
}

/// Appends a line. Writing to a string cannot fail.
macro_rules! line {
    ($text:expr, $($arg:tt)*) => {
        writeln!($text, $($arg)*).expect("a string takes everything")
    };
}

fn storage(text: &mut String, printer: &ExprPrinter) {
    let program = printer.program;
    for file in &program.files {
        line!(text, "file {}", quoted(file));
    }
    for error in &program.errors {
        line!(text, "error {}", plain_or_quoted(error));
    }
    for (index, slot) in program.slots.iter().enumerate() {
        let name = printer.names.slots.symbol(index as u32);
        line!(
            text,
            "slot {name}: {} {}",
            typed(slot.width, slot.signed),
            slot_kind(slot, printer)
        );
    }
    for (index, header) in program.headers.iter().enumerate() {
        self::header(text, printer, index as u32, header);
    }
}

fn typed(width: u32, signed: bool) -> String {
    format!("{}<{width}>", if signed { "int" } else { "bit" })
}

fn slot_kind(slot: &Slot, printer: &ExprPrinter) -> String {
    match slot.kind {
        SlotKind::Field(header) => format!("field {}", printer.header(header)),
        SlotKind::Valid(header) => format!("valid {}", printer.header(header)),
        SlotKind::VarbitLength(header) => format!("varbit_length {}", printer.header(header)),
        SlotKind::NextIndex => "next_index".to_owned(),
        SlotKind::Metadata => "metadata".to_owned(),
        SlotKind::Intrinsic => "intrinsic".to_owned(),
        SlotKind::Local => "local".to_owned(),
        SlotKind::Request => "request".to_owned(),
    }
}

fn header(text: &mut String, printer: &ExprPrinter, index: u32, header: &Header) {
    let name = printer.names.headers.symbol(index);
    line!(text, "header {name} {} {{", plain_or_quoted(&header.type_name));
    line!(text, "  valid {}", printer.slot(header.valid));
    for field in &header.fields {
        let length = field
            .length
            .map_or(String::new(), |slot| format!(" length {}", printer.slot(slot)));
        line!(
            text,
            "  field {} = {}{length}",
            plain_or_quoted(&field.name),
            printer.slot(field.slot)
        );
    }
    line!(text, "}}");
}

fn roles(text: &mut String, printer: &ExprPrinter) {
    let program = printer.program;
    for (role, body) in &program.stages {
        line!(text, "stage {} = {}", role.word(), printer.names.bodies.symbol(body.0));
    }
    for (name, slot) in &program.intrinsic {
        line!(text, "intrinsic {} = {}", plain_or_quoted(name), printer.slot(*slot));
    }
    for (index, slots) in &program.field_lists {
        let slots: String = slots.iter().map(|slot| format!("{} ", printer.slot(*slot))).collect();
        line!(text, "field_list {index} {{ {slots}}}");
    }
}

fn objects(text: &mut String, printer: &ExprPrinter) {
    let program = printer.program;
    let names = &printer.names;
    for (index, action) in program.actions.iter().enumerate() {
        let params: Vec<String> = action
            .params
            .iter()
            .map(|p| format!("{}: {}", plain_or_quoted(&p.name), typed(p.width, p.signed)))
            .collect();
        let name = names.actions.symbol(index as u32);
        line!(
            text,
            "action {name}({}) = {}",
            params.join(", "),
            names.bodies.symbol(action.body.0)
        );
    }
    for (index, table) in program.tables.iter().enumerate() {
        self::table(text, printer, index as u32, table);
    }
    for (index, profile) in program.action_profiles.iter().enumerate() {
        let selector = profile.selector.as_ref().map_or(String::new(), |(algorithm, width)| {
            format!(" selector {} width {width}", printer.algorithm(*algorithm))
        });
        line!(
            text,
            "action_profile {} size {}{selector}",
            names.action_profiles.symbol(index as u32),
            profile.size
        );
    }
    for (index, register) in program.registers.iter().enumerate() {
        let name = names.registers.symbol(index as u32);
        let element = typed(register.width, register.signed);
        line!(
            text,
            "register {name}: {element} size {} initial {}",
            register.size,
            constant(&register.initial)
        );
    }
    for (index, counter) in program.counters.iter().enumerate() {
        line!(
            text,
            "counter {} {}{}",
            names.counters.symbol(index as u32),
            array(counter.unit, counter.size),
            element_names(counter)
        );
    }
    for (index, meter) in program.meters.iter().enumerate() {
        line!(
            text,
            "meter {} {}",
            names.meters.symbol(index as u32),
            array(meter.unit, meter.size)
        );
    }
    for (index, set) in program.value_sets.iter().enumerate() {
        value_set(text, printer, index as u32, set);
    }
    for (index, calculation) in program.calculations.iter().enumerate() {
        let name = names.calculations.symbol(index as u32);
        line!(text, "calculation {name} {}", calculation.crc.word());
    }
    for (index, digest) in program.digests.iter().enumerate() {
        line!(
            text,
            "digest {} receiver {}{} {{",
            names.digests.symbol(index as u32),
            digest.receiver,
            recipient(digest.to, printer)
        );
        for (name, width) in &digest.fields {
            line!(text, "  {}: bit<{width}>", plain_or_quoted(name));
        }
        line!(text, "}}");
    }
}

fn recipient(to: Recipient, printer: &ExprPrinter) -> String {
    let register = |id: RegisterId| printer.names.registers.symbol(id.0);
    match to {
        Recipient::Controller => String::new(),
        Recipient::NewEntry { table, action } => format!(" entry {} -> {action}", printer.table(table)),
        Recipient::NewPair {
            table,
            action,
            reverse,
            reverse_action,
        } => format!(
            " pair {} -> {action}, {} -> {reverse_action}",
            printer.table(table),
            printer.table(reverse)
        ),
        Recipient::Number { ring, counts } => format!(" number {} {}", register(ring), register(counts)),
        Recipient::Share { taken } => format!(" share {}", register(taken)),
        Recipient::NewTimeout { table } => format!(" idle_timeout {}", printer.table(table)),
    }
}

fn array(unit: Unit, size: Option<u64>) -> String {
    let extent = size.map_or("direct".to_owned(), |size| format!("size {size}"));
    format!("{} {extent}", unit.word())
}

/// ` elements "first", "second"`, or nothing.
fn element_names(counter: &Counter) -> String {
    let names: Vec<String> = counter.element_names.iter().map(|name| quoted(name)).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!(" elements {}", names.join(", "))
    }
}

fn value_set(text: &mut String, printer: &ExprPrinter, index: u32, set: &ValueSet) {
    line!(
        text,
        "value_set {} size {} {{",
        printer.names.value_sets.symbol(index),
        set.size
    );
    for component in &set.components {
        let name = plain_or_quoted(&component.name);
        line!(
            text,
            "  {name}: bit<{}> {}",
            component.width,
            component.match_kind.word()
        );
    }
    line!(text, "}}");
}

fn table(text: &mut String, printer: &ExprPrinter, index: u32, table: &Table) {
    let names = &printer.names;
    line!(
        text,
        "table {}{} {{",
        names.tables.symbol(index),
        location(table.location)
    );
    for key in &table.keys {
        let expr = printer.expr(&key.expr, None);
        line!(
            text,
            "  key {}: bit<{}> {} = {expr}",
            plain_or_quoted(&key.name),
            key.width,
            key.match_kind.word()
        );
    }
    for action in &table.actions {
        let table_only = if action.table_only { " table_only" } else { "" };
        let default_only = if action.default_only { " default_only" } else { "" };
        line!(
            text,
            "  action {}{table_only}{default_only}",
            names.actions.symbol(action.action.0)
        );
    }
    let constant = if table.default_is_const { "const " } else { "" };
    line!(
        text,
        "  {constant}default {}",
        call(&table.default_action, table, printer)
    );
    line!(text, "  size {}", table.size);
    if let Some(profile) = table.implementation {
        line!(text, "  implementation {}", names.action_profiles.symbol(profile.0));
    }
    if let Some(action) = &table.empty_group_action {
        line!(text, "  empty_group {}", call(action, table, printer));
    }
    if let Some(counter) = table.direct_counter {
        line!(text, "  direct_counter {}", names.counters.symbol(counter.0));
    }
    if let Some(direct) = &table.direct_meter {
        let slot = direct
            .slot
            .map_or(String::new(), |slot| format!(" = {}", printer.slot(slot)));
        line!(text, "  direct_meter {}{slot}", names.meters.symbol(direct.meter.0));
    }
    if table.supports_timeout {
        line!(text, "  idle_timeout");
    }
    if table.deletes_idle {
        line!(text, "  deletes_idle");
    }
    for seconds in &table.expire_seconds {
        line!(text, "  expire_seconds {seconds}");
    }
    if table.is_hidden {
        line!(text, "  hidden");
    }
    if table.entries_are_const {
        line!(text, "  const entries");
    }
    for entry in &table.entries {
        line!(text, "  {}", self::entry(entry, table, printer));
    }
    line!(text, "}}");
}

/// An action of a table with its data: by name, or by its index in the table's list when the name is ambiguous.
fn call(call: &ActionCall, table: &Table, printer: &ExprPrinter) -> String {
    let args: Vec<String> = call.args.iter().map(constant).collect();
    let listed = table.actions.get(call.action as usize).map(|listed| listed.action);
    let unique = listed.filter(|action| table.actions.iter().filter(|other| other.action == *action).count() == 1);
    let action = unique.map_or(call.action.to_string(), |action| printer.names.actions.symbol(action.0));
    format!("{action}({})", args.join(", "))
}

fn entry(entry: &TableEntry, table: &Table, printer: &ExprPrinter) -> String {
    let matches: Vec<String> = entry.matches.iter().map(entry_match).collect();
    format!(
        "{}entry ({}) -> {} priority {}{}",
        if entry.is_const { "const " } else { "" },
        matches.join(", "),
        call(&entry.action, table, printer),
        entry.priority,
        location(entry.location),
    )
}

fn entry_match(entry: &EntryMatch) -> String {
    match entry {
        EntryMatch::Exact(value) => constant(value),
        EntryMatch::Lpm { value, prefix_length } => format!("{} / {prefix_length}", constant(value)),
        EntryMatch::Ternary { value, mask } => format!("{} &&& {}", constant(value), constant(mask)),
        EntryMatch::Range { low, high } => format!("{} .. {}", constant(low), constant(high)),
        EntryMatch::Optional(Some(value)) => format!("? {}", constant(value)),
        EntryMatch::Optional(None) => "_".to_owned(),
    }
}
