//! The program that a switch begins with.

use crate::error::Error;
use crate::saved_state::FolderKeeper;
use forebay_p4runtime::{Code, Device, Keeper, Rejection, Settings};
use forebay_pipeline::{Options, Pipeline};
use forebay_protocol::p4::config::v1::P4Info;
use forebay_protocol::p4::v1::{Error as UpdateError, Update};
use std::sync::Arc;

/// The program that a switch begins with.
pub struct Start {
    /// The program, loaded.
    pub pipeline: Arc<Pipeline>,
    /// How controllers know it: its P4Info, and what they may push again. `None` while there is no program.
    pub known: Option<(P4Info, Vec<u8>)>,
    /// What controllers wrote before a restart; the pipeline is its.
    pub restored: Option<Device>,
    /// What was written before the start; see [`Start::write`].
    pub(crate) configured: Option<Device>,
    /// Keeps what controllers write from now on.
    pub(crate) keeper: Option<FolderKeeper>,
}

impl Start {
    /// A program that was loaded.
    pub fn new(pipeline: Arc<Pipeline>, known: Option<(P4Info, Vec<u8>)>) -> Start {
        Start {
            pipeline,
            known,
            restored: None,
            configured: None,
            keeper: None,
        }
    }

    /// Reads and loads a program: P4_16 source, IR text, or JSON that p4c has compiled for BMv2. A source may include
    /// only what the compiler brings along.
    ///
    /// # Errors
    /// With the messages of the compiler when it is no program that can be executed, or why it cannot be loaded.
    pub fn read(program: &[u8], options: Options) -> Result<Start, Error> {
        let loaded = forebay_p4runtime::load(program).map_err(|error| Error::Program(error.to_string()))?;
        let pipeline = Pipeline::load_with(loaded.program, options);
        let pipeline = pipeline.map_err(|error| Error::Program(format!("the program cannot be loaded: {error}")))?;
        let known = loaded.p4info.map(|info| (info, program.to_vec()));
        Ok(Start::new(Arc::new(pipeline), known))
    }

    /// The time of packets from which the switch goes on, in nanoseconds: programs have kept earlier ones in registers.
    pub fn clock_ns(&self) -> u64 {
        self.restored.as_ref().map_or(0, Device::clock_ns)
    }

    /// Does the updates: all of them or none. A message names the place of each that is refused.
    ///
    /// # Errors
    /// When there is no program, or it refuses an update.
    pub fn write(&mut self, settings: Settings, updates: &[Update], places: &[String]) -> Result<(), Error> {
        let mut device = self.first_device(settings)?;
        let done = device.configure(updates);
        self.configured = Some(device);
        done.map_err(|rejection| Error::Control(refused(&rejection, places)))
    }

    /// Does something with what will serve the controllers, before they come.
    ///
    /// # Errors
    /// When there is no program that it could be about.
    pub fn edit<R>(&mut self, settings: Settings, edit: impl FnOnce(&mut Device) -> R) -> Result<R, Error> {
        let mut device = self.first_device(settings)?;
        let result = edit(&mut device);
        // All of the state is kept when the switch starts.
        drop(device.take_outputs());
        self.configured = Some(device);
        Ok(result)
    }

    /// What serves the controllers. When it is new, it is saved for the first time.
    pub(crate) fn device(&mut self, settings: Settings) -> Result<Device, Error> {
        if let Some(device) = self.restored.take() {
            return Ok(device);
        }
        let device = self.first_device(settings)?;
        if let Some(keeper) = &mut self.keeper {
            let kept = keeper.keep_all(&device.snapshot());
            kept.map_err(|problem| Error::State(format!("--save-state: {problem}")))?;
        }
        Ok(device)
    }

    /// What was written to before, or a device with the program. The settings are those of the first call.
    fn first_device(&mut self, settings: Settings) -> Result<Device, Error> {
        if let Some(device) = self.configured.take() {
            return Ok(device);
        }
        let mut device = Device::new(settings);
        if let Some((p4info, blob)) = self.known.take() {
            let adopted = device.adopt(p4info, blob, Arc::clone(&self.pipeline));
            adopted.map_err(|error| Error::Control(error.to_string()))?;
        }
        Ok(device)
    }
}

/// The updates that failed by themselves, a line each.
fn refused(rejection: &Rejection, places: &[String]) -> String {
    let is_own =
        |error: &(&String, &UpdateError)| ![Code::Ok as i32, Code::Aborted as i32].contains(&error.1.canonical_code);
    let failed = places.iter().zip(&rejection.details).filter(is_own);
    let lines: Vec<String> = failed
        .map(|(place, error)| format!("\n  {place}: {}", error.message))
        .collect();
    if lines.is_empty() {
        return rejection.to_string();
    }
    format!(
        "the entries do not suit the program, nothing was written{}",
        lines.concat()
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A program without tables.
    pub(crate) const PROGRAM: &str = r#"
        #include <v1model.p4>
        struct none { }
        parser P(packet_in p, out none h, inout none m, inout standard_metadata_t s) {
            state start { transition accept; }
        }
        control C(inout none h, inout none m) { apply { } }
        control X(inout none h, inout none m, inout standard_metadata_t s) { apply { } }
        control D(packet_out p, in none h) { apply { } }
        V1Switch(P(), C(), X(), X(), C(), D()) main;
    "#;

    #[test]
    fn what_is_written_before_the_start_adds_up() {
        let mut start = Start::read(PROGRAM.as_bytes(), Options::default()).expect("a correct program");
        let write = |start: &mut Start| {
            start
                .write(Settings::default(), &[], &[])
                .map_err(|error| error.to_string())
        };
        assert_eq!(write(&mut start), Ok(()));
        let has_program = start.edit(Settings::default(), |device| device.pipeline().is_some());
        assert!(has_program.expect("there is a program"));
        assert_eq!(write(&mut start), Ok(()), "the program is still there");
    }
}
