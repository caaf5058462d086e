//! An AF_XDP socket: a piece of memory cut into frames, and four rings by which frames change hands with the kernel.
//!
//! ```text
//!              fill ring ──► kernel ──► receive ring         the first `receive_frames` frames go round here
//!   us ──► transmit ring ──► kernel ──► completion ring      the others here
//! ```
//!
//! Whose frame is whose: a frame is the kernel's from the moment its address is published in the fill or transmit ring
//! until the address is read from the receive or completion ring. Addresses are private to this module, so no
//! other code can read a frame while the kernel writes it.

use std::io;
use std::mem::{size_of, size_of_val, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr;

use forebay_packet::prefetch;
use libc::{c_int, c_void, off_t, socklen_t, xdp_desc, xdp_mmap_offsets, xdp_statistics, xdp_umem_reg};

use super::mapping::Mapping;
use super::xdp_ring::{FromKernel, ToKernel};
use super::{check, set_option, socket, take_error};

/// Bytes in front of a received frame that the kernel keeps for programs (XDP_PACKET_HEADROOM).
const KERNEL_HEADROOM: usize = 256;

/// XDP_MAX_TX_SKB_BUDGET (Linux 6.17): frames that one system call sends in copy mode; 32 without it.
const SEND_BUDGET: c_int = 9;

/// SO_BUSY_POLL, and SO_PREFER_BUSY_POLL and SO_BUSY_POLL_BUDGET (Linux 5.11).
const BUSY_POLL: c_int = 46;
const PREFER_BUSY_POLL: c_int = 69;
const BUSY_POLL_BUDGET: c_int = 70;

/// Frames that a driver handles in one system call that polls it, and how long such a call may go on, in microseconds.
const BUSY_POLL_FRAMES: c_int = 64;
const BUSY_POLL_MICROSECONDS: c_int = 20;

/// Frames of a socket that are the kernel's to fill beyond those that wait in the receive ring, so that it is the ring
/// that is full first: those losses have a counter of their own.
const FILL_RESERVE: u32 = 64;

/// Which queue of which interface, and with how much memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SocketOptions {
    /// The interface's number.
    pub(crate) interface_index: u32,
    /// The queue.
    pub(crate) queue: u32,
    /// Bytes of a frame: 2048 or 4096.
    pub(crate) frame_bytes: usize,
    /// Frames in the receive ring and in the transmit ring; a power of two.
    pub(crate) ring_frames: u32,
    /// Whether frames may come and go in several pieces.
    pub(crate) pieces: bool,
    /// Whether the driver works only when it is asked to, on the asking processor.
    pub(crate) busy_poll: bool,
}

/// How packets get from the driver's memory to ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyMode {
    /// The driver uses our memory, without a copy.
    ZeroCopy,
    /// The kernel copies them.
    Copy,
}

/// What has become of published frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Refused {
    /// Frames that the interface dropped because its queue was full.
    pub(crate) frames: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
}

/// A bound AF_XDP socket with its memory.
pub(crate) struct XdpSocket {
    descriptor: OwnedFd,
    memory: Mapping,
    frame_bytes: usize,
    pieces: bool,
    busy_poll: bool,
    receive: FromKernel<xdp_desc>,
    transmit: ToKernel<xdp_desc>,
    fill: ToKernel<u64>,
    completion: FromKernel<u64>,
    /// Addresses of transmit frames that are ours.
    free: Vec<u64>,
}

impl XdpSocket {
    /// The most bytes of a packet that a frame of `frame_bytes` takes on its way in.
    pub(crate) fn room(frame_bytes: usize) -> usize {
        frame_bytes - KERNEL_HEADROOM
    }

