#!/usr/bin/env python3
"""Table 1 of the P4VNF paper: how long a network function works on a packet, by use case, beside the published 98 to 187 µs.

    experiments/p4vnf-table-1/measure.py [--quick] [--kind packet:] [--functions]

Each function carries the paper's load, 70,000 packets a second of 1,448 bytes, and of 64 bytes. Inside is from the poll that receives a
packet to the end of that poll, when it has been given to its port, as the function's own statistics say: what the paper's in-band
telemetry reports. Beside it the tester's one-way latency, which also has both veth pairs and the wake-ups. Writes result.json and result.md. Needs root.
With --functions: the functions that are no use cases of the paper, into functions.json and functions.md.
"""

import argparse
import datetime
import json
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "p4vnf-node"))
from node import cases, functions, machine, node, size_of  # noqa: E402

PPS = 70_000
SIZES = [64, 1448]
PUBLISHED = "98 to 187"


# How long a trial lasts. The functions are larger than the use cases: some get their fastest code, compiled on the processor that carries their packets,
# after a second or two.
SECONDS, SECONDS_OF_FUNCTIONS = 1, 5

KEYS = ["half_ns", "percent_99_ns", "latency_p50_ns", "latency_p99_ns"]


def trial(place, case, size, seconds):
    """One round of a use case: times inside, and of the tester."""
    folder, defines, entries, traffic = case
    with place.function(folder, defines, entries):
        results = place.run_test(traffic(size), size, PPS, seconds)
    stream = results["trials"][0]["streams"][0]
    path = stream["paths"][0]
    found = {key: place.last["inside"][key] for key in KEYS[:2]}
    latency = path["latency_all"]
    return found | {
        "latency_p50_ns": latency["p50_ns"],
        "latency_p99_ns": latency["p99_ns"],
        "pps": stream["sent_pps"],
        "lost": path["loss_ratio"],
    }


def measured(kind, seconds, rounds, names, all_cases):
    """A row for each use case and size: the medians of rounds, in which the use cases take turns."""
    found = {}
    with node(kind) as place:
        for _ in range(rounds):
            for name, case in all_cases.items():
                if names and name not in names:
                    continue
                for size in (size_of(name, size) for size in SIZES):
                    found.setdefault((name, size), []).append(trial(place, case, size, seconds))
                    print(name, size, found[name, size][-1], flush=True)
    rows = []
    for (name, size), trials in found.items():
        row = {"case": name, "bytes": size, "rounds": len(trials)}
        row |= {key: statistics.median(one[key] for one in trials) for key in (*KEYS, "pps", "lost")}
        row["half_least_ns"] = min(one["half_ns"] for one in trials)
        row["half_most_ns"] = max(one["half_ns"] for one in trials)
        rows.append(row)
    return rows


ABOUT_CASES = "L2 and L3 are programs of `programs/`; the functions that are not among the paper's use cases are in [functions.md](functions.md) (`measure.py --functions`)."
ABOUT_FUNCTIONS = """These functions are not among the paper's use cases. iot_mapping forwards what it does not map, int what no watch list matches; l2_switch floods.
int is compiled twice, since its first code leaves out ways through the parser that packets take. The second time takes 0.7 s of the processor, which the worker
shares here: for more than a second the worker waits half of the time, packets wait 4 to 6 ms, and come to it in bursts of some hundred. The 99th percentiles of int
are those of that second."""


def report(found, about):
    lines = [
        "# P4VNF, Table 1: packet processing delay",
        "",
        'Published: "P4in5G: Flexible Data Plane Pipelines for 5G", ELTE, measured in 5TONIC with T4P4S in a virtual machine: 98 to 187 µs for all use cases, the UPF',
        "above the others. Written by `experiments/p4vnf-table-1/measure.py`.",
        "",
        f"{PPS:,} packets a second, one worker, ports over veth; medians of {found['rows'][0]['rounds']} rounds, in brackets the least and the most of them. Measured on {found['date']}:",
        f"{found['machine']}. Switch, tester and whatever else runs share the processors: the 99th percentiles have waits for one in them.",
        "",
        "| use case | bytes | published, µs | measured inside, µs: half of all packets up to | 99 % up to | one-way latency, µs: median | 99 % | lost |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in found["rows"]:
        inside, inside_99, latency, latency_99 = (f"{row[key] / 1e3:.1f}" for key in KEYS)
        span = f"({row['half_least_ns'] / 1e3:.1f} to {row['half_most_ns'] / 1e3:.1f})"
        lines.append(
            f"| {row['case']} | {row['bytes']} | *{PUBLISHED}* | {inside} {span} | {inside_99} | {latency} | {latency_99} | {100 * row['lost']:.2f} % |"
        )
    lines += [
        "",
        "Inside is from the poll that receives a packet to the end of that poll: it contains the time that the packets of the same burst take. The paper",
        "does not say between which points its telemetry measures. Of its six frame sizes only the least and the largest are measured: the time hardly depends on them.",
        about,
        "",
    ]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kind", default="", help="the kind of port in front of an interface's name: packet: or xdp:")
    parser.add_argument("--quick", action="store_true", help="one round, nothing is written")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--case", action="append", default=[])
    parser.add_argument("--functions", action="store_true", help="the functions that are no use cases of the paper")
    options = parser.parse_args()
    what, all_cases, about, seconds = ("result", cases(), ABOUT_CASES, SECONDS)
    if options.functions:
        what, all_cases, about, seconds = ("functions", functions(), ABOUT_FUNCTIONS, SECONDS_OF_FUNCTIONS)
    rows = measured(options.kind, seconds, 1 if options.quick else options.rounds, options.case, all_cases)
    found = {"date": f"{datetime.date.today()}", "machine": machine(), "rows": rows}
    if options.quick:
        print(report(found, about))
    else:
        (HERE / f"{what}.json").write_text(json.dumps(found, indent=1) + "\n")
        (HERE / f"{what}.md").write_text(report(found, about))


if __name__ == "__main__":
    main()
