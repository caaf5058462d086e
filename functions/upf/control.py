#!/usr/bin/env python3
"""Controls upf.p4: sessions come from a file. SIGHUP reads it again and applies the differences.

    control.py FILE [--usage SECONDS] [--echo SECONDS] [--grpc ADDRESS]

- A session whose `state` becomes "idle" has its downlink packets kept here; when it becomes "active" they are sent.
- A session whose gNB changes (handover) gets an end marker to the old tunnel.
- With --usage the volumes of each session are printed as JSON. With --echo the path to each gNB is supervised.

upf.toml beside this program is an example. It takes the place of an SMF with N4 where there is none. Needs finsy from
PyPI, and forebay in the PATH (or $FOREBAY).
"""

import asyncio
import collections
import ipaddress
import json
import pathlib
import signal
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import control
import finsy as fy
import forms
from checksum import checksum

REASON_BUFFER, REASON_NOTIFY, REASON_GTPU = 1, 2, 3
GTPU_PORT = 2152
# The port of the controller, as in packet.p4.
CPU_PORT = 510
ECHO_REQUEST, ECHO_RESPONSE, ERROR_INDICATION, EXTENSIONS, END_MARKER = 1, 2, 26, 31, 254
# Echo requests without an answer after which a path is down.
UNANSWERED_MAX = 3
# Packets that are kept for a session whose UE is idle; the oldest go first.
BUFFERED_MAX = 64
# NO_IPV4 and NO_PREFIX of packet.p4: the UE has no address of this version.
NO_IPV4, NO_PREFIX = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


# The keys of the file, required and optional ones, with their kinds.
SESSION = forms.Form(
    {
        "id": forms.integer(1, 32767),
        "uplink_teid": forms.integer(0, 0xFFFFFFFF),
        "downlink_teid": forms.integer(0, 0xFFFFFFFF),
        "gnb": forms.address,
    },
    {
        "ue": forms.address_ipv4,
        "ue_prefix": forms.prefix64_ipv6,
        "qfi": forms.integer(0, 63),
        "dscp": forms.integer(0, 63),
        "state": forms.one_of("active", "idle"),
        **dict.fromkeys(("flow_rate", "session_rate"), forms.integer(8, 1 << 50)),
    },
)
NEXT_HOPS = forms.tables(
    forms.Form(
        {"number": forms.integer(1, 1 << 31), "port": forms.switch_port, "mac": forms.mac, "peer_mac": forms.mac},
        {"mtu": forms.integer(68, 65535)},
    )
)
FORM = forms.Form(
    {
        "own": forms.tables(forms.Form({"address": forms.address, "mac": forms.mac}, {"gtpu": forms.boolean})),
        "next_hop": NEXT_HOPS,
        "route": forms.tables(forms.Form({"prefix": forms.network, "next_hop": forms.integer(1, 1 << 31)})),
    },
    {"session": forms.tables(SESSION)},
)


def checked(settings):
    """The settings, whose parts must name each other."""
    hops = {one["number"] for one in settings["next_hop"]}
    sessions = settings.get("session", [])
    forms.distinct("next hops", (one["number"] for one in settings["next_hop"]))
    forms.distinct("routes to", (one["prefix"] for one in settings["route"]))
    forms.distinct("addresses `own`", (one["address"] for one in settings["own"]))
    forms.distinct("sessions", (one["id"] for one in sessions))
    for key in ("uplink_teid", "ue", "ue_prefix"):
        forms.distinct(f"sessions with `{key}` =", (one[key] for one in sessions if key in one))
    for one in settings["next_hop"]:
        if one["port"] == CPU_PORT:
            raise forms.Wrong(f"next hop {one['number']}: port {CPU_PORT} is that of the controller: another number is right")
    for one in settings["route"]:
        if one["next_hop"] not in hops:
            raise forms.Wrong(f"route {one['prefix']}: there is no next hop {one['next_hop']}")
    ends = [one["address"] for one in settings["own"] if one.get("gtpu", True)]
    for one in sessions:
        if not any((":" in end) == (":" in one["gnb"]) for end in ends):
            raise forms.Wrong(f"session {one['id']}: no address of `own` is of the version of its gNB {one['gnb']}")
        if route_to(settings, one["gnb"]) is None:
            raise forms.Wrong(
                f"session {one['id']}: no route leads to its gNB {one['gnb']}: a `[[route]]` with a `prefix` that has"
                " this address is right"
            )
    return settings


