"""Frames, captures and turns of `forebay bench`, for the programs that measure functions."""

import json
import os
import pathlib
import struct
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOREBAY = os.environ.get("FOREBAY", str(ROOT / "target/release/forebay"))
PROTOCOLS = {"udp": 17, "tcp": 6}


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def frame(macs, protocol, source, destination, ports):
    """A frame of 64 bytes without the check sequence; `macs`: both addresses, IPv4 addresses as numbers."""
    addresses = struct.pack("!II", source, destination)
    if protocol == 17:
        transport = struct.pack("!HHHH", *ports, 30, 0) + bytes(22)
    else:
        transport = struct.pack("!HHIIBBHHH", *ports, 1, 1, 0x50, 0x10, 1024, 0, 0) + bytes(10)
    head = struct.pack("!BBHHHBBH", 0x45, 0, 50, 0, 0x4000, 64, protocol, 0)
    head = head[:10] + struct.pack("!H", checksum(head + addresses)) + addresses
    return macs + b"\x08\x00" + head + transport


def write_capture(path, frames):
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for one in frames:
            file.write(struct.pack("<IIII", 0, 0, len(one), len(one)) + one)


def turns(program, entries, capture, count, milliseconds, *options, ports=("--ports", "1,2")):
    """What `forebay bench` says of so many turns."""
    words = [FOREBAY, "bench", program, "--entries", entries, "--pcap", capture, *ports, "--json", *options]
    words += ["--rounds", str(count), "--round-ms", str(milliseconds)]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(done.stdout)["rows"][0]["contenders"][0]


def measured(program, entries, capture, flows, *options, **more):
    """In words: packets a second that leave when their flows are known. The first turns, in which flows are learnt, are long."""
    row = turns(program, entries, capture, 5, 300 + flows // 30, *options, **more)
    best = max(row["rounds"])
    return f"{row['transmitted_per_s'] / 1e6:.1f} Mpps in the median of five turns, {best / 1e6:.1f} in the best"


def learning(program, entries, capture, milliseconds, *options, **more):
    """New flows a second: a turn so short that each packet is the first one of its flow."""
    return turns(program, entries, capture, 1, milliseconds, *options, **more)["rounds"][0]
