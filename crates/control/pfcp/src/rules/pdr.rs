//! Packet detection rules.

use super::QFI_BITS;
use super::filter::{Filter, SdfFilter};
use crate::wire::{Cause, Elements, FTeid, Fault, Reader, Refusal, RuleId, UeAddress, Value, Writer, kind};
use std::collections::BTreeSet;

/// Where packets come from or go to (§8.2.2, §8.2.24).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Interface {
    /// The radio network: N3.
    Access = 0,
    /// The core: N6 or N9.
    Core = 1,
    /// A local network of the operator.
    Lan = 2,
    /// The control plane.
    Control = 3,
}

impl Value for Interface {
    fn read(reader: &mut Reader<'_>) -> Result<Interface, Fault> {
        match reader.u8()? & 0x0f {
            0 => Ok(Interface::Access),
            1 => Ok(Interface::Core),
            2 => Ok(Interface::Lan),
            3 => Ok(Interface::Control),
            _ => Err(Fault::Wrong),
        }
    }
}

/// Which packets a PDR finds (§7.5.2.2-2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pdi {
    /// Where they come from.
    pub source: Interface,
    /// The tunnel in which they come.
    pub tunnel: Option<FTeid>,
    /// PDRs of the session with the same number get the same tunnel (CHOOSE ID).
    pub choose_id: Option<u8>,
    /// The UE that sends or receives them. For packets without a tunnel it may be named by other PDRs of the session.
    pub ue: Option<UeAddress>,
    /// Filters, one of which finds them; all packets if there is none.
    pub filters: Vec<Filter>,
    /// Numbers of filters that other PDRs of the session have. None once these have been found.
    pub known_filters: Vec<u32>,
    /// QoS flows in which they come; all if there is none.
    pub qfis: Vec<u8>,
}

/// A packet detection rule (§7.5.2.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pdr {
    /// Its identifier.
    pub id: u16,
    /// The lowest comes first.
    pub precedence: u32,
    /// The packets.
    pub pdi: Pdi,
    /// Which header is taken off: the value of the element.
    pub removal: Option<u8>,
    /// What becomes of the packets.
    pub far: Option<u32>,
    /// What is counted.
    pub urrs: Vec<u32>,
    /// Gates and rates.
    pub qers: Vec<u32>,
}

/// Filters of a PDR.
const FILTERS_MAX: usize = 32;

impl Pdr {
    /// Reads a Create PDR.
    ///
    /// # Errors
    /// When an element is missing or wrong, or the UPF cannot do what it says.
    pub fn create(elements: Elements<'_>) -> Result<Pdr, Refusal> {
        let id = elements.mandatory(kind::PDR_ID)?;
        Pdr::read(id, elements).map_err(|refusal| refusal.with_rule(RuleId::Pdr(id)))
    }

    fn read(id: u16, elements: Elements<'_>) -> Result<Pdr, Refusal> {
        let pdi = Pdi::read(elements.mandatory_group(kind::PDI)?)?;
        pdi.check()?;
        let mut pdr = Pdr {
            id,
            precedence: elements.mandatory(kind::PRECEDENCE)?,
            pdi,
            removal: None,
            far: None,
            urrs: Vec::new(),
            qers: Vec::new(),
        };
        pdr.apply(elements)?;
        Ok(pdr)
    }

    /// Does what an Update PDR says.
    ///
    /// # Errors
    /// As for a PDR that is created.
    pub fn update(&mut self, elements: Elements<'_>) -> Result<(), Refusal> {
        let rule = RuleId::Pdr(self.id);
        self.replace(elements).map_err(|refusal| refusal.with_rule(rule))
    }

    fn replace(&mut self, elements: Elements<'_>) -> Result<(), Refusal> {
        self.precedence = elements.optional(kind::PRECEDENCE)?.unwrap_or(self.precedence);
        if let Some(pdi) = elements.group(kind::PDI)? {
            let mut pdi = Pdi::read(pdi)?;
            pdi.complete(&self.pdi);
            pdi.check()?;
            self.pdi = pdi;
        }
        self.apply(elements)
    }

    /// What PDRs that are created and updated have alike.
    fn apply(&mut self, elements: Elements<'_>) -> Result<(), Refusal> {
        if elements.has(kind::ACTIVATE_PREDEFINED_RULES) {
            let refusal = Refusal::new(Cause::UnknownPredefinedRule, "there are no predefined rules");
            return Err(refusal.with_element(kind::ACTIVATE_PREDEFINED_RULES));
        }
        self.removal = elements.optional(kind::OUTER_HEADER_REMOVAL)?.or(self.removal);
        self.far = elements.optional(kind::FAR_ID)?.or(self.far);
        let (urrs, qers) = (once(elements.every(kind::URR_ID)?), once(elements.every(kind::QER_ID)?));
        if !urrs.is_empty() {
            self.urrs = urrs;
        }
        if !qers.is_empty() {
            self.qers = qers;
        }
        Ok(())
    }

