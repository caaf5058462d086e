//! `programs/iot_aggregate` and `programs/iot_disaggregate`: messages of many devices to one server.

use super::{Scale, Twin, Workload, bits, exact, insert};
use crate::contender::{HandWritten, Ports, Work};
use crate::error::BenchError;
use crate::frames::FrameSet;
use crate::programs;
use forebay_baseline::aggregate::{Aggregate as AggregateTwin, AggregateTables};
use forebay_baseline::disaggregate::{Disaggregate as DisaggregateTwin, DisaggregateTables};
use forebay_baseline::iot;
use forebay_baseline::lpm::Prefix;
use forebay_ir::{EntryMatch, Program};
use forebay_pipeline::{Pipeline, Replica};
use forebay_traffic::message::{FLAG_HEADER, MESSAGE_HEADERS};
use forebay_traffic::{FrameSpec, MessageFormat, MessageId};
use std::net::Ipv4Addr;
use std::sync::Arc;

/// Port of the server.
const SERVER_PORT: u16 = 2;

/// Where the server is.
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);

/// The route to the server's network.
const ROUTE: iot::Route = (
    Prefix {
        address: 0x0a00_0200,
        length: 24,
    },
    7,
    SERVER_PORT,
);

/// The next hop on that route.
const NEXT_HOP: iot::NextHop = (7, 0x0200_0000_01fe, 0x0200_0000_0102);

/// The multicast group of a port is this and its number.
const FIRST_REPLICA: u16 = 1000;

/// The least number of frames, rounded to a whole number of batches of each flow.
const FRAMES_MIN: usize = 4096;

/// What messages and N-packets are like, and how many devices send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IotScale {
    /// Messages in an N-packet: 1, 2, 4 or 8.
    pub batch: u32,
    /// Bytes after the UDP header of a message: flag header and payload.
    pub message_bytes: usize,
    /// Devices that send in turns.
    pub flows: usize,
    /// Batches that can be open at a time, of different flows.
    pub slots: u32,
}

/// N = 8, S = 22, as published.
impl Default for IotScale {
    fn default() -> IotScale {
        IotScale {
            batch: 8,
            message_bytes: 22,
            flows: 100,
            slots: 4096,
        }
    }
}

impl IotScale {
    fn checked(self) -> Result<IotScale, BenchError> {
        let refuse = |message: String| Err(BenchError::Scale(message));
        if !matches!(self.batch, 1 | 2 | 4 | 8) {
            return refuse(format!("an N-packet has 1, 2, 4 or 8 messages, not {}", self.batch));
        }
        if !(18..=128).contains(&self.message_bytes) {
            return refuse(format!("a message has 18 to 128 bytes, not {}", self.message_bytes));
        }
        if !(1..=65_536).contains(&self.flows) {
            return refuse(format!("flows: 1 to 65536, not {}", self.flows));
        }
        if !(1..=1 << 20).contains(&self.slots) {
            return refuse(format!("slots: 1 to 1048576, not {}", self.slots));
        }
        Ok(self)
    }

    fn format(self) -> MessageFormat {
        MessageFormat::new(self.message_bytes - FLAG_HEADER).expect("the sizes were checked")
    }

    fn defines(self) -> Vec<String> {
        vec![
            format!("N={}", self.batch),
            format!("S={}", self.message_bytes),
            format!("FLOWS={}", self.slots),
            format!("IOT_UDP_PORT={}", iot::UDP_PORT),
        ]
    }

    /// Batches of each flow, one after the other: enough for a fair number of frames.
    fn batches(self, frames_in_batch: usize) -> usize {
        FRAMES_MIN.div_ceil(self.flows * frames_in_batch)
    }

    /// Messages of a flow, in an order in which all flows take turns.
    fn message(self, flow: usize, sequence: usize) -> MessageId {
        MessageId {
            flow: flow as u32,
            sequence: sequence as u32,
        }
    }
}

/// The headers of what a device sends.
fn headers(flow: usize) -> FrameSpec {
    let device = Ipv4Addr::from_bits(0x0a01_0000 + flow as u32);
    FrameSpec::udp_ipv4((device, 4000), (SERVER, iot::UDP_PORT))
}

/// Route and next hop.
fn configure_route(pipeline: &Pipeline) -> Result<(), BenchError> {
    let (prefix, next_hop, port) = ROUTE;
    let key = EntryMatch::Lpm {
        value: bits(32, prefix.address.into()),
        prefix_length: prefix.length.into(),
    };
    let args = vec![bits(16, next_hop.into()), bits(9, port.into())];
    insert(pipeline, "ipv4_lpm", vec![key], "to_next_hop", args)?;
    let (number, source, destination) = NEXT_HOP;
    let args = vec![bits(48, source), bits(48, destination)];
    insert(pipeline, "next_hops", vec![exact(16, number.into())], "set_macs", args)
}

/// Calls a macro with the number of messages and the bytes of a payload as constants, for the formats that have twins.
macro_rules! for_format {
    ($scale:expr, $twin:ident) => {
        match ($scale.batch, $scale.message_bytes) {
            (1, 22) => $twin!(1, 16),
            (2, 22) => $twin!(2, 16),
            (2, 23) => $twin!(2, 17),
            (4, 22) => $twin!(4, 16),
            (4, 34) => $twin!(4, 28),
            (8, 22) => $twin!(8, 16),
            (8, 23) => $twin!(8, 17),
            (8, 46) => $twin!(8, 40),
            _ => None,
        }
    };
}

