//! Frames and packets within packets.
//!
//! | in | after | what may be within |
//! |---|---|---|
//! | VXLAN (RFC 7348) | UDP | a frame |
//! | GRE (RFC 2784) | IP | a frame, labels of MPLS, a packet of IP, or bytes |
//! | GTP-U (3GPP TS 29.281) | UDP | a packet of IP, or bytes |
//! | nothing | IP, UDP | a packet of IP (RFC 2003, RFC 4213; after UDP variant 1 of GUE); after UDP labels of MPLS, too (RFC 7510) |

use super::layers::{check_checksum, check_number};
use super::{
    Defaults, Headers, Inner, LARGEST_8, LARGEST_12, LARGEST_24, LARGEST_32, LARGEST_WORD, Layers, TUNNELS_MAX,
};
use crate::field::{Field, number};
use crate::node::{Node, Wrong};
use forebay_packet::checksum::Sum;

/// The UDP ports of VXLAN and GTP-U.
const VXLAN_PORT: u128 = 4789;
const GTP_PORT: u128 = 2152;

/// What GRE calls a frame of Ethernet, and what the API gives packets that nothing follows.
const BRIDGED: u16 = 0x6558;
const GRE_PROTOCOL: u128 = 0x0800;

/// The numbers of the protocols that follow an IP header without a transport header.
const IN_IP: [(&str, u128); 3] = [("ipv4", 4), ("ipv6", 41), ("gre", 47)];

/// What may follow UDP, and the port that is its own.
const IN_UDP: [(&str, u128); 5] = [
    ("vxlan", VXLAN_PORT),
    ("gtpv1", GTP_PORT),
    ("mpls", 0),
    ("ipv4", 0),
    ("ipv6", 0),
];

/// The flags of GTP-U that come with four more bytes: an extension header, a sequence number, an N-PDU number.
const GTP_FLAGS: [&str; 3] = ["e_flag", "s_flag", "pn_flag"];

/// The bytes of a header of GTP-U that its length leaves out.
const GTP_BYTES: usize = 8;

/// Headers after a packet's own, and what they carry.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tunnel {
    header: TunnelHeader,
    pub(super) headers: Headers,
}

#[derive(Clone, Debug, PartialEq)]
enum TunnelHeader {
    /// What is carried follows at once.
    None,
    Vxlan(Box<VxlanFields>),
    Gre(Box<GreFields>),
    Gtp(Box<GtpFields>),
}

/// The flags, two reserved fields with 24 and 8 bits, and the identifier of the network.
#[derive(Clone, Debug, PartialEq)]
struct VxlanFields {
    flags: Field,
    reserved: (Field, Field),
    network: Field,
}

#[derive(Clone, Debug, PartialEq)]
struct GreFields {
    has_checksum: Field,
    reserved: (Field, Field),
    version: Field,
}

#[derive(Clone, Debug, PartialEq)]
struct GtpFields {
    version: Field,
    protocol_type: Field,
    reserved: Field,
    flags: Vec<Field>,
    message_type: Field,
    /// The right one where it is none.
    message_length: Option<Field>,
    tunnel: Field,
    sequence: Field,
    pdu: Field,
    next_extension: Field,
}

/// The number of the protocol that follows an IP header, if what comes next is a tunnel.
pub(super) fn in_ip(layers: &mut Layers<'_>, depth: usize) -> Result<Option<(&'static str, u128)>, Wrong> {
    next_of(layers, &IN_IP, depth)
}

/// The port of UDP, if what comes next is a tunnel.
pub(super) fn in_udp(layers: &mut Layers<'_>, depth: usize) -> Result<Option<u128>, Wrong> {
    Ok(next_of(layers, &IN_UDP, depth)?.map(|(_, port)| port))
}

