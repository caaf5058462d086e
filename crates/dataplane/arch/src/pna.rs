//! The Portable NIC Architecture, according to its specification.
//!
//! ```text
//!  frame ─► MainParser ─► PreControl ─► MainControl ─► MainDeparser ─► reframe ─► mirror slots ─► drop? recirculate? send
//!              ▲                                                        │               │              │        │
//!              │                                                        │               └─► session ─► queue ◄──┘
//!              └── recirculate: the new frame, one pass more ◄──────────┴──────────────────────────────┘  └─► port
//! ```
//!
//! Ports below [`PNA_FIRST_HOST_PORT`] lead to the network, and the others to the host; this is a packet's direction.
//! Nothing happens between the queue and the port.
//!
//! Which fields of intrinsic metadata a program has depends on its version of PNA: `direction`, `pass`, and `loopback`
//! or `recirculated`.
//!
//! The requests of `send_to_port`, `drop_packet`, `recirculate` and `mirror_packet` are in slots of intrinsic metadata
//! whose names begin with `pna.`, which lowering assigns; the last call wins. A packet for which none of them was
//! called is dropped.

use crate::BuildError;
use crate::build::{Builder, is_set, number, request, resized, set, slot, take};
use forebay_bits::Bits;
use forebay_ir::pipeline::{
    Argument, DropReason, End, Entry, Finish, GlueOp, Graph, Mirror, MirrorFrame, Reason, Target,
};
use forebay_ir::{BinaryOp, Expr, PNA_FIRST_HOST_PORT, Program, Role, SlotId, build};

/// The number of a packet's mirror slots.
pub const MIRROR_SLOTS: u32 = 4;

/// The value of `pna.fate` for a packet that is sent; 0 stands for a drop.
const FATE_SEND: u64 = 1;

/// The value of `pna.fate` for a packet that goes round again.
pub const FATE_RECIRCULATE: u64 = 2;

/// Slots of the graph.
struct Requests {
    input_port: SlotId,
    pass: SlotId,
    class: SlotId,
    port: SlotId,
    length: SlotId,
    limit: SlotId,
}

/// The slot of a program's graph with the number of a packet's passes before this one.
pub fn pass(program: &Program) -> Option<SlotId> {
    request(program, "request.pass")
}

/// The graph of a program.
pub(crate) fn graph(program: &mut Program) -> Result<Graph, BuildError> {
    let mut builder = Builder::new(program);
    let requests = Requests {
        input_port: builder.slot("input_port", 32),
        pass: builder.slot("pass", 32),
        class: builder.slot("class_of_service", 8),
        port: builder.slot("port", 32),
        length: builder.slot("length", 32),
        limit: builder.slot("session_limit", 33),
    };
    let mut pna = Pna { builder, requests };
    pna.begin()?;
    pna.controls()?;
    pna.mirrors()?;
    pna.end()?;
    Ok(pna.builder.finish())
}

struct Pna<'a> {
    builder: Builder<'a>,
    requests: Requests,
}

