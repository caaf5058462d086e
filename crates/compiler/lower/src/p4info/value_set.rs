//! Parser value sets.

use super::catalog::UsedValueSet;
use super::number::field_ids;
use super::table::match_kind;
use super::value;
use super::{Context, annotation, types};
use crate::names::{control_plane_name, join};
use forebay_check::annotations;
use forebay_check::hir::{Field, Program, Type};
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
    let element = used.scope.types.apply(&declared.element);
    let parts = parts(cx.program, &element, "", None);
    let annotated: Vec<(&[Annotation], Span)> = parts.iter().map(|part| (part.annotations(), declared.span)).collect();
    let ids = field_ids(cx, &annotated);
    let match_fields = parts.iter().zip(ids).map(|(part, id)| match_field(cx, part, id));
    ValueSet {
        preamble,
        match_fields: match_fields.collect(),
        size,
    }
}

/// A part of a value set's elements that is neither a struct nor a tuple.
struct Part<'a> {
    /// Its name; `outer.inner` in a struct inside a struct, empty where it has none.
    name: String,
    ty: Type,
    /// The field of a struct that it is.
    field: Option<&'a Field>,
}

impl Part<'_> {
    fn annotations(&self) -> &[Annotation] {
        self.field.map_or(&[][..], |field| field.annotations.as_slice())
    }
}

/// The parts of a type, in the order in which lowering has them.
fn parts<'a>(program: &'a Program, ty: &Type, name: &str, field: Option<&'a Field>) -> Vec<Part<'a>> {
    match ty {
        Type::Composite(id, args) => {
            let declared = &program.composites[id.index()].fields;
            let fields = declared.iter().zip(program.field_types(*id, args));
            let each = fields.flat_map(|(field, ty)| {
                let name = join(name, &control_plane_name("", &field.name, &field.annotations));
                parts(program, &ty, &name, Some(field))
            });
            each.collect()
        }
        Type::Tuple(types) => {
            let each = types.iter().enumerate().flat_map(|(index, ty)| match name {
                "" => parts(program, ty, "", field),
                name => parts(program, ty, &format!("{name}.{index}"), field),
            });
            each.collect()
        }
        ty => vec![Part {
            name: name.to_string(),
            ty: ty.clone(),
            field,
        }],
    }
}

/// The match field of a part, with the match kind from `@match(kind)`.
fn match_field(cx: &mut Context, part: &Part, id: u32) -> MatchField {
    types::describe(cx, &part.ty);
    let (annotations, structured_annotations) = annotation::written(part.annotations(), &["match"]);
    MatchField {
        id,
        name: part.name.clone(),
        annotations,
        bitwidth: types::control_plane_width(cx.program, &part.ty),
        doc: annotation::documentation(part.annotations()),
        type_name: types::new_type_reference(cx.program, &part.ty),
        structured_annotations,
        match_kind: match_of(part.annotations()),
        ..MatchField::default()
    }
}

fn match_of(written: &[Annotation]) -> Option<Match> {
    let Some(annotation) = annotations::find(written, "match") else {
        return Some(Match::MatchType(MatchType::Exact));
    };
    match &annotation.body {
        AnnotationBody::Unstructured(tokens) => tokens.first().and_then(|token| match_kind(&token.text)),
        _ => None,
    }
}
