//! Messages that clients compress, as plain ones for the services.
//!
//! ```text
//!   a complete message ─► its length when decompressed ─► claim that many bytes ─► decompressed piece by piece ─► service
//!                         above --grpc-message,           no room:
//!                         or damaged: refused             RESOURCE_EXHAUSTED
//! ```
//!
//! tonic decompresses messages too, but outside of the budget of [`crate::calls`]: a kilobyte may become a megabyte.
//! Here a message is decompressed twice. The first time only counts its bytes, so that nothing is allocated for a
//! message that is refused. Answers are not compressed, which gRPC allows.

use crate::calls::{Holding, LimitedBody, PREFIX_BYTES, no_room};
use flate2::bufread::{GzDecoder, ZlibDecoder};
use http_body::{Body, Frame, SizeHint};
use prost::bytes::{Buf, BufMut, Bytes, BytesMut};
use std::io::{self, Read};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::task::block_in_place;
use tonic::Status;
use tonic::codegen::http::HeaderMap;

/// The header that names the coding of a request's messages.
const ENCODING: &str = "grpc-encoding";

/// The first byte of a compressed message.
const COMPRESSED: u8 = 1;

/// The length of longer messages is counted aside: they may stand for some megabytes.
const LONG_BYTES: usize = 4 << 10;

/// Decompressed bytes that are handed over at a time.
const PIECE_BYTES: usize = 64 << 10;

/// How a client compresses its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    /// What gRPC calls `deflate`: the format of zlib.
    Deflate,
}

impl Coding {
    /// Takes the coding of a request's messages out of its headers. An unknown one stays: the service refuses it.
    pub(crate) fn take(headers: &mut HeaderMap) -> Option<Coding> {
        let coding = match headers.get(ENCODING)?.as_bytes() {
            b"gzip" => Coding::Gzip,
            b"deflate" => Coding::Deflate,
            _ => return None,
        };
        headers.remove(ENCODING);
        Some(coding)
    }

    fn reader(self, compressed: Bytes) -> Box<dyn Read + Send> {
        match self {
            Coding::Gzip => Box::new(GzDecoder::new(compressed.reader())),
            Coding::Deflate => Box::new(ZlibDecoder::new(compressed.reader())),
        }
    }

    /// The length of a message when it is decompressed.
    fn length(self, compressed: &Bytes, limit: usize) -> Result<usize, Status> {
        let mut reader = Read::take(self.reader(compressed.clone()), limit as u64 + 1);
        let mut count = || io::copy(&mut reader, &mut io::sink());
        let counted = if compressed.len() > LONG_BYTES {
            block_in_place(count)
        } else {
            count()
        };
        let length = counted.map_err(|error| damaged(&error))? as usize;
        if length > limit {
            return Err(too_long(limit));
        }
        Ok(length)
    }
}

fn damaged(error: &io::Error) -> Status {
    Status::internal(format!("a message cannot be decompressed: {error}"))
}

fn too_long(limit: usize) -> Status {
    Status::resource_exhausted(format!(
        "a message has more than {limit} bytes when it is decompressed (--grpc-message)"
    ))
}

/// A message that is being decompressed.
struct Inflating {
    reader: Box<dyn Read + Send>,
    /// Bytes that are to come.
    rest: usize,
}

/// A request's body, with all messages plain.
pub(crate) struct InflatedBody {
    body: LimitedBody,
    coding: Coding,
    /// Bytes of a message.
    limit: usize,
    holding: Arc<Holding>,
    /// What has come and has not been handed over.
    waiting: BytesMut,
    inflating: Option<Inflating>,
}

impl InflatedBody {
    pub(crate) fn new(body: LimitedBody, coding: Coding, limit: usize, holding: Arc<Holding>) -> InflatedBody {
        InflatedBody {
            body,
            coding,
            limit: limit.min(u32::MAX as usize),
            holding,
            waiting: BytesMut::new(),
            inflating: None,
        }
    }

    /// The next piece of the message that is being decompressed.
    fn next_piece(&mut self) -> Result<Option<Bytes>, Status> {
        let Some(inflating) = self.inflating.as_mut().filter(|inflating| inflating.rest > 0) else {
            self.inflating = None;
            return Ok(None);
        };
        let mut piece = BytesMut::zeroed(inflating.rest.min(PIECE_BYTES));
        inflating
            .reader
            .read_exact(&mut piece)
            .map_err(|error| damaged(&error))?;
        inflating.rest -= piece.len();
        Ok(Some(piece.freeze()))
    }

    /// The next complete message if it is plain, and the prefix of its plain form if it is compressed.
    fn next_message(&mut self) -> Result<Option<Bytes>, Status> {
        let Some(prefix) = self.waiting.first_chunk::<PREFIX_BYTES>() else {
            return Ok(None);
        };
        let [flag, length @ ..] = *prefix;
        let length = u32::from_be_bytes(length) as usize;
        if length > self.limit {
            return Err(too_long(self.limit));
        }
        let missing = (PREFIX_BYTES + length).saturating_sub(self.waiting.len());
        if missing > 0 {
            self.waiting.reserve(missing);
            return Ok(None);
        }
        let message = self.waiting.split_to(PREFIX_BYTES + length).freeze();
        if self.waiting.is_empty() {
            // Its memory goes with the message.
            self.waiting = BytesMut::new();
        }
        if flag != COMPRESSED {
            return Ok(Some(message));
        }
        self.begin(message.slice(PREFIX_BYTES..)).map(Some)
    }

