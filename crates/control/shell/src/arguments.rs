//! The words after a command: arguments in order, and options such as `--priority 10` anywhere between them.

use crate::mistake::Mistake;
use std::collections::BTreeMap;

/// An option of a command: its name without hyphens, and what its value is called in help; no value for a flag.
pub type OptionForm = (&'static str, Option<&'static str>);

/// Arguments and options of a command.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// The words that are no options.
    pub words: Vec<String>,
    options: BTreeMap<&'static str, String>,
}

impl Arguments {
    /// Sorts words.
    ///
    /// # Errors
    /// When an option is unknown, is given twice, has no value, or has one though it is a flag.
    pub fn read(words: &[String], known: &[OptionForm]) -> Result<Arguments, Mistake> {
        let mut arguments = Arguments::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let Some(written) = word.strip_prefix("--") else {
                arguments.words.push(word.clone());
                continue;
            };
            let (name, value) = match written.split_once('=') {
                Some((name, value)) => (name, Some(value.to_string())),
                None => (written, None),
            };
            let Some((name, has_value)) = known.iter().find(|(option, _)| *option == name) else {
                return Err(Mistake::unknown("option", name, known.iter().map(|(name, _)| *name)));
            };
            let value = match (value, has_value) {
                (Some(value), Some(_)) => value,
                (Some(_), None) => return Err(Mistake::new(format!("`--{name}` takes no value"))),
                (None, None) => String::new(),
                (None, Some(what)) => words.next().cloned().ok_or_else(|| no_value(name, what))?,
            };
            if arguments.options.insert(name, value).is_some() {
                return Err(Mistake::new(format!("`--{name}` is given twice")));
            }
        }
        Ok(arguments)
    }

    /// The argument at a position; `what` it is stands in the mistake when there is none.
    ///
    /// # Errors
    /// When there are fewer arguments.
    pub fn at(&self, position: usize, what: &str) -> Result<&str, Mistake> {
        let word = self.words.get(position).map(String::as_str);
        word.ok_or_else(|| Mistake::new(format!("{what} is missing")))
    }

    /// The arguments from a position on.
    pub fn from(&self, position: usize) -> &[String] {
        self.words.get(position..).unwrap_or_default()
    }

    /// Checks that there are at most `count` of them.
    ///
    /// # Errors
    /// When there are.
    pub fn at_most(&self, count: usize) -> Result<(), Mistake> {
        match self.words.get(count) {
            None => Ok(()),
            Some(word) => Err(Mistake::new(format!("`{word}` is one word too many"))),
        }
    }

    /// The value of an option.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    /// The options that are given.
    pub fn named(&self) -> Vec<&'static str> {
        self.options.keys().copied().collect()
    }

    /// Whether a flag is given.
    pub fn has(&self, name: &str) -> bool {
        self.options.contains_key(name)
    }

    /// The number that an option gives.
    ///
    /// # Errors
    /// When it gives something else.
    pub fn number<T: TryFrom<u64>>(&self, name: &str) -> Result<Option<T>, Mistake> {
        let read = |text| number(text, &format!("--{name}"));
        self.option(name).map(read).transpose()
    }

    /// The time that an option gives, in nanoseconds.
    ///
    /// # Errors
    /// When it gives something else.
    pub fn nanoseconds(&self, name: &str) -> Result<Option<i64>, Mistake> {
        let read = |text| nanoseconds(text, &format!("--{name}"));
        self.option(name).map(read).transpose()
    }
}

fn no_value(name: &str, what: &str) -> Mistake {
    Mistake::new(format!("`--{name}` needs a value")).help(format!("write --{name} {what}"))
}

/// Reads a whole number; `what` it is stands in the mistake.
///
/// # Errors
/// When it is none, or does not fit.
pub fn number<T: TryFrom<u64>>(text: &str, what: &str) -> Result<T, Mistake> {
    let number = crate::value::number(text).and_then(|number| u64::try_from(number).ok());
    let number = number.and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| {
        let mistake = Mistake::new(format!("{what}: `{text}` is no number that fits"));
        mistake.help(format!("numbers here are 0 to {}", largest::<T>()))
    })
}

/// The largest number that an integer type holds: all of its bits are ones.
fn largest<T: TryFrom<u64>>() -> u64 {
    let mut ones = (0..u64::BITS).map(|zeros| u64::MAX >> zeros);
    ones.find(|number| T::try_from(*number).is_ok()).unwrap_or(0)
}

/// Reads a time as `10s`, `500ms`, `2m`, or in seconds.
///
/// # Errors
/// When it is none.
pub fn nanoseconds(text: &str, what: &str) -> Result<i64, Mistake> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" | "" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        _ => f64::NAN,
    };
    let time = digits.parse::<f64>().map_or(f64::NAN, |number| number * unit);
    if (0.0..9e18).contains(&time) {
        Ok(time as i64)
    } else {
        Err(Mistake::new(format!("{what}: `{text}` is no time")).help("write 10s, 500ms, 20us, 100ns or 2m"))
    }
}

/// Writes a time in the largest unit that keeps it whole.
pub fn time(nanoseconds: i64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    match units.iter().find(|(unit, _)| nanoseconds % unit == 0) {
        Some((unit, name)) => format!("{}{name}", nanoseconds / unit),
        None => format!("{nanoseconds}ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Arguments, Mistake> {
        let words: Vec<String> = line.split(' ').map(str::to_string).collect();
        Arguments::read(&words, &[("priority", Some("N")), ("all", None)])
    }

    #[test]
    fn options_stand_anywhere() {
        let arguments = read("x --priority 0x10 y --all").unwrap();
        assert_eq!(arguments.words, ["x", "y"]);
        assert_eq!(arguments.number("priority"), Ok(Some(16)));
        assert!(arguments.has("all"));
    }

    #[test]
    fn mistakes_of_options() {
        assert!(
            read("--pirority 1")
                .unwrap_err()
                .to_string()
                .contains("did you mean `priority`")
        );
        assert!(read("--priority").unwrap_err().to_string().contains("--priority N"));
        assert!(read("--all --all").is_err());
        assert!(read("--all=no").unwrap_err().to_string().contains("takes no value"));
    }

    #[test]
    fn times_have_units() {
        for text in ["10s", "500ms", "20us", "7ns"] {
            assert_eq!(time(nanoseconds(text, "x").unwrap()), text);
        }
        assert_eq!(nanoseconds("1.5", "x"), Ok(1_500_000_000));
        assert!(nanoseconds("5 days", "x").is_err() && nanoseconds("-1s", "x").is_err());
    }
}
