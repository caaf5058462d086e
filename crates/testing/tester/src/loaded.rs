//! A program of a test file with the entries of its tables.

use crate::setup::Reader;
use crate::test_file::{DeviceEntry, EngineEntry};
use forebay_entries::{Applied, Command, Controller};
use forebay_ir::Program;
use forebay_pipeline::{Engine, FastPath, Options, Pipeline};
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use toml::Spanned;

/// A program with its entries.
pub(crate) struct Loaded {
    pub(crate) path: String,
    pub(crate) program: Program,
    pub(crate) engine: EngineEntry,
    place: Range<usize>,
    commands: Vec<Placed>,
    reference: OnceLock<Result<Arc<Pipeline>, LoadError>>,
}

/// A command with its place in the test file, and in words.
struct Placed {
    command: Command,
    place: Range<usize>,
    line: String,
}

/// Why a program or an entry cannot be loaded.
#[derive(Clone)]
pub(crate) struct LoadError {
    place: Range<usize>,
    pub(crate) message: String,
}

impl Loaded {
    /// Compiles the program of a device, and loads it once to see whether its entries suit it.
    pub(crate) fn read(entry: &DeviceEntry, path: &Spanned<String>, reader: &mut Reader<'_>) -> Option<Loaded> {
        let compiled = reader
            .library
            .program_including(path.get_ref(), &entry.defines, &entry.include);
        let program = match compiled {
            Ok(program) => program,
            Err(message) => {
                reader.wrong(path.span(), message);
                return None;
            }
        };
        let mut commands = Vec::new();
        for entries in &entry.entries {
            match reader.library.text(entries.get_ref()) {
                Ok(text) => stf_commands(&text, entries, entries.get_ref(), &mut commands, reader),
                Err(message) => reader.wrong(entries.span(), message),
            }
        }
        if let Some(text) = &entry.commands {
            stf_commands(text.get_ref(), text, "commands", &mut commands, reader);
        }
        let loaded = Loaded {
            path: path.get_ref().clone(),
            program,
            engine: entry.engine,
            place: path.span(),
            commands,
            reference: OnceLock::new(),
        };
        if let Err(error) = loaded.reference_or_error() {
            reader.wrong(error.place, error.message);
        }
        Some(loaded)
    }

    /// The program in the reference executor. All that look into it share it.
    ///
    /// # Errors
    /// When it cannot be loaded, in words.
    pub(crate) fn reference(&self) -> Result<Arc<Pipeline>, String> {
        self.reference_or_error().map_err(|error| error.message)
    }

    fn reference_or_error(&self) -> Result<Arc<Pipeline>, LoadError> {
        self.reference.get_or_init(|| self.load(EngineEntry::Interp)).clone()
    }

    /// The program and its entries in a pipeline of its own.
    ///
    /// # Errors
    /// When it cannot be loaded, or refuses an entry.
    pub(crate) fn load(&self, engine: EngineEntry) -> Result<Arc<Pipeline>, LoadError> {
        let engine = match engine {
            EngineEntry::Interp => Engine::Interpreter,
            EngineEntry::Jit => Engine::Jit,
        };
        let options = Options {
            engine,
            fast_path: FastPath::BeforePackets,
            ..Options::default()
        };
        let pipeline = Pipeline::load_with(self.program.clone(), options);
        let pipeline = Arc::new(pipeline.map_err(|error| LoadError {
            place: self.place.clone(),
            message: format!("{}: {error}", self.path),
        })?);
        let mut controller = Controller::new(pipeline.clone());
        for placed in &self.commands {
            if let Applied::Refused(message) | Applied::Differs(message) = controller.apply(&placed.command) {
                return Err(LoadError {
                    place: placed.place.clone(),
                    message: format!("{}: the entries do not suit {}: {message}", placed.line, self.path),
                });
            }
        }
        Ok(pipeline)
    }
}

fn stf_commands(text: &str, place: &Spanned<String>, name: &str, commands: &mut Vec<Placed>, reader: &mut Reader<'_>) {
    match forebay_entries::parse(text) {
        Ok(test) => {
            let entries = test.commands.into_iter().filter(|command| !command.value.is_traffic());
            commands.extend(entries.map(|command| Placed {
                line: format!("{name}, line {}", command.line),
                command: command.value,
                place: place.span(),
            }));
        }
        Err(errors) => {
            let first = errors.first().map(ToString::to_string).unwrap_or_default();
            reader.wrong(place.span(), format!("{name} is no list of STF commands: {first}"));
        }
    }
}
