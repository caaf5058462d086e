//! Answers to reads, until their connection has taken them. They are in memory as a whole, since no write may come in
//! between: a controller that asks again and again, and does not receive, must not take all of it.

use crate::calls;
use crate::codec::ReadAnswer;
use crate::limits::Limits;
use crate::pieces::Pieces;
use http_body::Frame;
use prost::Message;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio_stream::Stream;
use tonic::codegen::Bytes;
use tonic::codegen::http::HeaderMap;
use tonic::{Extensions, Status};

/// The part of the memory for messages that answers to reads of one connection may take.
const SHARE: usize = 4;

/// How long nothing of an answer may be taken before it gives way to others.
const STALL: Duration = Duration::from_secs(10);

/// Answers of fewer bytes give no way: they are not worth it.
const LARGE_BYTES: usize = 64 << 10;

/// Bytes of the answers that wait for a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unreceived {
    own: Arc<AtomicUsize>,
    all: Arc<All>,
}

/// What was left of answers that were given up, which is in memory as long as this is.
#[derive(Default)]
pub(crate) struct GivenUp(Vec<Box<dyn Send>>);

/// Messages of an answer that are yet to be taken.
type Left = std::vec::IntoIter<Result<ReadAnswer, Status>>;

/// An answer that gives way when it stands still.
trait GivesWay: std::fmt::Debug + Send + Sync {
    /// Since when a part of it waits, if one does.
    fn waits_since(&self) -> Option<Instant>;

    /// Returns what waits, which no longer counts. The client gets an error in its place.
    fn give_up(&self) -> Box<dyn Send>;
}

/// The same for all connections.
#[derive(Debug, Default)]
struct All {
    bytes: AtomicUsize,
    /// The large ones.
    answers: Mutex<Vec<Weak<dyn GivesWay>>>,
}

impl Unreceived {
    /// For another connection, to which nothing has been answered.
    pub(crate) fn of_another(&self) -> Unreceived {
        Unreceived {
            own: Arc::default(),
            all: Arc::clone(&self.all),
        }
    }

    /// The bytes of the connection that a call has come by.
    pub(crate) fn of_call(call: &Extensions) -> Unreceived {
        let peer = calls::peer(call);
        peer.map(|peer| peer.activity.unreceived.clone()).unwrap_or_default()
    }

    /// Whether another answer may wait. A single one may be larger than all that may, and each connection may have
    /// one, whatever waits for others. Answers that stand still are given up for it.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` when too much waits already.
    pub(crate) fn check(&self, limits: &Limits) -> Result<(), Status> {
        self.check_under_lock(limits, &mut GivenUp::default())
    }

    /// The same for a caller that holds a lock: it frees what was given up when it holds the lock no more, as that
    /// takes long.
    ///
    /// # Errors
    /// As for [`Unreceived::check`].
    pub(crate) fn check_under_lock(&self, limits: &Limits, given_up: &mut GivenUp) -> Result<(), Status> {
        self.all.make_room(limits.messages_bytes, Instant::now(), given_up);
        let has_room = self.is_below(limits.messages_bytes / SHARE + 1) && self.all.is_within(limits.messages_bytes);
        if has_room || self.is_below(1) {
            Ok(())
        } else {
            Err(Status::resource_exhausted(
                "this connection has yet to receive the answers to other reads (--grpc-memory)",
            ))
        }
    }

    /// Whether less than `limit` bytes wait.
    fn is_below(&self, limit: usize) -> bool {
        self.own.load(Ordering::Relaxed) < limit
    }

