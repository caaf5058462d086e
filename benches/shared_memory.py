#!/usr/bin/env python3
"""Port forwarding over memory that processes share: forebay beside DPDK's testpmd, in one run.

    sudo benches/shared_memory.py [--forebay target/release/forebay] [--rounds 5] [--seconds 2] [--size 64] [--bursts 8] [--packed] [--json] [--record FILE]

    peer: testpmd, two ports ═ shared memory ═ the switch, two ports

The peer is DPDK's testpmd with two ports of net_virtio_user (for vhost-user) or net_memif. It sends some bursts of
frames, and then forwards what it receives: frames go round between it and the switch, none is lost, and the slower of
both sets the pace. The peer's thread runs on the second processor, the switch's on the first. Contenders take turns
with the same command line of the peer; the figures are medians of all rounds, and so is the ratio of the two contenders
of a round.

`chain` is two switches in a row, joined by memif. With two processors they share the first, and each waits in the
kernel while no packet comes, so that the other runs. Compared are the packets that a switch forwards in a second of its
own processor time. They depend on the packets of each poll of a switch, so on `--bursts`: with 8 of them 512 frames go
round.

With `--forebay target/release/examples/forward` (cargo build --release -p forebay-ports --examples) the ports alone are
measured, without a switch between them. Needs dpdk-testpmd (Debian: dpdk) and two processors.
"""

import argparse
import contextlib
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from precedence import precedence

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "programs/portfwd/portfwd.p4"
ENTRIES = ROOT / "programs/portfwd/entries.stf"
SWITCH_PROCESSOR, PEER_PROCESSOR = 0, 1
BURSTS = 8
PATIENCE = 20.0


def testpmd(name, folder, processor, devices, options=()):
    """A testpmd whose forwarding thread runs on one processor, and its log."""
    log = open(Path(folder) / f"{name}.log", "w+")
    vdevs = [word for device in devices for word in ("--vdev", device)]
    command = ["stdbuf", "-oL", "dpdk-testpmd", "--lcores", f"0@{PEER_PROCESSOR},1@{processor}", "--no-huge", "-m", "512"]
    command += ["--no-pci", "--no-telemetry", f"--file-prefix=forebay-{name}-{os.getpid()}", *vdevs, "--", "-i", "--nb-cores=1"]
    command += ["--total-num-mbufs=16384", "--forward-mode=io", *options]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, text=True)
    return Running(process, log, ("rte-worker-1", "lcore-worker-1"))


def forebay(executable, folder, first, second, name="forebay", is_busy=True):
    """A switch that forwards between two ports, and its log. A busy one never waits in the kernel."""
    processor = SWITCH_PROCESSOR
    log = open(Path(folder) / f"{name}.log", "w+")
    if executable.name == "forward":
        command = [executable, first, second, "3600", processor, *(["busy"] if is_busy else [])]
    else:
        command = ["taskset", "-c", str(processor), executable, "run", PROGRAM, "-i", f"1@{first}", "-i", f"2@{second}"]
        command += ["--entries", ENTRIES, *(["--busy-poll"] if is_busy else [])]
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    return Running(process, log, ("worker 0", "forward"))


