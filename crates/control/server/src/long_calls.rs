//! Calls that take long, as reads of whole tables and of many values by gNMI do: one at a time, and the next of a
//! connection only after its last. So others wait as long as one of them takes, however many a client sends at once, and
//! such calls take one thread.

use crate::calls;
use std::sync::Arc;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tonic::Extensions;

/// Whose turn it is. A mutex of tokio is taken in the order of asking.
pub(crate) type Queue = Arc<Mutex<()>>;

/// The long calls of all connections.
#[derive(Clone, Default)]
pub(crate) struct LongCalls(Queue);

/// A call that may take long, or a stream that may several times.
#[derive(Clone)]
pub(crate) struct LongCall {
    of_connection: Queue,
    of_all: Queue,
}

/// The right to take long, until it is dropped.
pub(crate) struct Turn {
    _of_all: OwnedMutexGuard<()>,
    _of_connection: OwnedMutexGuard<()>,
}

impl LongCalls {
    /// A call with these extensions.
    pub(crate) fn of_call(&self, call: &Extensions) -> LongCall {
        let peer = calls::peer(call);
        let of_connection = peer.map(|peer| Arc::clone(&peer.activity.long_calls));
        self.of_connection(of_connection.unwrap_or_default())
    }

    fn of_connection(&self, of_connection: Queue) -> LongCall {
        LongCall {
            of_connection,
            of_all: Arc::clone(&self.0),
        }
    }
}

impl LongCall {
    /// Waits for the call's turn.
    pub(crate) async fn turn(self) -> Turn {
        let of_connection = self.of_connection.lock_owned().await;
        Turn {
            _of_all: self.of_all.lock_owned().await,
            _of_connection: of_connection,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    async fn waits(turn: &mut (impl Future<Output = Turn> + Unpin)) -> bool {
        tokio::time::timeout(Duration::ZERO, turn).await.is_err()
    }

    #[tokio::test]
    async fn a_connection_waits_for_one_call_of_another() {
        let calls = LongCalls::default();
        let (busy, other) = (Queue::default(), Queue::default());
        let turn = calls.of_connection(Arc::clone(&busy)).turn().await;
        let mut second = Box::pin(calls.of_connection(Arc::clone(&busy)).turn());
        let mut third = Box::pin(calls.of_connection(busy).turn());
        let mut of_other = Box::pin(calls.of_connection(other).turn());
        assert!(waits(&mut second).await && waits(&mut third).await && waits(&mut of_other).await);
        drop(turn);
        assert!(waits(&mut second).await && waits(&mut third).await);
        drop(of_other.await);
        drop(second.await);
        drop(third.await);
    }
}
