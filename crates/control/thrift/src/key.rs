//! Keys, actions and bytes: BMv2's notation and that of P4Runtime.
//!
//! | | BMv2 | P4Runtime |
//! |---|---|---|
//! | a number | as many bytes as its width needs | no zero bytes in front |
//! | what matches everything | a mask of zeros, a prefix of no bits, the whole range | is not mentioned |
//! | priority | the lowest number wins | the highest number wins |

use crate::codes::{BAD_ACTION_DATA, BAD_MATCH_KEY, Failure};
use forebay_protocol::p4::config::v1::match_field::{Match, MatchType};
use forebay_protocol::p4::config::v1::{Action as ActionInfo, MatchField, Table};
use forebay_protocol::p4::v1::action::Param;
use forebay_protocol::p4::v1::field_match::{Exact, FieldMatchType, Lpm, Optional, Range, Ternary};
use forebay_protocol::p4::v1::{Action, FieldMatch};

/// What an entry says of one field, in BMv2's form.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// One value.
    Exact(Vec<u8>),
    /// The first bits.
    Lpm(Vec<u8>, i32),
    /// Bits under a mask.
    Ternary(Vec<u8>, Vec<u8>),
    /// Whether a header is valid.
    Valid(bool),
    /// Two ends.
    Range(Vec<u8>, Vec<u8>),
}

/// How a field is compared.
pub fn match_type(field: &MatchField) -> MatchType {
    match field.r#match {
        Some(Match::MatchType(kind)) => MatchType::try_from(kind).unwrap_or(MatchType::Unspecified),
        _ => MatchType::Unspecified,
    }
}

/// Whether the entries of a table have priorities.
pub fn has_priorities(table: &Table) -> bool {
    let mut kinds = table.match_fields.iter().map(match_type);
    kinds.any(|kind| matches!(kind, MatchType::Ternary | MatchType::Range | MatchType::Optional))
}

/// The priority of P4Runtime for one of BMv2. P4Runtime has 0 where a table has no priorities, so the two that win least
/// are one.
pub fn to_priority(table: &Table, priority: i32) -> i32 {
    if has_priorities(table) {
        (i32::MAX - priority.max(0)).max(1)
    } else {
        0
    }
}

/// The other way round.
pub fn from_priority(priority: i32) -> i32 {
    if priority > 1 { i32::MAX - priority } else { i32::MAX }
}

/// Without zero bytes in front; zero is one byte.
fn short(bytes: &[u8]) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes[zeros.min(bytes.len().saturating_sub(1))..].to_vec()
}

/// With as many bytes as a width needs; texts (of no width) stay.
pub fn long(bytes: &[u8], width: i32) -> Vec<u8> {
    let length = (width.max(0) as usize).div_ceil(8);
    let mut long = vec![0; length.saturating_sub(bytes.len())];
    long.extend(bytes);
    long
}

fn number(bytes: &[u8], width: i32) -> Vec<u8> {
    if width == 0 { bytes.to_vec() } else { short(bytes) }
}

/// Ones in the last bits of the bytes that a width needs.
fn ones(width: i32) -> Vec<u8> {
    let mut ones = vec![0xff; (width.max(0) as usize).div_ceil(8)];
    if let Some(first) = ones.first_mut().filter(|_| width % 8 != 0) {
        *first = (1 << (width % 8)) - 1;
    }
    ones
}

/// Ones in the first bits of a width.
fn prefix_mask(width: i32, length: i32) -> Vec<u8> {
    let mut mask = ones(width);
    let total = mask.len() * 8;
    for bit in (total - width.max(0) as usize + length.max(0) as usize)..total {
        mask[bit / 8] &= !(0x80 >> (bit % 8));
    }
    mask
}

fn under(value: &[u8], mask: &[u8]) -> Vec<u8> {
    // The shorter one is without zero bytes in front.
    let length = value.len().max(mask.len());
    let (value, mask) = (long(value, length as i32 * 8), long(mask, length as i32 * 8));
    value.iter().zip(&mask).map(|(value, mask)| value & mask).collect()
}

/// A field as BMv2 compares it: its bytes are compared whole, and bits beyond its width are zeros in every packet. So a
/// mask loses those bits, and a range ends at the largest value. A value with ones there stays as it is, to be refused.
fn fitted(said: &Said, width: i32) -> Said {
    let ones = ones(width);
    let fits = |bytes: &[u8]| short(&under(bytes, &ones)) == short(bytes);
    match said {
        Said::Ternary(value, mask) if width > 0 && fits(&under(value, mask)) => {
            Said::Ternary(value.clone(), under(mask, &ones))
        }
        Said::Range(low, high) if width > 0 && !fits(high) => Said::Range(low.clone(), ones.clone()),
        said => said.clone(),
    }
}

