#!/usr/bin/env python3
"""Writes the STF tests of p4qrs, recirculate and payloadpark, with what this model of the computation expects."""

import argparse
import random
import struct
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent.parent
MASK = 0xFFFFFFFF


def rotate_left(word, bits):
    return ((word << bits) | (word >> (32 - bits))) & MASK


def mix(data, passes):
    """The default computation: every pass changes the words one after another."""
    words = list(struct.unpack(">16I", data))
    for number in range(1, passes + 1):
        constant = 0x9E3779B9 * number & MASK
        for i in range(16):
            words[i] = rotate_left((words[i] + constant) & MASK, 7) ^ words[(i + 1) % 16]
    return struct.pack(">16I", *words)


def quarter_round(state, a, b, c, d):
    for x, y, z, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        state[x] = (state[x] + state[y]) & MASK
        state[z] = rotate_left(state[z] ^ state[x], bits)


def chacha_block(key, counter, nonce, rounds):
    """RFC 8439, section 2.3, for any even number of rounds."""
    initial = list(struct.unpack("<4I", b"expand 32-byte k"))
    initial += struct.unpack("<8I", key) + (counter,) + struct.unpack("<3I", nonce)
    state = list(initial)
    for _ in range(rounds // 2):
        for column in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)):
            quarter_round(state, *column)
        for diagonal in ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            quarter_round(state, *diagonal)
    return struct.pack("<16I", *((a + b) & MASK for a, b in zip(state, initial)))


def check_block():
    """The vector of RFC 8439, section 2.3.2."""
    block = chacha_block(bytes(range(32)), 1, bytes.fromhex("000000090000004a00000000"), 20)
    assert block.hex().startswith("10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"), block.hex()


def frame(length, seed):
    """An IPv4 packet of UDP; neither checksum is looked at."""
    ethernet = bytes.fromhex("0200000000fe0200000000010800")
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, length - 14, seed, 0, 64, 17, 0, bytes([10, 0, 1, 1]), bytes([10, 0, 2, 2]))
    return ethernet + ip + random.Random(seed).randbytes(length - 34)


def computed(packet, passes, cipher):
    data = packet[34:98]
    if cipher:
        data = bytes(a ^ b for a, b in zip(data, chacha_block(cipher[0], 1, cipher[1](packet), 2 * passes)))
    else:
        data = mix(data, passes)
    return packet[:34] + data + packet[98:]


SETUP = {
    "p4qrs": "add units ingress_port:0 join_unit(number:0, recirculation_port_0:1, recirculation_port_1:2, output_port:3)\n"
    "mirroring_add 1001 1 114\nmirroring_add 1002 2 114\n",
    "recirculate": "add units ingress_port:0 join_unit(recirculation_port_0:1, recirculation_port_1:2, out_port:3)\n",
    "payloadpark": "add units ingress_port:0 join_unit(recirculation_port_0:1, recirculation_port_1:2, out_port:3)\n",
}

# The key of the program, and the nonce: the packet's addresses and its identification.
KEY = bytes(range(32))


def nonce(packet):
    return packet[26:34] + packet[18:20] + bytes(2)


def write(program, passes, cipher):
    name = f"chacha{2 * passes}" if cipher else f"mix_n{passes}"
    options = f"-D RECIRCULATIONS={passes}" + (" -D COMPUTATION=2" if cipher else "")
    lines = [f"# Packets of several lengths, every byte of what leaves. Written by programs/common/{Path(__file__).name}.",
             f"# forebay: {options}", SETUP[program]]
    for seed, length in enumerate((98, 99, 114, 200, 258, 300, 1500), 1):
        packet = frame(length, seed)
        lines.append(f"packet 0 {packet.hex()}")
        lines.append(f"expect 3 {computed(packet, passes, cipher).hex()} $")
    lines.append("# Too short, no IPv4, another port: dropped.")
    lines.append(f"packet 0 {frame(97, 1).hex()}")
    lines.append(f"packet 0 {'ff' * 12}0806{'00' * 100}")
    lines.append(f"packet 7 {frame(200, 1).hex()}")
    (PROGRAMS / program / f"{name}.stf").write_text("\n".join(lines) + "\n")


def write_lost_header():
    """Every second packet finds no clone session, so its header is lost."""
    lines = [f"# Headers on one of both ports are lost: their payloads end, the others are right. Written by "
             f"programs/common/{Path(__file__).name}.", "# forebay: -D RECIRCULATIONS=4",
             SETUP["p4qrs"].replace("mirroring_add 1002 2 114\n", "")]
    for seed in range(1, 7):
        packet = frame(200, seed)
        lines.append(f"packet 0 {packet.hex()}")
        if seed % 2:
            lines.append(f"expect 3 {computed(packet, 4, None).hex()} $")
    lines += ["no_packet", "check_counter outcomes(0) packets == 3", "check_counter outcomes(1) packets == 3"]
    (PROGRAMS / "p4qrs" / "lost_header.stf").write_text("\n".join(lines) + "\n")


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    check_block()
    for program in SETUP:
        for passes in (2, 8):
            write(program, passes, None)
        for passes in (4, 6, 10):
            write(program, passes, (KEY, nonce))
    write_lost_header()


if __name__ == "__main__":
    main()
