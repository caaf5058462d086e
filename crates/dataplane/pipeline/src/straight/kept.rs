//! Metadata that clones and packets that begin again keep, as the fast path notes it: the values of all slots that some
//! field list names, each in whole bytes.

use crate::layout::field_list;
use forebay_bits::Bits;
use forebay_exec::Preserve;
use forebay_ir::{Program, SlotId};
use std::collections::BTreeMap;
use std::ops::Range;

/// The layout of the values.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptValues {
    /// The slots, with their widths.
    slots: Vec<(SlotId, u32)>,
    /// By field list: the places of the values that it does not name. For other numbers these are all places.
    others: BTreeMap<u32, Vec<Range<usize>>>,
    all: Vec<Range<usize>>,
    bytes: usize,
}

impl KeptValues {
    /// The values of these slots, in this order.
    pub(crate) fn of(program: &Program, slots: &[SlotId]) -> KeptValues {
        let slots: Vec<(SlotId, u32)> = slots.iter().map(|slot| (*slot, program.slot(*slot).width)).collect();
        let mut bytes = 0;
        let places: Vec<Range<usize>> = slots
            .iter()
            .map(|(_, width)| {
                let begin = bytes;
                bytes += whole_bytes(*width);
                begin..bytes
            })
            .collect();
        let without = |listed: &[SlotId]| -> Vec<Range<usize>> {
            let others = slots
                .iter()
                .zip(&places)
                .filter(|((slot, _), _)| !listed.contains(slot));
            others.map(|(_, place)| place.clone()).collect()
        };
        let lists = program.field_lists.keys().map(|list| {
            let preserve = Preserve {
                field_list: Some(*list),
            };
            (*list, without(field_list(program, preserve)))
        });
        KeptValues {
            others: lists.collect(),
            all: without(&[]),
            slots,
            bytes,
        }
    }

    /// The number of bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Makes the values 0 that are not kept with this field list.
    pub(crate) fn clear_others(&self, preserve: Preserve, values: &mut [u8]) {
        let others = preserve.field_list.and_then(|list| self.others.get(&list));
        for place in others.unwrap_or(&self.all) {
            values[place.clone()].fill(0);
        }
    }

    /// The values.
    pub(crate) fn read(&self, mut values: &[u8]) -> impl Iterator<Item = (SlotId, Bits)> {
        self.slots.iter().map(move |(slot, width)| {
            let (value, after) = values.split_at(whole_bytes(*width));
            values = after;
            (*slot, Bits::from_bytes_be(*width, value))
        })
    }
}

/// The bytes of a value of this width.
pub(crate) fn whole_bytes(width: u32) -> usize {
    width.div_ceil(8) as usize
}
