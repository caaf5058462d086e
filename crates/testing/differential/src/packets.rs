//! Frames for random programs.

use forebay_exec::Random;

/// `count` frames with the ports at which they arrive, the same for the same seed. Half of them are like one that came
/// before, but for a byte or not at all, as packets of a flow are.
pub fn packets(seed: u64, count: usize) -> Vec<(u32, Vec<u8>)> {
    let mut random = Random::new(seed);
    let mut packets: Vec<(u32, Vec<u8>)> = Vec::with_capacity(count);
    for _ in 0..count {
        let packet = match packets.len() as u64 {
            1.. if random.next_u64().is_multiple_of(2) => like_one(&packets, &mut random),
            _ => new(&mut random),
        };
        packets.push(packet);
    }
    packets
}

fn new(random: &mut Random) -> (u32, Vec<u8>) {
    let length = 14 + random.next_u64() % 100;
    let port = (random.next_u64() % 4) as u32;
    (port, (0..length).map(|_| byte(random)).collect())
}

fn like_one(packets: &[(u32, Vec<u8>)], random: &mut Random) -> (u32, Vec<u8>) {
    let mut place = |count: usize| (random.next_u64() % count as u64) as usize;
    let (port, mut data) = packets[place(packets.len())].clone();
    if place(2) == 0 {
        let changed = place(data.len());
        data[changed] = byte(random);
    }
    (port, data)
}

/// Small numbers are frequent, since programs compare with those.
fn byte(random: &mut Random) -> u8 {
    let byte = random.next_u64() as u8;
    if byte & 64 == 0 { byte & 3 } else { byte }
}
