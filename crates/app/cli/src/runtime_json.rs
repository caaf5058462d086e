//! JSON of table entries, multicast groups and clone sessions, as the tutorials of P4 have it.
//!
//! ```json
//! { "table_entries": [
//!     { "table": "MyIngress.ipv4_lpm", "match": { "hdr.ipv4.dstAddr": ["10.0.1.1", 32] },
//!       "action_name": "MyIngress.ipv4_forward", "action_params": { "dstAddr": "08:00:00:00:01:11", "port": 1 } } ] }
//! ```
//!
//! Every entry becomes a line of `forebay ctl`, which knows how values are written and what is wrong with them.

use forebay_protocol::p4::config::v1::match_field::{Match, MatchType};
use forebay_protocol::p4::v1::Update;
use forebay_shell::{Catalog, Command};
use forebay_syntax::diagnostic::closest_name;
use serde_json::{Map, Value};

/// Keys whose lists are read, and what their elements are.
const LISTS: [(&str, Kind); 3] = [
    ("table_entries", Kind::Table),
    ("multicast_group_entries", Kind::Multicast),
    ("clone_session_entries", Kind::Clone),
];

/// Keys for the tool that starts a switch.
const IGNORED: [&str; 3] = ["target", "p4info", "bmv2_json"];

/// Mistakes that a message lists.
const LISTED_MAX: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Table,
    Multicast,
    Clone,
}

/// A document with some of the lists, or none where it says otherwise that it is for a switch.
#[derive(Debug)]
pub struct Document(Map<String, Value>);

type Object = Map<String, Value>;

impl Document {
    /// Reads a document.
    ///
    /// # Errors
    /// When it is no JSON, or JSON of another kind; said in words.
    pub fn read(text: &str) -> Result<Document, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("this is no JSON: {error}"))?;
        let Value::Object(object) = value else {
            return Err(other_kind("its outermost value is no object"));
        };
        let names_a_file = |key: &str| object.get(key).is_some_and(Value::is_string);
        if LISTS.iter().any(|(key, _)| object.contains_key(*key)) || names_a_file("p4info") || names_a_file("bmv2_json")
        {
            return Ok(Document(object));
        }
        let has = |keys: &[&str]| keys.iter().all(|key| object.contains_key(*key));
        Err(other_kind(match () {
            () if has(&["pipelines", "parsers"]) => "it is what p4c has compiled for BMv2",
            () if has(&["pkgInfo"]) || has(&["tables", "actions"]) => "it is a P4Info",
            () if has(&["hosts", "switches"]) => "it is a topology",
            () => "it has none of them",
        }))
    }

    /// What is said of keys that are not for a switch that runs already, or that the tools of the tutorials do not know
    /// either.
    pub fn ignored(&self) -> Option<String> {
        let is_ignored = |key: &str| IGNORED.contains(&key) || (self.is_unknown(key) && misspelt(key).is_none());
        let present: Vec<String> = self
            .0
            .keys()
            .filter(|key| is_ignored(key))
            .map(|key| format!("`{key}`"))
            .collect();
        (!present.is_empty()).then(|| format!("{} say nothing here and are passed over", present.join(", ")))
    }

    /// What is to be written to a switch with this program, each update with the place of its entry.
    ///
    /// # Errors
    /// All entries that do not suit the program, a line each.
    pub fn updates(&self, catalog: &Catalog) -> Result<Vec<(String, Update)>, String> {
        let (mut updates, mut mistakes) = (Vec::new(), self.unknown_keys());
        for (key, kind) in LISTS {
            let Some(list) = self.0.get(key) else { continue };
            let Value::Array(list) = list else {
                mistakes.push(format!("`{key}` is no list"));
                continue;
            };
            for (index, entry) in list.iter().enumerate() {
                let place = format!("{key}[{index}]");
                match entry_updates(catalog, kind, entry) {
                    Ok(more) => updates.extend(more.into_iter().map(|update| (place.clone(), update))),
                    Err(mistake) => mistakes.push(format!("{place}: {mistake}")),
                }
            }
        }
        if mistakes.is_empty() {
            Ok(updates)
        } else {
            Err(listed(mistakes))
        }
    }

    fn unknown_keys(&self) -> Vec<String> {
        let unknown = self.0.keys().filter(|key| self.is_unknown(key));
        let meant = unknown.filter_map(|key| Some((key, misspelt(key)?)));
        meant
            .map(|(key, meant)| format!("`{key}` is not known; did you mean `{meant}`?"))
            .collect()
    }

    fn is_unknown(&self, key: &str) -> bool {
        let is_known = IGNORED.contains(&key) || LISTS.iter().any(|(known, _)| *known == key);
        !is_known && !is_comment(key)
    }
}

