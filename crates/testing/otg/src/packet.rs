//! Headers of a flow and the frames that they make.

mod layers;
mod tunnel;

use crate::field::{FRAMES_MAX, Field};
use crate::node::{Node, Wrong};
use forebay_packet::checksum::Sum;
use forebay_tester::tag::{TAG_BYTES, Tag};
use forebay_traffic::{FrameSpec, Network, Transport, VlanTag};
use layers::{
    arp, check_ether_type, check_protocol, custom, ether_type, ipv4_fields, ipv6_fields, labels, macs, tags, transport,
};
use tunnel::Tunnel;

/// Bytes of the check sequence, which sizes of the API include.
pub const CHECK_SEQUENCE_BYTES: usize = 4;

/// The largest VLAN identifier.
const VLAN_MAX: u128 = 4094;

/// The headers of a flow, and the bytes that follow them.
#[derive(Clone, Debug, PartialEq)]
pub struct Headers {
    /// Those of Ethernet; none of a packet that a tunnel carries without them.
    link: Option<Link>,
    /// Labels of MPLS, from the outermost.
    labels: Vec<Label>,
    /// What follows the EtherType and the labels. The EtherType is that of the network header where there is one.
    inner: Inner,
    /// A frame or packet within this one.
    tunnel: Option<Box<Tunnel>>,
    /// Bytes before the rest of the payload.
    custom: Vec<u8>,
}

/// Addresses of Ethernet, and tags from the outermost.
#[derive(Clone, Debug, PartialEq)]
struct Link {
    source: Field,
    destination: Field,
    tags: Vec<TagFields>,
}

/// A tag of a VLAN (IEEE 802.1Q).
#[derive(Clone, Debug, PartialEq)]
struct TagFields {
    /// Its EtherType.
    protocol: Field,
    priority: Field,
    drop_eligible: Field,
    identifier: Field,
}

