//! P4 sources to program and diagnostics: the front end as one pure function.
//!
//! [`compile`] never fails otherwise than by a diagnostic. It opens no file; see [`SourceProvider`].

use crate::fragment::as_one_message;
use forebay_check::hir;
use forebay_ir as ir;
use forebay_p4info::model::P4Info;
use forebay_syntax::codes::{self, Code};
use forebay_syntax::diagnostic::{Diagnostic, Diagnostics, Severity};
use forebay_syntax::source::{SourceMap, SourceProvider, Span};
use forebay_syntax::{ParseOptions, parse_program};
use std::collections::HashSet;

/// How a program is to be compiled.
pub struct Options<'a> {
    /// Reads files.
    pub provider: &'a dyn SourceProvider,
    /// Folders in which `#include` looks (`-I`), before the built-in `core.p4`, `v1model.p4` and `psa.p4`.
    pub include_paths: &'a [String],
    /// Macros defined from outside (`-D`), as `NAME` or `NAME=VALUE`.
    pub defines: &'a [String],
}

impl<'a> Options<'a> {
    /// Options with a provider and nothing else set.
    pub fn new(provider: &'a dyn SourceProvider) -> Options<'a> {
        Options {
            provider,
            include_paths: &[],
            defines: &[],
        }
    }
}

/// A program that only the front end has processed.
pub struct Checked {
    /// The files that were read; the program's own is the first.
    pub sources: SourceMap,
    /// The typed program; none when there is an error.
    pub typed: Option<hir::Program>,
    /// The messages.
    pub diagnostics: Diagnostics,
}

/// A program that was compiled.
pub struct Compiled {
    /// The files that were read; the program's own is the first.
    pub sources: SourceMap,
    /// What executes; none when there is an error.
    pub program: Option<ir::Program>,
    /// What the control plane sees of it; none when there is an error, but there when the program is correct and merely
    /// cannot be executed.
    pub p4info: Option<P4Info>,
    /// The messages.
    pub diagnostics: Diagnostics,
}

impl Checked {
    /// The same, with warnings of what other targets would refuse.
    pub fn with_portability(mut self) -> Checked {
        if let Some(typed) = &self.typed {
            self.diagnostics.extend(forebay_lower::portability(typed));
        }
        self
    }

    /// The same with each warning as an error.
    pub fn strict(mut self) -> Checked {
        self.diagnostics = self.diagnostics.strict();
        self.typed = self.typed.filter(|_| !self.diagnostics.has_errors());
        self
    }
}

impl Compiled {
    /// The same with each warning as an error.
    pub fn strict(mut self) -> Compiled {
        self.diagnostics = self.diagnostics.strict();
        let is_good = !self.diagnostics.has_errors();
        self.program = self.program.filter(|_| is_good);
        self.p4info = self.p4info.filter(|_| is_good);
        self
    }
}

/// Codes of the checker that say that a declaration is missing; the name is what they mark.
const ABOUT_NAMES: &[Code] = &[
    codes::check::UNKNOWN_NAME,
    codes::check::NOT_A_TYPE,
    codes::check::UNKNOWN_FIELD,
    codes::check::UNKNOWN_MEMBER,
    codes::check::UNKNOWN_MATCH_KIND,
    codes::check::UNKNOWN_STATE,
];

/// Codes of lowering for correct programs that cannot be executed.
const NOT_EXECUTABLE: &[Code] = &[
    codes::lower::UNSUPPORTED_ARCHITECTURE,
    codes::lower::UNSUPPORTED_EXTERN,
    codes::lower::UNSUPPORTED_TYPE,
    codes::lower::UNSUPPORTED_MATCH_KIND,
    codes::lower::UNSUPPORTED_EXPRESSION,
];

/// Parses and checks a program for any architecture. One whose architecture can be executed is elaborated too, to find
/// the mistakes that show only then; what merely cannot be executed is a warning here, and an error of [`compile`].
pub fn check(path: &str, options: &Options) -> Checked {
    let mut checked = parse_and_check(path, options);
    if let Some(mut message) = checked.typed.as_ref().and_then(forebay_lower::misnamed_main) {
        message.severity = Severity::Warning;
        checked.diagnostics.push(message);
    }
    if let Some(typed) = &checked.typed
        && forebay_lower::is_executable(typed)
    {
        let (lowered, of_lowering) = forebay_lower::lower(typed, &checked.sources);
        let of_ports = lowered.and_then(|lowered| forebay_lower::without_port(typed, &lowered));
        let (_, of_p4info) = forebay_lower::p4info(typed, &checked.sources);
        for message in of_lowering.iter().chain(of_p4info.iter()).chain(&of_ports) {
            checked.diagnostics.push(as_seen_by_check(message.clone()));
        }
        if checked.diagnostics.has_errors() {
            checked.typed = None;
        }
    }
    checked
}

fn as_seen_by_check(mut message: Diagnostic) -> Diagnostic {
    if NOT_EXECUTABLE.contains(&message.code) {
        message.severity = Severity::Warning;
    }
    message
}

/// Compiles a program for an architecture that can be executed.
pub fn compile(path: &str, options: &Options) -> Compiled {
    let Checked {
        sources,
        typed,
        mut diagnostics,
    } = parse_and_check(path, options);
    let Some(typed) = typed else {
        return Compiled {
            sources,
            program: None,
            p4info: None,
            diagnostics,
        };
    };
    let (p4info, messages) = forebay_lower::p4info(&typed, &sources);
    let p4info = (!messages.has_errors()).then_some(p4info);
    diagnostics.extend(messages);
    let (program, messages) = forebay_lower::lower(&typed, &sources);
    diagnostics.extend(messages);
    Compiled {
        sources,
        program: program.filter(|_| p4info.is_some()),
        p4info,
        diagnostics,
    }
}

fn parse_and_check(path: &str, options: &Options) -> Checked {
    let mut parse_options = ParseOptions::new(options.provider);
    parse_options.include_paths = options.include_paths;
    parse_options.defines = options.defines;
    let parsed = parse_program(path, &parse_options);
    let mut diagnostics = parsed.diagnostics;
    let (typed, messages) = forebay_check::check(&parsed.program);
    if !diagnostics.has_errors() {
        diagnostics.extend(messages);
        return Checked {
            diagnostics: as_one_message(&parsed.program, &parsed.sources, diagnostics),
            sources: parsed.sources,
            typed,
        };
    }
    let errors: HashSet<Span> = diagnostics.iter().map(|message| message.primary.span).collect();
    for message in &messages {
        if !follows(message, &errors, &parsed.program.lost_names, &parsed.sources) {
            diagnostics.push(message.clone());
        }
    }
    Checked {
        diagnostics: as_one_message(&parsed.program, &parsed.sources, diagnostics),
        sources: parsed.sources,
        typed: None,
    }
}

/// Whether a message of the checker is only a consequence of an error in the syntax: it is about the same place, or
/// about a name that may be declared in what could not be read, or a warning about something incomplete.
fn follows(message: &Diagnostic, errors: &HashSet<Span>, lost: &HashSet<String>, sources: &SourceMap) -> bool {
    let place = message.primary.span;
    message.severity != Severity::Error
        || errors
            .iter()
            .any(|error| (error.file, error.start) == (place.file, place.start))
        || ABOUT_NAMES.contains(&message.code) && lost.contains(sources.text(place))
}
