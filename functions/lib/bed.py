"""Network namespaces with hosts and switches, for the end-to-end tests of the functions. Needs root.

    with Bed() as bed:
        h1, h2 = bed.host("h1"), bed.host("h2")
        s = bed.namespace("s")
        bed.link(h1, "eth0", s, "p1", address="10.0.0.1/24")
        ...
        bed.switch(s, "program.p4", {1: "p1", 2: "p2"}, entries="entries.stf")
        h1.run("ping", "-c", "1", "10.0.0.2")

Everything that was made is removed at the end: namespaces with their interfaces, and processes by their ids.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOREBAY = os.environ.get("FOREBAY") or shutil.which("forebay") or str(ROOT / "target/release/forebay")
# The control programs that a test starts use the same one.
os.environ["FOREBAY"] = FOREBAY


class Failed(Exception):
    """A check has failed; the text says which."""


def check(condition, what):
    if not condition:
        raise Failed(what)
    print(f"  ok: {what}", flush=True)


def wait_until(condition, what, seconds=20):
    """Waits until the condition holds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.05)
    raise Failed(f"not within {seconds} s: {what}")


def iperf3(client, server, *options):
    """What iperf3 counted between a host and a server: `bytes`, `bits_per_second`.

    It waits while the server ends its last test, and while it closes its port and opens it again after that.
    """
    not_yet = ("busy", "Connection refused", "Connection reset")
    for _ in range(20):
        result = json.loads(client.run("iperf3", "-c", server, "-n", "10M", "-J", *options, check=False))
        total = result["end"].get("sum_received") or result["end"].get("sum")
        if total is not None or not any(words in result.get("error", "") for words in not_yet):
            break
        time.sleep(0.5)
    if total is None:
        raise Failed(f"iperf3 {' '.join(options)}: {result.get('error', result)}")
    return total


def missing(*commands):
    """The commands that are not installed; a test without them is skipped."""
    return [command for command in commands if shutil.which(command) is None]


def arguments():
    """A parser of command lines with the docstring of the running script as its description."""
    about = sys.modules["__main__"].__doc__
    return argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)


def skip(what):
    """Reports that a part cannot be tested here; a failure with `functions/test.py --strict`."""
    if os.environ.get("FOREBAY_STRICT"):
        raise Failed(f"skipped, though everything must be tested: {what}")
    print(f"  skipped: {what}", flush=True)


def has_finsy():
    """Whether control programs can run; if not, a message says so."""
    if importlib.util.find_spec("finsy"):
        return True
    skip("finsy is not installed")
    return False


def can_run(name, *commands):
    """Whether this user can run a test with the installed commands; if not, a message says so."""
    print(f"{name}:", flush=True)
    if os.geteuid() != 0:
        skip("needs root")
        return False
    if absent := missing("ip", *(["ethtool"] if "tshark" in commands else []), *commands):
        skip(f"not installed: {', '.join(absent)}")
        return False
    return True


