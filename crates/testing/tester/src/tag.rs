//! The tag: what each frame of the tester carries to be known again.
//!
//! ```text
//!   frame:  headers | filling ... | trial 6 bits, stream 8, number 34 | intended 48 | lateness 32 | complement 16 |
//!                                 |<------------------------- 18 bytes, the last of the frame ------------------>|
//! ```
//!
//! * *number* counts the frames of the stream from 0.
//! * *intended* is when the frame should be sent, in nanoseconds from the trial's start; *lateness* is how much later
//!   it was sent, as an exponent of 5 bits and a mantissa of 27: exact below 134 ms, then rounded down by less than two
//!   hundred-millionths.
//! * *trial* tells frames of one trial from those that an earlier one left in the device.
//! * *complement* makes the ones' complement sum of each tag the same. So other frames are told apart; and the UDP or
//!   TCP checksum of a frame does not depend on its tag: it is computed once.
//!
//! 18 bytes fit into the shortest Ethernet frame with IPv4 and UDP: 14 + 20 + 8 + 18 = 60. All integers are big-endian.

/// Length of a tag in bytes.
pub const TAG_BYTES: usize = 18;

/// Streams of a test at most.
pub const STREAMS_MAX: usize = 1 << STREAM_BITS;

/// Frames of a stream at most.
pub const NUMBER_MAX: u64 = (1 << NUMBER_BITS) - 1;

/// Trials that are told apart; then their numbers begin again.
pub const TRIALS: u64 = 1 << (48 - STREAM_BITS - NUMBER_BITS);

/// The longest trial in nanoseconds: 78 hours.
pub const TRIAL_NS_MAX: u64 = (1 << 48) - 1;

const STREAM_BITS: u32 = 8;
const NUMBER_BITS: u32 = 34;

/// Bits of the mantissa of a lateness.
const LATENESS_BITS: u32 = 27;

/// The ones' complement sum of every tag.
const SUM: u16 = 0x5aa5;

/// What a frame is, and when it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The trial, below [`TRIALS`].
    pub trial: u8,
    /// Index of its stream.
    pub stream: u8,
    /// Frames of the stream that were sent before.
    pub number: u64,
    /// When it should be sent, in nanoseconds from the trial's start.
    pub intended_ns: u64,
    /// Nanoseconds from then to when it was sent; large ones are read a little smaller than they were written.
    pub lateness_ns: u64,
}

impl Tag {
    /// Writes it to the end of a frame.
    ///
    /// # Panics
    /// When the frame is shorter than a tag.
    #[inline]
    pub fn write(&self, frame: &mut [u8]) {
        let place = frame
            .last_chunk_mut::<TAG_BYTES>()
            .expect("a frame with room for a tag");
        let identity = u64::from(self.trial) << (STREAM_BITS + NUMBER_BITS)
            | u64::from(self.stream) << NUMBER_BITS
            | self.number & NUMBER_MAX;
        let lateness = packed(self.lateness_ns);
        let sum = sum48(identity) + sum48(self.intended_ns) + sum48(u64::from(lateness));
        let complement = fold(u64::from(SUM) + u64::from(!fold(sum)));
        place[..6].copy_from_slice(&identity.to_be_bytes()[2..]);
        place[6..12].copy_from_slice(&self.intended_ns.to_be_bytes()[2..]);
        place[12..16].copy_from_slice(&lateness.to_be_bytes());
        place[16..].copy_from_slice(&complement.to_be_bytes());
    }

    /// The tag in these bytes, if their sum is that of tags.
    #[inline]
    fn read(bytes: &[u8; TAG_BYTES]) -> Option<Tag> {
        let number = |at: usize| {
            let mut wide = [0; 8];
            wide[2..].copy_from_slice(&bytes[at..at + 6]);
            u64::from_be_bytes(wide)
        };
        let (identity, intended_ns) = (number(0), number(6));
        let lateness = u32::from_be_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]);
        let complement = u64::from(u16::from_be_bytes([bytes[16], bytes[17]]));
        let sum = sum48(identity) + sum48(intended_ns) + sum48(u64::from(lateness)) + complement;
        (fold(sum) == SUM).then_some(Tag {
            trial: (identity >> (STREAM_BITS + NUMBER_BITS)) as u8,
            stream: (identity >> NUMBER_BITS) as u8,
            number: identity & NUMBER_MAX,
            intended_ns,
            lateness_ns: unpacked(lateness),
        })
    }

    /// The tag of a frame, with its place. It is looked for at the end first; then elsewhere, for frames that were
    /// padded on the way. `plausible` tells whether the trial can have sent such a tag.
    #[inline]
    pub fn find(frame: &[u8], plausible: impl Fn(&Tag) -> bool) -> Option<(usize, Tag)> {
        let last = frame.last_chunk::<TAG_BYTES>()?;
        match Tag::read(last).filter(&plausible) {
            Some(tag) => Some((frame.len() - TAG_BYTES, tag)),
            None => search(frame, &plausible),
        }
    }
}

