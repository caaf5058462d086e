//! The answer for `forebay ctl state`: whether the switch's state is saved for a restart.
//!
//! It is the `experimental` part of the answer to `Capabilities`, which P4Runtime leaves to the switch (§17). Other
//! controllers pass it over.

use crate::p4::v1::CapabilitiesResponse;
use prost::Message;
use prost_types::Any;

const TYPE_URL: &str = "type.googleapis.com/forebay.v1.StateReport";

/// Whether the state of a switch is saved.
#[derive(Clone, PartialEq, Message)]
pub struct StateReport {
    /// Whether the switch saves its state at all.
    #[prost(bool, tag = "1")]
    pub keeps_state: bool,
    /// Why it cannot be saved at the moment; empty when it can.
    #[prost(string, tag = "2")]
    pub problem: String,
    /// Whether changes are refused until it can.
    #[prost(bool, tag = "3")]
    pub refuses_changes: bool,
    /// How long it could not be saved, in nanoseconds.
    #[prost(uint64, tag = "4")]
    pub fault_ns: u64,
    /// When the switch tries again, in nanoseconds from now.
    #[prost(uint64, tag = "5")]
    pub next_try_ns: u64,
    /// Faults since the switch started.
    #[prost(uint64, tag = "6")]
    pub faults: u64,
    /// Calls that were refused since the switch started.
    #[prost(uint64, tag = "7")]
    pub refused_calls: u64,
    /// Counters of the data plane as JSON; empty unless the call requests them ([`STATISTICS`]).
    #[prost(string, tag = "8")]
    pub statistics: String,
}

/// The metadata of a call of `Capabilities` that requests counters of the data plane.
pub const STATISTICS: &str = "forebay-statistics";

impl StateReport {
    /// The report as the `experimental` part of an answer.
    pub fn to_any(&self) -> Any {
        Any {
            type_url: TYPE_URL.to_string(),
            value: self.encode_to_vec(),
        }
    }

    /// The report in an answer; none when the switch sends none.
    pub fn of(answer: &CapabilitiesResponse) -> Option<StateReport> {
        let any = answer.experimental.as_ref()?;
        let is_report = any.type_url == TYPE_URL;
        is_report.then(|| StateReport::decode(&any.value[..]).ok()).flatten()
    }
}
