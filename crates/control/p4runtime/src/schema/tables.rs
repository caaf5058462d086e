//! Tables and actions.

use super::differs;
use super::restriction::{self, Restriction};
use super::value::{Translations, ValueType};
use crate::status::Error;
use forebay_ir::{Program, TableId, Unit};
use forebay_protocol::p4::config::v1 as config;
use forebay_protocol::p4::config::v1::P4Info;
use forebay_protocol::p4::config::v1::action_ref::Scope;
use forebay_protocol::p4::config::v1::match_field::{Match, MatchType};
use forebay_protocol::p4::config::v1::meter_spec::Type as MeterType;
use forebay_protocol::p4::config::v1::table::IdleTimeoutBehavior;
use std::collections::BTreeMap;

/// A table.
#[derive(Debug)]
pub(crate) struct TableSchema {
    pub(crate) id: u32,
    pub(crate) name: String,
    /// Where it is in the program.
    pub(crate) index: TableId,
    /// Match fields in the program's order.
    pub(crate) fields: Vec<Field>,
    pub(crate) actions: Vec<(u32, ActionScope)>,
    /// Whether entries have priorities.
    pub(crate) has_priorities: bool,
    /// Id of its action profile or selector.
    pub(crate) profile: Option<u32>,
    pub(crate) counter_unit: Option<Unit>,
    pub(crate) has_meter: bool,
    /// What configurations its meter takes, if it has one.
    pub(crate) meter_kind: MeterType,
    pub(crate) supports_timeout: bool,
    pub(crate) is_const: bool,
    pub(crate) default_is_const: bool,
    /// What the program says of its entries.
    pub(crate) restrictions: Vec<Restriction>,
}

/// A match field of a table, or a component of a value set.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) kind: MatchType,
    pub(crate) value: ValueType,
}

/// Where a table may use an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ActionScope {
    Anywhere,
    EntriesOnly,
    DefaultOnly,
}

/// An action.
#[derive(Debug)]
pub(crate) struct ActionSchema {
    pub(crate) id: u32,
    pub(crate) name: String,
    /// Parameters in the program's order: id, name, type.
    pub(crate) params: Vec<(u32, String, ValueType)>,
    /// What the program says of its data.
    pub(crate) restrictions: Vec<Restriction>,
    /// Whether no controller may name it: entries of the program alone have it.
    pub(crate) is_hidden: bool,
}

impl TableSchema {
    /// Where the table may use an action; none when it may not.
    pub(crate) fn scope(&self, action: u32) -> Option<ActionScope> {
        let mut actions = self.actions.iter();
        actions.find(|(id, _)| *id == action).map(|(_, scope)| *scope)
    }
}

/// All actions of a P4Info.
pub(super) fn actions(
    info: &P4Info,
    program: &Program,
    translations: &Translations,
) -> Result<BTreeMap<u32, ActionSchema>, Error> {
    let actions = info.actions.iter();
    let schemas = actions.map(|action| Ok((id(&action.preamble), action_schema(action, program, translations)?)));
    schemas.collect()
}

/// Actions that tables list and the P4Info does not describe: `@hidden` ones, which entries of the program may have. A
/// table lists its actions in the program's order.
pub(super) fn hidden_actions(
    info: &P4Info,
    program: &Program,
    described: &BTreeMap<u32, ActionSchema>,
    translations: &Translations,
) -> BTreeMap<u32, ActionSchema> {
    let mut hidden = BTreeMap::new();
    for table in &info.tables {
        let name = name(&table.preamble);
        let Some(known) = program.tables.iter().find(|known| known.name == name) else {
            continue;
        };
        let names = known
            .actions
            .iter()
            .map(|listed| &program.actions[listed.action.index()]);
        let pairs: Vec<_> = table.action_refs.iter().map(|listed| listed.id).zip(names).collect();
        let is_in_order = pairs
            .iter()
            .all(|(id, action)| described.get(id).is_none_or(|schema| schema.name == action.name));
        if !is_in_order || pairs.len() != table.action_refs.len() {
            continue;
        }
        for (id, action) in pairs.into_iter().filter(|(id, _)| !described.contains_key(id)) {
            hidden.insert(id, hidden_action(id, action, translations));
        }
    }
    hidden
}

