#!/usr/bin/env python3
"""ICMP errors from behind the load balancer, with NAT: path MTU discovery, and connections that are refused. Needs root,
tshark and finsy.

    client 192.0.2.7 -- 1 [load balancer] 2 -- router 10.1.0.2 -- (MTU 1300) back end 10.3.0.11
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from bed import check, has_finsy, main, wait_until

SERVICES = {4: "198.51.100.10", 6: "2001:db8:100::10"}
BACKENDS = {4: "10.3.0.11", 6: "2001:db8:3::11"}
OWN = {1: ("192.0.2.1", "2001:db8:2::1", *SERVICES.values()), 2: ("10.1.0.1", "2001:db8:1::1")}
MTU = 1300
BYTES = 1_000_000

HOPS = """
[[next_hop]]
number = {port}
port = {port}
mac = "02:00:00:00:0{port}:01"
peer_mac = "02:00:00:00:0{port}:02"
"""
BACKEND = """
[[backend]]
number = {version}
mode = "nat"
address = "{address}"
port = 8080
next_hop = 2
"""
SERVICE = """
[[service]]
address = "{address}"
protocol = "{protocol}"
port = 80
backends = [{version}]
"""
# Says how many bytes came.
SINK = """
import socket
server = socket.create_server(("::", 8080), family=socket.AF_INET6, dualstack_ipv6=True)
while True:
    peer, _ = server.accept()
    count = 0
    while data := peer.recv(65536):
        count += len(data)
    peer.sendall(str(count).encode())
    peer.close()
"""
SEND = """
import socket, sys
peer = socket.create_connection((sys.argv[1], 80), timeout=15)
peer.sendall(bytes(int(sys.argv[2])))
peer.shutdown(socket.SHUT_WR)
print(peer.recv(100).decode())
"""
ASK = """
import socket, sys
s = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
s.connect((sys.argv[1], 80))
s.send(b"is anybody there?")
try:
    s.recv(100)
except ConnectionRefusedError:
    print("refused")
"""


def settings():
    own = [
        f'{{ port = {port}, address = "{address}", mac = "02:00:00:00:0{port}:01" }},'
        for port, addresses in OWN.items()
        for address in addresses
    ]
    text = "own = [\n" + "\n".join(own) + "\n]\n"
    text += 'route = [{ prefix = "192.0.2.0/24", next_hop = 1 }, { prefix = "2001:db8:2::/64", next_hop = 1 }]\n'
    text += "".join(HOPS.format(port=port) for port in OWN)
    for version, address in BACKENDS.items():
        text += BACKEND.format(version=version, address=address)
        for protocol in ("tcp", "udp"):
            text += SERVICE.format(version=version, address=SERVICES[version], protocol=protocol)
    return text


def make(bed):
    balancer = bed.namespace("lb")
    client = bed.host("client", "eth0", balancer, "clients", "192.0.2.7/24", "2001:db8:2::7/64", mac="02:00:00:00:01:02")
    router = bed.host("router", "eth0", balancer, "servers", "10.1.0.2/24", "2001:db8:1::2/64", mac="02:00:00:00:02:02")
    router.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
    backend = bed.host("backend", "eth0", router, "far", "10.3.0.11/24", "2001:db8:3::11/64")
    # What the router forwards needs link-local addresses for neighbour discovery.
    for port, address in (("far", "10.3.0.1/24"), ("far", "2001:db8:3::1/64"), ("far", "fe80::1/64"), ("eth0", "fe80::1/64")):
        router.run("ip", "address", "add", address, "dev", port, *(["nodad"] if ":" in address else []))
    # The back end does not know: it offers segments of 1,460 bytes.
    router.run("ip", "link", "set", "far", "mtu", MTU)
    for host, gateways in ((client, OWN[1][:2]), (router, OWN[2]), (backend, ("10.3.0.1", "2001:db8:3::1"))):
        for gateway in gateways:
            host.run("ip", "route", "add", "default", "via", gateway)
    bed.switch(balancer, None, {1: "clients", 2: "servers"}, None, "--grpc")
    file = bed.folder / "lb.toml"
    file.write_text(settings())
    controller = balancer.start(sys.executable, HERE / "control.py", file)
    wait_until(lambda: "new entries" in controller.output.read_text() or controller.poll() is not None, "control.py", 90)
    check(controller.poll() is None, "control.py has written services, back ends and routes")
    return client, router, backend


def test(bed):
    if not has_finsy():
        return
    client, router, backend = make(bed)
    seen = client.capture("eth0")
    for address in (*SERVICES.values(), *OWN[1][:2]):
        client.run("ping", "-c", "2", "-i", "0.2", address)
    for address in OWN[2]:
        router.run("ping", "-c", "2", "-i", "0.2", address)
    check(True, "pings to services and to the load balancer are answered, over IPv4 and IPv6")

    backend.start(sys.executable, "-c", SINK)
    wait_until(lambda: backend.succeeds("sh", "-c", "ss -ltn | grep -q :8080"), "the server")
    for version, address in SERVICES.items():
        came = client.run(sys.executable, "-c", SEND, address, BYTES).strip()
        check(came == str(BYTES), f"{came} bytes of TCP over IPv{version} go through a smaller MTU behind the load balancer")
        check(f"mtu {MTU}" in client.run("ip", "route", "get", address), "the client has learnt the MTU of the path to the service")
    for version, address in SERVICES.items():
        said = client.run(sys.executable, "-c", ASK, address).strip()
        check(said == "refused", f"a client learns that the back end refuses its datagram, over IPv{version}")

    seen.stop()
    wrong = "icmp.checksum.status == 0 or icmpv6.checksum.status == 0"
    seen.check_well_formed("the client's link", other=wrong, only="eth.src == 02:00:00:00:01:01")
    hidden = "ip.addr == 10.0.0.0/8 or ipv6.addr == 2001:db8:1::/64 or ipv6.addr == 2001:db8:3::/64"
    check(seen.count(hidden) == 0, "no address behind the load balancer is seen there, in ICMP errors neither")
    check(not backend.checksum_errors(), "no wrong checksum at the back end")


if __name__ == "__main__":
    sys.exit(main(test, "tshark", "dumpcap", "ping", "ss"))
