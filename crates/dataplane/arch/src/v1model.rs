//! v1model, with the behaviour of BMv2's simple_switch.
//!
//! ```text
//!              ┌────────────── resubmit: the frame as it came ──────────────┐
//!              ▼                                                            │
//!  frame ─► parser ─► verify checksum ─► ingress ─► clones, digests ─► resubmit? ─► multicast? ─► drop? ─► unicast
//!              ▲                                       │                                │                    │
//!              │                              parsed again, metadata reset              └──────► queue ◄─────┘
//!              │                                       └───────────────────────────────────────►  │
//!              │                                        ┌──── clones: headers and payload ────────►│
//!              │                                        │                                          ▼
//!              └── recirculate: the new frame ◄── deparser ◄── compute checksum ◄── drop? ◄── clones ◄── egress
//! ```
//!
//! `packet_length` is the length that the frame would have if it were deparsed: the length of the received frame,
//! minus the headers that were valid after the parser, plus the headers that are valid now.
//!
//! # Order
//!
//! After ingress, as in simple_switch: clone, digests, then the first that applies of resubmit, multicast (`mcast_grp`
//! is not 0), drop (`egress_spec` is [`DROP_PORT`]), unicast. After egress: clone, then the first that applies of
//! drop, recirculate, transmit. Ingress may also request recirculation: it takes place after egress, with the field
//! list of the last call, and not for replicas. A parser error does not drop the packet: ingress runs, and can read
//! `parser_error`.
//!
//! # What a copy contains
//!
//! | copy | headers | metadata | payload |
//! |---|---|---|---|
//! | multicast replica | as ingress left them | as ingress left it, `egress_rid` of the member | same |
//! | clone from ingress | parsed again from the frame that entered ingress | zero, except for the field list | same |
//! | clone from egress | as egress left them | zero, except for the field list | same |
//! | resubmitted | parsed again from the same frame | zero, except for the field list and the arguments | same |
//! | recirculated | parsed again from the deparsed frame | the same | same |
//!
//! # Where simple_switch and its documentation differ
//!
//! simple_switch loses `ingress_port` and the timestamp of resubmitted and recirculated packets, although v1model says
//! that resubmission changes only `instance_type`. Here they are kept. simple_switch also forgets `truncate` for
//! replicas and recirculated packets; here the limit applies wherever the packet is deparsed.
//! `docs/simple-switch-behaviour.md` lists every behaviour with its test.

use crate::BuildError;
use crate::build::{Builder, is_set, least, number, request, resized, same, set, slot, sum_less, take};
use forebay_ir::pipeline::{
    Argument, Clear, DropReason, End, Entry, Finish, GlueOp, Graph, Mirror, MirrorFrame, Reason, Target,
};
use forebay_ir::{BinaryOp, Expr, Op, Program, Role, SlotId, build};
use std::collections::BTreeSet;

/// The value of `egress_spec` that drops a packet.
pub const DROP_PORT: u32 = 511;

/// Width of limits. A limit is a number of bytes plus 1; 0 stands for no limit.
const LIMIT_WIDTH: u32 = 33;

/// `instance_type`, with the numbers of simple_switch.
mod instance_type {
    pub(super) const NORMAL: u64 = 0;
    pub(super) const INGRESS_CLONE: u64 = 1;
    pub(super) const EGRESS_CLONE: u64 = 2;
    pub(super) const RECIRCULATED: u64 = 4;
    pub(super) const REPLICATED: u64 = 5;
    pub(super) const RESUBMITTED: u64 = 6;
}

/// Slots of the graph.
struct Requests {
    parsed_bytes: SlotId,
    header_bytes: SlotId,
    new_header_bytes: SlotId,
    frame_length: SlotId,
    length: SlotId,
    truncate: SlotId,
    truncate_now: SlotId,
    port: SlotId,
    class: SlotId,
    time: SlotId,
    enqueued: SlotId,
    clone: SlotId,
    session: SlotId,
    again: SlotId,
    /// The recirculation that ingress has requested.
    recirculate: SlotId,
}

/// What the bodies of a program request.
struct RequestedFeatures {
    clone: bool,
    resubmit: bool,
    recirculate: bool,
}

impl RequestedFeatures {
    fn of(program: &Program) -> RequestedFeatures {
        let mut requested = RequestedFeatures {
            clone: false,
            resubmit: false,
            recirculate: false,
        };
        for statement in program.statements() {
            requested.clone |= matches!(statement.op, Op::Clone { .. });
            requested.resubmit |= matches!(statement.op, Op::Resubmit { .. });
            requested.recirculate |= matches!(statement.op, Op::Recirculate { .. });
        }
        requested
    }
}

