//! pcapng: a sequence of blocks, each with its type and its length at both ends.
//!
//! ```text
//!   block: type | total length | body ... | total length
//! ```
//!
//! Read are the section header (byte order), the interface description (link type, snapshot
//! length, options `if_tsresol` and `if_tsoffset`), the enhanced packet and the simple packet.
//! Other blocks are skipped. Interfaces that are not Ethernet are an error when a packet of theirs
//! comes, not before: files with an unused second interface are common.

use std::io::Read;

use super::error::{PcapError, Problem};
use super::source::{Order, Source};
use super::{LINK_TYPE_ETHERNET, MAX_RECORD_BYTES};
use crate::Packet;

/// Type of the section header block; a palindrome, the same in both byte orders.
pub(super) const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

const INTERFACE_DESCRIPTION: u32 = 1;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

const OPTION_END: u16 = 0;
const OPTION_TIMESTAMP_RESOLUTION: u16 = 9;
const OPTION_TIMESTAMP_OFFSET: u16 = 14;

/// The most interfaces a section may describe.
const MAX_INTERFACES: usize = 4096;

/// The longest block of options that is looked at, in bytes.
const MAX_DESCRIPTION_BYTES: u32 = 65_536;

/// A section: its byte order and the interfaces described so far.
pub(super) struct Section {
    order: Order,
    interfaces: Vec<Interface>,
}

/// An interface of a section.
struct Interface {
    link_type: u16,
    snapshot_length: u32,
    resolution: Resolution,
    offset_seconds: i64,
}

/// How long a tick of an interface's timestamps is.
#[derive(Clone, Copy)]
enum Resolution {
    /// 10^-exponent seconds.
    Decimal(u32),
    /// 2^-exponent seconds.
    Binary(u32),
}

impl Resolution {
    /// From the option's byte: the top bit chooses the base (draft-ietf-opsawg-pcapng §4.2).
    fn from_option(byte: u8) -> Resolution {
        match byte {
            0x80.. => Resolution::Binary(u32::from(byte & 0x7f)),
            _ => Resolution::Decimal(u32::from(byte)),
        }
    }

    /// The nanoseconds in `ticks`, rounded down, saturating.
    fn nanoseconds(self, ticks: u64) -> u64 {
        let ticks = u128::from(ticks);
        let nanoseconds = match self {
            Resolution::Decimal(exponent @ 0..=9) => ticks * 10u128.pow(9 - exponent),
            Resolution::Decimal(exponent) => 10u128.checked_pow(exponent - 9).map_or(0, |divisor| ticks / divisor),
            // 2^64 · 10^9 needs 94 bits, so the product is exact.
            Resolution::Binary(exponent) => (ticks * 1_000_000_000).checked_shr(exponent).unwrap_or(0),
        };
        u64::try_from(nanoseconds).unwrap_or(u64::MAX)
    }
}

impl Interface {
    fn timestamp_ns(&self, ticks: u64) -> u64 {
        let offset_ns = i128::from(self.offset_seconds) * 1_000_000_000;
        let time_ns = i128::from(self.resolution.nanoseconds(ticks)) + offset_ns;
        u64::try_from(time_ns.max(0)).unwrap_or(u64::MAX)
    }
}

impl Section {
    /// Reads the section header after its block type.
    pub(super) fn read<R: Read>(source: &mut Source<R>) -> Result<Section, PcapError> {
        let length = source.array::<4>()?;
        let order = match source.array::<4>()? {
            [0x4d, 0x3c, 0x2b, 0x1a] => Order::Little,
            [0x1a, 0x2b, 0x3c, 0x4d] => Order::Big,
            _ => {
                return Err(source.error(Problem::Block {
                    what: "no byte-order magic",
                }));
            }
        };
        let length = order.u32(length);
        if length < 28 || !length.is_multiple_of(4) {
            return Err(block_length(source, length));
        }
        source.skip(u64::from(length) - 16)?;
        let section = Section {
            order,
            interfaces: Vec::new(),
        };
        section.end_block(source, length)?;
        Ok(section)
    }

