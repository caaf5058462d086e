//! Elements with rates, volumes and times.

use super::{Fault, Reader, Value, Writer};
use std::time::Duration;

/// Seconds between 1900, where the time of NTP begins, and 1970.
const NTP_EPOCH: u64 = 2_208_988_800;

/// A time since 1970 as elements have it: seconds of NTP (§8.2.65), which begin again in 2036.
pub fn truncated_ntp(time: Duration) -> u32 {
    (time.as_secs() + NTP_EPOCH) as u32
}

/// Bit rates of both directions in kbit/s (§8.2.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Rates {
    pub uplink: u64,
    pub downlink: u64,
}

impl Value for Rates {
    fn read(reader: &mut Reader<'_>) -> Result<Rates, Fault> {
        let (uplink, downlink) = (reader.number(5)?, reader.number(5)?);
        Ok(Rates { uplink, downlink })
    }
}

impl Rates {
    /// Writes them.
    pub fn write(&self, writer: &mut Writer) {
        writer.u40(self.uplink);
        writer.u40(self.downlink);
    }
}

/// Volumes in bytes: a threshold or a quota (§8.2.13, §8.2.50).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Volume {
    pub total: Option<u64>,
    pub uplink: Option<u64>,
    pub downlink: Option<u64>,
}

impl Value for Volume {
    fn read(reader: &mut Reader<'_>) -> Result<Volume, Fault> {
        let flags = reader.u8()?;
        let mut next = |bit: u8| (flags & bit != 0).then(|| reader.u64()).transpose();
        Ok(Volume {
            total: next(1)?,
            uplink: next(2)?,
            downlink: next(4)?,
        })
    }
}

impl Volume {
    /// Writes it.
    pub fn write(&self, writer: &mut Writer) {
        let parts = [self.total, self.uplink, self.downlink];
        let flag = |(at, part): (usize, &Option<u64>)| u8::from(part.is_some()) << at;
        writer.u8(parts.iter().enumerate().map(flag).sum());
        for part in parts.into_iter().flatten() {
            writer.u64(part);
        }
    }

    /// Whether a usage reaches one of the volumes.
    pub fn is_reached(&self, usage: &Usage) -> bool {
        let reaches = |limit: Option<u64>, used: u64| limit.is_some_and(|limit| used >= limit);
        let total = usage.uplink_bytes.saturating_add(usage.downlink_bytes);
        reaches(self.total, total)
            || reaches(self.uplink, usage.uplink_bytes)
            || reaches(self.downlink, usage.downlink_bytes)
    }
}

/// What has been counted. Bytes are those of IP packets without tunnel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Usage {
    pub uplink_bytes: u64,
    pub uplink_packets: u64,
    pub downlink_bytes: u64,
    pub downlink_packets: u64,
}

impl Usage {
    /// What came since `before`. A direction with fewer packets than before has begun again at zero; its bytes are not
    /// read at the same moment, and may be a few less.
    pub fn since(&self, before: &Usage) -> Usage {
        let part = |now: (u64, u64), before: (u64, u64)| match now.0.checked_sub(before.0) {
            Some(packets) => (packets, now.1.saturating_sub(before.1)),
            None => now,
        };
        let uplink = part(
            (self.uplink_packets, self.uplink_bytes),
            (before.uplink_packets, before.uplink_bytes),
        );
        let downlink = part(
            (self.downlink_packets, self.downlink_bytes),
            (before.downlink_packets, before.downlink_bytes),
        );
        Usage {
            uplink_packets: uplink.0,
            uplink_bytes: uplink.1,
            downlink_packets: downlink.0,
            downlink_bytes: downlink.1,
        }
    }

    /// These counters minus `used`, and at least zero.
    pub fn without(&self, used: &Usage) -> Usage {
        Usage {
            uplink_bytes: self.uplink_bytes.saturating_sub(used.uplink_bytes),
            uplink_packets: self.uplink_packets.saturating_sub(used.uplink_packets),
            downlink_bytes: self.downlink_bytes.saturating_sub(used.downlink_bytes),
            downlink_packets: self.downlink_packets.saturating_sub(used.downlink_packets),
        }
    }

    /// Writes a Volume Measurement (§8.2.44), with numbers of packets if wanted.
    pub fn write_measurement(&self, writer: &mut Writer, with_packets: bool) {
        writer.u8(if with_packets { 0x3f } else { 7 });
        writer.u64(self.uplink_bytes.saturating_add(self.downlink_bytes));
        writer.u64(self.uplink_bytes);
        writer.u64(self.downlink_bytes);
        if with_packets {
            writer.u64(self.uplink_packets.saturating_add(self.downlink_packets));
            writer.u64(self.uplink_packets);
            writer.u64(self.downlink_packets);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_begin_again_with_their_packets() {
        let counted = |uplink_packets, uplink_bytes| Usage {
            uplink_bytes,
            uplink_packets,
            ..Usage::default()
        };
        let before = counted(10, 1000);
        assert_eq!(counted(12, 1100).since(&before), counted(2, 100));
        assert_eq!(counted(10, 994).since(&before), Usage::default());
        assert_eq!(counted(3, 300).since(&before), counted(3, 300));
    }
}
