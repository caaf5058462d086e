//! The switch for callers of the same process: another interface for operators has the same state.

use crate::push::load_blob;
use crate::shared::Shared;
use forebay_gnmi::PortInfo;
use forebay_p4runtime::{Error, NewProgram, Now};
use forebay_pipeline::Pipeline;
use forebay_protocol::p4::v1::{Entity, ForwardingPipelineConfig, Update};
use std::sync::Arc;

/// Access from the same process. Its calls are not arbitrated, like those of an operator at the switch.
#[derive(Clone)]
pub struct Local {
    shared: Arc<Shared>,
}

/// A port, and whether it carries packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalPort {
    /// The port.
    pub info: PortInfo,
    /// Whether it carries packets.
    pub is_up: bool,
    /// Whether an operator lets it carry packets.
    pub is_enabled: bool,
}

impl Local {
    pub(crate) fn new(shared: Arc<Shared>) -> Local {
        Local { shared }
    }

    /// A number that changes when another program runs.
    pub fn program_number(&self) -> u64 {
        self.shared.call(|device, _| device.program_number())
    }

    /// The program that runs, if there is one.
    pub fn program(&self) -> Option<ForwardingPipelineConfig> {
        self.shared.call(|device, _| device.program().cloned())
    }

    /// What packets go through, if there is a program.
    pub fn pipeline(&self) -> Option<Arc<Pipeline>> {
        self.shared.call(|device, _| device.pipeline().cloned())
    }

    /// Compiles a program, within the limits of a push.
    ///
    /// # Errors
    /// What is wrong with the program; `ALREADY_EXISTS` while another one waits to be committed.
    pub fn compile(&self, blob: Vec<u8>) -> Result<NewProgram, Error> {
        let options = self.shared.call(|device, _| device.begin_local_push())?;
        load_blob(self.shared.limits(), blob, options)
    }

    /// Puts a program beside the one that runs. Reads and writes are about it from now on; packets go through it after
    /// [`Local::commit`].
    ///
    /// # Errors
    /// `ALREADY_EXISTS` while another one waits to be committed.
    pub fn save(&self, program: NewProgram) -> Result<(), Error> {
        let (saved, kept) = self.shared.change(|device, _| device.save_locally(program))?;
        saved.and(kept)
    }

    /// Lets packets go through the program that was saved.
    ///
    /// # Errors
    /// `NOT_FOUND` when there is none.
    pub fn commit(&self) -> Result<(), Error> {
        let (committed, kept) = self.shared.change(|device, now| device.commit_locally(now))?;
        committed.and(kept)
    }

    /// Does all of the updates or none.
    ///
    /// # Errors
    /// When an update is refused, or what it changes cannot be kept.
    pub fn write(&self, updates: &[Update]) -> Result<(), Error> {
        let (written, kept) = self.shared.change(|device, now| device.write_locally(updates, now))?;
        written.and(kept)
    }

    /// Reads entities.
    ///
    /// # Errors
    /// When one of them cannot be read.
    pub fn read(&self, wanted: &[Entity]) -> Result<Vec<Entity>, Error> {
        self.shared.call(|device, now| device.read_locally(wanted, now))
    }

    /// The ports.
    pub fn ports(&self) -> Vec<LocalPort> {
        let ports = self.shared.interfaces().ports();
        ports
            .into_iter()
            .map(|(info, is_up, is_enabled)| LocalPort {
                info,
                is_up,
                is_enabled,
            })
            .collect()
    }

    /// Enables or disables a port.
    pub fn enable_port(&self, port: u32, is_enabled: bool) {
        self.shared.enable_port(port, is_enabled);
    }

    /// The time.
    pub fn now(&self) -> Now {
        self.shared.now()
    }

    /// The number of the switch.
    pub fn device_id(&self) -> u64 {
        self.shared.call(|device, _| device.device_id())
    }
}
