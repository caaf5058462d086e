//! Parameters of a scenario, which make it many.
//!
//! ```toml
//! [parameters]
//! N = [2, 4, 8]             # three scenarios
//! S = 22
//! RESUBMISSIONS = "${N}"    # derived: follows N
//! ```
//!
//! Everywhere in the file `${N}` stands for the value, as it is written, and `${N - 1}` for what is computed with it
//! (see [`crate::expression`]). That is done with the text, before it is read; lines stay what they are. Comments are
//! left alone.

use crate::expression::evaluate;
use crate::scenario::Problem;
use crate::suggestion::suggestion;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A scenario with one value for each parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The values, as they stand in the text.
    pub values: BTreeMap<String, String>,
    /// The scenario's text.
    pub text: String,
    /// What was put into the text.
    pub put: Vec<Put>,
}

/// A place of the text where a parameter, or an expression of some, was put in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put {
    /// The line, from 1.
    pub line: usize,
    /// What stands there in the file, without `${` and `}`.
    pub expression: String,
    /// What it stands for.
    pub value: String,
}

impl Case {
    /// `N=2 S=22`; empty without parameters.
    pub fn name(&self) -> String {
        let values: Vec<String> = self
            .values
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        values.join(" ")
    }
}

/// The most combinations of values.
const CASES_MAX: usize = 100_000;

/// The most derived parameters that follow one another.
const CHAIN_MAX: usize = 32;

/// Every combination of the parameters' values, the last parameter by name changing fastest. `given` replaces what the
/// file says.
///
/// # Errors
/// When the parameters cannot be read, when one is given or used that does not exist, or when one has no value.
pub fn expand(text: &str, given: &[(String, String)]) -> Result<Vec<Case>, Problem> {
    let mut parameters = declared(text)?;
    for (name, value) in given {
        if !parameters.contains_key(name) {
            return Err(Problem::new(None, unknown(name, &parameters)));
        }
        parameters.insert(
            name.clone(),
            value.split(',').map(|one| one.trim().to_string()).collect(),
        );
    }
    if let Some(name) = unused_list(text, &parameters) {
        let message = format!("parameter {name} has several values and is used nowhere, so all runs would be the same");
        return Err(Problem::new(line_of_parameter(text, name), message));
    }
    let count = parameters.values().map(Vec::len).try_fold(1, usize::checked_mul);
    if count.is_none_or(|count| count > CASES_MAX) {
        return Err(Problem::new(
            None,
            format!("more than {CASES_MAX} combinations of parameters"),
        ));
    }
    combinations(&parameters)
        .into_iter()
        .map(|written| case(text, &written, &parameters))
        .collect()
}

/// A parameter with several values that no expression names.
fn unused_list<'a>(text: &str, parameters: &'a BTreeMap<String, Vec<String>>) -> Option<&'a str> {
    let derived = parameters.values().flatten().map(String::as_str);
    let expressions: Vec<&str> = (derived.chain([text]))
        .flat_map(|text| text.split("${").skip(1))
        .map(|behind| behind.split('}').next().unwrap_or(behind))
        .collect();
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let names = |expression: &&str, name: &str| expression.split(|c| !is_word(c)).any(|word| word == name);
    let lists = parameters.iter().filter(|(_, values)| values.len() > 1);
    lists
        .map(|(name, _)| name.as_str())
        .find(|name| !expressions.iter().any(|expression| names(expression, name)))
}

/// The line, from 1, that gives a parameter its value.
fn line_of_parameter(text: &str, name: &str) -> Option<usize> {
    let gives_value = |line: &str| {
        let behind = line.trim_start().strip_prefix(name);
        behind.is_some_and(|behind| behind.trim_start().starts_with('='))
    };
    let line = lines_of_file(text).position(|(line, is_inside)| is_inside && gives_value(line));
    line.map(|line| line + 1)
}

/// All lines, and whether each belongs to the table `[parameters]`.
fn lines_of_file(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut is_inside = false;
    text.lines().map(move |line| {
        let is_heading = line.trim_start().starts_with('[');
        if is_heading {
            is_inside = line.trim_start().starts_with("[parameters]");
        }
        (line, is_inside && !is_heading)
    })
}

fn combinations(parameters: &BTreeMap<String, Vec<String>>) -> Vec<BTreeMap<String, String>> {
    let mut cases = vec![BTreeMap::new()];
    for (name, values) in parameters {
        let with = |case: &BTreeMap<String, String>, value: &String| {
            let mut case = case.clone();
            case.insert(name.clone(), value.clone());
            case
        };
        cases = cases
            .iter()
            .flat_map(|case| values.iter().map(move |value| with(case, value)))
            .collect();
    }
    cases
}

