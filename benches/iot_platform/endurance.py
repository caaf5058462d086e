#!/usr/bin/env python3
"""Thousands of sensors for ten minutes, while broker and server are killed: every lost reading must be named by a
counter.

    sudo benches/iot_platform/endurance.py [--forebay target/release/forebay] [--sensors 5000] [--rate 2500] [--seconds 600] [--record FILE.json]

    sensors ─ gateways ─ aggregation (iot_aggregate, N = 8) ─ WAN (8 Mbps, 20 ms, loss) ─ bridge ─ broker ─ server
                                                                                 --way server: ─ server

`bridge` (the default): a bridge splits N-packets and publishes readings with QoS 1 to mosquitto, which the server
subscribes to. `server`: the server splits them itself. Broker and server are killed (SIGKILL) several times and started
again after three seconds. At the end:

* what the server names as missing is compared with what sensors sent and with the server's log on the disk, reading by reading;
* the losses that WAN, socket and broker have counted must add up to it.

Exit code 1 when a reading is lost without a counter. Needs root, iproute2, ethtool, cc, mosquitto, curl.
"""

import argparse
import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "baselines"))

import environment  # noqa: E402
import measure  # noqa: E402
import receipts  # noqa: E402
from bridge import RECORD  # noqa: E402
from chain import Chain, processor_seconds  # noqa: E402
from contenders import Forebay, Wan  # noqa: E402

N = 8
GATEWAYS = 4
WAN_MBPS, WAN_DELAY_MS = 8, 20
PAUSE_SECONDS = 3
QUIET_SECONDS = 3
SETTLE_SECONDS = 120
# The times of kills, as shares of the duration, and what is killed.
KILLS = ((0.2, "broker"), (0.4, "server"), (0.55, "broker"), (0.7, "server"), (0.85, "both"))
BROKER = """listener 1883 127.0.0.1
allow_anonymous true
set_tcp_nodelay true
max_inflight_messages 0
max_queued_messages 0
persistence true
persistence_location {folder}/
autosave_interval 1
user root
"""


