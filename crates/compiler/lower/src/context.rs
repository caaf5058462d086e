//! The state of lowering: the program that is read, the program that is written, and the messages.

use crate::environment::Environment;
use crate::graph::BodyBuilder;
use crate::limits;
use crate::object::{Object, ObjectId};
use crate::p4info::DigestNames;
use forebay_check::hir;
use forebay_ir as ir;
use forebay_syntax::codes::Code;
use forebay_syntax::diagnostic::{Diagnostic, Diagnostics, Severity};
use forebay_syntax::source::{SourceMap, Span};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The state of lowering one program.
pub struct Context<'a> {
    /// The typed program.
    pub hir: &'a hir::Program,
    /// Its sources, used for line numbers and for the text of assertions.
    pub sources: &'a SourceMap,
    /// The program being built.
    pub program: ir::Program,
    /// Messages.
    pub diagnostics: Diagnostics,
    /// The declaration of each table of the program being built.
    pub table_declarations: Vec<hir::TableId>,
    /// The places in the source of the entries of each table of the program being built.
    pub entry_places: Vec<Vec<Span>>,
    /// The names in P4Info of digests whose data has no named type, after one was lowered.
    pub digest_names: Option<DigestNames>,
    /// Where the objects of the control plane are declared, by kind and name.
    pub controllable: HashMap<(&'static str, String), Span>,
    /// The current meanings of variables, type variables and instances.
    pub environment: Environment,
    /// Every object of the instance tree.
    pub objects: Vec<Object>,
    /// The body being built.
    pub body: BodyBuilder,
    /// The control whose body or action is being lowered.
    pub control: Option<ObjectId>,
    /// The block of the architecture being lowered.
    pub role: Option<ir::Role>,
    /// The headers that v1model's parser extracts, and where it does so first.
    pub extracted: BTreeMap<ir::HeaderId, Span>,
    /// The headers that v1model's deparser emits, in order, and where.
    pub emitted: Vec<(ir::HeaderId, Span)>,
    /// The slots that ingress and egress of v1model assign, and where they do so first.
    pub assigned: BTreeMap<ir::SlotId, Span>,
    /// The Internet checksums that are updated over data that has them in it, and where.
    pub updated_over_themselves: Vec<(ir::SlotId, Span)>,
    /// The field lists that calls name.
    pub named_lists: crate::externs::traffic::NamedLists,
    /// The table whose action is being lowered, if the data plane may change the table's entries.
    pub learning: Option<crate::externs::learning::Learning>,
    /// Pairs of entries whose second table may not be known yet.
    pub pending_pairs: Vec<crate::externs::learning::PendingPair>,
    /// The location of the statement being lowered.
    pub location: ir::Location,
    /// Operations and blocks built so far.
    pub operations: usize,
    /// The library of the architecture, after an extern has been compared with it.
    pub library: Option<crate::externs::signature::Library>,
    /// Nesting of expressions and statements.
    pub depth: usize,
    /// Nesting of inlined calls.
    pub inline_depth: usize,
    /// Nesting of branches that are never executed.
    pub unreached: usize,
    /// Whether a limit was exceeded: then every function returns as soon as it can.
    pub aborted: bool,
    files: HashMap<Arc<str>, u32>,
    /// Number of each error of the typed program.
    errors: Vec<u32>,
}

impl<'a> Context<'a> {
    /// The state before anything is lowered.
    pub fn new(hir: &'a hir::Program, sources: &'a SourceMap) -> Context<'a> {
        let mut program = ir::Program::new(ir::Architecture::V1Model);
        let (names, errors) = number_errors(&hir.errors);
        program.errors = names;
        Context {
            hir,
            sources,
            program,
            diagnostics: Diagnostics::new(),
            table_declarations: Vec::new(),
            entry_places: Vec::new(),
            digest_names: None,
            controllable: HashMap::new(),
            environment: Environment::new(hir),
            objects: Vec::new(),
            body: BodyBuilder::new(String::new(), ir::BodyKind::Control),
            control: None,
            role: None,
            extracted: BTreeMap::new(),
            emitted: Vec::new(),
            assigned: BTreeMap::new(),
            updated_over_themselves: Vec::new(),
            named_lists: crate::externs::traffic::NamedLists::default(),
            learning: None,
            pending_pairs: Vec::new(),
            location: ir::Location::default(),
            operations: 0,
            library: None,
            depth: 0,
            inline_depth: 0,
            unreached: 0,
            aborted: false,
            files: HashMap::new(),
            errors,
        }
    }

    /// Whether there was an error.
    pub fn has_errors(&self) -> bool {
        self.aborted
            || self
                .diagnostics
                .iter()
                .any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Reports an error.
    pub fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(code, span, message));
    }

    /// Reports an error after which lowering cannot continue.
    pub fn abort(&mut self, code: Code, span: Span, message: String) {
        if !self.aborted {
            self.diagnostics
                .push(Diagnostic::error(code, span, message).cause(limits::TOO_LARGE));
        }
        self.aborted = true;
    }

    /// The source location of a span.
    pub fn locate(&mut self, span: Span) -> ir::Location {
        let Some((name, line)) = self.sources.line(span) else {
            return ir::Location::default();
        };
        let file = match self.files.get(&name) {
            Some(file) => *file,
            None => {
                let file = self.program.files.len() as u32;
                self.program.files.push(name.to_string());
                self.files.insert(name, file);
                file
            }
        };
        ir::Location { file, line }
    }

    /// Gives what follows the source location of a span. A function of a built-in file keeps the location of its call,
    /// which is a line that users know.
    pub fn go_to(&mut self, span: Span) {
        let line = self.sources.line(span);
        let is_built_in = line.is_some_and(|(name, _)| name.starts_with('<'));
        if !is_built_in || self.body.calls.is_empty() {
            self.location = self.locate(span);
        }
    }

    /// The number of an error of the typed program.
    pub fn error_number(&self, index: usize) -> u32 {
        self.errors.get(index).copied().unwrap_or(0)
    }

    /// An object.
    pub fn object(&self, id: ObjectId) -> &Object {
        &self.objects[id.0]
    }

    /// Adds an object.
    pub fn add_object(&mut self, object: Object) -> ObjectId {
        self.objects.push(object);
        ObjectId(self.objects.len() - 1)
    }
}

/// Names of errors in the order of their numbers, and the number of each declared error. `NoError` is 0, even if the
/// program declares errors before it includes the core library.
fn number_errors(declared: &[String]) -> (Vec<String>, Vec<u32>) {
    let mut names: Vec<String> = declared.iter().filter(|name| *name == NO_ERROR).cloned().collect();
    names.extend(declared.iter().filter(|name| *name != NO_ERROR).cloned());
    let number = |name: &String| names.iter().position(|known| known == name).unwrap_or(0) as u32;
    let numbers = declared.iter().map(number).collect();
    (names, numbers)
}

const NO_ERROR: &str = "NoError";
