//! The one place that knows which engine runs a program's bodies.

use super::Burst;
use crate::load::Engine;
use crate::objects::View;
use forebay_interp::{Buffers, Ended, Execution, Input, Requests, State, Tracer};
use forebay_ir::BodyId;

/// Memory that passes of different packets use one after the other.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// What the program asked for in the present pass.
    pub(super) requests: Requests,
    /// The deparser's output, and memory of the interpreter.
    pub(super) buffers: Buffers,
}

/// One packet's way through some bodies, whatever the engine. Values, requests and output are the same for all
/// engines; with another one this becomes an enum.
pub(super) struct Pass<'a, T> {
    engine: Engine,
    execution: Execution<'a, View<'a>, T>,
}

impl<'a, T: Tracer> Pass<'a, T> {
    pub(super) fn new(
        burst: Burst<'a>,
        input: Input<'a>,
        state: &'a mut State,
        scratch: &'a mut Scratch,
        tracer: &'a mut T,
    ) -> Self {
        let Scratch { requests, buffers } = scratch;
        let program = &burst.pipeline.program;
        let execution = Execution::new(program, burst.view, input, state, requests, buffers, tracer);
        Pass {
            engine: burst.pipeline.options.engine,
            execution,
        }
    }

    pub(super) fn run(&mut self, body: BodyId) -> Ended {
        match self.engine {
            Engine::Interpreter => self.execution.run(body),
        }
    }

    /// Where the parser stands, in bits.
    pub(super) fn cursor(&self) -> usize {
        self.execution.cursor()
    }

    pub(super) fn state(&mut self) -> &mut State {
        self.execution.state()
    }

    pub(super) fn requests(&mut self) -> &mut Requests {
        self.execution.requests()
    }
}