fn next_of(
    layers: &mut Layers<'_>,
    all: &[(&'static str, u128)],
    depth: usize,
) -> Result<Option<(&'static str, u128)>, Wrong> {
    for (name, number) in all {
        if depth < TUNNELS_MAX && layers.is_next(name)? {
            return Ok(Some((*name, *number)));
        }
    }
    Ok(None)
}

impl Tunnel {
    /// Reads the headers that come next, which are `depth` tunnels deep.
    pub(super) fn read(packet: &Node<'_>, layers: &mut Layers<'_>, depth: usize) -> Result<Tunnel, Wrong> {
        let header = layers.next(&["vxlan", "gre", "gtpv1"])?;
        let name = header.as_ref().map_or("", |(name, _)| name.as_str());
        let is_frame = name == "vxlan" || name == "gre" && layers.is_next("ethernet")?;
        let mut headers = if is_frame {
            Headers::read_frame(packet, layers, &Defaults::default(), depth)?
        } else {
            Headers::read_packet(packet, layers, depth)?
        };
        let header = match &header {
            Some((name, node)) if name == "gre" => TunnelHeader::Gre(Box::new(gre(node, &mut headers)?)),
            Some((name, node)) if name == "gtpv1" => TunnelHeader::Gtp(Box::new(gtp(node)?)),
            Some((_, node)) => TunnelHeader::Vxlan(Box::new(vxlan(node)?)),
            None => TunnelHeader::None,
        };
        Ok(Tunnel { header, headers })
    }

    pub(super) fn fields(&self) -> Vec<&Field> {
        let mut fields = match &self.header {
            TunnelHeader::None => Vec::new(),
            TunnelHeader::Vxlan(own) => vec![&own.flags, &own.reserved.0, &own.reserved.1, &own.network],
            TunnelHeader::Gre(own) => vec![&own.has_checksum, &own.reserved.0, &own.reserved.1, &own.version],
            TunnelHeader::Gtp(own) => own.fields(),
        };
        fields.extend(self.headers.fields());
        fields
    }

    pub(super) fn build(&self, frame: usize, payload: &[u8]) -> Vec<u8> {
        let carried = self.headers.build(frame, payload);
        match &self.header {
            TunnelHeader::None => carried,
            TunnelHeader::Vxlan(own) => [own.at(frame), carried].concat(),
            TunnelHeader::Gre(own) => {
                let protocol = if self.headers.link.is_some() {
                    BRIDGED
                } else {
                    self.headers.ether_type(frame)
                };
                own.build(frame, protocol, carried)
            }
            TunnelHeader::Gtp(own) => own.build(frame, carried),
        }
    }
}

fn vxlan(node: &Node<'_>) -> Result<VxlanFields, Wrong> {
    node.object(&["flags", "reserved0", "vni", "reserved1"])?;
    Ok(VxlanFields {
        flags: Field::read(&node.at("flags"), 8, LARGEST_8, number)?,
        reserved: (
            Field::read(&node.at("reserved0"), 0, LARGEST_24, number)?,
            Field::read(&node.at("reserved1"), 0, LARGEST_8, number)?,
        ),
        network: Field::read(&node.at("vni"), 0, LARGEST_24, number)?,
    })
}

impl VxlanFields {
    fn at(&self, frame: usize) -> Vec<u8> {
        let word = |high: &Field, bits: u32, low: &Field| (high.at(frame) as u32) << bits | low.at(frame) as u32;
        let first = word(&self.flags, 24, &self.reserved.0).to_be_bytes();
        let second = word(&self.network, 8, &self.reserved.1).to_be_bytes();
        [first, second].concat()
    }
}

/// The protocol is the one of what follows; where that is bytes alone, the script says it.
fn gre(node: &Node<'_>, carried: &mut Headers) -> Result<GreFields, Wrong> {
    node.object(&[
        "checksum_present",
        "reserved0",
        "version",
        "protocol",
        "checksum",
        "reserved1",
    ])?;
    check_checksum(&node.at("checksum"))?;
    let protocol = node.at("protocol");
    let is_bytes = carried.link.is_none() && carried.labels.is_empty();
    if let Inner::Payload(own) = &mut carried.inner
        && is_bytes
    {
        *own = Field::read(&protocol, GRE_PROTOCOL, LARGEST_WORD, number)?;
    } else if carried.link.is_some() {
        check_number(&protocol, BRIDGED.into(), "ethernet")?;
    } else {
        check_number(&protocol, carried.ether_type(0).into(), "what follows")?;
    }
    Ok(GreFields {
        has_checksum: Field::read(&node.at("checksum_present"), 0, 1, number)?,
        reserved: (
            Field::read(&node.at("reserved0"), 0, LARGEST_12, number)?,
            Field::read(&node.at("reserved1"), 0, LARGEST_WORD, number)?,
        ),
        version: Field::read(&node.at("version"), 0, 7, number)?,
    })
}

impl GreFields {
    fn build(&self, frame: usize, protocol: u16, carried: Vec<u8>) -> Vec<u8> {
        let has_checksum = self.has_checksum.at(frame) == 1;
        let flags =
            u16::from(has_checksum) << 15 | (self.reserved.0.at(frame) as u16) << 3 | self.version.at(frame) as u16;
        let mut built = [flags.to_be_bytes(), protocol.to_be_bytes()].concat();
        if has_checksum {
            built.extend([0, 0]);
            built.extend((self.reserved.1.at(frame) as u16).to_be_bytes());
        }
        built.extend(carried);
        if has_checksum {
            let checksum = Sum::new().add_bytes(&built).checksum();
            built[4..6].copy_from_slice(&checksum.to_be_bytes());
        }
        built
    }
}

fn gtp(node: &Node<'_>) -> Result<GtpFields, Wrong> {
    let known = [
        "version",
        "protocol_type",
        "reserved",
        "message_type",
        "message_length",
        "teid",
        "squence_number",
        "n_pdu_number",
        "next_extension_header_type",
    ];
    let known: Vec<&str> = known.into_iter().chain(GTP_FLAGS).collect();
    node.object(&known)?;
    let field = |key: &'static str, default: u128, largest: u128| Field::read(&node.at(key), default, largest, number);
    let length = node.at("message_length");
    Ok(GtpFields {
        version: field("version", 1, 7)?,
        protocol_type: field("protocol_type", 1, 1)?,
        reserved: field("reserved", 0, 1)?,
        flags: (GTP_FLAGS.into_iter())
            .map(|key| field(key, 0, 1))
            .collect::<Result<_, _>>()?,
        message_type: field("message_type", 0, LARGEST_8)?,
        message_length: (length.is_there())
            .then(|| field("message_length", 0, LARGEST_WORD))
            .transpose()?,
        tunnel: field("teid", 0, LARGEST_32)?,
        // As the API spells it.
        sequence: field("squence_number", 0, LARGEST_WORD)?,
        pdu: field("n_pdu_number", 0, LARGEST_8)?,
        next_extension: field("next_extension_header_type", 0, LARGEST_8)?,
    })
}

impl GtpFields {
    fn fields(&self) -> Vec<&Field> {
        let mut fields = vec![&self.version, &self.protocol_type, &self.reserved, &self.message_type];
        fields.extend([&self.tunnel, &self.sequence, &self.pdu, &self.next_extension]);
        fields.extend(&self.flags);
        fields.extend(&self.message_length);
        fields
    }

    fn build(&self, frame: usize, carried: Vec<u8>) -> Vec<u8> {
        let bits = [&self.protocol_type, &self.reserved].into_iter().chain(&self.flags);
        let first = bits.fold(self.version.at(frame) as u8, |all, bit| all << 1 | bit.at(frame) as u8);
        let mut built = vec![first, self.message_type.at(frame) as u8, 0, 0];
        built.extend((self.tunnel.at(frame) as u32).to_be_bytes());
        if self.flags.iter().any(|flag| flag.at(frame) == 1) {
            built.extend((self.sequence.at(frame) as u16).to_be_bytes());
            built.extend([self.pdu.at(frame) as u8, self.next_extension.at(frame) as u8]);
        }
        built.extend(carried);
        let right = (built.len() - GTP_BYTES) as u16;
        let length = self.message_length.as_ref().map_or(right, |own| own.at(frame) as u16);
        built[2..4].copy_from_slice(&length.to_be_bytes());
        built
    }
}
