"""Packets a second of large v1model programs of p4c's, with entries for each of their tables on the packets' way.

    python3 benches/large_programs/measure.py target/release/forebay --p4c DIR [--only up4,...] [--rounds N] [--json] [--out FILE]

DIR is p4c's source. A program is measured with 1,000 and with 100,000 flows, and with 1,000 flows while the control
plane writes 1,000 entries a second to one of its tables. One worker; frames are the shortest of their kind, 64 to 96
bytes on the wire. A turn is half a second of the machine's clock: on a busy machine 100,000 flows are not all known by
then, and what is measured is how they are learned. Before the first turn, interpreter and machine code must do the same
with all frames, damaged ones among them, and nearly all frames must leave.
"""

import argparse
import importlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import frames  # noqa: E402
from record import circumstances  # noqa: E402

PROGRAMS = ["up4", "fabric", "pins", "dash"]
FLOWS = {"flows_1000": 1_000, "flows_100000": 100_000, "updates": 1_000}
# The least share of packets that must leave, and the least share of the rate without updates.
LEAVES, WANTED_UPDATES, WANTED_FLOWS = 0.99, 0.8, 0.65


class Bench:
    """A program with its files in a folder."""

    def __init__(self, binary, p4c, name, folder):
        self.binary, self.name, self.folder = binary, name, folder
        self.module = importlib.import_module(name)
        self.program = p4c / "testdata/p4_16_samples" / self.module.PROGRAM
        self.include = p4c / "p4include"
        write_lines(folder / f"{name}.stf", self.module.entries())
        write_lines(folder / f"{name}_updates.stf", self.module.updates())
        for flows in set(FLOWS.values()):
            frames.write_pcap(self.capture(flows), (self.module.frame(flow) for flow in range(flows)))

    def capture(self, flows):
        return self.folder / f"{self.name}_{flows}.pcap"

    def command(self, flows, *more):
        return [
            self.binary, "bench", self.program, "--entries", self.folder / f"{self.name}.stf",
            "--pcap", self.capture(flows), "--ports", "1,2,3", "--json", *more,
        ]  # fmt: skip

    def check(self):
        """Interpreter and machine code agree: `bench` refuses otherwise."""
        run(self.command(1_000, "--engine", "jit,interp", "--rounds", "1", "--round-ms", "1"))

    def measure(self, row):
        more = ["--updates", self.folder / f"{self.name}_updates.stf"] if row == "updates" else []
        report = run(self.command(FLOWS[row], "--rounds", "1", "--round-ms", "500", *more))
        figures = report["rows"][0]["contenders"][0]
        came, left = figures["received_per_s"], figures["transmitted_per_s"]
        if left < LEAVES * came:
            sys.exit(f"{self.name}: only {left / came:.0%} of the packets leave")
        return {"in": came, "out": left}


def run(command):
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{ran.stderr}")
    if busy := [line for line in ran.stderr.splitlines() if line.startswith("The machine is busy")]:
        print(f"{pathlib.Path(command[2]).stem}: {busy[0]}", file=sys.stderr)
    return json.loads(ran.stdout)


def write_lines(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", help="target/release/forebay")
    parser.add_argument("--p4c", type=pathlib.Path, required=True, help="p4c's source")
    parser.add_argument("--only", default=",".join(PROGRAMS), help="which programs")
    parser.add_argument("--rounds", type=int, default=5, help="how often rows take turns")
    parser.add_argument("--keep", type=pathlib.Path, help="write entries and frames to this folder, and keep them")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--out", type=pathlib.Path, help="write the medians and what was measured when and where as JSON")
    arguments = parser.parse_args()
    load, results = os.getloadavg()[0], {}
    with tempfile.TemporaryDirectory() as name:
        folder = arguments.keep or pathlib.Path(name)
        folder.mkdir(exist_ok=True)
        if not arguments.json:
            print(f"{'program':<8} {'Mpps in':>8} {'out':>6} {'wanted':>7} {'updates':>8} {'100,000 flows':>14}")
        for name in arguments.only.split(","):
            bench = Bench(arguments.binary, arguments.p4c, name, folder)
            bench.check()
            rates = {row: [] for row in FLOWS}
            for _ in range(arguments.rounds):
                for row in rates:
                    rates[row].append(bench.measure(row))
            result = {
                row: {way: statistics.median(rate[way] for rate in each) for way in ("in", "out")}
                for row, each in rates.items()
            }
            results[name] = result
            if not arguments.json:
                print(line(name, bench.module.WANTED, result), flush=True)
    if arguments.json:
        print(json.dumps(results, indent=2))
    if arguments.out:
        record = circumstances(arguments.binary, load) | {"rounds": arguments.rounds, "packets_per_s": results}
        arguments.out.write_text(json.dumps(record, indent=1) + "\n")


def line(name, wanted, result):
    one = result["flows_1000"]
    updates, flows = (result[row]["in"] / one["in"] for row in ("updates", "flows_100000"))
    return (
        f"{name:<8} {one['in'] / 1e6:>8.2f} {one['out'] / 1e6:>6.2f} {wanted[0]:>7} "
        f"{updates:>8.2f} {flows:>14.2f}"
    )


if __name__ == "__main__":
    main()
