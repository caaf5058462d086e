//! Meter arrays (`meter` and `direct_meter` of v1model, `Meter` and `DirectMeter` of PSA).
//!
//! Each element is a two-rate three-colour marker (RFC 2698) as BMv2 runs it. Two token buckets
//! fill at the peak and at the committed rate, up to their burst sizes, and begin full:
//!
//! ```text
//! peak bucket has no tokens for the packet       -> RED,    nothing is taken
//! committed bucket has no tokens for the packet  -> YELLOW, the peak bucket pays
//! otherwise                                      -> GREEN,  both buckets pay
//! ```
//!
//! A packet costs one token, or as many as it has bytes. The result is never better than the packet's earlier colour
//! (the color-aware mode of PSA; pass GREEN for the color-blind one).
//!
//! Tokens are counted from a fixed origin, time 0, so rounding errors do not accumulate: by time `t` a rate of `r` per
//! second has made `floor(t * r / 10^9)` tokens. BMv2 computes the same in microseconds and floating point; at whole
//! microseconds both agree up to BMv2's rounding.
//!
//! An element that is not configured (as in BMv2), or is outside the array (where v1model leaves the result open),
//! colours every packet GREEN, or its earlier colour.
//!
//! # Counting by colour
//!
//! Every element, configured or not, counts the packets and bytes of each colour that it has returned (P4Runtime
//! `MeterCounterData`). Lock and counts share one cache line, so counting costs two additions in a line that the
//! packet needs anyway.
//!
//! # Between threads
//!
//! Each element has a lock of its own. Packets that arrive with times out of order are metered as if they came at the
//! latest time seen.

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::AtomicU64;

use crate::counter::CounterValue;
use crate::lock_stripes::Lock;
use crate::memory::Array;
use crate::storage::{ArrayTooLarge, check_size};

/// What a token stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeterKind {
    /// One packet.
    Packets,
    /// One byte.
    Bytes,
}

/// The result of a meter. The numbers are those that v1model gives a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum MeterColor {
    /// Within the committed rate.
    #[default]
    Green = 0,
    /// Above the committed rate, within the peak rate.
    Yellow = 1,
    /// Above the peak rate.
    Red = 2,
}

/// The rates of one element, in packets or bytes (P4Runtime `MeterConfig`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterConfig {
    /// Committed information rate, per second.
    pub committed_rate: u64,
    /// Size of the committed bucket.
    pub committed_burst: u64,
    /// Peak information rate, per second.
    pub peak_rate: u64,
    /// Size of the peak bucket.
    pub peak_burst: u64,
}

/// Why a meter was not configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeterError {
    /// The index is outside the array.
    NoSuchIndex {
        /// Elements in the array.
        len: usize,
    },
    /// The committed rate is above the peak rate.
    CommittedAbovePeak,
}

impl fmt::Display for MeterError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MeterError::NoSuchIndex { len } => {
                write!(formatter, "the meter array has {len} elements")
            }
            MeterError::CommittedAbovePeak => formatter.write_str("the committed rate is above the peak rate"),
        }
    }
}

impl std::error::Error for MeterError {}

/// What an element has counted, by colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColorCounts {
    /// Packets and bytes that were within the committed rate.
    pub green: CounterValue,
    /// Packets and bytes above it and within the peak rate.
    pub yellow: CounterValue,
    /// Packets and bytes above the peak rate.
    pub red: CounterValue,
}

impl ColorCounts {
    fn of(&mut self, color: MeterColor) -> &mut CounterValue {
        match color {
            MeterColor::Green => &mut self.green,
            MeterColor::Yellow => &mut self.yellow,
            MeterColor::Red => &mut self.red,
        }
    }
}

/// An array of meters of one kind.
#[derive(Debug)]
pub struct MeterArray {
    kind: MeterKind,
    elements: Array<Element>,
}

/// An element, alone in its cache line. All bytes are 0 before its first use, so unused elements need no memory.
#[derive(Debug)]
#[repr(C, align(64))]
struct Element {
    lock: AtomicU64,
    state: UnsafeCell<State>,
}

const _: () = assert!(size_of::<Element>() == 64);

// SAFETY: the state is accessed under the lock only.
unsafe impl Sync for Element {}

/// All bytes 0 is a valid state: no meter, and nothing counted.
#[derive(Debug, Default)]
struct State {
    /// `None` until configured. It is boxed because few elements of a large array are configured.
    meter: Option<Box<Meter>>,
    counts: ColorCounts,
}

impl State {
    /// Counts a packet.
    #[inline]
    fn count(&mut self, color: MeterColor, packet_bytes: u64) {
        let value = self.counts.of(color);
        value.packets = value.packets.wrapping_add(1);
        value.bytes = value.bytes.wrapping_add(packet_bytes);
    }
}

