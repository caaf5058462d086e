//! The strings of a translated type (`@p4runtime_translation(…, string)`, P4Runtime §18.1) and the numbers for which
//! they stand.
//!
//! * A string that `@p4runtime_translation_mappings` lists stands for the number that it gives.
//! * A decimal number without leading zeros stands for itself as long as it fits the type.
//! * Any other string gets a free number when an update that names it is done: numbers of the upper half come first, so
//!   that they stay clear of decimal ones. The type of ports has no such strings: a port is named by its number.
//!
//! Reads, deletes, packets and refused updates give no numbers. A number that nothing uses is free again when numbers
//! run short ([`Dictionary::sweep`]), so memory is bounded by what the entries hold.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of a string.
const TEXT_MAX: usize = 1024;

/// Strings from which on unused ones are looked for.
const TEXTS_MIN: usize = 1 << 16;

/// Numbers are given below this power of two, however wide the type is.
const NUMBER_BITS_MAX: u32 = 62;

/// Characters of a string in a message.
const SHOWN_MAX: usize = 40;

/// Why a string stands for no number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// No update has named it.
    Unknown(String),
    /// No string can be so long, or name a port.
    Invalid(String),
    /// Its number does not fit the type.
    OutOfRange(String),
    /// All numbers are in use.
    Exhausted(String),
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    words: Mutex<Words>,
}

#[derive(Debug, Default)]
struct Words {
    numbers: HashMap<Vec<u8>, u64>,
    texts: BTreeMap<u64, Vec<u8>>,
    /// Numbers that the program maps.
    fixed: BTreeSet<u64>,
    is_of_ports: bool,
    /// Whether new strings get numbers.
    gives_numbers: bool,
    /// Numbers that the present update has given.
    new: Vec<u64>,
    /// Numbers that the present batch has given.
    of_batch: Vec<u64>,
    /// Whether a string has found no number since the last sweep.
    is_short: bool,
    /// Numbers that the sweep in progress has found in use.
    used: BTreeSet<u64>,
    /// How many strings there may be before unused ones are looked for.
    limit: usize,
    /// Where the search for a free number goes on.
    next: u64,
}

impl Dictionary {
    /// The strings of a type: those that the program maps.
    pub(crate) fn new(mappings: &[(Vec<u8>, u64)], is_of_ports: bool) -> Dictionary {
        let mut words = Words {
            is_of_ports,
            limit: TEXTS_MIN,
            ..Words::default()
        };
        for (text, number) in mappings {
            words.set(*number, text.clone());
            words.fixed.insert(*number);
        }
        Dictionary {
            words: Mutex::new(words),
        }
    }

    fn words(&self) -> MutexGuard<'_, Words> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a string, in a type of this width.
    pub(crate) fn number(&self, text: &[u8], width: u32) -> Result<u64, Problem> {
        self.words().number(text, width)
    }

    /// The string of a number.
    pub(crate) fn text(&self, number: u64) -> Vec<u8> {
        let known = self.words().texts.get(&number).cloned();
        known.unwrap_or_else(|| number.to_string().into_bytes())
    }

    /// A batch of updates begins.
    pub(crate) fn begin_batch(&self) {
        self.words().of_batch.clear();
    }

    /// An update begins, which gives numbers to new strings or not.
    pub(crate) fn begin(&self, gives_numbers: bool) {
        self.words().gives_numbers = gives_numbers;
    }

    /// Updates have been done, or undone with the numbers that they gave.
    pub(crate) fn end(&self, is_done: bool) {
        let mut words = self.words();
        words.gives_numbers = false;
        let new = std::mem::take(&mut words.new);
        if is_done {
            words.of_batch.extend(new)
        } else {
            new.into_iter().for_each(|number| words.forget(number))
        }
    }

    /// Whether a string has found no number since the last sweep.
    pub(crate) fn is_short(&self) -> bool {
        self.words().is_short
    }

    /// A number is in use. See [`Dictionary::sweep`].
    pub(crate) fn mark(&self, number: u64) {
        self.words().used.insert(number);
    }

