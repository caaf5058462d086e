#!/usr/bin/env python3
"""Monitoring and in-band telemetry at work, in network namespaces. Needs root, iperf3, ping, curl; InfluxDB 1 (Debian:
influxdb) where it is installed.

    client -- nat44 -- s1 (INT source) -- s2 (transit) -- s3 (sink) -- server
                 |          |                |                |
                 +----------+------ management network -------+---- collector, InfluxDB
"""

import importlib.util
import json
import os
import pathlib
import sys
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
FUNCTIONS = HERE.parent
sys.path.insert(0, str(FUNCTIONS / "lib"))
import bed as beds
from bed import FOREBAY, can_run, check, missing, skip, wait_until

COLLECTOR = "10.99.0.254"
INFLUX = f"http://{COLLECTOR}:8086"
DATABASE = f"{INFLUX}?db=forebay"
NODES = ("s1", "s2", "s3")
SWITCHES = ("nat", *NODES)
SERVER = "192.0.2.2"


def int_entries():
    """The entries of a node of functions/int, from its end-to-end test."""
    spec = importlib.util.spec_from_file_location("int_test", FUNCTIONS / "int/test_end_to_end.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.entries


class Demo:
    def __init__(self, bed):
        self.bed = bed
        self.store = bed.folder / "reports"
        self.collector = bed.namespace("collector")
        self.switches = {name: bed.namespace(name) for name in SWITCHES}
        self.bridge("management", f"{COLLECTOR}/24")
        self.bridge("reports", "192.168.0.192/24", mac="02:00:00:00:00:c0")
        self.client, self.server = self.hosts()
        self.influxd = None
        self.collecting = None

    def bridge(self, name, address, mac=None):
        self.collector.run("ip", "link", "add", name, "type", "bridge")
        if mac:
            self.collector.run("ip", "link", "set", name, "address", mac)
        self.collector.run("ip", "link", "set", name, "up")
        self.collector.run("ip", "address", "add", address, "dev", name)

    def join(self, bridge, short, switch, interface):
        """A link between a bridge of the collector's namespace and an interface of a switch's."""
        end = f"{short}-{switch}"
        self.bed.link(self.collector, end, self.switches[switch], interface)
        self.collector.run("ip", "link", "set", end, "master", bridge)

    def hosts(self):
        nat, s1, s2, s3 = self.switches.values()
        client = self.bed.host("client", "eth0", nat, "inside", "10.0.0.2/24", mac="02:00:00:00:00:02")
        client.run("ip", "route", "add", "default", "via", "10.0.0.1")
        self.bed.link(nat, "outside", s1, "host")
        self.bed.link(s1, "right", s2, "left", 2000)
        self.bed.link(s2, "right", s3, "left", 2000)
        server = self.bed.host("server", "eth0", s3, "host", f"{SERVER}/24", mac="02:00:00:00:01:02")
        server.run("ip", "route", "add", "203.0.113.0/30", "dev", "eth0")
        for number, switch in enumerate(SWITCHES, 1):
            self.join("management", "m", switch, "management")
            self.switches[switch].run("ip", "address", "add", f"10.99.0.{number}/24", "dev", "management")
        for switch in NODES:
            self.join("reports", "r", switch, "reports")
        return client, server

    def start_influxdb(self):
        folder = self.bed.folder / "influxdb"
        settings = {
            "INFLUXDB_META_DIR": folder / "meta",
            "INFLUXDB_DATA_DIR": folder / "data",
            "INFLUXDB_DATA_WAL_DIR": folder / "wal",
            "INFLUXDB_BIND_ADDRESS": "127.0.0.1:8088",
            "INFLUXDB_HTTP_BIND_ADDRESS": f"{COLLECTOR}:8086",
            "INFLUXDB_HTTP_LOG_ENABLED": "false",
            "INFLUXDB_REPORTING_DISABLED": "true",
        }
        environment = {**os.environ, **{name: str(value) for name, value in settings.items()}}
        self.influxd = self.collector.start("influxd", env=environment)
        wait_until(lambda: self.collector.succeeds("curl", "-sf", f"{INFLUX}/ping"), "InfluxDB listens")
        self.collector.run("curl", "-sf", "-XPOST", f"{INFLUX}/query", "--data-urlencode", "q=CREATE DATABASE forebay")

    def start_collector(self):
        words = [FOREBAY, "collect", "--listen", "192.168.0.192:32768", "--store", self.store, "--file-seconds", "1"]
        words += ["--metrics", ":9101", "--push-interval", "1", "--instance", "collector", *self.influx()]
        self.collecting = self.collector.start(*words, name="forebay-collect")
        wait_until(
            lambda: b"reports are received" in self.collecting.output.read_bytes() or self.collecting.poll() is not None,
            "the collector listens",
        )
        check(self.collecting.poll() is None, "the collector listens")

    def influx(self):
        return ["--influx", DATABASE] if self.influxd else []

    def start_switches(self):
        entries = int_entries()
        nat, s1, s2, s3 = self.switches.values()

        def options(name):
            words = ["--metrics", ":9100", "--delay-sample", "1", "--push-interval", "1", "--instance", name]
            return [*words, *self.influx()]

        nat44 = FUNCTIONS / "nat44"
        self.bed.switch(
            nat, nat44 / "nat44.p4", {1: "inside", 2: "outside"}, nat44 / "entries.stf", *options("nat")
        )
        nodes = (
            (s1, {1: "host", 2: "right", 9: "reports"}, (1, (2,))),
            (s2, {1: "left", 2: "right", 9: "reports"}, (None, (1, 2))),
            (s3, {1: "host", 2: "left", 9: "reports"}, (1, (2,))),
        )
        for number, (node, ports, role) in enumerate(nodes, 1):
            file = self.bed.folder / f"s{number}.stf"
            file.write_text(entries(number, *role))
            self.bed.switch(node, FUNCTIONS / "int/int.p4", ports, file, *options(f"s{number}"))

    def start(self):
        if missing("influxd"):
            skip("InfluxDB is not installed (Debian: influxdb): there is no database")
        else:
            self.start_influxdb()
        self.start_collector()
        self.start_switches()
        self.server.start("iperf3", "-s", "-p", "5001")
        wait_until(lambda: self.server.succeeds("sh", "-c", "ss -ltn | grep -q :5001"), "iperf3 listens")

    def traffic(self, amount="2M"):
        self.client.run("ping", "-c", "3", "-i", "0.2", SERVER)
        beds.iperf3(self.client, SERVER, "-p", "5001", "-n", amount)
        beds.iperf3(self.client, SERVER, "-u", "-p", "5001", "-n", "100K", "-b", "5M", "-l", "1000")

    def query(self, *words):
        command = [FOREBAY, "collect", "query", *words, "--store", self.store, "--json", "--top", "100000"]
        return json.loads(self.collector.run(*command))

    def select(self, text):
        """The series in InfluxDB's answer: (tags, values of the first row)."""
        query = urllib.parse.urlencode({"db": "forebay", "q": text})
        answer = json.loads(self.collector.run("curl", "-sf", f"{INFLUX}/query?{query}"))
        return [(one.get("tags", {}), one["values"][0]) for one in answer["results"][0].get("series", [])]

    def metrics(self, address):
        """Samples by name with labels."""
        lines = self.collector.run("curl", "-sf", f"http://{address}/metrics").splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        return {name: float(value) for name, value in pairs}


def once(demo):
    demo.traffic()
    wait_until(lambda: len(demo.query("hops")) == 3, "the collector has files")
    time.sleep(2.5)
    check_queries(demo)
    check_metrics(demo)
    if demo.influxd:
        check_influxdb(demo)
        influxdb_dies(demo)
    collector_dies(demo)


def check_queries(demo):
    hops = {row["node"]: row for row in demo.query("hops")}
    check(set(hops) == {1, 2, 3}, "reports are about three nodes")
    check(all(row["packets"] > 100 and row["latency_p99_ns"] is not None for row in hops.values()), "with latencies")
    flows = demo.query("flows", "--protocol", "tcp", "--port", "5001")
    ends = {side for row in flows for side in row["flow"].split()[1::2]}
    check(any(end.startswith("203.0.113.") for end in ends), "flows have the address that the NAT gave them")
    md = [row for row in demo.query("reports", "--protocol", "tcp") if row["mode"] == "md"]
    paths = {tuple(row["path"]) for row in md}
    check(paths == {(1, 2, 3), (3, 2, 1)}, f"TCP goes through all nodes in both directions ({len(md)} reports)")
    check(not demo.query("loops"), "no packet goes round")


def check_metrics(demo):
    for number, name in enumerate(SWITCHES, 1):
        metrics = demo.metrics(f"10.99.0.{number}:9100")
        delays = metrics["forebay_packet_delay_seconds_count"]
        half = metrics["forebay_packet_delay_seconds_sum"] / delays
        check(delays > 100, f"{name}: {delays:.0f} packets were timed, {half * 1e6:.0f} µs on average")
    metrics = demo.metrics(f"{COLLECTOR}:9101")
    lost = [metrics[f'forebay_int_missing_datagrams_total{{node="{node}"}}'] for node in (1, 2, 3)]
    check(lost == [0, 0, 0], "no report is missing")
    malformed = sum(value for name, value in metrics.items() if "malformed" in name)
    check(malformed == 0, "and none is malformed")


def check_influxdb(demo):
    rows = demo.select("SELECT count(latency_ns) FROM int_hop GROUP BY node")
    counts = {tags["node"]: values[1] for tags, values in rows}
    check(set(counts) == {"1", "2", "3"} and min(counts.values()) > 100, f"InfluxDB has the hops: {counts}")
    sent = {
        tags["instance"]: values[1]
        for tags, values in demo.select("SELECT last(value) FROM forebay_sent_packets_total GROUP BY instance")
    }
    check(set(sent) == set(SWITCHES) and min(sent.values()) > 100, f"and packets of every switch: {sent}")
    stored = sum(row["packets"] for row in demo.query("hops"))
    check(sum(counts.values()) == stored, "InfluxDB and the files have the same hops")


def influxdb_dies(demo):
    beds.stop(demo.influxd)
    demo.traffic("200K")
    wait_until(
        lambda: sum(value for name, value in demo.metrics(f"{COLLECTOR}:9101").items() if "push_failures" in name) > 0,
        "pushes fail",
    )
    before = sum(row["packets"] for row in demo.query("hops"))
    check(before > 0, "without InfluxDB traffic and collector go on")
    demo.start_influxdb()

    def is_complete():
        counts = demo.select("SELECT count(hop) FROM int_hop")
        lost = sum(
            value
            for name, value in demo.metrics(f"{COLLECTOR}:9101").items()
            if name.startswith("forebay_push_rows_total") and 'result="lost"' in name
        )
        drops = sum(row["packets"] for row in demo.query("drops"))
        hops = sum(row["packets"] for row in demo.query("hops")) - drops
        return bool(counts) and counts[0][1][1] + lost >= hops

    wait_until(is_complete, "what waited is in InfluxDB, or counted as lost", 60)
    check(True, "InfluxDB is back: what waited is there, or counted as lost")


def collector_dies(demo):
    demo.collecting.kill()
    demo.collecting.wait()
    demo.traffic("200K")
    demo.start_collector()
    demo.traffic("200K")
    metrics = demo.metrics(f"{COLLECTOR}:9101")
    lost = {node: metrics[f'forebay_int_missing_datagrams_total{{node="{node}"}}'] for node in (1, 2, 3)}
    check(all(lost.values()), f"what came while the collector was away is counted as missing: {lost}")


def stay(demo):
    where = demo.collector.full_name
    print(
        f"""
Traffic goes on until ctrl-C. Where to look, in other terminals:
  ip netns exec {where} curl http://10.99.0.1:9100/metrics       (nat; .2 .3 .4 are the INT nodes)
  ip netns exec {where} curl http://{COLLECTOR}:9101/metrics     (the collector)
  {FOREBAY} collect query hops --store {demo.store}
  {FOREBAY} collect query flows --by latency --store {demo.store}""",
        flush=True,
    )
    if demo.influxd:
        print(
            f"""  ip netns exec {where} curl -G {INFLUX}/query --data-urlencode db=forebay \\
      --data-urlencode 'q=SELECT percentile(latency_ns, 99) FROM int_hop WHERE time > now() - 1m GROUP BY node'"""
        )
    print(f"  dashboards for Grafana: {HERE / 'grafana'}\n", flush=True)
    while True:
        demo.traffic()


def main(arguments=None):
    parser = beds.arguments()
    parser.add_argument("--once", action="store_true", help="some traffic, faults, and what queries must answer")
    options = parser.parse_args(arguments)
    bed = beds.Bed()
    try:
        if not can_run("telemetry", "iperf3", "ping", "curl"):
            return 0
        with bed:
            demo = Demo(bed)
            demo.start()
            if options.once:
                once(demo)
            else:
                stay(demo)
    except KeyboardInterrupt:
        return 0
    except beds.Failed as error:
        print(f"  FAILED: {error}\n  output: {bed.folder}", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
