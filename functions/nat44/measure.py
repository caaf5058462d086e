#!/usr/bin/env python3
"""Packets per second through nat44.p4, with `forebay bench` on one core.

    measure.py [--sessions N...] [--protocol udp|tcp...] [--only-write]

Writes entries and a capture with a frame of each session to target/nat44, and runs the benchmark, which sends the frames again and again.
The median of five long turns is the rate of packets of known sessions. One short turn, in which every packet is the first one of its
session, is the rate of new ones.
"""

import argparse
import ipaddress
import json
import os
import pathlib
import struct
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOREBAY = os.environ.get("FOREBAY", str(ROOT / "target/release/forebay"))
OUT = ROOT / "target/nat44"
# Sessions of a subscriber, and blocks of 2^BITS ports for it.
EACH, BITS = 125, 8
ADDRESSES = 64
PROTOCOLS = {"udp": 17, "tcp": 6}
MACS = bytes.fromhex("020000000001020000000002")


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def frame(number, protocol):
    """The frame of a session from inside: 64 bytes without the check sequence."""
    source = (0x0A010000 + number // EACH).to_bytes(4, "big")
    target = (0xC6120000 + number * 7919 % 65536).to_bytes(4, "big")
    ports = struct.pack("!HH", 20000 + number % EACH * 2, 443)
    if protocol == 17:
        transport = ports + struct.pack("!HH", 30, 0) + bytes(22)
    else:
        transport = ports + struct.pack("!IIBBHHH", number, 1, 0x50, 0x10, 1024, 0, 0) + bytes(10)
    head = struct.pack("!BBHHHBBH", 0x45, 0, 50, 0, 0x4000, 64, protocol, 0)
    head = head[:10] + struct.pack("!H", checksum(head + source + target)) + source + target
    return MACS + b"\x08\x00" + head + transport


def write_capture(path, frames):
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for one in frames:
            file.write(struct.pack("<IIII", 0, 0, len(one), len(one)) + one)


def write_entries(path):
    """Those of the demonstration, with more addresses."""
    lines = [line for line in (HERE / "entries.stf").read_text().splitlines() if not line.startswith("add addresses")]
    lines = [line.replace("count:2", f"count:{ADDRESSES}") for line in lines]
    first = int(ipaddress.ip_address("203.0.113.1"))
    lines += [f"add addresses index:{index} external_address(addr:{first + index})" for index in range(ADDRESSES)]
    path.write_text("\n".join(lines) + "\n")


def turns(capture, count, milliseconds):
    """What `forebay bench` says of so many turns."""
    words = [FOREBAY, "bench", HERE / "nat44.p4", "-D", f"ADDRESSES={ADDRESSES}", "-D", f"BLOCK_BITS={BITS}"]
    words += ["--entries", OUT / "entries.stf", "--pcap", capture, "--ports", "1,2", "--json"]
    words += ["--rounds", str(count), "--round-ms", str(milliseconds)]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(done.stdout)["rows"][0]["contenders"][0]


def measured(capture, sessions):
    """Packets a second that leave, and new sessions a second."""
    row = turns(capture, 5, 300 + sessions // 30)
    text = f"{row['transmitted_per_s'] / 1e6:.1f} Mpps ({row['ns_per_packet']:.0f} ns)"
    if sessions >= 100_000:
        text += f"; {turns(capture, 1, sessions // 1000)['rounds'][0] / 1e3:.0f} thousand new sessions a second"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, nargs="+", default=[1000, 100_000, 1_000_000])
    parser.add_argument("--protocol", choices=PROTOCOLS, nargs="+", default=["udp", "tcp"])
    parser.add_argument("--only-write", action="store_true", help="write the files, measure nothing")
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    write_entries(OUT / "entries.stf")
    for protocol in arguments.protocol:
        for sessions in arguments.sessions:
            capture = OUT / f"{protocol}-{sessions}.pcap"
            write_capture(capture, (frame(number, PROTOCOLS[protocol]) for number in range(sessions)))
            if arguments.only_write:
                continue
            print(f"{protocol}, {sessions:,} sessions: {measured(capture, sessions)}", flush=True)


if __name__ == "__main__":
    main()
