//! What controllers did.

use crate::family::Family;
use forebay_p4runtime::KeepingStatus;
use forebay_server::CallReport;

/// What is known of controllers.
#[derive(Clone, Debug)]
pub struct ControlReport {
    /// What they have called.
    pub calls: CallReport,
    /// How it stands with the saved state.
    pub keeping: KeepingStatus,
}

pub(super) fn families(control: &ControlReport) -> Vec<Family> {
    let mut families = calls(&control.calls);
    if control.keeping.keeps_state {
        families.extend(keeping(&control.keeping));
    }
    families
}

fn calls(report: &CallReport) -> Vec<Family> {
    let mut ended = Family::counter(
        "forebay_control_calls_total",
        "Calls of controllers, by method and status code of gRPC.",
    );
    let mut times = Family::histogram("forebay_control_call_seconds", "How long calls took, by method.");
    for calls in &report.methods {
        for (code, count) in &calls.ended {
            if *count > 0 || *code == "OK" {
                ended.add(&[("method", &calls.method), ("code", code)], *count);
            }
        }
        if calls.times.count() > 0 {
            times.add(&[("method", &calls.method)], &calls.times);
        }
    }
    let dropped = Family::counter(
        "forebay_control_messages_dropped_total",
        "Messages for controllers that do not read or are not there, packets of controllers that come faster than the switch takes them, and packets whose program was replaced.",
    );
    vec![ended, times, dropped.of(report.messages_dropped)]
}

fn keeping(status: &KeepingStatus) -> Vec<Family> {
    let saved = Family::gauge("forebay_state_saved", "Whether all that controllers wrote is saved.");
    let faults = Family::counter("forebay_state_faults_total", "Times at which saving began to fail.");
    let refused = Family::counter(
        "forebay_state_refused_calls_total",
        "Calls that were refused since they could not be saved.",
    );
    vec![
        saved.of(status.fault.is_none()),
        faults.of(status.faults),
        refused.of(status.refused_calls),
    ]
}
