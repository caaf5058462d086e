//! The twin of `programs/iot_aggregate`: N messages of a flow become one N-packet.
//!
//! ```text
//!   slot of a flow, whole cache lines:
//!   | owner 13 | messages 1 | sum of payloads 2 | payload 1 | ... | payload N - 1 |
//! ```
//!
//! The sums of the payloads are known from verifying the messages, so the checksum of an N-packet is computed without
//! reading its payloads again.

use crate::crc32::Crc32;
use crate::forwarder::{DropReason, Function, Outputs, Verdict, named};
use crate::headers::{Ipv4, Ipv4Frame, fold};
use crate::iot::{self, HEADERS, IotHeaders, Kind, NextHop, Parsed, Route};
use crate::memory::{TableArray, Zeroed, prefetch};
use crate::processor::for_this_processor;
use crate::routing::Routes;
use forebay_packet::{Burst, DEFAULT_BURST, Packet};
use std::sync::Arc;

/// Bytes that tell a flow: IP addresses, UDP ports, type of service.
const FLOW: usize = 13;

type Flow = [u8; FLOW];

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

// SAFETY: bytes.
unsafe impl Zeroed for Line {}

/// The head of a slot.
#[derive(Clone, Copy)]
#[repr(C)]
struct Head {
    owner: Flow,
    messages: u8,
    payload_sum: u16,
}

const HEAD: usize = size_of::<Head>();

/// What the workers share: routes.
pub struct AggregateTables {
    routes: Routes,
}

impl AggregateTables {
    /// The tables for these routes and next hops.
    pub fn new(routes: &[Route], next_hops: &[NextHop]) -> AggregateTables {
        AggregateTables {
            routes: iot::routes(routes, next_hops),
        }
    }
}

/// Aggregation of `N` messages with payloads of `P` bytes.
pub struct Aggregate<const N: usize, const P: usize> {
    tables: Arc<AggregateTables>,
    batches: Batches<N, P>,
    /// Messages kept, messages that completed a batch, messages that went alone.
    messages: [u64; 3],
}

impl<const N: usize, const P: usize> Aggregate<N, P> {
    /// With `slots` slots for flows.
    pub fn new(tables: Arc<AggregateTables>, slots: u32) -> Aggregate<N, P> {
        Aggregate {
            tables,
            batches: Batches::new(slots),
            messages: [0; 3],
        }
    }
}

impl<const N: usize, const P: usize> Function for Aggregate<N, P> {
    fn process(&mut self, burst: &mut Burst, _ingress_port: u16, outputs: &mut Outputs) {
        process_burst(self, burst.as_mut_slice(), outputs);
        burst.clear();
    }

    fn counts(&self) -> Vec<(String, u64)> {
        named("messages", &self.messages)
    }
}

for_this_processor! {
    fn process_burst<const N: usize, const P: usize>(
        function: &mut Aggregate<N, P>,
        packets: &mut [Packet],
        outputs: &mut Outputs,
    ) {
        let mut findings = [Finding::Verdict(Verdict::drop(DropReason::Ingress)); DEFAULT_BURST];
        for (packet, finding) in packets.iter_mut().zip(&mut findings) {
            *finding = inspect::<N, P>(packet, &function.batches);
            if let Finding::Message { slot, .. } = finding {
                function.batches.prefetch(*slot);
            }
        }
        for (packet, finding) in packets.iter_mut().zip(&findings) {
            let verdict = match *finding {
                Finding::Verdict(verdict) => verdict,
                Finding::Other => forward(packet, &function.tables.routes),
                Finding::Damaged => {
                    function.messages[2] += 1;
                    forward(packet, &function.tables.routes)
                }
                Finding::Message { slot, payload_sum } => function.message(packet, slot, payload_sum),
            };
            outputs.settle(packet, verdict);
        }
    }
}

/// What the headers of a packet say.
#[derive(Clone, Copy)]
enum Finding {
    /// Its fate.
    Verdict(Verdict),
    /// It is not a message.
    Other,
    /// A message with a wrong checksum.
    Damaged,
    /// A message.
    Message { slot: u32, payload_sum: u16 },
}

#[inline(always)]
fn inspect<const N: usize, const P: usize>(packet: &mut Packet, batches: &Batches<N, P>) -> Finding {
    let data = match iot::parse(packet.data_mut()) {
        Err(reason) => return Finding::Verdict(Verdict::drop(reason)),
        Ok(Parsed::Ipv4(frame)) => return other(frame),
        Ok(Parsed::IotUdp(data)) => data,
    };
    let is_message =
        iot::udp_length(data) == iot::udp_length_with(P) && iot::total_length(data) == iot::total_length_with(P);
    let Some((headers, payload)) = data.split_first_chunk::<HEADERS>() else {
        return if is_message {
            Finding::Verdict(Verdict::drop(DropReason::TooShort))
        } else {
            other(data.first_chunk().expect("the parser has seen the headers"))
        };
    };
    if !is_message || iot::kind(headers) != Kind::Message as u8 {
        return other(headers.first_chunk().expect("the first headers"));
    }
    let Some(payload) = payload.first_chunk::<P>() else {
        return Finding::Verdict(Verdict::drop(DropReason::TooShort));
    };
    if !headers.first_chunk::<34>().is_some_and(Ipv4::checksum_is_right) {
        return Finding::Verdict(Verdict::drop(DropReason::Ingress));
    }
    // It is dropped when it is routed; as the last one of a batch it would take the others with it.
    if headers[22] <= 1 {
        return Finding::Other;
    }
    let payload_sum = iot::sum_of_payload(payload);
    if !iot::is_intact(headers, payload_sum) {
        return Finding::Damaged;
    }
    Finding::Message {
        slot: batches.slot_of(&flow_of(headers)),
        payload_sum: fold(payload_sum),
    }
}

