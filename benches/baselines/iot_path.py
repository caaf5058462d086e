#!/usr/bin/env python3
"""The path of IoT messages from sensors to their server over a long link, with aggregation and without.

    sudo benches/baselines/iot_path.py [--forebay target/release/forebay] [--quick] [--json] [--record FILE.json] [--only PART,...]

    sensors ─ aggregation ─ WAN (rate, delay, loss) ─ disaggregation ─ server

Ways: `plain` has the WAN alone; `n2`, `n4`, `n8` have Forebay's switches around it; `server8` leaves the second switch
out, and the server splits N-packets itself; `timed8-5ms` sends a batch after 5 ms, however many messages it has. Parts:

    rate       messages a second over a WAN of 8 Mbps: goodput, loss, delay, processor time of the server
    loss       a WAN that loses frames: messages lost, and how many one after the other
    confirmed  the same with messages that are acknowledged and sent again (as CoAP's confirmable ones): how often, how long
    timeouts   few messages: what waiting for a full batch costs, and what a time-out changes
    sensors    flows of their own for up to 5,000 sensors, 20,000 messages a second in all
    mqtt       `mqtt`: sensors publish with QoS 1 to a broker (mosquitto) behind the WAN; `bridge8`: they send messages by UDP, which are
               aggregated, and a bridge beside the broker splits N-packets and publishes; `bridge1`: the same without aggregation
    http       `http`: 64 sensors put their messages to a server, one in a round trip; `mqtt64`: the same sensors, to a broker

Every message is checked. Needs root, iproute2, ethtool and cc; mosquitto for the last two parts.
"""

import argparse
import datetime
import json
import os
import resource
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import environment
import measure
import results
from chain import Chain, processor_seconds
from contenders import Forebay, TimedForebay, Wan

WAN_MBPS, WAN_DELAY_MS = 8, 20
FLOWS = 4
TIMEOUT_MS = 200
IDLE_SECONDS = 1.5
# The longest of the time-outs, 16 times the first one, and the way.
CONFIRMED_IDLE_SECONDS = 17 * TIMEOUT_MS / 1000

MQTT = measure.HERE / "mqtt_traffic.py"
MQTT_PORT = 1883
# Longer than TCP waits before it sends a segment for the fourth time.
MQTT_IDLE_SECONDS = 3
HTTP = measure.HERE / "http_traffic.py"
# Sensors with a connection each: one has at most 25 round trips a second over this WAN.
HTTP_FLOWS = 64
BROKER = """listener 1883 0.0.0.0
allow_anonymous true
set_tcp_nodelay true
max_inflight_messages 0
max_queued_messages 0
persistence false
user root
"""


@dataclass
class Point:
    """One run: its part, its way, and the load and the WAN."""

    part: str
    way: str
    rate: int
    loss_percent: float = 0
    confirmed: bool = False
    flows: int = FLOWS


def points(quick):
    """All runs."""
    rates = [2000, 24000] if quick else [2000, 8000, 12000, 16000, 24000, 32000]
    losses = [2] if quick else [0.5, 2, 5]
    ways = ["plain", "n8"] if quick else ["plain", "n2", "n4", "n8"]
    yield from (Point("rate", way, rate) for rate in rates for way in [*ways, "server8"])
    yield from (Point("loss", way, 4000, loss) for loss in losses for way in ways)
    for loss in losses:
        yield from (Point("confirmed", way, 4000, loss, True) for way in [*ways, "timed8-5ms"])
    for rate in [100] if quick else [100, 400, 1600]:
        for way in (
            ["plain", "n8", "timed8-5ms"]
            if quick
            else ["plain", "n8", "timed8-1ms", "timed8-5ms", "timed8-20ms", "timed8-100ms"]
        ):
            yield Point("timeouts", way, rate)
            yield Point("timeouts", way, rate, confirmed=True)
    for flows in [1000] if quick else [4, 100, 1000, 5000]:
        yield from (Point("sensors", way, 20_000, flows=flows) for way in ["n8", "timed8-5ms"])
    for loss in [0, 2] if quick else [0, 0.5, 2, 5]:
        yield from (Point("mqtt", way, 1000, loss) for way in ["mqtt", "bridge1", "bridge8"])
    for loss in [0, 2] if quick else [0, 0.5, 2, 5]:
        yield from (Point("http", way, 1000, loss, flows=HTTP_FLOWS) for way in ["http", "mqtt64"])