    fn add(&self, bytes: usize) {
        self.own.fetch_add(bytes, Ordering::Relaxed);
        self.all.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn subtract(&self, bytes: usize) {
        self.own.fetch_sub(bytes, Ordering::Relaxed);
        self.all.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Says that an answer of one message waits, as long as the body of the call. `extensions` are the answer's.
    pub(crate) fn attach(&self, bytes: usize, extensions: &mut Extensions) {
        extensions.insert(self.wait(bytes, None));
    }

    /// The same for an answer whose bytes are these, instead of those of its message. The first are its own and count;
    /// the others are shared.
    pub(crate) fn attach_parts(&self, parts: [Bytes; 2], extensions: &mut Extensions) {
        extensions.insert(self.wait(parts[0].len(), Some(parts)));
    }

    fn wait(&self, bytes: usize, parts: Option<[Bytes; 2]>) -> Waiting {
        self.add(bytes);
        let held = Arc::new(HeldBody {
            left: Mutex::new(BodyLeft {
                pieces: None,
                parts,
                bytes,
                taken: Instant::now(),
                is_given_up: false,
            }),
            unreceived: self.clone(),
        });
        if bytes >= LARGE_BYTES {
            self.all.hold(Arc::downgrade(&held) as Weak<dyn GivesWay>);
        }
        Waiting(held)
    }

    /// An answer that waits from now on.
    pub(crate) fn answer(&self, messages: Vec<Result<ReadAnswer, Status>>) -> Answer {
        let bytes: usize = messages.iter().flatten().map(ReadAnswer::encoded_len).sum();
        self.add(bytes);
        let held = Arc::new(Held {
            messages: Mutex::new(Messages {
                left: messages.into_iter(),
                bytes,
                sending: 0,
                taken: Instant::now(),
            }),
            unreceived: self.clone(),
        });
        if bytes >= LARGE_BYTES {
            self.all.hold(Arc::downgrade(&held) as Weak<dyn GivesWay>);
        }
        Answer(held)
    }
}

impl All {
    fn is_within(&self, limit: usize) -> bool {
        self.bytes.load(Ordering::Relaxed) <= limit
    }

    fn hold(&self, answer: Weak<dyn GivesWay>) {
        let mut answers = lock(&self.answers);
        answers.retain(|answer| answer.strong_count() > 0);
        answers.push(answer);
    }

    /// Gives up answers that stand still, those first of which nothing has been taken for longest, until no more than
    /// `limit` bytes wait.
    fn make_room(&self, limit: usize, now: Instant, given_up: &mut GivenUp) {
        if self.is_within(limit) {
            return;
        }
        let answers: Vec<Arc<dyn GivesWay>> = lock(&self.answers).iter().filter_map(Weak::upgrade).collect();
        let since = answers
            .iter()
            .filter_map(|answer| Some((answer.waits_since()?, answer)));
        let mut still: Vec<_> = since.filter(|(since, _)| *since + STALL <= now).collect();
        still.sort_unstable_by_key(|(since, _)| *since);
        for (_, answer) in still {
            if self.is_within(limit) {
                return;
            }
            given_up.0.push(answer.give_up());
        }
    }
}

/// An answer of one message that waits, as the body that the connection takes.
#[derive(Clone, Debug)]
pub(crate) struct Waiting(Arc<HeldBody>);

#[derive(Debug)]
struct HeldBody {
    left: Mutex<BodyLeft>,
    unreceived: Unreceived,
}

#[derive(Debug)]
struct BodyLeft {
    /// The body, once there is one and until it is given up.
    pieces: Option<Pieces>,
    /// The bytes in place of those of the body.
    parts: Option<[Bytes; 2]>,
    /// Bytes of the message, as long as it waits.
    bytes: usize,
    /// When a piece was taken last, or the answer was made.
    taken: Instant,
    is_given_up: bool,
}

impl Waiting {
    /// The answer's body, which the connection takes by [`Waiting::poll`].
    pub(crate) fn hold(&self, body: tonic::body::Body) {
        let mut left = lock(&self.0.left);
        if !left.is_given_up {
            let parts = left.parts.take();
            left.pieces = Some(Pieces::with_parts(body, parts));
        }
    }

    /// The next piece of the body. In place of one that was given up there is an error.
    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let left = &mut *lock(&self.0.left);
        left.taken = Instant::now();
        match &mut left.pieces {
            Some(pieces) => pieces.poll(context),
            None if std::mem::take(&mut left.is_given_up) => {
                let mut trailers = HeaderMap::new();
                Poll::Ready(Some(
                    stood_still()
                        .add_header(&mut trailers)
                        .map(|()| Frame::trailers(trailers)),
                ))
            }
            None => Poll::Ready(None),
        }
    }
}

impl GivesWay for HeldBody {
    fn waits_since(&self) -> Option<Instant> {
        let left = lock(&self.left);
        (left.bytes > 0).then_some(left.taken)
    }

