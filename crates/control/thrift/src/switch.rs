//! What the interface is to.

use crate::notifications::Notifications;
use forebay_ir::Calculation;
use forebay_p4runtime::Error;
use forebay_pipeline::CrcParameters;
use forebay_protocol::p4::v1::{Entity, ForwardingPipelineConfig, Update};

/// A switch that takes P4Runtime's messages from within its own process, as from an operator
/// to whom arbitration does not apply.
pub trait Switch {
    /// A number that changes when another program runs.
    fn program_number(&self) -> u64;

    /// The program that runs; none while there is none.
    fn program(&self) -> Option<ForwardingPipelineConfig>;

    /// Compiles another program, which may take long. Other calls are about it when what this gives has been called.
    ///
    /// # Errors
    /// `ALREADY_EXISTS` when another one waits for [`Switch::swap`]; else what is wrong with it.
    fn load(&self, program: &[u8]) -> Result<Load<'_>, Error>;

    /// Lets packets go through the program that was loaded.
    ///
    /// # Errors
    /// `NOT_FOUND` when there is none.
    fn swap(&self) -> Result<(), Error>;

    /// Does all of the updates or none.
    ///
    /// # Errors
    /// The error of the first update that is refused.
    fn write(&self, updates: &[Update]) -> Result<(), Error>;

    /// Reads entities.
    ///
    /// # Errors
    /// When one of them cannot be.
    fn read(&self, wanted: &[Entity]) -> Result<Vec<Entity>, Error>;

    /// Its number, ports and times.
    fn about(&self) -> About;

    /// Lets a port carry packets, or not.
    fn enable_port(&self, port: u32, is_enabled: bool);

    /// Changes limits of queues.
    ///
    /// # Errors
    /// When there are no such queues, or the limit is none.
    fn limit_queues(&self, change: QueueChange) -> Result<(), String>;

    /// The hashes of the program whose parameters can be changed.
    fn calculations(&self) -> Vec<Calculation>;

    /// Changes the parameters of one of them.
    ///
    /// # Errors
    /// When there is none of this name, or a parameter has more bits than the CRC.
    fn set_crc_parameters(&self, calculation: &str, parameters: CrcParameters) -> Result<(), String>;

    /// The names of the program's digests, in the order of their numbers.
    fn digests(&self) -> Vec<String>;

    /// What publishes its digests, if anything does.
    fn notifications(&self) -> Option<&Notifications>;
}

/// Puts a program that was compiled beside the one that runs. Its error is that of [`Switch::load`].
pub type Load<'a> = Box<dyn FnOnce() -> Result<(), Error> + 'a>;

/// Another limit for some queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueChange {
    /// The port whose queues are meant; those of all ports when it is not said.
    pub port: Option<u32>,
    /// The priority of the queue; all of a port when it is not said.
    pub priority: Option<u32>,
    /// The limit.
    pub limit: QueueLimit,
}

/// What limits a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// Packets that it holds at most.
    Packets(u32),
    /// Packets a second that it sends at most; as many as its port takes when it is 0.
    PacketsPerSecond(u64),
}

/// A switch that is not running programs only, but stands somewhere.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Its number in P4Runtime.
    pub device_id: u64,
    /// The port of this interface.
    pub thrift_port: u16,
    /// Its ports.
    pub ports: Vec<PortAbout>,
    /// Microseconds since it started.
    pub elapsed_us: u64,
    /// Microseconds since 1970.
    pub epoch_us: u64,
}

/// A port.
#[derive(Clone, Debug)]
pub struct PortAbout {
    /// Its number.
    pub number: u32,
    /// The interface behind it.
    pub name: String,
    /// Whether it carries packets.
    pub is_up: bool,
    /// Whether an operator lets it carry packets.
    pub is_enabled: bool,
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// Has a program, and does nothing.
    pub(crate) struct Idle(pub(crate) ForwardingPipelineConfig);

    impl Switch for Idle {
        fn program_number(&self) -> u64 {
            1
        }

        fn program(&self) -> Option<ForwardingPipelineConfig> {
            Some(self.0.clone())
        }

        /// A millisecond for each byte.
        fn load(&self, program: &[u8]) -> Result<Load<'_>, Error> {
            std::thread::sleep(std::time::Duration::from_millis(program.len() as u64));
            Ok(Box::new(|| Ok(())))
        }

        fn swap(&self) -> Result<(), Error> {
            Ok(())
        }

        fn write(&self, _: &[Update]) -> Result<(), Error> {
            Ok(())
        }

        fn read(&self, _: &[Entity]) -> Result<Vec<Entity>, Error> {
            Ok(Vec::new())
        }

        fn about(&self) -> About {
            let port = PortAbout {
                number: 1,
                name: "veth1".to_string(),
                is_up: true,
                is_enabled: true,
            };
            About {
                ports: vec![port],
                ..About::default()
            }
        }

        fn enable_port(&self, _: u32, _: bool) {}

        fn limit_queues(&self, _: QueueChange) -> Result<(), String> {
            Ok(())
        }

        fn calculations(&self) -> Vec<Calculation> {
            Vec::new()
        }

        fn set_crc_parameters(&self, _: &str, _: CrcParameters) -> Result<(), String> {
            Ok(())
        }

        fn digests(&self) -> Vec<String> {
            vec!["zebra_t".to_string(), "ant_t".to_string()]
        }

        fn notifications(&self) -> Option<&Notifications> {
            None
        }
    }
}
