//! PNA: the blocks of `PNA_NIC` and what they share.

use super::{block_bodies, empty_body, name_intrinsics, param_storage, params};
use crate::context::Context;
use crate::object::ObjectId;
use crate::storage::{self, Storage};
use crate::types::{self, Scalar};
use crate::value::Value;
use forebay_ir::{Role, SlotKind};
use forebay_syntax::codes::lower as codes;
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
    let (parser, pre, main, deparser) = match blocks.as_deref() {
        Some([parser, pre, main, deparser]) => (*parser, Some(*pre), *main, *deparser),
        Some([parser, main, deparser]) => (*parser, None, *main, *deparser),
        _ => {
            let message = "`PNA_NIC` needs a main parser, a main control and a main deparser, and before the main control \
                           it may have a pre control";
            return cx.error(codes::UNSUPPORTED_ARCHITECTURE, span, message);
        }
    };
    for (name, width) in [("pna.fate", 2), ("pna.port", 32)] {
        request(cx, name, width);
    }
    if lower(cx, parser, pre, main, deparser).is_none() && !cx.has_errors() {
        let message = "the blocks of `PNA_NIC` do not have the parameters of the architecture";
        cx.error(codes::UNSUPPORTED_ARCHITECTURE, span, message);
    }
}

/// A slot of intrinsic metadata that programs change by calling functions. It is made on first use.
pub fn request(cx: &mut Context, name: &str, width: u32) -> forebay_ir::SlotId {
    if let Some(slot) = cx.program.intrinsic.get(name) {
        return *slot;
    }
    let scalar = Scalar { width, signed: false };
    let slot = storage::slot(cx, name.to_string(), scalar, SlotKind::Intrinsic);
    cx.program.intrinsic.insert(name.to_string(), slot);
    slot
}

fn lower(cx: &mut Context, parser: ObjectId, pre: Option<ObjectId>, main: ObjectId, deparser: ObjectId) -> Option<()> {
    let user = SlotKind::Metadata;
    let hdr = param_storage(cx, parser, 1, None, user)?;
    let meta = param_storage(cx, parser, 2, None, user)?;
    let told = name_intrinsics(cx, parser, 3, "pna_main_parser_input_metadata")?;
    let pre_storages = match pre {
        Some(pre) => pre_storages(cx, pre, parser, [&hdr, &meta])?,
        None => Vec::new(),
    };
    let input = name_intrinsics(cx, main, 2, "pna_main_input_metadata")?;
    let output = name_intrinsics(cx, main, 3, "pna_main_output_metadata")?;
    block_bodies(cx, Role::MainParser, parser, &[&hdr, &meta, &told])?;
    match pre {
        Some(pre) => block_bodies(cx, Role::PreControl, pre, &pre_storages.iter().collect::<Vec<_>>())?,
        None => empty_body(cx, Role::PreControl),
    }
    block_bodies(cx, Role::MainControl, main, &[&hdr, &meta, &input, &output])?;
    block_bodies(cx, Role::MainDeparser, deparser, &[&hdr, &meta, &output])
}

/// The storages for the parameters of the pre control.
fn pre_storages(cx: &mut Context, pre: ObjectId, parser: ObjectId, [hdr, meta]: [&Storage; 2]) -> Option<Vec<Storage>> {
    Some(vec![
        shared(cx, (pre, 0), (parser, 1), hdr)?,
        shared(cx, (pre, 1), (parser, 2), meta)?,
        name_intrinsics(cx, pre, 2, "pna_pre_input_metadata")?,
        name_intrinsics(cx, pre, 3, "pna_pre_output_metadata")?,
    ])
}

/// The storage of another block's parameter if the types are equal, and new storage otherwise.
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
