//! PNA: the blocks of `PNA_NIC` and what they share.

use super::{block_bodies, name_intrinsics, param_storage, params};
use crate::context::Context;
use crate::object::ObjectId;
use crate::storage::{self, Storage};
use crate::types::{self, Scalar};
use crate::value::Value;
use forebay_ir::{Role, SlotKind};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;

/// The package of PNA.
pub const PACKAGE: &str = "PNA_NIC";

/// Lowers the blocks of the package.
pub fn lower_blocks(cx: &mut Context, args: &[Option<Value>], span: Span) {
    let block = |arg: &Option<Value>| match arg {
        Some(Value::Object(id)) => Some(*id),
        _ => None,
    };
    let blocks: Option<Vec<ObjectId>> = args.iter().map(block).collect();
    let Some([parser, pre, main, deparser]) = blocks.as_deref() else {
        return report_blocks(cx, args.len(), span);
    };
    for (name, width) in [("pna.fate", 2), ("pna.port", 32)] {
        request(cx, name, width);
    }
    if lower(cx, *parser, *pre, *main, *deparser).is_none() && !cx.has_errors() {
        let message = "the blocks of `PNA_NIC` do not have the parameters of the architecture";
        cx.error(codes::UNSUPPORTED_ARCHITECTURE, span, message);
    }
}

/// Says which blocks are wanted. The PNA specification of 2024 on has no pre control; the one that is executed is p4c's.
fn report_blocks(cx: &mut Context, count: usize, span: Span) {
    let message = "`PNA_NIC` needs four blocks: a main parser, a pre control, a main control and a main deparser";
    let diagnostic = Diagnostic::error(codes::UNSUPPORTED_ARCHITECTURE, span, message);
    cx.diagnostics.push(match count {
        3 => diagnostic
            .note("a PNA without a pre control, as in newer versions of its specification, is not supported")
            .hint("use the built-in `#include <pna.p4>`, and add a pre control whose apply block is empty"),
        _ => diagnostic,
    });
}

/// A slot of intrinsic metadata that programs change by calling functions; made when it is used first.
pub fn request(cx: &mut Context, name: &str, width: u32) -> forebay_ir::SlotId {
    if let Some(slot) = cx.program.intrinsic.get(name) {
        return *slot;
    }
    let scalar = Scalar { width, signed: false };
    let slot = storage::slot(cx, name.to_string(), scalar, SlotKind::Intrinsic);
    cx.program.intrinsic.insert(name.to_string(), slot);
    slot
}

fn lower(cx: &mut Context, parser: ObjectId, pre: ObjectId, main: ObjectId, deparser: ObjectId) -> Option<()> {
    let user = SlotKind::Metadata;
    let hdr = param_storage(cx, parser, 1, None, user)?;
    let meta = param_storage(cx, parser, 2, None, user)?;
    let told = name_intrinsics(cx, parser, 3, "pna_main_parser_input_metadata")?;
    let pre_hdr = shared(cx, (pre, 0), (parser, 1), &hdr)?;
    let pre_meta = shared(cx, (pre, 1), (parser, 2), &meta)?;
    let pre_input = name_intrinsics(cx, pre, 2, "pna_pre_input_metadata")?;
    let pre_output = name_intrinsics(cx, pre, 3, "pna_pre_output_metadata")?;
    let input = name_intrinsics(cx, main, 2, "pna_main_input_metadata")?;
    let output = name_intrinsics(cx, main, 3, "pna_main_output_metadata")?;
    block_bodies(cx, Role::MainParser, parser, &[&hdr, &meta, &told])?;
    block_bodies(
        cx,
        Role::PreControl,
        pre,
        &[&pre_hdr, &pre_meta, &pre_input, &pre_output],
    )?;
    block_bodies(cx, Role::MainControl, main, &[&hdr, &meta, &input, &output])?;
    block_bodies(cx, Role::MainDeparser, deparser, &[&hdr, &meta, &output])
}

/// The storage of another block's parameter if the types are the same, and storage of its own otherwise.
fn shared(
    cx: &mut Context,
    (block, index): (ObjectId, usize),
    (other, other_index): (ObjectId, usize),
    storage: &Storage,
) -> Option<Storage> {
    let type_of = |cx: &mut Context, block, index: usize| {
        let param = params(cx, block)?.get(index)?;
        Some(types::resolve(cx, &cx.hir.vars[param.var.index()].ty))
    };
    let (ours, theirs) = (type_of(cx, block, index)?, type_of(cx, other, other_index)?);
    if ours == theirs {
        return Some(storage.clone());
    }
    param_storage(cx, block, index, Some("pre"), SlotKind::Metadata)
}
