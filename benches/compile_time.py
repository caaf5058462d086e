#!/usr/bin/env python3
"""Measures how long `forebay build` takes for large programs, and writes benches/compile_time.json.

    benches/compile_time.py [--forebay target/release/forebay] [--rounds 5] [--out FILE]

Each program is large in one dimension: const entries of one table, or tables in a row. `cargo xtask figures` copies the
record to the documents. When a program takes more processor time than its bound, which is for an idle machine, the exit
code is 1.
"""

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from record import ROOT, machine, output

PROGRAM = """
#include <core.p4>
#include <v1model.p4>
header data_t { bit<48> address; bit<16> kind; }
struct headers_t { data_t data; }
struct metadata_t { bit<9> port; }
parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start { packet.extract(hdr.data); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action forward(bit<9> port) { standard.egress_spec = port; }
    action drop() { mark_to_drop(standard); }
TABLES
    apply {
APPLY
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"""


def program(tables, apply):
    return PROGRAM.replace("TABLES", "\n".join(tables)).replace("APPLY", "\n".join(apply))


def const_entries(count):
    entries = "\n".join(f"            {address}: forward({address % 500});" for address in range(count))
    table = f"    table t {{ key = {{ hdr.data.address: exact; }} actions = {{ forward; drop; }}\n        const entries = {{\n{entries}\n        }}\n    }}"
    return program([table], ["        t.apply();"])


def tables(count):
    each = "    table t{} {{ key = {{ hdr.data.address: exact; hdr.data.kind: ternary; }} actions = {{ forward; drop; NoAction; }} }}"
    return program([each.format(index) for index in range(count)], [f"        t{index}.apply();" for index in range(count)])


#: The programs, and the seconds in which each must be built.
PROGRAMS = [
    ("200,000 const entries", const_entries(200_000), 3.0),
    ("1,000 tables", tables(1_000), 2.0),
]


def build(forebay, path, folder):
    """Seconds, seconds of processors, and megabytes of one build."""
    command = [forebay, "build", str(path), "-o", folder]
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - began
    if status != 0:
        sys.exit(f"error: {' '.join(map(str, command))} failed")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024


def measure(forebay, rounds):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, text, bound in PROGRAMS:
            path = Path(folder) / "program.p4"
            path.write_text(text)
            elapsed, processor, megabytes = zip(*(build(forebay, path, folder) for _ in range(rounds)), strict=True)
            row = {
                "program": name,
                "median_s": round(statistics.median(elapsed), 2),
                "slowest_s": round(max(elapsed), 2),
                "processor_s": round(statistics.median(processor), 2),
                "bound_s": bound,
                "memory_mb": max(megabytes),
            }
            print(f"{name}: {row['median_s']} s, of processors {row['processor_s']} s (bound {bound} s), {row['memory_mb']} MB")
            rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forebay", default=ROOT / "target/release/forebay", type=Path)
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--out", type=Path, default=ROOT / "benches/compile_time.json")
    arguments = parser.parse_args()
    if not arguments.forebay.exists():
        sys.exit(f"error: {arguments.forebay} is missing: make build")
    record = {
        "date": datetime.date.today().isoformat(),
        "version": output(arguments.forebay, "--version").strip(),
        "machine": machine(),
        "load": round(os.getloadavg()[0], 1),
        "rounds": arguments.rounds,
        "programs": measure(arguments.forebay, arguments.rounds),
    }
    arguments.out.write_text(json.dumps(record, indent=1) + "\n")
    if any(row["processor_s"] > row["bound_s"] for row in record["programs"]):
        sys.exit(1)


if __name__ == "__main__":
    main()
