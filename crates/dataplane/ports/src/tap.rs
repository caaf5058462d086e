//! A port over a TAP device: a virtual interface whose other end is the kernel's network stack.
//!
//! The device is made if it does not exist and goes away with the port unless it was made
//! persistent (`ip tuntap add`). The driver gives and takes one frame a system call, so frames are made to count: the
//! kernel's TCP may hand over super-frames, which are cut here ([`crate::offload`]), as checksums are completed.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::thread;
use std::time::{Duration, Instant};

use forebay_packet::{Burst, DropReason, Packet, Port, PortCounters, PortError, PortState, Readiness};

use crate::OpenError;
use crate::interfaces::{Interface, Watch};
use crate::offload::segments::Segments;
use crate::offload::{self, Offload};
use crate::system::interface;
use crate::system::{self, OFFLOAD_HEADER};

/// Room for what does not fit in a packet's buffer, in bytes: a TAP device has an MTU of at most
/// 65,521.
const OVERFLOW: usize = 65_536;

/// The shortest frame the driver takes: an Ethernet header.
const ETHERNET_HEADER: usize = 14;

/// How long the queues of a device may be in use because a process that was killed is still being cleared away.
const CLEARING_TIME: Duration = Duration::from_secs(1);

/// A port over a TAP device.
pub struct TapPort {
    interface: Interface,
    device: File,
    overflow: Vec<u8>,
    segments: Segments,
    state: PortState,
    counters: PortCounters,
    watch: Watch,
}

impl TapPort {
    /// Makes or attaches to the TAP device called `name`, and brings it up.
    ///
    /// # Errors
    /// When the system has no TAP driver, the name belongs to another sort of interface or another
    /// process, or the process has not CAP_NET_ADMIN.
    pub fn open(name: &str) -> Result<TapPort, OpenError> {
        TapPort::open_queue(name, false)
    }

    /// Makes the TAP device called `name` with `count` queues, a port for each, for as many threads. The kernel gives
    /// each its share of what comes in, by flows.
    ///
    /// # Errors
    /// As for [`TapPort::open`], and when the device exists and was not made for several queues.
    pub fn open_shares(name: &str, count: usize) -> Result<Vec<TapPort>, OpenError> {
        if count > 1 {
            wait_until_free(name)?;
        }
        (0..count).map(|_| TapPort::open_queue(name, count > 1)).collect()
    }

    fn open_queue(name: &str, is_one_of_several: bool) -> Result<TapPort, OpenError> {
        let device = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/net/tun")
            .map_err(driver_error)?;
        interface::attach_tap(device.as_fd(), name, is_one_of_several).map_err(|cause| attach_error(name, cause))?;
        let bring_up = || {
            let asking = system::socket(libc::AF_INET, libc::SOCK_DGRAM)?;
            interface::set_interface_up(asking.as_fd(), name)
        };
        bring_up().map_err(|cause| OpenError::from_system(format!("bring up `{name}`"), "CAP_NET_ADMIN", cause))?;
        Ok(TapPort {
            interface: Interface::find(name)?,
            device,
            overflow: vec![0; OVERFLOW],
            segments: Segments::new(),
            state: PortState::Up,
            counters: PortCounters::default(),
            watch: Watch::default(),
        })
    }

    /// Finds out whether the device is up or down. One that was moved to another network namespace still carries
    /// frames, and its state is not known here; one that was deleted is found by reading.
    fn look_at_interface(&mut self) {
        self.state = match self.interface.state() {
            PortState::Down => PortState::Down,
            _ => PortState::Up,
        };
    }

