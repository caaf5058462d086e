//! The errors that BMv2's interface declares, by number and name.
//!
//! Each service raises exceptions of its own, which differ in the meaning of their one field; the numbers are those of
//! `standard.thrift`, `simple_pre_lag.thrift` and `simple_switch.thrift` in BMv2's sources.

use crate::wire::{self, Fields, Value};
use forebay_p4runtime::{Code, Error};
use std::fmt;

/// What a call was about, which says what its errors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Tables and action profiles.
    Table,
    /// Counter arrays.
    Counter,
    /// Meter arrays.
    Meter,
    /// Register arrays.
    Register,
    /// Value sets of parsers.
    ValueSet,
    /// Lists of digests.
    Learning,
    /// Ports.
    Device,
    /// Another program.
    Swap,
    /// Parameters of hashes.
    Hash,
    /// Names.
    Lookup,
    /// Multicast.
    Replication,
    /// Clone sessions.
    Mirroring,
}

impl Family {
    /// As simple_switch_CLI names it.
    fn words(self) -> &'static str {
        match self {
            Family::Table => "table operation",
            Family::Counter => "counter operation",
            Family::Meter => "meter operation",
            Family::Register => "register operation",
            Family::ValueSet => "parser value set operation",
            Family::Learning => "learn operation",
            Family::Device => "device manager operation",
            Family::Swap => "swap operation",
            Family::Hash => "crc operation",
            Family::Lookup => "id lookup",
            Family::Replication => "PRE operation",
            Family::Mirroring => "mirroring operation",
        }
    }

    /// The error for what no other says.
    fn other(self) -> Declared {
        match self {
            Family::Table => Declared(self, 100, "ERROR"),
            Family::Counter | Family::Register | Family::Learning => Declared(self, 3, "ERROR"),
            Family::Meter => Declared(self, 6, "ERROR"),
            Family::ValueSet => Declared(self, 2, "ERROR"),
            Family::Device => Declared(self, 1, "ERROR"),
            Family::Swap => Declared(self, 1, "CONFIG_SWAP_DISABLED"),
            Family::Hash => Declared(self, 3, "INVALID_CONFIG"),
            Family::Lookup => Declared(self, 1, "INVALID_RESOURCE_NAME"),
            Family::Replication => Declared(self, 5, "ERROR"),
            Family::Mirroring => Declared(self, 1, "SESSION_NOT_FOUND"),
        }
    }
}

/// An error of the interface: what it is about, its number, its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared(Family, i32, &'static str);

macro_rules! declared {
    ($($name:ident: $family:ident $number:literal),* $(,)?) => {
        $(pub const $name: Declared = Declared(Family::$family, $number, stringify!($name));)*
    };
}

declared! {
    TABLE_FULL: Table 1,
    INVALID_HANDLE: Table 2,
    EXPIRED_HANDLE: Table 3,
    COUNTERS_DISABLED: Table 4,
    METERS_DISABLED: Table 5,
    AGEING_DISABLED: Table 6,
    INVALID_TABLE_NAME: Table 7,
    INVALID_ACTION_NAME: Table 8,
    WRONG_TABLE_TYPE: Table 9,
    INVALID_MBR_HANDLE: Table 10,
    MBR_STILL_USED: Table 11,
    MBR_ALREADY_IN_GRP: Table 12,
    MBR_NOT_IN_GRP: Table 13,
    INVALID_GRP_HANDLE: Table 14,
    GRP_STILL_USED: Table 15,
    DUPLICATE_ENTRY: Table 17,
    BAD_MATCH_KEY: Table 18,
    DEFAULT_ACTION_IS_CONST: Table 20,
    DEFAULT_ENTRY_IS_CONST: Table 21,
    INVALID_ACTION_PROFILE_NAME: Table 23,
    NO_ACTION_PROFILE_SELECTION: Table 24,
    IMMUTABLE_TABLE_ENTRIES: Table 25,
    BAD_ACTION_DATA: Table 26,
    INVALID_COUNTER_NAME: Counter 1,
    INVALID_METER_NAME: Meter 1,
    BAD_RATES_LIST: Meter 3,
    INVALID_INFO_RATE_VALUE: Meter 4,
    INVALID_REGISTER_NAME: Register 1,
    INVALID_PARSE_VSET_NAME: ValueSet 1,
    INVALID_LIST_NAME: Learning 2,
    INVALID_MGID: Replication 2,
    INVALID_L1_HANDLE: Replication 4,
    SESSION_NOT_FOUND: Mirroring 1,
    INVALID_CALCULATION_NAME: Hash 1,
    WRONG_TYPE_CALCULATION: Hash 2,
    INVALID_CONFIG: Hash 3,
    ONGOING_SWAP: Swap 2,
    NO_ONGOING_SWAP: Swap 3,
    INVALID_RESOURCE_TYPE: Lookup 0,
}

impl Declared {
    /// With what is wrong, in words.
    pub fn because(self, why: impl fmt::Display) -> Failure {
        Failure {
            declared: Some(self),
            message: why.to_string(),
        }
    }
}

/// Why a call was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    declared: Option<Declared>,
    message: String,
}

impl Failure {
    /// What the interface has no error for.
    pub fn undeclared(message: impl Into<String>) -> Failure {
        Failure {
            declared: None,
            message: message.into(),
        }
    }

    /// Whether the table has the entry already.
    pub fn is_of_known_entry(&self) -> bool {
        self.declared == Some(DUPLICATE_ENTRY)
    }

    /// With more to say.
    pub fn and(mut self, more: &str) -> Failure {
        self.message.push_str(more);
        self
    }

    /// What the switch has refused.
    pub fn refused(family: Family, error: &Error) -> Failure {
        let declared = match (family, error.code) {
            (Family::Table, Code::AlreadyExists) => DUPLICATE_ENTRY,
            (Family::Table, Code::NotFound) => INVALID_HANDLE,
            (Family::Table, Code::ResourceExhausted) => TABLE_FULL,
            (Family::Table, Code::PermissionDenied) => IMMUTABLE_TABLE_ENTRIES,
            (Family::Counter | Family::Meter | Family::Register, Code::OutOfRange) => {
                Declared(family, 2, "INVALID_INDEX")
            }
            _ => family.other(),
        };
        declared.because(&error.message)
    }

    /// As the answer to a call: an exception that the method declares, in field 1 of its result, or one of the
    /// protocol.
    pub fn answer(&self) -> (u8, Fields) {
        match self.declared {
            Some(Declared(_, number, _)) => {
                let exception = Fields::default().with(1, Value::I32(number));
                (wire::REPLY, Fields::default().with(1, Value::Struct(exception)))
            }
            None => (wire::EXCEPTION, exception(&self.message, wire::INTERNAL_ERROR)),
        }
    }
}

/// An exception of the protocol.
pub fn exception(message: &str, kind: i32) -> Fields {
    Fields::default()
        .with(1, Value::text(message))
        .with(2, Value::I32(kind))
}

/// As simple_switch_CLI says it, and why.
impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.declared {
            Some(Declared(family, _, name)) => {
                write!(formatter, "Invalid {} ({name}): {}", family.words(), self.message)
            }
            None => write!(formatter, "Error: {}", self.message),
        }
    }
}
