//! Headers of packet-in and packet-out: header types with `@controller_header("packet_in")`.

use super::{Builder, actions, annotations, types};
use crate::context::Context;
use forebay_check::annotations as written;
use forebay_check::hir::{self, Type};
use forebay_p4info::ids::SymbolKind;
use forebay_p4info::model::{ControllerPacketMetadata, Metadata, P4NamedType, Preamble};
use forebay_syntax::ast::CompositeKind;

/// Header types that the controller sends or receives, and what it calls them.
pub fn controller_headers<'h>(cx: &Context<'h>) -> Vec<(&'h hir::Composite, String)> {
    let headers = cx
        .hir
        .composites
        .iter()
        .filter(|composite| composite.kind == CompositeKind::Header);
    let named = headers.filter_map(|header| {
        let name = written::string_arg(&header.annotations, "controller_header")?;
        (!annotations::is_hidden(&header.annotations)).then(|| (header, name.to_string()))
    });
    named.collect()
}

/// Every such header.
pub fn all(builder: &mut Builder) -> Vec<ControllerPacketMetadata> {
    let headers = controller_headers(builder.cx);
    headers
        .into_iter()
        .map(|(header, name)| describe(builder, header, name))
        .collect()
}

fn describe(builder: &mut Builder, header: &hir::Composite, name: String) -> ControllerPacketMetadata {
    let id = builder.symbols.id(SymbolKind::ControllerHeader, &header.name);
    let preamble = Preamble {
        id,
        alias: name.clone(),
        name,
        ..Preamble::default()
    };
    let mut fields = Vec::new();
    flatten(builder.cx, &header.fields, "", &mut fields);
    let user: Vec<_> = fields
        .iter()
        .map(|(_, _, annotations)| super::annotations::id(annotations))
        .collect();
    let ids = actions::numbers(builder, &user, header.span);
    let mut metadata = Vec::new();
    for ((name, ty, written), id) in fields.into_iter().zip(ids) {
        if annotations::is_hidden(&written) {
            continue;
        }
        types::mention(builder, &ty);
        metadata.push(Metadata {
            id,
            name,
            annotations: annotations::texts(&written, &[]),
            structured_annotations: annotations::structured(&written),
            bitwidth: types::width(builder.cx, &ty),
            type_name: types::new_type_name(builder.cx, &ty).map(|name| P4NamedType { name }),
            ..Metadata::default()
        });
    }
    ControllerPacketMetadata {
        preamble: annotations::annotate(preamble, &header.annotations, &[]),
        metadata,
    }
}

/// Fields of a header, those of structs inside it one by one.
fn flatten(cx: &Context, fields: &[hir::Field], prefix: &str, into: &mut Vec<(String, Type, hir::Annotations)>) {
    for field in fields {
        let local = written::name(&field.annotations).unwrap_or(&field.name);
        let name = crate::names::join(prefix, local);
        match &field.ty {
            Type::Composite(id, _) => flatten(cx, &cx.hir.composites[id.index()].fields, &name, into),
            ty => into.push((name, ty.clone(), field.annotations.clone())),
        }
    }
}
