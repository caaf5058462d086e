//! Match engines and stateful objects, readable while they are written.
