#!/usr/bin/env python3
"""Metrics that `forebay run --otlp` and `forebay collect --otlp` send, read by OpenTelemetry's own definitions of its
messages. Needs opentelemetry-proto from PyPI."""

import contextlib
import http.server
import importlib.util
import pathlib
import subprocess
import sys
import threading
import unittest

FUNCTIONS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(FUNCTIONS / "lib"))
from bed import FOREBAY, skip

if not importlib.util.find_spec("opentelemetry") or not importlib.util.find_spec("opentelemetry.proto"):
    skip("opentelemetry-proto is not installed")
    sys.exit()

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

CUMULATIVE = 2
SWITCH = FUNCTIONS / "l2_switch"


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.got.append((self.path, self.headers["content-type"], body))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")
        self.server.is_reached.set()

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def pushed(words):
    """What a command sends, as (path, type of the content, body), at least one."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        server.got, server.is_reached = [], threading.Event()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        options = ["--otlp", f"http://127.0.0.1:{server.server_port}", "--push-interval", "1"]
        process = subprocess.Popen([FOREBAY, *words, *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            assert server.is_reached.wait(60), "nothing is pushed"
            yield server.got
        finally:
            process.terminate()
            process.communicate()
            server.shutdown()


class Otlp(unittest.TestCase):
    def check_points(self, metric):
        """A metric is a gauge, or a sum or histogram from the start on."""
        kind = metric.WhichOneof("data")
        points = getattr(metric, kind).data_points
        for point in points:
            self.assertGreater(point.time_unix_nano, 0, metric.name)
        if kind == "gauge":
            return
        self.assertEqual(getattr(metric, kind).aggregation_temporality, CUMULATIVE, metric.name)
        for point in points:
            self.assertLess(0, point.start_time_unix_nano, metric.name)
            self.assertLessEqual(point.start_time_unix_nano, point.time_unix_nano, metric.name)
        if kind == "histogram":
            for point in points:
                bounds = list(point.explicit_bounds)
                self.assertEqual(bounds, sorted(set(bounds)), metric.name)
                self.assertEqual(len(point.bucket_counts), len(bounds) + 1, metric.name)
                self.assertEqual(sum(point.bucket_counts), point.count, metric.name)

    def check_messages(self, words, wanted):
        """Each message is one of OpenTelemetry's, and the wanted metrics are among them."""
        with pushed(words) as got:
            path, content, body = got[0]
        self.assertEqual((path, content), ("/v1/metrics", "application/json"))
        message = json_format.Parse(body, ExportMetricsServiceRequest())
        [resource] = message.resource_metrics
        about = {one.key: one.value.string_value for one in resource.resource.attributes}
        self.assertEqual(about["service.name"], "forebay")
        metrics = {metric.name: metric for scope in resource.scope_metrics for metric in scope.metrics}
        for metric in metrics.values():
            self.check_points(metric)
        kinds = {name: metrics[name].WhichOneof("data") for name in wanted if name in metrics}
        self.assertEqual(kinds, wanted)

    def test_a_switch(self):
        ports = ["-i", "1@timer:1ms,3", "-i", "2@mem:", "--entries", SWITCH / "entries.stf"]
        wanted = {
            "forebay_port_up": "gauge",
            "forebay_received_packets_total": "sum",
            "forebay_packet_delay_seconds": "histogram",
        }
        options = ["--delay-sample", "1", "--stats-interval", "0"]
        self.check_messages(["run", SWITCH / "l2_switch.p4", *ports, *options], wanted)

    def test_a_collector(self):
        self.check_messages(["collect", "--listen", "127.0.0.1:0"], {"forebay_collect_datagrams_total": "sum"})


if __name__ == "__main__":
    unittest.main()
