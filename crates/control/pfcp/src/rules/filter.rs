//! Filters of service data flows: rules of IPFilterRule form (§8.2.5, RFC 6733 §4.3.1).
//!
//! ```text
//!   permit out 17 from 198.51.100.0/24 53,5000-5010 to assigned 4000
//!              protocol    remote      ports             UE      ports
//! ```
//!
//! Both directions are written like this one, which is that of downlink packets (§5.2.1A.2).

use crate::wire::{Fault, Reader, Value, Writer};
use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;

/// Addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Network {
    /// The first of them.
    pub address: IpAddr,
    /// How many bits count.
    pub length: u8,
}

impl Network {
    /// Reads `198.51.100.0/24`, or an address alone; none when it is neither.
    pub fn parse(text: &str) -> Option<Network> {
        network(text)?.or(text.split_once('/').and_then(|(address, _)| {
            let address = address.parse().ok()?;
            Some(Network { address, length: 0 })
        }))
    }

    /// Whether an address is one of them.
    pub fn has(&self, address: IpAddr) -> bool {
        let begins_alike = |one: u128, other: u128, width: u32| {
            let shift = width - u32::from(self.length).min(width);
            shift >= width || one >> shift == other >> shift
        };
        match (self.address, address) {
            (IpAddr::V4(one), IpAddr::V4(other)) => begins_alike(u32::from(one).into(), u32::from(other).into(), 32),
            (IpAddr::V6(one), IpAddr::V6(other)) => begins_alike(one.into(), other.into(), 128),
            _ => false,
        }
    }
}

/// What a filter of a PDR says of packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Filter {
    /// The protocol over IP, if there is one.
    pub protocol: Option<u8>,
    /// Addresses of the remote side, if they are limited.
    pub remote: Option<Network>,
    /// Ports of the remote side: any of these ranges; all if there is none.
    pub remote_ports: Vec<(u16, u16)>,
    /// The address of the UE, where it is not `assigned`: it must be one that the PDR names.
    pub local: Option<Network>,
    /// Ports of the UE, in the same way.
    pub local_ports: Vec<(u16, u16)>,
    /// The number by which other PDRs of the session may have the same filter.
    pub id: Option<u32>,
}

/// Ranges of a list of ports.
const RANGES_MAX: usize = 16;

/// What an SDF Filter says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SdfFilter {
    /// A filter.
    Described(Filter),
    /// The number of one that another PDR of the session describes (§5.2.1A.2A).
    Known(u32),
}

/// Bits of an SDF Filter.
const HAS_DESCRIPTION: u8 = 1;
const IS_BIDIRECTIONAL: u8 = 16;

impl Value for SdfFilter {
    fn read(reader: &mut Reader<'_>) -> Result<SdfFilter, Fault> {
        let flags = reader.u8()?;
        reader.u8()?;
        // ToS, SPI and flow label are not looked at by the user plane.
        if flags & 0b1110 != 0 {
            return Err(Fault::Wrong);
        }
        let has = |bit: u8| flags & bit != 0;
        let filter = has(HAS_DESCRIPTION).then(|| description(reader)).transpose()?;
        let id = has(IS_BIDIRECTIONAL).then(|| reader.u32()).transpose()?;
        match (filter, id) {
            (Some(filter), id) => Ok(SdfFilter::Described(Filter { id, ..filter })),
            (None, Some(id)) => Ok(SdfFilter::Known(id)),
            (None, None) => Err(Fault::Wrong),
        }
    }
}

fn description(reader: &mut Reader<'_>) -> Result<Filter, Fault> {
    let length = usize::from(reader.u16()?);
    // pfcpsim sends an empty description for every packet.
    if length == 0 {
        return Ok(Filter::default());
    }
    let text = std::str::from_utf8(reader.bytes(length)?).map_err(|_| Fault::Wrong)?;
    Filter::parse(text).ok_or(Fault::Wrong)
}

impl Filter {
    /// Reads a flow description; none when it has another form.
    pub fn parse(text: &str) -> Option<Filter> {
        let mut words = text.split_ascii_whitespace().peekable();
        if words.next()? != "permit" || words.next()? != "out" {
            return None;
        }
        // Numbers, or the names that rules of ipfw have.
        let protocol = match words.next()?.to_ascii_lowercase().as_str() {
            "ip" => None,
            "icmp" => Some(1),
            "tcp" => Some(6),
            "udp" => Some(17),
            "sctp" => Some(132),
            number => Some(number.parse().ok()?),
        };
        let mut ends = [(None, Vec::new()), (None, Vec::new())];
        for (word, end) in ["from", "to"].into_iter().zip(&mut ends) {
            if words.next()? != word {
                return None;
            }
            end.0 = network(words.next()?)?;
            if let Some(list) = words.next_if(|word| word.starts_with(|first: char| first.is_ascii_digit())) {
                end.1 = ports(list)?;
            }
        }
        let [(remote, remote_ports), (local, local_ports)] = ends;
        words.next().is_none().then_some(Filter {
            protocol,
            remote,
            remote_ports,
            local,
            local_ports,
            id: None,
        })
    }

