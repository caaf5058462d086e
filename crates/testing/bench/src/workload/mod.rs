//! Workloads: a program with entries, traffic, and a hand-written twin where there is one.

mod custom;
mod iot;
mod l2;
mod l3;
mod port_forward;
mod random;

pub use custom::Custom;
pub use iot::{Aggregate, Disaggregate, IotScale};
pub use l2::L2;
pub use l3::L3;
pub use port_forward::PortForward;

use crate::contender::{Ports, Work};
use crate::error::BenchError;
use crate::frames::FrameSet;
use forebay_bits::Bits;
use forebay_ir::{EntryMatch, Program};
use forebay_pipeline::{Entry, EntryAction, Pipeline};
use forebay_traffic::{FrameSpec, Network, Transport};
use std::net::Ipv4Addr;
use std::sync::Arc;

/// Makes a twin between ports; each worker has one, and they share its tables.
pub type Twin = Box<dyn Fn(Ports) -> Box<dyn Work>>;

/// How large a workload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Entries of each table that grows.
    pub entries: usize,
    /// Flows that send in turns.
    pub flows: usize,
    /// Bytes of a frame, without the frame check sequence.
    pub frame_bytes: usize,
}

/// A program, the entries of its tables, its traffic, and perhaps a twin.
pub trait Workload {
    /// The program's name.
    fn name(&self) -> String;

    /// Its size; none where there is nothing to choose.
    fn scale(&self) -> Option<Scale>;

    /// The program.
    ///
    /// # Errors
    /// When it does not compile.
    fn compile(&self) -> Result<Program, BenchError>;

    /// Fills the program's tables.
    ///
    /// # Errors
    /// When an entry does not suit the program.
    fn configure(&self, pipeline: &Arc<Pipeline>) -> Result<(), BenchError>;

    /// The numbers of the ports. All traffic comes by the first.
    fn ports(&self) -> Vec<u32>;

    /// The traffic.
    fn frames(&self) -> FrameSet;

    /// The same, written by hand.
    fn twin(&self) -> Option<Twin>;

    /// What the control plane writes while packets are measured.
    fn updates(&self) -> Option<&Updates> {
        None
    }
}

/// Makes one update after another, in a thread of its own; the error says why one was refused.
pub type Writer = Box<dyn FnMut() -> Result<(), String> + Send>;

/// Makes the writer of a pipeline, which begins with the first update.
pub type MakeWriter = Box<dyn Fn(&Arc<Pipeline>) -> Writer>;

/// Updates of tables while packets are measured.
pub struct Updates {
    /// How many a second.
    pub per_s: u32,
    /// Makes them.
    pub writer: MakeWriter,
}

/// Shortest frame that a scale can ask for: the headers of Ethernet, IPv4 and UDP.
const FRAME_BYTES_MIN: usize = 42;

/// Longest: what Ethernet carries.
const FRAME_BYTES_MAX: usize = 1514;

impl Scale {
    /// # Errors
    /// When the numbers are outside what there can be.
    fn checked(self, entries_max: usize) -> Result<Scale, BenchError> {
        let Scale {
            entries,
            flows,
            frame_bytes,
        } = self;
        if !(1..=entries_max).contains(&entries) {
            return Err(BenchError::Scale(format!("entries: 1 to {entries_max}, not {entries}")));
        }
        if !(1..=16_000_000).contains(&flows) {
            return Err(BenchError::Scale(format!("flows: 1 to 16000000, not {flows}")));
        }
        if !(FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(&frame_bytes) {
            let message = format!("frame size: {FRAME_BYTES_MIN} to {FRAME_BYTES_MAX} bytes, not {frame_bytes}");
            return Err(BenchError::Scale(message));
        }
        Ok(self)
    }
}

/// A UDP frame of `bytes` bytes.
fn udp_frame(macs: (u64, u64), source: Ipv4Addr, destination: Ipv4Addr, flow: u32, bytes: usize) -> Vec<u8> {
    let mac = |address: u64| *address.to_be_bytes().last_chunk().expect("eight bytes have six");
    let spec = FrameSpec {
        source_mac: mac(macs.0),
        destination_mac: mac(macs.1),
        vlan: None,
        network: Network::Ipv4 {
            source,
            destination,
            time_to_live: 64,
            identification: 0,
            traffic_class: 0,
        },
        transport: Transport::Udp {
            source: 1024 + (flow % 60_000) as u16,
            destination: 9,
        },
    };
    spec.build(&vec![0x5a; bytes - FRAME_BYTES_MIN])
}

/// An entry without priority.
fn insert(
    pipeline: &Pipeline,
    table: &str,
    matches: Vec<EntryMatch>,
    action: &str,
    args: Vec<Bits>,
) -> Result<(), BenchError> {
    let entry = Entry {
        matches,
        priority: 0,
        action: EntryAction::Call {
            action: action.to_string(),
            args,
        },
    };
    Ok(pipeline.insert_entry(table, &entry)?)
}

fn exact(width: u32, value: u64) -> EntryMatch {
    EntryMatch::Exact(Bits::new(width, value.into()))
}

fn bits(width: u32, value: u64) -> Bits {
    Bits::new(width, value.into())
}
