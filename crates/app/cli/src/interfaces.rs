//! Interfaces that are not there yet: those of a container or a machine that come after the switch was started.

use crate::output;
use forebay_ports::PortSpec;
use std::time::{Duration, Instant};

/// Between looks.
const LOOK: Duration = Duration::from_millis(50);

/// When it is said what is waited for.
const SAID_AFTER: Duration = Duration::from_secs(1);

/// Waits until the interfaces of all ports exist, or the time is over: opening them says what is missing then.
pub fn wait_for(ports: &[PortSpec], seconds: f64) {
    let (begin, mut is_said) = (Instant::now(), false);
    let exists = |name: &str| forebay_ports::primary_name(name).is_some();
    while begin.elapsed().as_secs_f64() < seconds {
        let missing = missing(ports, exists);
        if missing.is_empty() {
            return;
        }
        if !is_said && begin.elapsed() >= SAID_AFTER {
            is_said = true;
            let missing = missing.join("` and `");
            output::info(&format!("waiting for `{missing}`, {seconds} s at most"));
        }
        std::thread::sleep(LOOK);
    }
}

/// The interfaces that do not exist.
fn missing(ports: &[PortSpec], exists: impl Fn(&str) -> bool) -> Vec<&str> {
    let wanted = ports.iter().filter_map(PortSpec::interface);
    wanted.filter(|name| !exists(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_existing_kinds_of_interfaces_are_waited_for() {
        let ports = PortSpec::parse_all(["1@eth1", "2@xdp:eth2:0", "3@tap:t0", "4@mem:"]).expect("ports");
        assert!(missing(&ports, |name| ["lo", "eth1", "eth2"].contains(&name)).is_empty());
        assert_eq!(missing(&ports, |name| ["lo", "eth1"].contains(&name)), ["eth2"]);
    }
}
