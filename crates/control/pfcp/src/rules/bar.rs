//! Buffering action rules.

use crate::wire::{Elements, Refusal, RuleId, Writer, kind};

/// How packets of a FAR are buffered (§7.5.2.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    /// Its identifier.
    pub id: u8,
    /// How many packets are worth keeping, if the SMF says so.
    pub packets: Option<u8>,
}

impl Bar {
    /// Reads a Create BAR.
    ///
    /// # Errors
    /// When an element is missing or wrong.
    pub fn create(elements: Elements<'_>) -> Result<Bar, Refusal> {
        let id = elements.mandatory(kind::BAR_ID)?;
        let mut bar = Bar { id, packets: None };
        bar.update(elements)
            .map_err(|refusal| refusal.with_rule(RuleId::Bar(id)))?;
        Ok(bar)
    }

    /// Does what an Update BAR says.
    ///
    /// # Errors
    /// When an element is wrong.
    pub fn update(&mut self, elements: Elements<'_>) -> Result<(), Refusal> {
        let packets = elements.optional(kind::SUGGESTED_BUFFERING_PACKETS_COUNT)?;
        self.packets = packets.or(self.packets);
        Ok(())
    }

    /// Writes the Create BAR that would make it.
    pub fn write(&self, writer: &mut Writer) {
        writer.element(kind::CREATE_BAR, |bar| {
            bar.u8_element(kind::BAR_ID, self.id);
            if let Some(packets) = self.packets {
                bar.u8_element(kind::SUGGESTED_BUFFERING_PACKETS_COUNT, packets);
            }
        });
    }
}
