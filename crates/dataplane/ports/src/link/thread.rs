//! The thread that speaks with a peer.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::lock;
use crate::system::event::Event;
use crate::system::{PollDescriptor, poll};

/// What a port needs of its controller.
pub(crate) trait Controller: Send + Sync {
    /// Starts its thread, if that has not been done.
    fn start(&self);
}

/// How long a peer may take over the messages that begin a connection.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// A time that a peer has for something.
pub(crate) struct Patience(Instant);

impl Patience {
    pub(crate) fn begin() -> Patience {
        Patience(Instant::now())
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.elapsed() > HANDSHAKE
    }
}

/// Tells a thread to end.
pub(crate) struct Stop {
    is_set: AtomicBool,
    event: Arc<Event>,
}

impl Stop {
    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Relaxed)
    }
}

/// The work of a thread, until it must stop.
type Work = Box<dyn FnOnce(&Stop) + Send>;

/// A thread that is started when it is first needed and ends with its owner.
pub(crate) struct Lazy {
    stop: Arc<Stop>,
    work: Mutex<Option<Work>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    name: String,
}

impl Lazy {
    /// A thread that will do `work`, which must return soon after [`Stop`] is set; `event` wakes it.
    pub(crate) fn new(name: String, event: Arc<Event>, work: impl FnOnce(&Stop) + Send + 'static) -> Lazy {
        Lazy {
            stop: Arc::new(Stop {
                is_set: AtomicBool::new(false),
                event,
            }),
            work: Mutex::new(Some(Box::new(work))),
            thread: Mutex::new(None),
            name,
        }
    }
}

impl Controller for Lazy {
    fn start(&self) {
        let Some(work) = lock(&self.work).take() else { return };
        let stop = Arc::clone(&self.stop);
        // Without a thread there is no connection: the port stays down, as it says.
        let spawned = thread::Builder::new()
            .name(self.name.clone())
            .spawn(move || work(&stop));
        *lock(&self.thread) = spawned.ok();
    }
}

impl Drop for Lazy {
    fn drop(&mut self) {
        self.stop.is_set.store(true, Ordering::Relaxed);
        self.stop.event.ring();
        if let Some(thread) = lock(&self.thread).take() {
            // It does not panic; if it did, there is nothing left to do for it.
            let _ = thread.join();
        }
    }
}

/// Why a client has no connection.
pub(crate) fn not_connected(path: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("there is no socket {path} yet"),
        io::ErrorKind::ConnectionRefused => format!("nobody listens at {path}"),
        _ => format!("no connection to {path}: {error}"),
    }
}

/// Waits until the event is rung or one of `others` is readable, at most `time`.
pub(crate) fn wait<'a>(event: &'a Event, others: impl IntoIterator<Item = BorrowedFd<'a>>, time: Duration) {
    let all = std::iter::once(event.as_fd()).chain(others);
    let mut descriptors: Vec<PollDescriptor> = all.map(|one| PollDescriptor::readable(one.as_raw_fd())).collect();
    // When the system cannot wait, the caller looks again at once.
    let _ = poll(&mut descriptors, time.as_nanos() as u64);
    event.take();
}
