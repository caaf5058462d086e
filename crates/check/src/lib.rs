//! Name resolution, types and constants: syntax tree to typed program.

pub mod hir;
