//! Values, fields of keys and rates as messages of P4Runtime.

use crate::entry::{Action, Key, Match};
use forebay_protocol::p4::v1::field_match::{self, FieldMatchType};
use forebay_protocol::p4::v1::{FieldMatch, Index, MeterConfig, MeterEntry};

/// A number as P4Runtime writes it: without leading zeros, at least a byte.
pub(super) fn bytes(value: u128) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len() - 1);
    bytes[first..].to_vec()
}

pub(super) fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

pub(super) fn field_match(id: u32, field: &Match) -> Option<FieldMatch> {
    let kind = match *field {
        Match::Any => return None,
        Match::Exact(value) => FieldMatchType::Exact(field_match::Exact { value: bytes(value) }),
        Match::Prefix(value, length) => FieldMatchType::Lpm(field_match::Lpm {
            value: bytes(value),
            prefix_len: length.into(),
        }),
        Match::Ternary(value, mask) => FieldMatchType::Ternary(field_match::Ternary {
            value: bytes(value),
            mask: bytes(mask),
        }),
        Match::Range(low, high) => FieldMatchType::Range(field_match::Range {
            low: bytes(low),
            high: bytes(high),
        }),
    };
    Some(FieldMatch {
        field_id: id,
        field_match_type: Some(kind),
    })
}

pub(super) fn read_match(said: &FieldMatch, width: u32) -> Match {
    match &said.field_match_type {
        Some(FieldMatchType::Exact(exact)) => Match::Exact(number(&exact.value)),
        Some(FieldMatchType::Lpm(lpm)) => Match::prefix(number(&lpm.value), lpm.prefix_len as u8, width as u8),
        Some(FieldMatchType::Ternary(ternary)) => Match::Ternary(number(&ternary.value), number(&ternary.mask)),
        Some(FieldMatchType::Range(range)) => Match::Range(number(&range.low), number(&range.high)),
        _ => Match::Any,
    }
}

pub(super) fn meter_entry(id: u32, key: &Key, action: &Action) -> MeterEntry {
    let config = match action.values.as_slice() {
        [rate, burst] => {
            let (rate, burst) = (
                (*rate).min(i64::MAX as u128) as i64,
                (*burst).min(i64::MAX as u128) as i64,
            );
            Some(MeterConfig {
                cir: rate,
                cburst: burst,
                pir: rate,
                pburst: burst,
                ..MeterConfig::default()
            })
        }
        _ => None,
    };
    let index = match key.fields.first() {
        Some(Match::Exact(index)) => *index as i64,
        _ => 0,
    };
    MeterEntry {
        meter_id: id,
        index: Some(Index { index }),
        config,
        counter_data: None,
    }
}
