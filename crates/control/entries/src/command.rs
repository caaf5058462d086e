//! The commands of an STF file, as the parser leaves them: names are not resolved yet.

use crate::{ExpectedPacket, Literal};

/// A parsed STF file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Test {
    /// Commands in the order of the file.
    pub commands: Vec<Located<Command>>,
    /// What a packet means that leaves by a port which no `packet` and no `expect` names.
    pub unnamed_ports: UnnamedPorts,
}

/// What a packet means that leaves by a port which a test does not name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnnamedPorts {
    /// It is not expected: the test fails.
    #[default]
    Watched,
    /// It becomes a note, unless there is a `no_packet`. With p4c's runner such ports do not exist.
    Noted,
}

impl Test {
    /// The ports that a `packet` or an `expect` names: those that are watched.
    pub fn ports(&self) -> std::collections::BTreeSet<u32> {
        self.commands
            .iter()
            .filter_map(|command| match &command.value {
                Command::Packet { port, .. } | Command::Expect { port, .. } => Some(*port),
                _ => None,
            })
            .collect()
    }
}

/// A value and where in the file it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Located<T> {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The value.
    pub value: T,
}

/// A command. Commands that simple_switch_CLI has under the same name mean what they mean there.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// `add TABLE [PRIORITY] KEY:VALUE... ACTION(ARG:VALUE, ...) [= HANDLE]`
    Add(AddEntry),
    /// `setdefault TABLE ACTION(ARG:VALUE, ...)`
    SetDefault {
        /// Table.
        table: String,
        /// Its new default action.
        action: ActionCall,
    },
    /// `remove all`: every entry that the test added goes.
    RemoveAll,
    /// `remove HANDLE`: the entry that `add ... = HANDLE` added goes.
    Remove {
        /// The text after `=`.
        handle: String,
    },
    /// `packet PORT HEX`: a packet arrives.
    Packet {
        /// Port.
        port: u32,
        /// Its bytes.
        data: Vec<u8>,
    },
    /// `expect PORT [PATTERN]`: the next packet of that port looks like this.
    Expect {
        /// Port.
        port: u32,
        /// What it looks like; `None` accepts any packet.
        packet: Option<ExpectedPacket>,
    },
    /// `no_packet`: no port, named in the test or not, sends a packet that no `expect` awaits.
    NoPacket,
    /// `delete TABLE [PRIORITY] KEY:VALUE...`: the entry with that key goes, whichever side has added it.
    Delete(EntryName),
    /// `check_entries TABLE NUMBER`
    CheckEntries {
        /// Table.
        table: String,
        /// Entries that it has.
        number: u64,
    },
    /// `wait [SECONDS]`: time passes without a packet. Every packet has settled before the next command.
    Wait {
        /// Seconds.
        seconds: u64,
    },
    /// `check_counter NAME(INDEX) [packets|bytes OP NUMBER]`
    CheckCounter {
        /// Counter.
        counter: String,
        /// Element, or the entry of a direct counter.
        index: CounterIndex,
        /// What must hold of it; without, only that it exists.
        condition: Option<CounterCondition>,
    },
    /// `counter_read NAME INDEX`
    CounterRead {
        /// Counter.
        counter: String,
        /// Element.
        index: u64,
    },
    /// `counter_write NAME INDEX PACKETS BYTES`
    CounterWrite {
        /// Counter.
        counter: String,
        /// Element.
        index: u64,
        /// New number of packets.
        packets: u64,
        /// New number of bytes.
        bytes: u64,
    },
    /// `register_read NAME [INDEX]`
    RegisterRead {
        /// Register array.
        register: String,
        /// Element.
        index: u64,
    },
    /// `register_write NAME INDEX VALUE`
    RegisterWrite {
        /// Register array.
        register: String,
        /// Element.
        index: u64,
        /// Its new value.
        value: Literal,
    },
    /// `register_reset NAME`
    RegisterReset {
        /// Register array.
        register: String,
    },
    /// `meter_get_rates NAME INDEX`
    MeterGetRates {
        /// Meter array.
        meter: String,
        /// Element.
        index: u64,
    },
    /// `meter_set_rates NAME INDEX RATE:BURST RATE:BURST`
    MeterSetRates {
        /// Meter array.
        meter: String,
        /// Element.
        index: u64,
        /// Committed and peak.
        rates: [MeterRate; 2],
    },
    /// `meter_array_set_rates NAME RATE:BURST RATE:BURST`: every element of the array.
    MeterArraySetRates {
        /// Meter array.
        meter: String,
        /// Committed and peak.
        rates: [MeterRate; 2],
    },
    /// `mirroring_add SESSION PORT [BYTES]`: copies go to a port, cut to BYTES if given
    /// (the cut is ours, BMv2 has none).
    MirroringAdd {
        /// Clone session.
        session: u32,
        /// Port.
        port: u32,
        /// Longest copy in bytes.
        truncate: Option<u32>,
    },
    /// `mirroring_add_mc SESSION GROUP [BYTES]`: copies go to a multicast group.
    MirroringAddMulticast {
        /// Clone session.
        session: u32,
        /// Multicast group.
        group: u32,
        /// Longest copy in bytes.
        truncate: Option<u32>,
    },
    /// `mirroring_delete SESSION`
    MirroringDelete {
        /// Clone session.
        session: u32,
    },
    /// `mirroring_get SESSION`
    MirroringGet {
        /// Clone session.
        session: u32,
    },
    /// `mc_mgrp_create GROUP`
    MulticastGroupCreate {
        /// Multicast group.
        group: u32,
    },
    /// `mc_node_create RID PORT...`: the n-th of these makes node n, from 0.
    MulticastNodeCreate {
        /// Replication id (`egress_rid`) of its copies.
        rid: u32,
        /// A copy for each.
        ports: Vec<u32>,
    },
    /// `mc_node_update NODE PORT...`
    MulticastNodeUpdate {
        /// Node.
        node: u32,
        /// A copy for each.
        ports: Vec<u32>,
    },
    /// `mc_node_associate GROUP NODE`
    MulticastNodeAssociate {
        /// Multicast group.
        group: u32,
        /// Node.
        node: u32,
    },
}

