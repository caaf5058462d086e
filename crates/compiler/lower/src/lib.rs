//! Elaboration: from the typed program of the checker to the [IR](forebay_ir).
//!
//! Features of P4 that the IR does not have are removed here:
//!
//! * **instances**: [`elaborate`] walks the tree of instances from `main`, evaluates constructor arguments, gives every
//!   object its control-plane name ([`names`]);
//! * **structure**: [`storage`] flattens structs, headers, stacks and unions into slots, [`value`] is the same tree
//!   with expressions at its leaves, [`place`] an l-value, [`assign`] copies the one into the other;
//! * **calls**: [`call`] inlines functions, actions, sub-controls and sub-parsers with copy-in and copy-out;
//! * **control flow**: [`graph`] builds basic blocks, [`statement`], [`loops`] and [`parser`] fill them,
//!   [`tidy`](forebay_ir::passes::tidy) cleans them up;
//! * **architecture**: [`architecture`] has the blocks of v1model, PSA and PNA, [`externs`] their extern functions and
//!   objects;
//! * **control plane**: [`mod@p4info`] describes what a controller can see, from the typed program and not from the IR.
//!
//! # How variables are bound
//!
//! P4 has no recursion. So while a body is inlined, each variable of the source has one meaning, and the
//! [`environment`] is a plain vector from variables to meanings. A meaning is overwritten whenever its declaration is
//! inlined again. A control can own tables whose keys and actions read its variables. These tables exist once for each
//! *instance*, so the variables of an instance are bound once and their bindings are stored in it.
//!
//! # Failures
//!
//! Errors of the program become diagnostics. Lowering then continues with a zero in place of the value, to find
//! further errors. Sizes that a program could choose without bound (slots, blocks, operations, depth of inlining) have
//! [`limits`].

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

mod action;
mod architecture;
mod assign;
mod binding;
mod calculations;
mod call;
mod cast;
mod compare;
mod consistency;
mod constraint;
mod context;
mod control;
mod direct;
mod elaborate;
mod entries;
mod environment;
mod expression;
mod externs;
mod graph;
mod limits;
mod loops;
mod lost;
mod names;
mod object;
mod operator;
mod order;
mod p4info;
mod parser;
mod place;
mod portability;
mod portless;
mod select;
mod stack;
mod stale;
mod statement;
mod storage;
mod switch;
mod table;
mod types;
mod value;
mod wire;

use forebay_check::hir;
use forebay_ir as ir;
use forebay_ir::build;
use forebay_p4info::model::P4Info;
use forebay_syntax::diagnostic::{Diagnostic, Diagnostics};
use forebay_syntax::source::SourceMap;

/// Lowers a program without errors. The result is `None` if and only if the diagnostics contain an error.
pub fn lower(program: &hir::Program, sources: &SourceMap) -> (Option<ir::Program>, Diagnostics) {
    let mut cx = context::Context::new(program, sources);
    architecture::lower_main(&mut cx);
    externs::learning::complete_pairs(&mut cx);
    calculations::name(&mut cx.program);
    if !cx.has_errors() {
        consistency::check(&mut cx);
        direct::check(&mut cx);
        lost::check(&mut cx);
        order::check(&mut cx);
        stale::check(&mut cx);
        externs::traffic::warn_of_lists(&mut cx);
        externs::checksum::warn_of_updates(&mut cx);
    }
    let program = (!cx.has_errors()).then_some(cx.program);
    debug_assert!(
        program
            .as_ref()
            .is_none_or(|program| ir::verify::verify(program).is_empty()),
        "the program keeps its invariants"
    );
    (program, cx.diagnostics)
}

/// The P4Info of a program without errors, for any architecture. It must not be used if the diagnostics contain an
/// error, for example an `@id` that cannot be assigned.
pub fn p4info(program: &hir::Program, sources: &SourceMap) -> (P4Info, Diagnostics) {
    p4info::build(program, sources)
}

/// Warnings about what other targets would refuse in a program without errors.
pub fn portability(program: &hir::Program) -> Diagnostics {
    portability::lints(program)
}

/// The message about a program that instantiates packages, but none under the name `main`, or has all that a package
/// takes and instantiates none: it is correct, and nothing of it is executed.
pub fn misnamed_main(program: &hir::Program) -> Option<Diagnostic> {
    architecture::misnamed_main(program)
}

/// A warning for a program, as [`lower`] has made it, of which no packet is given a port.
pub fn without_port(program: &hir::Program, lowered: &ir::Program) -> Option<Diagnostic> {
    portless::warning(program, lowered)
}

/// Whether `main` instantiates a package of an architecture that [`lower`] supports. A program without `main`, or for
/// another architecture, can be checked but not executed.
pub fn is_executable(program: &hir::Program) -> bool {
    architecture::main_package(program).is_some_and(|(name, _)| architecture::of_package(name).is_some())
}
