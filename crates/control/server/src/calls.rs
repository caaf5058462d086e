//! Calls: what their messages take of memory while they are under way, and how long they may take to arrive.
//!
//! ```text
//!   body ─► prefix (5 bytes: a length) ─► claim that many bytes of the budget ─► bytes ─► the message is complete ─► served
//!             no room: RESOURCE_EXHAUSTED                    not in time: DEADLINE_EXCEEDED
//! ```
//!
//! A message claims memory as soon as its length is known, before its bytes arrive, and until its call has been served.
//! A stream keeps what its longest message has claimed until it ends, since its buffers stay that long. So incomplete
//! messages, and too many messages at once, take a bounded amount of memory. Compressed ones claim what they become, too
//! ([`crate::inflate`]).

use crate::answers::Waiting;
use crate::call_counts::{CallCounts, CountedCall};
use crate::connections::{Call, Peer};
use crate::inflate::{Coding, InflatedBody};
use crate::limits::Limits;
use crate::pieces::Pieces;
use http_body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::Sleep;
use tonic::Status;
use tonic::codegen::{Bytes, Service, http};
use tonic::transport::server::TlsConnectInfo;
use tower_layer::Layer;

/// Bytes before a message: whether it is compressed, and its length.
pub(crate) const PREFIX_BYTES: usize = 5;

/// Messages of up to this length may use the last quarter of the budget.
const SHORT_BYTES: usize = 64 << 10;

/// Ends of the names of calls whose bodies have message after message.
const STREAMS: &[&str] = &["/StreamChannel", "/Subscribe", "/ServerReflectionInfo"];

/// Bytes of all messages that are under way.
#[derive(Debug)]
struct Room {
    used: AtomicUsize,
    size: usize,
}

impl Room {
    /// Takes room; false when there is none. Long messages leave a quarter to short ones.
    fn claim(&self, bytes: usize) -> bool {
        let size = if bytes <= SHORT_BYTES {
            self.size
        } else {
            self.size - self.size / 4
        };
        let claimed = |used: usize| used.checked_add(bytes).filter(|used| *used <= size);
        let updated = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, claimed);
        updated.is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// What a call has, until it has been served.
#[derive(Debug)]
pub(crate) struct Holding {
    room: Arc<Room>,
    bytes: AtomicUsize,
    is_stream: bool,
    _call: Option<Call>,
}

impl Holding {
    /// Takes room for a message; false when there is none. A stream has room for its longest message.
    pub(crate) fn claim(&self, bytes: usize) -> bool {
        let bytes = if self.is_stream {
            bytes.saturating_sub(self.bytes.load(Ordering::Relaxed))
        } else {
            bytes
        };
        let is_claimed = self.room.claim(bytes);
        if is_claimed {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        is_claimed
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.room.give_back(*self.bytes.get_mut());
    }
}

/// The refusal of a message that finds no room.
pub(crate) fn no_room() -> Status {
    Status::resource_exhausted("the switch has no room for this message: too many are under way (--grpc-memory)")
}

/// Makes [`LimitedCalls`].
#[derive(Clone, Debug)]
pub(crate) struct CallLimits {
    room: Arc<Room>,
    counts: Arc<CallCounts>,
    message_bytes: usize,
    message_time: Duration,
}

impl CallLimits {
    pub(crate) fn new(limits: &Limits, counts: Arc<CallCounts>) -> CallLimits {
        let room = Room {
            used: AtomicUsize::new(0),
            size: limits.messages_bytes,
        };
        CallLimits {
            room: Arc::new(room),
            counts,
            message_bytes: limits.message_bytes,
            message_time: limits.message_time,
        }
    }
}

impl<S> Layer<S> for CallLimits {
    type Service = LimitedCalls<S>;

