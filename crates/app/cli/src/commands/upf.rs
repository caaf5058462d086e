//! `forebay upf`: the N4 agent of `functions/upf`.

use super::Status;
use crate::{numbers, output};
use anyhow::{Context, Result};
use forebay_client::{CallError, ClientOptions};
use forebay_server::Address;
use forebay_upf::{Agent, AgentError, Options, Settings};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// After so long it is said that the switch is waited for.
const SAID_AFTER: Duration = Duration::from_secs(1);

/// Arguments of `forebay upf`.
#[derive(clap::Args)]
#[command(after_help = "\
The switch runs functions/upf with P4Runtime; the agent writes its tables as SMFs say by PFCP (3GPP TS 29.244).

Examples:
  forebay function run upf -i 1@veth1 -i 2@veth2 --grpc &
  forebay upf functions/upf/n4.toml
  forebay upf functions/upf/n4.toml --save-state /var/lib/forebay/n4

functions/upf/README.md describes the file, and what of PFCP is supported.")]
pub struct Arguments {
    /// Addresses, next hops, routes and N4 of the UPF
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    /// The switch: HOST:PORT, PORT on this machine, or unix:PATH
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9559")]
    grpc: Address,
    /// The number by which the switch is known
    #[arg(long, value_name = "N", default_value_t = 1)]
    device_id: u64,
    /// Become primary with this election id; without one, only if there is no primary
    #[arg(long, value_name = "N")]
    election_id: Option<u128>,
    /// Keep sessions in this folder, and begin with those that are in it
    #[arg(long, value_name = "DIR")]
    save_state: Option<PathBuf>,
    /// Leave it to the system when what was saved is on the disk: it survives the end of the agent, not of the machine
    #[arg(long, requires = "save_state")]
    save_unsynced: bool,
    /// Wait so long for a switch that does not listen yet
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = numbers::seconds)]
    wait: f64,
    /// Print events and, at the end, counters as JSON, an object on a line
    #[arg(long)]
    json: bool,
}

/// Speaks PFCP until a signal comes.
pub fn run(arguments: &Arguments) -> Result<Status> {
    let name = arguments.file.display();
    let text = forebay_files::text(&arguments.file, "configuration")?;
    let settings = Settings::read(&text).with_context(|| name.to_string())?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let mut tell = |event: &str| tell(event, arguments.json);
    let Some(mut agent) = start(arguments, &settings, &stop, &mut tell)? else {
        return Ok(Status::Good);
    };
    tell("ready");
    agent.run(&|| stop.load(Ordering::Relaxed), &mut tell)?;
    if arguments.json {
        let named = agent
            .statistics()
            .into_iter()
            .map(|(name, value)| (name.to_string(), Value::from(value)));
        let statistics = json!({ "statistics": named.collect::<Map<String, Value>>() });
        output::print(&format!("{statistics}\n"))?;
    }
    Ok(Status::Good)
}

/// Starts the agent; a switch that does not listen yet is waited for. None when it is stopped meanwhile.
fn start(
    arguments: &Arguments,
    settings: &Settings,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) -> Result<Option<Agent>> {
    let begin = Instant::now();
    let patience = Duration::from_secs_f64(arguments.wait);
    let mut is_said = false;
    while !stop.load(Ordering::Relaxed) {
        let options = Options {
            switch: ClientOptions {
                address: arguments.grpc.clone(),
                device_id: arguments.device_id,
                role: String::new(),
                election_id: arguments.election_id,
                tls: None,
            },
            state: arguments.save_state.clone(),
            is_synced: !arguments.save_unsynced,
        };
        match Agent::start(settings.clone(), options, tell) {
            Err(AgentError::Switch(error)) if is_soon_there(&error) && begin.elapsed() < patience => {
                if !is_said && begin.elapsed() >= SAID_AFTER {
                    is_said = true;
                    output::note(&why_it_waits(&error, arguments));
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            started => return Ok(Some(started?)),
        }
    }
    Ok(None)
}

fn why_it_waits(error: &CallError, arguments: &Arguments) -> String {
    let switch = &arguments.grpc;
    if error.is_connection_refused() {
        format!("nothing listens at {switch} yet; waiting for the switch to start")
    } else {
        format!("another controller is primary at {switch}; waiting until it is gone")
    }
}

/// A switch that has not started yet, or has not noticed yet that an earlier agent is gone.
fn is_soon_there(error: &CallError) -> bool {
    error.is_connection_refused() || error.is_permission_denied()
}

/// Says what happens: as a line of text, or of JSON.
fn tell(event: &str, is_json: bool) {
    if is_json {
        // A reader that is gone does not end the agent.
        drop(output::print(&format!("{}\n", json!({ "event": event }))))
    } else {
        output::info(event)
    }
}