    /// Writes it as the value of an SDF Filter.
    pub fn write(&self, writer: &mut Writer) {
        let text = self.to_string();
        writer.u8(HAS_DESCRIPTION | self.id.map_or(0, |_| IS_BIDIRECTIONAL));
        writer.u8(0);
        writer.u16(text.len() as u16);
        writer.bytes(text.as_bytes());
        if let Some(id) = self.id {
            writer.u32(id);
        }
    }
}

/// An address or prefix; the outer none when it has no such form, the inner one for all addresses.
fn network(word: &str) -> Option<Option<Network>> {
    if word == "any" || word == "assigned" {
        return Some(None);
    }
    let (address, length) = match word.split_once('/') {
        Some((address, length)) => (address, Some(length)),
        None => (word, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let length = length.map_or(Some(bits), |length| length.parse().ok())?;
    let network = Network { address, length };
    (length <= bits).then_some((length > 0).then_some(network))
}

/// `80`, `80-90`, or several of them with commas.
fn ports(word: &str) -> Option<Vec<(u16, u16)>> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let range: RangeInclusive<u16> = first.parse().ok()?..=last.parse().ok()?;
        (!range.is_empty()).then_some((*range.start(), *range.end()))
    };
    let ranges: Option<Vec<_>> = word.split(',').map(range).collect();
    ranges.filter(|ranges| ranges.len() <= RANGES_MAX)
}

impl fmt::Display for Filter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("permit out ")?;
        match self.protocol {
            Some(protocol) => write!(formatter, "{protocol} from ")?,
            None => formatter.write_str("ip from ")?,
        }
        match self.remote {
            Some(network) => write!(formatter, "{}/{}", network.address, network.length)?,
            None => formatter.write_str("any")?,
        }
        write_ports(formatter, &self.remote_ports)?;
        match self.local {
            Some(network) => write!(formatter, " to {}/{}", network.address, network.length)?,
            None => formatter.write_str(" to assigned")?,
        }
        write_ports(formatter, &self.local_ports)
    }
}

fn write_ports(formatter: &mut fmt::Formatter<'_>, ports: &[(u16, u16)]) -> fmt::Result {
    let mut before = " ";
    for (first, last) in ports {
        write!(formatter, "{before}{first}-{last}")?;
        before = ",";
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_read_and_written() {
        let text = "permit out 17 from 198.51.100.0/24 53,5000-5010 to assigned 4000";
        let filter = Filter::parse(text).expect("a rule");
        assert_eq!(filter.protocol, Some(17));
        assert_eq!(filter.remote_ports, [(53, 53), (5000, 5010)]);
        assert_eq!(filter.local_ports, [(4000, 4000)]);
        assert_eq!(Filter::parse(&filter.to_string()), Some(filter));
        let text = "permit out 17 from 198.51.100.7/32 49152-49152 to 10.45.0.2/32 5000-5000";
        let filter = Filter::parse(text).expect("a rule that names the UE");
        assert_eq!(filter.to_string(), text);
    }

    #[test]
    fn protocols_have_names_too() {
        for (name, number) in [("udp", Some(17)), ("TCP", Some(6)), ("IP", None)] {
            let filter = Filter::parse(&format!("permit out {name} from any to assigned")).expect(name);
            assert_eq!(filter.protocol, number);
        }
    }

    #[test]
    fn everything_and_nothing() {
        let everything = Filter::parse("permit out ip from any to assigned");
        assert_eq!(everything, Some(Filter::default()));
        assert_eq!(
            Filter::parse("permit out ip from 0.0.0.0/0 to any"),
            Some(Filter::default())
        );
        for wrong in [
            "",
            "deny out ip from any to any",
            "permit in ip from any to any",
            "permit out ip from any",
            "permit out 300 from any to any",
            "permit out 6 from 10.0.0.0/33 to any",
            "permit out 6 from any 90-80 to any",
            "permit out 6 from any 70000 to any",
            "permit out 6 from any to any established",
        ] {
            assert_eq!(Filter::parse(wrong), None, "{wrong}");
        }
    }
}
