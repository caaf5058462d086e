//! Requests to databases, each on a connection of its own: there is one every few seconds.

use super::tls::Authorities;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, USER_AGENT};
use hyper_util::rt::TokioIo;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// How long a request may take.
const TIME: Duration = Duration::from_secs(10);

/// Bytes of an answer that are read: they say what is wrong.
const ANSWER_BYTES_MAX: usize = 4 << 10;

/// Where requests go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// A name or an address, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Path and query.
    pub(crate) path: String,
    pub(crate) content_type: &'static str,
    pub(crate) authorization: Option<String>,
    /// Whether the connection is encrypted.
    pub(crate) is_secure: bool,
}

/// Bytes to be posted.
pub(crate) struct Request<'a> {
    pub(crate) endpoint: &'a Endpoint,
    /// Needed for endpoints that are secure.
    pub(crate) authorities: Option<&'a Authorities>,
    pub(crate) body: Bytes,
}

/// Why a request was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It may be done later: there is no connection, or the server cannot do it now.
    Later(String),
    /// The server will never take it.
    Refused(String),
}

/// Posts.
pub(crate) async fn send(request: Request<'_>) -> Result<(), Failure> {
    match tokio::time::timeout(TIME, post(request)).await {
        Ok(result) => result,
        Err(_) => Err(Failure::Later(format!("no answer within {} s", TIME.as_secs()))),
    }
}

fn later(error: impl std::fmt::Display) -> Failure {
    Failure::Later(error.to_string())
}

async fn post(request: Request<'_>) -> Result<(), Failure> {
    let Request {
        endpoint,
        authorities,
        body,
    } = request;
    let request = post_of(endpoint, body).map_err(|error| Failure::Refused(error.to_string()))?;
    let stream = TcpStream::connect((&*endpoint.host, endpoint.port))
        .await
        .map_err(later)?;
    match authorities.filter(|_| endpoint.is_secure) {
        Some(authorities) => {
            let stream = authorities.connect(&endpoint.host, stream).await.map_err(later)?;
            exchange(stream, request).await
        }
        None if endpoint.is_secure => Err(Failure::Refused(
            "there are no authorities to verify its certificate".to_string(),
        )),
        None => exchange(stream, request).await,
    }
}

/// Sends a request by a connection of its own.
async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: hyper::Request<Full<Bytes>>,
) -> Result<(), Failure> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(later)?;
    // The connection ends with the request.
    let connection = tokio::spawn(connection);
    let result = match sender.send_request(request).await {
        Ok(answer) => judge(answer).await,
        Err(error) => Err(later(error)),
    };
    connection.abort();
    result
}

fn post_of(endpoint: &Endpoint, body: Bytes) -> Result<hyper::Request<Full<Bytes>>, hyper::http::Error> {
    let host = if endpoint.host.contains(':') {
        format!("[{}]:{}", endpoint.host, endpoint.port)
    } else {
        format!("{}:{}", endpoint.host, endpoint.port)
    };
    let mut request = hyper::Request::post(&endpoint.path)
        .header(HOST, host)
        .header(USER_AGENT, concat!("forebay/", env!("CARGO_PKG_VERSION")))
        .header(CONTENT_TYPE, endpoint.content_type);
    if let Some(authorization) = &endpoint.authorization {
        request = request.header(AUTHORIZATION, authorization);
    }
    request.body(Full::new(body))
}

async fn judge(answer: hyper::Response<hyper::body::Incoming>) -> Result<(), Failure> {
    let status = answer.status();
    if status.is_success() {
        return Ok(());
    }
    let text = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
    let text = text.map(|text| String::from_utf8_lossy(&text.to_bytes()).trim().to_string());
    let problem = match text {
        Ok(text) if !text.is_empty() => format!("{status}: {text}"),
        _ => status.to_string(),
    };
    // Too early, too many requests, and what the server cannot help.
    if status.is_server_error() || [408, 425, 429].contains(&status.as_u16()) {
        Err(Failure::Later(problem))
    } else {
        Err(Failure::Refused(problem))
    }
}