    /// Writes the Create PDR that would make it.
    pub fn write(&self, writer: &mut Writer) {
        writer.element(kind::CREATE_PDR, |pdr| {
            pdr.u16_element(kind::PDR_ID, self.id);
            pdr.u32_element(kind::PRECEDENCE, self.precedence);
            pdr.element(kind::PDI, |pdi| self.pdi.write(pdi));
            if let Some(removal) = self.removal {
                pdr.u8_element(kind::OUTER_HEADER_REMOVAL, removal);
            }
            pdr.optional_u32(kind::FAR_ID, self.far);
            for urr in &self.urrs {
                pdr.u32_element(kind::URR_ID, *urr);
            }
            for qer in &self.qers {
                pdr.u32_element(kind::QER_ID, *qer);
            }
        });
    }
}

/// Each identifier once: a rule that is named twice would count or limit each packet twice.
fn once(ids: Vec<u32>) -> Vec<u32> {
    let mut named = BTreeSet::new();
    ids.into_iter().filter(|id| named.insert(*id)).collect()
}

impl Pdi {
    fn read(elements: Elements<'_>) -> Result<Pdi, Refusal> {
        if elements.has(kind::APPLICATION_ID) {
            let refusal = Refusal::new(Cause::UnknownApplication, "there are no applications");
            return Err(refusal.with_element(kind::APPLICATION_ID));
        }
        let tunnel: Option<FTeid> = elements.optional(kind::F_TEID)?;
        let (mut filters, mut known_filters) = (Vec::new(), Vec::new());
        for filter in elements.every::<SdfFilter>(kind::SDF_FILTER)? {
            match filter {
                SdfFilter::Described(filter) => filters.push(filter),
                SdfFilter::Known(id) => known_filters.push(id),
            }
        }
        Ok(Pdi {
            source: elements.mandatory(kind::SOURCE_INTERFACE)?,
            tunnel,
            choose_id: match tunnel {
                Some(FTeid::Choose { id, .. }) => id,
                _ => elements.optional(kind::SAVED_CHOOSE_ID)?,
            },
            ue: elements.optional(kind::UE_IP_ADDRESS)?,
            filters,
            known_filters,
            qfis: elements
                .every(kind::QFI)?
                .into_iter()
                .map(|qfi: u8| qfi & QFI_BITS)
                .collect(),
        })
    }

    /// Some SMFs write other filters alone: what finds the packets of the session is as it was then.
    fn complete(&mut self, before: &Pdi) {
        let is_part = self.tunnel.is_none() && self.ue.is_none() && self.source == before.source;
        if is_part {
            self.tunnel = before.tunnel;
            self.choose_id = before.choose_id;
            self.ue = before.ue;
        }
        if is_part && self.qfis.is_empty() {
            self.qfis.clone_from(&before.qfis);
        }
    }

    fn check(&self) -> Result<(), Refusal> {
        if self.filters.len() + self.known_filters.len() > FILTERS_MAX || self.qfis.len() > FILTERS_MAX {
            return Err(Refusal::new(
                Cause::NoResources,
                format!("a PDR has at most {FILTERS_MAX} filters"),
            ));
        }
        if self.tunnel.is_none() && self.source == Interface::Access {
            let refusal = Refusal::new(
                Cause::ConditionalIeMissing,
                "packets of the access side come in a tunnel",
            );
            return Err(refusal.with_element(kind::F_TEID));
        }
        Ok(())
    }

    fn write(&self, writer: &mut Writer) {
        writer.u8_element(kind::SOURCE_INTERFACE, self.source as u8);
        if let Some(tunnel) = self.tunnel {
            writer.element(kind::F_TEID, |value| tunnel.write(value));
        }
        if let Some(id) = self.choose_id {
            writer.u8_element(kind::SAVED_CHOOSE_ID, id);
        }
        if let Some(ue) = self.ue {
            writer.element(kind::UE_IP_ADDRESS, |value| ue.write(value));
        }
        for filter in &self.filters {
            writer.element(kind::SDF_FILTER, |value| filter.write(value));
        }
        for qfi in &self.qfis {
            writer.u8_element(kind::QFI, *qfi);
        }
    }
}
