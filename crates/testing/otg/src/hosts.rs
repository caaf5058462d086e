//! Emulated devices: the interfaces between which flows go, and whose addresses answer for themselves
//! ([`crate::neighbours`]).

use crate::config::{PortConfig, port_index};
use crate::field::{ipv4, ipv6, mac};
use crate::node::{Node, Wrong};
use forebay_traffic::VlanTag;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Interfaces of a configuration at most.
const INTERFACES_MAX: usize = 4096;

/// Pairs of interfaces of a flow at most.
const PAIRS_MAX: usize = 1 << 16;

/// A MAC address.
pub type Mac = [u8; 6];

/// An address of an emulated device, or an Ethernet interface without addresses.
#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    /// What flows may call it: the names of its device, its Ethernet interface and its address.
    pub names: Vec<String>,
    /// The name of its Ethernet interface.
    pub ethernet: String,
    /// The index of its port.
    pub port: usize,
    /// Its own MAC address.
    pub mac: Mac,
    /// The tag of what it sends and receives.
    pub vlan: Option<VlanTag>,
    /// Its address.
    pub address: Option<Address>,
}

/// An IP address and the router that it sends to.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// The address itself.
    pub own: IpAddr,
    /// The router, of the same version of IP.
    pub gateway: IpAddr,
    /// The router's MAC address, if it need not be asked for.
    pub gateway_mac: Option<Mac>,
}

impl Interface {
    /// Whether its address is one of IPv6, if it has one.
    pub fn is_ipv6(&self) -> Option<bool> {
        self.address.as_ref().map(|address| address.own.is_ipv6())
    }
}

/// Reads `devices`.
pub fn interfaces(node: &Node<'_>, ports: &[PortConfig]) -> Result<Vec<Interface>, Wrong> {
    let mut found = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for device in node.list()? {
        device.object(&["name", "ethernets"])?;
        let device_name = unique(&device.at("name"), &mut names)?;
        for ethernet in device.at("ethernets").list()? {
            read_ethernet(&ethernet, &device_name, ports, &mut names, &mut found)?;
        }
    }
    match found.len() {
        0..=INTERFACES_MAX => Ok(found),
        many => Err(node.wrong(format!("{many} addresses; {INTERFACES_MAX} are possible"))),
    }
}

fn unique(node: &Node<'_>, names: &mut Vec<String>) -> Result<String, Wrong> {
    let name = node.text()?.to_string();
    if names.contains(&name) {
        return Err(node.wrong(format!("the name {name:?} is that of something else, too")));
    }
    names.push(name.clone());
    Ok(name)
}

fn read_ethernet(
    node: &Node<'_>,
    device: &str,
    ports: &[PortConfig],
    names: &mut Vec<String>,
    found: &mut Vec<Interface>,
) -> Result<(), Wrong> {
    const KEYS: [&str; 8] = [
        "name",
        "connection",
        "port_name",
        "mac",
        "mtu",
        "vlans",
        "ipv4_addresses",
        "ipv6_addresses",
    ];
    node.object(&KEYS)?;
    // It bounds what protocols send, which is always less.
    node.at("mtu").whole_or(1500, 0..=65535)?;
    let ethernet = unique(&node.at("name"), names)?;
    let plain = Interface {
        names: vec![device.to_string(), ethernet.clone()],
        ethernet,
        port: connection(node, ports)?,
        mac: read_mac(&node.at("mac"))?,
        vlan: vlan(&node.at("vlans"))?,
        address: None,
    };
    let before = found.len();
    for key in ["ipv4_addresses", "ipv6_addresses"] {
        for address in node.at(key).list()? {
            let mut interface = plain.clone();
            interface.names.push(unique(&address.at("name"), names)?);
            interface.address = Some(read_address(&address, key == "ipv6_addresses")?);
            found.push(interface);
        }
    }
    if found.len() == before {
        found.push(plain);
    }
    Ok(())
}

/// The port of an Ethernet interface; older scripts name it beside the connection.
fn connection(node: &Node<'_>, ports: &[PortConfig]) -> Result<usize, Wrong> {
    let connection = node.at("connection");
    connection.object(&["choice", "port_name"])?;
    let (choice, chosen) = connection.choice("port_name")?;
    if choice != "port_name" {
        return Err(connection.not_supported(choice, &["port_name"]));
    }
    let name = if chosen.is_there() {
        chosen
    } else {
        node.at("port_name")
    };
    port_index(&name, name.text()?, ports)
}

fn read_mac(node: &Node<'_>) -> Result<Mac, Wrong> {
    let [_, _, bytes @ ..] = (mac(node)? as u64).to_be_bytes();
    Ok(bytes)
}

