//! Headers of a flow: fields with one value, a list of values, or values that are counted up or down.

use crate::node::{Node, Wrong};
use forebay_tester::tag::{TAG_BYTES, Tag};
use forebay_traffic::{FrameSpec, Network, Transport, VlanTag};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Different frames of a flow at most.
pub const FRAMES_MAX: usize = 1 << 16;

/// Bytes of the check sequence, which sizes of the API include.
pub const CHECK_SEQUENCE_BYTES: usize = 4;

/// The largest VLAN identifier.
const VLAN_MAX: u128 = 4094;

/// The values of a field, which frames take in turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Field(Vec<u128>);

impl Field {
    fn one(value: u128) -> Field {
        Field(vec![value])
    }

    fn at(&self, frame: usize) -> u128 {
        self.0[frame % self.0.len()]
    }

    /// Reads a pattern: `auto`, `value`, `values`, `increment`, `decrement`.
    fn read(node: &Node<'_>, default: u128, largest: u128, parse: Parse) -> Result<Field, Wrong> {
        if !node.is_there() {
            return Ok(Field::one(default));
        }
        node.object(&["choice", "auto", "value", "values", "increment", "decrement"])?;
        let value = |node: &Node<'_>| -> Result<u128, Wrong> {
            let value = parse(node)?;
            (value <= largest)
                .then_some(value)
                .ok_or_else(|| node.wrong(format!("at most {largest} is possible")))
        };
        let (choice, chosen) = node.choice("value")?;
        match choice {
            "auto" => Ok(Field::one(default)),
            "value" if !chosen.is_there() => Ok(Field::one(default)),
            "value" => value(&chosen).map(Field::one),
            "values" => {
                let values: Vec<u128> = chosen.list()?.iter().map(value).collect::<Result<_, _>>()?;
                match values.len() {
                    1..=FRAMES_MAX => Ok(Field(values)),
                    many => Err(chosen.wrong(format!("{many} values; 1 to {FRAMES_MAX} are possible"))),
                }
            }
            "increment" | "decrement" => {
                chosen.object(&["start", "step", "count"])?;
                let part = |key, default| {
                    let node = chosen.at(key);
                    if node.is_there() { value(&node) } else { Ok(default) }
                };
                let (start, step) = (part("start", default)?, part("step", 1)?);
                let count = chosen.at("count").whole_or(1, 1..=FRAMES_MAX as u64)? as u128;
                let modulus = largest.wrapping_add(1);
                let nth = |index: u128| {
                    let distance = index.wrapping_mul(step);
                    let moved = if choice == "increment" {
                        start.wrapping_add(distance)
                    } else {
                        start.wrapping_sub(distance)
                    };
                    // Values go round at the width of the field; that of IPv6 addresses is that of the number.
                    if modulus == 0 {
                        moved
                    } else {
                        moved & (modulus.next_power_of_two() - 1)
                    }
                };
                Ok(Field((0..count).map(nth).collect()))
            }
            other => Err(node.not_supported(other, &["value", "values", "increment", "decrement"])),
        }
    }
}