    fn layer(&self, service: S) -> LimitedCalls<S> {
        LimitedCalls {
            service,
            limits: self.clone(),
        }
    }
}

/// Services whose calls are within the limits.
#[derive(Clone, Debug)]
pub(crate) struct LimitedCalls<S> {
    service: S,
    limits: CallLimits,
}

/// Where a call comes from.
pub(crate) fn peer(extensions: &http::Extensions) -> Option<&Peer> {
    let of_tls = extensions.get::<TlsConnectInfo<Peer>>().map(TlsConnectInfo::get_ref);
    of_tls.or_else(|| extensions.get::<Peer>())
}

impl<S> Service<http::Request<tonic::body::Body>> for LimitedCalls<S>
where
    S: Service<
            http::Request<tonic::body::Body>,
            Response = http::Response<tonic::body::Body>,
            Error = Infallible,
            Future: Send + 'static,
        >,
{
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, mut request: http::Request<tonic::body::Body>) -> Self::Future {
        let is_stream = STREAMS.iter().any(|name| request.uri().path().ends_with(name));
        let coding = Coding::take(request.headers_mut());
        let holding = Arc::new(Holding {
            room: Arc::clone(&self.limits.room),
            bytes: AtomicUsize::new(0),
            is_stream,
            _call: peer(request.extensions()).map(|peer| peer.activity.call()),
        });
        let (message_bytes, message_time) = (self.limits.message_bytes, self.limits.message_time);
        let mut counted = CountedCall::begins(&self.limits.counts, request.uri().path());
        let request = request.map(|body| {
            let limited = LimitedBody::new(body, &holding, message_time);
            match coding {
                None => tonic::body::Body::new(limited),
                Some(coding) => {
                    tonic::body::Body::new(InflatedBody::new(limited, coding, message_bytes, Arc::clone(&holding)))
                }
            }
        });
        let served = self.service.call(request);
        Box::pin(async move {
            let mut response = served.await?;
            counted.see(response.headers());
            let waiting = response.extensions_mut().remove::<Waiting>();
            Ok(response.map(|body| {
                tonic::body::Body::new(Response {
                    left: Left::new(body, waiting),
                    counted,
                    _holding: holding,
                })
            }))
        })
    }
}

/// Where in the messages of a body it is.
#[derive(Debug, Default)]
struct Prefix {
    bytes: [u8; PREFIX_BYTES],
    known: usize,
    /// Bytes of the message that are to come.
    rest: usize,
}

/// What comes with some bytes of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A message of this length in bytes begins.
    Begins(usize),
    /// A message is complete.
    Ends,
}

impl Prefix {
    /// Goes through bytes that have come.
    fn follow(&mut self, mut bytes: &[u8], mut step: impl FnMut(Step) -> Result<(), Status>) -> Result<(), Status> {
        while !bytes.is_empty() {
            if self.known < PREFIX_BYTES {
                let taken = bytes.len().min(PREFIX_BYTES - self.known);
                self.bytes[self.known..self.known + taken].copy_from_slice(&bytes[..taken]);
                self.known += taken;
                bytes = &bytes[taken..];
                if self.known < PREFIX_BYTES {
                    return Ok(());
                }
                let [_, length @ ..] = self.bytes;
                self.rest = u32::from_be_bytes(length) as usize;
                step(Step::Begins(self.rest))?;
            }
            let taken = bytes.len().min(self.rest);
            self.rest -= taken;
            bytes = &bytes[taken..];
            if self.rest == 0 {
                self.known = 0;
                step(Step::Ends)?;
            }
        }
        Ok(())
    }

    /// Whether a message has begun and is not complete.
    fn is_inside(&self) -> bool {
        self.known > 0
    }
}

/// A request's body.
pub(crate) struct LimitedBody {
    body: tonic::body::Body,
    holding: Arc<Holding>,
    message_time: Duration,
    /// When the message must be complete.
    end: Option<Pin<Box<Sleep>>>,
    prefix: Prefix,
}

impl LimitedBody {
    fn new(body: tonic::body::Body, holding: &Arc<Holding>, message_time: Duration) -> LimitedBody {
        LimitedBody {
            body,
            holding: Arc::clone(holding),
            message_time,
            // A stream may be silent, but not in the middle of a message.
            end: (!holding.is_stream).then(|| Box::pin(tokio::time::sleep(message_time))),
            prefix: Prefix::default(),
        }
    }

    fn follow(&mut self, bytes: &[u8]) -> Result<(), Status> {
        let holding = &self.holding;
        self.prefix.follow(bytes, |step| match step {
            Step::Begins(length) if !holding.claim(length) => Err(no_room()),
            Step::Begins(_) | Step::Ends => Ok(()),
        })?;
        match (self.prefix.is_inside(), &self.end) {
            (true, None) => self.end = Some(Box::pin(tokio::time::sleep(self.message_time))),
            (false, Some(_)) if self.holding.is_stream => self.end = None,
            _ => {}
        }
        Ok(())
    }
}

