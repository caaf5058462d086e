#!/usr/bin/env python3
"""Packets per second through load_balancer.p4, with `forebay bench` on one core.

    measure.py [--connections N...] [--way ipip|gue|mac|nat...] [--against BINARY] [--json]

A service of TCP with 16 back ends; a frame of 64 bytes of each connection, from clients to back ends. Writes entries
and captures to target/load_balancer. The benchmark sends the frames again and again; it checks nothing: the tests do.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import measure as bench
from captures import write_capture

OUT = bench.ROOT / "target/load_balancer"
MACS = bytes.fromhex("020000000001020000000002")
SERVICE, PORT = 0xC633640A, 443
BACKENDS, SLOTS = 16, 4093
# Connections of a client.
EACH = 1000
WAYS = {
    "ipip": "ipip_ipv4(next_hop:2, src_addr:0x0a010001, dst_addr:{address:#x})",
    "gue": "gue_ipv4(next_hop:2, src_addr:0x0a010001, dst_addr:{address:#x})",
    "mac": "by_mac(next_hop:2)",
    "nat": "nat(next_hop:2, dst_addr:{mapped:#x}, port:8080)",
}


def frame(number):
    return bench.frame(MACS, 6, 0xC0000000 + number // EACH, SERVICE, (20000 + number % EACH, PORT))


def write_entries(path, way):
    lines = [
        "add next_hops meta.next_hop:1 to_port(port:1, src_mac:0x020000000001, dst_mac:0x020000000002, mtu:1500)",
        "add next_hops meta.next_hop:2 to_port(port:2, src_mac:0x020000000001, dst_mac:0x020000000003, mtu:1600)",
        "add routes_ipv4 hdr.ipv4.dst_addr:0/0 to_next_hop(next_hop:1)",
        f"add own_ipv4 hdr.ipv4.dst_addr:{SERVICE:#x} NoAction()",
        f"add services_ipv4 hdr.ipv4.dst_addr:{SERVICE:#x} meta.protocol:6 meta.service_port:{PORT} set_service(service:1, idle_seconds:300)",
    ]
    lines += [f"add maglev meta.service:1 slot:{slot} set_backend(backend:{1 + slot * 7919 % BACKENDS})" for slot in range(SLOTS)]
    for backend in range(1, BACKENDS + 1):
        address = 0x0A010100 + backend
        action = WAYS[way].format(address=address, mapped=0xFFFF << 32 | address)
        lines += [f"add backends meta.backend:{backend} {action}", f"register_write alive {backend} 1"]
    path.write_text("\n".join(lines) + "\n")


def rows(arguments):
    OUT.mkdir(parents=True, exist_ok=True)
    for way in arguments.way:
        entries = OUT / f"{way}.stf"
        write_entries(entries, way)
        for connections in arguments.connections:
            capture = OUT / f"tcp-{connections}.pcap"
            write_capture(capture, map(frame, range(connections)))
            place = (HERE / "load_balancer.p4", entries, capture, connections)
            name = f"load_balancer, {way}, {connections:,} connections"
            yield bench.Row(name, *place)
            if connections >= 100_000:
                yield bench.Row(f"{name}, new ones", *place, is_of_new_flows=True)


# Arguments with few flows, enough to find the share of specialised code.
FEW = ["--connections", "1000"]


def add_options(parser):
    parser.add_argument("--connections", type=int, nargs="+", default=[1000, 100_000])
    parser.add_argument("--way", choices=WAYS, nargs="+", default=["ipip", "nat"])


if __name__ == "__main__":
    bench.main(__doc__, add_options, rows)
