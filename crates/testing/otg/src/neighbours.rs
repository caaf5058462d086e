//! What emulated devices say to their neighbours: they answer for their addresses and ask for the MAC addresses of their
//! routers, by ARP (RFC 826) and Neighbor Discovery (RFC 4861). They answer pings, and ping others.

use crate::echo::{self, Echo};
use crate::hosts::{Address, Interface, Mac};
use forebay_packet::checksum::Sum;
use forebay_traffic::VlanTag;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How long a router has for its answer before it is asked again (RFC 4861, `RETRANS_TIMER`).
const RETRY_NS: u64 = 1_000_000_000;

/// Answers that wait to be sent at most; more are not given.
const ANSWERS_MAX: usize = 1024;

const ETHERNET_BYTES: usize = 14;
const IPV6_BYTES: usize = 40;
const ETHER_TYPE_VLAN: u16 = 0x8100;
const ETHER_TYPE_ARP: u16 = 0x0806;
const ETHER_TYPE_IPV6: u16 = 0x86dd;
const ICMPV6: u8 = 58;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
const SOURCE_LINK_LAYER: u8 = 1;
const TARGET_LINK_LAYER: u8 = 2;
const BROADCAST: Mac = [0xff; 6];

/// The neighbours of all interfaces of a configuration.
pub struct Neighbours<'a> {
    interfaces: &'a [Interface],
    is_on: bool,
    /// What the router of each interface has answered.
    learnt: Vec<Option<Mac>>,
    /// When routers that have not answered are asked.
    ask_ns: u64,
    /// Frames to be sent, with their ports.
    answers: Vec<(usize, Vec<u8>)>,
    /// The last pings.
    pings: Vec<Ping>,
}

/// A question to a host whether it is there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ping {
    /// The interface that asks.
    pub interface: usize,
    pub target: IpAddr,
    pub is_answered: bool,
}

/// The identifier of pings.
const IDENTIFIER: u16 = 0x4642;

/// What a frame says.
enum Said {
    /// A request for an address, with the sender's own addresses if it has them.
    Asks {
        target: IpAddr,
        from: Option<(IpAddr, Mac)>,
        reply_to: (Mac, IpAddr),
    },
    /// An announcement of an address.
    Is(IpAddr, Mac),
}