    /// Frees the numbers that were not [marked](Dictionary::mark) since the last sweep, and keeps marked ones without a
    /// string from others. Gives whether there is room now that was not: numbers that are free, or a higher limit.
    pub(crate) fn sweep(&self) -> bool {
        let mut words = self.words();
        words.is_short = false;
        let used = std::mem::take(&mut words.used);
        let unused = words.texts.keys().filter(|number| !used.contains(number));
        let unused: Vec<u64> = unused.filter(|number| !words.fixed.contains(number)).copied().collect();
        unused.iter().for_each(|number| words.forget(*number));
        words.reserve(&used);
        let limit_before = words.limit;
        words.limit = TEXTS_MIN.max(2 * words.texts.len());
        !unused.is_empty() || words.limit > limit_before
    }

    /// Keeps the marked numbers without a string from others.
    pub(crate) fn reserve(&self) {
        let mut words = self.words();
        let used = std::mem::take(&mut words.used);
        words.reserve(&used);
    }

    /// All strings with their numbers.
    pub(crate) fn all(&self) -> Vec<(u64, Vec<u8>)> {
        let words = self.words();
        words
            .texts
            .iter()
            .map(|(number, text)| (*number, text.clone()))
            .collect()
    }

    /// The strings that the last batch has numbered.
    pub(crate) fn of_batch(&self) -> Vec<(u64, Vec<u8>)> {
        let words = self.words();
        let given = words.of_batch.iter();
        given
            .filter_map(|number| Some((*number, words.texts.get(number)?.clone())))
            .collect()
    }

    /// Gives a string a number, as it had it before a restart; what had either before loses it, but not to a mapping of
    /// the program.
    pub(crate) fn set(&self, number: u64, text: Vec<u8>) {
        let mut words = self.words();
        let of_text = words.numbers.get(&text).copied();
        if words.fixed.contains(&number) || of_text.is_some_and(|number| words.fixed.contains(&number)) {
            return;
        }
        words.set(number, text);
    }
}

impl Words {
    fn number(&mut self, text: &[u8], width: u32) -> Result<u64, Problem> {
        if text.len() > TEXT_MAX {
            let message = format!("a string of {} bytes; {TEXT_MAX} are possible", text.len());
            return Err(Problem::Invalid(message));
        }
        if let Some(number) = self.numbers.get(text) {
            return if fits(*number, width) {
                Ok(*number)
            } else {
                Err(Problem::OutOfRange(format!(
                    "{} stands for {number}, which does not fit in {width} bits",
                    shown(text)
                )))
            };
        }
        if let Some(number) = decimal(text) {
            if fits(number, width) {
                return self.decimal(text, number);
            }
            if self.is_of_ports {
                let message = format!("{number} does not fit in {width} bits");
                return Err(Problem::OutOfRange(message));
            }
        }
        if self.is_of_ports {
            let message = format!("{} names no port; ports are named by their numbers", shown(text));
            return Err(Problem::Invalid(message));
        }
        if text.is_empty() {
            return Err(Problem::OutOfRange("an empty string".to_string()));
        }
        if !self.gives_numbers {
            return Err(Problem::Unknown(format!("no entry names {}", shown(text))));
        }
        self.give(text, width)
    }

    /// The number that a string says, unless another string has it.
    fn decimal(&mut self, text: &[u8], number: u64) -> Result<u64, Problem> {
        match self.texts.get(&number) {
            None if !self.gives_numbers => Ok(number),
            None if self.texts.len() >= self.limit => {
                self.is_short = true;
                Err(Problem::Exhausted(format!("more than {} strings", self.limit)))
            }
            None => {
                self.set(number, text.to_vec());
                self.new.push(number);
                Ok(number)
            }
            Some(_) if !self.gives_numbers => Err(Problem::Unknown(format!("no entry names {}", shown(text)))),
            Some(other) => {
                let message = format!("the number {number} stands for {} already", shown(other));
                self.is_short = true;
                Err(Problem::Exhausted(message))
            }
        }
    }

