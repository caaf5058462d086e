//! Connections of clients, encrypted or not: the first byte of each tells which.
//!
//! TLS is spoken before a connection is handed on, in a task of its own, so that a client that says nothing keeps no
//! other waiting.

use crate::tls::Tls;
use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

/// What begins a record of TLS in which a client greets. No method of HTTP begins with it.
const HANDSHAKE: u8 = 0x16;

/// How long a client may take for its first byte, and for its part of the handshake.
const OPENING: Duration = Duration::from_secs(30);

/// Time before another attempt when the system gives no more descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// Connections that wait to be served.
const WAITING_MAX: usize = 64;

/// A connection, encrypted or not.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// The properties of a connection that its requests can read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// Whether it is not encrypted, and must be.
    pub(crate) lacks_encryption: bool,
}

impl Connected<IncomingStream<'_, Connections>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Connections>) -> Peer {
        *stream.remote_addr()
    }
}

/// Connections that are open for requests.
pub(crate) struct Connections(mpsc::Receiver<(Box<dyn Stream>, Peer)>);

impl Connections {
    /// Accepts connections until the result is dropped.
    pub(crate) fn of(listener: TcpListener, tls: Tls) -> Connections {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        tokio::spawn(accept(listener, tls, sender));
        Connections(receiver)
    }
}

impl Listener for Connections {
    type Io = Box<dyn Stream>;
    type Addr = Peer;

    async fn accept(&mut self) -> (Box<dyn Stream>, Peer) {
        match self.0.recv().await {
            Some(connection) => connection,
            // The task that accepts ends after this.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<Peer> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

async fn accept(listener: TcpListener, tls: Tls, sender: mpsc::Sender<(Box<dyn Stream>, Peer)>) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = sender.closed() => return,
        };
        let Ok((stream, _)) = accepted else {
            sleep(PAUSE).await;
            continue;
        };
        let (tls, sender) = (tls.clone(), sender.clone());
        tokio::spawn(async move {
            if let Ok(Ok(connection)) = timeout(OPENING, open(stream, &tls)).await {
                // The service may have ended meanwhile.
                let _ = sender.send(connection).await;
            }
        });
    }
}

/// The connection after its client has begun to speak.
async fn open(stream: TcpStream, tls: &Tls) -> io::Result<(Box<dyn Stream>, Peer)> {
    stream.set_nodelay(true)?;
    let mut first = [0];
    let is_encrypted = stream.peek(&mut first).await? == 1 && first[0] == HANDSHAKE;
    let peer = Peer {
        lacks_encryption: tls.is_required && !is_encrypted,
    };
    let stream: Box<dyn Stream> = if is_encrypted {
        Box::new(tls.acceptor.accept(stream).await?)
    } else {
        Box::new(stream)
    };
    Ok((stream, peer))
}
