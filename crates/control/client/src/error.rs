//! Why a call was not done.

use forebay_protocol::{Address, of_certificates, with_causes};
use forebay_protocol::{google::rpc, p4::v1};
use prost::Message;
use std::error::Error;
use std::fmt;
use std::io::ErrorKind;
use std::time::Duration;
use tonic::{Code, Status};

/// The most updates of a batch whose results a text lists one by one.
pub const SHOWN_MAX: usize = 100;

/// Why a call was not done: a code of gRPC, the switch's own words, and which updates of a batch it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    code: Option<Code>,
    message: String,
    /// Position in the batch, code and message.
    updates: Vec<(usize, Code, String)>,
    /// The switch's remark if it reports only the first updates, because there is no room for all updates of a long
    /// batch.
    left_out: Option<String>,
    /// The number of updates that it reports.
    updates_told: usize,
    is_connection_refused: bool,
    /// The switch has sent it, whatever its code is.
    is_answer: bool,
}

impl CallError {
    /// An error of this side.
    pub(crate) fn local(message: String) -> CallError {
        CallError {
            code: None,
            message,
            updates: Vec::new(),
            left_out: None,
            updates_told: 0,
            is_connection_refused: false,
            is_answer: false,
        }
    }

    /// The address does not answer, or not with this protocol.
    pub(crate) fn unreachable(address: &Address, error: &tonic::transport::Error) -> CallError {
        let mut causes = vec![error.to_string()];
        let mut cause = error.source();
        let mut is_connection_refused = false;
        while let Some(inner) = cause {
            let kind = inner.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
            // A socket in the file system is there when the switch listens.
            is_connection_refused |= matches!(kind, Some(ErrorKind::ConnectionRefused | ErrorKind::NotFound));
            causes.push(inner.to_string());
            cause = inner.source();
        }
        causes.dedup();
        let causes = causes.join(": ");
        let error = CallError::local(format!("cannot connect to {address}: {causes}; {}", advice(&causes)));
        CallError {
            is_connection_refused,
            ..error
        }
    }

    /// Certificates or keys of this side that do not fit: nothing has been connected.
    pub(crate) fn of_certificates(error: &tonic::transport::Error) -> CallError {
        let causes = of_certificates(error);
        CallError::local(format!(
            "the certificates or keys of this side cannot be used: {causes}"
        ))
    }

    /// Whether nothing listens at the address, as when a switch has not started yet.
    pub fn is_connection_refused(&self) -> bool {
        self.is_connection_refused
    }

    /// The switch has refused the call.
    pub(crate) fn refused(code: Code, message: String) -> CallError {
        CallError {
            code: Some(code),
            message,
            updates: Vec::new(),
            left_out: None,
            updates_told: 0,
            is_connection_refused: false,
            is_answer: true,
        }
    }

    /// The switch has ended the stream without a reason.
    pub(crate) fn stream_ended() -> CallError {
        CallError {
            is_answer: false,
            ..CallError::refused(Code::Unavailable, "the switch has ended the stream".to_string())
        }
    }

    /// The switch has said nothing for this time. What has become of the call is unknown.
    pub(crate) fn unanswered(patience: Duration) -> CallError {
        let seconds = patience.as_secs_f64();
        let message = format!("the switch has not answered for {seconds} s; what it has done is unknown");
        CallError {
            is_answer: false,
            ..CallError::refused(Code::DeadlineExceeded, message)
        }
    }

    /// Whether the switch has refused a call, in contrast to a switch that cannot be reached. A status that it has sent
    /// is a refusal whatever its code is, UNAVAILABLE too: the switch sends it while it cannot save its state.
    pub fn is_refusal(&self) -> bool {
        self.is_answer
    }

    /// Whether no program runs, or the request does not suit the state of the switch in another way.
    pub fn is_failed_precondition(&self) -> bool {
        self.code == Some(Code::FailedPrecondition)
    }

    /// Whether there is no such thing.
    pub fn is_not_found(&self) -> bool {
        self.code == Some(Code::NotFound)
    }

    /// Whether there is no room for what was requested, or for an update of a batch.
    pub fn is_resource_exhausted(&self) -> bool {
        let codes = self.updates.iter().map(|(_, code, _)| *code);
        codes.chain(self.code).any(|code| code == Code::ResourceExhausted)
    }

    /// The updates of a batch that were refused: their places in it, and why. Those that were undone with others are
    /// left out.
    pub fn failures(&self) -> impl Iterator<Item = (usize, String)> {
        let own = self.updates.iter().filter(|(_, code, _)| *code != Code::Aborted);
        own.map(|(index, code, message)| (*index, format!("{}: {message}", name(*code))))
    }

    /// The switch's remark about a batch if it reports only the first updates.
    pub fn left_out(&self) -> Option<&str> {
        self.left_out.as_deref()
    }

    /// The same error, for a batch of `updates` updates.
    pub(crate) fn of_batch(self, updates: usize) -> CallError {
        let is_partial = (1..updates).contains(&self.updates_told);
        CallError {
            left_out: is_partial.then(|| self.message.clone()),
            ..self
        }
    }

    /// Whether only another client may do it.
    pub fn is_permission_denied(&self) -> bool {
        self.code == Some(Code::PermissionDenied)
    }
}

impl From<Status> for CallError {
    fn from(status: Status) -> CallError {
        let results = results(status.details());
        // What the transport reports has an error of the connection as its cause; what the switch has sent has none.
        let is_answer = status.source().is_none();
        let mut message = with_causes(status.message().to_string(), status.source());
        if let Some(advice) = advice_of_broken(&message).filter(|_| !is_answer) {
            message = format!("{message}; {advice}");
        }
        CallError {
            code: Some(status.code()),
            message,
            left_out: None,
            updates_told: results.len(),
            updates: failed(results),
            is_connection_refused: false,
            is_answer,
        }
    }
}