fn hidden_action(id: u32, action: &forebay_ir::Action, translations: &Translations) -> ActionSchema {
    let params = (1..).zip(&action.params);
    let params = params.map(|(id, param)| (id, param.name.clone(), translations.value_type(None, param.width)));
    ActionSchema {
        id,
        name: action.name.clone(),
        params: params.collect(),
        restrictions: Vec::new(),
        is_hidden: true,
    }
}

fn action_schema(
    action: &config::Action,
    program: &Program,
    translations: &Translations,
) -> Result<ActionSchema, Error> {
    let name = name(&action.preamble);
    let known = program.actions.iter().find(|known| known.name == name);
    let widths: Vec<u32> = match known {
        Some(known) => known.params.iter().map(|param| param.width).collect(),
        // No table that is applied uses it.
        None => action.params.iter().map(|param| param.bitwidth as u32).collect(),
    };
    if widths.len() != action.params.len() {
        let (has, says) = (widths.len(), action.params.len());
        return Err(differs(format!("action `{name}` has {has} parameters, not {says}")));
    }
    if let Some(known) = known {
        let says: Vec<&str> = action.params.iter().map(|param| param.name.as_str()).collect();
        let has: Vec<&str> = known.params.iter().map(|param| param.name.as_str()).collect();
        check_order(&format!("action `{name}`"), &says, &has)?;
    }
    let params = action.params.iter().zip(widths).map(|(param, width)| {
        let value = translations.value_type(param.type_name.as_ref(), width);
        check_width(&format!("`{name}`"), &param.name, &value, param.bitwidth)?;
        Ok((param.id, param.name.clone(), value))
    });
    let params = params.collect::<Result<Vec<_>, Error>>()?;
    Ok(ActionSchema {
        id: id(&action.preamble),
        restrictions: restriction::of_action(&action.preamble, &params),
        params,
        name,
        is_hidden: false,
    })
}

/// All tables of a P4Info.
pub(super) fn tables(
    info: &P4Info,
    program: &Program,
    translations: &Translations,
    actions: &BTreeMap<u32, ActionSchema>,
) -> Result<BTreeMap<u32, TableSchema>, Error> {
    let tables = info.tables.iter();
    let schemas = tables.filter_map(|table| {
        let name = name(&table.preamble);
        // A table that is never applied has nothing that could be written.
        let index = program.tables.iter().position(|known| known.name == name)?;
        let schema = table_schema(table, index, program, translations, actions);
        Some(schema.map(|mut schema| {
            schema.meter_kind = meter_kind(info, schema.id);
            (schema.id, schema)
        }))
    });
    let schemas: BTreeMap<u32, TableSchema> = schemas.collect::<Result<_, Error>>()?;
    let is_missing = |name: &str| !schemas.values().any(|schema| schema.name == name);
    let mut visible = program.tables.iter().filter(|table| !table.is_hidden);
    match visible.find(|table| is_missing(&table.name)) {
        None => Ok(schemas),
        Some(missing) => Err(differs(format!("it does not mention table `{}`", missing.name))),
    }
}

