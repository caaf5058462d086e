//! `programs/portfwd`: ports 1 and 2 are joined.

use super::{Scale, Twin, Workload, bits, exact, insert, udp_frame};
use crate::contender::HandWritten;
use crate::error::BenchError;
use crate::frames::FrameSet;
use crate::programs;
use forebay_baseline::port_forward;
use forebay_ir::Program;
use forebay_pipeline::Pipeline;
use std::net::Ipv4Addr;
use std::sync::Arc;

/// Port forwarding.
pub struct PortForward {
    scale: Scale,
}

impl PortForward {
    /// A workload with the flows and frames of `scale`; there are always two entries.
    ///
    /// # Errors
    /// When the scale is impossible.
    pub fn new(scale: Scale) -> Result<PortForward, BenchError> {
        let scale = Scale { entries: 2, ..scale }.checked(2)?;
        Ok(PortForward { scale })
    }
}

impl Workload for PortForward {
    fn name(&self) -> String {
        "portfwd".to_string()
    }

    fn scale(&self) -> Option<Scale> {
        Some(self.scale)
    }

    fn compile(&self) -> Result<Program, BenchError> {
        programs::compiled("portfwd", &[])
    }

    fn configure(&self, pipeline: &Arc<Pipeline>) -> Result<(), BenchError> {
        for (from, to) in [(1, 2), (2, 1)] {
            insert(pipeline, "ports", vec![exact(9, from)], "forward", vec![bits(9, to)])?;
        }
        Ok(())
    }

    fn ports(&self) -> Vec<u32> {
        vec![1, 2]
    }

    fn frames(&self) -> FrameSet {
        let Scale { flows, frame_bytes, .. } = self.scale;
        let mut frames = FrameSet::new(frame_bytes, flows);
        for flow in 0..flows as u32 {
            let source = Ipv4Addr::from_bits(0x0a00_0000 + flow);
            let destination = Ipv4Addr::new(192, 168, 0, 1);
            let macs = (0x0200_0000_0001, 0x0200_0000_0002);
            frames.push(flow, &udp_frame(macs, source, destination, flow, frame_bytes));
        }
        frames
    }

    fn twin(&self) -> Option<Twin> {
        Some(Box::new(|ports| {
            let function = port_forward::PortForward::new(&[(1, 2), (2, 1)]);
            Box::new(HandWritten::new(function, ports))
        }))
    }
}
