//! The messages of memif, version 2.0 (`memif.h` of libmemif, VPP and DPDK describe the same).
//!
//! A message has 128 bytes: its type, and fields without gaps in the machine's byte order. A descriptor may come beside
//! it. The server greets; the client tells which interface it wants, hands over its memory and its rings, and connects;
//! every message is answered before the next is sent.

/// Bytes of a message.
pub(crate) const MESSAGE_BYTES: usize = 128;

/// Version 2.0, the only one there is.
pub(crate) const VERSION: u16 = 0x0200;

/// Bytes of a name, the last one zero.
const NAME_BYTES: usize = 32;

/// Bytes of a secret.
pub(crate) const SECRET_BYTES: usize = 24;

/// Bytes of a reason.
const REASON_BYTES: usize = 96;

/// Frames are Ethernet frames.
const ETHERNET: u8 = 0;

/// A ring carries packets from the client to the server.
const TO_SERVER: u16 = 1;

/// Fields after the type.
const BODY: usize = 2;

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message {
    /// The last message is understood.
    Ack,
    /// A server's limits.
    Hello(Hello),
    /// The interface that a client requests.
    Init(Init),
    /// Memory, whose descriptor comes beside it.
    AddRegion {
        /// How descriptors name it.
        index: u16,
        /// Its length in bytes.
        bytes: u64,
    },
    /// A ring, whose event comes beside it.
    AddRing(AddRing),
    /// The client is ready.
    Connect {
        /// Its interface.
        name: String,
    },
    /// The server is ready.
    Connected {
        /// Its interface.
        name: String,
    },
    /// The connection ends.
    Disconnect {
        /// Why, in words.
        reason: String,
    },
}

/// What a server allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hello {
    /// Its name.
    pub(crate) name: String,
    /// The oldest version that it speaks.
    pub(crate) oldest: u16,
    /// The newest version that it speaks.
    pub(crate) newest: u16,
    /// The largest index of a region.
    pub(crate) last_region: u16,
    /// The largest index of a ring from the server to the client.
    pub(crate) last_ring_to_client: u16,
    /// The largest index of a ring from the client to the server.
    pub(crate) last_ring_to_server: u16,
    /// The binary logarithm of the most descriptors of a ring.
    pub(crate) ring_exponent: u8,
}

/// The request of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Init {
    /// The version that it speaks.
    pub(crate) version: u16,
    /// The number of the interface at the server.
    pub(crate) id: u32,
    /// Whether it carries Ethernet frames.
    pub(crate) is_ethernet: bool,
    /// What it must know; all zeroes for nothing.
    pub(crate) secret: [u8; SECRET_BYTES],
    /// Its name.
    pub(crate) name: String,
}

/// A ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AddRing {
    /// It carries packets from the client to the server.
    pub(crate) to_server: bool,
    /// Its index among those of its direction.
    pub(crate) index: u16,
    /// The region in which it lies.
    pub(crate) region: u16,
    /// Where it begins there, in bytes.
    pub(crate) offset: u32,
    /// The binary logarithm of its descriptors.
    pub(crate) exponent: u8,
}

/// Fields of a message, written or read one after another.
struct Fields {
    bytes: [u8; MESSAGE_BYTES],
    at: usize,
}

impl Fields {
    fn write(kind: u16) -> Fields {
        let mut fields = Fields {
            bytes: [0; MESSAGE_BYTES],
            at: 0,
        };
        fields.put(&kind.to_ne_bytes());
        fields
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    /// Text in a field of `length` bytes, the last one zero.
    fn put_text(&mut self, text: &str, length: usize) {
        let end = self.at + length;
        let bytes = text.as_bytes();
        self.put(&bytes[..bytes.len().min(length - 1)]);
        self.at = end;
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        let field = self.bytes[self.at..]
            .first_chunk()
            .expect("fields are shorter than a message");
        self.at += N;
        *field
    }

    fn take16(&mut self) -> u16 {
        u16::from_ne_bytes(self.take())
    }

    fn take32(&mut self) -> u32 {
        u32::from_ne_bytes(self.take())
    }

    fn take_text<const N: usize>(&mut self) -> String {
        let field: [u8; N] = self.take();
        let end = field.iter().position(|byte| *byte == 0).unwrap_or(N);
        String::from_utf8_lossy(&field[..end]).into_owned()
    }
}

impl Message {
    /// Its bytes.
    pub(crate) fn encode(&self) -> [u8; MESSAGE_BYTES] {
        let mut fields = Fields::write(self.kind());
        match self {
            Message::Ack => {}
            Message::Hello(hello) => {
                fields.put_text(&hello.name, NAME_BYTES);
                for number in [
                    hello.oldest,
                    hello.newest,
                    hello.last_region,
                    hello.last_ring_to_client,
                    hello.last_ring_to_server,
                ] {
                    fields.put(&number.to_ne_bytes());
                }
                fields.put(&[hello.ring_exponent]);
            }
            Message::Init(init) => {
                fields.put(&init.version.to_ne_bytes());
                fields.put(&init.id.to_ne_bytes());
                fields.put(&[if init.is_ethernet { ETHERNET } else { 1 }]);
                fields.put(&init.secret);
                fields.put_text(&init.name, NAME_BYTES);
            }
            Message::AddRegion { index, bytes } => {
                fields.put(&index.to_ne_bytes());
                fields.put(&bytes.to_ne_bytes());
            }
            Message::AddRing(ring) => {
                let flags = if ring.to_server { TO_SERVER } else { 0 };
                fields.put(&flags.to_ne_bytes());
                fields.put(&ring.index.to_ne_bytes());
                fields.put(&ring.region.to_ne_bytes());
                fields.put(&ring.offset.to_ne_bytes());
                fields.put(&[ring.exponent]);
            }
            Message::Connect { name } | Message::Connected { name } => fields.put_text(name, NAME_BYTES),
            Message::Disconnect { reason } => {
                fields.put(&[0; 4]);
                fields.put_text(reason, REASON_BYTES);
            }
        }
        fields.bytes
    }

