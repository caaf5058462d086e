#!/usr/bin/env python3
"""The cost of observing a switch: metrics that are served or scraped every second, and `--delay-sample 1000`.

    benches/telemetry_cost.py [--forebay target/release/forebay] [--pairs 15] [--seconds 3] [--out benches/telemetry_cost.json]

Packets go round in memory (`loopback:` ports, programs/portfwd) on one processor, so that neither a kernel nor a peer is
measured. Serving: a process with `--metrics` that nobody asks, and one without, in turns. Scraping: a process is scraped for
some seconds and left alone for some seconds, in turns. The first of a pair alternates. Compared are packets a second of the
worker's processor time; the processor time of all other threads is printed beside it. Samples of delay: `forebay bench` with
and without them, in turns. The figures are medians of pairs, with the quartiles. Needs curl.
"""

import argparse
import contextlib
import datetime
import json
import os
import platform
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "programs/portfwd/portfwd.p4"
ENTRIES = "add ports standard_metadata.ingress_port:{} forward(port:{})\n"
CIRCLING = 256
METRICS = "127.0.0.1:9177"
BENCHES = {"port forwarding": ["portfwd"], "IPv4 routing, 1,000 entries": ["l3fwd", "--entries", "1000", "--flows", "1000"]}
PATIENCE = 60


def capture(path):
    """Frames that begin to go round."""
    frame = bytes.fromhex("020000000002 020000000001 88b5") + bytes(50)
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for _ in range(CIRCLING):
            file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)


class Circle:
    """A switch in which frames go round."""

    def __init__(self, forebay, folder, serves=True):
        capture(folder / "frames.pcap")
        (folder / "entries.stf").write_text("".join(ENTRIES.format(*pair) for pair in ((1, 2), (2, 1), (3, 1))))
        words = [forebay, "run", PROGRAM, "--entries", folder / "entries.stf", "-i", "1@loopback:", "-i", "2@loopback:"]
        words += ["-i", f"3@pcap:{folder / 'frames.pcap'},", "--json", "--stats-interval", "0"]
        words += ["--metrics", METRICS] if serves else []
        self.output = folder / "statistics"
        with self.output.open("w") as file:
            self.process = subprocess.Popen(list(map(str, words)), stdout=file, stderr=subprocess.DEVNULL)
        self.wait_for(lambda: (not serves or self.scrape()) and self.threads().get("worker 0"), "the switch starts")

    def wait_for(self, condition, what):
        deadline = time.monotonic() + PATIENCE
        while not (found := condition()):
            if time.monotonic() > deadline or self.process.poll() is not None:
                sys.exit(f"not reached: {what}\n{self.output.read_text()[-1000:]}")
            time.sleep(0.01)
        return found

    def scrape(self):
        words = ["curl", "--silent", "--show-error", "--output", "/dev/null", f"http://{METRICS}/metrics"]
        return subprocess.run(words, stderr=subprocess.DEVNULL).returncode == 0

    def threads(self):
        """Nanoseconds on a processor, by the thread's name."""
        spent = {}
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError):
                name = (task / "comm").read_text().strip()
                spent[name] = spent.get(name, 0) + int((task / "schedstat").read_text().split()[0])
        return spent

    def sent(self):
        """Packets that were sent until now, as the switch prints on request."""
        before = self.output.stat().st_size
        self.process.send_signal(signal.SIGUSR1)
        self.wait_for(lambda: self.output.read_text()[before:].endswith("\n"), "statistics")
        return json.loads(self.output.read_text().splitlines()[-1])["totals"]["sent_packets"]

    def measure(self, seconds, is_scraped):
        """Packets a second of the worker's processor time, and seconds of the other threads in one of those."""
        stop = threading.Event()
        scraper = threading.Thread(target=self.scrape_until, args=(stop,))
        began, before, packets = time.monotonic(), self.threads(), self.sent()
        if is_scraped:
            scraper.start()
        time.sleep(seconds)
        packets, after, ended = self.sent() - packets, self.threads(), time.monotonic()
        stop.set()
        if is_scraped:
            scraper.join()
        worker = after["worker 0"] - before["worker 0"]
        others = sum(after.values()) - sum(before.values()) - worker
        return packets / worker * 1e9, others / 1e9 / (ended - began)

    def scrape_until(self, stop):
        while not stop.is_set():
            self.scrape()
            stop.wait(1)


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": round(middle, 5), "quartiles": [round(low, 5), round(high, 5)]}


def in_turns(pairs, measure):
    """(off, on) of each pair; the order changes from pair to pair."""
    found = []
    for number in range(pairs):
        both = {}
        for is_on in (False, True) if number % 2 == 0 else (True, False):
            both[is_on] = measure(is_on)
        found.append((both[False], both[True]))
    return found


def scraping(arguments):
    with tempfile.TemporaryDirectory() as folder:
        circle = Circle(arguments.forebay, Path(folder))
        try:
            time.sleep(2)
            found = in_turns(arguments.pairs, lambda is_on: circle.measure(arguments.seconds, is_on))
        finally:
            circle.process.terminate()
            circle.process.wait(20)
    return {
        "what": "metrics scraped every second",
        "packets_per_second": round(statistics.median(off[0] for off, _ in found)),
        "cost_percent": quartiles([(off[0] / on[0] - 1) * 100 for off, on in found]),
        "other_threads_percent_of_a_processor": quartiles([(on[1] - off[1]) * 100 for off, on in found]),
        "pairs": len(found),
    }


def serving(arguments):
    def measure(serves):
        with tempfile.TemporaryDirectory() as folder:
            circle = Circle(arguments.forebay, Path(folder), serves)
            try:
                time.sleep(2)
                return circle.measure(arguments.seconds, False)[0]
            finally:
                circle.process.terminate()
                circle.process.wait(20)

    return row("metrics served, which nobody asks for", in_turns(arguments.pairs, measure))


def row(what, found):
    return {
        "what": what,
        "packets_per_second": round(statistics.median(off for off, _ in found)),
        "cost_percent": quartiles([(off / on - 1) * 100 for off, on in found]),
        "pairs": len(found),
    }


def rate(forebay, words):
    done = subprocess.run([forebay, "bench", *words, "--json"], check=True, capture_output=True, text=True)
    contenders = json.loads(done.stdout)["rows"][0]["contenders"]
    return statistics.median(next(one for one in contenders if one["contender"] == "jit")["rounds"])


def sampling(arguments, name, words):
    options = {False: [], True: ["--delay-sample", "1000"]}
    measure = lambda is_on: rate(arguments.forebay, [*words, "--rounds", "5", "--round-ms", "100", *options[is_on]])  # noqa: E731
    return row(f"--delay-sample 1000, {name}", in_turns(arguments.pairs, measure))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--forebay", default=ROOT / "target/release/forebay", type=Path)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    load = [os.getloadavg()[0]]
    samples = (sampling(arguments, name, words) for name, words in BENCHES.items())
    rows = [serving(arguments), scraping(arguments), *samples]
    load.append(os.getloadavg()[0])
    version = subprocess.run([arguments.forebay, "--version"], capture_output=True, text=True).stdout.split("\n")[0]
    record = {"date": f"{datetime.date.today()}", "version": version, "kernel": platform.release()}
    record |= {"load": [round(one, 1) for one in load], "rows": rows}
    text = json.dumps(record, indent=1) + "\n"
    print(text, end="")
    if arguments.out:
        arguments.out.write_text(text)


if __name__ == "__main__":
    main()
