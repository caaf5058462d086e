//! The header before the frames of clones that the fast path has noted: see [`super::clones`].

use super::kept::KeptValues;
use crate::replication::{CloneSession, Replica};
use forebay_bits::{Bits, read_bits};
use forebay_exec::Preserve;
use forebay_ir::{Program, SlotId};
use forebay_jit::route::{Route, varbit_length};

/// The fields before the kept values, with their widths.
pub(super) const FIELDS: [(&str, u32); 6] = [
    ("port", 32),
    ("length", 32),
    ("limit", 32),
    ("instance", 16),
    ("from_egress", 8),
    ("class", 8),
];

/// The header before the frame of a clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    /// What clones may keep.
    kept: KeptValues,
}

/// The initial data of a clone from egress.
pub(crate) struct FromEgress<'a> {
    /// The length of its packet in bytes: after egress, and as received.
    pub(crate) lengths: [u32; 2],
    /// What its headers have.
    pub(crate) headers: Vec<(SlotId, Bits)>,
    /// What the parser left.
    pub(crate) payload: &'a [u8],
}

impl Head {
    /// Bytes of [`FIELDS`]. What the fast path has noted follows them.
    pub(crate) const FIXED_BYTES: usize = 16;

    pub(crate) fn of(program: &Program, route: &Route) -> Head {
        let slots = route.cloning.kept.as_deref().unwrap_or_default();
        Head {
            kept: KeptValues::of(program, slots),
        }
    }

    /// The length in bytes.
    pub(crate) fn bytes(&self) -> usize {
        Self::FIXED_BYTES + self.kept.bytes()
    }

    /// Writes the header and the frame of a clone for one of a session's ports. `noted` is what the fast path has
    /// noted: everything that clones may keep, and the frame, or for a clone from egress its replacement.
    pub(crate) fn write(
        &self,
        (noted, preserve, from_egress): (&[u8], Preserve, bool),
        (session, replica): (&CloneSession, Replica),
        target: &mut [u8],
    ) {
        let limit = session.packet_length_bytes.unwrap_or(u32::MAX);
        let length = (noted.len() - self.kept.bytes()) as u32;
        for (word, value) in target.chunks_mut(4).zip([replica.egress_port, length, limit]) {
            word.copy_from_slice(&value.to_be_bytes());
        }
        target[12..14].copy_from_slice(&replica.instance.to_be_bytes());
        target[14..16].copy_from_slice(&[from_egress.into(), session.class_of_service]);
        target[Self::FIXED_BYTES..].copy_from_slice(noted);
        self.kept
            .clear_others(preserve, &mut target[Self::FIXED_BYTES..self.bytes()]);
    }

    /// The values that a clone keeps; values that it does not keep are 0.
    pub(crate) fn kept_by(&self, packet: &[u8]) -> Vec<(SlotId, Bits)> {
        self.kept.read(&packet[Self::FIXED_BYTES..self.bytes()]).collect()
    }

    /// The initial data of a clone from egress.
    pub(crate) fn beginning<'a>(&self, program: &Program, packet: &'a [u8]) -> FromEgress<'a> {
        let noted = &packet[self.bytes()..];
        let mut place = 0;
        let mut value = |width: u32| {
            let value = read_bits(noted, place, width);
            place += width as usize;
            value
        };
        let lengths = [32, 32].map(|width| value(width).to_u64() as u32);
        let valid: Vec<bool> = program.headers.iter().map(|_| !value(1).is_zero()).collect();
        value((valid.len().next_multiple_of(8) - valid.len()) as u32);
        let varying = program.headers.iter().filter_map(varbit_length);
        let varying: Vec<(SlotId, Bits)> = varying.map(|length| (length, value(32))).collect();
        let mut headers = Vec::new();
        for id in Route::headers_of_clones(program) {
            let header = &program.headers[id.index()];
            if !valid[id.index()] {
                continue;
            }
            headers.push((header.valid, Bits::from_bool(true)));
            for field in &header.fields {
                let width = program.slot(field.slot).width;
                let Some(length) = field.length else {
                    headers.push((field.slot, value(width)));
                    continue;
                };
                let bits = varying.iter().find(|(slot, _)| *slot == length);
                let (_, bits) = bits.expect("all lengths are there").clone();
                headers.push((field.slot, value(bits.to_u64() as u32).zext(width)));
                headers.push((length, bits));
            }
        }
        FromEgress {
            lengths,
            headers,
            payload: &noted[place / 8..],
        }
    }
}