    /// Begins to decompress a message; returns the prefix of its plain form.
    fn begin(&mut self, compressed: Bytes) -> Result<Bytes, Status> {
        let length = self.coding.length(&compressed, self.limit)?;
        if !self.holding.claim(length) {
            return Err(no_room());
        }
        self.inflating = Some(Inflating {
            reader: self.coding.reader(compressed),
            rest: length,
        });
        let mut prefix = BytesMut::with_capacity(PREFIX_BYTES);
        prefix.put_u8(0);
        prefix.put_u32(length as u32);
        Ok(prefix.freeze())
    }
}

impl Body for InflatedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        loop {
            if let Some(piece) = self.next_piece()? {
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            if let Some(bytes) = self.next_message()? {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.waiting.extend_from_slice(&data),
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                None if !self.waiting.is_empty() => {
                    self.waiting.clear();
                    return Poll::Ready(Some(Err(Status::internal("the call ends within a message"))));
                }
                end => return Poll::Ready(end),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream() && self.waiting.is_empty() && self.inflating.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::bufread::{GzEncoder, ZlibEncoder};
    use tonic::Code;

    fn compressed(coding: Coding, plain: &[u8]) -> Bytes {
        let mut bytes = Vec::new();
        let read = match coding {
            Coding::Gzip => GzEncoder::new(plain, Compression::best()).read_to_end(&mut bytes),
            Coding::Deflate => ZlibEncoder::new(plain, Compression::best()).read_to_end(&mut bytes),
        };
        read.unwrap();
        Bytes::from(bytes)
    }

    fn message(flag: u8, bytes: &[u8]) -> Vec<u8> {
        let length = (bytes.len() as u32).to_be_bytes();
        [&[flag][..], &length, bytes].concat()
    }

    /// What a service sees of messages, and the bytes of the budget that the call then has.
    fn seen(
        coding: Coding,
        limit: usize,
        room: usize,
        sent: &[u8],
        is_stream: bool,
    ) -> Result<(Vec<u8>, usize), Status> {
        let holding = Holding::alone(room, is_stream);
        let limited = LimitedBody::of_bytes(sent.to_vec().into(), &holding);
        let mut body = InflatedBody::new(limited, coding, limit, Arc::clone(&holding));
        let mut bytes = Vec::new();
        let mut context = Context::from_waker(std::task::Waker::noop());
        while let Poll::Ready(Some(frame)) = Pin::new(&mut body).poll_frame(&mut context) {
            bytes.extend(frame?.into_data().unwrap());
        }
        Ok((bytes, holding.claimed()))
    }

    #[test]
    fn the_coding_leaves_the_headers() {
        for (name, coding) in [
            ("gzip", Some(Coding::Gzip)),
            ("deflate", Some(Coding::Deflate)),
            ("br", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ENCODING, name.parse().unwrap());
            assert_eq!(Coding::take(&mut headers), coding);
            assert_eq!(headers.contains_key(ENCODING), coding.is_none());
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn services_see_plain_messages() {
        let (long, short) = ("forebay ".repeat(50_000), b"a packet");
        for coding in [Coding::Gzip, Coding::Deflate] {
            let sent = [
                message(1, &compressed(coding, long.as_bytes())),
                message(0, short),
                message(1, &compressed(coding, b"")),
                message(1, &compressed(coding, short)),
            ];
            let expected = [
                message(0, long.as_bytes()),
                message(0, short),
                message(0, b""),
                message(0, short),
            ];
            let (bytes, _) = seen(coding, 1 << 20, 1 << 20, &sent.concat(), false).unwrap();
            assert!(bytes == expected.concat());
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_a_message_becomes_is_limited() {
        let bomb = message(1, &compressed(Coding::Gzip, &vec![0; 8 << 20]));
        assert!(bomb.len() < 16 << 10);
        let code = |limit, room| seen(Coding::Gzip, limit, room, &bomb, false).unwrap_err().code();
        assert_eq!(code((8 << 20) - 1, 1 << 30), Code::ResourceExhausted);
        assert_eq!(code(1 << 30, 8 << 20), Code::ResourceExhausted);
        let (bytes, claimed) = seen(Coding::Gzip, 8 << 20, 16 << 20, &bomb, false).unwrap();
        assert_eq!(bytes.len(), PREFIX_BYTES + (8 << 20));
        assert_eq!(claimed, bomb.len() - PREFIX_BYTES + (8 << 20));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_stream_keeps_the_room_of_its_longest_message() {
        let sent = [100_000, 10, 90_000].map(|length| message(1, &compressed(Coding::Gzip, &vec![7; length])));
        let (bytes, claimed) = seen(Coding::Gzip, 1 << 20, 1 << 20, &sent.concat(), true).unwrap();
        assert_eq!((bytes.len(), claimed), (3 * PREFIX_BYTES + 190_010, 100_000));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn damaged_messages_are_refused() {
        let whole = compressed(Coding::Gzip, b"a packet");
        let refused = |sent: &[u8]| {
            let status = seen(Coding::Gzip, 1 << 20, 1 << 20, sent, false).unwrap_err();
            assert_eq!(status.code(), Code::Internal);
            status.message().to_string()
        };
        assert!(refused(&message(1, &whole[..12])).contains("cannot be decompressed"));
        assert!(refused(&message(1, b"a packet")).contains("cannot be decompressed"));
        let cut = message(1, &whole);
        assert!(refused(&cut[..cut.len() - 1]).contains("within a message"));
    }
}
