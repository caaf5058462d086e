"""What the control programs of p4qrs, payloadpark and recirculate share: units, and what became of their packets."""

import asyncio
import dataclasses

import control
import finsy as fy


@dataclasses.dataclass
class Unit:
    """An input port, the ports through which its packets go round, and the port by which they leave."""

    ingress: int
    recirculation: tuple
    output: int


def unit(text):
    ingress, first, second, output = map(int, text.split(","))
    return Unit(ingress, (first, second), output)


def options(about):
    """The options of all three."""
    parser = control.options(about)
    help = "ports: where packets come in, go round, and leave"
    parser.add_argument("units", nargs="+", type=unit, metavar="IN,ROUND,ROUND,OUT", help=help)
    parser.add_argument("-D", dest="define", action="append", default=[], metavar="NAME=VALUE", help="a macro")
    return parser


def watching_options(about):
    """Those of programs that count what became of packets."""
    parser = options(about)
    parser.add_argument("--watch", type=float, metavar="SECONDS", help="says that often what became of packets")
    return parser


def joined(unit, **data):
    """The entry that makes a port the input of a unit; `data` is what the program wants besides its ports."""
    first, second = unit.recirculation
    action = fy.Action("join_unit", recirculation_port_0=first, recirculation_port_1=second, **data)
    return fy.P4TableEntry("units", match=fy.Match(ingress_port=unit.ingress), action=action)


async def watch(switch, period, outcomes):
    """Prints a line with the counter `outcomes` every `period` seconds, if there is one: a name for each element."""
    while period:
        await asyncio.sleep(period)
        counts = [entry.packet_count async for entry in switch.read(fy.P4CounterEntry("outcomes"))]
        print(", ".join(f"{name} {count}" for name, count in zip(outcomes, counts)), flush=True)
