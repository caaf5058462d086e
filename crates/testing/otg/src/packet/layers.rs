//! Layers of a packet: the fields of each, as the API has them.

use super::{
    ArpFields, CUSTOM_BYTES_MAX, ETHER_TYPE, EchoFields, FRAGMENT, ICMP, ICMPV6, LABELS_MAX, LARGEST_8, LARGEST_20,
    LARGEST_MAC, LARGEST_WORD, Label, Layers, Link, NEXT_HEADER, NetworkFields, PROTOCOL, TAGS_MAX, TCP_FLAGS,
    TagFields, TcpFields, TransportFields, VLAN_ETHER_TYPE, VLAN_MAX,
};
use crate::field::{Field, Parse, hexadecimal, ipv4, ipv6, mac, number};
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

/// Refuses an EtherType that is neither the one of what follows nor, before a tag, the tag's.
pub(super) fn check_ether_type(ethernet: &Node<'_>, link: &Link, sent: u128, what: &str) -> Result<(), Wrong> {
    let node = ethernet.at("ether_type");
    match link.tags.first() {
        Some(tag) if Field::read(&node, sent, LARGEST_WORD, number)? == tag.protocol => Ok(()),
        _ => check_number(&node, sent, what),
    }
}

/// Refuses a protocol of IPv4, or a next header of IPv6, that is not the one of what follows.
pub(super) fn check_protocol(network: &Node<'_>, sent: u128, what: &str) -> Result<(), Wrong> {
    ["protocol", "next_header"]
        .into_iter()
        .try_for_each(|key| check_number(&network.at(key), sent, what))
}

/// Refuses a checksum other than the right one, which is what is sent.
pub(super) fn check_checksum(node: &Node<'_>) -> Result<(), Wrong> {
    node.object(&["choice", "generated", "custom"])?;
    let (choice, chosen) = node.choice("generated")?;
    if choice == "generated" && (!chosen.is_there() || chosen.text()? == "good") {
        Ok(())
    } else {
        Err(node.wrong("right checksums are sent; others are not supported"))
    }
}

