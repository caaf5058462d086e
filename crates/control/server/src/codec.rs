//! Messages of gRPC as bytes. A long message is decoded aside: the thread that serves hands its other calls to another
//! one meanwhile.

use prost::Message;
use prost::bytes::Buf;
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
