#!/usr/bin/env python3
"""A small IoT platform after IoTtalk: devices with sensors and actuators, joined by functions, and a page that shows
values.

    server.py --folder DIR [--http PORT] [--udp PORT | --udp-descriptor FD] [--broker HOST:PORT]

Readings come by HTTP, by MQTT (`readings` with 16 bytes, `sensors/DEVICE/SENSOR` with a number), and by UDP, as
messages or N-packets, which it splits itself. Values for actuators leave by HTTP (long polls), MQTT
(`actuators/DEVICE/ACTUATOR`) or UDP. `DIR` keeps devices, joins and which readings have come: all survive `kill -9`.

    POST   /devices                 {"name": "lift", "model": "elevator", "sensors": ["speed"], "actuators": {"brake": {"by": "http"}}}, or a list;
                                    answers with its number, and the next sequence number of each sensor
    DELETE /devices/NAME
    PUT    /devices/NAME/SENSOR     {"value": 1.5, "sequence": 7}
    GET    /devices/NAME/ACTUATOR?after=NUMBER      the next value, within ten seconds
    POST   /joins                   {"name": "stop", "from": ["lift/speed"], "function": "above", "parameters": {"threshold": 3}, "to": ["lift/brake"]}
    DELETE /joins/NAME
    POST   /announce                [[device number, sensor number, readings sent], ...]: what has not come of them is missing
    GET    /   /state   /counters   /missing   /delays (readings since the server began, by the power of two in milliseconds below which their delay is)
"""

import argparse
import asyncio
import collections
import contextlib
import json
import math
import os
import signal
import socket
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "baselines"))

import broker  # noqa: E402
import readings  # noqa: E402
import receipts  # noqa: E402
import registry  # noqa: E402
import web  # noqa: E402
from address import host_and_port  # noqa: E402

POLL_SECONDS = 10
UDP_BURST = 64
SHOWN = 200


