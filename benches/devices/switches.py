"""Switches between two veth pairs: each is started, given rules, and ends with its namespace."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "benches/dpdk"))
import swx
from pipeline_cli import entry
from process import Missing, eal_options

ROUTER = ROOT / "crates/testing/evaluations/src/router.p4"
NAMESPACE = f"devices{os.getpid()}"
NEAR, FAR = ["tester1", "tester2"], ["switch1", "switch2"]
VERSION = 1


def command(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, **options)


def inside(*words, **options):
    """In the namespace of the switch."""
    return command("ip", "netns", "exec", NAMESPACE, *words, **options)


def mac(number):
    return ":".join(f"{byte:02x}" for byte in number.to_bytes(6, "big"))


def dotted(number):
    return ".".join(str(byte) for byte in number.to_bytes(4, "big"))


class Wires:
    """A namespace with a switch's ends of two wires; the other ends are the tester's."""

    def __enter__(self):
        command("ip", "netns", "add", NAMESPACE)
        for near, far in zip(NEAR, FAR, strict=True):
            command("ip", "link", "add", near, "type", "veth", "peer", "name", far, "netns", NAMESPACE)
            self.quiet(near, command)
            self.quiet(far, inside)
        return self

    @staticmethod
    def quiet(name, run):
        """No traffic of the system's own, and complete checksums."""
        run("sysctl", "-q", "-w", f"net.ipv6.conf.{name}.disable_ipv6=1")
        run("ip", "link", "set", name, "up", "mtu", "1500")
        run("ethtool", "-K", name, "tx", "off", "rx", "off", stdout=subprocess.DEVNULL)

    def __exit__(self, *_):
        subprocess.run(["ip", "netns", "del", NAMESPACE])
        for near in NEAR:
            subprocess.run(["ip", "link", "del", near], stderr=subprocess.DEVNULL)


class Switch:
    """A switch that forwards by rules from `tester1` to `tester2`."""

    name = ""
    kinds = ()

    def __init__(self):
        self.processes = []
        self.folder = tempfile.TemporaryDirectory()

    def path(self, name):
        return pathlib.Path(self.folder.name) / name

    def spawn(self, *words, stdout=subprocess.DEVNULL, **options):
        words = ["ip", "netns", "exec", NAMESPACE, *map(str, words)]
        self.processes.append(subprocess.Popen(words, stdout=stdout, stderr=subprocess.STDOUT, **options))

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait(timeout=20)
        self.folder.cleanup()


class Forebay(Switch):
    """`forebay run` with the router of the evaluations."""

    name = "forebay run, veth"
    kinds = ("exact", "lpm", "ternary", "range")

    def __init__(self, binary):
        super().__init__()
        self.binary = binary

    def start(self, kind, rules):
        entries = self.path("rules.stf")
        with entries.open("w") as file:
            for rule in rules:
                file.write(f"add routes {self.priority(kind, rule)}{self.key(kind, rule)} {self.action()}\n")
        ports = [word for port, name in enumerate(FAR, 1) for word in ("-i", f"{port}@{name}")]
        self.defines = ["-D", f"MATCH={kind}", "-D", f"SIZE={max(len(rules), 1)}"]
        self.socket = self.path("p4runtime.sock")
        words = [ROUTER, *self.defines, "--entries", entries, *ports, "--grpc", f"unix:{self.socket}"]
        self.spawn(self.binary, "run", *words, "--stats-interval", "0")
        time.sleep(2 + len(rules) / 50_000)

    def control(self, rule):
        """The command that updates a rule."""
        command(self.binary, "build", ROUTER, *self.defines, "-o", self.folder.name, stdout=subprocess.DEVNULL)
        info = self.path("p4info.txtpb").read_text()
        number = {name: int(found) for found, name in re.findall(r'id: (\d+)\s+name: "(?:\w+\.)*(\w+)"', info)}
        rule = {**rule, "port": 2, "table_id": number["routes"], "action_id": number["forward"]}
        return [HERE / "p4runtime.py", self.socket, json.dumps(rule)]

    @staticmethod
    def priority(kind, rule):
        return f"{rule['priority']} " if kind in ("ternary", "range") else ""

    @staticmethod
    def key(kind, rule):
        value = rule["value"]
        match kind:
            case "exact":
                return f"hdr.ipv4.dst_addr:{value:#010x}"
            case "lpm":
                return f"hdr.ipv4.dst_addr:{value:#010x}/{rule['mask'].bit_count()}"
            case "ternary":
                return f"hdr.ipv4.dst_addr:{value:#010x}&&&{rule['mask']:#010x}"
            case _:
                return f"hdr.ipv4.dst_addr:{value:#010x}->{rule['high']:#010x}"

    @staticmethod
    def action():
        return f"forward(src_addr:{VERSION:#x}, dst_addr:{VERSION:#x}, port:2)"


