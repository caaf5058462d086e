#!/usr/bin/env python3
"""Aggregation and disaggregation of IoT messages by Forebay's switch, by SDN controllers and by server software, in one
run.

    sudo benches/baselines/measure.py [--forebay target/release/forebay] [--quick] [--json]
                                      [--contenders NAME,...] [--stages NAME,...] [--n 1,2,4,8] [--rates 1000,2000,...]
                                      [--seconds 1] [--record FILE.json] [--figure FILE.svg]

Each point sends messages (N-packets, for disaggregation alone) from one network namespace through one or two stages to
another, at a fixed rate, and checks every message that arrives: lost, duplicated, corrupted, out of order. Rates of a
contender rise until less than half gets through at two of them. Goodput is payload (16 bytes a message) that arrives
while the sender sends.

Needs root, iproute2, ethtool, cc; openvswitch-switch and PyPI for the controllers. README.md has the rest.
"""

import argparse
import datetime
import itertools
import json
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path

import environment
import results
from chain import Chain
from contenders import Controllers, Forebay, Server

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STAGES = {"aggregation": ["aggregate"], "disaggregation": ["disaggregate"], "both": ["aggregate", "disaggregate"]}
RATES = [1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000, 256000]
QUICK_RATES = [2000, 16000, 64000]
FLOWS = 4
IDLE_SECONDS = 0.7
PROBE_SECONDS = 30
RUNS = itertools.count(1)


class Traffic:
    """The program that sends and receives, at both ends of a chain."""

    def __init__(self, chain, program, n, grouped):
        self.chain, self.program, self.n = chain, program, n
        self.group = n if grouped else 0
        self.flows = FLOWS

    def run(self, rate, messages, idle=IDLE_SECONDS):
        """Sends `messages` a flow at `rate` a second; returns the results of sender and receiver."""
        what = (next(RUNS) % 65536, self.flows, messages)
        receive = (self.program, "receive", self.chain.server_address, 9000, *what, idle)
        send = (self.program, "send", self.chain.destination, 9000, *what, rate, self.group)
        return self.exchange(receive, send)

    def exchange(self, receive, send):
        """Runs a command at the server, and when it is ready one at the sensors; returns the results of sender and
        receiver."""
        receiver = subprocess.Popen(self.chain.server.words(*receive), stdout=subprocess.PIPE, text=True)
        try:
            receiver.stdout.readline()
            sent = subprocess.run(self.chain.sensors.words(*send), stdout=subprocess.PIPE, text=True, check=True).stdout
            return json.loads(sent), json.loads(receiver.communicate()[0])
        finally:
            receiver.kill()
            receiver.wait()

    def wait_until_ready(self):
        """Sends one batch a flow again and again until all of it arrives."""
        end = time.monotonic() + PROBE_SECONDS
        while time.monotonic() < end:
            self.chain.check()
            sent, received = self.run(1000, self.n, 0.3)
            if received["received"] == sent["sent"]:
                return
        raise SystemExit(f"no messages come through after {PROBE_SECONDS} s; {self.chain.logs()}")


def measure(contender, stages, n, options, program):
    """All rates of one contender, as rows."""
    roles = STAGES[stages]
    rows = []
    with Chain(len(roles), contender.addressed) as chain:
        for stage, role in enumerate(roles, 1):
            contender.start(chain, stage, role, n)
        traffic = Traffic(chain, program, n, grouped=stages == "disaggregation")
        traffic.wait_until_ready()
        for rate in options.rates:
            before = chain.processor_seconds()
            messages = results.messages_per_flow(rate, options.seconds, FLOWS, n)
            sent, received = traffic.run(rate, messages)
            chain.check()
            row = {"contender": contender.name, "stages": stages, "n": n, "rate": rate}
            row |= results.point(sent, received, chain.processor_seconds() - before)
            rows.append(row)
            show(row, options)
            if results.saturated(rows):
                break
    return rows


def show(row, options):
    """One line for people, while it runs."""
    delay = (row["delay_us"] or {}).get("median", 0) / 1000
    bad = ", ".join(f"{row[name]} {name}" for name in ("duplicates", "corrupted", "foreign", "reordered") if row[name])
    line = (
        f"{row['stages']:14} N={row['n']} {row['contender']:12} {row['arrival_per_s']:9.0f}/s {row['goodput_mbps']:8.3f} Mbps "
        f"lost {100 * row['lost'] / row['sent']:6.2f} %  delay {delay:8.2f} ms  {row['processor_us_per_message']:6.1f} us CPU  {bad}"
    )
    print(line, file=sys.stderr if options.json else sys.stdout, flush=True)


