//! What v1model needs to know of a program's bodies and slots, looked up once when it is loaded.

use crate::error::LoadError;
use forebay_interp::State;
use forebay_ir::{BodyId, Program, Role, SlotId, SlotKind};

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

/// Slots of `standard_metadata`. Those that the architecture cannot do without are no options; the rest is left out by
/// programs with a `standard_metadata_t` of their own.
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

/// How long a header is.
#[derive(Clone, Debug)]
struct HeaderSize {
    valid: SlotId,
    fixed_bits: u64,
    varbit_length: Option<SlotId>,
}

/// A program as v1model sees it.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) blocks: Blocks,
    pub(crate) slots: Intrinsics,
    /// All slots zero.
    pub(crate) zero: State,
    /// Slots that a clone does not inherit: metadata and local variables, not headers.
    metadata: Vec<SlotId>,
    headers: Vec<HeaderSize>,
}

impl Layout {
    pub(crate) fn new(program: &Program) -> Result<Layout, LoadError> {
        Ok(Layout {
            blocks: blocks(program)?,
            slots: intrinsics(program)?,
            zero: State::new(program),
            metadata: metadata_slots(program),
            headers: program
                .headers
                .iter()
                .map(|header| header_size(program, header))
                .collect(),
        })
    }

    /// Forgets everything but headers: what BMv2 calls resetting the metadata.
    pub(crate) fn reset_metadata(&self, state: &mut State) {
        for &slot in &self.metadata {
            state.set_number(slot, 0);
        }
    }

    /// Bytes of all valid headers, those that no deparser emits included.
    pub(crate) fn valid_header_bytes(&self, state: &State) -> u64 {
        let valid = self.headers.iter().filter(|header| state.is_set(header.valid));
        let bits: u64 = valid
            .map(|header| header.fixed_bits + header.varbit_length.map_or(0, |slot| state.get_u64(slot)))
            .sum();
        bits / 8
    }
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

fn metadata_slots(program: &Program) -> Vec<SlotId> {
    let is_metadata = |kind| matches!(kind, SlotKind::Metadata | SlotKind::Intrinsic | SlotKind::Local);
    let slots = program.slots.iter().zip(0..);
    slots
        .filter(|(slot, _)| is_metadata(slot.kind))
        .map(|(_, id)| SlotId(id))
        .collect()
}

fn header_size(program: &Program, header: &forebay_ir::Header) -> HeaderSize {
    let fixed = header.fields.iter().filter(|field| field.length.is_none());
    HeaderSize {
        valid: header.valid,
        fixed_bits: fixed.map(|field| u64::from(program.slot(field.slot).width)).sum(),
        varbit_length: header.fields.iter().find_map(|field| field.length),
    }
}
