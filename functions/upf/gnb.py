#!/usr/bin/env python3
"""A gNB with one UE, in user space: packets of a TUN device leave as GTP-U, and the other way round. As root.

    gnb.py --bind ADDRESS --upf ADDRESS --uplink-teid N --downlink-teid N [--tun NAME] [--qfi N]

It answers Echo Requests, and sends an Error Indication for a TEID that it does not know. Messages and end markers are
printed.
"""

import argparse
import os
import pathlib
import select
import socket
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import program
from tun import tun

G_PDU, ECHO_REQUEST, ECHO_RESPONSE, ERROR_INDICATION, END_MARKER = 255, 1, 2, 26, 254
PORT = 2152


def header(message, teid, length, qfi=None, sequence=None):
    if qfi is not None:
        return struct.pack("!BBHIHBBBBBB", 0x34, message, length + 8, teid, 0, 0, 0x85, 1, 0x10, qfi, 0)
    if sequence is not None:
        return struct.pack("!BBHIHBB", 0x32, message, length + 4, teid, sequence, 0, 0)
    return struct.pack("!BBHI", 0x30, message, length, teid)


def payload(datagram):
    """What follows the header with its extension headers."""
    at = 8
    if datagram[0] & 7:
        following, at = datagram[11], 12
        while datagram[0] & 4 and following:
            size = 4 * datagram[at]
            following = datagram[at + size - 1]
            at += size
    return datagram[at : 8 + int.from_bytes(datagram[2:4], "big")]


class Gnb:
    def __init__(self, arguments):
        self.arguments = arguments
        family = socket.AF_INET6 if ":" in arguments.bind else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_DGRAM)
        if family == socket.AF_INET6:
            # UDP_NO_CHECK6_RX: tunnels have no checksum (RFC 6935).
            self.socket.setsockopt(socket.IPPROTO_UDP, 102, 1)
        self.socket.bind((arguments.bind, PORT))
        self.tun = tun(arguments.tun)

    def uplink(self):
        packet = os.read(self.tun, 65536)
        head = header(G_PDU, self.arguments.uplink_teid, len(packet), self.arguments.qfi)
        self.socket.sendto(head + packet, (self.arguments.upf, PORT))

    def downlink(self):
        datagram, peer = self.socket.recvfrom(65536)
        message, teid = datagram[1], int.from_bytes(datagram[4:8], "big")
        if message == G_PDU and teid == self.arguments.downlink_teid:
            os.write(self.tun, payload(datagram))
        elif message == G_PDU:
            address = socket.inet_pton(self.socket.family, self.arguments.bind)
            elements = struct.pack("!BI", 16, teid) + struct.pack("!BH", 133, len(address)) + address
            self.socket.sendto(header(ERROR_INDICATION, 0, len(elements), sequence=0) + elements, peer[:2])
        elif message == ECHO_REQUEST:
            sequence = int.from_bytes(datagram[8:10], "big") if datagram[0] & 2 else 0
            self.socket.sendto(header(ECHO_RESPONSE, 0, 2, sequence=sequence) + bytes([14, 0]), peer[:2])
        else:
            print(f"message {message} for TEID {teid:#x}", flush=True)

    def run(self):
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([self.tun, self.socket], [], [])
            if self.tun in ready:
                self.uplink()
            if self.socket in ready:
                self.downlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    number = lambda text: int(text, 0)
    parser.add_argument("--bind", required=True, metavar="ADDRESS", help="address of the gNB")
    parser.add_argument("--upf", required=True, metavar="ADDRESS", help="address of the UPF")
    parser.add_argument("--uplink-teid", required=True, type=number, metavar="N")
    parser.add_argument("--downlink-teid", required=True, type=number, metavar="N")
    parser.add_argument("--tun", default="ue", metavar="NAME", help="the TUN device (ue)")
    parser.add_argument("--qfi", type=int, default=9, metavar="N", help="QoS flow (9)")
    Gnb(parser.parse_args()).run()


if __name__ == "__main__":
    program.run(main)
