//! The twin of `programs/l3fwd`: IPv4 routing after a table of source MAC addresses.

use crate::forwarder::{DropReason, Function, Outputs, UNDECIDED, Verdict, Verdicts};
use crate::headers::{ETHERNET, Ipv4, Ipv4Frame, source_mac};
use crate::lpm::Prefix;
use crate::mac_table::MacTable;
use crate::memory::{AHEAD, prefetch};
use crate::processor::{Instructions, for_this_processor};
use crate::routing::{Adjacency, Routes};
use forebay_packet::{Burst, DEFAULT_BURST, Packet};
use std::collections::HashMap;
use std::sync::Arc;

/// A next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// What routes call it.
    pub number: u32,
    /// Source MAC address of what goes there.
    pub source: u64,
    /// Destination MAC address.
    pub destination: u64,
    /// The port.
    pub port: u16,
}

/// The tables, which several workers can share.
pub struct L3Tables {
    sources: MacTable,
    routes: Routes,
    staged: bool,
}

impl L3Tables {
    /// Tables of MAC addresses that may send, routes to the numbers of next hops, and next hops.
    ///
    /// # Panics
    /// When the routes name more different next hops than [`Lpm::NUMBER_MAX`](crate::lpm::Lpm::NUMBER_MAX).
    pub fn new(sources: &[u64], routes: &[(Prefix, u32)], next_hops: &[NextHop]) -> L3Tables {
        let by_number: HashMap<u32, &NextHop> = next_hops.iter().rev().map(|hop| (hop.number, hop)).collect();
        let adjacency = |number| match by_number.get(&number) {
            None => Adjacency::drop(DropReason::Ingress),
            Some(hop) => Adjacency::new(hop.source, hop.destination, hop.port),
        };
        let sources: Vec<_> = sources.iter().map(|address| (*address, 0)).collect();
        let sources = MacTable::new(&sources);
        L3Tables {
            staged: sources.is_large() || routes.len() > MacTable::LARGE_BYTES / 64,
            routes: Routes::new(routes, adjacency),
            sources,
        }
    }
}

/// IPv4 routing.
pub struct L3 {
    tables: Arc<L3Tables>,
}

impl L3 {
    /// Routing by these tables.
    pub fn new(tables: Arc<L3Tables>) -> L3 {
        L3 { tables }
    }
}

impl Function for L3 {
    fn process(&mut self, burst: &mut Burst, _ingress_port: u16, outputs: &mut Outputs) {
        let mut verdicts = UNDECIDED;
        route_burst(&self.tables, burst.as_mut_slice(), &mut verdicts);
        outputs.dispatch(burst, &verdicts);
    }
}

for_this_processor! {
    fn route_burst(tables: &L3Tables, packets: &mut [Packet], verdicts: &mut Verdicts) {
        if tables.staged {
            in_stages::<Processor>(tables, packets, verdicts);
        } else {
            straight::<Processor>(tables, packets, verdicts);
        }
    }
}

/// One packet after the other.
#[inline(always)]
fn straight<I: Instructions>(tables: &L3Tables, packets: &mut [Packet], verdicts: &mut Verdicts) {
    for (packet, verdict) in packets.iter_mut().zip(verdicts) {
        *verdict = match inspect(packet) {
            Err(reason) => Verdict::drop(reason),
            Ok(frame) => match tables.sources.find::<I>(source_mac_of(frame)) {
                None => Verdict::drop(DropReason::Ingress),
                Some(_) => rewrite(frame, tables.routes.adjacency(tables.routes.find(frame.destination()))),
            },
        };
    }
}

/// All packets up to a look-up, then all from it: the memory accesses of a burst overlap.
#[inline(always)]
fn in_stages<I: Instructions>(tables: &L3Tables, packets: &mut [Packet], verdicts: &mut Verdicts) {
    let mut alive = [(0_u32, 0_u64, 0_u32); DEFAULT_BURST];
    let mut count = 0;
    for (index, (packet, verdict)) in packets.iter_mut().zip(verdicts.iter_mut()).enumerate() {
        match inspect(packet) {
            Err(reason) => *verdict = Verdict::drop(reason),
            Ok(frame) => {
                alive[count] = (index as u32, source_mac_of(frame), frame.destination());
                count += 1;
            }
        }
    }
    let alive = &alive[..count];
    let ask = |&(_, source, destination): &(u32, u64, u32)| {
        tables.sources.prefetch(source);
        tables.routes.prefetch(destination);
    };
    alive.iter().take(AHEAD).for_each(ask);
    let mut routed = [(0_u32, 0_u16); DEFAULT_BURST];
    let mut routed_count = 0;
    for (place, &(index, source, destination)) in alive.iter().enumerate() {
        alive.get(place + AHEAD).into_iter().for_each(ask);
        if tables.sources.find::<I>(source).is_none() {
            verdicts[index as usize] = Verdict::drop(DropReason::Ingress);
            continue;
        }
        let route = tables.routes.find(destination);
        prefetch(tables.routes.adjacency(route));
        routed[routed_count] = (index, route);
        routed_count += 1;
    }
    for &(index, route) in &routed[..routed_count] {
        let frame = packets[index as usize].data_mut().first_chunk_mut();
        let frame = frame.expect("the first stage has seen the headers");
        verdicts[index as usize] = rewrite(frame, tables.routes.adjacency(route));
    }
}

#[inline(always)]
fn source_mac_of(frame: &Ipv4Frame) -> u64 {
    source_mac(frame.first_chunk::<ETHERNET>().expect("it begins the frame"))
}

/// The headers of a packet that may be routed.
#[inline(always)]
fn inspect(packet: &mut Packet) -> Result<&mut Ipv4Frame, DropReason> {
    let data = packet.data_mut();
    let length = data.len();
    let is_ipv4 = length >= ETHERNET && data[12..ETHERNET] == [0x08, 0x00];
    let Some(frame) = data.first_chunk_mut::<34>() else {
        // Without the whole of an Ethernet or IPv4 header; anything but IPv4 is not looked into.
        let cut = length < ETHERNET || is_ipv4;
        return Err(if cut { DropReason::TooShort } else { DropReason::Ingress });
    };
    if !frame.is_ipv4() {
        return Err(DropReason::Ingress);
    }
    match frame.version_and_length() {
        0x45 if !frame.checksum_is_right() => Err(DropReason::Ingress),
        0x45..=0x4f if frame.time_to_live() <= 1 => Err(DropReason::Ingress),
        0x45..=0x4f => Ok(frame),
        _ => Err(DropReason::InvalidArgument),
    }
}

#[inline(always)]
fn rewrite(frame: &mut Ipv4Frame, adjacency: &Adjacency) -> Verdict {
    match frame.version_and_length() {
        0x45 => adjacency.forward(frame),
        _ => forward_with_options(frame, adjacency),
    }
}

/// As the program does with options, whose checksum it has not verified (RFC 1624, equation 3).
#[cold]
fn forward_with_options(frame: &mut Ipv4Frame, adjacency: &Adjacency) -> Verdict {
    if !adjacency.verdict.is_drop() {
        adjacency.address(frame);
        frame[22] -= 1;
        let (sum, carry) = (!frame.checksum()).overflowing_add(!0x0100);
        frame.set_checksum(!(sum + u16::from(carry)));
    }
    adjacency.verdict
}
