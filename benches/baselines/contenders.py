"""Contenders, which aggregate and disaggregate: each starts the processes of one stage in a namespace."""

import shutil
import time
from pathlib import Path
from typing import ClassVar

from chain import SENSORS_MAC, SERVER_MAC, run

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OVS_SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
CONTROLLER_PORT = 6653
# What programs/iot_disaggregate adds to a port for its multicast group.
FIRST_REPLICA = 1000
PORT_IN, PORT_OUT = 1, 2
READY_SECONDS = 20


class Contender:
    """One way to aggregate and disaggregate; `orders` are the N that it is measured with."""

    name = ""
    label = ""
    # Whether a stage is an end of the connection, with addresses of its own.
    addressed = False
    orders = tuple(range(1, 9))

    def missing(self):
        """A text that names missing programs, or None."""
        return None

    def start(self, chain, stage, role, n):
        """Starts stage `stage` (from 1 on) in its role, `aggregate` or `disaggregate`."""
        raise NotImplementedError


class Forebay(Contender):
    """The switch of this repository: batches of N messages, all alike."""

    name, label = "forebay", "Forebay's switch"
    programs: ClassVar = {"aggregate": "iot_aggregate", "disaggregate": "iot_disaggregate"}
    ports = ("-i", f"{PORT_IN}@in", "-i", f"{PORT_OUT}@out")

    def __init__(self, binary):
        self.binary = binary

    def missing(self):
        return (
            None if Path(self.binary).exists() else f"{self.binary}: build it with `make build`, or say --forebay FILE"
        )

    def start(self, chain, stage, role, n):
        node = chain.nodes[stage]
        lines = forebay_routes(chain.last_link) + (self.groups(n) if role == "disaggregate" else [])
        entries = node.folder / "entries.stf"
        entries.write_text("\n".join(lines) + "\n")
        name = self.programs[role]
        options = ("-D", f"N={n}", "--entries", entries, "--stats-interval", "0", *self.options(role))
        program = ROOT / f"programs/{name}/{name}.p4"
        chain.start(node, self.binary, "run", program, *self.ports, *options, log="forebay.log")

    def options(self, role):
        """Further options of a stage."""
        return ()

    def groups(self, n):
        """The multicast group of N copies that splits N-packets."""
        return forebay_group(FIRST_REPLICA + PORT_OUT, range(n), forebay_nodes(n))


class TimedForebay(Forebay):
    """Messages of any length; none waits for longer than `max_age_us` and a round of the timer."""

    name, label = "timed", "Forebay's switch, batches that time out"
    programs: ClassVar = {"aggregate": "iot_aggregate_timed", "disaggregate": "iot_disaggregate_mixed"}
    orders = (2, 4, 8)
    batches = 64
    timer_interval = "50us"

    def __init__(self, binary, max_age_us):
        super().__init__(binary)
        self.max_age_us = max_age_us

    def options(self, role):
        if role == "disaggregate":
            return ()
        timer = f"63@timer:{self.timer_interval},{self.batches}"
        return ("-i", timer, "-D", f"MAX_AGE={self.max_age_us}", "-D", f"FLOWS={self.batches}")

    def groups(self, n):
        """A group for each number of messages that an N-packet may have."""
        lines = forebay_nodes(n)
        for copies in range(1, n + 1):
            lines += forebay_group(FIRST_REPLICA + 8 * PORT_OUT + copies - 1, range(copies), [])
        return lines


def forebay_routes(last_link):
    """Routes to the server by port 2 and back to the sensors by port 1."""
    lines = []
    for hop, link, port, mac in ((7, last_link, PORT_OUT, SERVER_MAC), (8, 0, PORT_IN, SENSORS_MAC)):
        lines.append(f"add ipv4_lpm ipv4.dst_addr:0x0A01{link:02X}00/24 to_next_hop(next_hop_id:{hop}, port:{port})")
        macs = f"src_addr:0x0200000001FE, dst_addr:0x{mac.replace(':', '')}"
        lines.append(f"add next_hops next_hop:{hop} set_macs({macs})")
    return lines


