//! Connections of clients, of which there is a limited number.

use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Connections at a time.
pub(crate) const CONNECTIONS_MAX: usize = 32;

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Connections(Mutex<Vec<Arc<Connection>>>);

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    /// Since when it has no call; none while it has one.
    idle_since: Mutex<Option<Instant>>,
}

impl Connection {
    fn idle_since(&self) -> MutexGuard<'_, Option<Instant>> {
        self.idle_since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connections {
    /// Gives a client a place, that of the connection which has been without a call for longest if all are taken. None
    /// while all connections have calls.
    pub(crate) fn admit(self: &Arc<Connections>, stream: TcpStream) -> Option<Place> {
        let mut connections = self.connections();
        if connections.len() >= CONNECTIONS_MAX {
            let idle = connections.iter().enumerate();
            let oldest = idle.filter_map(|(index, connection)| Some(((*connection.idle_since())?, index)));
            let (_, index) = oldest.min()?;
            // Its thread sees the end. An error means that the client has ended the connection.
            let _ = connections.remove(index).stream.shutdown(Shutdown::Both);
        }
        let connection = Arc::new(Connection {
            stream,
            idle_since: Mutex::new(Some(Instant::now())),
        });
        connections.push(Arc::clone(&connection));
        Some(Place {
            connections: Arc::clone(self),
            connection,
        })
    }

    fn connections(&self) -> MutexGuard<'_, Vec<Arc<Connection>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection with its place, until this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    connections: Arc<Connections>,
    connection: Arc<Connection>,
}

impl Place {
    pub(crate) fn stream(&self) -> &TcpStream {
        &self.connection.stream
    }

    /// A call has begun.
    pub(crate) fn call_begins(&self) {
        *self.connection.idle_since() = None;
    }

    /// It has been answered.
    pub(crate) fn call_ends(&self, answered: Instant) {
        *self.connection.idle_since() = Some(answered);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let own = &self.connection;
        self.connections
            .connections()
            .retain(|connection| !Arc::ptr_eq(connection, own));
    }
}
