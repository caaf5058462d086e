//! Compiles the `.proto` files to Rust types and to a set of descriptors, without any program from outside.

use prost::Message;
use std::path::PathBuf;

const FILES: &[&str] = &[
    "p4/v1/p4runtime.proto",
    "p4/v1/p4data.proto",
    "p4/tmp/p4config.proto",
    "p4/config/v1/p4info.proto",
    "p4/config/v1/p4types.proto",
    "google/rpc/status.proto",
    "stratum/p4_role_config.proto",
    "gnmi/gnmi.proto",
    "gnmi/gnmi_ext.proto",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(FILES, ["proto"])?;
    let folder = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(folder.join("descriptors.bin"), descriptors.encode_to_vec())?;
    prost_build::Config::new()
        .btree_map(["."])
        .include_file("messages.rs")
        .compile_fds(descriptors)?;
    Ok(())
}
