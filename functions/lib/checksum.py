"""The Internet checksum and hashes of P4, for programs that build packets themselves."""

import struct


def checksum(data):
    """The checksum (RFC 1071) of an even number of bytes."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def crc16(data):
    """`HashAlgorithm.crc16` of v1model: CRC-16/ARC."""
    value = 0
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0xA001 if value & 1 else 0)
    return value


def dynamic_port(data):
    """The source port of a tunnel: a hash of the flow in the range of RFC 6335's dynamic ports."""
    return 0xC000 + crc16(data) % 0x4000
