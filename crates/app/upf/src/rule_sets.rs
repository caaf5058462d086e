//! Filters of PDRs as the applications of a rule set, which sessions with the same filters share.

use crate::compile::application_of;
use crate::entry::{Action, Entries, Key, Match, Table};
use forebay_pfcp::rules::{Filter, Pdr};
use forebay_pfcp::wire::{Cause, Refusal, RuleId};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;

/// PDRs with filters in their order, each with its application. No two of them are alike in a set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RuleSet {
    applications: Vec<(u16, Vec<Filter>, Vec<u8>)>,
}

/// Entries of a PDR.
const ENTRIES_MAX: usize = 256;

/// Priority of the first PDR of a set. Its others have lower ones, down to 1: a session has 65,536 PDRs at most, as
/// their numbers have 16 bits.
const FIRST_PRIORITY: i32 = 1 << 16;

impl RuleSet {
    /// Adds the filters of a PDR, after those that are there.
    ///
    /// # Errors
    /// When they would be too many entries.
    pub(crate) fn add(&mut self, pdr: &Pdr) -> Result<(), Refusal> {
        let of_filter = |filter: &Filter| filter.remote_ports.len().max(1) * filter.local_ports.len().max(1) * 2;
        let filters: usize = pdr.pdi.filters.iter().map(of_filter).sum::<usize>().max(2);
        if filters * pdr.pdi.qfis.len().max(1) > ENTRIES_MAX {
            let refusal = Refusal::new(Cause::NoResources, "the filters of the PDR have too many ranges");
            return Err(refusal.with_rule(RuleId::Pdr(pdr.id)));
        }
        // Numbers of filters mean something in their session alone.
        let filters = pdr.pdi.filters.iter();
        let filters = filters.map(|filter| Filter {
            id: None,
            ..filter.clone()
        });
        self.applications
            .push((application_of(pdr), filters.collect(), pdr.pdi.qfis.clone()));
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.applications.is_empty()
    }

    /// Its entries under a number.
    pub(crate) fn entries(&self, number: u32) -> Entries {
        let mut entries = Entries::default();
        let everything = [Filter::default()];
        for (rank, (application, filters, qfis)) in self.applications.iter().enumerate() {
            let priority = FIRST_PRIORITY - rank as i32;
            let filters = if filters.is_empty() { &everything[..] } else { filters };
            for filter in filters {
                for fields in fields_of(number, filter, qfis) {
                    let (table, fields) = fields;
                    let key = Key::new(table, fields).with_priority(priority);
                    entries.insert(key, Action::new("set_application", [u128::from(*application)]));
                }
            }
        }
        entries
    }
}

/// The keys of a filter: one for each table, range of ports and QoS flow.
fn fields_of(number: u32, filter: &Filter, qfis: &[u8]) -> Vec<(Table, Vec<Match>)> {
    let families: Vec<(Table, Match)> = match filter.remote {
        None => vec![
            (Table::ApplicationsIpv4, Match::Any),
            (Table::ApplicationsIpv6, Match::Any),
        ],
        Some(network) => match network.address {
            IpAddr::V4(address) => {
                let remote = Match::masked(u32::from(address).into(), network.length, 32);
                vec![(Table::ApplicationsIpv4, remote)]
            }
            IpAddr::V6(address) => {
                let remote = Match::masked(address.into(), network.length, 128);
                vec![(Table::ApplicationsIpv6, remote)]
            }
        },
    };
    let protocol = filter
        .protocol
        .map_or(Match::Any, |protocol| Match::Ternary(protocol.into(), 0xff));
    let flows: Vec<Match> = match qfis {
        [] => vec![Match::Any],
        qfis => qfis.iter().map(|qfi| Match::Ternary((*qfi).into(), 0x3f)).collect(),
    };
    let mut found = Vec::new();
    for (table, remote) in families {
        for remote_port in ranges(&filter.remote_ports) {
            for local_port in ranges(&filter.local_ports) {
                for flow in &flows {
                    let fields = vec![Match::exact(number), remote, protocol, remote_port, local_port, *flow];
                    found.push((table, fields));
                }
            }
        }
    }
    found
}

