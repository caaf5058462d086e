//! Names in the text form: how an index becomes a readable, unambiguous symbol, and which words are reserved.

use super::lexer::word_length;
use crate::{Architecture, BodyKind, CloneKind, CustomCrc, HashAlgorithm, MatchKind, Program, Role, Unit};
use std::collections::HashMap;

/// Words with a meaning of their own. A name that equals one of them is written in quotes.
pub(super) const RESERVED: &[&str] = &[
    "_",
    "action",
    "action_profile",
    "advance",
    "any",
    "apply",
    "assert",
    "assume",
    "bit",
    "body",
    "bool",
    "branch",
    "calculation",
    "clear",
    "clone",
    "commit",
    "component",
    "const",
    "count",
    "counter",
    "default",
    "default_only",
    "deletes_idle",
    "digest",
    "direct",
    "direct_counter",
    "direct_meter",
    "egress",
    "elements",
    "emit",
    "enter_atomic",
    "entries",
    "entry",
    "error",
    "execute_meter",
    "exit",
    "expire_seconds",
    "extract",
    "field",
    "field_list",
    "file",
    "finish",
    "graph",
    "hash",
    "header",
    "hidden",
    "hit",
    "idle_timeout",
    "if",
    "implementation",
    "in",
    "ingress",
    "initial",
    "int",
    "intrinsic",
    "jump",
    "key",
    "leave_atomic",
    "length",
    "local",
    "log",
    "lookahead",
    "metadata",
    "meter",
    "mirror",
    "next_index",
    "packet_length",
    "payload",
    "priority",
    "program",
    "random",
    "range",
    "receiver",
    "recirculate",
    "reframe",
    "register",
    "register_read",
    "register_write",
    "reject",
    "replicate",
    "request",
    "restore",
    "resubmit",
    "return",
    "run",
    "select",
    "selector",
    "sext",
    "size",
    "slot",
    "stage",
    "state",
    "suspend",
    "table",
    "table_only",
    "trunc",
    "truncate",
    "update_checksum",
    "v1model",
    "valid",
    "value_set",
    "varbit",
    "varbit_length",
    "verify_checksum",
    "width",
    "zext",
];

/// Words that begin a declaration whose name is referred to elsewhere.
pub(super) const DECLARATIONS: &[&str] = &[
    "slot",
    "header",
    "body",
    "action",
    "table",
    "action_profile",
    "register",
    "counter",
    "meter",
    "value_set",
    "digest",
    "calculation",
];

/// An enumeration, each of whose variants has a word.
pub(super) trait Keyword: Copy + PartialEq + 'static {
    /// Every variant with its word.
    const WORDS: &'static [(Self, &'static str)];

    /// The word of this variant.
    fn word(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(variant, _)| *variant == self);
        found.map(|(_, word)| *word).expect("every variant has a word")
    }

    /// The variant of a word.
    fn from_word(word: &str) -> Option<Self> {
        Self::WORDS
            .iter()
            .find(|(_, candidate)| *candidate == word)
            .map(|(variant, _)| *variant)
    }
}

impl Keyword for Role {
    const WORDS: &'static [(Self, &'static str)] = &[
        (Role::Parser, "parser"),
        (Role::VerifyChecksum, "verify_checksum"),
        (Role::Ingress, "ingress"),
        (Role::Egress, "egress"),
        (Role::ComputeChecksum, "compute_checksum"),
        (Role::Deparser, "deparser"),
        (Role::IngressParser, "ingress_parser"),
        (Role::IngressDeparser, "ingress_deparser"),
        (Role::EgressParser, "egress_parser"),
        (Role::EgressDeparser, "egress_deparser"),
        (Role::MainParser, "main_parser"),
        (Role::PreControl, "pre_control"),
        (Role::MainControl, "main_control"),
        (Role::MainDeparser, "main_deparser"),
    ];
}

impl Keyword for Architecture {
    const WORDS: &'static [(Self, &'static str)] = Architecture::NAMES;
}

impl Keyword for BodyKind {
    const WORDS: &'static [(Self, &'static str)] = &[
        (BodyKind::Parser, "parser"),
        (BodyKind::Control, "control"),
        (BodyKind::Deparser, "deparser"),
        (BodyKind::Action, "action"),
    ];
}

impl Keyword for MatchKind {
    const WORDS: &'static [(Self, &'static str)] = &[
        (MatchKind::Exact, MatchKind::Exact.name()),
        (MatchKind::Lpm, MatchKind::Lpm.name()),
        (MatchKind::Ternary, MatchKind::Ternary.name()),
        (MatchKind::Range, MatchKind::Range.name()),
        (MatchKind::Optional, MatchKind::Optional.name()),
        (MatchKind::Selector, MatchKind::Selector.name()),
    ];
}

impl Keyword for Unit {
    const WORDS: &'static [(Self, &'static str)] = &[
        (Unit::Packets, "packets"),
        (Unit::Bytes, "bytes"),
        (Unit::PacketsAndBytes, "packets_and_bytes"),
    ];
}

impl Keyword for CloneKind {
    const WORDS: &'static [(Self, &'static str)] =
        &[(CloneKind::IngressToEgress, "i2e"), (CloneKind::EgressToEgress, "e2e")];
}