    /// Makes a socket for a queue and gives the kernel frames to fill.
    pub(crate) fn open(options: &SocketOptions) -> io::Result<(XdpSocket, CopyMode)> {
        let descriptor = socket(libc::AF_XDP, libc::SOCK_RAW)?;
        let handle = descriptor.as_fd();
        let ring = options.ring_frames;
        let receive_frames = ring + FILL_RESERVE;
        let total = (receive_frames + ring) as usize;
        let memory = Mapping::anonymous(total * options.frame_bytes)?;
        register_memory(handle, &memory, options.frame_bytes)?;
        // The fill ring takes all receive frames at once.
        let fill_size = receive_frames.next_power_of_two();
        for (option, size) in [
            (libc::XDP_UMEM_FILL_RING, fill_size),
            (libc::XDP_UMEM_COMPLETION_RING, ring),
            (libc::XDP_RX_RING, ring),
            (libc::XDP_TX_RING, ring),
        ] {
            set_option(handle, libc::SOL_XDP, option, &size)?;
        }
        let offsets = ring_offsets(handle)?;
        let mut made = XdpSocket {
            memory,
            frame_bytes: options.frame_bytes,
            pieces: options.pieces,
            busy_poll: options.busy_poll,
            receive: FromKernel::map(handle, libc::XDP_PGOFF_RX_RING, &offsets.rx, ring)?,
            transmit: ToKernel::map(handle, libc::XDP_PGOFF_TX_RING, &offsets.tx, ring)?,
            fill: ToKernel::map(handle, libc::XDP_UMEM_PGOFF_FILL_RING as off_t, &offsets.fr, fill_size)?,
            completion: FromKernel::map(handle, libc::XDP_UMEM_PGOFF_COMPLETION_RING as off_t, &offsets.cr, ring)?,
            free: Vec::with_capacity(ring as usize),
            descriptor,
        };
        let address = |frame: u32| u64::from(frame) * options.frame_bytes as u64;
        (0..receive_frames).for_each(|frame| made.fill.push(address(frame)));
        made.fill.publish();
        made.free
            .extend((receive_frames..receive_frames + ring).rev().map(address));
        // Since Linux 6.17; without it sending takes more system calls.
        let _ = set_option(made.descriptor.as_fd(), libc::SOL_XDP, SEND_BUDGET, &ring);
        let mode = made.bind(options)?;
        if options.busy_poll {
            made.prefer_busy_poll()?;
        }
        Ok((made, mode))
    }

