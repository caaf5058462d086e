//! The port of the controllers: that it is no interface's, and what is worth knowing of a port that `--cpu-port` names.

use crate::control_plane::ControlOptions;
use crate::output;
use anyhow::{Result, bail};
use forebay_daemon::Start;
use forebay_ports::PortSpec;
use forebay_protocol::p4::config::v1::P4Info;

/// The port by which packets go to controllers. Where `--cpu-port` has no effect, or the program puts nothing before
/// packets for controllers, a message says so.
///
/// # Errors
/// When the port is an interface's.
pub fn of(options: &ControlOptions, start: &Start, ports: &[PortSpec]) -> Result<u32> {
    let port = options.cpu_port(&start.pipeline);
    if !options.is_served() {
        if options.cpu_port.is_some() {
            output::warning(&format!(
                "--cpu-port {port} has no effect: no controller can be connected without --grpc or --thrift"
            ));
        }
        return Ok(port);
    }
    if ports.iter().any(|spec| spec.number == port) {
        bail!(
            "port {port} is an interface's, and that of the controllers (--cpu-port): give one of them another number"
        );
    }
    // What was restored may be another program.
    if let (Some(_), None, Some((info, _))) = (options.cpu_port, &start.restored, &start.known)
        && let Some(text) = without_headers(info)
    {
        output::note(&format!("port {port} of the controllers: {text}"));
    }
    Ok(port)
}

/// What packets from or to controllers are, in a program that has no header for them.
fn without_headers(info: &P4Info) -> Option<String> {
    let lacks = |name: &str| {
        let mut preambles = info
            .controller_packet_metadata
            .iter()
            .filter_map(|header| header.preamble.as_ref());
        !preambles.any(|preamble| preamble.name == name)
    };
    let (attributes, whole) = match (lacks("packet_in"), lacks("packet_out")) {
        (false, false) => return None,
        (true, true) => (
            "@controller_header(\"packet_in\") or @controller_header(\"packet_out\")",
            "packets to and from controllers are",
        ),
        (true, false) => ("@controller_header(\"packet_in\")", "a packet to controllers is"),
        (false, true) => ("@controller_header(\"packet_out\")", "a packet from controllers is"),
    };
    Some(format!(
        "the program has no header with {attributes}, so {whole} the frame as the program sends or parses it, without metadata"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_protocol::p4::config::v1::{ControllerPacketMetadata, Preamble};

    #[test]
    fn what_has_no_header_is_named() {
        let info = |names: &[&str]| P4Info {
            controller_packet_metadata: names.iter().map(|name| header(name)).collect(),
            ..P4Info::default()
        };
        assert_eq!(without_headers(&info(&["packet_in", "packet_out"])), None);
        let said = |names: &[&str]| without_headers(&info(names)).expect("a header is missing");
        assert!(said(&[]).contains("packets to and from controllers are the frame"));
        assert!(said(&["packet_out"]).contains("no header with @controller_header(\"packet_in\"), so a packet to"));
        assert!(said(&["packet_in"]).contains("no header with @controller_header(\"packet_out\"), so a packet from"));
    }

    fn header(name: &str) -> ControllerPacketMetadata {
        ControllerPacketMetadata {
            preamble: Some(Preamble {
                name: name.to_owned(),
                ..Preamble::default()
            }),
            ..ControllerPacketMetadata::default()
        }
    }
}
