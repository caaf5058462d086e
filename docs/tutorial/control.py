#!/usr/bin/env python3
"""Opens the ports named on the command line in the filter, and prints every two seconds how much each has let in.

Needs finsy (docs/tutorial.md says how to install it), and out/p4info.txtpb, which `forebay build docs/tutorial/filter.p4 -o out` writes.
"""

import argparse
import asyncio
import pathlib
import sys

try:
    import finsy as fy
except ModuleNotFoundError as error:
    raise SystemExit(
        f"{error.name} is missing: `python3 -m venv env && env/bin/pip install finsy==0.30` installs it; then `env/bin/python {sys.argv[0]} ...`"
    ) from None

P4INFO = pathlib.Path("out/p4info.txtpb")


def entry(port):
    """The table entry that lets a UDP port in."""
    return fy.P4TableEntry("allowed", match=fy.Match(dst_port=port), action=fy.Action("allow"))


async def main(ports):
    options = fy.SwitchOptions(p4info=P4INFO)
    async with fy.Switch("filter", "127.0.0.1:9559", options) as switch:
        await switch.delete_all()
        await switch.insert([entry(port) for port in ports])
        print(f"open: {', '.join(map(str, ports))}", flush=True)
        while True:
            await asyncio.sleep(2)
            async for found in switch.read(fy.P4TableEntry("allowed", counter_data=fy.P4CounterData())):
                if found.match is not None:
                    port, data = found.match["dst_port"], found.counter_data
                    print(f"port {port}: {data.packet_count} packets, {data.byte_count} bytes", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ports", type=int, nargs="+", metavar="PORT")
    arguments = parser.parse_args()
    if not P4INFO.exists():
        raise SystemExit(f"{P4INFO} is missing: `forebay build docs/tutorial/filter.p4 -o out` writes it")
    fy.run(main(arguments.ports))
