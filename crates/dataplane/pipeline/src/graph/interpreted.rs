//! The graph with the interpreter, which specifies what machine code does.

use super::{PacketInfo, Start, Stop, Walk, limit};
use crate::objects::View;
use crate::outcome::DropReason;
use crate::packet::{Contents, Preserved};
use crate::scratch::Scratch;
use crate::worker::Burst;
use forebay_exec::{Ended, Input, PacketFacts, Random, State, Tracer, eval};
use forebay_interp::Execution;
use forebay_ir::pipeline::{Argument, Clear, End, GlueOp};
use forebay_ir::{BlockId, BodyId, BodyKind};
use forebay_jit::graph::At;

impl<'a, T: Tracer> Walk<'_, 'a, T> {
    /// Does the same as [`Walk::advance`], with the interpreter.
    pub(super) fn advance_interpreted(
        &mut self,
        packet: &mut Contents,
        info: &mut PacketInfo<'a>,
        from: &mut Start,
    ) -> Stop<'a> {
        let mut at = match *from {
            Start::Entry(entry) => At::beginning(self.graph.entries[&entry].block),
            Start::Place(at) => at,
        };
        let input = self.input(packet, info);
        let Contents {
            bytes,
            shared,
            state,
            preserved,
            payload_bit,
            arguments,
            egress_port,
            priority,
            ..
        } = packet;
        let frame = shared.as_ref().map_or(&bytes[..], |shared| shared);
        let state = state.as_mut().expect("packets in the graph have a state");
        let facts = Facts {
            ingress_port: arguments.ingress_port,
            egress_port: *egress_port,
            class: *priority,
            time_us: input.timestamp_us,
            frame_length: frame.len(),
        };
        let glue = Glue {
            burst: self.burst,
            facts,
            preserved,
        };
        let Scratch { requests, buffers, .. } = &mut self.scratch.scratch;
        let program = &self.burst.pipeline.program;
        let view = self.burst.view;
        let mut pass = Execution::new(program, view, input.of(frame), state, requests, buffers, self.tracer);
        let stop = loop {
            let block = self.graph.block(at.block);
            let stop = block.ops[at.op..].iter().find(|op| {
                at.op += 1;
                glue.stops_at(op, &mut pass, info)
            });
            if let Some(op) = stop {
                break Stop::Op(op);
            }
            let next = match &block.end {
                End::Run { body, next, reject } => match self.burst.ended(*body, pass.run(*body)) {
                    Ok(None) => *next,
                    Ok(Some(error)) => {
                        info.parser_error = error;
                        reject.unwrap_or(*next)
                    }
                    Err(reason) => break Stop::Drop(reason),
                },
                end => match chosen(end, pass.state()) {
                    Some(next) => next,
                    None => break Stop::End(end),
                },
            };
            at = At::beginning(next);
        };
        *payload_bit = pass.cursor();
        info.random = pass.random();
        *from = Start::Place(at);
        stop
    }

    fn input(&self, packet: &Contents, info: &PacketInfo<'_>) -> PassInput {
        PassInput {
            cursor: packet.payload_bit,
            length_bytes: packet.ingress_length,
            timestamp_us: info.time_us(packet),
            random: info.random,
            step_limit: self.burst.pipeline.options.step_limit,
        }
    }
}

impl Burst<'_> {
    /// The parser's error with which a body ended, if any; or the reason for which the packet is dropped.
    fn ended(self, body: BodyId, ended: Ended) -> Result<Option<u32>, DropReason> {
        let program = &self.pipeline.program;
        let is_parser = program.bodies[body.index()].kind == BodyKind::Parser;
        match ended {
            Ended::Returned | Ended::Exited => Ok(None),
            Ended::Rejected(error) => Ok(Some(error)),
            // P4_16 §13.8: a parser that takes too long.
            Ended::StepLimit if is_parser => {
                let timeout = program.error("ParserTimeout");
                timeout.map_or(Err(DropReason::StepLimit), |error| Ok(Some(error)))
            }
            Ended::StepLimit => Err(DropReason::StepLimit),
            Ended::AssertFailed => Err(DropReason::AssertFailed),
        }
    }
}