/// One combination: derived values are computed, then all are put into the text.
fn case(
    text: &str,
    written: &BTreeMap<String, String>,
    parameters: &BTreeMap<String, Vec<String>>,
) -> Result<Case, Problem> {
    let values = Values {
        written,
        pending: RefCell::new(Vec::new()),
        computed: RefCell::new(BTreeMap::new()),
        unknown: &|name| unknown(name, parameters),
    };
    let mut computed = BTreeMap::new();
    for name in written.keys() {
        let value = values
            .of(name)
            .map_err(|message| Problem::new(line_of_parameter(text, name), message))?;
        computed.insert(name.clone(), value);
    }
    let (text, put) = substitute(text, &|expression| evaluate(expression, &|name| values.of(name)))?;
    Ok(Case {
        values: computed,
        text,
        put,
    })
}

fn unknown(name: &str, parameters: &BTreeMap<String, Vec<String>>) -> String {
    let known = parameters.keys().map(String::as_str);
    format!("there is no parameter {name}{}", suggestion(name, known))
}

/// The values of a combination, which may depend on one another.
struct Values<'a> {
    written: &'a BTreeMap<String, String>,
    /// Names whose values are being computed.
    pending: RefCell<Vec<String>>,
    /// Values of derived parameters that are known.
    computed: RefCell<BTreeMap<String, String>>,
    unknown: &'a dyn Fn(&str) -> String,
}

impl Values<'_> {
    fn of(&self, name: &str) -> Result<String, String> {
        let written = self.written.get(name).ok_or_else(|| (self.unknown)(name))?;
        if !written.contains("${") {
            return Ok(written.clone());
        }
        if let Some(value) = self.computed.borrow().get(name) {
            return Ok(value.clone());
        }
        if self.pending.borrow().iter().any(|pending| pending == name) {
            return Err(format!("parameter {name} depends on itself"));
        }
        if self.pending.borrow().len() == CHAIN_MAX {
            return Err(format!(
                "more than {CHAIN_MAX} parameters follow one another, the last of them {name}"
            ));
        }
        self.pending.borrow_mut().push(name.to_string());
        let value = put_all(written, &|expression| evaluate(expression, &|name| self.of(name)));
        self.pending.borrow_mut().pop();
        let (value, _) = value?;
        self.computed.borrow_mut().insert(name.to_string(), value.clone());
        Ok(value)
    }
}

/// The lines of the table `[parameters]`, with those around it blank, so that errors have the right line.
fn declared(text: &str) -> Result<BTreeMap<String, Vec<String>>, Problem> {
    let mut section = String::new();
    for (line, is_inside) in lines_of_file(text) {
        if is_inside {
            section.push_str(line);
        }
        section.push('\n');
    }
    let table: toml::Table = toml::from_str(&section).map_err(|error| Problem::of_toml(&section, &error))?;
    let mut parameters = BTreeMap::new();
    for (name, value) in table {
        let values: Vec<String> = match &value {
            toml::Value::Array(values) => values.iter().map(written).collect(),
            one => vec![written(one)],
        };
        if values.is_empty() {
            return Err(Problem::new(None, format!("parameter {name} has no value")));
        }
        parameters.insert(name, values);
    }
    Ok(parameters)
}

