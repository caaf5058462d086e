#!/usr/bin/env python3
"""Writes the tables of docs/baselines.md, and docs/baselines/controllers.csv and forebay.csv, from the records.

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`.
"""

import argparse
import json
import re
import sys
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/baselines.md"
RECORDS = ROOT / "docs/baselines"
CONTENDERS = ["controllers", "python", "c", "forebay"]
MISSING = "–"


def markdown(header, rows):
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines).replace(" --- ", "---")


def curves(record):
    """The points of each curve, by stages, N and contender."""
    found = {}
    for point in record["points"]:
        found.setdefault((point["stages"], point["n"], point["contender"]), []).append(point)
    return found


def machine_line(record, when="before it began"):
    """Where and when a record was made."""
    machine, versions = record["machine"], record["versions"]
    known = ", ".join(str(version) for version in versions.values() if version)
    return (
        f"Measured on {record['date']}: {machine['processor']}, {machine['processors']} processors (virtual), Linux {machine['kernel']}, "
        f"load average {machine['load_average']:.1f} {when}; {known}."
    )


def goodput_table(record):
    """The highest goodput, and the highest rate that was taken, of each contender."""
    found = curves(record)
    rows = []
    for stages, n in dict.fromkeys((stages, n) for stages, n, _ in found):
        row = [stages, n]
        highest = {}
        for contender in CONTENDERS:
            points = found.get((stages, n, contender))
            if points is None:
                row.append(MISSING)
                continue
            goodput, taken = results.best(points)
            highest[contender] = goodput
            row.append(f"{goodput:.2f} ({taken / 1000:.0f})")
        ratio = highest["forebay"] / highest["controllers"] if {"forebay", "controllers"} <= set(highest) else None
        rows.append([*row, f"{ratio:.0f}" if ratio else MISSING])
    rows.sort(key=lambda row: ["aggregation", "disaggregation", "both"].index(row[0]))
    header = ["stages", "N", "controllers", "server, Python", "server, C", "Forebay", "Forebay / controllers"]
    return markdown(header, rows)


def processor_table(record, rate=8000):
    """Processor time for a message, median delay and goodput at one rate, both stages together."""
    rows = []
    for point in record["points"]:
        if point["stages"] == "both" and point["rate"] == rate:
            delay = point["delay_us"]["median"] / 1000
            share = min(100, 100 * point["goodput_mbps"] / results.arrival_mbps(point))
            name = record["labels"][point["contender"]]
            processor = f"{point['processor_us_per_message']:.1f}"
            rows.append([name, point["n"], processor, f"{delay:.1f}", f"{share:.0f} %"])
    rows.sort(key=lambda row: (list(record["labels"].values()).index(row[0]), row[1]))
    return markdown(
        ["contender", "N", "processor time, us a message", "median delay, ms", "gets through in time"], rows
    )


def path_rows(record, part):
    return [point for point in record["points"] if point["part"] == part]


def rate_table(record):
    """Goodput, loss and delay over a WAN with a limited rate."""
    rows = []
    for row in path_rows(record, "rate"):
        delay = row["delay_us"]
        rows.append(
            [
                row["rate"],
                row["way"],
                f"{row['goodput_mbps']:.2f}",
                f"{100 * row['lost'] / row['sent']:.1f} %",
                f"{delay['median'] / 1000:.1f}",
                f"{delay['p95'] / 1000 - delay['p5'] / 1000:.1f}",
                f"{row['wire_bytes_per_message']:.0f}",
                f"{row['server_us_per_message']:.2f}",
            ]
        )
    header = [
        "messages/s",
        "way",
        "goodput, Mbps",
        "lost",
        "delay, ms",
        "jitter, ms",
        "bytes/message on the WAN",
        "server, us/message",
    ]
    return markdown(header, rows)


def loss_table(record):
    """Messages that a WAN loses."""
    rows = [
        [
            f"{row['loss_percent']} %",
            row["way"],
            f"{100 * row['lost'] / row['sent']:.2f} %",
            f"{row['lost_together']:.1f}" if row["lost_together"] else MISSING,
        ]
        for row in path_rows(record, "loss")
    ]
    return markdown(["frames lost", "way", "messages lost", "lost one after the other"], rows)


def confirmed_table(record, part):
    """What acknowledgements and time-outs cost."""
    rows = [
        [
            row["rate"],
            f"{row['loss_percent']} %",
            row["way"],
            f"{row['retransmissions_per_message']:.3f}",
            f"{row['in_vain_per_message']:.3f}",
            f"{row['delay_us']['median'] / 1000:.1f}",
            f"{row['delay_us']['p99'] / 1000:.0f}",
            f"{row['wire_bytes_per_message']:.0f}",
        ]
        for row in path_rows(record, part)
        if row["confirmed"]
    ]
    header = [
        "messages/s",
        "frames lost",
        "way",
        "sent again",
        "of these in vain",
        "delay, ms",
        "99 %, ms",
        "bytes/message",
    ]
    return markdown(header, rows)


def sensors_table(record):
    """Aggregation of many flows."""
    rows = [
        [
            row["flows"],
            row["way"],
            f"{row['wire_bytes_per_message']:.0f}",
            f"{row['delay_us']['median'] / 1000:.0f}",
            f"{row['delay_us']['p95'] / 1000:.0f}",
            f"{100 * row['lost'] / row['sent']:.1f} %",
            row["link"]["to_server"]["dropped"],
        ]
        for row in path_rows(record, "sensors")
    ]
    header = [
        "flows",
        "way",
        "bytes/message",
        "delay, ms",
        "95 %, ms",
        "messages missing",
        "frames that the WAN dropped",
    ]
    return markdown(header, rows)


