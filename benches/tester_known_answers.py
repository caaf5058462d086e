#!/usr/bin/env python3
"""Answers that are known, measured by the tester on the machine's clock: how far it can be relied on.

    benches/tester_known_answers.py [--forebay target/release/forebay] [--frames 10000000] [--out FILE]

In memory, and as root over a veth pair in a namespace of its own:

| case | what is done on purpose | what is recorded |
|---|---|---|
| constant | a constant delay | how much more the tester measures: the least (*floor*) and the median (*bias*) |
| uniform, exponential | random delays | the Kolmogorov-Smirnov distance from the distribution that they have, and from another one |
| faults | frames are lost, doubled and reordered | how many were, and how many the tester counted |

Distances are in units of 1/sqrt(n); 1.95 is the 0.1 % point. A pause of the machine delays all frames that come in it, so
that a busy machine makes distances larger: random delays are long beside such pauses and are measured three times, and a
least distance above 1.95 is said, but no failure. A count that differs, or a distribution that is not told apart from
another one, is a failure (exit code 1).
"""

import argparse
import datetime
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
US = 1e3

#: The 0.1 % point of the Kolmogorov-Smirnov distance.
POINT = 1.95

TEST = """description = "known answers"
seed = 7
duration_s = {seconds}
drain_s = {drain}
sample_s = 0
disturbance_us = 1e6
burst = {burst}

[device]
wire = true

[[traffic]]
name = "frames"
from = 1
to = 2
pps = {pps}
frame = {{ udp = {{ bytes = 60 }} }}

[[impairment]]
port = 2
{impairment}
"""

FAULTS = "loss = 0.001\nduplication = 0.002\nreordering = 0.0005\nreordering_by = 5"

#: Frames with faults at once.
FAULTS_FRAMES = 2_000_000

#: Delays in µs, and frames a second.
CONSTANT = 500
UNIFORM = (100_000, 600_000)
EXPONENTIAL = 400_000
PPS = 2_500

#: Seconds that no delay exceeds.
LONGEST = 10.0

#: How long delays are measured, and how often random ones.
SECONDS = 4
ROUNDS = 3

#: Frames a second with faults.
PLACES = {"memory": {"faults_pps": 1_000_000}, "veth": {"faults_pps": 200_000}}


class Memory:
    """A wire in the tester's process."""

    interfaces = ()
    prefix = ()