fn ranges(ports: &[(u16, u16)]) -> Vec<Match> {
    match ports {
        [] => vec![Match::Any],
        ports => ports
            .iter()
            .map(|(first, last)| match (*first, *last) {
                // P4Runtime has no range of all values.
                (0, u16::MAX) => Match::Any,
                (first, last) => Match::Range(first.into(), last.into()),
            })
            .collect(),
    }
}

/// The rule sets in use, by number.
#[derive(Debug, Default)]
pub(crate) struct RuleSets {
    by_number: HashMap<u32, (RuleSet, u32)>,
    /// The number of each, which stays when another one with the same hash goes.
    numbers: HashMap<RuleSet, u32>,
}

impl RuleSets {
    /// The number of a set, whether it is in use or not: a hash of the set, so that it is the same after a restart. 0
    /// is that of the empty set.
    pub(crate) fn number(&self, set: &RuleSet) -> u32 {
        if set.is_empty() {
            return 0;
        }
        if let Some(number) = self.numbers.get(set) {
            return *number;
        }
        let mut hasher = DefaultHasher::new();
        set.hash(&mut hasher);
        let mut number = hasher.finish() as u32;
        while number == 0 || self.by_number.contains_key(&number) {
            number = number.wrapping_add(1);
        }
        number
    }

    /// One more endpoint uses a set. Returns whether it is the first.
    pub(crate) fn acquire(&mut self, set: &RuleSet) -> bool {
        if set.is_empty() {
            return false;
        }
        let number = self.number(set);
        self.numbers.entry(set.clone()).or_insert(number);
        let (_, users) = self.by_number.entry(number).or_insert_with(|| (set.clone(), 0));
        *users += 1;
        *users == 1
    }

    /// Whether a set has one user left.
    pub(crate) fn is_last_use(&self, set: &RuleSet) -> bool {
        self.by_number
            .get(&self.number(set))
            .is_some_and(|(_, users)| *users == 1)
    }

    /// One endpoint less uses a set.
    pub(crate) fn release(&mut self, set: &RuleSet) {
        let number = self.number(set);
        if let Some((_, users)) = self.by_number.get_mut(&number) {
            *users -= 1;
            if *users == 0 {
                self.by_number.remove(&number);
                self.numbers.remove(set);
            }
        }
    }

    /// The entries of all sets.
    pub(crate) fn entries(&self) -> Entries {
        self.by_number
            .iter()
            .flat_map(|(number, (set, _))| set.entries(*number))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(first: u16, last: u16) -> RuleSet {
        let filter = Filter {
            local_ports: vec![(first, last)],
            ..Filter::default()
        };
        RuleSet {
            applications: vec![(1, vec![filter], Vec::new())],
        }
    }

    #[test]
    fn each_pdr_of_a_large_set_has_a_priority_that_p4runtime_takes() {
        let application = |number| (number, Vec::new(), Vec::new());
        let applications: Vec<_> = (0..=u16::MAX).map(application).collect();
        let entries = RuleSet { applications }.entries(1);
        assert!(entries.keys().all(|key| key.priority >= 1));
    }

    /// Two sets with the same hash.
    fn alike() -> (RuleSet, RuleSet) {
        let none = RuleSets::default();
        let mut seen: HashMap<u32, RuleSet> = HashMap::new();
        for first in 0..1_000 {
            for last in 1_000..2_000 {
                let set = set(first, last);
                let number = none.number(&set);
                if let Some(other) = seen.remove(&number) {
                    return (other, set);
                }
                seen.insert(number, set);
            }
        }
        panic!("a million hashes of 32 bits, no two of them alike");
    }

    #[test]
    fn a_set_keeps_its_number_when_one_with_its_hash_goes() {
        let (one, other) = alike();
        let mut sets = RuleSets::default();
        assert!(sets.acquire(&one) && sets.acquire(&other));
        let number = sets.number(&other);
        assert_ne!(number, sets.number(&one));
        sets.release(&one);
        assert_eq!(sets.number(&other), number);
        assert!(!sets.acquire(&other), "it is there");
        sets.release(&other);
        assert!(sets.is_last_use(&other), "of two users one is left");
        assert_eq!(sets.entries().len(), 2, "one for each family");
        sets.release(&other);
        assert!(sets.entries().is_empty() && sets.numbers.is_empty());
    }
}