    /// Reads one frame into `packet`, and what is left to do on it; `None` when none is there.
    fn read_frame(&mut self, packet: &mut Packet) -> io::Result<Option<Offload>> {
        let mut header = [0; OFFLOAD_HEADER];
        let room = packet.receive_room();
        let room_length = room.len();
        let header_buffer = IoSliceMut::new(&mut header);
        let buffers = &mut [
            header_buffer,
            IoSliceMut::new(room),
            IoSliceMut::new(&mut self.overflow),
        ];
        match self.device.read_vectored(buffers) {
            Ok(length) => {
                let length = length.saturating_sub(OFFLOAD_HEADER);
                packet.set_received(length);
                if length > room_length {
                    packet.append(&self.overflow[..length - room_length]);
                }
                Ok((length > 0).then(|| Offload::parse(&header)))
            }
            Err(error) if is_idle(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Does what is left on the last packet of the burst: it stays there, or its segments wait for their turn.
    fn finish(&mut self, burst: &mut Burst, offload: Offload) {
        let Some(packet) = burst.as_mut_slice().last_mut() else {
            return;
        };
        let result = match (offload.segmentation, offload.checksum) {
            (Some(segmentation), _) => self.segments.cut(packet.data(), segmentation, None),
            (None, Some((start, offset))) if !offload::complete_checksum(packet.data_mut(), start, offset) => {
                Err(DropReason::Truncated)
            }
            _ => return self.counters.count_received(packet.len()),
        };
        burst.truncate(burst.len() - 1);
        if let Err(reason) = result {
            self.counters.count_received_drops(reason, 1);
        }
    }

    /// Sorts out a failed read or write: a device deleted under us is gone for good.
    fn failed(&mut self, operation: &'static str, error: &io::Error) -> PortError {
        let port = self.interface.name.clone();
        match error.raw_os_error() {
            Some(libc::EBADFD | libc::ENODEV) => {
                self.state = PortState::Gone;
                PortError::Gone {
                    port,
                    detail: "the TAP device was deleted".to_owned(),
                }
            }
            _ => PortError::Failed {
                port,
                operation,
                detail: error.to_string(),
            },
        }
    }
}

/// Waits until no process has a queue of a device. It would take more of them, and give each process a part of its
/// packets.
fn wait_until_free(name: &str) -> Result<(), OpenError> {
    let begin = Instant::now();
    while has_queues(name) {
        if begin.elapsed() > CLEARING_TIME {
            return Err(OpenError::Busy { name: name.to_owned() });
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Whether a process has a queue of a device. One that does not exist is free, and opening finds out more about others.
fn has_queues(name: &str) -> bool {
    let queues = Interface::find(name)
        .ok()
        .and_then(|device| interface::tap_queues(device.index).ok().flatten());
    queues.is_some_and(|queues| queues > 0)
}

fn is_idle(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn driver_error(cause: io::Error) -> OpenError {
    match cause.kind() {
        ErrorKind::PermissionDenied => OpenError::NotPermitted {
            action: "open /dev/net/tun".to_owned(),
            capability: "CAP_NET_ADMIN",
        },
        _ => OpenError::NoTapDriver { cause },
    }
}

fn attach_error(name: &str, cause: io::Error) -> OpenError {
    match cause.raw_os_error() {
        Some(libc::EBUSY) => OpenError::Busy { name: name.to_owned() },
        Some(libc::EINVAL) => OpenError::NotTap { name: name.to_owned() },
        _ => OpenError::from_system(format!("make the TAP device `{name}`"), "CAP_NET_ADMIN", cause),
    }
}

impl Port for TapPort {
    fn name(&self) -> &str {
        &self.interface.name
    }

    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        let before = burst.len();
        let end = before + max.min(burst.room());
        while burst.len() < end {
            if !self.segments.is_empty() {
                let room = end - burst.len();
                self.segments.deliver(burst, room, now_ns, &mut self.counters);
                continue;
            }
            let packet = burst.allocate().expect("there is room");
            packet.timestamp_ns = now_ns;
            match self.read_frame(packet) {
                Ok(Some(offload)) => self.finish(burst, offload),
                outcome => {
                    burst.truncate(burst.len() - 1);
                    outcome.map_err(|error| self.failed("receive", &error))?;
                    break;
                }
            }
        }
        let count = burst.len() - before;
        let is_idle = count == 0 && end > before && self.watch.is_due(now_ns);
        if is_idle || self.state == PortState::Down {
            self.look_at_interface();
        }
        Ok(count)
    }

    fn send(&mut self, burst: &mut Burst, _now_ns: u64) -> Result<usize, PortError> {
        let (mut accepted, mut failure) = (0, None);
        for packet in burst.iter() {
            if packet.len() < ETHERNET_HEADER {
                self.counters.count_drops(DropReason::TooShort, 1);
                continue;
            }
            // The header says that nothing is left to do.
            let frame = [IoSlice::new(&[0; OFFLOAD_HEADER]), IoSlice::new(packet.data())];
            match self.device.write_vectored(&frame) {
                Ok(_) => {
                    self.counters.count_sent(packet.len());
                    accepted += 1;
                }
                Err(error) if is_idle(&error) => {
                    self.counters.count_drops(DropReason::QueueFull, 1);
                }
                // The driver's word for a device that is down.
                Err(error) if error.raw_os_error() == Some(libc::EIO) => {
                    self.state = PortState::Down;
                    self.counters.count_drops(DropReason::LinkDown, 1);
                }
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                    self.counters.count_drops(DropReason::SendRefused, 1);
                }
                Err(error) => {
                    failure = Some(self.failed("send", &error));
                    break;
                }
            }
        }
        burst.clear();
        match failure {
            // Those before it were sent. The next call fails at once.
            Some(failure) if accepted == 0 => Err(failure),
            _ => Ok(accepted),
        }
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }

    fn state(&self) -> PortState {
        self.state
    }

    fn why_down(&self) -> Option<String> {
        self.interface.why_down()
    }

    fn readiness(&self) -> Readiness {
        match self.state {
            _ if !self.segments.is_empty() => Readiness::Now,
            PortState::Gone => Readiness::Never,
            _ => Readiness::Descriptor(self.device.as_raw_fd()),
        }
    }
}
