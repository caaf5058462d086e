#!/usr/bin/env python3
"""The path of IoT messages from sensors to their server over a long link, with aggregation and without.

    sudo benches/baselines/iot_path.py [--forebay target/release/forebay] [--quick] [--json] [--record FILE.json] [--only PART,...]

    sensors ─ aggregation ─ WAN (rate, delay, loss) ─ disaggregation ─ server

Ways: `plain` has the WAN alone; `n2`, `n4`, `n8` have Forebay's switches around it; `server8` leaves the second switch out, and the server
splits N-packets itself; `timed8-5ms` sends a batch after 5 ms, however many messages it has. Parts:

    rate       messages a second over a WAN of 8 Mbps: goodput, loss, delay, processor time of the server
    loss       a WAN that loses frames: messages lost, and how many one after the other
    confirmed  the same with messages that are acknowledged and sent again (as CoAP's confirmable ones): how often, how long
    timeouts   few messages: what waiting for a full batch costs, and what a time-out changes

Every message is checked. Needs root, iproute2, ethtool and cc.
"""

import argparse
import datetime
import json
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import environment
import measure
import results
from chain import Chain
from contenders import Forebay, TimedForebay, Wan

WAN_MBPS, WAN_DELAY_MS = 8, 20
FLOWS = 4
TIMEOUT_MS = 200
IDLE_SECONDS = 1.5
# The longest of the time-outs, 16 times the first one, and the way.
CONFIRMED_IDLE_SECONDS = 17 * TIMEOUT_MS / 1000


@dataclass
class Point:
    """One run: its part, its way, and the load and the WAN."""

    part: str
    way: str
    rate: int
    loss_percent: float = 0
    confirmed: bool = False


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


def stages(way, forebay, wan):
    """What stands between sensors and server, as contender and role, and N."""
    if way == "plain":
        return [(wan, "")], 1
    if way.startswith("timed"):
        n, age = way.removeprefix("timed").removesuffix("ms").split("-")
        switch = TimedForebay(forebay, 1000 * int(age))
    else:
        n, switch = way.removeprefix("server").removeprefix("n"), Forebay(forebay)
    last = [] if way.startswith("server") else [(switch, "disaggregate")]
    return [(switch, "aggregate"), (wan, ""), *last], int(n)


def run(point, options, programs):
    """One run, as a row."""
    wan = Wan(programs["wan"], WAN_MBPS, WAN_DELAY_MS, point.loss_percent)
    row = dict(vars(point))
    between, n = stages(point.way, options.forebay, wan)
    with Chain(len(between), addressed=False) as chain:
        for stage, (contender, role) in enumerate(between, 1):
            contender.start(chain, stage, role, n)
        traffic = PathTraffic(chain, programs, n)
        traffic.wait_until_ready()
        wan.process.send_signal(signal.SIGUSR1)
        messages = results.messages_per_flow(point.rate, options.seconds, FLOWS, n)
        sent, received = traffic.send(point.rate, messages, point.confirmed)
        chain.check()
        chain.stop()
        link = json.loads((wan_folder(chain) / "wan.log").read_text())
    return row | results.path_point(sent, received, link)


def wan_folder(chain):
    """The folder of the stage that is the WAN."""
    return next(node.folder for node in chain.nodes if (node.folder / "wan.log").exists())


class PathTraffic(measure.Traffic):
    """Messages with acknowledgements or without."""

    def __init__(self, chain, programs, n):
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
        what = (self.chain.server_address, 9000, next(measure.RUNS) % 65536, FLOWS, messages)
        return self.exchange(
            (self.program, "receive", *what, CONFIRMED_IDLE_SECONDS, "acknowledge"),
            (self.confirmed, *what, rate, TIMEOUT_MS),
        )


def line(row):
    """A row for people."""
    text = (
        f"{row['part']:10} {row['way']:12} {row['rate']:6}/s loss {row['loss_percent']:3} %  goodput {row['goodput_mbps']:6.3f} Mbps  "
        f"missing {100 * row['lost'] / row['sent']:6.2f} %"
    )
    if row["delay_us"]:
        text += f"  delay {row['delay_us']['median'] / 1000:7.2f} ms, 95 % {row['delay_us']['p95'] / 1000:7.2f} ms"
    text += f"  {row['wire_bytes_per_message']:5.1f} B/message  server {row['server_us_per_message']:4.2f} us"
    if row["lost"]:
        text += f"  {row['lost_together']:.2f} together"
    if row["confirmed"]:
        text += f"  sent again {row['retransmissions_per_message']:.3f} times, in vain {row['in_vain_per_message']:.3f}"
    return text


def main():
    parts = ["rate", "loss", "confirmed", "timeouts"]
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
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    programs = {name: environment.compiled(name) for name in ("iot_traffic", "iot_confirmed", "wan")}
    record = {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "machine": measure.machine(),
        "versions": {"forebay": measure.first_line(options.forebay, "--version")},
        "wan": {"mbps": WAN_MBPS, "delay_ms": WAN_DELAY_MS, "timeout_ms": TIMEOUT_MS, "flows": FLOWS},
        "points": [],
    }
    for point in points(options.quick):
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
