#!/usr/bin/env python3
"""The end of IPIP and GUE tunnels at a back end, in user space: writes the inner packets to a TUN device. As root.

    tunnel_end.py --bind ADDRESS [--gue] [--tun NAME]

For kernels without ipip and fou. With them, `ip link add type ipip` and `ip fou add port 6080 gue` do the same.
"""

import argparse
import os
import pathlib
import socket
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import program
from tun import tun

GUE_PORT, GUE_BYTES = 6080, 4


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bind", required=True, metavar="ADDRESS", help="IPv4 address of the back end")
    parser.add_argument("--gue", action="store_true", help="GUE on UDP port 6080 in place of IPIP")
    parser.add_argument("--tun", default="tunnel", metavar="NAME", help="the TUN device (tunnel)")
    arguments = parser.parse_args()
    device = tun(arguments.tun)
    if arguments.gue:
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.bind((arguments.bind, GUE_PORT))
    else:
        receiver = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_IPIP)
        receiver.bind((arguments.bind, 0))
    print("ready", flush=True)
    while True:
        data = receiver.recv(65536)
        # A raw socket gives the outer header too.
        os.write(device, data[GUE_BYTES:] if arguments.gue else data[4 * (data[0] & 15) :])


if __name__ == "__main__":
    program.run(main)
