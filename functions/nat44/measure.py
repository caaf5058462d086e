#!/usr/bin/env python3
"""Packets per second through nat44.p4, with `forebay bench` on one core.

    measure.py [--sessions N...] [--protocol udp|tcp...] [--against BINARY] [--json]

Writes entries and a capture with a frame of each session to target/nat44. The benchmark sends the frames again and
again; it checks nothing: the tests do.
"""

import ipaddress
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import measure as bench
from captures import write_capture

OUT = bench.ROOT / "target/nat44"
# Sessions of a subscriber, and blocks of 2^BITS ports for it.
EACH, BITS = 125, 8
ADDRESSES = 64
MACS = bytes.fromhex("020000000001020000000002")
OPTIONS = ["-D", f"ADDRESSES={ADDRESSES}", "-D", f"BLOCK_BITS={BITS}"]


def frame(number, protocol):
    """A frame of a session from inside."""
    source, destination = 0x0A010000 + number // EACH, 0xC6120000 + number * 7919 % 65536
    return bench.frame(MACS, protocol, source, destination, (20000 + number % EACH * 2, 443))


def write_entries(path):
    """Those of the demonstration, with more addresses."""
    lines = [line for line in (HERE / "entries.stf").read_text().splitlines() if not line.startswith("add addresses")]
    lines = [line.replace("count:2", f"count:{ADDRESSES}") for line in lines]
    first = int(ipaddress.ip_address("203.0.113.1"))
    lines += [f"add addresses index:{index} external_address(addr:{first + index})" for index in range(ADDRESSES)]
    path.write_text("\n".join(lines) + "\n")


def rows(arguments):
    OUT.mkdir(parents=True, exist_ok=True)
    write_entries(OUT / "entries.stf")
    for protocol in arguments.protocol:
        for sessions in arguments.sessions:
            capture = OUT / f"{protocol}-{sessions}.pcap"
            write_capture(capture, (frame(number, bench.PROTOCOLS[protocol]) for number in range(sessions)))
            place = (HERE / "nat44.p4", OUT / "entries.stf", capture, sessions, OPTIONS)
            name = f"nat44, {protocol}, {sessions:,} sessions"
            yield bench.Row(name, *place)
            if sessions >= 100_000:
                yield bench.Row(f"{name}, new ones", *place, is_of_new_flows=True)


# Arguments with few flows, enough to find the share of specialised code.
FEW = ["--sessions", "1000"]


def add_options(parser):
    parser.add_argument("--sessions", type=int, nargs="+", default=[1000, 100_000, 1_000_000])
    parser.add_argument("--protocol", choices=bench.PROTOCOLS, nargs="+", default=["udp", "tcp"])


if __name__ == "__main__":
    bench.main(__doc__, add_options, rows)