/// What a frame carries.
#[derive(Clone, Debug, PartialEq)]
enum Inner {
    /// Payload alone, with this EtherType.
    Payload(Field),
    /// A packet of ARP for Ethernet and IPv4 (RFC 826).
    Arp(Box<ArpFields>),
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

/// From the type of hardware to the addresses of the target, each with its bytes.
#[derive(Clone, Debug, PartialEq)]
struct ArpFields(Vec<(Field, usize)>);

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

const LARGEST_MAC: u128 = (1 << 48) - 1;
const LARGEST_WORD: u128 = (1 << 16) - 1;
const LARGEST_32: u128 = (1 << 32) - 1;
const LARGEST_24: u128 = (1 << 24) - 1;
const LARGEST_20: u128 = (1 << 20) - 1;
const LARGEST_12: u128 = (1 << 12) - 1;
const LARGEST_8: u128 = (1 << 8) - 1;

/// EtherTypes.
const IPV4: u16 = 0x0800;
const ARP: u16 = 0x0806;
const IPV6: u16 = 0x86dd;
const MPLS: u16 = 0x8847;

/// Labels of MPLS, tags of VLANs, and tunnels in tunnels at most.
const LABELS_MAX: usize = 20;
const TAGS_MAX: usize = 4;
const TUNNELS_MAX: usize = 3;

/// The numbers of protocols.
pub const ICMP: u8 = 1;
pub const ICMPV6: u8 = 58;

/// Bytes of Ethernet addresses and EtherType.
const ETHERNET_BYTES: usize = 14;

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

/// The EtherType of a VLAN tag that names none.
const VLAN_ETHER_TYPE: u128 = 0x8100;

/// What the API gives frames and packets that nothing follows: EtherType, protocol of IPv4, next header of IPv6.
const ETHER_TYPE: u128 = 0xffff;
const PROTOCOL: u128 = 61;
const NEXT_HEADER: u128 = 59;

/// The bytes of custom headers at most.
const CUSTOM_BYTES_MAX: usize = 1024;

/// The order of headers that is supported.
const ORDER: &str = "packets are ethernet, at most four vlan, mpls, ipv4, ipv6 or arp, udp, tcp, icmp (of ipv4) or icmpv6 (of ipv6), and custom bytes, in this order; all but ethernet may be left out, but udp, tcp and icmp need ipv4 or ipv6; after ipv4 or ipv6 may come gre, ipv4 or ipv6, after udp vxlan, gtpv1, mpls, ipv4 or ipv6, and such headers again, up to three times";

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
        let headers = Headers::read_frame(packet, &mut layers, defaults, 0)?;
        match layers.0.next() {
            Some(rest) => Err(rest.wrong(ORDER)),
            None => Ok(headers),
        }
    }

    /// Reads the headers of a frame, which is `depth` tunnels deep.
    fn read_frame(
        packet: &Node<'_>,
        layers: &mut Layers<'_>,
        defaults: &Defaults,
        depth: usize,
    ) -> Result<Headers, Wrong> {
        // A flow that says nothing of headers has an Ethernet header, and that of IP between addresses of devices.
        let is_empty = depth == 0 && layers.0.peek().is_none();
        let ethernet = match layers.next(&["ethernet"])? {
            Some((_, ethernet)) => ethernet,
            None if is_empty => packet.at("ethernet"),
            None => return Err(packet.wrong(ORDER)),
        };
        let (source, destination) = macs(&ethernet, defaults.macs)?;
        let link = Link {
            source,
            destination,
            tags: tags(layers, defaults.vlan)?,
        };
        let labels = labels(layers)?;
        let of_devices = defaults.is_ipv6.filter(|_| is_empty).map(|is_ipv6| {
            let name = if is_ipv6 { "ipv6" } else { "ipv4" };
            (name.to_string(), packet.at(name))
        });
        let names: &[&str] = if labels.is_empty() {
            &["ipv4", "ipv6", "arp"]
        } else {
            &["ipv4", "ipv6"]
        };
        let next = layers.next(names)?.or(of_devices);
        let name = next.as_ref().map(|(name, _)| name.clone());
        let mut headers = Headers::read_rest(packet, layers, next, labels, (defaults, depth))?;
        if let Inner::Payload(own) = &mut headers.inner
            && headers.labels.is_empty()
        {
            *own = ether_type(&ethernet)?;
        } else {
            let what = name.as_deref().filter(|_| headers.labels.is_empty()).unwrap_or("mpls");
            check_ether_type(&ethernet, &link, headers.ether_type(0).into(), what)?;
        }
        headers.link = Some(link);
        Ok(headers)
    }

    /// Reads the headers of a packet within another one, from its labels or its network header on.
    fn read_packet(packet: &Node<'_>, layers: &mut Layers<'_>, depth: usize) -> Result<Headers, Wrong> {
        let labels = labels(layers)?;
        let next = layers.next(&["ipv4", "ipv6"])?;
        Headers::read_rest(packet, layers, next, labels, (&Defaults::default(), depth))
    }

    /// Reads what follows the EtherType and the labels: `next` is the network header. They have no addresses of
    /// Ethernet.
    fn read_rest(
        packet: &Node<'_>,
        layers: &mut Layers<'_>,
        next: Option<(String, Node<'_>)>,
        labels: Vec<Label>,
        (defaults, depth): (&Defaults, usize),
    ) -> Result<Headers, Wrong> {
        let mut tunnel = None;
        let inner = match next {
            None => Inner::Payload(Field::one(ETHER_TYPE)),
            Some((name, node)) if name == "arp" => Inner::Arp(Box::new(arp(&node)?)),
            Some((name, node)) => {
                let is_ipv6 = name == "ipv6";
                let mut network = if is_ipv6 {
                    ipv6_fields(&node, defaults.ipv6)?
                } else {
                    ipv4_fields(&node, defaults.ipv4)?
                };
                let transport = if let Some((within, protocol)) = tunnel::in_ip(layers, depth)? {
                    check_protocol(&node, protocol, within)?;
                    network.protocol = Field::one(protocol);
                    tunnel = Some(Box::new(Tunnel::read(packet, layers, depth + 1)?));
                    TransportFields::None
                } else {
                    let layer = layers.next(&["udp", "tcp", if is_ipv6 { "icmpv6" } else { "icmp" }])?;
                    let is_udp = layer.as_ref().is_some_and(|(name, _)| name == "udp");
                    let port = if is_udp { tunnel::in_udp(layers, depth)? } else { None };
                    let transport = transport(layer, &node, port.unwrap_or_default())?;
                    if port.is_some() {
                        tunnel = Some(Box::new(Tunnel::read(packet, layers, depth + 1)?));
                    }
                    transport
                };
                Inner::Network(network, transport)
            }
        };
        let custom = layers.next(&["custom"])?.map(|(_, node)| custom(&node)).transpose()?;
        Ok(Headers {
            link: None,
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
        if let Some(link) = &mut self.link {
            std::mem::swap(&mut link.source, &mut link.destination);
        }
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
        let mut fields = Vec::new();
        if let Some(link) = &self.link {
            fields.extend([&link.source, &link.destination]);
            for tag in &link.tags {
                fields.extend([&tag.protocol, &tag.priority, &tag.drop_eligible, &tag.identifier]);
            }
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
            Inner::Arp(arp) => fields.extend(arp.0.iter().map(|(field, _)| field)),
            Inner::Network(network, transport) => {
                fields.extend([&network.source, &network.destination, &network.hops]);
                fields.extend([&network.traffic_class, &network.identification, &network.protocol]);
                fields.extend(&network.fragment);
                fields.extend(transport.fields());
            }
        }
        if let Some(tunnel) = &self.tunnel {
            fields.extend(tunnel.fields());
        }
        fields
    }

    /// What an EtherType says of what follows it.
    fn ether_type(&self, frame: usize) -> u16 {
        match &self.inner {
            _ if !self.labels.is_empty() => MPLS,
            Inner::Payload(ether_type) => ether_type.at(frame) as u16,
            Inner::Arp(_) => ARP,
            Inner::Network(network, _) if network.is_ipv6 => IPV6,
            Inner::Network(..) => IPV4,
        }
    }

    /// A frame or packet with this payload after its headers.
    fn build(&self, frame: usize, payload: &[u8]) -> Vec<u8> {
        let tunnelled = self.tunnel.as_ref().map(|tunnel| tunnel.build(frame, payload));
        let payload = tunnelled.as_deref().unwrap_or(payload);
        let mut built = self.link.as_ref().map_or_else(Vec::new, |link| link.at(frame));
        if self.link.is_some() {
            built.extend(self.ether_type(frame).to_be_bytes());
        }
        built.extend(self.labels.iter().flat_map(|label| label.at(frame)));
        match &self.inner {
            Inner::Payload(_) => built.extend(payload),
            Inner::Arp(arp) => {
                built.extend(arp.at(frame));
                built.extend(payload);
            }
            Inner::Network(network, transport) => built.extend(network.build(frame, transport, payload)),
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

    /// The least length of a frame, by its number: these headers and a tag, without check sequence.
    pub fn bytes_min(&self, frame: usize) -> usize {
        self.build(frame, self.custom()).len() + TAG_BYTES
    }

    /// A frame of at least [`bytes_min`](Self::bytes_min) bytes, without check sequence.
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

impl Link {
    /// Up to the EtherType of what follows.
    fn at(&self, frame: usize) -> Vec<u8> {
        let mac = |field: &Field| (field.at(frame) as u64).to_be_bytes();
        let mut built = [&mac(&self.destination)[2..], &mac(&self.source)[2..]].concat();
        built.extend(self.tags.iter().flat_map(|tag| tag.at(frame)));
        built
    }
}

impl TagFields {
    fn at(&self, frame: usize) -> [u8; 4] {
        let (protocol, identifier) = (self.protocol.at(frame) as u32, self.identifier.at(frame) as u32);
        let (priority, drop_eligible) = (self.priority.at(frame) as u32, self.drop_eligible.at(frame) as u32);
        (protocol << 16 | priority << 13 | drop_eligible << 12 | identifier).to_be_bytes()
    }
}

impl ArpFields {
    fn at(&self, frame: usize) -> Vec<u8> {
        let bytes = |(field, bytes): &(Field, usize)| field.at(frame).to_be_bytes()[16 - bytes..].to_vec();
        self.0.iter().flat_map(bytes).collect()
    }
}

impl NetworkFields {
    /// A packet with this payload.
    fn build(&self, frame: usize, transport: &TransportFields, payload: &[u8]) -> Vec<u8> {
        let spec = FrameSpec {
            source_mac: [0; 6],
            destination_mac: [0; 6],
            vlan: None,
            network: self.at(frame),
            transport: transport.at(frame, self),
        };
        let mut built = match transport {
            TransportFields::Echo(echo) => spec.build(&echo.message(frame, spec.network, payload)),
            _ => spec.build(payload),
        };
        let mut built = built.split_off(ETHERNET_BYTES);
        if !self.is_ipv6 {
            self.write_fragment(frame, &mut built[..IPV4_BYTES]);
        }
        built
    }

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

#[cfg(test)]
mod tests;
