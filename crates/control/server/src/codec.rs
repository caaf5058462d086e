//! Messages of gRPC as bytes. A long message is decoded aside: the thread that serves hands its other calls to another
//! one meanwhile.

use forebay_protocol::p4::v1::ReadResponse;
use prost::bytes::{Buf, BufMut};
use prost::encoding::{DecodeContext, WireType, skip_field};
use prost::{DecodeError, Message};
use std::marker::PhantomData;
use tokio::task::block_in_place;
use tonic::Status;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder};
use tonic_prost::{ProstDecoder, ProstEncoder};

/// Messages of more bytes are decoded aside: it takes longer than half a millisecond.
const LONG_BYTES: usize = 256 << 10;

/// Messages as `prost` writes and reads them.
#[derive(Clone, Debug)]
pub(crate) struct MessageCodec<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for MessageCodec<T, U> {
    fn default() -> Self {
        MessageCodec(PhantomData)
    }
}

impl<T, U> Codec for MessageCodec<T, U>
where
    T: Message + 'static,
    U: Message + Default + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = MessageDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstEncoder::default()
    }

    fn decoder(&mut self) -> Self::Decoder {
        MessageDecoder(ProstDecoder::new(BufferSettings::default()))
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct MessageDecoder<U>(ProstDecoder<U>);

impl<U: Message + Default> Decoder for MessageDecoder<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, bytes: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        if bytes.remaining() <= LONG_BYTES {
            return self.0.decode(bytes);
        }
        block_in_place(|| self.0.decode(bytes))
    }

    fn buffer_settings(&self) -> BufferSettings {
        self.0.buffer_settings()
    }
}

/// A message of the answer to a read, as bytes: those of a large table take a small part of the memory of its messages.
#[derive(Debug)]
pub(crate) struct ReadAnswer(Vec<u8>);

impl ReadAnswer {
    pub(crate) fn of(message: &ReadResponse) -> ReadAnswer {
        ReadAnswer(message.encode_to_vec())
    }
}

impl Message for ReadAnswer {
    fn encode_raw(&self, buffer: &mut impl BufMut) {
        buffer.put_slice(&self.0);
    }

    /// A server receives none.
    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buffer: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        skip_field(wire_type, tag, buffer, context)
    }

    fn encoded_len(&self) -> usize {
        self.0.len()
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_protocol::p4::v1::Entity;

    #[test]
    fn an_answer_has_the_bytes_of_its_message() {
        let message = ReadResponse {
            entities: vec![Entity::default(); 300],
        };
        let answer = ReadAnswer::of(&message);
        assert_eq!(answer.encode_to_vec(), message.encode_to_vec());
        assert_eq!(answer.encoded_len(), 600);
    }
}
