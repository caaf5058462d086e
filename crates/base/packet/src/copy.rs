//! Copies of frames. Most frames that are copied by the million are short, and a call of the C library's `memmove`
//! costs as much as their copy.

/// The longest and the shortest frame copied in place; the shortest of Ethernet has 60 bytes without the check sequence.
const SHORT_MAX: usize = 128;
const SHORT_MIN: usize = 32;

/// Copies all bytes of a frame.
///
/// # Panics
///
/// When `to` is not as long as the frame.
#[inline(always)]
pub fn frame(to: &mut [u8], frame: &[u8]) {
    match frame.len() {
        64..=SHORT_MAX => both_ends::<64>(to, frame),
        SHORT_MIN..64 => both_ends::<32>(to, frame),
        _ => shorter_or_longer(to, frame),
    }
}

fn shorter_or_longer(to: &mut [u8], frame: &[u8]) {
    match frame.len() {
        16..SHORT_MIN => both_ends::<16>(to, frame),
        _ => to.copy_from_slice(frame),
    }
}

/// Copies the first `N` bytes and the last `N`. These overlap unless there are twice as many.
#[inline(always)]
fn both_ends<const N: usize>(to: &mut [u8], frame: &[u8]) {
    assert_eq!(to.len(), frame.len(), "a copy is as long as its frame");
    let (first, last) = (frame.first_chunk::<N>(), frame.last_chunk::<N>());
    let (Some(first), Some(last)) = (first.copied(), last.copied()) else {
        return;
    };
    if let Some(place) = to.first_chunk_mut::<N>() {
        *place = first;
    }
    if let Some(place) = to.last_chunk_mut::<N>() {
        *place = last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_every_length_are_the_frame() {
        let bytes: Vec<u8> = (0..=255).collect();
        for length in 0..=bytes.len() {
            let mut copy = vec![0; length];
            frame(&mut copy, &bytes[..length]);
            assert_eq!(copy, bytes[..length]);
        }
    }

    #[test]
    #[should_panic]
    fn a_place_of_another_length_is_a_defect() {
        frame(&mut [0; 65], &[0; 64]);
    }
}