fn vlan(node: &Node<'_>) -> Result<Option<VlanTag>, Wrong> {
    let tags = node.list()?;
    let [tag] = tags.as_slice() else {
        return if tags.is_empty() {
            Ok(None)
        } else {
            Err(node.wrong("at most one tag is supported"))
        };
    };
    tag.object(&["name", "tpid", "priority", "id"])?;
    let kind = tag.at("tpid");
    let is_other = |kind: &str| !["x8100", "x_8100"].contains(&kind);
    if kind.is_there() && is_other(kind.text()?) {
        return Err(kind.wrong("x8100 is supported"));
    }
    Ok(Some(VlanTag {
        identifier: tag.at("id").whole_or(1, 0..=4094)? as u16,
        priority: tag.at("priority").whole_or(0, 0..=7)? as u8,
    }))
}

fn read_address(node: &Node<'_>, is_ipv6: bool) -> Result<Address, Wrong> {
    node.object(&["name", "address", "gateway", "gateway_mac", "prefix"])?;
    node.at("prefix").whole_or(24, 1..=if is_ipv6 { 128 } else { 32 })?;
    let address = |key| -> Result<IpAddr, Wrong> {
        let node = node.at(key);
        Ok(if is_ipv6 {
            IpAddr::V6(Ipv6Addr::from(ipv6(&node)?))
        } else {
            IpAddr::V4(Ipv4Addr::from(ipv4(&node)? as u32))
        })
    };
    let gateway_mac = node.at("gateway_mac");
    gateway_mac.object(&["choice", "auto", "value"])?;
    let (choice, chosen) = gateway_mac.choice("auto")?;
    Ok(Address {
        own: address("address")?,
        gateway: address("gateway")?,
        gateway_mac: match choice {
            "auto" => None,
            "value" => Some(read_mac(&chosen)?),
            other => return Err(gateway_mac.not_supported(other, &["auto", "value"])),
        },
    })
}

/// The pairs of interfaces between which a flow goes: indices of senders and receivers. `is_ipv6` is the version of the
/// flow's own IP header.
pub fn pairs(node: &Node<'_>, interfaces: &[Interface], is_ipv6: Option<bool>) -> Result<Vec<(usize, usize)>, Wrong> {
    node.object(&["mode", "tx_names", "rx_names", "bidirectional"])?;
    let (tx, rx) = (
        ends(&node.at("tx_names"), interfaces)?,
        ends(&node.at("rx_names"), interfaces)?,
    );
    let mode = node.at("mode");
    let are_joined = |(from, to): (usize, usize)| {
        from != to && versions_agree(interfaces[from].is_ipv6(), interfaces[to].is_ipv6(), is_ipv6)
    };
    let mut pairs = Vec::new();
    let joined: Vec<(Vec<usize>, Vec<usize>)> = match if mode.is_there() { mode.text()? } else { "mesh" } {
        "mesh" => vec![(tx.concat(), rx.concat())],
        "one_to_one" if tx.len() != rx.len() => {
            return Err(node.wrong("as many tx_names as rx_names are expected with one_to_one"));
        }
        "one_to_one" => tx.into_iter().zip(rx).collect(),
        _ => return Err(mode.wrong("mesh or one_to_one is expected")),
    };
    for (from, to) in &joined {
        if from.len().saturating_mul(to.len()).saturating_add(pairs.len()) > PAIRS_MAX {
            return Err(node.wrong(format!("at most {PAIRS_MAX} pairs are possible")));
        }
        pairs.extend(from.iter().flat_map(|from| to.iter().map(|to| (*from, *to))));
    }
    pairs.retain(|pair| are_joined(*pair));
    // Between devices with addresses of both versions, a flow that does not say which one takes IPv4.
    let is_ipv4 = |(from, _): &(usize, usize)| interfaces[*from].is_ipv6() == Some(false);
    if is_ipv6.is_none() && pairs.iter().any(is_ipv4) {
        pairs.retain(is_ipv4);
    }
    let Some((first, _)) = pairs.first() else {
        return Err(node.wrong("none of tx_names has an address of the version of one of rx_names"));
    };
    let port = interfaces[*first].port;
    if pairs.iter().all(|(from, _)| interfaces[*from].port == port) {
        Ok(pairs)
    } else {
        Err(node
            .at("tx_names")
            .wrong("devices of one port are expected; a flow for each port is right"))
    }
}

/// Whether a flow with an IP header of this version, if it has one, goes between interfaces with addresses of these.
fn versions_agree(from: Option<bool>, to: Option<bool>, flow: Option<bool>) -> bool {
    from == to && (from.is_none() || flow.is_none() || from == flow)
}

/// For each name the interfaces that it means.
fn ends(node: &Node<'_>, interfaces: &[Interface]) -> Result<Vec<Vec<usize>>, Wrong> {
    let found: Result<Vec<Vec<usize>>, Wrong> = node
        .texts()?
        .iter()
        .map(|name| {
            let of_name = |index: &usize| interfaces[*index].names.contains(name);
            let found: Vec<usize> = (0..interfaces.len()).filter(of_name).collect();
            if found.is_empty() {
                Err(node.wrong(format!("there is no device, Ethernet interface or address {name:?}")))
            } else {
                Ok(found)
            }
        })
        .collect();
    match found {
        Ok(found) if found.is_empty() => Err(node.wrong("names of devices are expected")),
        other => other,
    }
}
