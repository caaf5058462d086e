//! The server of `/metrics`, `/ready` and `/healthz`.

use crate::exporter::{Ready, Source};
use crate::prometheus;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// Connections at the same time; a further one takes the place of the one whose last request is oldest.
const CONNECTIONS_MAX: usize = 32;

/// How long a request may take to arrive, and a connection may be without one.
const HEADER_TIME: Duration = Duration::from_secs(75);

/// Bytes of a request's headers.
const HEADER_BYTES_MAX: usize = 16 << 10;

/// How long to wait when the system gives no connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

const INDEX: &str = "<!DOCTYPE html><title>forebay</title><p><a href=\"/metrics\">metrics</a></p>\n";

/// What is served.
pub(crate) struct Pages {
    pub(crate) source: Source,
    pub(crate) ready: Option<Ready>,
    pub(crate) scrapes: Arc<AtomicU64>,
}

/// A connection that is served.
struct Held {
    task: AbortHandle,
    /// The time of its last request, or of its beginning.
    asked: Arc<Mutex<Instant>>,
}

/// Serves for ever.
pub(crate) async fn serve(listener: TcpListener, pages: Arc<Pages>) {
    let mut connections: Vec<Held> = Vec::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                make_room(&mut connections);
                let asked = Arc::new(Mutex::new(Instant::now()));
                let task = tokio::spawn(connection(stream, Arc::clone(&pages), Arc::clone(&asked))).abort_handle();
                connections.push(Held { task, asked });
            }
            // Too many open files, or a peer that has gone already.
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// Leaves less connections than there may be.
fn make_room(connections: &mut Vec<Held>) {
    connections.retain(|held| !held.task.is_finished());
    if connections.len() < CONNECTIONS_MAX {
        return;
    }
    let asked = |held: &Held| *held.asked.lock().unwrap_or_else(PoisonError::into_inner);
    let silent = (0..connections.len()).min_by_key(|index| asked(&connections[*index]));
    if let Some(silent) = silent {
        connections.swap_remove(silent).task.abort();
    }
}

async fn connection(stream: TcpStream, pages: Arc<Pages>, asked: Arc<Mutex<Instant>>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let pages = Arc::clone(&pages);
        *asked.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        async move { Ok::<_, Infallible>(respond(&request, &pages).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_buf_size(HEADER_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    // What a client did wrong is its own affair.
    let _ = served.await;
}

async fn respond(request: &Request<Incoming>, pages: &Pages) -> Response<Full<Bytes>> {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    match (is_read, request.uri().path()) {
        (false, _) => {
            let mut response = page(StatusCode::METHOD_NOT_ALLOWED, "text/plain", "only GET and HEAD\n");
            response
                .headers_mut()
                .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            response
        }
        (true, "/metrics") => metrics(pages).await,
        (true, "/ready") => ready(request, pages).await,
        (true, "/healthz") => page(StatusCode::OK, "text/plain", "ok\n"),
        (true, "/") => page(StatusCode::OK, "text/html; charset=utf-8", INDEX),
        (true, _) => page(
            StatusCode::NOT_FOUND,
            "text/plain",
            "there are /metrics, /ready and /healthz\n",
        ),
    }
}

/// Reading the counters waits for workers, so it has a thread of its own.
async fn metrics(pages: &Pages) -> Response<Full<Bytes>> {
    pages.scrapes.fetch_add(1, Ordering::Relaxed);
    let source = Arc::clone(&pages.source);
    match tokio::task::spawn_blocking(move || prometheus::text(&source())).await {
        Ok(text) => page(StatusCode::OK, prometheus::CONTENT_TYPE, text),
        Err(_) => page(
            StatusCode::INTERNAL_SERVER_ERROR,
            "text/plain",
            "the metrics cannot be read\n",
        ),
    }
}

/// Whether traffic may be sent. Asking the workers waits, so it has a thread of its own.
async fn ready(request: &Request<Incoming>, pages: &Pages) -> Response<Full<Bytes>> {
    let Some(ready) = pages.ready.clone() else {
        return page(
            StatusCode::NOT_FOUND,
            "text/plain",
            "there is nothing to be ready for\n",
        );
    };
    let Ok(answer) = tokio::task::spawn_blocking(move || ready()).await else {
        return page(StatusCode::INTERNAL_SERVER_ERROR, "text/plain", "it is not known\n");
    };
    let status = if answer.is_ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    if wants_json(request) {
        page(status, "application/json", answer.json)
    } else {
        page(status, "text/plain; charset=utf-8", answer.text)
    }
}

fn wants_json(request: &Request<Incoming>) -> bool {
    let accepted = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("json"))
}

fn page(status: StatusCode, content_type: &'static str, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
