#!/usr/bin/env python3
"""Sends a few packets of a host: TCP, UDP to port 5001, and an echo request. As root; needs scapy.

send.py INTERFACE [--count N]
"""

import argparse
import pathlib
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import with_scapy  # noqa: F401
import program
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.sendrecv import sendp


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("interface")
    parser.add_argument("--count", type=int, default=1, metavar="N", help="how many packets of each kind (1)")
    arguments = parser.parse_args()
    if arguments.interface not in (name for _, name in socket.if_nameindex()):
        raise SystemExit(f"there is no interface `{arguments.interface}`: `ip link` lists those there are")
    ip = Ether(src="02:00:00:00:01:01", dst="02:00:00:00:01:02") / IP(src="10.0.0.1", dst="10.0.0.2")
    for layer in (TCP(sport=40000, dport=80, flags="S"), UDP(sport=40001, dport=5001), ICMP()):
        sendp(ip / layer / Raw(b"telemetry"), iface=arguments.interface, count=arguments.count, verbose=False)


if __name__ == "__main__":
    program.run(main)
