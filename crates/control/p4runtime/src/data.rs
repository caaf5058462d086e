//! Values of any P4 type (`p4.v1.P4Data`), as registers and digests hold them.
//!
//! The data plane holds such a value as a list of numbers, one for each field in order; its type says what they mean.

use crate::bytestring;
use crate::schema::Types;
use crate::status::Error;
use forebay_bits::Bits;
use forebay_protocol::p4::config::v1::p4_bitstring_like_type_spec::TypeSpec as Bitstring;
use forebay_protocol::p4::config::v1::p4_data_type_spec::TypeSpec;
use forebay_protocol::p4::config::v1::p4_new_type_spec::Representation;
use forebay_protocol::p4::config::v1::{P4BitstringLikeTypeSpec, P4DataTypeSpec, P4NamedType, P4TypeInfo};
use forebay_protocol::p4::v1::p4_data::Data;
use forebay_protocol::p4::v1::{P4Data, P4Header, P4StructLike};
use std::collections::BTreeMap;

/// Turns numbers into a value of a type; none when there are too few, or the type holds what no register and no digest
/// can.
pub(crate) fn write<'a>(
    types: &Types,
    spec: &P4DataTypeSpec,
    numbers: &mut impl Iterator<Item = &'a Bits>,
) -> Option<P4Data> {
    let data = match spec.type_spec.as_ref()? {
        TypeSpec::Bitstring(bits) => Data::Bitstring(write_bits(bits, numbers.next()?)),
        TypeSpec::Bool(_) => Data::Bool(!numbers.next()?.is_zero()),
        TypeSpec::Tuple(tuple) => Data::Tuple(write_members(types, tuple.members.iter(), numbers)?),
        TypeSpec::Struct(name) => {
            let members = &types.info.structs.get(&name.name)?.members;
            let specs = members.iter().filter_map(|member| member.type_spec.as_ref());
            Data::Struct(write_members(types, specs, numbers)?)
        }
        TypeSpec::Header(name) => {
            let members = &types.info.headers.get(&name.name)?.members;
            let specs = members.iter().filter_map(|member| member.type_spec.as_ref());
            let bitstrings = specs.map(|spec| Some(write_bits(spec, numbers.next()?)));
            Data::Header(P4Header {
                is_valid: true,
                bitstrings: bitstrings.collect::<Option<_>>()?,
            })
        }
        TypeSpec::Enum(name) => {
            let members = &types.info.enums.get(&name.name)?.members;
            let member = members.get(numbers.next()?.to_u64() as usize);
            Data::Enum(member.map(|member| member.name.clone()).unwrap_or_default())
        }
        TypeSpec::Error(_) => {
            let members = &types.info.error.as_ref()?.members;
            Data::Error(
                members
                    .get(numbers.next()?.to_u64() as usize)
                    .cloned()
                    .unwrap_or_default(),
            )
        }
        TypeSpec::SerializableEnum(_) => Data::EnumValue(bytestring::write(numbers.next()?)),
        TypeSpec::NewType(name) => match types.info.new_types.get(&name.name)?.representation.as_ref()? {
            Representation::OriginalType(spec) => return write(types, spec, numbers),
            Representation::TranslatedType(_) => {
                let number = numbers.next()?;
                let value = types.translations.value_type(Some(name), number.width());
                Data::Bitstring(value.write(number))
            }
        },
        TypeSpec::HeaderUnion(_) | TypeSpec::HeaderStack(_) | TypeSpec::HeaderUnionStack(_) => return None,
    };
    Some(P4Data { data: Some(data) })
}

/// The same for a value that is held as one number, its first field in the highest bits: an element of a register.
pub(crate) fn write_joined(types: &Types, spec: &P4DataTypeSpec, joined: &Bits) -> Option<P4Data> {
    let numbers = split(types, spec, joined)?;
    write(types, spec, &mut numbers.iter().map(|(number, _)| number))
}

