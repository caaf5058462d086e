//! Values of any P4 type (`p4.v1.P4Data`), as registers and digests hold them.
//!
//! The data plane holds such a value as a list of numbers, one for each field in order; its type says what they mean.

use crate::bytestring;
use crate::status::Error;
use forebay_bits::Bits;
use forebay_protocol::p4::config::v1::p4_bitstring_like_type_spec::TypeSpec as Bitstring;
use forebay_protocol::p4::config::v1::p4_data_type_spec::TypeSpec;
use forebay_protocol::p4::config::v1::p4_new_type_spec::Representation;
use forebay_protocol::p4::config::v1::p4_new_type_translation::SdnType;
use forebay_protocol::p4::config::v1::{P4BitstringLikeTypeSpec, P4DataTypeSpec, P4TypeInfo};
use forebay_protocol::p4::v1::p4_data::Data;
use forebay_protocol::p4::v1::{P4Data, P4Header, P4StructLike};

/// Turns numbers into a value of a type; none when there are too few, or the type holds what no register and no digest
/// can.
pub(crate) fn write<'a>(
    types: &P4TypeInfo,
    spec: &P4DataTypeSpec,
    numbers: &mut impl Iterator<Item = &'a Bits>,
) -> Option<P4Data> {
    let data = match spec.type_spec.as_ref()? {
        TypeSpec::Bitstring(bits) => Data::Bitstring(write_bits(bits, numbers.next()?)),
        TypeSpec::Bool(_) => Data::Bool(!numbers.next()?.is_zero()),
        TypeSpec::Tuple(tuple) => Data::Tuple(write_members(types, tuple.members.iter(), numbers)?),
        TypeSpec::Struct(name) => {
            let members = &types.structs.get(&name.name)?.members;
            let specs = members.iter().filter_map(|member| member.type_spec.as_ref());
            Data::Struct(write_members(types, specs, numbers)?)
        }
        TypeSpec::Header(name) => {
            let members = &types.headers.get(&name.name)?.members;
            let specs = members.iter().filter_map(|member| member.type_spec.as_ref());
            let bitstrings = specs.map(|spec| Some(write_bits(spec, numbers.next()?)));
            Data::Header(P4Header {
                is_valid: true,
                bitstrings: bitstrings.collect::<Option<_>>()?,
            })
        }
        TypeSpec::Enum(name) => {
            let members = &types.enums.get(&name.name)?.members;
            let member = members.get(numbers.next()?.to_u64() as usize);
            Data::Enum(member.map(|member| member.name.clone()).unwrap_or_default())
        }
        TypeSpec::Error(_) => {
            let members = &types.error.as_ref()?.members;
            Data::Error(
                members
                    .get(numbers.next()?.to_u64() as usize)
                    .cloned()
                    .unwrap_or_default(),
            )
        }
        TypeSpec::SerializableEnum(_) => Data::EnumValue(bytestring::write(numbers.next()?)),
        TypeSpec::NewType(name) => match types.new_types.get(&name.name)?.representation.as_ref()? {
            Representation::OriginalType(spec) => return write(types, spec, numbers),
            Representation::TranslatedType(_) => Data::Bitstring(bytestring::write(numbers.next()?)),
        },
        TypeSpec::HeaderUnion(_) | TypeSpec::HeaderStack(_) | TypeSpec::HeaderUnionStack(_) => return None,
    };
    Some(P4Data { data: Some(data) })
}

/// The same for a value that is held as one number, its first field in the highest bits: an element of a register.
pub(crate) fn write_joined(types: &P4TypeInfo, spec: &P4DataTypeSpec, joined: &Bits) -> Option<P4Data> {
    let mut widths = Vec::new();
    add_widths(types, spec, &mut widths)?;
    if widths.len() == 1 {
        return write(types, spec, &mut std::iter::once(joined));
    }
    let mut left = joined.width();
    let mut numbers = Vec::with_capacity(widths.len());
    for width in widths {
        left = left.checked_sub(width)?;
        numbers.push(joined.shr(left.into()).truncate(width));
    }
    write(types, spec, &mut numbers.iter())
}

