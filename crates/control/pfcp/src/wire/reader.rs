//! Numbers of network byte order from a slice.

/// Why a value cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The element ends before the value does.
    Short,
    /// The value has a form that the specification does not know.
    Wrong,
}

/// What an information element holds.
pub trait Value: Sized {
    /// Reads it from the beginning of an element.
    ///
    /// # Errors
    /// When the element is too short, or holds what the specification does not know.
    fn read(reader: &mut Reader<'_>) -> Result<Self, Fault>;
}

/// A slice that is read from its beginning.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads these bytes.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    /// What has not been read.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// [`Fault::Short`] when there are fewer; so with all other methods.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Fault::Short)?;
        self.rest = rest;
        Ok(taken)
    }

    /// The next bytes as an array.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let bytes = self.bytes(N)?;
        bytes.try_into().map_err(|_| Fault::Short)
    }

    /// A number of `count` bytes, at most 8.
    pub fn number(&mut self, count: usize) -> Result<u64, Fault> {
        let bytes = self.bytes(count)?;
        Ok(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// An octet.
    pub fn u8(&mut self) -> Result<u8, Fault> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    /// A number of two octets.
    pub fn u16(&mut self) -> Result<u16, Fault> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// A number of four octets.
    pub fn u32(&mut self) -> Result<u32, Fault> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// A number of eight octets.
    pub fn u64(&mut self) -> Result<u64, Fault> {
        Ok(u64::from_be_bytes(self.array()?))
    }
}

macro_rules! numbers {
    ($($number:ident),*) => {
        $(impl Value for $number {
            fn read(reader: &mut Reader<'_>) -> Result<$number, Fault> {
                reader.$number()
            }
        })*
    };
}

numbers!(u8, u16, u32, u64);
