#!/usr/bin/env python3
"""IoT messages by MQTT with QoS 1: sensors, a bridge that splits N-packets, a subscriber that checks.

`publish` has a connection for each flow. `bridge` receives messages and N-packets by UDP and publishes each message; it
works with any broker. `subscribe` prints the same object as `iot_traffic receive`. Payloads are those of iot_traffic.c.
"""

import argparse
import json
import resource
import select
import socket
import struct
import time

import messages
import mqtt

TOPIC = "sensors"
PORT = 1883
PAYLOAD = struct.Struct("<HHIII")
BUCKET_US = 10_000
# How long the first message may take: sensors connect first, and a connection that loses packets takes seconds.
FIRST_SECONDS = 60


class Client:
    """A connection to a broker."""

    def __init__(self, broker, client_id):
        self.socket = socket.create_connection((broker, PORT), timeout=10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.decoder = mqtt.Decoder()
        self.identifier = 0
        self.socket.sendall(mqtt.connect(client_id))
        self.wait_for(mqtt.CONNACK)

    def wait_for(self, kind):
        while kind not in [found for found, _, _ in self.packets()]:
            pass

    def packets(self):
        """Packets that have come; at least one read."""
        data = self.socket.recv(65536)
        if not data:
            raise SystemExit("the broker has closed the connection")
        return list(self.decoder.feed(data))

    def publish(self, payload):
        self.identifier = self.identifier % 65535 + 1
        self.socket.sendall(mqtt.publish(TOPIC, payload, self.identifier))


def check_of(payload):
    """FNV-1a of all but the last four bytes."""
    value = 2166136261
    for byte in payload[:-4]:
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value


def now_us():
    return time.monotonic_ns() // 1000


def publish(broker, run, flows, count, rate):
    """Sends at a rate; ends when every message is acknowledged."""
    clients = [Client(broker, f"sensor{flow}") for flow in range(flows)]
    begin, acknowledged, total = now_us(), 0, flows * count
    sent = 0
    while acknowledged < total:
        due = begin + sent * 1_000_000 / rate if sent < total else now_us() + 100_000
        readable, _, _ = select.select([client.socket for client in clients], [], [], max(0, due - now_us()) / 1e6)
        for client in clients:
            if client.socket in readable:
                acknowledged += sum(kind == mqtt.PUBACK for kind, _, _ in client.packets())
        if sent < total and now_us() >= due:
            head = PAYLOAD.pack(run, sent % flows, sent // flows, now_us() & 0xFFFFFFFF, 0)
            clients[sent % flows].publish(head[:-4] + check_of(head).to_bytes(4, "little"))
            sent += 1
            end = now_us()
    print(json.dumps({"begin_us": begin, "end_us": end, "sent": total}))


def bridge(address, port, broker):
    """Publishes the messages that arrive by UDP, until it is stopped."""
    incoming = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    incoming.bind((address, port))
    client = Client(broker, "bridge")
    while True:
        readable, _, _ = select.select([incoming, client.socket], [], [])
        if client.socket in readable:
            client.packets()
        if incoming in readable:
            body = incoming.recv(2048)
            for message in messages.split(body) if body[:1] == messages.N_PACKET[:1] else [body]:
                client.publish(message[messages.FLAG_BYTES :])


class Results:
    """What a subscriber counts."""

    def __init__(self, run, flows, count):
        self.run, self.count = run, count
        self.seen = [bytearray(count) for _ in range(flows)]
        self.highest = [0] * flows
        self.delays, self.buckets = [], []
        self.counts = dict.fromkeys(("duplicates", "corrupted", "foreign", "reordered", "datagrams"), 0)
        self.begin_us = now_us()

    def take(self, payload):
        self.counts["datagrams"] += 1
        if len(payload) != PAYLOAD.size or PAYLOAD.unpack(payload)[4] != check_of(payload):
            self.counts["corrupted"] += 1
            return
        run, flow, sequence, sent_us, _ = PAYLOAD.unpack(payload)
        if run != self.run or flow >= len(self.seen) or sequence >= self.count:
            self.counts["foreign"] += 1
        elif self.seen[flow][sequence]:
            self.counts["duplicates"] += 1
        else:
            self.seen[flow][sequence] = 1
            self.counts["reordered"] += sequence + 1 < self.highest[flow]
            self.highest[flow] = max(self.highest[flow], sequence + 1)
            self.delays.append((now_us() - sent_us) & 0xFFFFFFFF)
            bucket = (now_us() - self.begin_us) // BUCKET_US
            self.buckets += [0] * (bucket + 1 - len(self.buckets))
            self.buckets[bucket] += 1

    def summary(self):
        """The object that `iot_traffic receive` prints."""
        gaps = sum(seen[i] and not seen[i - 1] for seen in self.seen for i in range(1, self.count))
        usage = resource.getrusage(resource.RUSAGE_SELF)
        found = {"received": len(self.delays), **self.counts, "gaps": gaps}
        found |= {"processor_us": int(1e6 * (usage.ru_utime + usage.ru_stime))}
        if self.delays:
            found["delay_us"] = quantiles(self.delays)
        return found | {"begin_us": self.begin_us, "bucket_us": BUCKET_US, "buckets": self.buckets}


def quantiles(values):
    """Mean and quantiles of a list that is not empty."""
    values = sorted(values)
    count = len(values)
    places = {"min": 0, "p5": count // 20, "median": count // 2, "p95": count * 19 // 20, "p99": count * 99 // 100}
    return {"mean": sum(values) / count, **{name: values[at] for name, at in places.items()}, "max": values[-1]}


def subscribe(broker, run, flows, count, idle):
    """Counts messages until all have come, or none for `idle` seconds after the first."""
    client = Client(broker, "subscriber")
    client.socket.sendall(mqtt.subscribe(TOPIC, 1))
    client.wait_for(mqtt.SUBACK)
    print("ready", flush=True)
    found = Results(run, flows, count)
    while len(found.delays) < flows * count:
        if not select.select([client.socket], [], [], idle if found.counts["datagrams"] else FIRST_SECONDS)[0]:
            break
        for kind, flags, body in client.packets():
            if kind == mqtt.PUBLISH:
                _, identifier, payload = mqtt.message_of(flags, body)
                client.socket.sendall(mqtt.puback(identifier))
                found.take(payload)
    print(json.dumps(found.summary()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True)
    for part, last in (("publish", "rate"), ("subscribe", "idle_seconds")):
        of_part = parts.add_parser(part)
        of_part.add_argument("broker", metavar="BROKER")
        for name in ("run", "flows", "messages_per_flow"):
            of_part.add_argument(name, type=int, metavar=name.upper())
        of_part.add_argument("last", type=float, metavar=last.upper())
    of_bridge = parts.add_parser("bridge")
    of_bridge.add_argument("address", metavar="ADDRESS")
    of_bridge.add_argument("port", type=int, metavar="PORT")
    of_bridge.add_argument("broker", metavar="BROKER")
    options = parser.parse_args()
    if options.part == "bridge":
        bridge(options.address, options.port, options.broker)
        return
    part = publish if options.part == "publish" else subscribe
    part(options.broker, options.run, options.flows, options.messages_per_flow, options.last)


if __name__ == "__main__":
    main()
