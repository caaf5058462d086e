//! The two P4 programs, which are part of this crate, and the table entries for the demonstration's addresses.

use crate::DemoError;
use crate::settings::{Method, Settings};
use crate::topology::{LINK_FAR, LINK_NEAR, SERVER, SERVER_GATEWAY, mac_literal};
use forebay_syntax::source::MemorySources;
use std::fmt::Write;
use std::path::Path;

/// The program of switch 1.
pub const AGGREGATE: &str = "programs/iot_aggregate/iot_aggregate.p4";

/// The program of switch 2.
pub const DISAGGREGATE: &str = "programs/iot_disaggregate/iot_disaggregate.p4";

/// The entries of switch 1, in the folder of the demonstration.
pub const AGGREGATE_ENTRIES: &str = "programs/iot_aggregate/entries.stf";

/// The entries of switch 2, in the folder of the demonstration.
pub const DISAGGREGATE_ENTRIES: &str = "programs/iot_disaggregate/entries.stf";

/// Clone session and multicast group that lead to port 2: `FIRST_REPLICA` of the program, and the port.
const REPLICAS: u32 = 1002;

const SOURCES: &[(&str, &str)] = &[
    (
        AGGREGATE,
        include_str!("../../../../programs/iot_aggregate/iot_aggregate.p4"),
    ),
    (
        DISAGGREGATE,
        include_str!("../../../../programs/iot_disaggregate/iot_disaggregate.p4"),
    ),
    (
        "programs/common/headers.p4",
        include_str!("../../../../programs/common/headers.p4"),
    ),
    (
        "programs/common/iot.p4",
        include_str!("../../../../programs/common/iot.p4"),
    ),
    (
        "programs/common/routing.p4",
        include_str!("../../../../programs/common/routing.p4"),
    ),
];

/// The sources, for the front end.
pub fn sources() -> MemorySources {
    SOURCES
        .iter()
        .fold(MemorySources::new(), |sources, (path, text)| sources.with(path, text))
}

/// Writes the sources into `folder`.
///
/// # Errors
/// When a file cannot be written.
pub fn write(folder: &Path) -> Result<(), DemoError> {
    SOURCES
        .iter()
        .try_for_each(|(path, text)| write_file(&folder.join(path), text))
}

/// Writes the entries of both switches into `folder`.
///
/// # Errors
/// When a file cannot be written.
pub fn write_entries(folder: &Path, batch: u32) -> Result<(), DemoError> {
    write_file(&folder.join(AGGREGATE_ENTRIES), &aggregate_entries())?;
    write_file(&folder.join(DISAGGREGATE_ENTRIES), &disaggregate_entries(batch))
}

fn write_file(path: &Path, text: &str) -> Result<(), DemoError> {
    let folder = path.parent().expect("a file has a folder");
    std::fs::create_dir_all(folder).map_err(|error| DemoError::file(folder, error))?;
    std::fs::write(path, text).map_err(|error| DemoError::file(path, error))
}

/// The macros that the programs are compiled with.
pub fn defines(settings: &Settings, method: Method) -> Vec<String> {
    vec![
        format!("N={}", settings.batch()),
        format!("S={}", settings.format().message_bytes()),
        format!("METHOD={}", method.macro_value()),
    ]
}

/// Entries of switch 1, as STF commands.
pub fn aggregate_entries() -> String {
    format!(
        "# To the server: port 2, over the link.\n{}",
        route(LINK_NEAR, LINK_FAR)
    )
}

/// Entries of switch 2 for N-packets of `batch` messages, with the replicas of both methods.
pub fn disaggregate_entries(batch: u32) -> String {
    let mut text = format!("# To the server: port 2.\n{}", route(SERVER_GATEWAY, SERVER));
    let _ = writeln!(
        text,
        "# Copies to port 2: a clone session for resubmit, {batch} nodes for multicast."
    );
    let _ = writeln!(text, "mirroring_add {REPLICAS} 2\nmc_mgrp_create {REPLICAS}");
    for message in 0..batch {
        let _ = writeln!(
            text,
            "mc_node_create {message} 2\nmc_node_associate {REPLICAS} {message}"
        );
    }
    text
}

fn route(from: std::net::Ipv4Addr, to: std::net::Ipv4Addr) -> String {
    format!(
        "add ipv4_lpm ipv4.dst_addr:0x0A000200/24 to_next_hop(next_hop_id:7, port:2)\n\
         add next_hops next_hop:7 set_macs(src_addr:{}, dst_addr:{})\n",
        mac_literal(from),
        mac_literal(to)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_syntax::source::SourceProvider;

    #[test]
    fn entries_are_stf() {
        for text in [aggregate_entries(), disaggregate_entries(8)] {
            let test = forebay_entries::parse(&text).expect("correct commands");
            assert!(test.commands.iter().all(|command| !command.value.is_traffic()));
        }
    }

    #[test]
    fn programs_are_written_as_they_are_embedded() {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path()).expect("a folder that can be written");
        write_entries(folder.path(), 4).expect("a folder that can be written");
        let written = std::fs::read_to_string(folder.path().join(AGGREGATE)).expect("written");
        assert_eq!(sources().read(AGGREGATE), Some(written));
    }
}
