//! What v1model needs to know of a program's bodies and slots, looked up once when it is loaded.

use crate::error::LoadError;
use crate::storage::Storage;
use forebay_exec::{NumberPlace, Preserve, State};
use forebay_ir::{Architecture, BodyId, CloneKind, Op, Program, Role, SlotId, Terminator};
use std::collections::BTreeSet;
use std::ops::Deref;

/// The six programmable blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks {
    pub(crate) parser: BodyId,
    pub(crate) verify_checksum: BodyId,
    pub(crate) verify_checksum_is_empty: bool,
    pub(crate) ingress: BodyId,
    pub(crate) egress: BodyId,
    pub(crate) compute_checksum: BodyId,
    pub(crate) compute_checksum_is_empty: bool,
    pub(crate) deparser: BodyId,
}

/// Slots of `standard_metadata`. Those that the architecture cannot do without are no options; the rest is left out by
/// programs with a `standard_metadata_t` of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Intrinsics<S> {
    pub(crate) ingress_port: S,
    pub(crate) egress_spec: S,
    pub(crate) egress_port: S,
    pub(crate) instance_type: Option<S>,
    pub(crate) packet_length: Option<S>,
    pub(crate) enq_timestamp: Option<S>,
    pub(crate) enq_qdepth: Option<S>,
    pub(crate) deq_timedelta: Option<S>,
    pub(crate) deq_qdepth: Option<S>,
    pub(crate) ingress_global_timestamp: Option<S>,
    pub(crate) egress_global_timestamp: Option<S>,
    pub(crate) mcast_grp: Option<S>,
    pub(crate) egress_rid: Option<S>,
    pub(crate) checksum_error: Option<S>,
    pub(crate) parser_error: Option<S>,
    pub(crate) priority: Option<S>,
    pub(crate) qid: Option<S>,
}

impl<S> Intrinsics<S> {
    /// The same for something else that each slot has.
    fn map<T>(self, of: impl Fn(S) -> T) -> Intrinsics<T> {
        Intrinsics {
            ingress_port: of(self.ingress_port),
            egress_spec: of(self.egress_spec),
            egress_port: of(self.egress_port),
            instance_type: self.instance_type.map(&of),
            packet_length: self.packet_length.map(&of),
            enq_timestamp: self.enq_timestamp.map(&of),
            enq_qdepth: self.enq_qdepth.map(&of),
            deq_timedelta: self.deq_timedelta.map(&of),
            deq_qdepth: self.deq_qdepth.map(&of),
            ingress_global_timestamp: self.ingress_global_timestamp.map(&of),
            egress_global_timestamp: self.egress_global_timestamp.map(&of),
            mcast_grp: self.mcast_grp.map(&of),
            egress_rid: self.egress_rid.map(&of),
            checksum_error: self.checksum_error.map(&of),
            parser_error: self.parser_error.map(&of),
            priority: self.priority.map(&of),
            qid: self.qid.map(&of),
        }
    }
}

impl Intrinsics<NumberPlace> {
    /// Without those that only the program could look at, and does not: nobody misses what is not written there.
    fn without_unread(self, slots: &Intrinsics<SlotId>, read: &BTreeSet<SlotId>) -> Self {
        let keep = |place: Option<NumberPlace>, slot: Option<SlotId>| {
            place.filter(|_| slot.is_some_and(|slot| read.contains(&slot)))
        };
        Intrinsics {
            instance_type: keep(self.instance_type, slots.instance_type),
            packet_length: keep(self.packet_length, slots.packet_length),
            enq_timestamp: keep(self.enq_timestamp, slots.enq_timestamp),
            enq_qdepth: keep(self.enq_qdepth, slots.enq_qdepth),
            deq_timedelta: keep(self.deq_timedelta, slots.deq_timedelta),
            deq_qdepth: keep(self.deq_qdepth, slots.deq_qdepth),
            ingress_global_timestamp: keep(self.ingress_global_timestamp, slots.ingress_global_timestamp),
            egress_global_timestamp: keep(self.egress_global_timestamp, slots.egress_global_timestamp),
            egress_rid: keep(self.egress_rid, slots.egress_rid),
            checksum_error: keep(self.checksum_error, slots.checksum_error),
            qid: keep(self.qid, slots.qid),
            ..self
        }
    }
}

/// A program as v1model sees it.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) blocks: Blocks,
    pub(crate) slots: Intrinsics<SlotId>,
    pub(crate) numbers: Intrinsics<NumberPlace>,
    /// All slots zero.
    pub(crate) zero: State,
    storage: Storage,
    /// Whether programs can see the payload of a clone behind what a session's limit leaves: by a checksum over it, or in a
    /// clone of the clone that has another limit.
    pub(crate) shows_payload: bool,
    /// By index: the slots that are kept for another pass.
    field_lists: Vec<Vec<SlotId>>,
}

