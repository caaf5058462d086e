"""Capture files (pcap) of Ethernet frames, for programs that give packets to `forebay` and read what leaves."""

import struct


def write_capture(path, frames):
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for one in frames:
            file.write(struct.pack("<IIII", 0, 0, len(one), len(one)) + one)


def read_capture(path):
    data, frames, at = path.read_bytes(), [], 24
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at + 8)
        frames.append(data[at + 16 : at + 16 + length])
        at += 16 + length
    return frames
