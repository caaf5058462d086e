#!/usr/bin/env python3
"""Packets per second through int.p4 by what a node does to them, with `forebay bench` on one core.

    measure.py [--flows N] [--what KIND...] [--instructions BITS] [--against BINARY] [--json]

Kinds: `forwarded` (a frame without INT that no watch list matches), `source`, `transit` (one hop before), each with the
sink in the program and without it (-D NO_SINK); `sink`, which sends a report of each frame, too. The frames that hosts
send have 64 bytes. Writes entries and captures to target/int. The benchmark sends the frames again and again; it checks
nothing: the tests do.
"""

import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import measure as bench
from captures import write_capture

OUT = bench.ROOT / "target/int"
MACS = bytes.fromhex("020000000002020000000001")
INT_PORT, WATCHED_PORT, OTHER_PORT = 32766, 5001, 5002
DESTINATION = 0x0A000102
# Words of metadata by instruction bit, from the highest on.
WORDS = [1, 1, 1, 1, 2, 2, 2, 1, 1, 0, 0, 0, 0, 0, 0, 1]
KINDS = ["forwarded", "source", "transit", "sink"]
PROGRAMS = {"int": (), "int without sink": ("-D", "NO_SINK")}
NODE = """\
setdefault node set_node(node_id:2, time_base:0, collector:1, congestion_depth:64)
add wire standard_metadata.ingress_port:1 to_port(port:2)
add wire standard_metadata.ingress_port:2 to_port(port:1)
add mtus standard_metadata.egress_port:2 set_mtu(mtu:1900)
mirroring_add 1 3
add collectors meta.report.collector:1 set_collector(src_mac:0x020000000001, dst_mac:0x0200000000C0, src_addr:0xC0A80001, dst_addr:0xC0A800C0, \
udp_port:32768, snap:512)
add watch_ipv4 10 meta.protocol:17 meta.dst_port:{watched} standard_metadata.ingress_port:1 embed_data(instructions:{bits}, max_hops:8, collector:1)
add watch_ipv4 10 meta.protocol:6 standard_metadata.ingress_port:1 embed_data(instructions:{bits}, max_hops:8, collector:1)
add watch_ipv4 5 meta.protocol:1 standard_metadata.ingress_port:1 embed_instructions(instructions:{bits}, collector:1)
"""
INT_TAKEN = "add int_ports standard_metadata.ingress_port:1 NoAction()\n"
SINK = "add sink_ports standard_metadata.egress_port:2 int_sink(collector:1)\n"


def frame_with_int(number, bits):
    """A frame as the source of flow `number` sends it on, with metadata of one hop."""
    words = sum(count for bit, count in enumerate(WORDS) if bits >> (15 - bit) & 1)
    own = struct.pack("!BBH", 0x14, 3 + words, WATCHED_PORT) + struct.pack("!BBBBHHHH", 0x20, 0, words, 7, bits, 0, 0, 0) + bytes(4 * words)
    length = 30 + len(own)
    addresses = struct.pack("!II", 0x0A000001 + number, DESTINATION)
    udp = struct.pack("!HHHH", 20000 + number % 1000, INT_PORT, length, 0) + own + bytes(22)
    sum_ = bench.checksum(addresses + struct.pack("!HH", 17, length) + udp)
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + length, 0, 0x4000, 64, 17, 0)
    head = head[:10] + struct.pack("!H", bench.checksum(head + addresses)) + addresses
    return MACS + b"\x08\x00" + head + udp[:6] + struct.pack("!H", sum_ or 0xFFFF) + udp[8:]


def frame(number, kind, bits):
    if kind in ("forwarded", "source"):
        port = WATCHED_PORT if kind == "source" else OTHER_PORT
        return bench.frame(MACS, 17, 0x0A000001 + number, DESTINATION, (20000 + number % 1000, port))
    return frame_with_int(number, bits)


def rows(arguments):
    OUT.mkdir(parents=True, exist_ok=True)
    for kind in arguments.what:
        entries, capture = OUT / f"{kind}.stf", OUT / f"{kind}.pcap"
        lines = NODE.format(watched=WATCHED_PORT, bits=arguments.instructions)
        lines += {"transit": INT_TAKEN, "sink": INT_TAKEN + SINK}.get(kind, "")
        entries.write_text(lines)
        write_capture(capture, (frame(number, kind, arguments.instructions) for number in range(arguments.flows)))
        for name, options in PROGRAMS.items():
            if kind != "sink" or not options:
                name = f"{name}, {kind}, {arguments.flows:,} flows"
                yield bench.Row(name, HERE / "int.p4", entries, capture, arguments.flows, options, "1,2,3")


# Arguments with few flows, enough to find the share of specialised code.
FEW = ["--flows", "1000"]


def add_options(parser):
    parser.add_argument("--flows", type=int, default=1000)
    parser.add_argument("--what", choices=KINDS, nargs="+", default=KINDS)
    parser.add_argument("--instructions", type=lambda text: int(text, 0), default=0xFC00, metavar="BITS", help="what hops are asked for, as a bitmap")


if __name__ == "__main__":
    bench.main(__doc__, add_options, rows)
