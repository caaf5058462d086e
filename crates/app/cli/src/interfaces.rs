//! Interfaces that are not there yet: those of a container or a machine that come after the switch was started.

use forebay_ports::PortSpec;
use std::time::{Duration, Instant};

/// Between looks.
const LOOK: Duration = Duration::from_millis(50);

/// Waits until the interfaces of all ports exist, or the time is over: opening them says what is missing then.
pub fn wait_for(ports: &[PortSpec], seconds: f64) {
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    while Instant::now() < end && !all_exist(ports, |name| forebay_ports::primary_name(name).is_some()) {
        std::thread::sleep(LOOK);
    }
}

fn all_exist(ports: &[PortSpec], exists: impl Fn(&str) -> bool) -> bool {
    let mut wanted = ports.iter().filter_map(PortSpec::interface);
    wanted.all(exists)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_existing_kinds_of_interfaces_are_waited_for() {
        let ports = PortSpec::parse_all(["1@eth1", "2@xdp:eth2:0", "3@tap:t0", "4@mem:"]).expect("ports");
        assert!(all_exist(&ports, |name| ["lo", "eth1", "eth2"].contains(&name)));
        assert!(!all_exist(&ports, |name| ["lo", "eth1"].contains(&name)));
    }
}
