//! A field of a header: one value, a list of values, or values that are counted up or down or drawn at random.

use crate::node::{Node, Wrong};
use forebay_packet::SplitMix64;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

/// Different frames of a flow at most.
pub const FRAMES_MAX: usize = 1 << 16;

/// The ways to give values.
const PATTERNS: [&str; 5] = ["value", "values", "increment", "decrement", "random"];

/// The values of a field, which frames take in turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Field(Vec<u128>);

/// What values a field may have: how one is read, and the largest.
#[derive(Clone, Copy)]
struct Kind {
    parse: Parse,
    largest: u128,
}

impl Field {
    /// Always this value.
    pub fn one(value: u128) -> Field {
        Field(vec![value])
    }

    /// These in turn; at least one.
    pub fn in_turn(values: Vec<u128>) -> Field {
        Field(values)
    }

    /// All values in their order.
    pub fn values(&self) -> &[u128] {
        &self.0
    }

    /// The value in the frame with this number.
    pub fn at(&self, frame: usize) -> u128 {
        self.0[frame % self.0.len()]
    }

    /// Reads a pattern: `auto`, `value`, `values`, `increment`, `decrement`, `random`.
    pub fn read(node: &Node<'_>, default: u128, largest: u128, parse: Parse) -> Result<Field, Wrong> {
        if !node.is_there() {
            return Ok(Field::one(default));
        }
        let [value, values, up, down, random] = PATTERNS;
        node.object(&["choice", "auto", value, values, up, down, random])?;
        let kind = Kind { parse, largest };
        let (choice, chosen) = node.choice("value")?;
        match choice {
            "auto" => Ok(Field::one(default)),
            "value" if !chosen.is_there() => Ok(Field::one(default)),
            "value" => kind.value(&chosen).map(Field::one),
            "values" => kind.list(&chosen),
            "increment" => kind.counted(&chosen, default, u128::wrapping_add),
            "decrement" => kind.counted(&chosen, default, u128::wrapping_sub),
            "random" => kind.random(&chosen),
            other => Err(node.not_supported(other, &PATTERNS)),
        }
    }
}

impl Kind {
    fn value(self, node: &Node<'_>) -> Result<u128, Wrong> {
        let value = (self.parse)(node)?;
        (value <= self.largest)
            .then_some(value)
            .ok_or_else(|| node.wrong(format!("at most {} is possible", self.largest)))
    }

    fn value_or(self, default: u128, node: &Node<'_>) -> Result<u128, Wrong> {
        if node.is_there() { self.value(node) } else { Ok(default) }
    }

    fn list(self, node: &Node<'_>) -> Result<Field, Wrong> {
        let values = node.list()?;
        let values: Vec<u128> = values.iter().map(|node| self.value(node)).collect::<Result<_, _>>()?;
        match values.len() {
            1..=FRAMES_MAX => Ok(Field(values)),
            many => Err(node.wrong(format!("{many} values; 1 to {FRAMES_MAX} are possible"))),
        }
    }

    /// Values from a start on, each moved by a multiple of the step.
    fn counted(self, node: &Node<'_>, default: u128, moved: fn(u128, u128) -> u128) -> Result<Field, Wrong> {
        node.object(&["start", "step", "count"])?;
        let start = self.value_or(default, &node.at("start"))?;
        let step = self.value_or(1, &node.at("step"))?;
        let modulus = self.largest.wrapping_add(1);
        let nth = |index: u64| {
            let value = moved(start, u128::from(index).wrapping_mul(step));
            // Values go round at the width of the field; that of IPv6 addresses is that of the number.
            if modulus == 0 {
                value
            } else {
                value & (modulus.next_power_of_two() - 1)
            }
        };
        Ok(Field((0..count(node)?).map(nth).collect()))
    }

    fn random(self, node: &Node<'_>) -> Result<Field, Wrong> {
        node.object(&["min", "max", "seed", "count"])?;
        let least = self.value_or(0, &node.at("min"))?;
        let most = self.value_or(self.largest, &node.at("max"))?;
        if least > most {
            return Err(node.at("min").wrong("is more than max"));
        }
        let mut random = SplitMix64::new(node.at("seed").whole_or(1, 0..=u64::MAX)?);
        let values = (0..count(node)?).map(|_| drawn(&mut random, least..=most));
        Ok(Field(values.collect()))
    }
}

/// A number of values.
fn count(node: &Node<'_>) -> Result<u64, Wrong> {
    node.at("count").whole_or(1, 1..=FRAMES_MAX as u64)
}

fn drawn(random: &mut SplitMix64, range: RangeInclusive<u128>) -> u128 {
    let any = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
    // The number of all values of 128 bits has more bits.
    match (range.end() - range.start()).checked_add(1) {
        Some(values) => range.start() + any % values,
        None => any,
    }
}

/// Reads one value of a field.
pub type Parse = fn(&Node<'_>) -> Result<u128, Wrong>;

pub fn number(node: &Node<'_>) -> Result<u128, Wrong> {
    node.whole(0..=u64::MAX).map(u128::from)
}

pub fn mac(node: &Node<'_>) -> Result<u128, Wrong> {
    let bytes: Option<Vec<u8>> = node
        .text()?
        .split(':')
        .map(|byte| hexadecimal(byte).filter(|_| byte.len() <= 2))
        .collect();
    let bytes = bytes.filter(|bytes| bytes.len() == 6);
    let bytes = bytes.ok_or_else(|| node.wrong("a MAC address like 02:00:00:00:00:01 is expected"))?;
    Ok(bytes.iter().fold(0, |all, byte| all << 8 | u128::from(*byte)))
}

/// A byte in hexadecimal digits. `from_str_radix` alone would take a sign for a digit.
pub fn hexadecimal(digits: &str) -> Option<u8> {
    let are_digits = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u8::from_str_radix(digits, 16).ok().filter(|_| are_digits)
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