#[inline(always)]
fn other(frame: &Ipv4Frame) -> Finding {
    if frame.checksum_is_right() {
        Finding::Other
    } else {
        Finding::Verdict(Verdict::drop(DropReason::Ingress))
    }
}

/// Addresses, ports, type of service.
#[inline(always)]
fn flow_of(headers: &IotHeaders) -> Flow {
    let mut flow = [0; FLOW];
    flow[..12].copy_from_slice(&headers[26..38]);
    flow[12] = headers[15];
    flow
}

/// Routes a packet as it is.
#[inline(always)]
fn forward(packet: &mut Packet, routes: &Routes) -> Verdict {
    let frame: &mut Ipv4Frame = packet.data_mut().first_chunk_mut().expect("it was inspected");
    if frame.time_to_live() <= 1 {
        return Verdict::drop(DropReason::Ingress);
    }
    routes.adjacency(routes.find(frame.destination())).forward(frame)
}

impl<const N: usize, const P: usize> Aggregate<N, P> {
    #[inline(always)]
    fn message(&mut self, packet: &mut Packet, slot: u32, payload_sum: u16) -> Verdict {
        let (headers, payload) = packet
            .data_mut()
            .split_first_chunk_mut::<HEADERS>()
            .expect("it was inspected");
        let payload: &[u8; P] = payload.first_chunk().expect("it was inspected");
        let flow = flow_of(headers);
        let (head, payloads) = self.batches.slot(slot);
        if head.messages != 0 && head.owner != flow {
            self.messages[2] += 1;
            return forward(packet, &self.tables.routes);
        }
        let place = usize::from(head.messages);
        let sum = u64::from(if place == 0 { 0 } else { head.payload_sum });
        let sum = sum + iot::sum_after(place * P, payload_sum.into());
        if place + 1 < N {
            payloads[place * P..][..P].copy_from_slice(payload);
            head.owner = flow;
            head.messages += 1;
            head.payload_sum = fold(sum);
            self.messages[0] += 1;
            return Verdict::drop(DropReason::Ingress);
        }
        head.messages = 0;
        self.messages[1] += 1;
        complete::<P>(packet, &payloads[..(N - 1) * P], sum);
        forward(packet, &self.tables.routes)
    }
}

/// Makes the last message the N-packet.
#[inline(always)]
fn complete<const P: usize>(packet: &mut Packet, earlier: &[u8], payload_sum: u64) {
    packet.truncate(HEADERS + P);
    let (headers, own) = packet
        .data_mut()
        .split_first_chunk_mut::<HEADERS>()
        .expect("it was inspected");
    iot::become_kind(headers, Kind::NPacket, earlier.len() + P);
    iot::write_ipv4_checksum(headers);
    if headers[40..42] != [0; 2] {
        headers[40..42].fill(0);
        let checksum = iot::udp_checksum(iot::sum_of_headers(headers), payload_sum);
        headers[40..42].copy_from_slice(&checksum);
    }
    let own: &mut [u8; P] = own.first_chunk_mut().expect("it was inspected");
    if let Some((first, others)) = earlier.split_first_chunk::<P>() {
        let last = std::mem::replace(own, *first);
        packet.append(others);
        packet.append(&last);
    }
}

/// The batches of all flows.
struct Batches<const N: usize, const P: usize> {
    lines: TableArray<Line>,
    slots: u32,
    crc: Crc32<FLOW>,
}

impl<const N: usize, const P: usize> Batches<N, P> {
    /// Cache lines of a slot.
    const LINES: usize = (HEAD + (N - 1) * P).div_ceil(64);

    fn new(slots: u32) -> Batches<N, P> {
        let slots = slots.max(1);
        Batches {
            lines: TableArray::new(slots as usize * Self::LINES),
            slots,
            crc: Crc32::new(),
        }
    }

    #[inline(always)]
    fn slot_of(&self, flow: &Flow) -> u32 {
        let crc = self.crc.of(flow);
        if self.slots.is_power_of_two() {
            crc & (self.slots - 1)
        } else {
            crc % self.slots
        }
    }

    #[inline(always)]
    fn prefetch(&self, slot: u32) {
        for line in 0..Self::LINES {
            prefetch(self.lines.as_ptr().wrapping_add(slot as usize * Self::LINES + line));
        }
    }

    /// Head and payloads of a slot.
    #[inline(always)]
    fn slot(&mut self, slot: u32) -> (&mut Head, &mut [u8]) {
        let lines = &mut self.lines[slot as usize * Self::LINES..][..Self::LINES];
        let bytes = lines.as_mut_ptr().cast::<u8>();
        // SAFETY: the lines are ours alone while borrowed. The head is plain bytes at an aligned place, any bytes are a
        // head, and the payloads are the bytes after it.
        unsafe {
            let payloads = std::slice::from_raw_parts_mut(bytes.add(HEAD), Self::LINES * 64 - HEAD);
            (&mut *bytes.cast::<Head>(), payloads)
        }
    }
}
