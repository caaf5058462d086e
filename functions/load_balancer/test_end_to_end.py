#!/usr/bin/env python3
"""The load balancer between a client and five back ends in all modes, and 100,000 connections while back ends come and
go. Needs root, tshark, curl and finsy.

    client 192.0.2.7 -- 1 [load balancer] 2 -- rack (a bridge) -- b1 b2 (NAT), b3 (MAC), b4 (IPIP), b5 (GUE)
"""

import itertools
import json
import pathlib
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from bed import check, has_finsy, main, start_again, stop, wait_until

VIP = "198.51.100.10"
MODES = {1: "nat", 2: "nat", 3: "mac", 4: "ipip", 5: "gue"}
CONNECTIONS = 100_000

WAYS = """
tunnel_source = "10.1.0.1"
own = [
    {{ port = 1, address = "{vip}", mac = "02:00:00:00:00:01" }},
    {{ port = 1, address = "192.0.2.1", mac = "02:00:00:00:00:01" }},
    {{ port = 2, address = "10.1.0.1", mac = "02:00:00:00:01:01" }},
]
route = [{{ prefix = "192.0.2.0/24", next_hop = 1 }}]

[[next_hop]]
number = 1
port = 1
mac = "02:00:00:00:00:01"
peer_mac = "02:00:00:00:00:07"
"""
BACKEND = """
[[next_hop]]
number = 1{number}
port = 2
mac = "02:00:00:00:01:01"
peer_mac = "02:00:00:00:01:1{number}"
mtu = 1600

[[backend]]
number = {number}
mode = "{mode}"
address = "10.1.0.1{number}"
port = 8080
next_hop = 1{number}
weight = {weight}
{check}
"""
SERVICE = """
[[service]]
address = "{vip}"
protocol = "tcp"
port = {port}
backends = {backends}
"""
# Ports of the client.
UNUSED_PORTS = itertools.count(20_000)


def settings(backends, weights=None, checked=True):
    """A file for control.py: services at ports 80 and 7 with these back ends."""
    text = WAYS.format(vip=VIP)
    for number in backends:
        mode = MODES[number]
        port = 8080 if mode == "nat" else 80
        probe = f'check = {{ address = "10.1.0.1{number}", port = {port}, path = "/" }}' if checked else ""
        text += BACKEND.format(number=number, mode=mode, weight=(weights or {}).get(number, 1), check=probe)
    return text + SERVICE.format(vip=VIP, port=80, backends=list(backends))


def start_backend(bed, rack, number):
    mode, name = MODES[number], f"b{number}"
    host = bed.host(name, "eth0", rack, name, f"10.1.0.1{number}/24", mac=f"02:00:00:00:01:1{number}", mtu=1600)
    rack.run("ip", "link", "set", name, "master", "rack")
    if mode == "nat":
        host.run("ip", "route", "add", "192.0.2.0/24", "via", "10.1.0.1")
    else:
        # Direct return: the address of the service is here, and the way to the client is another one.
        host.run("ip", "address", "add", f"{VIP}/32", "dev", "lo")
        host.run("sysctl", "-qw", "net.ipv4.conf.all.arp_ignore=1")
        host.run("ip", "address", "add", f"10.2.0.1{number}/24", "dev", "eth0")
        host.run("ip", "route", "add", "192.0.2.0/24", "via", "10.2.0.7")
    if mode in ("ipip", "gue"):
        end = host.start(
            sys.executable, HERE / "tunnel_end.py", "--bind", f"10.1.0.1{number}", *(["--gue"] if mode == "gue" else [])
        )
        wait_until(lambda: "ready" in end.output.read_text(), "the end of the tunnel")
        host.run("ip", "link", "set", "tunnel", "up")
        host.run("sysctl", "-qw", "net.ipv4.conf.tunnel.rp_filter=0")
    return host