class Running:
    """A program that runs, ended at the end of the block."""

    def __init__(self, process, log, thread):
        self.process, self.log, self.thread = process, log, thread

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def text(self):
        return Path(self.log.name).read_text()

    def say(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def answer(self, command, pattern):
        """The parts of testpmd's output for a command that match a pattern."""
        seen = len(self.text())
        self.say(command)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = re.findall(pattern, self.text()[seen:])
            if len(found) >= 2:
                return found
            time.sleep(0.005)
        raise SystemExit(f"testpmd does not answer:\n{self.text()[-2000:]}")

    def received(self):
        return sum(map(int, self.answer("show port stats all", r"RX-packets: (\d+)")))

    def wait_up(self):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if self.answer("show port summary all", r"(?m)^\d+ +\S+ +\S+ +\S+ +(up|down)") == ["up", "up"]:
                return
            time.sleep(0.1)
        raise SystemExit(f"the ports do not come up:\n{self.text()[-2000:]}")

    def seconds(self):
        """Seconds that the thread that moves packets has been on a processor."""
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            if (task / "comm").read_text().strip() in self.thread:
                return int((task / "schedstat").read_text().split()[0]) / 1e9
        raise SystemExit(f"there is no thread {self.thread[0]}:\n{self.text()[-2000:]}")


def measure(peer, switches, seconds):
    """Packets a second, and packets a second of each switch's processor time."""
    time.sleep(0.5)
    began, before, spent = time.monotonic(), peer.received(), [switch.seconds() for switch in switches]
    time.sleep(seconds)
    ended, after = time.monotonic(), peer.received()
    spent = [switch.seconds() - past for switch, past in zip(switches, spent)]
    return (after - before) / (ended - began), [(after - before) / one for one in spent]


def with_peer(arguments, folder, devices, switches):
    with testpmd("peer", folder, PEER_PROCESSOR, devices, [f"--txpkts={arguments.size}"]) as peer:
        peer.wait_up()
        peer.say(f"start tx_first {arguments.bursts}")
        return measure(peer, switches, arguments.seconds)


def virtio_peer(arguments, folder):
    rings = f"queue_size=1024,packed_vq={int(arguments.packed)}"
    return [f"net_virtio_user{i},path={folder}/{i}.sock,{rings}" for i in range(2)]


def memif_peer(folder):
    paths = [f"socket={folder}/{i}.sock,socket-abstract=no,rsize=10" for i in range(2)]
    return [f"net_memif{i},role=client,id=0,{path}" for i, path in enumerate(paths)]


def vhost_testpmd(arguments, folder):
    devices = [f"net_vhost{i},iface={folder}/{i}.sock" for i in range(2)]
    with testpmd("switch", folder, SWITCH_PROCESSOR, devices) as switch:
        wait_for(folder, 2)
        switch.say("start")
        return with_peer(arguments, folder, virtio_peer(arguments, folder), [switch])


def memif_testpmd(arguments, folder):
    paths = [f"socket={folder}/{i}.sock,socket-abstract=no" for i in range(2)]
    devices = [f"net_memif{i},role=server,id=0,{path}" for i, path in enumerate(paths)]
    with testpmd("switch", folder, SWITCH_PROCESSOR, devices) as switch:
        wait_for(folder, 2)
        switch.say("start")
        return with_peer(arguments, folder, memif_peer(folder), [switch])


def vhost_forebay(arguments, folder):
    ports = [f"vhost:{folder}/{i}.sock" for i in range(2)]
    with forebay(arguments.forebay, folder, *ports) as switch:
        wait_for(folder, 2)
        return with_peer(arguments, folder, virtio_peer(arguments, folder), [switch])


def memif_forebay(arguments, folder):
    ports = [f"memif:{folder}/{i}.sock" for i in range(2)]
    with forebay(arguments.forebay, folder, *ports) as switch:
        wait_for(folder, 2)
        return with_peer(arguments, folder, memif_peer(folder), [switch])


def memif_chain(arguments, folder):
    outer, link = [f"memif:{folder}/{i}.sock" for i in range(2)], f"memif:{folder}/2.sock"
    with forebay(arguments.forebay, folder, outer[0], link, "first", is_busy=False) as first:
        wait_for(folder, 2)
        with forebay(arguments.forebay, folder, f"{link},role=client", outer[1], "second", is_busy=False) as second:
            wait_for(folder, 3)
            return with_peer(arguments, folder, memif_peer(folder), [first, second])


def wait_for(folder, sockets):
    deadline = time.monotonic() + PATIENCE
    while len(list(Path(folder).glob("*.sock"))) < sockets:
        if time.monotonic() > deadline:
            raise SystemExit("no sockets: " + "".join(log.read_text()[-1000:] for log in Path(folder).glob("*.log")))
        time.sleep(0.05)


CONTENDERS = {
    "vhost-user, testpmd": vhost_testpmd,
    "vhost-user, forebay": vhost_forebay,
    "memif, testpmd": memif_testpmd,
    "memif, forebay": memif_forebay,
    "memif, chain of two forebays": memif_chain,
}
RATIOS = {
    "vhost-user, forebay": "vhost-user, testpmd",
    "memif, forebay": "memif, testpmd",
    "memif, chain of two forebays": "memif, forebay",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--forebay", default=ROOT / "target/release/forebay", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--bursts", type=int, default=BURSTS, help="bursts of 32 frames that each port of the peer puts on their way, at most 28")
    parser.add_argument("--packed", action="store_true", help="packed rings, in place of split ones, for vhost-user")
    parser.add_argument("--only", default="", help="contenders whose names begin with this")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--record", type=Path, help="add the run to this file, a list in JSON")
    parser.add_argument("--nice", action="store_true", help="before other programs on this machine")
    arguments = parser.parse_args()
    load = [os.getloadavg()[0]]
    chosen = [name for name in CONTENDERS if name.startswith(arguments.only)]
    with precedence() if arguments.nice else contextlib.nullcontext():
        rounds = [one_round(number + 1, chosen, arguments) for number in range(arguments.rounds)]
    load.append(os.getloadavg()[0])
    rows = summary(chosen, rounds)
    record = {"date": f"{datetime.date.today()}", "kernel": platform.release(), "load": [round(one, 1) for one in load]}
    record |= {"machine": processor(), "forebay": version(arguments.forebay), "bursts": arguments.bursts}
    record |= {"packed": arguments.packed, "size": arguments.size, "rounds": arguments.rounds, "rows": rows}
    if arguments.record:
        runs = json.loads(arguments.record.read_text()) if arguments.record.exists() else []
        arguments.record.write_text(json.dumps([*runs, record], indent=1) + "\n")
    if arguments.json:
        print(json.dumps(record))
    else:
        report(rows)


def processor():
    """The processor's name."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def version(executable):
    """Which build is measured; the example `forward` has no version."""
    if executable.name == "forward":
        return "the ports alone"
    return subprocess.run([executable, "--version"], capture_output=True, text=True).stdout.strip()


def one_round(number, chosen, arguments):
    """The rates of each contender in its turn."""
    rates = {}
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder:
            rates[name] = CONTENDERS[name](arguments, folder)
        print(f"round {number}: {name}: {rates[name][0]:,.0f} packets/s", file=sys.stderr)
    return rates


def summary(chosen, rounds):
    """A row for each contender: medians of its rates, and of its ratios round by round."""
    rows = []
    for name in chosen:
        other = RATIOS.get(name)
        own = lambda rates, which: min(rates[which][1])
        row = {
            "name": name,
            "packets_per_second": round(statistics.median(rates[name][0] for rates in rounds)),
            "per_processor_second": round(statistics.median(own(rates, name) for rates in rounds)),
        }
        if other in chosen:
            row["ratio"] = round(statistics.median(rates[name][0] / rates[other][0] for rates in rounds), 3)
            processor_ratios = [own(rates, name) / own(rates, other) for rates in rounds]
            row["processor_ratio"] = round(statistics.median(processor_ratios), 3)
        rows.append(row)
    return rows


def report(rows):
    """The rows as a table."""
    print("| switch | packets/s | ratio | packets/s of its processor time | ratio |\n|---|---|---|---|---|")
    for row in rows:
        ratio = [f"{row[key]:.2f}" if key in row else "–" for key in ("ratio", "processor_ratio")]
        print(
            f"| {row['name']} | {row['packets_per_second']:,.0f} | {ratio[0]} | {row['per_processor_second']:,.0f} | {ratio[1]} |"
        )


if __name__ == "__main__":
    main()
