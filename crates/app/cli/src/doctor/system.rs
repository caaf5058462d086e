//! Checks of the host as a whole.

use super::{Check, Host};

/// Capabilities by their numbers, and what needs them.
const CAPABILITIES: [(u32, &str); 3] = [(13, "NET_RAW"), (12, "NET_ADMIN"), (39, "BPF")];

/// `CAP_IPC_LOCK`: memory may be locked whatever the limit is.
const IPC_LOCK: u32 = 14;

/// Bytes that AF_XDP locks for a receive queue: two rings of 4,096 frames of 4 KiB.
const LOCKED_BYTES: u64 = 32 << 20;

/// Sources of time that are read without leaving the process.
const FAST_CLOCKS: [&str; 4] = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"];

/// All of them.
pub fn checks(host: &Host) -> Vec<Check> {
    let checks = [
        kernel(host),
        Some(capabilities(host)),
        Some(xdp(host)),
        bpf(host),
        locked_memory(host),
        Some(huge_pages(host)),
        Some(tap(host)),
        Some(vhost(host)),
        isolated(host),
        governor(host),
        clock(host),
    ];
    checks.into_iter().flatten().collect()
}

/// Major and minor version of a kernel.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn kernel(host: &Host) -> Option<Check> {
    let release = host.text("proc/sys/kernel/osrelease")?;
    let found = format!("Linux {release}");
    Some(match version(&release)? {
        (..=4, _) | (5, ..=8) => Check::advice(
            "kernel",
            found,
            "AF_XDP needs Linux 5.9; with packet sockets a switch takes about 1.2 times as long",
            "install a newer kernel",
        ),
        (5, _) | (6, ..=5) => Check::advice(
            "kernel",
            found,
            "frames above 3,818 bytes over AF_XDP need Linux 6.6, VLAN tags beside the frame 6.8",
            "install a newer kernel, or use packet:NAME for such interfaces",
        ),
        (6, ..=7) => Check::advice(
            "kernel",
            found,
            "VLAN tags beside the frame over AF_XDP need Linux 6.8",
            "install a newer kernel, or use packet:NAME for such interfaces",
        ),
        _ => Check::good("kernel", found),
    })
}

/// The capabilities that this process may use.
fn permitted(host: &Host) -> u64 {
    let bits = host.line("proc/self/status", "CapPrm:");
    bits.and_then(|bits| u64::from_str_radix(&bits, 16).ok()).unwrap_or(0)
}

fn capabilities(host: &Host) -> Check {
    let bits = permitted(host);
    let names = |wanted: bool| {
        let named = CAPABILITIES
            .iter()
            .filter(|(number, _)| (bits >> number & 1 == 1) == wanted);
        named.map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
    };
    let (has, lacks) = (names(true), names(false));
    let mend = "run as root, as the service forebay@NAME, or after setcap cap_net_raw,cap_net_admin,cap_bpf+ep FOREBAY";
    if lacks.is_empty() {
        return Check::good("capabilities", has);
    }
    if bits >> CAPABILITIES[0].0 & 1 == 0 {
        let found = format!("not {lacks}");
        return Check::lacking(
            "capabilities",
            found,
            "without NET_RAW no interface can be opened",
            mend,
        );
    }
    let why = "NET_ADMIN and BPF are needed for AF_XDP, NET_ADMIN for TAP devices; packet sockets do without";
    Check::advice("capabilities", format!("{has}; not {lacks}"), why, mend)
}

fn xdp(host: &Host) -> Check {
    let Err(error) = &host.xdp else {
        return Check::good("AF_XDP", "sockets and maps can be made");
    };
    let why = "AF_XDP is the fastest way to an interface; packet sockets are used without it";
    let mend = "give the capabilities NET_RAW, NET_ADMIN and BPF; in a container also permit the system call bpf; \
                the kernel needs CONFIG_XDP_SOCKETS";
    Check::advice("AF_XDP", error.clone(), why, mend)
}

fn bpf(host: &Host) -> Option<Check> {
    let enabled = host.text("proc/sys/net/core/bpf_jit_enable")?;
    Some(match enabled.as_str() {
        "0" => Check::advice(
            "BPF",
            "programs are interpreted",
            "the XDP program runs for each packet, several times slower than as machine code",
            "sysctl -w net.core.bpf_jit_enable=1",
        ),
        _ if !host.exists("sys/kernel/btf/vmlinux") => Check::advice(
            "BPF",
            "the kernel has no description of its types (BTF)",
            "VLAN tags that stand beside the frame are lost with AF_XDP",
            "use a kernel with CONFIG_DEBUG_INFO_BTF, or packet:NAME for such interfaces",
        ),
        _ => Check::good("BPF", "machine code, with types"),
    })
}

