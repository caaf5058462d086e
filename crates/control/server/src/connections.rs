//! Connections that are accepted: counted, and ended when they do nothing.
//!
//! A connection has a limited time to send its first bytes, and a limited time without a call. When there are as many
//! as may be, a new one takes the place of the one that has been without a call for longest; if all have calls, it is
//! closed at once.

use crate::answers::Unreceived;
use crate::header_room::{Greeting, HeaderRoom, PREFACE};
use crate::limits::Limits;
use crate::listen::{Connection, Connections};
use crate::long_calls::Queue;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{Instant, Sleep};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::Connected;

/// Time before another attempt when the system gives no more descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// How long a new connection waits for the place of one that is ended for it.
const EVICTION: Duration = Duration::from_secs(1);

/// The properties of a connection that its calls can read.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// The id of the local user, for a connection over a Unix socket.
    pub(crate) user: Option<u32>,
    pub(crate) activity: Arc<Activity>,
}

/// What a connection does.
#[derive(Debug)]
pub(crate) struct Activity {
    /// Calls that are being served.
    calls: AtomicUsize,
    /// When it began, or its last call ended.
    since: Mutex<Instant>,
    is_to_end: AtomicBool,
    waker: Mutex<Option<Waker>>,
    /// What the client has said of its room for headers.
    header_room: OnceLock<HeaderRoom>,
    /// Answers to its reads that it has not received.
    pub(crate) unreceived: Unreceived,
    /// Bytes of messages that wait for its streams.
    pub(crate) messages_waiting: Arc<AtomicUsize>,
    /// Its calls that take long.
    pub(crate) long_calls: Queue,
    /// Values that its streams of gNMI are subscribed to.
    pub(crate) subscribed_values: Arc<AtomicUsize>,
}

impl Activity {
    fn new(unreceived: Unreceived) -> Arc<Activity> {
        Arc::new(Activity {
            calls: AtomicUsize::new(0),
            since: Mutex::new(Instant::now()),
            is_to_end: AtomicBool::new(false),
            waker: Mutex::default(),
            header_room: OnceLock::new(),
            unreceived,
            messages_waiting: Arc::default(),
            long_calls: Queue::default(),
            subscribed_values: Arc::default(),
        })
    }

    /// The client's room for headers.
    pub(crate) fn header_room(&self) -> HeaderRoom {
        self.header_room.get().copied().unwrap_or_default()
    }

    /// A call begins; it ends when the result is dropped.
    pub(crate) fn call(self: &Arc<Activity>) -> Call {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Call(Arc::clone(self))
    }

