//! Messages that wait for a controller, bounded in number and in bytes. So a controller that does not read its stream
//! takes a bounded amount of memory, and senders never wait for it. The streams of a connection have a bound together,
//! beside which each may have one small message. The reason for which the switch ends a stream takes no room: it comes
//! after all that waits.

use forebay_protocol::p4::v1::StreamMessageResponse;
use prost::Message;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::sync::{Notify, mpsc};
use tokio_stream::Stream;
use tonic::Status;

/// Messages that may wait.
const MESSAGES_MAX: usize = 1024;

/// Streams of a connection that may have as much as one may.
const FULL_STREAMS: usize = 4;

/// Bytes of a message that a stream to which nothing waits may have, whatever waits for the others of its connection:
/// who is primary, or a packet.
const SMALL_BYTES: usize = 4096;

/// Bytes of the messages of a stream that wait.
struct Waiting {
    own: AtomicUsize,
    /// Those of all streams of the connection.
    of_connection: Arc<AtomicUsize>,
}

impl Waiting {
    /// Counts a message, if there is room for it.
    fn add(&self, bytes: usize, bytes_max: usize) -> bool {
        let own = self.own.fetch_add(bytes, Ordering::Relaxed);
        let of_connection = self.of_connection.fetch_add(bytes, Ordering::Relaxed);
        let fits_stream = own == 0 || own + bytes <= bytes_max;
        let fits_connection = of_connection == 0
            || of_connection + bytes <= bytes_max.saturating_mul(FULL_STREAMS)
            || (own == 0 && bytes <= SMALL_BYTES);
        let has_room = fits_stream && fits_connection;
        if !has_room {
            self.subtract(bytes);
        }
        has_room
    }

    fn subtract(&self, bytes: usize) {
        self.own.fetch_sub(bytes, Ordering::Relaxed);
        self.of_connection.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let own = self.own.load(Ordering::Relaxed);
        self.of_connection.fetch_sub(own, Ordering::Relaxed);
    }
}

/// The sending side.
#[derive(Clone)]
pub(crate) struct Outbox {
    messages: mpsc::Sender<StreamMessageResponse>,
    waiting: Arc<Waiting>,
    bytes_max: usize,
    reason: Reason,
    /// Told when the controller is to be disconnected.
    end: Arc<Notify>,
}

/// The receiving side: the stream as gRPC reads it, as fast as the controller does.
pub(crate) struct Responses {
    messages: mpsc::Receiver<StreamMessageResponse>,
    waiting: Arc<Waiting>,
    reason: Reason,
}

/// Why the switch ends the stream; none while it does not, or when the controller has ended it.
#[derive(Clone, Default)]
struct Reason(Arc<Mutex<Option<Status>>>);

impl Reason {
    /// The first reason counts.
    fn set(&self, status: Status) {
        let mut reason = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reason.get_or_insert(status);
    }

    fn take(&self) -> Option<Status> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Both sides of an outbox for at most `bytes_max` bytes of messages; `of_connection` is how many bytes wait for the
/// streams of its connection.
pub(crate) fn outbox(bytes_max: usize, of_connection: Arc<AtomicUsize>) -> (Outbox, Responses) {
    let (sender, receiver) = mpsc::channel(MESSAGES_MAX);
    let reason = Reason::default();
    let waiting = Arc::new(Waiting {
        own: AtomicUsize::new(0),
        of_connection,
    });
    let outbox = Outbox {
        messages: sender,
        waiting: Arc::clone(&waiting),
        bytes_max,
        reason: reason.clone(),
        end: Arc::default(),
    };
    let responses = Responses {
        messages: receiver,
        waiting,
        reason,
    };
    (outbox, responses)
}

impl Outbox {
    /// Lets a message wait; false when there is no room, and it is lost. A single one may be larger than all of the
    /// room.
    pub(crate) fn send(&self, message: StreamMessageResponse) -> bool {
        let bytes = message.encoded_len();
        if !self.waiting.add(bytes, self.bytes_max) {
            return false;
        }
        let is_sent = self.messages.try_send(message).is_ok();
        if !is_sent {
            self.waiting.subtract(bytes);
        }
        is_sent
    }

