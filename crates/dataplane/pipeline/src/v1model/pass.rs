//! The one place that knows which engine runs a program's bodies.

use super::Burst;
use crate::objects::View;
use forebay_exec::{BitBuffer, Buffers, Ended, Input, Requests, State, Tracer};
use forebay_ir::BodyId;

/// Memory that passes of different packets use one after the other.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// What the program asked for in the present pass.
    pub(crate) requests: Requests,
    /// The deparser's output, and memory of the interpreter.
    pub(crate) buffers: Buffers,
    /// Memory of compiled code.
    pub(crate) memory: forebay_jit::Memory,
    /// A packet whose headers do not end with whole bytes.
    pub(crate) rewritten: BitBuffer,
}

/// One packet's way through some bodies, whatever the engine. Values, requests and output are the same for all
/// engines.
// It stays where it is made, on the stack.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Pass<'a, T> {
    Interpreted(forebay_interp::Execution<'a, View<'a>, T>),
    Compiled(forebay_jit::Execution<'a>),
}

impl<'a, T: Tracer> Pass<'a, T> {
    /// Prepares to run bodies.
    #[inline]
    pub(crate) fn new(
        burst: Burst<'a>,
        input: Input<'a>,
        state: &'a mut State,
        scratch: &'a mut Scratch,
        tracer: &'a mut T,
    ) -> Self {
        let Scratch {
            requests,
            buffers,
            memory,
            ..
        } = scratch;
        match burst.site::<T>() {
            Some(site) => {
                let execution = forebay_jit::Execution::new(site, burst.view, input, state, requests, buffers, memory);
                Pass::Compiled(execution)
            }
            None => {
                let program = &burst.pipeline.program;
                let execution =
                    forebay_interp::Execution::new(program, burst.view, input, state, requests, buffers, tracer);
                Pass::Interpreted(execution)
            }
        }
    }

    #[inline]
    pub(crate) fn run(&mut self, body: BodyId) -> Ended {
        match self {
            Pass::Interpreted(execution) => execution.run(body),
            Pass::Compiled(execution) => execution.run(body),
        }
    }

    /// Where the parser stands, in bits.
    pub(crate) fn cursor(&self) -> usize {
        match self {
            Pass::Interpreted(execution) => execution.cursor(),
            Pass::Compiled(execution) => execution.cursor(),
        }
    }

    pub(crate) fn state(&mut self) -> &mut State {
        match self {
            Pass::Interpreted(execution) => execution.state(),
            Pass::Compiled(execution) => execution.state(),
        }
    }

    pub(crate) fn requests(&mut self) -> &mut Requests {
        match self {
            Pass::Interpreted(execution) => execution.requests(),
            Pass::Compiled(execution) => execution.requests(),
        }
    }
}