/// The fields of a key in P4Runtime's form.
///
/// # Errors
/// When there are more or fewer than the table has, or one is compared in another way.
pub fn to_match(table: &Table, said: &[Said]) -> Result<Vec<FieldMatch>, Failure> {
    let fields = &table.match_fields;
    if said.len() != fields.len() {
        let message = format!("the table has {} key fields, not {}", fields.len(), said.len());
        return Err(BAD_MATCH_KEY.because(message));
    }
    let pairs = fields.iter().zip(said);
    let found: Result<Vec<_>, Failure> = pairs.map(|(field, said)| to_field(field, said)).collect();
    Ok(found?.into_iter().flatten().collect())
}

fn to_field(field: &MatchField, said: &Said) -> Result<Option<FieldMatch>, Failure> {
    let width = field.bitwidth;
    let said = &fitted(said, width);
    let kind = match (match_type(field), said) {
        (MatchType::Exact, Said::Exact(value)) => FieldMatchType::Exact(Exact {
            value: number(value, width),
        }),
        (MatchType::Exact, Said::Valid(flag)) => FieldMatchType::Exact(Exact {
            value: vec![u8::from(*flag)],
        }),
        (MatchType::Lpm, Said::Lpm(_, 0)) => return Ok(None),
        (MatchType::Lpm, Said::Lpm(value, length)) => FieldMatchType::Lpm(Lpm {
            value: short(&under(value, &prefix_mask(width, *length))),
            prefix_len: *length,
        }),
        (MatchType::Ternary, Said::Ternary(_, mask)) if is_zero(mask) => return Ok(None),
        (MatchType::Ternary, Said::Ternary(value, mask)) => FieldMatchType::Ternary(Ternary {
            value: short(&under(value, mask)),
            mask: short(mask),
        }),
        (MatchType::Optional, Said::Ternary(_, mask)) if is_zero(mask) => return Ok(None),
        (MatchType::Optional, Said::Ternary(value, mask)) if short(mask) == short(&ones(width)) => {
            FieldMatchType::Optional(Optional {
                value: number(value, width),
            })
        }
        (MatchType::Range, Said::Range(low, high)) if is_zero(low) && short(high) == short(&ones(width)) => {
            return Ok(None);
        }
        (MatchType::Range, Said::Range(low, high)) => FieldMatchType::Range(Range {
            low: short(low),
            high: short(high),
        }),
        (kind, _) => {
            let kind = kind.as_str_name().to_lowercase();
            return Err(BAD_MATCH_KEY.because(format!("field `{}` is compared otherwise ({kind})", field.name)));
        }
    };
    Ok(Some(FieldMatch {
        field_id: field.id,
        field_match_type: Some(kind),
    }))
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// The fields of a key in BMv2's form, in the order of the table.
pub fn from_match(table: &Table, key: &[FieldMatch]) -> Vec<Said> {
    let said = table.match_fields.iter().map(|field| {
        let found = key.iter().find(|said| said.field_id == field.id);
        from_field(field, found.and_then(|said| said.field_match_type.as_ref()))
    });
    said.collect()
}

fn from_field(field: &MatchField, said: Option<&FieldMatchType>) -> Said {
    let width = field.bitwidth;
    let long = |bytes: &[u8]| long(bytes, width);
    match (match_type(field), said) {
        (_, Some(FieldMatchType::Exact(exact))) => Said::Exact(long(&exact.value)),
        (_, Some(FieldMatchType::Lpm(lpm))) => Said::Lpm(long(&lpm.value), lpm.prefix_len),
        (_, Some(FieldMatchType::Ternary(ternary))) => Said::Ternary(long(&ternary.value), long(&ternary.mask)),
        (_, Some(FieldMatchType::Optional(optional))) => Said::Ternary(long(&optional.value), ones(width)),
        (_, Some(FieldMatchType::Range(range))) => Said::Range(long(&range.low), long(&range.high)),
        (MatchType::Lpm, _) => Said::Lpm(long(&[]), 0),
        (MatchType::Range, _) => Said::Range(long(&[]), ones(width)),
        (MatchType::Ternary | MatchType::Optional, _) => Said::Ternary(long(&[]), long(&[])),
        (_, _) => Said::Exact(long(&[])),
    }
}

/// An action with its data.
///
/// # Errors
/// When there are more or fewer data than the action has parameters.
pub fn to_action(info: &ActionInfo, id: u32, data: &[Vec<u8>]) -> Result<Action, Failure> {
    if data.len() != info.params.len() {
        let message = format!("the action has {} parameters, not {}", info.params.len(), data.len());
        return Err(BAD_ACTION_DATA.because(message));
    }
    let params = info.params.iter().zip(data).map(|(parameter, bytes)| Param {
        param_id: parameter.id,
        value: number(bytes, parameter.bitwidth),
    });
    Ok(Action {
        action_id: id,
        params: params.collect(),
    })
}

/// The data of an action, in the order of its parameters; as BMv2 gives them, without zeros in front.
pub fn from_action(info: &ActionInfo, action: &Action) -> Vec<Vec<u8>> {
    let data = info.params.iter().map(|parameter| {
        let given = action.params.iter().find(|given| given.param_id == parameter.id);
        given.map_or(vec![0], |given| given.value.clone())
    });
    data.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(kinds: &[(MatchType, i32)]) -> Table {
        let fields = (1..).zip(kinds).map(|(id, (kind, width))| MatchField {
            id,
            bitwidth: *width,
            r#match: Some(Match::MatchType(*kind as i32)),
            ..MatchField::default()
        });
        Table {
            match_fields: fields.collect(),
            ..Table::default()
        }
    }

    #[test]
    fn keys_go_there_and_back() {
        use MatchType::{Exact, Lpm, Optional, Range, Ternary};
        let table = table(&[(Exact, 9), (Lpm, 32), (Ternary, 48), (Range, 16), (Optional, 12)]);
        let said = [
            Said::Exact(vec![0, 5]),
            Said::Lpm(vec![10, 0, 0, 0], 8),
            Said::Ternary(vec![0, 0, 0, 0, 1, 0], vec![0, 0, 0, 0, 0xff, 0]),
            Said::Range(vec![0, 80], vec![1, 0]),
            Said::Ternary(vec![0, 7], vec![0x0f, 0xff]),
        ];
        let key = to_match(&table, &said).unwrap();
        assert_eq!(key.len(), 5);
        assert_eq!(from_match(&table, &key), said);
    }

    #[test]
    fn what_matches_everything_is_not_mentioned() {
        use MatchType::{Lpm, Optional, Range, Ternary};
        let table = table(&[(Lpm, 32), (Ternary, 9), (Range, 9), (Optional, 9)]);
        let said = [
            Said::Lpm(vec![0; 4], 0),
            Said::Ternary(vec![0; 2], vec![0; 2]),
            Said::Range(vec![0; 2], vec![1, 0xff]),
            Said::Ternary(vec![0; 2], vec![0; 2]),
        ];
        assert_eq!(to_match(&table, &said), Ok(Vec::new()));
        assert_eq!(from_match(&table, &[]), said);
    }

    #[test]
    fn bits_that_do_not_count_are_zero() {
        let table = table(&[(MatchType::Lpm, 9), (MatchType::Ternary, 16)]);
        let said = [Said::Lpm(vec![1, 0xff], 4), Said::Ternary(vec![0xab, 0xcd], vec![0xf0])];
        let key = to_match(&table, &said).unwrap();
        let back = [Said::Lpm(vec![1, 0xe0], 4), Said::Ternary(vec![0, 0xc0], vec![0, 0xf0])];
        assert_eq!(from_match(&table, &key), back);
    }

    #[test]
    fn masks_and_ends_of_ranges_may_fill_their_bytes() {
        use MatchType::{Optional, Range, Ternary};
        let fields = table(&[(Ternary, 9), (Ternary, 9), (Range, 12), (Optional, 12)]);
        let full = || vec![0xff, 0xff];
        let said = [
            Said::Ternary(vec![0, 1], full()),
            Said::Ternary(vec![0, 0], vec![0xfe, 0]),
            Said::Range(vec![0, 7], full()),
            Said::Ternary(vec![0, 7], full()),
        ];
        let back = [
            Said::Ternary(vec![0, 1], vec![1, 0xff]),
            Said::Ternary(vec![0, 0], vec![0, 0]),
            Said::Range(vec![0, 7], vec![0x0f, 0xff]),
            Said::Ternary(vec![0, 7], vec![0x0f, 0xff]),
        ];
        assert_eq!(from_match(&fields, &to_match(&fields, &said).unwrap()), back);
        // No packet has this value: it is not cut to another one.
        let too_large = [Said::Ternary(vec![2, 1], full())];
        let one = table(&[(Ternary, 9)]);
        assert_eq!(from_match(&one, &to_match(&one, &too_large).unwrap()), too_large);
    }

    #[test]
    fn a_key_of_another_form_is_refused() {
        let table = table(&[(MatchType::Exact, 8)]);
        assert!(to_match(&table, &[]).is_err());
        assert!(to_match(&table, &[Said::Lpm(vec![1], 8)]).is_err());
    }

    #[test]
    fn priorities_are_turned_round() {
        let of = |priority| to_priority(&table(&[(MatchType::Ternary, 8)]), priority);
        assert!(of(1) > of(2));
        for priority in [0, 7, i32::MAX - 2, i32::MAX] {
            assert_eq!(from_priority(of(priority)), priority);
        }
        assert_eq!((of(i32::MAX), of(-1)), (1, i32::MAX));
        assert_eq!(to_priority(&table(&[(MatchType::Exact, 8)]), 7), 0);
        assert_eq!(from_priority(0), i32::MAX, "an entry of the program");
    }
}