impl Pna<'_> {
    /// A field of one of the structs of intrinsic metadata.
    fn field(&self, block: &str, name: &str) -> Result<SlotId, BuildError> {
        self.builder.intrinsic(&format!("pna_{block}_metadata.{name}"))
    }

    /// Sets a field to a value computed for its width, if the program has the field.
    fn set_field(&self, block: &str, name: &str, value: impl FnOnce(u32) -> Expr) -> Option<GlueOp> {
        let field = self.builder.optional(&format!("pna_{block}_metadata.{name}"))?;
        Some(set(field, value(self.builder.width(field))))
    }

    /// Sets what every block is told: direction, pass and port.
    fn tell(&self, block: &str) -> Vec<GlueOp> {
        let Requests { input_port, pass, .. } = self.requests;
        let first_host_port = number(32, PNA_FIRST_HOST_PORT.into());
        let is_host = build::not(build::binary(BinaryOp::Lt, slot(input_port), first_host_port));
        let copy = |from| move |width| resized(self.builder.program, from, width);
        let fields = [
            self.set_field(block, "direction", |width| {
                build::mux(is_host, number(width, 1), number(width, 0))
            }),
            self.set_field(block, "pass", copy(pass)),
            self.set_field(block, "recirculated", |_| is_set(self.builder.program, pass)),
            self.set_field(block, "input_port", copy(input_port)),
        ];
        fields.into_iter().flatten().collect()
    }

    fn begin(&mut self) -> Result<(), BuildError> {
        let pass = self.requests.pass;
        let ways = [
            (Entry::Arrival, "received", None),
            (Entry::Recirculated, "recirculated", Some(GlueOp::Restore)),
        ];
        for (entry, label, restore) in ways {
            let preserved = restore.iter().map(|_| pass).collect();
            self.builder.enter(entry, label, preserved);
            let end = self.builder.jump("parse");
            self.builder.block(label, restore, end);
        }
        let mut ops = vec![take(self.requests.input_port, Argument::IngressPort)];
        ops.extend(self.tell("main_parser_input"));
        let end = self.builder.parse(Role::MainParser, "parsed", "rejected")?;
        self.builder.block("parse", ops, end);
        let of_pre_control = self.builder.optional("pna_pre_input_metadata.parser_error");
        let error = self.field("main_input", "parser_error")?;
        let errors = of_pre_control.into_iter().chain([error]);
        let ops: Vec<GlueOp> = errors.map(|error| take(error, Argument::ParserError)).collect();
        let end = match self.builder.program.error("TC_ACT_SHOT") {
            // For Linux TC a transition to `reject` drops the packet.
            Some(shot) => {
                let is_shot = build::equal(slot(error), number(self.builder.width(error), shot.into()));
                self.builder.branch(is_shot, "dropped", "parsed")
            }
            None => self.builder.jump("parsed"),
        };
        self.builder.block("rejected", ops, end);
        Ok(())
    }

    fn controls(&mut self) -> Result<(), BuildError> {
        let ops = self.tell("pre_input");
        let end = self.builder.run(Role::PreControl, "prepared")?;
        self.builder.block("parsed", ops, end);
        let mut ops = self.tell("main_input");
        ops.push(take(self.field("main_input", "timestamp")?, Argument::TimeUs));
        let end = self.builder.run(Role::MainControl, "decided")?;
        self.builder.block("prepared", ops, end);
        let end = self.builder.run(Role::MainDeparser, "deparsed")?;
        self.builder.block("decided", [GlueOp::Commit], end);
        Ok(())
    }

    /// Adds the blocks for the mirror slots that the program uses.
    fn mirrors(&mut self) -> Result<(), BuildError> {
        let first = [GlueOp::Commit, GlueOp::Reframe { truncate: None }];
        let end = self.builder.jump("slot_0");
        self.builder.block("deparsed", first, end);
        for index in 0..MIRROR_SLOTS {
            let (label, next) = (format!("slot_{index}"), format!("slot_{}", index + 1));
            let next = if index + 1 == MIRROR_SLOTS {
                "finish_packet"
            } else {
                &next
            };
            let is_wanted = self.builder.optional(&format!("pna.mirror_{index}"));
            let session = self.builder.optional(&format!("pna.session_{index}"));
            let (Some(is_wanted), Some(session)) = (is_wanted, session) else {
                let end = self.builder.jump(next);
                self.builder.block(&label, [], end);
                continue;
            };
            let copy = format!("mirror_{index}");
            let end = self.builder.branch(slot(is_wanted), &copy, next);
            self.builder.block(&label, [], end);
            let mirror = GlueOp::Mirror(Mirror {
                session: resized(self.builder.program, session, 32),
                to: Entry::CloneIngress,
                frame: MirrorFrame::AsDeparsed,
                preserve: Vec::new(),
            });
            let end = self.builder.jump(next);
            self.builder.block(&copy, [mirror], end);
        }
        let Requests { class, limit, port, .. } = self.requests;
        self.builder.enter(Entry::CloneIngress, "mirrored", Vec::new());
        let ops = [
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
        self.builder.block("mirrored", ops, end);
        self.builder.enter(Entry::Replica(0), "copy", Vec::new());
        let end = self.builder.jump("enqueue");
        self.builder.block("copy", [take(port, Argument::ReplicaPort)], end);
        Ok(())
    }

    fn end(&mut self) -> Result<(), BuildError> {
        let Requests {
            pass,
            class,
            port,
            length,
            ..
        } = self.requests;
        let wanted = self.builder.intrinsic("pna.fate")?;
        let width = self.builder.width(wanted);
        let case = |value: u64| Bits::new(width, value.into());
        let cases = vec![
            (case(FATE_SEND), self.builder.to("chosen")),
            (case(FATE_RECIRCULATE), self.builder.to("round")),
        ];
        let end = End::Select {
            key: slot(wanted),
            cases,
            default: self.builder.to("dropped"),
        };
        self.builder.block("finish_packet", [], end);
        let reason = Reason {
            error: Some(self.field("main_input", "parser_error")?),
            otherwise: DropReason::Ingress,
        };
        self.builder.block("dropped", [], End::Finish(Finish::Drop(reason)));
        let next_pass = build::binary(BinaryOp::Add, slot(pass), number(32, 1));
        let end = End::Finish(Finish::Recirculate(vec![(pass, pass)]));
        self.builder.block("round", [set(pass, next_pass)], end);
        let destination = self.builder.intrinsic("pna.port")?;
        let of_service = self.field("main_output", "class_of_service")?;
        let ops = [
            set(port, resized(self.builder.program, destination, 32)),
            set(class, resized(self.builder.program, of_service, 8)),
        ];
        let end = self.builder.jump("enqueue");
        self.builder.block("chosen", ops, end);
        let end = End::Suspend {
            port: slot(port),
            class: slot(class),
            length: slot(length),
            resume: Entry::Dequeued(0),
            preserve: Vec::new(),
        };
        self.builder
            .block("enqueue", [take(length, Argument::FrameLength)], end);
        self.builder.enter(Entry::Dequeued(0), "left_queue", Vec::new());
        let end = End::Finish(Finish::Transmit { port: slot(port) });
        self.builder
            .block("left_queue", [take(port, Argument::EgressPort)], end);
        Ok(())
    }
}
