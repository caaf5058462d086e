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
//! Each element has a lock of its own. A worker without others takes none ([`MeterArray::execute_alone`]), because a
//! lock costs as much as everything else: it lets no load begin before all stores have ended. The control plane may
//! then read a part of a packet that is being counted, as with counters; it writes as a
//! [guest](crate::SectionLocks::guest) of the workers. Packets that arrive with times out of order are metered as if
//! they came at the latest time seen.

use std::cell::UnsafeCell;
use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::counter::CounterValue;
use crate::lock_stripes::Lock;
use crate::memory::Array;
use crate::meter_rates::{MILLIONTHS, MeterConfig, TokenRate};
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

/// All colours, in the order of their numbers.
const COLORS: [MeterColor; 3] = [MeterColor::Green, MeterColor::Yellow, MeterColor::Red];

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

/// An array of meters of one kind.
#[derive(Debug)]
pub struct MeterArray {
    kind: MeterKind,
    elements: Array<Element>,
}

/// An element, alone in its cache line. All bytes are 0 before its first use, so unused elements need no memory: a free
/// lock, no meter, and nothing counted.
#[derive(Debug)]
#[repr(C, align(64))]
struct Element {
    lock: AtomicU64,
    /// `None` until configured. It is boxed because few elements of a large array are configured.
    meter: UnsafeCell<Option<Box<Meter>>>,
    /// Packets and bytes of each colour.
    counts: [[AtomicU64; 2]; 3],
}

const _: () = assert!(size_of::<Element>() == 64);

// SAFETY: the meter is replaced only under the lock and while no thread executes it without; all else is atomic.
unsafe impl Sync for Element {}

impl Element {
    /// Meters a packet if the element is configured, and counts it; otherwise counts it as `unmetered`.
    ///
    /// # Safety
    ///
    /// No other thread executes or configures the element meanwhile.
    #[inline]
    unsafe fn execute(&self, packet: Metered, unmetered: MeterColor) -> Option<MeterColor> {
        // SAFETY: the element is not being configured, as the caller promises.
        let meter = unsafe { &*self.meter.get() };
        let color = meter.as_ref().map(|meter| meter.execute(packet));
        let [packets, bytes] = &self.counts[color.unwrap_or(unmetered) as usize];
        add(packets, 1);
        add(bytes, packet.bytes);
        color
    }

    fn value(&self, color: MeterColor) -> CounterValue {
        let [packets, bytes] = &self.counts[color as usize];
        CounterValue {
            packets: packets.load(Ordering::Relaxed),
            bytes: bytes.load(Ordering::Relaxed),
        }
    }

    fn set_value(&self, color: MeterColor, value: CounterValue) {
        let [packets, bytes] = &self.counts[color as usize];
        packets.store(value.packets, Ordering::Relaxed);
        bytes.store(value.bytes, Ordering::Relaxed);
    }
}

/// A packet for a meter.
#[derive(Clone, Copy)]
struct Metered {
    bytes: u64,
    /// Tokens.
    cost: u64,
    before: MeterColor,
    now_ns: u64,
}

