//! Checks of an interface.

use super::{Check, Host};

/// What `forebay run` would find.
pub fn checks(host: &Host, name: &str) -> Vec<Check> {
    let folder = format!("sys/class/net/{name}");
    if !host.has_interface(name) {
        let why = "it cannot be a port";
        let mend = "ip link lists the interfaces; a device of a virtual machine or container is in its own namespace";
        return vec![Check::lacking(name, "there is no such interface", why, mend)];
    }
    if !host.describes_own_interfaces() {
        let why = "neither its queues nor its state are known here; `forebay run` uses it all the same";
        let mend = "ip netns exec NAME forebay doctor: there /sys is that of the namespace";
        let found = "it is there, but /sys is that of another network namespace";
        return vec![Check::advice(name, found, why, mend)];
    }
    let mut checks = vec![queues(host, name, &folder)];
    checks.extend(state(host, name, &folder));
    checks
}

fn state(host: &Host, name: &str, folder: &str) -> Option<Check> {
    let state = host.text(&format!("{folder}/operstate"))?;
    let is_down = matches!(state.as_str(), "down" | "lowerlayerdown" | "notpresent");
    is_down.then(|| {
        let why = "nothing is received or sent by it";
        Check::advice(
            name,
            format!("it is {state}"),
            why,
            &format!("ip link set {name} up, and a cable"),
        )
    })
}

fn queues(host: &Host, name: &str, folder: &str) -> Check {
    let queues = host.names(&format!("{folder}/queues"));
    let count = queues.iter().filter(|queue| queue.starts_with("rx-")).count();
    let driver = host.driver(folder);
    match count {
        0 | 1 => Check::advice(
            name,
            format!("{driver}, 1 receive queue"),
            "one processor takes all of its packets; several workers then share them by software",
            &format!(
                "ethtool -L {name} combined N; for veth, ip link add … numrxqueues N numtxqueues N; for a guest, queues=N"
            ),
        ),
        several => Check::good(name, format!("{driver}, {several} receive queues")),
    }
}

/// A file among the folders of interfaces.
const NO_INTERFACE: &str = "bonding_masters";

impl Host {
    /// Whether there is an interface of this name.
    fn has_interface(&self, name: &str) -> bool {
        match &self.interfaces {
            Some(names) => names.iter().any(|one| one == name),
            None => self.exists(&format!("sys/class/net/{name}")),
        }
    }

    /// Whether `/sys` has the interfaces of this process's network namespace. A program that enters one, by `nsenter`
    /// for example, keeps the `/sys` that it had.
    fn describes_own_interfaces(&self) -> bool {
        let Some(own) = &self.interfaces else { return true };
        let sorted = |mut names: Vec<String>| {
            names.retain(|name| name != NO_INTERFACE);
            names.sort();
            names
        };
        sorted(own.clone()) == sorted(self.names("sys/class/net"))
    }

    /// The driver of an interface's device; a virtual one has none.
    fn driver(&self, folder: &str) -> String {
        let link = std::fs::read_link(self.root.join(folder).join("device/driver")).ok();
        let name = link.and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned()));
        name.map_or_else(|| "virtual".to_owned(), |name| format!("driver {name}"))
    }
}