impl MeterArray {
    /// Bytes of an element.
    pub const ELEMENT_BYTES: u64 = size_of::<Element>() as u64;

    /// `len` meters that are not configured.
    pub fn new(kind: MeterKind, len: usize) -> Result<MeterArray, ArrayTooLarge> {
        check_size(len, size_of::<Element>())?;
        // SAFETY: all bytes 0 is a free lock and the default state.
        let elements = unsafe { Array::zeroed_on_use(len) };
        Ok(MeterArray { kind, elements })
    }

    /// What a token stands for.
    pub fn kind(&self) -> MeterKind {
        self.kind
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Sets the rates of an element and fills its buckets; `None` removes the configuration.
    pub fn configure(&self, index: u64, config: Option<MeterConfig>) -> Result<(), MeterError> {
        if config.is_some_and(|config| config.committed_rate > config.peak_rate) {
            return Err(MeterError::CommittedAbovePeak);
        }
        let mut state = self.lock(index).ok_or(MeterError::NoSuchIndex { len: self.len() })?;
        state.meter = config.map(|config| Box::new(Meter::new(config)));
        Ok(())
    }

    /// The rates of an element; `None` when it is not configured or outside the array.
    pub fn config(&self, index: u64) -> Option<MeterConfig> {
        self.lock(index)?.meter.as_ref().map(|meter| meter.config)
    }

    /// Meters a packet of `packet_bytes` bytes at `now_ns` nanoseconds.
    pub fn execute(&self, index: u64, packet_bytes: u64, earlier_color: MeterColor, now_ns: u64) -> MeterColor {
        let Some(mut state) = self.lock(index) else {
            return earlier_color;
        };
        let cost = self.cost(packet_bytes);
        let color = match &mut state.meter {
            Some(meter) => meter.execute(cost, earlier_color, now_ns),
            None => earlier_color,
        };
        state.count(color, packet_bytes);
        color
    }

    /// Meters a packet if the element is configured. Otherwise returns no colour, and counts the packet as green.
    pub fn execute_configured(
        &self,
        index: u64,
        packet_bytes: u64,
        earlier_color: MeterColor,
        now_ns: u64,
    ) -> Option<MeterColor> {
        let mut state = self.lock(index)?;
        let cost = self.cost(packet_bytes);
        let meter = state.meter.as_mut();
        let color = meter.map(|meter| meter.execute(cost, earlier_color, now_ns));
        state.count(color.unwrap_or_default(), packet_bytes);
        color
    }

    /// The addresses of the lines that executing an element reads: of the element, and of its rates and tokens. They
    /// are for prefetching only. An address is 0 if there is no such line.
    pub fn lines(&self, index: u64) -> [usize; 2] {
        let Some(state) = self.lock(index) else {
            return [0; 2];
        };
        let meter = state
            .meter
            .as_deref()
            .map_or(0, |meter| std::ptr::from_ref(meter).addr());
        [std::ptr::from_ref(state.0).addr(), meter]
    }

    /// What an element has counted; `None` outside the array.
    pub fn counts(&self, index: u64) -> Option<ColorCounts> {
        Some(self.lock(index)?.counts)
    }

    /// Sets what an element has counted; does nothing outside the array.
    pub fn set_counts(&self, index: u64, counts: ColorCounts) {
        if let Some(mut state) = self.lock(index) {
            state.counts = counts;
        }
    }

    fn cost(&self, packet_bytes: u64) -> u64 {
        match self.kind {
            MeterKind::Packets => 1,
            MeterKind::Bytes => packet_bytes,
        }
    }

    fn lock(&self, index: u64) -> Option<Locked<'_>> {
        let element = self.elements.get(usize::try_from(index).ok()?)?;
        Lock::in_word(&element.lock).acquire();
        Some(Locked(element))
    }
}

/// The state of an element, whose lock is held.
struct Locked<'a>(&'a Element);

impl Deref for Locked<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        // SAFETY: this thread holds the lock.
        unsafe { &*self.0.state.get() }
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut State {
        // SAFETY: this thread holds the lock, and this guard is borrowed mutably.
        unsafe { &mut *self.0.state.get() }
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        Lock::in_word(&self.0.lock).release();
    }
}

/// A configured element, in one cache line: two token buckets, filled up to the same time. A bucket has whole tokens,
/// and billionths of the next token. So tokens are exact from time 0 on, and the division is nearly always that of a
/// word by a constant.
#[derive(Debug)]
#[repr(align(64))]
struct Meter {
    config: MeterConfig,
    committed_tokens: u64,
    peak_tokens: u64,
    committed_billionths: u32,
    peak_billionths: u32,
    /// The latest time seen.
    filled_ns: u64,
}

