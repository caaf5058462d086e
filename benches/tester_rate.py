#!/usr/bin/env python3
"""Frames a second that the tester generates, receives and measures on one processor, with the latency of each.

    benches/tester_rate.py [--forebay target/release/forebay] [--rounds 7] [--seconds 1] [--out benches/tester_rate.json]

| case | what the one thread does |
|---|---|
| wire | generates frames, moves them over a wire, finds their tags, measures latency, loss and order |
| program | the same, and programs/portfwd forwards each frame in between |
| checked | the same, and each frame that comes back is compared with what the reference executor says |

The cases take turns. Rates are those of a second of processor time, so that other work of the machine does not count;
the figures are medians of the rounds.
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = f'program = "{ROOT / "programs/portfwd/portfwd.p4"}"\ncommands = "add ports standard_metadata.ingress_port:1 forward(port:2)"\nports = [1, 2]'
CASES = {"wire": "wire = true", "program": PROGRAM, "checked": PROGRAM + "\ncheck = true"}
TEST = """description = "the tester's own rate"
duration_s = {seconds}
warm_up_s = 0.1
burst = 64
sample_s = 0

[device]
{device}

[[traffic]]
name = "frames"
from = 1
to = 2
pps = "max"
frame = {{ udp = {{ bytes = {bytes} }} }}
"""


def measure(forebay, test, case):
    """Frames a second of processor time."""
    done = subprocess.run([forebay, "tester", "run", test, "--json"], check=True, capture_output=True, text=True)
    trial = json.loads(done.stdout)["trials"][0]
    stream = trial["streams"][0]
    path = stream["paths"][0]
    assert path["lost"] == 0 and path["latency_all"]["count"] == path["received"], done.stdout
    if case == "checked":
        assert stream["check"]["same"] >= path["received"] and stream["check"]["different"] == 0, done.stdout
    return path["received"] / trial["processor_s"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--forebay", default=ROOT / "target/release/forebay", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--bytes", type=int, default=60, help="length of frames without check sequence")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    rates = {case: [] for case in CASES}
    load = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as folder:
        for case, device in CASES.items():
            text = TEST.format(seconds=arguments.seconds, device=device, bytes=arguments.bytes)
            Path(folder, f"{case}.toml").write_text(text)
        for _ in range(arguments.rounds):
            for case, found in rates.items():
                found.append(measure(arguments.forebay, Path(folder, f"{case}.toml"), case))
    load.append(os.getloadavg()[0])
    version = subprocess.run([arguments.forebay, "--version"], capture_output=True, text=True).stdout.split("\n")[0]
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    record = {"date": f"{datetime.date.today()}", "version": version, "processor": model, "kernel": platform.release()}
    record |= {"load": [round(one, 1) for one in load], "frame_bytes": arguments.bytes}
    record["mpps_of_processor_time"] = {
        case: {"median": round(statistics.median(found) / 1e6, 2), "rounds": [round(one / 1e6, 2) for one in found]}
        for case, found in rates.items()
    }
    text = json.dumps(record, indent=1) + "\n"
    print(text, end="")
    if arguments.out:
        arguments.out.write_text(text)


if __name__ == "__main__":
    main()
