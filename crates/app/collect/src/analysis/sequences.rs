//! Which reports are missing: each node numbers its datagrams with 22 bits.

use crate::report::{Group, Reporter};
use std::collections::BTreeMap;

/// Numbers wrap here.
const MODULUS: u32 = 1 << 22;

/// A datagram whose number is at most this much below the newest is late; below that, its node has restarted.
const LATE_MAX: u32 = 4_096;

/// Nodes begin with such numbers, which are late by less.
const FIRST: u32 = 16;
const FIRST_LATE_MAX: u32 = 512;

/// Nodes that are followed.
const REPORTERS_MAX: usize = 65_536;

/// What a datagram says of those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// None is missing.
    None,
    /// This number of datagrams is missing before it.
    Missing(u32),
    /// It is one that was missing, or one that was there already.
    Late,
    /// Its node has begun anew; what is missing is not known.
    Restart,
}

/// The next number of each node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequences(BTreeMap<Reporter, u32>);

impl Sequences {
    /// Follows a datagram. The first one of a node says nothing.
    pub fn see(&mut self, group: &Group) -> Gap {
        let following = (group.sequence + 1) % MODULUS;
        let Some(next) = self.0.get_mut(&group.reporter) else {
            if self.0.len() < REPORTERS_MAX {
                self.0.insert(group.reporter, following);
            }
            return Gap::None;
        };
        let ahead = group.sequence.wrapping_sub(*next) % MODULUS;
        let behind = (MODULUS - ahead) % MODULUS;
        let late_max = if group.sequence < FIRST {
            FIRST_LATE_MAX
        } else {
            LATE_MAX
        };
        if behind > 0 && behind <= late_max {
            return Gap::Late;
        }
        *next = following;
        match ahead {
            0 => Gap::None,
            ahead if ahead < MODULUS / 2 => Gap::Missing(ahead),
            _ => Gap::Restart,
        }
    }

    /// The nodes with their next numbers.
    pub fn iter(&self) -> impl Iterator<Item = (Reporter, u32)> + '_ {
        self.0.iter().map(|(reporter, next)| (*reporter, *next))
    }
}

impl FromIterator<(Reporter, u32)> for Sequences {
    fn from_iter<I: IntoIterator<Item = (Reporter, u32)>>(nodes: I) -> Sequences {
        let nodes = nodes.into_iter().take(REPORTERS_MAX);
        Sequences(nodes.map(|(reporter, next)| (reporter, next % MODULUS)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn see(sequences: &mut Sequences, numbers: &[u32]) -> Vec<Gap> {
        let group = |sequence| Group {
            reporter: Reporter { node: 7, hardware: 0 },
            sequence,
        };
        numbers.iter().map(|number| sequences.see(&group(*number))).collect()
    }

    #[test]
    fn numbers_that_are_left_out_are_missing() {
        let mut sequences = Sequences::default();
        assert_eq!(
            see(&mut sequences, &[10, 11, 15, 16, 12, 17]),
            [Gap::None, Gap::None, Gap::Missing(3), Gap::None, Gap::Late, Gap::None]
        );
    }

    #[test]
    fn numbers_wrap() {
        let mut sequences = Sequences::default();
        assert_eq!(
            see(&mut sequences, &[MODULUS - 2, MODULUS - 1, 0, 2, MODULUS - 1]),
            [Gap::None, Gap::None, Gap::None, Gap::Missing(1), Gap::Late]
        );
    }

    #[test]
    fn a_node_may_begin_anew() {
        let mut sequences = Sequences::default();
        assert_eq!(
            see(&mut sequences, &[1_000_000, 0, 1]),
            [Gap::None, Gap::Restart, Gap::None]
        );
    }

    #[test]
    fn a_node_may_begin_anew_soon() {
        let mut sequences = Sequences::default();
        assert_eq!(
            see(&mut sequences, &[2_000, 2, 0, 3, 6]),
            [Gap::None, Gap::Restart, Gap::Late, Gap::None, Gap::Missing(2)]
        );
        assert_eq!(
            see(&mut sequences, &[500, 1, 501]),
            [Gap::Missing(493), Gap::Late, Gap::None]
        );
    }

    #[test]
    fn what_was_expected_before_a_restart_is_remembered() {
        let mut sequences = Sequences::default();
        see(&mut sequences, &[4]);
        let mut again: Sequences = sequences.iter().collect();
        assert_eq!(see(&mut again, &[9]), [Gap::Missing(4)]);
    }
}
