#!/usr/bin/env python3
"""Packets per second through l2_switch.p4, with `forebay bench` on one core.

    measure.py [--stations N...] [--against BINARY] [--json]

Stations at port 1 send a UDP frame each to as many at port 2; all are known. Writes entries and captures to
target/l2_switch. The benchmark sends the frames again and again; it checks nothing: the tests do.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import measure as bench
from captures import write_capture

OUT = bench.ROOT / "target/l2_switch"
SENDERS, RECEIVERS = 0x020000000000, 0x020001000000


def frame(number):
    macs = (RECEIVERS + number).to_bytes(6, "big") + (SENDERS + number).to_bytes(6, "big")
    return bench.frame(macs, 17, 0x0A000001, 0x0A000002, (20000, 53))


def write_entries(path, stations):
    lines = [(HERE / "entries.stf").read_text()]
    for port, first in ((1, SENDERS), (2, RECEIVERS)):
        for number in range(first, first + stations):
            lines.append(f"add source_addresses meta.vid:1 hdr.ethernet.src_addr:{number:#014x} known(port:{port})\n")
            lines.append(f"add destinations meta.vid:1 hdr.ethernet.dst_addr:{number:#014x} forward(port:{port})\n")
    path.write_text("".join(lines))


def rows(arguments):
    OUT.mkdir(parents=True, exist_ok=True)
    for stations in arguments.stations:
        entries, capture = OUT / f"entries-{stations}.stf", OUT / f"udp-{stations}.pcap"
        write_entries(entries, stations)
        write_capture(capture, map(frame, range(stations)))
        yield bench.Row(f"l2_switch, {2 * stations:,} stations", HERE / "l2_switch.p4", entries, capture, stations, ports="1,2,3")


# Arguments with few flows, enough to find the share of specialised code.
FEW = ["--stations", "1000"]


def add_options(parser):
    parser.add_argument("--stations", type=int, nargs="+", default=[1000, 100_000])


if __name__ == "__main__":
    bench.main(__doc__, add_options, rows)