/// The layout of a program for v1model. Programs for other architectures have none, and are not executed by what needs it.
#[derive(Debug)]
pub(crate) struct V1modelLayout(Option<Layout>);

impl V1modelLayout {
    pub(crate) fn new(program: &Program, storage: &Storage) -> Result<V1modelLayout, LoadError> {
        let is_v1model = program.architecture == Architecture::V1Model;
        let layout = is_v1model.then(|| Layout::new(program, storage)).transpose()?;
        Ok(V1modelLayout(layout))
    }

    /// The layout, if the program is for v1model.
    pub(crate) fn get(&self) -> Option<&Layout> {
        self.0.as_ref()
    }
}

impl Deref for V1modelLayout {
    type Target = Layout;

    #[inline]
    fn deref(&self) -> &Layout {
        self.0.as_ref().expect("the program is for v1model")
    }
}

impl Layout {
    fn new(program: &Program, storage: &Storage) -> Result<Layout, LoadError> {
        let place = |slot| storage.zero.layout().number_place(slot);
        let slots = intrinsics(program)?;
        Ok(Layout {
            blocks: blocks(program)?,
            slots,
            numbers: slots.map(place).without_unread(&slots, &program.slots_read()),
            shows_payload: shows_payload(program),
            field_lists: field_lists(program),
            zero: storage.zero.clone(),
            storage: storage.clone(),
        })
    }

    /// Whether the program has the blocks and the metadata that v1model needs.
    pub(crate) fn check(program: &Program) -> Result<(), LoadError> {
        blocks(program)?;
        intrinsics(program)?;
        Ok(())
    }

    /// Forgets everything but headers: what BMv2 calls resetting the metadata.
    pub(crate) fn reset_metadata(&self, state: &mut State) {
        self.storage.reset_metadata(state);
    }

    /// The slots that another pass keeps; none when there is no such list.
    #[inline]
    pub(crate) fn field_list(&self, preserve: Preserve) -> &[SlotId] {
        let list = preserve
            .field_list
            .and_then(|index| self.field_lists.get(index as usize));
        list.map_or(&[], Vec::as_slice)
    }

    /// Bytes of all valid headers, those that no deparser emits included.
    #[inline]
    pub(crate) fn valid_header_bytes(&self, state: &State) -> u64 {
        self.storage.valid_header_bytes(state)
    }
}

fn shows_payload(program: &Program) -> bool {
    let blocks = program.bodies.iter().flat_map(|body| &body.blocks);
    let mut statements = blocks.flat_map(|block| &block.statements);
    statements.any(|statement| match &statement.op {
        Op::VerifyChecksum { payload, .. } | Op::UpdateChecksum { payload, .. } => *payload,
        Op::Clone { kind, .. } => *kind == CloneKind::EgressToEgress,
        _ => false,
    })
}

/// Programs name them by eight bits.
fn field_lists(program: &Program) -> Vec<Vec<SlotId>> {
    let lists = program.field_lists.range(..=u32::from(u8::MAX));
    let count = lists.last().map_or(0, |(last, _)| last + 1);
    let list = |index| program.field_lists.get(&index).cloned().unwrap_or_default();
    (0..count).map(list).collect()
}

fn blocks(program: &Program) -> Result<Blocks, LoadError> {
    let block = |role, name| program.stages.get(&role).copied().ok_or(LoadError::MissingBlock(name));
    let verify_checksum = block(Role::VerifyChecksum, "checksum verification control")?;
    let compute_checksum = block(Role::ComputeChecksum, "checksum computation control")?;
    Ok(Blocks {
        parser: block(Role::Parser, "parser")?,
        verify_checksum,
        verify_checksum_is_empty: is_empty(program, verify_checksum),
        ingress: block(Role::Ingress, "ingress control")?,
        egress: block(Role::Egress, "egress control")?,
        compute_checksum,
        compute_checksum_is_empty: is_empty(program, compute_checksum),
        deparser: block(Role::Deparser, "deparser")?,
    })
}

/// Whether a control does nothing at all.
fn is_empty(program: &Program, body: BodyId) -> bool {
    match program.bodies[body.index()].blocks.as_slice() {
        [only] => only.statements.is_empty() && only.terminator == Terminator::Return,
        _ => false,
    }
}

fn intrinsics(program: &Program) -> Result<Intrinsics<SlotId>, LoadError> {
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