/// The graph of a program.
pub(crate) fn graph(program: &mut Program) -> Result<Graph, BuildError> {
    let requested = RequestedFeatures::of(program);
    let mut builder = Builder::new(program);
    let requests = Requests {
        parsed_bytes: builder.slot("parsed_bytes", 32),
        header_bytes: builder.slot("header_bytes", 32),
        new_header_bytes: builder.slot("new_header_bytes", 32),
        frame_length: builder.slot("frame_length", 32),
        length: builder.slot("length", 32),
        truncate: builder.slot("truncate", LIMIT_WIDTH),
        truncate_now: builder.slot("truncate_now", LIMIT_WIDTH),
        port: builder.slot("port", 32),
        class: builder.slot("class", 8),
        time: builder.slot("time", 64),
        enqueued: builder.slot("enqueued", 64),
        clone: builder.slot("clone", 9),
        session: builder.slot("clone_session", 32),
        again: builder.slot("again", 9),
        recirculate: builder.slot("recirculate", 9),
    };
    let mut v1model = V1model {
        builder,
        requests,
        requested,
    };
    v1model.entries()?;
    v1model.ingress()?;
    v1model.traffic_manager()?;
    v1model.clones()?;
    v1model.egress()?;
    Ok(v1model.builder.finish())
}

/// The slots of a program's graph with a packet's length for egress, and with the bytes of headers in it.
pub fn lengths_of_clones(program: &Program) -> Option<[SlotId; 2]> {
    Some([
        request(program, "request.length")?,
        request(program, "request.header_bytes")?,
    ])
}

/// The slot of a program's graph with the bytes of the headers that are valid before ingress.
pub fn parsed_bytes(program: &Program) -> Option<SlotId> {
    request(program, "request.parsed_bytes")
}

struct V1model<'a> {
    builder: Builder<'a>,
    requests: Requests,
    requested: RequestedFeatures,
}

