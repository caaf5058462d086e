//! What P4Runtime answers when something cannot be done.

use forebay_pipeline::ControlError;
use forebay_protocol::p4::v1;
use std::fmt;

/// The codes of gRPC that P4Runtime uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Code {
    /// Done.
    Ok = 0,
    /// The caller has cancelled the call.
    Cancelled = 1,
    /// Some of the updates or requests of a batch failed; each has its own code.
    Unknown = 2,
    /// The request does not fit the program, whatever the state of the switch is.
    InvalidArgument = 3,
    /// It took longer than it may.
    DeadlineExceeded = 4,
    /// There is no such device, object or entity.
    NotFound = 5,
    /// The entity exists already.
    AlreadyExists = 6,
    /// The client, its role or the program does not allow it.
    PermissionDenied = 7,
    /// The table, profile or list is full.
    ResourceExhausted = 8,
    /// The switch is not in a state in which this can be done.
    FailedPrecondition = 9,
    /// Another update of the same batch failed, so this one was not done.
    Aborted = 10,
    /// A value does not fit its width, an index its array.
    OutOfRange = 11,
    /// This switch cannot do it.
    Unimplemented = 12,
    /// A bug of the switch, or what is in force could not be saved for a restart.
    Internal = 13,
    /// Nothing was done, since it could not be saved for a restart: try again later.
    Unavailable = 14,
}

/// Why one thing could not be done: a code, and a sentence for people that names the object of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The code.
    pub code: Code,
    /// The sentence.
    pub message: String,
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident = $code:ident;)*) => {$(
        $(#[$doc])*
        pub(crate) fn $name(message: impl Into<String>) -> Error {
            Error { code: Code::$code, message: message.into() }
        }
    )*};
}

impl Error {
    constructors! {
        /// See [`Code::InvalidArgument`].
        invalid = InvalidArgument;
        /// See [`Code::NotFound`].
        not_found = NotFound;
        /// See [`Code::AlreadyExists`].
        already_exists = AlreadyExists;
        /// See [`Code::PermissionDenied`].
        denied = PermissionDenied;
        /// See [`Code::ResourceExhausted`].
        exhausted = ResourceExhausted;
        /// See [`Code::FailedPrecondition`].
        precondition = FailedPrecondition;
        /// See [`Code::OutOfRange`].
        out_of_range = OutOfRange;
        /// See [`Code::Unimplemented`].
        unimplemented = Unimplemented;
        /// See [`Code::Internal`].
        internal = Internal;
    }

    /// That an update was undone, or not done, since the one with this index in its batch failed. Messages number updates
    /// from 1.
    pub(crate) fn undone(failed: usize) -> Error {
        Error {
            code: Code::Aborted,
            message: format!("not done, since update {} of the batch failed", failed + 1),
        }
    }

    /// The error in the form of the protocol; success is one without anything.
    pub(crate) fn in_batch(result: &Result<(), Error>) -> v1::Error {
        match result {
            Ok(()) => v1::Error::default(),
            Err(error) => v1::Error {
                canonical_code: error.code as i32,
                message: error.message.clone(),
                space: "forebay".to_string(),
                ..v1::Error::default()
            },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Why a call was not served: an [`Error`], and one for each update of its batch if it came so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejection {
    /// The code and the sentence.
    pub error: Error,
    /// One for each update or request of the batch, in order; none when the batch was not looked at.
    pub details: Vec<v1::Error>,
}

impl Rejection {
    /// The rejection of a batch of which at least one update failed; nothing when none did.
    pub(crate) fn of_batch(results: &[Result<(), Error>]) -> Result<(), Rejection> {
        let errors = || {
            (1..)
                .zip(results)
                .filter_map(|(number, result)| Some((number, result.as_ref().err()?)))
        };
        // In an atomic batch, the update that made the others fail.
        let cause = errors().find(|(_, error)| error.code != Code::Aborted);
        let Some((number, first)) = cause.or_else(|| errors().next()) else {
            return Ok(());
        };
        let failed = results.iter().filter(|result| result.is_err()).count();
        Err(Rejection {
            error: Error {
                code: Code::Unknown,
                message: format!(
                    "{failed} of {} failed; the first: number {number}: {first}",
                    results.len()
                ),
            },
            details: results.iter().map(Error::in_batch).collect(),
        })
    }

    /// The rejection of a batch whose change could not be kept. Where updates were refused (`rejection`), they keep
    /// their own errors, and the others say that they are not kept; where all were done, the error is that of the call.
    pub fn not_kept(rejection: Option<Rejection>, error: Error) -> Rejection {
        let mut details = rejection.map(|rejection| rejection.details).unwrap_or_default();
        let unsaved = Error {
            code: error.code,
            message: "in force, but not saved".to_string(),
        };
        for detail in details
            .iter_mut()
            .filter(|detail| detail.canonical_code == Code::Ok as i32)
        {
            *detail = Error::in_batch(&Err(unsaved.clone()));
        }
        Rejection { error, details }
    }
}

impl From<Error> for Rejection {
    fn from(error: Error) -> Rejection {
        Rejection {
            error,
            details: Vec::new(),
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(formatter)
    }
}

impl std::error::Error for Rejection {}

impl From<ControlError> for Error {
    fn from(error: ControlError) -> Error {
        let code = match &error {
            ControlError::Unknown { .. } | ControlError::NotFound { .. } => Code::NotFound,
            ControlError::ValueTooWide { .. } | ControlError::OutOfRange { .. } => Code::OutOfRange,
            ControlError::ActionNotAllowed { .. } | ControlError::Constant { .. } => Code::PermissionDenied,
            ControlError::AlreadyExists { .. } => Code::AlreadyExists,
            ControlError::Full { .. } | ControlError::NoMemory { .. } => Code::ResourceExhausted,
            ControlError::InUse { .. } => Code::FailedPrecondition,
            _ => Code::InvalidArgument,
        };
        Error {
            code,
            message: error.to_string(),
        }
    }
}
