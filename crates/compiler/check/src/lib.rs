//! Name resolution, types and constants: syntax tree to typed program.
//!
//! ```text
//!  ast::Program ─► declarations in order ─► types, expressions, statements ─► validation ─► hir::Program
//!                    (scopes)                (unification, folding)
//! ```
//!
//! [`check`] walks the declarations once, in source order: P4 names are declared before they are used. Each
//! construct has a file of its own, which cites the section of the P4_16 specification that it implements:
//!
//! | module | what it checks |
//! |---|---|
//! | `decl` | declarations: types, constants, functions, actions, externs, parsers, controls |
//! | `table` | tables: keys, action lists, default actions, entries |
//! | `stmt`, `expr` | statements and expressions; `coerce` holds the implicit conversions |
//! | `call` | calls: overloads, binding of arguments, inference of type arguments (`unify`) |
//! | `instantiate` | instances and constructor calls |
//! | `validate` | properties of whole declarations: returning paths, state graphs, control-plane names |
//! | [`fold`] | arithmetic on constants, also used by elaboration |
//! | [`annotations`] | reading annotations |
//! | [`verify`] | the invariants of the result, for tests |
//!
//! Guarantees: no input makes the checker panic or recurse without bound; each mistake is reported once, since an
//! expression with an error has [`hir::Type::Unknown`], which fits everything.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

mod advice;
pub mod annotations;
mod call;
mod checker;
mod coerce;
mod decl;
mod expr;
pub mod fold;
pub mod hir;
mod instantiate;
mod keyset;
mod limits;
mod resolve;
mod scope;
pub mod size;
mod stmt;
mod table;
mod text;
pub mod types;
mod unify;
mod validate;
pub mod verify;
mod whereabouts;

use forebay_syntax::ast;
use forebay_syntax::diagnostic::Diagnostics;

/// Checks a program. The typed program is returned only when there is no error; warnings do not count.
pub fn check(program: &ast::Program) -> (Option<hir::Program>, Diagnostics) {
    let mut checker = checker::Checker::new();
    checker.incomplete = program.incomplete.clone();
    checker.declare_all(&program.declarations);
    checker.validate();
    let checker::Checker {
        program,
        diagnostics,
        incomplete,
        ..
    } = checker;
    let result = (!diagnostics.has_errors() && incomplete.is_empty()).then_some(program);
    (result, diagnostics)
}
