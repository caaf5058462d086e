//! PSA: the blocks of `PSA_Switch` and what they share.
//!
//! The blocks of each side share headers and user metadata, which do not cross the queue. What a deparser writes for a
//! later parser (`normal_meta`, `resubmit_meta`, ...) is stored once for both: its slots are the field lists that the
//! architecture's graph preserves.

use super::{block_bodies, name_intrinsics, package_args, param_storage};
use crate::context::Context;
use crate::object::ObjectId;
use crate::storage::Storage;
use crate::value::Value;
use forebay_ir::{Role, SlotKind};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::source::Span;

/// The package of PSA.
pub const PACKAGE: &str = "PSA_Switch";

/// Numbers of field lists by purpose; `forebay-arch` has the same numbers.
mod list {
    pub(super) const NORMAL: u32 = 0;
    pub(super) const RESUBMIT: u32 = 1;
    pub(super) const RECIRCULATE: u32 = 2;
    pub(super) const CLONE_I2E: u32 = 3;
    pub(super) const CLONE_E2E: u32 = 4;
}

/// Lowers the blocks of the package.
pub fn lower_blocks(cx: &mut Context, args: &[Option<Value>], span: Span) {
    let ingress = args.first().and_then(|arg| package_args(cx, arg.as_ref()));
    let egress = args.get(2).and_then(|arg| package_args(cx, arg.as_ref()));
    let (Some([parser, ingress, deparser]), Some([egress_parser, egress, egress_deparser])) =
        (ingress.as_deref(), egress.as_deref())
    else {
        let message = "`PSA_Switch` needs an `IngressPipeline` and an `EgressPipeline` of three blocks each";
        return cx.error(codes::UNSUPPORTED_ARCHITECTURE, span, message);
    };
    let blocks = Blocks {
        ingress_parser: *parser,
        ingress: *ingress,
        ingress_deparser: *deparser,
        egress_parser: *egress_parser,
        egress: *egress,
        egress_deparser: *egress_deparser,
    };
    if blocks.lower(cx).is_none() && !cx.has_errors() {
        let message = "the blocks of `PSA_Switch` do not have the parameters of the architecture";
        cx.error(codes::UNSUPPORTED_ARCHITECTURE, span, message);
    }
}

struct Blocks {
    ingress_parser: ObjectId,
    ingress: ObjectId,
    ingress_deparser: ObjectId,
    egress_parser: ObjectId,
    egress: ObjectId,
    egress_deparser: ObjectId,
}

impl Blocks {
    fn lower(&self, cx: &mut Context) -> Option<()> {
        let user = SlotKind::Metadata;
        let hdr = param_storage(cx, self.ingress_parser, 1, None, user)?;
        let meta = param_storage(cx, self.ingress_parser, 2, None, user)?;
        let told = intrinsic(cx, self.ingress_parser, 3, "psa_ingress_parser_input_metadata")?;
        let resubmit = carried(cx, self.ingress_parser, 4, list::RESUBMIT)?;
        let recirculate = carried(cx, self.ingress_parser, 5, list::RECIRCULATE)?;
        let input = intrinsic(cx, self.ingress, 2, "psa_ingress_input_metadata")?;
        let output = intrinsic(cx, self.ingress, 3, "psa_ingress_output_metadata")?;
        let normal = carried(cx, self.egress_parser, 4, list::NORMAL)?;
        let clone_i2e = carried(cx, self.egress_parser, 5, list::CLONE_I2E)?;
        let clone_e2e = carried(cx, self.egress_parser, 6, list::CLONE_E2E)?;
        block_bodies(
            cx,
            Role::IngressParser,
            self.ingress_parser,
            &[&hdr, &meta, &told, &resubmit, &recirculate],
        )?;
        block_bodies(cx, Role::Ingress, self.ingress, &[&hdr, &meta, &input, &output])?;
        block_bodies(
            cx,
            Role::IngressDeparser,
            self.ingress_deparser,
            &[&clone_i2e, &resubmit, &normal, &hdr, &meta, &output],
        )?;
        let hdr = param_storage(cx, self.egress_parser, 1, Some("egress"), user)?;
        let meta = param_storage(cx, self.egress_parser, 2, Some("egress"), user)?;
        let told = intrinsic(cx, self.egress_parser, 3, "psa_egress_parser_input_metadata")?;
        let input = intrinsic(cx, self.egress, 2, "psa_egress_input_metadata")?;
        let output = intrinsic(cx, self.egress, 3, "psa_egress_output_metadata")?;
        let for_deparser = intrinsic(cx, self.egress_deparser, 6, "psa_egress_deparser_input_metadata")?;
        block_bodies(
            cx,
            Role::EgressParser,
            self.egress_parser,
            &[&hdr, &meta, &told, &normal, &clone_i2e, &clone_e2e],
        )?;
        block_bodies(cx, Role::Egress, self.egress, &[&hdr, &meta, &input, &output])?;
        block_bodies(
            cx,
            Role::EgressDeparser,
            self.egress_deparser,
            &[&clone_e2e, &recirculate, &hdr, &meta, &output, &for_deparser],
        )
    }
}

/// Storage of a struct of the architecture, whose fields the graph finds by the struct's name.
fn intrinsic(cx: &mut Context, block: ObjectId, index: usize, name: &str) -> Option<Storage> {
    name_intrinsics(cx, block, index, name)
}

/// Storage for what a packet carries to a later parser.
fn carried(cx: &mut Context, block: ObjectId, index: usize, list: u32) -> Option<Storage> {
    let storage = param_storage(cx, block, index, None, SlotKind::Metadata)?;
    cx.program.field_lists.insert(list, storage.slots());
    Some(storage)
}