/// The list that a key seems to mean.
fn misspelt(key: &str) -> Option<&'static str> {
    closest_name(key, LISTS.iter().map(|(known, _)| *known))
}

fn other_kind(what: &str) -> String {
    format!(
        "this is JSON, but no table entries: expected an object with table_entries, multicast_group_entries or clone_session_entries; {what}"
    )
}

fn listed(mut mistakes: Vec<String>) -> String {
    let more = mistakes.len().saturating_sub(LISTED_MAX);
    mistakes.truncate(LISTED_MAX);
    if more > 0 {
        mistakes.push(format!("and {more} more"));
    }
    let lines: String = mistakes.iter().map(|mistake| format!("\n  {mistake}")).collect();
    format!("the entries do not suit the program, nothing was written{lines}")
}

fn entry_updates(catalog: &Catalog, kind: Kind, entry: &Value) -> Result<Vec<Update>, String> {
    let entry = entry.as_object().ok_or("this is no object")?;
    let words = match kind {
        Kind::Table => table_words(catalog, entry)?,
        Kind::Multicast => copy_words(entry, "multicast", "multicast_group_id")?,
        Kind::Clone => copy_words(entry, "session", "clone_session_id")?,
    };
    match forebay_shell::read(catalog, &words) {
        Ok(Command::Write(updates)) => Ok(updates),
        Ok(other) => unreachable!("{words:?} writes, and is no {other:?}"),
        Err(mistake) => Err(mistake.to_string().replace('\n', "\n    ")),
    }
}

/// The words that add an entry or set a default action.
fn table_words(catalog: &Catalog, entry: &Object) -> Result<Vec<String>, String> {
    let known = [
        "table",
        "match",
        "priority",
        "default_action",
        "action_name",
        "action_params",
    ];
    check_keys(entry, &known)?;
    let table = text(entry, "table")?;
    let is_default = match entry.get("default_action") {
        None => false,
        Some(Value::String(word)) if word == "true" => true,
        Some(value) => value.as_bool().ok_or("`default_action` is neither true nor false")?,
    };
    // A table without key always misses: what would be its entry is its default action.
    let has_no_key = catalog.table(&table).is_ok_and(|table| table.match_fields.is_empty());
    let is_default = is_default || (has_no_key && object(entry, "match")?.is_none_or(Map::is_empty));
    let mut words = vec![
        "table".to_string(),
        if is_default { "default" } else { "add" }.to_string(),
        table.clone(),
    ];
    if !is_default {
        words.extend(match_words(catalog, &table, object(entry, "match")?)?);
        match entry.get("priority").filter(|priority| priority.as_u64() != Some(0)) {
            Some(priority) => words.extend(["--priority".to_string(), scalar("priority", priority)?]),
            None if needs_priority(catalog, &table) => {
                return Err(format!(
                    "entries of table `{table}` have a priority: add `\"priority\": N`, 1 or more; the entry with the highest one wins"
                ));
            }
            None => {}
        }
    }
    words.extend(["do".to_string(), text(entry, "action_name")?]);
    for (name, value) in object(entry, "action_params")?.into_iter().flatten() {
        words.push(format!("{name}={}", scalar(name, alone(value))?));
    }
    Ok(words)
}

