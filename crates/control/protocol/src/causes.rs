//! Errors with all that caused them.

use std::error::Error;

/// A message with what caused it, where the message does not say it already: a transport's own is only "transport
/// error".
pub fn with_causes(mut message: String, mut cause: Option<&(dyn Error + 'static)>) -> String {
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !message.contains(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        cause = inner.source();
    }
    message
}
