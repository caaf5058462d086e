#!/usr/bin/env python3
"""Port forwarding between two veth pairs: forebay beside the kernel's own bridge, in one run.

    sudo benches/veth.py [--forebay target/release/forebay] [--rounds 5] [--seconds 1] [--size 64] [--json] [--nice]

    source ── e0 ═ s0 ── switch ── s1 ═ e1 ── counted and dropped by the kernel

The source is a program of the kernel's own virtual machine that clones one frame again and again into e0
(bpf_clone_redirect), so that it is cheaper than any switch. It runs on the second processor, with what the kernel does
in its context: delivering to s0, which for the bridge is all the forwarding. The switch runs on the first processor.
"bridge, steered" is the bridge with receive packet steering, which moves its forwarding to the first processor.
"one processor" puts source and switch on the same one and takes off the source's own time: what a packet costs in all.

Every contender is measured in every round; the figures are medians, ratios are to the bridge. BMv2 is measured when
`simple_switch` is installed (without the options --disable-logging-macros of its build it is slower). Needs root,
iproute2 and two processors.
"""

import argparse
import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import time
from pathlib import Path

from precedence import precedence

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "programs/portfwd/portfwd.p4"
ENTRIES = ROOT / "programs/portfwd/entries.stf"
SOURCE, SWITCH, SINK = (f"veth-bench-{part}" for part in ("source", "switch", "sink"))
DESTINATION = "02:00:00:00:00:02"
SWITCH_PROCESSOR, SOURCE_PROCESSOR = 0, 1


def run(*words):
    """Runs a command that must succeed."""
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)


def inside(namespace, *words):
    """A command that runs in a namespace."""
    return ["ip", "netns", "exec", namespace, *map(str, words)]


