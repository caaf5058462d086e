//! The calls: a method's name and arguments to what the [`Runtime`] does.
//!
//! Methods belong to four services (`standard`, `simple_pre`, `simple_pre_lag`, `simple_switch`), whose names clients
//! put in front; no two services have a method of the same name that means something else.

mod arguments;
mod arrays;
mod device;
mod profiles;
mod replication;
mod tables;

use crate::client::COMMAND;
use crate::codes::{Failure, exception};
use crate::runtime::Runtime;
use crate::switch::Switch;
use crate::wire::{self, Fields, Message, Value};
use arguments::Arguments;
use std::sync::{Mutex, PoisonError};

/// What a method gives; none when it gives nothing.
type Answer = Result<Option<Value>, Failure>;

fn method(call: &Message) -> &str {
    call.name.rsplit(':').next().unwrap_or_default()
}

/// The answer to a call, unless it wants none; there is no such method when there is no answer.
fn message(call: &Message, answer: Option<Answer>) -> Option<Message> {
    let (kind, fields) = match answer {
        Some(Ok(result)) => {
            let result = result.map(|value| Fields::default().with(0, value));
            (wire::REPLY, result.unwrap_or_default())
        }
        Some(Err(failure)) => failure.answer(),
        None => {
            let message = format!("there is no method {}", method(call));
            (wire::EXCEPTION, exception(&message, wire::UNKNOWN_METHOD))
        }
    };
    (call.kind != wire::ONE_WAY).then(|| Message {
        kind,
        fields,
        name: call.name.clone(),
        number: call.number,
    })
}

/// Whether a call loads a program.
pub(crate) fn is_load(call: &Message) -> bool {
    method(call) == device::LOAD
}

/// Does such a call. The runtime is free for other calls while the program is compiled.
pub(crate) fn load<S: Switch>(switch: &S, runtime: &Mutex<Runtime<S>>, call: &Message) -> Option<Message> {
    let compiled = device::compile(switch, &Arguments(&call.fields));
    let runtime = runtime.lock().unwrap_or_else(PoisonError::into_inner);
    let answer = compiled.and_then(device::put);
    drop(runtime);
    message(call, Some(answer))
}

impl<S: Switch> Runtime<S> {
    /// Does a call; its answer, unless it wants none.
    pub fn call(&mut self, call: &Message) -> Option<Message> {
        self.look_at_program();
        let answer = self.answer(method(call), &call.fields);
        message(call, answer)
    }

    /// None when there is no such method.
    fn answer(&mut self, method: &str, fields: &Fields) -> Option<Answer> {
        let arguments = &Arguments(fields);
        if method == COMMAND {
            return Some(self.answer_command(arguments));
        }
        tables::call(self, method, arguments)
            .or_else(|| profiles::call(self, method, arguments))
            .or_else(|| arrays::call(self, method, arguments))
            .or_else(|| replication::call(self, method, arguments))
            .or_else(|| device::call(self, method, arguments))
    }

    /// A line of commands: its result is what it prints, its exception what is wrong with it.
    fn answer_command(&mut self, arguments: &Arguments) -> Answer {
        let printed = self.command(arguments.text(1)?);
        let printed = printed.map_err(|failure| Failure::undeclared(failure.to_string()));
        printed.map(|printed| Some(Value::text(printed)))
    }
}