def route_to(settings, address):
    """The route with the longest prefix that has the address; None without one."""
    target = ipaddress.ip_address(address)
    found = [route for route in settings["route"] if target in ipaddress.ip_network(route["prefix"])]
    return max(found, key=lambda route: ipaddress.ip_network(route["prefix"]).prefixlen, default=None)


def entry(table, match, action, **parameters):
    return fy.P4TableEntry(table, match=fy.Match(match), action=fy.Action(action, **parameters))


def prefix64(text):
    return int(ipaddress.ip_network(text, strict=False).network_address) >> 64


def downlink_far(session, own):
    """The downlink FAR of a session."""
    match = {"meta.far": 2 * session["id"]}
    if session.get("state", "active") == "idle":
        return entry("fars", match, "buffer")
    kind = "to_tunnel_ipv6" if ":" in session["gnb"] else "to_tunnel_ipv4"
    return entry(
        "fars",
        match,
        kind,
        src_addr=own,
        dst_addr=session["gnb"],
        tunnel=session["downlink_teid"],
        src_port=GTPU_PORT,
        marking=session.get("dscp", 0),
    )


def session_entries(session, own):
    """The entries of a session. Its FARs, QERs and URRs are numbered 2 * id - 1 and 2 * id."""
    number = session["id"]
    first, second = 2 * number - 1, 2 * number
    ue = session.get("ue")
    ue_prefix = prefix64(session["ue_prefix"]) if "ue_prefix" in session else 0
    # The sources of uplink packets: without any address of the UE they are not checked.
    sources = {"ue_ipv4": ue or (NO_IPV4 if ue_prefix else 0), "ue_prefix": ue_prefix or (NO_PREFIX if ue else 0)}
    uplink = {"session": number, "rules": 0, **sources, "to_ue": 0}
    yield entry("sessions_uplink", {"hdr.gtpu.teid": session["uplink_teid"]}, "uplink_session", **uplink)
    if ue:
        yield entry("sessions_downlink_ipv4", {"hdr.ipv4.dst_addr": ue}, "downlink_session", session=number, rules=0)
    if ue_prefix:
        yield entry("sessions_downlink_ipv6", {"ue_prefix": ue_prefix}, "downlink_session", session=number, rules=0)
    common = {"flow_qer": first, "session_qer": second, "flow_urr": first, "session_urr": second}
    common |= {"third_urr": 0, "fourth_urr": 0, "before_qos": 0, "closed": 0}
    pdr = {"meta.session": number, "meta.application": 0}
    yield entry("terminations_uplink", pdr, "forward", far=first, **common)
    yield entry("terminations_downlink", pdr, "forward", far=second, **common)
    gates = {"uplink_closed": 0, "downlink_closed": 0, "qfi": session.get("qfi", 0), "reflective": 0}
    yield entry("qers", {"meta.flow_qer": first}, "set_qer", **gates)
    yield entry("fars", {"meta.far": first}, "to_core")
    yield downlink_far(session, own)


def table_entries(settings):
    """The entries of a file, in an order in which no entry refers to a later one."""
    for hop in settings["next_hop"]:
        action = {"port": hop["port"], "src_mac": control.mac(hop["mac"]), "dst_mac": control.mac(hop["peer_mac"])}
        yield entry("next_hops", {"meta.next_hop": hop["number"]}, "to_port", mtu=hop.get("mtu", 1500), **action)
    for route in settings["route"]:
        table, key = ("routes_ipv6", "ipv6_dst") if ":" in route["prefix"] else ("routes_ipv4", "ipv4_dst")
        match = {} if route["prefix"].endswith("/0") else {key: route["prefix"]}
        yield entry(table, match, "to_next_hop", next_hop=route["next_hop"])
    for own in settings["own"]:
        mac = control.mac(own["mac"])
        is_ipv6 = ":" in own["address"]
        if own.get("gtpu", True):
            version = 6 if is_ipv6 else 4
            yield entry(f"own_ipv{version}", {f"hdr.ipv{version}.dst_addr": own["address"]}, "own", mac=mac)
        table, key = ("nd_ipv6", "hdr.neighbour.target") if is_ipv6 else ("arp_ipv4", "hdr.arp.target_ip")
        yield entry(table, {key: own["address"]}, "own", mac=mac)
    for session in settings.get("session", []):
        yield from reversed(list(session_entries(session, source(settings, session["gnb"]))))


