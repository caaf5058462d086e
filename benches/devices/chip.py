#!/usr/bin/env python3
"""The router of the evaluations on a chip of the timed model: throughput, latency and rules that fit, as Markdown.

benches/devices/chip.py [--forebay BINARY] [--chip tofino]

Time is simulated, so every machine prints the same. The column of the timed chip in experiments/device-comparison has
these figures.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

from switches import ROOT, ROUTER, Forebay, rules

KIND = "lpm"
RULES = 10_000
SIZE_MAX = 1 << 24
TEST = """
description = "{name}"
duration_s = 0.002

[device]
program = {program}
defines = ["MATCH={kind}", "SIZE={rules}"]
entries = ["rules.stf"]
chip = "{chip}"

[[traffic]]
name = "routed"
from = 1
{rate}
frame = {{ udp = {{ bytes = {frame_bytes} }} }}
flows = {{ entries = "routes" }}
"""


def measured(options, folder, count, frame_bytes, rate):
    """The path of the stream through a chip with this number of rules."""
    with (folder / "rules.stf").open("w") as file:
        for rule in rules(options.forebay, KIND, count):
            file.write(f"add routes {Forebay.key(KIND, rule)} {Forebay.action()}\n")
    test = folder / "test.toml"
    test.write_text(
        TEST.format(
            name=f"{count} rules",
            program=json.dumps(str(ROUTER)),
            kind=KIND,
            rules=max(count, 1),
            chip=options.chip,
            rate=rate,
            frame_bytes=frame_bytes,
        )
    )
    ran = subprocess.run([options.forebay, "tester", "run", test, "--json"], stdout=subprocess.PIPE, text=True)
    if ran.returncode not in (0, 1):
        raise SystemExit(ran.returncode)
    stream = json.loads(ran.stdout)["trials"][0]["streams"][0]
    return stream["sent_pps"], stream["paths"][0]


def fits(options, folder, kind, size):
    words = [options.forebay, "build", ROUTER, "-D", f"MATCH={kind}", "-D", f"SIZE={size}"]
    ran = subprocess.run([*map(str, words), "--chip", options.chip, "-o", str(folder / "built")], capture_output=True)
    return ran.returncode == 0


def largest(options, folder, kind):
    """The largest table that fits, in steps of 1,024 entries."""
    low, high = 0, SIZE_MAX
    while high - low > 1024:
        middle = (low + high) // 2048 * 1024
        low, high = (middle, high) if fits(options, folder, kind, middle) else (low, middle)
    return low


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forebay", default=str(ROOT / "target/release/forebay"))
    parser.add_argument("--chip", default="tofino")
    options = parser.parse_args()
    print("| rules, flows | bytes | line rate: Mpps | lost | at half of it: latency p50 (µs) | p99 less p50 (µs) |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for count in (1, RULES):
            for frame_bytes in (64, 1500):
                pps, path = measured(options, folder, count, frame_bytes, 'pps = "max"')
                _, calm = measured(options, folder, count, frame_bytes, f"pps = {pps / 2:.0f}")
                latency = calm["latency"]
                middle, spread = latency["p50_ns"] / 1e3, (latency["p99_ns"] - latency["p50_ns"]) / 1e3
                print(f"| {count} | {frame_bytes} | {pps / 1e6:.1f} | {path['lost']} | {middle:.3f} | {spread:.3f} |")
        for kind in ("exact", "lpm", "ternary"):
            print(f"\n{kind}: {largest(options, folder, kind)} rules fit {options.chip}")


if __name__ == "__main__":
    main()