class OpenVSwitch(Switch):
    """Open vSwitch with the datapath in user space."""

    name = "Open vSwitch, userspace, veth"
    kinds = ("exact", "lpm", "ternary")

    def start(self, kind, rules):
        database, socket = self.path("db"), self.path("db.sock")
        os.environ["OVS_RUNDIR"] = self.folder.name
        command("ovsdb-tool", "create", database, "/usr/share/openvswitch/vswitch.ovsschema")
        self.spawn("ovsdb-server", database, f"--remote=punix:{socket}", f"--unixctl={self.path('ovsdb.ctl')}")
        self.wait(socket)
        self.spawn("ovs-vswitchd", f"unix:{socket}", f"--unixctl={self.path('vswitchd.ctl')}")
        vsctl = ["ovs-vsctl", f"--db=unix:{socket}"]
        inside(
            *vsctl,
            "add-br",
            "br0",
            "--",
            "set",
            "bridge",
            "br0",
            "datapath_type=netdev",
            "fail-mode=secure",
            "protocols=OpenFlow13",
        )
        for port, name in enumerate(FAR, 1):
            inside(*vsctl, "add-port", "br0", name, "--", "set", "interface", name, f"ofport_request={port}")
        flows = self.path("flows")
        with flows.open("w") as file:
            file.writelines(f"{flow(rule, VERSION)}\n" for rule in rules)
        self.bridge = self.path("br0.mgmt")
        self.wait(self.bridge)
        inside("ovs-ofctl", "-O", "OpenFlow13", "add-flows", f"unix:{self.bridge}", flows)

    @staticmethod
    def wait(path):
        until = time.monotonic() + 20
        while not path.exists():
            if time.monotonic() > until:
                raise SystemExit(f"{path} does not appear")
            time.sleep(0.05)

    def control(self, rule):
        """The command that updates a rule."""
        rule = {**rule, "of_priority": 1 + rule["mask"].bit_count()}
        return [HERE / "openflow.py", self.bridge, json.dumps(rule)]


def flow(rule, version):
    """A flow as ovs-ofctl reads it. Longer prefixes and later ternary rules go first."""
    mask = rule["mask"]
    priority = 1 + mask.bit_count() if rule["priority"] == 0 else 1 + rule["priority"] % 60_000
    match = f"priority={priority},ip,nw_dst={dotted(rule['value'])}/{dotted(mask)}"
    actions = f"mod_dl_src:{mac(version)},mod_dl_dst:{mac(version)},dec_ttl,output:2"
    return f"{match},actions={actions}"


