//! Calls of controllers, counted by method and result.
//!
//! Names of methods come from clients; unknown ones are counted together, so that there is a fixed number of counters.
//! A call counts when its response has ended, with the status that stands in its headers or trailers, or as cancelled
//! when the client has left before.

use forebay_histogram::Histogram;
use std::array;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tonic::Code;
use tonic::codegen::http::HeaderMap;

/// Methods by their paths, with the names under which they are reported.
const METHODS: [(&str, &str); 11] = [
    ("/p4.v1.P4Runtime/Write", "P4Runtime/Write"),
    ("/p4.v1.P4Runtime/Read", "P4Runtime/Read"),
    (
        "/p4.v1.P4Runtime/SetForwardingPipelineConfig",
        "P4Runtime/SetForwardingPipelineConfig",
    ),
    (
        "/p4.v1.P4Runtime/GetForwardingPipelineConfig",
        "P4Runtime/GetForwardingPipelineConfig",
    ),
    ("/p4.v1.P4Runtime/StreamChannel", "P4Runtime/StreamChannel"),
    ("/p4.v1.P4Runtime/Capabilities", "P4Runtime/Capabilities"),
    ("/gnmi.gNMI/Capabilities", "gNMI/Capabilities"),
    ("/gnmi.gNMI/Get", "gNMI/Get"),
    ("/gnmi.gNMI/Set", "gNMI/Set"),
    ("/gnmi.gNMI/Subscribe", "gNMI/Subscribe"),
    ("", "other"),
];

/// Status codes of gRPC, by their numbers.
const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// The calls of a method.
#[derive(Clone, Debug)]
pub struct Calls {
    /// The method: service and name.
    pub method: &'static str,
    /// How many ended with each status code of gRPC, by its name.
    pub ended: Vec<(&'static str, u64)>,
    /// How long they took, in nanoseconds.
    pub times: Histogram,
}

/// What controllers have called so far.
#[derive(Clone, Debug)]
pub struct CallReport {
    /// The methods, the last of which stands for all that are unknown.
    pub methods: Vec<Calls>,
    /// Messages that had no room on their way to a controller that does not read, and packets whose program was
    /// replaced on their way.
    pub messages_dropped: u64,
}

/// The counters of a method.
#[derive(Debug)]
struct Counts {
    ended: [AtomicU64; CODES.len()],
    times: Mutex<Histogram>,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct CallCounts([Counts; METHODS.len()]);

impl Default for CallCounts {
    fn default() -> CallCounts {
        CallCounts(array::from_fn(|_| Counts {
            ended: array::from_fn(|_| AtomicU64::new(0)),
            times: Mutex::default(),
        }))
    }
}

impl CallCounts {
    pub(crate) fn report(&self, messages_dropped: u64) -> CallReport {
        let methods = METHODS.iter().zip(&self.0).map(|((_, method), counts)| {
            let ended = CODES.iter().zip(&counts.ended);
            Calls {
                method,
                ended: ended
                    .map(|(code, ended)| (*code, ended.load(Ordering::Relaxed)))
                    .collect(),
                times: counts.times.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            }
        });
        CallReport {
            methods: methods.collect(),
            messages_dropped,
        }
    }
}

/// A call under way; it counts when it is dropped.
#[derive(Debug)]
pub(crate) struct CountedCall {
    counts: Arc<CallCounts>,
    method: usize,
    began: Instant,
    code: Option<usize>,
}

impl CountedCall {
    pub(crate) fn begins(counts: &Arc<CallCounts>, path: &str) -> CountedCall {
        let known = METHODS.iter().position(|(known, _)| *known == path);
        CountedCall {
            counts: Arc::clone(counts),
            method: known.unwrap_or(METHODS.len() - 1),
            began: Instant::now(),
            code: None,
        }
    }

    /// Takes the status from headers or trailers, if it is among them.
    pub(crate) fn see(&mut self, headers: &HeaderMap) {
        if let Some(status) = headers.get("grpc-status") {
            let code = Code::from_bytes(status.as_bytes()) as usize;
            self.code = Some(code.min(CODES.len() - 1));
        }
    }
}

impl Drop for CountedCall {
    fn drop(&mut self) {
        let counts = &self.counts.0[self.method];
        let code = self.code.unwrap_or(Code::Cancelled as usize);
        counts.ended[code].fetch_add(1, Ordering::Relaxed);
        let nanoseconds = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let mut times = counts.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.record(nanoseconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(counts: &CallCounts, method: &str) -> Vec<(&'static str, u64)> {
        let report = counts.report(0);
        let calls = report.methods.into_iter().find(|calls| calls.method == method);
        let calls = calls.expect("a known method");
        assert_eq!(
            calls.times.count(),
            calls.ended.iter().map(|(_, count)| count).sum::<u64>()
        );
        calls.ended.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    #[test]
    fn calls_count_by_method_and_status() {
        let counts = Arc::new(CallCounts::default());
        let status = |code: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("grpc-status", code.parse().expect("a header"));
            headers
        };
        for (path, code) in [
            ("/p4.v1.P4Runtime/Write", Some("0")),
            ("/p4.v1.P4Runtime/Write", Some("7")),
            ("/p4.v1.P4Runtime/Write", None),
            ("/p4.v1.P4Runtime/Writ", Some("12")),
            ("/rubbish", Some("99")),
        ] {
            let mut call = CountedCall::begins(&counts, path);
            call.see(&HeaderMap::new());
            code.iter().for_each(|code| call.see(&status(code)));
        }
        let written = [("OK", 1), ("CANCELLED", 1), ("PERMISSION_DENIED", 1)];
        assert_eq!(ended(&counts, "P4Runtime/Write"), written);
        assert_eq!(ended(&counts, "other"), [("UNKNOWN", 1), ("UNIMPLEMENTED", 1)]);
        assert_eq!(ended(&counts, "gNMI/Get"), []);
    }

    #[test]
    fn codes_have_the_numbers_of_grpc() {
        for (number, name) in CODES.iter().enumerate() {
            let code = format!("{:?}", Code::from(number as i32)).to_uppercase();
            assert_eq!(name.replace('_', ""), code);
        }
    }
}
