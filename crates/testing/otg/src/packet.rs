//! Headers of a flow and the frames that they make.

mod layers;

use crate::field::{FRAMES_MAX, Field};
use crate::node::{Node, Wrong};
use forebay_packet::checksum::Sum;
use forebay_tester::tag::{TAG_BYTES, Tag};
use forebay_traffic::{FrameSpec, Network, Transport, VlanTag};
use layers::{
    check_number, custom, ether_type, ipv4_fields, ipv6_fields, labels, macs, tag_fields, transport, vlan, vxlan,
};

/// Bytes of the check sequence, which sizes of the API include.
pub const CHECK_SEQUENCE_BYTES: usize = 4;

/// The largest VLAN identifier.
const VLAN_MAX: u128 = 4094;

/// The headers of a flow, and the bytes that follow them.
#[derive(Clone, Debug, PartialEq)]
pub struct Headers {
    macs: (Field, Field),
    vlan: Option<(Field, Field)>,
    /// Labels of MPLS, from the outermost.
    labels: Vec<Label>,
    /// What follows the EtherType and the labels. The EtherType is that of the network header where there is one.
    inner: Inner,
    /// Another frame within one of UDP.
    tunnel: Option<Box<Tunnel>>,
    /// Bytes before the rest of the payload.
    custom: Vec<u8>,
}

/// What a frame carries.
#[derive(Clone, Debug, PartialEq)]
enum Inner {
    /// Payload alone, with this EtherType.
    Payload(Field),
    /// A network header, and a transport header or the number of a protocol.
    Network(NetworkFields, TransportFields),
}

#[derive(Clone, Debug, PartialEq)]
struct NetworkFields {
    is_ipv6: bool,
    source: Field,
    destination: Field,
    hops: Field,
    traffic_class: Field,
    /// The identification of IPv4 or the flow label of IPv6.
    identification: Field,
    /// The protocol that the header names when no transport header follows.
    protocol: Field,
    /// IPv4: the three flags and the fragment offset.
    fragment: Vec<Field>,
}

#[derive(Clone, Debug, PartialEq)]
enum TransportFields {
    Udp(Field, Field),
    Tcp(Box<TcpFields>),
    Echo(Box<EchoFields>),
    None,
}

#[derive(Clone, Debug, PartialEq)]
struct TcpFields {
    source: Field,
    destination: Field,
    sequence: Field,
    acknowledgment: Field,
    window: Field,
    /// From FIN to CWR.
    flags: Vec<Field>,
}

/// A request or an answer of ICMP or ICMPv6.
#[derive(Clone, Debug, PartialEq)]
struct EchoFields {
    kind: Field,
    code: Field,
    identifier: Field,
    sequence: Field,
}

/// A label of MPLS (RFC 3032).
#[derive(Clone, Debug, PartialEq)]
struct Label {
    label: Field,
    traffic_class: Field,
    is_bottom: Field,
    time_to_live: Field,
}

/// A header of VXLAN (RFC 7348) and the frame that follows it.
#[derive(Clone, Debug, PartialEq)]
struct Tunnel {
    /// The flags, two reserved fields with 24 and 8 bits, and the identifier of the network.
    flags: Field,
    reserved: (Field, Field),
    network: Field,
    headers: Headers,
}

const LARGEST_MAC: u128 = (1 << 48) - 1;
const LARGEST_WORD: u128 = (1 << 16) - 1;
const LARGEST_BYTE: u128 = (1 << 8) - 1;
const LARGEST_24: u128 = (1 << 24) - 1;
const LARGEST_20: u128 = (1 << 20) - 1;

/// The EtherType of MPLS, its labels at most, and the port of VXLAN.
const MPLS: u16 = 0x8847;
const LABELS_MAX: usize = 20;
const VXLAN_PORT: u128 = 4789;

/// The numbers of protocols.
pub const ICMP: u8 = 1;
pub const ICMPV6: u8 = 58;

/// Bytes of a header of IPv4, and its flags and fragment offset: where in their word each is, and its largest value.
const IPV4_BYTES: usize = 20;
const FRAGMENT: [(&str, u32, u128); 4] = [
    ("reserved", 15, 1),
    ("dont_fragment", 14, 1),
    ("more_fragments", 13, 1),
    ("fragment_offset", 0, (1 << 13) - 1),
];

