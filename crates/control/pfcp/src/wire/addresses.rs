//! Elements with addresses in them.

use super::{Fault, Reader, Value, Writer};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An IPv4 address, an IPv6 address, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Addresses {
    pub v4: Option<Ipv4Addr>,
    pub v6: Option<Ipv6Addr>,
}

impl Addresses {
    fn read(reader: &mut Reader<'_>, has_v4: bool, has_v6: bool) -> Result<Addresses, Fault> {
        let v4 = has_v4.then(|| reader.array::<4>()).transpose()?;
        let v6 = has_v6.then(|| reader.array::<16>()).transpose()?;
        Ok(Addresses {
            v4: v4.map(Ipv4Addr::from),
            v6: v6.map(Ipv6Addr::from),
        })
    }

    fn write(&self, writer: &mut Writer) {
        if let Some(v4) = self.v4 {
            writer.bytes(&v4.octets());
        }
        if let Some(v6) = self.v6 {
            writer.bytes(&v6.octets());
        }
    }

    /// One of them, IPv4 if there is one.
    pub fn any(&self) -> Option<IpAddr> {
        self.v4.map(IpAddr::V4).or(self.v6.map(IpAddr::V6))
    }

    /// Bits for the addresses that there are.
    fn flags(&self, v4: u8, v6: u8) -> u8 {
        self.v4.map_or(0, |_| v4) | self.v6.map_or(0, |_| v6)
    }
}

impl From<IpAddr> for Addresses {
    fn from(address: IpAddr) -> Addresses {
        match address {
            IpAddr::V4(v4) => Addresses { v4: Some(v4), v6: None },
            IpAddr::V6(v6) => Addresses { v4: None, v6: Some(v6) },
        }
    }
}

/// The name of a node (§8.2.38).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeId {
    /// By its address.
    Address(IpAddr),
    /// By its name: labels, each after its length.
    Name(Vec<u8>),
}

impl Value for NodeId {
    fn read(reader: &mut Reader<'_>) -> Result<NodeId, Fault> {
        match reader.u8()? & 0x0f {
            0 => Ok(NodeId::Address(IpAddr::from(reader.array::<4>()?))),
            1 => Ok(NodeId::Address(IpAddr::from(reader.array::<16>()?))),
            // Names are the same in capitals (RFC 1035 §2.3.3); lengths of labels are below 64, so no letters.
            2 if (1..=255).contains(&reader.rest().len()) => Ok(NodeId::Name(reader.rest().to_ascii_lowercase())),
            2 => Err(Fault::Short),
            _ => Err(Fault::Wrong),
        }
    }
}

impl NodeId {
    /// Writes it.
    pub fn write(&self, writer: &mut Writer) {
        match self {
            NodeId::Address(IpAddr::V4(address)) => {
                writer.u8(0);
                writer.bytes(&address.octets());
            }
            NodeId::Address(IpAddr::V6(address)) => {
                writer.u8(1);
                writer.bytes(&address.octets());
            }
            NodeId::Name(labels) => {
                writer.u8(2);
                writer.bytes(labels);
            }
        }
    }
}

impl std::fmt::Display for NodeId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let labels = match self {
            NodeId::Address(address) => return write!(formatter, "{address}"),
            NodeId::Name(labels) => labels,
        };
        let mut reader = Reader::new(labels);
        let mut dot = "";
        while let Ok(length) = reader.u8() {
            let label = reader.bytes(usize::from(length)).unwrap_or(reader.rest());
            write!(formatter, "{dot}{}", label.escape_ascii())?;
            dot = ".";
        }
        Ok(())
    }
}

/// A session at one side (§8.2.37).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FSeid {
    /// The number that this side gives the session.
    pub seid: u64,
    /// Where messages about the session are sent.
    pub addresses: Addresses,
}

impl Value for FSeid {
    fn read(reader: &mut Reader<'_>) -> Result<FSeid, Fault> {
        let flags = reader.u8()?;
        if flags & 3 == 0 {
            return Err(Fault::Wrong);
        }
        let seid = reader.u64()?;
        let addresses = Addresses::read(reader, flags & 2 != 0, flags & 1 != 0)?;
        Ok(FSeid { seid, addresses })
    }
}

impl FSeid {
    /// Writes it.
    pub fn write(&self, writer: &mut Writer) {
        writer.u8(self.addresses.flags(2, 1));
        writer.u64(self.seid);
        self.addresses.write(writer);
    }
}

