#!/usr/bin/env python3
"""A third-party UPF on Forebay: the program UP4, its pfcp-agent, and pfcpsim as the SMF. docs/up4.md has the versions.
Needs root, tshark, iperf3, and these programs.

    up4.py --program UP4.p4 [--agent pfcpiface] [--pfcpsim pfcpsim] [--pfcpctl pfcpctl]

    ue (TUN of gnb.py) == gnb 198.18.0.10 -- 1 [UP4] 2 -- server 203.0.113.9
                                                |
                                  P4Runtime, 127.0.0.1:9559
    pfcpsim -- PFCP, 127.0.0.8:8805 -- pfcp-agent
"""

import argparse
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from bed import FOREBAY, Failed, check, main, stop, wait_until

SERVER, UPF, GNB, UE, OTHER_UE = "203.0.113.9", "198.18.0.1", "198.18.0.10", "17.0.0.1", "17.0.0.3"
SWITCH_MAC = "02:00:00:00:00:01"
# pfcpsim numbers sessions 1, 11, …: the number is the TEID towards the UPF, the next one that towards the gNB.
UPLINK, DOWNLINK, QFI = 1, 2, 9
UNKNOWN = 999
ALL = ("ip:any:any:allow:100",)
BLOCKED = ("udp:203.0.113.0/24:9999-9999:deny:50", *ALL)
SESSION = ("--count", "1", "--baseID", str(UPLINK), "--ue-pool", "17.0.0.0/24", "--gnb-addr", GNB)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, metavar="FILE", help="up4.p4, or the bmv2.json that comes with it")
    for name in ("agent", "pfcpsim", "pfcpctl"):
        parser.add_argument(f"--{name}", default={"agent": "pfcpiface"}.get(name, name), metavar="FILE")
    return parser.parse_args()


def hosts(bed):
    """A gNB and a server. UP4 answers no ARP, so both have static neighbours."""
    switch = bed.namespace("up4")
    gnb = bed.host("gnb", "eth0", switch, "n3", f"{GNB}/24", mac="02:00:00:00:00:03", mtu=1600)
    server = bed.host("server", "eth0", switch, "n6", "203.0.113.9/24", mac="02:00:00:00:00:06")
    gnb.run("ip", "neigh", "add", UPF, "lladdr", SWITCH_MAC, "dev", "eth0")
    server.run("ip", "neigh", "add", "203.0.113.1", "lladdr", SWITCH_MAC, "dev", "eth0")
    server.run("ip", "route", "add", "17.0.0.0/16", "via", "203.0.113.1")
    return switch, gnb, server


class Smf:
    """pfcpsim, driven by pfcpctl: one session, number `UPLINK`."""

    def __init__(self, namespace, options):
        self.namespace, self.pfcpctl = namespace, options.pfcpctl
        simulator = namespace.start(options.pfcpsim, "--interface", "lo", name="pfcpsim")
        wait_until(lambda: "listening" in simulator.output.read_text(), "pfcpsim starts")
        self.ask("service", "configure", "--n3-addr", UPF, "--remote-peer-addr", "127.0.0.8")

    def ask(self, *words):
        said = self.namespace.run(self.pfcpctl, *words)
        if "FATAL" in said:
            raise Failed(f"pfcpctl {' '.join(words)}: {said.strip()}")

    def session(self, do, *more, filters=ALL):
        more = [*more, *(word for one in filters for word in ("--app-filter", one))]
        self.ask("session", do, *SESSION, *more)


class Ue:
    """The UE behind the gNB, and what passes between it and the server."""

    def __init__(self, gnb, server):
        self.gnb, self.server = gnb, server
        self.process = None
        self.attach()

    def attach(self, address=UE, uplink=UPLINK):
        """Starts a gNB with this UE in place of the previous one."""
        if self.process:
            stop(self.process)
        self.address = address
        self.process = self.gnb.start(
            sys.executable, HERE / "gnb.py", "--bind", GNB, "--upf", UPF, "--qfi", QFI,
            "--uplink-teid", uplink, "--downlink-teid", DOWNLINK,
        )  # fmt: skip
        wait_until(
            lambda: "ready" in self.process.output.read_text() or self.process.poll() is not None, "gnb.py starts"
        )
        self.gnb.run("ip", "link", "set", "ue", "up", "mtu", "1420")
        self.gnb.run("ip", "address", "add", f"{address}/32", "dev", "ue")
        self.gnb.run("ip", "route", "add", "203.0.113.0/24", "dev", "ue")

    def pings(self):
        return self.gnb.succeeds("ping", "-c", "2", "-i", "0.2", "-W", "1", "-I", self.address, SERVER)

    def is_pinged(self):
        return self.server.succeeds("ping", "-c", "1", "-W", "1", UE)

    def arrived(self, counter):
        """A counter of the server's kernel."""
        return json.loads(self.server.run("nstat", "-aszj", counter))["kernel"][counter]

    def send_datagram(self, port):
        program = f"import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('{SERVER}', {port}))"
        self.gnb.run(sys.executable, "-c", program)


