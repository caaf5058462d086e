#!/usr/bin/env python3
"""A device application: a room with a sensor of temperature, a lift with one of speed, a fan and a brake as actuators.

    device.py --server HOST:PORT --way http|mqtt|udp [--udp HOST:PORT] [--broker HOST:PORT] [--name NAME] [--seconds S] [--rate R]

Registers itself, joins its sensor with its actuator (`fan` runs above 25 degrees), sends readings in the way that is
asked for, and prints each value that comes to its actuator, in the same way.
"""

import argparse
import asyncio
import json
import math
import socket
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "baselines"))

import broker  # noqa: E402
import messages  # noqa: E402
import readings  # noqa: E402
from address import host_and_port  # noqa: E402

THRESHOLD = 25.0
RETRY_SECONDS = 0.2


def call(server, method, path, body=None):
    """A request to the server; a refusal is an error with its text."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://{server}{path}", data, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code >= 500:
            raise
        raise SystemExit(f"{method} {path}: {json.load(error).get('error')}") from error


def temperature(seconds):
    """A room whose temperature goes up and down once in ten seconds."""
    return THRESHOLD + 5 * math.sin(2 * math.pi * seconds / 10)


class Device:
    """A sensor and an actuator in one way of sending."""

    def __init__(self, options):
        self.options = options
        self.sequence = 0
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("0.0.0.0", 0))
        self.udp.setblocking(False)
        self.connection = None

    def register(self):
        name, way = self.options.name, {"by": self.options.way}
        if way["by"] == "udp":
            way["address"] = f"{self.options.address}:{self.udp.getsockname()[1]}"
        registered = {"name": name, "model": "room", "sensors": ["temperature"], "actuators": {"fan": way}}
        known = call(self.options.server, "POST", "/devices", registered)
        # A device that is started again goes on counting: a number that has come is a duplicate.
        self.number, [self.sequence] = known["number"], known["next"]
        join = {"name": f"{name}-fan", "from": [f"{name}/temperature"], "function": "above", "to": [f"{name}/fan"]}
        call(self.options.server, "POST", "/joins", join | {"parameters": {"threshold": THRESHOLD}})

    async def send(self, value):
        name, sequence = self.options.name, self.sequence
        self.sequence += 1
        if self.options.way == "http":
            path = f"/devices/{name}/temperature"
            await self.reach("PUT", path, {"value": value, "sequence": sequence})
        elif self.options.way == "mqtt":
            self.connection.publish(f"sensors/{name}/temperature", repr(value).encode())
        else:
            reading = readings.Reading(self.number, 0, int(time.time() * 1000), sequence, value)
            self.udp.sendto(messages.MESSAGE + readings.encoded(reading), self.options.udp)

    async def reach(self, *request):
        """The answer to a request, which is repeated while the server is gone."""
        while True:
            try:
                return await asyncio.to_thread(call, self.options.server, *request)
            except OSError:
                await asyncio.sleep(RETRY_SECONDS)

    def actuate(self, value):
        print(json.dumps({"actuator": f"{self.options.name}/fan", "value": value}), flush=True)

    async def poll(self):
        """Values for the actuator by HTTP."""
        number = 0
        while True:
            path = f"/devices/{self.options.name}/fan?after={number}"
            found = await self.reach("GET", path)
            if found["number"] != number:
                number = found["number"]
                self.actuate(found["value"])

    def receive(self):
        """A value for the actuator by UDP."""
        self.actuate(json.loads(self.udp.recv(2048))["value"])

    async def run(self):
        self.register()
        tasks = []
        if self.options.way == "http":
            tasks.append(asyncio.create_task(self.poll()))
        elif self.options.way == "udp":
            asyncio.get_running_loop().add_reader(self.udp, self.receive)
        else:
            topic = f"actuators/{self.options.name}/fan"
            received = lambda _, payload: self.actuate(float(payload))  # noqa: E731
            self.connection = broker.Connection(*self.options.broker, self.options.name, (topic,), received)
            tasks.append(asyncio.create_task(self.connection.run()))
        begin = time.monotonic()
        while (now := time.monotonic() - begin) < self.options.seconds:
            await self.send(temperature(now))
            await asyncio.sleep(1 / self.options.rate)
        await asyncio.sleep(0.5)
        for task in tasks:
            task.cancel()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default="127.0.0.1:8080", metavar="HOST:PORT")
    parser.add_argument("--way", choices=("http", "mqtt", "udp"), default="http")
    udp = "where the server takes datagrams"
    parser.add_argument("--udp", type=host_and_port, default="127.0.0.1:9000", metavar="HOST:PORT", help=udp)
    parser.add_argument("--broker", type=host_and_port, default="127.0.0.1:1883", metavar="HOST:PORT")
    parser.add_argument("--address", default="127.0.0.1", help="where this device is reached by UDP")
    parser.add_argument("--name", default="room")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=float, default=2, help="readings a second")
    asyncio.run(Device(parser.parse_args()).run())


if __name__ == "__main__":
    main()
