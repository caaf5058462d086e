//! HTTP/1.1: a server of metrics, and requests to databases.

mod request;
mod serve;
mod tls;

pub(crate) use request::{Endpoint, Failure, Request, send};
pub(crate) use serve::{Pages, serve};
pub use tls::Authorities;
