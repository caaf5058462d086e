//! The C interface for co-simulation: [`forebay_sim::CoSimulation`] behind functions of C.
//!
//! `include/forebay_cosim.h` is what callers read; this file and that one declare the same. `docs/cosimulation.md` is
//! the guide, with an example that keeps time in ns-3's and in SimBricks' way (`examples/two_ways.c`).
//!
//! # Guarantees
//! * No panic leaves a function: a network in which one occurred answers [`BROKEN`] from then on.
//! * Wrong arguments (null pointers, ports that do not exist, times that are past) are refused and change nothing.
//! * Frames are copied on the way in; on the way out a frame is valid until the next call with its network.
//!
//! # Safety
//! Each function is safe under what the header demands: pointers are null or point to what they say, a network comes
//! from [`forebay_open`], has not been closed, and is used by one thread at a time.

use forebay_files::Folder;
use forebay_sim::{CoSimulation, Left, Place};
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr;
use std::slice;

/// Nothing will happen unless a frame is submitted.
pub const NEVER: u64 = u64::MAX;
/// The latest time of a frame that is submitted: what it causes comes later, and must be a number, too.
pub const TIME_MAX: u64 = u64::MAX / 2;
/// Done.
pub const OK: i32 = 0;
/// The time is before the present one.
pub const PAST: i32 = -1;
/// A null pointer, or no such port.
pub const WRONG: i32 = -2;
/// A mistake of ours: the network cannot be used any more.
pub const BROKEN: i32 = -3;

/// Ports of a chip in the numbers of [`forebay_port`]: more than a chip can have.
const PORTS: i32 = 1 << 16;

/// `forebay_network`: chips and links at a point in time.
pub struct ForebayNetwork {
    simulation: CoSimulation,
    /// The frame that was taken last.
    taken: Vec<u8>,
    is_broken: bool,
}

/// `forebay_departure`: a frame that has left by a port that leads outside.
#[repr(C)]
pub struct ForebayDeparture {
    /// As [`forebay_port`] returns it.
    pub port: i32,
    /// When its last byte was out, in picoseconds.
    pub time: u64,
    /// The tag of the submitted frame that it was made of.
    pub tag: u64,
    /// Valid until the next call with this network.
    pub frame: *const u8,
    /// Bytes.
    pub length: usize,
}

/// Reads a scenario and loads its programs; null, and a message, when something is wrong.
///
/// # Safety
/// `scenario` is null or a text that ends with a zero; `message` has room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_open(
    scenario: *const c_char,
    seed: u64,
    message: *mut c_char,
    size: usize,
) -> *mut ForebayNetwork {
    // SAFETY: as this function demands.
    let path = unsafe { text(scenario) };
    let opened = match path {
        Some(path) => catch_unwind(|| open(Path::new(path), seed))
            .unwrap_or_else(|_| Err("a mistake of Forebay's: please report it".to_string())),
        None => Err("the name of the scenario is null or no UTF-8".to_string()),
    };
    match opened {
        Ok(simulation) => Box::into_raw(Box::new(ForebayNetwork {
            simulation,
            taken: Vec::new(),
            is_broken: false,
        })),
        Err(problem) => {
            // SAFETY: as this function demands.
            unsafe { copy(&problem, message, size) };
            ptr::null_mut()
        }
    }
}

fn open(path: &Path, seed: u64) -> Result<CoSimulation, String> {
    let text = forebay_files::text(path, "scenario").map_err(|error| error.to_string())?;
    let library = Folder::new(path.parent().unwrap_or(Path::new("")));
    CoSimulation::new(&text, &library, Some(seed)).map_err(|problems| {
        let lines = problems.iter().map(|problem| format!("{}:{problem}", path.display()));
        lines.collect::<Vec<_>>().join("\n")
    })
}

/// Frees a network.
///
/// # Safety
/// `network` is null or comes from [`forebay_open`], and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_close(network: *mut ForebayNetwork) {
    if !network.is_null() {
        // SAFETY: it was a box, and the caller gives it back.
        let network = unsafe { Box::from_raw(network) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(network)));
    }
}

/// The port with this name.
///
/// # Safety
/// `network` is null or valid; `name` is null or a text that ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_port(network: *const ForebayNetwork, name: *const c_char) -> i32 {
    // SAFETY: as this function demands.
    let (network, name) = unsafe { (network.as_ref(), text(name)) };
    let place = network.zip(name).map(|(network, name)| network.simulation.port(name));
    place.and_then(Result::ok).map_or(WRONG, number)
}