/// Reads one value of a field.
type Parse = fn(&Node<'_>) -> Result<u128, Wrong>;

fn number(node: &Node<'_>) -> Result<u128, Wrong> {
    node.whole(0..=u64::MAX).map(u128::from)
}

pub fn mac(node: &Node<'_>) -> Result<u128, Wrong> {
    let bytes: Option<Vec<u8>> = node
        .text()?
        .split(':')
        .map(|byte| u8::from_str_radix(byte, 16).ok().filter(|_| byte.len() <= 2))
        .collect();
    let bytes = bytes.filter(|bytes| bytes.len() == 6);
    let bytes = bytes.ok_or_else(|| node.wrong("a MAC address like 02:00:00:00:00:01 is expected"))?;
    Ok(bytes.iter().fold(0, |all, byte| all << 8 | u128::from(*byte)))
}

pub fn ipv4(node: &Node<'_>) -> Result<u128, Wrong> {
    let address: Result<Ipv4Addr, _> = node.text()?.parse();
    let address = address.map_err(|_| node.wrong("an IPv4 address is expected"))?;
    Ok(u32::from(address).into())
}

pub fn ipv6(node: &Node<'_>) -> Result<u128, Wrong> {
    let address: Result<Ipv6Addr, _> = node.text()?.parse();
    let address = address.map_err(|_| node.wrong("an IPv6 address is expected"))?;
    Ok(address.into())
}

/// The headers of a flow, and the bytes that follow them.
#[derive(Clone, Debug, PartialEq)]
pub struct Headers {
    macs: (Field, Field),
    vlan: Option<(Field, Field)>,
    /// What follows the EtherType, which is that of the network header where there is one.
    inner: Inner,
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
    /// The protocol that the header names when no transport header follows.
    protocol: Field,
}

#[derive(Clone, Debug, PartialEq)]
enum TransportFields {
    Udp(Field, Field),
    Tcp(Field, Field),
    None,
}

const LARGEST_MAC: u128 = (1 << 48) - 1;
const LARGEST_WORD: u128 = (1 << 16) - 1;
const LARGEST_BYTE: u128 = (1 << 8) - 1;

/// The EtherType of a VLAN tag, and those for experiments: of frames (IEEE 802) and of IP packets (RFC 3692).
const VLAN_ETHER_TYPE: u16 = 0x8100;
const ETHER_TYPE: u128 = 0x88b5;
const PROTOCOL: u128 = 253;

/// The bytes of custom headers at most.
const CUSTOM_BYTES_MAX: usize = 1024;

/// The order of headers that is supported.
const ORDER: &str = "packets are ethernet, at most one vlan, ipv4 or ipv6, udp or tcp, and custom bytes, in this order; all but ethernet may be left out, but udp and tcp need ipv4 or ipv6";

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
}

/// What fields have that are left out.
#[derive(Clone, Debug)]
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

impl Default for Defaults {
    fn default() -> Defaults {
        Defaults {
            macs: (0x0200_0000_0001, 0x0200_0000_00fe),
            vlan: None,
            ipv4: (0x0a01_0001, 0x0a00_0202),
            ipv6: (
                0x2001_0db8_0001_0000_0000_0000_0000_0001,
                0x2001_0db8_0002_0000_0000_0000_0000_0001,
            ),
            is_ipv6: None,
        }
    }
}

impl Headers {
    /// Reads `packet` of a flow.
    pub fn read(packet: &Node<'_>, defaults: &Defaults) -> Result<Headers, Wrong> {
        let layers = packet.list()?;
        // A flow that says nothing of headers has an Ethernet header, and that of IP between addresses of devices.
        let is_empty = layers.is_empty();
        let mut layers = Layers(layers.into_iter().peekable());
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
        let of_devices = defaults.is_ipv6.filter(|_| is_empty).map(|is_ipv6| {
            let name = if is_ipv6 { "ipv6" } else { "ipv4" };
            (name.to_string(), packet.at(name))
        });
        let inner = match layers.next(&["ipv4", "ipv6"])?.or(of_devices) {
            None => Inner::Payload(ether_type(&ethernet)?),
            Some((name, node)) => {
                let number = if name == "ipv4" { 0x0800 } else { 0x86dd };
                check_number(&ethernet.at("ether_type"), number, &name)?;
                let network = match name.as_str() {
                    "ipv4" => ipv4_fields(&node, defaults.ipv4)?,
                    _ => ipv6_fields(&node, defaults.ipv6)?,
                };
                Inner::Network(network, transport(layers.next(&["udp", "tcp"])?, &node)?)
            }
        };
        let custom = layers.next(&["custom"])?.map(|(_, node)| custom(&node)).transpose()?;
        match layers.0.next() {
            Some(rest) => Err(rest.wrong(ORDER)),
            None => Ok(Headers {
                macs,
                vlan,
                inner,
                custom: custom.unwrap_or_default(),
            }),
        }
    }

    /// Whether frames go to the MAC address that a device has found, since the flow names none.
    pub fn asks_for_destination(packet: &Node<'_>) -> Result<bool, Wrong> {
        let layers = packet.list()?;
        let destination = match layers.first() {
            Some(first) => first.at("ethernet").at("dst"),
            None => return Ok(true),
        };
        Ok(!destination.is_there() || destination.choice("auto")?.0 == "auto")
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
        let mut fields = vec![&self.macs.0, &self.macs.1];
        if let Some((identifier, priority)) = &self.vlan {
            fields.extend([identifier, priority]);
        }
        match &self.inner {
            Inner::Payload(ether_type) => fields.push(ether_type),
            Inner::Network(network, transport) => {
                fields.extend([&network.source, &network.destination, &network.hops]);
                fields.extend([&network.traffic_class, &network.protocol]);
                if let TransportFields::Udp(source, destination) | TransportFields::Tcp(source, destination) = transport
                {
                    fields.extend([source, destination]);
                }
            }
        }
        fields
            .iter()
            .try_fold(1, |period, field| least_common_multiple(period, field.0.len()))
    }