impl V1model<'_> {
    /// `field = $argument`, if the program has the field.
    fn tell(&self, field: &str, argument: Argument) -> Option<GlueOp> {
        Some(take(self.builder.optional(field)?, argument))
    }

    /// `field = value`, if the program has the field.
    fn give(&self, field: &str, value: u64) -> Option<GlueOp> {
        let field = self.builder.optional(field)?;
        Some(set(field, number(self.builder.width(field), value)))
    }

    /// All slots of field lists that bodies can name, in eight bits.
    fn preserved(&self) -> Vec<SlotId> {
        let lists = self.builder.program.field_lists.range(..=u32::from(u8::MAX));
        let slots: BTreeSet<SlotId> = lists.flat_map(|(_, slots)| slots).copied().collect();
        slots.into_iter().collect()
    }

    fn entries(&mut self) -> Result<(), BuildError> {
        self.builder.enter(Entry::Arrival, "received", Vec::new());
        let begin = self.builder.jump("parse");
        let ops = self.give("instance_type", instance_type::NORMAL);
        self.builder.block("received", ops, begin.clone());
        let ways = [
            (
                self.requested.resubmit,
                Entry::Resubmitted,
                "resubmitted",
                instance_type::RESUBMITTED,
            ),
            (
                self.requested.recirculate,
                Entry::Recirculated,
                "recirculated",
                instance_type::RECIRCULATED,
            ),
        ];
        for (is_wanted, entry, label, instance_type) in ways {
            if is_wanted {
                self.builder.enter(entry, label, self.preserved());
                let ops = [Some(GlueOp::Restore), self.give("instance_type", instance_type)];
                self.builder.block(label, ops.into_iter().flatten(), begin.clone());
            }
        }
        Ok(())
    }

    fn ingress(&mut self) -> Result<(), BuildError> {
        let ingress_port = self.builder.intrinsic("ingress_port")?;
        let ops = [
            Some(take(ingress_port, Argument::IngressPort)),
            self.tell("packet_length", Argument::FrameLength),
            self.tell("ingress_global_timestamp", Argument::TimeUs),
        ];
        let parse = self.builder.parse(Role::Parser, "parsed", "rejected")?;
        self.builder.block("parse", ops.into_iter().flatten(), parse);
        let ops = self.tell("parser_error", Argument::ParserError);
        let parsed = self.builder.jump("parsed");
        self.builder.block("rejected", ops, parsed);
        let verify = self.builder.run(Role::VerifyChecksum, "verified")?;
        self.builder.block("parsed", [], verify);
        let ops = [
            self.tell("checksum_error", Argument::ChecksumError),
            Some(take(self.requests.parsed_bytes, Argument::HeaderBytes)),
        ];
        let ingress = self.builder.run(Role::Ingress, "ingress_done")?;
        self.builder.block("verified", ops.into_iter().flatten(), ingress);
        let Requests {
            truncate,
            header_bytes,
            frame_length,
            length,
            parsed_bytes,
            class,
            ..
        } = self.requests;
        let priority = self.builder.optional("priority");
        let mut ops = vec![
            take(truncate, Argument::TruncateRequest),
            take(header_bytes, Argument::HeaderBytes),
            take(frame_length, Argument::FrameLength),
            set(length, sum_less(frame_length, header_bytes, parsed_bytes)),
        ];
        ops.extend(priority.map(|priority| set(class, resized(self.builder.program, priority, 8))));
        if self.requested.recirculate {
            ops.push(take(self.requests.recirculate, Argument::RecirculateRequest));
        }
        self.mirrors(
            "ingress_done",
            ops,
            ("ingress", MirrorFrame::AsReceived, Entry::CloneIngress),
        );
        self.after_ingress()
    }

    /// Adds a block that makes the clone that bodies requested, if any. It continues at `…_cloned`.
    fn mirrors(&mut self, label: &str, mut ops: Vec<GlueOp>, (side, frame, to): (&str, MirrorFrame, Entry)) {
        let next = format!("{side}_cloned");
        if !self.requested.clone {
            let next = self.builder.jump(&next);
            return self.builder.block(label, ops, next);
        }
        let Requests { clone, session, .. } = self.requests;
        ops.push(take(clone, Argument::CloneRequest));
        ops.push(take(session, Argument::CloneSession));
        let end = self.by_list(clone, &next, &format!("{side}_mirror"), |builder, label, list| {
            let mirror = Mirror {
                session: slot(session),
                to,
                frame,
                preserve: same(list.map_or(Vec::new(), |list| builder.list(list))),
            };
            let end = builder.jump(&next);
            builder.block(label, [GlueOp::Mirror(mirror)], end);
        });
        self.builder.block(label, ops, end);
    }

    /// Branches on a request: to `none` when nothing was requested, to a block (made by `define`) for each field list
    /// that the request may name, and to one for no list.
    fn by_list(
        &mut self,
        request: SlotId,
        none: &str,
        prefix: &str,
        mut define: impl FnMut(&mut Builder<'_>, &str, Option<u32>),
    ) -> End {
        let lists: Vec<u32> = self
            .builder
            .program
            .field_lists
            .range(..=u32::from(u8::MAX))
            .map(|(number, _)| *number)
            .collect();
        let width = self.builder.width(request);
        let mut cases = vec![(forebay_bits::Bits::zero(width), self.builder.to(none))];
        for list in lists {
            let label = format!("{prefix}_{list}");
            let value = forebay_bits::Bits::new(width, u128::from(list) + 2);
            cases.push((value, self.builder.to(&label)));
            define(&mut self.builder, &label, Some(list));
        }
        define(&mut self.builder, prefix, None);
        End::Select {
            key: slot(request),
            cases,
            default: self.builder.to(prefix),
        }
    }

    fn after_ingress(&mut self) -> Result<(), BuildError> {
        let mut ops = vec![GlueOp::Commit];
        let end = if self.requested.resubmit {
            let again = self.requests.again;
            ops.push(take(again, Argument::ResubmitRequest));
            self.by_list(again, "route", "again", |builder, label, list| {
                let pairs = same(list.map_or(Vec::new(), |list| builder.list(list)));
                builder.block(label, [], End::Finish(Finish::Resubmit(pairs)));
            })
        } else {
            self.builder.jump("route")
        };
        self.builder.block("ingress_cloned", ops, end);
        Ok(())
    }

    fn traffic_manager(&mut self) -> Result<(), BuildError> {
        let Requests {
            port,
            class,
            length,
            truncate,
            ..
        } = self.requests;
        let spec = self.builder.intrinsic("egress_spec")?;
        match self.builder.optional("mcast_grp") {
            Some(group) => {
                let is_multicast = is_set(self.builder.program, group);
                let route = self.builder.branch(is_multicast, "multicast", "unicast");
                self.builder.block("route", [], route);
                let mut ops: Vec<GlueOp> = self
                    .give("instance_type", instance_type::REPLICATED)
                    .into_iter()
                    .collect();
                ops.extend(self.forget_recirculation());
                let end = End::Replicate {
                    target: Target::Group(slot(group)),
                    each: Entry::Replica(0),
                    none: Some(self.builder.to("no_member")),
                };
                self.builder.block("multicast", ops, end);
                let end = End::Finish(Finish::Drop(DropReason::NoMember.into()));
                self.builder.block("no_member", [], end);
            }
            None => {
                let route = self.builder.jump("unicast");
                self.builder.block("route", [], route);
            }
        }
        self.builder.enter(Entry::Replica(0), "copy", Vec::new());
        let ops = [
            self.tell("egress_rid", Argument::ReplicaInstance),
            Some(take(port, Argument::ReplicaPort)),
        ];
        let end = self.builder.jump("enqueue");
        self.builder.block("copy", ops.into_iter().flatten(), end);
        let is_dropped = self.is_drop_port(spec);
        let end = self.builder.branch(is_dropped, "dropped", "chosen");
        self.builder.block("unicast", [], end);
        let reason = Reason {
            error: self.builder.optional("parser_error"),
            otherwise: DropReason::Ingress,
        };
        self.builder.block("dropped", [], End::Finish(Finish::Drop(reason)));
        let chosen = set(port, resized(self.builder.program, spec, 32));
        let ops = [self.give("instance_type", instance_type::NORMAL), Some(chosen)];
        let end = self.builder.jump("enqueue");
        self.builder.block("chosen", ops.into_iter().flatten(), end);
        let end = End::Suspend {
            port: slot(port),
            class: slot(class),
            length: shortened(length, truncate),
            resume: Entry::Dequeued(0),
            preserve: Vec::new(),
        };
        self.builder.block("enqueue", [], end);
        Ok(())
    }

    fn is_drop_port(&self, spec: SlotId) -> Expr {
        build::equal(resized(self.builder.program, spec, 32), number(32, DROP_PORT.into()))
    }

    /// Adds the entries of clones. A clone from ingress is the frame that entered ingress, parsed again. The parser
    /// sees only `ingress_port` of the metadata, and what it writes to metadata is discarded. A clone from egress has
    /// the headers as egress left them.
    fn clones(&mut self) -> Result<(), BuildError> {
        if !self.requested.clone {
            return Ok(());
        }
        let preserved = self.preserved();
        self.builder.enter(Entry::CloneIngress, "cloned", preserved.clone());
        let ingress_port = self.builder.intrinsic("ingress_port")?;
        let parse = self.builder.parse(Role::Parser, "cloned_parsed", "cloned_parsed")?;
        self.builder
            .block("cloned", [take(ingress_port, Argument::IngressPort)], parse);
        let before = [
            take(self.requests.header_bytes, Argument::HeaderBytes),
            take(self.requests.length, Argument::FrameLength),
        ];
        self.clone("cloned_parsed", before.to_vec(), instance_type::INGRESS_CLONE);
        self.builder.enter(Entry::CloneEgress, "cloned_egress", preserved);
        let ops = self.forget_recirculation().into_iter().collect();
        self.clone("cloned_egress", ops, instance_type::EGRESS_CLONE);
        Ok(())
    }

    /// Cancels the recirculation that ingress requested, for copies of the packet.
    fn forget_recirculation(&self) -> Option<GlueOp> {
        let slot = self.requests.recirculate;
        let nothing = || set(slot, number(self.builder.width(slot), 0));
        self.requested.recirculate.then(nothing)
    }

    fn clone(&mut self, label: &str, mut ops: Vec<GlueOp>, instance_type: u64) {
        let Requests { truncate, class, .. } = self.requests;
        ops.extend([GlueOp::Clear(Clear::Metadata), GlueOp::Restore]);
        ops.extend(self.give("instance_type", instance_type));
        ops.push(take(truncate, Argument::SessionLimit));
        ops.push(take(class, Argument::SessionClass));
        if let Some(priority) = self.builder.optional("priority") {
            let has_none = build::equal(slot(class), number(8, 0));
            let program = &*self.builder.program;
            let chosen = build::mux(has_none, resized(program, priority, 8), slot(class));
            ops.push(set(class, chosen));
            ops.push(set(priority, resized(program, class, program.slot(priority).width)));
        }
        let end = End::Replicate {
            target: Target::Session,
            each: Entry::Replica(0),
            none: None,
        };
        self.builder.block(label, ops, end);
    }

    fn egress(&mut self) -> Result<(), BuildError> {
        self.builder.enter(Entry::Dequeued(0), "left_queue", Vec::new());
        let ops = self.before_egress()?;
        let end = self.builder.run(Role::Egress, "egress_done")?;
        self.builder.block("left_queue", ops, end);
        let Requests {
            header_bytes,
            new_header_bytes,
            length,
            truncate,
            truncate_now,
            again,
            recirculate,
            ..
        } = self.requests;
        let ops = vec![
            take(new_header_bytes, Argument::HeaderBytes),
            set(length, sum_less(length, new_header_bytes, header_bytes)),
            set(header_bytes, slot(new_header_bytes)),
        ];
        self.mirrors(
            "egress_done",
            ops,
            ("egress", MirrorFrame::WithState, Entry::CloneEgress),
        );
        let mut ops = vec![GlueOp::Commit];
        if self.requested.recirculate {
            ops.push(take(again, Argument::RecirculateRequest));
            let is_asked = is_set(self.builder.program, again);
            ops.push(set(again, build::mux(is_asked, slot(again), slot(recirculate))));
        }
        let spec = self.builder.intrinsic("egress_spec")?;
        let is_dropped = self.is_drop_port(spec);
        let end = self.builder.branch(is_dropped, "egress_dropped", "leave");
        self.builder.block("egress_cloned", ops, end);
        let end = End::Finish(Finish::Drop(DropReason::Egress.into()));
        self.builder.block("egress_dropped", [], end);
        let end = self.builder.run(Role::ComputeChecksum, "deparse")?;
        self.builder.block("leave", [], end);
        let end = self.builder.run(Role::Deparser, "deparsed")?;
        self.builder.block("deparse", [], end);
        let ops = [
            take(truncate_now, Argument::TruncateRequest),
            set(truncate, least(truncate, truncate_now, LIMIT_WIDTH)),
            GlueOp::Reframe {
                truncate: Some(slot(truncate)),
            },
        ];
        let end = if self.requested.recirculate {
            self.by_list(again, "transmit", "round", |builder, label, list| {
                let pairs = same(list.map_or(Vec::new(), |list| builder.list(list)));
                builder.block(label, [], End::Finish(Finish::Recirculate(pairs)));
            })
        } else {
            self.builder.jump("transmit")
        };
        self.builder.block("deparsed", ops, end);
        let transmit = End::Finish(Finish::Transmit {
            port: slot(self.requests.port),
        });
        self.builder.block("transmit", [], transmit);
        Ok(())
    }

    /// Sets the arguments of the queue. `egress_spec` gets a value other than the drop port, because what ingress
    /// wrote there has been used.
    fn before_egress(&self) -> Result<Vec<GlueOp>, BuildError> {
        let Requests {
            time,
            enqueued,
            length,
            port,
            ..
        } = self.requests;
        let builder = &self.builder;
        let spec = builder.intrinsic("egress_spec")?;
        let egress_port = builder.intrinsic("egress_port")?;
        let mut ops = vec![
            take(port, Argument::EgressPort),
            take(egress_port, Argument::EgressPort),
            set(spec, number(builder.width(spec), u64::from(DROP_PORT) + 1)),
        ];
        let told = [
            ("egress_global_timestamp", Argument::TimeUs),
            ("enq_timestamp", Argument::EnqueueTimeUs),
            ("enq_qdepth", Argument::EnqueueDepth),
            ("deq_qdepth", Argument::DequeueDepth),
            ("qid", Argument::Class),
        ];
        ops.extend(told.iter().filter_map(|(field, argument)| self.tell(field, *argument)));
        if let Some(waited) = builder.optional("deq_timedelta") {
            let difference = build::binary(BinaryOp::SatSubUnsigned, slot(time), slot(enqueued));
            ops.push(take(time, Argument::TimeUs));
            ops.push(take(enqueued, Argument::EnqueueTimeUs));
            ops.push(set(waited, build::resize(difference, 64, builder.width(waited), false)));
        }
        if let Some(field) = builder.optional("packet_length") {
            ops.push(set(field, resized(builder.program, length, builder.width(field))));
        }
        Ok(ops)
    }
}

/// A length, reduced to a limit if there is one.
fn shortened(length: SlotId, limit: SlotId) -> Expr {
    let bytes = build::binary(BinaryOp::Sub, slot(limit), number(LIMIT_WIDTH, 1));
    let bytes = Expr::Truncate(32, Box::new(bytes));
    let exists = build::binary(BinaryOp::Ne, slot(limit), number(LIMIT_WIDTH, 0));
    let cuts = build::and(exists, build::binary(BinaryOp::Lt, bytes.clone(), slot(length)));
    build::mux(cuts, bytes, slot(length))
}