/// A string without its quotes, anything else as it is written.
fn written(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// What an expression stands for.
type Evaluate<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

/// Puts values into a scenario's text, comments left alone.
fn substitute(text: &str, value: &Evaluate<'_>) -> Result<(String, Vec<Put>), Problem> {
    let mut out = String::new();
    let mut put = Vec::new();
    let mut quoting = Quoting::None;
    for (number, line) in (1..).zip(text.lines()) {
        let comment = quoting.comment(line);
        let (code, comment) = line.split_at(comment);
        let (code, found) = put_all(code, value).map_err(|message| Problem::new(Some(number), message))?;
        put.extend(found.into_iter().map(|(expression, value)| Put {
            line: number,
            expression,
            value,
        }));
        out.push_str(&code);
        out.push_str(comment);
        out.push('\n');
    }
    Ok((out, put))
}

/// Puts values into a text, and says which.
fn put_all(text: &str, value: &Evaluate<'_>) -> Result<(String, Vec<(String, String)>), String> {
    let (mut out, mut put) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some((before, from)) = rest.split_once("${") {
        let (expression, behind) = from
            .split_once('}')
            .ok_or_else(|| format!("`}}` is missing after `${{{from}`"))?;
        let value = value(expression)?;
        out.push_str(before);
        out.push_str(&value);
        put.push((expression.trim().to_string(), value));
        rest = behind;
    }
    out.push_str(rest);
    Ok((out, put))
}

/// Within which kind of TOML string a line begins.
#[derive(Clone, Copy, PartialEq)]
enum Quoting {
    None,
    /// Between these marks: `"`, `'`, or three of them.
    Within(&'static str),
}

impl Quoting {
    /// Where a comment begins in a line; its length when there is none. Becomes what the next line begins within.
    fn comment(&mut self, line: &str) -> usize {
        let mut at = 0;
        while at < line.len() {
            let rest = &line[at..];
            match *self {
                Quoting::None if rest.starts_with('#') => return at,
                Quoting::None => {
                    let marks = ["\"\"\"", "'''", "\"", "'"];
                    let mark = marks.into_iter().find(|mark| rest.starts_with(mark));
                    *self = mark.map_or(Quoting::None, Quoting::Within);
                    at += mark.map_or(1, str::len);
                }
                Quoting::Within(mark) if rest.starts_with(mark) => {
                    *self = Quoting::None;
                    at += mark.len();
                }
                Quoting::Within(mark) if mark.starts_with('"') && rest.starts_with('\\') => at += 2,
                Quoting::Within(_) => at += 1,
            }
            while at < line.len() && !line.is_char_boundary(at) {
                at += 1;
            }
        }
        // A string between single marks ends with its line.
        if matches!(self, Quoting::Within(mark) if mark.len() == 1) {
            *self = Quoting::None;
        }
        line.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(name: &str, value: &str) -> Vec<(String, String)> {
        vec![(name.to_string(), value.to_string())]
    }

    #[test]
    fn every_combination_is_a_case() {
        let text = "a = ${N}\n[parameters]\nN = [1, 2]\nKIND = [\"x\", \"y\"]\n[other]\nb = \"${KIND}${N}\"\n";
        let cases = expand(text, &[]).unwrap();
        let names: Vec<String> = cases.iter().map(Case::name).collect();
        assert_eq!(names, ["KIND=x N=1", "KIND=x N=2", "KIND=y N=1", "KIND=y N=2"]);
        assert!(cases[3].text.contains("a = 2\n") && cases[3].text.contains("b = \"y2\""));
        assert_eq!((cases[3].put[0].line, cases[3].put[0].value.as_str()), (1, "2"));
    }

    #[test]
    fn given_values_replace_the_files() {
        let cases = expand("a = ${N}\n[parameters]\nN = 1\n", &given("N", "4,8")).unwrap();
        assert_eq!(cases.iter().map(Case::name).collect::<Vec<_>>(), ["N=4", "N=8"]);
        let wrong = expand("[parameters]\nN = 1\n", &given("M", "4"));
        assert!(wrong.unwrap_err().message.contains("no parameter M"));
    }

    #[test]
    fn a_list_that_is_used_nowhere_is_refused() {
        let text = "a = ${N + M}\n[parameters]\nM = \"${K}\"\nN = 1\nNN = [1, 2]\nK = [1, 2]\n";
        let said = expand(text, &[]).unwrap_err().to_string();
        assert!(
            said.starts_with("5: parameter NN has several values and is used nowhere"),
            "{said}"
        );
        assert_eq!(expand(text, &given("NN", "3")).unwrap().len(), 2);
    }

    #[test]
    fn derived_values_follow_what_they_depend_on() {
        let text = "a = ${ROUNDS}\n[parameters]\nN = 2\nROUNDS = \"${N > 1 ? N : 0}\"\nTWICE = \"${2 * ROUNDS}\"\n";
        let names = |given: &[(String, String)]| -> Vec<String> {
            expand(text, given).unwrap().iter().map(Case::name).collect()
        };
        assert_eq!(
            names(&given("N", "1,8")),
            ["N=1 ROUNDS=0 TWICE=0", "N=8 ROUNDS=8 TWICE=16"]
        );
        assert_eq!(names(&given("ROUNDS", "7")), ["N=2 ROUNDS=7 TWICE=14"]);
        let circle = expand("[parameters]\nA = \"${B}\"\nB = \"${A}\"\n", &[]).unwrap_err();
        assert!(circle.message.contains("depends on itself"), "{circle}");
    }

    /// The value of the first of a chain of derived parameters, each of which uses the next one twice.
    fn first_of_chain(links: usize) -> Result<String, Problem> {
        let link = |number: usize| format!("P{number} = \"${{P{next} + P{next}}}\"\n", next = number + 1);
        let chain: String = (0..links).map(link).collect();
        let cases = expand(&format!("a = ${{P0}}\n[parameters]\n{chain}P{links} = 1\n"), &[])?;
        Ok(cases[0].values["P0"].clone())
    }

    #[test]
    fn a_derived_value_is_computed_once() {
        assert_eq!(first_of_chain(32).as_deref(), Ok("4294967296"));
        let said = first_of_chain(5_000).unwrap_err().message;
        assert!(said.contains("more than 32 parameters follow one another"), "{said}");
    }

    #[test]
    fn a_mistake_has_its_line() {
        let fractions = "description = 1\n[parameters]\nde = 1\nd = \"${1 / 0}\"\n";
        assert_eq!(expand(fractions, &[]).unwrap_err().line, Some(4));
        assert_eq!(expand("x = 1\n[parameters]\nN = \n", &[]).unwrap_err().line, Some(3));
        let unknown = expand("a = 1\nb = ${LAOD}\n[parameters]\nLOAD = 1\n", &[]).unwrap_err();
        assert_eq!(unknown.to_string(), "2: there is no parameter LAOD; did you mean LOAD?");
    }

    #[test]
    fn comments_are_left_alone() {
        let text = "a = \"# ${N}\" # ${M}\nc = \"\"\"\n# ${N}\n\"\"\"\n[parameters]\nN = 1\n";
        let cases = expand(text, &[]).unwrap();
        assert!(cases[0].text.starts_with("a = \"# 1\" # ${M}\nc = \"\"\"\n# 1\n"));
    }
}