/// Adds to a word that no other thread changes meanwhile.
#[inline]
fn add(word: &AtomicU64, more: u64) {
    word.store(word.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}

impl MeterArray {
    /// Bytes of an element.
    pub const ELEMENT_BYTES: u64 = size_of::<Element>() as u64;

    /// `len` meters that are not configured.
    ///
    /// # Errors
    /// When the array would take more memory than an array may.
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

    /// Sets the rates of an element and fills its buckets; `None` removes the configuration. No thread may be executing
    /// the element [alone](MeterArray::execute_alone).
    ///
    /// # Errors
    /// When there is no such element, or the committed rate is above the peak rate.
    pub fn configure(&self, index: u64, config: Option<MeterConfig>) -> Result<(), MeterError> {
        if config.is_some_and(|config| config.committed_rate > config.peak_rate) {
            return Err(MeterError::CommittedAbovePeak);
        }
        let locked = self.lock(index).ok_or(MeterError::NoSuchIndex { len: self.len() })?;
        // SAFETY: this thread holds the lock, and no other executes the element without it.
        unsafe { *locked.0.meter.get() = config.map(|config| Box::new(Meter::new(config))) };
        Ok(())
    }

    /// The rates of an element; `None` when it is not configured or outside the array.
    pub fn config(&self, index: u64) -> Option<MeterConfig> {
        self.lock(index)?.meter().map(Meter::config)
    }

    /// Meters a packet of `packet_bytes` bytes at `now_ns` nanoseconds.
    pub fn execute(&self, index: u64, packet_bytes: u64, earlier_color: MeterColor, now_ns: u64) -> MeterColor {
        let Some(locked) = self.lock(index) else {
            return earlier_color;
        };
        let packet = self.metered(packet_bytes, earlier_color, now_ns);
        // SAFETY: this thread holds the lock.
        let color = unsafe { locked.0.execute(packet, earlier_color) };
        color.unwrap_or(earlier_color)
    }

    /// Meters a packet if the element is configured. Otherwise returns no colour, and counts the packet as green.
    pub fn execute_configured(
        &self,
        index: u64,
        packet_bytes: u64,
        earlier_color: MeterColor,
        now_ns: u64,
    ) -> Option<MeterColor> {
        let packet = self.metered(packet_bytes, earlier_color, now_ns);
        // SAFETY: this thread holds the lock.
        unsafe { self.lock(index)?.0.execute(packet, MeterColor::Green) }
    }

    /// Does the same without a lock.
    ///
    /// # Safety
    ///
    /// While this runs, no other thread executes or configures the element.
    #[inline]
    pub unsafe fn execute_alone(
        &self,
        index: u64,
        packet_bytes: u64,
        earlier_color: MeterColor,
        now_ns: u64,
    ) -> Option<MeterColor> {
        let element = self.elements.get(usize::try_from(index).ok()?)?;
        let packet = self.metered(packet_bytes, earlier_color, now_ns);
        // SAFETY: as the caller promises.
        unsafe { element.execute(packet, MeterColor::Green) }
    }

    /// The addresses of the lines that executing an element reads: of the element, and of its rates and tokens. They
    /// are for prefetching only. An address is 0 if there is no such line.
    pub fn lines(&self, index: u64) -> [usize; 2] {
        let Some(locked) = self.lock(index) else {
            return [0; 2];
        };
        let meter = locked.meter().map_or(0, |meter| std::ptr::from_ref(meter).addr());
        [std::ptr::from_ref(locked.0).addr(), meter]
    }

    /// What an element has counted; `None` outside the array.
    pub fn counts(&self, index: u64) -> Option<ColorCounts> {
        let locked = self.lock(index)?;
        let [green, yellow, red] = COLORS.map(|color| locked.0.value(color));
        Some(ColorCounts { green, yellow, red })
    }

    /// Sets what an element has counted; does nothing outside the array. What a thread that executes the element
    /// [alone](MeterArray::execute_alone) counts meanwhile may be lost.
    pub fn set_counts(&self, index: u64, counts: ColorCounts) {
        if let Some(locked) = self.lock(index) {
            let ColorCounts { green, yellow, red } = counts;
            let values = COLORS.into_iter().zip([green, yellow, red]);
            values.for_each(|(color, value)| locked.0.set_value(color, value));
        }
    }

    #[inline]
    fn metered(&self, bytes: u64, before: MeterColor, now_ns: u64) -> Metered {
        let cost = match self.kind {
            MeterKind::Packets => 1,
            MeterKind::Bytes => bytes,
        };
        Metered {
            bytes,
            cost,
            before,
            now_ns,
        }
    }

    fn lock(&self, index: u64) -> Option<Locked<'_>> {
        let element = self.elements.get(usize::try_from(index).ok()?)?;
        Lock::in_word(&element.lock).acquire();
        Some(Locked(element))
    }
}

/// An element whose lock is held.
struct Locked<'a>(&'a Element);

impl Locked<'_> {
    fn meter(&self) -> Option<&Meter> {
        // SAFETY: this thread holds the lock, under which alone the meter is replaced.
        unsafe { (*self.0.meter.get()).as_deref() }
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        Lock::in_word(&self.0.lock).release();
    }
}

/// A configured element, in one cache line: rates, and two token buckets.
#[derive(Debug)]
#[repr(align(64))]
struct Meter {
    committed: Limit,
    peak: Limit,
    committed_units: AtomicU64,
    peak_units: AtomicU64,
    committed_billionths: AtomicU32,
    peak_billionths: AtomicU32,
    /// The latest time seen.
    filled_ns: AtomicU64,
}