class Veth:
    """The two ends of a veth pair in a namespace of their own."""

    interfaces = ("--interface", "1@va", "--interface", "2@vb")

    def __init__(self):
        self.name = f"forebay-known-{os.getpid()}"
        self.prefix = ("ip", "netns", "exec", self.name)

    def __enter__(self):
        call("ip", "netns", "add", self.name)
        # Nothing but the tester's frames.
        call(*self.prefix, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6 || true")
        call("ip", "-n", self.name, "link", "add", "va", "type", "veth", "peer", "name", "vb")
        for interface in ("va", "vb"):
            call("ip", "-n", self.name, "link", "set", interface, "up")
        return self

    def __exit__(self, *_):
        subprocess.run(["ip", "netns", "delete", self.name], check=False)


def call(*words):
    """Runs a command that must succeed."""
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def run(forebay, place, **values):
    """The results of a test; lost frames are no failure."""
    with tempfile.TemporaryDirectory() as folder:
        test = Path(folder, "test.toml")
        test.write_text(TEST.format(**values))
        words = [*place.prefix, forebay, "tester", "run", test, "--json", *place.interfaces]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{done.stderr}the tester ended with exit code {done.returncode}")
    return json.loads(done.stdout)


def uniform(low, high):
    """The distribution function."""
    return lambda value: min(max((value - low) / (high - low), 0.0), 1.0)


def exponential(mean):
    """The distribution function."""
    return lambda value: 1.0 - math.exp(-max(value, 0.0) / mean)


def distance(found, function):
    """The largest distance of what was measured from a distribution function. Values are known by their bucket."""
    below, largest, count = 0, 0.0, found["count"]
    for low, high, number in found["histogram"]:
        largest = max(largest, below / count - function(low))
        below += number
        largest = max(largest, function(high + 1) - below / count)
    return largest * math.sqrt(count)


def delays(forebay, place):
    """Known delays: what the tester adds to a constant one, and how far random ones are from what they are."""
    low, high, mean = US * UNIFORM[0], US * UNIFORM[1], US * EXPONENTIAL
    random = {
        "uniform": (list(UNIFORM), uniform(low, high), exponential((low + high) / 2)),
        "exponential": (EXPONENTIAL, exponential(mean), uniform(0, 2 * mean)),
    }

    def latency(kind, delay):
        impairment = f"delay = {{ {kind}_us = {delay} }}"
        found = run(forebay, place, seconds=SECONDS, drain=LONGEST, burst=1, pps=PPS, impairment=impairment)
        return found["trials"][0]["streams"][0]["paths"][0]["device_latency"]

    found = latency("constant", CONSTANT)
    added = {name: round(found[of] - US * CONSTANT) for name, of in (("floor_ns", "min_ns"), ("bias_ns", "p50_ns"))}
    measured = {"constant": {"delay_us": CONSTANT, "frames": found["count"]} | added}
    for kind, (delay, own, other) in random.items():
        rounds = [latency(kind, delay) for _ in range(ROUNDS)]
        measured[kind] = {
            "delay_us": delay,
            "frames": [found["count"] for found in rounds],
            "distances": sorted(round(distance(found, own), 2) for found in rounds),
            "distance_of_another": round(min(distance(found, other) for found in rounds), 1),
        }
    return measured


def faults(forebay, place, of, frames):
    """What is done to frames on purpose, and what the tester counts. Frames that are due in a pause of the machine may
    remain unsent, so it is repeated until as many were sent."""
    sent = 0
    injected, counted = (dict.fromkeys(["lost", "duplicated", "reordered"], 0) for _ in range(2))
    while sent < frames:
        seconds = min(frames - sent, FAULTS_FRAMES) / of["faults_pps"]
        found = run(
            forebay, place, seconds=max(seconds, 0.1), drain=1.0, burst=8, pps=of["faults_pps"], impairment=FAULTS
        )
        stream = found["trials"][0]["streams"][0]
        path = stream["paths"][0]
        sent += stream["sent"]
        own = {"lost": path["lost"], "duplicated": path["duplicated"], "reordered": path["reordering"]["reordered"]}
        for kind in counted:
            injected[kind] += found["injected"][kind]
            counted[kind] += own[kind]
    return {"sent": sent, "injected": injected, "counted": counted}


def wrong(name, place):
    """What is wrong at a place."""
    for kind in ("uniform", "exponential"):
        found = place[kind]
        if found["distances"][0] > found["distance_of_another"] / 2:
            yield f"{name}: {kind} delays are not told apart from others: {found}"
    if place["faults"]["injected"] != place["faults"]["counted"]:
        yield f"{name}: counts differ: {place['faults']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--forebay", default=ROOT / "target/release/forebay", type=Path)
    parser.add_argument("--frames", type=int, default=10_000_000, help="frames with faults, at each place")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    load = [os.getloadavg()[0]]
    places, problems = {}, []

    def measure(name, place):
        of = PLACES[name]
        found = delays(arguments.forebay, place) | {"faults": faults(arguments.forebay, place, of, arguments.frames)}
        print(f"{name}: {json.dumps(found)}", flush=True)
        problems.extend(wrong(name, found))
        for kind in ("uniform", "exponential"):
            if found[kind]["distances"][0] > POINT:
                print(f"{name}: {kind} delays are farther than {POINT} from their distribution: was the machine busy?")
        places[name] = found

    measure("memory", Memory())
    if os.geteuid() == 0:
        with Veth() as place:
            measure("veth", place)
    else:
        print("veth: SKIPPED, as root only")
    load.append(os.getloadavg()[0])
    version = subprocess.run([arguments.forebay, "--version"], capture_output=True, text=True).stdout.split("\n")[0]
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    machine = {"processor": model, "processors": os.cpu_count(), "kernel": platform.release()}
    record = {"date": f"{datetime.date.today()}", "version": version, "machine": machine}
    record |= {"load": [round(one, 1) for one in load], "places": places}
    if arguments.out:
        arguments.out.write_text(json.dumps(record, indent=1) + "\n")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
