//! Frames of a batch: arrays of NumPy, and what the switch takes and gives.

use forebay_switch::Frames;
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

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

/// Port and bytes of each frame. Offsets were checked, but another thread can change the array since: what is out of the data then is empty.
pub(crate) fn each<'f>(data: &'f [u8], offsets: &'f [i64], ports: &'f [u32]) -> impl Iterator<Item = (u32, &'f [u8])> {
    let frame = |ends: &[i64]| data.get(ends[0] as usize..ends[1] as usize).unwrap_or_default();
    let frames = offsets.windows(2).map(frame);
    ports.iter().copied().zip(frames)
}

/// That offsets say where each frame is.
pub(crate) fn check_offsets(data: &[u8], offsets: &[i64], ports: &[u32]) -> PyResult<()> {
    if offsets.len() != ports.len() + 1 {
        let message = format!(
            "there are {} offsets for {} ports; there must be one more than ports",
            offsets.len(),
            ports.len()
        );
        return Err(PyValueError::new_err(message));
    }
    let is_good = offsets[0] >= 0 && offsets.is_sorted() && offsets[offsets.len() - 1] <= data.len() as i64;
    if is_good {
        return Ok(());
    }
    Err(PyValueError::new_err(
        "offsets must not fall, and must lie within the data",
    ))
}
