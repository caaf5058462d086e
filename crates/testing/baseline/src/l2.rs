//! The twin of `programs/l2fwd`: Ethernet forwarding with learning by digest and flooding by multicast groups.

use crate::forwarder::{DROP_PORT, DropReason, Function, Outputs, UNDECIDED, Verdict, Verdicts};
use crate::headers::{ETHERNET, destination_mac, source_mac};
use crate::mac_table::MacTable;
use crate::memory::AHEAD;
use crate::processor::{Instructions, Portable, for_this_processor};
use forebay_packet::{Burst, DEFAULT_BURST, Packet};
use std::collections::HashMap;
use std::sync::Arc;

/// A digest: an address and the port that it came from.
pub type Learnt = (u64, u16);

/// Digests that wait for the control plane; more are lost.
const LEARNT_MAX: usize = 1024;

/// What the table of destinations says of an address that it does not have.
const FLOOD: u16 = DROP_PORT + 1;

/// The tables, which several workers can share.
pub struct L2Tables {
    sources: MacTable,
    destinations: MacTable,
    /// By port of arrival.
    floods: HashMap<u16, Vec<u16>>,
    staged: bool,
}

impl L2Tables {
    /// Tables of addresses with the port they were learnt on, of addresses with the port that leads to them
    /// ([`DROP_PORT`]: dropped), and the ports to which what came by a port is flooded.
    pub fn new(sources: &[(u64, u16)], destinations: &[(u64, u16)], floods: HashMap<u16, Vec<u16>>) -> L2Tables {
        let (sources, destinations) = (MacTable::new(sources), MacTable::new(destinations));
        L2Tables {
            staged: sources.is_large() || destinations.is_large(),
            sources,
            destinations,
            floods,
        }
    }
}

/// Ethernet forwarding.
pub struct L2 {
    tables: Arc<L2Tables>,
    learnt: Vec<Learnt>,
    lost: u64,
}

impl L2 {
    /// Forwarding by these tables.
    pub fn new(tables: Arc<L2Tables>) -> L2 {
        L2 {
            tables,
            learnt: Vec::with_capacity(LEARNT_MAX),
            lost: 0,
        }
    }

    fn learn(&mut self, address: u64, port: u16) {
        if self.learnt.len() < LEARNT_MAX {
            self.learnt.push((address, port));
        } else {
            self.lost += 1;
        }
    }

    /// A burst with a packet that is flooded, or whose source is not known: packet by packet.
    #[cold]
    fn slowly(&mut self, burst: &mut Burst, ingress_port: u16, outputs: &mut Outputs) {
        let tables = Arc::clone(&self.tables);
        for packet in burst.iter_mut() {
            let Some(ethernet) = packet.data().first_chunk::<ETHERNET>() else {
                outputs.drop(DropReason::TooShort, 1);
                continue;
            };
            let source = source_mac(ethernet);
            if tables.sources.find::<Portable>(source) != Some(ingress_port) {
                self.learn(source, ingress_port);
            }
            match tables
                .destinations
                .find::<Portable>(destination_mac(ethernet))
                .unwrap_or(FLOOD)
            {
                FLOOD => flood(packet, tables.floods.get(&ingress_port), outputs),
                DROP_PORT => outputs.drop(DropReason::Ingress, 1),
                port if port == ingress_port => outputs.drop(DropReason::Ingress, 1),
                port => outputs.send(port, packet),
            }
        }
        burst.clear();
    }
}

impl Function for L2 {
    fn process(&mut self, burst: &mut Burst, ingress_port: u16, outputs: &mut Outputs) {
        let mut verdicts = UNDECIDED;
        let mut usual = false;
        forward_burst(
            &self.tables,
            burst.as_mut_slice(),
            ingress_port,
            &mut verdicts,
            &mut usual,
        );
        if usual {
            outputs.dispatch(burst, &verdicts);
        } else {
            self.slowly(burst, ingress_port, outputs);
        }
    }

    fn counts(&self) -> Vec<(String, u64)> {
        vec![("digests".to_string(), self.learnt.len() as u64 + self.lost)]
    }
}

fn flood(packet: &mut Packet, ports: Option<&Vec<u16>>, outputs: &mut Outputs) {
    let Some((last, others)) = ports.and_then(|ports| ports.split_last()) else {
        return outputs.drop(DropReason::NoMulticastMember, 1);
    };
    for port in others {
        if let Some(copy) = outputs.allocate(*port) {
            copy.set_data(packet.data());
        }
    }
    outputs.send(*last, packet);
}

for_this_processor! {
    /// Verdicts on a burst; `usual` is false when there is a packet that they cannot express.
    fn forward_burst(
        tables: &L2Tables,
        packets: &[Packet],
        ingress_port: u16,
        verdicts: &mut Verdicts,
        usual: &mut bool,
    ) {
        *usual = if tables.staged {
            in_stages::<Processor>(tables, packets, ingress_port, verdicts)
        } else {
            straight::<Processor>(tables, packets, ingress_port, verdicts)
        };
    }
}

#[inline(always)]
fn straight<I: Instructions>(
    tables: &L2Tables,
    packets: &[Packet],
    ingress_port: u16,
    verdicts: &mut Verdicts,
) -> bool {
    let mut usual = true;
    for (packet, verdict) in packets.iter().zip(verdicts) {
        let Some(ethernet) = packet.data().first_chunk::<ETHERNET>() else {
            return false;
        };
        let keys = (source_mac(ethernet), destination_mac(ethernet));
        usual &= judge::<I>(tables, keys, ingress_port, verdict);
    }
    usual
}

/// All packets up to the look-ups, then all from them: the memory accesses of a burst overlap.
#[inline(always)]
fn in_stages<I: Instructions>(
    tables: &L2Tables,
    packets: &[Packet],
    ingress_port: u16,
    verdicts: &mut Verdicts,
) -> bool {
    let mut keys = [(0, 0); DEFAULT_BURST];
    for (packet, key) in packets.iter().zip(&mut keys) {
        let Some(ethernet) = packet.data().first_chunk::<ETHERNET>() else {
            return false;
        };
        *key = (source_mac(ethernet), destination_mac(ethernet));
    }
    let keys = &keys[..packets.len()];
    let ask = |&(source, destination): &(u64, u64)| {
        tables.sources.prefetch(source);
        tables.destinations.prefetch(destination);
    };
    keys.iter().take(AHEAD).for_each(ask);
    let mut usual = true;
    for (index, (own, verdict)) in keys.iter().zip(verdicts).enumerate() {
        keys.get(index + AHEAD).into_iter().for_each(ask);
        usual &= judge::<I>(tables, *own, ingress_port, verdict);
    }
    usual
}

/// Whether source and destination are known; then the verdict is written.
#[inline(always)]
fn judge<I: Instructions>(
    tables: &L2Tables,
    (source, destination): (u64, u64),
    ingress_port: u16,
    verdict: &mut Verdict,
) -> bool {
    let known = tables.sources.find::<I>(source) == Some(ingress_port);
    let port = tables.destinations.find::<I>(destination).unwrap_or(FLOOD);
    *verdict = Verdict::ingress(if port == ingress_port { DROP_PORT } else { port });
    known & (port != FLOOD)
}
