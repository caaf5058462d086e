"""The Internet checksum, for programs that build packets themselves."""

import struct


def checksum(data):
    """The checksum (RFC 1071) of an even number of bytes."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
