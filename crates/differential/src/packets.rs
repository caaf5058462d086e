//! Frames for random programs.

use forebay_interp::Random;

/// So many frames with the ports by which they come, the same for the same seed.
pub fn packets(seed: u64, count: usize) -> Vec<(u32, Vec<u8>)> {
    let mut random = Random::new(seed);
    let mut packet = || {
        let length = 14 + random.next_u64() % 100;
        let port = (random.next_u64() % 4) as u32;
        (port, (0..length).map(|_| byte(&mut random)).collect())
    };
    (0..count).map(|_| packet()).collect()
}

/// Small numbers are frequent, since programs compare with those.
fn byte(random: &mut Random) -> u8 {
    let byte = random.next_u64() as u8;
    if byte & 64 == 0 { byte & 3 } else { byte }
}