class Platform:
    """Broker, bridge and server in the last namespace."""

    def __init__(self, chain, way):
        self.chain, self.way, self.node = chain, way, chain.server
        self.kills = []
        udp = f"{chain.server_address}:9000"
        if way == "bridge":
            (self.node.folder / "mosquitto.conf").write_text(BROKER.format(folder=self.node.folder))
            self.start_broker()
            self.acknowledged = self.node.folder / "acknowledged.log"
            words = (sys.executable, HERE / "bridge.py", udp, "127.0.0.1:1883", self.acknowledged)
            self.bridge = chain.start(self.node, *words, log="bridge.log")
            udp = "127.0.0.1:9001"
        holder = (sys.executable, HERE / "holder.py", udp, PAUSE_SECONDS, "--")
        broker = ("--broker", "127.0.0.1:1883") if way == "bridge" else ()
        server = (sys.executable, HERE / "server.py", "--folder", self.node.folder / "state", "--udp-descriptor", 3)
        self.holder = chain.start(self.node, *holder, *server, *broker, log="server.log")

    def start_broker(self):
        self.broker = self.chain.start(
            self.node, "mosquitto", "-c", self.node.folder / "mosquitto.conf", log="mosquitto.log"
        )

    def call(self, method, path, content=None):
        """A request to the server; None while it is not there."""
        words = ["curl", "-s", "-m", "60", "-X", method, f"http://127.0.0.1:8080{path}"]
        words += ["--data-binary", "@-"] if content is not None else []
        text = json.dumps(content) if content is not None else None
        done = subprocess.run(self.node.words(*words), input=text, capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 and done.stdout else None

    def wait(self):
        """Until the server is there."""
        end = time.monotonic() + 30
        while (found := self.call("GET", "/counters")) is None:
            if time.monotonic() > end:
                raise SystemExit(f"the server does not answer; {self.chain.logs()}")
            time.sleep(0.1)
        return found

    def server_pid(self):
        lines = (self.node.folder / "server.log").read_text().split("\n")
        return int([line for line in lines if line.isdigit()][-1])

    def kill(self, what):
        """Kills broker or server or both; the holder starts the server again, `start_broker` the broker."""
        self.kills.append(what)
        if what in ("broker", "both") and self.way == "bridge":
            self.broker.kill()
            self.broker.wait()
            self.chain.processes.remove(self.broker)
        if what in ("server", "both") or self.way == "server":
            os.kill(self.server_pid(), signal.SIGKILL)
        if what in ("broker", "both") and self.way == "bridge":
            time.sleep(PAUSE_SECONDS)
            self.start_broker()

    def bridge_counters(self):
        """What the bridge has counted so far."""
        log = self.node.folder / "bridge.log"
        before = len(log.read_text().splitlines())
        self.bridge.send_signal(signal.SIGUSR1)
        while len(lines := log.read_text().splitlines()) == before or not lines[-1].endswith("}"):
            time.sleep(0.05)
        return json.loads(lines[-1])

    def settle(self):
        """Waits until no reading arrives any more."""
        end, last, since = time.monotonic() + SETTLE_SECONDS, None, time.monotonic()
        while time.monotonic() < end and time.monotonic() - since < QUIET_SECONDS:
            pending = self.bridge_counters()["pending"] if self.way == "bridge" else 0
            found = (pending, self.wait()["unique readings"])
            if found != last or pending:
                last, since = found, time.monotonic()
            time.sleep(0.2)


def received_of(log):
    """What is in the server's log, as pairs of device and sequence number: read here once more, not by the server."""
    return {(device, sequence) for device, _, sequence in receipts.RECORD.iter_unpack(log.read_bytes())}


def sent_of(first, count, sensors):
    """What sensors have sent, as pairs of device and sequence number."""
    return {
        (first + i, sequence) for i in range(count) for sequence in range(sensors["rounds"] + (i < sensors["more"]))
    }


def lost_on_the_wan(link, sensors, fillers_received):
    """Readings in the N-packets that the WAN has lost: all are full, the last of a gateway with fillers."""
    frames = link["to_server"]["lost"] + link["to_server"]["dropped"]
    sent = [(count + sensors["fillers"]) // N * N - count for count in sensors["by_gateway"]]
    fillers_sent = sum(max(0, count) for count in sent)
    return frames, N * frames - (fillers_sent - fillers_received)


def run(options):
    wan = Wan(environment.compiled("wan"), WAN_MBPS, WAN_DELAY_MS, options.loss)
    with Chain(2, addressed=False) as chain:
        Forebay(options.forebay).start(chain, 1, "aggregate", N)
        wan.start(chain, 2, "", N)
        platform = Platform(chain, options.way)
        platform.wait()
        devices = [{"name": f"sensor{i}", "model": "lift", "sensors": ["speed"]} for i in range(options.sensors)]
        first = platform.call("POST", "/devices", devices)[0]["number"]
        time.sleep(2)
        words = (f"{chain.server_address}:9000", first, options.sensors, options.rate, options.seconds, GATEWAYS)
        sending = chain.start(chain.sensors, sys.executable, HERE / "sensors.py", *words, log="sensors.log")
        begin = time.monotonic()
        for share, what in KILLS:
            time.sleep(max(0, begin + share * options.seconds - time.monotonic()))
            chain.check()
            if not platform.wait()["unique readings"]:
                raise SystemExit(f"no reading comes through; {chain.logs()}")
            print(f"{time.monotonic() - begin:6.1f} s: {what} killed", file=sys.stderr, flush=True)
            platform.kill(what)
        sending.wait()
        chain.processes.remove(sending)
        platform.settle()
        sensors = json.loads((chain.sensors.folder / "sensors.log").read_text())
        counts = [[first + i, 0, sensors["rounds"] + (i < sensors["more"])] for i in range(options.sensors)]
        platform.call("POST", "/announce", counts)
        row = outcome(platform, chain, sensors, first, options)
    return row


def outcome(platform, chain, sensors, first, options):
    """The outcome of all readings, by counters and by comparison."""
    server, missing = platform.call("GET", "/counters"), platform.call("GET", "/missing")
    delays = platform.call("GET", "/delays")
    bridge = platform.bridge_counters() if platform.way == "bridge" else None
    server_us = (
        1e6
        * processor_seconds(platform.server_pid())
        / max(1, server.get("mqtt readings", 0) + server.get("udp readings", 0))
    )
    chain.stop()
    link = json.loads(next(chain.folder.glob("*/wan.log")).read_text())
    sent, received = sent_of(first, options.sensors, sensors), received_of(platform.node.folder / "state/receipts.log")
    named = {(device, sequence) for device, _, low, high in missing for sequence in range(low, high + 1)}
    fillers = (bridge or server).get("fillers", 0)
    frames, on_the_wan = lost_on_the_wan(link, sensors, fillers)
    counted = {"lost by the WAN": on_the_wan}
    if bridge:
        log = platform.acknowledged.read_bytes()
        acknowledged = set(RECORD.iter_unpack(log))
        counted["dropped by the bridge's socket"] = N * bridge["dropped by the socket"]
        counted["acknowledged by the broker and lost when it was killed"] = len(acknowledged - received)
        counted["not acknowledged by the broker"] = bridge["pending"] + bridge["overflow"]
    else:
        counted["dropped by the server's socket"] = N * server["udp datagrams dropped by the socket"]
    lost = len(sent) - len(sent & received)
    return {
        "way": platform.way,
        "sensors": options.sensors,
        "seconds": sensors["seconds"],
        "kills": platform.kills,
        "sent": sensors["sent"],
        "received": server["unique readings"],
        "duplicates": server["duplicate readings"],
        "lost": lost,
        "counted": counted,
        "counted_in_all": sum(counted.values()),
        "frames_lost_by_the_wan": frames,
        "named_are_lost": named == sent - received,
        "foreign": len(received - sent),
        "delays_ms": delays,
        "server_us_per_reading": server_us,
        "bridge": bridge,
        "link": link,
        "exact": named == sent - received and lost == sum(counted.values()) and not received - sent,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forebay", default=str(measure.ROOT / "target/release/forebay"), help="the executable")
    parser.add_argument("--way", choices=("bridge", "server"), default="bridge")
    parser.add_argument("--sensors", type=int, default=5000)
    parser.add_argument("--rate", type=float, default=2500, help="readings a second of all sensors together")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--loss", type=float, default=0.5, help="frames that the WAN loses, in %%")
    parser.add_argument("--record", type=Path, help="add the outcome to this file")
    options = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("network namespaces need root")
    for command in ("curl", "ethtool", *(["mosquitto"] if options.way == "bridge" else [])):
        if not shutil.which(command):
            raise SystemExit(f"{command} is missing: apt-get install {command}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    row = run(options)
    print(json.dumps(row, indent=1))
    if options.record:
        record = json.loads(options.record.read_text()) if options.record.exists() else {"points": []}
        record["date"] = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        versions = {
            "forebay": measure.first_line(options.forebay, "--version"),
            "mosquitto": measure.first_line("mosquitto", "-h"),
        }
        record |= {"machine": measure.machine(), "versions": versions}
        record["points"] = [point for point in record["points"] if point["way"] != row["way"]] + [row]
        options.record.write_text(json.dumps(record, indent=1) + "\n")
    return 0 if row["exact"] else 1


if __name__ == "__main__":
    sys.exit(main())