    /// Since when the connection has no call; none while it has one.
    fn idle_since(&self) -> Option<Instant> {
        let has_calls = self.calls.load(Ordering::Relaxed) > 0;
        (!has_calls).then(|| *self.since.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn end(&self) {
        self.is_to_end.store(true, Ordering::Relaxed);
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        waker.into_iter().for_each(Waker::wake);
    }
}

/// See [`Activity::call`].
#[derive(Debug)]
pub(crate) struct Call(Arc<Activity>);

impl Drop for Call {
    fn drop(&mut self) {
        *self.0.since.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.0.calls.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection with its place among all.
pub(crate) struct Limited<S> {
    socket: S,
    peer: Peer,
    read: usize,
    greeting: Greeting,
    limits: Limits,
    accepted: Instant,
    /// When it is looked at next whether it does anything.
    look: Pin<Box<Sleep>>,
    _place: OwnedSemaphorePermit,
}

impl<S> Limited<S> {
    /// When the connection ends if nothing happens.
    fn end(&self) -> Option<Instant> {
        if self.read < PREFACE.len() {
            Some(self.accepted + self.limits.handshake_time)
        } else {
            Some(self.peer.activity.idle_since()? + self.limits.idle_time)
        }
    }

    /// Whether it is over now; wakes the task later if not.
    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let activity = &self.peer.activity;
        *activity.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(context.waker().clone());
        if activity.is_to_end.load(Ordering::Relaxed) {
            return Poll::Ready(());
        }
        while self.look.as_mut().poll(context).is_ready() {
            let now = Instant::now();
            let next = match self.end() {
                Some(end) if end <= now => return Poll::Ready(()),
                Some(end) => end,
                None => now + self.limits.idle_time,
            };
            // A time-out of 0 does not make this a loop without end.
            self.look.as_mut().reset(next.max(now + PAUSE));
        }
        Poll::Pending
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Limited<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.socket).poll_read(context, buffer);
        if polled.is_ready() {
            let come = &buffer.filled()[before..];
            self.read = self.read.saturating_add(come.len());
            if let Some(room) = self.greeting.read(come) {
                // A connection has one greeting.
                let _ = self.peer.activity.header_room.set(room);
            }
            return polled;
        }
        self.poll_end(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Limited<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }
}

impl<S> Connected for Limited<S> {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

/// The connections that there are.
struct Places {
    limits: Limits,
    free: Arc<Semaphore>,
    taken: Vec<Weak<Activity>>,
    /// What the answers of all are counted with.
    unreceived: Unreceived,
}

impl Places {
    fn new(limits: Limits) -> Places {
        Places {
            limits,
            free: Arc::new(Semaphore::new(limits.connections)),
            taken: Vec::new(),
            unreceived: Unreceived::default(),
        }
    }

    /// A place for another connection, which may be that of one without calls.
    async fn take(&mut self) -> Option<OwnedSemaphorePermit> {
        if let Ok(place) = Arc::clone(&self.free).try_acquire_owned() {
            return Some(place);
        }
        self.taken.retain(|activity| activity.strong_count() > 0);
        let connections = self.taken.iter().filter_map(Weak::upgrade);
        let idle = connections.filter_map(|activity| Some((activity.idle_since()?, activity)));
        let (_, longest) = idle.min_by_key(|(since, _)| *since)?;
        longest.end();
        let place = tokio::time::timeout(EVICTION, Arc::clone(&self.free).acquire_owned());
        place.await.ok()?.ok()
    }

    fn limit<S>(&mut self, socket: S, user: Option<u32>, place: OwnedSemaphorePermit) -> Limited<S> {
        let activity = Activity::new(self.unreceived.of_another());
        if self.taken.len() >= 2 * self.limits.connections {
            self.taken.retain(|activity| activity.strong_count() > 0);
        }
        self.taken.push(Arc::downgrade(&activity));
        Limited {
            socket,
            peer: Peer { user, activity },
            read: 0,
            greeting: Greeting::default(),
            limits: self.limits,
            accepted: Instant::now(),
            look: Box::pin(tokio::time::sleep(self.limits.handshake_time)),
            _place: place,
        }
    }
}

/// Those of some connections for which there is a place, within the limits. Called in a runtime.
pub(crate) fn limited(mut accepted: Connections, limits: Limits) -> ReceiverStream<io::Result<Limited<Connection>>> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let mut places = Places::new(limits);
        loop {
            let next = tokio::select! {
                next = accepted.next() => next,
                () = sender.closed() => return,
            };
            let connection = match next {
                Some(Ok(connection)) => connection,
                Some(Err(_)) => {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
                None => return,
            };
            // One for which there is no place is closed here.
            let Some(place) = places.take().await else { continue };
            let user = connection.user();
            if sender.send(Ok(places.limit(connection, user, place))).await.is_err() {
                return;
            }
        }
    });
    ReceiverStream::new(receiver)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listen::Listening;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    fn listen(limits: Limits) -> (String, ReceiverStream<io::Result<Limited<Connection>>>) {
        let listening = Listening::on(&"127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listening.address().to_string();
        let (accepted, _) = listening.accept().unwrap();
        (address, limited(accepted, limits))
    }

    fn short(connections: usize) -> Limits {
        Limits {
            connections,
            handshake_time: Duration::from_millis(50),
            idle_time: Duration::from_millis(200),
            ..Limits::default()
        }
    }

    #[tokio::test]
    async fn silence_ends_a_connection() {
        let (address, mut incoming) = listen(short(10));
        let _client = TcpStream::connect(&address).await.unwrap();
        let mut connection = incoming.next().await.unwrap().unwrap();
        let read = connection.read_u8().await;
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(connection.accepted.elapsed() < Duration::from_secs(5));
    }

    #[tokio::test]
    async fn a_call_keeps_a_connection() {
        let (address, mut incoming) = listen(short(10));
        let mut client = TcpStream::connect(&address).await.unwrap();
        client.write_all(&[1; PREFACE.len()]).await.unwrap();
        let mut connection = incoming.next().await.unwrap().unwrap();
        connection.read_exact(&mut [0; PREFACE.len()]).await.unwrap();
        let call = connection.connect_info().activity.call();
        let quiet = tokio::time::timeout(Duration::from_millis(600), connection.read_u8());
        assert!(quiet.await.is_err(), "it goes on while there is a call");
        drop(call);
        let read = connection.read_u8().await;
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_new_connection_takes_the_place_of_an_idle_one() {
        let (address, mut incoming) = listen(Limits {
            connections: 2,
            ..Limits::default()
        });
        let mut clients = Vec::new();
        let mut connections = Vec::new();
        for _ in 0..2 {
            clients.push(TcpStream::connect(&address).await.unwrap());
            connections.push(incoming.next().await.unwrap().unwrap());
        }
        let call = connections[0].connect_info().activity.call();
        let mut idle = connections.pop().unwrap();
        let ended = tokio::spawn(async move { idle.read_u8().await.unwrap_err().kind() });
        clients.push(TcpStream::connect(&address).await.unwrap());
        let third = incoming.next().await.unwrap().unwrap();
        assert_eq!(ended.await.unwrap(), io::ErrorKind::TimedOut);
        let _second_call = third.connect_info().activity.call();
        let mut fourth = TcpStream::connect(&address).await.unwrap();
        assert_eq!(
            fourth.read(&mut [0]).await.unwrap(),
            0,
            "all have calls, so it is closed"
        );
        drop(call);
    }
}
