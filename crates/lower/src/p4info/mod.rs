//! P4Info: what the control plane knows of the program.
//!
//! It is built from the elaborated program, so it names what executes, and from the declarations behind each object
//! ([`crate::context::Origins`]), which have the annotations and the types. Objects that nothing uses have
//! disappeared, as they do in p4c's P4Info; extern objects stay.
//!
//! [`symbols`] numbers everything first; [`tables`], [`actions`], [`objects`] and [`packets`] describe it; [`types`]
//! collects the types that they mention; [`annotations`] puts annotations into their two forms.

mod actions;
mod annotations;
mod objects;
mod package;
mod packets;
mod symbols;
mod tables;
mod types;

use crate::context::Context;
use forebay_p4info::ids::Symbols;
use forebay_p4info::model::{P4Info, P4TypeInfo};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::source::Span;

/// What is carried along.
struct Builder<'c, 'h> {
    cx: &'c mut Context<'h>,
    symbols: Symbols,
    types: P4TypeInfo,
}

/// Describes the program; none, with messages, when an `@id` cannot be given.
pub fn build(cx: &mut Context) -> Option<P4Info> {
    let symbols = match symbols::collect(cx).assign() {
        Ok(symbols) => symbols,
        Err(errors) => {
            for error in errors {
                cx.error(codes::INVALID_ID, Span::NONE, error.to_string());
            }
            return None;
        }
    };
    let mut builder = Builder {
        cx,
        symbols,
        types: P4TypeInfo::default(),
    };
    let mut info = P4Info {
        pkg_info: package::describe(builder.cx),
        actions: actions::all(&mut builder),
        action_profiles: objects::action_profiles(&mut builder),
        counters: objects::counters(&mut builder),
        direct_counters: objects::direct_counters(&mut builder),
        meters: objects::meters(&mut builder),
        direct_meters: objects::direct_meters(&mut builder),
        controller_packet_metadata: packets::all(&mut builder),
        value_sets: objects::value_sets(&mut builder),
        registers: objects::registers(&mut builder),
        digests: objects::digests(&mut builder),
        ..P4Info::default()
    };
    info.tables = tables::all(&mut builder);
    info.type_info = Some(builder.types);
    Some(info)
}