def stages(way, forebay, wan):
    """What stands between sensors and server, as contender and role, and N."""
    if way in ("plain", "mqtt", "bridge1", "http", "mqtt64"):
        return [(wan, "")], 1
    if way.startswith("timed"):
        n, age = way.removeprefix("timed").removesuffix("ms").split("-")
        switch = TimedForebay(forebay, 1000 * int(age))
    else:
        n, switch = way.removeprefix("server").removeprefix("bridge").removeprefix("n"), Forebay(forebay)
    last = [] if way.startswith(("server", "bridge")) else [(switch, "disaggregate")]
    return [(switch, "aggregate"), (wan, ""), *last], int(n)


def run(point, options, programs):
    """One run, as a row."""
    wan = Wan(programs["wan"], WAN_MBPS, WAN_DELAY_MS, point.loss_percent)
    row = dict(vars(point))
    between, n = stages(point.way, options.forebay, wan)
    with Chain(len(between), addressed=False) as chain:
        for stage, (contender, role) in enumerate(between, 1):
            contender.start(chain, stage, role, n)
        traffic = traffic_of(point.way)(chain, programs, n, point.way)
        traffic.wait_until_ready()
        wan.process.send_signal(signal.SIGUSR1)
        messages = results.messages_per_flow(point.rate, options.seconds, point.flows, n)
        traffic.flows = point.flows
        sent, received = traffic.send(point.rate, messages, point.confirmed)
        chain.check()
        chain.stop()
        link = json.loads((wan_folder(chain) / "wan.log").read_text())
    return row | results.path_point(sent, received, link) | traffic.more(sent)


def traffic_of(way):
    """What sends and receives."""
    if way == "http":
        return HttpTraffic
    return MqttTraffic if way.startswith(("mqtt", "bridge")) else PathTraffic


def wan_folder(chain):
    """The folder of the stage that is the WAN."""
    return next(node.folder for node in chain.nodes if (node.folder / "wan.log").exists())


class PathTraffic(measure.Traffic):
    """Messages with acknowledgements or without."""

    def __init__(self, chain, programs, n, way):
        super().__init__(chain, programs["iot_traffic"], n, grouped=False)
        self.confirmed = programs["iot_confirmed"]

    def wait_until_ready(self):
        """As `Traffic` does, but a WAN that loses frames lets something through, not all."""
        end = time.monotonic() + measure.PROBE_SECONDS
        while time.monotonic() < end:
            self.chain.check()
            if self.run(1000, 4 * self.n, 0.3)[1]["received"] > 0:
                return
        raise SystemExit(f"no messages come through after {measure.PROBE_SECONDS} s; {self.chain.logs()}")

    def send(self, rate, messages, confirmed):
        """As `run`, or with acknowledgements."""
        if not confirmed:
            return self.run(rate, messages, IDLE_SECONDS)
        what = (self.chain.server_address, 9000, next(measure.RUNS) % 65536, self.flows, messages)
        return self.exchange(
            (self.program, "receive", *what, CONFIRMED_IDLE_SECONDS, "acknowledge"),
            (self.confirmed, *what, rate, TIMEOUT_MS),
        )

    def more(self, sent):
        """What a row has beside the figures that all have."""
        return {}


class MqttTraffic(PathTraffic):
    """Messages to the subscriber of a broker that runs beside the server."""

    def __init__(self, chain, programs, n, way):
        super().__init__(chain, programs, n, way)
        self.way, self.seconds = way, 0
        server = chain.server
        (server.folder / "mosquitto.conf").write_text(BROKER)
        self.broker = chain.start(server, "mosquitto", "-c", server.folder / "mosquitto.conf", log="mosquitto.log")
        wait_until_listening(server, MQTT_PORT)
        if not way.startswith("mqtt"):
            words = (sys.executable, MQTT, "bridge", chain.server_address, 9000, "127.0.0.1")
            chain.start(server, *words, log="bridge.log")

    def run(self, rate, messages, idle=IDLE_SECONDS):
        """As `Traffic` does, but the receiver is a subscriber, whose patience is its own."""
        what = (next(measure.RUNS) % 65536, self.flows, messages)
        if self.way.startswith("mqtt"):
            send = (sys.executable, MQTT, "publish", self.chain.server_address, *what, rate)
        else:
            send = (self.program, "send", self.chain.server_address, 9000, *what, rate, 0)
        before = processor_seconds(self.broker.pid)
        found = self.exchange((sys.executable, MQTT, "subscribe", "127.0.0.1", *what, MQTT_IDLE_SECONDS), send)
        self.seconds = processor_seconds(self.broker.pid) - before
        return found

    def more(self, sent):
        return {"broker_us_per_message": 1e6 * self.seconds / sent["sent"]}


