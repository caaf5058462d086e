#!/usr/bin/env python3
"""Packets per second through upf.p4, with `forebay bench` on one core.

    measure.py [--sessions N...] [--direction uplink|downlink...] [--filters] [--against BINARY] [--json]

Each session is one as `forebay upf` writes it: a tunnel each way with a PDU session container, QERs of flow and session
with rates that are not reached, a URR. With --filters an SDF filter of a PDR is looked at, too. Writes entries and a
capture with a frame of each session to target/upf. The benchmark sends the frames again and again; it checks nothing:
the tests do.
"""

import pathlib
import random
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import measure as bench
from captures import write_capture

OUT = bench.ROOT / "target/upf"
ON_N3 = bytes.fromhex("020000000301020000000302")
ON_N6 = bytes.fromhex("020000000601020000000602")
UPF, GNB, SERVER = 0xC0A80301, 0xC0A80302, 0xCB007109
QFI = 9


def ue(number):
    return 0x0A2E0000 + number


def ipv4(source, destination, payload):
    addresses = struct.pack("!II", source, destination)
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0x4000, 64, 17, 0)
    return head[:10] + struct.pack("!H", bench.checksum(head + addresses)) + addresses + payload


def udp(source, destination, payload):
    return struct.pack("!HHHH", source, destination, 8 + len(payload), 0) + payload


def uplink(number):
    """A G-PDU with a small packet of the UE."""
    inner = ipv4(ue(number), SERVER, udp(4000, 53, bytes(10)))
    gtpu = struct.pack("!BBHIHBBBBBB", 0x34, 255, len(inner) + 8, 0x10000 + number, 0, 0, 0x85, 1, 0x10, QFI, 0) + inner
    return ON_N3 + b"\x08\x00" + ipv4(GNB, UPF, udp(2152, 2152, gtpu))


def downlink(number):
    return ON_N6 + b"\x08\x00" + ipv4(SERVER, ue(number), udp(53, 4000, bytes(22)))


def session_entries(number, rules):
    index = number + 1
    far, flow, session = 2 * index, 2 * index - 1, 2 * index
    common = f"flow_qer:{flow}, session_qer:{session}, flow_urr:{index}, session_urr:0, third_urr:0, fourth_urr:0, before_qos:0, closed:0"
    yield f"add fars meta.far:{far - 1} to_core()"
    yield (
        f"add fars meta.far:{far} to_tunnel_ipv4(src_addr:{UPF}, dst_addr:{GNB}, tunnel:{0x20000 + number}, src_port:2152, marking:0)"
    )
    yield f"add qers meta.flow_qer:{flow} set_qer(uplink_closed:0, downlink_closed:0, qfi:{QFI}, reflective:0)"
    for direction, out in (("uplink", far - 1), ("downlink", far)):
        yield f"add terminations_{direction} meta.session:{index} meta.application:0 forward(far:{out}, {common})"
        for qer in (flow, session):
            yield f"meter_set_rates {direction}_rates {qer} 12500:1250000000 12500:1250000000"
    yield (
        f"add sessions_uplink hdr.gtpu.teid:{0x10000 + number} uplink_session(session:{index}, rules:{rules}, ue_ipv4:{ue(number)}, ue_prefix:0, to_ue:0)"
    )
    yield f"add sessions_downlink_ipv4 hdr.ipv4.dst_addr:{ue(number)} downlink_session(session:{index}, rules:{rules})"


def write_entries(path, sessions, rules):
    common = ("own_ipv4", "arp_ipv4", "routes", "next_hops")
    lines = [line for line in (HERE / "entries.stf").read_text().splitlines() if line.startswith(tuple(f"add {one}" for one in common))]
    if rules:
        lines.append(f"add applications_ipv4 1 meta.rules:{rules} meta.protocol:17 meta.remote_port:9999->9999 set_application(application:3)")
    for number in range(sessions):
        lines += session_entries(number, rules)
    path.write_text("\n".join(lines) + "\n")


def rows(arguments):
    OUT.mkdir(parents=True, exist_ok=True)
    frames = {"uplink": (uplink, "1,2"), "downlink": (downlink, "2,1")}
    for sessions in arguments.sessions:
        write_entries(OUT / "entries.stf", sessions, 1 if arguments.filters else 0)
        for direction in arguments.direction:
            frame, ports = frames[direction]
            order = list(range(sessions))
            random.Random(1).shuffle(order)
            capture = OUT / f"{direction}-{sessions}.pcap"
            write_capture(capture, map(frame, order))
            name = f"upf, {direction}, {sessions:,} sessions"
            yield bench.Row(name, HERE / "upf.p4", OUT / "entries.stf", capture, sessions, (), ports)


# Arguments with few flows, enough to find the share of specialised code.
FEW = ["--sessions", "1000"]


def add_options(parser):
    parser.add_argument("--sessions", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--direction", choices=["uplink", "downlink"], nargs="+", default=["uplink", "downlink"])
    parser.add_argument("--filters", action="store_true", help="a PDR with an SDF filter besides those for everything")


if __name__ == "__main__":
    bench.main(__doc__, add_options, rows)
