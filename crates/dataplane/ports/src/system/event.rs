//! Events between processes (`man 2 eventfd`), and waiting for any of several.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::check;
use super::ringer::Ringer;

/// What `/proc` says of a descriptor of an event.
const LINK: &str = "anon_inode:[eventfd]";

/// A counter whose descriptor is readable while it is not zero.
#[derive(Debug)]
pub(crate) struct Event {
    descriptor: OwnedFd,
    /// For an event that another process has too, and may make blocking.
    ringer: Option<&'static Ringer>,
}

impl Event {
    /// A new one, for this process alone.
    pub(crate) fn new() -> io::Result<Event> {
        // SAFETY: no pointers; the descriptor returned is new, and has no other owner.
        let descriptor =
            unsafe { OwnedFd::from_raw_fd(check(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK))?) };
        Ok(Event {
            descriptor,
            ringer: None,
        })
    }

    /// A new one that another process will have too.
    pub(crate) fn for_peer() -> io::Result<Event> {
        let ringer = Ringer::of_process();
        Event::new().map(|event| Event { ringer, ..event })
    }

    /// One that another process has made. Anything that is not an event is refused, because writing to it could block.
    pub(crate) fn of_peer(descriptor: OwnedFd) -> io::Result<Event> {
        let path = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
        if std::fs::read_link(path)?.as_os_str() != LINK {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        // SAFETY: no pointers.
        let flags = check(unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_GETFL) })?;
        // SAFETY: no pointers.
        check(unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) })?;
        Ok(Event {
            descriptor,
            ringer: Ringer::of_process(),
        })
    }

    /// Makes it readable. A counter that is at its end is readable already. Does not wait, whatever another process
    /// does to the event, unless the kernel has no way for that ([`Ringer`]).
    #[inline]
    pub(crate) fn ring(&self) {
        if !self.ringer.is_some_and(|ringer| ringer.ring(self.as_fd())) {
            self.write();
        }
    }

    fn write(&self) {
        let one = 1u64;
        // SAFETY: pointer and length describe `one`, which the kernel only reads.
        unsafe { libc::write(self.descriptor.as_raw_fd(), (&raw const one).cast(), size_of::<u64>()) };
    }

    /// Makes it not readable; returns whether it was. For events of this process alone: the read could wait otherwise.
    pub(crate) fn take(&self) -> bool {
        let mut count = 0u64;
        // SAFETY: pointer and length describe `count`.
        let read = unsafe { libc::read(self.descriptor.as_raw_fd(), (&raw mut count).cast(), size_of::<u64>()) };
        read == size_of::<u64>() as isize
    }
}

impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// A descriptor that is readable when any event of a set has been rung since [`Bell::hush`].
///
/// Events are watched for edges: their counters are never read, so that a wake-up costs one system call for all of
/// them.
#[derive(Debug)]
pub(crate) struct Bell(OwnedFd);

impl Bell {
    /// One for no event.
    pub(crate) fn new() -> io::Result<Bell> {
        // SAFETY: no pointers; the descriptor returned is new, and has no other owner.
        let epoll = unsafe { OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        Ok(Bell(epoll))
    }

    /// Watches an event too, until it is closed everywhere or [removed](Bell::remove).
    pub(crate) fn add(&self, event: &Event) -> io::Result<()> {
        let mut interest = libc::epoll_event {
            events: (libc::EPOLLIN | libc::EPOLLET) as u32,
            u64: 0,
        };
        // SAFETY: both descriptors are open; the kernel only reads `interest`.
        check(unsafe {
            libc::epoll_ctl(
                self.0.as_raw_fd(),
                libc::EPOLL_CTL_ADD,
                event.descriptor.as_raw_fd(),
                &raw mut interest,
            )
        })?;
        Ok(())
    }

    /// Does not watch an event any more. The descriptor alone would stay watched as long as the peer has it.
    pub(crate) fn remove(&self, event: &Event) {
        // SAFETY: both descriptors are open; a null pointer is allowed here.
        unsafe {
            libc::epoll_ctl(
                self.0.as_raw_fd(),
                libc::EPOLL_CTL_DEL,
                event.descriptor.as_raw_fd(),
                std::ptr::null_mut(),
            );
        }
    }

    /// Makes it not readable.
    pub(crate) fn hush(&self) {
        const EVENTS: usize = 16;
        // SAFETY: plain old data, see the module above.
        let mut events: [libc::epoll_event; EVENTS] = unsafe { std::mem::zeroed() };
        loop {
            // SAFETY: pointer and count describe `events`.
            let count = unsafe { libc::epoll_wait(self.0.as_raw_fd(), events.as_mut_ptr(), EVENTS as i32, 0) };
            if count < EVENTS as i32 {
                return;
            }
        }
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::{PollDescriptor, poll};
    use std::io::Write;
    use std::sync::mpsc;
    use std::time::Duration;

    fn is_readable(bell: &Bell) -> bool {
        poll(&mut [PollDescriptor::readable(bell.as_fd().as_raw_fd())], 0).expect("can poll")
    }

    #[test]
    fn a_bell_rings_once_for_each_edge() {
        let (bell, event) = (Bell::new().expect("a bell"), Event::new().expect("an event"));
        bell.add(&event).expect("can watch");
        assert!(!is_readable(&bell));
        for _ in 0..3 {
            event.ring();
            assert!(is_readable(&bell));
            bell.hush();
            assert!(
                !is_readable(&bell),
                "the counter is not zero, and yet there is nothing new"
            );
        }
        bell.remove(&event);
        event.ring();
        assert!(!is_readable(&bell));
        assert!(event.take());
        assert!(!event.take());
    }

    #[test]
    fn only_events_are_taken_from_peers() {
        let file = tempfile::tempfile().expect("a file");
        assert!(Event::of_peer(file.into()).is_err());
        let event = Event::new().expect("an event");
        let copy = event.as_fd().try_clone_to_owned().expect("a copy");
        Event::of_peer(copy).expect("an event").ring();
        assert!(event.take());
    }

    #[test]
    fn ringing_does_not_wait_for_a_peer() {
        /// More than the results that the kernel keeps.
        const RINGS: usize = 2000;
        let event = Event::for_peer().expect("an event");
        if event.ringer.is_none() {
            return;
        }
        let mut peer: std::fs::File = event.as_fd().try_clone_to_owned().expect("a copy").into();
        // SAFETY: no pointers.
        check(unsafe { libc::fcntl(peer.as_raw_fd(), libc::F_SETFL, 0) }).expect("blocking");
        event.ring();
        peer.write_all(&(u64::MAX - 2).to_ne_bytes())
            .expect("the counter has room for it");
        let (done, is_done) = mpsc::channel();
        std::thread::spawn(move || {
            (0..RINGS).for_each(|_| event.ring());
            done.send(event.take())
        });
        assert_eq!(is_done.recv_timeout(Duration::from_secs(20)), Ok(true));
    }
}
