//! The objects of a program by name and by id, as its P4Info says.
//!
//! A name may be shortened to its last components as long as one object is meant: `L3Ingress.ipv4_lpm` or `ipv4_lpm`,
//! `hdr.ipv4.dst_addr` or `dst_addr`.

use crate::mistake::{Mistake, listed};
use crate::value::Field;
use forebay_protocol::p4::config::v1::expression::Value as Literal;
use forebay_protocol::p4::config::v1::match_field::{Match, MatchType};
use forebay_protocol::p4::config::v1::p4_new_type_spec::Representation;
use forebay_protocol::p4::config::v1::p4_new_type_translation::SdnType;
use forebay_protocol::p4::config::v1::structured_annotation::Body;
use forebay_protocol::p4::config::v1::{
    Action, ActionProfile, ControllerPacketMetadata, Counter, Digest, DirectCounter, DirectMeter, MatchField, Meter,
    P4Info, P4NamedType, P4TypeInfo, Preamble, Register, Table, ValueSet,
};
use num_bigint::BigUint;

/// The width of an `error` and of an enum without an underlying type, which a P4Info does not say.
const UNSAID_WIDTH: u32 = 32;

/// A program's P4Info, with its names.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// The P4Info itself.
    pub info: P4Info,
}

/// Something with a name and an id.
pub trait Named {
    /// What it is, in words: `table`.
    const WHAT: &'static str;

    /// Its name and id.
    fn preamble(&self) -> Option<&Preamble>;

    /// Its id; 0 is none.
    fn id(&self) -> u32 {
        self.preamble().map_or(0, |preamble| preamble.id)
    }

    /// Its full name.
    fn name(&self) -> &str {
        self.preamble().map_or("", |preamble| &preamble.name)
    }

    /// The name that people read: the shortest that the compiler found to be unique.
    fn alias(&self) -> &str {
        let alias = self.preamble().map_or("", |preamble| preamble.alias.as_str());
        if alias.is_empty() { self.name() } else { alias }
    }
}

macro_rules! named {
    ($($kind:ty: $what:literal),* $(,)?) => {
        $(impl Named for $kind {
            const WHAT: &'static str = $what;

            fn preamble(&self) -> Option<&Preamble> {
                self.preamble.as_ref()
            }
        })*
    };
}

named! {
    Table: "table",
    Action: "action",
    ActionProfile: "action profile",
    Counter: "counter",
    DirectCounter: "direct counter",
    Meter: "meter",
    DirectMeter: "direct meter",
    Register: "register",
    ValueSet: "value set",
    Digest: "digest",
    ControllerPacketMetadata: "controller header",
}

/// The names that `@element_names` gives to the elements of a counter; none without it.
pub fn element_names(counter: &Counter) -> Vec<String> {
    let Some(preamble) = &counter.preamble else {
        return Vec::new();
    };
    let written = preamble.annotations.iter();
    let body = written.filter_map(|text| text.strip_prefix("@element_names(")).next();
    if let Some(body) = body {
        return strings(body);
    }
    let mut structured = preamble.structured_annotations.iter();
    let annotation = structured.find(|annotation| annotation.name == "element_names");
    let Some(Body::ExpressionList(list)) = annotation.and_then(|annotation| annotation.body.as_ref()) else {
        return Vec::new();
    };
    let values = list.expressions.iter().map(|expression| match &expression.value {
        Some(Literal::StringValue(name)) => name.clone(),
        _ => String::new(),
    });
    values.collect()
}

/// The string literals in a text.
fn strings(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut letters = text.chars();
    while letters.any(|letter| letter == '"') {
        let mut name = String::new();
        while let Some(letter) = letters.next().filter(|letter| *letter != '"') {
            name.extend(match letter {
                '\\' => letters.next(),
                _ => Some(letter),
            });
        }
        found.push(name);
    }
    found
}

impl Catalog {
    /// The names of a P4Info.
    pub fn new(info: P4Info) -> Catalog {
        Catalog { info }
    }

    /// The types that the P4Info names.
    pub fn types(&self) -> P4TypeInfo {
        self.info.type_info.clone().unwrap_or_default()
    }

    /// The table of this name.
    ///
    /// # Errors
    /// When there is none, or several.
    pub fn table(&self, name: &str) -> Result<&Table, Mistake> {
        find(name, &self.info.tables)
    }

    /// The table with this id.
    pub fn table_by_id(&self, id: u32) -> Option<&Table> {
        by_id(id, &self.info.tables)
    }

    /// The action with this id.
    pub fn action_by_id(&self, id: u32) -> Option<&Action> {
        by_id(id, &self.info.actions)
    }

    /// The actions of a table.
    pub fn actions_of(&self, table: &Table) -> Vec<&Action> {
        let ids = table.action_refs.iter().map(|action| action.id);
        ids.filter_map(|id| self.action_by_id(id)).collect()
    }

