//! Messages that wait for a controller, bounded in number and in bytes. So a controller that does not read its stream
//! takes a bounded amount of memory, and senders never wait for it.

use forebay_protocol::p4::v1::StreamMessageResponse;
use prost::Message;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tokio::sync::{Notify, mpsc};
use tokio_stream::Stream;
use tonic::Status;

/// Messages that may wait.
const MESSAGES_MAX: usize = 1024;

type Queued = Result<StreamMessageResponse, Status>;

/// The sending side.
#[derive(Clone)]
pub(crate) struct Outbox {
    messages: mpsc::Sender<Queued>,
    waiting: Arc<AtomicUsize>,
    bytes_max: usize,
    /// Told when the controller is to be disconnected.
    end: Arc<Notify>,
}

/// The receiving side: the stream as gRPC reads it, as fast as the controller does.
pub(crate) struct Responses {
    messages: mpsc::Receiver<Queued>,
    waiting: Arc<AtomicUsize>,
}

/// Both sides of an outbox for at most `bytes_max` bytes of messages.
pub(crate) fn outbox(bytes_max: usize) -> (Outbox, Responses) {
    let (sender, receiver) = mpsc::channel(MESSAGES_MAX);
    let waiting = Arc::<AtomicUsize>::default();
    let outbox = Outbox {
        messages: sender,
        waiting: Arc::clone(&waiting),
        bytes_max,
        end: Arc::default(),
    };
    let responses = Responses {
        messages: receiver,
        waiting,
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
        let is_sent = has_room && self.messages.try_send(Ok(message)).is_ok();
        if !is_sent {
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
        }
        is_sent
    }

    /// Ends the stream with an error, or without one when there is no room.
    pub(crate) fn end_with(&self, status: Status) {
        // The controller may have gone already.
        let _ = self.messages.try_send(Err(status));
    }

    /// Disconnects the controller.
    pub(crate) fn disconnect(&self) {
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
    type Item = Queued;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Queued>> {
        let next = self.messages.poll_recv(context);
        if let Poll::Ready(Some(Ok(message))) = &next {
            self.waiting.fetch_sub(message.encoded_len(), Ordering::Relaxed);
        }
        next
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
}
