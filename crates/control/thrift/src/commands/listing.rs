//! Tables, entries and actions as simple_switch_CLI prints them.

use crate::key::{Said, from_action, from_match, from_priority, has_priorities, match_type};
use crate::program::match_name;
use crate::tables::handle_of;
use forebay_protocol::p4::config::v1::{Action as ActionInfo, Table};
use forebay_protocol::p4::v1::{
    Action, ActionProfileGroup, ActionProfileMember, TableAction, TableEntry, table_action,
};
use forebay_shell::Catalog;
use forebay_shell::catalog::{Named, by_id};
use std::fmt::Write;

fn hex(bytes: &[u8], separator: &str) -> String {
    let octets: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    octets.join(separator)
}

/// Action data: `08:00:00:00:01:11`, a tab, `00:01`
pub(super) fn data_of(data: &[Vec<u8>]) -> String {
    let written: Vec<String> = data.iter().map(|bytes| hex(bytes, ":")).collect();
    written.join("\t")
}

/// A key: `LPM-0a:00:01:01/32`
pub(super) fn key_of(key: &[Said]) -> String {
    let written: Vec<String> = key
        .iter()
        .map(|said| format!("{}-{}", kind(said), value(said, ":")))
        .collect();
    written.join("\t")
}

fn kind(said: &Said) -> &'static str {
    match said {
        Said::Exact(_) => "EXACT",
        Said::Lpm(..) => "LPM",
        Said::Ternary(..) => "TERNARY",
        Said::Valid(_) => "VALID",
        Said::Range(..) => "RANGE",
    }
}

fn value(said: &Said, separator: &str) -> String {
    let hex = |bytes: &[u8]| hex(bytes, separator);
    match said {
        Said::Exact(bytes) => hex(bytes),
        Said::Lpm(bytes, length) => format!("{}/{length}", hex(bytes)),
        Said::Ternary(bytes, mask) => format!("{} &&& {}", hex(bytes), hex(mask)),
        Said::Valid(flag) => format!("{:02x}", u8::from(*flag)),
        Said::Range(low, high) => format!("{} -> {}", hex(low), hex(high)),
    }
}

/// All tables, by name.
pub(super) fn tables(catalog: &Catalog) -> String {
    let mut lines: Vec<String> = catalog.info.tables.iter().map(|info| table(catalog, info)).collect();
    lines.sort();
    lines.concat()
}

/// A table's line: `ingress.ipv4_lpm [implementation=None, mk=hdr.ipv4.dst_addr(lpm, 32)]`
pub(super) fn table(catalog: &Catalog, table: &Table) -> String {
    let profile = by_id(table.implementation_id, &catalog.info.action_profiles);
    let key = table.match_fields.iter().map(|field| {
        let kind = match_name(match_type(field));
        format!("{}({kind}, {})", field.name, field.bitwidth)
    });
    let key: Vec<String> = key.collect();
    let profile = profile.map_or("None", Named::name);
    format!(
        "{:<30} [implementation={profile}, mk={}]\n",
        table.name(),
        key.join(",\t")
    )
}

/// Actions, by name, with parameters: `ingress.forward [port(9)]`
pub(super) fn actions<'a>(actions: impl Iterator<Item = &'a ActionInfo>) -> String {
    let line = |action: &ActionInfo| {
        let data = action
            .params
            .iter()
            .map(|field| format!("{}({})", field.name, field.bitwidth));
        format!("{:<30} [{}]\n", action.name(), data.collect::<Vec<_>>().join(",\t"))
    };
    let mut lines: Vec<String> = actions.map(line).collect();
    lines.sort();
    lines.concat()
}

/// An entry.
pub(super) fn entry(catalog: &Catalog, table: &Table, entry: &TableEntry, handle: i32) -> String {
    let names = table.match_fields.iter().map(|field| field.name.len());
    let width = names.max().unwrap_or(0).max(20);
    let mut text = format!("Dumping entry {handle:#x}\nMatch key:\n");
    for (field, said) in table.match_fields.iter().zip(from_match(table, &entry.r#match)) {
        let _ = writeln!(
            text,
            "* {:<width$}: {:<10}{}",
            field.name,
            kind(&said),
            value(&said, "")
        );
    }
    if has_priorities(table) {
        let _ = writeln!(text, "Priority: {}", from_priority(entry.priority));
    }
    text += &action(catalog, entry.action.as_ref());
    if table.idle_timeout_behavior != 0 {
        let elapsed = entry.time_since_last_hit.as_ref().map_or(0, |time| time.elapsed_ns);
        let _ = writeln!(
            text,
            "Life: {}ms since hit, timeout is {}ms",
            elapsed / 1_000_000,
            entry.idle_timeout_ns / 1_000_000
        );
    }
    text
}

/// What an entry does.
pub(super) fn action(catalog: &Catalog, action: Option<&TableAction>) -> String {
    match action.and_then(|action| action.r#type.as_ref()) {
        Some(table_action::Type::Action(action)) => action_and_data(catalog, action),
        Some(table_action::Type::ActionProfileMemberId(number)) => format!("Index: member({})\n", handle_of(*number)),
        Some(table_action::Type::ActionProfileGroupId(number)) => format!("Index: group({})\n", handle_of(*number)),
        _ => "EMPTY\n".to_string(),
    }
}

fn action_and_data(catalog: &Catalog, action: &Action) -> String {
    let Some(info) = catalog.action_by_id(action.action_id) else {
        return "EMPTY\n".to_string();
    };
    let data: Vec<String> = from_action(info, action).iter().map(|bytes| hex(bytes, "")).collect();
    format!("Action entry: {} - {}\n", info.name(), data.join(", "))
}

/// A member of an action profile.
pub(super) fn member(catalog: &Catalog, member: &ActionProfileMember) -> String {
    let action = member.action.as_ref().map(|action| action_and_data(catalog, action));
    format!(
        "Dumping member {}\n{}",
        handle_of(member.member_id),
        action.unwrap_or_default()
    )
}

/// A group of an action profile.
pub(super) fn group(group: &ActionProfileGroup) -> String {
    let members: Vec<String> = (group.members.iter())
        .map(|member| handle_of(member.member_id).to_string())
        .collect();
    format!(
        "Dumping group {}\nMembers: [{}]\n",
        handle_of(group.group_id),
        members.join(", ")
    )
}
