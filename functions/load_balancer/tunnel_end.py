#!/usr/bin/env python3
"""The end of IPIP and GUE tunnels at a back end, in user space: what comes out goes into a TUN device. As root.

    tunnel_end.py --bind ADDRESS [--gue] [--tun NAME]

For kernels without ipip and fou; others do the same with `ip link add type ipip` and `ip fou add port 6080 gue`.
"""

import argparse
import fcntl
import os
import socket
import struct

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
GUE_PORT, GUE_BYTES = 6080, 4


def tun(name):
    device = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    return device


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
    main()
