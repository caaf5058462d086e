//! Answers to reads, until their connection has taken them. They are in memory as a whole, since no write may come in
//! between: a controller that asks again and again, and does not receive, must not take all of it.

use crate::codec::ReadAnswer;
use prost::Message;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tokio_stream::Stream;
use tonic::Status;

/// Bytes of the answers that wait for a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unreceived(Arc<AtomicUsize>);

impl Unreceived {
    /// Whether less than `limit` bytes wait. A single answer may be larger.
    pub(crate) fn is_below(&self, limit: usize) -> bool {
        self.0.load(Ordering::Relaxed) < limit
    }

    /// An answer that waits from now on.
    pub(crate) fn answer(&self, messages: Vec<Result<ReadAnswer, Status>>) -> Answer {
        let bytes: usize = messages.iter().flatten().map(ReadAnswer::encoded_len).sum();
        self.0.fetch_add(bytes, Ordering::Relaxed);
        Answer {
            messages: messages.into_iter(),
            bytes,
            unreceived: self.clone(),
        }
    }
}

/// The messages of an answer.
pub(crate) struct Answer {
    messages: std::vec::IntoIter<Result<ReadAnswer, Status>>,
    /// Of those that wait.
    bytes: usize,
    unreceived: Unreceived,
}

impl Answer {
    fn discount(&mut self, bytes: usize) {
        self.bytes -= bytes;
        self.unreceived.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Stream for Answer {
    type Item = Result<ReadAnswer, Status>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.messages.next();
        if let Some(Ok(message)) = &next {
            self.discount(message.encoded_len());
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
        assert!(unreceived.is_below(201) && !unreceived.is_below(200));
        drop(second);
        assert!(unreceived.is_below(101) && !unreceived.is_below(100));
        drop(first);
        assert!(unreceived.is_below(1));
    }
}
