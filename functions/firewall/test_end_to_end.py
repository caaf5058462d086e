#!/usr/bin/env python3
"""The firewall between a host inside, one outside and a server: the kernel's TCP over IPv4 and IPv6, pings, errors,
rules, the log. Needs root, tshark, iperf3 and finsy.

    inside 10.1.0.2 -- 1 [firewall] 2 -- outside 192.0.2.2
                             3 -- server 10.3.0.10
"""

import json
import pathlib
import re
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from bed import FOREBAY, check, has_finsy, iperf3, main, start_again, wait_until

NETS = {
    1: ("10.1.0.2/16", "2001:db8:1::2/48"),
    2: ("192.0.2.2/24", "2001:db8:2::2/48"),
    3: ("10.3.0.10/16", "2001:db8:3::a/48"),
}
CONNECT = """
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
s = socket.socket(family, socket.SOCK_STREAM)
s.settimeout(1.5)
try:
    s.connect((sys.argv[1], int(sys.argv[2])))
    print("connected")
except Exception as error:
    print(type(error).__name__, error)
"""
REFUSED = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(3)
s.connect((sys.argv[1], 9))
s.send(b"x")
try:
    s.recv(1)
except ConnectionRefusedError:
    print("refused")
"""


def meters_of_rules(firewall, port=80):
    """The numbers of the meters of rules for a port."""
    lines = firewall.run(FOREBAY, "ctl", "table", "dump", "rules_ipv4").splitlines()
    return {int(found[1]) for line in lines if (found := re.search(rf" {port}\.\.[0-9]+ .*policer=([0-9]+)", line))}


def make(bed):
    firewall = bed.namespace("firewall")
    hosts = {}
    for port, name in ((1, "inside"), (2, "outside"), (3, "server")):
        host = bed.host(name, "eth0", firewall, f"p{port}", *NETS[port], mac=f"02:00:00:00:0{port}:02")
        gateways = {
            1: ("10.1.0.1", "2001:db8:1::1"),
            2: ("192.0.2.1", "2001:db8:2::1"),
            3: ("10.3.0.1", "2001:db8:3::1"),
        }
        for gateway in gateways[port]:
            host.run("ip", "route", "add", "default", "via", gateway)
        hosts[name] = host
    return firewall, hosts["inside"], hosts["outside"], hosts["server"]


def events(path, kind):
    return [line for line in map(json.loads, path.read_text().splitlines()) if line["event"] == kind]


def attempt(host, address, port):
    return host.run(sys.executable, "-c", CONNECT, address, port).strip()


def serve(host, port, *, ipv6=True):
    bind = ["--bind", "::"] if ipv6 else []
    host.start(sys.executable, "-m", "http.server", *bind, port)
    wait_until(lambda: host.succeeds("sh", "-c", f"ss -ltn | grep -q :{port}"), f"the server at port {port}")


def test(bed):
    if not has_finsy():
        return
    firewall, inside, outside, server = make(bed)
    bed.switch(firewall, None, {1: "p1", 2: "p2", 3: "p3"}, None, "--grpc")
    log, file = bed.folder / "firewall.jsonl", bed.folder / "firewall.toml"
    text = (HERE / "firewall.toml").read_text()
    file.write_text(text)
    controller = firewall.start(sys.executable, HERE / "control.py", file, "--log", log)
    wait_until(
        lambda: "new entries" in controller.output.read_text() or controller.poll() is not None, "control.py", 60
    )
    check(controller.poll() is None, "control.py has written zones, routes, policies and rules")
    captures = {"inside": inside.capture("eth0"), "outside": outside.capture("eth0"), "server": server.capture("eth0")}

    inside.run("ping", "-c", "2", "-i", "0.2", "192.0.2.2")
    inside.run("ping", "-c", "2", "-i", "0.2", "2001:db8:2::2")
    for own in ("10.1.0.1", "2001:db8:1::1"):
        inside.run("ping", "-c", "1", own)
    check(True, "pings from inside, over IPv4 and IPv6, and to the firewall")
    check(not outside.succeeds("ping", "-c", "1", "-W", "1", "10.1.0.2"), "none from outside")
    for own in ("192.0.2.1", "2001:db8:2::1"):
        check(not outside.succeeds("ping", "-c", "1", "-W", "1", own), f"nor to the firewall from there ({own})")

    for host, port in ((outside, 8080), (server, 80), (server, 8080), (inside, 8080)):
        serve(host, port)
    for address in ("192.0.2.2", "2001:db8:2::2", "10.3.0.10"):
        check(attempt(inside, address, 8080) == "connected", f"inside reaches {address}")
    for address in ("10.3.0.10", "2001:db8:3::a"):
        check(attempt(outside, address, 80) == "connected", f"outside reaches {address} at port 80")
        check("imed" in attempt(outside, address, 8080), "and not at 8080")
    for address in ("10.1.0.2", "2001:db8:1::2"):
        check("imed" in attempt(outside, address, 8080), f"outside does not reach {address}")
    check("imed" in attempt(server, "10.1.0.2", 8080), "the server does not reach inside")
    rejected = attempt(outside, "10.3.0.10", 113)
    check(
        "NoRoute" in rejected or "No route" in rejected or "unreachable" in rejected,
        f"a rejected connection gets an ICMP error: {rejected}",
    )
    check(
        "refused" in inside.run(sys.executable, "-c", REFUSED, "192.0.2.2"),
        "an ICMP error reaches the socket of its datagram",
    )

    outside.start("iperf3", "-s")
    wait_until(lambda: outside.succeeds("sh", "-c", "ss -ltn | grep -q :5201"), "iperf3")
    for options, what in (
        ((), "TCP out"),
        (("-R",), "TCP in"),
        (("-P", "8"), "8 connections"),
        (("-u", "-b", "20M"), "UDP"),
        (("-6",), "IPv6"),
    ):
        target = "2001:db8:2::2" if "-6" in options else "192.0.2.2"
        total = iperf3(inside, target, *options)
        check(total["bytes"] > 100_000, f"iperf3, {what}: {total['bits_per_second'] / 1e6:.0f} Mbit/s")

    wait_until(lambda: events(log, "refused"), "refusals are logged")
    line = next(one for one in events(log, "refused") if one["port"] == 8080)
    check(line["source"] in ("192.0.2.2", "2001:db8:2::2") and line["reason"] == "denied", f"a log line: {line}")
    controller.send_signal(signal.SIGUSR1)
    wait_until(lambda: events(log, "connection"), "connections are read")
    time.sleep(0.5)
    rules = {one["name"]: one["packets"] for one in events(log, "rule")}
    check(rules["web"] >= 2 and rules["ident"] >= 1 and rules["rest"] >= 2, f"counters of rules: {rules}")
    check(
        any(one["port"] == 5201 for one in events(log, "connection")), f"{len(events(log, 'connection'))} connections"
    )

    download = inside.start("iperf3", "-c", "192.0.2.2", "-t", "3", "-b", "50M")
    controller = start_again(firewall, controller, inside, "192.0.2.2")
    check(download.wait(timeout=20) == 0, "and so does a connection")

    download = inside.start("iperf3", "-c", "192.0.2.2", "-t", "4", "-b", "50M")
    time.sleep(1)
    before = meters_of_rules(firewall)
    text = text.replace('to = ["outside", "servers"]', 'to = ["servers"]')
    # Another zone and another rule come first: those that were there keep the numbers that connections have.
    text = text.replace("[[zone]]", '[[zone]]\nname = "none"\ninterface = []\n\n[[zone]]', 1)
    text = text.replace("[[rule]]", '[[rule]]\nport = 7\ndo = "allow"\nrate = 8000\n\n[[rule]]', 1)
    file.write_text(text)
    controller.send_signal(signal.SIGHUP)
    wait_until(lambda: controller.output.read_text().count("new entries") > 1, "control.py has read its file again")
    check("imed" in attempt(inside, "192.0.2.2", 8080), "a policy that is taken away: no new connections")
    check(download.wait(timeout=20) == 0, "those that were there go on")
    meters = before, meters_of_rules(firewall), meters_of_rules(firewall, 7)
    check(meters == ({1}, {1}, {2}), f"rules keep their meters: {meters}")

    for name, capture in captures.items():
        capture.stop()
        capture.check_well_formed(name, only="eth.src[5:1] == 01")
    check(not inside.checksum_errors() and not outside.checksum_errors(), "no wrong checksum at the hosts")


if __name__ == "__main__":
    sys.exit(main(test, "tshark", "dumpcap", "iperf3", "ping", "ss"))
