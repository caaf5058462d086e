//! Members of action profiles (P4Runtime §9.2.1).

use super::{action, one_shot};
use crate::change::Change;
use crate::ledger::Ledger;
use crate::schema::{ProfileSchema, Schema, TableSchema, find};
use crate::status::Error;
use forebay_protocol::p4::v1::ActionProfileMember;
use forebay_protocol::p4::v1::entity::Entity;
use forebay_protocol::p4::v1::update::Type;

/// Adds, changes or removes a member.
pub(crate) fn write(change: &mut Change<'_, '_>, how: Type, member: &ActionProfileMember) -> Result<(), Error> {
    let profile = find(&change.schema.profiles, member.action_profile_id, "action profile")?;
    check_number(change, profile, "member", member.member_id)?;
    if change.ledger.has_one_shots(member.action_profile_id) {
        return Err(one_shot::mixed(&profile.name));
    }
    let key = (member.action_profile_id, member.member_id);
    if how == Type::Delete {
        check_unused(change.ledger, profile, key)?;
        change.batch.delete_member(&profile.name, member.member_id)?;
        change.ledger.members_mut().remove(&key);
        return Ok(());
    }
    let written = member.action.as_ref();
    let written = written
        .ok_or_else(|| Error::invalid(format!("`{}`: member {} has no action", profile.name, member.member_id)))?;
    let call = action::read(change, a_table(change.schema, profile)?, written, action::Use::Entry)?;
    match how {
        Type::Insert => {
            change
                .batch
                .insert_member(&profile.name, member.member_id, &call.action, &call.args)?;
        }
        _ => {
            change
                .batch
                .modify_member(&profile.name, member.member_id, &call.action, &call.args)?;
        }
    }
    let action = forebay_pipeline::EntryAction::Call {
        action: call.action,
        args: call.args,
    };
    let canonical = ActionProfileMember {
        action: action::write(change.schema, &action),
        ..*member
    };
    change.ledger.members_mut().insert(key, canonical);
    Ok(())
}

/// Refuses to delete a member that is in a group, of which the pipeline does not know while the port that it watches is
/// down.
fn check_unused(ledger: &Ledger, profile: &ProfileSchema, (profile_id, member): (u32, u32)) -> Result<(), Error> {
    let mut groups = ledger.groups().range((profile_id, 0)..=(profile_id, u32::MAX));
    if groups.any(|(_, group)| group.members.iter().any(|in_group| in_group.member_id == member)) {
        Err(Error::precondition(format!(
            "`{}`: member {member} is in use",
            profile.name
        )))
    } else {
        Ok(())
    }
}

/// A table that uses a profile: all of them list the same actions.
pub(crate) fn a_table<'a>(schema: &'a Schema, profile: &ProfileSchema) -> Result<&'a TableSchema, Error> {
    let mut tables = profile.tables.iter().filter_map(|table| schema.tables.get(table));
    tables.next().ok_or_else(|| {
        Error::invalid(format!(
            "`{}` is used by no table, so it can have no members",
            profile.name
        ))
    })
}

/// Any number but 0 is a controller's: a selector has either its members and groups, or those of one-shots.
pub(crate) fn check_number(
    change: &Change<'_, '_>,
    profile: &ProfileSchema,
    kind: &str,
    number: u32,
) -> Result<(), Error> {
    if number > 0 || change.writer.writes_again {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "`{}`: a {kind} is not numbered 0",
        profile.name
    )))
}

/// One member, all of a profile, or all.
pub(crate) fn read(
    schema: &Schema,
    ledger: &Ledger,
    wanted: &ActionProfileMember,
    sink: &mut dyn FnMut(Entity),
) -> Result<(), Error> {
    let members = ledger.members();
    match (wanted.action_profile_id, wanted.member_id) {
        (0, _) => members
            .values()
            .for_each(|member| sink(Entity::ActionProfileMember(member.clone()))),
        (profile, member) => {
            let declared = find(&schema.profiles, profile, "action profile")?;
            let range = if member == 0 {
                (profile, 0)..=(profile, u32::MAX)
            } else {
                (profile, member)..=(profile, member)
            };
            let mut found = members.range(range).peekable();
            if member != 0 && found.peek().is_none() {
                return Err(Error::not_found(format!("`{}` has no member {member}", declared.name)));
            }
            found.for_each(|(_, member)| sink(Entity::ActionProfileMember(member.clone())));
        }
    }
    Ok(())
}