def main(test, *commands, options=None):
    """Runs a test: 0 it passed or cannot be run here, 1 it failed. A script has no arguments but --help when there are
    no `options`."""
    if options is None:
        arguments().parse_args()
    name = pathlib.Path(sys.argv[0]).resolve().parent.name
    try:
        if not can_run(name, *commands):
            return 0
    except Failed as error:
        print(f"  FAILED: {error}", flush=True)
        return 1
    bed = Bed(is_judged="tshark" in commands)
    try:
        with bed:
            test(*([bed] if options is None else [bed, options]))
    except (Failed, subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        print(f"  FAILED: {error}\n  output and captures: {bed.folder}", flush=True)
        return 1
    return 0


class Namespace:
    def __init__(self, bed, name):
        self.bed = bed
        self.name = name
        self.full_name = f"fb{os.getpid()}-{name}"
        subprocess.run(["ip", "netns", "add", self.full_name], check=True)
        self.run("ip", "link", "set", "lo", "up")

    def words(self, *words):
        return ["ip", "netns", "exec", self.full_name, *map(str, words)]

    def run(self, *words, check=True, timeout=60, **options):
        """Runs a command and returns its output."""
        done = subprocess.run(
            self.words(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, **options
        )
        if check and done.returncode != 0:
            raise Failed(f"{self.name}: {' '.join(map(str, words))}: {done.returncode}: {done.stdout.strip()[-500:]}")
        return done.stdout

    def succeeds(self, *words, timeout=60):
        done = subprocess.run(self.words(*words), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=timeout)
        return done.returncode == 0

    def start(self, *words, name=None, **options):
        """Starts a process that ends with the bed. Its output is a file, `process.output`."""
        output = self.bed.folder / f"{len(self.bed.processes)}-{name or pathlib.Path(str(words[0])).name}.log"
        with output.open("wb") as file:
            process = subprocess.Popen(self.words(*words), stdout=file, stderr=subprocess.STDOUT, **options)
        process.output = output
        process.words = words
        self.bed.processes.append(process)
        return process

    def checksum_errors(self):
        """Wrong checksums of TCP and UDP that the kernel of this namespace has counted: name -> number.

        A check beside tshark's, which sees what a host has captured.
        """
        counters = json.loads(self.run("nstat", "-azj", "TcpInCsumErrors", "UdpInCsumErrors", "Udp6InCsumErrors"))[
            "kernel"
        ]
        return {name: number for name, number in counters.items() if number}

    def capture(self, interface):
        """Captures what an interface receives, and what the kernel sends by it; not what a switch sends."""
        return Capture(self, interface)


# The ports of iperf3's servers in these tests. Its payloads are random, and a client's port may be one that tshark knows: from
# 57000 it would read them as IRC.
RANDOM_PAYLOADS = [
    word for port in (5001, 5201) for kind in ("tcp", "udp") for word in ("-d", f"{kind}.port=={port},data")
]


class Capture:
    def __init__(self, namespace, interface):
        self.namespace = namespace
        self.path = namespace.bed.folder / f"{namespace.name}-{interface}.pcap"
        self.process = namespace.start("dumpcap", "-q", "-P", "-i", interface, "-w", self.path)
        wait_until(lambda: self.path.exists() and self.path.stat().st_size >= 24, f"capture on {interface}")

    def stop(self):
        # dumpcap reads from a ring that the kernel hands over every now and then.
        time.sleep(0.5)
        stop(self.process, signal.SIGINT)

    def fields(self, display_filter, *fields, options=()):
        """The fields of each frame that passes the filter."""
        words = ["tshark", "-n", *RANDOM_PAYLOADS, *options, "-r", str(self.path), "-Y", display_filter, "-T", "fields"]
        for field in fields:
            words += ["-e", field]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(f"tshark: {done.stderr.strip()[-500:]}")
        return [line.split("\t") for line in done.stdout.splitlines()]

    def count(self, display_filter, options=()):
        return len(self.fields(display_filter, "frame.number", options=options))

    def check_well_formed(self, what, options=(), other="", only="frame"):
        """No frame is malformed by tshark's dissectors, and all IPv4, TCP and UDP checksums are right.

        `other` is a filter of further frames that must not occur, `only` a filter of the checked frames: frames that a
        host sends have open checksums at its own interface.
        """
        checks = [
            "-o",
            "ip.check_checksum:TRUE",
            "-o",
            "udp.check_checksum:TRUE",
            "-o",
            "tcp.check_checksum:TRUE",
            *options,
        ]
        # An ICMP error has a part of the segment that it is about, as the sender's kernel had it.
        bad = "_ws.malformed or ip.checksum.status == 0 or udp.checksum.status == 0"
        bad += " or tcp.checksum.status == 0 and not icmp and not icmpv6"
        if other:
            bad += f" or {other}"
        found = self.fields(f"({only}) and ({bad})", "frame.number", "_ws.col.Protocol", "_ws.col.Info", options=checks)
        check(not found, f"{what}: tshark finds no malformed frame {found[:3] or ''}".rstrip())


class Bed:
    """`is_judged`: tshark judges what switches send to hosts."""

    def __init__(self, is_judged=False):
        self.is_judged = is_judged
        self.namespaces = []
        self.processes = []

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="forebay-functions-"))
        self.folder.chmod(0o755)
        return self

    def __exit__(self, kind, *_):
        for process in reversed(self.processes):
            stop(process)
        for namespace in self.namespaces:
            subprocess.run(["ip", "netns", "del", namespace.full_name], check=False)
        if kind is None:
            shutil.rmtree(self.folder)

    def namespace(self, name):
        made = Namespace(self, name)
        self.namespaces.append(made)
        return made

    def link(self, one, one_name, other, other_name, mtu=1500):
        """A virtual Ethernet pair between two namespaces, without IPv6 addresses of its own."""
        made = ["ip", "link", "add", one_name, "netns", one.full_name, "mtu", str(mtu), "type", "veth"]
        made += ["peer", "name", other_name, "netns", other.full_name, "mtu", str(mtu)]
        subprocess.run(made, check=True)
        for namespace, name in ((one, one_name), (other, other_name)):
            namespace.run("sysctl", "-qw", f"net.ipv6.conf.{name}.addr_gen_mode=1")
            namespace.run("ip", "link", "set", name, "up")

    def host(self, name, interface, switch, port, *addresses, mac=None, mtu=1500):
        """A namespace joined to a port of a switch's namespace."""
        host = self.namespace(name)
        self.link(host, interface, switch, port, mtu)
        if self.is_judged:
            whole_frames(switch, port)
        if mac:
            host.run("ip", "link", "set", interface, "address", mac)
        for address in addresses:
            nodad = ["nodad"] if ":" in address else []
            host.run("ip", "address", "add", address, "dev", interface, *nodad)
        return host

    def switch(self, namespace, program, ports, entries=None, *options, kind="packet:"):
        """A switch that has started."""
        words = [FOREBAY, "run", *([program] if program else []), *options]
        for number, interface in ports.items():
            words += ["-i", f"{number}@{kind}{interface}"]
        if entries:
            words += ["--entries", entries]
        process = namespace.start(*words, "--json", name=f"forebay-{namespace.name}")
        wait_until(lambda: process.poll() is not None or b'"ports"' in process.output.read_bytes(), "the switch starts")
        if process.poll() is not None:
            raise Failed(f"the switch ends: {process.output.read_text()}")
        return process


