#!/usr/bin/env python3
"""Controls chain: flows from port to port, with functions in one pass.

    control.py IN=OUT... FUNCTION... [--grpc ADDRESS]

FUNCTION is an action with its data, as in set_tos:tos=32. Needs finsy from PyPI, and forebay in the PATH (or $FOREBAY).
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import control
import finsy as fy

STEPS = [f"ingress_step_{number}" for number in range(4)] + [f"egress_step_{number}" for number in range(4)]


def function(text):
    name, *data = text.replace(":", ",").split(",")
    try:
        return fy.Action(name, **{key: int(value, 0) for key, value in (word.split("=") for word in data)})
    except ValueError:
        raise SystemExit(f"`{text}`: a function is NAME or NAME:DATA=NUMBER,..., for example set_tos:tos=32") from None


def flow(text):
    try:
        ingress, out = map(int, text.split("="))
    except ValueError:
        raise SystemExit(f"`{text}`: a flow is IN=OUT, two ports") from None
    return ingress, out


def entries(number, ports, functions):
    ingress, out = ports
    yield fy.P4TableEntry("flows", match=fy.Match(ingress_port=ingress), action=fy.Action("begin", flow=number))
    first_pass = fy.Match(flow=number, hop=0)
    yield fy.P4TableEntry("routes", match=first_pass, action=fy.Action("leave_by", port=out))
    for step, action in zip(STEPS, functions):
        yield fy.P4TableEntry(step, match=first_pass, action=action)


async def main():
    parser = control.options(__doc__.splitlines()[0])
    parser.add_argument("words", nargs="+", metavar="IN=OUT or FUNCTION", help="flows by their ports, and functions")
    arguments = parser.parse_args()
    flows = [flow(word) for word in arguments.words if word[0].isdigit()]
    functions = [function(word) for word in arguments.words if not word[0].isdigit()]
    if not flows or len(functions) > len(STEPS):
        parser.error(f"give a flow as IN=OUT, and at most {len(STEPS)} functions")
    async with control.controlled("chain", arguments.grpc) as switch:
        for number, ports in enumerate(flows):
            await switch.insert(list(entries(number, ports, functions)))
        print("ready", flush=True)


if __name__ == "__main__":
    control.run(main())
