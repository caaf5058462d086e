#!/usr/bin/env python3
"""What the Python package costs: batches beside `forebay bench`, sweeps by processes, memory over many programs.

    benches/python_package.py [--forebay target/release/forebay] [--only batch,sweep,memory] [--json]

Run it with the Python that has the release wheel (`make wheel`). Times are medians of several, taken in turns.
"""

import argparse
import json
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

ROOT = Path(__file__).resolve().parents[1]
PACKETS, FRAME_BYTES = 1_000_000, 64
ROUNDS = 5
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
    """What `forebay bench` needs for as many packets."""
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
    """A batch of a million packets through `Switch.send_batch`, beside `forebay bench` with the same program, entries and frames."""
    path = examples.path("router.p4")
    program = compile(path)
    switch = Switch(program, ports=4)
    switch.apply(ENTRIES)
    data = frame(program)
    frames = Batch.of_matrix(np.tile(np.frombuffer(data, dtype=np.uint8), (PACKETS, 1)))
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            # A second of both is one of the thread on its processor.
            begin = time.thread_time()
            left = switch.send_batch(frames, ports=1)
            ours.append(time.thread_time() - begin)
            assert len(left) == PACKETS and int(left.ports[-1]) == 3
            theirs.append(bench_seconds(command, path, Path(folder), data))
    return {
        "packets": PACKETS,
        "seconds": statistics.median(ours),
        "bench_seconds": statistics.median(theirs),
        "ratio": statistics.median(ours) / statistics.median(theirs),
    }


def points():
    """A sweep of 200 points by one process and by two."""
    text = Path(examples.path("queue.toml")).read_text().replace("duration_us = 400", "duration_us = 20000")
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "queue.toml"
        scenario.write_text(text)
        found = {}
        for processes in (1, 2):
            begin = time.perf_counter()
            swept = sweep(
                scenario,
                {"LOAD": range(5, 45)},
                seeds=POINTS // 40,
                processes=processes,
                folder=Path(examples.path("queue.toml")).parent,
            )
            found[processes] = (time.perf_counter() - begin, [results.text for results in swept.results])
    assert found[1][1] == found[2][1], "two processes find something else"
    one, two = found[1][0], found[2][0]
    return {"points": POINTS, "seconds_1": one, "seconds_2": two, "ratio": one / two}


def memory():
    """The most memory of this process after so many programs that were compiled, loaded, and dropped."""
    text = Path(examples.path("router.p4")).read_text()
    peaks = []
    for number in range(1, PROGRAMS + 1):
        Switch(compile(text), ports=1).send(bytes(64))
        if number % (PROGRAMS // 10) == 0:
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
            print(f"{number} programs: {peaks[-1]} MiB", file=sys.stderr, flush=True)
    return {"programs": PROGRAMS, "peak_mib": peaks}


def main():
    parts = ("batch", "sweep", "memory")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forebay", type=Path, default=ROOT / "target/release/forebay", help="the executable")
    parser.add_argument("--only", default=",".join(parts), help="parts, with commas between them")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    found = {"version": forebay.__version__}
    for part in options.only.split(","):
        measure = {"batch": lambda: batch(options.forebay), "sweep": points, "memory": memory}
        if part not in measure:
            raise SystemExit(f"there is no part {part!r}; there are {', '.join(parts)}")
        found[part] = measure[part]()
        if not options.json:
            print(part, found[part], flush=True)
    if options.json:
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
