//! Actions, tables and the control flow between them.

use super::{Operand, Source};
use crate::cursor::Cursor;
use crate::error::Result;
use num_bigint::BigInt;
use std::collections::BTreeMap;

/// An action. One that several tables list may be there once for each of them.
#[derive(Debug)]
pub struct Action {
    /// Where it stands.
    pub at: String,
    /// Name.
    pub name: String,
    /// By which tables refer to it.
    pub id: u32,
    /// Parameters.
    pub parameters: Vec<Parameter>,
    /// What it does, in order.
    pub primitives: Vec<Primitive>,
}

/// A parameter of an action.
#[derive(Debug)]
pub struct Parameter {
    /// Name.
    pub name: String,
    /// Bits.
    pub width: u32,
}

/// A call of a primitive.
#[derive(Debug)]
pub struct Primitive {
    /// Where it stands.
    pub at: String,
    /// Place in the P4 source.
    pub source: Source,
    /// Its name.
    pub op: String,
    /// Arguments.
    pub parameters: Vec<Operand>,
}

impl Action {
    pub(super) fn read(cursor: &Cursor) -> Result<Action> {
        Ok(Action {
            at: cursor.path().to_owned(),
            name: cursor.name()?,
            id: cursor.field("id")?.small()?,
            parameters: cursor.list("runtime_data", |parameter| {
                Ok(Parameter {
                    name: parameter.name()?,
                    width: parameter.field("bitwidth")?.small()?,
                })
            })?,
            primitives: cursor.list("primitives", Primitive::read)?,
        })
    }
}

impl Primitive {
    pub(super) fn read(cursor: &Cursor) -> Result<Primitive> {
        Ok(Primitive {
            at: cursor.path().to_owned(),
            source: Source::read(cursor),
            op: cursor.field("op")?.text()?,
            parameters: Operand::read_all(cursor, "parameters")?,
        })
    }
}

/// A control.
#[derive(Debug)]
pub struct Pipeline {
    /// Where it stands.
    pub at: String,
    /// Name: `ingress` or `egress`.
    pub name: String,
    /// Name of the node that it begins with; none when it does nothing.
    pub first: Option<String>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Action profiles.
    pub profiles: Vec<Profile>,
    /// Conditions.
    pub conditionals: Vec<Conditional>,
    /// Calls of actions.
    pub calls: Vec<DirectCall>,
}

impl Pipeline {
    pub(super) fn read(cursor: &Cursor) -> Result<Pipeline> {
        Ok(Pipeline {
            at: cursor.path().to_owned(),
            name: cursor.name()?,
            first: next(cursor, "init_table")?,
            tables: cursor.list("tables", Table::read)?,
            profiles: cursor.list("action_profiles", Profile::read)?,
            conditionals: cursor.list("conditionals", Conditional::read)?,
            calls: cursor.list("action_calls", DirectCall::read)?,
        })
    }
}

/// The name of the next node; none at the end of the control.
fn next(cursor: &Cursor, name: &str) -> Result<Option<String>> {
    cursor.optional(name).map(|next| next.text()).transpose()
}

/// A condition.
#[derive(Debug)]
pub struct Conditional {
    /// Where it stands.
    pub at: String,
    /// Place in the P4 source.
    pub source: Source,
    /// Name.
    pub name: String,
    /// The condition.
    pub expression: Operand,
    /// The node after it when it holds.
    pub then_next: Option<String>,
    /// The node after it when it does not.
    pub else_next: Option<String>,
}

impl Conditional {
    fn read(cursor: &Cursor) -> Result<Conditional> {
        Ok(Conditional {
            at: cursor.path().to_owned(),
            source: Source::read(cursor),
            name: cursor.name()?,
            expression: Operand::read(&cursor.field("expression")?)?,
            then_next: next(cursor, "true_next")?,
            else_next: next(cursor, "false_next")?,
        })
    }
}

/// A call of an action without parameters.
#[derive(Debug)]
pub struct DirectCall {
    /// Where it stands.
    pub at: String,
    /// Name.
    pub name: String,
    /// The action, by [`Action::id`].
    pub action: u32,
    /// The node after it.
    pub next: Option<String>,
}

impl DirectCall {
    fn read(cursor: &Cursor) -> Result<DirectCall> {
        Ok(DirectCall {
            at: cursor.path().to_owned(),
            name: cursor.name()?,
            action: cursor.field("action_id")?.small()?,
            next: next(cursor, "next_node")?,
        })
    }
}

/// An action profile.
#[derive(Debug)]
pub struct Profile {
    /// Name.
    pub name: String,
    /// Members that it must hold.
    pub size: u64,
    /// For a selector: the hash algorithm, and what it is computed over.
    pub selector: Option<(String, Vec<Operand>)>,
}

