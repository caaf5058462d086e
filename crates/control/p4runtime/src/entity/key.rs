//! Match fields (P4Runtime §9.1.1): what an entry says of its key.

use crate::schema::{Field, TableSchema};
use crate::status::Error;
use forebay_bits::Bits;
use forebay_ir::EntryMatch;
use forebay_protocol::p4::config::v1::match_field::MatchType;
use forebay_protocol::p4::v1::FieldMatch;
use forebay_protocol::p4::v1::field_match::{Exact, FieldMatchType, Lpm, Optional, Range, Ternary};

/// The key of a table entry: a condition for each field, in the program's order.
pub(crate) fn read(table: &TableSchema, matches: &[FieldMatch]) -> Result<Vec<EntryMatch>, Error> {
    read_fields("table", &table.name, &table.fields, matches)
}

/// The same for the components of a value set.
pub(crate) fn read_fields(
    kind: &str,
    name: &str,
    fields: &[Field],
    matches: &[FieldMatch],
) -> Result<Vec<EntryMatch>, Error> {
    for (index, given) in matches.iter().enumerate() {
        if !fields.iter().any(|field| field.id == given.field_id) {
            return Err(Error::invalid(format!(
                "{kind} `{name}` has no match field {}; it has {}",
                given.field_id,
                names(fields)
            )));
        }
        if matches[..index]
            .iter()
            .any(|earlier| earlier.field_id == given.field_id)
        {
            return Err(Error::invalid(format!(
                "{kind} `{name}`: match field {} is given twice",
                given.field_id
            )));
        }
    }
    let conditions = fields.iter().map(|field| {
        let given = matches.iter().find(|given| given.field_id == field.id);
        let problem = |error: Error| Error {
            code: error.code,
            message: format!("{kind} `{name}`: {}", error.message),
        };
        match given {
            Some(given) => condition(field, given).map_err(problem),
            None => dont_care(field).map_err(problem),
        }
    });
    conditions.collect()
}

fn names(fields: &[Field]) -> String {
    let names = fields.iter().map(|field| format!("{} `{}`", field.id, field.name));
    names.collect::<Vec<_>>().join(", ")
}

/// What a field that is not mentioned matches.
fn dont_care(field: &Field) -> Result<EntryMatch, Error> {
    let zero = || Bits::zero(field.value.width);
    Ok(match field.kind {
        MatchType::Lpm => EntryMatch::Lpm {
            value: zero(),
            prefix_length: 0,
        },
        MatchType::Ternary => EntryMatch::Ternary {
            value: zero(),
            mask: zero(),
        },
        MatchType::Range => EntryMatch::Range {
            low: zero(),
            high: Bits::ones(field.value.width),
        },
        MatchType::Optional => EntryMatch::Optional(None),
        MatchType::Exact | MatchType::Unspecified => {
            return Err(Error::invalid(format!(
                "`{}` is matched exactly and must be given",
                field.name
            )));
        }
    })
}

fn condition(field: &Field, given: &FieldMatch) -> Result<EntryMatch, Error> {
    let name = || format!("`{}`", field.name);
    let value = |bytes: &[u8]| field.value.read(bytes, name);
    let invalid = |problem: &str| Err(Error::invalid(format!("`{}` {problem}", field.name)));
    match (field.kind, &given.field_match_type) {
        (_, None) => invalid("has no value"),
        (MatchType::Exact, Some(FieldMatchType::Exact(exact))) => Ok(EntryMatch::Exact(value(&exact.value)?)),
        (MatchType::Lpm, Some(FieldMatchType::Lpm(lpm))) => prefix(field, value(&lpm.value)?, lpm.prefix_len),
        (MatchType::Ternary, Some(FieldMatchType::Ternary(ternary))) => {
            let mask = field.value.read_mask(&ternary.mask, name)?;
            let value = value(&ternary.value)?;
            if mask.is_zero() {
                return invalid("matches anything when its mask is 0: leave it out");
            }
            if value.and(&mask) != value {
                return invalid("has bits set in its value that its mask leaves out");
            }
            Ok(EntryMatch::Ternary { value, mask })
        }
        (MatchType::Range, Some(FieldMatchType::Range(range))) => {
            let (low, high) = (value(&range.low)?, field.value.read_high(&range.high, name)?);
            if field.value.is_text() && low != high {
                return invalid("is a string, so both ends of a range are the same");
            }
            if low > high {
                return invalid("has a range whose low end is above its high end");
            }
            if low.is_zero() && high == Bits::ones(field.value.width) {
                return invalid("matches anything when its range is all values: leave it out");
            }
            Ok(EntryMatch::Range { low, high })
        }
        (MatchType::Optional, Some(FieldMatchType::Optional(optional))) => {
            Ok(EntryMatch::Optional(Some(value(&optional.value)?)))
        }
        (kind, _) => invalid(&format!("is matched as {}", kind_name(kind))),
    }
}

fn prefix(field: &Field, value: Bits, length: i32) -> Result<EntryMatch, Error> {
    let width = field.value.width;
    let invalid = |problem: String| Err(Error::invalid(format!("`{}` {problem}", field.name)));
    match field.value.data_plane_prefix(length) {
        Some(0) => invalid(format!("matches anything with a prefix of {length} bits: leave it out")),
        Some(prefix_length) => {
            if !value.shl(prefix_length.into()).is_zero() {
                return invalid(format!("has bits set after its prefix of {length} bits"));
            }
            Ok(EntryMatch::Lpm { value, prefix_length })
        }
        None => invalid(format!(
            "has {} bits, so no prefix of {length}",
            match field.value.control_plane_width() {
                0 => width,
                width => width,
            }
        )),
    }
}

fn kind_name(kind: MatchType) -> &'static str {
    match kind {
        MatchType::Exact => "exact",
        MatchType::Lpm => "lpm",
        MatchType::Ternary => "ternary",
        MatchType::Range => "range",
        MatchType::Optional => "optional",
        MatchType::Unspecified => "nothing that P4Runtime knows",
    }
}

/// The conditions in the form of the protocol; those that match anything are left out.
pub(crate) fn write(fields: &[Field], conditions: &[EntryMatch]) -> Vec<FieldMatch> {
    let written = fields.iter().zip(conditions).filter_map(|(field, condition)| {
        Some(FieldMatch {
            field_id: field.id,
            field_match_type: Some(write_condition(field, condition)?),
        })
    });
    written.collect()
}

fn write_condition(field: &Field, condition: &EntryMatch) -> Option<FieldMatchType> {
    let bytes = |value: &Bits| field.value.write(value);
    Some(match condition {
        EntryMatch::Exact(value) => FieldMatchType::Exact(Exact { value: bytes(value) }),
        EntryMatch::Lpm { prefix_length: 0, .. } | EntryMatch::Optional(None) => return None,
        EntryMatch::Ternary { mask, .. } if mask.is_zero() => return None,
        EntryMatch::Range { low, high } if low.is_zero() && *high == Bits::ones(field.value.width) => return None,
        EntryMatch::Lpm { value, prefix_length } => FieldMatchType::Lpm(Lpm {
            value: bytes(value),
            prefix_len: field.value.control_plane_prefix(*prefix_length),
        }),
        EntryMatch::Ternary { value, mask } => FieldMatchType::Ternary(Ternary {
            value: bytes(value),
            mask: field.value.write_mask(mask),
        }),
        EntryMatch::Range { low, high } => FieldMatchType::Range(Range {
            low: bytes(low),
            high: field.value.write_high(high),
        }),
        EntryMatch::Optional(Some(value)) => FieldMatchType::Optional(Optional { value: bytes(value) }),
    })
}
