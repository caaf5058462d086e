//! Information elements by type.

use super::{Cause, Fault, Reader, Refusal, Value, kind};

/// The information elements of a message or of a grouped element. Their lengths have been checked.
#[derive(Clone, Copy, Debug)]
pub struct Elements<'a> {
    bytes: &'a [u8],
}

impl<'a> Elements<'a> {
    /// Checks that the bytes are elements, each as long as it says.
    ///
    /// # Errors
    /// [`Cause::InvalidLength`] with the type of the element that does not fit.
    pub fn new(bytes: &'a [u8]) -> Result<Elements<'a>, Refusal> {
        let mut reader = Reader::new(bytes);
        while !reader.rest().is_empty() {
            let kind = reader.u16().map_err(|_| cut(0))?;
            let length = reader.u16().map_err(|_| cut(kind))?;
            reader.bytes(usize::from(length)).map_err(|_| cut(kind))?;
        }
        Ok(Elements { bytes })
    }

    /// Every element: its type and what it holds.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &'a [u8])> + use<'a> {
        let mut reader = Reader::new(self.bytes);
        std::iter::from_fn(move || {
            let kind = reader.u16().ok()?;
            let length = reader.u16().ok()?;
            Some((kind, reader.bytes(usize::from(length)).ok()?))
        })
    }

    /// What the elements of a type hold, in their order.
    pub fn all(&self, wanted: u16) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.iter()
            .filter(move |(kind, _)| *kind == wanted)
            .map(|(_, value)| value)
    }

    /// What the first element of a type holds.
    pub fn find(&self, kind: u16) -> Option<&'a [u8]> {
        self.all(kind).next()
    }

    /// Whether there is an element of a type.
    pub fn has(&self, kind: u16) -> bool {
        self.find(kind).is_some()
    }

    /// The value of an element that may be missing.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn optional<T: Value>(&self, kind: u16) -> Result<Option<T>, Refusal> {
        self.find(kind).map(|value| read(kind, value)).transpose()
    }

    /// The value of an element that must be there.
    ///
    /// # Errors
    /// When it is missing or cannot be read.
    pub fn mandatory<T: Value>(&self, kind: u16) -> Result<T, Refusal> {
        self.optional(kind)?.ok_or_else(|| Refusal::missing(kind))
    }

    /// The values of all elements of a type.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn every<T: Value>(&self, kind: u16) -> Result<Vec<T>, Refusal> {
        self.all(kind).map(|value| read(kind, value)).collect()
    }

    /// The grouped elements of a type.
    pub fn groups(&self, kind: u16) -> impl Iterator<Item = Result<Elements<'a>, Refusal>> + use<'a> {
        self.all(kind).map(Elements::new)
    }

    /// A grouped element that may be missing.
    ///
    /// # Errors
    /// When it does not consist of elements.
    pub fn group(&self, kind: u16) -> Result<Option<Elements<'a>>, Refusal> {
        self.groups(kind).next().transpose()
    }

    /// A grouped element that must be there.
    ///
    /// # Errors
    /// When it is missing, or does not consist of elements.
    pub fn mandatory_group(&self, kind: u16) -> Result<Elements<'a>, Refusal> {
        self.group(kind)?.ok_or_else(|| Refusal::missing(kind))
    }

    /// Flags whose later octets older releases leave out: as a number whose lowest octet is the first.
    ///
    /// # Errors
    /// When the element has no octet.
    pub fn flags(&self, kind: u16) -> Result<Option<u32>, Refusal> {
        let Some(value) = self.find(kind) else {
            return Ok(None);
        };
        if value.is_empty() {
            return Err(unreadable(kind, Fault::Short));
        }
        let octets = value.iter().take(4).enumerate();
        Ok(Some(
            octets.fold(0, |flags, (at, octet)| flags | u32::from(*octet) << (8 * at)),
        ))
    }
}

fn read<T: Value>(kind: u16, value: &[u8]) -> Result<T, Refusal> {
    T::read(&mut Reader::new(value)).map_err(|fault| unreadable(kind, fault))
}

fn unreadable(kind: u16, fault: Fault) -> Refusal {
    let (cause, what) = match fault {
        Fault::Short => (Cause::InvalidLength, "is too short"),
        Fault::Wrong => (Cause::MandatoryIeIncorrect, "has a value that is not defined"),
    };
    Refusal::new(cause, format!("element {kind} {what}")).with_element(kind)
}

/// An element that is longer than what it stands in. Type 0 is none: its header is cut.
fn cut(kind: u16) -> Refusal {
    let refusal = Refusal::new(
        Cause::InvalidLength,
        format!("element {kind} ends outside of its message"),
    );
    match kind {
        0 => refusal,
        kind if kind >= kind::VENDORS => refusal,
        kind => refusal.with_element(kind),
    }
}