/// What became of the updates of a batch, one by one (§12.3).
fn results(details: &[u8]) -> Vec<v1::Error> {
    let details = rpc::Status::decode(details).map_or_else(|_| Vec::new(), |status| status.details);
    let errors = details.iter();
    errors
        .map(|any| v1::Error::decode(any.value.as_slice()).unwrap_or_default())
        .collect()
}

/// The updates that have failed.
fn failed(results: Vec<v1::Error>) -> Vec<(usize, Code, String)> {
    let numbered = results.into_iter().enumerate();
    let failed = numbered.filter(|(_, error)| error.canonical_code != 0);
    failed
        .map(|(index, error)| (index, Code::from_i32(error.canonical_code), error.message))
        .collect()
}

impl fmt::Display for CallError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.updates.as_slice(), self.code) {
            ([(_, code, message)], _) if self.left_out.is_none() => write!(formatter, "{}: {message}", name(*code)),
            ([], Some(code)) => write!(formatter, "{}: {}", name(code), self.message),
            ([], None) => formatter.write_str(&self.message),
            (several, _) => {
                match &self.left_out {
                    Some(message) => formatter.write_str(message)?,
                    None => write!(formatter, "{} updates have failed", several.len())?,
                }
                for (index, code, message) in several.iter().take(SHOWN_MAX) {
                    write!(formatter, "\n  update {}: {}: {message}", index + 1, name(*code))?;
                }
                match several.len().checked_sub(SHOWN_MAX) {
                    None | Some(0) => Ok(()),
                    Some(more) => write!(formatter, "\n  and {more} more"),
                }
            }
        }
    }
}

impl Error for CallError {}

/// The code as P4Runtime writes it.
fn name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

/// What to do about a connection that does not come about, by the words of TLS about it.
fn advice(causes: &str) -> &'static str {
    let known = [
        (
            "CaUsedAsEndEntity",
            "the switch shows the certificate of an authority; it needs one of its own, with CA:FALSE, that the authority has signed",
        ),
        (
            "UnknownIssuer",
            "the authority of --ca has not signed the certificate of the switch",
        ),
        (
            "not valid for name",
            "the certificate of the switch is for another name, which --server-name can say",
        ),
        ("invalid peer certificate", "the switch needs another certificate"),
        ("InvalidContentType", "the switch does not use TLS: leave --ca out"),
    ];
    let found = known.iter().find(|(words, _)| causes.contains(words));
    found.map_or("does `forebay run … --grpc` run there?", |(_, advice)| advice)
}

/// What to do about a connection that has broken, by the words of the library about it.
fn advice_of_broken(causes: &str) -> Option<&'static str> {
    // What a server with TLS sends to a client without, or its end, is no HTTP/2.
    const NO_HTTP2: &str = "has the switch ended, or does another program listen there? If it wants TLS, name the authority of its certificate (--ca)";
    const REFUSED: &str = "the switch refuses the certificate of --cert: an authority of its --grpc-client-ca must have signed it, \
                           with CA:FALSE, and it must be valid today";
    let known = [
        ("frame with invalid size", NO_HTTP2),
        ("broken pipe", NO_HTTP2),
        ("connection reset", NO_HTTP2),
        (
            "alert: CertificateRequired",
            "the switch wants a certificate of its clients: name one with --cert and --key",
        ),
        ("alert: CertificateUnknown", REFUSED),
        ("alert: CertificateExpired", REFUSED),
        ("alert: BadCertificate", REFUSED),
        ("alert: UnknownCA", REFUSED),
    ];
    let found = known.iter().find(|(words, _)| causes.contains(words));
    found.map(|(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tls_refuses_has_other_advice_than_what_is_not_there() {
        let refused = "transport error: tcp connect error: Connection refused (os error 111)";
        assert!(advice(refused).contains("--grpc"));
        let issuer = "transport error: invalid peer certificate: UnknownIssuer";
        assert!(advice(issuer).contains("--ca"));
        let plain = "transport error: received corrupt message of type InvalidContentType";
        assert!(advice(plain).contains("does not use TLS"));
        let other = "transport error: invalid peer certificate: Expired";
        assert!(!advice(other).contains("forebay run"));
    }

    #[test]
    fn a_switch_that_wants_another_certificate_is_told_of() {
        let advice = |alert| advice_of_broken(alert).unwrap_or_default();
        assert!(advice("transport error: received fatal alert: CertificateRequired").contains("--cert and --key"));
        assert!(advice("transport error: received fatal alert: CertificateUnknown").contains("--grpc-client-ca"));
        assert!(advice("stream closed because of a broken pipe").contains("--ca"));
        assert_eq!(advice_of_broken("the table is full"), None);
    }

    #[derive(Debug)]
    struct Layer(&'static str, Option<Box<Layer>>);

    impl fmt::Display for Layer {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str(self.0)
        }
    }

    impl Error for Layer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|layer| layer as &(dyn Error + 'static))
        }
    }

    #[test]
    fn the_cause_is_told_with_the_error_and_once() {
        let inner = Layer("KeyMismatch", None);
        let middle = Layer("keys may not be consistent: KeyMismatch", Some(Box::new(inner)));
        let outer = Layer("transport error", Some(Box::new(middle)));
        assert_eq!(
            with_causes(outer.to_string(), outer.source()),
            "transport error: keys may not be consistent: KeyMismatch"
        );
    }
}
