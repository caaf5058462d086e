//! `packet` and `expect`.

use super::{ParseError, line::Line};
use crate::{Command, ExpectedPacket};

/// Longest packet in bytes.
const MAX_PACKET_BYTES: usize = 65_535;

pub fn packet(line: &mut Line) -> Result<Command, ParseError> {
    let port = line.number_u32("a port")?;
    let column = line.column();
    let mut nibbles = Vec::new();
    while let Some(c) = line.peek() {
        let digit = c.to_digit(16).ok_or_else(|| line.expected("hexadecimal digits"))?;
        nibbles.push(digit as u8);
        line.take_one();
    }
    check_length(line, column, nibbles.len())?;
    if nibbles.is_empty() {
        return Err(line.expected("the packet's bytes in hexadecimal"));
    }
    if nibbles.len() % 2 == 1 {
        return Err(line.error(format!(
            "{} hexadecimal digits are no whole number of bytes",
            nibbles.len()
        )));
    }
    let data = nibbles.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    Ok(Command::Packet { port, data })
}

pub fn expect(line: &mut Line) -> Result<Command, ParseError> {
    let port = line.number_u32("a port")?;
    if line.at_end() {
        return Ok(Command::Expect { port, packet: None });
    }
    let column = line.column();
    let mut nibbles = Vec::new();
    let mut exact_length = false;
    while let Some(c) = line.peek() {
        match c {
            '$' => exact_length = true,
            _ if exact_length => return Err(line.expected("nothing after `$`")),
            '*' => nibbles.push(None),
            _ => {
                let digit = c
                    .to_digit(16)
                    .ok_or_else(|| line.expected("hexadecimal digits, `*` or `$`"))?;
                nibbles.push(Some(digit as u8));
            }
        }
        line.take_one();
    }
    check_length(line, column, nibbles.len())?;
    Ok(Command::Expect {
        port,
        packet: Some(ExpectedPacket { nibbles, exact_length }),
    })
}

fn check_length(line: &Line, column: u32, nibbles: usize) -> Result<(), ParseError> {
    if nibbles > MAX_PACKET_BYTES * 2 {
        let bytes = nibbles / 2;
        return Err(line.error_at(
            column,
            format!("a packet of {bytes} bytes is longer than {MAX_PACKET_BYTES}"),
        ));
    }
    Ok(())
}
