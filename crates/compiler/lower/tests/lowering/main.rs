//! Small programs, and the results of lowering.

mod calls;
mod limits;
mod names;
mod p4info;
mod parsers;
mod support;
mod tables;
