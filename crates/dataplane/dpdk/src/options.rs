//! The options of a port over DPDK.

use std::fmt;

/// The largest MTU that can be requested, in bytes.
const MTU_MAX: u16 = 9600;

/// The smallest MTU of IPv4 (RFC 791), in bytes.
const MTU_MIN: u16 = 68;

/// A device of DPDK as the user described it: `DEVICE[,NAME=VALUE]…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DpdkOptions {
    /// What DPDK gets: the name of a virtual device (`net_memif0`) or a PCI address (`0000:3b:00.0`), and its
    /// arguments.
    pub device: String,
    /// The MTU in bytes; none to leave that of the device.
    pub mtu: Option<u16>,
}

impl DpdkOptions {
    /// A device without arguments.
    pub fn new(device: &str) -> DpdkOptions {
        DpdkOptions {
            device: device.to_owned(),
            mtu: None,
        }
    }

    /// The name or address of the device, without its arguments.
    pub fn name(&self) -> &str {
        self.device.split(',').next().unwrap_or_default()
    }

    /// Adds an option by its name: `mtu` is the port's own, all others are arguments for the device.
    ///
    /// # Errors
    /// What is wrong with the value, and what would be right.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), (&'static str, &'static str)> {
        if name != "mtu" {
            self.device.extend([",", name, "=", value]);
            return Ok(());
        }
        let mtu = value.parse().ok().filter(|mtu| (MTU_MIN..=MTU_MAX).contains(mtu));
        self.mtu = Some(mtu.ok_or(("not an MTU", "write mtu=68 to mtu=9600, in bytes"))?);
        Ok(())
    }
}

impl fmt::Display for DpdkOptions {
    /// As it was written, with the MTU last.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.device)?;
        self.mtu.map_or(Ok(()), |mtu| write!(formatter, ",mtu={mtu}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_for_the_device_and_the_mtu_for_the_port() {
        let mut options = DpdkOptions::new("net_memif0");
        options.set("role", "client").expect("an argument");
        options.set("mtu", "9000").expect("an MTU");
        options.set("socket", "/run/a.sock").expect("an argument");
        assert_eq!(options.device, "net_memif0,role=client,socket=/run/a.sock");
        assert_eq!((options.name(), options.mtu), ("net_memif0", Some(9000)));
        assert_eq!(
            options.to_string(),
            "net_memif0,role=client,socket=/run/a.sock,mtu=9000"
        );
        for wrong in ["67", "9601", "-1", "x", ""] {
            assert!(options.set("mtu", wrong).is_err());
        }
    }
}
