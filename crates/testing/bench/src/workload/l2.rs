//! `programs/l2fwd`: stations behind two ports, all of them known.

use super::random::mac_addresses;
use super::{Scale, Twin, Workload, bits, exact, insert, udp_frame};
use crate::contender::HandWritten;
use crate::error::BenchError;
use crate::frames::FrameSet;
use crate::programs;
use forebay_baseline::l2;
use forebay_ir::Program;
use forebay_pipeline::{Pipeline, Replica};
use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

/// The table's size in the program.
const ENTRIES_MAX: usize = 1 << 20;

/// A station that does not exist, to be flooded: in no flow, but for tests.
const PORTS: [u32; 3] = [1, 2, 3];

/// Ethernet forwarding. Both tables hold every station; stations behind port 1 send to stations behind port 2.
pub struct L2 {
    scale: Scale,
    stations: Vec<u64>,
}

impl L2 {
    /// A workload with the stations, flows and frames of `scale`.
    ///
    /// # Errors
    /// When the scale is impossible; two stations are the fewest.
    pub fn new(scale: Scale) -> Result<L2, BenchError> {
        let scale = scale.checked(ENTRIES_MAX)?;
        if scale.entries < 2 {
            return Err(BenchError::Scale("Ethernet forwarding needs two entries".to_string()));
        }
        Ok(L2 {
            scale,
            stations: mac_addresses(scale.entries),
        })
    }

    /// Every other station is behind port 2.
    fn located(&self) -> impl Iterator<Item = (u64, u16)> {
        self.stations
            .iter()
            .zip([1, 2].into_iter().cycle())
            .map(|(address, port)| (*address, port))
    }

    /// Source and destination of a flow.
    fn macs(&self, flow: usize) -> (u64, u64) {
        let pairs = self.stations.len() / 2;
        // The destinations come in another order than the sources.
        let peer = flow.wrapping_mul(7919) % pairs;
        (self.stations[2 * (flow % pairs)], self.stations[2 * peer + 1])
    }
}

/// The other ports.
fn others(port: u32) -> Vec<u32> {
    PORTS.into_iter().filter(|other| *other != port).collect()
}

impl Workload for L2 {
    fn name(&self) -> String {
        "l2fwd".to_string()
    }

    fn scale(&self) -> Option<Scale> {
        Some(self.scale)
    }

    fn compile(&self) -> Result<Program, BenchError> {
        programs::compiled("l2fwd", &[])
    }

    fn configure(&self, pipeline: &Arc<Pipeline>) -> Result<(), BenchError> {
        for (address, port) in self.located() {
            let port = vec![bits(9, port.into())];
            insert(pipeline, "src_mac", vec![exact(48, address)], "known", port.clone())?;
            insert(pipeline, "dst_mac", vec![exact(48, address)], "forward", port)?;
        }
        for port in PORTS {
            let replicas = others(port).into_iter().map(|egress_port| Replica {
                egress_port,
                instance: 0,
            });
            pipeline.set_multicast_group(1 + port as u16, &replicas.collect::<Vec<_>>())?;
        }
        Ok(())
    }

    fn ports(&self) -> Vec<u32> {
        PORTS.to_vec()
    }

    fn frames(&self) -> FrameSet {
        let Scale { flows, frame_bytes, .. } = self.scale;
        let mut frames = FrameSet::new(frame_bytes, flows);
        for flow in 0..flows {
            let source = Ipv4Addr::from_bits(0x0a00_0000 + flow as u32);
            let destination = Ipv4Addr::new(192, 168, 0, 1);
            let frame = udp_frame(self.macs(flow), source, destination, flow as u32, frame_bytes);
            frames.push(flow as u32, &frame);
        }
        frames
    }

    fn twin(&self) -> Option<Twin> {
        let located: Vec<_> = self.located().collect();
        let ports = |port| others(port).into_iter().map(|other| other as u16).collect();
        let floods: HashMap<u16, Vec<u16>> = PORTS.into_iter().map(|port| (port as u16, ports(port))).collect();
        let tables = Arc::new(l2::L2Tables::new(&located, &located, floods));
        Some(Box::new(move |ports| {
            Box::new(HandWritten::new(l2::L2::new(tables.clone()), ports))
        }))
    }
}
