//! Values in the notations of the field, and as the byte strings of P4Runtime (§8.3).
//!
//! Read: `10`, `0x0a`, `0b1010`, `1_000`, `true`, `00:11:22:33:44:55`, `10.0.0.1`, `2001:db8::1`, and names of
//! `enum bit<W>` members. What is written is read again as the same value.

use crate::mistake::Mistake;
use num_bigint::{BigInt, BigUint, Sign};
use std::net::{Ipv4Addr, Ipv6Addr};

/// How values of a field are shown. They are read in every notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// `10`
    Decimal,
    /// `0x0a`
    Hexadecimal,
    /// `00:11:22:33:44:55`
    Mac,
    /// `10.0.0.1`
    Ipv4,
    /// `2001:db8::1`
    Ipv6,
}

/// What a value is of: a key field, a parameter, an element of a register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name in the P4Info.
    pub name: String,
    /// Its number in the P4Info.
    pub id: u32,
    /// Its width in bits; 0 for a string (§18 of the specification, translated types).
    pub width: u32,
    /// Whether it is an `int<W>`.
    pub is_signed: bool,
    /// How it is shown.
    pub notation: Notation,
    /// Names of values, when its type is an `enum bit<W>`.
    pub names: Vec<(String, BigUint)>,
}

impl Field {
    /// A field of an unsigned type; the notation is that of an `@format` annotation, or guessed by width and name.
    pub fn new(id: u32, name: &str, width: i32, annotations: &[String]) -> Field {
        let width = u32::try_from(width).unwrap_or(0);
        Field {
            name: name.to_string(),
            id,
            width,
            is_signed: false,
            notation: annotated(annotations).unwrap_or_else(|| guessed(name, width)),
            names: Vec::new(),
        }
    }

    /// A field that is matched by prefixes: one of 32 or 128 bits is an address, whatever its name is.
    pub fn with_prefixes(id: u32, name: &str, width: i32, annotations: &[String]) -> Field {
        let field = Field::new(id, name, width, annotations);
        let address = match field.width {
            32 => Notation::Ipv4,
            128 => Notation::Ipv6,
            _ => return field,
        };
        Field {
            notation: annotated(annotations).unwrap_or(address),
            ..field
        }
    }

    /// `bit<32>`, as the program writes it.
    pub fn type_name(&self) -> String {
        match (self.width, self.is_signed) {
            (0, _) => "string".to_string(),
            (width, true) => format!("int<{width}>"),
            (width, false) => format!("bit<{width}>"),
        }
    }

    /// The largest value.
    pub(crate) fn ones(&self) -> BigUint {
        (BigUint::from(1_u8) << self.width) - 1_u8
    }

    /// Reads a value.
    ///
    /// # Errors
    /// When the text is no value of the field; the mistake says what would be.
    pub fn read(&self, text: &str) -> Result<Vec<u8>, Mistake> {
        match (self.width, self.is_signed) {
            (0, _) => Ok(text.as_bytes().to_vec()),
            (_, true) => self.read_signed(text),
            (_, false) => self.number(text).map(|number| bytes(&number)),
        }
    }

    /// Reads a value of a field that is no string.
    ///
    /// # Errors
    /// When the text is no value of the field.
    pub(crate) fn number(&self, text: &str) -> Result<BigUint, Mistake> {
        let named = self.names.iter().find(|(name, _)| name == text);
        let number = named.map(|(_, number)| number.clone()).or_else(|| number(text));
        let number = number.ok_or_else(|| self.no_value(text))?;
        if number.bits() <= u64::from(self.width) {
            Ok(number)
        } else {
            Err(self.too_large(text))
        }
    }

    fn read_signed(&self, text: &str) -> Result<Vec<u8>, Mistake> {
        let (magnitude, sign) = match text.strip_prefix('-') {
            Some(rest) => (number(rest), Sign::Minus),
            None => (number(text), Sign::Plus),
        };
        let magnitude = magnitude.ok_or_else(|| self.no_value(text))?;
        let value = BigInt::from_biguint(if magnitude.bits() == 0 { Sign::NoSign } else { sign }, magnitude);
        let limit = BigInt::from(1_u8) << (self.width - 1);
        if value >= -limit.clone() && value < limit {
            Ok(value.to_signed_bytes_be())
        } else {
            Err(self.too_large(text))
        }
    }

    /// Writes a value.
    pub fn write(&self, value: &[u8]) -> String {
        if self.width == 0 {
            return String::from_utf8_lossy(value).into_owned();
        }
        if self.is_signed {
            return BigInt::from_signed_bytes_be(value).to_string();
        }
        let number = BigUint::from_bytes_be(value);
        match self.names.iter().find(|(_, named)| *named == number) {
            Some((name, _)) => name.clone(),
            None => self.write_number(&number),
        }
    }

