#!/usr/bin/env python3
"""Writes the STF tests of aes and ascon: known answers, and packets that are dropped."""

import argparse
import pathlib

from ciphers import aes, ascon, key_schedule, words

PROGRAMS = pathlib.Path(__file__).resolve().parents[1]
SOURCE = "020000000001"
DESTINATION = "0200000000fe"


def ascon_commands(key, nonce, associated, ports):
    high, low = (f"0x{word:016x}" for word in words(key))
    nonce_high, nonce_low = (f"0x{word:016x}" for word in words(nonce))
    yield (
        f"add keys hdr.ethernet.dst_addr:0x{DESTINATION} use_key(key_high:{high}, key_low:{low}, nonce_high:{nonce_high}, "
        f"nonce_low:{nonce_low}, associated:0x{associated.hex()})"
    )
    yield f"add outputs hdr.ethernet.dst_addr:0x{DESTINATION} send(port:1)"
    for choice, port in enumerate(ports):
        yield f"add recirculation_ports choice:{choice} send(port:{port})"


def write_ascon(plaintext_words, ingress_rounds, egress_rounds):
    key = nonce = bytes(range(16))
    associated = bytes(range(4))
    rest = bytes(range(200, 217))
    lines = [
        "# Known answers with key and nonce 000102..0f and associated data 00010203. Written by programs/common/cipher_tests.py.",
        f"# forebay: -D PLAINTEXT_WORDS={plaintext_words} -D INGRESS_ROUNDS={ingress_rounds} -D EGRESS_ROUNDS={egress_rounds}",
        *ascon_commands(key, nonce, associated, [8]),
        "",
    ]
    for plaintext in bytes(range(8 * plaintext_words)), bytes(255 - 7 * i for i in range(8 * plaintext_words)):
        ciphertext, tag = ascon(key, nonce, associated, plaintext)
        room = bytes(8) if plaintext_words == 1 else b""
        length = f"{len(plaintext):02x}"
        lines.append(f"packet 0 {DESTINATION}{SOURCE}88b5{length}{plaintext.hex()}{rest.hex()}")
        lines.append(f"expect 1 {DESTINATION}{SOURCE}88b6{length}{(ciphertext + room + tag + rest).hex()} $")
    lines += [
        "# Another length, another type, too short, state from outside, no key: dropped.",
        f"packet 0 {DESTINATION}{SOURCE}88b507{bytes(8 * plaintext_words).hex()}",
        f"packet 0 {DESTINATION}{SOURCE}0800{length}{bytes(60).hex()}",
        f"packet 0 {DESTINATION}{SOURCE}88b5{length}0000",
        f"packet 0 {DESTINATION}{SOURCE}0a50{length}{bytes(100).hex()}",
        f"packet 0 0200000000ff{SOURCE}88b5{length}{bytes(8 * plaintext_words).hex()}",
    ]
    name = f"words{plaintext_words}_rounds{ingress_rounds}_{egress_rounds}.stf"
    (PROGRAMS / "ascon" / name).write_text("\n".join(lines) + "\n")


def ipv4_checksum(header):
    total = sum(int.from_bytes(header[i : i + 2]) for i in range(0, 20, 2))
    return ~(total % 0xFFFF) & 0xFFFF


def udp_packet(data, port=5555):
    header = bytearray.fromhex("450000000001000040110000") + bytes([10, 0, 1, 1, 10, 0, 2, 2])
    header[2:4] = (28 + len(data)).to_bytes(2)
    header[10:12] = ipv4_checksum(header).to_bytes(2)
    udp = (10000).to_bytes(2) + port.to_bytes(2) + (8 + len(data)).to_bytes(2) + bytes(2)
    return f"{DESTINATION}{SOURCE}0800{(bytes(header) + udp + data).hex()}"


def aes_commands(key, ports):
    schedule = [[f"0x{bytes(word).hex()}" for word in round_key] for round_key in key_schedule(key)]

    def arguments(round_key):
        return ", ".join(f"word{i}:{word}" for i, word in enumerate(round_key))

    yield f"add flows hdr.ipv4.dst_addr:0x0a000202 encrypt(port:1, {arguments(schedule[0])})"
    for done in range(0, len(schedule) - 1, 2):
        yield f"add odd_keys hdr.inside.round:{done} set_odd({arguments(schedule[done + 1])})"
        yield f"add even_keys hdr.inside.round:{done} set_even({arguments(schedule[done + 2])})"
    for choice, port in enumerate(ports):
        yield f"add recirculation_ports choice:{choice} send(port:{port})"


def write_aes(key_bytes):
    key = bytes(range(key_bytes))
    lines = [
        "# The examples of FIPS 197, appendix C, and a second block. Written by programs/common/cipher_tests.py.",
        f"# forebay: -D ROUNDS={key_bytes // 4 + 6}",
        *aes_commands(key, [8]),
        "",
    ]
    rest = bytes(range(100, 108))
    for block in bytes(17 * i for i in range(16)), bytes(255 - 13 * i for i in range(16)):
        lines.append(f"packet 0 {udp_packet(block + rest)}")
        lines.append(f"expect 1 {udp_packet(aes(key, block) + rest)} $")
    lines += [
        "# Too short, another port, packets as they are inside: dropped.",
        f"packet 0 {udp_packet(bytes(15))}",
        f"packet 0 {udp_packet(bytes(16), 9)}",
        f"packet 0 {udp_packet(bytes(20), 5556)}",
    ]
    (PROGRAMS / "aes" / f"aes{8 * key_bytes}.stf").write_text("\n".join(lines) + "\n")


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    for plaintext_words in 1, 2, 3, 4:
        write_ascon(plaintext_words, 1, 1)
    for rounds in (1, 0), (2, 0), (2, 1), (2, 2):
        write_ascon(1, *rounds)
        write_ascon(2, *rounds)
    for key_bytes in 16, 24, 32:
        write_aes(key_bytes)


if __name__ == "__main__":
    main()
