//! Table entries by names and numbers, before they become messages of P4Runtime.

use std::collections::BTreeMap;

/// The tables of `functions/upf`, in the order in which entries are inserted: what others refer to comes first. Rates
/// of a meter are entries, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Table {
    OwnIpv4,
    OwnIpv6,
    ArpIpv4,
    NdIpv6,
    NextHops,
    RoutesIpv4,
    RoutesIpv6,
    UplinkRates,
    DownlinkRates,
    Qers,
    Fars,
    TerminationsUplink,
    TerminationsDownlink,
    ApplicationsIpv4,
    ApplicationsIpv6,
    SessionsUplink,
    SessionsDownlinkIpv4,
    SessionsDownlinkIpv6,
}

/// What a field of a key is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Match {
    /// Every value.
    Any,
    Exact(u128),
    /// A value, and how many of its bits count.
    Prefix(u128, u8),
    /// A value and a mask.
    Ternary(u128, u128),
    Range(u128, u128),
}

impl Match {
    pub(crate) fn exact(value: impl Into<u128>) -> Match {
        Match::Exact(value.into())
    }

    /// A prefix; bits that do not count are cleared.
    pub(crate) fn prefix(value: u128, length: u8, width: u8) -> Match {
        match length {
            0 => Match::Any,
            length => Match::Prefix(value & mask(length, width), length),
        }
    }

    /// The same for a ternary field.
    pub(crate) fn masked(value: u128, length: u8, width: u8) -> Match {
        match mask(length, width) {
            0 => Match::Any,
            mask => Match::Ternary(value & mask, mask),
        }
    }
}

/// Ones in the first `length` bits of `width`.
fn mask(length: u8, width: u8) -> u128 {
    let ones = |count: u8| if count >= 128 { u128::MAX } else { (1 << count) - 1 };
    ones(width) & !ones(width - length.min(width))
}

/// What identifies an entry of a table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) table: Table,
    pub(crate) fields: Vec<Match>,
    /// The highest comes first; 0 in tables without.
    pub(crate) priority: i32,
}

impl Key {
    pub(crate) fn new(table: Table, fields: impl Into<Vec<Match>>) -> Key {
        Key {
            table,
            fields: fields.into(),
            priority: 0,
        }
    }

    pub(crate) fn with_priority(self, priority: i32) -> Key {
        Key { priority, ..self }
    }
}

/// An action and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Action {
    pub(crate) name: &'static str,
    pub(crate) values: Vec<u128>,
}

impl Action {
    pub(crate) fn new(name: &'static str, values: impl Into<Vec<u128>>) -> Action {
        Action {
            name,
            values: values.into(),
        }
    }
}

/// Entries by their keys.
pub(crate) type Entries = BTreeMap<Key, Action>;

/// How entries become others.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) inserted: Vec<(Key, Action)>,
    pub(crate) modified: Vec<(Key, Action)>,
    /// Last things first.
    pub(crate) deleted: Vec<Key>,
}

impl Difference {
    pub(crate) fn between(before: &Entries, after: &Entries) -> Difference {
        let mut difference = Difference::default();
        for (key, action) in after {
            match before.get(key) {
                None => difference.inserted.push((key.clone(), action.clone())),
                Some(old) if old != action => difference.modified.push((key.clone(), action.clone())),
                Some(_) => {}
            }
        }
        difference.deleted = before
            .keys()
            .rev()
            .filter(|key| !after.contains_key(key))
            .cloned()
            .collect();
        difference
    }
}
