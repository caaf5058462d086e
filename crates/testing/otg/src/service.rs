//! HTTP around a generator.

use crate::node::Wrong;
use crate::state::{Answer, Generator};
use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;

/// Bytes of a request at most.
const REQUEST_BYTES_MAX: usize = 4 << 20;

/// Serves until `stop` ends.
///
/// # Errors
/// When the listener fails, in words.
pub async fn serve(
    listener: TcpListener,
    generator: Generator,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), String> {
    let generator = Arc::new(Mutex::new(generator));
    let router = Router::new()
        .fallback(answer)
        .layer(DefaultBodyLimit::max(REQUEST_BYTES_MAX))
        .with_state(generator);
    let served = axum::serve(listener, router).with_graceful_shutdown(stop).await;
    served.map_err(|error| error.to_string())
}

/// What is left of a request: its body, or why it was not read.
type Body = Result<Bytes, BytesRejection>;

async fn answer(State(generator): State<Arc<Mutex<Generator>>>, method: Method, uri: Uri, body: Body) -> Response {
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