    /// Writes a number in the notation of a text that was read: an address where an address was written.
    pub(crate) fn write_like(&self, text: &str, number: &BigUint) -> String {
        let notation = match text {
            text if text.parse::<Ipv4Addr>().is_ok() => Notation::Ipv4,
            text if text.parse::<Ipv6Addr>().is_ok() => Notation::Ipv6,
            text if text.contains(':') => Notation::Mac,
            text if text.starts_with("0x") => Notation::Hexadecimal,
            _ => return self.write(&bytes(number)),
        };
        write_number(number, notation)
    }

    fn write_number(&self, number: &BigUint) -> String {
        write_number(number, self.notation)
    }

    fn no_value(&self, text: &str) -> Mistake {
        let mistake = Mistake::new(format!(
            "`{text}` is no value of `{}` ({})",
            self.name,
            self.type_name()
        ));
        mistake.help(format!("write {}", self.wanted()))
    }

    fn too_large(&self, text: &str) -> Mistake {
        let mistake = Mistake::new(format!("{text} does not fit in `{}` ({})", self.name, self.type_name()));
        let half = BigUint::from(1_u8) << (self.width - 1);
        mistake.help(if self.is_signed {
            format!("values are -{half} to {}", half.clone() - 1_u8)
        } else {
            format!("values are 0 to {}", self.write_number(&self.ones()))
        })
    }

    /// What values look like, for messages and help.
    pub fn wanted(&self) -> String {
        if self.width == 0 {
            return "a string".to_string();
        }
        if !self.names.is_empty() {
            let names: Vec<&str> = self.names.iter().map(|(name, _)| name.as_str()).collect();
            return format!("{} or a number", crate::mistake::listed(&names));
        }
        let special = match self.notation {
            Notation::Decimal | Notation::Hexadecimal => "",
            Notation::Mac => "a MAC address as 00:11:22:33:44:55 or ",
            Notation::Ipv4 => "an IPv4 address as 10.0.0.1 or ",
            Notation::Ipv6 => "an IPv6 address as 2001:db8::1 or ",
        };
        format!("{special}a number as 10, 0x0a or 0b1010")
    }
}

fn write_number(number: &BigUint, notation: Notation) -> String {
    match notation {
        Notation::Decimal => number.to_string(),
        Notation::Hexadecimal => format!("{number:#x}"),
        Notation::Mac => {
            let octets: Vec<String> = octets::<6>(number).iter().map(|octet| format!("{octet:02x}")).collect();
            octets.join(":")
        }
        Notation::Ipv4 => Ipv4Addr::from(octets::<4>(number)).to_string(),
        Notation::Ipv6 => Ipv6Addr::from(octets::<16>(number)).to_string(),
    }
}

/// The notation that an annotation demands.
fn annotated(annotations: &[String]) -> Option<Notation> {
    let format = annotations
        .iter()
        .find(|annotation| annotation.starts_with("@format"))?;
    let known = [
        ("MAC", Notation::Mac),
        ("IPV4", Notation::Ipv4),
        ("IPV6", Notation::Ipv6),
        ("HEX", Notation::Hexadecimal),
    ];
    known
        .iter()
        .find(|(word, _)| format.contains(word))
        .map(|(_, notation)| *notation)
}

/// Names of addresses that say neither `addr` nor `ip`.
const NAMES_OF_ADDRESSES: &[&str] = &[
    "source",
    "destination",
    "src",
    "dst",
    "inside",
    "outside",
    "external",
    "remote",
    "client",
];

/// The notation that name and width suggest: addresses of 48, 32 and 128 bits, types in hexadecimal.
fn guessed(name: &str, width: u32) -> Notation {
    let name = name.to_lowercase();
    let is_address = name.contains("addr")
        || name
            .split(['.', '_'])
            .any(|part| ["ip", "ipv4", "ipv6"].contains(&part))
        || name
            .split('.')
            .next_back()
            .is_some_and(|last| NAMES_OF_ADDRESSES.contains(&last));
    match width {
        48 => Notation::Mac,
        32 if is_address => Notation::Ipv4,
        128 if is_address => Notation::Ipv6,
        16 if name.ends_with("type") => Notation::Hexadecimal,
        0..=64 => Notation::Decimal,
        _ => Notation::Hexadecimal,
    }
}

/// Reads a number in any notation.
pub(crate) fn number(text: &str) -> Option<BigUint> {
    if let Some(octets) = mac(text) {
        return Some(BigUint::from_bytes_be(&octets));
    }
    if text.contains('.') {
        return text.parse::<Ipv4Addr>().ok().map(|address| u32::from(address).into());
    }
    if text.contains(':') {
        return text.parse::<Ipv6Addr>().ok().map(|address| u128::from(address).into());
    }
    match text {
        "true" => return Some(1_u8.into()),
        "false" => return Some(0_u8.into()),
        _ => {}
    }
    let lower = text.to_lowercase();
    let (digits, base) = match lower.get(..2) {
        Some("0x") => (&lower[2..], 16),
        Some("0b") => (&lower[2..], 2),
        Some("0o") => (&lower[2..], 8),
        _ => (lower.as_str(), 10),
    };
    let is_number = digits.starts_with(|digit: char| digit.is_digit(base));
    is_number
        .then(|| BigUint::parse_bytes(digits.as_bytes(), base))
        .flatten()
}