def forebay_nodes(count):
    """Nodes of multicast groups: node i makes a copy for port 2 with `egress_rid` i."""
    return [f"mc_node_create {node} {PORT_OUT}" for node in range(count)]


def forebay_group(group, nodes, before):
    """A multicast group of some nodes."""
    return [*before, f"mc_mgrp_create {group}", *(f"mc_node_associate {group} {node}" for node in nodes)]


class Controllers(Contender):
    """Open vSwitch, userspace datapath, whose controller on os-ken gets every packet."""

    name, label = "controllers", "Open vSwitch and os-ken"

    def __init__(self, python):
        self.python = python

    def missing(self):
        for command in ("ovs-vswitchd", "ovsdb-server", "ovs-vsctl", "ovsdb-tool"):
            if not shutil.which(command):
                return f"{command} is missing: apt-get install openvswitch-switch"
        return None if self.python else "os-ken cannot be installed: no venv, or no PyPI"

    def start(self, chain, stage, role, n):
        node = chain.nodes[stage]
        start_open_vswitch(chain, node)
        chain.start(node, self.python, HERE / "controller.py", role, n, CONTROLLER_PORT, log="controller.log")
        bridge = ("set", "bridge", "br0", "datapath_type=netdev", "fail-mode=secure", "protocols=OpenFlow13")
        vsctl(node, "add-br", "br0", "--", *bridge)
        for interface, port in (("in", PORT_IN), ("out", PORT_OUT)):
            request = ("set", "interface", interface, f"ofport_request={port}")
            vsctl(node, "add-port", "br0", interface, "--", *request)
        vsctl(
            node,
            "set-controller",
            "br0",
            f"tcp:127.0.0.1:{CONTROLLER_PORT}",
            "--",
            "set",
            "controller",
            "br0",
            "connection-mode=out-of-band",
        )


def start_open_vswitch(chain, node):
    """Database server and switch, with files in the node's folder alone."""
    folder = {name: str(node.folder) for name in ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR")}
    database = node.folder / "conf.db"
    run("ovsdb-tool", "create", database, OVS_SCHEMA)
    remote = f"--remote=punix:{node.folder}/db.sock"
    chain.start(
        node, "ovsdb-server", database, remote, f"--unixctl={node.folder}/ovsdb.ctl", log="ovsdb.log", env=folder
    )
    wait_for(node.folder / "db.sock")
    vsctl(node, "--no-wait", "init")
    control = f"--unixctl={node.folder}/vswitchd.ctl"
    chain.start(node, "ovs-vswitchd", f"unix:{node.folder}/db.sock", control, log="vswitchd.log", env=folder)


def vsctl(node, *words):
    """A command to the node's Open vSwitch."""
    node.run("ovs-vsctl", f"--db=unix:{node.folder}/db.sock", f"--timeout={READY_SECONDS}", *words)


def wait_for(path):
    """Waits until a file exists."""
    end = time.monotonic() + READY_SECONDS
    while not path.exists():
        if time.monotonic() > end:
            raise SystemExit(f"{path} was not made within {READY_SECONDS} s")
        time.sleep(0.02)


class Server(Contender):
    """Software with UDP sockets. Its cost over N is smooth, so that powers of two are enough."""

    addressed = True
    orders = (1, 2, 4, 8)

    def __init__(self, name, label, words, needs=None):
        self.name, self.label, self.command, self.needs = name, label, words, needs

    def missing(self):
        return self.needs

    def start(self, chain, stage, role, n):
        ends = (f"10.1.{stage - 1}.2", 9000, f"10.1.{stage}.2", 9000)
        chain.start(chain.nodes[stage], *self.command, role, n, *ends, log="server.log")


class Wan(Contender):
    """Not a contender, but a long link between two stages."""

    name, label = "wan", "a long link"

    def __init__(self, program, rate_mbps, delay_ms, loss_percent, queue_ms=100, seed=1):
        self.words = (program, "in", "out", rate_mbps, queue_ms, delay_ms, loss_percent, seed)

    def start(self, chain, stage, role, n):
        self.process = chain.start(chain.nodes[stage], *self.words, log="wan.log")
