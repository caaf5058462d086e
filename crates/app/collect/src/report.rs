//! Telemetry Report 2.0: a datagram taken apart.
//!
//! ```text
//!   group header (8 bytes) │ individual report │ individual report │ …
//!                            4 bytes: type, length, flags
//!                            8 bytes: which metadata follow          main contents,
//!                            the reporter's metadata                 of type INT
//!                            the packet, as far as it is there ─► [`packet`]: its flow, and the stack of INT-MD
//! ```
//!
//! Parsing never panics: what is not as the specification says is a [`Malformed`] with a name, under which it is
//! counted.

mod bytes;
mod malformed;
mod metadata;
mod packet;

pub use malformed::Malformed;
pub use packet::Flow;

use bytes::Bytes;
use metadata::Bitmap;
use smallvec::SmallVec;

/// The UDP port of INT, if nothing else was agreed on.
pub const INT_PORT: u16 = 32766;

/// The version of the format.
const VERSION: u8 = 2;

/// Types of an individual report: a packet alone, and INT.
const TYPE_INNER_ONLY: u8 = 0;
const TYPE_INT: u8 = 1;

/// Words of the fixed part of main contents of type INT.
const INT_WORDS: usize = 2;

/// What is known of a packet at a node. A value that the node does not measure is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// The node.
    pub node: Option<u32>,
    /// The level 1 interface by which the packet came.
    pub ingress_port: Option<u16>,
    /// The level 1 interface by which it left.
    pub egress_port: Option<u16>,
    /// Time in the node, in nanoseconds.
    pub latency_ns: Option<u32>,
    /// Its queue.
    pub queue: Option<u8>,
    /// How full the queue was, in the node's unit.
    pub queue_depth: Option<u32>,
    /// When it came, in nanoseconds of the node's clock.
    pub ingress_time_ns: Option<u64>,
    /// When it left, in nanoseconds of the node's clock.
    pub egress_time_ns: Option<u64>,
}

/// How telemetry travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Metadata go with the packet; the sink reports them all.
    Md,
    /// Instructions go with the packet; every node reports.
    Mx,
    /// Nothing goes with the packet; watching nodes report.
    Xd,
}

impl Mode {
    /// All of them.
    pub const ALL: [Mode; 3] = [Mode::Md, Mode::Mx, Mode::Xd];

    /// The name, for labels and columns.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Md => "md",
            Mode::Mx => "mx",
            Mode::Xd => "xd",
        }
    }
}

/// Why a node reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// The packet was dropped.
    pub dropped: bool,
    /// The queue was congested.
    pub congested: bool,
    /// The flow is watched.
    pub tracked: bool,
    /// The node is an intermediate hop.
    pub intermediate: bool,
}

/// The sender of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reporter {
    /// The node.
    pub node: u32,
    /// Its part: a line card, a pipeline.
    pub hardware: u8,
}

/// A report about a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The sender.
    pub reporter: Reporter,
    /// The number of the datagram.
    pub sequence: u32,
    /// Why.
    pub flags: Flags,
    /// Why it was dropped, by the node's numbers.
    pub drop_reason: Option<u8>,
    /// How telemetry has come.
    pub mode: Mode,
    /// The flow of the packet, if enough of it is there.
    pub flow: Option<Flow>,
    /// The hops in the order in which the packet met them; the reporter is the last.
    pub hops: SmallVec<[Hop; 4]>,
    /// Whether the stack has all hops. Otherwise the first ones are missing, if the packet is cut off, or those for
    /// which there was no room.
    pub is_whole: bool,
}

/// The group header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The sender.
    pub reporter: Reporter,
    /// Counts datagrams of this reporter to this collector; 22 bits.
    pub sequence: u32,
}