const _: () = assert!(size_of::<Meter>() == 64);

/// The rate and the size of a bucket, in the units that the bucket counts: tokens, or millionths of tokens if the rate
/// is not a whole number.
#[derive(Clone, Copy, Debug)]
struct Limit {
    /// Units per second; the top bit is set if these are millionths.
    rate: u64,
    burst: u64,
}

impl Limit {
    const COUNTS_MILLIONTHS: u64 = 1 << 63;

    fn new(rate: TokenRate, burst: u64) -> Limit {
        let in_millionths = || {
            let fine = rate
                .per_second
                .checked_mul(MILLIONTHS)?
                .checked_add(rate.millionths.into())?;
            let burst = burst.checked_mul(MILLIONTHS)?;
            (rate.millionths > 0 && fine < Limit::COUNTS_MILLIONTHS).then_some(Limit {
                rate: fine | Limit::COUNTS_MILLIONTHS,
                burst,
            })
        };
        in_millionths().unwrap_or(Limit {
            rate: rate.per_second.min(Limit::COUNTS_MILLIONTHS - 1),
            burst,
        })
    }

    fn units_per_second(self) -> u64 {
        self.rate & !Limit::COUNTS_MILLIONTHS
    }

    /// The units of a token.
    fn unit(self) -> u64 {
        if self.rate < Limit::COUNTS_MILLIONTHS {
            1
        } else {
            MILLIONTHS
        }
    }

    /// The rate and the burst, in tokens.
    fn in_tokens(self) -> (TokenRate, u64) {
        let (units, unit) = (self.units_per_second(), self.unit());
        let rate = TokenRate {
            per_second: units / unit,
            millionths: (units % unit) as u32,
        };
        (rate, self.burst / unit)
    }
}

/// A bucket has whole units, and billionths of the next one. So tokens are exact from time 0 on, and the division is
/// nearly always that of a word by a constant.
struct Bucket<'a> {
    units: &'a AtomicU64,
    billionths: &'a AtomicU32,
    limit: Limit,
}

impl Meter {
    /// A meter with full buckets.
    fn new(config: MeterConfig) -> Meter {
        let committed = Limit::new(config.committed_rate, config.committed_burst);
        let peak = Limit::new(config.peak_rate, config.peak_burst);
        Meter {
            committed,
            peak,
            committed_units: AtomicU64::new(committed.burst),
            peak_units: AtomicU64::new(peak.burst),
            committed_billionths: AtomicU32::new(0),
            peak_billionths: AtomicU32::new(0),
            filled_ns: AtomicU64::new(0),
        }
    }

    fn config(&self) -> MeterConfig {
        let (committed_rate, committed_burst) = self.committed.in_tokens();
        let (peak_rate, peak_burst) = self.peak.in_tokens();
        MeterConfig {
            committed_rate,
            committed_burst,
            peak_rate,
            peak_burst,
        }
    }

    fn committed(&self) -> Bucket<'_> {
        Bucket {
            units: &self.committed_units,
            billionths: &self.committed_billionths,
            limit: self.committed,
        }
    }

    fn peak(&self) -> Bucket<'_> {
        Bucket {
            units: &self.peak_units,
            billionths: &self.peak_billionths,
            limit: self.peak,
        }
    }

    /// Takes the tokens that a packet's earlier colour allows: none for red, only peak tokens for yellow (RFC 2698
    /// §3). Returns the colour. One thread at a time calls this.
    #[inline]
    fn execute(&self, packet: Metered) -> MeterColor {
        let Metered {
            cost, before, now_ns, ..
        } = packet;
        let filled_ns = self.filled_ns.load(Ordering::Relaxed);
        if now_ns > filled_ns {
            self.filled_ns.store(now_ns, Ordering::Relaxed);
            self.committed().fill(now_ns - filled_ns);
            self.peak().fill(now_ns - filled_ns);
        }
        if before == MeterColor::Red || !self.peak().take(cost) {
            return MeterColor::Red;
        }
        if before == MeterColor::Yellow || !self.committed().take(cost) {
            return MeterColor::Yellow;
        }
        MeterColor::Green
    }
}

