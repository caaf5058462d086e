#!/usr/bin/env python3
"""Flow scalability and rule updates of every switch of the machine, between the same two veth pairs.

Rules are updated by a process over the switch's own protocol, of `forebay run`, of Open vSwitch and of DPDK's SWX
pipeline; of Forebay in memory too.
"""

import argparse
import contextlib
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

from switches import (
    NAMESPACE,
    NEAR,
    ROOT,
    Forebay,
    KernelBridge,
    KernelRouting,
    Nftables,
    OpenVSwitch,
    SwxPipeline,
    Wires,
    rules,
)

sys.path.insert(0, str(ROOT / "benches"))
from precedence import precedence

HERE = pathlib.Path(__file__).resolve().parent
KIND = "lpm"
ALL = ("memory", "forebay", "ovs", "linux", "nftables", "bridge", "swx")
TAKE_UPDATES = ("memory", "forebay", "ovs", "swx")
SIZES = {False: 1_000_000, True: 1_000}


def evaluate(options, what, kind, *words):
    """The result of `forebay tester evaluate` with rules of this kind."""
    with tempfile.TemporaryDirectory() as folder:
        text = (HERE / what / "evaluation.toml").read_text()
        changed = pathlib.Path(folder) / what
        changed.mkdir()
        (changed / "evaluation.toml").write_text(text.replace(f'"{KIND}"', f'"{kind}"'))
        words = [options.forebay, "tester", "evaluate", changed, "--json", *words]
        words += ["--quick"] if options.quick else []
        ran = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, text=True)
    if ran.returncode != 0:
        return {"error": f"code {ran.returncode}"}
    return json.loads(ran.stdout)


def between(name, count):
    """The words for the switch that runs now."""
    interfaces = [word for port, name in enumerate(NEAR, 1) for word in ("--interface", f"{port}@{name}")]
    return ["--name", name, "--rules", count, *interfaces]


def switches(options):
    makers = {
        "forebay": lambda: Forebay(options.forebay),
        "ovs": OpenVSwitch,
        "linux": KernelRouting,
        "nftables": Nftables,
        "bridge": KernelBridge,
        "swx": SwxPipeline,
    }
    return {name: make for name, make in makers.items() if name in options.only}


def kind_of(switch):
    """The kind of its rules, and of the frames that go to them: the same for all that have it."""
    return KIND if KIND in switch.kinds or not switch.kinds else switch.kinds[0]


def flows(options, make):
    """The results for one rule and for all, as one."""
    found = None
    for count in (1, SIZES[options.quick]):
        with Wires():
            switch = make()
            kind = kind_of(switch)
            try:
                switch.start(kind, rules(options.forebay, kind, count))
                print(f"{switch.name}, {count} rules", file=sys.stderr)
                part = evaluate(options, "flows", kind, *between(switch.name, count))
                if "error" in part:
                    return part
                if found is None:
                    found = part
                else:
                    found["flows"] += part["flows"]
            finally:
                switch.stop()
    return found


def updates(options, make):
    """The results for one rule, which a process updates."""
    with Wires():
        switch = make()
        kind = kind_of(switch)
        try:
            [rule] = rules(options.forebay, kind, 1)
            switch.start(kind, [rule])
            print(f"{switch.name}, updates", file=sys.stderr)
            control = ["ip", "netns", "exec", NAMESPACE, *switch.control(rule)]
            control = " ".join(shlex.quote(str(word)) for word in control)
            return evaluate(options, "updates", kind, *between(switch.name, 1), "--control", control)
        finally:
            switch.stop()


def measured(options):
    """The results of this run, by switch and part."""
    made = switches(options)
    found = {name: {} for name in ALL if name in options.only}
    if "flows" in options.parts:
        for name, make in made.items():
            found[name]["flows"] = flows(options, make)
    if "updates" in options.parts:
        for name, make in made.items():
            if name in TAKE_UPDATES:
                found[name]["updates"] = updates(options, make)
        if "memory" in options.only:
            found["memory"]["updates"] = evaluate(options, "updates_in_memory", KIND)
    return found