    /// A free number for a new string.
    fn give(&mut self, text: &[u8], width: u32) -> Result<u64, Problem> {
        let count = 1u64 << width.min(NUMBER_BITS_MAX);
        if self.texts.len() >= self.limit || self.texts.len() as u64 >= count {
            self.is_short = true;
            return Err(Problem::Exhausted(format!("more strings than {width} bits can number")));
        }
        let mut number = (self.next % count).max(if self.next == 0 { count / 2 } else { 0 });
        while self.texts.contains_key(&number) {
            number = (number + 1) % count;
        }
        self.next = number + 1;
        self.set(number, text.to_vec());
        self.new.push(number);
        Ok(number)
    }

    fn set(&mut self, number: u64, text: Vec<u8>) {
        self.forget(number);
        if let Some(before) = self.numbers.insert(text.clone(), number) {
            self.texts.remove(&before);
        }
        self.texts.insert(number, text);
    }

    fn forget(&mut self, number: u64) {
        if let Some(text) = self.texts.remove(&number) {
            self.numbers.remove(&text);
        }
    }

    fn reserve(&mut self, used: &BTreeSet<u64>) {
        for number in used {
            let text = number.to_string().into_bytes();
            if !self.texts.contains_key(number) && !self.numbers.contains_key(&text) {
                self.set(*number, text);
            }
        }
    }
}

fn fits(number: u64, width: u32) -> bool {
    width >= 64 || number >> width == 0
}

/// The number that a string says in decimal digits without leading zeros.
fn decimal(text: &[u8]) -> Option<u64> {
    let is_canonical = text == b"0" || matches!(text.first(), Some(b'1'..=b'9'));
    let digits = std::str::from_utf8(text).ok().filter(|_| is_canonical)?;
    digits
        .parse()
        .ok()
        .filter(|_| digits.bytes().all(|digit| digit.is_ascii_digit()))
}

/// A string in a message.
fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}

/// The pairs of `@p4runtime_translation_mappings({ {"", 0}, {"cpu", 510} })`.
pub(super) fn mappings(annotations: &[String]) -> Vec<(Vec<u8>, u64)> {
    let mut bodies = annotations.iter().filter_map(|annotation| {
        let body = annotation
            .trim_start()
            .strip_prefix("@p4runtime_translation_mappings")?;
        body.trim_start().strip_prefix('(')
    });
    bodies.next().map(pairs).unwrap_or_default()
}

fn pairs(mut body: &str) -> Vec<(Vec<u8>, u64)> {
    let mut pairs = Vec::new();
    while let Some((_, rest)) = body.split_once('"') {
        let Some((text, rest)) = quoted(rest) else { break };
        let digits = rest.trim_start_matches([',', ' ', '\t', '\n', '\r']);
        let end = digits.find(|next: char| !next.is_ascii_alphanumeric() && next != '_');
        let (literal, rest) = digits.split_at(end.unwrap_or(digits.len()));
        if let Some(number) = integer(literal) {
            pairs.push((text, number));
        }
        body = rest;
    }
    pairs
}

/// A string up to its closing quote, and what follows.
fn quoted(body: &str) -> Option<(Vec<u8>, &str)> {
    let mut text = String::new();
    let mut characters = body.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            '"' => return Some((text.into_bytes(), &body[place + 1..])),
            '\\' => text.push(characters.next()?.1),
            _ => text.push(character),
        }
    }
    None
}

