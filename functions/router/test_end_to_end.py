#!/usr/bin/env python3
"""The router with the kernel behind its TAP ports: ARP, ND and ICMP of the kernel, static routes and OSPF by FRR. Needs
root, tshark, iperf3, and finsy; without FRR the part with OSPF is left out.

    client 10.1.0.5 -- 1 [router] 2 -- left 10.12.0.2  --.
                                  3 -- right 10.13.0.2 --'-- server 10.9.0.1
"""

import pathlib
import signal
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from bed import FOREBAY, check, has_finsy, main, skip, start_again, statistics, wait_until

FRR = pathlib.Path("/usr/lib/frr")
SETTINGS = "".join(
    f'[[interface]]\nname = "{name}"\nport = {port}\nhost_port = {100 + port}\nmac = "02:00:00:00:0{port}:01"\n'
    f'mtu = {mtu}\naddresses = ["{address}/24", "{address_v6}/64"]\n'
    for name, port, mtu, address, address_v6 in (
        ("lan1", 1, 1500, "10.1.0.1", "2001:db8:1::1"),
        ("lan2", 2, 1400, "10.12.0.1", "2001:db8:12::1"),
        ("lan3", 3, 1400, "10.13.0.1", "2001:db8:13::1"),
    )
)


def make(bed):
    router = bed.namespace("router")
    client = bed.host("client", "eth0", router, "wire1", "10.1.0.5/24", "2001:db8:1::5/64")
    for version, gateway in (("-4", "10.1.0.1"), ("-6", "2001:db8:1::1")):
        client.run("ip", version, "route", "add", "default", "via", gateway)
    server = bed.namespace("server")
    sides = {}
    for port, name in ((2, "left"), (3, "right")):
        net = 10 + port
        side = sides[name] = bed.host(name, "eth0", router, f"wire{port}", f"10.{net}.0.2/24", f"2001:db8:{net}::2/64")
        bed.link(side, "inner", server, name)
        side.run("ip", "address", "add", f"10.9.{port}.1/24", "dev", "inner")
        side.run("ip", "address", "add", f"2001:db8:9:{port}::1/64", "dev", "inner", "nodad")
        server.run("ip", "address", "add", f"10.9.{port}.2/24", "dev", name)
        server.run("ip", "address", "add", f"2001:db8:9:{port}::2/64", "dev", name, "nodad")
        # A kernel solicits neighbours from a link-local address when a packet does not come from the interface's own.
        server.run("ip", "address", "add", f"fe80::{10 + port}/64", "dev", name, "nodad")
        side.run("ip", "address", "add", f"fe80::{port}/64", "dev", "inner", "nodad")
        side.run("ip", "address", "add", f"fe80::{port}/64", "dev", "eth0", "nodad")
        side.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        side.run("ip", "route", "add", "10.9.0.1/32", "via", f"10.9.{port}.2")
        side.run("ip", "route", "add", "2001:db8:9::1/128", "via", f"2001:db8:9:{port}::2")
        side.run("ip", "route", "add", "10.1.0.0/24", "via", f"10.{net}.0.1")
        side.run("ip", "route", "add", "2001:db8:1::/64", "via", f"2001:db8:{net}::1")
    server.run("ip", "address", "add", "10.9.0.1/32", "dev", "lo")
    server.run("ip", "address", "add", "2001:db8:9::1/128", "dev", "lo", "nodad")
    server.run("ip", "route", "add", "10.1.0.0/24", "via", "10.9.2.1", "src", "10.9.0.1")
    server.run("ip", "route", "add", "2001:db8:1::/64", "via", "2001:db8:9:2::1", "src", "2001:db8:9::1")
    for namespace in (router, server, client, *sides.values()):
        namespace.run("sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0")
    return router, client, server, sides


def start_router(bed, router):
    ports = {port: f"wire{port}" for port in (1, 2, 3)}
    taps = [word for port in (1, 2, 3) for word in ("-i", f"{100 + port}@tap:lan{port}")]
    switch = bed.switch(router, None, ports, None, "--grpc", *taps)
    file = bed.folder / "router.toml"
    file.write_text(SETTINGS)
    controller = router.start(sys.executable, HERE / "control.py", file)
    wait_until(
        lambda: "routes" in controller.output.read_text() or controller.poll() is not None,
        "control.py writes its entries",
        60,
    )
    check(controller.poll() is None, "control.py has made the switch a router")
    return switch, controller


