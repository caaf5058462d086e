#!/usr/bin/env python3
"""Prints the routers on the way to an IPv4 address, and the address itself, a line each: datagrams with a growing TTL.

    trace.py ADDRESS
"""

import socket
import sys

IP_RECVERR = 11
MOST_HOPS = 8
FIRST_PORT = 33434
UNREACHABLE = 3


def hop(address, ttl):
    """The address that answers a datagram with this TTL, and the ICMP type of the answer."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.setsockopt(socket.SOL_IP, IP_RECVERR, 1)
        probe.setsockopt(socket.SOL_IP, socket.IP_TTL, ttl)
        probe.settimeout(3)
        probe.connect((address, FIRST_PORT + ttl))
        probe.send(b"trace")
        try:
            probe.recv(1)
        except OSError:
            # The ICMP error, or silence.
            pass
        _, ancillary, _, _ = probe.recvmsg(100, 512, socket.MSG_ERRQUEUE)
    # A sock_extended_err of 16 bytes; then the sockaddr_in of the router that answered.
    error = ancillary[0][2]
    return socket.inet_ntoa(error[20:24]), error[5]


def main():
    for ttl in range(1, MOST_HOPS + 1):
        router, kind = hop(sys.argv[1], ttl)
        print(router)
        if kind == UNREACHABLE:
            break


if __name__ == "__main__":
    main()
