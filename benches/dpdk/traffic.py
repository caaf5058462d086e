"""Frames and table entries for the SWX pipeline, in the proportions of those of `forebay bench`."""

import random
import struct

FRAME_BYTES = 64
ROUTER = 0x0200000000FE
NEXT_HOPS_MAX = 1024

# Prefix lengths in about the proportions of the Internet's routing table.
LENGTHS = [24] * 60 + [23] * 10 + [22] * 12 + [21] * 5 + [20] * 5 + [19] * 3 + [18] * 2 + [17, 16, 28]


def write(folder, program, entries):
    """Writes a capture file with a frame for each flow and a file for each table; the names of the tables."""
    frames, tables = {"portfwd": port_forwarding, "l2fwd": ethernet, "l3fwd": routing}[program](entries)
    write_capture(folder / "frames.pcap", frames)
    for name, lines in tables.items():
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
    return list(tables)


def port_forwarding(_entries):
    frames = [udp_frame(1, 2, 0x0A000001 + flow, 0xC0A80001) for flow in range(2)]
    return frames, {"ports": ["match 0 action forward port 1", "match 1 action forward port 0"]}


def ethernet(entries):
    """Stations behind ports 0 and 1 in turns; those behind port 0 send to those behind port 1."""
    stations = addresses(entries)
    pairs = entries // 2
    frames = [
        udp_frame(stations[2 * (flow % pairs)], stations[2 * (flow * 7919 % pairs) + 1], 0x0A000000 + flow, 0xC0A80001)
        for flow in range(entries)
    ]
    known = [f"match {address:#x} action known port {index % 2}" for index, address in enumerate(stations)]
    forward = [f"match {address:#x} action forward port {index % 2}" for index, address in enumerate(stations)]
    return frames, {"src_mac": known, "dst_mac": forward}


def routing(entries):
    """As many senders as routes, and a flow for each."""
    senders, prefixes = addresses(entries), routes(entries)
    choice = random.Random(7)
    frames = []
    for flow, (address, length) in enumerate(prefixes):
        destination = address | choice.getrandbits(32 - length)
        frames.append(udp_frame(senders[flow], ROUTER, 0x0A000000 + flow, destination))
    hops = min(entries, NEXT_HOPS_MAX)
    tables = {
        "src_mac": [f"match {address:#x} action allow" for address in senders],
        "ipv4_lpm": [
            f"match {address:#x}/{mask(length):#x} priority {32 - length} action set_next_hop next_hop {index % hops + 1}"
            for index, (address, length) in enumerate(prefixes)
        ],
        "next_hops": [
            f"match {hop + 1} action forward src_addr {ROUTER:#x} dst_addr {0x020000010000 + hop:#x} port 1"
            for hop in range(hops)
        ],
    }
    return frames, tables


def addresses(count):
    """Different MAC addresses at random, the same ones in every run."""
    choice = random.Random(48)
    found = {}
    while len(found) < count:
        found[0x020000000000 | choice.getrandbits(40)] = None
    return list(found)


def routes(count):
    """Different prefixes at random: address and length."""
    choice = random.Random(24)
    found = {}
    while len(found) < count:
        length = choice.choice(LENGTHS)
        address = choice.randrange(0x01000000, 0xE0000000) & mask(length)
        found[address, length] = None
    return list(found)


def mask(length):
    return 0xFFFFFFFF << (32 - length) & 0xFFFFFFFF


def udp_frame(source_mac, destination_mac, source, destination):
    """A frame of UDP over IPv4 with a right header checksum."""
    payload = FRAME_BYTES - 42
    header = struct.pack(">BBHHHBBHII", 0x45, 0, 28 + payload, 0, 0, 64, 17, 0, source, destination)
    total = sum(struct.unpack(">10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    header = header[:10] + struct.pack(">H", ~total & 0xFFFF) + header[12:]
    ethernet = destination_mac.to_bytes(6, "big") + source_mac.to_bytes(6, "big") + b"\x08\x00"
    return ethernet + header + struct.pack(">HHHH", 1024, 9, 8 + payload, 0) + b"\x5a" * payload


def write_capture(path, frames):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for frame in frames:
            file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)
