//! The slots of a program's packets, by purpose.

use forebay_exec::{NumberPlace, State, StateLayout};
use forebay_ir::{Header, Program, SlotId, SlotKind};
use std::ops::Range;

/// The length of a header.
#[derive(Clone, Debug)]
struct HeaderSize {
    /// The word of its validity.
    valid: u32,
    fixed_bits: u64,
}

/// A program's slots as ranges of words.
#[derive(Clone, Debug)]
pub(crate) struct Storage {
    /// All slots zero.
    pub(crate) zero: State,
    /// Words of metadata and local variables.
    metadata: Vec<Range<usize>>,
    /// Words of all slots but those of the architecture's graph.
    visible: Vec<Range<usize>>,
    headers: Vec<HeaderSize>,
    /// For headers with a varbit field: their validity, and the slot with its length.
    varbits: Vec<(NumberPlace, NumberPlace)>,
}

impl Storage {
    pub(crate) fn new(program: &Program) -> Storage {
        let zero = State::new(program);
        let place = |slot| zero.layout().number_place(slot);
        let varbits = program.headers.iter().filter_map(|header| {
            let length = header.fields.iter().find_map(|field| field.length)?;
            Some((place(header.valid), place(length)))
        });
        let is_metadata = |kind| matches!(kind, SlotKind::Metadata | SlotKind::Intrinsic | SlotKind::Local);
        Storage {
            metadata: words(program, zero.layout(), is_metadata),
            visible: words(program, zero.layout(), |kind| kind != SlotKind::Request),
            headers: program
                .headers
                .iter()
                .map(|header| header_size(program, header, place))
                .collect(),
            varbits: varbits.collect(),
            zero,
        }
    }

    /// Resets everything except headers, and slots that the graph keeps.
    pub(crate) fn reset_metadata(&self, state: &mut State) {
        reset(state, &self.metadata);
    }

    /// Resets everything except slots that the graph keeps.
    pub(crate) fn reset_all(&self, state: &mut State) {
        reset(state, &self.visible);
    }

    /// Bytes of all valid headers, including those that no deparser emits.
    #[inline]
    pub(crate) fn valid_header_bytes(&self, state: &State) -> u64 {
        let mut bits = 0;
        for header in &self.headers {
            bits += if state.is_word_set(header.valid) {
                header.fixed_bits
            } else {
                0
            };
        }
        for &(valid, length) in &self.varbits {
            bits += state.number(valid) * state.number(length);
        }
        bits / 8
    }
}

fn reset(state: &mut State, ranges: &[Range<usize>]) {
    for words in ranges {
        state.words_mut()[words.clone()].fill(0);
    }
}

/// Slots are adjacent in their order, so the words of neighbours form one range.
fn words(program: &Program, layout: &StateLayout, is_wanted: impl Fn(SlotKind) -> bool) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (slot, id) in program.slots.iter().zip(0..).filter(|(slot, _)| is_wanted(slot.kind)) {
        let first = layout.first_word(SlotId(id));
        let end = first + slot.width.div_ceil(64) as usize;
        match ranges.last_mut() {
            Some(last) if last.end == first => last.end = end,
            _ => ranges.push(first..end),
        }
    }
    ranges
}

fn header_size(program: &Program, header: &Header, place: impl Fn(SlotId) -> NumberPlace) -> HeaderSize {
    let fixed = header.fields.iter().filter(|field| field.length.is_none());
    HeaderSize {
        valid: place(header.valid).first_word(),
        fixed_bits: fixed.map(|field| u64::from(program.slot(field.slot).width)).sum(),
    }
}