#[cold]
fn search(frame: &[u8], plausible: &dyn Fn(&Tag) -> bool) -> Option<(usize, Tag)> {
    let places = (0..frame.len().saturating_sub(TAG_BYTES)).rev();
    places.into_iter().find_map(|at| {
        let bytes = frame[at..].first_chunk::<TAG_BYTES>()?;
        Tag::read(bytes).filter(plausible).map(|tag| (at, tag))
    })
}

/// A lateness as tags have it.
#[inline]
fn packed(lateness_ns: u64) -> u32 {
    let exponent = (64 - LATENESS_BITS).saturating_sub(lateness_ns.leading_zeros());
    if exponent < 32 {
        exponent << LATENESS_BITS | (lateness_ns >> exponent) as u32
    } else {
        u32::MAX
    }
}

#[inline]
fn unpacked(lateness: u32) -> u64 {
    u64::from(lateness & ((1 << LATENESS_BITS) - 1)) << (lateness >> LATENESS_BITS)
}

/// The sum of the three 16-bit words of a 48-bit number.
#[inline]
fn sum48(value: u64) -> u64 {
    (value >> 32) + (value >> 16 & 0xffff) + (value & 0xffff)
}

/// Folds a sum to 16 bits in ones' complement.
#[inline]
fn fold(sum: u64) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tagged(length: usize, tag: Tag) -> Vec<u8> {
        let mut frame = vec![0x5a; length];
        tag.write(&mut frame);
        frame
    }

    proptest! {
        #[test]
        fn a_tag_is_read_as_it_was_written(
            trial in 0..TRIALS as u8, stream: u8, number in 0..=NUMBER_MAX, intended_ns in 0..=TRIAL_NS_MAX,
            lateness_ns in 0..1u64 << LATENESS_BITS, padding in 0..20usize,
        ) {
            let tag = Tag { trial, stream, number, intended_ns, lateness_ns };
            let mut frame = tagged(60, tag);
            frame.resize(60 + padding, 0);
            prop_assert_eq!(Tag::find(&frame, |found| found == &tag), Some((42, tag)));
            let sum = forebay_packet::checksum::Sum::new().add_bytes(&frame[42..60]).fold();
            prop_assert_eq!(sum, SUM);
        }
    }

    /// A sender that is asked for more than it can send is ever later, for as long as it sends.
    #[test]
    fn a_large_lateness_is_known_as_exactly_as_a_clock() {
        for lateness_ns in [1 << 27, (1 << 32) - 1, 1 << 32, 60_000_000_001, TRIAL_NS_MAX] {
            let tag = Tag {
                trial: 1,
                stream: 2,
                number: 3,
                intended_ns: 4,
                lateness_ns,
            };
            let (_, found) = Tag::find(&tagged(60, tag), |_| true).expect("a tag");
            let error_ns = lateness_ns - found.lateness_ns;
            assert!(
                error_ns as f64 <= 2e-8 * lateness_ns as f64,
                "{lateness_ns}: {error_ns}"
            );
        }
    }

    /// Testers that take any frame at the right place for theirs count other traffic as latencies.
    #[test]
    fn frames_of_others_and_of_other_trials_are_not_ours() {
        let tag = Tag {
            trial: 3,
            stream: 0,
            number: 5,
            intended_ns: 1000,
            lateness_ns: 0,
        };
        let frame = tagged(60, tag);
        assert_eq!(Tag::find(&frame, |tag| tag.trial == 2), None);
        assert_eq!(Tag::find(&frame, |tag| tag.number < 5), None, "it was never sent");
        assert_eq!(Tag::find(&[0; 60], |_| true), None);
        assert_eq!(Tag::find(&[0; 3], |_| true), None);
    }
}
