//! The HTTP service of a generator.

use crate::connections::{Connections, Peer};
use crate::node::Wrong;
use crate::state::{Answer, Generator};
use crate::tls::Tls;
use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{ConnectInfo, DefaultBodyLimit, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::sleep;

/// Bytes of a request at most.
const REQUEST_BYTES_MAX: usize = 4 << 20;

/// The answer to a client that does not encrypt, where connections must be encrypted.
const MUST_BE_ENCRYPTED: &str = "the service has a certificate (--cert), so its location begins with https://";

/// The answer to a client of gRPC. It has nothing that such a message must encode.
const NO_GRPC: &str = "this service has no gRPC: with snappi leave transport=\"grpc\" out, and begin the location with \
                       http:// or https://";

/// The code UNIMPLEMENTED of gRPC.
const UNIMPLEMENTED: &str = "12";

/// How long requests that are under way when the service ends may take.
const GRACE_PERIOD: Duration = Duration::from_secs(2);

/// Serves until `stop` ends, and requests that are under way.
///
/// # Errors
/// When the listener fails, in words.
pub async fn serve(
    listener: TcpListener,
    tls: Tls,
    generator: Generator,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), String> {
    let generator = Arc::new(Mutex::new(generator));
    let router = Router::new()
        .fallback(answer)
        .layer(DefaultBodyLimit::max(REQUEST_BYTES_MAX))
        .with_state(generator);
    let router = router.into_make_service_with_connect_info::<Peer>();
    let connections = Connections::of(listener, tls);
    let (ends, ended) = oneshot::channel();
    let stop = async move {
        stop.await;
        // Without a receiver the service has ended.
        let _ = ends.send(());
    };
    let served = async { axum::serve(connections, router).with_graceful_shutdown(stop).await };
    // A client that sends half of a request would keep the service for ever.
    let given_up = async {
        let _ = ended.await;
        sleep(GRACE_PERIOD).await;
    };
    tokio::select! {
        served = served => served.map_err(|error| error.to_string()),
        () = given_up => Ok(()),
    }
}

/// What is left of a request: its body, or why it was not read.
type Body = Result<Bytes, BytesRejection>;

async fn answer(
    State(generator): State<Arc<Mutex<Generator>>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    (method, uri, headers): (Method, Uri, HeaderMap),
    body: Body,
) -> Response {
    if peer.lacks_encryption {
        return refusal(StatusCode::BAD_REQUEST, MUST_BE_ENCRYPTED);
    }
    if is_grpc(&headers) {
        return no_grpc();
    }
    let body = match body {
        Ok(body) => body,
        Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            let message = format!("a request has at most {REQUEST_BYTES_MAX} bytes");
            return refusal(rejection.status(), &message);
        }
        Err(rejection) => return refusal(rejection.status(), &rejection.body_text()),
    };
    // A configuration opens interfaces, and may take a while.
    let answered = tokio::task::spawn_blocking(move || {
        let body = if body.is_empty() {
            Ok(Value::Null)
        } else {
            serde_json::from_slice(&body)
        };
        match body {
            Ok(body) => {
                let mut generator = generator.lock().unwrap_or_else(PoisonError::into_inner);
                generator.request(method.as_str(), uri.path(), &body)
            }
            Err(error) => Answer::Wrong(Wrong {
                path: String::new(),
                message: format!("the request is no JSON: {error}"),
            }),
        }
    });
    match answered.await {
        Ok(answer) => response(answer),
        Err(error) => refusal(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// Whether the client speaks gRPC.
fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    kind.is_some_and(|kind| kind.starts_with(b"application/grpc"))
}

/// A refusal that clients of gRPC understand.
fn no_grpc() -> Response {
    let headers = [
        ("content-type", "application/grpc"),
        ("grpc-status", UNIMPLEMENTED),
        ("grpc-message", NO_GRPC),
    ];
    headers.into_response()
}

fn response(answer: Answer) -> Response {
    match answer {
        Answer::Json(value) => as_json(StatusCode::OK, &value),
        Answer::Bytes(bytes) => ([(CONTENT_TYPE, "application/octet-stream")], bytes).into_response(),
        Answer::Wrong(wrong) => refusal(StatusCode::BAD_REQUEST, &wrong.to_string()),
        Answer::Unknown(message) => refusal(StatusCode::NOT_FOUND, &message),
        Answer::Fault(message) => refusal(StatusCode::INTERNAL_SERVER_ERROR, &message),
    }
}

fn refusal(status: StatusCode, message: &str) -> Response {
    let kind = if status.is_server_error() {
        "internal"
    } else {
        "validation"
    };
    as_json(
        status,
        &json!({ "code": status.as_u16(), "kind": kind, "errors": [message] }),
    )
}

fn as_json(status: StatusCode, value: &Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

#[cfg(test)]
mod tests;
