//! Values of any type (`P4Data`, §8.4), as registers and digests hold them: a list of simple values with names.

use crate::catalog::select_of;
use crate::mistake::Mistake;
use crate::value::Field;
use forebay_protocol::p4::config::v1::p4_bitstring_like_type_spec::TypeSpec as BitsSpec;
use forebay_protocol::p4::config::v1::p4_data_type_spec::TypeSpec;
use forebay_protocol::p4::config::v1::p4_new_type_spec::Representation;
use forebay_protocol::p4::config::v1::p4_new_type_translation::SdnType;
use forebay_protocol::p4::config::v1::{P4BitstringLikeTypeSpec, P4DataTypeSpec, P4TypeInfo};
use forebay_protocol::p4::v1::p4_data::Data;
use forebay_protocol::p4::v1::{P4Data, P4Header, P4StructLike};
use num_bigint::BigUint;

/// A type, as far as registers and digests have it.
#[derive(Clone, Debug)]
pub enum Shape {
    /// `bit<W>`, `int<W>`
    Bits(Field),
    /// `bool`
    Bool,
    /// An enum without representation.
    Enum,
    /// `error`
    Error,
    /// `enum bit<W>`
    EnumValue(Field),
    /// A struct.
    Struct(Vec<(String, Shape)>),
    /// A tuple; its members are called by their numbers.
    Tuple(Vec<(String, Shape)>),
    /// A header.
    Header(Vec<(String, Field)>),
}

impl Shape {
    /// The shape of a type; none when no register can have it. `name` suggests how numbers are shown.
    pub fn new(types: &P4TypeInfo, spec: &P4DataTypeSpec, name: &str) -> Option<Shape> {
        Some(match spec.type_spec.as_ref()? {
            TypeSpec::Bitstring(bits) => Shape::Bits(field(bits, name)?),
            TypeSpec::Bool(_) => Shape::Bool,
            TypeSpec::Enum(_) => Shape::Enum,
            TypeSpec::Error(_) => Shape::Error,
            TypeSpec::SerializableEnum(named) => {
                let spec = types.serializable_enums.get(&named.name)?;
                let mut field = Field::new(0, name, spec.underlying_type?.bitwidth, &[]);
                let members = spec.members.iter();
                field.names = members
                    .map(|member| (member.name.clone(), BigUint::from_bytes_be(&member.value)))
                    .collect();
                Shape::EnumValue(field)
            }
            TypeSpec::Struct(named) => {
                let members = types.structs.get(&named.name)?.members.iter();
                let shape = |spec: Option<&P4DataTypeSpec>, name: &str| Shape::new(types, spec?, name);
                let members = members.map(|member| {
                    let shape = shape(member.type_spec.as_ref(), &member.name)?;
                    Some((member.name.clone(), shape))
                });
                Shape::Struct(members.collect::<Option<_>>()?)
            }
            TypeSpec::Tuple(tuple) => {
                let members = tuple.members.iter().enumerate();
                let members = members.map(|(index, spec)| Some((index.to_string(), Shape::new(types, spec, name)?)));
                Shape::Tuple(members.collect::<Option<_>>()?)
            }
            TypeSpec::Header(named) => {
                let members = types.headers.get(&named.name)?.members.iter();
                let members = members.map(|member| {
                    let field = field(member.type_spec.as_ref()?, &member.name)?;
                    Some((member.name.clone(), field))
                });
                Shape::Header(members.collect::<Option<_>>()?)
            }
            TypeSpec::NewType(named) => match types.new_types.get(&named.name)?.representation.as_ref()? {
                Representation::OriginalType(spec) => return Shape::new(types, spec, name),
                Representation::TranslatedType(translation) => Shape::Bits(match translation.sdn_type.as_ref()? {
                    SdnType::SdnBitwidth(width) => Field::new(0, name, *width, &[]),
                    SdnType::SdnString(_) => Field::new(0, name, 0, &[]),
                }),
            },
            TypeSpec::HeaderUnion(_) | TypeSpec::HeaderStack(_) | TypeSpec::HeaderUnionStack(_) => return None,
        })
    }

    /// The names of the simple values inside, in order; the name of one alone is empty.
    pub fn names(&self) -> Vec<String> {
        match self {
            Shape::Struct(members) | Shape::Tuple(members) => members.iter().flat_map(names_of_member).collect(),
            Shape::Header(members) => members.iter().map(|(name, _)| name.clone()).collect(),
            _ => vec![String::new()],
        }
    }

