//! Classic pcap: a 24-byte file header, then records of a 16-byte header and the packet.
//!
//! ```text
//!   file header:   magic | major, minor | zone | accuracy | snapshot length | link type
//!   record header: seconds | fraction | captured length | original length
//! ```

use std::io::Read;

use super::error::{PcapError, Problem};
use super::source::{Order, Source};
use super::{LINK_TYPE_ETHERNET, MAX_RECORD_BYTES};
use crate::Packet;

/// Magic number of files with microseconds.
pub(super) const MAGIC_MICROSECONDS: u32 = 0xa1b2_c3d4;

/// Magic number of files with nanoseconds.
pub(super) const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;

/// What the file header said.
pub(super) struct Header {
    order: Order,
    nanoseconds_per_fraction: u64,
}

impl Header {
    /// Reads the file header after its magic number.
    pub(super) fn read<R: Read>(source: &mut Source<R>, magic: [u8; 4]) -> Result<Header, PcapError> {
        let (order, nanoseconds_per_fraction) = [Order::Little, Order::Big]
            .into_iter()
            .find_map(|order| match order.u32(magic) {
                MAGIC_MICROSECONDS => Some((order, 1000)),
                MAGIC_NANOSECONDS => Some((order, 1)),
                _ => None,
            })
            .ok_or_else(|| source.error(Problem::NotACapture { magic }))?;
        let rest = source.array::<20>()?;
        // The upper half of the field may hold the length of the frame check sequence.
        let link_type = order.word(&rest, 4) as u16;
        if link_type != LINK_TYPE_ETHERNET {
            return Err(source.error(Problem::LinkType { found: link_type }));
        }
        Ok(Header {
            order,
            nanoseconds_per_fraction,
        })
    }

    /// Reads the next record; false at the end of the file.
    pub(super) fn read_record<R: Read>(&self, source: &mut Source<R>, packet: &mut Packet) -> Result<bool, PcapError> {
        let Some(header) = source.begin::<16>()? else {
            return Ok(false);
        };
        let [seconds, fraction, captured, original] = [0, 1, 2, 3].map(|index| self.order.word(&header, index));
        if captured as usize > MAX_RECORD_BYTES {
            let what = "a packet";
            return Err(source.error(Problem::Length {
                what,
                length: u64::from(captured),
            }));
        }
        source.packet(packet, captured as usize)?;
        packet.original_length = original;
        packet.timestamp_ns =
            (u64::from(seconds) * 1_000_000_000).saturating_add(u64::from(fraction) * self.nanoseconds_per_fraction);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use crate::pcap::{PcapError, Problem, read_all};

    /// A file of one three-byte packet at 7.5 s, every integer written by `word`.
    fn file(magic: u32, link_type: u32, word: fn(u32) -> [u8; 4]) -> Vec<u8> {
        let half = if magic == super::MAGIC_NANOSECONDS {
            500_000_000
        } else {
            500_000
        };
        let mut bytes = Vec::new();
        for value in [magic, 0x0004_0002, 0, 0, 65535, link_type, 7, half, 3, 90] {
            bytes.extend(word(value));
        }
        bytes.extend(b"abc");
        bytes
    }

    #[test]
    fn both_byte_orders_and_both_units_are_read() {
        for magic in [super::MAGIC_MICROSECONDS, super::MAGIC_NANOSECONDS] {
            for word in [u32::to_le_bytes as fn(u32) -> [u8; 4], u32::to_be_bytes] {
                let packets = read_all(&file(magic, 1, word)).expect("a correct file");
                assert_eq!(packets.len(), 1);
                assert_eq!(packets[0].data(), b"abc");
                assert_eq!(packets[0].timestamp_ns, 7_500_000_000);
                assert_eq!(packets[0].original_length, 90);
            }
        }
    }

    #[test]
    fn other_link_types_are_refused() {
        let bytes = file(super::MAGIC_MICROSECONDS, 101, u32::to_le_bytes);
        let error = read_all(&bytes).expect_err("raw IP is not Ethernet");
        assert_eq!(
            error,
            PcapError {
                offset: 0,
                problem: Problem::LinkType { found: 101 }
            }
        );
    }

    #[test]
    fn a_cut_file_says_where_the_record_began() {
        let bytes = file(super::MAGIC_MICROSECONDS, 1, u32::to_le_bytes);
        for length in 25..bytes.len() {
            let error = read_all(&bytes[..length]).expect_err("the record is cut");
            assert_eq!(
                error,
                PcapError {
                    offset: 24,
                    problem: Problem::Truncated
                }
            );
        }
        assert_eq!(read_all(&bytes[..24]), Ok(vec![]));
        assert_eq!(
            read_all(&bytes[..10]).expect_err("cut header").problem,
            Problem::Truncated
        );
        assert_eq!(read_all(&[]).expect_err("empty").problem, Problem::Empty);
    }

    #[test]
    fn a_huge_length_is_an_error_not_an_allocation() {
        let mut bytes = file(super::MAGIC_MICROSECONDS, 1, u32::to_le_bytes);
        bytes[32..36].copy_from_slice(&u32::MAX.to_le_bytes());
        let error = read_all(&bytes).expect_err("4 GiB packet");
        let what = "a packet";
        let problem = Problem::Length {
            what,
            length: u64::from(u32::MAX),
        };
        assert_eq!(error, PcapError { offset: 24, problem });
    }
}