/// The flags of TCP, from the lowest bit.
const TCP_FLAGS: [&str; 8] = [
    "ctl_fin", "ctl_syn", "ctl_rst", "ctl_psh", "ctl_ack", "ctl_urg", "ecn_echo", "ecn_cwr",
];

/// The EtherType of a VLAN tag.
const VLAN_ETHER_TYPE: u16 = 0x8100;

/// What the API gives frames and packets that nothing follows: EtherType, protocol of IPv4, next header of IPv6.
const ETHER_TYPE: u128 = 0xffff;
const PROTOCOL: u128 = 61;
const NEXT_HEADER: u128 = 59;

/// The bytes of custom headers at most.
const CUSTOM_BYTES_MAX: usize = 1024;

/// The order of headers that is supported.
const ORDER: &str = "packets are ethernet, at most one vlan, mpls, ipv4 or ipv6, udp, tcp, icmp (of ipv4) or icmpv6 (of ipv6), and custom bytes, in this order; all but ethernet may be left out, but udp, tcp and icmp need ipv4 or ipv6; after udp may come vxlan and such headers again";

/// The headers of a flow that are not read yet.
struct Layers<'a>(std::iter::Peekable<std::vec::IntoIter<Node<'a>>>);

impl<'a> Layers<'a> {
    /// The next header, when it is one of these.
    fn next(&mut self, names: &[&str]) -> Result<Option<(String, Node<'a>)>, Wrong> {
        let Some(layer) = self.0.peek() else { return Ok(None) };
        let (name, _) = layer.choice("custom")?;
        if !names.contains(&name) {
            return Ok(None);
        }
        let name = name.to_string();
        let node = self.0.next().map(|layer| layer.at(&name));
        Ok(node.map(|node| (name, node)))
    }

    /// Whether the next header is this one.
    fn is_next(&mut self, name: &str) -> Result<bool, Wrong> {
        match self.0.peek() {
            Some(layer) => Ok(layer.choice("custom")?.0 == name),
            None => Ok(false),
        }
    }
}

/// What fields have that are left out: what the API says unless the flow is one of devices, which is 0.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    /// Source and destination MAC address.
    pub macs: (u128, u128),
    /// The VLAN tag, if frames have one.
    pub vlan: Option<VlanTag>,
    /// Source and destination of IPv4.
    pub ipv4: (u128, u128),
    /// Source and destination of IPv6.
    pub ipv6: (u128, u128),
    /// The version of IP of a flow that says nothing of headers: whether it is IPv6.
    pub is_ipv6: Option<bool>,
}

impl Headers {
    /// Reads `packet` of a flow.
    pub fn read(packet: &Node<'_>, defaults: &Defaults) -> Result<Headers, Wrong> {
        let mut layers = Layers(packet.list()?.into_iter().peekable());
        let headers = Headers::read_layers(packet, &mut layers, defaults, false)?;
        match layers.0.next() {
            Some(rest) => Err(rest.wrong(ORDER)),
            None => Ok(headers),
        }
    }

