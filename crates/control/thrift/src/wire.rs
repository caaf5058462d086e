//! Thrift's binary protocol: messages and values as bytes.
//!
//! A message is `0x8001`, 0, its kind, its name, a number that the answer repeats, and a structure. A structure is
//! fields, each its type, its number and its value, and a zero byte. Nothing says how long a message is, so it has to
//! be read to the end. (thrift.apache.org, "Thrift Binary protocol encoding", strict form.)

use std::io::{self, Read};

/// Kinds of messages.
pub const CALL: u8 = 1;
pub const REPLY: u8 = 2;
pub const EXCEPTION: u8 = 3;
pub const ONE_WAY: u8 = 4;

/// An exception's kind, when the method is not known.
pub const UNKNOWN_METHOD: i32 = 1;
/// An exception's kind, when something else is wrong.
pub const INTERNAL_ERROR: i32 = 6;

/// Begins every message; its kind is in the last byte.
const VERSION: u32 = 0x8001_0000;

/// Structures in structures.
const DEPTH_MAX: u32 = 16;

/// Values of a message: each takes much more memory than its bytes, but for texts.
const VALUES_MAX: u32 = 1 << 17;

const BOOL: u8 = 2;
const BYTE: u8 = 3;
const DOUBLE: u8 = 4;
const I16: u8 = 6;
const I32: u8 = 8;
const I64: u8 = 10;
const BYTES: u8 = 11;
const STRUCT: u8 = 12;
const MAP: u8 = 13;
const SET: u8 = 14;
const LIST: u8 = 15;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `bool`
    Bool(bool),
    /// `byte`
    Byte(i8),
    /// `double`
    Double(f64),
    /// `i16`
    I16(i16),
    /// `i32`, and enumerations
    I32(i32),
    /// `i64`
    I64(i64),
    /// `string` and `binary`
    Bytes(Vec<u8>),
    /// A structure, an exception, or the arguments of a call.
    Struct(Fields),
    /// `list` and `set`; an empty one may be of anything.
    List(Vec<Value>),
    /// `map`
    Map(Vec<(Value, Value)>),
}

impl Value {
    /// A text.
    pub fn text(text: impl Into<String>) -> Value {
        Value::Bytes(text.into().into_bytes())
    }

    fn kind(&self) -> u8 {
        match self {
            Value::Bool(_) => BOOL,
            Value::Byte(_) => BYTE,
            Value::Double(_) => DOUBLE,
            Value::I16(_) => I16,
            Value::I32(_) => I32,
            Value::I64(_) => I64,
            Value::Bytes(_) => BYTES,
            Value::Struct(_) => STRUCT,
            Value::List(_) => LIST,
            Value::Map(_) => MAP,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Value::Bool(flag) => out.push(u8::from(*flag)),
            Value::Byte(number) => out.extend(number.to_be_bytes()),
            Value::Double(number) => out.extend(number.to_be_bytes()),
            Value::I16(number) => out.extend(number.to_be_bytes()),
            Value::I32(number) => out.extend(number.to_be_bytes()),
            Value::I64(number) => out.extend(number.to_be_bytes()),
            Value::Bytes(bytes) => write_bytes(out, bytes),
            Value::Struct(fields) => fields.write(out),
            Value::List(elements) => {
                out.push(elements.first().map_or(BYTE, Value::kind));
                out.extend((elements.len() as u32).to_be_bytes());
                elements.iter().for_each(|element| element.write(out));
            }
            Value::Map(pairs) => {
                let kinds = pairs.first().map(|(key, value)| [key.kind(), value.kind()]);
                out.extend(kinds.unwrap_or([BYTES, BYTES]));
                out.extend((pairs.len() as u32).to_be_bytes());
                for (key, value) in pairs {
                    key.write(out);
                    value.write(out);
                }
            }
        }
    }
}

/// A structure's fields, by number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(Vec<(i16, Value)>);

impl Fields {
    /// Adds a field.
    pub fn with(mut self, number: i16, value: Value) -> Fields {
        self.0.push((number, value));
        self
    }

    /// The field with this number, if it is there.
    pub fn get(&self, number: i16) -> Option<&Value> {
        let mut fields = self.0.iter();
        fields.find(|(known, _)| *known == number).map(|(_, value)| value)
    }

    fn write(&self, out: &mut Vec<u8>) {
        for (number, value) in &self.0 {
            out.push(value.kind());
            out.extend(number.to_be_bytes());
            value.write(out);
        }
        out.push(0);
    }
}

fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u32).to_be_bytes());
    out.extend(bytes);
}

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// [`CALL`], [`REPLY`], [`EXCEPTION`] or [`ONE_WAY`].
    pub kind: u8,
    /// The method, as `SERVICE:METHOD`.
    pub name: String,
    /// The answer has the number of its call.
    pub number: u32,
    /// Arguments or result.
    pub fields: Fields,
}

