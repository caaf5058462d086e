//! `programs/l3fwd`: routes of many lengths, a sender's address for each.

use super::random::{address_in, mac_addresses, prefixes};
use super::{Scale, Twin, Workload, bits, exact, insert, udp_frame};
use crate::contender::HandWritten;
use crate::error::BenchError;
use crate::frames::FrameSet;
use crate::programs;
use forebay_baseline::l3;
use forebay_baseline::lpm::Prefix;
use forebay_ir::{EntryMatch, Program};
use forebay_pipeline::Pipeline;
use std::net::Ipv4Addr;
use std::sync::Arc;

/// The size of the tables of sources and of routes in the program.
const ENTRIES_MAX: usize = 1 << 20;

/// Next hops are routers next door: never as many as routes.
const NEXT_HOPS_MAX: usize = 1024;

/// The router's own address.
const ROUTER: u64 = 0x0200_0000_00fe;

/// IPv4 routing. There are as many senders as routes; a flow is one sender and an address behind one route.
pub struct L3 {
    scale: Scale,
    senders: Vec<u64>,
    routes: Vec<Prefix>,
    next_hops: Vec<l3::NextHop>,
}

impl L3 {
    /// A workload with the routes, flows and frames of `scale`.
    ///
    /// # Errors
    /// When the scale is impossible.
    pub fn new(scale: Scale) -> Result<L3, BenchError> {
        let scale = scale.checked(ENTRIES_MAX)?;
        let next_hops = (0..scale.entries.min(NEXT_HOPS_MAX) as u32).map(|number| l3::NextHop {
            number: number + 1,
            source: ROUTER,
            destination: 0x0200_0001_0000 + u64::from(number),
            port: 2,
        });
        Ok(L3 {
            scale,
            senders: mac_addresses(scale.entries),
            routes: prefixes(scale.entries),
            next_hops: next_hops.collect(),
        })
    }

    /// Routes with the numbers of their next hops.
    fn routes(&self) -> impl Iterator<Item = (Prefix, u32)> {
        let numbers = self.next_hops.iter().map(|hop| hop.number).cycle();
        self.routes.iter().copied().zip(numbers)
    }
}

impl Workload for L3 {
    fn name(&self) -> String {
        "l3fwd".to_string()
    }

    fn scale(&self) -> Option<Scale> {
        Some(self.scale)
    }

    fn compile(&self) -> Result<Program, BenchError> {
        programs::compiled("l3fwd", &[])
    }

    fn configure(&self, pipeline: &Arc<Pipeline>) -> Result<(), BenchError> {
        for address in &self.senders {
            insert(pipeline, "src_mac", vec![exact(48, *address)], "NoAction", vec![])?;
        }
        for (prefix, number) in self.routes() {
            let key = EntryMatch::Lpm {
                value: bits(32, prefix.address.into()),
                prefix_length: prefix.length.into(),
            };
            insert(
                pipeline,
                "ipv4_lpm",
                vec![key],
                "set_next_hop",
                vec![bits(32, number.into())],
            )?;
        }
        for hop in &self.next_hops {
            let args = vec![
                bits(48, hop.source),
                bits(48, hop.destination),
                bits(9, hop.port.into()),
            ];
            insert(
                pipeline,
                "next_hops",
                vec![exact(32, hop.number.into())],
                "forward",
                args,
            )?;
        }
        Ok(())
    }

    fn ports(&self) -> Vec<u32> {
        vec![1, 2]
    }

    fn frames(&self) -> FrameSet {
        let Scale { flows, frame_bytes, .. } = self.scale;
        let mut frames = FrameSet::new(frame_bytes, flows);
        for flow in 0..flows {
            let macs = (self.senders[flow % self.senders.len()], ROUTER);
            let source = Ipv4Addr::from_bits(0x0a00_0000 + flow as u32);
            let destination = address_in(self.routes[flow % self.routes.len()], flow as u64);
            frames.push(
                flow as u32,
                &udp_frame(macs, source, destination, flow as u32, frame_bytes),
            );
        }
        frames
    }

    fn twin(&self) -> Option<Twin> {
        let routes: Vec<_> = self.routes().collect();
        let tables = Arc::new(l3::L3Tables::new(&self.senders, &routes, &self.next_hops));
        Some(Box::new(move |ports| {
            Box::new(HandWritten::new(l3::L3::new(tables.clone()), ports))
        }))
    }
}
