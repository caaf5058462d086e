//! The program after elaboration, which executors execute.
//!
//! ```text
//!   lower, bmv2 ─► Program ─► passes ─► Program ─► interp, jit, stages
//!                   ▲   │
//!   text: read ─────┘   └─► text: write; dot          verify states what holds between any two steps
//! ```
//!
//! Lowering has removed everything that can be removed. What is left is small:
//!
//! * **Slots** ([`Slot`]): flat storage. A header field, a header's validity bit, a stack's `nextIndex`, a piece of
//!   metadata, a local variable: each is one slot of a fixed width. Structs, tuples, stacks, unions, `out` parameters
//!   and copies no longer exist. All slots are zero when a packet enters (or re-enters) the pipeline.
//! * **Bodies** ([`Body`]): control-flow graphs of basic blocks. A parser, a control, a deparser and an action are all
//!   bodies; parser states are blocks with a label. Sub-parsers, sub-controls, functions and direct action calls have
//!   been inlined.
//! * **Expressions** ([`Expr`]): pure trees over constants, slots and action data. Everything with an effect is an
//!   [`Op`].
//! * **Objects**: tables, action profiles, registers, counters, meters, value sets, digests, each with its
//!   control-plane name.
//!
//! Bodies define what a program *computes*. What an architecture does between and after them (traffic manager, clones,
//! resubmission) is a separate graph, [`mod@pipeline`], which a builder of the architecture makes; operations such as
//! [`Op::Clone`] only *request* it.
//!
//! [`build`] makes expressions and folds constants, [`text`] prints a program and reads it back, [`mod@verify`] states
//! and checks every invariant, [`passes`] make a program smaller without changing its meaning, and [`dot`] draws
//! graphs.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

mod body;
pub mod build;
pub mod dot;
mod evaluate;
mod expr;
mod index_set;
mod object;
pub mod passes;
pub mod pipeline;
mod program;
pub mod text;
pub mod verify;
mod visit;
mod walk;

pub use body::*;
pub use expr::*;
pub use index_set::IndexSet;
pub use object::*;
pub use program::*;
pub use walk::Walk;
