#!/usr/bin/env python3
"""The NAT between two subscribers and a server: the kernel's TCP, pings, traceroute, path MTU, hairpinning, the log.
Needs root, tshark, iperf3 and finsy.

    a 10.0.0.5, b 10.0.0.6 -- router 10.0.0.2 -- 1 [NAT] 2 -- border 192.0.2.2 -- server 198.18.0.10
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

SERVER = "198.18.0.10"
POOL = ["203.0.113.1", "203.0.113.4", "203.0.113.5"]
ECHO = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", 7777))
while True:
    data, peer = s.recvfrom(65536)
    s.sendto(f"{peer[0]}:{peer[1]} {len(data)}".encode(), peer)
"""
ASK = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(3)
s.bind(("0.0.0.0", int(sys.argv[1])))
for host in sys.argv[3:]:
    s.sendto(bytes(int(sys.argv[2])), (host, 7777))
    print(s.recv(100).decode())
"""
HAIRPIN = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
s.bind(("0.0.0.0", 6000))
s.sendto(b"hello", (sys.argv[1], 7777))
print(s.recv(100).decode(), flush=True)
data, peer = s.recvfrom(100)
print(data.decode(), f"{peer[0]}:{peer[1]}", flush=True)
s.sendto(b"back", peer)
"""
CALL = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
s.bind(("0.0.0.0", 6001))
s.sendto(b"from b", (sys.argv[1], int(sys.argv[2])))
print(s.recv(100).decode())
"""


def forward(host):
    host.run(
        "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0"
    )


def make(bed):
    nat = bed.namespace("nat")
    router = bed.host("router", "eth0", nat, "inside", mac="02:00:00:00:00:02")
    border = bed.host("border", "eth0", nat, "outside", "192.0.2.2/24", mac="02:00:00:00:01:02")
    forward(router)
    forward(border)
    router.run("ip", "address", "add", "10.0.0.2/32", "dev", "eth0")
    router.run("ip", "route", "add", "10.0.0.1/32", "dev", "eth0")
    router.run("ip", "route", "add", "default", "via", "10.0.0.1")
    hosts = {}
    for name, address in (("a", "10.0.0.5"), ("b", "10.0.0.6")):
        hosts[name] = bed.host(name, "eth0", router, f"to-{name}", f"{address}/32")
        router.run("ip", "route", "add", f"{address}/32", "dev", f"to-{name}")
        router.run("ip", "address", "add", "10.0.0.2/32", "dev", f"to-{name}")
        hosts[name].run("ip", "route", "add", "10.0.0.2/32", "dev", "eth0")
        hosts[name].run("ip", "route", "add", "default", "via", "10.0.0.2")
    server = bed.host("server", "eth0", border, "server", f"{SERVER}/24")
    server.run("ip", "address", "add", "198.18.0.11/24", "dev", "eth0")
    border.run("ip", "address", "add", "198.18.0.1/24", "dev", "server")
    border.run("ip", "route", "add", "203.0.113.0/24", "via", "192.0.2.1")
    server.run("ip", "route", "add", "default", "via", "198.18.0.1")
    return nat, router, border, server, hosts["a"], hosts["b"]


def reconfigure(a, controller, file, log):
    """What packets have learnt gives way to a static mapping and to another external address."""
    text = file.read_text()

    def read_again(text, what):
        since = len(controller.output.read_text())
        file.write_text(text)
        controller.send_signal(signal.SIGHUP)
        wait_until(lambda: what in controller.output.read_text()[since:], f"control.py says `{what}`")

    asked = a.run(sys.executable, "-c", ASK, 5100, 10, SERVER).split()[0]
    address = asked.split(":")[0]
    static = f'\n[[static]]\nprotocol = "udp"\ninside = "10.0.0.5:5100"\nexternal = "{address}:510"\n'
    seconds = text.index("\n[seconds]")
    read_again(text[:seconds] + static + text[seconds:], "2 new entries")
    asked = a.run(sys.executable, "-c", ASK, 5100, 10, SERVER).split()[0]
    check(asked == f"{address}:510", f"a static mapping takes the place of one that packets have learnt: {asked}")
    # Blocks end soon in this test, and this one may have.
    address = a.run(sys.executable, "-c", ASK, 5102, 10, SERVER).split(":")[0]
    since = len(events(log, "release"))
    others = {"203.0.113.1": '"203.0.113.1"', "203.0.113.4": '"203.0.113.4/31"', "203.0.113.5": '"203.0.113.4/31"'}
    old, new = others[address], '"203.0.113.9"' if address == "203.0.113.1" else '"203.0.113.8/31"'
    renumbered = text.replace(old, new)
    if address == "203.0.113.1":
        renumbered = renumbered.replace('external = "203.0.113.1:80"', 'external = "203.0.113.9:80"')
    read_again(renumbered, "are ended")
    asked = [a.run(sys.executable, "-c", ASK, port, 10, SERVER).split(":")[0] for port in (5000, 5101, 5102)]
    check(address not in asked, f"the external address {address} is gone, and its subscribers have others: {asked}")
    released = [one["inside"] for one in events(log, "release")[since:] if one["external"] == address]
    check("10.0.0.5" in released, "a log line for the block that has ended with its address")


def secret_of(nat, socket):
    text = nat.run(FOREBAY, "ctl", "--grpc", socket, "table", "default", "behaviour")
    return int(re.search("secret=([0-9]+)", text)[1])


def events(path, kind=None):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in lines if kind in (None, line["event"])]


def test(bed):
    if not has_finsy():
        return
    nat, router, border, server, a, b = make(bed)
    socket = f"unix:{bed.folder}/grpc"
    bed.switch(nat, None, {1: "inside", 2: "outside"}, None, "--grpc", socket)
    log, file = bed.folder / "nat.jsonl", bed.folder / "nat.toml"
    # A short time for blocks, to see that they are given back.
    text = (HERE / "nat44.toml").read_text() + "\n[seconds]\nblock_seconds = 12\n"
    file.write_text(text)
    controller = nat.start(sys.executable, HERE / "control.py", file, "--log", log, "--grpc", socket)
    wait_until(
        lambda: "new entries" in controller.output.read_text() or controller.poll() is not None, "control.py", 60
    )
    check(controller.poll() is None, "control.py has written interfaces, pools and routes")
    secret = secret_of(nat, socket)
    check(secret != 0, "ports come in an order of a secret")
    outside, inside = border.capture("eth0"), router.capture("eth0")

    a.run("ping", "-c", "3", "-i", "0.2", SERVER)
    a.run("ping", "-c", "1", "10.0.0.1")
    check(True, "pings: through the NAT, and to it")
    names = a.run(sys.executable, HERE.parent / "lib/trace.py", SERVER).split()
    check(names == ["10.0.0.2", "10.0.0.1", "192.0.2.2", SERVER], f"traceroute (UDP) sees every hop: {' '.join(names)}")

    echo = server.start(sys.executable, "-c", ECHO)
    wait_until(lambda: server.succeeds("sh", "-c", "ss -lun | grep -q :7777"), "the echo server")
    answers = a.run(sys.executable, "-c", ASK, 5000, 10, SERVER, "198.18.0.11").split("\n")
    one, other = answers[0].split()[0], answers[1].split()[0]
    check(one == other, f"one mapping for two destinations: {one}")
    check(one.split(":")[0] in POOL, "from an external address")
    answer = a.run(sys.executable, "-c", ASK, 5001, 6000, SERVER)
    check(
        answer.split()[1] == "6000", "a datagram of 6,000 bytes goes through in fragments, and so does its answer"
    )
    paired = {a.run(sys.executable, "-c", ASK, port, 10, SERVER).split(":")[0] for port in range(5010, 5020)}
    check(paired == {one.split(":")[0]}, "all mappings of a subscriber have one address")

    listener = a.start(sys.executable, "-c", HAIRPIN, SERVER)
    wait_until(lambda: ":" in listener.output.read_text(), "a's mapping")
    address, port = re.split("[: ]", listener.output.read_text())[:2]
    check(b.run(sys.executable, "-c", CALL, address, port).strip() == "back", f"b reaches a at {address}:{port}")
    text_seen = listener.output.read_text().splitlines()[1]
    check(text_seen.split()[-1].split(":")[0] in POOL, f"a sees b from outside: {text_seen}")

    unreachable = a.run(sys.executable, "-c", REFUSED, SERVER)
    check("refused" in unreachable, "an ICMP error about UDP reaches the socket of its datagram")
    border.run("ip", "link", "set", "server", "mtu", "1300")
    server.run("ip", "link", "set", "eth0", "mtu", "1300")
    a.run("ping", "-c", "2", "-i", "0.2", "-M", "do", "-s", "1400", "-W", "1", SERVER, check=False)
    cache = a.run("ip", "route", "get", SERVER)
    check("mtu 1300" in cache, "path MTU discovery: the host learns the MTU behind the NAT")

    server.start("iperf3", "-s")
    wait_until(lambda: server.succeeds("sh", "-c", "ss -ltn | grep -q :5201"), "iperf3")
    for options, what in (
        ((), "TCP out"),
        (("-R",), "TCP in"),
        (("-P", "8"), "8 connections"),
        (("-u", "-b", "20M"), "UDP"),
    ):
        total = iperf3(b, SERVER, *options)
        check(total["bytes"] > 100_000, f"iperf3, {what}: {total['bits_per_second'] / 1e6:.0f} Mbit/s")

    check({one["inside"] for one in events(log, "block")} == {"10.0.0.5", "10.0.0.6"}, "a log line for each block")
    controller.send_signal(signal.SIGUSR1)
    wait_until(lambda: events(log, "session"), "the sessions are written")
    time.sleep(0.5)
    sessions = events(log, "session")
    check(
        any(one["inside"] == "10.0.0.5:5000" and one["external"] == answers[0].split()[0] for one in sessions),
        f"{len(sessions)} sessions are read",
    )
    statics = [one for one in sessions if one["static"]]
    check(statics and statics[0]["external"] == "203.0.113.1:80", "the static mapping among them")

    controller = start_again(nat, controller, a, SERVER)
    again = a.run(sys.executable, "-c", ASK, 5000, 10, SERVER).split()[0]
    check(again == one and secret_of(nat, socket) == secret, f"mappings are the same, and so is the secret: {again}")

    text = text.replace('filtering = "any"', 'filtering = "address-and-port"')
    text = text.replace("log_mappings = false", "log_mappings = true")
    file.write_text(text.replace('"203.0.113.1", "203.0.113.4/31"', '"203.0.113.4/31", "203.0.113.1"'))
    controller.send_signal(signal.SIGHUP)
    wait_until(lambda: "2 settings changed" in controller.output.read_text(), "control.py has read its file again")
    check(
        "0 new entries, 0 changed, 0 removed; 2" in controller.output.read_text(),
        "addresses in another order keep the numbers that blocks have",
    )
    a.run(sys.executable, "-c", ASK, 5100, 10, SERVER)
    wait_until(
        lambda: any(one["inside"] == "10.0.0.5:5100" for one in events(log, "mapping")), "a line for the mapping"
    )
    check(True, "a log line for each mapping, if wanted")
    reconfigure(a, controller, file, log)
    # Its block may have ended while there was no control program.
    b.run(sys.executable, "-c", ASK, 5200, 10, SERVER)
    wait_until(lambda: {one["inside"] for one in events(log, "release")} >= {"10.0.0.5", "10.0.0.6"}, "releases", 40)
    known = {*POOL, "203.0.113.8", "203.0.113.9"}
    check(all(one["external"] in known for one in events(log, "release")), "a log line when a block is given back")

    echo.terminate()
    for capture in (outside, inside):
        capture.stop()
    outside.check_well_formed("outside", only="ip.src == 203.0.113.0/24")
    inside.check_well_formed("inside", only="eth.src == 02:00:00:00:00:01")
    check(outside.count("ip.addr == 10.0.0.0/8") == 0, "no inside address is seen outside, not in ICMP errors either")
    check(not server.checksum_errors() and not b.checksum_errors(), "no wrong checksum at the hosts")


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


if __name__ == "__main__":
    sys.exit(main(test, "tshark", "dumpcap", "iperf3", "ping", "ss"))