def source(settings, gnb):
    """The address of this UPF from which tunnels to a gNB begin."""
    is_ipv6 = ":" in gnb
    return next(
        own["address"] for own in settings["own"] if own.get("gtpu", True) and (":" in own["address"]) == is_ipv6
    )


def meter_entries(settings):
    """Rates of sessions in bit/s. A session without has no limit."""
    for session in settings.get("session", []):
        for index, key in ((2 * session["id"] - 1, "flow_rate"), (2 * session["id"], "session_rate")):
            config = None
            if rate := session.get(key):
                # A burst of 100 ms.
                config = fy.P4MeterConfig(
                    cir=rate // 8, cburst=max(rate // 80, 3000), pir=rate // 8, pburst=max(rate // 80, 3000)
                )
            for meter in ("uplink_rates", "downlink_rates"):
                yield fy.P4MeterEntry(meter, index=index, config=config)


def gtpu_frame(settings, peer, own, message, teid, sequence=0):
    """A message of GTP-U without information elements to a peer, as a frame, and its port. IPv4 only."""
    hop = next(hop for hop in settings["next_hop"] if hop["number"] == route_to(settings, peer)["next_hop"])
    gtpu = struct.pack("!BBHIHBB", 0x32, message, 4, teid, sequence, 0, 0)
    udp = struct.pack("!HHHH", GTPU_PORT, GTPU_PORT, 8 + len(gtpu), 0)
    addresses = ipaddress.ip_address(own).packed + ipaddress.ip_address(peer).packed
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp) + len(gtpu), 0, 0x4000, 64, 17, 0)
    head = head[:10] + struct.pack("!H", checksum(head + addresses)) + addresses
    ethernet = bytes.fromhex((hop["peer_mac"] + hop["mac"]).replace(":", "")) + b"\x08\x00"
    return ethernet + head + udp + gtpu, hop["port"]


