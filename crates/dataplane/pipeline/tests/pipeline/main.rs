//! Pipelines that are loaded from the text form of the IR, written by the control plane and met by packets.

mod batch;
mod bursts;
mod common;
mod control;
mod direct;
mod flow_cache;
mod memory;
mod memos;
mod meters;
mod parser_paths;
mod readiness;
mod sections;
mod steady;
mod stress;
mod v1model;