def recorded(options, found):
    """The record, in which the results of this run replace those of the same parts, unless they failed."""
    record = json.loads(options.out.read_text()) if options.out.exists() else {}
    for name, parts in found.items():
        record.setdefault(name, {}).update({part: result for part, result in parts.items() if "error" not in result})
    return record


def some_of(allowed):
    """A type of options: some of these words, with commas between."""

    def parse(text):
        chosen = text.split(",")
        if unknown := set(chosen) - set(allowed):
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: not one of {', '.join(allowed)}")
        return chosen

    return parse


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="in three minutes")
    parser.add_argument("--forebay", default=str(ROOT / "target/release/forebay"), metavar="BINARY")
    parser.add_argument("--only", type=some_of(ALL), default=list(ALL), metavar="SWITCH,...", help=", ".join(ALL))
    parts = ("flows", "updates")
    parser.add_argument("--parts", type=some_of(parts), default=list(parts), metavar="PART,...", help=", ".join(parts))
    parser.add_argument(
        "--out", type=pathlib.Path, metavar="FILE.json", help="a record, which keeps what is not measured now"
    )
    parser.add_argument("--nice", action="store_true", help="other programs on this machine wait meanwhile")
    options = parser.parse_args()
    with precedence() if options.nice else contextlib.nullcontext():
        found = measured(options)
    if options.out:
        options.out.write_text(f"{json.dumps(recorded(options, found))}\n")
    print(table(found))
    print(
        "\nAt least: the tester, the search's ceiling or the time for it was the limit. Not confirmed: the rate did not hold "
        "when it was offered again."
    )


def table(found):
    """The figures of a record as Markdown."""
    rows = [
        "| switch | case | bytes | NDR (kpps) | latency at one rate for all: p50 (µs) | p99 (µs) | lost |",
        "|---|---|---|---|---|---|---|",
    ]
    for of_switch in found.values():
        result = of_switch.get("flows", {})
        rows += [row(result["device"], flow) for flow in result.get("flows", [])]
    for of_switch in found.values():
        for update in of_switch.get("updates", {}).get("updates", []):
            response = update["response"]
            rows.append(
                f"\n{of_switch['updates']['device']}: response T4-T1 p50 {response['p50_ns'] / 1e6:.3f} ms, "
                f"p99 {response['p99_ns'] / 1e6:.3f} ms, {update['updates_per_s']:.0f} updates/s one by one, "
                f"{update['lost']} of {update['sent']} packets lost, {update['halves'] + update['stale']} under half of an update"
            )
    return "\n".join(rows)


def highest(flow):
    """The highest rate, and whether it is that of the switch: where something else was the limit, it is a lower bound."""
    if not flow["ndr_pps"]:
        return "none"
    notes = []
    if flow["limited_by"] not in ("device", "least-load"):
        notes.append("at least")
    if not flow["confirmed"]["is_confirmed"]:
        notes.append("not confirmed")
    rate = f"{flow['ndr_pps'] / 1e3:.0f}"
    return f"{rate} ({', '.join(notes)})" if notes else rate


def row(device, flow):
    load = flow["common"]
    rate = highest(flow)
    if load is None:
        return f"| {device} | {flow['case']['name']} | {flow['frame_bytes']} | {rate} | | | |"
    latency = load["latency"]
    # None when the machine disturbed every packet, or the sender was late.
    is_known = latency["count"] and not load["is_late"]
    p50, p99 = (f"{latency[key] / 1e3:.1f}" if is_known else "" for key in ("p50_ns", "p99_ns"))
    return f"| {device} | {flow['case']['name']} | {flow['frame_bytes']} | {rate} | {p50} | {p99} | {load['lost']} |"


if __name__ == "__main__":
    main()
