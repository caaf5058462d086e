//! The published values: a file of comma-separated values.
//!
//! The columns `metric`, `published`, `bound`, `basis`, `quick` and `headline` have a meaning of their own; every other
//! column is a parameter of the scenario. An empty `published` asks for the model's value alone; `quick` is `no` for
//! cells left out in a quick run. `bound` is `about` when the value is published as a round one, `at-most` or
//! `at-least` when it is published as a bound, which the model keeps or misses; a bound has no relative error.
//! `headline` is `yes` for values that are also shown with other arrivals, lengths of trials and fitted constants.

use std::collections::BTreeMap;

/// Values of parameters by name.
pub(crate) type Parameters = BTreeMap<String, String>;

/// How a value of the model came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The model was fitted to this value.
    Calibrated,
    /// It was not.
    Predicted,
    /// It is implied by the model; left out of the mean error as long as it is right.
    Trivial,
}

/// How a published value is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// As it is printed.
    Exact,
    /// A round number.
    About,
    /// Not more than this.
    AtMost,
    /// Not less than this.
    AtLeast,
}

impl Bound {
    const ALL: [Bound; 4] = [Bound::Exact, Bound::About, Bound::AtMost, Bound::AtLeast];

    /// In `cells.csv`.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Exact => "",
            Bound::About => "about",
            Bound::AtMost => "at-most",
            Bound::AtLeast => "at-least",
        }
    }

    /// Whether a value keeps the bound; none for a value that is no bound.
    pub fn keeps(self, published: f64, model: f64) -> Option<bool> {
        match self {
            Bound::Exact | Bound::About => None,
            Bound::AtMost => Some(model <= published),
            Bound::AtLeast => Some(model >= published),
        }
    }
}

impl Basis {
    /// In a table.
    pub fn name(self) -> &'static str {
        match self {
            Basis::Calibrated => "calibrated",
            Basis::Predicted => "predicted",
            Basis::Trivial => "trivial",
        }
    }
}

/// A published value.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// For which parameters.
    pub parameters: BTreeMap<String, String>,
    /// What of the results is meant.
    pub metric: String,
    /// The value.
    pub published: Option<f64>,
    /// How it is meant.
    pub bound: Bound,
    /// How the model's value came about.
    pub basis: Basis,
    pub(crate) skipped_when_quick: bool,
    pub(crate) is_headline: bool,
}

/// Reads `cells.csv`.
pub(crate) fn read(text: &str) -> Result<Vec<Cell>, String> {
    let mut lines = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let (_, header) = lines
        .next()
        .ok_or("cells.csv is empty; it begins with a line of column names")?;
    let columns: Vec<&str> = header.split(',').map(str::trim).collect();
    lines
        .map(|(number, line)| cell(&columns, line).map_err(|message| format!("cells.csv:{number}: {message}")))
        .collect()
}

fn cell(columns: &[&str], line: &str) -> Result<Cell, String> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    if fields.len() != columns.len() {
        return Err(format!("there are {} columns, not {}", columns.len(), fields.len()));
    }
    let mut cell = Cell {
        parameters: BTreeMap::new(),
        metric: String::new(),
        published: None,
        bound: Bound::Exact,
        basis: Basis::Predicted,
        skipped_when_quick: false,
        is_headline: false,
    };
    for (column, field) in columns.iter().zip(fields) {
        match *column {
            "metric" => cell.metric = field.to_string(),
            "published" if field.is_empty() => {}
            "published" => cell.published = Some(number(field)?),
            "bound" => cell.bound = bound(field)?,
            "basis" => cell.basis = basis(field)?,
            "headline" => cell.is_headline = flag(column, field, "yes")?,
            "quick" => cell.skipped_when_quick = flag(column, field, "no")?,
            parameter => {
                cell.parameters.insert(parameter.to_string(), field.to_string());
            }
        }
    }
    Ok(cell)
}

fn number(field: &str) -> Result<f64, String> {
    let number = field.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| format!("{field:?} is no number"))
}

/// Whether a field has the only word that its column may have.
fn flag(column: &str, field: &str, word: &str) -> Result<bool, String> {
    match field {
        "" => Ok(false),
        _ if field == word => Ok(true),
        _ => Err(format!("{column} is {word} or nothing, not {field:?}")),
    }
}

fn basis(field: &str) -> Result<Basis, String> {
    let all = [Basis::Calibrated, Basis::Predicted, Basis::Trivial];
    all.into_iter()
        .find(|basis| basis.name() == field)
        .ok_or_else(|| format!("{field:?} is no basis: calibrated, predicted or trivial"))
}

fn bound(field: &str) -> Result<Bound, String> {
    let known = Bound::ALL.into_iter().find(|bound| bound.name() == field);
    known.ok_or_else(|| format!("{field:?} is no bound: about, at-most, at-least or nothing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_have_no_other_meaning_are_parameters() {
        let cells =
            read("# from\nN,metric,published,basis,quick\n2,max_gbps,32,calibrated,\n4,max_gbps,,predicted,no\n");
        let cells = cells.unwrap();
        assert_eq!(
            cells[0].parameters,
            BTreeMap::from([("N".to_string(), "2".to_string())])
        );
        assert_eq!((cells[0].published, cells[0].basis), (Some(32.0), Basis::Calibrated));
        assert_eq!((cells[1].published, cells[1].skipped_when_quick), (None, true));
    }

    #[test]
    fn mistakes_have_their_lines() {
        assert!(
            read("N,metric\n2\n")
                .unwrap_err()
                .starts_with("cells.csv:2: there are 2 columns")
        );
        assert!(read("bound\nless\n").unwrap_err().contains("\"less\" is no bound"));
        assert!(read("published\nmany\n").unwrap_err().contains("\"many\" is no number"));
        assert!(read("published\nnan\n").unwrap_err().contains("\"nan\" is no number"));
        let quick = read("quick\nno\nyes\n").unwrap_err();
        assert_eq!(quick, "cells.csv:3: quick is no or nothing, not \"yes\"");
        assert!(
            read("headline\nno\n")
                .unwrap_err()
                .contains("headline is yes or nothing")
        );
    }
}
