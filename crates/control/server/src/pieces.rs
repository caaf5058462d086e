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
    /// What is left of the data that was taken of it.
    rest: Bytes,
}

impl Pieces {
    pub(crate) fn new(body: tonic::body::Body) -> Pieces {
        Pieces {
            body,
            rest: Bytes::new(),
        }
    }

    /// The next piece of the data, or the trailers.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end),
            };
            match frame.into_data() {
                Ok(data) => self.rest = data,
                Err(frame) => return Poll::Ready(Some(Ok(frame))),
            }
        }
        let piece = self.rest.len().min(PIECE_BYTES);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(piece)))))
    }

    pub(crate) fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        if self.rest.is_empty() {
            self.body.size_hint()
        } else {
            SizeHint::default()
        }
    }
}
