//! Information elements and numbers into bytes.

use super::kind;

/// Bytes that grow.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// What has been written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The same, while more is to come.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// An octet.
    pub fn u8(&mut self, number: u8) {
        self.bytes.push(number);
    }

    /// A number of two octets.
    pub fn u16(&mut self, number: u16) {
        self.bytes(&number.to_be_bytes());
    }

    /// A number of four octets.
    pub fn u32(&mut self, number: u32) {
        self.bytes(&number.to_be_bytes());
    }

    /// A number of eight octets.
    pub fn u64(&mut self, number: u64) {
        self.bytes(&number.to_be_bytes());
    }

    /// The lowest five octets of a number.
    pub fn u40(&mut self, number: u64) {
        self.bytes(&number.to_be_bytes()[3..]);
    }

    /// An element whose value the closure writes.
    ///
    /// A value that is longer than 65,535 octets does not fit; callers bound what they put into an element.
    pub fn element(&mut self, kind: u16, value: impl FnOnce(&mut Writer)) {
        self.u16(kind);
        let at = self.bytes.len();
        self.u16(0);
        value(self);
        let length = self.bytes.len() - at - 2;
        debug_assert!(length <= usize::from(u16::MAX), "an element of {length} octets");
        self.bytes[at..at + 2].copy_from_slice(&(length as u16).to_be_bytes());
    }

    /// An element of one octet.
    pub fn u8_element(&mut self, kind: u16, number: u8) {
        self.element(kind, |value| value.u8(number));
    }

    /// An element of two octets.
    pub fn u16_element(&mut self, kind: u16, number: u16) {
        self.element(kind, |value| value.u16(number));
    }

    /// An element of four octets.
    pub fn u32_element(&mut self, kind: u16, number: u32) {
        self.element(kind, |value| value.u32(number));
    }

    /// An element of four octets, if there is a number.
    pub fn optional_u32(&mut self, kind: u16, number: Option<u32>) {
        if let Some(number) = number {
            self.u32_element(kind, number);
        }
    }

    /// The cause of an answer.
    pub fn cause(&mut self, cause: super::Cause) {
        self.u8_element(kind::CAUSE, cause as u8);
    }
}