class Network:
    """Three namespaces joined by two veth pairs, gone at the end."""

    def __enter__(self):
        self.__exit__()
        for namespace in (SOURCE, SWITCH, SINK):
            run("ip", "netns", "add", namespace)
            run(*inside(namespace, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"))
        for near, far, other in (("s0", "e0", SOURCE), ("s1", "e1", SINK)):
            run("ip", "-n", SWITCH, "link", "add", near, "type", "veth", "peer", "name", far, "netns", other)
            run("ip", "-n", SWITCH, "link", "set", near, "up")
            run("ip", "-n", other, "link", "set", far, "up")
        return self

    def __exit__(self, *_):
        for namespace in (SOURCE, SWITCH, SINK):
            subprocess.run(["ip", "netns", "del", namespace], check=False, stderr=subprocess.DEVNULL)

    def arrived(self):
        """Frames that came to the sink, and when."""
        link = subprocess.run(
            ["ip", "-n", SINK, "-s", "-j", "link", "show", "e1"], check=True, capture_output=True, text=True
        )
        return json.loads(link.stdout)[0]["stats64"]["rx"]["packets"], time.monotonic()


class Forebay:
    """The switch of this repository, over one kind of port."""

    def __init__(self, binary, kind):
        self.binary, self.kind, self.name = binary, kind, f"forebay, {kind}"

    def start(self):
        ports = [f"-i1@{self.kind}:s0", f"-i2@{self.kind}:s1"]
        options = ["--entries", ENTRIES, "--engine", "jit", "--stats-interval", "0"]
        words = inside(SWITCH, self.binary, "run", PROGRAM, *ports, *options)
        return pinned(words, SWITCH_PROCESSOR)


class Bridge:
    """The kernel's bridge; `steered` to the switch's processor if requested."""

    def __init__(self, steered):
        self.steered, self.name = steered, "bridge, steered" if steered else "bridge"

    def start(self):
        run("ip", "-n", SWITCH, "link", "add", "br0", "type", "bridge")
        for port in ("s0", "s1"):
            run("ip", "-n", SWITCH, "link", "set", port, "master", "br0")
        run("ip", "-n", SWITCH, "link", "set", "br0", "up")
        run("bridge", "-n", SWITCH, "fdb", "add", DESTINATION, "dev", "s1", "master", "static")
        if self.steered:
            steering = "/sys/class/net/s0/queues/rx-0/rps_cpus"
            run(*inside(SWITCH, "sh", "-c", f"echo {1 << SWITCH_PROCESSOR:x} > {steering}"))


class Nothing:
    """No switch: the cost of the source alone."""

    name = "source alone"

    def start(self):
        return None


class BehavioralModel:
    """BMv2's simple_switch with the same program and entries, written by hand in its JSON."""

    name = "BMv2"

    def start(self):
        program = ROOT / "benches/bmv2/portfwd.json"
        process = pinned(inside(SWITCH, "simple_switch", "-i", "1@s0", "-i", "2@s1", program), SWITCH_PROCESSOR)
        time.sleep(2)
        return process


def pinned(words, processor):
    """Starts a command on one processor."""
    return subprocess.Popen(
        words,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, {processor}),
    )


def measure(contender, source_processor, seconds, source_words, warm_up=0.5):
    """Packets a second that a contender carries, after a source has sent for `warm_up` seconds."""
    with Network() as network:
        switch = contender.start()
        time.sleep(1)
        source = pinned(inside(SOURCE, *source_words), source_processor)
        try:
            time.sleep(warm_up)
            device = "s0" if isinstance(contender, Nothing) else None
            first, started = received(device) if device else network.arrived()
            time.sleep(seconds)
            last, ended = received(device) if device else network.arrived()
        finally:
            for process in filter(None, (source, switch)):
                process.send_signal(signal.SIGINT)
                process.wait(10)
        if source.returncode not in (0, -signal.SIGINT):
            sys.exit("the source failed")
        return (last - first) / (ended - started)


def received(device):
    """Frames that came to an interface of the switch, and when."""
    link = subprocess.run(
        ["ip", "-n", SWITCH, "-s", "-j", "link", "show", device], check=True, capture_output=True, text=True
    )
    return json.loads(link.stdout)[0]["stats64"]["rx"]["packets"], time.monotonic()


BPF_PROGRAM_LOAD, BPF_PROGRAM_TEST_RUN = 5, 10
BPF_TYPE_SCHEDULER = 3
BPF_CLONE_REDIRECT = 13
SYS_BPF = {"x86_64": 321, "aarch64": 280}
CLONES, REPETITIONS = 4, 16


def bpf(command, attributes):
    """bpf(2)."""
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    result = libc.syscall(SYS_BPF[os.uname().machine], command, buffer, len(attributes))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def source_program(interface):
    """A program of the kernel's virtual machine that sends the frame it is given by an interface, CLONES times."""

    def instruction(opcode, registers, immediate=0):
        return struct.pack("<BBhi", opcode, registers, 0, immediate)

    # r6 = frame; CLONES times: bpf_clone_redirect(r6, interface, 0); return 0
    clone = [
        instruction(0xBF, 0x61),
        instruction(0xB7, 0x02, socket.if_nametoindex(interface)),
        instruction(0xB7, 0x03),
        instruction(0x85, 0x00, BPF_CLONE_REDIRECT),
    ]
    words = [instruction(0xBF, 0x16), *clone * CLONES, instruction(0xB7, 0x00), instruction(0x95, 0x00)]
    program, license = ctypes.create_string_buffer(b"".join(words)), ctypes.create_string_buffer(b"GPL")
    addresses = ctypes.addressof(program), ctypes.addressof(license)
    return bpf(
        BPF_PROGRAM_LOAD, struct.pack("<IIQQIIQII16s", BPF_TYPE_SCHEDULER, len(words), *addresses, 0, 0, 0, 0, 0, b"source")
    )


def send(interface, frames, repetitions=REPETITIONS):
    """Sends frames by an interface until it is interrupted: each CLONES * `repetitions` times, then the next."""
    program = source_program(interface)
    buffers = [ctypes.create_string_buffer(frame, len(frame)) for frame in frames]
    runs = [
        struct.pack("<IIIIQQIIIIQQIII4x", program, 0, len(data), 0, ctypes.addressof(data), 0, repetitions, *[0] * 8)
        for data in buffers
    ]
    signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
    while True:
        for attributes in runs:
            bpf(BPF_PROGRAM_TEST_RUN, attributes)


def frame_of(size):
    """A frame for the sink. Its size counts the check sequence, which the kernel does not see."""
    return bytes.fromhex(DESTINATION.replace(":", "")) + b"\x02\0\0\0\0\x01\x88\xb5" + bytes(size - 4 - 14)


def contenders(binary):
    """The contenders that can be measured here."""
    found = [Forebay(binary, "xdp"), Forebay(binary, "packet"), Bridge(False), Bridge(True)]
    if shutil.which("simple_switch"):
        found.append(BehavioralModel())
    else:
        print("BMv2 is not installed (simple_switch): left out", file=sys.stderr)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forebay", default=ROOT / "target/release/forebay", type=Path)
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--seconds", default=1.0, type=float)
    parser.add_argument("--size", default=64, type=int, help="bytes of a frame, check sequence included")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--nice", action="store_true", help="before other programs on this machine")
    parser.add_argument("--source", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.source:
        send(arguments.source, [frame_of(arguments.size)])
    if os.geteuid() != 0 or (os.cpu_count() or 1) < 2:
        sys.exit("this needs root and two processors")
    if not arguments.forebay.exists():
        sys.exit(f"{arguments.forebay} is missing: cargo build --release -p forebay-cli")
    first = precedence() if arguments.nice else contextlib.nullcontext()
    with first:
        words = [sys.executable, __file__, "--source", "e0", "--size", arguments.size]
        figures = measure_all(contenders(arguments.forebay), arguments.rounds, arguments.seconds, words)
        report(figures, arguments)


def measure_all(found, rounds, seconds, source_words, warm_up=0.5):
    """Rounds of every contender on two processors, then on one."""
    two, one = {}, {}
    for _ in range(rounds):
        for contender in found:
            pps = measure(contender, SOURCE_PROCESSOR, seconds, source_words, warm_up)
            two.setdefault(contender.name, []).append(pps)
        for contender in [Nothing(), *found]:
            pps = measure(contender, SWITCH_PROCESSOR, seconds, source_words, warm_up)
            one.setdefault(contender.name, []).append(pps)
    return two, one


def report(figures, arguments):
    two, one = ({name: statistics.median(rates) for name, rates in rates.items()} for rates in figures)
    source_ns = 1e9 / one.pop(Nothing.name)
    rows = []
    for name, pps in two.items():
        nanoseconds = 1e9 / max(one[name], 1) - source_ns
        rows.append({"switch": name, "packets_per_second": round(pps), "processor_ns_per_packet": round(nanoseconds)})
    bridge = next(row for row in rows if row["switch"] == "bridge")
    for row in rows:
        row["rate_to_bridge"] = round(row["packets_per_second"] / bridge["packets_per_second"], 2)
        row["cost_to_bridge"] = round(row["processor_ns_per_packet"] / bridge["processor_ns_per_packet"], 2)
    if arguments.json:
        print(json.dumps({"frame_bytes": arguments.size, "rounds": arguments.rounds, "switches": rows}, indent=2))
        return
    print(f"{arguments.size}-byte frames, medians of {arguments.rounds} rounds of {arguments.seconds} s")
    print(f"{'switch':18} {'packets/s':>10} {'to bridge':>10}   {'one processor':>14} {'to bridge':>10}")
    for row in rows:
        print(
            f"{row['switch']:18} {row['packets_per_second']:>10,} {row['rate_to_bridge']:>10.2f}"
            f"   {row['processor_ns_per_packet']:>11,} ns {row['cost_to_bridge']:>10.2f}"
        )


if __name__ == "__main__":
    main()