/// The facts about a packet that glue uses.
struct Facts {
    ingress_port: u32,
    egress_port: u32,
    class: u8,
    time_us: u64,
    /// In bytes.
    frame_length: usize,
}

/// What the operations around bodies use.
struct Glue<'p, 'a> {
    burst: Burst<'a>,
    facts: Facts,
    preserved: &'p Preserved,
}

impl Glue<'_, '_> {
    /// Executes an operation, unless the walk stops at it. Returns whether it does.
    fn stops_at<T: Tracer>(&self, op: &GlueOp, pass: &mut Execution<'_, View<'_>, T>, info: &PacketInfo<'_>) -> bool {
        let storage = &self.burst.pipeline.storage;
        match op {
            GlueOp::Set { slot, value } => {
                let value = eval(value, pass.state(), &[]);
                pass.state().set(*slot, value);
            }
            GlueOp::Take { slot, argument } => {
                let value = self.argument(*argument, pass, info);
                pass.state().set_number(*slot, value.into());
            }
            GlueOp::Clear(Clear::Metadata) => storage.reset_metadata(pass.state()),
            GlueOp::Clear(Clear::All) => storage.reset_all(pass.state()),
            GlueOp::Restore => {
                for (slot, value) in &self.preserved.0 {
                    pass.state().set(*slot, value.clone());
                }
            }
            GlueOp::Commit => return pass.requests().has_digests(),
            GlueOp::Reframe { .. } | GlueOp::Mirror(_) => return true,
        }
        false
    }

    fn argument<T: Tracer>(
        &self,
        argument: Argument,
        pass: &mut Execution<'_, View<'_>, T>,
        info: &PacketInfo<'_>,
    ) -> u64 {
        let egress = info.egress.copied().unwrap_or_default();
        match argument {
            Argument::IngressPort => self.facts.ingress_port.into(),
            Argument::FrameLength => self.facts.frame_length as u64,
            Argument::HeaderBytes => self.burst.pipeline.storage.valid_header_bytes(pass.state()),
            Argument::TimeUs => self.facts.time_us,
            Argument::ParserError => info.parser_error.into(),
            Argument::EgressPort => self.facts.egress_port.into(),
            Argument::Class => self.facts.class.into(),
            Argument::EnqueueTimeUs => egress.enq_timestamp_us,
            Argument::EnqueueDepth => egress.enq_qdepth.into(),
            Argument::DequeueDepth => egress.deq_qdepth.into(),
            Argument::ReplicaPort => info.replica.map_or(0, |replica| replica.egress_port.into()),
            Argument::ReplicaInstance => info.replica.map_or(0, |replica| replica.instance.into()),
            Argument::Session => info.session.map_or(0, |(number, ..)| number.into()),
            Argument::SessionClass => info
                .session
                .map_or(0, |(_, session, _)| session.class_of_service.into()),
            Argument::SessionLimit => limit(info.session.and_then(|(_, session, _)| session.packet_length_bytes)),
            request => pass.requests().argument(request),
        }
    }
}

/// The input of bodies except for the frame, which is borrowed only while a body runs.
#[derive(Clone, Copy)]
struct PassInput {
    cursor: usize,
    length_bytes: u32,
    timestamp_us: u64,
    random: Random,
    step_limit: u64,
}

impl PassInput {
    fn of(self, frame: &[u8]) -> Input<'_> {
        Input {
            packet: frame,
            cursor: self.cursor,
            facts: PacketFacts {
                length_bytes: self.length_bytes,
                timestamp_us: self.timestamp_us,
            },
            random_seed: self.random.state(),
            step_limit: self.step_limit,
        }
    }
}

/// The next block, for an end that only chooses one; `None` for other ends.
fn chosen(end: &End, state: &State) -> Option<BlockId> {
    match end {
        End::Jump(next) => Some(*next),
        End::Branch {
            condition,
            then_block,
            else_block,
        } => Some(if eval(condition, state, &[]).is_zero() {
            *else_block
        } else {
            *then_block
        }),
        End::Select { key, cases, default } => {
            let key = eval(key, state, &[]);
            let case = cases.iter().find(|(value, _)| *value == key);
            Some(case.map_or(*default, |(_, target)| *target))
        }
        _ => None,
    }
}