class HttpTraffic(PathTraffic):
    """Messages that are put to a server."""

    def run(self, rate, messages, idle=IDLE_SECONDS):
        what = (next(measure.RUNS) % 65536, self.flows, messages)
        address = self.chain.server_address
        receive = (sys.executable, HTTP, "receive", address, *what, MQTT_IDLE_SECONDS)
        return self.exchange(receive, (sys.executable, HTTP, "put", address, *what, rate))


def wait_until_listening(node, port):
    """Waits until a namespace has a TCP server at a port."""
    end = time.monotonic() + measure.PROBE_SECONDS
    while f":{port} " not in node.run("ss", "-ltn"):
        if time.monotonic() > end:
            raise SystemExit(f"nothing listens at port {port}")
        time.sleep(0.05)


def line(row):
    """A row for people."""
    text = (
        f"{row['part']:10} {row['way']:12} {row['rate']:6}/s {row['flows']:4} flows loss {row['loss_percent']:3} %  goodput {row['goodput_mbps']:6.3f} Mbps  "
        f"missing {100 * row['lost'] / row['sent']:6.2f} %"
    )
    if row["delay_us"]:
        text += f"  delay {row['delay_us']['median'] / 1000:7.2f} ms, 95 % {row['delay_us']['p95'] / 1000:7.2f} ms"
    text += f"  {row['wire_bytes_per_message']:5.1f} B/message  server {row['server_us_per_message']:4.2f} us"
    if "broker_us_per_message" in row:
        text += f"  broker {row['broker_us_per_message']:.1f} us"
    if row["lost"] and row["lost_together"]:
        text += f"  {row['lost_together']:.2f} together"
    if row["confirmed"]:
        text += f"  sent again {row['retransmissions_per_message']:.3f} times, in vain {row['in_vain_per_message']:.3f}"
    return text


def main():
    parts = ["rate", "loss", "confirmed", "timeouts", "sensors", "mqtt", "http"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--forebay", default=str(measure.ROOT / "target/release/forebay"), help="the executable to measure"
    )
    parser.add_argument("--only", type=measure.names(parts), default=parts, help=", ".join(parts))
    parser.add_argument("--seconds", type=float, help="how long a run sends (default 2; with --quick 1)")
    parser.add_argument("--quick", action="store_true", help="fewer rates and ways, a minute")
    parser.add_argument("--json", action="store_true", help="print the record as JSON")
    parser.add_argument("--record", type=Path, help="write the record to this file")
    options = parser.parse_args()
    options.seconds = options.seconds or (1.0 if options.quick else 2.0)
    if os.geteuid() != 0:
        raise SystemExit("network namespaces need root")
    # A socket for each flow.
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    programs = {name: environment.compiled(name) for name in ("iot_traffic", "iot_confirmed", "wan")}
    record = {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "machine": measure.machine(),
        "versions": {
            "forebay": measure.first_line(options.forebay, "--version"),
            "mosquitto": measure.first_line("mosquitto", "-h"),
        },
        "wan": {"mbps": WAN_MBPS, "delay_ms": WAN_DELAY_MS, "timeout_ms": TIMEOUT_MS, "flows": FLOWS},
        "points": [],
    }
    for point in points(options.quick):
        if traffic_of(point.way) is MqttTraffic and point.part in options.only and not shutil.which("mosquitto"):
            print(f"{point.part} is left out: apt-get install mosquitto", file=sys.stderr)
            options.only = [part for part in options.only if part != point.part]
        if point.part in options.only:
            record["points"].append(run(point, options, programs))
            print(line(record["points"][-1]), file=sys.stderr if options.json else sys.stdout, flush=True)
    if options.record:
        options.record.write_text(results.record_text(record))
    if options.json:
        print(results.record_text(record))
    return 0


if __name__ == "__main__":
    sys.exit(main())
