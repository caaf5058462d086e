//! Metadata of a node, as a bitmap announces them.

use super::Hop;
use super::bytes::Bytes;

/// Bits of the instruction bitmap; bit 0 of the specification is the most significant one.
const NODE: u16 = 0x8000;
const PORTS: u16 = 0x4000;
const LATENCY: u16 = 0x2000;
const QUEUE: u16 = 0x1000;
const INGRESS_TIME: u16 = 0x0800;
const EGRESS_TIME: u16 = 0x0400;
const LEVEL_2_PORTS: u16 = 0x0200;
const UTILIZATION: u16 = 0x0100;
const BUFFER: u16 = 0x0080;
/// The checksum complement of a hop, the drop reason of a report.
const LAST: u16 = 0x0001;

/// Instructions that take two words of four bytes.
const DOUBLE: u16 = INGRESS_TIME | EGRESS_TIME | LEVEL_2_PORTS;

/// All that are defined.
const KNOWN: u16 =
    NODE | PORTS | LATENCY | QUEUE | INGRESS_TIME | EGRESS_TIME | LEVEL_2_PORTS | UTILIZATION | BUFFER | LAST;

/// Which metadata there are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bitmap {
    bits: u16,
    /// The last word is a drop reason.
    is_of_report: bool,
}

/// A value, unless it is all ones: then the node does not measure it.
fn measured<T: PartialEq>(value: T, all_ones: T) -> Option<T> {
    (value != all_ones).then_some(value)
}

impl Bitmap {
    /// The bitmap of a report's main contents.
    pub(super) fn of_report(bits: u16) -> Bitmap {
        Bitmap {
            bits,
            is_of_report: true,
        }
    }

    /// The instruction bitmap of an INT header.
    pub(super) fn of_hops(bits: u16) -> Bitmap {
        Bitmap {
            bits,
            is_of_report: false,
        }
    }

    /// The words of four bytes that a hop has; none with instructions that are not defined.
    pub(super) fn words(self) -> Option<usize> {
        let is_known = self.bits & !KNOWN == 0;
        is_known.then(|| (self.bits.count_ones() + (self.bits & DOUBLE).count_ones()) as usize)
    }

    /// Reads the metadata, and a drop reason; none when there are too few bytes. What follows bits that are not defined
    /// is not read.
    pub(super) fn read(self, bytes: &mut Bytes<'_>) -> Option<(Hop, Option<u8>)> {
        let mut hop = Hop::default();
        let mut drop_reason = None;
        let has = |bit| self.bits & bit != 0;
        if has(NODE) && !self.is_of_report {
            hop.node = Some(bytes.u32()?);
        }
        if has(PORTS) {
            let (ingress, egress) = (bytes.u16()?, bytes.u16()?);
            hop.ingress_port = measured(ingress, u16::MAX);
            hop.egress_port = measured(egress, u16::MAX);
        }
        if has(LATENCY) {
            hop.latency_ns = measured(bytes.u32()?, u32::MAX);
        }
        if has(QUEUE) {
            let word = measured(bytes.u32()?, u32::MAX);
            hop.queue = word.map(|word| (word >> 24) as u8);
            hop.queue_depth = word.map(|word| word & 0x00ff_ffff);
        }
        if has(INGRESS_TIME) {
            hop.ingress_time_ns = measured(bytes.u64()?, u64::MAX);
        }
        if has(EGRESS_TIME) {
            hop.egress_time_ns = measured(bytes.u64()?, u64::MAX);
        }
        if self.bits & !KNOWN != 0 {
            return Some((hop, None));
        }
        for bit in [LEVEL_2_PORTS, UTILIZATION, BUFFER] {
            if has(bit) {
                bytes.take(if bit & DOUBLE == 0 { 4 } else { 8 })?;
            }
        }
        if has(LAST) {
            let word = bytes.u32()?;
            if self.is_of_report {
                hop.queue = Some((word >> 24) as u8);
                drop_reason = Some((word >> 16) as u8);
            }
        }
        Some((hop, drop_reason))
    }
}
