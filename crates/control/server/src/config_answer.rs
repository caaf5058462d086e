//! The bytes of an answer to GetForwardingPipelineConfig. The program is the switch's own, and is not copied, so that it is
//! in memory once however many clients leave such an answer unread.

use crate::calls::PREFIX_BYTES;
use forebay_p4runtime::PushedProgram;
use forebay_protocol::p4::v1::GetForwardingPipelineConfigResponse;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};
use tonic::codegen::Bytes;

/// The numbers of fields in `p4runtime.proto`.
const CONFIG: u32 = 1;
const DEVICE_CONFIG: u32 = 2;

/// A response and its program as a message of gRPC: first bytes of its own, then those that it shares. Fields of a
/// message may come in any order, so the program is the last.
pub(crate) fn parts(response: &GetForwardingPipelineConfigResponse, program: Option<PushedProgram>) -> [Bytes; 2] {
    let program = program.map(Bytes::from_owner).unwrap_or_default();
    let mut field = Vec::new();
    let mut config = Vec::new();
    if let Some(parts) = &response.config {
        config = parts.encode_to_vec();
        if !program.is_empty() {
            encode_length(DEVICE_CONFIG, program.len(), &mut config);
        }
        encode_length(CONFIG, config.len() + program.len(), &mut field);
    }
    let length = field.len() + config.len() + program.len();
    let length = u32::try_from(length).expect("a program comes in a message, whose length has 32 bits");
    let mut own = Vec::with_capacity(PREFIX_BYTES + field.len() + config.len());
    // It is not compressed.
    own.push(0);
    own.extend(length.to_be_bytes());
    own.extend(field);
    own.extend(config);
    [own.into(), program]
}

/// Writes what stands before a field of this many bytes.
fn encode_length(field: u32, bytes: usize, to: &mut Vec<u8>) {
    encode_key(field, WireType::LengthDelimited, to);
    encode_varint(bytes as u64, to);
}
