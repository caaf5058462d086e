#!/usr/bin/env python3
"""The cost of the Python package: batches beside `forebay bench`, sweeps by processes, memory over many programs.

    benches/python_package.py [--forebay target/release/forebay] [--only batch,sweep,memory] [--nice] [--json] [--record FILE.json]

Run it with the Python that has the release wheel (`make wheel`). The two sides of a comparison take turns; a ratio is
the median of the rounds' ratios. `--record` keeps an earlier record's results of parts that are not measured. With
`--nice` (root) the measurement has precedence over other programs on this machine.
"""

import argparse
import contextlib
import datetime
import json
import operator
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import forebay
from forebay import Batch, Switch, compile, examples, sweep
from precedence import precedence

ROOT = Path(__file__).resolve().parents[1]
PACKETS, FRAME_BYTES = 1_000_000, 64
ROUNDS = 9
SWEEPS = 3
POINTS = 200
PROGRAMS = 10_000
ENTRIES = "add ipv4_lpm ipv4.dst_addr:0x0A010000/16 forward(port:3, mac:0x020000000003)\n"


def frame(program):
    """A frame that is routed."""
    packet = program.packets.build(
        ethernet={"ether_type": 0x800}, ipv4={"version": 4, "ihl": 5, "ttl": 64, "dst_addr": "10.1.2.3"}
    )
    return bytes(packet).ljust(FRAME_BYTES, b"\0")


def capture(data):
    """A capture file of one frame."""
    head = (0xA1B2C3D4).to_bytes(4, "little") + bytes.fromhex("02000400 00000000 00000000 ffff0000 01000000")
    return head + bytes(8) + len(data).to_bytes(4, "little") * 2 + data


def bench_seconds(command, program, folder, data):
    """Seconds of `forebay bench` for as many packets."""
    (folder / "frame.pcap").write_bytes(capture(data))
    (folder / "entries.stf").write_text(ENTRIES)
    words = [
        "bench",
        program,
        "--entries",
        folder / "entries.stf",
        "--pcap",
        folder / "frame.pcap",
        "--ports",
        "1,3",
        "--json",
    ]
    done = subprocess.run([str(command), *map(str, words)], capture_output=True, text=True, check=True)
    [contender] = [one for one in json.loads(done.stdout)["rows"][0]["contenders"] if one["contender"] == "jit"]
    return contender["ns_per_packet"] * PACKETS / 1e9


def batch(command):
    """A batch of a million packets through `Switch.send_batch`, beside `forebay bench` with the same program, entries
    and frames: into new memory, and into that of the result before. Both sides have compiled the program, and sent
    packets, before they are measured."""
    path = examples.path("router.p4")
    program = compile(path)
    switch = Switch(program, ports=4)
    switch.apply(ENTRIES)
    data = frame(program)
    frames = Batch.of_matrix(np.tile(np.frombuffer(data, dtype=np.uint8), (PACKETS, 1)))
    left = switch.send_batch(frames, ports=1)
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            again = send_seconds(switch, frames, left)
            left = None
            new = send_seconds(switch, frames, None)
            left = switch.send_batch(frames, ports=1)
            rounds.append((new, again, bench_seconds(command, path, Path(folder), data)))
    new, again, theirs = zip(*rounds, strict=True)
    return {
        "packets": PACKETS,
        "rounds": ROUNDS,
        "seconds": round(statistics.median(new), 4),
        "seconds_out": round(statistics.median(again), 4),
        "bench_seconds": round(statistics.median(theirs), 4),
        "ratio": round(statistics.median(map(operator.truediv, new, theirs)), 3),
        "ratio_out": round(statistics.median(map(operator.truediv, again, theirs)), 3),
    }


def send_seconds(switch, frames, out):
    """Processor time of a batch in seconds, as `forebay bench` counts it."""
    begin = time.thread_time()
    left = switch.send_batch(frames, ports=1, out=out)
    seconds = time.thread_time() - begin
    assert len(left) == PACKETS and int(left.ports[-1]) == 3
    return seconds


def points():
    """A sweep of 200 points by one process and by two, in turns."""
    text = Path(examples.path("queue.toml")).read_text().replace("duration_us = 400", "duration_us = 20000")
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "queue.toml"
        scenario.write_text(text)
        for _ in range(SWEEPS):
            (one, found), (two, same) = (sweep_seconds(scenario, processes) for processes in (1, 2))
            assert found == same, "two processes find something else"
            rounds.append((one, two))
    return {
        "points": POINTS,
        "rounds": SWEEPS,
        "seconds_1": round(statistics.median(one for one, _ in rounds), 2),
        "seconds_2": round(statistics.median(two for _, two in rounds), 2),
        "ratio": round(statistics.median(one / two for one, two in rounds), 2),
        "ratios": [round(one / two, 2) for one, two in rounds],
    }


def sweep_seconds(scenario, processes):
    """The duration of a sweep, and its results."""
    begin = time.perf_counter()
    swept = sweep(
        scenario,
        {"LOAD": range(5, 45)},
        seeds=POINTS // 40,
        processes=processes,
        folder=Path(examples.path("queue.toml")).parent,
    )
    return time.perf_counter() - begin, [results.text for results in swept.results]


def memory():
    """The most memory of this process after this number of programs was compiled, loaded, and dropped."""
    text = Path(examples.path("router.p4")).read_text()
    peaks = []
    for number in range(1, PROGRAMS + 1):
        Switch(compile(text), ports=1).send(bytes(64))
        if number % (PROGRAMS // 10) == 0:
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
            print(f"{number} programs: {peaks[-1]} MiB", file=sys.stderr, flush=True)
    return {"programs": PROGRAMS, "peak_mib": peaks}


def machine():
    """The machine on which the figures depend."""
    known = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    return {
        "processor": known[0] if known else platform.processor(),
        "processors": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def recorded(measure, nice):
    """The results of a measurement, with the machine."""
    before = os.getloadavg()[0]
    with precedence() if nice else contextlib.nullcontext():
        found = measure()
    return found | {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "version": forebay.__version__,
        "machine": machine(),
        "load_before": round(before, 1),
        "nice": nice,
    }


def main():
    parts = ("batch", "sweep", "memory")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forebay", type=Path, default=ROOT / "target/release/forebay", help="the executable")
    parser.add_argument("--only", default=",".join(parts), help="parts, with commas between them")
    parser.add_argument("--nice", action="store_true", help="before other programs on this machine")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--record", type=Path, help="write what was found to this file")
    options = parser.parse_args()
    measures = {"batch": lambda: batch(options.forebay), "sweep": points, "memory": memory}
    found = json.loads(options.record.read_text()) if options.record and options.record.exists() else {}
    for part in options.only.split(","):
        if part not in measures:
            raise SystemExit(f"there is no part {part!r}; there are {', '.join(parts)}")
        found[part] = recorded(measures[part], options.nice)
        if not options.json:
            print(part, found[part], flush=True)
    text = json.dumps(found, indent=1) + "\n"
    if options.record:
        options.record.write_text(text)
    if options.json:
        print(text, end="")


if __name__ == "__main__":
    main()