def whole_frames(switch, port):
    """Lets the kernel complete open checksums and cut joined segments that a switch sends by a port, so that they can be
    judged. Hosts' own frames stay as they are."""
    switch.run("ethtool", "-K", port, "tx", "off")


def statistics(process):
    """The last statistics of a switch."""
    lines = [line for line in process.output.read_text().splitlines() if line.startswith("{") and line.endswith("}")]
    return json.loads(lines[-1])


def start_again(namespace, controller, host, *target, ready="0 new entries, 0 changed, 0 removed"):
    """Kills a control program while a host pings, starts it again, and gives it. Nothing is written anew, and pings go
    on: a tenth may be lost, since the last ones are still under way and the machine may be busy; where entries are
    emptied first, nearly all are."""
    ping = host.start("ping", "-i", "0.02", *target)
    time.sleep(0.3)
    controller.kill()
    controller.wait()
    time.sleep(0.3)
    again = namespace.start(*controller.words)
    wait_until(lambda: ready in again.output.read_text() or again.poll() is not None, f"control.py again: {ready}", 90)
    check(again.poll() is None, f"control.py is killed and starts again: {ready}")
    time.sleep(0.5)
    stop(ping, signal.SIGINT)
    said = ping.output.read_text()
    counted = re.search(r"(\d+) packets transmitted, (\d+) received", said)
    sent, received = map(int, counted.groups()) if counted else (1, 0)
    check(received >= 0.9 * sent, f"meanwhile traffic goes on: {received} of {sent} pings are answered")
    return again


def stop(process, how=signal.SIGTERM):
    if process.poll() is not None:
        return
    process.send_signal(how)
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
