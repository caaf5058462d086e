//! Messages of different lengths: what carries them, without their identity.
//!
//! ```text
//!   message:  0xfa, padding 5              | payload
//!   N-packet: 0xfd, count 1, padding 4     | length 1, payload 1 | length 2, payload 2 | ...
//! ```
//!
//! See `programs/common/iot_mixed.p4`. N-packets of messages that are all alike are those of [`crate::message`].

use crate::message::{FLAG_HEADER, MESSAGE_TYPE, MessageFault};

/// Type byte of an N-packet of messages of different lengths.
pub const MIXED_TYPE: u8 = 0xfd;

/// The payloads in what UDP carries: that of a message, or those of an N-packet.
///
/// # Errors
/// When it is neither, or its lengths are not those of its messages.
pub fn payloads(datagram: &[u8]) -> Result<Vec<&[u8]>, MessageFault> {
    let (flag, rest) = datagram
        .split_first_chunk::<FLAG_HEADER>()
        .ok_or(MessageFault::Length)?;
    match (flag[0], &flag[1..]) {
        (MESSAGE_TYPE, [0, 0, 0, 0, 0]) => Ok(vec![rest]),
        (MIXED_TYPE, [count, 0, 0, 0, 0]) => of_packet(usize::from(*count), rest),
        (MESSAGE_TYPE | MIXED_TYPE, _) => Err(MessageFault::Padding),
        _ => Err(MessageFault::Type),
    }
}

fn of_packet(count: usize, mut rest: &[u8]) -> Result<Vec<&[u8]>, MessageFault> {
    let mut payloads = Vec::with_capacity(count);
    while let Some((length, behind)) = rest.split_first() {
        let (payload, behind) = behind
            .split_at_checked(usize::from(*length))
            .ok_or(MessageFault::Length)?;
        payloads.push(payload);
        rest = behind;
    }
    if payloads.len() == count {
        Ok(payloads)
    } else {
        Err(MessageFault::Length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_and_an_n_packet() {
        assert_eq!(payloads(b"\xfa\0\0\0\0\0abc"), Ok(vec![&b"abc"[..]]));
        let packet = b"\xfd\x02\0\0\0\0\x01a\x02bc";
        assert_eq!(payloads(packet), Ok(vec![&b"a"[..], b"bc"]));
    }

    #[test]
    fn faults_are_named() {
        assert_eq!(payloads(b"\xfd\x01\0\0\0\0\x01a\x02bc"), Err(MessageFault::Length));
        assert_eq!(payloads(b"\xfd\x01\0\0\0\0\x02a"), Err(MessageFault::Length));
        assert_eq!(payloads(b"\xfd\x01\0\0\0\x01\x01a"), Err(MessageFault::Padding));
        assert_eq!(payloads(b"\xfb\0\0\0\0\0"), Err(MessageFault::Type));
        assert_eq!(payloads(b"\xfa"), Err(MessageFault::Length));
    }
}
