//! The twin of `programs/iot_disaggregate`: an N-packet becomes N messages, which leave by the port of its route.

use crate::forwarder::{DROP_PORT, DropReason, Function, Outputs, Verdict, named};
use crate::headers::{Ipv4, Ipv4Frame};
use crate::iot::{self, HEADERS, IotHeaders, Kind, NextHop, Parsed, Route};
use crate::processor::for_this_processor;
use crate::routing::Routes;
use forebay_packet::{Burst, Packet};
use std::sync::Arc;

/// What the workers share.
pub struct DisaggregateTables {
    routes: Routes,
    /// Ports that the packet replication engine makes N copies for.
    replicated: Vec<bool>,
}

impl DisaggregateTables {
    /// The tables for these routes and next hops, with multicast groups for these ports.
    ///
    /// # Panics
    /// When a route names next hop 0, which stands for none in the program.
    pub fn new(routes: &[Route], next_hops: &[NextHop], replicated: &[u16]) -> DisaggregateTables {
        assert!(routes.iter().all(|(_, next_hop, _)| *next_hop != 0), "next hop 0");
        let ports = 0..DROP_PORT;
        DisaggregateTables {
            routes: iot::routes(routes, next_hops),
            replicated: ports.map(|port| replicated.contains(&port)).collect(),
        }
    }
}

/// Disaggregation of packets of `N` messages with payloads of `P` bytes.
pub struct Disaggregate<const N: usize, const P: usize> {
    tables: Arc<DisaggregateTables>,
    /// N-packets split, other packets routed.
    packets: [u64; 2],
}

impl<const N: usize, const P: usize> Disaggregate<N, P> {
    /// By these tables.
    pub fn new(tables: Arc<DisaggregateTables>) -> Disaggregate<N, P> {
        Disaggregate {
            tables,
            packets: [0; 2],
        }
    }
}

impl<const N: usize, const P: usize> Function for Disaggregate<N, P> {
    fn process(&mut self, burst: &mut Burst, _ingress_port: u16, outputs: &mut Outputs) {
        process_burst::<N, P>(&self.tables, burst.as_mut_slice(), outputs, &mut self.packets);
        burst.clear();
    }

    fn counts(&self) -> Vec<(String, u64)> {
        named("packets", &self.packets)
    }
}

for_this_processor! {
    fn process_burst<const N: usize, const P: usize>(
        tables: &DisaggregateTables,
        packets: &mut [Packet],
        outputs: &mut Outputs,
        counts: &mut [u64; 2],
    ) {
        for packet in packets {
            match inspect::<N, P>(packet) {
                Ok(is_n_packet) => {
                    let verdict = forward(packet, &tables.routes);
                    let is_routed = verdict != Verdict::drop(DropReason::Ingress);
                    counts[usize::from(!is_n_packet)] += u64::from(is_routed);
                    if is_n_packet {
                        split::<N, P>(tables, packet, verdict, outputs)
                    } else {
                        outputs.settle(packet, verdict)
                    }
                }
                Err(reason) => outputs.drop(reason, 1),
            }
        }
    }
}

/// Whether a packet that may be routed is an N-packet.
#[inline(always)]
fn inspect<const N: usize, const P: usize>(packet: &mut Packet) -> Result<bool, DropReason> {
    let data = match iot::parse(packet.data_mut())? {
        Parsed::Ipv4(frame) => return checked(frame).map(|()| false),
        Parsed::IotUdp(data) => data,
    };
    if data.len() <= HEADERS - 6 {
        return Err(DropReason::TooShort);
    }
    if iot::kind(data) != Kind::NPacket as u8 {
        return checked(data.first_chunk().expect("the parser has seen the headers")).map(|()| false);
    }
    let (headers, payloads) = data.split_first_chunk::<HEADERS>().ok_or(DropReason::TooShort)?;
    let right_lengths = iot::udp_length(headers) == iot::udp_length_with(N * P)
        && iot::total_length(headers) == iot::total_length_with(N * P);
    if !right_lengths {
        return Err(DropReason::IotBadLength);
    }
    let payloads = payloads.get(..N * P).ok_or(DropReason::TooShort)?;
    checked(headers.first_chunk().expect("the first headers"))?;
    if iot::is_intact(headers, iot::sum_of_payload(payloads)) {
        Ok(true)
    } else {
        Err(DropReason::Ingress)
    }
}

#[inline(always)]
fn checked(frame: &Ipv4Frame) -> Result<(), DropReason> {
    if frame.checksum_is_right() {
        Ok(())
    } else {
        Err(DropReason::Ingress)
    }
}

#[inline(always)]
fn forward(packet: &mut Packet, routes: &Routes) -> Verdict {
    let frame: &mut Ipv4Frame = packet.data_mut().first_chunk_mut().expect("it was inspected");
    if frame.time_to_live() <= 1 {
        return Verdict::drop(DropReason::Ingress);
    }
    routes.adjacency(routes.find(frame.destination())).forward(frame)
}

/// Sends the messages of an N-packet that has been routed.
#[inline(always)]
fn split<const N: usize, const P: usize>(
    tables: &DisaggregateTables,
    packet: &mut Packet,
    verdict: Verdict,
    outputs: &mut Outputs,
) {
    // The headers of all messages are the same but for the checksum of UDP.
    let Some(port) = verdict.port() else {
        let copies = if verdict == Verdict::drop(DropReason::Egress) {
            N
        } else {
            1
        };
        return outputs.settle_copies(verdict, copies as u64);
    };
    if !tables.replicated[usize::from(port)] {
        return outputs.drop(DropReason::NoMulticastMember, 1);
    }
    let (headers, payloads) = packet
        .data_mut()
        .split_first_chunk_mut::<HEADERS>()
        .expect("it was inspected");
    let mut headers: IotHeaders = *headers;
    let (payloads, _) = payloads.as_chunks::<P>();
    let has_checksum = headers[40..42] != [0; 2];
    iot::become_kind(&mut headers, Kind::Message, P);
    iot::write_ipv4_checksum(&mut headers);
    headers[40..42].fill(0);
    let headers_sum = iot::sum_of_headers(&headers);
    for payload in &payloads[..N] {
        if has_checksum {
            let checksum = iot::udp_checksum(headers_sum, iot::sum_of_payload(payload));
            headers[40..42].copy_from_slice(&checksum);
        }
        if let Some(message) = outputs.allocate(port) {
            write(message, &headers, payload);
        }
    }
}

#[inline(always)]
fn write<const P: usize>(message: &mut Packet, headers: &IotHeaders, payload: &[u8; P]) {
    let room = message.receive_room();
    match room.split_first_chunk_mut::<HEADERS>() {
        Some((head, rest)) if rest.len() >= P => {
            *head = *headers;
            rest[..P].copy_from_slice(payload);
            message.set_received(HEADERS + P);
        }
        _ => {
            message.set_data(headers);
            message.append(payload);
        }
    }
}
