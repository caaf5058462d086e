//! Addresses of networks as numbers.

use num_bigint::BigInt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The notations that there are.
pub(crate) const NOTATIONS: [&str; 3] = ["ipv4", "ipv6", "mac"];

/// What reads a notation; none when there is no such notation. The reader gives none for what is no address.
pub(crate) fn notation(name: &str) -> Option<fn(&str) -> Option<BigInt>> {
    match name {
        "ipv4" => Some(|text| Some(u32::from(text.parse::<Ipv4Addr>().ok()?).into())),
        "ipv6" => Some(|text| Some(u128::from(text.parse::<Ipv6Addr>().ok()?).into())),
        "mac" => Some(mac),
        _ => None,
    }
}

fn mac(text: &str) -> Option<BigInt> {
    let bytes = text.split(':').map(|byte| {
        let is_byte = byte.len() == 2 && byte.bytes().all(|digit| digit.is_ascii_hexdigit());
        u8::from_str_radix(byte, 16).ok().filter(|_| is_byte)
    });
    let bytes = bytes.collect::<Option<Vec<u8>>>()?;
    (bytes.len() == 6).then(|| BigInt::from_bytes_be(num_bigint::Sign::Plus, &bytes))
}
