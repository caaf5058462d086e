//! Errors in the form of gRPC (P4Runtime §10).
//!
//! Message and details of a status are headers, and clients take 8 kB of headers in all unless they say more
//! (gRPC's core, Java): a response with more is a protocol error to them. So both have a budget here ([`HeaderRoom`]).
//! Details are those of the first updates of a batch, in order, as many as there is room for; the message says how many
//! are left out.

use crate::header_room::HeaderRoom;
use forebay_p4runtime::{Error, Rejection};
use forebay_protocol::google::rpc;
use forebay_protocol::p4::v1;
use prost::Message;
use prost_types::Any;
use tonic::{Code, Status};

/// Bytes of the message of an error without details, as it is encoded.
const MESSAGE_MAX: usize = 6000;

/// Bytes of the message beside details, as it is encoded; it is in the details once more.
const MESSAGE_BESIDE_DETAILS_MAX: usize = 600;

/// Bytes of the message of one update when there is no room for all that is to be said.
const SHORT_MESSAGES: [usize; 2] = [200, 80];

/// Bytes of the sentence about details that are left out.
const LEFT_OUT_MAX: usize = 120;

const ERROR_TYPE: &str = "type.googleapis.com/p4.v1.Error";

/// An error of a whole call.
pub(crate) fn of_error(error: &Error) -> Status {
    let message = shortened(&error.message, MESSAGE_MAX);
    Status::new(Code::from_i32(error.code as i32), message)
}

/// An error of a batch, with what became of each update, for a client with this room for details.
pub(crate) fn of_rejection(rejection: &Rejection, room: HeaderRoom) -> Status {
    if rejection.details.is_empty() {
        return of_error(&rejection.error);
    }
    let code = rejection.error.code as i32;
    let mut message = shortened(&rejection.error.message, MESSAGE_BESIDE_DETAILS_MAX);
    let details = details_with_room(
        &rejection.details,
        (room.bytes() / 4 * 3).saturating_sub(message.len() + LEFT_OUT_MAX),
    );
    message.push_str(&left_out(&rejection.details, details.len()));
    let status = rpc::Status {
        code,
        message: message.clone(),
        details,
    };
    Status::with_details(Code::from_i32(code), message, status.encode_to_vec().into())
}

/// The details of the first updates that fit into `room` bytes. Messages are shortened before updates are left out.
fn details_with_room(errors: &[v1::Error], room: usize) -> Vec<Any> {
    let mut details = Vec::new();
    for message_max in [usize::MAX].into_iter().chain(SHORT_MESSAGES) {
        details = first_details(errors, message_max, room);
        if details.len() == errors.len() {
            break;
        }
    }
    details
}

fn first_details(errors: &[v1::Error], message_max: usize, mut room: usize) -> Vec<Any> {
    let mut details = Vec::new();
    for error in errors {
        let detail = detail(error, message_max);
        let length = detail.encoded_len();
        let needed = 1 + prost::length_delimiter_len(length) + length;
        if needed > room {
            break;
        }
        room -= needed;
        details.push(detail);
    }
    details
}

fn detail(error: &v1::Error, message_max: usize) -> Any {
    let error = v1::Error {
        message: shortened(&error.message, message_max),
        ..error.clone()
    };
    Any {
        type_url: ERROR_TYPE.to_string(),
        value: error.encode_to_vec(),
    }
}

/// That the details of the updates from this one on are left out; nothing when none are.
fn left_out(errors: &[v1::Error], from: usize) -> String {
    if from == errors.len() {
        return String::new();
    }
    let failures = errors[from..].iter().filter(|error| error.canonical_code != 0).count();
    let last = errors.len();
    format!("; left out: updates {} to {last}, of which {failures} failed", from + 1)
}

/// The beginning of a message that takes at most `bytes_max` bytes in a header.
fn shortened(message: &str, bytes_max: usize) -> String {
    let mut left = bytes_max;
    for (place, character) in message.char_indices() {
        match left.checked_sub(encoded_len(character)) {
            Some(rest) => left = rest,
            None => return format!("{}…", &message[..place]),
        }
    }
    message.to_string()
}

/// Bytes of a character in a header; most characters that are neither letters nor digits are three bytes for each.
fn encoded_len(character: char) -> usize {
    match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | ',' | ':' | ';' | '-' | '_' | '\'' | '/' => 1,
        _ => 3 * character.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_p4runtime::Code as P4RuntimeCode;

    fn rejection(errors: usize, message: &str) -> Rejection {
        Rejection {
            error: Error {
                code: P4RuntimeCode::Unknown,
                message: format!("{errors} of {errors} failed; the first: {message}"),
            },
            details: vec![
                v1::Error {
                    canonical_code: 5,
                    message: message.to_string(),
                    space: "forebay".to_string(),
                    ..v1::Error::default()
                };
                errors
            ],
        }
    }

    fn details(status: &Status) -> Vec<v1::Error> {
        let status_proto = rpc::Status::decode(status.details()).expect("a status");
        assert_eq!(status_proto.message, status.message());
        let errors = status_proto.details.iter();
        errors
            .map(|any| v1::Error::decode(&any.value[..]).expect("an error"))
            .collect()
    }

    #[test]
    fn what_has_room_is_whole() {
        let status = of_rejection(&rejection(20, "table `t` has no such entry"), HeaderRoom::default());
        assert_eq!(
            status.message(),
            "20 of 20 failed; the first: table `t` has no such entry"
        );
        assert_eq!(details(&status).len(), 20);
        assert_eq!(details(&status)[19].message, "table `t` has no such entry");
    }

    #[test]
    fn messages_are_shortened_before_updates_are_left_out() {
        let status = of_rejection(&rejection(30, &"long ".repeat(60)), HeaderRoom::default());
        assert_eq!(details(&status).len(), 30);
        assert!(!status.message().contains("left out"), "{}", status.message());
        assert!(details(&status)[0].message.ends_with('…'));
    }

    #[test]
    fn headers_stay_small_whatever_has_failed() {
        for message in ["short", &"wörter in einem Satz, ".repeat(100)] {
            for errors in [1, 10, 100, 1_000, 100_000] {
                let status = of_rejection(&rejection(errors, message), HeaderRoom::default());
                let mut headers = tonic::codegen::http::HeaderMap::new();
                status.add_header(&mut headers).expect("headers");
                let bytes: usize = headers
                    .iter()
                    .map(|(name, value)| name.as_str().len() + value.len() + 32)
                    .sum();
                assert!(bytes < 7_500, "{bytes} bytes for {errors} errors");
                let kept = details(&status).len();
                assert!(kept >= errors.min(20), "{kept}");
                let rest = format!("updates {} to {errors}, of which {} failed", kept + 1, errors - kept);
                assert!(
                    kept == errors || status.message().ends_with(&rest),
                    "{}",
                    status.message()
                );
            }
        }
        let whole = of_error(&rejection(1, &"wörter".repeat(10_000)).error);
        let mut headers = tonic::codegen::http::HeaderMap::new();
        whole.add_header(&mut headers).expect("headers");
        assert!(headers["grpc-message"].len() < 7_000);
    }
}