/// The end of a tunnel (§8.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FTeid {
    /// A tunnel that is known.
    Given {
        /// Its identifier at the address.
        teid: u32,
        /// Where it ends.
        addresses: Addresses,
    },
    /// One that the UPF chooses.
    Choose {
        /// Whether it ends at an IPv4 address.
        v4: bool,
        /// Whether it ends at an IPv6 address.
        v6: bool,
        /// PDRs with the same number get the same one.
        id: Option<u8>,
    },
}

impl Value for FTeid {
    fn read(reader: &mut Reader<'_>) -> Result<FTeid, Fault> {
        let flags = reader.u8()?;
        let (v4, v6) = (flags & 1 != 0, flags & 2 != 0);
        if !v4 && !v6 {
            return Err(Fault::Wrong);
        }
        if flags & 4 != 0 {
            let id = (flags & 8 != 0).then(|| reader.u8()).transpose()?;
            return Ok(FTeid::Choose { v4, v6, id });
        }
        let teid = reader.u32()?;
        let addresses = Addresses::read(reader, v4, v6)?;
        Ok(FTeid::Given { teid, addresses })
    }
}

impl FTeid {
    /// Writes it.
    pub fn write(&self, writer: &mut Writer) {
        match self {
            FTeid::Given { teid, addresses } => {
                writer.u8(addresses.flags(1, 2));
                writer.u32(*teid);
                addresses.write(writer);
            }
            FTeid::Choose { v4, v6, id } => {
                writer.u8(u8::from(*v4) | u8::from(*v6) << 1 | 4 | id.map_or(0, |_| 8));
                if let Some(id) = id {
                    writer.u8(*id);
                }
            }
        }
    }
}

/// The address of a UE (§8.2.62).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct UeAddress {
    /// The addresses; for IPv6 any of the UE's prefix.
    pub addresses: Addresses,
    /// Whether packets have it as their destination (the UE receives them).
    pub is_destination: bool,
    /// Whether the UPF chooses an address: IPv4, IPv6.
    pub chooses: (bool, bool),
    /// The length of the IPv6 prefix, 64 if it is not said.
    pub prefix_length: u8,
}

impl Value for UeAddress {
    fn read(reader: &mut Reader<'_>) -> Result<UeAddress, Fault> {
        let flags = reader.u8()?;
        let has = |bit: u8| flags & 1 << (bit - 1) != 0;
        let addresses = Addresses::read(reader, has(2), has(1))?;
        // Bits by which the UE may delegate parts of its prefix: they do not change where packets go.
        let delegated = has(4).then(|| reader.u8()).transpose()?.unwrap_or(0);
        let said = has(7).then(|| reader.u8()).transpose()?;
        let prefix_length = match addresses.v6 {
            Some(_) => said.unwrap_or(64u8.saturating_sub(delegated)),
            None => 64,
        };
        match prefix_length {
            1..=128 => Ok(UeAddress {
                addresses,
                is_destination: has(3),
                chooses: (has(5), has(6)),
                prefix_length,
            }),
            _ => Err(Fault::Wrong),
        }
    }
}

impl UeAddress {
    /// Writes it.
    pub fn write(&self, writer: &mut Writer) {
        let has_length = self.addresses.v6.is_some() && self.prefix_length != 64;
        let chosen = u8::from(self.chooses.0) << 4 | u8::from(self.chooses.1) << 5;
        let flags = self.addresses.flags(2, 1) | u8::from(self.is_destination) << 2 | chosen;
        writer.u8(flags | u8::from(has_length) << 6);
        self.addresses.write(writer);
        if has_length {
            writer.u8(self.prefix_length);
        }
    }
}

/// A header that is put around packets (§8.2.56): a GTP-U tunnel. Other kinds are not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OuterHeader {
    /// The tunnel at the peer.
    pub teid: u32,
    /// The peer.
    pub peer: IpAddr,
}

impl Value for OuterHeader {
    fn read(reader: &mut Reader<'_>) -> Result<OuterHeader, Fault> {
        // The first octet says which header; those of N6 and of VLANs are others.
        let kind = reader.u16()? >> 8;
        let (v4, v6) = (kind & 1 != 0, kind & 2 != 0);
        if kind & !3 != 0 || !v4 && !v6 {
            return Err(Fault::Wrong);
        }
        let teid = reader.u32()?;
        let addresses = Addresses::read(reader, v4, v6)?;
        let peer = addresses.any().ok_or(Fault::Wrong)?;
        Ok(OuterHeader { teid, peer })
    }
}

impl OuterHeader {
    /// Writes it.
    pub fn write(&self, writer: &mut Writer) {
        let addresses = Addresses::from(self.peer);
        writer.u16(u16::from(addresses.flags(1, 2)) << 8);
        writer.u32(self.teid);
        addresses.write(writer);
    }
}
