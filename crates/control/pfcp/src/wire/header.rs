//! The header of a message (§7.2.2).

use super::{Reader, Writer};

/// The version of the protocol, which has never changed.
const VERSION: u8 = 1;

/// Messages of PFCP that this UPF knows (§7.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names of the specification")]
pub enum MessageType {
    HeartbeatRequest = 1,
    HeartbeatResponse = 2,
    PfdManagementRequest = 3,
    PfdManagementResponse = 4,
    AssociationSetupRequest = 5,
    AssociationSetupResponse = 6,
    AssociationUpdateRequest = 7,
    AssociationUpdateResponse = 8,
    AssociationReleaseRequest = 9,
    AssociationReleaseResponse = 10,
    VersionNotSupportedResponse = 11,
    NodeReportRequest = 12,
    NodeReportResponse = 13,
    SessionSetDeletionRequest = 14,
    SessionSetDeletionResponse = 15,
    SessionEstablishmentRequest = 50,
    SessionEstablishmentResponse = 51,
    SessionModificationRequest = 52,
    SessionModificationResponse = 53,
    SessionDeletionRequest = 54,
    SessionDeletionResponse = 55,
    SessionReportRequest = 56,
    SessionReportResponse = 57,
}

impl MessageType {
    const ALL: &'static [MessageType] = &[
        MessageType::HeartbeatRequest,
        MessageType::HeartbeatResponse,
        MessageType::PfdManagementRequest,
        MessageType::PfdManagementResponse,
        MessageType::AssociationSetupRequest,
        MessageType::AssociationSetupResponse,
        MessageType::AssociationUpdateRequest,
        MessageType::AssociationUpdateResponse,
        MessageType::AssociationReleaseRequest,
        MessageType::AssociationReleaseResponse,
        MessageType::VersionNotSupportedResponse,
        MessageType::NodeReportRequest,
        MessageType::NodeReportResponse,
        MessageType::SessionSetDeletionRequest,
        MessageType::SessionSetDeletionResponse,
        MessageType::SessionEstablishmentRequest,
        MessageType::SessionEstablishmentResponse,
        MessageType::SessionModificationRequest,
        MessageType::SessionModificationResponse,
        MessageType::SessionDeletionRequest,
        MessageType::SessionDeletionResponse,
        MessageType::SessionReportRequest,
        MessageType::SessionReportResponse,
    ];

    fn of(number: u8) -> Option<MessageType> {
        MessageType::ALL.iter().copied().find(|kind| *kind as u8 == number)
    }

    /// Whether it answers a request.
    fn is_response(self) -> bool {
        let number = self as u8;
        // Requests between nodes are odd up to the answer to other versions, which came between.
        match number {
            ..=10 => number.is_multiple_of(2),
            _ => !number.is_multiple_of(2),
        }
    }

    /// Whether it is about a session, and has a SEID in its header.
    pub fn is_of_session(self) -> bool {
        self as u8 >= MessageType::SessionEstablishmentRequest as u8
    }
}

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The type.
    pub message: MessageType,
    /// The session at the receiver's side; 0 where the sender does not know it yet. None in messages between nodes.
    pub seid: Option<u64>,
    /// Tells requests of a sender apart; 24 bits. An answer has that of its request.
    pub sequence: u32,
}

/// Why a datagram is no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// Shorter than its header.
    Short,
    /// Shorter than it says. The header is whole.
    Length(Header),
    /// Of another version; the sequence number of its header.
    Version(u32),
    /// A type that this UPF does not know.
    UnknownType(u8),
    /// A message about a session without a SEID, or the other way round.
    Seid,
}

impl Header {
    /// Reads the header of a datagram; what follows are its elements.
    ///
    /// A second message in the datagram (flag FO) is left out: this UPF does not offer bundling.
    ///
    /// # Errors
    /// When it is no message.
    pub fn read(datagram: &[u8]) -> Result<(Header, &[u8]), HeaderError> {
        let mut reader = Reader::new(datagram);
        let short = |_| HeaderError::Short;
        let flags = reader.u8().map_err(short)?;
        let kind = reader.u8().map_err(short)?;
        let length = usize::from(reader.u16().map_err(short)?);
        let rest = reader.rest();
        let body = rest.get(..length).unwrap_or(rest);
        let mut reader = Reader::new(body);
        let has_seid = flags & 1 != 0;
        let seid = has_seid.then(|| reader.u64()).transpose().map_err(short)?;
        let sequence = reader.number(3).map_err(short)? as u32;
        reader.u8().map_err(short)?;
        if flags >> 5 != VERSION {
            // Nodes of different versions would answer each other's answers for ever.
            return Err(match MessageType::of(kind) {
                Some(kind) if kind.is_response() => HeaderError::UnknownType(kind as u8),
                _ => HeaderError::Version(sequence),
            });
        }
        let message = MessageType::of(kind).ok_or(HeaderError::UnknownType(kind))?;
        if message.is_of_session() != has_seid {
            return Err(HeaderError::Seid);
        }
        let header = Header {
            message,
            seid,
            sequence,
        };
        if length > rest.len() {
            Err(HeaderError::Length(header))
        } else {
            Ok((header, reader.rest()))
        }
    }

    /// A message with this header, whose elements the closure writes.
    pub fn message(self, elements: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.u8(VERSION << 5 | u8::from(self.seid.is_some()));
        writer.u8(self.message as u8);
        writer.u16(0);
        if let Some(seid) = self.seid {
            writer.u64(seid);
        }
        writer.bytes(&self.sequence.to_be_bytes()[1..]);
        writer.u8(0);
        elements(&mut writer);
        let mut bytes = writer.into_bytes();
        let length = (bytes.len() - 4) as u16;
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        bytes
    }
}
