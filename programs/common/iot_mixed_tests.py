#!/usr/bin/env python3
"""Writes the STF tests of iot_aggregate_timed and iot_disaggregate_mixed, with what this model of the formats expects."""

import argparse
import random
import struct
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent.parent
TIMER_PORT = 63
SETUP = """add ipv4_lpm ipv4.dst_addr:0x0A000200/24 to_next_hop(next_hop_id:7, port:2)
add next_hops next_hop:7 set_macs(src_addr:0x0200000001FE, dst_addr:0x020000000102)
"""
IN_MACS = bytes.fromhex("0200000000fe020000000001")
OUT_MACS = bytes.fromhex("0200000001020200000001fe")


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def frame(macs, datagram, device, ttl, identification, flags, udp_checksum=None):
    """Ethernet, IPv4, UDP around what UDP carries; with the right checksum of UDP unless another one is given."""
    length = 28 + len(datagram)
    addresses = bytes([10, 0, 1, device]) + bytes([10, 0, 2, 2])
    head = struct.pack(">BBHHHBBH", 0x45, 0, length, identification, flags << 13, ttl, 17, 0) + addresses
    head = head[:10] + struct.pack(">H", checksum(head)) + head[12:]
    ports = struct.pack(">HHH", 4000 + device, 9000, 8 + len(datagram))
    if udp_checksum is None:
        covered = addresses + struct.pack(">HH", 17, 8 + len(datagram)) + ports + bytes(2) + datagram
        udp_checksum = checksum(covered + bytes(len(covered) % 2)) or 0xFFFF
    udp = ports + struct.pack(">H", udp_checksum)
    return macs + b"\x08\x00" + head + udp + datagram


class Device:
    """Sends messages with payloads of given lengths."""

    def __init__(self, number):
        self.number = number
        self.random = random.Random(number)

    def message(self, length):
        payload = self.random.randbytes(length)
        self.identification = self.random.randrange(1 << 16)
        datagram = b"\xfa" + bytes(5) + payload
        sent = frame(IN_MACS, datagram, self.number, 64, self.identification, 0)
        alone = frame(OUT_MACS, datagram, self.number, 63, self.identification, 0)
        return payload, sent.ljust(60, b"\0"), alone.ljust(60, b"\0")

    def n_packet(self, payloads, by_timer):
        datagram = bytes([0xFD, len(payloads), 0, 0, 0, 0]) + b"".join(bytes([len(p)]) + p for p in payloads)
        identification, flags = (0, 2) if by_timer else (self.identification, 0)
        return frame(OUT_MACS, datagram, self.number, 63, identification, flags, 0)


def timer(kind, number):
    return bytes(12) + b"\x88\xb5" + struct.pack(">BBHI", kind, 0, 0, number) + bytes(38)


def write(name, options, lines, program="iot_aggregate_timed"):
    head = [f"# Written by programs/common/{Path(__file__).name}.", f"# forebay: {options}", SETUP]
    (PROGRAMS / program / f"{name}.stf").write_text("\n".join(head + lines) + "\n")


def packet(port, data):
    return f"packet {port} {data.hex()}"


def expect(data):
    return f"expect 2 {data.hex()} $"


def full_batches(count):
    """Every length, batch after batch; padding of short frames is no part of a message."""
    device = Device(1)
    lines = ["# Full batches of messages of all lengths."]
    lengths = [1 + 7 * i % 31 for i in range(31)]
    lengths += lengths[:-len(lengths) % count]
    for first in range(0, len(lengths), count):
        payloads = []
        for length in lengths[first:first + count]:
            payload, sent, _ = device.message(length)
            payloads.append(payload)
            lines.append(packet(0, sent))
        lines.append(expect(device.n_packet(payloads, False)))
    write(f"full_n{count}", f"-D N={count} -D FLOWS=1 -D MAX_AGE=1000000000", lines)


def last_round(count):
    """Batches that are not full go in the last round, and only then."""
    lines = ["# What is not full stays until the last round, which takes all of it."]
    for kept in range(1, count):
        device = Device(kept)
        payloads = []
        for length in range(31, 31 - kept, -1):
            payload, sent, _ = device.message(length)
            payloads.append(payload)
            lines.append(packet(0, sent))
        lines += ["no_packet" if kept == 1 else "", packet(TIMER_PORT, timer(0, 0)), packet(TIMER_PORT, timer(1, 0)),
                  expect(device.n_packet(payloads, True)), packet(TIMER_PORT, timer(1, 0))]
    lines.append(f"check_counter outcomes(3) packets == {count - 1}")
    write(f"last_round_n{count}", f"-D N={count} -D FLOWS=1 -D MAX_AGE=1000000000", [line for line in lines if line])


