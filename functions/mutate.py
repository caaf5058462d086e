#!/usr/bin/env python3
"""Changed packets of the functions' tests through both engines: the same packets must leave by the same ports.

    functions/mutate.py [--seed N] [--packets N] [FUNCTION...]

A function begins with the commands of one of its tests. Its packets are those of all its tests, most of them changed:
cut, joined with another, bytes replaced. They come in by one port after the other. What leaves is compared packet by
packet, and so are the counters of the ports. Telemetry of `int` has the time of the switch in it, so what `int` sends
is compared by its length and its first bytes. Needs no rights.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "lib"))
from captures import read_capture, write_capture
from program import executable

FOREBAY = os.environ.get("FOREBAY", str(HERE.parent / "target/release/forebay"))
# Each function with the tests whose commands, all but packets and what they lead to, it begins with.
BEGINNINGS = {
    "firewall": ["firewall_connections", "firewall_policies"],
    "int": ["int_sink", "int_source_md", "int_transit_mx"],
    "iot_mapping": ["iot_mapping_mqtt", "iot_mapping_http", "iot_mapping_coap"],
    "l2_switch": ["l2_switch_stations"],
    "load_balancer": ["load_balancer_nat", "load_balancer_direct", "load_balancer_returned_errors"],
    "nat44": ["nat44_mappings", "nat44_errors"],
    "router": ["router_prefixes"],
    "upf": ["upf_headers", "upf_sessions"],
}
NO_ENTRY = re.compile(r"\s*(packet|expect|no_packet|wait|time|check|counter|$|#)")
PACKET = re.compile(r"\s*packet\s+(\d+)\s+([0-9A-Fa-f ]+)")
LONGEST = 9000
# Bytes from here on are payload to all functions.
HEADERS = 110
UDP_CHECKSUM = 14 + 20 + 6


def packets_of(name):
    """Port -> packets that the tests of a function send to it."""
    found = collections.defaultdict(list)
    for test in sorted((HERE / name).glob("*.stf")):
        for line in test.read_text().splitlines():
            if packet := PACKET.match(line):
                found[int(packet[1])].append(bytes.fromhex(packet[2].replace(" ", "")))
    return found


def changed(packet, others, chance):
    """A packet after one of the changes, or as it is."""
    what = chance.random()
    if what < 0.05:
        return packet
    if what < 0.2:
        return packet[: chance.randrange(1, len(packet))]
    if what < 0.3:
        other = chance.choice(others)
        return (packet[: chance.randrange(1, len(packet))] + other[chance.randrange(len(other)) :])[:LONGEST]
    data = bytearray(packet)
    for _ in range(chance.choice([1, 1, 1, 2, 3, 5])):
        at = chance.randrange(min(len(data), HEADERS))
        flipped, next_number = data[at] ^ 1 << chance.randrange(8), (data[at] + 1) % 256
        data[at] = chance.choice([0, 255, flipped, chance.randrange(256), next_number])
    return bytes(data)


def result(folder, program, entries, ports, arrival, engine):
    """The packets that leave by each port, and the counters of the ports."""
    words = [FOREBAY, "run", program, "--entries", entries, "--engine", engine, "--seed", "7", "--stats-interval", "0"]
    for port in ports:
        source = folder / "in.pcap" if port == arrival else ""
        words += ["-i", f"{port}@pcap:{source},{folder}/{engine}-{port}.pcap"]
    done = subprocess.run([*map(str, words), "--json"], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise SystemExit(f"FAILED: {program.stem}, {engine}: {done.stderr.strip()[-500:]}")
    totals = json.loads(done.stdout.splitlines()[-1])
    counted = {port["port"]: (port["received_packets"], port["sent_packets"]) for port in totals["ports"]}
    return {port: read_capture(folder / f"{engine}-{port}.pcap") for port in ports}, counted


def without_times(name, packet):
    """A packet without what depends on the machine's clock: what `int` sends is compared by its length and its bytes up
    to the UDP checksum."""
    return (packet[:UDP_CHECKSUM], len(packet)) if name == "int" else packet


def compare(name, test, arguments):
    """Runs both engines with packets at each port; the number of packets, and differences in words."""
    chance = random.Random(f"{arguments.seed} {test}")
    lines = (HERE / name / f"{test}.stf").read_text().splitlines()
    sources = packets_of(name)
    everything = [packet for packets in sources.values() for packet in packets]
    expected = {int(found[1]) for line in lines if (found := re.match(r"\s*(?:packet|expect)\s+(\d+)", line))}
    ports = sorted(expected | {1, 2})
    differences = []
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = pathlib.Path(name_of_folder)
        entries = folder / "entries.stf"
        entries.write_text("".join(f"{line}\n" for line in lines if not NO_ENTRY.match(line)))
        program = HERE / name / f"{name}.p4"
        for arrival in (1, 2):
            own = sources[arrival] or everything
            packets = [changed(chance.choice(own), everything, chance) for _ in range(arguments.packets)]
            write_capture(folder / "in.pcap", packets)
            (one, counted), (other, others) = (
                result(folder, program, entries, ports, arrival, engine) for engine in ("jit", "interp")
            )
            if counted != others:
                differences.append(f"port {arrival}: ports count {counted} with machine code, {others} in the interpreter")
            for port in ports:
                left, right = ([without_times(name, packet) for packet in side[port]] for side in (one, other))
                if left != right:
                    first = next(
                        (at for at, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]), "end"
                    )
                    differences.append(f"port {arrival} to {port}: {len(left)} and {len(right)} packets, first at {first}")
    return 2 * arguments.packets, differences


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("functions", nargs="*", metavar="FUNCTION", help=f"of {', '.join(BEGINNINGS)}; all unless told")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--packets", type=int, default=2000, help="packets at each of two ports, for each test (2000)")
    arguments = parser.parse_args()
    for name in arguments.functions:
        if name not in BEGINNINGS:
            parser.error(f"there is no function `{name}` here: {', '.join(BEGINNINGS)}")
    executable(FOREBAY)
    total, failed = 0, False
    for name in arguments.functions or BEGINNINGS:
        for test in BEGINNINGS[name]:
            packets, differences = compare(name, test, arguments)
            total += packets
            failed |= bool(differences)
            said = "; ".join(differences) or "both engines do the same"
            print(f"  {'FAILED' if differences else 'ok'}: {test}, {packets:,} packets: {said}", flush=True)
    print(f"{total:,} packets")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