    fn give_up(&self) -> Box<dyn Send> {
        let mut left = lock(&self.left);
        self.unreceived.subtract(std::mem::take(&mut left.bytes));
        left.is_given_up = true;
        Box::new(left.pieces.take())
    }
}

impl Drop for HeldBody {
    fn drop(&mut self) {
        let left = self.left.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.unreceived.subtract(left.bytes);
    }
}

/// The error in place of an answer that was given up.
fn stood_still() -> Status {
    Status::resource_exhausted(
        "nothing of this answer was taken for 10 seconds, and its memory was needed (--grpc-memory): read again",
    )
}

/// An answer of several messages, as its connection takes them.
pub(crate) struct Answer(Arc<Held>);

impl Stream for Answer {
    type Item = Result<ReadAnswer, Status>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.take(Instant::now()))
    }
}

/// What waits of an answer.
#[derive(Debug)]
struct Held {
    messages: Mutex<Messages>,
    unreceived: Unreceived,
}

#[derive(Debug)]
struct Messages {
    left: Left,
    /// Bytes of the messages that wait.
    bytes: usize,
    /// Bytes of the message that was taken last: the connection has it when it takes the next one.
    sending: usize,
    /// When a message was taken last, or the answer was made.
    taken: Instant,
}

impl Held {
    fn take(&self, now: Instant) -> Option<Result<ReadAnswer, Status>> {
        let mut messages = lock(&self.messages);
        let sent = std::mem::take(&mut messages.sending);
        messages.bytes -= sent;
        self.unreceived.subtract(sent);
        messages.taken = now;
        let next = messages.left.next();
        if let Some(Ok(message)) = &next {
            messages.sending = message.encoded_len();
        }
        next
    }
}

impl GivesWay for Held {
    fn waits_since(&self) -> Option<Instant> {
        let messages = lock(&self.messages);
        (messages.bytes > messages.sending).then_some(messages.taken)
    }