impl Body for LimitedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if polled.is_pending()
            && let Some(end) = &mut self.end
        {
            ready!(end.as_mut().poll(context));
            let message = "the message did not arrive in time (--grpc-message-time)";
            return Poll::Ready(Some(Err(Status::deadline_exceeded(message))));
        }
        let frame = ready!(polled);
        let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
        if let Some(data) = data {
            self.follow(data)?;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A response's body: with it ends the call.
struct Response {
    left: Left,
    counted: CountedCall,
    _holding: Arc<Holding>,
}

/// What is left of a response's body.
enum Left {
    Pieces(Pieces),
    /// Shared with those for whom it may have to give way.
    Waiting(Waiting),
}

impl Left {
    fn new(body: tonic::body::Body, waiting: Option<Waiting>) -> Left {
        match waiting {
            None => Left::Pieces(Pieces::new(body)),
            Some(waiting) => {
                waiting.hold(body);
                Left::Waiting(waiting)
            }
        }
    }
}

impl Body for Response {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = ready!(match &mut self.left {
            Left::Pieces(pieces) => pieces.poll(context),
            Left::Waiting(waiting) => waiting.poll(context),
        });
        if let Some(trailers) = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.trailers_ref()) {
            self.counted.see(trailers);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.left, Left::Pieces(pieces) if pieces.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.left {
            Left::Pieces(pieces) => pieces.size_hint(),
            Left::Waiting(_) => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Holding {
        fn of(room: &Arc<Room>, is_stream: bool) -> Holding {
            Holding {
                room: Arc::clone(room),
                bytes: AtomicUsize::new(0),
                is_stream,
                _call: None,
            }
        }

        /// What the only call has, with room for this many bytes.
        pub(crate) fn alone(size: usize, is_stream: bool) -> Arc<Holding> {
            let used = AtomicUsize::new(0);
            Arc::new(Holding::of(&Arc::new(Room { used, size }), is_stream))
        }

        pub(crate) fn claimed(&self) -> usize {
            self.bytes.load(Ordering::Relaxed)
        }
    }

    impl LimitedBody {
        pub(crate) fn of_bytes(bytes: Bytes, holding: &Arc<Holding>) -> LimitedBody {
            let body = tonic::body::Body::new(http_body_util::Full::new(bytes));
            LimitedBody::new(body, holding, Duration::from_secs(60))
        }
    }

    #[test]
    fn messages_are_followed_however_they_are_cut() {
        let mut bytes = Vec::new();
        for length in [0u32, 3, 70_000, 1] {
            bytes.push(0);
            bytes.extend(length.to_be_bytes());
            bytes.extend(std::iter::repeat_n(7, length as usize));
        }
        let expected = [0, 3, 70_000, 1]
            .map(|length| [Step::Begins(length), Step::Ends])
            .concat();
        for cut in [1, 2, 5, 7, 4096, 1 << 20] {
            let (mut prefix, mut steps) = (Prefix::default(), Vec::new());
            for bytes in bytes.chunks(cut) {
                let step = |step| {
                    steps.push(step);
                    Ok(())
                };
                prefix.follow(bytes, step).unwrap();
            }
            assert_eq!(steps, expected, "cut to {cut}");
            assert!(!prefix.is_inside());
        }
    }

    #[test]
    fn a_message_without_bytes_is_complete_with_its_prefix() {
        let mut prefix = Prefix::default();
        let mut steps = Vec::new();
        let step = |step| {
            steps.push(step);
            Ok(())
        };
        prefix.follow(&[0; PREFIX_BYTES], step).unwrap();
        assert_eq!((prefix.is_inside(), steps), (false, vec![Step::Begins(0), Step::Ends]));
    }

    #[test]
    fn long_messages_leave_room_to_short_ones() {
        let room = Arc::new(Room {
            used: AtomicUsize::new(0),
            size: 1 << 20,
        });
        let holding = || Holding::of(&room, false);
        let (first, second) = (holding(), holding());
        assert!(first.claim(700 << 10) && !second.claim(100 << 10));
        assert!((0..5).all(|_| second.claim(SHORT_BYTES)) && !second.claim(SHORT_BYTES));
        drop(first);
        assert!(second.claim(400 << 10));
        drop(second);
        assert_eq!(room.used.load(Ordering::Relaxed), 0);
        assert!(!holding().claim(usize::MAX));
    }
    #[test]
    fn a_stream_has_room_for_its_longest_message() {
        let stream = Holding::alone(1 << 20, true);
        assert!([100, 3000, 50].iter().all(|bytes| stream.claim(*bytes)));
        assert_eq!(
            (stream.claimed(), stream.room.used.load(Ordering::Relaxed)),
            (3000, 3000)
        );
    }
}
