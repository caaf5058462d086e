//! The demonstration: small IoT messages are aggregated by one switch, cross a link as N-packets, and are disaggregated
//! by a second switch. Devices and server are ordinary UDP programs that notice nothing.
//!
//! ```text
//!   devices ──► switch 1 ═══ link ═══► switch 2 ──► server
//!    UDP      iot_aggregate         iot_disaggregate   UDP
//! ```
//!
//! [`run`] does it in one of two places, with the same programs, entries, messages and checks:
//!
//! * [`network`]: in network namespaces of Linux, both switches being processes (`forebay run`) between virtual
//!   Ethernet interfaces, the messages going through sockets. Needs root.
//! * [`memory`]: in one process, frames going from port to port in memory. Needs nothing.
//!
//! Either gives a [`Measurement`] for each way of disaggregating, which [`Demonstration`] turns into tables or JSON.
//!
//! [`sender`] and [`server`] are the two UDP programs, usable by themselves (`forebay traffic`).
//!
//! # Why nothing is lost by overload
//! A fixed rate would be too fast for one machine and too slow for another. Instead the server's progress opens a
//! window for the senders: never are more than [`Settings::window`] messages under way, fewer than any queue between
//! them holds. What is lost all the same is a mistake of a switch or a program, which is what the demonstration is to
//! show.

#![deny(unsafe_code)]

pub mod error;
pub mod flows;
pub mod measurement;
pub mod memory;
mod namespace;
pub mod network;
mod process;
pub mod programs;
mod report;
pub mod screen;
pub mod sender;
pub mod server;
pub mod settings;
mod system;
pub mod topology;

pub use error::DemoError;
pub use measurement::Measurement;
pub use report::Demonstration;
pub use screen::Screen;
pub use settings::{Method, Options, Settings};

use std::sync::atomic::AtomicBool;

/// Runs the demonstration: with every method of the settings, one after another. `stop` ends it early.
///
/// # Errors
/// When the options are wrong, files cannot be written, the network cannot be made, a switch does not come up, or
/// `stop` was set. That messages are lost is not an error: see [`Demonstration::is_correct`].
pub fn run(options: &Options, screen: &mut dyn Screen, stop: &AtomicBool) -> Result<Demonstration, DemoError> {
    let settings = Settings::new(options)?;
    let folder = settings.folder();
    programs::write(folder)?;
    screen.say(&screen::introduction(&settings));
    let network = match network::Network::make_if_possible(&settings)? {
        network::Possible::Yes(network) => Some(network),
        network::Possible::NotWanted => None,
        network::Possible::No(reason) => {
            screen.say(&format!(
                "{reason}: the demonstration runs in memory, in one process.\n"
            ));
            None
        }
    };
    screen.say(&screen::picture(&settings, network.is_some()));
    let mut measurements = Vec::new();
    for &method in settings.methods() {
        screen.say(&screen::headline(&settings, method));
        let measurement = match &network {
            Some(network) => network.measure(&settings, method, screen, stop)?,
            None => memory::measure(&settings, method, screen, stop)?,
        };
        screen.say(&measurement.summary());
        measurements.push(measurement);
    }
    Ok(Demonstration::new(settings, network.is_some(), measurements))
}