    /// A frame with this payload after its headers.
    fn build(&self, frame: usize, payload: &[u8]) -> Vec<u8> {
        let mac = |field: &Field| {
            let [_, _, bytes @ ..] = (field.at(frame) as u64).to_be_bytes();
            bytes
        };
        let (source_mac, destination_mac) = (mac(&self.macs.0), mac(&self.macs.1));
        let vlan = self.vlan.as_ref().map(|(identifier, priority)| VlanTag {
            identifier: identifier.at(frame) as u16,
            priority: priority.at(frame) as u8,
        });
        match &self.inner {
            Inner::Network(network, transport) => FrameSpec {
                source_mac,
                destination_mac,
                vlan,
                network: network.at(frame),
                transport: transport.at(frame, network.protocol.at(frame) as u8),
            }
            .build(payload),
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
        }
    }

    /// The shortest frame with these headers and a tag, without check sequence.
    pub fn bytes_min(&self) -> usize {
        self.build(0, &self.custom).len() + TAG_BYTES
    }

    /// A frame, without check sequence.
    pub fn frame(&self, frame: usize, bytes: usize) -> Vec<u8> {
        let headers = self.build(frame, &[]).len();
        let mut payload = self.custom.clone();
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
    fn at(&self, frame: usize, protocol: u8) -> Transport {
        let port = |field: &Field| field.at(frame) as u16;
        match self {
            TransportFields::Udp(source, destination) => Transport::Udp {
                source: port(source),
                destination: port(destination),
            },
            TransportFields::Tcp(source, destination) => Transport::Tcp {
                source: port(source),
                destination: port(destination),
                sequence: 0,
                acknowledgment: 0,
                flags: 0x10,
                window: 0xffff,
            },
            TransportFields::None => Transport::None { protocol },
        }
    }
}

impl NetworkFields {
    fn at(&self, frame: usize) -> Network {
        let (source, destination) = (self.source.at(frame), self.destination.at(frame));
        let (hops, traffic_class) = (self.hops.at(frame) as u8, self.traffic_class.at(frame) as u8);
        match self.is_ipv6 {
            true => Network::Ipv6 {
                source: source.into(),
                destination: destination.into(),
                hop_limit: hops,
                traffic_class,
                flow_label: 0,
            },
            false => Network::Ipv4 {
                source: (source as u32).into(),
                destination: (destination as u32).into(),
                time_to_live: hops,
                identification: 0,
                traffic_class,
            },
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

fn macs(node: &Node<'_>, (source, destination): (u128, u128)) -> Result<(Field, Field), Wrong> {
    node.object(&["src", "dst", "ether_type"])?;
    Ok((
        Field::read(&node.at("src"), source, LARGEST_MAC, mac)?,
        Field::read(&node.at("dst"), destination, LARGEST_MAC, mac)?,
    ))
}

/// The EtherType of frames without a network header. `auto` is what follows, so here the one for experiments.
fn ether_type(ethernet: &Node<'_>) -> Result<Field, Wrong> {
    let node = ethernet.at("ether_type");
    match node.at("choice").is_there() && node.choice("value")?.0 == "auto" {
        true => Ok(Field::one(ETHER_TYPE)),
        false => Field::read(&node, ETHER_TYPE, LARGEST_WORD, number),
    }
}

/// Refuses a number of the next header that is not the one of the header that follows.
fn check_number(node: &Node<'_>, sent: u128, what: &str) -> Result<(), Wrong> {
    if !node.is_there() || node.at("choice").is_there() && node.choice("value")?.0 == "auto" {
        return Ok(());
    }
    match Field::read(node, sent, LARGEST_WORD, number)? == Field::one(sent) {
        true => Ok(()),
        false => Err(node.wrong(format!(
            "is not supported beside {what}, whose number {sent} is sent; leave it out"
        ))),
    }
}

/// The header after the network header; without one, a protocol stays what the network header says.
fn transport(layer: Option<(String, Node<'_>)>, network: &Node<'_>) -> Result<TransportFields, Wrong> {
    let Some((name, node)) = layer else {
        return Ok(TransportFields::None);
    };
    let number = if name == "tcp" { 6 } else { 17 };
    for key in ["protocol", "next_header"] {
        check_number(&network.at(key), number, &name)?;
    }
    let (source, destination) = ports(&node)?;
    Ok(match name.as_str() {
        "tcp" => TransportFields::Tcp(source, destination),
        _ => TransportFields::Udp(source, destination),
    })
}

/// Bytes in hexadecimal.
fn custom(node: &Node<'_>) -> Result<Vec<u8>, Wrong> {
    node.object(&["bytes"])?;
    let bytes = node.at("bytes");
    let digits: Vec<u8> = bytes
        .text()?
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace() && *byte != b':')
        .collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let read: Option<Vec<u8>> = digits.chunks(2).map(pair).collect();
    match read.filter(|read| digits.len().is_multiple_of(2) && (1..=CUSTOM_BYTES_MAX).contains(&read.len())) {
        Some(read) => Ok(read),
        None => Err(bytes.wrong(format!(
            "1 to {CUSTOM_BYTES_MAX} bytes in hexadecimal are expected, like 0a0b0c"
        ))),
    }
}

fn vlan(node: &Node<'_>, default: Option<VlanTag>) -> Result<(Field, Field), Wrong> {
    node.object(&["id", "priority"])?;
    let (identifier, priority) = default.map_or((1, 0), |tag| (tag.identifier.into(), tag.priority.into()));
    Ok((
        Field::read(&node.at("id"), identifier, VLAN_MAX, number)?,
        Field::read(&node.at("priority"), priority, 7, number)?,
    ))
}

fn tag_fields(tag: VlanTag) -> (Field, Field) {
    (Field::one(tag.identifier.into()), Field::one(tag.priority.into()))
}

fn ipv4_fields(node: &Node<'_>, (source, destination): (u128, u128)) -> Result<NetworkFields, Wrong> {
    node.object(&["src", "dst", "time_to_live", "priority", "protocol"])?;
    Ok(NetworkFields {
        is_ipv6: false,
        source: Field::read(&node.at("src"), source, u32::MAX.into(), ipv4)?,
        destination: Field::read(&node.at("dst"), destination, u32::MAX.into(), ipv4)?,
        hops: Field::read(&node.at("time_to_live"), 64, LARGEST_BYTE, number)?,
        traffic_class: priority(&node.at("priority"))?,
        protocol: Field::read(&node.at("protocol"), PROTOCOL, LARGEST_BYTE, number)?,
    })
}

/// The second byte of an IPv4 header, as a whole or as a differentiated services code point.
fn priority(node: &Node<'_>) -> Result<Field, Wrong> {
    if !node.is_there() {
        return Ok(Field::one(0));
    }
    node.object(&["choice", "raw", "dscp"])?;
    let (choice, chosen) = node.choice("dscp")?;
    match choice {
        "raw" => Field::read(&chosen, 0, LARGEST_BYTE, number),
        "dscp" => {
            chosen.object(&["phb", "ecn"])?;
            let point = Field::read(&chosen.at("phb"), 0, 63, number)?;
            let ecn = Field::read(&chosen.at("ecn"), 0, 3, number)?;
            match ecn.0.as_slice() {
                [ecn] => Ok(Field(point.0.iter().map(|point| point << 2 | ecn).collect())),
                _ => Err(chosen.at("ecn").wrong("one value is supported")),
            }
        }
        other => Err(node.not_supported(other, &["raw", "dscp"])),
    }
}

fn ipv6_fields(node: &Node<'_>, (source, destination): (u128, u128)) -> Result<NetworkFields, Wrong> {
    node.object(&["src", "dst", "hop_limit", "traffic_class", "next_header"])?;
    let address = |key, default: u128| Field::read(&node.at(key), default, u128::MAX, ipv6);
    Ok(NetworkFields {
        is_ipv6: true,
        source: address("src", source)?,
        destination: address("dst", destination)?,
        hops: Field::read(&node.at("hop_limit"), 64, LARGEST_BYTE, number)?,
        traffic_class: Field::read(&node.at("traffic_class"), 0, LARGEST_BYTE, number)?,
        protocol: Field::read(&node.at("next_header"), PROTOCOL, LARGEST_BYTE, number)?,
    })
}

fn ports(node: &Node<'_>) -> Result<(Field, Field), Wrong> {
    node.object(&["src_port", "dst_port"])?;
    let port = |key| Field::read(&node.at(key), 1024, LARGEST_WORD, number);
    Ok((port("src_port")?, port("dst_port")?))
}
