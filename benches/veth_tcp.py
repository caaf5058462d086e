#!/usr/bin/env python3
"""TCP and ping between two namespaces: forebay as the switch between them beside the kernel's own bridge, in one run.

    sudo benches/veth_tcp.py [--forebay target/release/forebay] [--kinds packet,xdp] [--rounds 3] [--seconds 3] [--json]

    left (iperf3 -c, ping) ── eth0 ═ s0 ── switch ── s1 ═ eth0 ── right (iperf3 -s)

Every contender is measured in every round; the figures are medians, ratios are to the bridge. Pings are 10 ms apart.
`--busy-poll` adds a switch that never waits. With `--forward BINARY` the ports alone are measured (the example
`forward` of crates/dataplane/ports) in place of the whole switch. Needs root, iproute2, iperf3 and ping.
"""

import argparse
import json
import re
import statistics
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "programs/portfwd/portfwd.p4"
ENTRIES = ROOT / "programs/portfwd/entries.stf"
LEFT, SWITCH, RIGHT = (f"veth-tcp-{part}" for part in ("left", "switch", "right"))
ADDRESS = "10.9.0.2"


def run(*words):
    """Runs a command that must succeed, and gives what it prints."""
    done = subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True)
    return done.stdout


def inside(namespace, *words):
    """A command that runs in a namespace."""
    return ["ip", "netns", "exec", namespace, *map(str, words)]


class Network:
    """Three namespaces joined by two veth pairs, gone at the end."""

    def __enter__(self):
        self.__exit__()
        for namespace in (LEFT, SWITCH, RIGHT):
            run("ip", "netns", "add", namespace)
            run(*inside(namespace, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"))
        for number, (near, other) in enumerate((("s0", LEFT), ("s1", RIGHT)), 1):
            run("ip", "-n", SWITCH, "link", "add", near, "type", "veth", "peer", "name", "eth0", "netns", other)
            run("ip", "-n", SWITCH, "link", "set", near, "up")
            run("ip", "-n", other, "link", "set", "eth0", "up")
            run("ip", "-n", other, "addr", "add", f"10.9.0.{number}/24", "dev", "eth0")
        return self

    def __exit__(self, *_):
        for namespace in (LEFT, SWITCH, RIGHT):
            subprocess.run(["ip", "netns", "del", namespace], check=False, stderr=subprocess.DEVNULL)


class Forebay:
    """The switch of this repository, over one kind of port."""

    def __init__(self, arguments, kind, *options):
        self.arguments, self.kind, self.options = arguments, kind, options
        self.name = " ".join(["forebay,", kind, *options])

    def start(self):
        if self.arguments.forward:
            words = [self.arguments.forward, f"{self.kind}:s0", f"{self.kind}:s1"]
        else:
            ports = [f"-i1@{self.kind}:s0", f"-i2@{self.kind}:s1"]
            more = ["--entries", ENTRIES, "--stats-interval", "0", *self.options]
            words = [self.arguments.forebay, "run", PROGRAM, *ports, *more]
        output = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(inside(SWITCH, *words), **output)


class Bridge:
    """The kernel's bridge."""

    name = "bridge"

    def start(self):
        run("ip", "-n", SWITCH, "link", "add", "br0", "type", "bridge")
        for port in ("s0", "s1"):
            run("ip", "-n", SWITCH, "link", "set", port, "master", "br0")
        run("ip", "-n", SWITCH, "link", "set", "br0", "up")


def measure(contender, seconds):
    """TCP in bits a second, and the mean time of a ping in seconds."""
    with Network():
        switch = contender.start()
        server = subprocess.Popen(inside(RIGHT, "iperf3", "-s"), stdout=subprocess.DEVNULL)
        try:
            time.sleep(2)
            ping = run(*inside(LEFT, "ping", "-q", "-c", "300", "-i", "0.01", ADDRESS))
            mean_ms = float(re.search(r"= [\d.]+/([\d.]+)/", ping).group(1))
            tcp = json.loads(run(*inside(LEFT, "iperf3", "-c", ADDRESS, "-t", seconds, "-J")))
            return tcp["end"]["sum_received"]["bits_per_second"], mean_ms / 1000
        finally:
            for process in filter(None, (server, switch)):
                process.send_signal(signal.SIGINT)
                process.wait(10)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forebay", default=ROOT / "target/release/forebay", type=Path)
    parser.add_argument("--forward", type=Path, help="the example `forward` in place of forebay")
    parser.add_argument("--kinds", default="packet,xdp")
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--seconds", default=3, type=int)
    parser.add_argument("--busy-poll", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    contenders = [Bridge()]
    for kind in arguments.kinds.split(","):
        contenders.append(Forebay(arguments, kind))
        if arguments.busy_poll:
            contenders.append(Forebay(arguments, kind, "--busy-poll"))
    found = {contender.name: [] for contender in contenders}
    for _ in range(arguments.rounds):
        for contender in contenders:
            found[contender.name].append(measure(contender, arguments.seconds))
    medians = {name: [statistics.median(values) for values in zip(*runs)] for name, runs in found.items()}
    bridge_tcp, bridge_ping = medians["bridge"]
    if arguments.json:
        print(json.dumps({name: {"bits_per_second": tcp, "ping_seconds": ping} for name, (tcp, ping) in medians.items()}))
        return
    print(f"{'switch':32} {'TCP, Gbit/s':>12} {'to bridge':>10} {'ping, ms':>9} {'to bridge':>10}")
    for name, (tcp, ping) in medians.items():
        print(f"{name:32} {tcp / 1e9:12.2f} {tcp / bridge_tcp:10.2f} {ping * 1e3:9.3f} {ping / bridge_ping:10.2f}")


if __name__ == "__main__":
    sys.exit(main())