fn table_schema(
    table: &config::Table,
    index: usize,
    program: &Program,
    translations: &Translations,
    actions: &BTreeMap<u32, ActionSchema>,
) -> Result<TableSchema, Error> {
    let declared = &program.tables[index];
    let keys: Vec<&forebay_ir::TableKey> = declared
        .keys
        .iter()
        .filter(|key| key.match_kind != forebay_ir::MatchKind::Selector)
        .collect();
    if keys.len() != table.match_fields.len() {
        let (has, says) = (keys.len(), table.match_fields.len());
        return Err(differs(format!(
            "table `{}` has {has} match fields, not {says}",
            declared.name
        )));
    }
    let says: Vec<&str> = table.match_fields.iter().map(|field| field.name.as_str()).collect();
    let has: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
    check_order(&format!("table `{}`", declared.name), &says, &has)?;
    let fields = table.match_fields.iter().zip(keys);
    let fields = fields.map(|(field, key)| field_schema(&declared.name, field, key.width, translations));
    let fields = fields.collect::<Result<Vec<_>, Error>>()?;
    Ok(TableSchema {
        id: id(&table.preamble),
        name: declared.name.clone(),
        index: TableId(index as u32),
        restrictions: restriction::of_table(&table.preamble, &fields),
        has_priorities: fields.iter().any(|field| needs_priority(field.kind)),
        fields,
        actions: table
            .action_refs
            .iter()
            .filter(|used| actions.contains_key(&used.id))
            .map(|used| (used.id, scope(used.scope())))
            .collect(),
        profile: (table.implementation_id != 0).then_some(table.implementation_id),
        counter_unit: declared
            .direct_counter
            .map(|counter| program.counters[counter.index()].unit),
        has_meter: declared.direct_meter.is_some(),
        meter_kind: MeterType::default(),
        supports_timeout: table.idle_timeout_behavior() == IdleTimeoutBehavior::NotifyControl,
        is_const: declared.entries_are_const,
        default_is_const: declared.default_is_const,
    })
}

/// The type of a table's direct meter.
fn meter_kind(info: &P4Info, table: u32) -> MeterType {
    let mut meters = info.direct_meters.iter();
    let meter = meters.find(|meter| meter.direct_table_id == table);
    meter.and_then(|meter| meter.spec).unwrap_or_default().r#type()
}

fn needs_priority(kind: MatchType) -> bool {
    matches!(kind, MatchType::Ternary | MatchType::Range | MatchType::Optional)
}

fn scope(scope: Scope) -> ActionScope {
    match scope {
        Scope::TableAndDefault | Scope::GroupAction => ActionScope::Anywhere,
        Scope::TableOnly => ActionScope::EntriesOnly,
        Scope::DefaultOnly => ActionScope::DefaultOnly,
    }
}

/// A match field whose width in the data plane is `width`.
pub(super) fn field_schema(
    of: &str,
    field: &config::MatchField,
    width: u32,
    translations: &Translations,
) -> Result<Field, Error> {
    let kind = match &field.r#match {
        Some(Match::MatchType(kind)) => MatchType::try_from(*kind).unwrap_or_default(),
        _ => MatchType::Unspecified,
    };
    if kind == MatchType::Unspecified {
        return Err(differs(format!("`{of}`: `{}` has no match type", field.name)));
    }
    let value = translations.value_type(field.type_name.as_ref(), width);
    check_width(&format!("`{of}`"), &field.name, &value, field.bitwidth)?;
    Ok(Field {
        id: field.id,
        name: field.name.clone(),
        kind,
        value,
    })
}

/// Fields stand where they are in the program. Names that it does not have are another compiler's.
fn check_order(of: &str, says: &[&str], has: &[&str]) -> Result<(), Error> {
    for (name, own) in says.iter().zip(has) {
        if name != own && has.contains(name) {
            return Err(differs(format!("{of}: `{name}` stands where the program has `{own}`")));
        }
    }
    Ok(())
}

/// P4Info has no width of an `error` or of an enum without an underlying type; both have 32 bits here.
fn check_width(of: &str, field: &str, value: &ValueType, says: i32) -> Result<(), Error> {
    match says {
        0 => Ok(()),
        says if value.control_plane_width() == says as u32 => Ok(()),
        _ => Err(differs(format!(
            "{of}: `{field}` has {} bits, not {says}",
            value.control_plane_width()
        ))),
    }
}

pub(super) fn id(preamble: &Option<config::Preamble>) -> u32 {
    preamble.as_ref().map_or(0, |preamble| preamble.id)
}

pub(super) fn name(preamble: &Option<config::Preamble>) -> String {
    preamble
        .as_ref()
        .map_or_else(String::new, |preamble| preamble.name.clone())
}