fn mac(text: &str) -> Option<Vec<u8>> {
    let separator = if text.contains('-') { '-' } else { ':' };
    let parts: Vec<&str> = text.split(separator).collect();
    let octet = |part: &&str| match part.len() {
        1 | 2 if part.bytes().all(|digit| digit.is_ascii_hexdigit()) => u8::from_str_radix(part, 16).ok(),
        _ => None,
    };
    (parts.len() == 6).then(|| parts.iter().map(octet).collect()).flatten()
}

/// The shortest byte string.
pub(crate) fn bytes(number: &BigUint) -> Vec<u8> {
    number.to_bytes_be()
}

/// The lowest octets of a number.
fn octets<const N: usize>(number: &BigUint) -> [u8; N] {
    let bytes = number.to_bytes_be();
    let kept = &bytes[bytes.len().saturating_sub(N)..];
    let mut octets = [0; N];
    octets[N - kept.len()..].copy_from_slice(kept);
    octets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, width: i32) -> Field {
        Field::new(1, name, width, &[])
    }

    #[test]
    fn all_notations_are_read() {
        let ip = field("hdr.ipv4.dst_addr", 32);
        for text in [
            "10.0.0.1",
            "0x0a000001",
            "167772161",
            "0b1010_0000_0000_0000_0000_0000_0001",
        ] {
            assert_eq!(ip.read(text).unwrap(), [10, 0, 0, 1], "{text}");
        }
        assert_eq!(field("x", 48).read("00:00:00:00:01:ff").unwrap(), [1, 255]);
        assert_eq!(field("x", 48).read("00-00-00-00-01-FF").unwrap(), [1, 255]);
        assert_eq!(field("ipv6.src", 128).read("::7").unwrap(), [7]);
        assert_eq!(field("x", 1).read("true").unwrap(), [1]);
        assert_eq!(field("x", 9).read("0").unwrap(), [0]);
    }

    #[test]
    fn what_is_written_is_read_as_the_same() {
        for (name, width, text) in [
            ("hdr.ipv4.dst_addr", 32, "10.0.0.1"),
            ("hdr.ethernet.dst_addr", 48, "00:00:00:00:01:ff"),
            ("hdr.ipv6.dst_addr", 128, "2001:db8::1"),
            ("inside", 32, "10.0.0.5"),
            ("meta.flow.source", 128, "2001:db8::5"),
            ("source_port", 16, "4000"),
            ("last_source", 32, "167772165"),
            ("hdr.ethernet.ether_type", 16, "0x800"),
            ("port", 9, "510"),
            ("token", 200, "0xfeed"),
        ] {
            let field = field(name, width);
            assert_eq!(field.write(&field.read(text).unwrap()), text);
        }
    }

    #[test]
    fn strings_signs_and_names() {
        assert_eq!(field("x", 0).read("Ethernet0").unwrap(), b"Ethernet0");
        let mut signed = field("x", 8);
        signed.is_signed = true;
        assert_eq!(signed.read("-1").unwrap(), [255]);
        assert_eq!(signed.write(&[255]), "-1");
        assert!(signed.read("128").unwrap_err().to_string().contains("-128 to 127"));
        let mut named = field("x", 8);
        named.names = vec![("TCP".to_string(), 6_u8.into())];
        assert_eq!(named.read("TCP").unwrap(), [6]);
        assert_eq!(named.write(&[6]), "TCP");
    }

    #[test]
    fn mistakes_say_what_would_be_right() {
        let said = |field: Field, text: &str| field.read(text).unwrap_err().to_string();
        assert_eq!(
            said(field("port", 9), "512"),
            "512 does not fit in `port` (bit<9>)\n  = help: values are 0 to 511"
        );
        assert_eq!(
            said(field("dst_addr", 32), "10.0.0.300"),
            "`10.0.0.300` is no value of `dst_addr` (bit<32>)\n  \
             = help: write an IPv4 address as 10.0.0.1 or a number as 10, 0x0a or 0b1010"
        );
        for text in ["", "x", "1:2", "_", "-1", "0x"] {
            assert!(field("x", 8).read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn annotations_choose_the_notation() {
        let annotations = ["@format(IPV4_ADDRESS)".to_string()];
        assert_eq!(Field::new(1, "next", 32, &annotations).notation, Notation::Ipv4);
    }

    #[test]
    fn prefixes_are_of_addresses() {
        let notation = |width, annotations: &[String]| Field::with_prefixes(1, "next", width, annotations).notation;
        assert_eq!(notation(32, &[]), Notation::Ipv4);
        assert_eq!(notation(128, &[]), Notation::Ipv6);
        assert_eq!(notation(16, &[]), Notation::Decimal);
        assert_eq!(notation(32, &["@format(HEX)".to_string()]), Notation::Hexadecimal);
    }
}
