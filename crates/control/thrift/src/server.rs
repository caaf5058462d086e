//! Answers calls on a port.

use crate::runtime::Runtime;
use crate::switch::Switch;
use crate::watch::watch;
use crate::wire::Message;
use socket2::SockRef;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Connections at a time; one more is closed at once.
const CONNECTIONS_MAX: usize = 32;

/// Bytes of a call, which may bring a program.
const CALL_BYTES_MAX: u64 = 16 << 20;

/// How long a client may take for a call that it has begun, and for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A port that is listened on. Dropping it ends that; connections end with their clients.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    listener: Arc<TcpListener>,
}

impl Serving {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Ends what waits for the next connection; if the system refuses, it ends with the process.
        let _ = SockRef::from(&*self.listener).shutdown(Shutdown::Both);
    }
}

/// Serves in threads of its own.
///
/// # Errors
/// When there can be no thread.
pub fn serve<S: Switch + Send + 'static>(listener: TcpListener, switch: S) -> io::Result<Serving> {
    let address = listener.local_addr()?;
    let listener = Arc::new(listener);
    let runtime = Arc::new(Mutex::new(Runtime::new(switch)));
    if lock(&runtime).switch().notifications().is_some() {
        let watched = Arc::downgrade(&runtime);
        thread::Builder::new()
            .name("watch".to_string())
            .spawn(move || watch(&watched))?;
    }
    let accepting = Arc::clone(&listener);
    let accept = move || {
        let connections = Arc::new(AtomicUsize::new(0));
        for stream in accepting.incoming() {
            match stream {
                Ok(stream) => start(stream, &runtime, &connections),
                // The listener is shut down.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => return,
                // No descriptors are left, for example.
                Err(_) => thread::sleep(Duration::from_millis(100)),
            }
        }
    };
    thread::Builder::new().name("thrift".to_string()).spawn(accept)?;
    Ok(Serving { address, listener })
}

fn lock<S>(runtime: &Mutex<Runtime<S>>) -> MutexGuard<'_, Runtime<S>> {
    runtime.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start<S: Switch + Send + 'static>(
    stream: TcpStream,
    runtime: &Arc<Mutex<Runtime<S>>>,
    connections: &Arc<AtomicUsize>,
) {
    if connections.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX {
        connections.fetch_sub(1, Ordering::Relaxed);
        return;
    }
    let (runtime, counted) = (Arc::clone(runtime), Arc::clone(connections));
    let serve = move || {
        // A client that disconnects, or uses another protocol, gets no answer.
        let _ = converse(&stream, &runtime);
        counted.fetch_sub(1, Ordering::Relaxed);
    };
    if thread::Builder::new().name("thrift".to_string()).spawn(serve).is_err() {
        connections.fetch_sub(1, Ordering::Relaxed);
    }
}

fn converse<S: Switch>(stream: &TcpStream, runtime: &Mutex<Runtime<S>>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    loop {
        // For a call to begin any time is fine.
        stream.set_read_timeout(None)?;
        if reader.fill_buf()?.is_empty() {
            return Ok(());
        }
        stream.set_read_timeout(Some(PATIENCE))?;
        let Some(call) = Message::read(&mut reader, CALL_BYTES_MAX)? else {
            return Ok(());
        };
        let answer = lock(runtime).call(&call);
        if let Some(answer) = answer {
            writer.write_all(&answer.write())?;
        }
    }
}
