#!/usr/bin/env python3
"""Writes the dashboards of this folder: switch.json, int.json.

`cargo test -p forebay-collect --test dashboards` checks that the metrics of their expressions exist.
"""

import argparse
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = {"type": "prometheus", "uid": "${source}"}
WIDTH, HEIGHT = 12, 8


def panel(title, unit, *targets, description="", kind="timeseries"):
    """A panel; each target is an expression and its legend."""
    return {
        "type": kind,
        "title": title,
        "description": description,
        "datasource": SOURCE,
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + number), "datasource": SOURCE, "expr": expression, "legendFormat": legend}
            for number, (expression, legend) in enumerate(targets)
        ],
    }


def heatmap(title, expression, description=""):
    one = panel(title, "s", (expression, "{{le}}"), description=description, kind="heatmap")
    one["targets"][0]["format"] = "heatmap"
    one["options"] = {"calculate": False, "yAxis": {"unit": "s"}, "cellGap": 1}
    return one


def placed(panels):
    """Two in a row."""
    for number, one in enumerate(panels):
        one["id"] = number + 1
        one["gridPos"] = {"x": number % 2 * WIDTH, "y": number // 2 * HEIGHT, "w": WIDTH, "h": HEIGHT}
    return panels


def variable(name, label, query):
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def dashboard(uid, title, variables, panels):
    source = {"name": "source", "label": "Data source", "type": "datasource", "query": "prometheus"}
    return {
        "uid": uid,
        "title": title,
        "tags": ["forebay"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "5s",
        "time": {"from": "now-15m", "to": "now"},
        "templating": {"list": [source, *variables]},
        "panels": placed(panels),
    }


def quantiles(metric, by, chosen):
    rate = f"sum by (le, {by}) (rate({metric}_bucket{{{chosen}}}[$__rate_interval]))"
    return [
        (f"histogram_quantile({share}, {rate})", f"{{{{{by}}}}} {name}")
        for share, name in ((0.5, "half"), (0.99, "99 %"))
    ]


def switch():
    of = 'instance=~"$instance"'

    def rate(metric, more=""):
        return f"rate({metric}{{{of}{more}}}[$__rate_interval])"

    bits = "8 * {}"
    panels = [
        panel(
            "Traffic in",
            "bps",
            (bits.format(rate("forebay_port_received_bytes_total")), "{{instance}} port {{port}} {{name}}"),
        ),
        panel(
            "Traffic out",
            "bps",
            (bits.format(rate("forebay_port_sent_bytes_total")), "{{instance}} port {{port}} {{name}}"),
        ),
        panel(
            "Packets",
            "pps",
            (f"sum by (instance) ({rate('forebay_received_packets_total')})", "{{instance}} received"),
            (f"sum by (instance) ({rate('forebay_sent_packets_total')})", "{{instance}} sent"),
            (f"sum by (instance) ({rate('forebay_dropped_packets_total')})", "{{instance}} dropped"),
        ),
        panel(
            "Drops",
            "pps",
            (
                f"sum by (instance, by, reason) ({rate('forebay_port_dropped_packets_total')})",
                "{{instance}} {{by}}: {{reason}}",
            ),
            description="By the port or the kernel (port), or by the program and full queues (switch).",
        ),
        panel(
            "Processing delay",
            "s",
            *quantiles("forebay_packet_delay_seconds", "instance", of),
            description="Of sampled packets, queues included; needs --delay-sample.",
        ),
        heatmap(
            "Processing delay, distribution",
            f"sum by (le) (increase(forebay_packet_delay_seconds_bucket{{{of}}}[$__rate_interval]))",
        ),
        panel(
            "Time of a poll",
            "s",
            *quantiles("forebay_packet_poll_seconds", "instance", of),
            description="Of all packets, from the beginning of the poll that receives them to its end.",
        ),
        panel(
            "Fast path",
            "percentunit",
            (
                f"sum by (instance) ({rate('forebay_fast_path_packets_total')}) / "
                f"(sum by (instance) ({rate('forebay_fast_path_packets_total')}) + "
                f"sum by (instance) ({rate('forebay_slow_path_packets_total')}))",
                "{{instance}}",
            ),
        ),
        panel(
            "Slow path by reason",
            "pps",
            (f"sum by (instance, reason) ({rate('forebay_slow_path_packets_total')}) > 0", "{{instance}} {{reason}}"),
        ),
        panel(
            "Queues",
            "short",
            (f"forebay_queue_packets{{{of}}} > 0", "{{instance}} port {{port}} queue {{queue}}"),
            description="Packets that wait.",
        ),
        panel("Table entries", "short", (f"forebay_table_entries{{{of}}}", "{{instance}} {{table}}")),
        panel(
            "Entries from packets",
            "short",
            (f"sum by (instance, result) ({rate('forebay_learned_entries_total')})", "{{instance}} {{result}}"),
            description="A second.",
        ),
        panel(
            "Program counters",
            "pps",
            (
                f"sum by (instance, counter, index, name) ({rate('forebay_p4_counted_packets_total')})",
                "{{instance}} {{counter}}[{{index}}] {{name}}",
            ),
        ),
        panel(
            "Calls of controllers",
            "short",
            (
                f"sum by (instance, method, code) ({rate('forebay_control_calls_total')}) > 0",
                "{{instance}} {{method}} {{code}}",
            ),
            description="A second.",
        ),
        panel(
            "Time of calls",
            "s",
            (
                "histogram_quantile(0.99, sum by (le, method) "
                f"({rate('forebay_control_call_seconds_bucket')}))",
                "{{method}} 99 %",
            ),
        ),
        panel(
            "Pushed rows that were lost",
            "short",
            (
                f"sum by (instance, target) ({rate('forebay_push_rows_total', ', result=' + chr(34) + 'lost' + chr(34))})",
                "{{instance}} {{target}}",
            ),
            description="A second.",
        ),
    ]
    variables = [variable("instance", "Switch", "label_values(forebay_received_packets_total, instance)")]
    return dashboard("forebay-switch", "Forebay: switches", variables, panels)


def telemetry():
    of = 'node=~"$node"'

    def rate(metric):
        return f"rate({metric}{{{of}}}[$__rate_interval])"

    panels = [
        panel("Hop latency", "s", *quantiles("forebay_int_hop_latency_seconds", "node", of)),
        heatmap(
            "Hop latency, distribution",
            f"sum by (le) (increase(forebay_int_hop_latency_seconds_bucket{{{of}}}[$__rate_interval]))",
        ),
        panel(
            "Queue occupancy",
            "short",
            (f"forebay_int_queue_depth{{{of}}}", "node {{node}} port {{egress_port}} queue {{queue}}"),
        ),
        panel(
            "Largest occupancy since the start",
            "short",
            (f"forebay_int_queue_depth_max{{{of}}}", "node {{node}} port {{egress_port}} queue {{queue}}"),
        ),
        panel("Reports", "short", (f"sum by (node, mode) ({rate('forebay_int_reports_total')})", "node {{node}} {{mode}}")),
        panel(
            "Reports that are missing",
            "short",
            (
                f"sum by (node) ({rate('forebay_int_missing_datagrams_total')} - {rate('forebay_int_late_datagrams_total')})",
                "node {{node}}",
            ),
            description="Datagrams a second, by sequence numbers; those that come late are taken off.",
        ),
        panel(
            "Reported drops",
            "pps",
            (f"sum by (node, reason) ({rate('forebay_int_dropped_packets_total')})", "node {{node}} reason {{reason}}"),
        ),
        panel(
            "Congestion",
            "short",
            (f"sum by (node) ({rate('forebay_int_congested_reports_total')})", "node {{node}}"),
            description="Reports a second with the flag for congestion.",
        ),
        panel(
            "Loops, changed paths, microbursts",
            "short",
            ("increase(forebay_collect_events_total[$__rate_interval])", "{{kind}}"),
        ),
        panel(
            "Malformed datagrams",
            "short",
            ("rate(forebay_collect_malformed_datagrams_total[$__rate_interval]) > 0", "{{problem}}"),
        ),
        panel(
            "Store",
            "short",
            ("sum by (result) (rate(forebay_store_reports_total[$__rate_interval]))", "{{result}}"),
            ("forebay_store_waiting_reports", "waiting"),
        ),
        panel("Store is written", "bool_yes_no", ("forebay_store_ok", "{{instance}}"), kind="stat"),
    ]
    variables = [variable("node", "Node", "label_values(forebay_int_datagrams_total, node)")]
    return dashboard("forebay-int", "Forebay: in-band telemetry", variables, panels)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 when a file is not what would be written")
    options = parser.parse_args()
    differs = False
    for name, made in (("switch", switch()), ("int", telemetry())):
        path = HERE / f"{name}.json"
        text = json.dumps(made, indent=2) + "\n"
        if options.check:
            if not path.exists() or path.read_text() != text:
                print(f"{path.name} is not what make.py writes")
                differs = True
        else:
            path.write_text(text)
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