impl Message {
    /// As bytes.
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend((VERSION | u32::from(self.kind)).to_be_bytes());
        write_bytes(&mut out, self.name.as_bytes());
        out.extend(self.number.to_be_bytes());
        self.fields.write(&mut out);
        out
    }

    /// Reads a message of at most `bytes_max` bytes; `None` at the end of the stream.
    ///
    /// # Errors
    /// When it cannot be read, is longer, or is no message; the stream is of no use any more.
    pub fn read(stream: impl Read, bytes_max: u64) -> io::Result<Option<Message>> {
        let mut reader = Reader {
            stream: stream.take(bytes_max),
            values_left: VALUES_MAX,
        };
        let version = match reader.array() {
            Ok(bytes) => u32::from_be_bytes(bytes),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        };
        if version & !0xff != VERSION {
            return Err(malformed("no message of the binary protocol"));
        }
        Ok(Some(Message {
            kind: version as u8,
            name: reader.text()?,
            number: u32::from_be_bytes(reader.array()?),
            fields: reader.fields(DEPTH_MAX)?,
        }))
    }
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Reads values from a stream that ends where the longest message would.
struct Reader<R> {
    stream: io::Take<R>,
    /// Values that it may still have.
    values_left: u32,
}

impl<R: Read> Reader<R> {
    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn length(&mut self) -> io::Result<u64> {
        let length = u64::from(u32::from_be_bytes(self.array()?));
        if length <= self.stream.limit() {
            Ok(length)
        } else {
            Err(malformed("a length is more than a message may have"))
        }
    }

    fn bytes(&mut self) -> io::Result<Vec<u8>> {
        let length = self.length()?;
        let mut bytes = Vec::new();
        // Memory is taken as bytes come, not as their number says.
        let read = self.stream.by_ref().take(length).read_to_end(&mut bytes)?;
        if read as u64 == length {
            Ok(bytes)
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }

    fn text(&mut self) -> io::Result<String> {
        String::from_utf8(self.bytes()?).map_err(|_| malformed("a name is no UTF-8"))
    }

    fn fields(&mut self, depth: u32) -> io::Result<Fields> {
        let mut fields = Fields::default();
        loop {
            let [kind] = self.array()?;
            if kind == 0 {
                return Ok(fields);
            }
            let number = i16::from_be_bytes(self.array()?);
            fields.0.push((number, self.value(kind, depth)?));
        }
    }

    fn value(&mut self, kind: u8, depth: u32) -> io::Result<Value> {
        let depth = depth
            .checked_sub(1)
            .ok_or_else(|| malformed("values are nested too deeply"))?;
        let left = self.values_left.checked_sub(1);
        self.values_left = left.ok_or_else(|| malformed("a message has too many values"))?;
        Ok(match kind {
            BOOL => Value::Bool(self.array::<1>()? != [0]),
            BYTE => Value::Byte(i8::from_be_bytes(self.array()?)),
            DOUBLE => Value::Double(f64::from_be_bytes(self.array()?)),
            I16 => Value::I16(i16::from_be_bytes(self.array()?)),
            I32 => Value::I32(i32::from_be_bytes(self.array()?)),
            I64 => Value::I64(i64::from_be_bytes(self.array()?)),
            BYTES => Value::Bytes(self.bytes()?),
            STRUCT => Value::Struct(self.fields(depth)?),
            LIST | SET => {
                let [kind] = self.array()?;
                let length = self.length()?;
                let elements = (0..length).map(|_| self.value(kind, depth));
                Value::List(elements.collect::<io::Result<_>>()?)
            }
            MAP => {
                let [key, value] = self.array()?;
                let length = self.length()?;
                let pairs = (0..length).map(|_| Ok((self.value(key, depth)?, self.value(value, depth)?)));
                Value::Map(pairs.collect::<io::Result<_>>()?)
            }
            other => return Err(malformed(&format!("there is no type {other}"))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> Message {
        let key = Fields::default().with(1, Value::I32(1)).with(
            3,
            Value::Struct(
                Fields::default()
                    .with(1, Value::Bytes(vec![10, 0, 0, 0]))
                    .with(2, Value::I32(8)),
            ),
        );
        let fields = Fields::default()
            .with(1, Value::I32(0))
            .with(2, Value::text("ipv4_lpm"))
            .with(3, Value::List(vec![Value::Struct(key)]))
            .with(4, Value::Map(vec![(Value::Bool(true), Value::Double(0.5))]))
            .with(5, Value::List(vec![]));
        Message {
            kind: CALL,
            name: "standard:bm_mt_add_entry".to_string(),
            number: 7,
            fields,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = message().write();
        let read = Message::read(&bytes[..], 1 << 20).unwrap();
        assert_eq!(read, Some(message()));
        assert_eq!(Message::read(&[][..], 1 << 20).unwrap(), None);
    }

    #[test]
    fn what_is_cut_or_too_long_is_an_error() {
        let bytes = message().write();
        for length in 4..bytes.len() {
            assert!(Message::read(&bytes[..length], 1 << 20).is_err(), "{length} bytes");
            assert!(
                Message::read(&bytes[..], length as u64).is_err(),
                "at most {length} bytes"
            );
        }
        assert!(Message::read(&b"GET / HTTP/1.1\r\n"[..], 1 << 20).is_err());
    }

    /// A program is a long text.
    #[test]
    fn long_messages_have_few_values() {
        let with = |value: Value| Message {
            fields: Fields::default().with(1, value),
            ..message()
        };
        let program = with(Value::Bytes(vec![b' '; 1 << 20]));
        assert_eq!(Message::read(&program.write()[..], 2 << 20).unwrap(), Some(program));
        let many = with(Value::List(vec![Value::Bool(true); VALUES_MAX as usize]));
        let error = Message::read(&many.write()[..], 2 << 20).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn nothing_is_nested_without_end() {
        let mut bytes = Message {
            fields: Fields::default(),
            ..message()
        }
        .write();
        bytes.pop();
        bytes.extend([STRUCT, 0, 1].repeat(1000));
        let error = Message::read(&bytes[..], 1 << 20).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