class KernelRouting(Switch):
    """Linux IP forwarding: a route for each rule, one next hop."""

    name = "Linux routing, veth"
    kinds = ("lpm", "exact")

    def start(self, kind, rules):
        inside("sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
        for name in FAR:
            inside("sysctl", "-q", "-w", f"net.ipv4.conf.{name}.rp_filter=0")
            # The frames of the evaluations go to this address.
            inside("ip", "link", "set", name, "address", "02:00:00:00:00:fe" if name == FAR[0] else "02:00:00:00:00:fd")
        inside("sysctl", "-q", "-w", "net.ipv4.conf.all.rp_filter=0")
        inside("ip", "address", "add", "192.0.2.1/30", "dev", FAR[1])
        inside("ip", "neighbour", "add", "192.0.2.2", "lladdr", "02:00:00:00:00:02", "dev", FAR[1], "nud", "permanent")
        routes = self.path("routes")
        with routes.open("w") as file:
            for rule in rules:
                prefix = f"{dotted(rule['value'])}/{rule['mask'].bit_count()}"
                file.write(f"route add {prefix} via 192.0.2.2 dev {FAR[1]}\n")
        inside("ip", "-batch", routes)


class Nftables(Switch):
    """nftables at the ingress of an interface: a set with every rule's prefix, and `fwd` to the other interface."""

    name = "nftables, veth"
    kinds = ("lpm", "exact")

    def start(self, kind, rules):
        # A set of intervals has no longest match, and all rules have one next hop: those within another one are left
        # out.
        prefixes = ",\n".join(f"{dotted(rule['value'])}/{rule['mask'].bit_count()}" for rule in disjoint(rules))
        ruleset = self.path("ruleset")
        ruleset.write_text(
            f"""table netdev routing {{
  set routes {{ type ipv4_addr; flags interval; elements = {{ {prefixes} }} }}
  chain arriving {{
    type filter hook ingress device "{FAR[0]}" priority 0; policy drop;
    ip daddr @routes ether saddr set {mac(VERSION)} ether daddr set {mac(VERSION)} fwd to "{FAR[1]}"
  }}
}}
"""
        )
        inside("nft", "-f", ruleset)


class KernelBridge(Switch):
    """The kernel's bridge: one entry, the frames' MAC address. It does not look at IP addresses, so rules change
    nothing."""

    name = "Linux bridge, veth"
    kinds = ()

    def start(self, kind, rules):
        inside("ip", "link", "add", "bridge0", "type", "bridge", "stp_state", "0", "mcast_snooping", "0")
        inside("sysctl", "-q", "-w", "net.ipv6.conf.bridge0.disable_ipv6=1")
        for name in FAR:
            inside("ip", "link", "set", name, "master", "bridge0")
        inside("ip", "link", "set", "bridge0", "up")
        # The frames of the evaluations go to this address.
        inside("bridge", "fdb", "add", "02:00:00:00:00:fe", "dev", FAR[1], "master", "static")


class SwxPipeline(Switch):
    """DPDK's SWX pipeline, the back end of p4c-dpdk: its example program `pipeline` with our router for it, over
    AF_PACKET."""

    name = "DPDK SWX pipeline, exact, veth"
    # Longest prefixes are matched with the library for access control lists.
    kinds = ("exact",)
    port = 8086
    # The driver's own rings have 512: a millisecond of packets, less than a pause of its thread.
    ring_frames = 4096

    def start(self, kind, rules):
        program, source = built_pipeline()
        self.configure(rules)
        inside("ip", "link", "set", "lo", "up")
        devices = [f"net_af_packet{place},iface={name},framecnt={self.ring_frames}" for place, name in enumerate(FAR)]
        words = [*eal_options(256 + len(rules) // 500), *(word for device in devices for word in ("--vdev", device))]
        log = self.path("log")
        with log.open("w") as output:
            self.spawn(
                program,
                *words,
                "--",
                "-p",
                self.port,
                "-s",
                self.path("pipeline.cli"),
                stdin=subprocess.DEVNULL,
                stdout=output,
                env={**os.environ, "RTE_INSTALL_DIR": str(source)},
            )
        # It opens its command line when its tables are filled.
        while not self.listens():
            if self.processes[-1].poll() is not None:
                raise SystemExit(f"DPDK's example program has ended; its last words:\n{log.read_text()[-2000:]}")
            time.sleep(0.2)

    def configure(self, rules):
        """Writes the files that the program reads."""
        with self.path("routes.txt").open("w") as file:
            file.writelines(entry(rule["address"], VERSION, 1) for rule in rules)
        places = range(len(FAR))
        self.path("ports.io").write_text(
            "".join(f"port in {place} ethdev net_af_packet{place} rxq 0 bsz 32\n" for place in places)
            + "".join(f"port out {place} ethdev net_af_packet{place} txq 0 bsz 32\n" for place in places)
        )
        commands = [
            f"pipeline codegen {HERE}/router.spec {self.path('router.c')}",
            f"pipeline libbuild {self.path('router.c')} {self.path('router.so')}",
            "mempool POOL buffer 2304 pool 32K cache 256 cpu 0",
            *(f"ethdev net_af_packet{place} rxq 1 512 POOL txq 1 512 promiscuous on" for place in places),
            f"pipeline PIPELINE build lib {self.path('router.so')} io {self.path('ports.io')} numa 0",
            f"pipeline PIPELINE table routes add {self.path('routes.txt')}",
            "pipeline PIPELINE commit",
            "thread 1 pipeline PIPELINE enable",
        ]
        self.path("pipeline.cli").write_text("\n".join(commands) + "\n")

    def listens(self):
        words = ["ip", "netns", "exec", NAMESPACE, HERE / "pipeline_cli.py", str(self.port)]
        return subprocess.run(words, stderr=subprocess.DEVNULL).returncode == 0

    def control(self, rule):
        """The command that updates a rule."""
        rule = {"address": rule["address"], "port": 1}
        return [HERE / "pipeline_cli.py", self.port, "--rule", json.dumps(rule), "--file", self.path("update.txt")]


def built_pipeline():
    """DPDK's example program, built, and DPDK's source."""
    folder = ROOT / "target/dpdk"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return swx.build(folder)
    except Missing as missing:
        raise SystemExit(str(missing)) from None


def disjoint(rules):
    """The rules without those that lie within another one."""
    left = []
    for rule in sorted(rules, key=lambda rule: (rule["value"], rule["mask"])):
        if not left or rule["value"] & left[-1]["mask"] != left[-1]["value"]:
            left.append(rule)
    return left


def rules(binary, kind, count):
    """The rules of the evaluations."""
    words = [binary, "tester", "evaluate", "-", "--print-rules", kind, "--rules", str(count)]
    printed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in printed.splitlines()]
