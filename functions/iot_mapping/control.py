#!/usr/bin/env python3
"""Sets iot_mapping.p4 up, and prints the outcomes of packets.

    control.py --wire 1,2 --target PORT,MAC,ADDRESS --source MAC,ADDRESS [--report SECONDS] [-D MACRO] [--grpc ADDRESS]

Needs finsy from PyPI, and forebay in the PATH (or $FOREBAY).
"""

import argparse
import asyncio
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import control
import finsy as fy
import forms

MAP_SESSION, LOOP_PORT = 9, 500
KINDS = {"mqtt": 1, "coap": 2, "http": 3}
# Indices of the counter outcomes.
OUTCOMES = (
    "mapped no_payload too_long segmented continuation retransmission gap unknown_flow unknown_version properties no_length malformed "
    "pipelined opened copied encrypted passes_exceeded no_target forwarded not_forwarded"
).split()  # fmt: skip


def entry(table, match, action, **parameters):
    return fy.P4TableEntry(table, match=fy.Match(match), action=fy.Action(action, **parameters))


def port(text):
    forms.switch_port(int(text) if text.isdigit() else text)
    return int(text)


def mac(text):
    forms.mac(text)
    return text


def address(text):
    forms.address_ipv4(text)
    return text


def parts(*kinds):
    """An option of several parts with commas between them."""

    def parse(text):
        values = text.split(",")
        if len(values) != len(kinds):
            raise argparse.ArgumentTypeError(f"`{text}`: {len(kinds)} parts with commas between them are right")
        try:
            return [kind(value) for kind, value in zip(kinds, values, strict=True)]
        except forms.Wrong as wrong:
            raise argparse.ArgumentTypeError(f"`{text}`: {wrong}") from None

    return parse


def entries(arguments):
    one, other = arguments.wire
    for ingress, egress in ((one, other), (other, one)):
        yield entry("wire", {"standard_metadata.ingress_port": ingress}, "to_port", port=egress)
    port, mac, address = arguments.target
    source_mac, source = arguments.source
    for kind in KINDS.values():
        addresses = {
            "source": source,
            "address": address,
            "mac": control.mac(mac),
            "source_mac": control.mac(source_mac),
        }
        yield entry("targets", {"meta.kind": kind}, "set_target", port=int(port), udp_source_port=7000, **addresses)
    yield fy.P4CloneSessionEntry(session_id=MAP_SESSION, replicas=[LOOP_PORT])


async def read_outcomes(switch):
    counts = {}
    async for one in switch.read([fy.P4CounterEntry("outcomes")]):
        counts[OUTCOMES[one.index]] = one.packet_count
    return {name: count for name, count in counts.items() if count}


async def main():
    parser = control.options(__doc__.splitlines()[0])
    parser.add_argument("--wire", required=True, type=parts(port, port), metavar="PORT,PORT", help="the ports of devices and servers")
    parser.add_argument("--target", required=True, type=parts(port, mac, address), metavar="PORT,MAC,ADDRESS", help="where messages go")
    parser.add_argument("--source", required=True, type=parts(mac, address), metavar="MAC,ADDRESS", help="what they come from")
    parser.add_argument("--report", type=control.seconds(0.1), default=10, metavar="SECONDS", help="between reports (10)")
    parser.add_argument(
        "-D",
        dest="defines",
        action="append",
        default=[],
        metavar="MACRO",
        help="macro for the program, for example S=46",
    )
    arguments = parser.parse_args()
    async with control.controlled(HERE / "iot_mapping.p4", arguments.grpc, *arguments.defines) as switch:
        written = control.Entries(switch)
        await written.take_over()
        print(f"ready: {await written.apply(entries(arguments))}", flush=True)
        while True:
            await asyncio.sleep(arguments.report)
            print(json.dumps(await read_outcomes(switch)), flush=True)


if __name__ == "__main__":
    control.run(main)
