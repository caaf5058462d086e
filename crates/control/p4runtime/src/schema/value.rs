//! Values that a controller gives for fields: numbers, or what `@p4runtime_translation` puts in their place.

use crate::bytestring;
use crate::status::Error;
use forebay_bits::Bits;
use forebay_protocol::p4::config::v1::p4_new_type_spec::Representation;
use forebay_protocol::p4::config::v1::p4_new_type_translation::SdnType;
use forebay_protocol::p4::config::v1::{P4Info, P4NamedType};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// The type of a field as both sides see it.
#[derive(Clone, Debug)]
pub(crate) struct ValueType {
    /// Width in the data plane, in bits.
    pub(crate) width: u32,
    form: Form,
}

/// What a controller writes.
#[derive(Clone, Debug)]
enum Form {
    /// A number of so many bits; that of the data plane, or `sdn_bitwidth` of a translation.
    Number(u32),
    /// `sdn_string` of a translation: each string stands for a number that the switch has chosen.
    Text(Arc<Dictionary>),
}

/// The strings of one translated type, numbered from 0 in the order in which they were first written.
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    words: Mutex<Words>,
}

#[derive(Debug, Default)]
struct Words {
    numbers: HashMap<Vec<u8>, u64>,
    texts: Vec<Vec<u8>>,
}

impl Dictionary {
    /// The number of a string; a new one if it has none yet and the width has room.
    fn number(&self, text: &[u8], width: u32) -> Option<u64> {
        let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = words.numbers.get(text) {
            return Some(*number);
        }
        let number = words.texts.len() as u64;
        if width < 64 && number >> width != 0 {
            return None;
        }
        words.numbers.insert(text.to_vec(), number);
        words.texts.push(text.to_vec());
        Some(number)
    }

    /// The strings from a number on.
    pub(crate) fn texts_from(&self, first: usize) -> Vec<Vec<u8>> {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        words.texts.get(first..).unwrap_or_default().to_vec()
    }

    /// Gives strings the next numbers.
    pub(crate) fn extend(&self, texts: &[Vec<u8>]) {
        let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        for text in texts {
            let number = words.texts.len() as u64;
            words.numbers.insert(text.clone(), number);
            words.texts.push(text.clone());
        }
    }

    /// The string of a number, empty if no controller has written one.
    fn text(&self, number: u64) -> Vec<u8> {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        words.texts.get(number as usize).cloned().unwrap_or_default()
    }
}

/// The translated types of a program, by name.
#[derive(Debug, Default)]
pub(crate) struct Translations {
    forms: BTreeMap<String, Form>,
    /// By what the translation is called.
    pub(crate) dictionaries: BTreeMap<String, Arc<Dictionary>>,
}

impl Translations {
    /// Those of a P4Info. Types with the same translation share their strings.
    pub(crate) fn new(info: &P4Info) -> Translations {
        let mut dictionaries: BTreeMap<String, Arc<Dictionary>> = BTreeMap::new();
        let mut forms = BTreeMap::new();
        for (name, spec) in info.type_info.iter().flat_map(|types| &types.new_types) {
            let Some(Representation::TranslatedType(translation)) = &spec.representation else {
                continue;
            };
            let form = match &translation.sdn_type {
                Some(SdnType::SdnBitwidth(width)) => Form::Number(*width as u32),
                Some(SdnType::SdnString(_)) => {
                    Form::Text(Arc::clone(dictionaries.entry(translation.uri.clone()).or_default()))
                }
                None => continue,
            };
            forms.insert(name.clone(), form);
        }
        Translations { forms, dictionaries }
    }

    /// The type of a field of this width in the data plane.
    pub(crate) fn value_type(&self, name: Option<&P4NamedType>, width: u32) -> ValueType {
        let translated = name.and_then(|name| self.forms.get(&name.name)).cloned();
        ValueType {
            width,
            form: translated.unwrap_or(Form::Number(width)),
        }
    }
}

impl ValueType {
    /// The width that P4Info says: 0 for a string.
    pub(crate) fn control_plane_width(&self) -> u32 {
        match self.form {
            Form::Number(width) => width,
            Form::Text(_) => 0,
        }
    }

    /// The value in the data plane. `what` names the field.
    ///
    /// # Errors
    /// `OUT_OF_RANGE` when it does not fit.
    pub(crate) fn read(&self, bytes: &[u8], what: impl Fn() -> String) -> Result<Bits, Error> {
        match &self.form {
            Form::Number(width) if *width == self.width => bytestring::read(bytes, self.width, what),
            Form::Number(width) => {
                let value = bytestring::read(bytes, *width, &what)?;
                bytestring::read(&bytestring::write(&value), self.width, what)
            }
            Form::Text(_) if bytes.is_empty() => Err(Error::out_of_range(format!("{}: an empty string", what()))),
            Form::Text(dictionary) => match dictionary.number(bytes, self.width) {
                Some(number) => Ok(Bits::new(self.width, number.into())),
                None => Err(Error::exhausted(format!(
                    "{}: more strings than {} bits can number",
                    what(),
                    self.width
                ))),
            },
        }
    }

    /// What a controller reads.
    pub(crate) fn write(&self, value: &Bits) -> Vec<u8> {
        match &self.form {
            Form::Number(_) => bytestring::write(value),
            Form::Text(dictionary) => dictionary.text(value.to_u64()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_numbered_as_they_come() {
        let strings = ValueType {
            width: 1,
            form: Form::Text(Arc::default()),
        };
        let read = |text: &str| strings.read(text.as_bytes(), || "port".to_string());
        assert_eq!(read("eth0").unwrap(), Bits::new(1, 0));
        assert_eq!(read("eth1").unwrap(), Bits::new(1, 1));
        assert_eq!(read("eth0").unwrap(), Bits::new(1, 0));
        assert_eq!(
            read("eth2").unwrap_err().message,
            "port: more strings than 1 bits can number"
        );
        assert_eq!(strings.write(&Bits::new(1, 1)), b"eth1");
    }

    #[test]
    fn wider_numbers_are_taken_as_far_as_they_fit() {
        let translated = ValueType {
            width: 9,
            form: Form::Number(32),
        };
        let read = |value: &[u8]| translated.read(value, || "port".to_string());
        assert_eq!(read(&[1, 0xff]).unwrap(), Bits::new(9, 511));
        assert!(read(&[2, 0]).is_err());
    }
}
