"""What the control programs of the IoT pairs share: routes, and the copies of the disaggregation."""

import control
import finsy as fy

# The group and clone session that copy to port p are this + p.
FIRST_REPLICA_GROUP = 1000


def route(text):
    """A prefix, the address of the neighbour there, and its port."""
    prefix, neighbour, port = text.split(",")
    return prefix, neighbour, int(port)


def options(about):
    """The options of all of them."""
    parser = control.options(about)
    parser.add_argument("--route", required=True, action="append", type=route, metavar="PREFIX,MAC,PORT")
    parser.add_argument("--mac", required=True, help="the source address of packets that leave")
    parser.add_argument("-D", dest="define", action="append", default=[], metavar="NAME=VALUE", help="a macro")
    return parser


async def control_routes(name, about):
    """The whole of a control program that writes routes only."""
    arguments = options(about).parse_args()
    async with control.controlled(name, arguments.grpc, *arguments.define) as switch:
        await write_routes(switch, arguments.route, arguments.mac)
        print("ready", flush=True)


async def write_routes(switch, routes, mac):
    """A next hop for each route, and the route to it."""
    for number, (prefix, neighbour, port) in enumerate(routes, 1):
        await switch.insert([
            fy.P4TableEntry(
                "next_hops",
                match=fy.Match(next_hop=number),
                action=fy.Action("set_macs", src_addr=mac, dst_addr=neighbour),
            ),
            fy.P4TableEntry(
                "ipv4_lpm",
                match=fy.Match(dst_addr=prefix),
                action=fy.Action("to_next_hop", next_hop_id=number, port=port),
            ),
        ])


async def write_replicas(switch, ports, messages):
    """For each port a group with a copy for each message, and a clone session for the method that resubmits."""
    for port in sorted(ports):
        copies = [(port, instance) for instance in range(messages)]
        await switch.insert([
            fy.P4MulticastGroupEntry(FIRST_REPLICA_GROUP + port, replicas=copies),
            fy.P4CloneSessionEntry(FIRST_REPLICA_GROUP + port, replicas=[port]),
        ])