def test(bed, options):
    switch, gnb, server = hosts(bed)
    bed.switch(switch, options.program, {1: "n3", 2: "n6"}, HERE / "up4.txtpb", "--cpu-port", "255", "--grpc")
    agent = switch.start(options.agent, "-config", HERE / "up4.jsonc", name="pfcp-agent")
    wait_until(lambda: "listening to Data Notifications" in agent.output.read_text(), "the agent is connected")
    check("client is master" in agent.output.read_text(), "the pfcp-agent is primary, and has emptied its tables")
    smf = Smf(switch, options)
    smf.ask("service", "associate")
    capture = gnb.capture("eth0")
    ue = Ue(gnb, server)
    session(switch, smf, ue)
    traffic(gnb, server)
    refused(ue)
    smf.session("delete")
    check(
        entries(switch, "sessions_uplink") == 0 and not ue.pings(),
        "session deletion: the table is empty, and nothing passes",
    )
    filters(smf, ue)
    idle_without_agent(switch, smf, ue, agent)
    capture.stop()
    check_tunnels(capture)
    for host in (gnb, server):
        wrong = host.checksum_errors()
        check(not wrong, f"the kernel of {host.name} finds no wrong checksum {wrong or ''}".rstrip())


def session(switch, smf, ue):
    """From establishment to an idle UE and back."""
    check(not ue.pings(), "without a session nothing passes")
    smf.session("create", "--qfi", str(QFI))
    check(entries(switch, "sessions_uplink") == 1, "session establishment: an entry in sessions_uplink")
    arrived = ue.arrived("IcmpInEchos")
    check(
        not ue.pings() and ue.arrived("IcmpInEchos") == arrived + 2,
        "uplink packets arrive; downlink packets are dropped by their FAR",
    )
    smf.session("modify")
    check(
        ue.pings() and ue.is_pinged(),
        "session modification: the UE pings the data network, and the data network the UE",
    )
    smf.session("modify", "--buffer", "--notifycp")
    check(not ue.is_pinged(), "an idle UE is sent nothing")
    smf.session("modify")
    check(ue.pings(), "the UE is active again")


def traffic(gnb, server):
    server.start("iperf3", "-s")
    wait_until(lambda: server.succeeds("sh", "-c", "ss -ltn | grep -q :5201"), "iperf3 listens")
    for what, options in (("uplink", ()), ("downlink", ("-R",))):
        gnb.run("iperf3", "-c", SERVER, "-B", UE, "-n", "1M", *options)
        check(True, f"1 MB of TCP, {what}")


def refused(ue):
    ue.attach(uplink=UNKNOWN)
    check(not ue.pings(), "packets of an unknown TEID are dropped")
    ue.attach(address=OTHER_UE)
    check(not ue.pings(), "packets of another source address than the UE's are dropped")
    ue.attach()


def filters(smf, ue):
    """A session with an SDF filter that drops. It stays: the agent cannot delete sessions with several filters."""
    for do in ("create", "modify"):
        smf.session(do, "--qfi", str(QFI), filters=BLOCKED)
    arrived = ue.arrived("UdpNoPorts")
    for port in (9999, 9998):
        ue.send_datagram(port)
    wait_until(lambda: ue.arrived("UdpNoPorts") > arrived, "a datagram arrives")
    check(ue.arrived("UdpNoPorts") == arrived + 1, "an SDF filter drops one port of two")


def idle_without_agent(switch, smf, ue, agent):
    """The digest of an idle UE's packet, read by `forebay ctl`, since the agent ends at the first one."""
    smf.session("modify", "--buffer", "--notifycp", filters=BLOCKED)
    agent.kill()
    agent.wait()
    switch.run(FOREBAY, "ctl", "digest", "enable", "ddn_digest_t")
    watch = switch.start(FOREBAY, "ctl", "digest", "watch", name="ctl")
    wait_until(lambda: not ue.is_pinged() and UE in watch.output.read_text(), "a digest for a packet to an idle UE")
    check(True, "the digest of a packet to an idle UE has its address")


def entries(switch, table):
    """The number of entries of a table, without its default entry."""
    return switch.run(FOREBAY, "ctl", "table", "dump", f"PreQosPipe.{table}").count("\n") - 3


def check_tunnels(capture):
    fields = ("gtp.teid", "gtp.ext_hdr.pdu_ses_con.pdu_type", "gtp.ext_hdr.pdu_ses_con.qos_flow_id")
    tunnels = {tuple(one) for one in capture.fields(f"gtp and ip.src == {UPF}", *fields)}
    check(
        tunnels == {(f"{DOWNLINK:#010x}", "0", str(QFI))},
        f"downlink packets have TEID {DOWNLINK}, PDU type 0, QFI {QFI}: {tunnels}",
    )
    capture.check_well_formed("N3", only=f"ip.src == {UPF}")


if __name__ == "__main__":
    sys.exit(main(test, "tshark", "dumpcap", "iperf3", options=arguments()))