/// Whether entries of a table have a priority, if it is there.
fn needs_priority(catalog: &Catalog, table: &str) -> bool {
    let fields = catalog.table(table).into_iter().flat_map(|table| &table.match_fields);
    let mut kinds = fields.filter_map(|field| match field.r#match {
        Some(Match::MatchType(kind)) => MatchType::try_from(kind).ok(),
        _ => None,
    });
    kinds.any(|kind| matches!(kind, MatchType::Ternary | MatchType::Range | MatchType::Optional))
}

/// `FIELD=MATCH` for each field.
fn match_words(catalog: &Catalog, table: &str, fields: Option<&Object>) -> Result<Vec<String>, String> {
    let table = catalog.table(table).map_err(|mistake| mistake.to_string())?;
    let kind_of = |name: &str| {
        let field = table.match_fields.iter().find(|field| field.name == name);
        match field.and_then(|field| field.r#match.as_ref()) {
            Some(Match::MatchType(kind)) => MatchType::try_from(*kind).ok(),
            _ => None,
        }
    };
    let mut words = Vec::new();
    for (name, value) in fields.into_iter().flatten() {
        let field = table.match_fields.iter().find(|field| field.name == *name);
        let field = field.map(|field| catalog.match_field(field));
        let word = |value: &Value| {
            let text = scalar(name, value)?;
            let unknown = field
                .as_ref()
                .filter(|field| field.names.is_empty() && field.read(&text).is_err());
            Ok::<_, String>(unknown.and_then(|field| letters(&text, field.width)).unwrap_or(text))
        };
        let separator = match kind_of(name) {
            Some(MatchType::Lpm) => "/",
            Some(MatchType::Ternary) => "&&&",
            Some(MatchType::Range) => "..",
            _ => "",
        };
        let written = match (alone(value), separator) {
            (Value::Array(_), "") if !table.match_fields.iter().any(|field| field.name == *name) => {
                let known: Vec<&str> = table.match_fields.iter().map(|field| field.name.as_str()).collect();
                return Err(format!(
                    "the table has no key field `{name}`; it has {}",
                    known.join(", ")
                ));
            }
            (Value::Array(pair), "") => {
                return Err(format!("`{name}` is matched exactly: one value, not {}", pair.len()));
            }
            (Value::Array(pair), separator) => match &pair[..] {
                [first, second] => format!("{}{separator}{}", word(first)?, word(second)?),
                _ => {
                    return Err(format!(
                        "`{name}` needs two values, [FIRST, SECOND]; it has {}",
                        pair.len()
                    ));
                }
            },
            (one, _) => word(one)?,
        };
        words.push(format!("{name}={written}"));
    }
    Ok(words)
}

/// The number whose bytes are the letters of a word, as of a label in a domain name. The tutorials' tools take every
/// text that is no address for such bytes.
fn letters(text: &str, width: u32) -> Option<String> {
    let is_word = text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let digits: Vec<String> = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    (is_word && 8 * text.len() == width as usize).then(|| format!("0x{}", digits.concat()))
}

/// The words that add a multicast group or a clone session.
fn copy_words(entry: &Object, what: &str, number: &str) -> Result<Vec<String>, String> {
    let known = match what {
        "session" => vec![number, "replicas", "packet_length_bytes"],
        _ => vec![number, "replicas"],
    };
    check_keys(entry, &known)?;
    let id = entry.get(number).ok_or(format!("`{number}` is missing"))?;
    let mut words = vec![what.to_string(), "add".to_string(), scalar(number, id)?];
    let replicas = entry.get("replicas").and_then(Value::as_array);
    for replica in replicas.ok_or("`replicas` is missing, or no list")? {
        let replica = replica.as_object().ok_or("a replica is no object")?;
        check_keys(replica, &["egress_port", "instance"])?;
        let port = replica.get("egress_port").ok_or("a replica has no `egress_port`")?;
        let instance = match replica.get("instance") {
            Some(instance) => scalar("instance", instance)?,
            None => "0".to_string(),
        };
        words.push(format!("{}:{instance}", scalar("egress_port", port)?));
    }
    let length = entry
        .get("packet_length_bytes")
        .filter(|length| length.as_u64() != Some(0));
    if let Some(length) = length {
        words.extend(["--length".to_string(), scalar("packet_length_bytes", length)?]);
    }
    Ok(words)
}