/// The last byte of a frame comes to a port at a time that is not past, and at most [`TIME_MAX`].
///
/// # Safety
/// `network` is null or valid; `frame` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_submit(
    network: *mut ForebayNetwork,
    port: i32,
    frame: *const u8,
    length: usize,
    tag: u64,
    time: u64,
) -> i32 {
    // SAFETY: as this function demands.
    let network = unsafe { network.as_mut() };
    let (Some(network), Some(place)) = (network, place(port)) else {
        return WRONG;
    };
    if frame.is_null() || length == 0 || time > TIME_MAX {
        return WRONG;
    }
    // SAFETY: as this function demands.
    let frame = unsafe { slice::from_raw_parts(frame, length) };
    network.guarded(|network| {
        if !network.simulation.has_port(place) {
            return WRONG;
        }
        match network.simulation.submit(place, frame, tag, time) {
            Ok(()) => OK,
            Err(_) => PAST,
        }
    })
}

/// When something happens next if no frame is submitted before.
///
/// # Safety
/// `network` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_next_event(network: *const ForebayNetwork) -> u64 {
    // SAFETY: as this function demands.
    let network = unsafe { network.as_ref() }.filter(|network| !network.is_broken);
    network
        .and_then(|network| network.simulation.next_event())
        .unwrap_or(NEVER)
}

/// Lets everything happen up to a time, this one included.
///
/// # Safety
/// `network` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_advance(network: *mut ForebayNetwork, until: u64) -> i32 {
    // SAFETY: as this function demands.
    let Some(network) = (unsafe { network.as_mut() }) else {
        return WRONG;
    };
    network.guarded(|network| {
        network.simulation.advance(until);
        OK
    })
}

/// The present time.
///
/// # Safety
/// `network` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_now(network: *const ForebayNetwork) -> u64 {
    // SAFETY: as this function demands.
    unsafe { network.as_ref() }.map_or(0, |network| network.simulation.now())
}

/// The next frame that has left up to the present time: 1, or 0 when there is none.
///
/// # Safety
/// `network` is null or valid; `departure` is null or has room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_take(network: *mut ForebayNetwork, departure: *mut ForebayDeparture) -> i32 {
    // SAFETY: as this function demands.
    let (Some(network), false) = (unsafe { network.as_mut() }, departure.is_null()) else {
        return WRONG;
    };
    let Some(Left {
        place,
        time,
        tag,
        frame,
    }) = network.simulation.take()
    else {
        return 0;
    };
    network.taken = frame;
    let left = ForebayDeparture {
        port: number(place),
        time,
        tag,
        frame: network.taken.as_ptr(),
        length: network.taken.len(),
    };
    // SAFETY: it is not null, so there is room for it.
    unsafe { departure.write(left) };
    1
}

/// Packets that chips have lost and programs have dropped.
///
/// # Safety
/// `network` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_ended(network: *const ForebayNetwork) -> u64 {
    // SAFETY: as this function demands.
    unsafe { network.as_ref() }.map_or(0, |network| network.simulation.ends().values().sum())
}

/// The same by place and reason, a line each. Returns the length of the whole.
///
/// # Safety
/// `network` is null or valid; `text` has room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_ends(network: *const ForebayNetwork, text: *mut c_char, size: usize) -> usize {
    // SAFETY: as this function demands.
    let Some(network) = (unsafe { network.as_ref() }) else {
        return 0;
    };
    let ends = network.simulation.ends().iter();
    let lines: String = ends.map(|(end, count)| format!("{count} {end}\n")).collect();
    // SAFETY: as this function demands.
    unsafe { copy(&lines, text, size) };
    lines.len()
}

impl ForebayNetwork {
    /// Calls unless the network is broken; breaks it when the call panics.
    fn guarded(&mut self, call: impl FnOnce(&mut ForebayNetwork) -> i32) -> i32 {
        if self.is_broken {
            return BROKEN;
        }
        catch_unwind(AssertUnwindSafe(|| call(self))).unwrap_or_else(|_| {
            self.is_broken = true;
            BROKEN
        })
    }
}

fn number(place: Place) -> i32 {
    i32::from(place.chip) * PORTS + i32::from(place.port)
}

fn place(number: i32) -> Option<Place> {
    (number >= 0).then_some(Place {
        chip: (number / PORTS) as u16,
        port: (number % PORTS) as u16,
    })
}

/// A text of C.
///
/// # Safety
/// It is null or ends with a zero, and lives as long as what is returned.
unsafe fn text<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: as this function demands.
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}

/// Copies as much of a text as fits, and a zero.
///
/// # Safety
/// `room` is null or has room for `size` bytes.
unsafe fn copy(text: &str, room: *mut c_char, size: usize) {
    if room.is_null() || size == 0 {
        return;
    }
    let length = text.len().min(size - 1);
    // SAFETY: `length` and a zero are at most `size` bytes, and a text of Rust does not overlap with the caller's room.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr(), room.cast::<u8>(), length);
        room.add(length).write(0);
    }
}
