//! QoS enforcement rules.

use super::QFI_BITS;
use crate::wire::{Elements, Rates, Refusal, RuleId, Writer, kind};

/// Gates, rates and marking of packets (§7.5.2.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qer {
    /// Its identifier.
    pub id: u32,
    /// Its number in this UPF.
    pub number: u32,
    /// Whether uplink packets pass.
    pub is_uplink_open: bool,
    /// Whether downlink packets pass.
    pub is_downlink_open: bool,
    /// Maximum bit rates, if there are any.
    pub maximum: Option<Rates>,
    /// The QoS flow that downlink packets are marked with.
    pub qfi: Option<u8>,
    /// Whether the UE mirrors the flow (RQI).
    pub is_reflective: bool,
}

impl Qer {
    /// Reads a Create QER. Its number is 0 yet.
    ///
    /// # Errors
    /// When an element is missing or wrong.
    pub fn create(elements: Elements<'_>) -> Result<Qer, Refusal> {
        let mut qer = Qer {
            id: elements.mandatory(kind::QER_ID)?,
            number: 0,
            is_uplink_open: true,
            is_downlink_open: true,
            maximum: None,
            qfi: None,
            is_reflective: false,
        };
        if !elements.has(kind::GATE_STATUS) {
            return Err(Refusal::missing(kind::GATE_STATUS).with_rule(RuleId::Qer(qer.id)));
        }
        qer.update(elements)?;
        Ok(qer)
    }

    /// Does what an Update QER says.
    ///
    /// # Errors
    /// When an element is wrong.
    pub fn update(&mut self, elements: Elements<'_>) -> Result<(), Refusal> {
        let rule = RuleId::Qer(self.id);
        self.apply(elements).map_err(|refusal| refusal.with_rule(rule))
    }

    fn apply(&mut self, elements: Elements<'_>) -> Result<(), Refusal> {
        if let Some(gates) = elements.optional::<u8>(kind::GATE_STATUS)? {
            self.is_uplink_open = gates >> 2 & 3 == 0;
            self.is_downlink_open = gates & 3 == 0;
        }
        self.maximum = elements.optional(kind::MBR)?.or(self.maximum);
        if let Some(qfi) = elements.optional::<u8>(kind::QFI)? {
            self.qfi = Some(qfi & QFI_BITS);
        }
        if let Some(indication) = elements.optional::<u8>(kind::RQI)? {
            self.is_reflective = indication & 1 != 0;
        }
        Ok(())
    }

    /// Writes the Create QER that would make it.
    pub fn write(&self, writer: &mut Writer) {
        writer.element(kind::CREATE_QER, |qer| {
            qer.u32_element(kind::QER_ID, self.id);
            let gates = u8::from(!self.is_uplink_open) << 2 | u8::from(!self.is_downlink_open);
            qer.u8_element(kind::GATE_STATUS, gates);
            if let Some(maximum) = self.maximum {
                qer.element(kind::MBR, |value| maximum.write(value));
            }
            if let Some(qfi) = self.qfi {
                qer.u8_element(kind::QFI, qfi);
            }
            qer.u8_element(kind::RQI, u8::from(self.is_reflective));
        });
    }
}
