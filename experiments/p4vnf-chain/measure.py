#!/usr/bin/env python3
"""Scenario 2 of the P4VNF paper: a chain of two functions over each transport between them, beside one function and the transport's ceiling.

    experiments/p4vnf-chain/measure.py [--rounds 3] [--quick] [--no-veth]

Writes result.json and result.md. Needs root, dpdk-testpmd and two processors. The functions share processor 0; processor 1 has the peer.

    veth          tester ═ veth ═ A ═ veth ═ B ═ veth ═ tester               ceiling: the kernel's bridge
    memif         testpmd ═ memif ═ A ═ memif ═ B ═ memif ═ testpmd          ceiling: testpmd in the function's place
    vhost-user    guest ═ vhost-user ═ A ═ guest ═ B ═ vhost-user ═ guest    ceiling: testpmd in the function's place

A guest is DPDK's virtio driver in testpmd (net_virtio_user): a driver in a machine that QEMU interprets would measure QEMU. All three are
ports of one testpmd, which hands the frames on. Over shared memory frames go round, none is lost, and the slowest sets the pace; over veth the rate is
the largest with at most 0.5 % lost (experiments/p4vnf-node).
"""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
for folder in ("benches", "experiments/p4vnf-node"):
    sys.path.insert(0, str(ROOT / folder))
import node  # noqa: E402
import shared_memory as shared  # noqa: E402
from precedence import precedence  # noqa: E402

SIZES = [64, 512, 1448]
PUBLISHED_PPS = 70_000
CEILING, ONE, CHAIN = "ceiling", "one function", "a chain of two"
VHOST, MEMIF, VETH = "vhost-user", "memif", "veth"


def vhost_chain(arguments, folder):
    """Ports 0 and 1 of the peer are the chain's ends, 2 and 3 the guest between the functions."""
    paths = [f"{folder}/{i}.sock" for i in range(4)]
    first, second = (f"vhost:{paths[0]}", f"vhost:{paths[2]}"), (f"vhost:{paths[3]}", f"vhost:{paths[1]}")
    rings = f"queue_size=1024,packed_vq={int(arguments.packed)}"
    devices = [f"net_virtio_user{i},path={path},{rings}" for i, path in enumerate(paths)]
    start = lambda ports, name: shared.forebay(arguments.forebay, folder, *ports, name, is_busy=False)  # noqa: E731
    with start(first, "first") as one, start(second, "second") as two:
        shared.wait_for(folder, 4)
        with shared.testpmd("peer", folder, shared.PEER_PROCESSOR, devices, [f"--txpkts={arguments.size}"]) as peer:
            wait_up(peer)
            peer.say("start tx_first " + str(shared.BURSTS))
            return at_the_ends(peer, [one, two], arguments.seconds)


def wait_up(peer):
    """Until all four ports are up."""
    for _ in range(200):
        if peer.answer("show port summary all", r"(?m)^\d+ +\S+ +\S+ +\S+ +(up|down)") == ["up"] * 4:
            return
    raise SystemExit(f"the ports do not come up:\n{peer.text()[-2000:]}")


def at_the_ends(peer, switches, seconds):
    """As shared.measure, of the frames that come to ports 0 and 1."""
    received = lambda: sum(map(int, peer.answer("show port stats all", r"RX-packets: (\d+)")[:2]))  # noqa: E731
    peer.received = received
    return shared.measure(peer, switches, seconds)


CONTENDERS = {
    MEMIF: {CEILING: shared.memif_testpmd, ONE: shared.memif_forebay, CHAIN: shared.memif_chain},
    VHOST: {CEILING: shared.vhost_testpmd, ONE: shared.vhost_forebay, CHAIN: vhost_chain},
}


def over_shared_memory(rounds, seconds, sizes):
    """Transport -> what -> size -> packets a second, and of the processor time of the function that takes more of it, by round."""
    found = {transport: {what: {size: [] for size in sizes} for what in CONTENDERS[transport]} for transport in CONTENDERS}
    for number in range(rounds):
        for transport, contenders in CONTENDERS.items():
            for size in sizes:
                for what, measure in contenders.items():
                    options = argparse.Namespace(
                        forebay=pathlib.Path(node.FOREBAY), packed=False, size=size, seconds=seconds, bursts=shared.BURSTS
                    )
                    with tempfile.TemporaryDirectory() as folder:
                        rate, own = measure(options, folder)
                    found[transport][what][size].append([round(rate), round(min(own))])
                    print(f"round {number + 1}: {transport}, {what}, {size} B: {rate:,.0f}", flush=True)
    return found


