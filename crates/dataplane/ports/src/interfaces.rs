//! The interfaces there are, what they can do, and which of them a user may have meant.

use std::cell::Cell;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use forebay_packet::PortState;

use crate::OpenError;
use crate::system;
use crate::system::interface::{self, Operation};

/// Hardware types that carry Ethernet headers: Ethernet and the loopback interface.
const ETHERNET_TYPES: [u16; 2] = [libc::ARPHRD_ETHER, libc::ARPHRD_LOOPBACK];

/// The scope of addresses that are good on their link only, in `/proc/net/if_inet6`.
const LINK_LOCAL: &str = "20";

/// The names of the interfaces in this thread's network namespace; empty when the system does not
/// tell.
pub fn interface_names() -> Vec<String> {
    interface::interface_names()
}

/// The name of the interface that this name is one of: interfaces may have alternative names (`ip link property`). None
/// when there is no such interface, or the system does not tell.
pub fn primary_name(name: &str) -> Option<String> {
    let asking = system::socket(libc::AF_INET, libc::SOCK_DGRAM).ok()?;
    let index = interface::interface_index(asking.as_fd(), name).ok()?;
    interface::interface_name(asking.as_fd(), index).ok()
}

/// What is known of an interface that does not change with packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Its MAC address.
    pub mac_address: Option<[u8; 6]>,
    /// The longest packet after the Ethernet header, in bytes.
    pub mtu: Option<u32>,
    /// Its speed in Mbit/s, if its driver reports one.
    pub speed_mbps: Option<u32>,
}

/// What is known of an interface; none when it does not exist or is no Ethernet.
pub fn link(name: &str) -> Option<Link> {
    let interface = Interface::find(name).ok()?;
    let speed = std::fs::read_to_string(format!("/sys/class/net/{}/speed", interface.name)).unwrap_or_default();
    Some(Link {
        mac_address: interface::interface_mac_address(interface.asking.as_fd(), &interface.name).ok(),
        mtu: u32::try_from(interface.mtu()).ok(),
        // Drivers that do not know say -1.
        speed_mbps: speed.trim().parse().ok().filter(|speed| *speed > 0),
    })
}

/// Whether there is an Ethernet interface of this name.
///
/// # Errors
/// When there is none, with names that are like it.
pub fn find_interface(name: &str) -> Result<(), OpenError> {
    Interface::find(name).map(|_| ())
}

/// Why an interface that was set down carries nothing, and what to do.
fn not_up(name: &str) -> String {
    format!("the interface is not up: ip link set {name} up")
}

/// Brings an interface up.
///
/// # Errors
/// When there is no such interface, or the right to change it is missing.
pub fn bring_up(name: &str) -> Result<(), OpenError> {
    let interface = Interface::find(name)?;
    interface::set_interface_up(interface.asking.as_fd(), name)
        .map_err(|cause| OpenError::from_system(format!("bring `{name}` up"), "CAP_NET_ADMIN", cause))
}

/// An interface that exists, for asking about it.
pub(crate) struct Interface {
    /// Its name when it was found, also when an alternative one was given.
    pub(crate) name: String,
    /// Its number, by which it is known even when it gets another name.
    pub(crate) index: i32,
    /// An ordinary socket of its network namespace. It needs no rights, so that a wrong name is distinguished from a
    /// missing right.
    asking: OwnedFd,
    /// The state of its link at the last query, and the time of that query.
    carrier: Cell<Option<(Instant, bool)>>,
}

/// How long the state of a link is cached: to query it, the kernel takes its lock for changes of interfaces.
const CARRIER_TIME: Duration = Duration::from_millis(5);

impl Interface {
    /// The Ethernet interface called `name`.
    ///
    /// # Errors
    /// When there is none, or it carries something else.
    pub(crate) fn find(name: &str) -> Result<Interface, OpenError> {
        let asking = system::socket(libc::AF_INET, libc::SOCK_DGRAM)
            .map_err(|cause| OpenError::from_system(format!("ask about `{name}`"), "CAP_NET_ADMIN", cause))?;
        let no_such_interface = |_| {
            let names = interface_names();
            OpenError::NoSuchInterface {
                name: name.to_owned(),
                similar: similar(name, names.iter().map(String::as_str)),
            }
        };
        let index = interface::interface_index(asking.as_fd(), name).map_err(no_such_interface)?;
        let hardware_type = interface::interface_hardware_type(asking.as_fd(), name).map_err(no_such_interface)?;
        if !ETHERNET_TYPES.contains(&hardware_type) {
            return Err(OpenError::NotEthernet {
                name: name.to_owned(),
                hardware_type,
            });
        }
        Ok(Interface {
            name: interface::interface_name(asking.as_fd(), index).unwrap_or_else(|_| name.to_owned()),
            index,
            asking,
            carrier: Cell::new(None),
        })
    }