    /// Reads words, each `NAME=VALUE` or, in order, only `VALUE`.
    ///
    /// # Errors
    /// When a value is missing, or is none of its type.
    pub fn read(&self, what: &str, words: &[String]) -> Result<P4Data, Mistake> {
        let names = self.names();
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut texts: Vec<Option<&str>> = vec![None; known.len()];
        for (position, word) in words.iter().enumerate() {
            let (index, text) = match word.split_once('=') {
                Some((name, text)) => {
                    let index = select_of(what, "member", name, &known, known.iter().copied())?;
                    (index, text)
                }
                None if position < known.len() => (position, word.as_str()),
                None => return Err(too_many(word, what, known.len())),
            };
            if texts[index].replace(text).is_some() {
                return Err(Mistake::new(match known[index] {
                    "" => format!("the value of {what} is given twice"),
                    name => format!("the value of `{name}` of {what} is given twice"),
                }));
            }
        }
        if let Some(missing) = texts.iter().position(Option::is_none) {
            return Err(Mistake::new(match known[missing] {
                "" => format!("the value of {what} is missing"),
                name => format!("the value of `{name}` of {what} is missing"),
            }));
        }
        self.build(&mut texts.into_iter().flatten())
    }

    fn build(&self, texts: &mut dyn Iterator<Item = &str>) -> Result<P4Data, Mistake> {
        let mut next = || texts.next().unwrap_or_default();
        let data = match self {
            Shape::Bits(field) => Data::Bitstring(field.read(next())?),
            Shape::EnumValue(field) => Data::EnumValue(field.read(next())?),
            Shape::Bool => Data::Bool(boolean(next())?),
            Shape::Enum => Data::Enum(next().to_string()),
            Shape::Error => Data::Error(next().to_string()),
            Shape::Struct(members) => Data::Struct(build_members(members, texts)?),
            Shape::Tuple(members) => Data::Tuple(build_members(members, texts)?),
            Shape::Header(members) => Data::Header(P4Header {
                is_valid: true,
                bitstrings: members
                    .iter()
                    .map(|(_, field)| field.read(next()))
                    .collect::<Result<_, _>>()?,
            }),
        };
        Ok(P4Data { data: Some(data) })
    }

    /// Writes a value as the texts of its simple values, in the order of the [names](Shape::names).
    pub fn write(&self, data: &P4Data) -> Vec<String> {
        match (self, &data.data) {
            (Shape::Bits(field), Some(Data::Bitstring(value)))
            | (Shape::EnumValue(field), Some(Data::EnumValue(value))) => vec![field.write(value)],
            (Shape::Bool, Some(Data::Bool(value))) => vec![value.to_string()],
            (Shape::Enum, Some(Data::Enum(name))) | (Shape::Error, Some(Data::Error(name))) => vec![name.clone()],
            (Shape::Struct(members), Some(Data::Struct(values)))
            | (Shape::Tuple(members), Some(Data::Tuple(values))) => {
                let both = members.iter().zip(&values.members);
                both.flat_map(|((_, shape), value)| shape.write(value)).collect()
            }
            (Shape::Header(members), Some(Data::Header(header))) => {
                let both = members.iter().zip(&header.bitstrings);
                both.map(|((_, field), value)| field.write(value)).collect()
            }
            _ => vec!["?".to_string(); self.names().len()],
        }
    }
}

fn names_of_member((name, shape): &(String, Shape)) -> Vec<String> {
    let inside = shape.names().into_iter();
    inside
        .map(|inner| match inner.as_str() {
            "" => name.clone(),
            inner => format!("{name}.{inner}"),
        })
        .collect()
}

fn build_members(members: &[(String, Shape)], texts: &mut dyn Iterator<Item = &str>) -> Result<P4StructLike, Mistake> {
    let members = members.iter().map(|(_, shape)| shape.build(texts));
    Ok(P4StructLike {
        members: members.collect::<Result<_, _>>()?,
    })
}

fn boolean(text: &str) -> Result<bool, Mistake> {
    match text {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(Mistake::new(format!("`{text}` is no value of type bool")).help("write true or false")),
    }
}

fn field(spec: &P4BitstringLikeTypeSpec, name: &str) -> Option<Field> {
    let (width, is_signed) = match spec.type_spec.as_ref()? {
        BitsSpec::Bit(bits) => (bits.bitwidth, false),
        BitsSpec::Int(bits) => (bits.bitwidth, true),
        BitsSpec::Varbit(_) => return None,
    };
    let mut field = Field::new(0, name, width, &spec.annotations);
    field.is_signed = is_signed;
    Some(field)
}

fn too_many(word: &str, what: &str, count: usize) -> Mistake {
    let values = if count == 1 { "value" } else { "values" };
    Mistake::new(format!("`{word}` is too much: {what} has {count} {values}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_given_once() {
        let member = |name: &str| (name.to_string(), Shape::Bool);
        let shape = Shape::Struct(vec![member("a"), member("b")]);
        let read = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_string).collect();
            shape
                .read("register `r`", &words)
                .map_err(|mistake| mistake.to_string())
        };
        assert!(read("a=1 b=0").is_ok() && read("b=0 a=1").is_ok());
        assert_eq!(
            read("a=1 b=0 a=0"),
            Err("the value of `a` of register `r` is given twice".to_string())
        );
    }
}
