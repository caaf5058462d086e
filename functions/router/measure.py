#!/usr/bin/env python3
"""Packets per second through router.p4, with `forebay bench` on one core.

    measure.py [--routes N...] [--against BINARY] [--json]

Routes of 24 bits to one next hop, and a UDP frame for each. Writes entries and captures to target/router. The benchmark
sends the frames again and again; it checks nothing: the tests do.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import measure as bench
from captures import write_capture

OUT = bench.ROOT / "target/router"
MACS = bytes.fromhex("020000000101020000000102")
FIRST = 0x0B000000


def frame(number):
    """A frame of the host at port 1 to an address of a route."""
    destination = FIRST + (number << 8) + number % 254 + 1
    return bench.frame(MACS, 17, 0x0A010002, destination, (20000 + number % 1000, 53))


def write_entries(path, routes):
    lines = [(HERE / "entries.stf").read_text()]
    lines += (f"add routes_ipv4 hdr.ipv4.dst_addr:{FIRST + (number << 8):#x}/24 to_next_hop(next_hop:2)\n" for number in range(routes))
    path.write_text("".join(lines))


def rows(arguments):
    OUT.mkdir(parents=True, exist_ok=True)
    for routes in arguments.routes:
        entries, capture = OUT / f"entries-{routes}.stf", OUT / f"udp-{routes}.pcap"
        write_entries(entries, routes)
        write_capture(capture, map(frame, range(routes)))
        yield bench.Row(f"router, {routes:,} routes", HERE / "router.p4", entries, capture, routes)


# Arguments with few flows, enough to find the share of specialised code.
FEW = ["--routes", "1000"]


def add_options(parser):
    parser.add_argument("--routes", type=int, nargs="+", default=[1000, 100_000])


if __name__ == "__main__":
    bench.main(__doc__, add_options, rows)
