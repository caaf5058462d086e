//! Layers of a packet: the fields of each, as the API has them.

use super::{
    CUSTOM_BYTES_MAX, Defaults, ETHER_TYPE, EchoFields, FRAGMENT, Headers, ICMP, ICMPV6, LABELS_MAX, LARGEST_20,
    LARGEST_24, LARGEST_BYTE, LARGEST_MAC, LARGEST_WORD, Label, Layers, NEXT_HEADER, NetworkFields, PROTOCOL,
    TCP_FLAGS, TcpFields, TransportFields, Tunnel, VLAN_MAX, VXLAN_PORT,
};
use crate::field::{Field, ipv4, ipv6, mac, number};
use crate::node::{Node, Wrong};
use forebay_traffic::VlanTag;

pub(super) fn macs(node: &Node<'_>, (source, destination): (u128, u128)) -> Result<(Field, Field), Wrong> {
    node.object(&["src", "dst", "ether_type"])?;
    Ok((
        Field::read(&node.at("src"), source, LARGEST_MAC, mac)?,
        Field::read(&node.at("dst"), destination, LARGEST_MAC, mac)?,
    ))
}

/// The EtherType of frames without a network header. `auto` is what follows, so here that of nothing.
pub(super) fn ether_type(ethernet: &Node<'_>) -> Result<Field, Wrong> {
    let node = ethernet.at("ether_type");
    if node.at("choice").is_there() && node.choice("value")?.0 == "auto" {
        Ok(Field::one(ETHER_TYPE))
    } else {
        Field::read(&node, ETHER_TYPE, LARGEST_WORD, number)
    }
}

/// Refuses a number of the next header that is not the one of the header that follows.
pub(super) fn check_number(node: &Node<'_>, sent: u128, what: &str) -> Result<(), Wrong> {
    if !node.is_there() || node.at("choice").is_there() && node.choice("value")?.0 == "auto" {
        return Ok(());
    }
    if Field::read(node, sent, LARGEST_WORD, number)? == Field::one(sent) {
        Ok(())
    } else {
        Err(node.wrong(format!(
            "is not supported beside {what}, whose number {sent} is sent; leave it out"
        )))
    }
}

/// Refuses a checksum other than the right one, which is what is sent.
fn check_checksum(node: &Node<'_>) -> Result<(), Wrong> {
    node.object(&["choice", "generated", "custom"])?;
    let (choice, chosen) = node.choice("generated")?;
    if choice == "generated" && (!chosen.is_there() || chosen.text()? == "good") {
        Ok(())
    } else {
        Err(node.wrong("right checksums are sent; others are not supported"))
    }
}