    /// Reads the headers of a frame, which may be one within another.
    fn read_layers(
        packet: &Node<'_>,
        layers: &mut Layers<'_>,
        defaults: &Defaults,
        is_inner: bool,
    ) -> Result<Headers, Wrong> {
        // A flow that says nothing of headers has an Ethernet header, and that of IP between addresses of devices.
        let is_empty = !is_inner && layers.0.peek().is_none();
        let ethernet = match layers.next(&["ethernet"])? {
            Some((_, ethernet)) => ethernet,
            None if is_empty => packet.at("ethernet"),
            None => return Err(packet.wrong(ORDER)),
        };
        let macs = macs(&ethernet, defaults.macs)?;
        let vlan = match layers.next(&["vlan"])? {
            Some((_, node)) => Some(vlan(&node, defaults.vlan)?),
            None => defaults.vlan.map(tag_fields),
        };
        let labels = labels(layers)?;
        if !labels.is_empty() {
            check_number(&ethernet.at("ether_type"), MPLS.into(), "mpls")?;
        }
        let of_devices = defaults.is_ipv6.filter(|_| is_empty).map(|is_ipv6| {
            let name = if is_ipv6 { "ipv6" } else { "ipv4" };
            (name.to_string(), packet.at(name))
        });
        let mut tunnel = None;
        let inner = match layers.next(&["ipv4", "ipv6"])?.or(of_devices) {
            None if labels.is_empty() => Inner::Payload(ether_type(&ethernet)?),
            None => Inner::Payload(Field::one(MPLS.into())),
            Some((name, node)) => {
                let (number, echo) = if name == "ipv4" {
                    (0x0800, "icmp")
                } else {
                    (0x86dd, "icmpv6")
                };
                if labels.is_empty() {
                    check_number(&ethernet.at("ether_type"), number, &name)?;
                }
                let network = match name.as_str() {
                    "ipv4" => ipv4_fields(&node, defaults.ipv4)?,
                    _ => ipv6_fields(&node, defaults.ipv6)?,
                };
                let layer = layers.next(&["udp", "tcp", echo])?;
                let is_udp = layer.as_ref().is_some_and(|(name, _)| name == "udp");
                let is_tunnel = !is_inner && is_udp && layers.is_next("vxlan")?;
                let transport = transport(layer, &node, is_tunnel)?;
                if is_tunnel && let Some((_, node)) = layers.next(&["vxlan"])? {
                    tunnel = Some(Box::new(vxlan(packet, &node, layers)?));
                }
                Inner::Network(network, transport)
            }
        };
        let custom = layers.next(&["custom"])?.map(|(_, node)| custom(&node)).transpose()?;
        Ok(Headers {
            macs,
            vlan,
            labels,
            inner,
            tunnel,
            custom: custom.unwrap_or_default(),
        })
    }

    /// The same from the receiver to the sender: addresses and ports are exchanged, but for those of a tunnel.
    #[must_use]
    pub fn reversed(mut self) -> Headers {
        let is_tunnel = self.tunnel.is_some();
        std::mem::swap(&mut self.macs.0, &mut self.macs.1);
        if let Inner::Network(network, transport) = &mut self.inner {
            std::mem::swap(&mut network.source, &mut network.destination);
            match transport {
                TransportFields::Udp(source, destination) if !is_tunnel => std::mem::swap(source, destination),
                TransportFields::Tcp(tcp) => {
                    let tcp = tcp.as_mut();
                    std::mem::swap(&mut tcp.source, &mut tcp.destination);
                }
                _ => {}
            }
        }
        self
    }

    /// Whether frames go to the MAC address that a device has found, since the flow names none: `dst`, or `src` for
    /// frames in the other direction.
    pub fn asks_for(packet: &Node<'_>, key: &str) -> Result<bool, Wrong> {
        let layers = packet.list()?;
        let address = match layers.first() {
            Some(first) => first.at("ethernet").at(key),
            None => return Ok(true),
        };
        // An address without a choice is a value, as everywhere.
        let (choice, chosen) = address.choice("value")?;
        Ok(choice == "auto" || choice == "value" && !chosen.is_there())
    }

    /// The version of IP that `packet` of a flow names: whether it is IPv6.
    pub fn version(packet: &Node<'_>) -> Result<Option<bool>, Wrong> {
        for layer in packet.list()? {
            match layer.choice("custom")?.0 {
                "ipv4" => return Ok(Some(false)),
                "ipv6" => return Ok(Some(true)),
                _ => {}
            }
        }
        Ok(None)
    }

    /// After how many frames all fields begin again; none when that is more than [`FRAMES_MAX`].
    pub fn period(&self) -> Option<usize> {
        self.fields()
            .iter()
            .try_fold(1, |period, field| least_common_multiple(period, field.values().len()))
    }

    fn fields(&self) -> Vec<&Field> {
        let mut fields = vec![&self.macs.0, &self.macs.1];
        if let Some((identifier, priority)) = &self.vlan {
            fields.extend([identifier, priority]);
        }
        for label in &self.labels {
            fields.extend([
                &label.label,
                &label.traffic_class,
                &label.is_bottom,
                &label.time_to_live,
            ]);
        }
        match &self.inner {
            Inner::Payload(ether_type) => fields.push(ether_type),
            Inner::Network(network, transport) => {
                fields.extend([&network.source, &network.destination, &network.hops]);
                fields.extend([&network.traffic_class, &network.identification, &network.protocol]);
                fields.extend(&network.fragment);
                fields.extend(transport.fields());
            }
        }
        if let Some(tunnel) = &self.tunnel {
            fields.extend([&tunnel.flags, &tunnel.reserved.0, &tunnel.reserved.1, &tunnel.network]);
            fields.extend(tunnel.headers.fields());
        }
        fields
    }