def mqtt_table(record):
    """Messages through a broker."""
    rows = [
        [
            f"{row['loss_percent']} %",
            row["way"],
            f"{100 * row['lost'] / row['sent']:.2f} %",
            f"{row['delay_us']['median'] / 1000:.1f}" if row["delay_us"] else MISSING,
            f"{row['delay_us']['p99'] / 1000:.0f}" if row["delay_us"] else MISSING,
            f"{row['wire_bytes_per_message']:.0f}",
            f"{row['broker_us_per_message']:.0f}",
        ]
        for row in path_rows(record, "mqtt")
    ]
    header = ["frames lost", "way", "messages lost", "delay, ms", "99 %, ms", "bytes/message", "broker, us/message"]
    return markdown(header, rows)


def http_table(record):
    """Messages that are put to a server, beside the same by MQTT."""
    rows = [
        [
            f"{row['loss_percent']} %",
            row["way"],
            f"{100 * row['lost'] / row['sent']:.2f} %",
            f"{row['delay_us']['median'] / 1000:.1f}",
            f"{row['delay_us']['p99'] / 1000:.0f}",
            f"{row['wire_bytes_per_message']:.0f}",
            f"{row['broker_us_per_message'] if 'broker_us_per_message' in row else row['server_us_per_message']:.0f}",
        ]
        for row in path_rows(record, "http")
    ]
    header = [
        "frames lost",
        "way",
        "messages lost",
        "delay, ms",
        "99 %, ms",
        "bytes/message",
        "server or broker, us/message",
    ]
    return markdown(header, rows)


def waiting_table(record):
    """What waiting for a batch costs at low rates."""
    rows = [
        [
            row["rate"],
            row["way"],
            f"{row['delay_us']['median'] / 1000:.1f}",
            f"{row['delay_us']['p95'] / 1000:.1f}",
            f"{row['wire_bytes_per_message']:.0f}",
        ]
        for row in path_rows(record, "timeouts")
        if not row["confirmed"]
    ]
    return markdown(["messages/s", "way", "delay, ms", "95 %, ms", "bytes/message"], rows)


def endurance_table(record):
    """The long runs with kills: what was lost, and what has counted it."""
    rows = [
        [
            row["way"],
            f"{row['sensors']:,}",
            f"{row['seconds']:.0f}",
            f"{sum(kill != 'server' for kill in row['kills']) if row['way'] == 'bridge' else 0}",
            f"{sum(kill != 'broker' for kill in row['kills']) if row['way'] == 'bridge' else len(row['kills'])}",
            f"{row['sent']:,}",
            f"{row['lost']:,}",
            "; ".join(f"{count:,} {name}" for name, count in row["counted"].items() if count),
            f"{row['duplicates']:,}",
            f"{row['server_us_per_reading']:.1f}",
            "yes" if row["exact"] else "no",
        ]
        for row in record["points"]
    ]
    header = [
        "way",
        "sensors",
        "s",
        "broker killed",
        "server killed",
        "readings sent",
        "lost",
        "counted as",
        "duplicates",
        "server, us/reading",
        "exact",
    ]
    return markdown(header, rows)


def tables():
    """All tables by name."""
    baselines = json.loads((RECORDS / "record.json").read_text())
    path = json.loads((RECORDS / "path.json").read_text())
    http = json.loads((RECORDS / "http.json").read_text())
    endurance = json.loads((RECORDS / "endurance.json").read_text())
    return {
        "machine": machine_line(baselines),
        "goodput": goodput_table(baselines),
        "processor": processor_table(baselines),
        "path machine": machine_line(path),
        "rate": rate_table(path),
        "loss": loss_table(path),
        "confirmed": confirmed_table(path, "confirmed"),
        "waiting": waiting_table(path),
        "waiting confirmed": confirmed_table(path, "timeouts"),
        "sensors": sensors_table(path),
        "mqtt": mqtt_table(path),
        "http machine": machine_line(http),
        "http": http_table(http),
        "endurance machine": machine_line(endurance, "at the end"),
        "endurance": endurance_table(endurance),
    }


def goodput_csv(record, wanted):
    """Goodput of both stages of a contender, as `python -m forebay.queueing figures` reads it: Mpps and Gbps."""
    lines = ["n,arrival_rate,goodput"]
    for (stages, n, contender), points in curves(record).items():
        if (stages, contender) == ("both", wanted):
            lines += [f"{n},{row['arrival_per_s'] / 1e6:.6f},{row['goodput_mbps'] / 1e3:.7f}" for row in points]
    return "\n".join(lines) + "\n"


def written(page, texts):
    """The page with its tables replaced."""

    def replace(match):
        return f"<!-- table: {match[1]} -->\n{texts[match[1]]}\n<!-- end of table -->"

    return re.sub(r"<!-- table: ([a-z ]+) -->\n.*?<!-- end of table -->", replace, page, flags=re.DOTALL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 when a table is not that of the records")
    options = parser.parse_args()
    page = PAGE.read_text()
    new = written(page, tables())
    if options.check:
        return int(new != page)
    PAGE.write_text(new)
    record = json.loads((RECORDS / "record.json").read_text())
    for contender in ("controllers", "forebay"):
        (RECORDS / f"{contender}.csv").write_text(goodput_csv(record, contender))
    return 0


if __name__ == "__main__":
    sys.exit(main())