impl Command {
    /// Whether the command sends, awaits or checks something; all others configure the switch or print.
    pub fn is_traffic(&self) -> bool {
        matches!(
            self,
            Command::Packet { .. }
                | Command::Expect { .. }
                | Command::NoPacket
                | Command::Wait { .. }
                | Command::CheckCounter { .. }
                | Command::CheckEntries { .. }
        )
    }
}

/// An entry as a command names it.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryName {
    /// Table.
    pub table: String,
    /// The larger wins.
    pub priority: Option<u32>,
    /// Key fields in the order written. A ternary, range, optional or LPM field that is not written matches anything;
    /// an exact one has to be written.
    pub matches: Vec<KeyMatch>,
}

/// An `add` command.
#[derive(Clone, Debug, PartialEq)]
pub struct AddEntry {
    /// Which entry.
    pub entry: EntryName,
    /// Action.
    pub action: ActionCall,
    /// Name by which later commands mean this entry.
    pub handle: Option<String>,
}

/// What an `add` says of one key field.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyMatch {
    /// Key field.
    pub name: String,
    /// What it must be.
    pub pattern: Pattern,
}

/// What a key field must be.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// `0x1234`, `0x12**`, `0b1*0`, `17`
    Value(Literal),
    /// `VALUE/LENGTH`
    Prefix(Literal, u32),
    /// `VALUE&&&MASK`
    Masked(Literal, Literal),
    /// `LOW->HIGH`
    Range(Literal, Literal),
}

/// An action with its data.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionCall {
    /// Action.
    pub name: String,
    /// Arguments by parameter name.
    pub args: Vec<(String, Literal)>,
}

/// Which element of a counter.
#[derive(Clone, Debug, PartialEq)]
pub enum CounterIndex {
    /// An element of an array.
    Element(u64),
    /// Of a direct counter: the entry with this handle (written `$A` or `A`).
    Entry(String),
}

/// The condition of a `check_counter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterCondition {
    /// Which of its two numbers.
    pub unit: CounterUnit,
    /// How to compare.
    pub comparison: Comparison,
    /// With what.
    pub value: u64,
}

/// One of a counter's two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterUnit {
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
}

/// A comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// Whether `left OP right`.
    pub fn holds(self, left: u64, right: u64) -> bool {
        match self {
            Comparison::Equal => left == right,
            Comparison::NotEqual => left != right,
            Comparison::Less => left < right,
            Comparison::LessOrEqual => left <= right,
            Comparison::Greater => left > right,
            Comparison::GreaterOrEqual => left >= right,
        }
    }

    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }
}

/// A rate of a meter with its burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeterRate {
    /// Packets or bytes in a microsecond.
    pub per_microsecond: f64,
    /// Packets or bytes.
    pub burst: u64,
}
