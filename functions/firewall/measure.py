#!/usr/bin/env python3
"""Packets per second through firewall.p4, with `forebay bench` on one core.

    measure.py [--connections N...] [--against BINARY] [--json]

Writes a capture with a UDP frame of each connection to target/firewall, and takes the entries of the demonstration with
100 more rules. The benchmark sends the frames again and again; it checks nothing: the tests do.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import measure as bench
from captures import write_capture

OUT = bench.ROOT / "target/firewall"
MACS = bytes.fromhex("020000000101020000000102")
RULES = 100


def frame(number):
    """A frame of a connection from inside to the servers."""
    source, destination = 0x0A010000 + number // 1000, 0x0A030000 + number * 7919 % 65536
    return bench.frame(MACS, 17, source, destination, (20000 + number % 1000, 53))


def write_entries(path):
    lines = (HERE / "entries.stf").read_text().replace("from:1 to:3 allow(policer:0)", "from:1 to:3 use_rules()")
    for number in range(RULES):
        lines += f"add rules_ipv4 {100 + number} protocol:6 port:{8000 + number} allow(policer:0)\n"
    lines += "add rules_ipv4 1 from:1 protocol:17 allow(policer:0)\n"
    path.write_text(lines)


def rows(arguments):
    OUT.mkdir(parents=True, exist_ok=True)
    write_entries(OUT / "entries.stf")
    for connections in arguments.connections:
        capture = OUT / f"udp-{connections}.pcap"
        write_capture(capture, map(frame, range(connections)))
        # Traffic comes by port 1 and leaves by port 3.
        place = (HERE / "firewall.p4", OUT / "entries.stf", capture, connections, (), "1,3")
        name = f"firewall, {connections:,} connections"
        yield bench.Row(name, *place)
        if connections >= 100_000:
            yield bench.Row(f"{name}, new ones", *place, is_of_new_flows=True)


# Arguments with few flows, enough to find the share of specialised code.
FEW = ["--connections", "1000"]


def add_options(parser):
    parser.add_argument("--connections", type=int, nargs="+", default=[1000, 100_000, 1_000_000])


if __name__ == "__main__":
    bench.main(__doc__, add_options, rows)
