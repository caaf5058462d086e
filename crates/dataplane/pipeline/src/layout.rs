//! The bodies and slots of a v1model program that specialised code needs.

use crate::error::LoadError;
use forebay_exec::Preserve;
use forebay_ir::{Architecture, BodyId, Program, Role, SlotId};

/// The six programmable blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks {
    pub(crate) parser: BodyId,
    pub(crate) verify_checksum: BodyId,
    pub(crate) ingress: BodyId,
    pub(crate) egress: BodyId,
    pub(crate) compute_checksum: BodyId,
    pub(crate) deparser: BodyId,
}

/// Slots of `standard_metadata`. Those that the architecture requires are not optional. Programs with their own
/// `standard_metadata_t` may leave out the others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Intrinsics {
    pub(crate) ingress_port: SlotId,
    pub(crate) egress_spec: SlotId,
    pub(crate) egress_port: SlotId,
    pub(crate) instance_type: Option<SlotId>,
    pub(crate) packet_length: Option<SlotId>,
    pub(crate) enq_timestamp: Option<SlotId>,
    pub(crate) enq_qdepth: Option<SlotId>,
    pub(crate) deq_timedelta: Option<SlotId>,
    pub(crate) deq_qdepth: Option<SlotId>,
    pub(crate) ingress_global_timestamp: Option<SlotId>,
    pub(crate) egress_global_timestamp: Option<SlotId>,
    pub(crate) mcast_grp: Option<SlotId>,
    pub(crate) egress_rid: Option<SlotId>,
    pub(crate) checksum_error: Option<SlotId>,
    pub(crate) parser_error: Option<SlotId>,
    pub(crate) priority: Option<SlotId>,
    pub(crate) qid: Option<SlotId>,
}

/// The parts of a program that v1model uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) blocks: Blocks,
    pub(crate) slots: Intrinsics,
}

impl Layout {
    /// The layout of a v1model program; `None` for other architectures.
    pub(crate) fn of(program: &Program) -> Result<Option<Layout>, LoadError> {
        let is_v1model = program.architecture == Architecture::V1Model;
        is_v1model.then(|| Layout::new(program)).transpose()
    }

    fn new(program: &Program) -> Result<Layout, LoadError> {
        Ok(Layout {
            blocks: blocks(program)?,
            slots: intrinsics(program)?,
        })
    }
}

/// The slots that a new pass keeps; empty when there is no such list. Programs identify lists by eight bits.
pub(crate) fn field_list(program: &Program, preserve: Preserve) -> &[SlotId] {
    let named = preserve.field_list.filter(|index| *index <= u32::from(u8::MAX));
    let list = named.and_then(|index| program.field_lists.get(&index));
    list.map_or(&[], Vec::as_slice)
}

fn blocks(program: &Program) -> Result<Blocks, LoadError> {
    let block = |role, name| program.stages.get(&role).copied().ok_or(LoadError::MissingBlock(name));
    Ok(Blocks {
        parser: block(Role::Parser, "parser")?,
        verify_checksum: block(Role::VerifyChecksum, "checksum verification control")?,
        ingress: block(Role::Ingress, "ingress control")?,
        egress: block(Role::Egress, "egress control")?,
        compute_checksum: block(Role::ComputeChecksum, "checksum computation control")?,
        deparser: block(Role::Deparser, "deparser")?,
    })
}

fn intrinsics(program: &Program) -> Result<Intrinsics, LoadError> {
    let optional = |name: &str| program.intrinsic.get(name).copied();
    let required = |name: &'static str| optional(name).ok_or(LoadError::MissingIntrinsic(name));
    Ok(Intrinsics {
        ingress_port: required("ingress_port")?,
        egress_spec: required("egress_spec")?,
        egress_port: required("egress_port")?,
        instance_type: optional("instance_type"),
        packet_length: optional("packet_length"),
        enq_timestamp: optional("enq_timestamp"),
        enq_qdepth: optional("enq_qdepth"),
        deq_timedelta: optional("deq_timedelta"),
        deq_qdepth: optional("deq_qdepth"),
        ingress_global_timestamp: optional("ingress_global_timestamp"),
        egress_global_timestamp: optional("egress_global_timestamp"),
        mcast_grp: optional("mcast_grp"),
        egress_rid: optional("egress_rid"),
        checksum_error: optional("checksum_error"),
        parser_error: optional("parser_error"),
        priority: optional("priority"),
        qid: optional("qid"),
    })
}
