//! Values that a controller gives for fields: numbers, or what `@p4runtime_translation` puts in their place.

use super::dictionary::{self, Dictionary, Problem};
use crate::bytestring;
use crate::status::Error;
use forebay_bits::Bits;
use forebay_protocol::p4::config::v1::p4_new_type_spec::Representation;
use forebay_protocol::p4::config::v1::p4_new_type_translation::SdnType;
use forebay_protocol::p4::config::v1::{P4Info, P4NamedType};
use std::collections::BTreeMap;
use std::sync::Arc;

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
    /// A number of this width in bits: the width in the data plane, or `sdn_bitwidth` of a translated type.
    Number(u32),
    /// `sdn_string` of a translation: each string stands for a number.
    Text(Arc<Dictionary>),
}

/// The translated types of a program, by name.
#[derive(Debug, Default)]
pub(crate) struct Translations {
    forms: BTreeMap<String, Form>,
    /// Widths in the data plane, which a P4Info does not say.
    widths: BTreeMap<String, u32>,
    /// By type whose values are strings: their numbers in the data plane.
    pub(crate) dictionaries: BTreeMap<String, Arc<Dictionary>>,
    /// The strings that name ports, if the program has such.
    pub(crate) ports: Option<Arc<Dictionary>>,
}

impl Translations {
    /// The translated types of a P4Info. `port_type` is the type by which packets of controllers name ports; `widths`
    /// are those of types in the data plane.
    pub(crate) fn new(info: &P4Info, port_type: Option<&str>, widths: BTreeMap<String, u32>) -> Translations {
        let mut translations = Translations {
            widths,
            ..Translations::default()
        };
        for (name, spec) in info.type_info.iter().flat_map(|types| &types.new_types) {
            let Some(Representation::TranslatedType(translation)) = &spec.representation else {
                continue;
            };
            let form = match &translation.sdn_type {
                Some(SdnType::SdnBitwidth(width)) => Form::Number(*width as u32),
                Some(SdnType::SdnString(_)) => {
                    let is_of_ports = port_type == Some(name);
                    let mappings = dictionary::mappings(&spec.annotations);
                    let dictionary = Arc::new(Dictionary::new(&mappings, is_of_ports));
                    if is_of_ports {
                        translations.ports = Some(Arc::clone(&dictionary));
                    }
                    translations.dictionaries.insert(name.clone(), Arc::clone(&dictionary));
                    Form::Text(dictionary)
                }
                None => continue,
            };
            translations.forms.insert(name.clone(), form);
        }
        translations
    }

    /// The type of a field of this width in the data plane.
    pub(crate) fn value_type(&self, name: Option<&P4NamedType>, width: u32) -> ValueType {
        let translated = name.and_then(|name| self.forms.get(&name.name)).cloned();
        ValueType {
            width,
            form: translated.unwrap_or(Form::Number(width)),
        }
    }

    /// The width of a translated type in the data plane; none where nothing says it.
    pub(crate) fn width(&self, name: &str) -> Option<u32> {
        self.widths.get(name).copied()
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

    /// Whether controllers write strings.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.form, Form::Text(_))
    }

    /// The value in the data plane. `what` names the field.
    ///
    /// # Errors
    /// `OUT_OF_RANGE` when it does not fit, `NOT_FOUND` when it is a string that no update has named.
    pub(crate) fn read(&self, bytes: &[u8], what: impl Fn() -> String) -> Result<Bits, Error> {
        match &self.form {
            Form::Number(width) if *width == self.width => bytestring::read(bytes, self.width, what),
            Form::Number(width) => {
                let value = bytestring::read(bytes, *width, &what)?;
                bytestring::read(&bytestring::write(&value), self.width, what)
            }
            Form::Text(dictionary) => match dictionary.number(bytes, self.width) {
                Ok(number) => Ok(Bits::new(self.width, number.into())),
                Err(Problem::Unknown(why)) => Err(Error::not_found(format!("{}: {why}", what()))),
                Err(Problem::Invalid(why)) => Err(Error::invalid(format!("{}: {why}", what()))),
                Err(Problem::OutOfRange(why)) => Err(Error::out_of_range(format!("{}: {why}", what()))),
                Err(Problem::Exhausted(why)) => Err(Error::exhausted(format!("{}: {why}", what()))),
            },
        }
    }

    /// The mask of a ternary match. That of a string has all bits set: strings are matched exactly.
    ///
    /// # Errors
    /// `OUT_OF_RANGE` when it does not fit, `INVALID_ARGUMENT` for another mask of a string.
    pub(crate) fn read_mask(&self, bytes: &[u8], what: impl Fn() -> String) -> Result<Bits, Error> {
        match &self.form {
            Form::Number(width) if *width == self.width => bytestring::read(bytes, self.width, what),
            Form::Number(width) => {
                let mask = bytestring::read(bytes, *width, what)?;
                if mask == Bits::ones(*width) {
                    Ok(Bits::ones(self.width))
                } else {
                    Ok(fitted(&mask, self.width))
                }
            }
            Form::Text(_) => {
                let all = bytestring::write(&Bits::ones(self.width));
                if bytes == all || (!bytes.is_empty() && bytes.iter().all(|byte| *byte == 0xff)) {
                    Ok(Bits::ones(self.width))
                } else {
                    Err(Error::invalid(format!(
                        "{}: strings are matched exactly: set all bits of the mask, or leave the field out",
                        what()
                    )))
                }
            }
        }
    }

