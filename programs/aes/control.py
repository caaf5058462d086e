#!/usr/bin/env python3
"""Controls aes: the key of packets to an address, and the port by which they leave.

    control.py KEY ADDRESS=PORT [--recirculation-port PORT]... [--grpc ADDRESS]

KEY is 16, 24 or 32 bytes in hexadecimal. Needs finsy from PyPI, and forebay in the PATH (or $FOREBAY).
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import ciphers
import control
import finsy as fy


def key(text):
    value = bytes.fromhex(text)
    if len(value) not in (16, 24, 32):
        raise ValueError
    return value


def route(text):
    address, port = text.split("=")
    return address, int(port)


def entry(table, match, action, words, **data):
    data |= {f"word{i}": int.from_bytes(word) for i, word in enumerate(map(bytes, words))}
    return fy.P4TableEntry(table, match=fy.Match(**match), action=fy.Action(action, **data))


def keys(schedule, address, port):
    """The entries of a key's schedule: the words before the first round, then those of two rounds for each pass."""
    yield entry("flows", {"dst_addr": address}, "encrypt", schedule[0], port=port)
    for done in range(0, len(schedule) - 1, 2):
        yield entry("odd_keys", {"round": done}, "set_odd", schedule[done + 1])
        yield entry("even_keys", {"round": done}, "set_even", schedule[done + 2])


async def main():
    parser = control.options(__doc__.splitlines()[0])
    parser.add_argument("key", type=key, metavar="KEY", help="in hexadecimal")
    parser.add_argument("route", type=route, metavar="ADDRESS=PORT", help="whose packets, and where they leave")
    control.add_recirculation_ports(parser)
    arguments = parser.parse_args()
    schedule = ciphers.key_schedule(arguments.key)
    address, port = arguments.route
    async with control.controlled("aes", arguments.grpc, f"ROUNDS={len(schedule) - 1}", *control.port_bits(arguments)) as switch:
        await switch.insert([*keys(schedule, address, port), *control.recirculation_ports(arguments)])
        print("ready", flush=True)


if __name__ == "__main__":
    control.run(main())
