//! Small programs, and what lowering makes of them.

mod calls;
mod limits;
mod names;
mod p4info;
mod parsers;
mod support;
mod tables;