    /// Sets the error with which the stream ends, once all sending sides are dropped.
    pub(crate) fn end_with(&self, status: Status) {
        self.reason.set(status);
    }

    /// Disconnects the controller, which would miss who is primary.
    pub(crate) fn disconnect(&self) {
        self.end_with(Status::resource_exhausted(
            "this stream was not read, and had no room for the message that says who is primary (--grpc-queue): open \
             another one and claim again",
        ));
        self.end.notify_one();
    }

    /// Returns when the controller has gone, or is to go.
    pub(crate) async fn ended(&self) {
        tokio::select! {
            () = self.messages.closed() => {}
            () = self.end.notified() => {}
        }
    }
}

impl Stream for Responses {
    type Item = Result<StreamMessageResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(message) = ready!(self.messages.poll_recv(context)) else {
            return Poll::Ready(self.reason.take().map(Err));
        };
        self.waiting.subtract(message.encoded_len());
        Poll::Ready(Some(Ok(message)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_protocol::p4::v1::PacketIn;
    use forebay_protocol::p4::v1::stream_message_response::Update;
    use tokio_stream::StreamExt;

    fn packet(bytes: usize) -> StreamMessageResponse {
        let packet = PacketIn {
            payload: vec![0; bytes],
            metadata: Vec::new(),
        };
        StreamMessageResponse {
            update: Some(Update::Packet(packet)),
        }
    }

    #[tokio::test]
    async fn bytes_are_bounded_and_messages_too() {
        let (outbox, mut responses) = outbox(10_000, Arc::default());
        assert!(outbox.send(packet(50_000)), "one is always taken");
        assert!(!outbox.send(packet(1)));
        responses.next().await.unwrap().unwrap();
        let sent = (0..100).filter(|_| outbox.send(packet(1_000))).count();
        assert_eq!(sent, 9);
        responses.next().await.unwrap().unwrap();
        assert!(outbox.send(packet(1_500)) && !outbox.send(packet(1_500)));
        for _ in 0..9 {
            responses.next().await.unwrap().unwrap();
        }
        let sent = (0..5_000).filter(|_| outbox.send(packet(0))).count();
        assert_eq!(sent, MESSAGES_MAX);
        drop(responses);
        outbox.ended().await;
        assert!(!outbox.send(packet(0)));
    }

    #[test]
    fn streams_of_a_connection_have_a_bound_together() {
        let of_connection = Arc::<AtomicUsize>::default();
        let open = || outbox(10_000, Arc::clone(&of_connection));
        let streams = [open(), open(), open(), open(), open(), open()];
        let fill = |(outbox, _): &(Outbox, Responses)| (0..20).filter(|_| outbox.send(packet(990))).count();
        let sent: Vec<usize> = streams.iter().map(fill).collect();
        assert_eq!(
            sent,
            [10, 10, 10, 10, 1, 1],
            "a small message has room when no other waits for its stream"
        );
        let (another, responses) = open();
        assert!(!another.send(packet(2 * SMALL_BYTES)));
        drop(streams);
        assert!(another.send(packet(2 * SMALL_BYTES)));
        drop((another, responses));
        assert_eq!(of_connection.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn the_reason_of_the_end_comes_after_all_that_waits() {
        let (outbox, mut responses) = outbox(10_000, Arc::default());
        while outbox.send(packet(0)) {}
        outbox.disconnect();
        outbox.end_with(Status::internal("later"));
        outbox.ended().await;
        drop(outbox);
        for _ in 0..MESSAGES_MAX {
            assert!(responses.next().await.unwrap().is_ok());
        }
        let reason = responses.next().await.unwrap().unwrap_err();
        assert_eq!(reason.code(), tonic::Code::ResourceExhausted);
        assert!(responses.next().await.is_none());
    }
}
