//! Forwarding action rules.

use super::Interface;
use crate::wire::{Cause, Elements, OuterHeader, Refusal, RuleId, Writer, kind};

/// Bits of Apply Action (§8.2.26).
pub mod actions {
    /// Drop the packet.
    pub const DROP: u32 = 1;
    /// Forward it.
    pub const FORWARD: u32 = 2;
    /// Keep it.
    pub const BUFFER: u32 = 4;
    /// Tell the SMF when the first is kept.
    pub const NOTIFY: u32 = 8;
    /// Also send a copy elsewhere, which is not supported.
    pub const DUPLICATE: u32 = 16;
}

/// Bit of PFCPSMReq-Flags (§8.2.31): send an end marker into the tunnel that is left.
const SEND_END_MARKER: u32 = 2;

/// What becomes of packets (§7.5.2.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Far {
    /// Its identifier.
    pub id: u32,
    /// Its number in this UPF.
    pub number: u32,
    /// What is done: bits of [`actions`].
    pub action: u32,
    /// Where packets go.
    pub destination: Option<Interface>,
    /// The tunnel into which they are put.
    pub tunnel: Option<OuterHeader>,
    /// The DSCP of the tunnel's packets.
    pub dscp: Option<u8>,
    /// How they are buffered.
    pub bar: Option<u8>,
}

impl Far {
    /// Reads a Create FAR. Its number is 0 yet.
    ///
    /// # Errors
    /// When an element is missing or wrong, or the UPF cannot do what it says.
    pub fn create(elements: Elements<'_>) -> Result<Far, Refusal> {
        let mut far = Far {
            id: elements.mandatory(kind::FAR_ID)?,
            number: 0,
            action: 0,
            destination: None,
            tunnel: None,
            dscp: None,
            bar: None,
        };
        let rule = RuleId::Far(far.id);
        if !elements.has(kind::APPLY_ACTION) {
            return Err(Refusal::missing(kind::APPLY_ACTION).with_rule(rule));
        }
        let parameters = kind::FORWARDING_PARAMETERS;
        far.apply(elements, parameters)
            .map_err(|refusal| refusal.with_rule(rule))?;
        Ok(far)
    }

    /// Does what an Update FAR says. Returns the tunnel into which an end marker is to be sent.
    ///
    /// # Errors
    /// As for a FAR that is created.
    pub fn update(&mut self, elements: Elements<'_>) -> Result<Option<OuterHeader>, Refusal> {
        let before = self.tunnel;
        let parameters = kind::UPDATE_FORWARDING_PARAMETERS;
        let rule = RuleId::Far(self.id);
        let flags = self
            .apply(elements, parameters)
            .map_err(|refusal| refusal.with_rule(rule))?;
        let has_moved = before != self.tunnel;
        Ok(before.filter(|_| has_moved && flags & SEND_END_MARKER != 0))
    }

    /// The flags of the parameters.
    fn apply(&mut self, elements: Elements<'_>, parameters: u16) -> Result<u32, Refusal> {
        if let Some(action) = elements.flags(kind::APPLY_ACTION)? {
            self.set_action(action)?;
        }
        self.bar = elements.optional(kind::BAR_ID)?.or(self.bar);
        if elements.has(kind::DUPLICATING_PARAMETERS) {
            return Err(unsupported(
                "copies of packets are not supported",
                kind::DUPLICATING_PARAMETERS,
            ));
        }
        match elements.group(parameters)? {
            Some(parameters) => self.set_parameters(parameters),
            None => Ok(0),
        }
    }

    fn set_action(&mut self, action: u32) -> Result<(), Refusal> {
        let known = action & (actions::DROP | actions::FORWARD | actions::BUFFER);
        if action & actions::DUPLICATE != 0 {
            return Err(unsupported("copies of packets are not supported", kind::APPLY_ACTION));
        }
        if known.count_ones() != 1 {
            let refusal = Refusal::new(Cause::MandatoryIeIncorrect, "one of DROP, FORW and BUFF must be set");
            return Err(refusal.with_element(kind::APPLY_ACTION));
        }
        self.action = action & 0xffff;
        Ok(())
    }

    fn set_parameters(&mut self, parameters: Elements<'_>) -> Result<u32, Refusal> {
        if parameters.has(kind::FORWARDING_POLICY) {
            let refusal = Refusal::new(Cause::InvalidForwardingPolicy, "there are no forwarding policies");
            return Err(refusal.with_element(kind::FORWARDING_POLICY));
        }
        if let Some(destination) = parameters.optional::<Interface>(kind::DESTINATION_INTERFACE)? {
            self.destination = Some(destination);
        }
        if let Some(tunnel) = parameters.optional(kind::OUTER_HEADER_CREATION)? {
            self.tunnel = Some(tunnel);
        }
        // A ToS octet and its mask.
        if let Some(marking) = parameters.optional::<u16>(kind::TRANSPORT_LEVEL_MARKING)? {
            self.dscp = Some((marking >> 10) as u8);
        }
        Ok(parameters.flags(kind::PFCPSMREQ_FLAGS)?.unwrap_or(0))
    }

    /// Whether packets are kept.
    pub fn buffers(&self) -> bool {
        self.action & actions::BUFFER != 0
    }

    /// Whether the SMF is notified of the first packet that is kept.
    pub fn notifies(&self) -> bool {
        self.action & actions::NOTIFY != 0
    }

    /// Whether packets are forwarded.
    pub fn forwards(&self) -> bool {
        self.action & actions::FORWARD != 0
    }

    /// Writes the Create FAR that would make it.
    pub fn write(&self, writer: &mut Writer) {
        writer.element(kind::CREATE_FAR, |far| {
            far.u32_element(kind::FAR_ID, self.id);
            far.element(kind::APPLY_ACTION, |value| value.bytes(&self.action.to_le_bytes()[..2]));
            if let Some(bar) = self.bar {
                far.u8_element(kind::BAR_ID, bar);
            }
            far.element(kind::FORWARDING_PARAMETERS, |parameters| {
                self.write_parameters(parameters)
            });
        });
    }

    fn write_parameters(&self, parameters: &mut Writer) {
        if let Some(destination) = self.destination {
            parameters.u8_element(kind::DESTINATION_INTERFACE, destination as u8);
        }
        if let Some(tunnel) = self.tunnel {
            parameters.element(kind::OUTER_HEADER_CREATION, |value| tunnel.write(value));
        }
        if let Some(dscp) = self.dscp {
            parameters.u16_element(kind::TRANSPORT_LEVEL_MARKING, u16::from(dscp) << 10 | 0xfc);
        }
    }
}

fn unsupported(why: &str, kind: u16) -> Refusal {
    Refusal::new(Cause::RuleFailure, why).with_element(kind)
}
