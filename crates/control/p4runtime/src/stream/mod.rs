//! What goes over streams besides arbitration: digests, idle entries, packets.

pub(crate) mod digests;
pub(crate) mod idle;
mod wheel;
