//! The graph with the interpreter, which specifies what machine code does.

use super::{PacketInfo, Start, Stop, Walk, limit};
use crate::objects::View;
use crate::outcome::DropReason;
use crate::packet::Contents;
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
        let packet_facts = Facts {
            ingress_port: arguments.ingress_port,
            egress_port: *egress_port,
            class: *priority,
            time_us: input.timestamp_us,
        };
        let frame = shared.as_ref().map_or(&bytes[..], |shared| shared);
        let state = state.as_mut().expect("packets in the graph have a state");
        let length = frame.len();
        let Scratch { requests, buffers, .. } = &mut self.scratch.scratch;
        let program = &self.burst.pipeline.program;
        let view = self.burst.view;
        let mut pass = Execution::new(program, view, input.of(frame), state, requests, buffers, self.tracer);
        let stop = loop {
            let block = self.graph.block(at.block);
            let stop = block.ops[at.op..].iter().find(|op| {
                at.op += 1;
                match op {
                    GlueOp::Set { slot, value } => {
                        let value = eval(value, pass.state(), &[]);
                        pass.state().set(*slot, value);
                        false
                    }
                    GlueOp::Take { slot, argument } => {
                        let value = argument_value(*argument, &mut pass, self.burst, info, &packet_facts, length);
                        pass.state().set_number(*slot, value.into());
                        false
                    }
                    GlueOp::Clear(Clear::Metadata) => {
                        self.burst.pipeline.storage.reset_metadata(pass.state());
                        false
                    }
                    GlueOp::Clear(Clear::All) => {
                        self.burst.pipeline.storage.reset_all(pass.state());
                        false
                    }
                    GlueOp::Restore => {
                        for (slot, value) in &preserved.0 {
                            pass.state().set(*slot, value.clone());
                        }
                        false
                    }
                    GlueOp::Commit => pass.requests().has_digests(),
                    GlueOp::Reframe { .. } | GlueOp::Mirror(_) => true,
                }
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

/// The facts about a packet that bodies and glue use.
struct Facts {
    ingress_port: u32,
    egress_port: u32,
    class: u8,
    time_us: u64,
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

fn argument_value<T: Tracer>(
    argument: Argument,
    pass: &mut Execution<'_, View<'_>, T>,
    burst: Burst<'_>,
    info: &PacketInfo<'_>,
    packet: &Facts,
    frame_length: usize,
) -> u64 {
    let egress = info.egress.copied().unwrap_or_default();
    match argument {
        Argument::IngressPort => packet.ingress_port.into(),
        Argument::FrameLength => frame_length as u64,
        Argument::HeaderBytes => burst.pipeline.storage.valid_header_bytes(pass.state()),
        Argument::TimeUs => packet.time_us,
        Argument::ParserError => info.parser_error.into(),
        Argument::EgressPort => packet.egress_port.into(),
        Argument::Class => packet.class.into(),
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
