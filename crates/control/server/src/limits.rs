//! What the server spends on controllers at most.

use std::time::Duration;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long a pushed program may take to be compiled and loaded.
    pub push_time: Duration,
    /// Bytes of memory that compiling it may take; none for any number. It holds in programs whose allocator is
    /// `forebay_budget::Counting`.
    pub push_memory: Option<usize>,
    /// Connections at a time.
    pub connections: usize,
    /// Calls of one connection at a time.
    pub calls_per_connection: u32,
    /// Bytes of a message from a controller.
    pub message_bytes: usize,
    /// Bytes of all messages from controllers that are under way: received in part, or being served.
    pub messages_bytes: usize,
    /// How long a message may take to arrive.
    pub message_time: Duration,
    /// How long a connection may take to begin: TLS, and the first frames of HTTP/2.
    pub handshake_time: Duration,
    /// How long a connection may stay without a call.
    pub idle_time: Duration,
    /// How long a connection may be silent before the server pings its peer.
    pub keepalive: Duration,
    /// Bytes of messages that wait for a controller that does not read its stream; for all streams of a connection,
    /// four times as many.
    pub stream_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            push_time: Duration::from_secs(120),
            push_memory: None,
            connections: 256,
            calls_per_connection: 256,
            message_bytes: 128 << 20,
            messages_bytes: 256 << 20,
            message_time: Duration::from_secs(60),
            handshake_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(600),
            keepalive: Duration::from_secs(30),
            stream_bytes: 8 << 20,
        }
    }
}
