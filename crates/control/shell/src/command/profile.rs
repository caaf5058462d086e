//! `profile …`: members and groups of action profiles and selectors.

use super::{Change, Command, Form, Place, entity, reading, write, write_named};
use crate::action;
use crate::arguments::{Arguments, number};
use crate::catalog::{Catalog, Named, find};
use crate::listing::{Cell, Record};
use crate::mistake::Mistake;
use forebay_protocol::p4::config::v1::ActionProfile;
use forebay_protocol::p4::v1::action_profile_group::Member;
use forebay_protocol::p4::v1::action_profile_group::member::WatchKind;
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{ActionProfileGroup, ActionProfileMember};

macro_rules! form {
    ($words:literal, $arguments:literal, $about:literal, $options:expr, $read:expr) => {
        Form {
            words: $words,
            arguments: $arguments,
            about: $about,
            places: &[Place::Profile, Place::Other],
            options: $options,
            read: $read,
        }
    };
}

const SIZE: &[(&str, Option<&str>)] = &[("max-size", Some("N"))];

pub(super) const FORMS: &[Form] = &[
    form!("profile list", "", "action profiles and selectors", &[], list),
    form!(
        "profile member dump",
        "[PROFILE]",
        "members",
        &[],
        |catalog, arguments| { Ok(reading([Kind::ActionProfileMember(all_members(catalog, arguments)?)])) }
    ),
    form!(
        "profile member add",
        "PROFILE MEMBER do ACTION [PARAMETER=VALUE...]",
        "adds a member",
        &[],
        |catalog, arguments| member(catalog, arguments, Type::Insert)
    ),
    form!(
        "profile member modify",
        "PROFILE MEMBER do ACTION [PARAMETER=VALUE...]",
        "changes what a member does",
        &[],
        |catalog, arguments| member(catalog, arguments, Type::Modify)
    ),
    form!(
        "profile member delete",
        "PROFILE MEMBER",
        "deletes a member",
        &[],
        |catalog, arguments| {
            arguments.at_most(2)?;
            Ok(write(
                Type::Delete,
                Kind::ActionProfileMember(named_member(catalog, arguments)?),
            ))
        }
    ),
    form!(
        "profile group dump",
        "[PROFILE]",
        "groups",
        &[],
        |catalog, arguments| { Ok(reading([Kind::ActionProfileGroup(all_groups(catalog, arguments)?)])) }
    ),
    form!(
        "profile group add",
        "PROFILE GROUP MEMBER[:WEIGHT][@PORT]...",
        "adds a group; a member counts only while the port that it watches is up",
        SIZE,
        |catalog, arguments| group(catalog, arguments, Type::Insert)
    ),
    form!(
        "profile group modify",
        "PROFILE GROUP MEMBER[:WEIGHT][@PORT]...",
        "changes the members of a group",
        SIZE,
        |catalog, arguments| group(catalog, arguments, Type::Modify)
    ),
    form!(
        "profile group delete",
        "PROFILE GROUP",
        "deletes a group",
        &[],
        |catalog, arguments| {
            arguments.at_most(2)?;
            Ok(write(
                Type::Delete,
                Kind::ActionProfileGroup(named_group(catalog, arguments)?),
            ))
        }
    ),
    form!(
        "profile clear",
        "PROFILE",
        "deletes all groups and members",
        &[],
        |catalog, arguments| {
            arguments.at(0, "the name of the profile")?;
            let groups = Kind::ActionProfileGroup(all_groups(catalog, arguments)?);
            let members = Kind::ActionProfileMember(all_members(catalog, arguments)?);
            Ok(Command::Change(vec![entity(groups), entity(members)], Change::Delete))
        }
    ),
];

fn list(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    arguments.at_most(0)?;
    Ok(Command::Show(records(catalog)))
}