class Upf:
    def __init__(self, switch, path):
        self.switch = switch
        self.path = path
        self.settings = {}
        self.entries = control.Entries(switch)
        self.buffers = collections.defaultdict(lambda: collections.deque(maxlen=BUFFERED_MAX))
        # Held while the entries of a file are written: until then it is unknown what a kept packet meets.
        self.lock = asyncio.Lock()
        self.sequence = 0
        self.unanswered = collections.Counter()

    def sessions(self):
        return {session["id"]: session for session in self.settings.get("session", [])}

    async def load(self):
        """Writes the entries of the file. Entries that do not differ stay."""
        before, earlier = self.sessions(), self.settings
        settings = checked(forms.read(self.path, FORM))
        meters = [(control.MODIFY, one) for one in meter_entries(settings)]
        async with self.lock:
            written = await self.entries.apply(table_entries(settings), also=meters)
            self.settings = settings
            for number, session in self.sessions().items():
                await self.moved(before.get(number), session, earlier)
            for number in self.buffers.keys() - self.sessions().keys():
                del self.buffers[number]
        print(f"{len(self.sessions())} sessions: {written}", flush=True)

    async def moved(self, before, session, earlier):
        """Acts on a change of a session: end marker after a handover, buffered packets when it becomes active.

        The way to the old gNB is that of the `earlier` settings: the file may not have it any more.
        """
        if before is None:
            return
        old, new = before.get("state", "active"), session.get("state", "active")
        tunnels = [(one["gnb"], one["downlink_teid"]) for one in (before, session)]
        if old == new == "active" and tunnels[0] != tunnels[1] and ":" not in before["gnb"]:
            await self.send_message(earlier, before["gnb"], END_MARKER, before["downlink_teid"])
            print(f"session {session['id']}: end marker to {before['gnb']}", flush=True)
        if old == "idle" and new == "active":
            kept = self.buffers.pop(session["id"], ())
            for port, frame in kept:
                await self.process(port, frame)
            print(f"session {session['id']}: {len(kept)} packets that were kept", flush=True)

    async def process(self, port, frame):
        """Lets a kept packet meet the rules once more, as if it came by its port."""
        await self.switch.write([fy.P4PacketOut(frame, egress_port=port, process=1, route=0, padding=0)])

    async def keep(self, number, port, frame):
        """Keeps a packet of an idle UE. One that was on its way while the UE became active goes on, one of a session that
        the file has no more does not."""
        async with self.lock:
            session = self.sessions().get(number)
            if session is None:
                return
            if session.get("state", "active") == "active":
                await self.process(port, frame)
                return
            if not self.buffers[number]:
                # With an SMF, a report would go to it here, and it would page the UE.
                print(f"session {number}: downlink data", flush=True)
            self.buffers[number].append((port, frame))

    async def send_message(self, settings, peer, message, teid, sequence=0):
        own = source(settings, peer)
        frame, port = gtpu_frame(settings, peer, own, message, teid, sequence)
        await self.switch.write([fy.P4PacketOut(frame, egress_port=port, process=0, route=0, padding=0)])

    async def receive(self):
        """Handles the packets that the data plane sends to the controller."""
        async for packet in self.switch.read_packets():
            reason, session = packet["reason"], packet["session"]
            if reason == REASON_BUFFER:
                await self.keep(session, packet["ingress_port"], packet.payload)
            elif reason == REASON_GTPU:
                self.message(packet.payload, session)

    def message(self, frame, session):
        is_ipv4 = frame[12:14] == b"\x08\x00"
        peer = str(ipaddress.ip_address(frame[26:30] if is_ipv4 else frame[22:38]))
        gtpu = frame[14 + 4 * (frame[14] & 15) + 8 :] if is_ipv4 else frame[62:]
        kind = gtpu[1]
        if kind == ECHO_RESPONSE:
            # The last one is the request that is answered.
            if self.unanswered.pop(peer, 0) > UNANSWERED_MAX:
                print(f"{peer}: path is up", flush=True)
        elif kind == ERROR_INDICATION:
            teid = int.from_bytes(gtpu[13:17], "big") if gtpu[12:13] == b"\x10" else 0
            print(f"{peer}: error indication for TEID {teid:#x}", flush=True)
        elif kind == END_MARKER:
            print(f"session {session}: end marker from {peer}", flush=True)
        elif kind == EXTENSIONS:
            print(f"{peer}: an extension header is not supported there", flush=True)

    async def supervise(self, seconds):
        """Echo requests to every gNB; three without an answer are a path that is down."""
        while True:
            for peer in {session["gnb"] for session in self.sessions().values()}:
                if ":" in peer:
                    continue
                self.sequence = (self.sequence + 1) & 0xFFFF
                self.unanswered[peer] += 1
                if self.unanswered[peer] == UNANSWERED_MAX + 1:
                    print(f"{peer}: path is down", flush=True)
                await self.send_message(self.settings, peer, ECHO_REQUEST, 0, self.sequence)
            await asyncio.sleep(seconds)

    async def usage(self, seconds):
        while True:
            await asyncio.sleep(seconds)
            for number in self.sessions():
                print(json.dumps(await self.read_usage(number)), flush=True)

    async def read_usage(self, number):
        """The volume of a session: the URR of all its flows. Bytes are those of IP packets without tunnel."""
        index = 2 * number
        wanted = [
            fy.P4CounterEntry("uplink_usage", index=index),
            fy.P4CounterEntry("downlink_usage", index=index),
            fy.P4RegisterEntry("uplink_bytes", index=index),
            fy.P4RegisterEntry("downlink_padding", index=index),
        ]
        uplink, downlink, volume, padding = [one async for one in self.switch.read(wanted)]
        padding_bytes = padding.data if isinstance(padding.data, int) else int(padding.data or 0)
        return {
            "session": number,
            "uplink_packets": uplink.packet_count,
            "uplink_bytes": volume.data if isinstance(volume.data, int) else int(volume.data or 0),
            "downlink_packets": downlink.packet_count,
            "downlink_bytes": downlink.byte_count - 14 * downlink.packet_count - padding_bytes,
        }


async def main():
    parser = control.options(__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path, help="ports, routes and sessions")
    parser.add_argument("--usage", type=control.seconds(0), default=0, metavar="SECONDS", help="print volumes this often")
    parser.add_argument(
        "--echo",
        type=control.seconds(0),
        default=0,
        metavar="SECONDS",
        help="ask the gNBs this often (TS 29.281: at most once in 60 s)",
    )
    arguments = parser.parse_args()
    # A wrong file is reported before anything else.
    checked(forms.read(arguments.file, FORM))
    again = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, again.set)
    async with control.controlled(HERE / "upf.p4", arguments.grpc) as switch:
        upf = Upf(switch, arguments.file)
        await upf.entries.take_over()
        await upf.load()
        tasks = [upf.receive()]
        if arguments.usage:
            tasks.append(upf.usage(arguments.usage))
        if arguments.echo:
            tasks.append(upf.supervise(arguments.echo))
        await asyncio.gather(control.whenever(again, upf.load), *tasks)


if __name__ == "__main__":
    control.run(main)
