//! Results of tests as JUnit's XML, which build servers read.

use crate::commands::Status;
use crate::test_report::Ran;
use std::fmt::Write;
use std::path::Path;

/// Collects results: a suite for each program, a case for each test.
#[derive(Debug, Default)]
pub struct Junit {
    suites: Vec<Suite>,
}

#[derive(Debug)]
struct Suite {
    program: String,
    cases: String,
    tests: usize,
    failed: usize,
    unable: usize,
}

impl Junit {
    /// Adds a test of a program.
    pub fn add(&mut self, program: &Path, test: &Ran) {
        let program = program.display().to_string();
        if self.suites.last().is_none_or(|suite| suite.program != program) {
            self.suites.push(Suite {
                program,
                cases: String::new(),
                tests: 0,
                failed: 0,
                unable: 0,
            });
        }
        if let Some(suite) = self.suites.last_mut() {
            suite.add(test);
        }
    }

    /// The document.
    pub fn text(&self) -> String {
        let sum = |count: fn(&Suite) -> usize| self.suites.iter().map(count).sum::<usize>();
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let _ = writeln!(
            text,
            "<testsuites tests=\"{}\" failures=\"{}\" errors=\"{}\">",
            sum(|suite| suite.tests),
            sum(|suite| suite.failed),
            sum(|suite| suite.unable)
        );
        for suite in &self.suites {
            let _ = writeln!(
                text,
                "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n{}  </testsuite>",
                escaped(&suite.program),
                suite.tests,
                suite.failed,
                suite.unable,
                suite.cases
            );
        }
        text + "</testsuites>\n"
    }
}

impl Suite {
    fn add(&mut self, test: &Ran) {
        self.tests += 1;
        let name = escaped(&test.path.display().to_string());
        let class = escaped(&self.program);
        let element = match test.status() {
            Status::Good => {
                let _ = writeln!(self.cases, "    <testcase classname=\"{class}\" name=\"{name}\"/>");
                return;
            }
            Status::Bad => {
                self.failed += 1;
                "failure"
            }
            Status::Unable => {
                self.unable += 1;
                "error"
            }
        };
        let mut messages = test.messages();
        let first = messages.first().and_then(|message| message.lines().next());
        let first = escaped(first.unwrap_or_default());
        messages.extend(test.notes());
        let _ = writeln!(
            self.cases,
            "    <testcase classname=\"{class}\" name=\"{name}\">\n      <{element} message=\"{first}\">{}</{element}>\n    </testcase>",
            escaped(&messages.join("\n"))
        );
    }
}

/// Text for XML. Control characters, which it cannot hold, become question marks.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() && !matches!(c, '\n' | '\t') => escaped.push('?'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_stf::{Failure, FailureKind, Note, Outcome};

    #[test]
    fn what_failed_stands_in_its_case() {
        let failure = Failure {
            line: Some(14),
            kind: FailureKind::Missing,
            message: "port 2 & more".to_string(),
        };
        let dropped = Note {
            line: None,
            message: "packets dropped for ingress_drop: 2".to_string(),
        };
        let outcome = |failures| Outcome {
            failures,
            notes: vec![dropped.clone()],
            ..Outcome::default()
        };
        let ran = |path: &str, failures| Ran {
            path: path.into(),
            outcome: Ok(outcome(failures)),
            trace: String::new(),
        };
        let mut junit = Junit::default();
        junit.add(Path::new("a.p4"), &ran("a.stf", Vec::new()));
        junit.add(Path::new("b.p4"), &ran("b.stf", vec![failure]));
        let text = junit.text();
        assert!(
            text.contains("<testsuites tests=\"2\" failures=\"1\" errors=\"0\">"),
            "{text}"
        );
        assert!(text.contains("<testcase classname=\"a.p4\" name=\"a.stf\"/>"), "{text}");
        assert!(
            text.contains("<failure message=\"b.stf:14: port 2 &amp; more\">"),
            "{text}"
        );
        let said = "port 2 &amp; more\nnote: packets dropped for ingress_drop: 2</failure>";
        assert!(text.contains(said), "{text}");
    }
}