/// Marks the strings that an element of a register holds ([`crate::schema::dictionary`]).
pub(crate) fn mark_joined(types: &Types, spec: &P4DataTypeSpec, joined: &Bits) {
    let numbers = split(types, spec, joined).unwrap_or_default();
    for (number, leaf) in numbers {
        types.translations.value_type(leaf, number.width()).mark(&number);
    }
}

/// Whether values of this type hold strings.
pub(crate) fn has_strings(types: &Types, spec: &P4DataTypeSpec) -> bool {
    let mut leaves = Vec::new();
    let known = add_leaves(&types.info, spec, &mut leaves, &mut |_| Some(0));
    let mut leaves = leaves.into_iter();
    known.is_some() && leaves.any(|leaf| types.translations.value_type(leaf.translated, 0).is_text())
}

/// The numbers of a value that is held as one, with the translated types of those that have one.
fn split<'a>(
    types: &'a Types,
    spec: &'a P4DataTypeSpec,
    joined: &Bits,
) -> Option<Vec<(Bits, Option<&'a P4NamedType>)>> {
    let mut leaves = Vec::new();
    add_leaves(&types.info, spec, &mut leaves, &mut |name| {
        types.translations.width(name)
    })?;
    if let [leaf] = leaves[..] {
        return Some(vec![(joined.clone(), leaf.translated)]);
    }
    let mut left = joined.width();
    let mut numbers = Vec::with_capacity(leaves.len());
    for leaf in leaves {
        left = left.checked_sub(leaf.width)?;
        numbers.push((joined.shr(left.into()).truncate(leaf.width), leaf.translated));
    }
    Some(numbers)
}

/// A number of a value.
#[derive(Clone, Copy)]
struct Leaf<'a> {
    width: u32,
    /// Its type, if that is a translated one.
    translated: Option<&'a P4NamedType>,
}

/// The width of the only type of a value whose width is not known, if there is one such: the rest of the whole.
pub(crate) fn only_width(
    types: &P4TypeInfo,
    spec: &P4DataTypeSpec,
    whole: u32,
    known: &dyn Fn(&str) -> Option<u32>,
) -> Option<(String, u32)> {
    let mut unknown: BTreeMap<String, u32> = BTreeMap::new();
    let mut leaves = Vec::new();
    add_leaves(types, spec, &mut leaves, &mut |name| {
        Some(known(name).unwrap_or_else(|| {
            *unknown.entry(name.to_string()).or_default() += 1;
            0
        }))
    })?;
    let (name, count) = unknown.pop_first().filter(|_| unknown.is_empty())?;
    // The widths of a P4Info may be any.
    let others: u64 = leaves.iter().map(|leaf| u64::from(leaf.width)).sum();
    let rest = whole.checked_sub(others.try_into().ok()?)?;
    (rest % count == 0).then_some((name, rest / count))
}

/// The width of each number of a value of this type; none of one of a translated type, which a P4Info does not say.
/// None altogether when the type holds what no register can.
pub(crate) fn widths(types: &P4TypeInfo, spec: &P4DataTypeSpec) -> Option<Vec<Option<u32>>> {
    let mut leaves = Vec::new();
    add_leaves(types, spec, &mut leaves, &mut |_| Some(0))?;
    let width = |leaf: Leaf<'_>| leaf.translated.is_none().then_some(leaf.width);
    Some(leaves.into_iter().map(width).collect())
}

