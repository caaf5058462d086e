//! The control plane's side of a loaded program: everything is written and read by P4 names.
//!
//! A name may be shortened to any suffix that begins after a dot and is not ambiguous, as on BMv2's command line
//! (`ipv4_lpm` for `MyIngress.ipv4_lpm`). Values may have any width as long as the number fits.

use crate::Pipeline;
use crate::error::ControlError;
use crate::replication::{CloneSession, Replica};
use forebay_bits::Bits;
use forebay_ir::EntryMatch;

/// A table entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// One for each key field that is not of kind `selector`, in order.
    pub matches: Vec<EntryMatch>,
    /// The larger wins. At least 1 in tables with ternary, range or optional fields, 0 in others.
    pub priority: i64,
    /// What it invokes.
    pub action: EntryAction,
}

/// What a table entry invokes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryAction {
    /// An action with its data.
    Call {
        /// Name of the action.
        action: String,
        /// One for each parameter.
        args: Vec<Bits>,
    },
    /// A member of the table's action profile.
    Member(u32),
    /// A group of the table's action selector.
    Group(u32),
}

impl EntryAction {
    /// An action with its data.
    pub fn call(action: &str, args: Vec<Bits>) -> Self {
        EntryAction::Call {
            action: action.to_string(),
            args,
        }
    }
}

/// Packets and bytes counted. A counter that counts only one of them leaves the other at 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterValue {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Configuration of a two-rate three-colour meter (RFC 2698), in packets or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterRates {
    /// Committed information rate, per second.
    pub committed_rate: u64,
    /// Committed burst size.
    pub committed_burst: u64,
    /// Peak information rate, per second.
    pub peak_rate: u64,
    /// Peak burst size.
    pub peak_burst: u64,
}

/// Which of the two CRCs with parameters of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CustomCrc {
    /// `crc16_custom`
    Crc16,
    /// `crc32_custom`
    Crc32,
}

/// Parameters of a CRC in the usual model (polynomial without its highest term).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrcParameters {
    /// Polynomial.
    pub polynomial: u32,
    /// Start value.
    pub initial: u32,
    /// Exclusive or of the result.
    pub final_xor: u32,
    /// Whether the bits of each byte are taken from the least significant.
    pub reflect_input: bool,
    /// Whether the result's bits are reversed.
    pub reflect_output: bool,
}

impl Pipeline {
    /// Adds a table entry.
    pub fn insert_entry(&self, table: &str, entry: &Entry) -> Result<(), ControlError> {
        unimplemented!()
    }

    /// Changes the action of the entry with the same match and priority.
    pub fn modify_entry(&self, table: &str, entry: &Entry) -> Result<(), ControlError> {
        unimplemented!()
    }

    /// Removes the entry with that match and priority.
    pub fn delete_entry(
        &self,
        table: &str,
        matches: &[EntryMatch],
        priority: i64,
    ) -> Result<(), ControlError> {
        unimplemented!()
    }

    /// Removes all entries of a table.
    pub fn clear_entries(&self, table: &str) -> Result<(), ControlError> {
        unimplemented!()
    }

    /// All entries of a table, in an order that depends only on what was written.
    pub fn entries(&self, table: &str) -> Result<Vec<Entry>, ControlError> {
        unimplemented!()
    }

    /// Changes the default action.
    pub fn set_default_action(
        &self,
        table: &str,
        action: &str,
        args: &[Bits],
    ) -> Result<(), ControlError> {
        unimplemented!()
    }

    /// Restores the default action that the program names.
    pub fn reset_default_action(&self, table: &str) -> Result<(), ControlError> {
        unimplemented!()
    }

    /// The present default action.
    pub fn default_action(&self, table: &str) -> Result<EntryAction, ControlError> {
        unimplemented!()
    }

    /// Adds a member to an action profile.
    pub fn insert_member(
        &self,
        profile: &str,
        member: u32,
        action: &str,
        args: &[Bits],
    ) -> Result<(), ControlError> {
        unimplemented!()
    }

    /// Changes a member's action.
    pub fn modify_member(
        &self,
        profile: &str,
        member: u32,
        action: &str,
        args: &[Bits],
    ) -> Result<(), ControlError> {
        unimplemented!()
    }

    /// Removes a member.
    pub fn delete_member(&self, profile: &str, member: u32) -> Result<(), ControlError> {
        unimplemented!()
    }

