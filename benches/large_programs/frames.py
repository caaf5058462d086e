"""Ethernet frames from parts, and the capture files that `forebay bench` reads."""

import struct

ROUTER = "0200000000fe"


def ethernet(payload, kind=0x0800, to=ROUTER, source="0200000000aa"):
    return bytes.fromhex(to) + bytes.fromhex(source) + struct.pack("!H", kind) + payload


def vlan(payload, number, kind=0x0800):
    """What follows the Ethernet type 0x8100."""
    return struct.pack("!HH", number, kind) + payload


def ipv4(payload, source, to, protocol=17):
    header = struct.pack("!BBHHHBBHII", 0x45, 0, 20 + len(payload), 1, 0, 64, protocol, 0, source, to)
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:] + payload


def ipv6(payload, source, to, protocol=17):
    """Addresses are 16 bytes."""
    return struct.pack("!IHBB", 6 << 28, len(payload), protocol, 64) + source + to + payload


def udp(payload, source, to):
    return struct.pack("!HHHH", source, to, 8 + len(payload), 0) + payload


def tcp(payload, source, to):
    return struct.pack("!HHIIBBHHH", source, to, 1, 1, 5 << 4, 0x10, 512, 0, 0) + payload


def gtpu(payload, tunnel):
    return struct.pack("!BBHI", 0x30, 0xFF, len(payload), tunnel) + payload


def vxlan(payload, network):
    return struct.pack("!II", 0x08000000, network << 8) + payload


def checksum(header):
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def padded(frame):
    """At least 60 bytes, which are 64 with the frame check sequence."""
    return frame + bytes(max(0, 60 - len(frame)))


def write_pcap(path, frames):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for frame in frames:
            file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)
