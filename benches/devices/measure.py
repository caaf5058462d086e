#!/usr/bin/env python3
"""Flow scalability and rule updates of every switch of the machine, between the same two veth pairs.

sudo benches/devices/measure.py [--quick] [--forebay BINARY] [--only forebay,ovs,linux,nftables,bridge] [--out FILE.json]
"""

import argparse
import json
import pathlib
import shlex
import subprocess
import sys

from switches import (
    NAMESPACE,
    NEAR,
    ROOT,
    Forebay,
    KernelBridge,
    KernelRouting,
    Nftables,
    OpenVSwitch,
    Wires,
    rules,
)

HERE = pathlib.Path(__file__).resolve().parent
KIND = "lpm"
SIZES = {False: 10_000, True: 1_000}


def evaluate(options, what, name, count, control=""):
    """The result of `forebay tester evaluate` for the switch that runs now."""
    words = [options.forebay, "tester", "evaluate", HERE / what, "--name", name, "--rules", count, "--json"]
    for port, interface in enumerate(NEAR, 1):
        words += ["--interface", f"{port}@{interface}"]
    words += ["--control", control] if control else []
    words += ["--quick"] if options.quick else []
    ran = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, text=True)
    if ran.returncode != 0:
        return {"error": f"code {ran.returncode}"}
    return json.loads(ran.stdout)


def switches(options):
    makers = {
        "forebay": lambda: Forebay(options.forebay),
        "ovs": OpenVSwitch,
        "linux": KernelRouting,
        "nftables": Nftables,
        "bridge": KernelBridge,
    }
    return {name: make for name, make in makers.items() if name in options.only}


def flows(options, make):
    """The results for one rule and for all, as one."""
    found = None
    for count in (1, SIZES[options.quick]):
        with Wires():
            switch = make()
            try:
                switch.start(KIND, rules(options.forebay, KIND, count))
                print(f"{switch.name}, {count} rules", file=sys.stderr)
                part = evaluate(options, "flows", switch.name, count)
                if found is None or "error" in found:
                    found = part
                else:
                    found["flows"] += part.get("flows", [])
            finally:
                switch.stop()
    return found


def updates(options, make):
    """Open vSwitch alone takes updates from a process here: for Forebay they are measured in memory, by its own client."""
    with Wires():
        switch = make()
        try:
            [rule] = rules(options.forebay, KIND, 1)
            switch.start(KIND, [rule])
            rule["of_priority"] = 1 + rule["mask"].bit_count()
            control = ["ip", "netns", "exec", NAMESPACE, HERE / "openflow.py", switch.bridge, json.dumps(rule)]
            control = " ".join(shlex.quote(str(word)) for word in control)
            return evaluate(options, "updates", switch.name, 1, control)
        finally:
            switch.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--forebay", default=str(ROOT / "target/release/forebay"))
    parser.add_argument(
        "--only", type=lambda text: text.split(","), default=["forebay", "ovs", "linux", "nftables", "bridge"]
    )
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    found = {name: {"flows": flows(options, make)} for name, make in switches(options).items()}
    if "ovs" in found:
        found["ovs"]["updates"] = updates(options, OpenVSwitch)
    text = json.dumps(found)
    if options.out:
        options.out.write_text(f"{text}\n")
    print(table(found))
    print("\nAt least: the tester could not send more. Not confirmed: the rate did not hold when it was offered again.")


def table(found):
    """The figures of a record as Markdown."""
    rows = [
        "| switch | case | bytes | NDR (kpps) | latency at 90 % of it: p50 (µs) | p99 (µs) | lost |",
        "|---|---|---|---|---|---|---|",
    ]
    for of_switch in found.values():
        result = of_switch["flows"]
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
    """The highest rate, and whether it is that of the switch: a tester that is late finds a lower bound, or nothing."""
    if not flow["ndr_pps"]:
        return "none"
    notes = []
    if flow["limited_by"] == "tester":
        notes.append("at least")
    if not flow["confirmed"]["is_confirmed"]:
        notes.append("not confirmed")
    rate = f"{flow['ndr_pps'] / 1e3:.0f}"
    return f"{rate} ({', '.join(notes)})" if notes else rate


def row(device, flow):
    load = next((load for load in flow["loads"] if load["share"] < 1), None)
    rate = highest(flow)
    if load is None:
        return f"| {device} | {flow['case']['name']} | {flow['frame_bytes']} | {rate} | | | |"
    latency = load["latency"]
    # None when the machine disturbed every packet.
    p50, p99 = (f"{latency[key] / 1e3:.1f}" if latency["count"] else "" for key in ("p50_ns", "p99_ns"))
    return f"| {device} | {flow['case']['name']} | {flow['frame_bytes']} | {rate} | {p50} | {p99} | {load['lost']} |"


if __name__ == "__main__":
    main()