    /// Binds to the queue, without copies if the driver can.
    fn bind(&self, options: &SocketOptions) -> io::Result<CopyMode> {
        let pieces = if options.pieces { libc::XDP_USE_SG } else { 0 };
        let address = |flags| libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: flags | pieces | libc::XDP_USE_NEED_WAKEUP,
            sxdp_ifindex: options.interface_index,
            sxdp_queue_id: options.queue,
            sxdp_shared_umem_fd: 0,
        };
        let bind = |address: &libc::sockaddr_xdp| {
            let length = size_of_val(address) as socklen_t;
            let pointer = ptr::from_ref(address).cast::<libc::sockaddr>();
            // SAFETY: the pointer and length describe `address`, which the kernel only reads.
            check(unsafe { libc::bind(self.descriptor.as_raw_fd(), pointer, length) })
        };
        if bind(&address(libc::XDP_ZEROCOPY)).is_ok() {
            return Ok(CopyMode::ZeroCopy);
        }
        bind(&address(libc::XDP_COPY)).map(|_| CopyMode::Copy)
    }

    /// Has the driver work when it is asked to, in place of interrupts.
    fn prefer_busy_poll(&self) -> io::Result<()> {
        for (option, value) in [
            (PREFER_BUSY_POLL, 1),
            (BUSY_POLL, BUSY_POLL_MICROSECONDS),
            (BUSY_POLL_BUDGET, BUSY_POLL_FRAMES),
        ] {
            set_option(self.descriptor(), libc::SOL_SOCKET, option, &value)?;
        }
        Ok(())
    }

    /// The descriptor to poll and to put in a map of sockets.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Whether its interface was deleted or moved to another network namespace since the last look. It stays without
    /// one, also when the interface returns with the same number.
    pub(crate) fn has_lost_interface(&self) -> bool {
        take_error(self.descriptor()).is_ok_and(|error| error == libc::ENETDOWN)
    }

    /// The descriptor's number.
    pub(crate) fn raw_descriptor(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    /// Takes up to `max` packets that have come. `take` gets each packet piece by piece, with whether the piece is its
    /// first; a packet is never given in part.
    #[inline]
    pub(crate) fn receive(&mut self, max: usize, mut take: impl FnMut(&[u8], bool)) -> usize {
        let mut available = self.receive.available();
        if available == 0 && self.busy_poll {
            self.ask_driver();
            available = self.receive.available();
        }
        let (mut packets, mut whole, mut first) = (0, 0, true);
        for index in 0..available {
            if packets == max {
                break;
            }
            if self.receive.peek(index).options & libc::XDP_PKT_CONTD == 0 {
                packets += 1;
                whole = index + 1;
            }
        }
        for index in 0..whole {
            let entry = self.receive.peek(index);
            if let Some(next) = (index + 1 < whole).then(|| self.receive.peek(index + 1)) {
                prefetch::line_to_read(self.memory.start().wrapping_add(next.addr as usize));
            }
            take(self.frame(entry.addr, entry.len as usize), first);
            first = entry.options & libc::XDP_PKT_CONTD == 0;
            let chunk = entry.addr - entry.addr % self.frame_bytes as u64;
            // It has room: it holds all frames that there are for receiving.
            self.fill.push(chunk);
        }
        if whole > 0 {
            self.receive.release(whole);
            self.fill.publish();
        }
        packets
    }

    /// Wakes a driver that waits to be told that there are frames to fill.
    pub(crate) fn wake_receiver(&self) {
        if self.fill.needs_wakeup() {
            self.ask_driver();
        }
    }

    /// Has the driver look for frames.
    fn ask_driver(&self) {
        let (nowhere, nobody) = (ptr::null_mut::<c_void>(), ptr::null_mut());
        // SAFETY: no buffer, length zero. There is nothing to learn from the result: the rings show what came.
        unsafe {
            libc::recvfrom(
                self.raw_descriptor(),
                nowhere,
                0,
                libc::MSG_DONTWAIT,
                nobody,
                ptr::null_mut(),
            )
        };
    }

    /// Copies a packet into the transmit ring; false when that is full. It goes with the next [`XdpSocket::kick`].
    #[inline]
    pub(crate) fn push(&mut self, packet: &[u8]) -> bool {
        let pieces = packet.len().div_ceil(self.frame_bytes).max(1);
        if self.free.len() < pieces {
            self.take_completions();
        }
        if self.free.len() < pieces || !self.transmit.has_room(pieces as u32) {
            return false;
        }
        let mut rest = packet;
        for piece in 1..=pieces {
            let (now, later) = rest.split_at(rest.len().min(self.frame_bytes));
            let address = self.free.pop().expect("counted above");
            self.frame_mut(address, now.len()).copy_from_slice(now);
            self.transmit.push(xdp_desc {
                addr: address,
                len: now.len() as u32,
                options: if piece < pieces { libc::XDP_PKT_CONTD } else { 0 },
            });
            rest = later;
        }
        true
    }

    /// The longest packet that can be received, in bytes.
    pub(crate) fn longest_received(&self) -> usize {
        if self.pieces {
            usize::MAX
        } else {
            XdpSocket::room(self.frame_bytes)
        }
    }

    /// The longest packet that can be sent, in bytes.
    pub(crate) fn longest(&self) -> usize {
        // The kernel takes 17 pieces (MAX_SKB_FRAGS) of a packet.
        if self.pieces {
            17 * self.frame_bytes
        } else {
            self.frame_bytes
        }
    }

    /// Publishes what was pushed and has the kernel send it, as far as it does at once. What it leaves goes with the
    /// next call.
    ///
    /// # Errors
    /// When the kernel cannot send at all: the interface is down or gone.
    pub(crate) fn kick(&mut self) -> io::Result<Refused> {
        self.transmit.publish();
        let mut refused = Refused::default();
        let mut taken = self.transmit.taken();
        while self.transmit.is_pending() && self.transmit.needs_wakeup() {
            let result = self.send_published();
            let before = std::mem::replace(&mut taken, self.transmit.taken());
            match result {
                Ok(()) => {}
                // The interface's queue was full: the last frame taken was dropped.
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) && taken != before => {
                    refused.frames += 1;
                    refused.bytes += u64::from(self.transmit.written(taken.wrapping_sub(1)).len);
                }
                Err(error) if is_temporary(&error) => {}
                Err(error) => return Err(error),
            }
            if taken == before {
                break;
            }
        }
        self.take_completions();
        Ok(refused)
    }

    /// Whether published frames wait for another [`XdpSocket::kick`].
    pub(crate) fn is_sending(&self) -> bool {
        self.transmit.is_pending()
    }

    fn send_published(&self) -> io::Result<()> {
        let (nothing, flags) = (ptr::null::<c_void>(), libc::MSG_DONTWAIT);
        // SAFETY: no buffer, length zero: the call makes the kernel look at the transmit ring.
        let sent = unsafe { libc::sendto(self.raw_descriptor(), nothing, 0, flags, ptr::null(), 0) };
        check(sent as c_int).map(drop)
    }

    fn take_completions(&mut self) {
        let done = self.completion.available();
        for index in 0..done {
            let address = self.completion.peek(index);
            self.free.push(address - address % self.frame_bytes as u64);
        }
        if done > 0 {
            self.completion.release(done);
        }
    }

    /// What the kernel counts since the socket was made.
    pub(crate) fn statistics(&self) -> io::Result<xdp_statistics> {
        get_option(self.descriptor(), libc::XDP_STATISTICS)
    }

    /// A frame that is ours to read.
    fn frame(&self, address: u64, length: usize) -> &[u8] {
        self.check_frame(address, length);
        // SAFETY: within the mapping; the kernel has given the frame to us and does not write it before it is back in
        // the fill ring, which `&mut self` excludes as long as the slice lives.
        unsafe { std::slice::from_raw_parts(self.memory.start().add(address as usize), length) }
    }

    /// A frame that is ours to write.
    fn frame_mut(&mut self, address: u64, length: usize) -> &mut [u8] {
        self.check_frame(address, length);
        // SAFETY: within the mapping; the frame was in `free`, so the kernel does not read it.
        unsafe { std::slice::from_raw_parts_mut(self.memory.start().add(address as usize), length) }
    }

    fn check_frame(&self, address: u64, length: usize) {
        let end = (address as usize).checked_add(length);
        assert!(
            end.is_some_and(|end| end <= self.memory.len()),
            "a frame outside the memory"
        );
    }
}

