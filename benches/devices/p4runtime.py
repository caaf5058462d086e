#!/usr/bin/env python3
"""Reads versions, one a line, writes each to a rule of a P4Runtime switch, and prints `done` after the switch's answer.

The bytes of HTTP/2, gRPC and protobuf are written here, as those of OpenFlow in `openflow.py`: both control processes
cost the same few microseconds, so the comparison is one of switches.
"""

import argparse
import json
import socket
import struct
import sys

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM = ACK = 1
END_HEADERS = 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FIRST_WINDOW, OUR_WINDOW = 65_535, 1 << 30
DEVICE, ELECTION, MODIFY = 1, 1, 2
SERVICE = "/p4.v1.P4Runtime/"


class Switch:
    """A connection, with a stream on which this process is primary."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.input = self.socket.makefile("rb")
        self.window = FIRST_WINDOW
        self.stream = 1
        self.socket.sendall(
            PREFACE + frame(SETTINGS, 0, 0, b"") + frame(WINDOW_UPDATE, 0, 0, struct.pack("!I", OUR_WINDOW))
        )
        self.call("StreamChannel", arbitration(), 0)
        self.wait(1, DATA)

    def set(self, rule, version):
        """Writes one update in a call of its own, and waits for its answer."""
        self.stream += 2
        self.call("Write", write_request(rule, version), END_STREAM)
        # A call that fails has trailers and no message.
        self.wait(self.stream, DATA)
        self.wait(self.stream, HEADERS)

    def call(self, method, message, flags):
        body = struct.pack("!BI", 0, len(message)) + message
        while self.window < len(body):
            self.read()
        self.window -= len(body)
        begin = frame(HEADERS, END_HEADERS, self.stream, request_headers(SERVICE + method))
        self.socket.sendall(begin + frame(DATA, flags, self.stream, body))

    def wait(self, stream, wanted):
        while True:
            kind, flags, of, body = self.read()
            if kind in (RST_STREAM, GOAWAY):
                raise SystemExit(f"the switch ends the connection: {body.hex()}")
            if of != stream:
                continue
            if kind == wanted:
                return
            if kind == HEADERS and flags & END_STREAM:
                raise SystemExit("the switch refuses the update")

    def read(self):
        """The next frame, answered if it requires an answer."""
        head = self.input.read(9)
        if len(head) < 9:
            raise SystemExit("the switch has closed the connection")
        high, low, kind, flags, stream = struct.unpack("!BHBBI", head)
        body = self.input.read(high << 16 | low)
        if kind in (SETTINGS, PING) and not flags & ACK:
            self.socket.sendall(frame(kind, ACK, 0, body if kind == PING else b""))
        if kind == WINDOW_UPDATE and stream == 0:
            self.window += struct.unpack("!I", body)[0]
        return kind, flags, stream, body


def frame(kind, flags, stream, body):
    """A frame of HTTP/2 (RFC 9113 §4.1)."""
    return struct.pack("!BHBBI", len(body) >> 16, len(body) & 0xFFFF, kind, flags, stream) + body


def request_headers(path):
    """Fields of a gRPC call, none of them in the dynamic table (RFC 7541 §6.2.2)."""

    def text(value):
        return bytes([len(value)]) + value.encode()

    post, http = b"\x83", b"\x86"
    path_is, authority_is, content_type_is, field_is = b"\x04", b"\x01", b"\x0f\x10", b"\0"
    fields = post + http + path_is + text(path) + authority_is + text("localhost")
    return fields + content_type_is + text("application/grpc") + field_is + text("te") + text("trailers")


def varint(number):
    """A number of protobuf."""
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def number(field, value):
    """A field with a number."""
    return varint(field << 3) + varint(value)


def data(field, value):
    """A field with bytes, or with another message."""
    return varint(field << 3 | 2) + varint(len(value)) + value


def shortest(value):
    """A value as P4Runtime writes it: the shortest big-endian bytes, at least one."""
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")


def election_id():
    return data(3, number(2, ELECTION))


def arbitration():
    """A StreamMessageRequest that makes this process primary."""
    return data(1, number(1, DEVICE) + election_id())


def write_request(rule, version):
    """A WriteRequest that modifies the entry of this prefix."""
    prefix = data(1, shortest(rule["value"])) + number(2, rule["mask"].bit_count())
    match = number(1, 1) + data(4, prefix)
    arguments = (version, version, rule["port"])
    parameters = b"".join(
        data(4, number(2, place) + data(3, shortest(value))) for place, value in enumerate(arguments, 1)
    )
    action = data(1, number(1, rule["action_id"]) + parameters)
    entry = number(1, rule["table_id"]) + data(2, match) + data(3, action)
    update = number(1, MODIFY) + data(2, data(2, entry))
    return number(1, DEVICE) + election_id() + data(4, update)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("socket", help="that the switch serves P4Runtime on (--grpc unix:SOCKET)")
    parser.add_argument("rule", type=json.loads, help="as JSON: value, mask, port, table_id, action_id")
    options = parser.parse_args()
    switch = Switch(options.socket)
    for line in sys.stdin:
        switch.set(options.rule, int(line))
        print("done", flush=True)


if __name__ == "__main__":
    main()