impl Profile {
    fn read(cursor: &Cursor) -> Result<Profile> {
        Ok(Profile {
            name: cursor.name()?,
            size: size(cursor)?,
            selector: cursor
                .optional("selector")
                .map(|selector| read_selector(&selector))
                .transpose()?,
        })
    }
}

impl Profile {
    /// The profile that a table has of its own.
    fn of_table(table: &Cursor, name: String) -> Result<Profile> {
        Ok(Profile {
            name,
            size: size(table)?,
            selector: table
                .optional("selector")
                .map(|selector| read_selector(&selector))
                .transpose()?,
        })
    }
}

fn read_selector(cursor: &Cursor) -> Result<(String, Vec<Operand>)> {
    Ok((cursor.field("algo")?.text()?, Operand::read_all(cursor, "input")?))
}

/// The size of tables without one.
const DEFAULT_SIZE: u64 = 1024;

fn size(cursor: &Cursor) -> Result<u64> {
    let size = cursor.optional("max_size").map(|size| size.number()).transpose()?;
    Ok(size.unwrap_or(DEFAULT_SIZE))
}

/// A table.
#[derive(Debug)]
pub struct Table {
    /// Where it stands.
    pub at: String,
    /// Place in the P4 source.
    pub source: Source,
    /// Name.
    pub name: String,
    /// Key fields.
    pub key: Vec<TableKey>,
    /// Its actions, by [`Action::id`].
    pub actions: Vec<u32>,
    /// Names of its actions, in JSON without their numbers.
    pub action_names: Vec<String>,
    /// What follows.
    pub next: NextTables,
    /// The default action.
    pub default: Option<DefaultEntry>,
    /// Entries in the program.
    pub entries: Option<Vec<Entry>>,
    /// Entries that it must hold.
    pub size: u64,
    /// Name of its action profile.
    pub profile: Option<String>,
    /// The action profile, in JSON of old compilers, which do not list them.
    pub own_profile: Option<Profile>,
    /// Whether it has a direct counter.
    pub with_counters: bool,
    /// Name of its direct meter.
    pub direct_meter: Option<String>,
    /// Whether entries may have idle time-outs.
    pub supports_timeout: bool,
}

/// A key field.
#[derive(Debug)]
pub struct TableKey {
    /// How it is matched.
    pub match_kind: MatchSpec,
    /// What is matched.
    pub target: Operand,
    /// Its name for the control plane, in JSON of newer compilers.
    pub name: Option<String>,
    /// Bits that are matched; all when there is none.
    pub mask: Option<BigInt>,
}

/// How a key field is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchSpec {
    /// `exact`
    Exact,
    /// `lpm`
    Lpm,
    /// `ternary`, which also stands for P4's `optional`.
    Ternary,
    /// `range`
    Range,
    /// `optional`
    Optional,
    /// `valid`: whether a header is.
    Valid,
}

/// What follows a table.
#[derive(Debug)]
pub struct NextTables {
    /// By name of the action that ran, or by `__HIT__` and `__MISS__`.
    pub by_name: BTreeMap<String, Option<String>>,
    /// After a miss without a default action.
    pub base_default: Option<String>,
}

/// The default action of a table.
#[derive(Debug)]
pub struct DefaultEntry {
    /// The action, by [`Action::id`].
    pub action: u32,
    /// Its data.
    pub data: Vec<BigInt>,
    /// Whether the control plane may not change it.
    pub is_const: bool,
}

/// An entry.
#[derive(Debug)]
pub struct Entry {
    /// Where it stands.
    pub at: String,
    /// One for each key field.
    pub matches: Vec<KeyMatch>,
    /// The action, by [`Action::id`].
    pub action: u32,
    /// Its data.
    pub data: Vec<BigInt>,
    /// The smaller wins.
    pub priority: i64,
}

/// The condition of an entry on a key field.
#[derive(Debug)]
pub enum KeyMatch {
    /// A value; of a header's validity, 0 or 1.
    Value(BigInt),
    /// A value and the length of its prefix.
    Prefix(BigInt, u32),
    /// A value and a mask.
    Masked(BigInt, BigInt),
    /// Both ends.
    Range(BigInt, BigInt),
}