/// Appends each number of a value of this type; none when it holds what no register can. `width_of` gives the width of
/// a translated type.
fn add_leaves<'a>(
    types: &'a P4TypeInfo,
    spec: &'a P4DataTypeSpec,
    leaves: &mut Vec<Leaf<'a>>,
    width_of: &mut dyn FnMut(&str) -> Option<u32>,
) -> Option<()> {
    let plain = |width: u32| Leaf {
        width,
        translated: None,
    };
    match spec.type_spec.as_ref()? {
        TypeSpec::Bitstring(bits) => leaves.push(plain(bit_width(bits)?)),
        TypeSpec::Bool(_) => leaves.push(plain(1)),
        TypeSpec::Enum(_) | TypeSpec::Error(_) => leaves.push(plain(u32::BITS)),
        TypeSpec::SerializableEnum(name) => {
            let spec = types.serializable_enums.get(&name.name)?;
            leaves.push(plain(spec.underlying_type.unwrap_or_default().bitwidth as u32));
        }
        TypeSpec::Tuple(tuple) => {
            let mut members = tuple.members.iter();
            members.try_for_each(|member| add_leaves(types, member, leaves, width_of))?;
        }
        TypeSpec::Struct(name) => {
            let mut members = types.structs.get(&name.name)?.members.iter();
            members.try_for_each(|member| add_leaves(types, member.type_spec.as_ref()?, leaves, width_of))?;
        }
        // A register has the fields of a header, and not whether it is valid.
        TypeSpec::Header(name) => {
            for member in &types.headers.get(&name.name)?.members {
                leaves.push(plain(bit_width(member.type_spec.as_ref()?)?));
            }
        }
        TypeSpec::NewType(name) => match types.new_types.get(&name.name)?.representation.as_ref()? {
            Representation::OriginalType(spec) => add_leaves(types, spec, leaves, width_of)?,
            Representation::TranslatedType(_) => leaves.push(Leaf {
                width: width_of(&name.name)?,
                translated: Some(name),
            }),
        },
        _ => return None,
    }
    Some(())
}

/// The width of a number; none when packets decide it.
fn bit_width(spec: &P4BitstringLikeTypeSpec) -> Option<u32> {
    match spec.type_spec? {
        Bitstring::Bit(bits) => Some(bits.bitwidth as u32),
        Bitstring::Int(bits) => Some(bits.bitwidth as u32),
        Bitstring::Varbit(_) => None,
    }
}

fn write_members<'a, 's>(
    types: &Types,
    specs: impl Iterator<Item = &'s P4DataTypeSpec>,
    numbers: &mut impl Iterator<Item = &'a Bits>,
) -> Option<P4StructLike> {
    let members = specs.map(|spec| write(types, spec, numbers));
    Some(P4StructLike {
        members: members.collect::<Option<_>>()?,
    })
}

fn write_bits(spec: &P4BitstringLikeTypeSpec, number: &Bits) -> Vec<u8> {
    match spec.type_spec {
        Some(Bitstring::Int(_)) => bytestring::write_signed(number),
        _ => bytestring::write(number),
    }
}

/// Turns a value of a type into numbers, which are appended. `what` names the object.
///
/// # Errors
/// `INVALID_ARGUMENT` when the value is not of this type, `OUT_OF_RANGE` when a number does not fit.
pub(crate) fn read(
    types: &Types,
    spec: &P4DataTypeSpec,
    data: &P4Data,
    what: &str,
    numbers: &mut Vec<Bits>,
) -> Result<(), Error> {
    let mut reader = Reader { types, what, numbers };
    reader.value(spec, data)
}

/// Turns values into numbers.
struct Reader<'a> {
    types: &'a Types,
    /// The name of the object.
    what: &'a str,
    numbers: &'a mut Vec<Bits>,
}

