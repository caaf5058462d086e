//! Answers calls on a port.

use crate::calls;
use crate::connections::{Connections, Place};
use crate::line::Line;
use crate::runtime::Runtime;
use crate::switch::Switch;
use crate::watch::watch;
use crate::wire::Message;
use socket2::SockRef;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of a call, which may bring a program.
const CALL_BYTES_MAX: u64 = 16 << 20;

/// How long a client may take to send a call that it has begun, and to take an answer.
const PATIENCE: Duration = Duration::from_secs(60);

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
pub fn serve<S: Switch + Send + Sync + 'static>(listener: TcpListener, switch: S) -> io::Result<Serving> {
    let address = listener.local_addr()?;
    let listener = Arc::new(listener);
    let runtime = Runtime::new(switch);
    let served = Arc::new(Served {
        switch: Arc::clone(&runtime.switch),
        runtime: Arc::new(Mutex::new(runtime)),
        loading: Mutex::new(()),
    });
    if served.switch.notifications().is_some() {
        let watched = Arc::downgrade(&served.runtime);
        thread::Builder::new()
            .name("watch".to_string())
            .spawn(move || watch(&watched))?;
    }
    let accepting = Arc::clone(&listener);
    let accept = move || {
        let connections = Arc::<Connections>::default();
        for stream in accepting.incoming() {
            match stream {
                Ok(stream) => start(stream, &served, &connections),
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

/// What connections share.
struct Served<S> {
    switch: Arc<S>,
    runtime: Arc<Mutex<Runtime<S>>>,
    /// Programs are compiled one after the other.
    loading: Mutex<()>,
}

impl<S: Switch> Served<S> {
    fn call(&self, call: &Message) -> Option<Message> {
        if calls::is_load(call) {
            let _turn = lock(&self.loading);
            return calls::load(&*self.switch, &self.runtime, call);
        }
        lock(&self.runtime).call(call)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start<S: Switch + Send + Sync + 'static>(
    stream: TcpStream,
    served: &Arc<Served<S>>,
    connections: &Arc<Connections>,
) {
    let Some(place) = connections.admit(stream) else {
        return;
    };
    let served = Arc::clone(served);
    let serve = move || {
        // A client that disconnects, or uses another protocol, gets no answer.
        let _ = converse(&place, &served);
    };
    // Without a thread, the connection ends.
    let _ = thread::Builder::new().name("thrift".to_string()).spawn(serve);
}

fn converse<S: Switch>(place: &Place, served: &Served<S>) -> io::Result<()> {
    let stream = place.stream();
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(Line::new(stream));
    let mut writer = Line::new(stream);
    loop {
        // For a call to begin any time is fine.
        reader.get_mut().limit(None);
        if reader.fill_buf()?.is_empty() {
            return Ok(());
        }
        place.call_begins();
        reader.get_mut().limit(Some(PATIENCE));
        let Some(call) = Message::read(&mut reader, CALL_BYTES_MAX)? else {
            return Ok(());
        };
        let answer = served.call(&call);
        // Clients that call one after the other are idle in this order, whenever their threads go on.
        let answered = Instant::now();
        if let Some(answer) = answer {
            writer.limit(Some(PATIENCE));
            writer.write_all(&answer.write())?;
        }
        place.call_ends(answered);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Client;
    use crate::connections::CONNECTIONS_MAX;
    use crate::switch::testing::Idle;
    use forebay_protocol::p4::v1::ForwardingPipelineConfig;

    #[test]
    fn calls_are_answered_while_a_program_is_compiled() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let serving = serve(listener, Idle(ForwardingPipelineConfig::default())).expect("threads");
        let address = serving.address();
        let connect = move || Client::connect(address).expect("a connection");
        let loading = thread::spawn(move || connect().load_program(vec![0; 3_000]).expect("an answer"));
        thread::sleep(Duration::from_millis(200));
        assert!(connect().command("help").expect("an answer").is_ok());
        assert!(!loading.is_finished(), "it was answered after the program");
        assert_eq!(loading.join().expect("no panic"), Ok(()));
    }

    #[test]
    fn the_connection_that_is_idle_for_longest_gives_way() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let serving = serve(listener, Idle(ForwardingPipelineConfig::default())).expect("threads");
        let address = serving.address();
        let connect = move || Client::connect(address).expect("a connection");
        let loading = thread::spawn(move || connect().load_program(vec![0; 2_000]).expect("an answer"));
        thread::sleep(Duration::from_millis(300));
        let mut idle: Vec<Client> = (1..CONNECTIONS_MAX).map(|_| connect()).collect();
        for client in &mut idle {
            assert!(client.command("help").expect("an answer").is_ok());
        }
        let mut late = connect();
        assert!(late.command("help").expect("an answer").is_ok());
        assert!(idle.remove(0).command("help").is_err());
        for client in &mut idle {
            assert!(client.command("help").expect("an answer").is_ok());
        }
        assert_eq!(loading.join().expect("no panic"), Ok(()));
    }
}
