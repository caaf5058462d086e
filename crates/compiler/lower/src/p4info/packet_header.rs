//! Headers of packet-in and packet-out (`@controller_header`).

use super::number::field_ids;
use super::types::{self, HeaderField, header_fields};
use super::{Context, annotation};
use forebay_check::annotations;
use forebay_check::hir::{Composite, CompositeId};
use forebay_p4info::ids::SymbolKind;
use forebay_p4info::model::{ControllerPacketMetadata, Metadata};
use forebay_syntax::ast::Annotation;
use forebay_syntax::source::Span;

/// The message of a header type; `None` when it is hidden.
pub fn metadata(cx: &mut Context, header: &Composite) -> Option<ControllerPacketMetadata> {
    if annotations::has(&header.annotations, "hidden") {
        return None;
    }
    let position = cx
        .program
        .composites
        .iter()
        .position(|composite| std::ptr::eq(composite, header))?;
    let mut preamble = cx
        .symbols
        .preamble(SymbolKind::ControllerHeader, types::composite_name(header));
    let name = annotations::string_arg(&header.annotations, "controller_header").unwrap_or_default();
    preamble.name = name.to_string();
    preamble.alias = name.to_string();
    annotation::annotate(&mut preamble, &header.annotations, &[]);
    let fields = header_fields(cx.program, CompositeId(position as u32), &[]);
    let annotated: Vec<(&[Annotation], Span)> = fields
        .iter()
        .map(|field| (field.annotations.as_slice(), header.span))
        .collect();
    let ids = field_ids(cx, &annotated);
    let visible = fields
        .iter()
        .zip(ids)
        .filter(|(field, _)| !annotations::has(&field.annotations, "hidden"));
    Some(ControllerPacketMetadata {
        preamble,
        metadata: visible.map(|(field, id)| one(cx, field, id)).collect(),
    })
}

fn one(cx: &mut Context, field: &HeaderField, id: u32) -> Metadata {
    types::describe(cx, &field.ty);
    let (annotations, structured_annotations) = annotation::written(&field.annotations, &[]);
    Metadata {
        id,
        name: field.name.clone(),
        annotations,
        bitwidth: types::control_plane_width(cx.program, &field.ty),
        type_name: types::new_type_reference(cx.program, &field.ty),
        structured_annotations,
        ..Metadata::default()
    }
}
