#!/usr/bin/env python3
"""NAT between two veth pairs: nat44.p4 beside the kernel's own masquerading (nftables), in one run.

    sudo benches/nat_beside_nftables.py [--rounds 5] [--seconds 1] [--sessions 1000] [--record FILE.json] [--nice]

    source ── e0 ═ s0 ── 10/8 inside [NAT] outside 203.0.113/24 ── s1 ═ e1 ── counted and dropped by the kernel

The source sends UDP frames of 64 bytes, 16 of a session one after another, then the next session's; every session
begins inside. Network, source and the measurement on one and on two processors are those of benches/veth.py. "nftables,
steered" is the kernel with receive packet steering, which moves its work from the source's processor to the other.
Before it is measured, each contender has to show frames at the sink that are translated. The figures are medians of
rounds in turns, ratios those of one round. Needs root, nftables and two processors.
"""

import argparse
import contextlib
import datetime
import importlib.util
import json
import os
import platform
import socket
import statistics
import sys
import time
from pathlib import Path

import veth
from precedence import precedence

ROOT = Path(__file__).resolve().parent.parent
FUNCTION = ROOT / "functions/nat44"

veth.SOURCE, veth.SWITCH, veth.SINK = (f"nat-bench-{part}" for part in ("source", "switch", "sink"))
INSIDE_MAC, OUTSIDE_MAC, NEXT_HOP_MAC = "02:00:00:00:00:01", "02:00:00:00:01:01", "02:00:00:00:01:02"
NEXT_HOP = "192.0.2.2"
POOL = "203.0.113."
OUT = ROOT / "target/nat44"
REPETITIONS = 4
FRAMES_SEEN = 200
RULES = """
table ip nat {
  chain postrouting {
    type nat hook postrouting priority srcnat;
    oifname "s1" masquerade
  }
}
"""