/// An integer literal of P4, with or without a width: `7`, `0x1f`, `9w7`.
fn integer(literal: &str) -> Option<u64> {
    let literal = literal.replace('_', "");
    let digits = match literal.split_once('w') {
        Some((_, digits)) => digits,
        None => &literal,
    };
    let radix = |prefix: &str, radix| u64::from_str_radix(digits.strip_prefix(prefix)?, radix).ok();
    let prefixed = radix("0x", 16).or_else(|| radix("0b", 2)).or_else(|| radix("0o", 8));
    prefixed.or_else(|| digits.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives the string a number as an update does that is done.
    fn give(dictionary: &Dictionary, text: &str, width: u32) -> Result<u64, Problem> {
        dictionary.begin(true);
        let number = dictionary.number(text.as_bytes(), width);
        dictionary.end(number.is_ok());
        number
    }

    #[test]
    fn names_get_free_numbers_and_decimals_their_own() {
        let names = Dictionary::new(&[], false);
        assert_eq!(give(&names, "red", 2), Ok(2));
        assert_eq!(give(&names, "3", 2), Ok(3));
        assert_eq!(give(&names, "blue", 2), Ok(0));
        assert_eq!(give(&names, "green", 2), Ok(1));
        assert_eq!(give(&names, "red", 2), Ok(2));
        assert!(matches!(give(&names, "black", 2), Err(Problem::Exhausted(_))));
        assert!(matches!(give(&names, "0", 2), Err(Problem::Exhausted(_))));
        assert!(names.is_short());
        names.mark(2);
        assert!(names.sweep() && !names.is_short());
        assert_eq!(names.all(), [(2, b"red".to_vec())]);
        assert_eq!((give(&names, "0", 2), names.text(1)), (Ok(0), b"1".to_vec()));
        names.mark(1);
        names.reserve();
        assert_eq!((give(&names, "black", 2), names.text(1)), (Ok(3), b"1".to_vec()));
    }

    #[test]
    fn unused_strings_are_looked_for_at_a_limit() {
        let names = Dictionary::new(&[], false);
        let text = |number: usize| match number % 2 {
            0 => number.to_string(),
            _ => format!("x{number}"),
        };
        (0..TEXTS_MIN).for_each(|number| assert!(give(&names, &text(number), 32).is_ok(), "{number}"));
        for one_more in [TEXTS_MIN, TEXTS_MIN + 1] {
            assert!(matches!(give(&names, &text(one_more), 32), Err(Problem::Exhausted(_))));
        }
        // All are in use.
        names.all().iter().for_each(|(number, _)| names.mark(*number));
        assert!(names.sweep());
        assert!(give(&names, "x", 32).is_ok() && give(&names, &text(TEXTS_MIN), 32).is_ok());
        // None is.
        assert!(names.sweep() && names.all().is_empty());
    }

    #[test]
    fn numbers_are_given_by_what_is_done() {
        let names = Dictionary::new(&[], false);
        assert!(matches!(names.number(b"red", 9), Err(Problem::Unknown(_))));
        names.begin(true);
        let first = names.number(b"red", 9).unwrap();
        names.end(false);
        assert!(names.all().is_empty());
        assert!(matches!(names.number(b"red", 9), Err(Problem::Unknown(_))));
        assert_eq!(names.number(b"7", 9), Ok(7));
        assert!(names.all().is_empty() && first >= 256);
        assert!(matches!(
            names.number(&[b'x'; TEXT_MAX + 1], 9),
            Err(Problem::Invalid(_))
        ));
    }

    #[test]
    fn ports_are_named_by_their_numbers() {
        let ports = Dictionary::new(&[(b"cpu".to_vec(), 510)], true);
        assert_eq!(give(&ports, "cpu", 9), Ok(510));
        assert_eq!(give(&ports, "12", 9), Ok(12));
        assert!(matches!(give(&ports, "512", 9), Err(Problem::OutOfRange(_))));
        for name in ["Ethernet0", "", "007", "+1"] {
            assert!(matches!(give(&ports, name, 9), Err(Problem::Invalid(_))), "{name}");
        }
        assert_eq!((ports.text(510), ports.text(3)), (b"cpu".to_vec(), b"3".to_vec()));
    }

    #[test]
    fn mappings_are_read_as_compilers_write_them() {
        let annotation = |text: &str| mappings(&["@brief(\"x\")".to_string(), text.to_string()]);
        let expected = [(b"".to_vec(), 0), (b"a \"b\"".to_vec(), 31)];
        for text in [
            r#"@p4runtime_translation_mappings({ { "" , 0 } , { "a \"b\"" , 0x1f } , })"#,
            r#"@p4runtime_translation_mappings({{"",10w0},{"a \"b\"",31}})"#,
        ] {
            assert_eq!(annotation(text), expected, "{text}");
        }
        assert!(annotation("@p4runtime_translation_mappings({})").is_empty());
        let names = Dictionary::new(&expected, false);
        assert_eq!((give(&names, "", 10), names.text(0)), (Ok(0), Vec::new()));
        assert!(!names.sweep());
        assert_eq!(names.text(31), b"a \"b\"");
    }
}
