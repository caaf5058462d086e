"""Frames, captures and turns of `forebay bench`, for the programs that measure functions.

Each of those has `rows(arguments)`, which writes entries and captures and yields a `Row` for each rate to be measured,
and `FEW`, the arguments for few flows.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import struct
import subprocess

from checksum import checksum
from program import executable

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOREBAY = os.environ.get("FOREBAY", str(ROOT / "target/release/forebay"))
PROTOCOLS = {"udp": 17, "tcp": 6}
# The least share of the packets of known flows that take specialised code.
SPECIALISED_MIN = 0.99


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


@dataclasses.dataclass
class Rate:
    """A result: packets, or new flows, a second, and the share of packets in specialised code (None: not counted)."""

    per_s: float
    specialised_share: float | None


@dataclasses.dataclass
class Row:
    """A rate: packets a second of `flows` known flows, or new flows a second."""

    name: str
    program: pathlib.Path
    entries: pathlib.Path
    capture: pathlib.Path
    flows: int
    options: tuple = ()
    ports: str = "1,2"
    is_of_new_flows: bool = False

    def measured(self, binary):
        """The `Rate`: the median of five turns, or one that is so short that each packet is the first of its flow."""
        if self.is_of_new_flows:
            # With the warm-up before it, which is as long, there are frames of new flows for two million a second.
            return self.turns(binary, 1, self.flows // 5000)
        # The first turns, in which flows are learnt, are long.
        return self.turns(binary, 5, 300 + self.flows // 30)

    def is_specialised(self, binary):
        """Whether nearly all packets take specialised code, once it has been compiled for the paths that they take."""
        share = self.turns(binary, 3, 200).specialised_share
        print(f"{self.name}: {share:.1%} of the packets in specialised code", flush=True)
        return share >= SPECIALISED_MIN

    def turns(self, binary, count, milliseconds):
        """The median of the packets a second that leave in the turns of `forebay bench`."""
        words = [binary, "bench", self.program, "--entries", self.entries, "--pcap", self.capture, "--ports", self.ports, "--json"]
        words += [*self.options, "--rounds", str(count), "--round-ms", str(milliseconds)]
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        contender = json.loads(done.stdout)["rows"][0]["contenders"][0]
        assert contender["transmitted_per_s"] > 0, f"{self.name}: no packet leaves"
        fast = contender["fast_path_share"]
        specialised = None if fast is None else fast - (contender.get("general_code_share") or 0)
        return Rate(statistics.median(contender["rounds"]), specialised)


def add_options(parser):
    """Options of all programs that measure."""
    parser.add_argument("--forebay", default=FOREBAY, type=executable, metavar="BINARY", help="the command that is measured")
    parser.add_argument("--against", type=executable, metavar="BINARY", help="another one, which takes turns with it")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each rate")


def report(rows, arguments):
    """Measures the rows in turn, and prints each."""
    for row in rows:
        rate = row.measured(arguments.forebay)
        other = arguments.against and row.measured(arguments.against)
        share = rate.specialised_share
        if arguments.json:
            against = other.per_s if other else None
            print(json.dumps({"name": row.name, "per_s": rate.per_s, "specialised_share": share, "against_per_s": against}), flush=True)
            continue
        compared = f", {rate.per_s / other.per_s:.2f} of the other's {in_words(other, row)}" if other else ""
        slower = f" ({share:.0%} of the packets in specialised code)" if share is not None and share < SPECIALISED_MIN else ""
        print(f"{row.name}: {in_words(rate, row)}{slower}{compared}", flush=True)


def main(documentation, add_own_options, rows):
    """The command of a function: measures the rows of `rows(arguments)`."""
    parser = argparse.ArgumentParser(description=documentation.splitlines()[0])
    add_own_options(parser)
    add_options(parser)
    arguments = parser.parse_args()
    report(rows(arguments), arguments)


def in_words(rate, row):
    return f"{rate.per_s:,.0f} a second" if row.is_of_new_flows else f"{rate.per_s / 1e6:.1f} Mpps"
