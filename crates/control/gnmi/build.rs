//! Compiles the server's side of gNMI's service; its messages are those of `forebay-protocol`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=../protocol/proto");
    let descriptors = protox::compile(["gnmi/gnmi.proto"], ["../protocol/proto"])?;
    tonic_prost_build::configure()
        .build_client(false)
        .extern_path(".gnmi", "::forebay_protocol::gnmi")
        .extern_path(".gnmi_ext", "::forebay_protocol::gnmi_ext")
        .compile_fds(descriptors)?;
    Ok(())
}
