#!/usr/bin/env python3
"""Sends many connections through a load balancer, as frames of packet sockets at both ends. As root.

    many_connections.py CLIENT_INTERFACE BACKEND_INTERFACE --count N --service ADDRESS --out FILE [--syn]

Sends a TCP segment for each connection (--syn: the first) and writes to FILE, as JSON, the address or MAC address of
the back end at which each arrives: a list by number of the connection, null for those that do not arrive. A segment
that does not arrive is sent again, as TCP does: a full queue on a slow machine is not what is measured. One that
arrives at two back ends is listed with both.
"""

import argparse
import ipaddress
import json
import pathlib
import socket
import struct
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import program
from checksum import checksum

ETH_P_ALL = 3
CONNECTIONS_PER_CLIENT = 50_000
BURST = 50
# Segments under way at most, and how long the sender waits for the oldest of them, in seconds.
WINDOW = 400
PATIENCE = 0.2
TRANSMISSIONS = 10


def frame(number, service, flags, macs):
    """A segment of connection `number`, whose source address and port say which it is."""
    client = 0xC0000207 + number // CONNECTIONS_PER_CLIENT
    port = 1024 + number % CONNECTIONS_PER_CLIENT
    addresses = client.to_bytes(4, "big") + service
    head = struct.pack("!BBHHHBBH", 0x45, 0, 40, 0, 0x4000, 64, 6, 0)
    head = head[:10] + struct.pack("!H", checksum(head + addresses)) + addresses
    tcp = struct.pack("!HHIIBBHHH", port, 80, number, 0, 0x50, flags, 1024, 0, 0)
    tcp = tcp[:16] + struct.pack("!H", checksum(addresses + struct.pack("!HH", 6, 20) + tcp)) + tcp[18:]
    return macs + b"\x08\x00" + head + tcp


class Receiver:
    def __init__(self, interface, count):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        self.socket.bind((interface, 0))
        self.socket.setblocking(False)
        self.arrived = [None] * count
        self.segments = 0

    def drain(self):
        while True:
            try:
                data = self.socket.recv(2048)
            except BlockingIOError:
                return
            if len(data) < 54 or data[12:14] != b"\x08\x00":
                continue
            at, backend = 14, data[0:6].hex(":")
            if data[23] == 4:
                backend, at = str(ipaddress.ip_address(data[30:34])), 34
            if data[at + 9] == 6:
                # The sequence number is that of the connection.
                number = int.from_bytes(data[at + 24 : at + 28], "big")
                if number < len(self.arrived):
                    self.segments += 1
                    before = self.arrived[number]
                    self.arrived[number] = backend if before in (None, backend) else f"{before}, {backend}"

    def wait_for(self, segments):
        """Receives until `segments` have arrived in all, or none for `PATIENCE`."""
        last, end = self.segments, time.monotonic() + PATIENCE
        while True:
            self.drain()
            if self.segments >= segments or time.monotonic() > end:
                return
            if self.segments != last:
                last, end = self.segments, time.monotonic() + PATIENCE
            time.sleep(0.0005)


def transmit(sender, receiver, numbers, make):
    """Sends the segments of `numbers` with at most `WINDOW` of them under way."""
    begin = receiver.segments
    for index, number in enumerate(numbers):
        sender.send(make(number))
        if index % BURST == BURST - 1:
            receiver.wait_for(begin + index + 1 - WINDOW)
            if receiver.segments < begin + index + 1 - WINDOW:
                # Segments that have not arrived by now are lost, and count as arrived for the window.
                begin = receiver.segments - index - 1
    receiver.wait_for(begin + len(numbers))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("client")
    parser.add_argument("backend")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--service", default="198.51.100.10")
    parser.add_argument("--syn", action="store_true")
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sender.bind((arguments.client, 0))
    receiver = Receiver(arguments.backend, arguments.count)
    service = ipaddress.ip_address(arguments.service).packed
    macs = bytes.fromhex("020000000001020000000007")
    flags = 0x02 if arguments.syn else 0x10
    missing = range(arguments.count)
    for _ in range(TRANSMISSIONS):
        transmit(sender, receiver, missing, lambda number: frame(number, service, flags, macs))
        missing = [number for number, backend in enumerate(receiver.arrived) if backend is None]
        if not missing:
            break
    with open(arguments.out, "w") as file:
        json.dump(receiver.arrived, file)


if __name__ == "__main__":
    program.run(main)