/// Aggregation.
pub struct Aggregate {
    scale: IotScale,
}

impl Aggregate {
    /// The workload for messages of this scale.
    ///
    /// # Errors
    /// When the scale is impossible.
    pub fn new(scale: IotScale) -> Result<Aggregate, BenchError> {
        Ok(Aggregate {
            scale: scale.checked()?,
        })
    }
}

impl Workload for Aggregate {
    fn name(&self) -> String {
        format!("iot_aggregate {}x{}", self.scale.batch, self.scale.message_bytes)
    }

    fn scale(&self) -> Option<Scale> {
        Some(Scale {
            entries: self.scale.slots as usize,
            flows: self.scale.flows,
            frame_bytes: MESSAGE_HEADERS - FLAG_HEADER + self.scale.message_bytes,
        })
    }

    fn compile(&self) -> Result<Program, BenchError> {
        programs::compiled("iot_aggregate", &self.scale.defines())
    }

    fn configure(&self, pipeline: &Arc<Pipeline>) -> Result<(), BenchError> {
        configure_route(pipeline)
    }

    fn ports(&self) -> Vec<u32> {
        vec![1, SERVER_PORT.into()]
    }

    fn frames(&self) -> FrameSet {
        let (flows, format) = (self.scale.flows, self.scale.format());
        let messages = self.scale.batch as usize * self.scale.batches(self.scale.batch as usize);
        let mut frames = FrameSet::new(MESSAGE_HEADERS + format.payload_bytes(), flows * messages);
        let mut datagram = Vec::new();
        for sequence in 0..messages {
            for flow in 0..flows {
                format.write_message(self.scale.message(flow, sequence), &mut datagram);
                frames.push(flow as u32, &headers(flow).build(&datagram));
            }
        }
        frames
    }

    fn twin(&self) -> Option<Twin> {
        let tables = Arc::new(AggregateTables::new(&[ROUTE], &[NEXT_HOP]));
        let slots = self.scale.slots;
        macro_rules! twin {
            ($n:literal, $p:literal) => {
                Some(Box::new(move |ports: Ports| -> Box<dyn Work> {
                    let function = AggregateTwin::<$n, $p>::new(tables.clone(), slots);
                    Box::new(HandWritten::new(function, ports))
                }))
            };
        }
        for_format!(self.scale, twin)
    }
}

/// Disaggregation, by the packet replication engine.
pub struct Disaggregate {
    scale: IotScale,
}

impl Disaggregate {
    /// The workload for messages of this scale.
    ///
    /// # Errors
    /// When the scale is impossible.
    pub fn new(scale: IotScale) -> Result<Disaggregate, BenchError> {
        Ok(Disaggregate {
            scale: scale.checked()?,
        })
    }
}

impl Workload for Disaggregate {
    fn name(&self) -> String {
        format!("iot_disaggregate {}x{}", self.scale.batch, self.scale.message_bytes)
    }

    fn scale(&self) -> Option<Scale> {
        let payloads = self.scale.batch as usize * self.scale.format().payload_bytes();
        Some(Scale {
            entries: 1,
            flows: self.scale.flows,
            frame_bytes: MESSAGE_HEADERS + payloads,
        })
    }

    fn compile(&self) -> Result<Program, BenchError> {
        programs::compiled("iot_disaggregate", &self.scale.defines())
    }

    fn configure(&self, pipeline: &Arc<Pipeline>) -> Result<(), BenchError> {
        configure_route(pipeline)?;
        let replicas = (0..self.scale.batch as u16).map(|instance| Replica {
            egress_port: SERVER_PORT.into(),
            instance,
        });
        pipeline.set_multicast_group(FIRST_REPLICA + SERVER_PORT, &replicas.collect::<Vec<_>>())?;
        Ok(())
    }

    fn ports(&self) -> Vec<u32> {
        vec![1, SERVER_PORT.into()]
    }

    fn frames(&self) -> FrameSet {
        let (flows, format, batch) = (self.scale.flows, self.scale.format(), self.scale.batch as usize);
        let packets = self.scale.batches(1);
        let longest = MESSAGE_HEADERS + batch * format.payload_bytes();
        let mut frames = FrameSet::new(longest, flows * packets);
        let mut datagram = Vec::new();
        for packet in 0..packets {
            for flow in 0..flows {
                let sequence = packet * batch..(packet + 1) * batch;
                let ids: Vec<_> = sequence.map(|sequence| self.scale.message(flow, sequence)).collect();
                format.write_aggregate(&ids, &mut datagram);
                frames.push(flow as u32, &headers(flow).build(&datagram));
            }
        }
        frames
    }

    fn twin(&self) -> Option<Twin> {
        let tables = Arc::new(DisaggregateTables::new(&[ROUTE], &[NEXT_HOP], &[SERVER_PORT]));
        macro_rules! twin {
            ($n:literal, $p:literal) => {
                Some(Box::new(move |ports: Ports| -> Box<dyn Work> {
                    let function = DisaggregateTwin::<$n, $p>::new(tables.clone());
                    Box::new(HandWritten::new(function, ports))
                }))
            };
        }
        for_format!(self.scale, twin)
    }
}
