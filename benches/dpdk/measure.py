#!/usr/bin/env python3
"""DPDK beside Forebay: packet rates of `dpdk-testpmd`, of DPDK's SWX pipeline and of `forebay bench` on this machine.

Everything is in memory, on one core, with frames of 64 bytes; no interface and no huge page is needed. Rates are
packets a second of the forwarding thread's own time, the median of several samples.

Needs root, Debian's packages dpdk, dpdk-dev, libdpdk-dev, gcc, make, pkg-config, and for the pipeline DPDK's source
package, which apt fetches (its example program `pipeline`, and a header that is not installed).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import swx
import testpmd
from process import Missing

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGES = "dpdk dpdk-dev libdpdk-dev gcc make pkg-config xz-utils"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forebay", type=Path, default=REPOSITORY / "target/release/forebay", help="the command")
    parser.add_argument("--folder", type=Path, default=REPOSITORY / "target/dpdk", help="for what is built and generated")
    parser.add_argument("--samples", type=int, default=5, help="samples of a second each (default 5)")
    parser.add_argument("--rows", default="testpmd,portfwd,l2fwd,l3fwd", help="what to measure")
    parser.add_argument("--entries", default="2,1000,1000000", help="entries of l2fwd and l3fwd (default 2,1000,1000000)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args()


def check_tools(args):
    """Raises `Missing` with everything that is missing."""
    tools = ["dpdk-testpmd", "stdbuf", "gcc", "make", "pkg-config", "tar"]
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if shutil.which("pkg-config") and subprocess.run(["pkg-config", "--exists", "libdpdk"]).returncode:
        missing.append("libdpdk (for pkg-config)")
    if missing:
        raise Missing(f"{', '.join(missing)} not found; install them: apt-get install {PACKAGES}")
    if not args.forebay.exists():
        raise Missing(f"{args.forebay} does not exist; build it: cargo build --release -p forebay-cli")
    if os.geteuid() != 0:
        raise Missing("DPDK needs root")


def forebay(args, program, entries):
    """Packets a second of the compiled program and of its twin."""
    command = [args.forebay, "bench", program, "--json", "--rounds", str(args.samples)]
    if program != "portfwd":
        command += ["--entries", str(entries)]
    output = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout
    (row,) = json.loads(output)["rows"]
    rates = {contender["contender"]: contender["received_per_s"] for contender in row["contenders"]}
    return rates["jit"], rates["hand-written"]


def rows(args):
    """Each row of the table: what, entries, DPDK's rate, Forebay's, the twin's; none where there is none."""
    wanted = args.rows.split(",")
    if "testpmd" in wanted:
        for name, rate in testpmd.rates(args.samples):
            yield name, None, rate, None, None
    pipeline = None
    for program in [row for row in wanted if row != "testpmd"]:
        pipeline = pipeline or swx.build(args.folder)
        counts = [2] if program == "portfwd" else [int(count) for count in args.entries.split(",")]
        for entries in counts:
            if program == "l3fwd" and entries > swx.ROUTES_MAX:
                continue
            rate = swx.rate(pipeline, args.folder, program, entries, args.samples)
            yield (f"SWX {program}", entries, rate, *forebay(args, program, entries))


def print_row(name, entries, dpdk, jit, twin):
    def mega(rate):
        return "-" if rate is None else f"{rate / 1e6:.2f}"

    ratio = "-" if jit is None else f"{jit / dpdk:.2f}"
    entries = "-" if entries is None else entries
    print(f"{name:<34} {entries:>8} {mega(dpdk):>10} {mega(jit):>12} {mega(twin):>13} {ratio:>14}", flush=True)


def main():
    args = arguments()
    try:
        check_tools(args)
        args.folder.mkdir(parents=True, exist_ok=True)
        if not args.json:
            print(f"{'Mpps, one core':<34} {'entries':>8} {'DPDK':>10} {'Forebay jit':>12} {'hand-written':>13} {'Forebay / DPDK':>14}")
        table = []
        for row in rows(args):
            table.append(row)
            if not args.json:
                print_row(*row)
    except Missing as missing:
        sys.exit(f"measure.py: {missing}")
    if args.json:
        names = ["name", "entries", "dpdk_per_s", "forebay_per_s", "hand_written_per_s"]
        print(json.dumps([dict(zip(names, row)) for row in table], indent=2))


if __name__ == "__main__":
    main()
