//! Parser value sets.

use super::catalog::UsedValueSet;
use super::number::field_ids;
use super::table::match_kind;
use super::value;
use super::{Context, annotation, types};
use crate::names::control_plane_name;
use forebay_check::annotations;
use forebay_check::hir::{Composite, Field, Type};
use forebay_p4info::ids::SymbolKind;
use forebay_p4info::model::{Match, MatchField, MatchType, ValueSet};
use forebay_syntax::ast::{Annotation, AnnotationBody};
use forebay_syntax::source::Span;

/// The message of a value set.
pub fn value_set(cx: &mut Context, used: &UsedValueSet) -> ValueSet {
    let declared = used.value_set;
    let mut preamble = cx.symbols.preamble(SymbolKind::ValueSet, &used.name);
    annotation::annotate(&mut preamble, &declared.annotations, &[]);
    let size = value::evaluate(cx.program, &used.scope, &declared.size)
        .size(cx.program)
        .unwrap_or(0);
    let match_fields = match used.scope.types.apply(&declared.element) {
        Type::Composite(id, args) => {
            let types = cx.program.field_types(id, &args);
            components(cx, &cx.program.composites[id.index()], &types)
        }
        Type::Enum(id) => {
            let members = cx.program.enums[id.index()].members.iter().zip(1..);
            let ty = cx.program.underlying(&Type::Enum(id));
            members.map(|((name, _), id)| exact(cx, id, name, &ty)).collect()
        }
        Type::Tuple(types) => types.iter().zip(1..).map(|(ty, id)| exact(cx, id, "", ty)).collect(),
        ty => vec![exact(cx, 1, "", &ty)],
    };
    ValueSet {
        preamble,
        match_fields,
        size,
    }
}

fn exact(cx: &Context, id: u32, name: &str, ty: &Type) -> MatchField {
    MatchField {
        id,
        name: name.to_string(),
        bitwidth: types::control_plane_width(cx.program, ty),
        type_name: types::new_type_reference(cx.program, ty),
        match_kind: Some(Match::MatchType(MatchType::Exact)),
        ..MatchField::default()
    }
}

/// The fields of a struct, with the match kinds from `@match(kind)`.
fn components(cx: &mut Context, element: &Composite, types: &[Type]) -> Vec<MatchField> {
    let fields: Vec<(&[Annotation], Span)> = element
        .fields
        .iter()
        .map(|field| (field.annotations.as_slice(), field.span))
        .collect();
    let ids = field_ids(cx, &fields);
    let mut components = Vec::new();
    for ((field, ty), id) in element.fields.iter().zip(types).zip(ids) {
        types::describe(cx, ty);
        let (annotations, structured_annotations) = annotation::written(&field.annotations, &["match"]);
        let name = control_plane_name("", &field.name, &field.annotations);
        components.push(MatchField {
            annotations,
            doc: annotation::documentation(&field.annotations),
            structured_annotations,
            match_kind: match_of(field),
            ..exact(cx, id, &name, ty)
        });
    }
    components
}

fn match_of(field: &Field) -> Option<Match> {
    let Some(annotation) = annotations::find(&field.annotations, "match") else {
        return Some(Match::MatchType(MatchType::Exact));
    };
    match &annotation.body {
        AnnotationBody::Unstructured(tokens) => tokens.first().and_then(|token| match_kind(&token.text)),
        _ => None,
    }
}