    /// Reads blocks up to and including the next packet; false at the end of the file.
    pub(super) fn read_packet<R: Read>(
        &mut self,
        source: &mut Source<R>,
        packet: &mut Packet,
    ) -> Result<bool, PcapError> {
        while let Some(block_type) = source.begin::<4>()? {
            if block_type == SECTION_HEADER {
                *self = Section::read(source)?;
                continue;
            }
            let length = self.order.u32(source.array()?);
            if length < 12 || !length.is_multiple_of(4) {
                return Err(block_length(source, length));
            }
            let body_length = length - 12;
            let block_type = self.order.u32(block_type);
            match block_type {
                INTERFACE_DESCRIPTION => self.read_interface(source, body_length)?,
                ENHANCED_PACKET => self.read_enhanced(source, body_length, packet)?,
                SIMPLE_PACKET => self.read_simple(source, body_length, packet)?,
                _ => source.skip(u64::from(body_length))?,
            }
            self.end_block(source, length)?;
            if matches!(block_type, ENHANCED_PACKET | SIMPLE_PACKET) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Checks the length at the end of a block against the one at its beginning.
    fn end_block<R: Read>(&self, source: &mut Source<R>, length: u32) -> Result<(), PcapError> {
        if self.order.u32(source.array()?) != length {
            return Err(source.error(Problem::Block {
                what: "its two lengths differ",
            }));
        }
        Ok(())
    }

    fn read_interface<R: Read>(&mut self, source: &mut Source<R>, body_length: u32) -> Result<(), PcapError> {
        if !(8..=MAX_DESCRIPTION_BYTES).contains(&body_length) {
            return Err(block_length(source, body_length));
        }
        if self.interfaces.len() >= MAX_INTERFACES {
            return Err(source.error(Problem::Block {
                what: "too many interfaces",
            }));
        }
        let header = source.array::<8>()?;
        let mut interface = Interface {
            link_type: self.order.u16([header[0], header[1]]),
            snapshot_length: self.order.word(&header, 1),
            resolution: Resolution::Decimal(6),
            offset_seconds: 0,
        };
        let mut options = vec![0; body_length as usize - 8];
        source.exact(&mut options)?;
        self.apply_options(&mut interface, &options);
        self.interfaces.push(interface);
        Ok(())
    }

    /// Takes the two options that change timestamps. Options that do not fit end the list, as the
    /// end-of-options marker does.
    fn apply_options(&self, interface: &mut Interface, mut options: &[u8]) {
        while let Some((&[code_0, code_1, length_0, length_1], rest)) = options.split_first_chunk() {
            let code = self.order.u16([code_0, code_1]);
            let length = usize::from(self.order.u16([length_0, length_1]));
            let Some(value) = rest.get(..length) else {
                return;
            };
            match (code, value) {
                (OPTION_END, _) => return,
                (OPTION_TIMESTAMP_RESOLUTION, [byte]) => {
                    interface.resolution = Resolution::from_option(*byte);
                }
                (OPTION_TIMESTAMP_OFFSET, _) => {
                    if let Ok(bytes) = <[u8; 8]>::try_from(value) {
                        interface.offset_seconds = match self.order {
                            Order::Little => i64::from_le_bytes(bytes),
                            Order::Big => i64::from_be_bytes(bytes),
                        };
                    }
                }
                _ => {}
            }
            options = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
    }

    fn read_enhanced<R: Read>(
        &self,
        source: &mut Source<R>,
        body_length: u32,
        packet: &mut Packet,
    ) -> Result<(), PcapError> {
        if body_length < 20 {
            return Err(block_length(source, body_length));
        }
        let header = source.array::<20>()?;
        let [interface, high, low, captured, original] = [0, 1, 2, 3, 4].map(|index| self.order.word(&header, index));
        let interface = self.interface(source, interface)?;
        let ticks = (u64::from(high) << 32) | u64::from(low);
        read_data(source, packet, captured, body_length - 20)?;
        packet.timestamp_ns = interface.timestamp_ns(ticks);
        packet.original_length = original;
        Ok(())
    }

    /// A simple packet has no timestamp, and its captured length follows from the snapshot length
    /// of the first interface.
    fn read_simple<R: Read>(
        &self,
        source: &mut Source<R>,
        body_length: u32,
        packet: &mut Packet,
    ) -> Result<(), PcapError> {
        if body_length < 4 {
            return Err(block_length(source, body_length));
        }
        let original = self.order.u32(source.array()?);
        let captured = match self.interface(source, 0)?.snapshot_length {
            0 => original,
            limit => original.min(limit),
        };
        read_data(source, packet, captured, body_length - 4)?;
        packet.original_length = original;
        Ok(())
    }

    /// The interface of a packet, which must be described and Ethernet.
    fn interface<R: Read>(&self, source: &Source<R>, index: u32) -> Result<&Interface, PcapError> {
        let interface = self.interfaces.get(index as usize).ok_or_else(|| {
            source.error(Problem::Block {
                what: "a packet of an interface never described",
            })
        })?;
        match interface.link_type {
            LINK_TYPE_ETHERNET => Ok(interface),
            found => Err(source.error(Problem::LinkType { found })),
        }
    }
}

/// Reads `captured` bytes of packet data and skips the padding and options after it, `available`
/// bytes in all.
fn read_data<R: Read>(
    source: &mut Source<R>,
    packet: &mut Packet,
    captured: u32,
    available: u32,
) -> Result<(), PcapError> {
    if captured as usize > MAX_RECORD_BYTES || captured > available {
        let what = "a packet";
        return Err(source.error(Problem::Length {
            what,
            length: u64::from(captured),
        }));
    }
    source.packet(packet, captured as usize)?;
    source.skip(u64::from(available - captured))
}

fn block_length<R: Read>(source: &Source<R>, length: u32) -> PcapError {
    source.error(Problem::Length {
        what: "a pcapng block",
        length: u64::from(length),
    })
}

#[cfg(test)]
mod tests {
    use crate::pcap::{PcapError, Problem, read_all};

    /// Appends a block in the byte order of `word`.
    fn block(bytes: &mut Vec<u8>, word: fn(u32) -> [u8; 4], block_type: u32, body: &[u8]) {
        let length = word(body.len() as u32 + 12);
        bytes.extend(word(block_type));
        bytes.extend(length);
        bytes.extend(body);
        bytes.extend(length);
    }

    fn section(word: fn(u32) -> [u8; 4]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut body = word(0x1a2b_3c4d).to_vec();
        body.extend(word(1)); // version, which the reader ignores
        body.extend([0xff; 8]);
        block(&mut bytes, word, 0x0a0d_0d0a, &body);
        bytes
    }

    /// The body of an interface description: link type, snapshot length, then options.
    fn interface(big: bool, link_type: u16, options: &[(u16, &[u8])]) -> Vec<u8> {
        let half = |value: u16| {
            if big { value.to_be_bytes() } else { value.to_le_bytes() }
        };
        let mut body = half(link_type).to_vec();
        body.extend([0; 6]);
        for (code, value) in options {
            body.extend(half(*code));
            body.extend(half(value.len() as u16));
            body.extend(*value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        body
    }

    fn enhanced(word: fn(u32) -> [u8; 4], interface: u32, ticks: u64, data: &[u8]) -> Vec<u8> {
        let length = data.len() as u32;
        let mut body = Vec::new();
        for value in [interface, (ticks >> 32) as u32, ticks as u32, length, length + 100] {
            body.extend(word(value));
        }
        body.extend(data);
        body.resize(body.len().next_multiple_of(4), 0);
        body
    }

    fn file(big: bool, link_type: u16, options: &[(u16, &[u8])], packet_interface: u32, ticks: u64) -> Vec<u8> {
        let word = if big { u32::to_be_bytes } else { u32::to_le_bytes };
        let mut bytes = section(word);
        block(&mut bytes, word, 1, &interface(big, link_type, options));
        block(&mut bytes, word, 5, &[0; 16]); // statistics, skipped
        block(&mut bytes, word, 6, &enhanced(word, packet_interface, ticks, b"hello"));
        bytes
    }

    #[test]
    fn both_byte_orders_with_the_default_resolution() {
        for big in [false, true] {
            let packets = read_all(&file(big, 1, &[], 0, 0x1_0000_0001)).expect("a correct file");
            assert_eq!(packets[0].data(), b"hello");
            assert_eq!(packets[0].timestamp_ns, 0x1_0000_0001 * 1000);
            assert_eq!(packets[0].original_length, 105);
        }
    }

    #[test]
    fn resolutions_and_offsets() {
        let time = |options: &[(u16, &[u8])], ticks| {
            read_all(&file(false, 1, options, 0, ticks)).expect("a correct file")[0].timestamp_ns
        };
        assert_eq!(time(&[(9, &[9])], 42), 42);
        assert_eq!(time(&[(9, &[3])], 42), 42_000_000);
        assert_eq!(time(&[(9, &[12])], 42_999), 42);
        assert_eq!(time(&[(9, &[0x80 | 10])], 512), 500_000_000);
        assert_eq!(time(&[(9, &[127])], u64::MAX), 0);
        assert_eq!(time(&[(9, &[0])], u64::MAX), u64::MAX);
        let five_seconds = 5i64.to_le_bytes();
        assert_eq!(time(&[(9, &[9]), (14, &five_seconds)], 1), 5_000_000_001);
        assert_eq!(
            time(&[(0, &[]), (9, &[9])], 42),
            42_000,
            "options end at the end marker"
        );
    }

    #[test]
    fn packets_of_other_or_unknown_interfaces_are_errors() {
        let error = read_all(&file(false, 113, &[], 0, 0)).expect_err("Linux cooked capture");
        assert_eq!(error.problem, Problem::LinkType { found: 113 });
        let error = read_all(&file(false, 1, &[], 3, 0)).expect_err("no interface 3");
        assert!(matches!(error.problem, Problem::Block { .. }));
        assert_eq!(error.offset, 28 + 20 + 28);
    }

    #[test]
    fn simple_packets_and_a_second_section_of_the_other_order() {
        let mut bytes = file(false, 1, &[], 0, 1);
        bytes.extend(section(u32::to_be_bytes));
        block(&mut bytes, u32::to_be_bytes, 1, &interface(true, 1, &[]));
        block(&mut bytes, u32::to_be_bytes, 3, b"\0\0\0\x05simple\0\0");
        let packets = read_all(&bytes).expect("a correct file");
        assert_eq!(packets.len(), 2);
        assert_eq!(packets[1].data(), b"simpl");
    }

    #[test]
    fn lengths_that_differ_are_an_error() {
        let mut bytes = file(false, 1, &[], 0, 1);
        let last = bytes.len() - 4;
        bytes[last] ^= 4;
        let what = "its two lengths differ";
        let expected = PcapError {
            offset: 76,
            problem: Problem::Block { what },
        };
        assert_eq!(read_all(&bytes), Err(expected));
    }
}
