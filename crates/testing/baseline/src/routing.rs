//! Routes joined with their next hops: a route's number is the place of its next hop in an array.

use crate::forwarder::{DropReason, Verdict};
use crate::headers::{Ipv4, Ipv4Frame, MacPair, mac_pair};
use crate::lpm::{Lpm, Prefix};
use std::collections::HashMap;
use std::hash::Hash;

/// A next hop as a packet needs it.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(crate) struct Adjacency {
    macs: MacPair,
    /// By which port the packet leaves, or why it is dropped.
    pub(crate) verdict: Verdict,
}

impl Adjacency {
    /// By `port`, with these addresses.
    pub(crate) fn new(source: u64, destination: u64, port: u16) -> Adjacency {
        Adjacency {
            macs: mac_pair(destination, source),
            verdict: Verdict::ingress(port),
        }
    }

    /// Nowhere.
    pub(crate) fn drop(reason: DropReason) -> Adjacency {
        Adjacency {
            macs: [0; 12],
            verdict: Verdict::drop(reason),
        }
    }

    /// Writes the MAC addresses.
    #[inline(always)]
    pub(crate) fn address(&self, frame: &mut Ipv4Frame) {
        *frame.first_chunk_mut().expect("a frame begins with its addresses") = self.macs;
    }

    /// Forwards a packet whose header checksum is right, if there is a way.
    #[inline(always)]
    pub(crate) fn forward(&self, frame: &mut Ipv4Frame) -> Verdict {
        if !self.verdict.is_drop() {
            self.address(frame);
            frame.decrement_time_to_live();
        }
        self.verdict
    }
}

/// A routing table.
pub(crate) struct Routes {
    prefixes: Lpm,
    /// By the number of a route; 0 is no route.
    adjacencies: Vec<Adjacency>,
}

impl Routes {
    /// Prefixes with what leads to a next hop, which `adjacency` finds. Without a route, packets are dropped in
    /// ingress.
    ///
    /// # Panics
    /// When the routes name more different next hops than [`Lpm::NUMBER_MAX`].
    pub(crate) fn new<T: Copy + Eq + Hash>(routes: &[(Prefix, T)], adjacency: impl Fn(T) -> Adjacency) -> Routes {
        let mut adjacencies = vec![Adjacency::drop(DropReason::Ingress)];
        let mut numbers = HashMap::new();
        let mut number_of = |next_hop: T| {
            *numbers.entry(next_hop).or_insert_with(|| {
                adjacencies.push(adjacency(next_hop));
                u16::try_from(adjacencies.len() - 1).unwrap_or(u16::MAX)
            })
        };
        let numbered = routes.iter().map(|(prefix, next_hop)| (*prefix, number_of(*next_hop)));
        let numbered: Vec<_> = numbered.collect();
        Routes {
            prefixes: Lpm::new(&numbered),
            adjacencies,
        }
    }

    /// Begins to load what [`Routes::find`] reads first.
    #[inline(always)]
    pub(crate) fn prefetch(&self, address: u32) {
        self.prefixes.prefetch(address);
    }

    /// The number of the route for an address.
    #[inline(always)]
    pub(crate) fn find(&self, address: u32) -> u16 {
        self.prefixes.find(address)
    }

    /// Where a route leads.
    #[inline(always)]
    pub(crate) fn adjacency(&self, route: u16) -> &Adjacency {
        debug_assert!(usize::from(route) < self.adjacencies.len());
        // SAFETY: numbers of routes are places in the array, and 0 is one too.
        unsafe { self.adjacencies.get_unchecked(usize::from(route)) }
    }
}