    /// The actions of the tables that a profile implements.
    pub fn actions_of_profile(&self, profile: &ActionProfile) -> Vec<&Action> {
        let tables = profile.table_ids.iter().filter_map(|id| self.table_by_id(*id));
        let mut actions: Vec<&Action> = Vec::new();
        for action in tables.flat_map(|table| self.actions_of(table)) {
            if actions.iter().all(|known| known.id() != action.id()) {
                actions.push(action);
            }
        }
        actions
    }

    /// The header of packets that controllers send (`packet_out`) or get (`packet_in`), if the program has one.
    pub fn controller_header(&self, name: &str) -> Option<&ControllerPacketMetadata> {
        let mut headers = self.info.controller_packet_metadata.iter();
        headers.find(|header| header.name() == name)
    }

    /// The fields of such a header.
    pub fn header_fields(&self, name: &str) -> Vec<Field> {
        let fields = self
            .controller_header(name)
            .into_iter()
            .flat_map(|header| &header.metadata);
        fields
            .map(|field| {
                self.typed(
                    Field::new(field.id, &field.name, field.bitwidth, &field.annotations),
                    field.type_name.as_ref(),
                )
            })
            .collect()
    }

    /// The parameters of an action.
    pub fn parameters(&self, action: &Action) -> Vec<Field> {
        let fields = action.params.iter().map(|parameter| {
            self.typed(
                Field::new(
                    parameter.id,
                    &parameter.name,
                    parameter.bitwidth,
                    &parameter.annotations,
                ),
                parameter.type_name.as_ref(),
            )
        });
        fields.collect()
    }

    /// The value that a key field or a component of a value set compares with.
    pub fn match_field(&self, field: &MatchField) -> Field {
        let has_prefixes = field.r#match == Some(Match::MatchType(MatchType::Lpm.into()));
        let value = if has_prefixes {
            Field::with_prefixes(field.id, &field.name, field.bitwidth, &field.annotations)
        } else {
            Field::new(field.id, &field.name, field.bitwidth, &field.annotations)
        };
        self.typed(value, field.type_name.as_ref())
    }

    /// The field with the names of its type's values.
    fn typed(&self, mut field: Field, type_name: Option<&P4NamedType>) -> Field {
        let types = self.info.type_info.as_ref();
        let named = type_name.and_then(|name| types?.serializable_enums.get(&name.name));
        for member in named.into_iter().flat_map(|named| &named.members) {
            let value = BigUint::from_bytes_be(&member.value);
            field.names.push((member.name.clone(), value));
        }
        if field.width == 0 && !self.is_string(type_name) {
            field.width = UNSAID_WIDTH;
        }
        field
    }

    /// Whether values of a type are strings to controllers.
    fn is_string(&self, type_name: Option<&P4NamedType>) -> bool {
        let types = self.info.type_info.as_ref();
        let spec = type_name.and_then(|name| types?.new_types.get(&name.name));
        match spec.and_then(|spec| spec.representation.as_ref()) {
            Some(Representation::TranslatedType(translation)) => {
                matches!(translation.sdn_type, Some(SdnType::SdnString(_)))
            }
            _ => false,
        }
    }
}

/// The object with this id.
pub fn by_id<T: Named>(id: u32, objects: &[T]) -> Option<&T> {
    objects.iter().find(|object| object.id() == id)
}

/// The object that a full or shortened name means.
///
/// # Errors
/// When there is none, or several.
pub fn find<'a, T: Named>(name: &str, objects: &'a [T]) -> Result<&'a T, Mistake> {
    let names: Vec<&str> = objects.iter().map(Named::name).collect();
    let aliases = || objects.iter().map(Named::alias);
    let chosen = objects.iter().position(|object| object.alias() == name);
    match chosen {
        Some(chosen) => Ok(&objects[chosen]),
        None => select(T::WHAT, name, &names, aliases()).map(|chosen| &objects[chosen]),
    }
}

/// Which of some names a shortened one means. Proposals are made from `shown`.
///
/// # Errors
/// When there is none, or several.
pub fn select<'a>(
    what: &str,
    written: &str,
    names: &[&str],
    shown: impl IntoIterator<Item = &'a str>,
) -> Result<usize, Mistake> {
    position(what, written, names)?.ok_or_else(|| {
        let unknown = Mistake::unknown(what, written, shown);
        match elsewhere(written, names).as_slice() {
            [] => unknown,
            [one] => unknown.help(format!("did you mean `{one}`?")),
            several => unknown.help(format!("write one of {}", listed(several))),
        }
    })
}