    /// A frame with this payload after its headers.
    fn build(&self, frame: usize, payload: &[u8]) -> Vec<u8> {
        let tunnelled = self.tunnel.as_ref().map(|tunnel| tunnel.build(frame, payload));
        let payload = tunnelled.as_deref().unwrap_or(payload);
        let mac = |field: &Field| {
            let [_, _, bytes @ ..] = (field.at(frame) as u64).to_be_bytes();
            bytes
        };
        let (source_mac, destination_mac) = (mac(&self.macs.0), mac(&self.macs.1));
        let vlan = self.vlan.as_ref().map(|(identifier, priority)| VlanTag {
            identifier: identifier.at(frame) as u16,
            priority: priority.at(frame) as u8,
        });
        let mut built = match &self.inner {
            Inner::Network(network, transport) => {
                let spec = FrameSpec {
                    source_mac,
                    destination_mac,
                    vlan,
                    network: network.at(frame),
                    transport: transport.at(frame, network),
                };
                let mut built = match transport {
                    TransportFields::Echo(echo) => spec.build(&echo.message(frame, spec.network, payload)),
                    _ => spec.build(payload),
                };
                if !network.is_ipv6 {
                    let at = if vlan.is_some() { 18 } else { 14 };
                    network.write_fragment(frame, &mut built[at..at + IPV4_BYTES]);
                }
                built
            }
            Inner::Payload(ether_type) => {
                let mut built = [destination_mac, source_mac].concat();
                if let Some(tag) = vlan {
                    built.extend(VLAN_ETHER_TYPE.to_be_bytes());
                    built.extend((u16::from(tag.priority) << 13 | tag.identifier).to_be_bytes());
                }
                built.extend((ether_type.at(frame) as u16).to_be_bytes());
                built.extend(payload);
                built
            }
        };
        if !self.labels.is_empty() {
            let at = if self.vlan.is_some() { 18 } else { 14 };
            built[at - 2..at].copy_from_slice(&MPLS.to_be_bytes());
            let labels: Vec<u8> = self.labels.iter().flat_map(|label| label.at(frame)).collect();
            let rest = built.split_off(at);
            built.extend(labels);
            built.extend(rest);
        }
        built
    }

    /// The bytes before the rest of the payload, which may be that of a frame within.
    fn custom(&self) -> &[u8] {
        match &self.tunnel {
            Some(tunnel) => tunnel.headers.custom(),
            None => &self.custom,
        }
    }

    /// The shortest frame with these headers and a tag, without check sequence.
    pub fn bytes_min(&self) -> usize {
        self.build(0, self.custom()).len() + TAG_BYTES
    }

    /// A frame, without check sequence.
    pub fn frame(&self, frame: usize, bytes: usize) -> Vec<u8> {
        let headers = self.build(frame, &[]).len();
        let mut payload = self.custom().to_vec();
        payload.resize(bytes - headers, 0);
        let tag = Tag {
            trial: 0,
            stream: 0,
            number: 0,
            intended_ns: 0,
            lateness_ns: 0,
        };
        tag.write(&mut payload);
        self.build(frame, &payload)
    }
}

impl TransportFields {
    fn fields(&self) -> Vec<&Field> {
        match self {
            TransportFields::Udp(source, destination) => vec![source, destination],
            TransportFields::Tcp(tcp) => {
                let mut fields = vec![&tcp.source, &tcp.destination];
                fields.extend([&tcp.sequence, &tcp.acknowledgment, &tcp.window]);
                fields.extend(&tcp.flags);
                fields
            }
            TransportFields::Echo(echo) => vec![&echo.kind, &echo.code, &echo.identifier, &echo.sequence],
            TransportFields::None => Vec::new(),
        }
    }

