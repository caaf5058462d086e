#!/usr/bin/env python3
"""Receiving by one and by two workers, on a veth pair with two queues.

    cargo build --release -p forebay-ports --example shares
    sudo benches/veth_queues.py [--rounds 5] [--fills 100] [--json]

    source ── e0 ═ s0 ── the workers' shares ── s1 ═ e1 ── counted and dropped by the kernel

The source fills the queues while the workers wait, and then the workers' receiving is timed
(crates/dataplane/ports/examples/shares.rs). A source that went on would take a processor from the workers on a machine
with two, since the kernel delivers in the source's context. One worker and two take turns; the figures are medians, and
the ratio is that of a round. Needs root and iproute2.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SPACE = "veth-queues"


def run(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout


class Network:
    """Two veth pairs with two queues in a namespace, gone at the end."""

    def __enter__(self):
        self.__exit__()
        run("ip", "netns", "add", SPACE)
        run("ip", "netns", "exec", SPACE, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
        queues = ["numrxqueues", 2, "numtxqueues", 2]
        for near, far in (("s0", "e0"), ("s1", "e1")):
            run("ip", "-n", SPACE, "link", "add", near, *queues, "type", "veth", "peer", "name", far, *queues)
            for name in (near, far):
                run("ip", "-n", SPACE, "link", "set", name, "up")

    def __exit__(self, *_):
        subprocess.run(["ip", "netns", "del", SPACE], capture_output=True)


def measure(arguments, kind, workers):
    """Packets a second, and frames that did not arrive."""
    with Network():
        words = run("ip", "netns", "exec", SPACE, arguments.example, f"{kind}:s0", f"{kind}:s1", "e0", workers, arguments.fills)
    rate, lost = words.split()
    if int(lost):
        print(f"{kind}, {workers} workers: {lost} frames were lost", file=sys.stderr)
    return float(rate)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--example", default=ROOT / "target/release/examples/shares", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--fills", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = []
    for kind in ("xdp", "packet"):
        rounds = [[measure(arguments, kind, workers) for workers in (1, 2)] for _ in range(arguments.rounds)]
        one, two = (statistics.median(rates) for rates in zip(*rounds))
        ratio = statistics.median(two / one for one, two in rounds)
        rows.append({"port": kind, "one": one, "two": two, "ratio": ratio})
    if arguments.json:
        print(json.dumps(rows))
        return
    print("| port | one worker, packets/s | two workers | ratio |\n|---|---|---|---|")
    for row in rows:
        print(f"| {row['port']} | {row['one']:,.0f} | {row['two']:,.0f} | {row['ratio']:.2f} |")


if __name__ == "__main__":
    main()
