//! The inside of `forebay ctl`: a [`Session`] with a switch does commands, which come from the command line, from a
//! [script](run_script) or from a [person](interact). What the words mean is in `forebay_shell`.

mod batch;
mod editor;
mod format;
mod pipeline;
mod script;
mod session;
mod watch;

pub use editor::interact;
pub use format::Format;
pub use script::run_script;
pub use session::Session;
