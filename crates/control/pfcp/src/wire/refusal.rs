//! Why a request is refused, as its answer says it.

use super::{Writer, kind};
use std::fmt;

/// Causes of answers (§8.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names of the specification")]
pub enum Cause {
    Accepted = 1,
    Rejected = 64,
    SessionContextNotFound = 65,
    MandatoryIeMissing = 66,
    ConditionalIeMissing = 67,
    InvalidLength = 68,
    MandatoryIeIncorrect = 69,
    InvalidForwardingPolicy = 70,
    InvalidFTeidAllocation = 71,
    NoAssociation = 72,
    RuleFailure = 73,
    NoResources = 75,
    ServiceNotSupported = 76,
    SystemFailure = 77,
    AllAddressesOccupied = 79,
    UnknownPredefinedRule = 80,
    UnknownApplication = 81,
}

/// A rule of a session (§8.2.80).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the specification")]
pub enum RuleId {
    Pdr(u16),
    Far(u32),
    Qer(u32),
    Urr(u32),
    Bar(u8),
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The cause.
    pub cause: Cause,
    /// The type of the element at fault.
    pub offending: Option<u16>,
    /// The rule that cannot be made.
    pub rule: Option<RuleId>,
    /// The same in words, for the log.
    pub why: String,
}

impl Refusal {
    /// A refusal that is about no element.
    pub fn new(cause: Cause, why: impl Into<String>) -> Refusal {
        Refusal {
            cause,
            offending: None,
            rule: None,
            why: why.into(),
        }
    }

    /// A rule that cannot be made.
    pub fn of_rule(rule: RuleId, why: impl Into<String>) -> Refusal {
        Refusal::new(Cause::RuleFailure, why).with_rule(rule)
    }

    /// The same about an element.
    pub fn with_element(self, kind: u16) -> Refusal {
        let offending = Some(kind);
        Refusal { offending, ..self }
    }

    /// The same about a rule, unless it names one.
    pub fn with_rule(self, rule: RuleId) -> Refusal {
        let rule = self.rule.or(Some(rule));
        Refusal { rule, ..self }
    }

    /// A mandatory element is missing.
    pub fn missing(kind: u16) -> Refusal {
        Refusal::new(Cause::MandatoryIeMissing, format!("element {kind} is missing")).with_element(kind)
    }

    /// Writes cause, offending element and failed rule.
    pub fn write(&self, writer: &mut Writer) {
        writer.cause(self.cause);
        if let Some(kind) = self.offending {
            writer.u16_element(kind::OFFENDING_IE, kind);
        }
    }

    /// Writes the rule that cannot be made, which is for answers about sessions only.
    pub fn write_rule(&self, writer: &mut Writer) {
        let Some(rule) = self.rule else { return };
        writer.element(kind::FAILED_RULE_ID, |value| match rule {
            RuleId::Pdr(id) => {
                value.u8(0);
                value.u16(id);
            }
            RuleId::Far(id) => typed(value, 1, id),
            RuleId::Qer(id) => typed(value, 2, id),
            RuleId::Urr(id) => typed(value, 3, id),
            RuleId::Bar(id) => value.bytes(&[4, id]),
        });
    }
}

fn typed(value: &mut Writer, kind: u8, id: u32) {
    value.u8(kind);
    value.u32(id);
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.cause)?;
        if let Some(rule) = self.rule {
            write!(formatter, ", {rule:?}")?;
        }
        write!(formatter, ": {}", self.why)
    }
}
