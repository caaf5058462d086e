#!/usr/bin/env python3
"""Measures all figures of README.md and docs/ in one run, and writes benches/history/DATE.json.

    benches/record.py [--forebay target/release/forebay] [--rounds 7] [--out FILE]

`cargo xtask figures` then writes the tables of the documents from the newest file there. As root the switch is measured
over veth beside the kernel's bridge too, and beside BMv2 where `simple_switch` is installed. It takes five minutes;
nothing else should run meanwhile.
"""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

#: Runs of `forebay bench`: their name in the record, and their arguments.
RUNS = {
    "usual": [],
    "interpreter_portfwd": ["portfwd", "--engine", "jit,interp"],
    "interpreter_l3fwd": ["l3fwd", "--entries", "1000", "--engine", "jit,interp"],
    "interpreter_iot_aggregate": ["iot_aggregate", "--engine", "jit,interp"],
    "flows": ["l3fwd", "--entries", "1000", "--flows", "1,1000,30000,100000"],
    "workers": ["l3fwd", "--entries", "1000", "--workers", "1,2"],
}


def output(*command):
    """What a command prints."""
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def machine():
    """The processor, and how many of them, and the kernel."""
    models = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.processor(),
        "processors": os.cpu_count(),
        "caches": caches(),
        "kernel": platform.release(),
    }


def caches():
    """Sizes of the first processor's caches, by level and type."""
    found = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind = (index / "level").read_text().strip(), (index / "type").read_text().strip()
        found[f"L{level} {kind}"] = (index / "size").read_text().strip()
    return found


def circumstances(forebay, load_before):
    """What a record says of itself: when, which version, which machine, and its load average before and now."""
    return {
        "date": datetime.date.today().isoformat(),
        "version": output(forebay, "--version").splitlines()[0],
        "machine": machine(),
        "load": [round(load, 1) for load in (load_before, os.getloadavg()[0])],
    }


def measure(forebay, rounds):
    """Every run, by name."""
    runs = {}
    for name, arguments in RUNS.items():
        print(f"forebay bench {' '.join(arguments)}", file=sys.stderr)
        runs[name] = json.loads(output(forebay, "bench", "--rounds", rounds, "--json", *arguments))
    return runs


def veth(forebay, rounds):
    """Port forwarding between veth pairs; none without root or a second processor."""
    if os.geteuid() != 0 or (os.cpu_count() or 1) < 2:
        print("veth is left out: it needs root and two processors", file=sys.stderr)
        return None
    print("benches/veth.py", file=sys.stderr)
    return json.loads(output(ROOT / "benches/veth.py", "--nice", "--json", "--rounds", rounds, "--forebay", forebay))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forebay", default=ROOT / "target/release/forebay", type=Path)
    parser.add_argument("--rounds", default=7, type=int)
    parser.add_argument("--out", type=Path, help="benches/history/DATE.json")
    arguments = parser.parse_args()
    if not arguments.forebay.exists():
        sys.exit(f"error: {arguments.forebay} is missing: make build")
    today = datetime.date.today().isoformat()
    record = {
        "date": today,
        "version": output(arguments.forebay, "--version").strip(),
        "machine": machine(),
        "rounds": arguments.rounds,
        "bench": measure(arguments.forebay, arguments.rounds),
        "veth": veth(arguments.forebay, max(3, arguments.rounds // 2)),
    }
    path = arguments.out or ROOT / f"benches/history/{today}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n")
    print(f"{path} is written; `cargo xtask figures` brings it into the documents", file=sys.stderr)


if __name__ == "__main__":
    main()
