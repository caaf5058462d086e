//! What the word that is being typed may become.

use crate::action::is_separator;
use crate::catalog::{Catalog, Named, short_names};
use crate::command::{Form, KINDS, Place, form_of, forms};
use crate::key::Key;
use forebay_protocol::p4::config::v1::Action;

/// The completions of the last of some words, which may be empty. The words are those before the cursor.
pub fn complete(catalog: &Catalog, words: &[String]) -> Vec<String> {
    let (last, before) = words
        .split_last()
        .map_or(("", words), |(last, before)| (last.as_str(), before));
    let mut candidates = match form_of(before) {
        Some((form, arguments)) => of_form(catalog, form, arguments, last),
        None => Vec::new(),
    };
    candidates.extend(next_words(before));
    candidates.retain(|candidate| candidate.starts_with(last));
    candidates.sort();
    candidates.dedup();
    candidates
}

/// The words with which commands that begin so continue.
fn next_words(before: &[String]) -> impl Iterator<Item = String> {
    let continues = |form: &Form| {
        let mut own = form.words.split(' ');
        let is_begin = before.iter().all(|word| own.next() == Some(word));
        own.next().filter(|_| is_begin).map(str::to_string)
    };
    forms().filter_map(continues)
}

fn of_form(catalog: &Catalog, form: &Form, arguments: &[String], last: &str) -> Vec<String> {
    if last.starts_with("--") {
        return form.options.iter().map(|(name, _)| format!("--{name}")).collect();
    }
    let words = without_options(form, arguments);
    let place = form.places.get(words.len()).or(form.places.last());
    let object = words.first().copied().unwrap_or_default();
    match place {
        Some(Place::Table) => aliases(&catalog.info.tables),
        Some(Place::Key) => of_entry(catalog, object, &words[1..]),
        Some(Place::Profile) => aliases(&catalog.info.action_profiles),
        Some(Place::Counter) => [aliases(&catalog.info.counters), aliases(&catalog.info.direct_counters)].concat(),
        Some(Place::Meter) => [aliases(&catalog.info.meters), aliases(&catalog.info.direct_meters)].concat(),
        Some(Place::Register) => aliases(&catalog.info.registers),
        Some(Place::Digest) => aliases(&catalog.info.digests),
        Some(Place::ValueSet) => aliases(&catalog.info.value_sets),
        Some(Place::PacketOutField) => {
            let fields = catalog.header_fields("packet_out");
            fields.iter().map(|field| format!("{}=", field.name)).collect()
        }
        Some(Place::Kind) => KINDS.iter().map(|kind| (*kind).to_string()).collect(),
        Some(Place::Other) => of_member(catalog, object, &words),
        Some(Place::File) | None => Vec::new(),
    }
}

/// The words that are neither options nor their values.
fn without_options<'a>(form: &Form, arguments: &'a [String]) -> Vec<&'a str> {
    let mut words = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(word) = arguments.next() {
        match word.strip_prefix("--") {
            None => words.push(word.as_str()),
            Some(name) => {
                let has_value = form
                    .options
                    .iter()
                    .any(|(known, value)| *known == name && value.is_some());
                if has_value {
                    arguments.next();
                }
            }
        }
    }
    words
}

fn aliases<T: Named>(objects: &[T]) -> Vec<String> {
    objects.iter().map(|object| object.alias().to_string()).collect()
}

/// Key fields and `do`, then actions, then parameters.
fn of_entry(catalog: &Catalog, table: &str, words: &[&str]) -> Vec<String> {
    let Ok(table) = catalog.table(table) else {
        return Vec::new();
    };
    let begins_action = |word: &&str| *word == "or" || is_separator(word);
    let Some(at) = words.iter().rposition(begins_action) else {
        let key = Key::new(catalog, String::new(), &table.match_fields);
        let mut candidates = unused(key.short_names(), words);
        candidates.push("do".to_string());
        return candidates;
    };
    of_action(catalog, &catalog.actions_of(table), &words[at + 1..])
}

/// The same for members of a profile, of which the words say its name.
fn of_member(catalog: &Catalog, profile: &str, words: &[&str]) -> Vec<String> {
    let Ok(profile) = crate::catalog::find(profile, &catalog.info.action_profiles) else {
        return Vec::new();
    };
    match words.iter().position(|word| is_separator(word)) {
        Some(at) => of_action(catalog, &catalog.actions_of_profile(profile), &words[at + 1..]),
        None => vec!["do".to_string()],
    }
}

fn of_action(catalog: &Catalog, actions: &[&Action], words: &[&str]) -> Vec<String> {
    let Some((name, words)) = words.split_first() else {
        return actions.iter().map(|action| action.alias().to_string()).collect();
    };
    let Some(action) = actions.iter().find(|action| action.alias() == *name) else {
        return Vec::new();
    };
    let fields = catalog.parameters(action);
    let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    unused(short_names(&names), words)
}

/// `NAME=` for each name that no word has given yet.
fn unused(names: Vec<&str>, words: &[&str]) -> Vec<String> {
    let is_used = |name: &str| words.iter().any(|word| word.split('=').next() == Some(name));
    let unused = names.into_iter().filter(|name| !is_used(name));
    unused.map(|name| format!("{name}=")).collect()
}