def contenders(options):
    """The contenders that can run here; a message says what others lack."""
    every = [
        Controllers(environment.python("os_ken") if "controllers" in options.contenders else None),
        Server("python", "server, plain Python", [sys.executable, HERE / "plain_server.py"]),
        Server("c", "server, C with recvmmsg", [environment.compiled("iot_server")]),
        Forebay(options.forebay),
    ]
    chosen = []
    for contender in every:
        if contender.name in options.contenders:
            missing = contender.missing()
            if missing:
                print(f"{contender.name} is left out: {missing}", file=sys.stderr)
            else:
                chosen.append(contender)
    return chosen


def machine():
    """The machine on which the figures depend."""
    model = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    return {
        "processor": model[0] if model else platform.processor(),
        "processors": os.cpu_count(),
        "kernel": platform.release(),
        "load_average": os.getloadavg()[0],
    }


def first_line(*words):
    """The first line that a command prints, or None when there is no such command."""
    try:
        return subprocess.run(words, capture_output=True, text=True).stdout.splitlines()[0]
    except (OSError, IndexError):
        return None


def versions(options):
    """Versions of what was measured."""
    return {
        "forebay": first_line(options.forebay, "--version"),
        "open_vswitch": first_line("ovs-vswitchd", "--version"),
        "os_ken": environment.PACKAGES[0],
        "python": platform.python_version(),
        "cc": first_line(os.environ.get("CC", "cc"), "--version"),
    }


def table(points):
    """Highest goodput and highest rate that was taken, a line for each curve, as text."""
    curves = {}
    for each in points:
        curves.setdefault((each["stages"], each["n"], each["contender"]), []).append(each)
    over = {
        (row["stages"], row["n"], row["contender"]): row["over_controllers"]
        for row in results.ratios(points, "controllers")
    }
    lines = [f"{'stages':14} {'N':>2} {'contender':12} {'goodput':>10} {'taken':>10} {'over controllers':>17}"]
    for key, rows in sorted(curves.items()):
        goodput, taken = results.best(rows)
        ratio = f"{over[key]:17.1f}" if key in over else f"{'-':>17}"
        lines.append(f"{key[0]:14} {key[1]:2} {key[2]:12} {goodput:5.2f} Mbps {taken:8.0f}/s {ratio}")
    return "\n".join(lines)


def numbers(text):
    return [int(word) for word in text.split(",")]


def names(allowed):
    def parse(text):
        chosen = text.split(",")
        for name in chosen:
            if name not in allowed:
                raise argparse.ArgumentTypeError(f"{name}: there is {', '.join(allowed)}")
        return chosen

    return parse


def arguments():
    every = ["controllers", "python", "c", "forebay"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forebay", default=str(ROOT / "target/release/forebay"), help="the executable to measure")
    parser.add_argument("--contenders", type=names(every), default=every, help=", ".join(every))
    parser.add_argument("--stages", type=names(STAGES), default=list(STAGES), help=", ".join(STAGES))
    parser.add_argument("--n", type=numbers, help="messages in an N-packet (default 1 to 8; with --quick 1,8)")
    parser.add_argument("--rates", type=numbers, help="messages a second, rising")
    parser.add_argument("--seconds", type=float, help="how long a point sends (default 1; with --quick 0.5)")
    parser.add_argument("--quick", action="store_true", help="a minute: few rates, N = 1 and 8")
    parser.add_argument("--json", action="store_true", help="print the record as JSON")
    parser.add_argument("--record", type=Path, help="write the record to this file")
    parser.add_argument("--figure", type=Path, help="draw goodput over arrivals (SVG)")
    options = parser.parse_args()
    options.n = options.n or ([1, 8] if options.quick else list(range(1, 9)))
    options.rates = options.rates or (QUICK_RATES if options.quick else RATES)
    options.seconds = options.seconds or (0.5 if options.quick else 1.0)
    if any(n < 1 or n > 8 for n in options.n):
        parser.error("--n: 1 to 8")
    return options


def main():
    options = arguments()
    if os.geteuid() != 0:
        raise SystemExit("network namespaces need root")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    program = environment.compiled("iot_traffic")
    before = machine()
    points = []
    chosen = contenders(options)
    if not chosen:
        raise SystemExit("nothing to measure")
    for n, stages, contender in itertools.product(options.n, options.stages, chosen):
        if n in contender.orders:
            points += measure(contender, stages, n, options, program)
    record = {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "machine": before,
        "versions": versions(options),
        "seconds": options.seconds,
        "flows": FLOWS,
        "labels": {contender.name: contender.label for contender in chosen},
        "points": points,
    }
    if options.record:
        options.record.write_text(results.record_text(record))
    print(results.record_text(record) if options.json else table(points))
    if options.figure:
        draw = subprocess.run(
            [environment.python("matplotlib") or sys.executable, HERE / "chart.py", options.figure],
            input=json.dumps(record),
            text=True,
        )
        return draw.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
