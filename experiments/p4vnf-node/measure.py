#!/usr/bin/env python3
"""Scenario 1 of the P4VNF paper, and the chain of scenario 2: throughput and delay of a network function for each use case and frame size, beside the published
figures, and the kernel's bridge between the same interfaces.

    experiments/p4vnf-node/measure.py [--quick] [--kind packet:] [--case NAME]...
    experiments/p4vnf-node/measure.py --ceiling [--rounds 3]        # what this machine carries over veth at most, in a few minutes

Writes result.json or ceiling.json, and result.md of both. Needs root. Processor 0 has the function, processor 1 the tester.

The ceiling is measured in turns with port forwarding, under the same load:

    a wire            no function: the tester alone, its ports are the ends of one veth pair
    XDP redirect      the kernel in the function's place, on its processor: frames go from interface to interface without a copy
    bridge, steered   the kernel's bridge, with what comes handed to the function's processor (receive packet steering)
    bridge            the same in the tester's context
"""

import argparse
import datetime
import json
import os
import pathlib
import statistics

from node import SIZES, cases, machine, node, size_of

HERE = pathlib.Path(__file__).resolve().parent
PUBLISHED_PPS = 70_000
BRIDGE = "the kernel's bridge"
CHAIN = "PortFWD, a chain of two"
WIRE, REDIRECT, STEERED, CONTEXT = CEILINGS = ["a wire", "XDP redirect", "the bridge, steered", "the bridge"]
ONE = "PortFWD"
CEILING_SIZES = [64, 512, 1448]


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


def ceiling(kind, rounds):
    """What the machine carries without P4, and with it in turns: contender -> size -> packets a second by round; none where no rate is known."""
    sizes, load = CEILING_SIZES, [round(os.getloadavg()[0], 1)]
    rates = {name: {str(size): [] for size in sizes} for name in [*CEILINGS, ONE]}
    with node(kind) as place:
        folder, defines, entries, traffic = cases()[ONE]
        contexts = [place.wire, place.redirect, place.steered_bridge, place.bridge, lambda: place.function(folder, defines, entries)]
        for _ in range(rounds):
            for name, context in zip(rates, contexts):
                print(name, flush=True)
                with context() as ends:
                    found = place.measure(traffic, sizes, ends if name == WIRE else ("t1", "t2"))
                for size, rate in zip(sizes, found):
                    rates[name][str(size)].append(rate["pps"])
    return {
        "date": f"{datetime.date.today()}",
        "machine": machine(),
        "load": [*load, round(os.getloadavg()[0], 1)],
        "rounds": rounds,
        "sizes": sizes,
        "rates": rates,
    }


def ceiling_report(found):
    """Its table in Markdown."""

    def cell(rates):
        known = [rate for rate in rates if rate]
        return f"{statistics.median(known) / 1e3:.0f}" if known else "none"

    def ratio(rates, others):
        """Of rounds in which both are known."""
        both = [rate / other for rate, other in zip(rates, others) if rate and other]
        return f"{statistics.median(both):.2f}" if both else ""

    sizes, rates = [str(size) for size in found["sizes"]], found["rates"]
    rows = [f"| {name} | " + " | ".join(cell(rates[name][size]) for size in sizes) + " |" for name in rates]
    for name in CEILINGS:
        rows.append(f"| *{ONE} to {name}* | " + " | ".join(ratio(rates[ONE][size], rates[name][size]) for size in sizes) + " |")
    return [
        "## The ceiling of veth on this machine",
        "",
        f"Measured on {found['date']}: {found['machine']}; medians of {found['rounds']} rounds in which all took turns, thousands of packets a second; the load of the machine was",
        f"{found['load'][0]} before and {found['load'][1]} after. *A wire* is the tester alone: both its ports are the ends of one veth pair, so it is what the tester can show. *XDP redirect* hands",
        "frames on from interface to interface in the kernel's own threads on the function's processor, without a copy. The *steered* bridge forwards on that processor too, the other",
        "in the tester's context.",
        "",
        "| | " + " | ".join(f"{size} B" for size in sizes) + " |",
        "|---|" + "---|" * len(sizes),
        *rows,
        "",
    ]


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
    path = HERE / "ceiling.json"
    if path.exists():
        lines += ceiling_report(json.loads(path.read_text()))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kind", default="", help="the kind of port in front of an interface's name: packet: or xdp:")
    parser.add_argument("--quick", action="store_true", help="two frame sizes, nothing is written")
    parser.add_argument("--case", action="append", default=[], help="only these use cases")
    parser.add_argument("--ceiling", action="store_true", help="what this machine carries over veth at most")
    parser.add_argument("--rounds", type=int, default=3, help="of --ceiling")
    options = parser.parse_args()
    if options.ceiling:
        found = ceiling(options.kind, options.rounds)
        (HERE / "ceiling.json").write_text(json.dumps(found, indent=1) + "\n")
        (HERE / "result.md").write_text(report(json.loads((HERE / "result.json").read_text())))
        return
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