impl Reader<'_> {
    fn mismatch(&self) -> Error {
        let what = self.what;
        Error::invalid(format!("{what}: the data is not of the type that the P4Info says"))
    }

    fn or_mismatch<T>(&self, found: Option<T>) -> Result<T, Error> {
        found.ok_or_else(|| self.mismatch())
    }

    fn value(&mut self, spec: &P4DataTypeSpec, value: &P4Data) -> Result<(), Error> {
        let data = self.or_mismatch(value.data.as_ref())?;
        self.data(spec, data)
    }

    fn data(&mut self, spec: &P4DataTypeSpec, data: &Data) -> Result<(), Error> {
        let (types, what) = (self.types, self.what);
        let number = match (self.or_mismatch(spec.type_spec.as_ref())?, data) {
            (TypeSpec::Bitstring(bits), Data::Bitstring(bytes)) => read_bits(bits, bytes, what)?,
            (TypeSpec::Bool(_), Data::Bool(value)) => Bits::from_bool(*value),
            (TypeSpec::Enum(name), Data::Enum(given)) => {
                let spec = self.or_mismatch(types.info.enums.get(&name.name))?;
                self.place(spec.members.iter().position(|member| member.name == *given))?
            }
            (TypeSpec::Error(_), Data::Error(given)) => {
                let spec = self.or_mismatch(types.info.error.as_ref())?;
                self.place(spec.members.iter().position(|member| member == given))?
            }
            (TypeSpec::SerializableEnum(name), Data::EnumValue(bytes)) => {
                let spec = self.or_mismatch(types.info.serializable_enums.get(&name.name))?;
                let width = spec.underlying_type.unwrap_or_default().bitwidth as u32;
                bytestring::read(bytes, width, || what.to_string())?
            }
            (TypeSpec::Tuple(tuple), Data::Tuple(given)) => {
                return self.members(tuple.members.iter().map(Some), &given.members);
            }
            (TypeSpec::Struct(name), Data::Struct(given)) => {
                let spec = self.or_mismatch(types.info.structs.get(&name.name))?;
                let specs = spec.members.iter().map(|member| member.type_spec.as_ref());
                return self.members(specs, &given.members);
            }
            (TypeSpec::Header(name), Data::Header(given)) if given.is_valid => return self.header(name, given),
            (TypeSpec::NewType(name), data) => return self.new_type(name, data),
            _ => return Err(self.mismatch()),
        };
        self.numbers.push(number);
        Ok(())
    }

    /// The number of a member of an enum or of `error`.
    fn place(&self, place: Option<usize>) -> Result<Bits, Error> {
        let place = self.or_mismatch(place)?;
        Ok(Bits::new(u32::BITS, place as u128))
    }

    fn members<'s>(
        &mut self,
        specs: impl ExactSizeIterator<Item = Option<&'s P4DataTypeSpec>>,
        given: &[P4Data],
    ) -> Result<(), Error> {
        if specs.len() != given.len() {
            return Err(self.mismatch());
        }
        for (spec, value) in specs.zip(given) {
            let spec = self.or_mismatch(spec)?;
            self.value(spec, value)?;
        }
        Ok(())
    }

    fn header(&mut self, name: &P4NamedType, given: &P4Header) -> Result<(), Error> {
        let types = self.types;
        let spec = self.or_mismatch(types.info.headers.get(&name.name))?;
        if spec.members.len() != given.bitstrings.len() {
            return Err(self.mismatch());
        }
        for (member, bytes) in spec.members.iter().zip(&given.bitstrings) {
            let bits = self.or_mismatch(member.type_spec.as_ref())?;
            self.numbers.push(read_bits(bits, bytes, self.what)?);
        }
        Ok(())
    }

    fn new_type(&mut self, name: &P4NamedType, data: &Data) -> Result<(), Error> {
        let (types, what) = (self.types, self.what);
        let spec = self.or_mismatch(types.info.new_types.get(&name.name))?;
        match (self.or_mismatch(spec.representation.as_ref())?, data) {
            (Representation::OriginalType(spec), data) => self.data(spec, data),
            (Representation::TranslatedType(_), Data::Bitstring(bytes)) => {
                let width = self.or_mismatch(types.translations.width(&name.name))?;
                let value = types.translations.value_type(Some(name), width);
                self.numbers.push(value.read(bytes, || what.to_string())?);
                Ok(())
            }
            _ => Err(self.mismatch()),
        }
    }
}

fn read_bits(spec: &P4BitstringLikeTypeSpec, bytes: &[u8], what: &str) -> Result<Bits, Error> {
    let name = || what.to_string();
    match spec.type_spec {
        Some(Bitstring::Bit(bits)) => bytestring::read(bytes, bits.bitwidth as u32, name),
        Some(Bitstring::Int(bits)) => bytestring::read_signed(bytes, bits.bitwidth as u32, name),
        _ => Err(Error::unimplemented(format!("{what}: values of type varbit"))),
    }
}
