//! The header before the frames of clones that the fast path has noted: see [`super::clones`].

use crate::layout::field_list;
use crate::replication::{CloneSession, Replica};
use forebay_bits::{Bits, read_bits};
use forebay_exec::Preserve;
use forebay_ir::{Program, SlotId};
use forebay_jit::route::{Route, varbit_length};
use std::collections::BTreeMap;
use std::ops::Range;

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
    /// The slots that clones may keep, with their widths. Each takes whole bytes.
    kept: Vec<(SlotId, u32)>,
    /// By field list: the parts of the header with values that a clone does not keep. For other numbers this is all of
    /// them.
    cleared: BTreeMap<u32, Vec<Range<usize>>>,
    all: Vec<Range<usize>>,
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
        let slots = route.cloning.kept.iter().flatten();
        let kept: Vec<(SlotId, u32)> = slots.map(|slot| (*slot, program.slot(*slot).width)).collect();
        let mut place = Self::FIXED_BYTES;
        let parts = kept.iter().map(|(slot, width)| {
            let begin = place;
            place += bytes(*width);
            (*slot, begin..place)
        });
        let parts: Vec<(SlotId, Range<usize>)> = parts.collect();
        let without = |listed: &[SlotId]| -> Vec<Range<usize>> {
            let others = parts.iter().filter(|(slot, _)| !listed.contains(slot));
            others.map(|(_, part)| part.clone()).collect()
        };
        let lists = program.field_lists.keys().map(|list| {
            let preserve = Preserve {
                field_list: Some(*list),
            };
            (*list, without(field_list(program, preserve)))
        });
        Head {
            cleared: lists.collect(),
            all: without(&[]),
            kept,
        }
    }

    fn kept_bytes(&self) -> usize {
        self.kept.iter().map(|(_, width)| bytes(*width)).sum()
    }

    /// The length in bytes.
    pub(crate) fn bytes(&self) -> usize {
        Self::FIXED_BYTES + self.kept_bytes()
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
        let length = (noted.len() - self.kept_bytes()) as u32;
        for (word, value) in target.chunks_mut(4).zip([replica.egress_port, length, limit]) {
            word.copy_from_slice(&value.to_be_bytes());
        }
        target[12..14].copy_from_slice(&replica.instance.to_be_bytes());
        target[14..16].copy_from_slice(&[from_egress.into(), session.class_of_service]);
        target[Self::FIXED_BYTES..].copy_from_slice(noted);
        let listed = preserve.field_list.and_then(|list| self.cleared.get(&list));
        for part in listed.unwrap_or(&self.all) {
            target[part.clone()].fill(0);
        }
    }

    /// The values that a clone keeps; values that it does not keep are 0.
    pub(crate) fn kept_by(&self, packet: &[u8]) -> Vec<(SlotId, Bits)> {
        let mut rest = &packet[Self::FIXED_BYTES..];
        let mut value = |width: u32| {
            let (bytes, behind) = rest.split_at(bytes(width));
            rest = behind;
            Bits::from_bytes_be(width, bytes)
        };
        self.kept.iter().map(|(slot, width)| (*slot, value(*width))).collect()
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

fn bytes(width: u32) -> usize {
    width.div_ceil(8) as usize
}