def forwarded(switch, port):
    """Packets that a port has sent."""
    return next(one["sent_packets"] for one in statistics(switch)["ports"] if one["port"] == port)


def test(bed):
    if not has_finsy():
        return
    router, client, server, sides = make(bed)
    switch, controller = start_router(bed, router)
    capture = client.capture("eth0")

    for address in ("10.1.0.1", "2001:db8:1::1", "10.12.0.1"):
        client.run("ping", "-c", "2", "-i", "0.2", "-W", "2", address)
        check(True, f"the router answers at {address}")
    for address in ("10.12.0.2", "2001:db8:12::2", "10.13.0.2"):
        client.run("ping", "-c", "3", "-i", "0.3", "-W", "2", address)
        check(True, f"the neighbour {address} is found and reached")
    wait_until(lambda: "10.12.0.2" in router.run("ip", "neigh"), "the kernel has the neighbour")
    errors(client, router)
    controller = ecmp(client, router, server, sides, controller)
    if (FRR / "ospfd").exists():
        ospf(bed, router, client, sides)
    else:
        skip("FRR is not installed")
    reload(bed, router, client, controller)
    capture.stop()
    capture.check_well_formed("at the client", only="eth.dst != 02:00:00:00:01:01")
    check(controller.poll() is None, "the controller is still there")


def routes_of(router, prefix):
    """The actions of the routes to a prefix."""
    lines = router.run(FOREBAY, "ctl", "table", "dump", "routes_ipv4").splitlines()
    return [line.split()[1] for line in lines if line.split()[:1] == [prefix]]


def errors(client, router):
    out = client.run("ping", "-c", "1", "-W", "2", "-t", "1", "10.12.0.2", check=False)
    check("Time to live exceeded" in out and "10.1.0.1" in out, "time exceeded from the router")
    out = client.run("ping", "-c", "1", "-W", "2", "172.31.0.1", check=False)
    check("Net Unreachable" in out, "net unreachable from the router")
    out = client.run("ping", "-c", "1", "-W", "5", "10.12.0.77", check=False, timeout=20)
    check("Host Unreachable" in out, "host unreachable for a neighbour that is not there")
    out = client.run("ping", "-c", "1", "-W", "2", "-M", "do", "-s", "1450", "10.12.0.2", check=False)
    check("mtu = 1400" in out or "mtu=1400" in out, "fragmentation needed, with the MTU of 1400")
    client.run("ping", "-c", "1", "-W", "2", "-M", "dont", "-s", "1450", "10.12.0.2")
    check(True, "without DF the kernel fragments")
    out = client.run("ping", "-c", "1", "-W", "2", "-s", "1450", "-M", "do", "2001:db8:12::2", check=False)
    check("1400" in out, "packet too big over IPv6")
    router.run("ip", "route", "add", "blackhole", "10.12.0.2")
    wait_until(lambda: not client.succeeds("ping", "-c", "1", "-W", "1", "10.12.0.2"), "a route to a neighbour goes before it")
    router.run("ip", "route", "del", "blackhole", "10.12.0.2")
    wait_until(lambda: client.succeeds("ping", "-c", "1", "-W", "1", "10.12.0.2"), "the neighbour is reached again")
    check(True, "the route with the longest prefix counts, also for a neighbour")
    for network, words in (("10.77.0.0/16", ("encap", "ip", "id", "1", "dst", "192.0.2.9")), ("10.78.0.0/16", ("tos", "4"))):
        router.run("ip", "route", "add", network, *words, "via", "10.12.0.2", "dev", "lan2")
    wait_until(lambda: routes_of(router, "10.78.0.0/16"), "the routes are in the switch")
    found = [routes_of(router, route) for route in ("10.77.0.0/16", "10.78.0.0/16", "192.0.2.9/32")]
    check(found == [["to_host"], ["to_host"], []], f"tunnels and types of service are left to the kernel: {found}")
    hops = client.run(sys.executable, HERE.parent / "lib/trace.py", "10.12.0.2").split()
    check(hops == ["10.1.0.1", "10.12.0.2"], f"probes with a growing TTL show the router and the destination: {hops}")