    fn at(&self, frame: usize, network: &NetworkFields) -> Transport {
        match self {
            TransportFields::Udp(source, destination) => Transport::Udp {
                source: source.at(frame) as u16,
                destination: destination.at(frame) as u16,
            },
            TransportFields::Tcp(tcp) => Transport::Tcp {
                source: tcp.source.at(frame) as u16,
                destination: tcp.destination.at(frame) as u16,
                sequence: tcp.sequence.at(frame) as u32,
                acknowledgment: tcp.acknowledgment.at(frame) as u32,
                flags: tcp.flags(frame),
                window: tcp.window.at(frame) as u16,
            },
            TransportFields::Echo(_) => Transport::None {
                protocol: if network.is_ipv6 { ICMPV6 } else { ICMP },
            },
            TransportFields::None => Transport::None {
                protocol: network.protocol.at(frame) as u8,
            },
        }
    }
}

impl TcpFields {
    fn flags(&self, frame: usize) -> u8 {
        let flags = self.flags.iter().rev();
        flags.fold(0, |all, flag| all << 1 | flag.at(frame) as u8)
    }
}

impl EchoFields {
    /// The message with its checksum, which that of ICMPv6 has over the addresses, too.
    fn message(&self, frame: usize, network: Network, payload: &[u8]) -> Vec<u8> {
        let mut message = vec![self.kind.at(frame) as u8, self.code.at(frame) as u8, 0, 0];
        message.extend((self.identifier.at(frame) as u16).to_be_bytes());
        message.extend((self.sequence.at(frame) as u16).to_be_bytes());
        message.extend(payload);
        let sum = match network {
            Network::Ipv4 { .. } => Sum::new(),
            Network::Ipv6 {
                source, destination, ..
            } => Sum::new().add_ipv6_pseudo_header(source, destination, ICMPV6, message.len() as u32),
        };
        let checksum = sum.add_bytes(&message).checksum();
        message[2..4].copy_from_slice(&checksum.to_be_bytes());
        message
    }
}

impl Label {
    fn at(&self, frame: usize) -> [u8; 4] {
        let (label, class) = (self.label.at(frame) as u32, self.traffic_class.at(frame) as u32);
        let (is_bottom, time_to_live) = (self.is_bottom.at(frame) as u32, self.time_to_live.at(frame) as u32);
        (label << 12 | class << 9 | is_bottom << 8 | time_to_live).to_be_bytes()
    }
}

impl Tunnel {
    fn build(&self, frame: usize, payload: &[u8]) -> Vec<u8> {
        let word = |high: &Field, bits: u32, low: &Field| (high.at(frame) as u32) << bits | low.at(frame) as u32;
        let mut built = word(&self.flags, 24, &self.reserved.0).to_be_bytes().to_vec();
        built.extend(word(&self.network, 8, &self.reserved.1).to_be_bytes());
        built.extend(self.headers.build(frame, payload));
        built
    }
}

impl NetworkFields {
    /// Writes flags and fragment offset into a header of IPv4, and its checksum anew.
    fn write_fragment(&self, frame: usize, header: &mut [u8]) {
        let parts = self.fragment.iter().zip(FRAGMENT);
        let word = parts.fold(0, |all, (field, (_, shift, _))| all | field.at(frame) << shift) as u16;
        header[6..8].copy_from_slice(&word.to_be_bytes());
        header[10..12].fill(0);
        let checksum = Sum::new().add_bytes(header).checksum();
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
    }

    fn at(&self, frame: usize) -> Network {
        let (source, destination) = (self.source.at(frame), self.destination.at(frame));
        let (hops, traffic_class) = (self.hops.at(frame) as u8, self.traffic_class.at(frame) as u8);
        let identification = self.identification.at(frame) as u32;
        if self.is_ipv6 {
            Network::Ipv6 {
                source: source.into(),
                destination: destination.into(),
                hop_limit: hops,
                traffic_class,
                flow_label: identification,
            }
        } else {
            Network::Ipv4 {
                source: (source as u32).into(),
                destination: (destination as u32).into(),
                time_to_live: hops,
                identification: identification as u16,
                traffic_class,
            }
        }
    }
}

/// The least common multiple; none when it is more than [`FRAMES_MAX`].
pub fn least_common_multiple(first: usize, second: usize) -> Option<usize> {
    let (mut larger, mut smaller) = (first.max(second), first.min(second));
    while smaller != 0 {
        (larger, smaller) = (smaller, larger % smaller);
    }
    Some(first / larger * second).filter(|multiple| *multiple <= FRAMES_MAX)
}
