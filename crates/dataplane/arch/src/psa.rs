//! The Portable Switch Architecture, according to its specification.
//!
//! ```text
//!  frame ─► IngressParser ─► Ingress ─► IngressDeparser ─► clone? ─► drop? ─► resubmit? ─► reframe ─► multicast? ─► unicast
//!             ▲      ▲                                      │                    │                         └─► queue ◄─┘
//!             │      └────────── the frame as it came ──────┼────────────────────┘                               ▲ │
//!             │                                             └── the frame as it came ──────────────────────────────┤ │
//!             │                                                                                                  │ ▼
//!             └── PSA_PORT_RECIRCULATE? ◄── drop? ◄── clone? ◄── reframe ◄── EgressDeparser ◄── Egress ◄── EgressParser
//!                            │                          └─── the frame as it leaves ─────────────────────────────┘
//!                            └─► port
//! ```
//!
//! A queue holds frames: egress begins with a parser, and only the metadata that the specification names is kept. A
//! dropped packet is not deparsed, unless one of its clones needs metadata that the deparser computes, or the deparser
//! has other effects than putting a frame together.
//!
//! # Field lists
//!
//! Lowering stores what a deparser writes for a later parser in the same slots for both. These slots are the field
//! lists [`NORMAL`], [`RESUBMIT`], [`RECIRCULATE`], [`CLONE_I2E`] and [`CLONE_E2E`].

use crate::BuildError;
use crate::build::{Builder, is_set, number, resized, same, set, slot, take};
use forebay_ir::pipeline::{
    Argument, Clear, DropReason, End, Entry, Finish, GlueOp, Graph, Mirror, MirrorFrame, Reason, Target,
};
use forebay_ir::{BinaryOp, Expr, Op, Program, Role, SlotId, build};

/// `normal_meta`
pub const NORMAL: u32 = 0;
/// `resubmit_meta`
pub const RESUBMIT: u32 = 1;
/// `recirculate_meta`
pub const RECIRCULATE: u32 = 2;
/// `clone_i2e_meta`
pub const CLONE_I2E: u32 = 3;
/// `clone_e2e_meta`
pub const CLONE_E2E: u32 = 4;

/// `PSA_PORT_RECIRCULATE`
pub const PORT_RECIRCULATE: u32 = 0xffff_fffa;

/// `PSA_PORT_CPU`
pub const PORT_CPU: u32 = 0xffff_fffd;

/// `PSA_CLONE_SESSION_TO_CPU`
pub const SESSION_TO_CPU: u32 = 0;

/// `CLONE_I2E` of `PSA_PacketPath_t`
pub const CLONE_I2E_PATH: u64 = path::CLONE_I2E;

/// `CLONE_E2E` of `PSA_PacketPath_t`
pub const CLONE_E2E_PATH: u64 = path::CLONE_E2E;

/// Classes of service: 0 to 7.
const CLASSES: u64 = 8;

/// Members of `PSA_PacketPath_t` in order.
mod path {
    pub(super) const NORMAL: u64 = 0;
    pub(super) const NORMAL_UNICAST: u64 = 1;
    pub(super) const NORMAL_MULTICAST: u64 = 2;
    pub(super) const CLONE_I2E: u64 = 3;
    pub(super) const CLONE_E2E: u64 = 4;
    pub(super) const RESUBMIT: u64 = 5;
    pub(super) const RECIRCULATE: u64 = 6;
}

/// Slots of the graph. All except the limit stay with a packet in its queue.
struct Requests {
    path: SlotId,
    class: SlotId,
    port: SlotId,
    instance: SlotId,
    length: SlotId,
    limit: SlotId,
}

/// The graph of a program.
pub(crate) fn graph(program: &mut Program) -> Result<Graph, BuildError> {
    let mut builder = Builder::new(program);
    let requests = Requests {
        path: builder.slot("packet_path", 32),
        class: builder.slot("class_of_service", 8),
        port: builder.slot("port", 32),
        instance: builder.slot("instance", 16),
        length: builder.slot("length", 32),
        limit: builder.slot("session_limit", 33),
    };
    let mut psa = Psa { builder, requests };
    psa.begin_ingress()?;
    psa.end_ingress()?;
    psa.traffic_manager()?;
    psa.clones();
    psa.begin_egress()?;
    psa.end_egress()?;
    Ok(psa.builder.finish())
}

struct Psa<'a> {
    builder: Builder<'a>,
    requests: Requests,
}