/// The header after the network header; without one, a protocol stays what the network header says.
pub(super) fn transport(
    layer: Option<(String, Node<'_>)>,
    network: &Node<'_>,
    is_tunnel: bool,
) -> Result<TransportFields, Wrong> {
    let Some((name, node)) = layer else {
        return Ok(TransportFields::None);
    };
    let protocol: u128 = match name.as_str() {
        "tcp" => 6,
        "udp" => 17,
        "icmp" => ICMP.into(),
        _ => ICMPV6.into(),
    };
    for key in ["protocol", "next_header"] {
        check_number(&network.at(key), protocol, &name)?;
    }
    match name.as_str() {
        "tcp" => tcp_fields(&node).map(|fields| TransportFields::Tcp(Box::new(fields))),
        "udp" => {
            node.object(&["src_port", "dst_port", "checksum"])?;
            check_checksum(&node.at("checksum"))?;
            let destination = if is_tunnel { VXLAN_PORT } else { 0 };
            Ok(TransportFields::Udp(
                Field::read(&node.at("src_port"), 0, LARGEST_WORD, number)?,
                Field::read(&node.at("dst_port"), destination, LARGEST_WORD, number)?,
            ))
        }
        _ => {
            let request = if name == "icmp" { 8 } else { 128 };
            echo_fields(&node, request).map(|fields| TransportFields::Echo(Box::new(fields)))
        }
    }
}

fn tcp_fields(node: &Node<'_>) -> Result<TcpFields, Wrong> {
    let known = ["src_port", "dst_port", "seq_num", "ack_num", "window", "checksum"];
    let known: Vec<&str> = known.into_iter().chain(TCP_FLAGS).collect();
    node.object(&known)?;
    check_checksum(&node.at("checksum"))?;
    let field = |key: &'static str, default: u128, largest: u128| Field::read(&node.at(key), default, largest, number);
    Ok(TcpFields {
        source: field("src_port", 0, LARGEST_WORD)?,
        destination: field("dst_port", 0, LARGEST_WORD)?,
        sequence: field("seq_num", 0, u32::MAX.into())?,
        acknowledgment: field("ack_num", 0, u32::MAX.into())?,
        window: field("window", 0, LARGEST_WORD)?,
        flags: TCP_FLAGS
            .into_iter()
            .map(|name| field(name, 0, 1))
            .collect::<Result<_, _>>()?,
    })
}

fn echo_fields(node: &Node<'_>, request: u128) -> Result<EchoFields, Wrong> {
    node.object(&["choice", "echo"])?;
    let (choice, echo) = node.choice("echo")?;
    if choice != "echo" {
        return Err(node.not_supported(choice, &["echo"]));
    }
    echo.object(&["type", "code", "checksum", "identifier", "sequence_number"])?;
    check_checksum(&echo.at("checksum"))?;
    let field = |key: &'static str, default: u128, largest: u128| Field::read(&echo.at(key), default, largest, number);
    Ok(EchoFields {
        kind: field("type", request, LARGEST_BYTE)?,
        code: field("code", 0, LARGEST_BYTE)?,
        identifier: field("identifier", 0, LARGEST_WORD)?,
        sequence: field("sequence_number", 0, LARGEST_WORD)?,
    })
}

/// The labels of MPLS that come next. The last one is the bottom of the stack, unless they say something else.
pub(super) fn labels(layers: &mut Layers<'_>) -> Result<Vec<Label>, Wrong> {
    let mut labels = Vec::new();
    while let Some((_, node)) = layers.next(&["mpls"])? {
        if labels.len() == LABELS_MAX {
            return Err(node.wrong(format!("at most {LABELS_MAX} labels are possible")));
        }
        node.object(&["label", "traffic_class", "bottom_of_stack", "time_to_live"])?;
        let is_last = !layers.is_next("mpls")?;
        let bottom = node.at("bottom_of_stack");
        labels.push(Label {
            label: Field::read(&node.at("label"), 16, LARGEST_20, number)?,
            traffic_class: Field::read(&node.at("traffic_class"), 0, 7, number)?,
            is_bottom: Field::read(&bottom, is_last.into(), 1, number)?,
            time_to_live: Field::read(&node.at("time_to_live"), 64, LARGEST_BYTE, number)?,
        });
    }
    Ok(labels)
}

pub(super) fn vxlan(packet: &Node<'_>, node: &Node<'_>, layers: &mut Layers<'_>) -> Result<Tunnel, Wrong> {
    node.object(&["flags", "reserved0", "vni", "reserved1"])?;
    Ok(Tunnel {
        flags: Field::read(&node.at("flags"), 8, LARGEST_BYTE, number)?,
        reserved: (
            Field::read(&node.at("reserved0"), 0, LARGEST_24, number)?,
            Field::read(&node.at("reserved1"), 0, LARGEST_BYTE, number)?,
        ),
        network: Field::read(&node.at("vni"), 0, LARGEST_24, number)?,
        headers: Headers::read_layers(packet, layers, &Defaults::default(), true)?,
    })
}

/// Bytes in hexadecimal.
pub(super) fn custom(node: &Node<'_>) -> Result<Vec<u8>, Wrong> {
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

pub(super) fn vlan(node: &Node<'_>, default: Option<VlanTag>) -> Result<(Field, Field), Wrong> {
    node.object(&["id", "priority"])?;
    let (identifier, priority) = default.map_or((0, 0), |tag| (tag.identifier.into(), tag.priority.into()));
    Ok((
        Field::read(&node.at("id"), identifier, VLAN_MAX, number)?,
        Field::read(&node.at("priority"), priority, 7, number)?,
    ))
}

pub(super) fn tag_fields(tag: VlanTag) -> (Field, Field) {
    (Field::one(tag.identifier.into()), Field::one(tag.priority.into()))
}

pub(super) fn ipv4_fields(node: &Node<'_>, (source, destination): (u128, u128)) -> Result<NetworkFields, Wrong> {
    let known = [
        "src",
        "dst",
        "time_to_live",
        "priority",
        "protocol",
        "identification",
        "header_checksum",
    ];
    let known: Vec<&str> = known.into_iter().chain(FRAGMENT.map(|(key, ..)| key)).collect();
    node.object(&known)?;
    check_checksum(&node.at("header_checksum"))?;
    Ok(NetworkFields {
        is_ipv6: false,
        source: Field::read(&node.at("src"), source, u32::MAX.into(), ipv4)?,
        destination: Field::read(&node.at("dst"), destination, u32::MAX.into(), ipv4)?,
        hops: Field::read(&node.at("time_to_live"), 64, LARGEST_BYTE, number)?,
        traffic_class: priority(&node.at("priority"))?,
        identification: Field::read(&node.at("identification"), 0, LARGEST_WORD, number)?,
        protocol: Field::read(&node.at("protocol"), PROTOCOL, LARGEST_BYTE, number)?,
        fragment: FRAGMENT
            .iter()
            .map(|(key, _, largest)| Field::read(&node.at(key), 0, *largest, number))
            .collect::<Result<_, _>>()?,
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
            match ecn.values() {
                [ecn] => Ok(Field::in_turn(
                    point.values().iter().map(|point| point << 2 | ecn).collect(),
                )),
                _ => Err(chosen.at("ecn").wrong("one value is supported")),
            }
        }
        other => Err(node.not_supported(other, &["raw", "dscp"])),
    }
}

pub(super) fn ipv6_fields(node: &Node<'_>, (source, destination): (u128, u128)) -> Result<NetworkFields, Wrong> {
    node.object(&["src", "dst", "hop_limit", "traffic_class", "flow_label", "next_header"])?;
    let address = |key, default: u128| Field::read(&node.at(key), default, u128::MAX, ipv6);
    Ok(NetworkFields {
        is_ipv6: true,
        source: address("src", source)?,
        destination: address("dst", destination)?,
        hops: Field::read(&node.at("hop_limit"), 64, LARGEST_BYTE, number)?,
        traffic_class: Field::read(&node.at("traffic_class"), 0, LARGEST_BYTE, number)?,
        identification: Field::read(&node.at("flow_label"), 0, LARGEST_20, number)?,
        protocol: Field::read(&node.at("next_header"), NEXT_HEADER, LARGEST_BYTE, number)?,
        fragment: Vec::new(),
    })
}