/// Takes a datagram apart. INT is expected at this UDP port. `take` gets each report that is right, also after one
/// that is not.
///
/// # Errors
/// When something is not as the specification says: the first such thing. The group header counts as received as soon
/// as it is there: see [`group`].
pub fn parse(datagram: &[u8], int_port: u16, mut take: impl FnMut(Report)) -> Result<(), Malformed> {
    let (group, mut rest) = split(datagram)?;
    if rest.is_empty() {
        return Err(Malformed::Empty);
    }
    let mut fault = None;
    while !rest.is_empty() {
        // The largest length stands for all that do not fit: such a report is the last one (§3.3).
        let bytes = match rest.at(1).ok_or(Malformed::ReportHeader)? {
            u8::MAX => rest.len(),
            words => 4 * (usize::from(words) + 1),
        };
        let report = rest.take(bytes).ok_or(Malformed::ReportLength)?;
        match individual(group, report, int_port) {
            Ok(report) => take(report),
            // Its length is known, so those after it can be read.
            Err(malformed) => {
                fault.get_or_insert(malformed);
            }
        }
    }
    fault.map_or(Ok(()), Err)
}

/// The group header.
///
/// # Errors
/// When it is cut off, or of another version.
pub fn group(datagram: &[u8]) -> Result<Group, Malformed> {
    split(datagram).map(|(group, _)| group)
}

/// The group header, and what is after it.
fn split(datagram: &[u8]) -> Result<(Group, Bytes<'_>), Malformed> {
    let mut rest = Bytes::new(datagram);
    let first = rest.u32().ok_or(Malformed::GroupHeader)?;
    let node = rest.u32().ok_or(Malformed::GroupHeader)?;
    if (first >> 28) as u8 != VERSION {
        return Err(Malformed::Version);
    }
    let reporter = Reporter {
        node,
        hardware: (first >> 22 & 0x3f) as u8,
    };
    let sequence = first & 0x003f_ffff;
    Ok((Group { reporter, sequence }, rest))
}

/// An individual report, all of it.
fn individual(group: Group, mut report: Bytes<'_>, int_port: u16) -> Result<Report, Malformed> {
    let head = report.u32().ok_or(Malformed::ReportHeader)?;
    let (kind, inner) = ((head >> 28) as u8, (head >> 24 & 0xf) as u8);
    let flag = |bit: u32| head >> bit & 1 == 1;
    let mut own = Hop::default();
    let mut drop_reason = None;
    match kind {
        TYPE_INNER_ONLY => {}
        TYPE_INT => {
            let metadata_words = (head >> 8 & 0xff) as usize;
            (own, drop_reason) = main_contents(&mut report, metadata_words)?;
        }
        _ => return Err(Malformed::ReportType),
    }
    own.node = Some(group.reporter.node);
    let packet = packet::parse(inner, report, int_port)?;
    let mut hops = packet.hops;
    // A sink that reports nothing of its own may have put it into the stack (INT 2.1 §5.8).
    let has_none = own
        == Hop {
            node: own.node,
            ..Hop::default()
        };
    if !has_none || hops.last().is_none_or(|last| last.node != own.node) {
        hops.push(own);
    }
    Ok(Report {
        reporter: group.reporter,
        sequence: group.sequence,
        flags: Flags {
            dropped: flag(7),
            congested: flag(6),
            tracked: flag(5),
            intermediate: flag(4),
        },
        drop_reason,
        mode: packet.mode,
        flow: packet.flow,
        hops,
        is_whole: packet.is_whole,
    })
}

/// The reporter's metadata, and its drop reason.
fn main_contents(report: &mut Bytes<'_>, words: usize) -> Result<(Hop, Option<u8>), Malformed> {
    let mut fixed = report.take(4 * INT_WORDS).ok_or(Malformed::MainContents)?;
    let bitmap = Bitmap::of_report(fixed.u16().ok_or(Malformed::MainContents)?);
    let mut contents = report.take(4 * words).ok_or(Malformed::MetadataLength)?;
    // After these come metadata of a domain, which only its members know.
    let (hop, drop_reason) = bitmap.read(&mut contents).ok_or(Malformed::MetadataLength)?;
    Ok((hop, drop_reason))
}

#[cfg(test)]
mod tests;