def over_veth(sizes):
    """What -> size -> the one rate that was found."""
    found = {}
    folder, defines, entries, traffic = node.cases()["PortFWD"]
    with node.node("") as place:
        places = {
            CEILING: place.bridge,
            ONE: lambda: place.function(folder, defines, entries),
            CHAIN: lambda: place.chain(folder, defines, entries),
        }
        for what, context in places.items():
            with context():
                rates = place.measure(traffic, sizes)
            found[what] = {size: [[round(rate["pps"] or 0), None]] for size, rate in zip(sizes, rates)}
    return {VETH: found}


def median(rounds, which=0):
    return statistics.median(values[which] for values in rounds)


def ratio(rounds, others, which=0):
    return statistics.median(values[which] / max(other[which], 1) for values, other in zip(rounds, others))


def report(record):
    """The tables in Markdown."""
    sizes = record["sizes"]
    lines = [
        "# P4VNF: a chain of two functions, by transport",
        "",
        "Published: a chain of two functions carries as much as one, 70,000 packets a second over virtio, with a longer round trip. Written by",
        "`experiments/p4vnf-chain/measure.py`, whose first lines draw the three chains.",
        "",
        f"Measured on {record['date']}: {record['machine']}; port forwarding, medians of {record['rounds']} rounds over shared memory, one search over veth. Both functions",
        f"of a chain share a processor. The load of the machine was {record['load'][0]} before and {record['load'][1]} after.",
        "",
        "## Thousands of packets a second",
        "",
        "| transport | what | " + " | ".join(f"{size} B" for size in sizes) + " |",
        "|---|---|" + "---|" * len(sizes),
        "| virtio | *published, one function or two* | " + " | ".join(f"{PUBLISHED_PPS / 1e3:.0f}" for _ in sizes) + " |",
    ]
    for transport, rows in record["transports"].items():
        for what, by_size in rows.items():
            cells = " | ".join(f"{median(by_size[size]) / 1e3:,.0f}" for size in sizes)
            lines.append(f"| {transport} | {what} | {cells} |")
    lines += [
        "",
        "## Ratios, round by round",
        "",
        "The last row of a transport is what each function of the chain hands on in a second of its own processor time, to what one alone does: with two",
        "processors the functions of a chain cannot run at the same time. One function alone never waits in the kernel; those of a chain do, so that the other runs.",
        "The bridge is no ceiling of veth: it forwards in the tester's context, on the tester's processor. The guest between the functions of vhost-user is DPDK's virtio driver in the same testpmd, in no virtual machine.",
        "",
        "| transport | ratio | " + " | ".join(f"{size} B" for size in sizes) + " |",
        "|---|---|" + "---|" * len(sizes),
    ]
    for transport, rows in record["transports"].items():
        pairs = [("one function to the ceiling", ONE, CEILING, 0), ("the chain to one function", CHAIN, ONE, 0)]
        if transport != VETH:
            pairs.append(("the chain to one function, processor time", CHAIN, ONE, 1))
        for name, what, other, which in pairs:
            cells = " | ".join(f"{ratio(rows[what][size], rows[other][size], which):.2f}" for size in sizes)
            lines.append(f"| {transport} | {name} | {cells} |")
    return "\n".join([*lines, ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--quick", action="store_true", help="one size and one round; nothing is written")
    parser.add_argument("--no-veth", action="store_true", help="only shared memory; nothing is written")
    options = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("needs root: it makes network namespaces")
    sizes, rounds = (SIZES[:1], 1) if options.quick else (SIZES, options.rounds)
    load = [os.getloadavg()[0]]
    transports = {} if options.no_veth else over_veth(sizes)
    with precedence():
        transports |= over_shared_memory(rounds, options.seconds, sizes)
    load.append(os.getloadavg()[0])
    record = {
        "date": f"{datetime.date.today()}",
        "machine": node.machine(),
        "sizes": sizes,
        "rounds": rounds,
        "load": [round(one, 1) for one in load],
        "transports": transports,
    }
    if options.quick or options.no_veth:
        print(report(record))
    else:
        (HERE / "result.json").write_text(json.dumps(record, indent=1) + "\n")
        (HERE / "result.md").write_text(report(record))


if __name__ == "__main__":
    main()
