//! Frames of a batch: arrays of NumPy, and what the switch takes and gives.

use forebay_packet::{FRAME_BYTES_MAX, Packet, copy, prefetch};
use forebay_switch::{Frames, Left, Sink};
use numpy::{IntoPyArray, PyArray1, PyReadwriteArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::ops::Range;

/// The most bytes of frames that are prefetched for a burst. More would displace the burst itself from the first-level
/// cache.
const EXPECTED_MAX: usize = 8 << 10;

/// Frames as arrays: bytes, offsets, ports, origins.
pub(crate) type FrameArrays<'py> = (
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<i64>>,
);

/// Frames as arrays, without a copy.
pub(crate) fn arrays(py: Python<'_>, frames: Frames) -> FrameArrays<'_> {
    (
        frames.data.into_pyarray(py),
        frames.offsets.into_pyarray(py),
        frames.ports.into_pyarray(py),
        frames.origins.into_pyarray(py),
    )
}

/// Port and bytes of each.
pub(crate) fn packets(left: &Frames) -> Vec<(u32, Vec<u8>)> {
    (0..left.len())
        .map(|index| (left.ports[index], left.frame(index).to_vec()))
        .collect()
}

/// Arrays of the caller for frames that leave.
pub(crate) type RoomArrays<'py> = (
    PyReadwriteArray1<'py, u8>,
    PyReadwriteArray1<'py, i64>,
    PyReadwriteArray1<'py, u32>,
    PyReadwriteArray1<'py, i64>,
);

/// Memory of the caller for frames that leave.
pub(crate) struct Room<'m> {
    data: &'m mut [u8],
    /// One more than there is room for frames.
    offsets: &'m mut [i64],
    ports: &'m mut [u32],
    origins: &'m mut [i64],
    /// Frames in it.
    pub(crate) frames: usize,
    /// Bytes of these frames.
    pub(crate) bytes: usize,
    /// Frames for which there was no room, after those in it.
    pub(crate) others: Frames,
}

impl<'m> Room<'m> {
    /// In these arrays.
    pub(crate) fn new((data, offsets, ports, origins): &'m mut RoomArrays<'_>) -> PyResult<Room<'m>> {
        let (data, offsets) = (data.as_slice_mut()?, offsets.as_slice_mut()?);
        let (ports, origins) = (ports.as_slice_mut()?, origins.as_slice_mut()?);
        let [first, ..] = offsets else {
            return Err(PyValueError::new_err("there must be at least one offset"));
        };
        *first = 0;
        Ok(Room {
            data,
            offsets,
            ports,
            origins,
            frames: 0,
            bytes: 0,
            others: Frames::default(),
        })
    }
}

impl Sink for Room<'_> {
    /// Puts packets after the others.
    #[inline]
    fn take(&mut self, left: &Left<'_>) {
        let packets = left.packets;
        let frames = self.frames + packets.len();
        let bytes = self.bytes + packets.iter().map(Packet::len).sum::<usize>();
        let has_room = frames < self.offsets.len()
            && frames <= self.ports.len().min(self.origins.len())
            && bytes <= self.data.len();
        if !has_room || !self.others.is_empty() {
            return self.others.take(left);
        }
        self.ports[self.frames..frames].fill(left.port);
        let origins = &mut self.origins[self.frames..frames];
        let ends = &mut self.offsets[self.frames + 1..=frames];
        let mut end = self.bytes;
        for ((packet, origin), end_at) in packets.iter().zip(origins).zip(ends) {
            copy::frame(&mut self.data[end..end + packet.len()], packet.data());
            end += packet.len();
            *origin = left.origin(packet);
            *end_at = end as i64;
        }
        (self.frames, self.bytes) = (frames, bytes);
    }

    #[inline]
    fn expect(&mut self, frames: usize) {
        prefetch::to_write(part(self.offsets, self.frames + 1, frames));
        prefetch::to_write(part(self.ports, self.frames, frames));
        prefetch::to_write(part(self.origins, self.frames, frames));
    }

    #[inline]
    fn expect_frame(&mut self, bytes: Range<usize>) {
        if bytes.end <= EXPECTED_MAX {
            prefetch::to_write_behind(part(self.data, self.bytes + bytes.start, bytes.len()));
        }
    }
}

/// The elements from a place on, at most this many.
#[inline]
fn part<T>(elements: &[T], first: usize, count: usize) -> &[T] {
    let behind = elements.get(first..).unwrap_or_default();
    &behind[..count.min(behind.len())]
}

/// That offsets say where each frame is.
pub(crate) fn check_offsets(data: &[u8], offsets: &[i64], ports: &[u32]) -> PyResult<()> {
    if offsets.len() != ports.len() + 1 && (ports.len() != 1 || offsets.is_empty()) {
        let message = format!(
            "there are {} offsets for {} ports; there must be one more than ports",
            offsets.len(),
            ports.len()
        );
        return Err(PyValueError::new_err(message));
    }
    let is_good = offsets[0] >= 0 && offsets.is_sorted() && offsets[offsets.len() - 1] <= data.len() as i64;
    if !is_good {
        return Err(PyValueError::new_err(
            "offsets must not fall, and must lie within the data",
        ));
    }
    let mut lengths = offsets.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
    match lengths.position(|length| length > FRAME_BYTES_MAX) {
        Some(index) => check_length(
            &format!("frame {index}"),
            (offsets[index + 1] - offsets[index]) as usize,
        ),
        None => Ok(()),
    }
}

/// That a frame is not too long for a switch.
pub(crate) fn check_length(name: &str, bytes: usize) -> PyResult<()> {
    if bytes <= FRAME_BYTES_MAX {
        return Ok(());
    }
    let message = format!("{name} has {bytes} bytes; a switch takes at most {FRAME_BYTES_MAX}");
    Err(PyValueError::new_err(message))
}