    /// Whether it is up, down or gone.
    pub(crate) fn state(&self) -> PortState {
        match interface::operation(self.asking.as_fd(), self.index) {
            Ok(Operation::Running) => PortState::Up,
            Ok(Operation::NotRunning) if self.has_carrier() => PortState::Up,
            Ok(Operation::NotRunning | Operation::Down) => PortState::Down,
            Err(_) => PortState::Gone,
        }
    }

    /// Why it is down, if it is.
    pub(crate) fn why_down(&self) -> Option<String> {
        match interface::operation(self.asking.as_fd(), self.index) {
            Ok(Operation::Down) => {
                let name = interface::interface_name(self.asking.as_fd(), self.index);
                Some(not_up(name.as_ref().unwrap_or(&self.name)))
            }
            Ok(Operation::NotRunning) if !self.has_carrier() => {
                Some("the interface has no carrier: its other end is down, or not plugged in".to_owned())
            }
            Ok(_) | Err(_) => None,
        }
    }

    /// Whether its link is there though the kernel does not call it running yet: of a new veth pair it may take a
    /// second to.
    fn has_carrier(&self) -> bool {
        if let Some((asked, answer)) = self.carrier.get()
            && asked.elapsed() < CARRIER_TIME
        {
            return answer;
        }
        let answer = interface::has_carrier(self.asking.as_fd(), self.index);
        self.carrier.set(Some((Instant::now(), answer)));
        answer
    }

    /// Whether it is still called as when it was found. One that was renamed cannot be opened again by its name.
    pub(crate) fn has_its_name(&self) -> bool {
        let name = interface::interface_name(self.asking.as_fd(), self.index);
        name.is_ok_and(|name| name == self.name)
    }

    /// The longest packet without its Ethernet header, in bytes; 1500 when it is gone.
    pub(crate) fn mtu(&self) -> usize {
        interface::interface_mtu(self.asking.as_fd(), self.index).unwrap_or(1500)
    }

    /// The name of its driver, if it reports one.
    pub(crate) fn driver(&self) -> Option<String> {
        interface::driver(self.asking.as_fd(), &self.name)
    }

    /// How many queues it receives by.
    pub(crate) fn receive_queues(&self) -> u32 {
        interface::receive_queues(self.asking.as_fd(), &self.name)
    }

    /// Why the kernel needs what comes in by it, if it does.
    pub(crate) fn kernel_need(&self) -> Option<String> {
        if self.has_address() {
            return Some("it has an address".to_owned());
        }
        if let Some(master) = interface::master(self.index).ok().flatten() {
            let name = interface::interface_name(self.asking.as_fd(), master);
            let name = name.map_or_else(|_| "another interface".to_owned(), |name| format!("`{name}`"));
            return Some(format!("it belongs to {name}"));
        }
        self.upper().map(|upper| format!("`{upper}` stands on it"))
    }

    /// An interface that stands on it: of a VLAN, a macvlan. None when `/sys` is that of another network namespace.
    fn upper(&self) -> Option<String> {
        let entries = std::fs::read_dir(self.folder()?).ok()?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names
            .filter_map(|name| Some(name.strip_prefix("upper_")?.to_owned()))
            .min()
    }

    /// Its folder in `/sys`; none when that is of another network namespace.
    fn folder(&self) -> Option<String> {
        let path = format!("/sys/class/net/{}", self.name);
        let index = std::fs::read_to_string(format!("{path}/ifindex")).ok()?;
        (index.trim().parse() == Ok(self.index)).then_some(path)
    }

    /// Whether the kernel itself is reached by it: it has an address that is good beyond its link.
    fn has_address(&self) -> bool {
        let ipv6 = std::fs::read_to_string("/proc/thread-self/net/if_inet6").unwrap_or_default();
        interface::has_ipv4_address(self.asking.as_fd(), &self.name) || has_ipv6_address(&ipv6, &self.name)
    }
}

/// Notices when an interface gets another number of queues to receive by.
///
/// The question of `ethtool` takes the kernel's lock for changes of interfaces, for which a worker must not wait. The
/// folder of the queues in `/sys` has as many links as queues, which the kernel tells without it.
#[derive(Debug)]
pub(crate) struct QueueWatch {
    folder: File,
    links: u64,
    queues: u32,
}

impl QueueWatch {
    /// For an interface that has `queues` now. None when `/sys` is that of another network namespace.
    pub(crate) fn begin(interface: &Interface, queues: u32) -> Option<QueueWatch> {
        let folder = File::open(format!("{}/queues", interface.folder()?)).ok()?;
        let links = folder.metadata().ok()?.nlink();
        Some(QueueWatch { folder, links, queues })
    }

    /// Whether the number has changed. One that was renamed cannot be opened again by its name, and stays as it is.
    pub(crate) fn has_changed(&mut self, interface: &Interface) -> bool {
        let links = self.folder.metadata().map_or(self.links, |folder| folder.nlink());
        if std::mem::replace(&mut self.links, links) == links {
            return false;
        }
        // Queues for sending have links too.
        interface.has_its_name() && interface.receive_queues() != self.queues
    }
}