def serve(bed, host, number):
    folder = bed.folder / host.name
    folder.mkdir(exist_ok=True)
    (folder / "index.html").write_text(host.name + "\n")
    port = 8080 if MODES[number] == "nat" else 80
    server = host.start(sys.executable, "-m", "http.server", "--directory", folder, port)
    wait_until(lambda: host.succeeds("sh", "-c", f"ss -ltn | grep -q :{port}"), f"the server of {host.name}")
    return server


def make(bed):
    balancer = bed.namespace("lb")
    rack = bed.namespace("rack")
    rack.run("ip", "link", "add", "rack", "mtu", "1600", "type", "bridge")
    rack.run("ip", "link", "set", "rack", "up")
    client = bed.host("client", "eth0", balancer, "clients", "192.0.2.7/24", mac="02:00:00:00:00:07")
    client.run("ip", "route", "add", "198.51.100.0/24", "via", "192.0.2.1")
    for namespace, name, port in (
        (balancer, "servers", "lb"),
        (balancer, "checks", "checks"),
        (client, "direct", "client"),
    ):
        bed.link(namespace, name, rack, port, 1600)
        rack.run("ip", "link", "set", port, "master", "rack")
    # The health checks of the controller use a link of their own.
    balancer.run("ip", "address", "add", "10.1.0.2/24", "dev", "checks")
    client.run("ip", "address", "add", "10.2.0.7/24", "dev", "direct")
    for host in (client,):
        host.run("sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0")
    backends = {number: start_backend(bed, rack, number) for number in MODES}
    servers = {number: serve(bed, host, number) for number, host in backends.items()}
    return balancer, client, backends, servers


def answers(client, count):
    """The back ends that answer `count` requests. No port is used twice: within 10 s that would be the same connection,
    at the same back end."""
    requests = (f"curl -sS -m 5 --local-port {port} http://{VIP}/ || echo failed" for port in itertools.islice(UNUSED_PORTS, count))
    return client.run("sh", "-c", "\n".join(requests)).split()


def control(bed, balancer, file, text, *options):
    file.write_text(text)
    controller = balancer.start(sys.executable, HERE / "control.py", file, *options)
    wait_until(
        lambda: "new entries" in controller.output.read_text() or controller.poll() is not None,
        "control.py writes entries",
        90,
    )
    check(controller.poll() is None, "control.py has written services, back ends and Maglev table")
    return controller


def written_after(text, controller):
    """Whether entries have been written since control.py has said `text`."""
    return "new entries" in controller.output.read_text().partition(text)[2]


def reload(controller, file, text):
    seen = controller.output.read_text().count("new entries")
    file.write_text(text)
    controller.send_signal(signal.SIGHUP)
    wait_until(
        lambda: controller.output.read_text().count("new entries") > seen, "control.py has read its file again", 60
    )


def test(bed):
    if not has_finsy():
        return
    balancer, client, backends, servers = make(bed)
    demonstration = bed.switch(balancer, HERE / "load_balancer.p4", {1: "clients", 2: "servers"}, HERE / "entries.stf")
    client.run("ping", "-c", "1", VIP)
    check(set(answers(client, 20)) == {"b1", "b2"}, "the entries of the demonstration: a service, and two back ends")
    stop(demonstration)
    bed.switch(balancer, None, {1: "clients", 2: "servers"}, None, "--grpc")
    file = bed.folder / "lb.toml"
    controller = control(bed, balancer, file, settings(MODES), "--check", "0.3")
    captures = {number: host.capture("eth0") for number, host in backends.items()}

    client.run("ping", "-c", "2", VIP)
    check(True, "ARP and pings are answered for the address of the service")
    names = answers(client, 60)
    check(
        set(names) == {f"b{number}" for number in MODES},
        f"60 requests, answered by all five back ends: {sorted(set(names))}",
    )

    servers[1].terminate()
    wait_until(lambda: written_after("back end 1 is dead", controller), "the health check finds a dead back end")
    names = answers(client, 40)
    check(set(names) == {"b2", "b3", "b4", "b5"}, "a dead back end gets no connections, no request fails")
    servers[1] = serve(bed, backends[1], 1)
    wait_until(lambda: written_after("back end 1 is alive", controller), "the health check finds it alive again")
    check("b1" in answers(client, 60), "it gets connections again")

    reload(controller, file, settings(MODES, {3: 0, 4: 0}))
    check(set(answers(client, 40)) == {"b1", "b2", "b5"}, "drained back ends get no new connections")
    reload(controller, file, settings(MODES, {1: 0, 2: 0, 3: 0}))
    downloads(bed, balancer, client, controller, file)
    for capture in captures.values():
        capture.stop()
    for number, capture in captures.items():
        capture.check_well_formed(f"b{number}", only=f"eth.dst == 02:00:00:00:01:1{number}")
    check(captures[4].count("ip.proto == 4 and tcp.port == 80") > 10, "IPIP at b4")
    check(captures[5].count("udp.port == 6080") > 10, "GUE at b5")
    check(not backends[1].checksum_errors(), "no wrong checksum at the back ends")
    many(bed)