/// Whether a key is for people: JSON has no comments, so tools that read these files pass over what they do not know,
/// and authors write `comment`, `_comment` or `__comment__`.
fn is_comment(key: &str) -> bool {
    let name = key.trim_matches(|character: char| !character.is_ascii_alphanumeric());
    key.starts_with(['_', '#', '/']) || ["comment", "comments", "description", "note", "notes"].contains(&name)
}

fn check_keys(entry: &Object, known: &[&str]) -> Result<(), String> {
    let is_unknown = |key: &&String| !known.contains(&key.as_str()) && !is_comment(key);
    match entry.keys().find(is_unknown) {
        Some(key) => Err(format!("`{key}` is not known; known are {}", known.join(", "))),
        None => Ok(()),
    }
}

fn text(entry: &Object, key: &str) -> Result<String, String> {
    let value = entry.get(key).ok_or(format!("`{key}` is missing"))?;
    value
        .as_str()
        .map(str::to_string)
        .ok_or(format!("`{key}` is no string"))
}

fn object<'a>(entry: &'a Object, key: &str) -> Result<Option<&'a Object>, String> {
    match entry.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(_) => Err(format!("`{key}` is no object")),
    }
}

/// A list of one value is that value.
fn alone(value: &Value) -> &Value {
    match value {
        Value::Array(list) if list.len() == 1 => &list[0],
        other => other,
    }
}

fn scalar(name: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) if !number.is_f64() => Ok(number.to_string()),
        Value::Bool(flag) => Ok(flag.to_string()),
        other => Err(format!("`{name}`: {other} is neither a number nor a string")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_what_a_document_is() {
        let error = |text| Document::read(text).expect_err("it is none");
        assert!(error("[]").ends_with("its outermost value is no object"));
        assert!(error("{").starts_with("this is no JSON"));
        assert!(error(r#"{"pipelines": [], "parsers": []}"#).ends_with("it is what p4c has compiled for BMv2"));
        assert!(error(r#"{"tables": [], "actions": []}"#).ends_with("it is a P4Info"));
        assert!(error("{}").ends_with("it has none of them"));
    }

    #[test]
    fn keys_for_other_tools_and_people_are_passed_over() {
        let read = |text| Document::read(text).expect("a document");
        let document = read(r#"{"target": "bmv2", "p4info": "x", "table_entries": []}"#);
        assert_eq!(
            document.ignored().as_deref(),
            Some("`p4info`, `target` say nothing here and are passed over")
        );
        assert_eq!(document.updates(&Catalog::default()), Ok(Vec::new()));
        let without_entries = read(r#"{"target": "bmv2", "p4info": "a", "bmv2_json": "b"}"#);
        assert_eq!(without_entries.updates(&Catalog::default()), Ok(Vec::new()));
        let commented = read(r#"{"comment": "for s1", "table_entries": [], "_note": 1}"#);
        assert_eq!(commented.updates(&Catalog::default()), Ok(Vec::new()));
        let of_others = read(r#"{"table_entries": [], "register_entries": [{}]}"#);
        assert!(
            of_others
                .ignored()
                .is_some_and(|said| said.contains("`register_entries`"))
        );
        assert_eq!(of_others.updates(&Catalog::default()), Ok(Vec::new()));
        let misspelt = read(r#"{"table_entries": [], "tabel_entries": []}"#);
        let error = misspelt.updates(&Catalog::default()).expect_err("a mistake");
        assert!(
            error.contains("`tabel_entries` is not known; did you mean `table_entries`?"),
            "{error}"
        );
    }
}
