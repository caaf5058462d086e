#!/usr/bin/env python3
"""Thousands of sensors behind a few gateways.

Sensor i has the device number FIRST + i; all send in turn, RATE readings a second together, by UDP through the sockets
of GATEWAYS. At the end each gateway sends fillers, which complete the last batch that a switch has open for it. Prints
how many readings each sensor has sent: `rounds`, one more for the first `more` sensors; and what went by each gateway.
"""

import argparse
import json
import math
import socket
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "baselines"))

import messages  # noqa: E402
import readings  # noqa: E402
from address import host_and_port  # noqa: E402

FILLERS = 7
TICK_SECONDS = 0.004


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", type=host_and_port, metavar="HOST:PORT")
    for name, kind in (("first", int), ("count", int), ("rate", float), ("seconds", float), ("gateways", int)):
        parser.add_argument(name, type=kind, metavar=name.upper())
    options = parser.parse_args()
    first, count, rate, seconds, gateways = (
        options.first,
        options.count,
        options.rate,
        options.seconds,
        options.gateways,
    )
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(gateways)]
    for gateway in sockets:
        gateway.connect(options.address)
    total, sent, by_gateway = int(rate * seconds), 0, [0] * gateways
    begin = time.monotonic()
    while sent < total:
        due = min(total, int((time.monotonic() - begin) * rate) + 1)
        now_ms = int(time.time() * 1000)
        for number in range(sent, due):
            sensor, sequence = number % count, number // count
            value = 20 + 5 * math.sin(sequence / 10 + sensor)
            reading = readings.Reading(first + sensor, 0, now_ms, sequence, value)
            sockets[sensor % gateways].send(messages.MESSAGE + readings.encoded(reading))
            by_gateway[sensor % gateways] += 1
        sent = due
        time.sleep(TICK_SECONDS)
    time.sleep(1)
    filler = messages.MESSAGE + readings.encoded(readings.Reading(readings.FILLER, 0, 0, 0, 0.0))
    for gateway in sockets:
        for _ in range(FILLERS):
            gateway.send(filler)
    rounds, more = divmod(sent, count)
    seconds = time.monotonic() - begin
    print(
        json.dumps(
            {
                "sent": sent,
                "rounds": rounds,
                "more": more,
                "by_gateway": by_gateway,
                "fillers": FILLERS,
                "seconds": seconds,
            }
        )
    )


if __name__ == "__main__":
    main()