/// Appends the width of each number of a value of this type; none when it holds what no register can.
fn add_widths(types: &P4TypeInfo, spec: &P4DataTypeSpec, widths: &mut Vec<u32>) -> Option<()> {
    match spec.type_spec.as_ref()? {
        TypeSpec::Bitstring(bits) => widths.push(match bits.type_spec? {
            Bitstring::Bit(bits) => bits.bitwidth as u32,
            Bitstring::Int(bits) => bits.bitwidth as u32,
            Bitstring::Varbit(_) => return None,
        }),
        TypeSpec::Bool(_) => widths.push(1),
        TypeSpec::Enum(_) | TypeSpec::Error(_) => widths.push(u32::BITS),
        TypeSpec::SerializableEnum(name) => {
            let spec = types.serializable_enums.get(&name.name)?;
            widths.push(spec.underlying_type.unwrap_or_default().bitwidth as u32);
        }
        TypeSpec::Tuple(tuple) => {
            let mut members = tuple.members.iter();
            members.try_for_each(|member| add_widths(types, member, widths))?;
        }
        TypeSpec::Struct(name) => {
            let mut members = types.structs.get(&name.name)?.members.iter();
            members.try_for_each(|member| add_widths(types, member.type_spec.as_ref()?, widths))?;
        }
        TypeSpec::NewType(name) => match types.new_types.get(&name.name)?.representation.as_ref()? {
            Representation::OriginalType(spec) => add_widths(types, spec, widths)?,
            Representation::TranslatedType(translation) => widths.push(match translation.sdn_type.as_ref()? {
                SdnType::SdnBitwidth(width) => *width as u32,
                SdnType::SdnString(_) => return None,
            }),
        },
        _ => return None,
    }
    Some(())
}

fn write_members<'a, 's>(
    types: &P4TypeInfo,
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
    types: &P4TypeInfo,
    spec: &P4DataTypeSpec,
    data: &P4Data,
    what: &str,
    numbers: &mut Vec<Bits>,
) -> Result<(), Error> {
    let mismatch = || Error::invalid(format!("{what}: the data is not of the type that the P4Info says"));
    let data = data.data.as_ref().ok_or_else(mismatch)?;
    let name = || what.to_string();
    match (spec.type_spec.as_ref().ok_or_else(mismatch)?, data) {
        (TypeSpec::Bitstring(bits), Data::Bitstring(bytes)) => numbers.push(read_bits(bits, bytes, what)?),
        (TypeSpec::Bool(_), Data::Bool(value)) => numbers.push(Bits::from_bool(*value)),
        (TypeSpec::Tuple(tuple), Data::Tuple(given)) if tuple.members.len() == given.members.len() => {
            for (spec, data) in tuple.members.iter().zip(&given.members) {
                read(types, spec, data, what, numbers)?;
            }
        }
        (TypeSpec::Struct(name), Data::Struct(given)) => {
            let members = types
                .structs
                .get(&name.name)
                .map(|spec| &spec.members)
                .ok_or_else(mismatch)?;
            if members.len() != given.members.len() {
                return Err(mismatch());
            }
            for (member, data) in members.iter().zip(&given.members) {
                read(
                    types,
                    member.type_spec.as_ref().ok_or_else(mismatch)?,
                    data,
                    what,
                    numbers,
                )?;
            }
        }
        (TypeSpec::SerializableEnum(name_of), Data::EnumValue(bytes)) => {
            let spec = types.serializable_enums.get(&name_of.name).ok_or_else(mismatch)?;
            let width = spec.underlying_type.unwrap_or_default().bitwidth as u32;
            numbers.push(bytestring::read(bytes, width, name)?);
        }
        (TypeSpec::NewType(name_of), _) => {
            let spec = types
                .new_types
                .get(&name_of.name)
                .and_then(|spec| spec.representation.as_ref());
            match (spec.ok_or_else(mismatch)?, data) {
                (Representation::OriginalType(spec), data) => {
                    let data = P4Data {
                        data: Some(data.clone()),
                    };
                    read(types, spec, &data, what, numbers)?;
                }
                (Representation::TranslatedType(translation), Data::Bitstring(bytes)) => {
                    let Some(SdnType::SdnBitwidth(width)) = translation.sdn_type else {
                        return Err(mismatch());
                    };
                    numbers.push(bytestring::read(bytes, width as u32, name)?);
                }
                _ => return Err(mismatch()),
            }
        }
        _ => return Err(mismatch()),
    }
    Ok(())
}

fn read_bits(spec: &P4BitstringLikeTypeSpec, bytes: &[u8], what: &str) -> Result<Bits, Error> {
    let name = || what.to_string();
    match spec.type_spec {
        Some(Bitstring::Bit(bits)) => bytestring::read(bytes, bits.bitwidth as u32, name),
        Some(Bitstring::Int(bits)) => bytestring::read_signed(bytes, bits.bitwidth as u32, name),
        _ => Err(Error::unimplemented(format!("{what}: values of type varbit"))),
    }
}