    /// Adds a group of members with their weights to an action selector.
    pub fn insert_group(
        &self,
        profile: &str,
        group: u32,
        members: &[(u32, u32)],
    ) -> Result<(), ControlError> {
        unimplemented!()
    }

    /// Changes a group's members.
    pub fn modify_group(
        &self,
        profile: &str,
        group: u32,
        members: &[(u32, u32)],
    ) -> Result<(), ControlError> {
        unimplemented!()
    }

    /// Removes a group.
    pub fn delete_group(&self, profile: &str, group: u32) -> Result<(), ControlError> {
        unimplemented!()
    }

    /// An element of a register array.
    pub fn read_register(&self, register: &str, index: u64) -> Result<Bits, ControlError> {
        unimplemented!()
    }

    /// Changes an element of a register array.
    pub fn write_register(
        &self,
        register: &str,
        index: u64,
        value: &Bits,
    ) -> Result<(), ControlError> {
        unimplemented!()
    }

    /// Sets all elements to their value at the start.
    pub fn reset_register(&self, register: &str) -> Result<(), ControlError> {
        unimplemented!()
    }

    /// An element of a counter array.
    pub fn read_counter(&self, counter: &str, index: u64) -> Result<CounterValue, ControlError> {
        unimplemented!()
    }

    /// Changes an element of a counter array.
    pub fn write_counter(
        &self,
        counter: &str,
        index: u64,
        value: CounterValue,
    ) -> Result<(), ControlError> {
        unimplemented!()
    }

    /// The direct counter of an entry.
    pub fn read_direct_counter(
        &self,
        table: &str,
        matches: &[EntryMatch],
        priority: i64,
    ) -> Result<CounterValue, ControlError> {
        unimplemented!()
    }

    /// Changes the direct counter of an entry.
    pub fn write_direct_counter(
        &self,
        table: &str,
        matches: &[EntryMatch],
        priority: i64,
        value: CounterValue,
    ) -> Result<(), ControlError> {
        unimplemented!()
    }

    /// Sets a meter's rates; without rates it is always green.
    pub fn configure_meter(
        &self,
        meter: &str,
        index: u64,
        rates: Option<MeterRates>,
    ) -> Result<(), ControlError> {
        unimplemented!()
    }

    /// A meter's rates, if it was configured.
    pub fn meter_rates(&self, meter: &str, index: u64) -> Result<Option<MeterRates>, ControlError> {
        unimplemented!()
    }

    /// Sets the rates of an entry's direct meter.
    pub fn configure_direct_meter(
        &self,
        table: &str,
        matches: &[EntryMatch],
        priority: i64,
        rates: Option<MeterRates>,
    ) -> Result<(), ControlError> {
        unimplemented!()
    }

    /// The rates of an entry's direct meter.
    pub fn direct_meter_rates(
        &self,
        table: &str,
        matches: &[EntryMatch],
        priority: i64,
    ) -> Result<Option<MeterRates>, ControlError> {
        unimplemented!()
    }

    /// Replaces the elements of a parser value set; each has one match per component.
    pub fn set_value_set(
        &self,
        set: &str,
        elements: &[Vec<EntryMatch>],
    ) -> Result<(), ControlError> {
        unimplemented!()
    }

    /// The elements of a parser value set.
    pub fn value_set(&self, set: &str) -> Result<Vec<Vec<EntryMatch>>, ControlError> {
        unimplemented!()
    }

    /// Changes the parameters of crc16_custom or crc32_custom.
    pub fn set_custom_crc(
        &self,
        which: CustomCrc,
        parameters: CrcParameters,
    ) -> Result<(), ControlError> {
        unimplemented!()
    }

    /// Adds or replaces a multicast group (1 to 65535).
    pub fn set_multicast_group(
        &self,
        group: u16,
        replicas: &[Replica],
    ) -> Result<(), ControlError> {
        unimplemented!()
    }

    /// Removes a multicast group.
    pub fn delete_multicast_group(&self, group: u16) -> Result<(), ControlError> {
        unimplemented!()
    }

    /// Adds or replaces a clone session.
    pub fn set_clone_session(
        &self,
        session: u32,
        config: CloneSession,
    ) -> Result<(), ControlError> {
        unimplemented!()
    }

    /// Removes a clone session.
    pub fn delete_clone_session(&self, session: u32) -> Result<(), ControlError> {
        unimplemented!()
    }
}
