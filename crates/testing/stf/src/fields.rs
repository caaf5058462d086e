//! The fields in which a packet differs from what a test expects. The program's own parser finds them: it reads the
//! packet as if it came back to the switch.

use crate::device::{Device, SwitchDevice};
use crate::runner::Observer;
use forebay_entries::ExpectedPacket;
use forebay_ir::{BodyKind, HeaderId, Program};
use forebay_pipeline::{Event, Pipeline, Tracer};
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

/// The most fields in a message.
const MAX_SHOWN: usize = 16;

/// The largest value of which a message has the decimal digits too.
const MAX_DECIMAL: u128 = 0xffff;

/// The port to which packets come back.
const PORT: u32 = 0;

/// Reads packets with a program that has no entries but its own. It is loaded for the first packet.
pub(crate) struct FieldReader<'p> {
    program: &'p Program,
    device: Option<SwitchDevice>,
}

/// A field of a packet, and its bits.
type Field = (String, Range<usize>);

impl<'p> FieldReader<'p> {
    pub(crate) fn new(program: &'p Program) -> FieldReader<'p> {
        FieldReader { program, device: None }
    }

    /// A line for each field that is not as expected.
    pub(crate) fn differing(&mut self, expected: &ExpectedPacket, packet: &[u8]) -> String {
        let fields = self.fields(packet);
        let lines = fields.iter().filter_map(|field| difference(field, expected, packet));
        lines.take(MAX_SHOWN).collect()
    }

    /// The fields that the parser extracts, in order. A header with a field of variable length has none here.
    fn fields(&mut self, packet: &[u8]) -> Vec<Field> {
        let program = self.program;
        if self.device.is_none() {
            let loaded = Pipeline::load(program.clone()).ok();
            self.device = loaded.map(|pipeline| SwitchDevice::with_ports(Arc::new(pipeline), [PORT]));
        }
        let Some(device) = &mut self.device else {
            return Vec::new();
        };
        let mut parser = FirstParser::default();
        device.packet(PORT, packet, 0, &mut parser);
        let extracted = parser.extracted.into_iter();
        extracted
            .flat_map(|(header, end)| fields_of(program, header, end))
            .collect()
    }
}

/// What the first parser of a packet extracts: each header, and the bit after it.
#[derive(Default)]
struct FirstParser {
    parsers: u32,
    extracted: Vec<(HeaderId, usize)>,
}

impl Tracer for FirstParser {
    const ON: bool = true;

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Enter {
                kind: BodyKind::Parser, ..
            } => self.parsers += 1,
            Event::Extract { header, cursor, .. } if self.parsers == 1 => self.extracted.push((header, cursor)),
            _ => {}
        }
    }
}

impl Observer for FirstParser {
    fn packet_enters(&mut self, _line: u32, _port: u32, _data: &[u8]) {}
    fn packet_leaves(&mut self, _port: u32, _data: &[u8]) {}
}

fn fields_of(program: &Program, header: HeaderId, end: usize) -> Vec<Field> {
    let header = &program.headers[header.index()];
    if header.fields.iter().any(|field| field.length.is_some()) {
        return Vec::new();
    }
    let mut at = end;
    let mut fields = Vec::new();
    for field in header.fields.iter().rev() {
        let width = program.slots[field.slot.index()].width as usize;
        let start = at.saturating_sub(width);
        fields.push((format!("{}.{}", header.name, field.name), start..at));
        at = start;
    }
    fields.reverse();
    fields
}

/// What is expected of a field and what there is, if it differs in a digit that the test writes.
fn difference((name, bits): &Field, expected: &ExpectedPacket, packet: &[u8]) -> Option<String> {
    let wanted = |bit: usize| {
        let nibble = expected.nibbles.get(bit / 4).copied().flatten()?;
        Some((nibble >> (3 - bit % 4)) & 1)
    };
    let received = |bit: usize| packet.get(bit / 8).map(|byte| (byte >> (7 - bit % 8)) & 1);
    let differs = |bit: usize| wanted(bit).is_some_and(|wanted| received(bit) != Some(wanted));
    if !bits.clone().any(differs) {
        return None;
    }
    let mut text = format!("       {name}");
    let _ = match (number(bits, wanted), number(bits, received)) {
        (Some(wanted), Some(received)) => {
            writeln!(text, ": expected {}, received {}", shown(wanted), shown(received))
        }
        _ => writeln!(text, " differs"),
    };
    Some(text)
}

/// The number that some bits are; `None` if a bit has no value, or there are too many.
fn number(bits: &Range<usize>, value: impl Fn(usize) -> Option<u8>) -> Option<u128> {
    if bits.len() > 128 {
        return None;
    }
    bits.clone()
        .try_fold(0, |number: u128, bit| Some((number << 1) | u128::from(value(bit)?)))
}

fn shown(number: u128) -> String {
    match number {
        0..10 => number.to_string(),
        10..=MAX_DECIMAL => format!("{number:#x} ({number})"),
        _ => format!("{number:#x}"),
    }
}
