//! Compiles the server's side of P4Runtime's service; its messages are those of `forebay-protocol`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=../protocol/proto");
    let descriptors = protox::compile(["p4/v1/p4runtime.proto"], ["../protocol/proto"])?;
    tonic_prost_build::configure()
        .build_client(false)
        .codec_path("crate::codec::MessageCodec")
        .extern_path(".p4", "::forebay_protocol::p4")
        .extern_path(".p4.v1.ReadResponse", "crate::codec::ReadAnswer")
        .extern_path(".google.rpc", "::forebay_protocol::google::rpc")
        .compile_fds(descriptors)?;
    Ok(())
}