impl Keyword for HashAlgorithm {
    const WORDS: &'static [(Self, &'static str)] = HashAlgorithm::NAMES;
}

impl Keyword for CustomCrc {
    const WORDS: &'static [(Self, &'static str)] =
        &[(CustomCrc::Crc16, "crc16_custom"), (CustomCrc::Crc32, "crc32_custom")];
}

/// The names of one kind of thing, by index.
#[derive(Default)]
pub(super) struct NameTable {
    names: Vec<String>,
    /// An index with the name, and whether the name is ambiguous.
    by_name: HashMap<String, (u32, bool)>,
}

impl NameTable {
    /// The table of `names`, in order of their indexes.
    pub(super) fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut table = NameTable::default();
        for name in names {
            table.push(name);
        }
        table
    }

    /// Adds the name of the next index.
    pub(super) fn push(&mut self, name: &str) {
        let index = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.by_name
            .entry(name.to_owned())
            .and_modify(|entry| entry.1 = true)
            .or_insert((index, false));
    }

    /// The symbol for an index: the name if it is unique, `name#index` if others have the same name, `!index` if there
    /// is no such index.
    pub(super) fn symbol(&self, index: u32) -> String {
        let Some(name) = self.names.get(index as usize) else {
            return format!("!{index}");
        };
        let text = plain_or_quoted(name);
        if self.by_name[name].1 {
            format!("{text}#{index}")
        } else {
            text
        }
    }

    /// The only index with this name; an error message otherwise.
    pub(super) fn lookup(&self, name: &str) -> Result<u32, String> {
        match self.by_name.get(name) {
            Some((index, false)) => Ok(*index),
            Some((_, true)) => Err(format!("several are named `{name}`: add `#` and its index")),
            None => Err(format!("nothing is named `{name}`")),
        }
    }

    /// Whether the thing with this index has this name.
    pub(super) fn is_named(&self, index: u32, name: &str) -> bool {
        self.names
            .get(index as usize)
            .is_some_and(|candidate| candidate == name)
    }
}

/// The names of everything in a program that operations refer to.
#[derive(Default)]
pub(super) struct Names {
    pub(super) slots: NameTable,
    pub(super) headers: NameTable,
    pub(super) bodies: NameTable,
    pub(super) actions: NameTable,
    pub(super) tables: NameTable,
    pub(super) action_profiles: NameTable,
    pub(super) registers: NameTable,
    pub(super) counters: NameTable,
    pub(super) meters: NameTable,
    pub(super) value_sets: NameTable,
    pub(super) digests: NameTable,
    pub(super) calculations: NameTable,
}

impl Names {
    /// The names of a program.
    pub(super) fn new(program: &Program) -> Self {
        Names {
            slots: NameTable::new(program.slots.iter().map(|x| x.name.as_str())),
            headers: NameTable::new(program.headers.iter().map(|x| x.name.as_str())),
            bodies: NameTable::new(program.bodies.iter().map(|x| x.name.as_str())),
            actions: NameTable::new(program.actions.iter().map(|x| x.name.as_str())),
            tables: NameTable::new(program.tables.iter().map(|x| x.name.as_str())),
            action_profiles: NameTable::new(program.action_profiles.iter().map(|x| x.name.as_str())),
            registers: NameTable::new(program.registers.iter().map(|x| x.name.as_str())),
            counters: NameTable::new(program.counters.iter().map(|x| x.name.as_str())),
            meters: NameTable::new(program.meters.iter().map(|x| x.name.as_str())),
            value_sets: NameTable::new(program.value_sets.iter().map(|x| x.name.as_str())),
            digests: NameTable::new(program.digests.iter().map(|x| x.name.as_str())),
            calculations: NameTable::new(program.calculations.iter().map(|x| x.name.as_str())),
        }
    }

    /// The table for a declaration word (one of [`DECLARATIONS`]).
    pub(super) fn declared_by(&mut self, word: &str) -> Option<&mut NameTable> {
        Some(match word {
            "slot" => &mut self.slots,
            "header" => &mut self.headers,
            "body" => &mut self.bodies,
            "action" => &mut self.actions,
            "table" => &mut self.tables,
            "action_profile" => &mut self.action_profiles,
            "register" => &mut self.registers,
            "counter" => &mut self.counters,
            "meter" => &mut self.meters,
            "value_set" => &mut self.value_sets,
            "digest" => &mut self.digests,
            "calculation" => &mut self.calculations,
            _ => return None,
        })
    }
}

/// Whether a name can be written without quotes.
pub(super) fn is_plain(name: &str) -> bool {
    !name.is_empty() && word_length(name) == name.len() && !RESERVED.contains(&name) && block_number(name).is_none()
}

/// The number in `block12`.
pub(super) fn block_number(word: &str) -> Option<u32> {
    let digits = word.strip_prefix("block")?;
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if all_digits { digits.parse().ok() } else { None }
}

/// The name, in quotes if necessary.
pub(super) fn plain_or_quoted(name: &str) -> String {
    if is_plain(name) { name.to_owned() } else { quoted(name) }
}

/// A string literal.
pub(super) fn quoted(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for character in text.chars() {
        match character {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            '\t' => literal.push_str("\\t"),
            c if c.is_control() => literal.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => literal.push(c),
        }
    }
    literal.push('"');
    literal
}