fn locked_memory(host: &Host) -> Option<Check> {
    let limit = host.line("proc/self/limits", "Max locked memory")?;
    let soft = limit.split_whitespace().next()?;
    let bytes = match soft {
        "unlimited" => u64::MAX,
        number => number.parse().ok()?,
    };
    if permitted(host) >> IPC_LOCK & 1 == 1 && bytes < LOCKED_BYTES {
        return Some(Check::good("locked memory", "no limit, by CAP_IPC_LOCK"));
    }
    Some(if bytes < LOCKED_BYTES {
        let found = format!("at most {} KiB", bytes >> 10);
        let why = "AF_XDP locks 32 MiB for each queue of an interface; packet sockets are used without it";
        let mend = "ulimit -l unlimited; LimitMEMLOCK=infinity in a unit; --ulimit memlock=-1 for a container";
        Check::advice("locked memory", found, why, mend)
    } else if bytes == u64::MAX {
        Check::good("locked memory", "no limit")
    } else {
        Check::good("locked memory", format!("up to {} MiB", bytes >> 20))
    })
}

fn huge_pages(host: &Host) -> Check {
    let folder = "sys/kernel/mm/hugepages";
    let counts = host.names(folder).into_iter().filter_map(|size| {
        let kilobytes: u64 = size.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        let count: u64 = host.text(&format!("{folder}/{size}/nr_hugepages"))?.parse().ok()?;
        (count > 0).then(|| format!("{count} of {} MiB", kilobytes >> 10))
    });
    let counts: Vec<String> = counts.collect();
    if counts.is_empty() {
        let why = "only DPDK and guests with vhost-user use them; both also run without, more slowly";
        return Check::advice("huge pages", "none", why, "sysctl -w vm.nr_hugepages=512");
    }
    Check::good("huge pages", counts.join(", "))
}

fn tap(host: &Host) -> Check {
    if host.exists("dev/net/tun") {
        Check::good("TAP", "/dev/net/tun")
    } else {
        Check::advice(
            "TAP",
            "there is no /dev/net/tun",
            "ports of the kind tap: are made by it",
            "modprobe tun; in a container: --device /dev/net/tun",
        )
    }
}

fn vhost(host: &Host) -> Check {
    if host.exists("dev/vhost-net") {
        Check::good("vhost", "/dev/vhost-net")
    } else {
        Check::advice(
            "vhost",
            "there is no /dev/vhost-net",
            "only for virtual machines with TAP devices: without it QEMU itself copies each packet, which limits guests to about \
             70,000 packets a second",
            "modprobe vhost_net, and vhost=on for QEMU's TAP",
        )
    }
}

fn isolated(host: &Host) -> Option<Check> {
    let isolated = host.text("sys/devices/system/cpu/isolated")?;
    let online = host.text("sys/devices/system/cpu/online").unwrap_or_default();
    Some(if isolated.is_empty() {
        Check::advice(
            "isolated processors",
            format!("none of {online}"),
            "workers share their processors with other work, and packets wait for a turn of the scheduler",
            &isolation(&online),
        )
    } else {
        Check::good("isolated processors", isolated)
    })
}

/// How to isolate all processors but the first.
fn isolation(online: &str) -> String {
    let last = online
        .rsplit(['-', ','])
        .next()
        .and_then(|last| last.parse::<u32>().ok());
    let others = match last {
        None | Some(0) => return "a machine with more than one processor".to_string(),
        Some(1) => "1".to_string(),
        Some(last) => format!("1-{last}"),
    };
    format!(
        "isolcpus={others} nohz_full={others} on the kernel's command line, and taskset or CPUAffinity= for the switch"
    )
}

fn governor(host: &Host) -> Option<Check> {
    let governor = host.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")?;
    Some(match governor.as_str() {
        "performance" => Check::good("frequency", "governor performance"),
        _ => Check::advice(
            "frequency",
            format!("governor {governor}"),
            "processors that clock down between packets answer later",
            "cpupower frequency-set -g performance",
        ),
    })
}

fn clock(host: &Host) -> Option<Check> {
    let source = host.text("sys/devices/system/clocksource/clocksource0/current_clocksource")?;
    Some(if FAST_CLOCKS.contains(&source.as_str()) {
        Check::good("clock", source)
    } else {
        Check::advice(
            "clock",
            source,
            "each reading of the clock is a system call or a device's register, about a microsecond each poll",
            "clocksource=tsc on the kernel's command line, if the processor's counter is stable",
        )
    })
}
