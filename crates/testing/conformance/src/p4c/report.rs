//! The result for people: on the terminal and as docs/conformance.md.

use super::corpus::Category;
use super::reasons;
use super::record::{Commits, Outcome, Outcomes, Record};
use std::fmt::Write;

/// Prints a category's result.
pub fn print(category: Category, outcomes: &Outcomes, verbose: bool) {
    let fine = outcomes.values().filter(|o| o.is_fine()).count();
    println!(
        "{}: {fine} of {} ({:.1} %)",
        category.title(),
        outcomes.len(),
        percent(fine, outcomes.len())
    );
    for (name, outcome) in outcomes.iter().filter(|(_, o)| !o.is_fine()) {
        let reason = describe(outcome);
        let shown = if verbose {
            reason
        } else {
            reason.lines().next().unwrap_or_default().to_string()
        };
        println!("  {name}: {shown}");
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        100.0 * part as f64 / whole as f64
    }
}

fn describe(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Fine => "fine".to_string(),
        Outcome::Failed(reason) => reason.clone(),
        Outcome::Crashed(how) => format!("CRASH: {how}"),
        Outcome::TimedOut => "TIME-OUT".to_string(),
    }
}

/// docs/conformance.md.
pub fn markdown(record: &Record) -> String {
    let mut text = String::from(
        "# Conformance with p4c's own programs\n\n\
         Written by `cargo xtask conformance --p4c DIR --record`, where DIR is a checkout of github.com/p4lang/p4c. Nothing\n\
         of that checkout is part of this repository. `docs/conformance.json` has the same, program by program: a run names\n\
         every program that was fine there and is not any more.\n",
    );
    let known = |commit: &Option<String>| commit.clone().unwrap_or("unknown".to_string());
    let Commits { forebay, p4c } = &record.commits;
    let _ = writeln!(
        text,
        "Recorded with Forebay at {}, p4c at {}.\n",
        known(forebay),
        known(p4c)
    );
    text.push_str("| what | fine | of | % |\n|---|---|---|---|\n");
    let mut crashes = 0;
    for category in Category::all() {
        let Some(outcomes) = record.get(category) else { continue };
        let fine = outcomes.values().filter(|o| o.is_fine()).count();
        crashes += outcomes
            .values()
            .filter(|o| matches!(o, Outcome::Crashed(_) | Outcome::TimedOut))
            .count();
        let share = percent(fine, outcomes.len());
        let _ = writeln!(
            text,
            "| {} | {fine} | {} | {share:.1} |",
            category.title(),
            outcomes.len()
        );
    }
    let _ = writeln!(text, "| crashes and time-outs | {crashes} | | |");
    for category in Category::all() {
        let Some(outcomes) = record.get(category) else { continue };
        let _ = writeln!(text, "\n## {}: the others\n", category.title());
        let mut none = true;
        for (name, outcome) in outcomes.iter().filter(|(_, o)| !o.is_fine()) {
            none = false;
            let outcome = describe(outcome);
            let first = outcome.lines().next().unwrap_or_default();
            let reason = reasons::of(name).map_or(String::new(), |reason| format!(" ({reason})"));
            let _ = writeln!(text, "- `{name}`: {first}{reason}");
        }
        if none {
            text.push_str("None.\n");
        }
    }
    text
}
