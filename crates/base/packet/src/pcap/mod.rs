//! Capture files: classic pcap and pcapng are read and written.
//!
//! [`Reader`] looks at the first four bytes and reads whatever it finds: classic pcap in both byte
//! orders with micro- or nanoseconds (draft-ietf-opsawg-pcap), or pcapng
//! (draft-ietf-opsawg-pcapng). One record at a time goes into a [`Packet`], so memory is
//! bounded by [`MAX_RECORD_BYTES`] whatever the file claims. Every error carries the offset of the
//! byte where the record, block or header at fault begins.
//!
//! Only Ethernet is accepted (link type 1): the P4 programs of this platform start at an Ethernet
//! header, and a file of another link type would silently parse as nonsense.

mod blocks;
mod classic;
mod error;
mod ng_writer;
mod source;
mod writer;

use std::io::Read;

pub use error::{PcapError, Problem};
pub use ng_writer::{Direction, NgPacket, NgWriter, Verdict};
pub use writer::{TimestampUnit, Writer};

use crate::{FRAME_BYTES_MAX, Packet};
use source::Source;

/// The longest packet a file may hold, in bytes: what tcpdump and Wireshark accept.
pub const MAX_RECORD_BYTES: usize = 262_144;

/// Link type of Ethernet (LINKTYPE_ETHERNET).
pub const LINK_TYPE_ETHERNET: u16 = 1;

/// Reads packets from a capture file of any supported form.
pub struct Reader<R> {
    source: Source<R>,
    format: Format,
}

/// What the file turned out to be, with what its headers said.
enum Format {
    Classic(classic::Header),
    Blocks(blocks::Section),
}

impl<R: Read> Reader<R> {
    /// Reads the file header.
    ///
    /// # Errors
    /// When the file is not a capture file, is of a link type other than Ethernet, or cannot be
    /// read.
    pub fn new(input: R) -> Result<Reader<R>, PcapError> {
        let mut source = Source::new(input);
        let magic = source.array::<4>()?;
        let format = match magic {
            blocks::SECTION_HEADER => Format::Blocks(blocks::Section::read(&mut source)?),
            _ => Format::Classic(classic::Header::read(&mut source, magic)?),
        };
        Ok(Reader { source, format })
    }

    /// Reads the next packet into `packet` (data, time, original length); false at the end.
    ///
    /// # Errors
    /// When the file is damaged or ends within a record. Reading on after an error gives errors
    /// or nonsense, never a panic.
    pub fn read(&mut self, packet: &mut Packet) -> Result<bool, PcapError> {
        match &mut self.format {
            Format::Classic(header) => header.read_record(&mut self.source, packet),
            Format::Blocks(section) => section.read_packet(&mut self.source, packet),
        }
    }
}

/// Reads every packet of a file that is already in memory, as frames that ports receive.
///
/// # Errors
/// As [`Reader::new`] and [`Reader::read`], and for a packet of more than [`FRAME_BYTES_MAX`] bytes.
pub fn read_all(bytes: &[u8]) -> Result<Vec<Packet>, PcapError> {
    let mut reader = Reader::new(bytes)?;
    let mut packets = Vec::new();
    let mut packet = Packet::new();
    while reader.read(&mut packet)? {
        if packet.len() > FRAME_BYTES_MAX {
            return Err(reader.source.error(Problem::FrameTooLong {
                number: packets.len() + 1,
                bytes: packet.len(),
            }));
        }
        packets.push(std::mem::take(&mut packet));
    }
    Ok(packets)
}