impl Bucket<'_> {
    /// Adds the tokens that were made in this time, up to the burst.
    fn fill(&self, elapsed_ns: u64) {
        let mut billionths = self.billionths.load(Ordering::Relaxed);
        let made = made(elapsed_ns, self.limit.units_per_second(), &mut billionths);
        self.billionths.store(billionths, Ordering::Relaxed);
        let units = self.units.load(Ordering::Relaxed).saturating_add(made);
        self.units.store(units.min(self.limit.burst), Ordering::Relaxed);
    }

    /// Takes `cost` tokens if there are that many.
    fn take(&self, cost: u64) -> bool {
        let cost = cost.saturating_mul(self.limit.unit());
        let rest = self.units.load(Ordering::Relaxed).checked_sub(cost);
        rest.into_iter()
            .for_each(|rest| self.units.store(rest, Ordering::Relaxed));
        rest.is_some()
    }
}

/// The whole units that a rate makes in this time, together with the previous billionths; what remains is put into
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

    const fn per_second(per_second: u64) -> TokenRate {
        TokenRate {
            per_second,
            millionths: 0,
        }
    }

    const BYTES: MeterConfig = MeterConfig {
        committed_rate: per_second(1000),
        committed_burst: 100,
        peak_rate: per_second(2000),
        peak_burst: 150,
    };

    /// The schedule of BMv2's own test of a two-rate meter, with its results.
    #[test]
    fn two_rates_as_bmv2() {
        let config = MeterConfig {
            committed_rate: per_second(2),
            committed_burst: 3,
            peak_rate: per_second(10),
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

    /// One packet a second against half a packet a second, and one and a half: BMv2's users set such rates.
    #[test]
    fn rates_may_be_fractions() {
        let config = MeterConfig {
            committed_rate: TokenRate::nearest(0.5),
            committed_burst: 1,
            peak_rate: TokenRate::nearest(1.5),
            peak_burst: 2,
        };
        let meters = meters(MeterKind::Packets, config);
        assert_eq!(meters.config(1), Some(config));
        let color = |second: u64| meters.execute(1, 100, Green, second * 1_000 * MILLISECOND);
        let colors: Vec<MeterColor> = (0..6).map(color).collect();
        assert_eq!(colors, [Green, Yellow, Green, Yellow, Green, Yellow]);
        assert_eq!(config.peak_rate.to_string(), "1.5");
        let whole = TokenRate::nearest(2.9999999);
        assert_eq!((whole, TokenRate::nearest(-1.0)), (3.into(), 0.into()));
    }

    #[test]
    fn a_lock_changes_no_colour() {
        let [locked, alone] = [MeterKind::Bytes; 2].map(|kind| meters(kind, BYTES));
        for step in 0..200_u64 {
            let (index, bytes, now_ns) = (step % 3, step * 7 % 90, step * step * 9_000);
            let before = [Green, Yellow, Red][(step % 5).min(2) as usize];
            let expected = locked.execute_configured(index, bytes, before, now_ns);
            // SAFETY: there is no other thread.
            let color = unsafe { alone.execute_alone(index, bytes, before, now_ns) };
            assert_eq!(color, expected, "step {step}");
        }
        assert_eq!(
            [0, 1, 2].map(|index| alone.counts(index)),
            [0, 1, 2].map(|index| locked.counts(index))
        );
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
            committed_rate: per_second(5),
            committed_burst: 1,
            peak_rate: per_second(4),
            peak_burst: 1,
        };
        let outside = meters.configure(1, None);
        assert_eq!(outside, Err(MeterError::NoSuchIndex { len: 1 }));
        let above = meters.configure(0, Some(config));
        assert_eq!(above, Err(MeterError::CommittedAbovePeak));
        let config = MeterConfig {
            peak_rate: per_second(5),
            ..config
        };
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
            committed_rate: per_second(u64::MAX),
            committed_burst: u64::MAX,
            peak_rate: per_second(u64::MAX),
            peak_burst: u64::MAX,
        };
        let meters = meters(MeterKind::Bytes, config);
        assert_eq!(meters.execute(1, u64::MAX, Green, u64::MAX), Green);
        assert_eq!(meters.execute(1, u64::MAX, Green, 0), Red);
    }
}