    fn kind(&self) -> u16 {
        match self {
            Message::Ack => 1,
            Message::Hello(_) => 2,
            Message::Init(_) => 3,
            Message::AddRegion { .. } => 4,
            Message::AddRing(_) => 5,
            Message::Connect { .. } => 6,
            Message::Connected { .. } => 7,
            Message::Disconnect { .. } => 8,
        }
    }

    /// Reads a message; none for a type that there is not.
    pub(crate) fn decode(bytes: &[u8; MESSAGE_BYTES]) -> Option<Message> {
        let kind = u16::from_ne_bytes([bytes[0], bytes[1]]);
        let mut fields = Fields {
            bytes: *bytes,
            at: BODY,
        };
        Some(match kind {
            1 => Message::Ack,
            2 => Message::Hello(Hello {
                name: fields.take_text::<NAME_BYTES>(),
                oldest: fields.take16(),
                newest: fields.take16(),
                last_region: fields.take16(),
                last_ring_to_client: fields.take16(),
                last_ring_to_server: fields.take16(),
                ring_exponent: fields.take::<1>()[0],
            }),
            3 => Message::Init(Init {
                version: fields.take16(),
                id: fields.take32(),
                is_ethernet: fields.take::<1>()[0] == ETHERNET,
                secret: fields.take(),
                name: fields.take_text::<NAME_BYTES>(),
            }),
            4 => Message::AddRegion {
                index: fields.take16(),
                bytes: u64::from_ne_bytes(fields.take()),
            },
            5 => Message::AddRing(AddRing {
                to_server: fields.take16() & TO_SERVER != 0,
                index: fields.take16(),
                region: fields.take16(),
                offset: fields.take32(),
                exponent: fields.take::<1>()[0],
            }),
            6 => Message::Connect {
                name: fields.take_text::<NAME_BYTES>(),
            },
            7 => Message::Connected {
                name: fields.take_text::<NAME_BYTES>(),
            },
            8 => {
                fields.take32();
                Message::Disconnect {
                    reason: fields.take_text::<REASON_BYTES>(),
                }
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_come_back() {
        let name = || "a name".to_owned();
        for message in [
            Message::Ack,
            Message::Hello(Hello {
                name: name(),
                oldest: VERSION,
                newest: VERSION,
                last_region: 255,
                last_ring_to_client: 3,
                last_ring_to_server: 4,
                ring_exponent: 14,
            }),
            Message::Init(Init {
                version: VERSION,
                id: 7,
                is_ethernet: true,
                secret: *b"a secret of 24 bytes ...",
                name: name(),
            }),
            Message::AddRegion {
                index: 1,
                bytes: 1 << 33,
            },
            Message::AddRing(AddRing {
                to_server: true,
                index: 2,
                region: 1,
                offset: 4096,
                exponent: 10,
            }),
            Message::Connect { name: name() },
            Message::Connected { name: name() },
            Message::Disconnect { reason: name() },
        ] {
            assert_eq!(Message::decode(&message.encode()), Some(message));
        }
    }

    #[test]
    fn fields_lie_where_others_expect_them() {
        let init = Init {
            version: VERSION,
            id: 0x0403_0201,
            is_ethernet: true,
            secret: [b's'; SECRET_BYTES],
            name: "forebay".to_owned(),
        };
        let bytes = Message::Init(init).encode();
        assert_eq!(&bytes[..9], &[3, 0, 0, 2, 1, 2, 3, 4, 0]);
        assert_eq!((bytes[9], bytes[32], &bytes[33..40]), (b's', b's', &b"forebay"[..]));
        let region = Message::AddRegion {
            index: 0x0201,
            bytes: 5,
        }
        .encode();
        assert_eq!(&region[..12], &[4, 0, 1, 2, 5, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn long_names_are_cut() {
        let message = Message::Connect { name: "x".repeat(99) };
        let Some(Message::Connect { name }) = Message::decode(&message.encode()) else {
            panic!("the same type")
        };
        assert_eq!(name.len(), NAME_BYTES - 1);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_none(bytes in proptest::array::uniform32(any::<u8>())) {
            let mut message = [0; MESSAGE_BYTES];
            // Names are text, of which only ASCII comes back as it was.
            message[..32].copy_from_slice(&bytes.map(|byte| byte & 0x7F));
            message[1] = 0;
            message[0] %= 10;
            if let Some(message) = Message::decode(&message) {
                prop_assert_eq!(Message::decode(&message.encode()), Some(message));
            }
        }
    }
}
