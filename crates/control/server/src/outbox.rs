//! Messages that wait for a controller, bounded in number and in bytes. So a controller that does not read its stream
//! takes a bounded amount of memory, and senders never wait for it. The reason for which the switch ends a stream takes
//! no room: it comes after all that waits.

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

/// The sending side.
#[derive(Clone)]
pub(crate) struct Outbox {
    messages: mpsc::Sender<StreamMessageResponse>,
    waiting: Arc<AtomicUsize>,
    bytes_max: usize,
    reason: Reason,
    /// Told when the controller is to be disconnected.
    end: Arc<Notify>,
}

/// The receiving side: the stream as gRPC reads it, as fast as the controller does.
pub(crate) struct Responses {
    messages: mpsc::Receiver<StreamMessageResponse>,
    waiting: Arc<AtomicUsize>,
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

/// Both sides of an outbox for at most `bytes_max` bytes of messages.
pub(crate) fn outbox(bytes_max: usize) -> (Outbox, Responses) {
    let (sender, receiver) = mpsc::channel(MESSAGES_MAX);
    let (waiting, reason) = (Arc::<AtomicUsize>::default(), Reason::default());
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
        let before = self.waiting.fetch_add(bytes, Ordering::Relaxed);
        let has_room = before == 0 || before + bytes <= self.bytes_max;
        let is_sent = has_room && self.messages.try_send(message).is_ok();
        if !is_sent {
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
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
        self.waiting.fetch_sub(message.encoded_len(), Ordering::Relaxed);
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
        let (outbox, mut responses) = outbox(10_000);
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

    #[tokio::test]
    async fn the_reason_of_the_end_comes_after_all_that_waits() {
        let (outbox, mut responses) = outbox(10_000);
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
