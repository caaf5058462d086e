//! Network namespaces for tests: anonymous, so that they and all interfaces in them vanish with
//! the last descriptor, even when a test is killed.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::process::Command;

/// A network namespace of its own.
pub struct Namespace {
    file: File,
}

impl Namespace {
    /// A new namespace with its loopback interface up and IPv6 off (its announcements would
    /// disturb the counts), or `None`, with a message, when the process may not make one.
    pub fn new() -> Option<Namespace> {
        let made = std::thread::spawn(|| {
            // SAFETY: changes this thread only, which ends with this closure.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                return Err(io::Error::last_os_error());
            }
            File::open("/proc/thread-self/ns/net")
        })
        .join()
        .expect("the thread does not panic");
        match made {
            Ok(file) => {
                let namespace = Namespace { file };
                namespace.ip("link set lo up");
                namespace.enter(|| {
                    let setting = "/proc/sys/net/ipv6/conf/default/disable_ipv6";
                    let _ = std::fs::write(setting, "1");
                });
                Some(namespace)
            }
            Err(error) => {
                eprintln!("SKIPPED: this test needs root to make network namespaces ({error})");
                None
            }
        }
    }

    /// Runs `action` in a thread that is in this namespace. Sockets it returns stay in it.
    pub fn enter<T: Send>(&self, action: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                // SAFETY: the descriptor is open; changes this thread only.
                let result = unsafe { libc::setns(self.file.as_raw_fd(), libc::CLONE_NEWNET) };
                assert_eq!(result, 0, "setns: {}", io::Error::last_os_error());
                action()
            });
            inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Runs `ip` with these arguments in this namespace.
    pub fn ip(&self, arguments: &str) {
        let output = self
            .enter(|| Command::new("ip").args(arguments.split_whitespace()).output())
            .expect("the ip program (iproute2) is installed");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "ip {arguments}: {message}");
    }

    /// Runs `action` as [`Namespace::enter`] does, with the `/sys` of this namespace.
    pub fn enter_with_sysfs<T: Send>(&self, action: impl FnOnce() -> T + Send) -> T {
        self.enter(|| {
            // SAFETY: changes this thread only.
            let result = unsafe { libc::unshare(libc::CLONE_NEWNS) };
            assert_eq!(result, 0, "unshare: {}", io::Error::last_os_error());
            for (what, place, kind, flags) in [
                (c"none", c"/", c"none", libc::MS_REC | libc::MS_PRIVATE),
                (c"sysfs", c"/sys", c"sysfs", 0),
            ] {
                // SAFETY: the texts end with a zero byte; what is mounted is seen by this thread only.
                let result =
                    unsafe { libc::mount(what.as_ptr(), place.as_ptr(), kind.as_ptr(), flags, std::ptr::null()) };
                assert_eq!(result, 0, "mount {place:?}: {}", io::Error::last_os_error());
            }
            action()
        })
    }

    /// Moves an interface to another namespace and back, where it is up and has its number again.
    pub fn move_there_and_back(&self, name: &str, other: &Namespace) {
        for (from, to) in [(self, other), (other, self)] {
            let target = format!("/proc/{}/fd/{}", std::process::id(), to.file.as_raw_fd());
            from.ip(&format!("link set {name} netns {target}"));
            to.ip(&format!("link set {name} up"));
        }
    }

    /// Limits an interface to `bits` a second with the queueing discipline `tbf`. Returns false, with a message, if the
    /// system cannot do that.
    pub fn slow_down(&self, name: &str, bits: u32) -> bool {
        let arguments = format!("qdisc add dev {name} root tbf rate {bits}bit burst 5000 limit 10000000");
        let output = self.enter(|| Command::new("tc").args(arguments.split_whitespace()).output());
        let is_done = output.is_ok_and(|output| output.status.success());
        if !is_done {
            eprintln!(
                "SKIPPED: this test needs the tc program (iproute2) and a kernel with the queueing discipline tbf"
            );
        }
        is_done
    }

    /// A veth pair from `near` here to `far` in another namespace, both up.
    pub fn veth(&self, near: &str, other: &Namespace, far: &str) {
        self.veth_with(near, other, far, "");
    }

    /// As [`Namespace::veth`], both ends with these options.
    pub fn veth_with(&self, near: &str, other: &Namespace, far: &str, options: &str) {
        let target = format!("/proc/{}/fd/{}", std::process::id(), other.file.as_raw_fd());
        self.ip(&format!(
            "link add {near} {options} type veth peer name {far} {options} netns {target}"
        ));
        self.ip(&format!("link set {near} up"));
        other.ip(&format!("link set {far} up"));
    }
}