class Server:
    """The platform: readings of every way go through `take`."""

    def __init__(self, folder, udp=None, mqtt=None):
        self.folder = folder
        self.registry = registry.Registry(self._state())
        self.receipts = receipts.Receipts(folder / "receipts.log")
        self.counters = collections.Counter()
        self.values, self.times, self.actuated = {}, {}, {}
        self.delays = collections.Counter()
        self.udp = udp
        self.mqtt = mqtt
        self.changed = asyncio.Condition()
        self.began = time.time()

    def _state(self):
        file = self.folder / "registry.json"
        return json.loads(file.read_text()) if file.exists() else None

    def save(self):
        """Devices and joins are in the file before they are acknowledged."""
        part = self.folder / "registry.json.part"
        part.write_text(json.dumps(self.registry.state()))
        os.replace(part, self.folder / "registry.json")

    def take(self, way, found):
        """Readings that came together by a way."""
        self.counters[f"{way} readings"] += len(found)
        new = self.receipts.take(found)
        now = time.time()
        for reading in new:
            sensor = self.registry.sensor_of(reading.device, reading.feature)
            if sensor is None:
                self.counters["readings of unknown sensors"] += 1
                continue
            if not math.isfinite(reading.value):
                # JSON has no such numbers: the page would show nothing any more.
                self.counters["readings without a number"] += 1
                continue
            self.values[sensor], self.times[sensor] = reading.value, now
            self.delays[readings.age_ms(reading, int(now * 1000)).bit_length()] += 1
            for actuator, value in self.registry.outcomes(sensor, reading.value):
                self.actuate(actuator, value)

    def take_body(self, way, body):
        """The body of a datagram; fillers are no readings."""
        payloads = readings.payloads_of(body)
        if payloads is None:
            self.counters[f"{way} malformed"] += 1
            return
        found = [readings.decoded(payload) for payload in payloads]
        real = [reading for reading in found if reading.device != readings.FILLER]
        if len(real) < len(found):
            self.counters["fillers"] += len(found) - len(real)
        self.take(way, real)

    def take_datagrams(self):
        """Takes the datagrams of the socket. Each is removed from it only when its readings are in the log."""
        for _ in range(UDP_BURST):
            try:
                body = self.udp.recv(2048, socket.MSG_PEEK)
            except BlockingIOError:
                return
            self.counters["udp datagrams"] += 1
            self.take_body("udp", body)
            self.udp.recv(1)

    def take_message(self, topic, payload):
        """A message of the broker."""
        if topic == "readings":
            reading = readings.decoded(payload)
            return self.take("mqtt", [reading]) if reading else self.counters.update(["mqtt malformed"])
        try:
            _, device, sensor = topic.split("/")
            numbers = self.registry.numbers_of(device, sensor)
            self.take("mqtt", [self._next_reading(numbers, float(payload))])
        except ValueError:
            self.counters["mqtt malformed"] += 1
        return None

    def _next_reading(self, numbers, value, sequence=None):
        if sequence is None:
            sequence = self.receipts.highest.get(numbers, -1) + 1
        if not 0 <= sequence < 1 << 32:
            raise registry.Refusal(f"sequence {sequence} must be 0 to 4294967295")
        if not math.isfinite(value):
            raise registry.Refusal(f"a reading is a finite number, not {value}")
        return readings.Reading(*numbers, int(time.time() * 1000), sequence, value)

    def actuate(self, actuator, value):
        """Sends a value to an actuator in its way. One that cannot be reached is counted, and disturbs no other."""
        if not math.isfinite(value):
            self.counters["values without a number"] += 1
            return
        number, _ = self.actuated.get(actuator, (0, None))
        self.actuated[actuator] = (number + 1, value)
        way = self.registry.actuator(*actuator.split("/"))
        self.counters[f"{way['by']} values"] += 1
        if way["by"] == "mqtt" and self.mqtt:
            self.mqtt.publish(f"actuators/{actuator}", repr(value).encode())
        elif way["by"] == "udp":
            host, _, port = way["address"].rpartition(":")
            message = json.dumps({"actuator": actuator, "value": value}).encode()
            try:
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outgoing:
                    outgoing.sendto(message, (host, int(port)))
            except (OSError, UnicodeError):
                self.counters["udp values not sent"] += 1
        elif way["by"] == "http":
            asyncio.get_running_loop().create_task(self._wake())

    async def _wake(self):
        async with self.changed:
            self.changed.notify_all()

    async def handle(self, method, path, query, body):
        """A request of HTTP."""
        self.counters["http requests"] += 1
        route = (method, *[part for part in path.split("/") if part])
        match route:
            case ("GET",):
                return (HERE / "page.html").read_bytes()
            case ("GET", "state"):
                return self.state()
            case ("GET", "counters"):
                return self.all_counters()
            case ("GET", "delays"):
                return {str(1 << bits): count for bits, count in sorted(self.delays.items())}
            case ("GET", "missing"):
                return list(self.receipts.missing_ranges())
            case ("POST", "announce"):
                self._announce(body)
                return {"missing": self.receipts.missing_count()}
            case ("POST", "devices"):
                devices = [self.registry.register(one) for one in (body if isinstance(body, list) else [body or {}])]
                self.save()
                found = [self._registered(device) for device in devices]
                return found if isinstance(body, list) else found[0]
            case ("DELETE", "devices", name):
                self.registry.remove(name)
                self._forget(name)
            case ("PUT", "devices", name, sensor):
                return self._put(name, sensor, body)
            case ("GET", "devices", name, actuator):
                return await self._poll(name, actuator, int(query.get("after", 0)))
            case ("POST", "joins"):
                self.registry.join(body or {})
            case ("DELETE", "joins", name):
                self.registry.unjoin(name)
            case _:
                raise web.Problem(404, f"there is nothing at {method} {path}")
        self.save()
        return {}

    def _registered(self, device):
        """What a device must know: its number, and of each sensor the sequence number with which it goes on."""
        highest = [self.receipts.highest.get((device.number, place), -1) for place in range(len(device.sensors))]
        return {"name": device.name, "number": device.number, "next": [number + 1 for number in highest]}

    def _announce(self, counts):
        """What sensors have sent. Numbers that are none would stay among those of all sensors."""
        triples = counts if isinstance(counts, list) else [None]
        for triple in triples:
            whole = isinstance(triple, list) and len(triple) == 3 and all(type(number) is int for number in triple)
            if not whole or min(triple) < 0 or triple[2] > 1 << 32:
                raise registry.Refusal("what was sent is a list of [device number, sensor number, readings sent]")
        for device, feature, count in triples:
            self.receipts.announce((device, feature), count)

    def _forget(self, name):
        """A device is gone: another one with its name begins without its values."""
        for known in (self.values, self.times, self.actuated):
            for feature in [feature for feature in known if feature.startswith(f"{name}/")]:
                del known[feature]

    def _put(self, name, sensor, body):
        if not isinstance(body, dict) or not isinstance(body.get("value"), int | float):
            raise registry.Refusal('a reading is {"value": NUMBER}, and may have a "sequence"')
        numbers = self.registry.numbers_of(name, sensor)
        try:
            reading = self._next_reading(numbers, float(body["value"]), body.get("sequence"))
        except OverflowError as error:
            raise registry.Refusal(f"a reading is a finite number: {error}") from error
        self.take("http", [reading])
        return {}

    async def _poll(self, name, actuator, after):
        self.registry.actuator(name, actuator)
        end = asyncio.get_running_loop().time() + POLL_SECONDS
        while True:
            number, value = self.actuated.get(f"{name}/{actuator}", (0, None))
            left = end - asyncio.get_running_loop().time()
            # A server that was started again counts from the beginning.
            if number and number != after or left <= 0:
                return {"number": number, "value": value}
            async with self.changed:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.changed.wait(), left)

    def all_counters(self):
        found = dict(self.counters)
        found |= {"unique readings": self.receipts.unique, "duplicate readings": self.receipts.duplicates}
        found |= {"missing readings": self.receipts.missing_count(), "seconds": time.time() - self.began}
        if self.udp is not None:
            found["udp datagrams dropped by the socket"] = socket_drops(self.udp.getsockname()[1])
        return found

    def state(self):
        """What the page shows: the devices that were heard last, with their values."""
        newest = sorted(self.times, key=self.times.get, reverse=True)[:SHOWN]
        now = time.time()
        return {
            "devices": len(self.registry.devices),
            "values": [
                {"sensor": sensor, "value": self.values[sensor], "age_s": round(now - self.times[sensor], 3)}
                for sensor in sorted(newest)
            ],
            "actuators": [
                {"actuator": actuator, "value": value, "number": number}
                for actuator, (number, value) in sorted(self.actuated.items())[:SHOWN]
            ],
            "joins": [
                {
                    "name": join.name,
                    "from": join.sources,
                    "function": join.function,
                    "parameters": join.parameters,
                    "to": join.targets,
                }
                for join in self.registry.joins.values()
            ],
            "broker": self.mqtt.is_connected if self.mqtt else None,
            "counters": self.all_counters(),
        }


