//! Reordering of a stream, after RFC 4737.
//!
//! A packet is *reordered* when one that was sent later has arrived before it (§3.3). Its *extent* (§4.2.1) is how many
//! packets back the first of those is in the order of arrival.
//!
//! When the packets of a link belong to many flows that take turns, a flow has every d-th packet. The ratio *at
//! distance d* is the share of packets that are reordered within their own flow then: some packet of the same remainder
//! modulo d that was sent later has arrived before.

use std::collections::VecDeque;

/// Packets that arrived before all that were sent earlier, which are remembered for extents.
const MAXIMA: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct Reordering {
    arrived: u64,
    reordered: u64,
    extent_max: u64,
    /// Sequence numbers larger than all before them, with their places in the order of arrival.
    maxima: VecDeque<(u64, u64)>,
    distances: Vec<Distance>,
}

#[derive(Debug)]
struct Distance {
    distance: u32,
    /// The largest sequence number so far of each flow, plus one.
    largest: Vec<u64>,
    reordered: u64,
}

impl Reordering {
    pub(crate) fn new(distances: &[u32]) -> Reordering {
        let distance = |&distance: &u32| Distance {
            distance,
            largest: vec![0; distance as usize],
            reordered: 0,
        };
        Reordering {
            distances: distances.iter().map(distance).collect(),
            ..Reordering::default()
        }
    }

    /// A packet has arrived. A copy of the one before is in order.
    pub(crate) fn arrive(&mut self, sequence: u64) {
        let place = self.arrived;
        self.arrived += 1;
        if self.maxima.back().is_none_or(|(largest, _)| sequence > *largest) {
            self.maxima.push_back((sequence, place));
            if self.maxima.len() > MAXIMA {
                self.maxima.pop_front();
            }
        } else if self.maxima.back().is_some_and(|(largest, _)| sequence < *largest) {
            self.reordered += 1;
            let later = self.maxima.partition_point(|(maximum, _)| *maximum <= sequence);
            let (_, first_later) = self.maxima[later];
            self.extent_max = self.extent_max.max(place - first_later);
        }
        for distance in &mut self.distances {
            let flow = (sequence % u64::from(distance.distance)) as usize;
            let largest = &mut distance.largest[flow];
            distance.reordered += u64::from(sequence + 1 < *largest);
            *largest = (*largest).max(sequence + 1);
        }
    }

    /// Packets that arrived.
    pub(crate) fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Reordered packets, and their largest extent.
    pub(crate) fn reordered(&self) -> (u64, u64) {
        (self.reordered, self.extent_max)
    }

    /// Distances with the share of packets reordered within their flows.
    pub(crate) fn by_distance(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        let arrived = self.arrived.max(1) as f64;
        self.distances
            .iter()
            .map(move |distance| (distance.distance, distance.reordered as f64 / arrived))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sequences: &[u64], distances: &[u32]) -> Reordering {
        let mut reordering = Reordering::new(distances);
        sequences.iter().for_each(|sequence| reordering.arrive(*sequence));
        reordering
    }

    /// As the example of RFC 4737, §4.2.3: packets 4, 5 and 6 arrive after 7 to 10.
    #[test]
    fn the_example_of_the_rfc() {
        let reordering = of(&[1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11], &[]);
        assert_eq!(
            reordering.reordered(),
            (3, 6),
            "4, 5 and 6; 6 arrives six places after 7"
        );
    }

    #[test]
    fn flows_that_take_turns_see_less_of_it() {
        let reordering = of(&[0, 2, 1, 3, 5, 4], &[1, 2, 3]);
        let ratios: Vec<(u32, f64)> = reordering.by_distance().collect();
        assert_eq!(ratios, [(1, 2.0 / 6.0), (2, 0.0), (3, 0.0)]);
        let reordering = of(&[2, 0], &[2, 3]);
        let ratios: Vec<(u32, f64)> = reordering.by_distance().collect();
        assert_eq!(ratios, [(2, 0.5), (3, 0.0)]);
    }

    #[test]
    fn copies_are_in_order() {
        assert_eq!(of(&[1, 1, 2, 2], &[]).reordered(), (0, 0));
    }
}
