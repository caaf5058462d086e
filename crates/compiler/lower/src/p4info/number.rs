//! Ids: of objects, through [`SymbolTable`], and of the fields inside them.

use super::Context;
use super::catalog::Catalog;
use forebay_check::annotations;
use forebay_p4info::ids::{self, IdError, SymbolKind, SymbolTable, Symbols};
use forebay_syntax::ast::Annotation;
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::{Diagnostic, Diagnostics};
use forebay_syntax::source::Span;
use num_traits::ToPrimitive;

/// An object that gets an id.
pub struct Numbered<'a> {
    /// The kind of object.
    pub kind: SymbolKind,
    /// Its control-plane name.
    pub name: &'a str,
    /// Its annotations, possibly with an `@id`.
    pub annotations: &'a [Annotation],
    /// Its source location.
    pub span: Span,
}

/// Assigns an id to everything in the catalog. An `@id` that cannot be assigned is an error, and the object gets
/// another id.
pub fn symbols(catalog: &Catalog, diagnostics: &mut Diagnostics) -> Symbols {
    let numbered = catalog.numbered();
    let mut table = SymbolTable::new();
    for object in &numbered {
        table.add(object.kind, object.name, user_id(object.annotations));
    }
    table.assign().unwrap_or_else(|errors| {
        for error in errors {
            let span = place(&error, &numbered);
            diagnostics.push(Diagnostic::error(codes::INVALID_ID, span, error.to_string()));
        }
        let mut table = SymbolTable::new();
        numbered
            .iter()
            .for_each(|object| table.add(object.kind, object.name, None));
        table
            .assign()
            .expect("without @id, the limit on instances leaves enough ids")
    })
}

fn place(error: &IdError, numbered: &[Numbered]) -> Span {
    let name = match error {
        IdError::WrongPrefix { name, .. } | IdError::Duplicate { name, .. } => name,
        IdError::Zero | IdError::DuplicateField(_) | IdError::Exhausted(_) => return Span::NONE,
    };
    let culprit = numbered
        .iter()
        .find(|object| object.name == name && annotations::has(object.annotations, "id"));
    culprit.map_or(Span::NONE, |object| object.span)
}

/// The number in `@id`.
fn user_id(written: &[Annotation]) -> Option<u32> {
    annotations::int_arg(written, "id").and_then(|id| id.to_u32())
}

/// Ids of match fields, parameters or fields of a packet header: those from `@id`, and free ones.
pub fn field_ids(cx: &mut Context, fields: &[(&[Annotation], Span)]) -> Vec<u32> {
    let wanted: Vec<Option<u32>> = fields.iter().map(|(written, _)| user_id(written)).collect();
    ids::field_ids(&wanted).unwrap_or_else(|error| {
        let culprit = fields.iter().rfind(|(written, _)| annotations::has(written, "id"));
        let span = culprit.map_or(Span::NONE, |(_, span)| *span);
        cx.diagnostics
            .push(Diagnostic::error(codes::INVALID_ID, span, error.to_string()));
        (1..).take(fields.len()).collect()
    })
}
