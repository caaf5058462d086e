#!/usr/bin/env python3
"""Holds a UDP socket for a server, and starts the server again when it ends.

The command inherits the socket as descriptor 3 (`--udp-descriptor 3`). While the server is gone, datagrams wait in the
socket; those for which it has no room are counted by the kernel. So no datagram is lost without a counter, whenever the
server is killed.
"""

import argparse
import os
import signal
import socket
import subprocess
import time

from address import host_and_port

DESCRIPTOR = 3
BUFFER_BYTES = 1 << 20


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("udp", type=host_and_port, metavar="HOST:PORT")
    parser.add_argument("pause", type=float, metavar="SECONDS", help="before the server is started again")
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="behind --, the server")
    options = parser.parse_args()
    held = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    held.bind(options.udp)
    if held.fileno() != DESCRIPTOR:
        os.dup2(held.fileno(), DESCRIPTOR)
    os.set_inheritable(DESCRIPTOR, True)
    ended = False
    server = None

    def stop(*_):
        nonlocal ended
        ended = True
        if server is not None:
            server.terminate()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    while not ended:
        server = subprocess.Popen(options.command, pass_fds=[DESCRIPTOR])
        if ended:
            # While it was started, `stop` knew the one before.
            server.terminate()
        print(server.pid, flush=True)
        server.wait()
        if not ended:
            time.sleep(options.pause)


if __name__ == "__main__":
    main()