impl Psa<'_> {
    /// A field of one of the structs of intrinsic metadata.
    fn field(&self, block: &str, name: &str) -> Result<SlotId, BuildError> {
        self.builder.intrinsic(&format!("psa_{block}_metadata.{name}"))
    }

    fn take(&self, block: &str, name: &str, argument: Argument) -> Result<GlueOp, BuildError> {
        Ok(take(self.field(block, name)?, argument))
    }

    fn give(&self, block: &str, name: &str, value: u64) -> Result<GlueOp, BuildError> {
        let field = self.field(block, name)?;
        Ok(set(field, number(self.builder.width(field), value)))
    }

    /// Sets a field to the value of a slot, in the field's width.
    fn copy(&self, block: &str, name: &str, from: SlotId) -> Result<GlueOp, BuildError> {
        let field = self.field(block, name)?;
        let value = resized(self.builder.program, from, self.builder.width(field));
        Ok(set(field, value))
    }

    fn request(&self, request: SlotId, value: u64) -> GlueOp {
        set(request, number(self.builder.width(request), value))
    }

    fn begin_ingress(&mut self) -> Result<(), BuildError> {
        let ways = [
            (Entry::Arrival, "received", path::NORMAL, None),
            (Entry::Resubmitted, "resubmitted", path::RESUBMIT, Some(RESUBMIT)),
            (
                Entry::Recirculated,
                "recirculated",
                path::RECIRCULATE,
                Some(RECIRCULATE),
            ),
        ];
        for (entry, label, path, list) in ways {
            let mut preserved = list.map_or(Vec::new(), |list| self.builder.list(list));
            let port = match entry {
                Entry::Recirculated => {
                    Some(self.give("ingress_parser_input", "ingress_port", PORT_RECIRCULATE.into())?)
                }
                // The port is preserved. For a packet that was recirculated before, it is the port of recirculation
                // (§6.1).
                Entry::Resubmitted => {
                    preserved.push(self.field("ingress_parser_input", "ingress_port")?);
                    None
                }
                _ => Some(self.take("ingress_parser_input", "ingress_port", Argument::IngressPort)?),
            };
            self.builder.enter(entry, label, preserved);
            let path = self.give("ingress_parser_input", "packet_path", path)?;
            let restore = list.map(|_| GlueOp::Restore);
            let end = self.builder.jump("parse");
            let ops = restore.into_iter().chain(port).chain([path]);
            self.builder.block(label, ops, end);
        }
        let end = self.builder.parse(Role::IngressParser, "parsed", "rejected")?;
        self.builder.block("parse", [], end);
        let error = self.take("ingress_input", "parser_error", Argument::ParserError)?;
        let end = self.builder.jump("parsed");
        self.builder.block("rejected", [error], end);
        let (port, path) = (
            self.field("ingress_parser_input", "ingress_port")?,
            self.field("ingress_parser_input", "packet_path")?,
        );
        let ops = [
            self.copy("ingress_input", "ingress_port", port)?,
            self.copy("ingress_input", "packet_path", path)?,
            self.take("ingress_input", "ingress_timestamp", Argument::TimeUs)?,
            self.give("ingress_output", "drop", 1)?,
        ];
        let end = self.builder.run(Role::Ingress, "ingress_done")?;
        self.builder.block("parsed", ops, end);
        Ok(())
    }

    /// Adds the end of ingress: clone, drop and resubmit, in this order, and the frame of a packet that continues.
    fn end_ingress(&mut self) -> Result<(), BuildError> {
        let (clone, drop) = (
            self.field("ingress_output", "clone")?,
            self.field("ingress_output", "drop")?,
        );
        let end = if has_effects(self.builder.program, Role::IngressDeparser) {
            // A dropped packet still sends its digest, because the specification does not exempt the deparser.
            self.builder.jump("deparse")
        } else {
            let needs_deparser = build::or(slot(clone), build::not(slot(drop)));
            self.builder.branch(needs_deparser, "deparse", "dropped")
        };
        self.builder.block("ingress_done", [GlueOp::Commit], end);
        let reason = Reason {
            error: Some(self.field("ingress_input", "parser_error")?),
            otherwise: DropReason::Ingress,
        };
        self.builder.block("dropped", [], End::Finish(Finish::Drop(reason)));
        let end = self.builder.run(Role::IngressDeparser, "deparsed")?;
        self.builder.block("deparse", [], end);
        let end = self.builder.branch(slot(clone), "mirror_i2e", "cloned");
        self.builder.block("deparsed", [GlueOp::Commit], end);
        let session = self.field("ingress_output", "clone_session_id")?;
        let mirror = self.mirror(session, Entry::CloneIngress, MirrorFrame::AsReceived, CLONE_I2E);
        let end = self.builder.jump("cloned");
        self.builder.block("mirror_i2e", [mirror], end);
        let end = self.builder.branch(slot(drop), "dropped", "kept");
        self.builder.block("cloned", [], end);
        let resubmit = self.field("ingress_output", "resubmit")?;
        let end = self.builder.branch(slot(resubmit), "again", "normal");
        self.builder.block("kept", [], end);
        let mut kept = self.builder.list(RESUBMIT);
        kept.push(self.field("ingress_parser_input", "ingress_port")?);
        let pairs = same(kept);
        self.builder.block("again", [], End::Finish(Finish::Resubmit(pairs)));
        Ok(())
    }

    fn mirror(&self, session: SlotId, to: Entry, frame: MirrorFrame, list: u32) -> GlueOp {
        GlueOp::Mirror(Mirror {
            session: resized(self.builder.program, session, 32),
            to,
            frame,
            preserve: same(self.builder.list(list)),
        })
    }

    fn traffic_manager(&mut self) -> Result<(), BuildError> {
        let Requests {
            path,
            class,
            port,
            instance,
            length,
            ..
        } = self.requests;
        let class_of_service = self.field("ingress_output", "class_of_service")?;
        let group = self.field("ingress_output", "multicast_group")?;
        let ops = [
            GlueOp::Reframe { truncate: None },
            set(class, supported_class(self.builder.program, class_of_service)),
        ];
        let is_multicast = is_set(self.builder.program, group);
        let end = self.builder.branch(is_multicast, "multicast", "unicast");
        self.builder.block("normal", ops, end);
        let end = End::Replicate {
            target: Target::Group(slot(group)),
            each: Entry::Replica(0),
            none: Some(self.builder.to("no_member")),
        };
        let is_replica = self.request(path, path::NORMAL_MULTICAST);
        self.builder.block("multicast", [is_replica], end);
        let end = End::Finish(Finish::Drop(DropReason::NoMember.into()));
        self.builder.block("no_member", [], end);
        self.builder.enter(Entry::Replica(0), "copy", Vec::new());
        let ops = [
            take(port, Argument::ReplicaPort),
            take(instance, Argument::ReplicaInstance),
        ];
        let end = self.builder.jump("enqueue");
        self.builder.block("copy", ops, end);
        let egress_port = self.field("ingress_output", "egress_port")?;
        let ops = [
            self.request(path, path::NORMAL_UNICAST),
            set(port, resized(self.builder.program, egress_port, 32)),
        ];
        let end = self.builder.jump("enqueue");
        self.builder.block("unicast", ops, end);
        let end = End::Suspend {
            port: slot(port),
            class: slot(class),
            length: slot(length),
            resume: Entry::Dequeued(0),
            preserve: same(self.of_egress()),
        };
        self.builder
            .block("enqueue", [take(length, Argument::FrameLength)], end);
        Ok(())
    }

    /// The input of the egress parser. `packet_path` tells which parts of it are meaningful.
    fn of_egress(&self) -> Vec<SlotId> {
        [NORMAL, CLONE_I2E, CLONE_E2E]
            .into_iter()
            .flat_map(|list| self.builder.list(list))
            .collect()
    }

    /// Adds the entries of clones. A clone is a frame; its session may truncate it, and gives it its class of service.
    fn clones(&mut self) {
        let clones = [
            (Entry::CloneIngress, "cloned_i2e", path::CLONE_I2E, CLONE_I2E),
            (Entry::CloneEgress, "cloned_e2e", path::CLONE_E2E, CLONE_E2E),
        ];
        let Requests { path, class, limit, .. } = self.requests;
        for (entry, label, of, list) in clones {
            self.builder.enter(entry, label, self.builder.list(list));
            let ops = [
                GlueOp::Restore,
                self.request(path, of),
                take(class, Argument::SessionClass),
                take(limit, Argument::SessionLimit),
                GlueOp::Reframe {
                    truncate: Some(slot(limit)),
                },
            ];
            let end = End::Replicate {
                target: Target::Session,
                each: Entry::Replica(0),
                none: None,
            };
            self.builder.block(label, ops, end);
        }
    }

    fn begin_egress(&mut self) -> Result<(), BuildError> {
        self.builder.enter(Entry::Dequeued(0), "left_queue", self.of_egress());
        let Requests {
            path, class, instance, ..
        } = self.requests;
        let ops = [
            GlueOp::Clear(Clear::All),
            GlueOp::Restore,
            self.take("egress_parser_input", "egress_port", Argument::EgressPort)?,
            self.copy("egress_parser_input", "packet_path", path)?,
        ];
        let end = self
            .builder
            .parse(Role::EgressParser, "egress_parsed", "egress_rejected")?;
        self.builder.block("left_queue", ops, end);
        let error = self.take("egress_input", "parser_error", Argument::ParserError)?;
        let end = self.builder.jump("egress_parsed");
        self.builder.block("egress_rejected", [error], end);
        let ops = [
            self.copy("egress_input", "class_of_service", class)?,
            self.take("egress_input", "egress_port", Argument::EgressPort)?,
            self.copy("egress_input", "packet_path", path)?,
            self.copy("egress_input", "instance", instance)?,
            self.take("egress_input", "egress_timestamp", Argument::TimeUs)?,
        ];
        let end = self.builder.run(Role::Egress, "egress_done")?;
        self.builder.block("egress_parsed", ops, end);
        Ok(())
    }

    /// Adds the end of egress: the frame, clone, drop and recirculate, in this order.
    fn end_egress(&mut self) -> Result<(), BuildError> {
        let (clone, drop) = (
            self.field("egress_output", "clone")?,
            self.field("egress_output", "drop")?,
        );
        let ops = [
            GlueOp::Commit,
            self.take("egress_deparser_input", "egress_port", Argument::EgressPort)?,
        ];
        let end = if has_effects(self.builder.program, Role::EgressDeparser) {
            self.builder.jump("egress_deparse")
        } else {
            let needs_deparser = build::or(slot(clone), build::not(slot(drop)));
            self.builder.branch(needs_deparser, "egress_deparse", "egress_dropped")
        };
        self.builder.block("egress_done", ops, end);
        let end = End::Finish(Finish::Drop(DropReason::Egress.into()));
        self.builder.block("egress_dropped", [], end);
        let end = self.builder.run(Role::EgressDeparser, "egress_deparsed")?;
        self.builder.block("egress_deparse", [], end);
        let end = self.builder.branch(slot(clone), "mirror_e2e", "egress_cloned");
        let ops = [GlueOp::Commit, GlueOp::Reframe { truncate: None }];
        self.builder.block("egress_deparsed", ops, end);
        let session = self.field("egress_output", "clone_session_id")?;
        let mirror = self.mirror(session, Entry::CloneEgress, MirrorFrame::AsDeparsed, CLONE_E2E);
        let end = self.builder.jump("egress_cloned");
        self.builder.block("mirror_e2e", [mirror], end);
        let end = self.builder.branch(slot(drop), "egress_dropped", "leave");
        self.builder.block("egress_cloned", [], end);
        let port = self.field("egress_deparser_input", "egress_port")?;
        let is_recirculated = build::equal(slot(port), number(self.builder.width(port), PORT_RECIRCULATE.into()));
        let end = self.builder.branch(is_recirculated, "round", "transmit");
        self.builder.block("leave", [], end);
        let pairs = same(self.builder.list(RECIRCULATE));
        self.builder.block("round", [], End::Finish(Finish::Recirculate(pairs)));
        let end = End::Finish(Finish::Transmit { port: slot(port) });
        self.builder.block("transmit", [], end);
        Ok(())
    }
}

/// A class of service in eight bits; an unsupported class becomes 0 (§6.2).
pub fn supported_class(program: &Program, class_of_service: SlotId) -> Expr {
    let class = resized(program, class_of_service, 8);
    let is_supported = build::binary(BinaryOp::Lt, class.clone(), number(8, CLASSES));
    build::mux(is_supported, class, number(8, 0))
}

/// Whether a block has visible effects other than the frame that it puts together: digests, registers, counters. A
/// dropped packet has such effects of its deparser, too.
pub fn has_effects(program: &Program, role: Role) -> bool {
    let statements = program.stage(role).into_iter().flat_map(|body| body.statements());
    let mut ops = statements.map(|statement| &statement.op);
    ops.any(|op| {
        matches!(
            op,
            Op::Digest { .. } | Op::RegisterWrite { .. } | Op::Count { .. } | Op::ExecuteMeter { .. }
        )
    })
}
