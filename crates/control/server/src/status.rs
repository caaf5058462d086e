//! Errors in the form of gRPC (P4Runtime §10).

use forebay_p4runtime::{Error, Rejection};
use forebay_protocol::google::rpc;
use prost::Message;
use prost_types::Any;
use tonic::{Code, Status};

/// Characters of a message: the headers of a response have room for little more.
const MESSAGE_MAX: usize = 3000;

const ERROR_TYPE: &str = "type.googleapis.com/p4.v1.Error";

/// An error of a whole call.
pub(crate) fn of_error(error: &Error) -> Status {
    Status::new(Code::from_i32(error.code as i32), shortened(&error.message))
}

/// An error of a batch, with what became of each update.
pub(crate) fn of_rejection(rejection: &Rejection) -> Status {
    if rejection.details.is_empty() {
        return of_error(&rejection.error);
    }
    let message = shortened(&rejection.error.message);
    let code = rejection.error.code as i32;
    let details = rejection.details.iter().map(|error| Any {
        type_url: ERROR_TYPE.to_string(),
        value: error.encode_to_vec(),
    });
    let status = rpc::Status {
        code,
        message: message.clone(),
        details: details.collect(),
    };
    Status::with_details(Code::from_i32(code), message, status.encode_to_vec().into())
}

fn shortened(message: &str) -> String {
    match message.char_indices().nth(MESSAGE_MAX) {
        None => message.to_string(),
        Some((end, _)) => format!("{}…", &message[..end]),
    }
}