/// Errors after which trying again later may help.
fn is_temporary(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::EINTR | libc::ENOMEM)
    )
}

fn register_memory(socket: BorrowedFd<'_>, memory: &Mapping, frame_bytes: usize) -> io::Result<()> {
    let registration = xdp_umem_reg {
        addr: memory.start() as u64,
        len: memory.len() as u64,
        chunk_size: frame_bytes as u32,
        headroom: 0,
        flags: 0,
        tx_metadata_len: 0,
    };
    // The memory stays mapped as long as the socket: both belong to one structure. The kernel holds on to its pages.
    set_option(socket, libc::SOL_XDP, libc::XDP_UMEM_REG, &registration)
}

fn ring_offsets(socket: BorrowedFd<'_>) -> io::Result<xdp_mmap_offsets> {
    get_option(socket, libc::XDP_MMAP_OFFSETS)
}

/// Reads an option of an AF_XDP socket whose value is a structure of plain old data.
fn get_option<T>(socket: BorrowedFd<'_>, option: c_int) -> io::Result<T> {
    // SAFETY: plain old data, as the callers within this module promise.
    let mut value: T = unsafe { zeroed() };
    let mut length = size_of::<T>() as socklen_t;
    let pointer = ptr::from_mut(&mut value).cast::<c_void>();
    // SAFETY: the kernel writes at most `length` bytes to `value`.
    check(unsafe { libc::getsockopt(socket.as_raw_fd(), libc::SOL_XDP, option, pointer, &mut length) })?;
    Ok(value)
}
