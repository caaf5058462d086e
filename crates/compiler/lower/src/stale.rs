//! Checksums of a v1model program that are older than what they are about: ingress or egress changes fields of a header
//! that came with the packet and leaves with it, and nothing writes the header's checksum. That is a field that the
//! program verifies, which is about the fields that it is verified over, or one with such a name, which is about all.
//! Programs that recirculate are left out: what they change may be for their own next pass.

use crate::context::Context;
use crate::lost;
use forebay_ir::{Architecture, DataItem, Expr, Header, HeaderField, Op, Role, SlotId};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use std::collections::{BTreeMap, BTreeSet};

/// Warns of such headers.
pub fn check(cx: &mut Context) {
    let stages = &cx.program.stages;
    let (Some(parser), Some(deparser)) = (stages.get(&Role::Parser), stages.get(&Role::Deparser)) else {
        return;
    };
    if cx.program.architecture != Architecture::V1Model || lost::recirculates(cx) {
        return;
    }
    let emitted = lost::emitted(&cx.program.bodies[deparser.index()]);
    let bodies = cx.program.bodies.iter().enumerate();
    let written: BTreeSet<SlotId> = bodies
        .filter(|(index, _)| *index != parser.index())
        .flat_map(|(_, body)| lost::operations(body).filter_map(|op| op.target()))
        .collect();
    let verified = verified(cx);
    let headers = cx.extracted.keys().filter(|header| emitted.contains(*header));
    let warnings: Vec<Diagnostic> = headers
        .filter_map(|header| {
            let header = &cx.program.headers[header.index()];
            let is_verified = |field: &&HeaderField| verified.contains_key(&field.slot);
            let mut fields = header.fields.iter();
            let checksum = fields
                .clone()
                .find(is_verified)
                .or_else(|| fields.find(has_name_of_checksum))?;
            let data = verified.get(&checksum.slot);
            let is_about = |field: &HeaderField| data.is_none_or(|data| data.contains(&field.slot));
            let (changed, span) = first_change(cx, header, is_about).filter(|_| !written.contains(&checksum.slot))?;
            Some(warning(cx, header, changed, checksum, span))
        })
        .collect();
    for warning in warnings {
        cx.diagnostics.push(warning);
    }
}

/// The fields that the program verifies as checksums, and what they are verified over.
fn verified(cx: &Context) -> BTreeMap<SlotId, BTreeSet<SlotId>> {
    let mut verified = BTreeMap::<SlotId, BTreeSet<SlotId>>::new();
    for op in cx.program.bodies.iter().flat_map(lost::operations) {
        if let Op::VerifyChecksum {
            checksum: Expr::Slot(checksum),
            data,
            ..
        } = op
        {
            let covered = verified.entry(*checksum).or_default();
            for item in data {
                match item {
                    DataItem::Value(value) => value.for_each_slot(&mut |slot| {
                        covered.insert(slot);
                    }),
                    DataItem::Varbit { value, .. } => {
                        covered.insert(*value);
                    }
                }
            }
        }
    }
    verified
}

fn has_name_of_checksum(field: &&HeaderField) -> bool {
    let name = field.name.to_lowercase();
    ["checksum", "chksum", "cksum", "csum"]
        .iter()
        .any(|word| name.contains(word))
}

/// The first field of a header, of those that a checksum is about, that ingress or egress changes, and where.
fn first_change<'c>(
    cx: &Context,
    header: &'c Header,
    is_about: impl Fn(&HeaderField) -> bool,
) -> Option<(&'c HeaderField, Span)> {
    let mut fields = header.fields.iter().filter(|field| is_about(field));
    fields.find_map(|field| Some((field, *cx.assigned.get(&field.slot)?)))
}

fn warning(cx: &Context, header: &Header, changed: &HeaderField, checksum: &HeaderField, span: Span) -> Diagnostic {
    let (changed, checksum) = (&changed.name, &checksum.name);
    let name = name_at(cx, span, changed).unwrap_or(&header.name);
    let message = format!("`{name}.{changed}` is changed, but nothing writes `{name}.{checksum}`");
    let hint = "compute it anew in the control ComputeChecksum: `update_checksum(VALID, { FIELDS }, CHECKSUM, HashAlgorithm.csum16);`";
    Diagnostic::warning(codes::STALE_CHECKSUM, span, message).hint(hint)
}

/// What a header is called where a field of it is written: the control may give its parameter another name than the
/// parser does. None where a macro wrote the place.
fn name_at<'c>(cx: &Context<'c>, span: Span, field: &str) -> Option<&'c str> {
    let written = cx.sources.text(span).strip_suffix(field)?.strip_suffix('.')?;
    let is_name = |letter: char| letter.is_alphanumeric() || "_.[]".contains(letter);
    (!written.is_empty() && written.chars().all(is_name)).then_some(written)
}
