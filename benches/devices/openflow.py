#!/usr/bin/env python3
"""Reads versions, one a line, writes each to a rule of Open vSwitch, and prints `done` after the barrier (OpenFlow
1.3)."""

import argparse
import json
import socket
import struct
import sys

VERSION = 4
HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY, FLOW_MOD, BARRIER_REQUEST, BARRIER_REPLY = 0, 1, 2, 3, 14, 20, 21
ADD = 0
NO_BUFFER = ANY = 0xFFFFFFFF
APPLY_ACTIONS, OUTPUT, SET_FIELD, DEC_NW_TTL = 4, 0, 25, 24
BASIC = 0x8000
ETH_DST, ETH_SRC, ETH_TYPE, IPV4_DST = 3, 4, 5, 12


class Switch:
    """A connection, as a controller has it."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.xid = 0
        self.send(HELLO, b"")
        self.wait(HELLO)

    def send(self, kind, body):
        self.xid += 1
        self.socket.sendall(struct.pack("!BBHI", VERSION, kind, 8 + len(body), self.xid) + body)

    def read(self, count):
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise SystemExit("the switch has closed the connection")
            data += part
        return data

    def wait(self, wanted):
        while True:
            _, kind, length, _ = struct.unpack("!BBHI", self.read(8))
            body = self.read(length - 8)
            if kind == wanted:
                return
            if kind == ECHO_REQUEST:
                self.send(ECHO_REPLY, body)
            if kind == ERROR:
                raise SystemExit(f"the switch refuses: {body[:4].hex()}")

    def set(self, rule, version):
        self.send(FLOW_MOD, flow_mod(rule, version))
        self.send(BARRIER_REQUEST, b"")
        self.wait(BARRIER_REPLY)


def field(number, value, mask=b""):
    has_mask = 1 if mask else 0
    return struct.pack("!HBB", BASIC, number << 1 | has_mask, len(value) + len(mask)) + value + mask


def padded(data):
    return data + bytes(-len(data) % 8)


def set_field(number, value):
    length = (8 + len(value) + 7) // 8 * 8
    return (struct.pack("!HH", SET_FIELD, length) + field(number, value)).ljust(length, b"\0")


def flow_mod(rule, version):
    """Adds the flow in place of the one with the same match and priority."""
    address, mask = rule["value"].to_bytes(4, "big"), rule["mask"].to_bytes(4, "big")
    is_whole = rule["mask"] == 0xFFFFFFFF
    fields = field(ETH_TYPE, b"\x08\x00") + field(IPV4_DST, address, b"" if is_whole else mask)
    match = padded(struct.pack("!HH", 1, 4 + len(fields)) + fields)
    mac = version.to_bytes(6, "big")
    actions = set_field(ETH_SRC, mac) + set_field(ETH_DST, mac)
    actions += struct.pack("!HH4x", DEC_NW_TTL, 8) + struct.pack("!HHIH6x", OUTPUT, 16, 2, 0)
    instruction = struct.pack("!HH4x", APPLY_ACTIONS, 8 + len(actions)) + actions
    head = struct.pack("!QQBBHHHIIIH2x", 0, 0, 0, ADD, 0, 0, rule["of_priority"], NO_BUFFER, ANY, ANY, 0)
    return head + match + instruction


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("socket", help="of the bridge (BRIDGE.mgmt)")
    parser.add_argument("rule", type=json.loads, help="as JSON: value, mask, of_priority")
    options = parser.parse_args()
    switch = Switch(options.socket)
    for line in sys.stdin:
        switch.set(options.rule, int(line))
        print("done", flush=True)


if __name__ == "__main__":
    main()