def by_age():
    """With no time to wait, the timer takes a message as soon as it comes by."""
    device = Device(1)
    lines = ["# A batch that is too old goes with the next timer packet of its place, or the next message."]
    payload, sent, _ = device.message(16)
    lines += [packet(0, sent), packet(TIMER_PORT, timer(0, 1)), packet(TIMER_PORT, timer(0, 2)),
              expect(device.n_packet([payload], True))]
    first, sent, _ = device.message(12)
    second, sent_second, _ = device.message(30)
    lines += [packet(0, sent), packet(0, sent_second), expect(device.n_packet([first, second], False))]
    lines += ["check_counter outcomes(2) packets == 1", "check_counter outcomes(1) packets == 1"]
    write("by_age", "-D N=8 -D FLOWS=1 -D MAX_AGE=0", lines)


def others():
    """Another flow's batch has the place; no messages; timer packets by a port that has none."""
    lines = ["# What is not gathered goes alone, as it came."]
    first, second = Device(1), Device(2)
    payload, sent, _ = first.message(16)
    _, other, alone = second.message(20)
    lines += [packet(0, sent), packet(0, other), expect(alone), packet(TIMER_PORT, timer(1, 0)),
              expect(first.n_packet([payload], True))]
    for datagram in (b"\xfa" + bytes(5), b"\xfa" + bytes(5) + bytes(32), b"\xfb" + bytes(5) + bytes(16)):
        sent = frame(IN_MACS, datagram, 3, 64, 1, 0, 5)
        lines += [packet(0, sent), expect(frame(OUT_MACS, datagram, 3, 63, 1, 0, 5))]
    lines.append("# A damaged message of each length goes alone; one without a checksum is kept.")
    for length in range(1, 32):
        payload = first.random.randbytes(length)
        datagram = b"\xfa" + bytes(5) + payload
        right = frame(IN_MACS, datagram, 1, 64, 1, 0)
        damaged = right[:-1] + bytes([right[-1] ^ 1])
        forwarded = frame(OUT_MACS, datagram, 1, 63, 1, 0)
        lines += [packet(0, damaged), expect(forwarded[:-1] + bytes([forwarded[-1] ^ 1]))]
    lines += [packet(0, frame(IN_MACS, datagram, 1, 64, 1, 0, 0)), packet(TIMER_PORT, timer(1, 0)),
              expect(first.n_packet([payload], True)), "check_counter outcomes(4) packets == 32"]
    lines += ["# Dropped: a timer packet elsewhere, a message that is cut off.", packet(1, timer(1, 0)),
              packet(0, frame(IN_MACS, b"\xfa" + bytes(5) + bytes(16), 3, 64, 1, 0, 5)[:-1])]
    write("others", "-D N=4 -D FLOWS=1 -D MAX_AGE=1000000000", lines)


def groups(count):
    """The multicast groups of 1 to `count` copies to port 2, whose nodes can be shared."""
    lines = [f"mc_node_create {rid} 2" for rid in range(count)]
    for copies in range(1, count + 1):
        group = 1000 + 8 * 2 + copies - 1
        lines.append(f"mc_mgrp_create {group}")
        lines += [f"mc_node_associate {group} {rid}" for rid in range(copies)]
    return lines


def split(count):
    """N-packets of 1 to `count` messages; damaged ones; what is no N-packet."""
    lines = ["# Every message comes out as it was sent, but for the UDP checksum.", *groups(count)]
    device = Device(count)
    for messages in range(1, count + 1):
        payloads = [device.random.randbytes(1 + (5 * messages + 11 * i) % 31) for i in range(messages)]
        datagram = bytes([0xFD, messages, 0, 0, 0, 0]) + b"".join(bytes([len(p)]) + p for p in payloads)
        sent = frame(IN_MACS, datagram, count, 64, messages, 0, 0)
        lines.append(packet(1, sent.ljust(60, b"\0")))
        for payload in payloads:
            lines.append(expect(frame(OUT_MACS, b"\xfa" + bytes(5) + payload, count, 63, messages, 0, 0)))
        for wrong in (messages + 1, messages - 1, count + 1):
            damaged = datagram[:1] + bytes([wrong]) + datagram[2:]
            lines.append(packet(1, frame(IN_MACS, damaged, count, 64, messages, 0, 0)))
        for wrong in (0, 32, len(payloads[0]) - 1):
            damaged = datagram[:6] + bytes([wrong]) + datagram[7:]
            lines.append(packet(1, frame(IN_MACS, damaged, count, 64, messages, 0, 0)))
        lines.append("no_packet")
    _, sent, alone = device.message(9)
    lines += [packet(1, sent), expect(alone)]
    write(f"split_n{count}", f"-D N={count}", lines, "iot_disaggregate_mixed")


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    for count in (2, 4, 8):
        full_batches(count)
        last_round(count)
        split(count)
    by_age()
    others()


if __name__ == "__main__":
    main()