impl<'a> Neighbours<'a> {
    /// None is known, nothing is answered.
    pub fn new(interfaces: &'a [Interface]) -> Neighbours<'a> {
        Neighbours {
            interfaces,
            is_on: false,
            learnt: vec![None; interfaces.len()],
            ask_ns: 0,
            answers: Vec::new(),
            pings: Vec::new(),
        }
    }

    /// Starts or stops all devices. What was learnt is forgotten, unless they were started or stopped before.
    pub fn turn(&mut self, is_on: bool) {
        if self.is_on == is_on {
            return;
        }
        self.is_on = is_on;
        self.learnt.fill(None);
        self.ask_ns = 0;
        self.answers.clear();
    }

    /// Whether devices were started.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// The MAC address of the router of an interface.
    pub fn router(&self, interface: usize) -> Option<Mac> {
        let address = self.interfaces[interface].address.as_ref()?;
        address.gateway_mac.or(self.learnt[interface])
    }

    /// Takes a frame that has come by a port; false when it is not for these devices.
    pub fn take(&mut self, port: usize, frame: &[u8]) -> bool {
        if !self.is_on {
            return false;
        }
        let Some((vlan, said)) = said(frame) else { return false };
        let mut is_ours = false;
        for (index, interface) in self.interfaces.iter().enumerate() {
            let tag = interface.vlan.map(|tag| tag.identifier);
            let Some(address) = interface
                .address
                .as_ref()
                .filter(|_| interface.port == port && tag == vlan)
            else {
                continue;
            };
            is_ours = true;
            match &said {
                Said::Is(who, mac) if *who == address.gateway => self.learnt[index] = Some(*mac),
                Said::Is(..) => {}
                Said::Asks { target, from, reply_to } => {
                    if let Some((_, mac)) = from.filter(|(who, _)| *who == address.gateway) {
                        self.learnt[index] = Some(mac);
                    }
                    if *target == address.own && self.answers.len() < ANSWERS_MAX {
                        self.answers.push((port, answer(interface, *target, *reply_to)));
                    }
                }
            }
        }
        is_ours
    }

    /// Takes an echo message that has come by a port; false when it is not for these devices.
    pub fn take_echo(&mut self, port: usize, frame: &[u8]) -> bool {
        if !self.is_on {
            return false;
        }
        let Some(echo) = Echo::read(frame) else { return false };
        let is_for = |interface: &Interface| {
            let is_there = interface.port == port && interface.vlan.map(|tag| tag.identifier) == echo.vlan;
            let own = interface.address.as_ref().map(|address| address.own);
            is_there && interface.mac == echo.macs.0 && own == Some(echo.destination)
        };
        let interfaces = self.interfaces;
        let Some(index) = interfaces.iter().position(is_for) else {
            return false;
        };
        if echo.is_request {
            let addresses = (echo.destination, echo.source);
            let answer = echo::frame(&interfaces[index], echo.macs.1, addresses, false, &echo.rest);
            let answer = answer.filter(|_| self.answers.len() < ANSWERS_MAX);
            self.answers.extend(answer.map(|answer| (port, answer)));
            return true;
        }
        for (ping, sequence) in self.pings.iter_mut().zip(0..) {
            let is_its = ping.interface == index && ping.target == echo.source;
            ping.is_answered |= is_its && echo.rest.starts_with(&numbers(sequence));
        }
        true
    }

    /// Sends pings in place of the last ones; those of interfaces whose router is not known have no answer.
    pub fn ping(&mut self, pings: Vec<Ping>) {
        for (ping, sequence) in pings.iter().zip(0..) {
            let interface = &self.interfaces[ping.interface];
            let router = self.router(ping.interface).filter(|_| self.is_on);
            let request = router.zip(interface.address.as_ref()).and_then(|(router, address)| {
                let addresses = (address.own, ping.target);
                echo::frame(interface, router, addresses, true, &numbers(sequence))
            });
            self.answers.extend(request.map(|request| (interface.port, request)));
        }
        self.pings = pings;
    }

    /// The last pings.
    pub fn pings(&self) -> &[Ping] {
        &self.pings
    }

    /// What is to be sent now, each with its port.
    pub fn due(&mut self, now_ns: u64) -> Vec<(usize, Vec<u8>)> {
        let mut due = std::mem::take(&mut self.answers);
        if self.is_on && now_ns >= self.ask_ns {
            self.ask_ns = now_ns + RETRY_NS;
            let unknown = self.interfaces.iter().enumerate();
            let unknown = unknown.filter(|(index, _)| self.router(*index).is_none());
            due.extend(unknown.filter_map(|(_, interface)| {
                let address = interface.address.as_ref()?;
                Some((interface.port, question(interface, address)))
            }));
        }
        due
    }
}

/// Identifier and sequence number of a ping.
fn numbers(sequence: u16) -> [u8; 4] {
    (u32::from(IDENTIFIER) << 16 | u32::from(sequence)).to_be_bytes()
}

/// What a frame of ARP or Neighbor Discovery says, and the VLAN in which.
fn said(frame: &[u8]) -> Option<(Option<u16>, Said)> {
    let word = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
    let (mut ether_type, mut at, mut vlan) = (word(12)?, ETHERNET_BYTES, None);
    if ether_type == ETHER_TYPE_VLAN {
        vlan = Some(word(14)? & 0xfff);
        (ether_type, at) = (word(16)?, at + 4);
    }
    let payload = frame.get(at..)?;
    let source = frame.get(6..12)?.try_into().ok()?;
    let said = match ether_type {
        ETHER_TYPE_ARP => said_by_arp(payload),
        ETHER_TYPE_IPV6 => said_by_discovery(payload, source),
        _ => None,
    };
    said.map(|said| (vlan, said))
}

fn said_by_arp(payload: &[u8]) -> Option<Said> {
    // Ethernet, IPv4, lengths 6 and 4.
    let payload = payload.get(..28)?;
    let operation = payload.strip_prefix(&[0, 1, 8, 0, 6, 4, 0])?[0];
    let mac: Mac = payload[8..14].try_into().ok()?;
    let address = |at: usize| -> Option<IpAddr> {
        let octets: [u8; 4] = payload[at..at + 4].try_into().ok()?;
        Some(Ipv4Addr::from(octets).into())
    };
    let (sender, target) = (address(14)?, address(24)?);
    match operation {
        // A gratuitous request is an announcement (RFC 5227).
        1 if sender == target => Some(Said::Is(sender, mac)),
        1 => Some(Said::Asks {
            target,
            from: Some((sender, mac)),
            reply_to: (mac, sender),
        }),
        2 => Some(Said::Is(sender, mac)),
        _ => None,
    }
}

fn said_by_discovery(packet: &[u8], source_mac: Mac) -> Option<Said> {
    let (header, rest) = packet.split_at_checked(IPV6_BYTES)?;
    let message = rest.get(..usize::from(u16::from_be_bytes([header[4], header[5]])))?;
    // A router does not let it pass (RFC 4861, 7.1).
    let is_discovery = header[6] == ICMPV6 && header[7] == 255 && message.get(1) == Some(&0);
    let address = |bytes: &[u8]| -> Option<Ipv6Addr> {
        let octets: [u8; 16] = bytes.try_into().ok()?;
        Some(octets.into())
    };
    let (source, destination) = (address(&header[8..24])?, address(&header[24..40])?);
    let sum = Sum::new().add_ipv6_pseudo_header(source, destination, ICMPV6, message.len() as u32);
    if !is_discovery || sum.add_bytes(message).fold() != 0xffff {
        return None;
    }
    let target = address(message.get(8..24)?)?.into();
    let options = &message[24..];
    match message[0] {
        SOLICITATION => {
            let mac = option(options, SOURCE_LINK_LAYER);
            // A probe for a duplicate has no source address; its answer goes to all nodes (RFC 4861, 7.2.4).
            let reply_to = if source.is_unspecified() {
                (multicast_mac(ALL_NODES), ALL_NODES)
            } else {
                (mac.unwrap_or(source_mac), source)
            };
            Some(Said::Asks {
                target,
                from: mac.map(|mac| (source.into(), mac)),
                reply_to: (reply_to.0, reply_to.1.into()),
            })
        }
        ADVERTISEMENT => Some(Said::Is(
            target,
            option(options, TARGET_LINK_LAYER).unwrap_or(source_mac),
        )),
        _ => None,
    }
}

const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// The MAC address in an option of Neighbor Discovery, whose length is in units of eight bytes.
fn option(mut options: &[u8], kind: u8) -> Option<Mac> {
    loop {
        let bytes = usize::from(*options.get(1)?) * 8;
        let (option, rest) = options.split_at_checked(bytes).filter(|_| bytes > 0)?;
        if option[0] == kind && bytes == 8 {
            return option[2..].try_into().ok();
        }
        options = rest;
    }
}

/// The Ethernet address of an IPv6 multicast address (RFC 2464, 7).
fn multicast_mac(address: Ipv6Addr) -> Mac {
    let [.., a, b, c, d] = address.octets();
    [0x33, 0x33, a, b, c, d]
}

/// The answer of an interface to a request for its address.
fn answer(interface: &Interface, own: IpAddr, (mac, who): (Mac, IpAddr)) -> Vec<u8> {
    match (own, who) {
        (IpAddr::V4(own), IpAddr::V4(who)) => arp(interface, mac, 2, own, (mac, who)),
        (IpAddr::V6(own), IpAddr::V6(who)) => {
            // Solicited, unless it is for all; overrides what is known.
            let flags = if who == ALL_NODES { 0x20 } else { 0x60 };
            let message = (ADVERTISEMENT, flags, own, TARGET_LINK_LAYER);
            discovery(interface, mac, (own, who), message)
        }
        _ => Vec::new(),
    }
}

/// The question of an interface for its router.
fn question(interface: &Interface, address: &Address) -> Vec<u8> {
    match (address.own, address.gateway) {
        (IpAddr::V4(own), IpAddr::V4(gateway)) => arp(interface, BROADCAST, 1, own, ([0; 6], gateway)),
        (IpAddr::V6(own), IpAddr::V6(gateway)) => {
            let [.., a, b, c] = gateway.octets();
            // The solicited-node multicast address (RFC 4291, 2.7.1).
            let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(a), u16::from_be_bytes([b, c]));
            let message = (SOLICITATION, 0, gateway, SOURCE_LINK_LAYER);
            discovery(interface, multicast_mac(group), (own, group), message)
        }
        _ => Vec::new(),
    }
}

