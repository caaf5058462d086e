//! The control plane without a network: what each section of the P4Runtime specification demands. `docs/p4runtime.md`
//! names the test of each demand.

mod arbitration;
mod bad_input;
mod batches;
mod constraints;
mod defaults;
mod hidden;
mod learned;
mod matrix;
mod objects;
mod pipeline_config;
mod portable;
mod profiles;
mod replication;
mod save;
mod selectors;
mod streams;
mod support;
mod tables;
mod translation;
mod values;