const _: () = assert!(size_of::<Meter>() == 64);

impl Meter {
    /// A meter with full buckets.
    fn new(config: MeterConfig) -> Meter {
        Meter {
            config,
            committed_tokens: config.committed_burst,
            peak_tokens: config.peak_burst,
            committed_billionths: 0,
            peak_billionths: 0,
            filled_ns: 0,
        }
    }

    /// Takes the tokens that a packet's earlier colour allows: none for red, only peak tokens for yellow (RFC 2698
    /// §3). Returns the colour.
    fn execute(&mut self, cost: u64, before: MeterColor, now_ns: u64) -> MeterColor {
        if now_ns > self.filled_ns {
            self.fill(now_ns);
        }
        if before == MeterColor::Red || !take(&mut self.peak_tokens, cost) {
            return MeterColor::Red;
        }
        if before == MeterColor::Yellow || !take(&mut self.committed_tokens, cost) {
            return MeterColor::Yellow;
        }
        MeterColor::Green
    }

    /// Adds the tokens made until a later time, up to the bursts.
    fn fill(&mut self, now_ns: u64) {
        let elapsed_ns = now_ns - self.filled_ns;
        self.filled_ns = now_ns;
        let config = self.config;
        let committed = made(elapsed_ns, config.committed_rate, &mut self.committed_billionths);
        let peak = made(elapsed_ns, config.peak_rate, &mut self.peak_billionths);
        self.committed_tokens = self
            .committed_tokens
            .saturating_add(committed)
            .min(config.committed_burst);
        self.peak_tokens = self.peak_tokens.saturating_add(peak).min(config.peak_burst);
    }
}

/// Takes `cost` tokens if there are that many.
fn take(tokens: &mut u64, cost: u64) -> bool {
    match tokens.checked_sub(cost) {
        Some(rest) => {
            *tokens = rest;
            true
        }
        None => false,
    }
}

/// The whole tokens that a rate makes in this time, together with the previous billionths; what remains is put into
/// `billionths`.
fn made(elapsed_ns: u64, rate_per_second: u64, billionths: &mut u32) -> u64 {
    const NANOSECONDS: u64 = 1_000_000_000;

    /// Does this when the product does not fit into a word.
    #[cold]
    fn made_in_long(elapsed_ns: u64, rate_per_second: u64, billionths: &mut u32) -> u64 {
        let all = u128::from(elapsed_ns) * u128::from(rate_per_second) + u128::from(*billionths);
        *billionths = (all % u128::from(NANOSECONDS)) as u32;
        u64::try_from(all / u128::from(NANOSECONDS)).unwrap_or(u64::MAX)
    }

    let all = elapsed_ns.checked_mul(rate_per_second);
    match all.and_then(|all| all.checked_add(u64::from(*billionths))) {
        Some(all) => {
            *billionths = (all % NANOSECONDS) as u32;
            all / NANOSECONDS
        }
        None => made_in_long(elapsed_ns, rate_per_second, billionths),
    }
}

#[cfg(test)]
mod tests {
    use super::MeterColor::{Green, Red, Yellow};
    use super::*;

    const MILLISECOND: u64 = 1_000_000;

    fn meters(kind: MeterKind, config: MeterConfig) -> MeterArray {
        let meters = MeterArray::new(kind, 2).unwrap();
        meters.configure(1, Some(config)).unwrap();
        meters
    }

    const BYTES: MeterConfig = MeterConfig {
        committed_rate: 1000,
        committed_burst: 100,
        peak_rate: 2000,
        peak_burst: 150,
    };

    /// The schedule of BMv2's own test of a two-rate meter, with its results.
    #[test]
    fn two_rates_as_bmv2() {
        let config = MeterConfig {
            committed_rate: 2,
            committed_burst: 3,
            peak_rate: 10,
            peak_burst: 1,
        };
        let meters = meters(MeterKind::Packets, config);
        let times = (0..9)
            .map(|i| i * 90)
            .chain([810, 820, 830, 1040])
            .map(|ms| ms * MILLISECOND);
        let colors: Vec<MeterColor> = times.map(|t| meters.execute(1, 128, Green, t)).collect();
        let expected = [
            Green, Red, Green, Green, Yellow, Yellow, Green, Yellow, Yellow, // every 90 ms
            Yellow, Red, Red, Green,
        ];
        assert_eq!(colors, expected);
    }

