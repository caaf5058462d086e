//! From the structures of the JSON to the IR.
//!
//! * **Storage** ([`storage`]): every field of every header and struct becomes a slot.
//! * **Numbers** ([`number`], [`expression`]): the JSON computes with whole numbers of any size and truncates them
//!   where they are stored; the IR computes with a fixed number of bits. The number that is needed follows from the
//!   operands and from the bits of the result that are kept.
//! * **Places** ([`place`], [`copy`]): a header is given by its name, or selected among a stack's elements by an index;
//!   reading or writing it then selects among all elements.
//! * **Bodies** ([`body`], [`parser`], [`select`], [`primitive`], [`action`], [`control`], [`table`], [`hidden`],
//!   [`entry`], [`checksum`]): states, primitives and nodes become blocks.
//! * **Objects** ([`object`]): arrays, calculations, field lists.

mod action;
mod body;
mod checksum;
mod control;
mod copy;
mod entry;
mod expression;
mod hidden;
mod number;
mod object;
mod parser;
mod place;
mod primitive;
mod select;
mod stateful;
mod storage;
mod table;

use crate::error::{Error, Result};
use crate::known::Known;
use crate::model::{Json, Source};
use body::BodyBuilder;
use forebay_bits::Bits;
use forebay_ir::{ActionId, Architecture, Body, BodyId, BodyKind, Location, Program, Role, passes, verify};
use object::Objects;
use std::collections::BTreeMap;
use storage::Storage;

/// Errors of the core library, for JSON that does not list them.
const CORE_ERRORS: &[&str] = &[
    "NoError",
    "PacketTooShort",
    "NoMatch",
    "StackOutOfBounds",
    "HeaderTooShort",
    "ParserTimeout",
    "ParserInvalidArgument",
];

/// Largest number of an error: the IR lists all up to it.
const MAX_ERROR: u32 = 4096;

/// Translates a program.
///
/// # Errors
/// When it refers to what is not there, or uses what is not supported.
pub fn translate(json: &Json, known: &Known) -> Result<Program> {
    let mut translator = Translator {
        json,
        known,
        program: Program::new(Architecture::V1Model),
        storage: Storage::default(),
        objects: Objects::default(),
        body: BodyBuilder::default(),
        data: ActionData::None,
        actions: BTreeMap::new(),
        first_error: 0,
    };
    (translator.program.errors, translator.first_error) = error_names(json)?;
    translator.declare_storage()?;
    translator.declare_objects()?;
    translator.stages()?;
    let program = translator.program;
    match verify::verify(&program).first() {
        Some(problem) => Err(Error::new(format!("the program makes no sense: {problem}"))),
        None => Ok(program),
    }
}

/// Names of errors in the order of their numbers, and the number of the first, which is `NoError`. Those of the core
/// library that the JSON does not list come last, as in BMv2.
fn error_names(json: &Json) -> Result<(Vec<String>, u32)> {
    let numbers = json.errors.iter().map(|(_, number)| *number);
    let (Some(first), Some(last)) = (numbers.clone().min(), numbers.max()) else {
        return Ok((CORE_ERRORS.iter().map(|name| (*name).to_owned()).collect(), 0));
    };
    if last > MAX_ERROR {
        let message = format!("an error has the number {last}; at most {MAX_ERROR} is supported");
        return Err(Error::new(message).or_at("errors"));
    }
    let named = |number: u32| json.errors.iter().find(|(_, known)| *known == number);
    let name = |number: u32| named(number).map_or_else(|| format!("unnamed_{number}"), |(name, _)| name.clone());
    let mut names: Vec<String> = (first..=last).map(name).collect();
    let missing = |core: &&&str| !names.iter().any(|name| name == *core);
    let missing: Vec<String> = CORE_ERRORS
        .iter()
        .filter(missing)
        .map(|core| (*core).to_owned())
        .collect();
    names.extend(missing);
    if names[0] == CORE_ERRORS[0] {
        Ok((names, first))
    } else {
        Err(Error::new(format!("`{}` is the first error, expected `NoError`", names[0])).or_at("errors"))
    }
}

/// What is known while a program is translated.
struct Translator<'a> {
    json: &'a Json,
    known: &'a Known,
    program: Program,
    storage: Storage,
    objects: Objects,
    /// The body being built.
    body: BodyBuilder,
    /// What action data mean now.
    data: ActionData,
    /// Actions that tables have used so far, by their number in the JSON.
    actions: BTreeMap<u32, ActionId>,
    /// The number that `NoError` has in the JSON. In the IR it is 0; older compilers begin with 1.
    first_error: u32,
}

/// The meaning of action data.
enum ActionData {
    /// There are none here.
    None,
    /// Parameters of these widths.
    Parameters(Vec<u32>),
    /// Values that are known: those of a call within a control.
    Constants(Vec<Bits>),
}

impl Translator<'_> {
    fn stages(&mut self) -> Result<()> {
        let parser = self.parser()?;
        self.stage(Role::Parser, parser);
        let verification = self.verification()?;
        self.stage(Role::VerifyChecksum, verification);
        for (role, name) in [(Role::Ingress, "ingress"), (Role::Egress, "egress")] {
            let body = self.pipeline(name)?;
            self.stage(role, body);
        }
        let computation = self.computation()?;
        self.stage(Role::ComputeChecksum, computation);
        let deparser = self.deparser()?;
        self.stage(Role::Deparser, deparser);
        Ok(())
    }

    fn stage(&mut self, role: Role, body: Body) {
        let id = self.add_body(body);
        self.program.stages.insert(role, id);
    }

    fn add_body(&mut self, body: Body) -> BodyId {
        let id = BodyId(self.program.bodies.len() as u32);
        self.program.bodies.push(body);
        id
    }

    /// Builds a body; what is being built is interrupted.
    fn build(&mut self, name: &str, kind: BodyKind, fill: impl FnOnce(&mut Self) -> Result<()>) -> Result<Body> {
        let interrupted = std::mem::replace(&mut self.body, BodyBuilder::new(name, kind));
        let filled = fill(self);
        let builder = std::mem::replace(&mut self.body, interrupted);
        filled?;
        let mut body = builder.finish();
        passes::tidy(&mut body);
        Ok(body)
    }

    /// What follows comes from there.
    fn locate(&mut self, source: &Source) {
        self.body.location = self.location(source);
    }

    fn location(&mut self, source: &Source) -> Location {
        if source.line == 0 {
            return Location::default();
        }
        let known = self.program.files.iter().position(|file| *file == source.file);
        let file = known.unwrap_or_else(|| {
            self.program.files.push(source.file.clone());
            self.program.files.len() - 1
        });
        Location {
            file: file as u32,
            line: source.line,
        }
    }
}
