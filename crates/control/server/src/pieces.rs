//! A response's body in pieces, so that what the client does not receive stays with the call.

use http_body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tonic::Status;
use tonic::codegen::Bytes;

/// Bytes of an answer that are handed over at a time. The next ones follow when the client has received most of those
/// before.
const PIECE_BYTES: usize = 64 << 10;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Pieces {
    body: tonic::body::Body,
    /// What comes in place of its data.
    parts: Option<[Bytes; 2]>,
    /// What is left of the data that was taken of it, and then comes after that.
    rest: Bytes,
    next: Bytes,
}

impl Pieces {
    pub(crate) fn new(body: tonic::body::Body) -> Pieces {
        Pieces::with_parts(body, None)
    }

    /// The body of one message, in place of whose bytes come these parts, if there are any.
    pub(crate) fn with_parts(body: tonic::body::Body, parts: Option<[Bytes; 2]>) -> Pieces {
        Pieces {
            body,
            parts,
            rest: Bytes::new(),
            next: Bytes::new(),
        }
    }

    /// The next piece of the data, or the trailers.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.rest.is_empty() {
            self.rest = std::mem::take(&mut self.next);
        }
        if self.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end),
            };
            match (frame.into_data(), self.parts.take()) {
                (Ok(_), Some(parts)) => [self.rest, self.next] = parts,
                (Ok(data), None) => self.rest = data,
                (Err(frame), _) => return Poll::Ready(Some(Ok(frame))),
            }
        }
        let piece = self.rest.len().min(PIECE_BYTES);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(piece)))))
    }

    pub(crate) fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.next.is_empty() && self.body.is_end_stream()
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        if self.rest.is_empty() && self.next.is_empty() && self.parts.is_none() {
            self.body.size_hint()
        } else {
            SizeHint::default()
        }
    }
}
