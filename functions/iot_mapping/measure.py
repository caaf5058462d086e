#!/usr/bin/env python3
"""Packets per second through iot_mapping.p4, with `forebay bench` on one core.

    measure.py [--packets others|acknowledgements|publications...] [--flows N...] [--against BINARY] [--json]

Packets of devices with TCP options: to a port that is not mapped, without payload to MQTT's port, and with a PUBLISH.
The latter are copied, and each copy passes the switch twice more; their connections were not seen to begin, so no
message comes of them. Writes captures to target/iot_mapping.
"""

import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import measure as bench
from captures import write_capture
from checksum import checksum

OUT = bench.ROOT / "target/iot_mapping"
MACS = bytes.fromhex("020000000001020000000007")
SERVER = 0x0A000001
TIMESTAMPS = bytes.fromhex("0101080a0000000100000001")
PUBLISH = bytes([0x30, 15, 0, 9]) + b"sensors/7" + b"21.5"
PACKETS = {"others": (22, PUBLISH), "acknowledgements": (1883, b""), "publications": (1883, PUBLISH)}


def frame(number, port, payload):
    """A frame of a device, with right checksums."""
    source, source_port = 0x0A000100 + number // 1000, 40000 + number % 1000
    addresses = struct.pack("!II", source, SERVER)
    tcp = struct.pack("!HHIIBBHHH", source_port, port, 1, 1, 0x80, 0x18, 1024, 0, 0) + TIMESTAMPS + payload
    pseudo = addresses + struct.pack("!HH", 6, len(tcp))
    tcp = tcp[:16] + struct.pack("!H", checksum(pseudo + tcp + bytes(len(tcp) % 2))) + tcp[18:]
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0)
    head = head[:10] + struct.pack("!H", checksum(head + addresses)) + addresses
    return MACS + b"\x08\x00" + head + tcp


def rows(arguments):
    OUT.mkdir(parents=True, exist_ok=True)
    for kind in arguments.packets:
        for flows in arguments.flows:
            capture = OUT / f"{kind}-{flows}.pcap"
            write_capture(capture, (frame(number, *PACKETS[kind]) for number in range(flows)))
            place = (HERE / "iot_mapping.p4", HERE / "entries.stf", capture, flows)
            yield bench.Row(f"iot_mapping, {kind}, {flows:,} flows", *place, ports="1,2,3")


# Arguments with few flows, enough to find the share of specialised code.
FEW = ["--flows", "1000"]


def add_options(parser):
    parser.add_argument("--packets", choices=PACKETS, nargs="+", default=list(PACKETS))
    parser.add_argument("--flows", type=int, nargs="+", default=[1000])


if __name__ == "__main__":
    bench.main(__doc__, add_options, rows)