def function_measure():
    """`measure.py` of the function: its frames and entries."""
    spec = importlib.util.spec_from_file_location("nat44_measure", FUNCTION / "measure.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


class Forebay:
    """nat44.p4 over one kind of port."""

    def __init__(self, binary, kind, options):
        self.binary, self.kind, self.options, self.name = binary, kind, options, f"nat44, {kind}"

    def start(self):
        ports = [f"-i1@{self.kind}:s0", f"-i2@{self.kind}:s1"]
        words = [self.binary, "run", FUNCTION / "nat44.p4", *self.options, *ports, "--entries", OUT / "entries.stf"]
        process = veth.pinned(veth.inside(veth.SWITCH, *words, "--stats-interval", "0"), veth.SWITCH_PROCESSOR)
        # Compiling it takes a second or two.
        time.sleep(3)
        return process


class Kernel:
    """Routing and masquerading by the kernel; `steered` to the switch's processor if requested."""

    def __init__(self, steered):
        self.steered, self.name = steered, "nftables, steered" if steered else "nftables"

    def start(self):
        inside = lambda *words: veth.run(*veth.inside(veth.SWITCH, *words))  # noqa: E731
        for name, mac, addresses in (
            ("s0", INSIDE_MAC, ["10.0.0.1/8"]),
            ("s1", OUTSIDE_MAC, ["203.0.113.1/24", "192.0.2.1/24"]),
        ):
            inside("ip", "link", "set", name, "address", mac)
            for address in addresses:
                inside("ip", "address", "add", address, "dev", name)
        inside("sysctl", "-qw", "net.ipv4.ip_forward=1")
        inside("ip", "neigh", "add", NEXT_HOP, "lladdr", NEXT_HOP_MAC, "dev", "s1")
        inside("ip", "route", "add", "default", "via", NEXT_HOP, "dev", "s1")
        rules = OUT / "masquerade.nft"
        rules.write_text(RULES)
        inside("nft", "-f", rules)
        if self.steered:
            inside("sh", "-c", f"echo {1 << veth.SWITCH_PROCESSOR:x} > /sys/class/net/s0/queues/rx-0/rps_cpus")


def send(sessions):
    """Sends by the source's interface until it is interrupted."""
    function = function_measure()
    frames = [function.frame(number, function.bench.PROTOCOLS["udp"]) for number in range(sessions)]
    veth.send("e0", frames, REPETITIONS)


def look():
    """Exits with an error unless the frames that come to the sink are translated."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800)) as port:
        port.bind(("e1", 0x0800))
        port.settimeout(5)
        sources = {port.recv(2048)[26:30] for _ in range(FRAMES_SEEN)}
    own = {socket.inet_aton("192.0.2.1")} | {socket.inet_aton(f"{POOL}{number}") for number in range(1, 255)}
    sys.exit(0 if sources <= own else f"not translated: {[socket.inet_ntoa(one) for one in sources - own][:3]}")


def check_translation(contender, source_words):
    """Ends the program unless the contender translates."""
    with veth.Network():
        switch = contender.start()
        time.sleep(1)
        source = veth.pinned(veth.inside(veth.SOURCE, *source_words), veth.SOURCE_PROCESSOR)
        try:
            veth.run(*veth.inside(veth.SINK, sys.executable, __file__, "--look"))
        finally:
            for process in filter(None, (source, switch)):
                process.terminate()
                process.wait(10)


def rows(found, figures):
    """A row for each contender, and its ratios to the kernel that is not steered, round by round."""
    two, one = figures
    sources = one[veth.Nothing.name]
    costs = {
        contender.name: [1e9 / max(pps, 1) - 1e9 / source for pps, source in zip(one[contender.name], sources)]
        for contender in found
    }
    reference = "nftables"
    for contender in found:
        name = contender.name
        yield {
            "nat": name,
            "packets_per_second": round(statistics.median(two[name])),
            "rate_to_nftables": median_ratio(two[name], two[reference]),
            "processor_ns_per_packet": round(statistics.median(costs[name])),
            "cost_to_nftables": median_ratio(costs[name], costs[reference]),
            "rates": [round(rate) for rate in two[name]],
            "costs_ns": [round(cost) for cost in costs[name]],
        }


def median_ratio(values, others):
    return round(statistics.median(value / other for value, other in zip(values, others)), 2)


def report(record):
    print("| NAT | packets/s | to nftables | processor time a packet, ns | to nftables |\n|---|---|---|---|---|")
    for row in record["rows"]:
        print(
            f"| {row['nat']} | {row['packets_per_second']:,} | {row['rate_to_nftables']:.2f} "
            f"| {row['processor_ns_per_packet']:,} | {row['cost_to_nftables']:.2f} |"
        )


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--forebay", default=ROOT / "target/release/forebay", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--record", type=Path, help="write the figures to this file too")
    parser.add_argument("--nice", action="store_true", help="before other programs on this machine")
    parser.add_argument("--source", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--look", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    arguments = parse()
    if arguments.source:
        send(arguments.sessions)
    if arguments.look:
        look()
    if os.geteuid() != 0 or (os.cpu_count() or 1) < 2:
        sys.exit("this needs root and two processors")
    function = function_measure()
    OUT.mkdir(parents=True, exist_ok=True)
    function.write_entries(OUT / "entries.stf")
    found = [Kernel(False), Kernel(True)]
    found += [Forebay(arguments.forebay, kind, function.OPTIONS) for kind in ("xdp", "packet")]
    source_words = [sys.executable, __file__, "--source", "--sessions", arguments.sessions]
    # Until every session has had its turn.
    warm_up = 0.5 + arguments.sessions * REPETITIONS * veth.CLONES / 250_000
    with precedence() if arguments.nice else contextlib.nullcontext():
        for contender in found:
            check_translation(contender, source_words)
        loads = [os.getloadavg()[0]]
        figures = veth.measure_all(found, arguments.rounds, arguments.seconds, source_words, warm_up)
    loads.append(os.getloadavg()[0])
    record = {
        "date": f"{datetime.date.today()}",
        "kernel": platform.release(),
        "sessions": arguments.sessions,
        "frame_bytes": 64,
        "rounds": arguments.rounds,
        "load": [round(load, 1) for load in loads],
        "rows": list(rows(found, figures)),
    }
    report(record)
    if arguments.record:
        arguments.record.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
