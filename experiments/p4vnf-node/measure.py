#!/usr/bin/env python3
"""Scenario 1 of the P4VNF paper, and the chain of scenario 2: throughput and delay of a network function for each use case and frame size, beside the published
figures and the ceiling of the transport: the kernel's bridge between the same interfaces.

    experiments/p4vnf-node/measure.py [--quick] [--kind packet:] [--case NAME]...

Writes result.json and result.md. Needs root. Processor 0 has the function, processor 1 the tester.
"""

import argparse
import datetime
import json
import pathlib

from node import SIZES, cases, machine, node, size_of

HERE = pathlib.Path(__file__).resolve().parent
PUBLISHED_PPS = 70_000
BRIDGE = "the kernel's bridge"
CHAIN = "PortFWD, a chain of two"


def measured(kind, sizes, names):
    """Use case -> what `forebay vnf measure` says of each size."""
    found = {}
    with node(kind) as place:
        all_cases = cases()
        if not names or BRIDGE in names:
            print(BRIDGE, flush=True)
            with place.bridge():
                found[BRIDGE] = place.measure(all_cases["PortFWD"][3], sizes)
        for name, (folder, defines, entries, traffic) in all_cases.items():
            if names and name not in names:
                continue
            print(name, flush=True)
            with place.function(folder, defines, entries):
                found[name] = place.measure(traffic, [size_of(name, size) for size in sizes])
        if not names or CHAIN in names:
            print(CHAIN, flush=True)
            folder, defines, entries, traffic = all_cases["PortFWD"]
            with place.chain(folder, defines, entries):
                found[CHAIN] = place.measure(traffic, sizes)
    return found


def microseconds(latency):
    return f"{latency['p50_ns'] / 1e3:.0f} / {latency['p99_ns'] / 1e3:.0f}" if latency else ""


def report(found):
    """The tables in Markdown."""
    sizes = found["sizes"]
    header = "| use case | " + " | ".join(f"{size} B" for size in sizes) + " |"
    rule = "|---|" + "---|" * len(sizes)
    published = "| *published, all use cases* | " + " | ".join(f"{PUBLISHED_PPS / 1e3:.0f}" for _ in sizes) + " |"

    def table(value, *first):
        rows = [f"| {name} | " + " | ".join(value(size) for size in row) + " |" for name, row in found["cases"].items()]
        return [header, rule, *first, *rows, ""]

    published_mbps = (
        "| *published, all use cases* | " + " | ".join(f"{PUBLISHED_PPS * size * 8 / 1e6:.0f}" for size in sizes) + " |"
    )
    lines = [
        "# P4VNF: a node with three interfaces, and a chain of two functions",
        "",
        'Published: "P4in5G: Flexible Data Plane Pipelines for 5G", ELTE, measured in 5TONIC with T4P4S in a virtual machine over virtio: 70,000 packets a second whatever',
        "the program and the frame size (35 Mbit/s at 64 bytes, 800 Mbit/s at 1448). Written by `experiments/p4vnf-node/measure.py`.",
        "",
        f"Measured on {found['date']}: {found['machine']}; one worker, ports over veth, the tester on the other processor. At most 0.5 % is lost. The machine did other work",
        "too, and the tester takes frames from the same kernel: rates are lower bounds of what the function carries.",
        "",
        "## Thousands of packets a second",
        "",
        *table(lambda size: f"{size['pps'] / 1e3:.0f}" if size["pps"] else "none", published),
        "## Mbit/s of frames",
        "",
        *table(lambda size: f"{size['mbps']:.0f}" if size["pps"] else "none", published_mbps),
        "## One-way delay with 200 packets a second, µs: median / 99 %",
        "",
        *table(lambda size: microseconds(size["idle"])),
        "## One-way delay at nine tenths of the rate, µs: median / 99 %",
        "",
        "The published round trips are in a figure, under full load: some milliseconds, with differences of 0.3 to 6 ms between use cases.",
        "",
        *table(lambda size: microseconds(size["loaded"])),
        "The published delays are round trips, those here one-way: the tester has both ends. A round trip passes the function twice, and wakes both hosts.",
        "The chain's functions share a processor. The UPF's uplink is measured with 128 bytes in place of 64, since a tunnelled packet is longer.",
        "The paper's third interface, for management, carries no packets of the function and is left out. The bridge is no ceiling of the transport: it forwards in the tester's",
        "context, on the tester's processor, which by `forebay vnf measure` limits nearly all rates here; a function has a processor of its own.",
        "",
    ]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kind", default="", help="the kind of port in front of an interface's name: packet: or xdp:")
    parser.add_argument("--quick", action="store_true", help="two frame sizes, nothing is written")
    parser.add_argument("--case", action="append", default=[], help="only these use cases")
    options = parser.parse_args()
    sizes = [64, 1448] if options.quick else SIZES
    found = {
        "date": f"{datetime.date.today()}",
        "machine": machine(),
        "sizes": sizes,
        "cases": measured(options.kind, sizes, options.case),
    }
    if options.quick or options.case:
        print(report(found))
    else:
        (HERE / "result.json").write_text(json.dumps(found, indent=1) + "\n")
        (HERE / "result.md").write_text(report(found))


if __name__ == "__main__":
    main()
