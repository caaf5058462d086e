//! P4Info: the parts of a program that a P4Runtime control plane sees.
//!
//! It is built from the typed program, not from the IR: a program with externs that cannot be executed here still has
//! a P4Info. It is meant to equal the P4Info that p4c generates for the same program, so that controllers written for
//! p4c work unchanged. Names are those that [lowering](crate) gives.
//!
//! ```text
//!             instances         catalog             symbols         messages
//!  program ─► what exists, ───► what is used, ────► ids, ─────────► tables, actions, externs, …,
//!             and its name      and its name        aliases         and the types that they name
//! ```
//!
//! * [`instance`] elaborates the tree of instances: scopes, constructor arguments ([`value`]), names.
//! * [`catalog`] collects what the control plane sees: tables that are applied ([`usage`]), their actions, extern
//!   objects, digests, value sets that are selected on, headers of packet-in and packet-out.
//! * [`number`] assigns the ids.
//! * The other modules write one kind of message each.
//!
//! # What is left out
//!
//! Tables that are not applied, actions that no applied table lists, controls that are not part of `main`, and
//! everything that is `@hidden`. Declared counters, meters, registers and action profiles stay even when they are
//! unused, since they are state that a control plane can read; direct ones belong to a table and are left out with it.

mod action;
mod annotation;
mod architecture;
mod catalog;
mod extern_object;
mod instance;
mod number;
mod package;
mod packet_header;
mod restriction;
mod table;
mod types;
mod usage;
mod value;
mod value_set;

use architecture::Architecture;
use forebay_check::hir;
use forebay_p4info::ids::Symbols;
use forebay_p4info::model::{P4Info, P4TypeInfo};
use forebay_syntax::diagnostic::Diagnostics;
use forebay_syntax::source::SourceMap;

pub(crate) use catalog::DigestNames;
pub(crate) use types::named as type_name;

/// The P4Info of a program without errors. It must not be used if the diagnostics contain an error, for example an
/// `@id` that cannot be assigned.
pub fn build(program: &hir::Program, sources: &SourceMap) -> (P4Info, Diagnostics) {
    let architecture = Architecture::of(program);
    let mut diagnostics = Diagnostics::new();
    let catalog = catalog::collect(program, architecture, &mut diagnostics);
    let symbols = number::symbols(&catalog, &mut diagnostics);
    let types = P4TypeInfo::default();
    let mut cx = Context {
        program,
        sources,
        architecture,
        symbols,
        types,
        diagnostics,
    };
    let mut info = P4Info {
        pkg_info: package::pkg_info(&cx),
        ..P4Info::default()
    };
    for used in catalog.tables.values() {
        info.tables.extend(table::table(&mut cx, &catalog, used));
    }
    for used in catalog.actions.values() {
        info.actions.extend(action::action(&mut cx, used));
    }
    extern_object::add_all(&mut cx, &catalog, &mut info);
    for digest in catalog.digests.values() {
        info.digests.push(extern_object::digest(&mut cx, digest));
    }
    for used in catalog.value_sets.values() {
        info.value_sets.push(value_set::value_set(&mut cx, used));
    }
    for header in &catalog.packet_headers {
        info.controller_packet_metadata
            .extend(packet_header::metadata(&mut cx, header));
    }
    info.type_info = (cx.types != P4TypeInfo::default()).then_some(cx.types);
    (info, cx.diagnostics)
}

/// The names of digests whose data has no named type.
pub(crate) fn digest_names(program: &hir::Program) -> DigestNames {
    catalog::collect(program, Architecture::of(program), &mut Diagnostics::new()).digest_names
}

/// The state that the writers of messages share.
struct Context<'a> {
    program: &'a hir::Program,
    sources: &'a SourceMap,
    architecture: &'static Architecture,
    symbols: Symbols,
    /// The types that messages have named so far.
    types: P4TypeInfo,
    diagnostics: Diagnostics,
}
