//! The functions of `shim.c`, made safe.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};

/// Frames at once, at most.
pub(crate) const BURST: usize = 64;

/// Room for what DPDK says about an error, in bytes.
const MESSAGE_BYTES: usize = 256;

/// `struct forebay_device`.
#[repr(C)]
#[derive(Debug)]
struct Opened {
    port: u16,
    queues: u16,
    longest: u32,
    socket: c_int,
    pool: *mut c_void,
}

/// `struct forebay_frame`: memory with room for a frame, or a frame.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Frame {
    data: *mut u8,
    length: u32,
}

// SAFETY: the pointer is used only during a call of `Device::receive` or `Device::send`, whose caller has borrowed the
// memory that it points to.
unsafe impl Send for Frame {}

impl Frame {
    /// Without memory.
    pub(crate) const fn none() -> Frame {
        Frame {
            data: std::ptr::null_mut(),
            length: 0,
        }
    }

    /// These bytes: a frame to be sent, or room for one.
    pub(crate) fn of(bytes: &mut [u8]) -> Frame {
        Frame {
            data: bytes.as_mut_ptr(),
            length: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
        }
    }

    /// How long the frame is that came, in bytes; longer than its room when it was not copied.
    pub(crate) fn length(&self) -> usize {
        self.length as usize
    }
}

/// `struct forebay_stats`.
#[repr(C)]
#[derive(Default)]
struct Stats {
    missed: u64,
    no_buffers: u64,
}

unsafe extern "C" {
    fn forebay_dpdk_start(count: c_int, arguments: *mut *mut c_char, error: *mut c_char, size: usize) -> c_int;
    fn forebay_dpdk_open(
        description: *const c_char,
        mtu: u16,
        device: *mut Opened,
        error: *mut c_char,
        size: usize,
    ) -> c_int;
    fn forebay_dpdk_close(device: *mut Opened);
    fn forebay_dpdk_receive(device: *const Opened, queue: u16, frames: *mut Frame, count: u16) -> u16;
    fn forebay_dpdk_send(device: *const Opened, queue: u16, frames: *const Frame, count: u16) -> u16;
    fn forebay_dpdk_has_link(device: *const Opened) -> c_int;
    fn forebay_dpdk_stats(device: *const Opened, stats: *mut Stats);
}

/// Calls a function that writes a message when it fails.
fn explained(call: impl FnOnce(*mut c_char, usize) -> c_int) -> Result<(), String> {
    let mut message = [0u8; MESSAGE_BYTES];
    match call(message.as_mut_ptr().cast(), message.len()) {
        0 => Ok(()),
        _ => {
            let text = CStr::from_bytes_until_nul(&message).unwrap_or_default();
            Err(text.to_string_lossy().into_owned())
        }
    }
}

/// A text for C.
fn text(words: &str) -> Result<CString, String> {
    CString::new(words).map_err(|_| format!("`{}` has a zero byte", words.escape_debug()))
}

/// Starts the environment with arguments. To be called once.
pub(crate) fn start(arguments: &[String]) -> Result<(), String> {
    let words = std::iter::once("forebay").chain(arguments.iter().map(String::as_str));
    let words: Vec<CString> = words.map(text).collect::<Result<_, _>>()?;
    // DPDK keeps pointers to its arguments.
    let mut pointers: Vec<*mut c_char> = words.into_iter().map(CString::into_raw).collect();
    let count = pointers.len() as c_int;
    pointers.push(std::ptr::null_mut());
    let pointers = pointers.leak();
    // SAFETY: an array of `count` strings and a null pointer, which live for ever; the message has the size that is
    // said.
    explained(|error, size| unsafe { forebay_dpdk_start(count, pointers.as_mut_ptr(), error, size) })
}

/// The processors on which this process may run, as `0,1,5`.
pub(crate) fn processors() -> String {
    // SAFETY: plain old data for which zero is a value; the kernel writes at most the size that is said.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
        set
    };
    // SAFETY: below the number of bits of a set.
    let may = |processor: &usize| unsafe { libc::CPU_ISSET(*processor, &set) };
    let all = (0..libc::CPU_SETSIZE as usize)
        .filter(may)
        .map(|processor| processor.to_string());
    all.collect::<Vec<_>>().join(",")
}

/// A device that was started.
#[derive(Debug)]
pub(crate) struct Device(Opened);

// SAFETY: DPDK's functions for queues, links and counters may be called by any thread; a queue is used by one thread at
// a time, since each port has one of its own and is borrowed mutably.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

impl Device {
    /// Opens and starts a device with at most `queues` queues for each direction. `mtu` is in bytes.
    pub(crate) fn open(description: &str, queues: u16, mtu: Option<u16>) -> Result<Device, String> {
        let description = text(description)?;
        let mut opened = Opened {
            port: 0,
            queues,
            longest: 0,
            socket: 0,
            pool: std::ptr::null_mut(),
        };
        explained(|error, size| {
            // SAFETY: a string, a structure of the layout that the shim has, a message with the size that is said.
            unsafe { forebay_dpdk_open(description.as_ptr(), mtu.unwrap_or(0), &mut opened, error, size) }
        })?;
        Ok(Device(opened))
    }

    /// How many queues it has for each direction.
    pub(crate) fn queues(&self) -> u16 {
        self.0.queues
    }

    /// The longest frame, in bytes without check sequence.
    pub(crate) fn longest(&self) -> usize {
        self.0.longest as usize
    }

    /// Receives into frames that have memory; returns how many arrived.
    pub(crate) fn receive(&self, queue: u16, frames: &mut [Frame]) -> usize {
        let count = frames.len().min(BURST) as u16;
        // SAFETY: the frames are memory that the caller has borrowed, see `Frame`; the queue is one of the device's.
        usize::from(unsafe { forebay_dpdk_receive(&self.0, queue, frames.as_mut_ptr(), count) })
    }

    /// Sends frames, none longer than the longest; returns how many of the first were taken.
    pub(crate) fn send(&self, queue: u16, frames: &[Frame]) -> usize {
        debug_assert!(frames.iter().all(|frame| frame.length() <= self.longest()));
        let count = frames.len().min(BURST) as u16;
        // SAFETY: as for `receive`; the shim only reads.
        usize::from(unsafe { forebay_dpdk_send(&self.0, queue, frames.as_ptr(), count) })
    }

    /// Whether there is a link.
    pub(crate) fn has_link(&self) -> bool {
        // SAFETY: an open device.
        unsafe { forebay_dpdk_has_link(&self.0) == 1 }
    }

    /// Frames that were lost because the device's queues were full or no buffer was free.
    pub(crate) fn missed(&self) -> u64 {
        let mut stats = Stats::default();
        // SAFETY: an open device, a structure of the layout that the shim has.
        unsafe { forebay_dpdk_stats(&self.0, &mut stats) };
        stats.missed + stats.no_buffers
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: an open device, which nothing uses any more.
        unsafe { forebay_dpdk_close(&mut self.0) }
    }
}