def ecmp(client, router, server, sides, controller):
    both = ["nexthop", "via", "10.12.0.2", "nexthop", "via", "10.13.0.2"]
    # Of the two ways one is known, by IPv4 and by IPv6.
    router.run("ip", "neigh", "flush", "dev", "lan3")
    router.run("ip", "route", "add", "10.9.0.0/16", *both)
    router.run(
        "ip",
        "-6",
        "route",
        "add",
        "2001:db8:9::/48",
        "nexthop",
        "via",
        "2001:db8:12::2",
        "nexthop",
        "via",
        "2001:db8:13::2",
    )
    client.run("ping", "-c", "4", "-i", "0.3", "-W", "2", "10.9.0.1")
    client.run("ping", "-c", "4", "-i", "0.3", "-W", "2", "2001:db8:9::1")
    check(True, "the server is reached over ECMP, IPv4 and IPv6")
    for gateway in ("10.13.0.2", "2001:db8:13::2"):
        wait_until(lambda: "lladdr" in router.run("ip", "neigh", "show", gateway), f"the way by {gateway} is found, too", 5)  # noqa: B023
    # The kernel may have found another neighbour meanwhile.
    controller = start_again(router, controller, client, "10.9.0.1", ready="0 changed, 0 removed")
    link_down(client, router, sides, controller)
    server.start("iperf3", "-s")
    wait_until(lambda: server.succeeds("sh", "-c", "ss -ltn | grep -q :5201"), "iperf3 listens")
    before = [interface_bytes(sides[name], "eth0") for name in ("left", "right")]
    client.run("iperf3", "-c", "10.9.0.1", "-P", "16", "-n", "4M")
    after = [interface_bytes(sides[name], "eth0") for name in ("left", "right")]
    took = [late - early for late, early in zip(after, before, strict=True)]
    check(min(took) > 300_000, f"16 TCP connections use both ways ({took[0]:,} and {took[1]:,} bytes)")
    client.run("iperf3", "-c", "2001:db8:9::1", "-n", "2M")
    check(True, "TCP over IPv6")
    router.run("ip", "route", "replace", "10.9.0.0/16", "via", "10.12.0.2")
    client.run("iperf3", "-c", "10.9.0.1", "-P", "4", "-n", "1M")
    check(True, "one way goes: TCP uses the other")
    router.run("ip", "route", "del", "10.9.0.0/16")
    wait_until(
        lambda: not client.succeeds("ping", "-c", "1", "-W", "1", "10.9.0.1"), "a route that is gone is not used"
    )
    return controller


def link_down(client, router, sides, controller):
    """The link of one of two ways goes down and comes back."""
    group = lambda: [one for one in routes_of(router, "10.9.0.0/16") if one == "to_group"]  # noqa: E731
    wait_until(group, "both ways are used")
    sides["right"].run("ip", "link", "set", "eth0", "down")
    wait_until(lambda: "lan3 is down" in controller.output.read_text() and not group(), "the way that is down is not used")
    pings = client.run("ping", "-c", "10", "-i", "0.05", "-W", "1", "10.9.0.1", check=False)
    check(" 10 received" in pings, "a link is down: all packets take the other way")
    check("NO-CARRIER" in router.run("ip", "link", "show", "lan3"), "its TAP device has no carrier")
    sides["right"].run("ip", "link", "set", "eth0", "up")
    # The kernel takes these away with the link.
    for address in ("fe80::3/64", "2001:db8:13::2/64"):
        sides["right"].run("ip", "address", "replace", address, "dev", "eth0", "nodad")
    for version, network, gateway in (("-4", "10.1.0.0/24", "10.13.0.1"), ("-6", "2001:db8:1::/64", "2001:db8:13::1")):
        sides["right"].run("ip", version, "route", "replace", network, "via", gateway)
    wait_until(group, "both ways are used again", 40)
    check(True, "the link is back: both ways are used again")


