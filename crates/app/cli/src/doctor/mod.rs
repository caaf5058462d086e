//! What a host lacks for running switches: `forebay doctor` without its output.
//!
//! A [`Check`] looks at one thing: what was found, why it matters, how to mend it. Information of the kernel is read
//! from files below a root folder ([`Host`]), so that tests can describe any host.

mod interface;
mod system;

use serde_json::{Value, json};
use std::path::PathBuf;

/// What was found of one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was looked at.
    pub name: String,
    /// How it stands.
    pub verdict: Verdict,
    /// What was found.
    pub found: String,
    /// Why it matters; empty when all is well.
    pub why: String,
    /// How to mend it; empty when all is well.
    pub mend: String,
}

/// How something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// As it should be.
    Good,
    /// Switches run, but something would make them faster or do more.
    Advice,
    /// No switch between interfaces runs.
    Lacking,
}

impl Verdict {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Good => "good",
            Verdict::Advice => "advice",
            Verdict::Lacking => "lacking",
        }
    }
}

impl Check {
    fn good(name: &str, found: impl Into<String>) -> Check {
        Check::new(name, Verdict::Good, found, "", "")
    }

    fn advice(name: &str, found: impl Into<String>, why: &str, mend: &str) -> Check {
        Check::new(name, Verdict::Advice, found, why, mend)
    }

    fn lacking(name: &str, found: impl Into<String>, why: &str, mend: &str) -> Check {
        Check::new(name, Verdict::Lacking, found, why, mend)
    }

    fn new(name: &str, verdict: Verdict, found: impl Into<String>, why: &str, mend: &str) -> Check {
        Check {
            name: name.to_owned(),
            verdict,
            found: found.into(),
            why: why.to_owned(),
            mend: mend.to_owned(),
        }
    }

    /// For other programs.
    pub fn json(&self) -> Value {
        json!({
            "name": self.name,
            "verdict": self.verdict.name(),
            "found": self.found,
            "why": self.why,
            "mend": self.mend,
        })
    }
}

/// The host, as described by its kernel.
pub struct Host {
    /// The folder with `proc`, `sys` and `dev`.
    root: PathBuf,
    /// Whether an AF_XDP socket and its map can be made; otherwise why not.
    xdp: Result<(), String>,
    /// The interfaces of this process's network namespace; none where the files alone tell.
    interfaces: Option<Vec<String>>,
}

impl Host {
    /// This one.
    pub fn this() -> Host {
        Host {
            root: "/".into(),
            xdp: forebay_ports::try_xdp().map_err(|error| error.to_string()),
            interfaces: Some(forebay_ports::interface_names()).filter(|names| !names.is_empty()),
        }
    }

    /// All checks of the host, and of interfaces by name.
    pub fn checks(&self, interfaces: &[String]) -> Vec<Check> {
        let of_interfaces = interfaces.iter().flat_map(|name| interface::checks(self, name));
        system::checks(self).into_iter().chain(of_interfaces).collect()
    }

