//! `forebay traffic`: devices and server of the IoT experiments, through ordinary UDP sockets.

use super::Status;
use super::run::stop_on_signals;
use crate::numbers;
use crate::output;
use anyhow::{Context, Result, anyhow};
use clap::Subcommand;
use forebay_demo::sender::{self, Credit, SendOptions};
use forebay_demo::server::{self, Event, ServeOptions};
use forebay_traffic::MessageFormat;
use forebay_traffic::message::FLAG_HEADER;
use std::io::{self, BufReader, stdin};
use std::net::SocketAddr;
use std::time::Duration;

/// Arguments of `forebay traffic`.
#[derive(clap::Args)]
#[command(after_help = "\
Example, each in a terminal of its own:
  forebay traffic iot-serve --bind 127.0.0.1:5000 --expect 1000
  forebay traffic iot-send --to 127.0.0.1:5000 --messages 1000 --rate 500")]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// What to do.
#[derive(Subcommand)]
enum Command {
    /// Send IoT messages of several flows, each through a UDP socket of its own
    IotSend(SendArguments),
    /// Receive IoT messages and check every one; exit code 1 if one is lost, duplicated or changed
    IotServe(ServeArguments),
}

/// Arguments of `forebay traffic iot-send`.
#[derive(clap::Args)]
struct SendArguments {
    /// The server
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    to: SocketAddr,
    /// Messages to send, the flows taking turns
    #[arg(long, value_name = "NUMBER", default_value_t = 1000, value_parser = numbers::whole::<u64>)]
    messages: u64,
    /// Messages a second at most
    #[arg(long, value_name = "PER_SECOND", value_parser = numbers::rate)]
    rate: Option<f64>,
    /// Source port of the first flow, the others having the next ones; without, any
    #[arg(long, value_name = "PORT", value_parser = numbers::whole::<u16>)]
    source_port: Option<u16>,
    /// Read from the standard input, a number on a line, how many messages may have been sent by now
    #[arg(long)]
    credit: bool,
    #[command(flatten)]
    messages_form: MessageArguments,
}

/// Arguments of `forebay traffic iot-serve`.
#[derive(clap::Args)]
struct ServeArguments {
    /// Where to listen
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    bind: SocketAddr,
    /// Messages that are sent
    #[arg(long, value_name = "NUMBER", default_value_t = 1000, value_parser = numbers::whole::<u64>)]
    expect: u64,
    /// Seconds of silence after which the rest is taken for lost
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = numbers::whole::<u64>)]
    timeout: u64,
    #[command(flatten)]
    messages_form: MessageArguments,
}

/// What sender and server must agree on.
#[derive(clap::Args)]
struct MessageArguments {
    /// Bytes of a message after its UDP header: 6 of flag header, the rest payload
    #[arg(long, value_name = "BYTES", default_value = "22", value_parser = size)]
    size: MessageFormat,
    /// Flows that send in turns
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = flows)]
    flows: u32,
    /// Print JSON, an object on a line
    #[arg(long)]
    json: bool,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let found = forebay_telemetry::resolve(text).map_err(|error| format!("{error}; expected HOST:PORT"))?;
    found
        .into_iter()
        .next()
        .ok_or_else(|| "the name has no address".to_string())
}

fn flows(text: &str) -> Result<u32, String> {
    numbers::whole_in(text, 1..=60_000)
}

fn size(text: &str) -> Result<MessageFormat, String> {
    let bytes: usize = text.parse().map_err(|_| "expected a number of bytes".to_string())?;
    let payload = bytes
        .checked_sub(FLAG_HEADER)
        .ok_or_else(|| "the flag header alone has 6 bytes".to_string())?;
    MessageFormat::new(payload).map_err(|error| error.to_string())
}

/// Sends or serves.
pub fn run(arguments: &Arguments) -> Result<Status> {
    match &arguments.command {
        Command::IotSend(arguments) => send(arguments),
        Command::IotServe(arguments) => serve(arguments),
    }
}

fn send(arguments: &SendArguments) -> Result<Status> {
    let options = SendOptions {
        to: arguments.to,
        messages: arguments.messages,
        format: arguments.messages_form.size,
        flows: arguments.messages_form.flows,
        first_source_port: arguments.source_port,
        rate: arguments.rate,
    };
    let credit = arguments.credit.then(|| Credit::from_lines(BufReader::new(stdin())));
    let stop = stop_on_signals()?;
    let sent = sender::send(&options, credit, &stop).with_context(|| format!("cannot send to {}", options.to))?;
    if arguments.messages_form.json {
        output::print(&format!("{}\n", sent.json()))?;
    } else {
        output::print(&format!("{} messages sent in {:.3} s\n", sent.messages, sent.seconds))?;
    }
    Ok(Status::Good)
}

fn serve(arguments: &ServeArguments) -> Result<Status> {
    let options = ServeOptions {
        bind: arguments.bind,
        expect: arguments.expect,
        flows: arguments.messages_form.flows,
        format: arguments.messages_form.size,
        silence: Duration::from_secs(arguments.timeout),
    };
    let json = arguments.messages_form.json;
    let stop = stop_on_signals()?;
    let served = server::serve(&options, &stop, |event| tell(event, json));
    let served = served.with_context(|| format!("cannot serve at {}", options.bind))?;
    if json {
        output::print(&format!("{}\n", served.json()))?;
    } else {
        output::print(&format!("{} in {:.3} s\n", served.report, served.seconds))?;
    }
    Ok(if server::is_correct(&served.report) {
        Status::Good
    } else {
        Status::Bad
    })
}

fn tell(event: Event, json: bool) -> io::Result<()> {
    let text = match event {
        event if json => format!("{}\n", event.json()),
        Event::Listening(address) => format!("listening at {address}\n"),
        Event::Delivered(_) => return Ok(()),
    };
    output::print(&text).map_err(|error| {
        error
            .downcast()
            .unwrap_or_else(|error: anyhow::Error| io::Error::other(anyhow!(error)))
    })
}
