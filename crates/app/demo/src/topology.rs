//! The addresses of the hosts.
//!
//! ```text
//!   devices 10.0.1.1 ── 1 switch 1 2 ══ 1 switch 2 2 ── 10.0.2.2 server
//! ```
//!
//! Both switches route: they rewrite Ethernet addresses. Each address is `02:00` followed by the IP address of whose it
//! is, as [`FrameSpec::udp_ipv4`](forebay_traffic::FrameSpec::udp_ipv4) makes them; gateways have addresses that no
//! interface has, so that the kernel beside a switch leaves its packets alone.

use std::net::Ipv4Addr;

/// The devices' address; they differ in their UDP ports.
pub const DEVICES: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 1);

/// The server's address.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);

/// The UDP port of IoT traffic, at which the server listens: `IOT_UDP_PORT` of the programs.
pub const SERVER_PORT: u16 = 9000;

/// Switch 1 as the devices see it.
pub const DEVICES_GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 254);

/// Switch 2 as the server sees it.
pub const SERVER_GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 254);

/// Switch 1 on the link.
pub const LINK_NEAR: Ipv4Addr = Ipv4Addr::new(10, 0, 3, 1);

/// Switch 2 on the link.
pub const LINK_FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 3, 2);

/// The port of either switch on the devices' side.
pub const UPSTREAM_PORT: u32 = 1;

/// The port of either switch on the server's side.
pub const DOWNSTREAM_PORT: u32 = 2;

/// The Ethernet address that belongs to an IP address.
pub fn mac_address(address: Ipv4Addr) -> [u8; 6] {
    let [a, b, c, d] = address.octets();
    [0x02, 0, a, b, c, d]
}

/// As `ip` writes it: `02:00:0a:00:01:01`.
pub fn mac_text(address: Ipv4Addr) -> String {
    mac_address(address).map(|byte| format!("{byte:02x}")).join(":")
}

/// As table entries write it: `0x02000a000101`.
pub fn mac_literal(address: Ipv4Addr) -> String {
    format!("0x{}", mac_address(address).map(|byte| format!("{byte:02x}")).concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_traffic::FrameSpec;

    #[test]
    fn addresses_are_written_for_every_reader() {
        assert_eq!(mac_text(DEVICES), "02:00:0a:00:01:01");
        assert_eq!(mac_literal(SERVER), "0x02000a000202");
        let spec = FrameSpec::udp_ipv4((DEVICES, 1), (SERVER, 2));
        assert_eq!(
            (spec.source_mac, spec.destination_mac),
            (mac_address(DEVICES), mac_address(SERVER))
        );
    }
}