fn ethernet(interface: &Interface, destination: Mac, ether_type: u16) -> Vec<u8> {
    let mut frame = [destination, interface.mac].concat();
    if let Some(VlanTag { identifier, priority }) = interface.vlan {
        frame.extend(ETHER_TYPE_VLAN.to_be_bytes());
        frame.extend((u16::from(priority) << 13 | identifier).to_be_bytes());
    }
    frame.extend(ether_type.to_be_bytes());
    frame
}

fn arp(interface: &Interface, to: Mac, operation: u8, own: Ipv4Addr, (mac, who): (Mac, Ipv4Addr)) -> Vec<u8> {
    let mut frame = ethernet(interface, to, ETHER_TYPE_ARP);
    frame.extend([0, 1, 8, 0, 6, 4, 0, operation]);
    frame.extend(interface.mac);
    frame.extend(own.octets());
    frame.extend(mac);
    frame.extend(who.octets());
    // The shortest frame, without check sequence.
    frame.resize(frame.len().max(60), 0);
    frame
}

/// A message of Neighbor Discovery: its type, flags, target and the type of its option.
fn discovery(
    interface: &Interface,
    to: Mac,
    (source, destination): (Ipv6Addr, Ipv6Addr),
    (kind, flags, target, option): (u8, u8, Ipv6Addr, u8),
) -> Vec<u8> {
    let mut message = vec![kind, 0, 0, 0, flags, 0, 0, 0];
    message.extend(target.octets());
    message.extend([option, 1]);
    message.extend(interface.mac);
    let sum = Sum::new().add_ipv6_pseudo_header(source, destination, ICMPV6, message.len() as u32);
    let checksum = sum.add_bytes(&message).checksum();
    message[2..4].copy_from_slice(&checksum.to_be_bytes());
    let mut frame = ethernet(interface, to, ETHER_TYPE_IPV6);
    frame.extend([0x60, 0, 0, 0]);
    frame.extend((message.len() as u16).to_be_bytes());
    frame.extend([ICMPV6, 255]);
    frame.extend(source.octets());
    frame.extend(destination.octets());
    frame.extend(message);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(port: usize, number: u8, own: &str, gateway: &str, vlan: Option<u16>) -> Interface {
        Interface {
            names: Vec::new(),
            ethernet: String::new(),
            port,
            mac: [2, 0, 0, 0, 0, number],
            vlan: vlan.map(|identifier| VlanTag {
                identifier,
                priority: 0,
            }),
            address: Some(Address {
                own: own.parse().expect("an address"),
                gateway: gateway.parse().expect("an address"),
                gateway_mac: None,
            }),
        }
    }

    /// Two devices that are each other's router find each other, in both versions and in a VLAN.
    #[test]
    fn devices_find_each_other() {
        for (one, other, vlan) in [
            ("192.0.2.1", "192.0.2.2", None),
            ("2001:db8::1", "2001:db8::ff:2", Some(7)),
        ] {
            let left = [interface(0, 1, one, other, vlan)];
            let right = [interface(0, 2, other, one, vlan)];
            let (mut left, mut right) = (Neighbours::new(&left), Neighbours::new(&right));
            assert!(left.due(0).is_empty(), "nothing is asked before the start");
            left.turn(true);
            right.turn(true);
            let asked = left.due(0);
            assert_eq!(asked.len(), 1);
            assert!(left.due(RETRY_NS - 1).is_empty(), "an answer may still come");
            assert!(right.take(0, &asked[0].1));
            assert_eq!(right.router(0), Some([2, 0, 0, 0, 0, 1]), "who asks says who it is");
            let answers = right.due(0);
            assert_eq!(answers.len(), 1, "an answer, and no question any more");
            assert!(left.take(0, &answers[0].1));
            assert_eq!(left.router(0), Some([2, 0, 0, 0, 0, 2]));
            left.turn(true);
            assert_eq!(left.router(0), Some([2, 0, 0, 0, 0, 2]), "they are started already");
            left.turn(false);
            left.turn(true);
            assert_eq!(left.router(0), None, "a start begins anew");
        }
    }

    /// A device pings another, which answers; it does not answer what is for others.
    #[test]
    fn pings_are_sent_and_answered() {
        for (one, other, vlan) in [
            ("192.0.2.1", "192.0.2.2", Some(7)),
            ("2001:db8::1", "2001:db8::ff:2", None),
        ] {
            let left = [interface(0, 1, one, other, vlan)];
            let right = [interface(0, 2, other, one, vlan)];
            let (mut left, mut right) = (Neighbours::new(&left), Neighbours::new(&right));
            left.turn(true);
            right.turn(true);
            left.due(0)
                .iter()
                .for_each(|(port, frame)| assert!(right.take(*port, frame)));
            right
                .due(0)
                .iter()
                .for_each(|(port, frame)| assert!(left.take(*port, frame)));
            let ping = |target: &str| Ping {
                interface: 0,
                target: target.parse().expect("an address"),
                is_answered: false,
            };
            left.ping(vec![ping("198.51.100.1"), ping(other)]);
            let asked = left.due(1);
            let own = asked.last().expect("a request");
            assert!(!right.take_echo(1, &own.1), "another port");
            let mut broken = own.1.clone();
            broken[if vlan.is_some() { 45 } else { 61 }] ^= 1;
            assert!(!right.take_echo(0, &broken), "a wrong checksum");
            assert!(right.take_echo(0, &own.1) && !left.take_echo(0, &own.1));
            for (port, frame) in right.due(1) {
                assert!(left.take_echo(port, &frame));
            }
            let answered: Vec<bool> = left.pings().iter().map(|ping| ping.is_answered).collect();
            assert_eq!(answered, [false, true]);
        }
    }

    #[test]
    fn only_the_interfaces_own_addresses_are_answered_for() {
        let interfaces = [interface(1, 1, "192.0.2.1", "192.0.2.254", None)];
        let asks = interface(0, 9, "192.0.2.9", "192.0.2.1", None);
        let other = interface(0, 9, "192.0.2.9", "192.0.2.3", None);
        let tagged = interface(0, 9, "192.0.2.9", "192.0.2.1", Some(5));
        let request = |from: &Interface| question(from, from.address.as_ref().expect("an address"));
        let mut neighbours = Neighbours::new(&interfaces);
        assert!(!neighbours.take(1, &request(&asks)), "it is not started");
        neighbours.turn(true);
        neighbours.due(0);
        assert!(!neighbours.take(0, &request(&asks)), "another port");
        assert!(!neighbours.take(1, &request(&tagged)), "another VLAN");
        assert!(neighbours.take(1, &request(&other)) && neighbours.due(1).is_empty());
        assert!(neighbours.take(1, &request(&asks)) && neighbours.due(1).len() == 1);
        let mut short = request(&asks);
        short.truncate(40);
        assert!(!neighbours.take(1, &short));
    }

    /// The answer to a probe without a source address goes to all nodes. A request with a wrong checksum has no answer.
    #[test]
    fn duplicate_addresses_are_detected() {
        let interfaces = [interface(0, 1, "2001:db8::1", "2001:db8::fe", None)];
        let mut neighbours = Neighbours::new(&interfaces);
        neighbours.turn(true);
        neighbours.due(0);
        let probe = interface(0, 9, "::", "2001:db8::1", None);
        let mut frame = question(&probe, probe.address.as_ref().expect("an address"));
        assert!(neighbours.take(0, &frame));
        let answers = neighbours.due(1);
        assert_eq!(answers[0].1[..6], [0x33, 0x33, 0, 0, 0, 1]);
        assert_eq!(answers[0].1[ETHERNET_BYTES + IPV6_BYTES + 4], 0x20, "not solicited");
        frame[ETHERNET_BYTES + IPV6_BYTES + 2] ^= 1;
        assert!(!neighbours.take(0, &frame));
    }
}
