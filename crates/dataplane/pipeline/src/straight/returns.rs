//! The route of packets that begin again on the fast path: recirculated packets.
//!
//! They go through the same program as packets from a port. What differs comes before the parser: the metadata that a
//! packet keeps (for PNA, its number of passes), and for v1model its instance type. Both are in the bytes before its
//! frame, from where specialised code loads them. Packets of PSA also have another port and path.
//!
//! ```text
//!   | room | kept | kept | instance type | frame ............ |
//!          └── BeforeFrame::bytes ───────┘
//! ```

use super::clones;
use super::kept::whole_bytes;
use super::psa;
use crate::layout::Layout;
use crate::packet::Contents;
use forebay_bits::{Bits, write_bits};
use forebay_ir::{Architecture, Program, SlotId, SlotKind};
use forebay_jit::route::{Route, Source};

/// The most bytes before a frame.
const BYTES_MAX: usize = 1_024;

/// What is before the frames of packets that begin again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BeforeFrame {
    /// The slots that packets may keep, in ascending order, each with its place: the layout of
    /// [`KeptValues`](super::kept::KeptValues).
    kept: Vec<(SlotId, Place)>,
    /// The place of the instance type, if the program has it.
    instance_type: Option<Place>,
    bytes: usize,
    /// Whether packets draw random numbers, for which each pass of a packet has its own seed.
    pub(crate) has_seeds: bool,
}

/// The place of a slot's value, which takes whole bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    begin: usize,
    width: u32,
}

impl BeforeFrame {
    fn add(&mut self, width: u32) -> Place {
        let begin = self.bytes;
        self.bytes += whole_bytes(width);
        Place { begin, width }
    }

    /// Where the route finds the value at this place.
    fn source(&self, place: Place) -> Source {
        Source::BeforeFrame((self.bytes - place.begin) as u32)
    }

    /// The number of bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes the bytes of a packet.
    pub(crate) fn write(&self, packet: &Contents, target: &mut [u8]) {
        let kept = self.instance_type.map_or(self.bytes, |place| place.begin);
        if packet.kept_bytes.is_empty() {
            target[..kept].fill(0);
            for (slot, value) in &packet.preserved.0 {
                let found = self.kept.binary_search_by_key(slot, |(slot, _)| *slot);
                let (_, place) = self.kept[found.expect("packets keep nothing else")];
                place.write(value, target);
            }
        } else {
            target[..kept].copy_from_slice(&packet.kept_bytes);
        }
        if let Some(place) = self.instance_type {
            // All of these numbers fit into a byte.
            let value = &mut target[place.begin..];
            value.fill(0);
            *value.last_mut().expect("a slot has bits") = packet.instance_type as u8;
        }
    }
}

impl Place {
    fn write(self, value: &Bits, target: &mut [u8]) {
        let end = 8 * (self.begin + whole_bytes(self.width));
        write_bits(target, end - self.width as usize, value);
    }
}

/// The route, and what is before the frames; `None` if such packets have no specialised code. `route` is that of
/// packets from ports. Only v1model has a layout.
pub(crate) fn route(program: &Program, layout: Option<&Layout>, route: &Route) -> Option<(Route, BeforeFrame)> {
    let back = route.sends_back.as_ref()?;
    if route.leaving.is_some() {
        return None;
    }
    // Fields that the parser extracts again must not be kept.
    let is_metadata = |slot: &SlotId| {
        let kind = program.slot(*slot).kind;
        matches!(
            kind,
            SlotKind::Metadata | SlotKind::Intrinsic | SlotKind::Local | SlotKind::Request
        )
    };
    if !back.kept.iter().all(is_metadata) {
        return None;
    }
    let mut before = BeforeFrame {
        has_seeds: route.draws_random_numbers(program).contains(&true),
        ..BeforeFrame::default()
    };
    debug_assert!(back.kept.is_sorted(), "they are found by their numbers");
    for slot in &back.kept {
        let place = before.add(program.slot(*slot).width);
        before.kept.push((*slot, place));
    }
    let instance_type = layout.and_then(|layout| layout.slots.instance_type);
    before.instance_type = instance_type.map(|slot| before.add(program.slot(slot).width));
    if before.bytes > BYTES_MAX {
        return None;
    }
    let kept = before.kept.iter().copied();
    let told = kept.chain(instance_type.zip(before.instance_type));
    let mut before_parser: Vec<(SlotId, Source)> = told.map(|(slot, place)| (slot, before.source(place))).collect();
    // The arguments of the switch come after what the packet keeps.
    before_parser.extend(match program.architecture {
        Architecture::Psa => psa::sources_of_returns(program, &route.before_parser),
        Architecture::V1Model | Architecture::Pna => route.before_parser.clone(),
    });
    let again = Route {
        before_parser,
        ..route.clone()
    };
    // Clones from egress are noted if those of packets from ports can be. A packet that keeps metadata may reach other
    // branches.
    let obstacle = |layout| clones::obstacle_in_egress(program, layout, &again);
    let cannot_clone = again.cloning.from_egress && layout.is_none_or(|layout| obstacle(layout).is_some());
    (!cannot_clone).then_some((again, before))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{InstanceType, Preserved};

    #[test]
    fn values_end_at_whole_bytes() {
        let mut before = BeforeFrame::default();
        for (slot, width) in [(3, 1), (7, 12), (9, 136)] {
            let place = before.add(width);
            before.kept.push((SlotId(slot), place));
        }
        before.instance_type = Some(before.add(32));
        assert_eq!(before.bytes(), 1 + 2 + 17 + 4);
        assert_eq!(before.source(before.kept[1].1), Source::BeforeFrame(23));
        let wide = Bits::new(136, 0x1234);
        let packet = Contents {
            preserved: Preserved(vec![(SlotId(9), wide), (SlotId(3), Bits::new(1, 1))]),
            instance_type: InstanceType::Recirculated,
            ..Contents::default()
        };
        let mut bytes = vec![0xff; before.bytes()];
        before.write(&packet, &mut bytes);
        let mut expected = vec![0; before.bytes()];
        (expected[0], expected[18], expected[19], expected[23]) = (1, 0x12, 0x34, 4);
        assert_eq!(bytes, expected);
        let noted = Contents {
            kept_bytes: expected[..20].to_vec(),
            instance_type: InstanceType::Recirculated,
            ..Contents::default()
        };
        let mut bytes = vec![0xff; before.bytes()];
        before.write(&noted, &mut bytes);
        assert_eq!(bytes, expected);
    }
}
