//! What v1model does between and after the controls, with the meaning of BMv2's simple_switch.

use crate::load::Pipeline;
use crate::outcome::{Decided, EgressDecision, IngressDecision};
use crate::packet::{EgressPacket, IngressPacket};
use forebay_interp::Tracer;
use std::sync::Arc;

/// `egress_spec` of a packet that is to be dropped.
pub const DROP_PORT: u32 = 511;

/// Runs packets through a shared pipeline. Each thread has its own, with its own buffers.
#[derive(Debug)]
pub struct Worker {
    pipeline: Arc<Pipeline>,
}

impl Worker {
    /// A worker of a pipeline.
    pub fn new(pipeline: Arc<Pipeline>) -> Self {
        Worker { pipeline }
    }

    /// The pipeline.
    pub fn pipeline(&self) -> &Arc<Pipeline> {
        &self.pipeline
    }

    /// Parser, checksum verification and ingress of a burst, in order. Takes all packets and appends decisions, those
    /// of one packet together; each packet has one final decision (enqueue, drop or resubmit) or, for multicast, one
    /// for each copy.
    pub fn ingress<T: Tracer>(
        &mut self,
        packets: &mut Vec<IngressPacket>,
        decisions: &mut Vec<Decided<IngressDecision>>,
        tracer: &mut T,
    ) {
        let _ = (packets, decisions, tracer);
        unimplemented!()
    }

    /// Egress, checksum computation and deparser of a burst, in order. Takes all packets and appends decisions.
    pub fn egress<T: Tracer>(
        &mut self,
        packets: &mut Vec<EgressPacket>,
        decisions: &mut Vec<Decided<EgressDecision>>,
        tracer: &mut T,
    ) {
        let _ = (packets, decisions, tracer);
        unimplemented!()
    }

    /// An empty buffer for a packet's bytes; one that was given back, if there is one.
    pub fn buffer(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// Gives a buffer back for later packets.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        drop(buffer);
    }
}