    /// A file's text without the white space around it; none when it cannot be read.
    fn text(&self, path: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.root.join(path)).ok()?;
        Some(text.trim().to_owned())
    }

    fn exists(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// The text after `NAME` in a file of lines.
    fn line(&self, path: &str, name: &str) -> Option<String> {
        let text = self.text(path)?;
        let behind = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(behind.trim().to_owned())
    }

    /// Names in a folder; empty when it cannot be read.
    fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.root.join(folder));
        let entries = entries.into_iter().flatten().flatten();
        entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// A host that has everything.
    const BEST: &[(&str, &str)] = &[
        ("proc/sys/kernel/osrelease", "6.8.0-45-generic\n"),
        ("proc/sys/net/core/bpf_jit_enable", "1\n"),
        (
            "proc/self/status",
            "Name:\tforebay\nCapPrm:\t000001ffffffbfff\nCapEff:\t000001ffffffbfff\n",
        ),
        (
            "proc/self/limits",
            "Limit  Soft Limit  Hard Limit  Units\nMax locked memory  unlimited  unlimited  bytes\n",
        ),
        ("sys/kernel/btf/vmlinux", ""),
        ("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "512\n"),
        ("sys/devices/system/cpu/isolated", "2-3\n"),
        ("sys/devices/system/cpu/online", "0-3\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
        (
            "sys/devices/system/clocksource/clocksource0/current_clocksource",
            "tsc\n",
        ),
        ("dev/net/tun", ""),
        ("dev/vhost-net", ""),
        ("sys/class/net/eth1/operstate", "up\n"),
        ("sys/class/net/eth1/queues/rx-0/x", ""),
        ("sys/class/net/eth1/queues/rx-1/x", ""),
    ];

    /// The checks of a host that differs from the best one by these files; no text removes one.
    fn checks(changes: &[(&str, Option<&str>)], interfaces: &[&str]) -> Vec<Check> {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("a folder");
            std::fs::write(path, text).expect("a file");
        };
        BEST.iter().for_each(|(path, text)| write(path, text));
        for (path, text) in changes {
            match text {
                Some(text) => write(path, text),
                None => std::fs::remove_file(folder.path().join(path)).expect("a file"),
            }
        }
        let host = Host {
            root: folder.path().to_owned(),
            xdp: Ok(()),
            interfaces: None,
        };
        let interfaces: Vec<String> = interfaces.iter().map(|name| (*name).to_owned()).collect();
        host.checks(&interfaces)
    }

    /// The only check that is not good.
    fn only(changes: &[(&str, Option<&str>)], interfaces: &[&str]) -> Check {
        let mut checks = checks(changes, interfaces);
        checks.retain(|check| check.verdict != Verdict::Good);
        assert_eq!(checks.len(), 1, "{checks:#?}");
        checks.remove(0)
    }

    #[test]
    fn the_best_host_lacks_nothing() {
        for check in checks(&[], &["eth1"]) {
            assert_eq!(check.verdict, Verdict::Good, "{check:?}");
        }
    }

    #[test]
    fn rights_that_are_missing_are_named() {
        let status = "CapPrm:\t0000000000002000\nCapEff:\t0000000000002000\n";
        let check = only(&[("proc/self/status", Some(status))], &[]);
        assert_eq!((check.name.as_str(), check.verdict), ("capabilities", Verdict::Advice));
        assert!(check.found.ends_with("not NET_ADMIN, BPF"), "{}", check.found);
        let none = "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n";
        let check = only(&[("proc/self/status", Some(none))], &[]);
        assert_eq!(check.verdict, Verdict::Lacking);
    }

    #[test]
    fn each_thing_that_is_missing_has_one_check() {
        let cases: &[(&str, Option<&str>, &str)] = &[
            ("proc/sys/kernel/osrelease", Some("5.4.0"), "kernel"),
            ("proc/sys/net/core/bpf_jit_enable", Some("0"), "BPF"),
            (
                "proc/self/limits",
                Some("Max locked memory  8388608  8388608  bytes"),
                "locked memory",
            ),
            (
                "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
                Some("0"),
                "huge pages",
            ),
            ("sys/devices/system/cpu/isolated", Some(""), "isolated processors"),
            (
                "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
                Some("powersave"),
                "frequency",
            ),
            (
                "sys/devices/system/clocksource/clocksource0/current_clocksource",
                Some("hpet"),
                "clock",
            ),
            ("dev/net/tun", None, "TAP"),
            ("dev/vhost-net", None, "vhost"),
        ];
        for (path, text, name) in cases {
            let check = only(&[(path, *text)], &[]);
            assert_eq!(check.name, *name, "{check:?}");
            assert!(!check.why.is_empty() && !check.mend.is_empty(), "{check:?}");
        }
    }

    #[test]
    fn interfaces_of_another_namespace_are_not_looked_at() {
        let folder = tempfile::tempdir().expect("a folder");
        let of_eth1 = folder.path().join("sys/class/net/eth1/queues/rx-0");
        std::fs::create_dir_all(of_eth1).expect("a folder");
        let host = Host {
            root: folder.path().to_owned(),
            xdp: Ok(()),
            interfaces: Some(vec!["eth7".to_owned()]),
        };
        let verdicts = ["eth1", "eth7"].map(|name| interface::checks(&host, name).remove(0).verdict);
        assert_eq!(verdicts, [Verdict::Lacking, Verdict::Advice]);
    }

    #[test]
    fn interfaces_are_looked_at() {
        let check = only(&[], &["eth9"]);
        assert_eq!((check.name.as_str(), check.verdict), ("eth9", Verdict::Lacking));
        let check = only(&[("sys/class/net/eth1/operstate", Some("down"))], &["eth1"]);
        assert!(check.mend.contains("ip link set eth1 up"), "{check:?}");
        let eth2 = [
            ("sys/class/net/eth2/operstate", Some("up")),
            ("sys/class/net/eth2/queues/rx-0/x", Some("")),
        ];
        let check = only(&eth2, &["eth2"]);
        assert!(check.found.contains("1 receive queue"), "{check:?}");
    }
}
