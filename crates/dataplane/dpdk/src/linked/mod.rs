//! DPDK itself: its environment, a device, and the ports of workers over the device's queues.

mod port;
mod shim;

use crate::{DpdkError, DpdkOptions, VARIABLE};
use forebay_packet::Port;
use port::DpdkPort;
use shim::Device;
use std::sync::{Arc, OnceLock};

/// Arguments before the user's own. DPDK opens no socket of its own; cards that are not named stay with the system
/// (no card has this address).
const ARGUMENTS: [&str; 3] = ["--no-telemetry", "-a", "ffff:ff:1f.7"];

/// With huge pages: DPDK keeps no files.
const WITH_HUGE_PAGES: &str = "--in-memory";

/// Where the system has no huge pages: ordinary memory, in MB, by its virtual addresses, and no files either.
const WITHOUT_HUGE_PAGES: [&str; 5] = ["--no-huge", "--no-shconf", "--iova-mode=va", "-m", "512"];

/// Opens a device, see [`crate::open`].
pub(crate) fn open(options: &DpdkOptions, workers: usize) -> Result<Vec<Box<dyn Port>>, DpdkError> {
    start()?;
    let queues = u16::try_from(workers).unwrap_or(u16::MAX).max(1);
    let device = Device::open(&options.device, queues, options.mtu).map_err(|cause| DpdkError::Device {
        device: options.device.clone(),
        cause,
    })?;
    let (queues, device) = (device.queues(), Arc::new(device));
    let port = |queue| -> Box<dyn Port> { Box::new(DpdkPort::new(options.name(), &device, queue)) };
    Ok((0..queues).map(port).collect())
}

/// Starts DPDK's environment, once in a process. DPDK pins the thread that starts it to a processor, so this happens in
/// a thread that ends afterwards.
fn start() -> Result<(), DpdkError> {
    static STARTED: OnceLock<Result<(), DpdkError>> = OnceLock::new();
    let start = || {
        let arguments = arguments();
        let started = std::thread::scope(|scope| scope.spawn(|| shim::start(&arguments)).join());
        let started = started.unwrap_or_else(|_| Err("its thread panicked".to_owned()));
        started.map_err(|cause| DpdkError::Environment {
            arguments: arguments.join(" "),
            cause,
        })
    };
    STARTED.get_or_init(start).clone()
}

fn arguments() -> Vec<String> {
    let own = std::env::var(VARIABLE).unwrap_or_default();
    let own: Vec<&str> = own.split_whitespace().collect();
    let mut arguments: Vec<&str> = ARGUMENTS.to_vec();
    // A thread of DPDK for each processor would only wait.
    let all = shim::processors();
    let lcore = format!("0@({all})");
    if !own.iter().any(|word| ["-l", "-c", "--lcores"].contains(word)) {
        arguments.extend(["--lcores", &lcore]);
    }
    if has_huge_pages() && !own.contains(&"--no-huge") {
        arguments.push(WITH_HUGE_PAGES);
    } else if own.contains(&"-m") {
        arguments.extend(&WITHOUT_HUGE_PAGES[..3]);
    } else {
        arguments.extend(WITHOUT_HUGE_PAGES);
    }
    arguments.extend(own);
    arguments.into_iter().map(str::to_owned).collect()
}

/// Whether the system has huge pages that nothing uses.
fn has_huge_pages() -> bool {
    let sizes = std::fs::read_dir("/sys/kernel/mm/hugepages")
        .into_iter()
        .flatten()
        .flatten();
    sizes.into_iter().any(|size| {
        let free = std::fs::read_to_string(size.path().join("free_hugepages"));
        free.is_ok_and(|free| free.trim().parse::<u64>().is_ok_and(|free| free > 0))
    })
}
