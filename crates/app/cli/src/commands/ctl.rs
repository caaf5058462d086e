//! `forebay ctl`: a shell for people, for any switch that speaks P4Runtime.

use super::Status;
use crate::ctl::{Format, Session, interact, run_script};
use crate::working::while_working;
use crate::{certificates, numbers, output};
use anyhow::Result;
use forebay_client::{CallError, ClientOptions, ClientTls};
use forebay_server::Address;
use forebay_shell::Mistake;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `forebay ctl`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  forebay ctl                   a session, with completion and history
  forebay ctl info              what the program has
  forebay ctl table dump ipv4_lpm
  forebay ctl table add ipv4_lpm dst_addr=10.0.0.0/8 do set_next_hop next_hop=1
  forebay ctl pipeline push programs/l3fwd/l3fwd.p4
  forebay ctl watch             counters and their rates
  forebay ctl --wait 60 ready   waits until the switch carries traffic
  forebay ctl < commands.txt    a line a command; ends at the first that fails
`forebay ctl help` lists the commands; docs/ctl.md explains them.
Reading disturbs no controller. Who writes becomes primary; where another controller is, --election-id must say so.")]
pub struct Arguments {
    /// The switch: HOST:PORT, PORT on this machine, or unix:PATH
    #[arg(
        long,
        visible_alias = "addr",
        value_name = "ADDRESS",
        default_value = "127.0.0.1:9559"
    )]
    grpc: Address,
    /// The number by which the switch is known
    #[arg(long, value_name = "N", default_value_t = 1)]
    device_id: u64,
    /// Become primary with this election id; without one, only if there is no primary
    #[arg(long, value_name = "N")]
    election_id: Option<u128>,
    /// The role of this controller
    #[arg(long, value_name = "ROLE", default_value = "")]
    role: String,
    /// The authority that the switch's certificate must come from (PEM); the connection is encrypted then
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// A certificate to show (PEM)
    #[arg(long, value_name = "FILE", requires_all = ["key", "ca"])]
    cert: Option<PathBuf>,
    /// The private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// The name in the switch's certificate, if it is not that of the address
    #[arg(long, value_name = "NAME", requires = "ca")]
    server_name: Option<String>,
    /// Wait so long for a switch that does not listen yet, and for one that is not `ready` yet
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = numbers::seconds)]
    wait: f64,
    /// Answer with JSON
    #[arg(long)]
    json: bool,
    /// Go on after a line of a script that failed
    #[arg(long)]
    keep_going: bool,
    /// The command; none for a session
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

/// Does one command, a script, or what a person types.
pub fn run(arguments: &Arguments) -> Result<Status> {
    let mut words = arguments.command.clone();
    let is_json = |word: &String| word == "--json";
    let format = Format::new(arguments.json || words.iter().any(is_json));
    words.retain(|word| !is_json(word));
    if let Some(wanted) = help_wanted(&words) {
        return match forebay_shell::command::help_with(wanted) {
            Ok(text) => output::print(&text).map(|()| Status::Good),
            Err(mistake) => said(mistake.into()),
        };
    }
    if let Some(option) = words.first().filter(|word| word.starts_with('-')) {
        return said(no_option(option).into());
    }
    if let Some(option) = words.iter().find(|word| is_option(word)) {
        let message = format!(
            "`{option}` stands before the command: forebay ctl {option} … {}",
            words[0]
        );
        return said(Mistake::new(message).into());
    }
    if !words.is_empty()
        && let Err(mistake) = forebay_shell::command::check(&words)
    {
        return said(mistake.into());
    }
    match serve(arguments, &words, format) {
        Ok(status) => Ok(status),
        Err(error) => said(error),
    }
}

/// The words about which help is wanted: `help WORDS`, `WORDS --help`.
fn help_wanted(words: &[String]) -> Option<&[String]> {
    match words {
        [first, wanted @ ..] if first == "help" => Some(wanted),
        [wanted @ .., last] if last == "--help" || last == "-h" => Some(wanted),
        _ => None,
    }
}

/// What is said of a word before the command that looks like an option.
fn no_option(word: &str) -> Mistake {
    let command = <Arguments as clap::Args>::augment_args(clap::Command::new("ctl"));
    let names = command.get_arguments().filter_map(clap::Arg::get_long);
    let names: Vec<String> = names.map(|name| format!("--{name}")).collect();
    Mistake::unknown("option", word, names.iter().map(String::as_str))
}

/// Whether a word is an option of this command, which its commands do not have.
fn is_option(word: &str) -> bool {
    let command = <Arguments as clap::Args>::augment_args(clap::Command::new("ctl"));
    let name = word.strip_prefix("--").and_then(|rest| rest.split('=').next());
    let Some(name) = name else { return false };
    let mut arguments = command.get_arguments();
    arguments.any(|argument| {
        argument.get_long() == Some(name) || argument.get_all_aliases().is_some_and(|all| all.contains(&name))
    })
}

fn serve(arguments: &Arguments, words: &[String], format: Format) -> Result<Status> {
    let mut session = Session::connect(options(arguments)?, format, Duration::from_secs_f64(arguments.wait))?;
    if !words.is_empty() {
        // What is watched may come late, or never.
        if words.iter().any(|word| word == "watch") {
            session.perform(words)?;
        } else {
            while_working("waiting for the switch", || session.perform(words))?;
        }
        return Ok(Status::Good);
    }
    if std::io::stdin().is_terminal() {
        interact(&mut session)
    } else {
        while_working("doing the commands", || run_script(&mut session, arguments.keep_going))
    }
}

/// Reports an error. A wrong command, or one that the switch refuses, gives exit code 1; all other errors are passed
/// on.
fn said(error: anyhow::Error) -> Result<Status> {
    let is_refusal = error.downcast_ref::<CallError>().is_some_and(CallError::is_refusal);
    if is_refusal || error.is::<Mistake>() {
        let message = format!("{error:#}");
        output::error(&message);
        output::print_failure(&serde_json::json!({ "error": message }));
        Ok(Status::Bad)
    } else {
        Err(error)
    }
}

fn options(arguments: &Arguments) -> Result<ClientOptions> {
    let tls = match &arguments.ca {
        None => None,
        Some(authority) => Some(ClientTls {
            authority: certificates::certificates("--ca", authority)?,
            identity: match (&arguments.cert, &arguments.key) {
                (Some(certificate), Some(key)) => {
                    let certificate = certificates::certificates("--cert", certificate)?;
                    Some((certificate, certificates::key("--key", key)?))
                }
                _ => None,
            },
            server_name: arguments.server_name.clone(),
        }),
    };
    Ok(ClientOptions {
        address: arguments.grpc.clone(),
        device_id: arguments.device_id,
        role: arguments.role.clone(),
        election_id: arguments.election_id,
        tls,
    })
}
