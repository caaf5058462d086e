//! Where in its source a program decides to drop a packet.

use forebay_arch::v1model::DROP_PORT;
use forebay_exec::Event;
use forebay_ir::{Location, Program, SlotId};

/// The last place at which a packet was to be dropped, as the reference executor tells it; none when a later decision
/// was to forward it after all. It means something only once it is known that the packet was dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropPlace(Option<Location>);

impl DropPlace {
    /// Hears an event of a packet of this program.
    pub fn hear(&mut self, program: &Program, event: &Event<'_>) {
        match event {
            Event::Assign {
                slot, new, location, ..
            } => {
                if let Some(drops) = dropping_value(program, *slot) {
                    self.0 = (new.to_u64() == drops).then_some(*location);
                }
            }
            Event::ParserError { location, .. } => self.0 = Some(*location),
            _ => {}
        }
    }

    /// The place, if there was one.
    pub fn location(self) -> Option<Location> {
        self.0
    }
}

/// The value of this slot with which a packet is dropped; none when the slot does not decide that.
fn dropping_value(program: &Program, slot: SlotId) -> Option<u64> {
    let mut names = program.intrinsic.iter().filter(|(_, of)| **of == slot);
    names.find_map(|(name, _)| match name.as_str() {
        "egress_spec" => Some(u64::from(DROP_PORT)),
        "pna.fate" => Some(0),
        // PSA: of `psa_ingress_output_metadata_t` and `psa_egress_output_metadata_t`.
        _ if name.ends_with(".drop") => Some(1),
        _ => None,
    })
}