def downloads(bed, balancer, client, controller, file):
    """A download goes on while its back end is drained. curl takes up to 10 MB before it looks at its limit."""
    size = 36_000_000
    for number in (4, 5):
        (bed.folder / f"b{number}" / "large").write_bytes(bytes(size))
    download = client.start(
        "curl", "-sS", "-m", "60", "--limit-rate", "6M", "-o", bed.folder / "large", f"http://{VIP}/large"
    )
    time.sleep(0.7)
    check(download.poll() is None, "a download is under way")
    controller = start_again(balancer, controller, client, VIP)
    reload(controller, file, settings(MODES, {3: 0, 4: 0, 5: 0}))
    check(
        download.wait(timeout=60) == 0 and (bed.folder / "large").stat().st_size == size,
        "it ends well though its back end is drained meanwhile",
    )


def many(bed):
    """100,000 connections, while back ends are drained, added and come back."""
    balancer, tester = bed.namespace("lb2"), bed.namespace("tester")
    for name in ("clients", "servers"):
        bed.link(tester, name, balancer, name, 1600)
    bed.switch(balancer, None, {1: "clients", 2: "servers"}, None, "--grpc", kind="xdp:")
    file = bed.folder / "lb2.toml"
    nat_free = {number: "ipip" for number in MODES}
    MODES.update(nat_free)
    controller = control(bed, balancer, file, settings([1, 2, 3, 4], checked=False), "--check", "1000")

    def round_of(*options):
        out = bed.folder / "arrived.json"
        tester.run(
            sys.executable,
            HERE / "many_connections.py",
            "clients",
            "servers",
            "--count",
            CONNECTIONS,
            "--out",
            out,
            *options,
            timeout=120,
        )
        return json.loads(out.read_text())

    first = round_of("--syn")
    unopened = first.count(None)
    check(unopened == 0, f"{CONNECTIONS:,} connections are opened ({unopened} are not)")
    check(len(set(first)) == 4, "over four back ends")
    time.sleep(1)
    changes = [
        ("one is drained and one is added", settings([1, 2, 3, 4, 5], {1: 0}, checked=False)),
        ("another gets three times the weight", settings([1, 2, 3, 4, 5], {1: 0, 2: 3}, checked=False)),
        ("all but one are drained", settings([1, 2, 3, 4, 5], {1: 0, 2: 0, 3: 0, 4: 0}, checked=False)),
    ]
    for what, text in changes:
        reload(controller, file, text)
        after = round_of()
        moved = sum(one != other for one, other in zip(first, after, strict=True))
        check(moved == 0, f"{what}: {moved} of {CONNECTIONS:,} connections moved or lost a packet")
    reload(controller, file, settings([2, 3, 4, 5], checked=False))
    after = round_of()
    lost = sum(one is None for one in after)
    moved = {one for one, other in zip(first, after, strict=True) if one != other}
    gone = first.count(min(moved)) if moved else 0
    check(lost == 0 and len(moved) == 1, f"one is taken out of the file: its {gone:,} connections move, none loses a packet")


if __name__ == "__main__":
    sys.exit(main(test, "tshark", "dumpcap", "curl", "ping", "ss"))