impl Table {
    fn read(cursor: &Cursor) -> Result<Table> {
        let flag = |name: &str| cursor.optional(name).map_or(Ok(false), |flag| flag.flag());
        let profile = cursor
            .optional("action_profile")
            .or_else(|| cursor.optional("act_prof_name"));
        let kind = cursor.field("type")?;
        if !["simple", "indirect", "indirect_ws"].contains(&kind.text()?.as_str()) {
            return Err(kind.error("this type of table is not known; there is `simple`, `indirect`, `indirect_ws`"));
        }
        Ok(Table {
            at: cursor.path().to_owned(),
            source: Source::read(cursor),
            name: cursor.name()?,
            key: cursor.list("key", TableKey::read)?,
            actions: cursor.list("action_ids", Cursor::small)?,
            action_names: cursor.list("actions", Cursor::text)?,
            next: NextTables::read(cursor)?,
            default: cursor
                .optional("default_entry")
                .map(|entry| DefaultEntry::read(&entry))
                .transpose()?,
            entries: if cursor.has("entries") {
                Some(cursor.list("entries", Entry::read)?)
            } else {
                None
            },
            size: size(cursor)?,
            profile: profile.map(|name| name.text()).transpose()?,
            own_profile: cursor
                .optional("act_prof_name")
                .map(|name| Profile::of_table(cursor, name.text()?))
                .transpose()?,
            with_counters: flag("with_counters")?,
            direct_meter: cursor.optional("direct_meters").map(|name| name.text()).transpose()?,
            supports_timeout: flag("support_timeout")?,
        })
    }
}

impl TableKey {
    fn read(cursor: &Cursor) -> Result<TableKey> {
        let kind = cursor.field("match_type")?;
        let match_kind = match kind.text()?.as_str() {
            "exact" => MatchSpec::Exact,
            "lpm" => MatchSpec::Lpm,
            "ternary" => MatchSpec::Ternary,
            "range" => MatchSpec::Range,
            "optional" => MatchSpec::Optional,
            "valid" => MatchSpec::Valid,
            other => {
                let known = "`exact`, `lpm`, `ternary`, `range`, `optional`, `valid`";
                return Err(kind.error(format!("the match type `{other}` is not known; there is {known}")));
            }
        };
        let target = cursor.field("target")?;
        Ok(TableKey {
            match_kind,
            target: match match_kind {
                MatchSpec::Valid => Operand::header_valid(&target.text()?),
                _ => Operand::field_of(&target)?,
            },
            name: cursor.optional("name").map(|name| name.text()).transpose()?,
            mask: cursor.optional("mask").map(|mask| mask.hexadecimal()).transpose()?,
        })
    }
}

impl NextTables {
    fn read(cursor: &Cursor) -> Result<NextTables> {
        let mut by_name = BTreeMap::new();
        if let Some(next_tables) = cursor.optional("next_tables") {
            for (name, next) in next_tables.entries()? {
                by_name.insert(name, next.map(|next| next.text()).transpose()?);
            }
        }
        Ok(NextTables {
            by_name,
            base_default: next(cursor, "base_default_next")?,
        })
    }
}

impl DefaultEntry {
    fn read(cursor: &Cursor) -> Result<DefaultEntry> {
        let flag = |name: &str| cursor.optional(name).map_or(Ok(false), |flag| flag.flag());
        Ok(DefaultEntry {
            action: cursor.field("action_id")?.small()?,
            data: cursor.list("action_data", Cursor::hexadecimal)?,
            is_const: flag("action_const")? || flag("action_entry_const")?,
        })
    }
}

impl Entry {
    fn read(cursor: &Cursor) -> Result<Entry> {
        let action = cursor.field("action_entry")?;
        let priority = cursor
            .optional("priority")
            .map(|priority| priority.small())
            .transpose()?;
        Ok(Entry {
            at: cursor.path().to_owned(),
            matches: cursor.list("match_key", KeyMatch::read)?,
            action: action.field("action_id")?.small()?,
            data: action.list("action_data", Cursor::hexadecimal)?,
            priority: priority.map_or(0, i64::from),
        })
    }
}

impl KeyMatch {
    fn read(cursor: &Cursor) -> Result<KeyMatch> {
        let kind = cursor.field("match_type")?;
        let number = |name: &str| cursor.field(name)?.hexadecimal();
        Ok(match kind.text()?.as_str() {
            "exact" => KeyMatch::Value(number("key")?),
            "valid" => KeyMatch::Value(BigInt::from(u8::from(cursor.field("key")?.flag()?))),
            "lpm" => KeyMatch::Prefix(number("key")?, cursor.field("prefix_length")?.small()?),
            "ternary" | "optional" => KeyMatch::Masked(number("key")?, number("mask")?),
            "range" => KeyMatch::Range(number("start")?, number("end")?),
            other => return Err(kind.error(format!("the match type `{other}` is not known"))),
        })
    }
}