    fn give_up(&self) -> Box<dyn Send> {
        let mut messages = lock(&self.messages);
        let freed = messages.bytes - messages.sending;
        messages.bytes = messages.sending;
        self.unreceived.subtract(freed);
        Box::new(std::mem::replace(
            &mut messages.left,
            vec![Err(stood_still())].into_iter(),
        ))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let messages = self.messages.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.unreceived.subtract(messages.bytes);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_protocol::p4::v1::{Entity, ReadResponse};
    use tokio_stream::StreamExt;

    #[test]
    fn an_answer_of_one_message_waits_as_long_as_it_is_there() {
        let unreceived = Unreceived::default();
        let limits = Limits {
            messages_bytes: 400,
            ..Limits::default()
        };
        let mut extensions = Extensions::new();
        unreceived.attach(100, &mut extensions);
        assert!(unreceived.check(&limits).is_ok(), "it is no more than the share");
        unreceived.attach(1, &mut Extensions::new());
        let waiting = extensions.remove::<Waiting>();
        assert!(unreceived.check(&limits).is_ok());
        let mut others = Extensions::new();
        unreceived.attach(1, &mut others);
        assert_eq!(
            unreceived.check(&limits).map_err(|status| status.code()),
            Err(tonic::Code::ResourceExhausted)
        );
        drop(waiting);
        assert!(unreceived.check(&limits).is_ok() && !unreceived.is_below(1));
    }

    #[test]
    fn each_connection_may_have_one_answer_whatever_waits_for_others() {
        let limits = Limits {
            messages_bytes: 400,
            ..Limits::default()
        };
        let first = Unreceived::default();
        let (second, third) = (first.of_another(), first.of_another());
        let waiting = first.answer(vec![Ok(ReadAnswer::of(&ReadResponse {
            entities: vec![Entity::default(); 200],
        }))]);
        let mut answer = Extensions::new();
        second.attach(1, &mut answer);
        assert!(second.check(&limits).is_err(), "it has one, and all have 401 bytes");
        assert!(third.check(&limits).is_ok());
        drop(waiting);
        assert!(second.check(&limits).is_ok());
    }

    /// An answer of two messages, which together are large.
    fn large(unreceived: &Unreceived) -> Answer {
        let message = || {
            let entities = vec![Entity::default(); LARGE_BYTES / 4];
            Ok(ReadAnswer::of(&ReadResponse { entities }))
        };
        unreceived.answer(vec![message(), message()])
    }

    #[tokio::test]
    async fn an_answer_that_stands_still_gives_way() {
        let first = Unreceived::default();
        let second = first.of_another();
        let (mut still, _small) = (
            large(&first),
            first.answer(vec![Ok(ReadAnswer::of(&ReadResponse::default()))]),
        );
        let mut moving = large(&second);
        assert!(still.next().await.unwrap().is_ok());
        let later = Instant::now() + STALL;
        let waiting = |unreceived: &Unreceived| unreceived.own.load(Ordering::Relaxed);
        let mut given_up = GivenUp::default();
        first.all.make_room(2 * LARGE_BYTES, later, &mut given_up);
        assert_eq!(
            (waiting(&first), waiting(&second)),
            (LARGE_BYTES, LARGE_BYTES),
            "there is room"
        );
        assert!(moving.0.take(later).unwrap().is_ok());
        assert!(given_up.0.is_empty());
        first.all.make_room(LARGE_BYTES, later, &mut given_up);
        assert_eq!(given_up.0.len(), 1, "the caller frees the messages");
        assert_eq!(
            waiting(&first),
            LARGE_BYTES / 2,
            "what the connection sends is still there"
        );
        let refused = still.next().await.unwrap().unwrap_err();
        assert_eq!(refused.code(), tonic::Code::ResourceExhausted);
        assert!(still.next().await.is_none());
        assert_eq!(waiting(&first), 0);
        first.all.make_room(0, later, &mut given_up);
        assert!(moving.next().await.unwrap().is_ok(), "it moves");
        drop(moving);
        assert_eq!(waiting(&second), 0);
    }

    /// The pieces of a body that a connection takes, and its trailers.
    async fn frame(waiting: &Waiting) -> Option<Frame<Bytes>> {
        let frame = std::future::poll_fn(|context| waiting.poll(context)).await;
        frame.map(|frame| frame.expect("no error of the transport"))
    }

    #[tokio::test]
    async fn an_answer_of_one_message_gives_way_as_well() {
        const BYTES: usize = 4 * LARGE_BYTES;
        let first = Unreceived::default();
        let second = first.of_another();
        let [still, moving, unread] = [&first, &second, &second].map(|unreceived| {
            let mut extensions = Extensions::new();
            unreceived.attach(BYTES, &mut extensions);
            let waiting = extensions.remove::<Waiting>().expect("it was attached");
            let body = http_body_util::Full::new(Bytes::from(vec![0; BYTES]));
            waiting.hold(tonic::body::Body::new(body));
            waiting
        });
        drop(unread);
        assert!(frame(&still).await.is_some_and(|frame| frame.is_data()));
        let later = Instant::now() + STALL;
        lock(&moving.0.left).taken = later;
        let mut given_up = GivenUp::default();
        first.all.make_room(BYTES, later, &mut given_up);
        assert_eq!(given_up.0.len(), 1);
        assert!(first.is_below(1) && !second.is_below(BYTES));
        let trailers = frame(&still).await.expect("an error").into_trailers();
        let status = Status::from_header_map(&trailers.expect("no more data")).expect("a status");
        assert_eq!(status.code(), tonic::Code::ResourceExhausted);
        assert!(frame(&still).await.is_none());
        drop(still);
        let mut taken = 0;
        while let Some(piece) = frame(&moving).await {
            taken += piece.into_data().expect("data").len();
        }
        assert_eq!(taken, BYTES);
        drop(moving);
        assert_eq!(second.all.bytes.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn what_waits_is_counted() {
        let unreceived = Unreceived::default();
        let message = || {
            let entities = vec![Entity::default(); 50];
            Ok(ReadAnswer::of(&ReadResponse { entities }))
        };
        assert!(unreceived.is_below(1));
        let mut first = unreceived.answer(vec![message(), message()]);
        let second = unreceived.answer(vec![message(), Err(Status::unknown("later"))]);
        assert!(unreceived.is_below(301) && !unreceived.is_below(300));
        assert!(first.next().await.unwrap().is_ok());
        assert!(!unreceived.is_below(300), "it is under way");
        assert!(first.next().await.unwrap().is_ok());
        assert!(unreceived.is_below(201) && !unreceived.is_below(200));
        drop(second);
        assert!(unreceived.is_below(101) && !unreceived.is_below(100));
        drop(first);
        assert!(unreceived.is_below(1));
    }
}
