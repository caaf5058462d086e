//! The command as a user sees it: exit codes, what it prints and where.

mod command_line;
mod entries;
mod programs;
#[path = "../support/mod.rs"]
mod support;
mod switches;
mod traces;

use std::path::Path;

const PORT_FORWARD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../programs/portfwd/portfwd.p4");

/// A capture file of packets of one time, made without the library under test.
fn capture(folder: &Path, name: &str, packets: &[&[u8]]) -> String {
    let packets: Vec<(u32, &[u8])> = packets.iter().map(|packet| (1, *packet)).collect();
    capture_at(folder, name, &packets)
}

/// A capture file of packets with their times in seconds.
fn capture_at(folder: &Path, name: &str, packets: &[(u32, &[u8])]) -> String {
    let mut bytes = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1] {
        bytes.extend(word.to_le_bytes());
    }
    for (seconds, packet) in packets {
        for word in [*seconds, 0, packet.len() as u32, packet.len() as u32] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(*packet);
    }
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("the file can be written");
    path.to_string_lossy().into_owned()
}
