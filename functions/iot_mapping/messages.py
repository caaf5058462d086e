#!/usr/bin/env python3
"""Receives messages of iot_mapping.p4, also those that iot_aggregate has gathered, and prints them, a JSON object each.

    messages.py [--bind ADDRESS] [--port PORT] [-S BYTES] [--topic NAME...]

With --topic the names of topics and paths are printed whose hashes come. A datagram of another form, or a message that is
shorter than its header, is printed as `{"malformed": "its bytes"}`.
"""

import argparse
import ipaddress
import json
import pathlib
import socket
import struct
import sys
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import program

MESSAGE, N_PACKET = 0xFA, 0xFC
FLAG_BYTES, MAPPING_BYTES = 6, 16
# S: both headers and a byte, and what the programs take at most.
LEAST, MOST = FLAG_BYTES + MAPPING_BYTES + 1, 128
KINDS = {1: "mqtt", 2: "coap", 3: "http"}


def topic_hashes(names):
    """Hash -> name, of each name as a topic of MQTT and as a path of CoAP and HTTP."""
    hashes = {}
    for name in names:
        hashes[zlib.crc32(name.encode())] = name
        hashes[zlib.crc32(name.encode()[-32:].rjust(32, b"\0"))] = name
    return hashes


def parts(datagram, size):
    """The mapped payloads of a datagram, each without its flag header."""
    if datagram[:1] == bytes([MESSAGE]):
        return [datagram[FLAG_BYTES : FLAG_BYTES + size]]
    if datagram[:1] == bytes([N_PACKET]):
        return [datagram[at : at + size] for at in range(FLAG_BYTES, len(datagram), size)]
    return []


def described(datagram, size, hashes):
    """What a datagram says, an object for each of its messages."""
    found = parts(datagram, size)
    if not found:
        return [{"malformed": datagram.hex()}]
    gathered = {"gathered": datagram[0] == N_PACKET}
    return [{"malformed": part.hex()} if len(part) < MAPPING_BYTES else decode(part, hashes) | gathered for part in found]


def message_bytes(text):
    """S of the programs, as an option."""
    if not text.isdecimal() or not LEAST <= int(text) <= MOST:
        raise argparse.ArgumentTypeError(f"`{text}`: a number from {LEAST} to {MOST} is right")
    return int(text)


def decode(part, hashes):
    kind, length, sequence, device, port, _, topic = struct.unpack("!BBH4sHHI", part[:MAPPING_BYTES])
    return {
        "protocol": KINDS.get(kind, kind),
        "device": str(ipaddress.ip_address(device)),
        "port": port,
        "sequence": sequence,
        "topic": hashes.get(topic, f"{topic:#010x}"),
        "payload": part[MAPPING_BYTES : MAPPING_BYTES + length].decode(errors="replace"),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bind", default="0.0.0.0", metavar="ADDRESS", help="address to listen on (all)")
    parser.add_argument("--port", type=int, default=9000, help="UDP port (9000)")
    parser.add_argument("-S", dest="size", type=message_bytes, default=54, metavar="BYTES", help="S of the programs (54)")
    parser.add_argument("--topic", nargs="*", default=[], metavar="NAME", help="topics and paths that may come")
    arguments = parser.parse_args()
    hashes = topic_hashes(arguments.topic)
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind((arguments.bind, arguments.port))
    print("ready", flush=True)
    while True:
        datagram = receiver.recv(65536)
        for one in described(datagram, arguments.size - FLAG_BYTES, hashes):
            print(json.dumps(one), flush=True)


if __name__ == "__main__":
    program.run(main)