/// What is known of every profile.
pub(super) fn records(catalog: &Catalog) -> Vec<Record> {
    let profiles = catalog.info.action_profiles.iter().map(|profile| {
        let tables = profile.table_ids.iter().filter_map(|id| catalog.table_by_id(*id));
        Record::default()
            .text("profile", profile.alias())
            .with("selector", Cell::Flag(profile.with_selector))
            .with(
                "tables",
                Cell::List(tables.map(|table| table.alias().to_string()).collect()),
            )
            .number("size", profile.size)
            .number("max_group_size", i64::from(profile.max_group_size))
    });
    profiles.collect()
}

fn profile<'a>(catalog: &'a Catalog, arguments: &Arguments) -> Result<&'a ActionProfile, Mistake> {
    find(
        arguments.at(0, "the name of the profile")?,
        &catalog.info.action_profiles,
    )
}

/// The id of the profile that is named, or 0 for all.
fn profile_or_all(catalog: &Catalog, arguments: &Arguments) -> Result<u32, Mistake> {
    arguments.at_most(1)?;
    if arguments.words.is_empty() {
        Ok(0)
    } else {
        profile(catalog, arguments).map(Named::id)
    }
}

fn all_members(catalog: &Catalog, arguments: &Arguments) -> Result<ActionProfileMember, Mistake> {
    Ok(ActionProfileMember {
        action_profile_id: profile_or_all(catalog, arguments)?,
        ..ActionProfileMember::default()
    })
}

fn all_groups(catalog: &Catalog, arguments: &Arguments) -> Result<ActionProfileGroup, Mistake> {
    Ok(ActionProfileGroup {
        action_profile_id: profile_or_all(catalog, arguments)?,
        ..ActionProfileGroup::default()
    })
}

fn named_member(catalog: &Catalog, arguments: &Arguments) -> Result<ActionProfileMember, Mistake> {
    Ok(ActionProfileMember {
        action_profile_id: profile(catalog, arguments)?.id(),
        member_id: number(arguments.at(1, "the number of the member")?, "member")?,
        action: None,
    })
}

fn member(catalog: &Catalog, arguments: &Arguments, how: Type) -> Result<Command, Mistake> {
    let mut member = named_member(catalog, arguments)?;
    let words = match action::split(arguments.from(2)) {
        ([], Some(words)) | (words, None) => words,
        ([word, ..], Some(_)) => return Err(Mistake::new(format!("`{word}` is one word too many"))),
    };
    let choices = action::profile_actions(catalog, profile(catalog, arguments)?);
    member.action = Some(action::read_action(catalog, &choices, words)?);
    Ok(write(how, Kind::ActionProfileMember(member)))
}

fn named_group(catalog: &Catalog, arguments: &Arguments) -> Result<ActionProfileGroup, Mistake> {
    let profile = profile(catalog, arguments)?;
    if !profile.with_selector {
        return Err(Mistake::new(format!(
            "`{}` is no action selector: it has no groups",
            profile.alias()
        )));
    }
    Ok(ActionProfileGroup {
        action_profile_id: profile.id(),
        group_id: number(arguments.at(1, "the number of the group")?, "group")?,
        max_size: arguments.number("max-size")?.unwrap_or(0),
        members: Vec::new(),
    })
}

fn group(catalog: &Catalog, arguments: &Arguments, how: Type) -> Result<Command, Mistake> {
    let mut group = named_group(catalog, arguments)?;
    let members = arguments.from(2).iter().map(|word| group_member(word));
    group.members = members.collect::<Result<_, _>>()?;
    Ok(write_named(how, Kind::ActionProfileGroup(group), arguments))
}

/// `MEMBER[:WEIGHT][@PORT]`
fn group_member(word: &str) -> Result<Member, Mistake> {
    let (rest, port) = match word.split_once('@') {
        Some((rest, port)) => (rest, Some(action::port(port)?)),
        None => (word, None),
    };
    let (member, weight) = rest.split_once(':').unwrap_or((rest, "1"));
    Ok(Member {
        member_id: number(member, "member")?,
        weight: number(weight, "weight")?,
        watch_kind: port.map(WatchKind::WatchPort),
    })
}
