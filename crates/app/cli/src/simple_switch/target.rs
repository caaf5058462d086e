//! What follows `--` on BMv2's command line: the options of simple_switch and of simple_switch_grpc.

use super::{Kind, Lines, Note};
use anyhow::{Result, bail};
use clap::Parser;
use forebay_pipeline::DROP_PORT;
use forebay_server::Address;
use forebay_switch::QUEUES_MAX;
use std::path::PathBuf;

/// Where simple_switch_grpc serves.
const USUAL_ADDRESS: &str = "0.0.0.0:9559";

/// The options.
#[derive(Parser, Debug)]
#[command(no_binary_name = true, name = "--", infer_long_args = true)]
pub struct Target {
    /// Where to serve P4Runtime
    #[arg(long, value_name = "ADDRESS")]
    grpc_server_addr: Option<Address>,
    /// Encrypt connections of controllers
    #[arg(long)]
    grpc_server_ssl: bool,
    /// The server's certificate (PEM)
    #[arg(long, value_name = "FILE")]
    grpc_server_cert: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE")]
    grpc_server_key: Option<PathBuf>,
    /// The authority of the controllers' certificates (PEM)
    #[arg(long, value_name = "FILE")]
    grpc_server_cacert: Option<PathBuf>,
    /// Controllers need a certificate
    #[arg(long)]
    grpc_server_with_client_auth: bool,
    /// The port by which packets go to controllers and come from them
    #[arg(long, value_name = "N")]
    cpu_port: Option<u32>,
    #[arg(long, value_name = "N")]
    drop_port: Option<u32>,
    /// Queues of each port
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    priority_queues: Option<u32>,
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    max_mc_groups: Option<u32>,
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    max_l1_entries: Option<u32>,
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    max_l2_entries: Option<u32>,
    #[arg(long)]
    enable_swap: bool,
    #[arg(long)]
    disable_swap: bool,
    #[arg(long, value_name = "ADDRESS")]
    dp_grpc_server_addr: Option<String>,
    #[arg(long, value_name = "FILES")]
    load_modules: Option<String>,
}

impl Target {
    /// Where to serve P4Runtime, if anywhere: plain simple_switch does so only with an option.
    pub fn address(&self, kind: Kind) -> Option<Address> {
        let usual = || USUAL_ADDRESS.parse().ok().filter(|_| kind == Kind::Grpc);
        self.grpc_server_addr.clone().or_else(usual)
    }

    /// Says the same in words of `forebay run`.
    ///
    /// # Errors
    /// When an option cannot be what it says.
    pub fn write(&self, lines: &mut Lines) -> Result<()> {
        self.refuse()?;
        if let Some(port) = self.cpu_port {
            lines.word("--cpu-port", port);
        }
        if let Some(queues) = self.priority_queues {
            let queues = queues as usize;
            lines.word("--queues", queues.min(QUEUES_MAX));
            if queues > QUEUES_MAX {
                lines.note(Note::Changed(
                    "--priority-queues",
                    "priorities have three bits, so there are 8 queues",
                ));
            }
        }
        self.write_tls(lines)?;
        self.note(lines);
        Ok(())
    }

    fn refuse(&self) -> Result<()> {
        if self.cpu_port == Some(0) {
            bail!("--cpu-port: 0 is no port for controllers");
        }
        if self.dp_grpc_server_addr.is_some() {
            bail!("--dp-grpc-server-addr: packets come from interfaces, not over gRPC; give ports with -i");
        }
        if self.load_modules.is_some() {
            bail!("--load-modules: extern objects in C++ cannot be loaded");
        }
        Ok(())
    }

    fn write_tls(&self, lines: &mut Lines) -> Result<()> {
        if !self.grpc_server_ssl {
            let given = [
                ("--grpc-server-cert", self.grpc_server_cert.is_some()),
                ("--grpc-server-key", self.grpc_server_key.is_some()),
                ("--grpc-server-cacert", self.grpc_server_cacert.is_some()),
                ("--grpc-server-with-client-auth", self.grpc_server_with_client_auth),
            ];
            for (name, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
                lines.note(Note::Nothing(
                    name,
                    "connections are not encrypted without --grpc-server-ssl",
                ));
            }
            return Ok(());
        }
        let (Some(certificate), Some(key)) = (&self.grpc_server_cert, &self.grpc_server_key) else {
            bail!("--grpc-server-ssl needs --grpc-server-cert FILE and --grpc-server-key FILE");
        };
        lines.word("--grpc-cert", certificate.display());
        lines.word("--grpc-key", key.display());
        match (&self.grpc_server_cacert, self.grpc_server_with_client_auth) {
            (Some(authority), true) => lines.word("--grpc-client-ca", authority.display()),
            (None, true) => bail!("--grpc-server-with-client-auth needs --grpc-server-cacert FILE"),
            (Some(_), false) => lines.note(Note::Nothing(
                "--grpc-server-cacert",
                "controllers are not asked for certificates without --grpc-server-with-client-auth",
            )),
            (None, false) => {}
        }
        Ok(())
    }

    fn note(&self, lines: &mut Lines) {
        if self.drop_port.is_some_and(|port| port != DROP_PORT) {
            lines.note(Note::Nothing(
                "--drop-port",
                "mark_to_drop drops whatever the number is; port 511 cannot be used, and other ports drop nothing",
            ));
        }
        let limits = [
            ("--max-mc-groups", self.max_mc_groups),
            ("--max-l1-entries", self.max_l1_entries),
            ("--max-l2-entries", self.max_l2_entries),
        ];
        for (name, _) in limits.into_iter().filter(|(_, limit)| limit.is_some()) {
            lines.note(Note::Nothing(name, "there is no such limit"));
        }
        for (name, is_given) in [
            ("--enable-swap", self.enable_swap),
            ("--disable-swap", self.disable_swap),
        ] {
            if is_given {
                lines.note(Note::Nothing(
                    name,
                    "controllers can always push another program by P4Runtime",
                ));
            }
        }
    }
}
