#!/usr/bin/env python3
"""Receives telemetry reports and prints them, a line each.

    collect.py [--bind ADDRESS] [--port PORT] [--int-port PORT] [--count N]

A datagram that is cut or of another form is printed as `malformed` with its bytes. Needs scapy from PyPI.
"""

import argparse
import pathlib
import socket
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import with_scapy  # noqa: F401, I001
import int_scapy
import program
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6


def values(names):
    return " ".join(f"{name}={value}" for name, value in names.items())


def flow(packet):
    """Addresses and ports of the packet in a report."""
    layer = packet[IP] if IP in packet else packet[IPv6] if IPv6 in packet else None
    if layer is None:
        return packet.summary()
    ports = ""
    shim = packet[int_scapy.IntShim] if int_scapy.IntShim in packet else None
    if shim and shim.npt == int_scapy.NPT_UDP:
        # The packet has one UDP header, whose port the shim has.
        return f"{layer.src} > {layer.dst} UDP {packet[UDP].sport} > {shim.next_protocol}"
    for kind in (TCP, UDP):
        # Another INT packet has the UDP header of INT before its own.
        inner = shim.payload if shim else layer
        if kind in inner:
            ports = f" {kind.__name__} {inner[kind].sport} > {inner[kind].dport}"
            break
    return f"{layer.src} > {layer.dst}{ports}"


def describe(group, report):
    flags = "".join(
        letter
        for letter, name in zip("DQFI", ("dropped", "congested", "tracked", "intermediate"), strict=True)
        if getattr(report, name)
    )
    packet = report.inner
    parts = [f"node {group.node_id} #{group.sequence_number} [{flags}] {flow(packet)}: {values(report.values)}"]
    if int_scapy.IntMD in packet:
        md = packet[int_scapy.IntMD]
        stack = int_scapy.hops(md)
        # The latest hop is first in the stack; hop 1 is the source, which a packet that is cut off does not have.
        first = max(int_scapy.hop_count(md) - len(stack), 0) + 1
        parts += [f"hop {number}: {values(hop)}" for number, hop in enumerate(reversed(stack), first)]
    return " | ".join(parts)


def described(datagram):
    """What a datagram says, a line for each report."""
    lines = []
    try:
        group = int_scapy.TelemetryReport(datagram)
        reports = group.reports if group.version == 2 else []
        # Scapy leaves bytes as they are that are no report.
        lines = [describe(group, report) for report in reports if isinstance(report, int_scapy.Report)]
        if lines and len(lines) == len(reports):
            return lines
    except (AttributeError, struct.error):
        pass
    return [*lines, f"malformed: {datagram.hex()}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bind", default="0.0.0.0", metavar="ADDRESS", help="address to listen on (all)")
    parser.add_argument("--port", type=int, default=32768, help="UDP port of the reports (32768)")
    parser.add_argument("--int-port", type=int, default=32766, help="UDP port of INT (32766)")
    parser.add_argument("--count", type=int, default=0, metavar="N", help="end after N datagrams")
    arguments = parser.parse_args()
    int_scapy.bind(arguments.int_port, arguments.port)
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind((arguments.bind, arguments.port))
    received = 0
    while arguments.count == 0 or received < arguments.count:
        datagram = receiver.recv(65536)
        received += 1
        for line in described(datagram):
            print(line, flush=True)


if __name__ == "__main__":
    program.run(main)
