//! How much room a client has for headers, in which the details of an error come.
//!
//! An HTTP/2 client announces this in the first frame that it sends (SETTINGS_MAX_HEADER_LIST_SIZE, RFC 9113 §6.5.2).
//! The HTTP/2 library does not pass that on, so it is read from the bytes of the connection. For TLS connections the
//! room is unknown, because the bytes are encrypted here.

use tonic::codegen::http::Extensions;

/// What a client of HTTP/2 sends first (RFC 9113 §3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes in front of a frame's payload.
const FRAME_HEADER: usize = 9;

/// The longest first frame that is read: a setting is six bytes, and there are about ten.
const FRAME_MAX: usize = 1024;

const SETTINGS: u8 = 4;
const MAX_HEADER_LIST_SIZE: u16 = 6;

/// Up to this limit a client may refuse any headers above 8 kB: gRPC's core announces twice of what it always takes.
const USUAL: usize = 16_384;

/// Room for details where nothing more is known.
const LEAST: usize = 5_500;

/// What all else in the headers takes.
const OTHERS: usize = 2_692;

/// For a client that announces no limit: some have one all the same.
const UNSAID: usize = 40_960;

/// No response has more, whatever a client takes.
const MOST: usize = 2 << 20;

/// Bytes of headers in which details may come, in base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeaderRoom(usize);

impl Default for HeaderRoom {
    fn default() -> HeaderRoom {
        HeaderRoom(LEAST)
    }
}

impl HeaderRoom {
    /// The room of the client that makes a call.
    pub(crate) fn of_call(extensions: &Extensions) -> HeaderRoom {
        let peer = crate::calls::peer(extensions);
        peer.map(|peer| peer.activity.header_room()).unwrap_or_default()
    }

    /// The room of a client that announces this limit for its headers, or none. A client of gRPC's core takes four
    /// fifths of what it announces in any case.
    fn announced(limit: Option<usize>) -> HeaderRoom {
        match limit.unwrap_or(UNSAID) {
            0..=USUAL => HeaderRoom::default(),
            limit => HeaderRoom((limit / 5 * 4).min(MOST) - OTHERS),
        }
    }

    /// The room in bytes.
    pub(crate) fn bytes(self) -> usize {
        self.0
    }
}

/// The first bytes of a connection.
#[derive(Debug, Default)]
pub(crate) struct Greeting {
    bytes: Vec<u8>,
    is_over: bool,
}

impl Greeting {
    /// Takes bytes that have come; the client's room once they say it.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Option<HeaderRoom> {
        if self.is_over {
            return None;
        }
        let wanted = PREFACE.len() + FRAME_HEADER + FRAME_MAX - self.bytes.len();
        self.bytes.extend(&bytes[..bytes.len().min(wanted)]);
        let known = PREFACE.len().min(self.bytes.len());
        if self.bytes[..known] != PREFACE[..known] {
            self.end();
            return None;
        }
        let frame = self.bytes.get(PREFACE.len()..)?;
        let header = frame.first_chunk::<FRAME_HEADER>()?;
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
        if header[3] != SETTINGS || length > FRAME_MAX {
            self.end();
            return None;
        }
        let settings = frame[FRAME_HEADER..].get(..length)?;
        let room = HeaderRoom::announced(header_list_max(settings));
        self.end();
        Some(room)
    }

    fn end(&mut self) {
        *self = Greeting {
            bytes: Vec::new(),
            is_over: true,
        };
    }
}

/// The limit for headers among the settings.
fn header_list_max(settings: &[u8]) -> Option<usize> {
    let (settings, _) = settings.as_chunks::<6>();
    let mut limits = settings.iter().filter_map(|&[a, b, limit @ ..]| {
        let is_it = u16::from_be_bytes([a, b]) == MAX_HEADER_LIST_SIZE;
        is_it.then(|| u32::from_be_bytes(limit) as usize)
    });
    limits.next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting(settings: &[(u16, u32)]) -> Vec<u8> {
        let mut bytes = PREFACE.to_vec();
        bytes.extend([0, 0, 6 * settings.len() as u8, SETTINGS, 0, 0, 0, 0, 0]);
        for (name, value) in settings {
            bytes.extend(name.to_be_bytes());
            bytes.extend(value.to_be_bytes());
        }
        bytes
    }

    fn room(settings: &[(u16, u32)]) -> Option<usize> {
        let mut read = Greeting::default();
        // However the bytes are cut.
        let mut rooms = greeting(settings)
            .into_iter()
            .filter_map(move |byte| read.read(&[byte]));
        rooms.next().map(HeaderRoom::bytes)
    }

    #[test]
    fn room_is_what_a_client_announces() {
        let of_core = |limit| room(&[(2, 0), (6, limit), (0xfe03, 1)]);
        assert_eq!(of_core(8_192), Some(LEAST));
        assert_eq!(of_core(16_384), Some(LEAST));
        // 64 kB without a doubt.
        assert_eq!(of_core(81_920), Some(65_536 - OTHERS));
        assert_eq!(of_core(u32::MAX), Some(MOST - OTHERS));
        assert_eq!(room(&[(4, 65_535)]), Some(UNSAID / 5 * 4 - OTHERS));
        assert_eq!(room(&[]), Some(UNSAID / 5 * 4 - OTHERS));
    }

    #[test]
    fn what_is_no_http2_says_nothing() {
        for bytes in [&b"\x16\x03\x01\x02\x00"[..], b"GET / HTTP/1.1\r\n\r\n", &[0; 5_000]] {
            let mut read = Greeting::default();
            assert_eq!(read.read(bytes), None);
            assert_eq!(read.read(&greeting(&[])), None);
            assert!(read.bytes.is_empty());
        }
        let mut other_frame = greeting(&[(6, 100_000)]);
        other_frame[PREFACE.len() + 3] = 1;
        assert_eq!(Greeting::default().read(&other_frame), None);
    }
}
