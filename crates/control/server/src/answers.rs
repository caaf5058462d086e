//! Answers to reads, until their connection has taken them. They are in memory as a whole, since no write may come in
//! between: a controller that asks again and again, and does not receive, must not take all of it.

use crate::calls;
use crate::codec::ReadAnswer;
use crate::limits::Limits;
use prost::Message;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tokio_stream::Stream;
use tonic::{Extensions, Status};

/// The part of the memory for messages that answers to reads of one connection may take.
const SHARE: usize = 4;

/// Bytes of the answers that wait for a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unreceived {
    own: Arc<AtomicUsize>,
    /// Those for all connections.
    all: Arc<AtomicUsize>,
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
    /// one, whatever waits for others.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` when too much waits already.
    pub(crate) fn check(&self, limits: &Limits) -> Result<(), Status> {
        let has_room = self.is_below(limits.messages_bytes / SHARE + 1)
            && self.all.load(Ordering::Relaxed) <= limits.messages_bytes;
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
        self.all.fetch_add(bytes, Ordering::Relaxed);
    }

    fn subtract(&self, bytes: usize) {
        self.own.fetch_sub(bytes, Ordering::Relaxed);
        self.all.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Says that an answer of one message waits, as long as the body of the call. `extensions` are the answer's.
    pub(crate) fn attach(&self, bytes: usize, extensions: &mut Extensions) {
        self.add(bytes);
        let unreceived = self.clone();
        extensions.insert(Waiting {
            _bytes: Arc::new(WaitingBytes { bytes, unreceived }),
        });
    }

    /// An answer that waits from now on.
    pub(crate) fn answer(&self, messages: Vec<Result<ReadAnswer, Status>>) -> Answer {
        let bytes: usize = messages.iter().flatten().map(ReadAnswer::encoded_len).sum();
        self.add(bytes);
        Answer {
            messages: messages.into_iter(),
            bytes,
            sending: 0,
            unreceived: self.clone(),
        }
    }
}

/// An answer of one message that waits.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    _bytes: Arc<WaitingBytes>,
}

#[derive(Debug)]
struct WaitingBytes {
    bytes: usize,
    unreceived: Unreceived,
}

impl Drop for WaitingBytes {
    fn drop(&mut self) {
        self.unreceived.subtract(self.bytes);
    }
}

/// The messages of an answer.
pub(crate) struct Answer {
    messages: std::vec::IntoIter<Result<ReadAnswer, Status>>,
    /// Bytes of the messages that wait.
    bytes: usize,
    /// Bytes of the message that was taken last: the connection has it when it takes the next one.
    sending: usize,
    unreceived: Unreceived,
}

impl Answer {
    fn discount(&mut self, bytes: usize) {
        self.bytes -= bytes;
        self.unreceived.subtract(bytes);
    }
}

impl Stream for Answer {
    type Item = Result<ReadAnswer, Status>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let sent = std::mem::take(&mut self.sending);
        self.discount(sent);
        let next = self.messages.next();
        if let Some(Ok(message)) = &next {
            self.sending = message.encoded_len();
        }
        Poll::Ready(next)
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.discount(self.bytes);
    }
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
