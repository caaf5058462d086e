#!/usr/bin/env python3
"""Hands on every frame from one interface to another and back in the kernel, by XDP: what a veth pair carries at most. Until it is interrupted.

    redirect.py n1 n2
"""

import ctypes
import pathlib
import signal
import socket
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benches"))
from veth import BPF_PROGRAM_LOAD, bpf  # noqa: E402

BPF_TYPE_XDP = 6
BPF_LINK_CREATE, BPF_ATTACH_XDP, XDP_NATIVE = 28, 37, 1 << 2
BPF_REDIRECT = 23


def redirect_to(interface):
    """A program that hands each frame to this interface."""
    instruction = lambda opcode, registers, immediate=0: struct.pack("<BBhi", opcode, registers, 0, immediate)  # noqa: E731
    # r1 = interface; r2 = 0; return bpf_redirect(r1, r2)
    words = [
        instruction(0xB7, 0x01, socket.if_nametoindex(interface)),
        instruction(0xB7, 0x02),
        instruction(0x85, 0x00, BPF_REDIRECT),
        instruction(0x95, 0x00),
    ]
    program, license = ctypes.create_string_buffer(b"".join(words)), ctypes.create_string_buffer(b"GPL")
    addresses = ctypes.addressof(program), ctypes.addressof(license)
    return bpf(BPF_PROGRAM_LOAD, struct.pack("<IIQQIIQII16s", BPF_TYPE_XDP, len(words), *addresses, 0, 0, 0, 0, 0, b"redirect"))


def main():
    first, second = sys.argv[1:]
    for here, there in ((first, second), (second, first)):
        index = socket.if_nametoindex(here)
        # As long as this process is there.
        bpf(BPF_LINK_CREATE, struct.pack("<IIII48x", redirect_to(there), index, BPF_ATTACH_XDP, XDP_NATIVE))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print("ready", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