    /// The tokens are those that the rate makes from time 0 on, however the time is divided.
    #[test]
    fn rounding_does_not_add_up() {
        for rate in [1, 3, 999_999_937, 123_456_789_012, u64::MAX] {
            let (mut billionths, mut sum, mut now_ns) = (0, 0_u64, 0_u64);
            for step in [1, 7, 999, 1_000_000, 3_333_333_333, 1 << 40, 1 << 61] {
                sum = sum.saturating_add(made(step, rate, &mut billionths));
                now_ns += step;
                let at_once = u128::from(now_ns) * u128::from(rate) / 1_000_000_000;
                assert_eq!(
                    sum,
                    u64::try_from(at_once).unwrap_or(u64::MAX),
                    "{rate} a second, {now_ns} ns"
                );
            }
        }
    }

    #[test]
    fn bytes_cost_their_number() {
        let meters = meters(MeterKind::Bytes, BYTES);
        assert_eq!(meters.execute(1, 100, Green, 0), Green);
        assert_eq!(meters.execute(1, 50, Green, 0), Yellow);
        assert_eq!(meters.execute(1, 1, Green, 0), Red);
        // 50 ms make 50 committed and 100 peak tokens.
        assert_eq!(meters.execute(1, 51, Green, 50 * MILLISECOND), Yellow);
        assert_eq!(meters.execute(1, 49, Green, 50 * MILLISECOND), Green);
    }

    #[test]
    fn an_earlier_color_spares_tokens() {
        let meters = meters(MeterKind::Bytes, BYTES);
        // A red packet takes no tokens, a yellow one no committed tokens.
        assert_eq!(meters.execute(1, 100, Red, 0), Red);
        assert_eq!(meters.execute(1, 50, Yellow, 0), Yellow);
        assert_eq!(meters.execute(1, 100, Green, 0), Green);
        assert_eq!(meters.execute(1, 1, Yellow, 0), Red);
    }

    #[test]
    fn colors_are_counted() {
        let meters = meters(MeterKind::Bytes, BYTES);
        for (bytes, earlier) in [(100, Green), (50, Green), (1, Green), (9, Red)] {
            meters.execute(1, bytes, earlier, 0);
        }
        meters.execute(0, 64, Green, 0);
        meters.execute(0, 64, Yellow, 0);
        let value = |packets, bytes| CounterValue { packets, bytes };
        let counted = ColorCounts {
            green: value(1, 100),
            yellow: value(1, 50),
            red: value(2, 10),
        };
        assert_eq!(meters.counts(1), Some(counted));
        let unconfigured = ColorCounts {
            green: value(1, 64),
            yellow: value(1, 64),
            red: value(0, 0),
        };
        assert_eq!(meters.counts(0), Some(unconfigured));
        assert_eq!(meters.counts(2), None);
        meters.configure(1, None).unwrap();
        assert_eq!(meters.counts(1), Some(counted), "rates and counts are apart");
        meters.set_counts(1, unconfigured);
        assert_eq!(meters.counts(1), Some(unconfigured));
        assert_eq!(meters.execute_configured(1, 10, Green, 0), None);
        assert_eq!(meters.counts(1).unwrap().green, value(2, 74));
    }

    #[test]
    fn earlier_color_and_missing_configuration() {
        let meters = MeterArray::new(MeterKind::Packets, 1).unwrap();
        assert_eq!(meters.execute(0, 1, Green, 0), Green);
        assert_eq!(meters.execute(0, 1, Red, 0), Red);
        assert_eq!(meters.execute(7, 1, Yellow, 0), Yellow);
        assert_eq!(meters.config(0), None);
    }

    #[test]
    fn configuration_is_checked_and_kept() {
        let meters = MeterArray::new(MeterKind::Packets, 1).unwrap();
        let config = MeterConfig {
            committed_rate: 5,
            committed_burst: 1,
            peak_rate: 4,
            peak_burst: 1,
        };
        let outside = meters.configure(1, None);
        assert_eq!(outside, Err(MeterError::NoSuchIndex { len: 1 }));
        let above = meters.configure(0, Some(config));
        assert_eq!(above, Err(MeterError::CommittedAbovePeak));
        let config = MeterConfig { peak_rate: 5, ..config };
        meters.configure(0, Some(config)).unwrap();
        assert_eq!(meters.config(0), Some(config));
        assert_eq!(meters.execute(0, 1, Green, 0), Green);
        assert_eq!(meters.execute(0, 1, Green, 0), Red);
        meters.configure(0, None).unwrap();
        assert_eq!(meters.execute(0, 1, Green, 0), Green);
    }

    #[test]
    fn extreme_rates_and_times_do_not_overflow() {
        let config = MeterConfig {
            committed_rate: u64::MAX,
            committed_burst: u64::MAX,
            peak_rate: u64::MAX,
            peak_burst: u64::MAX,
        };
        let meters = meters(MeterKind::Bytes, config);
        assert_eq!(meters.execute(1, u64::MAX, Green, u64::MAX), Green);
        assert_eq!(meters.execute(1, u64::MAX, Green, 0), Red);
    }
}
