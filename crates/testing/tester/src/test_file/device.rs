//! The table `[device]`.

use serde::Deserialize;
use toml::Spanned;

/// What the tester is connected with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [device]")]
pub struct DeviceEntry {
    /// A P4 program that runs in the tester's process.
    pub program: Option<Spanned<String>>,
    /// Macros for it.
    #[serde(default)]
    pub defines: Vec<String>,
    /// Folders in which its `#include` looks.
    #[serde(default)]
    pub include: Vec<String>,
    /// Files of its table entries.
    #[serde(default)]
    pub entries: Vec<Spanned<String>>,
    /// STF commands that fill its tables.
    pub commands: Option<Spanned<String>>,
    /// What executes it.
    #[serde(default)]
    pub engine: EngineEntry,
    /// Interfaces, with the numbers by which traffic names them: `1@veth0`.
    #[serde(default)]
    pub interfaces: Vec<Spanned<String>>,
    /// Where the switch between the interfaces serves its metrics: `HOST:PORT`.
    pub metrics: Option<Spanned<String>>,
    /// Ports of the program beside those that traffic names.
    #[serde(default)]
    pub ports: Vec<Spanned<u32>>,
    /// Nothing: what is sent comes back by the port `to`.
    #[serde(default)]
    pub wire: bool,
    /// A chip of the timed model runs the program, in simulated time.
    pub chip: Option<Spanned<String>>,
    /// Bytes that a queue of the chip holds.
    pub queue_bytes: Option<u64>,
    /// Times a program that does not fit the chip, for the reason that must be given.
    #[serde(default)]
    pub ignore_fit: bool,
    /// The reason.
    pub ignore_fit_reason: Option<Spanned<String>>,
    /// In place of the chip's own rule; 0: as often as the program likes.
    pub max_resubmissions: Option<Spanned<u32>>,
    /// The reason.
    pub max_resubmissions_reason: Option<Spanned<String>>,
    /// In place of the chip's own rule, bytes that an egress parser can read; 0: all.
    pub max_egress_bytes: Option<Spanned<u32>>,
    /// The reason.
    pub max_egress_bytes_reason: Option<Spanned<String>>,
    /// Registers and meters are those of the whole chip, for the reason that must be given.
    #[serde(default)]
    pub shared_registers: bool,
    /// The reason.
    pub shared_registers_reason: Option<Spanned<String>>,
    /// Compare each packet with what the reference executor says.
    #[serde(default)]
    pub check: bool,
    /// Packets that the device keeps for a port at most, in memory.
    #[serde(default = "queue_packets")]
    pub queue_packets: Spanned<usize>,
}

fn queue_packets() -> Spanned<usize> {
    Spanned::new(0..0, 4096)
}

impl Default for DeviceEntry {
    fn default() -> DeviceEntry {
        DeviceEntry {
            program: None,
            defines: Vec::new(),
            include: Vec::new(),
            entries: Vec::new(),
            commands: None,
            engine: EngineEntry::default(),
            interfaces: Vec::new(),
            metrics: None,
            ports: Vec::new(),
            wire: false,
            chip: None,
            queue_bytes: None,
            ignore_fit: false,
            ignore_fit_reason: None,
            max_resubmissions: None,
            max_resubmissions_reason: None,
            max_egress_bytes: None,
            max_egress_bytes_reason: None,
            shared_registers: false,
            shared_registers_reason: None,
            check: false,
            queue_packets: queue_packets(),
        }
    }
}

/// What executes a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineEntry {
    /// The reference executor.
    Interp,
    /// Machine code.
    #[default]
    Jit,
}