/// The names that differ in what stands before the last component alone: entries of another program name its control.
fn elsewhere<'n>(written: &str, names: &[&'n str]) -> Vec<&'n str> {
    let last = written.rsplit_once('.').map_or("", |(_, last)| last);
    names.iter().copied().filter(|name| ends_with(name, last)).collect()
}

/// The same for the parts of something: `owner` describes it.
///
/// # Errors
/// When there is none, or several.
pub fn select_of<'a>(
    owner: &str,
    what: &str,
    written: &str,
    names: &[&str],
    shown: impl IntoIterator<Item = &'a str>,
) -> Result<usize, Mistake> {
    position(what, written, names)?.ok_or_else(|| Mistake::unknown_of(owner, what, written, shown))
}

fn position(what: &str, written: &str, names: &[&str]) -> Result<Option<usize>, Mistake> {
    if let Some(exact) = names.iter().position(|name| *name == written) {
        return Ok(Some(exact));
    }
    let meant: Vec<usize> = (0..names.len())
        .filter(|index| ends_with(names[*index], written))
        .collect();
    match meant.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        several => {
            let several: Vec<&str> = several.iter().map(|index| names[*index]).collect();
            let mistake = Mistake::new(format!("`{written}` may be more than one {what}"));
            Err(mistake.help(format!("write one of {}", listed(&several))))
        }
    }
}

/// Whether the last components of a name are these.
fn ends_with(name: &str, written: &str) -> bool {
    let rest = name.strip_suffix(written);
    !written.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// The shortest last components of each name that tell it from the others.
pub fn short_names<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let is_unique = |short: &str| names.iter().filter(|name| ends_with(name, short)).count() == 1;
    let shorten = |name: &'a str| {
        let starts = name.rmatch_indices('.').map(|(dot, _)| dot + 1).chain([0]);
        let mut shorter = starts.map(|start| &name[start..]);
        shorter.find(|short| is_unique(short)).unwrap_or(name)
    };
    names.iter().map(|name| shorten(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_another_control_are_proposed_in_full() {
        let names = ["ingress.routing.ipv4_lpm", "ingress.acl", "egress.acl"];
        let said = |written| {
            let mistake = select("table", written, &names, ["ipv4_lpm", "ingress.acl", "egress.acl"]);
            mistake.expect_err("no table").to_string()
        };
        assert!(said("MyIngress.ipv4_lpm").ends_with("did you mean `ingress.routing.ipv4_lpm`?"));
        assert!(said("MyIngress.acl").ends_with("write one of `ingress.acl`, `egress.acl`"));
        assert!(said("MyIngress.x").contains("there is `ipv4_lpm`, `ingress.acl`"));
    }

    #[test]
    fn names_may_be_shortened() {
        let names = ["hdr.ipv4.dst_addr", "hdr.ethernet.dst_addr", "meta.next"];
        let select = |written| select("field", written, &names, names);
        assert_eq!(select("next"), Ok(2));
        assert_eq!(select("ipv4.dst_addr"), Ok(0));
        assert!(select("dst_addr").unwrap_err().to_string().contains("more than one"));
        assert!(select("addr").is_err());
        assert_eq!(short_names(&names), ["ipv4.dst_addr", "ethernet.dst_addr", "next"]);
    }

    /// A P4Info says no width of a string, and none of an `error`.
    #[test]
    fn values_without_a_width_are_numbers_unless_they_are_strings() {
        let types = r#"new_types { key: "name_t" value { translated_type { uri: "x" sdn_string {} } } }"#;
        let catalog = Catalog::new(P4Info {
            type_info: Some(forebay_protocol::text::read("p4.config.v1.P4TypeInfo", types).unwrap()),
            ..P4Info::default()
        });
        let read = |type_name: Option<&str>| {
            let field = MatchField {
                type_name: type_name.map(|name| P4NamedType { name: name.to_string() }),
                ..MatchField::default()
            };
            catalog.match_field(&field).read("1")
        };
        assert_eq!(read(None), Ok(vec![1]));
        assert_eq!(read(Some("color_t")), Ok(vec![1]));
        assert_eq!(read(Some("name_t")), Ok(b"1".to_vec()));
    }

    #[test]
    fn elements_have_the_names_of_the_annotation() {
        let named = |annotations: &[&str]| {
            element_names(&Counter {
                preamble: Some(Preamble {
                    annotations: annotations.iter().map(ToString::to_string).collect(),
                    ..Preamble::default()
                }),
                ..Counter::default()
            })
        };
        let written = "@element_names(\"no route\" , \"odd \\\"one\\\", \\\\\")";
        assert_eq!(named(&["@hidden", written]), ["no route", "odd \"one\", \\"]);
        assert!(named(&["@elements(\"no route\")"]).is_empty());
        assert!(named(&["@element_names(\"no end"]).len() < 2);
    }
}