/// Notices when an interface gets an address, becomes a member of a bridge, or another interface is made on it: the
/// kernel can do its part only when it gets the frames.
///
/// Asking takes the kernel's lock for changes of interfaces, for which a worker must not wait. It is done when the kernel
/// has told of a change, by a socket that is read without the lock.
#[derive(Debug)]
pub(crate) struct NeedWatch {
    changes: OwnedFd,
    /// Nothing has been asked yet: an address may have come before the socket was there.
    is_new: bool,
}

impl NeedWatch {
    /// None when the system gives no socket for it.
    pub(crate) fn begin() -> Option<NeedWatch> {
        let changes = interface::interface_changes().ok()?;
        Some(NeedWatch { changes, is_new: true })
    }

    /// Whether the kernel needs the interface's frames now. One that was renamed cannot be opened again by its name.
    pub(crate) fn is_needed(&mut self, interface: &Interface) -> bool {
        let has_changed = interface::take_interface_changes(self.changes.as_fd(), interface.index);
        let is_due = std::mem::take(&mut self.is_new) || has_changed;
        is_due && interface.has_its_name() && interface.kernel_need().is_some()
    }
}

/// When to look whether an interface that brings nothing is still there: asking costs a system call.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    looks: u32,
    checked_ns: u64,
}

impl Watch {
    /// Empty looks after which it is time whatever the clock says.
    const LOOKS: u32 = 64;

    /// Time after which it is time, in nanoseconds.
    const INTERVAL_NS: u64 = 10_000_000;

    /// Records that nothing arrived; true when it is time to query the link.
    pub(crate) fn is_due(&mut self, now_ns: u64) -> bool {
        self.looks += 1;
        let due = self.looks >= Watch::LOOKS || now_ns >= self.checked_ns.saturating_add(Watch::INTERVAL_NS);
        if due {
            self.looks = 0;
            self.checked_ns = now_ns;
        }
        due
    }
}

/// Reads lines like `fe80…  02 40 20 80 eth0`: address, index, prefix length, scope, flags, name.
fn has_ipv6_address(table: &str, name: &str) -> bool {
    table.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        matches!(words[..], [_, _, _, scope, _, interface] if interface == name && scope != LINK_LOCAL)
    })
}

/// The candidates that look like `name`, best first, at most three.
pub(crate) fn similar<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let tolerance = 1 + name.chars().count() / 4;
    let mut near: Vec<(usize, &str)> = candidates
        .into_iter()
        .map(|candidate| (edit_distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= tolerance)
        .collect();
    near.sort_unstable();
    near.into_iter()
        .take(3)
        .map(|(_, candidate)| candidate.to_owned())
        .collect()
}

/// Insertions, deletions, replacements and swaps of neighbours between two words, without regard
/// to case (optimal string alignment).
fn edit_distance(first: &str, second: &str) -> usize {
    let first: Vec<char> = first.to_lowercase().chars().collect();
    let second: Vec<char> = second.to_lowercase().chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=second.len()).collect();
    for (row, &one) in first.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, &other) in second.iter().enumerate() {
            let replaced = last[column] + usize::from(one != other);
            let mut best = replaced.min(last[column + 1] + 1).min(current[column] + 1);
            let swapped = row > 0 && column > 0 && one == second[column - 1] && other == first[row - 1];
            if swapped {
                best = best.min(before_last[column - 1] + 1);
            }
            current.push(best);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[second.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (first, second, distance) in [
            ("", "", 0),
            ("veth0", "veth0", 0),
            ("veht0", "veth0", 1),
            ("VETH0", "veth0", 0),
            ("veth", "veth0", 1),
            ("eth0", "wlan0", 4),
            ("", "abc", 3),
        ] {
            assert_eq!(edit_distance(first, second), distance, "{first} {second}");
            assert_eq!(edit_distance(second, first), distance, "{second} {first}");
        }
    }

    #[test]
    fn the_nearest_come_first_and_the_far_not_at_all() {
        let names = ["lo", "eth0", "veth0", "veth1", "docker0"];
        assert_eq!(similar("veht0", names), ["veth0", "eth0", "veth1"]);
        assert_eq!(similar("enp0s31f6", names), Vec::<String>::new());
    }

    #[test]
    fn link_local_addresses_do_not_count() {
        let table = "fe800000000000005054ff00fe1234ab 02 40 20 80     eth0\n\
                     fe800000000000005054ff00fe1234ac 03 40 20 80     eth1\n\
                     20010db8000000000000000000000001 03 40 00 80     eth1\n";
        assert!(!has_ipv6_address(table, "eth0"));
        assert!(has_ipv6_address(table, "eth1"));
        assert!(!has_ipv6_address("", "eth0"));
    }

    #[test]
    fn every_system_has_an_interface() {
        assert!(!interface_names().is_empty());
    }
}
