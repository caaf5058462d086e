//! Waiting for several ports at once.

use std::io;
use std::os::fd::RawFd;

use forebay_packet::Readiness;

use crate::system::{self, PollDescriptor};

/// How long to wait at most when a port cannot say when it will be ready, in nanoseconds.
const UNKNOWN_WAIT_NS: u64 = 100_000;

/// Waits until one of several ports may have packets. Reusable; allocates only when there are
/// more ports than ever before.
#[derive(Default)]
pub struct Poller {
    descriptors: Vec<PollDescriptor>,
}

impl Poller {
    /// A poller.
    pub fn new() -> Poller {
        Poller::default()
    }

    /// Waits until one of the ports is ready, but no longer than `max_wait_ns`. Returns whether a port said it is ready
    /// (false: the time is over, or no port can tell). Ports are then asked with `receive`, which does not block.
    ///
    /// # Errors
    /// When the system cannot wait; a signal is not an error.
    pub fn wait(
        &mut self,
        ports: impl IntoIterator<Item = Readiness>,
        now_ns: u64,
        max_wait_ns: u64,
    ) -> io::Result<bool> {
        self.descriptors.clear();
        let mut wait_ns = max_wait_ns;
        let mut timed = false;
        for readiness in ports {
            match readiness {
                Readiness::Now => return Ok(true),
                Readiness::Descriptor(descriptor) => self.add(descriptor),
                Readiness::At(time_ns) if time_ns <= now_ns => return Ok(true),
                Readiness::At(time_ns) => {
                    timed |= time_ns - now_ns <= wait_ns;
                    wait_ns = wait_ns.min(time_ns - now_ns);
                }
                Readiness::Unknown => wait_ns = wait_ns.min(UNKNOWN_WAIT_NS),
                Readiness::Never => {}
            }
        }
        Ok(system::poll(&mut self.descriptors, wait_ns)? || timed)
    }

    fn add(&mut self, descriptor: RawFd) {
        self.descriptors.push(PollDescriptor::readable(descriptor));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_readable_descriptor_ends_the_wait() {
        let (mut writer, reader) = UnixStream::pair().expect("sockets");
        let mut poller = Poller::new();
        let port = Readiness::Descriptor(reader.as_raw_fd());
        assert!(!poller.wait([port], 0, 1_000_000).expect("can wait"));
        writer.write_all(b"x").expect("the reader is open");
        assert!(poller.wait([port], 0, 60_000_000_000).expect("can wait"));
    }

    #[test]
    fn times_bound_the_wait() {
        let mut poller = Poller::new();
        assert!(poller.wait([Readiness::Now], 0, u64::MAX).expect("can wait"));
        assert!(poller.wait([Readiness::At(5)], 5, u64::MAX).expect("can wait"));
        let started = Instant::now();
        assert!(poller.wait([Readiness::At(2_000_000)], 0, u64::MAX).expect("can wait"));
        assert!(started.elapsed().as_micros() >= 2000);
        assert!(!poller.wait([Readiness::Unknown], 0, u64::MAX).expect("can wait"));
        assert!(!poller.wait([Readiness::Never], 0, 1000).expect("can wait"));
    }
}
