#!/usr/bin/env python3
"""Controls ascon: key, nonce and associated data of frames to an address, and the port by which they leave.

    control.py KEY NONCE MAC=PORT [--associated HEX] [--recirculation-port PORT]... [-D NAME=VALUE]... [--grpc ADDRESS]

KEY and NONCE are 16 bytes each in hexadecimal. Needs finsy from PyPI, and forebay in the PATH (or $FOREBAY).
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import control
import finsy as fy


def of_bytes(length):
    def parsed(text):
        value = bytes.fromhex(text)
        if len(value) != length:
            raise ValueError
        return value

    return parsed


def route(text):
    address, port = text.split("=")
    return address, int(port)


def keyed(address, arguments):
    key, nonce = arguments.key, arguments.nonce
    action = fy.Action(
        "use_key",
        key_high=int.from_bytes(key[:8]),
        key_low=int.from_bytes(key[8:]),
        nonce_high=int.from_bytes(nonce[:8]),
        nonce_low=int.from_bytes(nonce[8:]),
        associated=int.from_bytes(arguments.associated),
    )
    return fy.P4TableEntry("keys", match=fy.Match(dst_addr=address), action=action)


async def main():
    parser = control.options(__doc__.splitlines()[0])
    parser.add_argument("key", type=of_bytes(16), metavar="KEY", help="in hexadecimal")
    parser.add_argument("nonce", type=of_bytes(16), metavar="NONCE", help="in hexadecimal")
    parser.add_argument("route", type=route, metavar="MAC=PORT", help="whose frames, and where they leave")
    parser.add_argument("--associated", type=of_bytes(4), default=bytes(4), metavar="HEX", help="four bytes (00000000)")
    parser.add_argument("-D", dest="define", action="append", default=[], metavar="NAME=VALUE", help="a macro")
    control.add_recirculation_ports(parser)
    arguments = parser.parse_args()
    address, port = arguments.route
    async with control.controlled("ascon", arguments.grpc, *arguments.define, *control.port_bits(arguments)) as switch:
        out = fy.P4TableEntry("outputs", match=fy.Match(dst_addr=address), action=fy.Action("send", port=port))
        await switch.insert([keyed(address, arguments), out, *control.recirculation_ports(arguments)])
        print("ready", flush=True)


if __name__ == "__main__":
    control.run(main())