    /// The upper end of a range. The largest number of the controller stands for that of the data plane.
    ///
    /// # Errors
    /// See [`ValueType::read`].
    pub(crate) fn read_high(&self, bytes: &[u8], what: impl Fn() -> String) -> Result<Bits, Error> {
        match self.form {
            Form::Number(width)
                if width != self.width
                    && bytestring::read(bytes, width, &what).is_ok_and(|high| high == Bits::ones(width)) =>
            {
                Ok(Bits::ones(self.width))
            }
            _ => self.read(bytes, what),
        }
    }

    /// The length of a prefix in the data plane; none when there is no such prefix. 0 matches every value.
    pub(crate) fn data_plane_prefix(&self, length: i32) -> Option<u32> {
        let length = u32::try_from(length).ok()?;
        match self.form {
            // It matches the numbers that do not fit, too.
            Form::Number(_) if length == 0 => Some(0),
            Form::Number(width) if length <= width => Some((length + self.width).saturating_sub(width)),
            Form::Number(_) => None,
            Form::Text(_) => (length == self.width || length == 0).then_some(length),
        }
    }

    /// The length of a prefix as controllers write it.
    pub(crate) fn control_plane_prefix(&self, length: u32) -> i32 {
        match self.form {
            Form::Number(width) if length > 0 => (length + width).saturating_sub(self.width) as i32,
            Form::Number(_) | Form::Text(_) => length as i32,
        }
    }

    /// What a controller reads.
    pub(crate) fn write(&self, value: &Bits) -> Vec<u8> {
        match &self.form {
            Form::Number(_) => bytestring::write(value),
            Form::Text(dictionary) => dictionary.text(value.to_u64()),
        }
    }

    /// The mask that a controller reads.
    pub(crate) fn write_mask(&self, mask: &Bits) -> Vec<u8> {
        match self.form {
            Form::Number(width) if *mask == Bits::ones(self.width) => bytestring::write(&Bits::ones(width)),
            _ => bytestring::write(mask),
        }
    }

    /// The upper end of a range that a controller reads.
    pub(crate) fn write_high(&self, high: &Bits) -> Vec<u8> {
        match self.form {
            Form::Number(_) => self.write_mask(high),
            Form::Text(_) => self.write(high),
        }
    }

    /// Says that a value is in use ([`Dictionary::mark`]).
    pub(crate) fn mark(&self, value: &Bits) {
        if let Form::Text(dictionary) = &self.form {
            dictionary.mark(value.to_u64());
        }
    }
}

/// The number in another width, without bits that have no place.
fn fitted(value: &Bits, width: u32) -> Bits {
    if value.width() > width {
        value.truncate(width)
    } else {
        value.zext(width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_numbers_are_taken_as_far_as_they_fit() {
        let translated = ValueType {
            width: 9,
            form: Form::Number(32),
        };
        let what = || "port".to_string();
        let read = |value: &[u8]| translated.read(value, what);
        assert_eq!(read(&[1, 0xff]).unwrap(), Bits::new(9, 511));
        assert!(read(&[2, 0]).is_err());
        let all = translated.read_mask(&[0xff; 4], what).unwrap();
        assert_eq!((translated.write_mask(&all), &all), (vec![0xff; 4], &Bits::ones(9)));
        assert_eq!(translated.read_mask(&[0x0f], what).unwrap(), Bits::new(9, 15));
        assert_eq!(translated.read_high(&[0xff; 4], what).unwrap(), Bits::ones(9));
        assert!(translated.read_high(&[0x0f, 0xff], what).is_err());
        assert_eq!(
            (translated.data_plane_prefix(32), translated.data_plane_prefix(23)),
            (Some(9), Some(0))
        );
        assert_eq!(
            (translated.data_plane_prefix(33), translated.control_plane_prefix(9)),
            (None, 32)
        );
        assert_eq!(translated.control_plane_prefix(0), 0);
    }

    #[test]
    fn prefixes_of_narrower_numbers() {
        let translated = ValueType {
            width: 32,
            form: Form::Number(16),
        };
        let to_data_plane = [0, 1, 16, 17, -1].map(|length| translated.data_plane_prefix(length));
        assert_eq!(to_data_plane, [Some(0), Some(17), Some(32), None, None]);
        let to_controller = [0, 17, 32].map(|length| translated.control_plane_prefix(length));
        assert_eq!(to_controller, [0, 1, 16]);
    }
}
