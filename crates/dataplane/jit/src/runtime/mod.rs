//! Functions that compiled code calls for work that is rare or long, or that belongs to tables and stateful objects.
//!
//! # Safety
//!
//! Only code made by [`crate::translate`] calls these functions and makes the pointers that they take. A
//! [`Context`](crate::context::Context) is the one with which the compiled function was called. Descriptions
//! ([`ValueSetShape`], [`WideOperation`], ...) are kept with the machine code of the calling function. Values are in the
//! state or in temporaries, with as many words as their width needs.

/// A function that compiled code may call. All parameters and results are 64 bits wide.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    pub(crate) address: *const (),
    pub(crate) parameters: usize,
    pub(crate) has_result: bool,
}

/// Each function with its parameters. The cast to a function type makes a wrong number of parameters a compile error.
macro_rules! functions {
    ($($name:ident = $function:ident($($parameter:tt),*) $(-> $result:ident)?;)*) => {$(
        pub(crate) const $name: Function = Function {
            address: $function as unsafe extern "C" fn($($parameter),*) $(-> $result)? as *const (),
            parameters: [$(functions!(@each $parameter)),*].len(),
            has_result: functions!(@has_result $($result)?),
        };
    )*};
    (@each $parameter:tt) => { () };
    (@has_result) => { false };
    (@has_result $result:ident) => { true };
}

mod frames;
mod look_ups;
mod requests;
mod state;
mod values;

pub(crate) use frames::*;
pub(crate) use look_ups::*;
pub(crate) use requests::*;
pub(crate) use state::*;
pub(crate) use values::*;