/// The header after the network header; without one, a protocol stays what the network header says. `port` is the one
/// that UDP goes to when the script names none.
pub(super) fn transport(
    layer: Option<(String, Node<'_>)>,
    network: &Node<'_>,
    port: u128,
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
    check_protocol(network, protocol, &name)?;
    match name.as_str() {
        "tcp" => tcp_fields(&node).map(|fields| TransportFields::Tcp(Box::new(fields))),
        "udp" => {
            node.object(&["src_port", "dst_port", "checksum"])?;
            check_checksum(&node.at("checksum"))?;
            Ok(TransportFields::Udp(
                Field::read(&node.at("src_port"), 0, LARGEST_WORD, number)?,
                Field::read(&node.at("dst_port"), port, LARGEST_WORD, number)?,
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
        kind: field("type", request, LARGEST_8)?,
        code: field("code", 0, LARGEST_8)?,
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
            time_to_live: Field::read(&node.at("time_to_live"), 64, LARGEST_8, number)?,
        });
    }
    Ok(labels)
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
    let pair = |pair: &[u8]| hexadecimal(std::str::from_utf8(pair).ok()?);
    let read: Option<Vec<u8>> = digits.chunks(2).map(pair).collect();
    match read.filter(|read| digits.len().is_multiple_of(2) && (1..=CUSTOM_BYTES_MAX).contains(&read.len())) {
        Some(read) => Ok(read),
        None => Err(bytes.wrong(format!(
            "1 to {CUSTOM_BYTES_MAX} bytes in hexadecimal are expected, like 0a0b0c"
        ))),
    }
}

/// The tags of VLANs that come next, of which the first one has what the device says; that of the device where there are
/// none.
pub(super) fn tags(layers: &mut Layers<'_>, default: Option<VlanTag>) -> Result<Vec<TagFields>, Wrong> {
    let mut default: Option<(u128, u128)> = default.map(|tag| (tag.identifier.into(), tag.priority.into()));
    let mut tags = Vec::new();
    while let Some((_, node)) = layers.next(&["vlan"])? {
        if tags.len() == TAGS_MAX {
            return Err(node.wrong(format!("at most {TAGS_MAX} tags are possible")));
        }
        node.object(&["id", "priority", "cfi", "tpid"])?;
        let (identifier, priority) = default.take().unwrap_or_default();
        tags.push(TagFields {
            protocol: Field::read(&node.at("tpid"), VLAN_ETHER_TYPE, LARGEST_WORD, number)?,
            priority: Field::read(&node.at("priority"), priority, 7, number)?,
            drop_eligible: Field::read(&node.at("cfi"), 0, 1, number)?,
            identifier: Field::read(&node.at("id"), identifier, VLAN_MAX, number)?,
        });
    }
    tags.extend(default.map(|(identifier, priority)| TagFields {
        protocol: Field::one(VLAN_ETHER_TYPE),
        priority: Field::one(priority),
        drop_eligible: Field::one(0),
        identifier: Field::one(identifier),
    }));
    Ok(tags)
}

pub(super) fn arp(node: &Node<'_>) -> Result<ArpFields, Wrong> {
    // Key, value that the API gives it, and bytes.
    let numbers = [
        ("hardware_type", 1, 2),
        ("protocol_type", 0x0800, 2),
        ("hardware_length", 6, 1),
        ("protocol_length", 4, 1),
        ("operation", 1, 2),
    ];
    let addresses: [(&str, Parse, usize); 4] = [
        ("sender_hardware_addr", mac, 6),
        ("sender_protocol_addr", ipv4, 4),
        ("target_hardware_addr", mac, 6),
        ("target_protocol_addr", ipv4, 4),
    ];
    let known: Vec<&str> = (numbers.iter().map(|(key, ..)| *key))
        .chain(addresses.iter().map(|(key, ..)| *key))
        .collect();
    node.object(&known)?;
    let largest = |bytes: usize| (1 << (8 * bytes)) - 1;
    let mut fields = Vec::new();
    for (key, default, bytes) in numbers {
        fields.push((Field::read(&node.at(key), default, largest(bytes), number)?, bytes));
    }
    for (key, parse, bytes) in addresses {
        fields.push((Field::read(&node.at(key), 0, largest(bytes), parse)?, bytes));
    }
    Ok(ArpFields(fields))
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
        hops: Field::read(&node.at("time_to_live"), 64, LARGEST_8, number)?,
        traffic_class: priority(&node.at("priority"))?,
        identification: Field::read(&node.at("identification"), 0, LARGEST_WORD, number)?,
        protocol: Field::read(&node.at("protocol"), PROTOCOL, LARGEST_8, number)?,
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
    node.object(&["choice", "raw", "tos", "dscp"])?;
    let (choice, chosen) = node.choice("dscp")?;
    match choice {
        "raw" => Field::read(&chosen, 0, LARGEST_8, number),
        "dscp" => {
            chosen.object(&["phb", "ecn"])?;
            let point = Field::read(&chosen.at("phb"), 0, 63, number)?;
            let ecn = one_value(&chosen.at("ecn"), 3)?;
            Ok(Field::in_turn(
                point.values().iter().map(|point| point << 2 | ecn).collect(),
            ))
        }
        "tos" => tos(&chosen),
        other => Err(node.not_supported(other, &["raw", "tos", "dscp"])),
    }
}

/// The type of service of RFC 791.
fn tos(node: &Node<'_>) -> Result<Field, Wrong> {
    const FLAGS: [&str; 5] = ["delay", "throughput", "reliability", "monetary", "unused"];
    let known: Vec<&str> = ["precedence"].into_iter().chain(FLAGS).collect();
    node.object(&known)?;
    let precedence = Field::read(&node.at("precedence"), 0, 7, number)?;
    let mut flags = 0;
    for key in FLAGS {
        flags = flags << 1 | one_value(&node.at(key), 1)?;
    }
    let values = precedence.values().iter();
    Ok(Field::in_turn(
        values.map(|precedence| precedence << 5 | flags).collect(),
    ))
}

/// The value of a field that does not vary.
fn one_value(node: &Node<'_>, largest: u128) -> Result<u128, Wrong> {
    match Field::read(node, 0, largest, number)?.values() {
        [value] => Ok(*value),
        _ => Err(node.wrong("one value is supported")),
    }
}

pub(super) fn ipv6_fields(node: &Node<'_>, (source, destination): (u128, u128)) -> Result<NetworkFields, Wrong> {
    node.object(&["src", "dst", "hop_limit", "traffic_class", "flow_label", "next_header"])?;
    let address = |key, default: u128| Field::read(&node.at(key), default, u128::MAX, ipv6);
    Ok(NetworkFields {
        is_ipv6: true,
        source: address("src", source)?,
        destination: address("dst", destination)?,
        hops: Field::read(&node.at("hop_limit"), 64, LARGEST_8, number)?,
        traffic_class: Field::read(&node.at("traffic_class"), 0, LARGEST_8, number)?,
        identification: Field::read(&node.at("flow_label"), 0, LARGEST_20, number)?,
        protocol: Field::read(&node.at("next_header"), NEXT_HEADER, LARGEST_8, number)?,
        fragment: Vec::new(),
    })
}