def socket_drops(port):
    """Datagrams for which UDP sockets at a port had no room."""
    lines = Path("/proc/net/udp").read_text().splitlines()[1:]
    return sum(int(line.split()[-1]) for line in lines if int(line.split()[1].rpartition(":")[2], 16) == port)


def udp_socket(options):
    """The socket for datagrams, opened here or by the process that started this one; None when none is wanted."""
    if options.udp_descriptor is not None:
        udp = socket.socket(fileno=options.udp_descriptor)
    elif options.udp is not None:
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind((options.host, options.udp))
    else:
        return None
    udp.setblocking(False)
    return udp


async def run(options):
    options.folder.mkdir(parents=True, exist_ok=True)
    server = Server(options.folder, udp_socket(options))
    tasks = []
    if options.broker:
        server.mqtt = broker.Connection(*options.broker, "platform", ("readings", "sensors/+/+"), server.take_message)
        tasks.append(asyncio.create_task(server.mqtt.run()))
    loop = asyncio.get_running_loop()
    if server.udp is not None:
        loop.add_reader(server.udp, server.take_datagrams)
    listening = await web.serve(server.handle, options.host, options.http)
    print(
        json.dumps({"http": listening.sockets[0].getsockname()[1], "udp": server.udp and server.udp.getsockname()[1]}),
        flush=True,
    )
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    await stopped.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where devices, joins and receipts are kept")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (default 127.0.0.1)")
    parser.add_argument("--http", type=int, default=8080, metavar="PORT", help="0 for any free one")
    parser.add_argument("--udp", type=int, metavar="PORT", help="0 for any free one")
    parser.add_argument("--udp-descriptor", type=int, metavar="FD", help="a bound socket that this process inherits")
    parser.add_argument("--broker", type=host_and_port, metavar="HOST:PORT", help="an MQTT broker")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
