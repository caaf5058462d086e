#!/usr/bin/env python3
"""From UDP to a broker: takes messages and N-packets, and publishes each reading with QoS 1.

Works with any broker of MQTT 3.1.1. While the broker is gone, readings wait here. With SIGTERM the counters are printed
as JSON; LOG then has the device and the sequence number of each reading that the broker has acknowledged, 8 bytes each.
"""

import argparse
import asyncio
import collections
import contextlib
import json
import signal
import socket
import struct
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "baselines"))

import broker  # noqa: E402
import readings  # noqa: E402
from address import host_and_port  # noqa: E402
from server import socket_drops  # noqa: E402

BUFFER_BYTES = 1 << 20
RECORD = struct.Struct("<II")


class Bridge:
    """Takes datagrams and publishes their readings."""

    def __init__(self, udp, connection, log=None):
        self.udp, self.connection, self.log = udp, connection, log
        self.counters = collections.Counter()
        connection.on_acknowledged = self.note

    def take_datagrams(self):
        for _ in range(64):
            try:
                body = self.udp.recv(2048)
            except BlockingIOError:
                return
            self.counters["datagrams"] += 1
            payloads = readings.payloads_of(body)
            if payloads is None:
                self.counters["malformed"] += 1
                continue
            for payload in payloads:
                if readings.decoded(payload).device == readings.FILLER:
                    self.counters["fillers"] += 1
                else:
                    self.counters["readings"] += 1
                    self.connection.publish("readings", payload)

    def note(self, payload):
        """The broker has acknowledged a reading."""
        if self.log:
            reading = readings.decoded(payload)
            self.log.write(RECORD.pack(reading.device, reading.sequence))

    def all_counters(self):
        connection = self.connection
        return {
            **self.counters,
            "acknowledged": connection.acknowledged,
            "pending": connection.pending(),
            "overflow": connection.overflow,
            "connections": connection.connections,
            "dropped by the socket": socket_drops(self.udp.getsockname()[1]),
        }


async def run(address, at, log):
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    udp.bind(address)
    udp.setblocking(False)
    connection = broker.Connection(*at, "bridge")
    bridge = Bridge(udp, connection, log)
    loop = asyncio.get_running_loop()
    loop.add_reader(udp, bridge.take_datagrams)
    connecting = asyncio.create_task(connection.run())
    print(json.dumps({"udp": udp.getsockname()[1]}), flush=True)
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    loop.add_signal_handler(signal.SIGUSR1, lambda: print(json.dumps(bridge.all_counters()), flush=True))
    await stopped.wait()
    connecting.cancel()
    print(json.dumps(bridge.all_counters()), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("udp", type=host_and_port, metavar="HOST:PORT", help="where to take datagrams; port 0: any")
    parser.add_argument("broker", type=host_and_port, metavar="BROKER:PORT")
    parser.add_argument("log", type=Path, nargs="?", metavar="LOG", help="of what the broker has acknowledged")
    options = parser.parse_args()
    with options.log.open("wb") if options.log else contextlib.nullcontext() as log:
        asyncio.run(run(options.udp, options.broker, log))


if __name__ == "__main__":
    main()