def reload(bed, router, client, controller):
    """The file is read again: an address comes and goes. A wrong file changes nothing."""
    file = bed.folder / "router.toml"

    def read_again(text, what):
        since = len(controller.output.read_text())
        file.write_text(text)
        controller.send_signal(signal.SIGHUP)
        wait_until(lambda: what in controller.output.read_text()[since:] or controller.poll() is not None, what)
        check(controller.poll() is None, f"SIGHUP: {controller.output.read_text()[since:].strip()}")

    read_again(SETTINGS.replace('"10.1.0.1/24", ', '"10.1.0.1/24", "10.1.0.99/24", '), "routes:")
    wait_until(lambda: client.succeeds("ping", "-c", "1", "-W", "1", "10.1.0.99"), "an address that the file has now is answered for")
    read_again(SETTINGS.replace('name = "lan2"', 'name = "lan9"'), "nothing is changed")
    check(client.succeeds("ping", "-c", "1", "-W", "1", "10.1.0.99"), "a file with an interface that is not there changes nothing")
    read_again(f"ecmp_slots = 8\n{SETTINGS}", "start control.py again to change it")
    read_again(SETTINGS, "routes:")
    wait_until(lambda: "10.1.0.99" not in router.run("ip", "address"), "an address that the file has not any more is gone")
    router.run("ip", "rule", "add", "from", "10.1.0.5", "lookup", "100")
    wait_until(lambda: "policy rule `priority" in controller.output.read_text(), "a policy rule is reported")
    router.run("ip", "rule", "del", "from", "10.1.0.5", "lookup", "100")
    check(True, "control.py reports policy rules, which the switch does not follow")


def interface_bytes(namespace, interface):
    return int(namespace.run("cat", f"/sys/class/net/{interface}/statistics/rx_bytes"))


def start_frr(bed, namespace, networks, identity):
    folder = bed.folder / f"frr-{namespace.name}"
    folder.mkdir()
    folder.chmod(0o777)
    (folder / "zebra.conf").write_text("hostname test\n")
    lines = "".join(f" network {network} area 0\n" for network in networks)
    timers = "".join(
        f"interface {name}\n ip ospf hello-interval 1\n ip ospf dead-interval 4\n" for name in ("lan2", "eth0", "lan3")
    )
    (folder / "ospfd.conf").write_text(
        f"hostname test\n{timers}router ospf\n ospf router-id {identity}\n redistribute static\n{lines}"
    )
    for daemon in ("zebra", "ospfd"):
        namespace.start(
            FRR / daemon, "-f", folder / f"{daemon}.conf", "-i", folder / f"{daemon}.pid", "-z", folder / "zserv.api",
            "--vty_socket", folder, "-P", "0", name=f"{daemon}-{namespace.name}",
        )  # fmt: skip
        wait_until(lambda daemon=daemon: (folder / f"{daemon}.pid").exists(), f"{daemon} starts")


def ospf(bed, router, client, sides):
    left = sides["left"]
    left.run("ip", "link", "add", "loopback0", "type", "veth")
    left.run("ip", "address", "add", "10.50.0.1/24", "dev", "loopback0")
    left.run("ip", "link", "set", "loopback0", "up")
    left.run("ip", "link", "set", "veth0", "up", check=False)
    left.run("ip", "route", "del", "10.1.0.0/24")
    left.run("ip", "link", "set", "eth0", "mtu", "1400")
    start_frr(bed, router, ["10.1.0.0/24", "10.12.0.0/24"], "1.1.1.1")
    start_frr(bed, left, ["10.12.0.0/24", "10.50.0.0/24"], "2.2.2.2")
    wait_until(lambda: "10.50.0.0/24" in router.run("ip", "route"), "OSPF tells the router of 10.50.0.0/24", 60)
    check(True, "FRR's OSPF runs over the TAP port, and its route is in the kernel")
    wait_until(lambda: client.succeeds("ping", "-c", "1", "-W", "1", "10.50.0.1"), "the network is reached", 20)
    check(True, "the network that OSPF has told of is reached")


if __name__ == "__main__":
    sys.exit(main(test, "tshark", "dumpcap", "iperf3", "ping", "ss"))
