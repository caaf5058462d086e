"""A P4 network function between a source and a sink, for the measurements of the P4VNF paper: its use cases, and the node that runs them.

source and sink: the tester ═ veth ═ [ the function, one worker ] ═ veth ═ the tester
"""

import contextlib
import json
import os
import pathlib
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "functions/lib"), str(ROOT / "benches")]
from bed import FOREBAY, Bed, Failed, statistics, stop, wait_until  # noqa: E402
from precedence import precedence  # noqa: E402
from program import executable  # noqa: E402

# The tester may be another build than the function.
TESTER = os.environ.get("FOREBAY_TESTER", FOREBAY)
SWITCH_PROCESSOR, TESTER_PROCESSOR = 0, 1
SIZES = [64, 128, 256, 512, 1024, 1448]
# A tunnelled packet is longer than the others.
SHORTEST_TUNNELLED = 128
BIG = 1000


def traffic(frame, flows='count = 16, vary = "source-port"', back=False):
    """The test file of a use case; `back`: from port 2 to port 1."""
    start, end = (2, 1) if back else (1, 2)
    return f"""
description = "P4VNF"
duration_s = 0.5
warm_up_s = 0.1
[device]
interfaces = ["1@uplink", "2@downlink"]
[[traffic]]
name = "test"
from = {start}
to = {end}
pps = ${{PPS}}
frame = {{ {frame} }}
{f"flows = {{ {flows} }}" if flows else ""}
[search]
min_pps = ${{PPS}}e-4
goals = [{{ name = "pdr", loss_ratio = 0.005, exceed_ratio = 0.5, initial_trial_s = 0.2, final_trial_s = 0.4, duration_sum_s = 1.2, width = 0.05 }}]
"""


def udp(**values):
    words = ["bytes = ${BYTES}", *(f'{key} = "{value}"' for key, value in values.items())]
    return f"udp = {{ {', '.join(words)} }}"


def two_tables(count):
    """Ethernet forwarding: `count` source and destination addresses."""
    lines = [
        f"add src_mac hdr.ethernet.src_addr:{0x020000000100 + index:#014x} known(port:1)" for index in range(count)
    ]
    lines += [
        f"add dst_mac hdr.ethernet.dst_addr:{0x020000010000 + index:#014x} forward(port:2)" for index in range(count)
    ]
    frame = udp() + ', source_mac = "02:00:00:00:01:00", destination_mac = "02:00:00:01:00:00"'
    return "\n".join(lines), traffic(frame, f'count = {count}, vary = "destination-mac"')


def routing(count):
    """IPv4 routing: `count` routes of 24 bits, two source addresses, two next hops."""
    lines = [
        f"add src_mac hdr.ethernet.src_addr:{address:#014x} NoAction()" for address in (0x020000000001, 0x020000000002)
    ]
    lines += [
        f"add ipv4_lpm hdr.ipv4.dst_addr:{0x0A000000 + (index << 8):#010x}/24 set_next_hop(next_hop:{1 + index % 2})"
        for index in range(count)
    ]
    lines += [
        f"add next_hops meta.next_hop:{hop} forward(src_addr:0x0200000001FE, dst_addr:0x020000000102, port:2)"
        for hop in (1, 2)
    ]
    frame = udp(destination="10.0.0.0") + ', source_mac = "02:00:00:00:00:01"'
    # Addresses are counted up: 256 of them hit one route of 24 bits.
    return "\n".join(lines), traffic(frame, f'count = {256 * count}, vary = "destination"')


def load_balancing():
    """A UDP service with two back ends behind NAT."""
    lines = [
        "add own_ipv4 hdr.ipv4.dst_addr:0xc633640a NoAction()",
        "add services_ipv4 hdr.ipv4.dst_addr:0xc633640a meta.protocol:17 meta.service_port:80 set_service(service:1, idle_seconds:300)",
        "add next_hops meta.next_hop:2 to_port(port:2, src_mac:0x020000000101, dst_mac:0x020000000111, mtu:1600)",
        *(f"add maglev meta.service:1 slot:{slot} set_backend(backend:{1 + slot % 2})" for slot in range(7)),
        *(
            f"add backends meta.backend:{number} nat(next_hop:2, dst_addr:0xffff0a01000{number}, port:8080)"
            for number in (1, 2)
        ),
        "register_write alive 1 1",
        "register_write alive 2 1",
    ]
    frame = udp(source="192.0.2.7", destination="198.51.100.10") + ', destination_mac = "02:00:00:00:00:01"'
    return "\n".join(lines), traffic(frame.replace("bytes =", "destination_port = 80, bytes ="))


def user_plane():
    """The session of the function's demonstration, without its limits of the rate."""
    lines = (ROOT / "functions/upf/entries.stf").read_text().splitlines()
    return "\n".join(line for line in lines if not line.startswith("meter_set_rates"))


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(length, protocol, source, destination):
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, length, 0, 0x4000, 64, protocol, 0, source, destination)
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:]


def tunnelled(size):
    """The headers of an uplink frame: GTP-U with the container of a PDU session, and UDP of the UE inside."""
    inner_length = size - 14 - 20 - 8 - 16
    inner = ipv4(inner_length, 17, bytes([10, 45, 0, 2]), bytes([203, 0, 113, 9])) + struct.pack(
        "!HHHH", 1000, 9, inner_length - 20, 0
    )
    gtpu = struct.pack("!BBHI", 0x34, 255, inner_length + 8, 0x1001) + bytes([0, 0, 0, 0x85, 1, 0x10, 9, 0])
    outer = ipv4(size - 14, 17, bytes([192, 168, 3, 2]), bytes([192, 168, 3, 1])) + struct.pack(
        "!HHHH", 2152, 2152, size - 34, 0
    )
    return bytes.fromhex("020000000301 020000000302 0800") + outer + gtpu + inner


def cases():
    """Use case -> program, macros, entries, traffic for a frame size."""
    router = 'destination_mac = "02:00:00:00:00:01"'
    same = lambda text: lambda size: text  # noqa: E731
    l2, l2_traffic = two_tables(2)
    l2big, l2big_traffic = two_tables(BIG)
    l3, l3_traffic = routing(2)
    l3big, l3big_traffic = routing(BIG)
    balancer, balancer_traffic = load_balancing()
    entries = lambda path: (ROOT / path / "entries.stf").read_text()  # noqa: E731
    down = traffic(udp(destination="10.45.0.2") + ', destination_mac = "02:00:00:00:06:01"', back=True)
    up = lambda size: traffic(f'hex = {{ headers = "{tunnelled(size).hex()}", bytes = ${{BYTES}} }}', "")  # noqa: E731
    nat = traffic(udp(source="10.0.0.5", destination="192.0.2.9") + f", {router}")
    return {
        "PortFWD": ("programs/portfwd", [], entries("programs/portfwd"), same(traffic(udp()))),
        "L2": ("programs/l2fwd", [], l2, same(l2_traffic)),
        "L2big": ("programs/l2fwd", [], l2big, same(l2big_traffic)),
        "L3": ("programs/l3fwd", [], l3, same(l3_traffic)),
        "L3big": ("programs/l3fwd", [], l3big, same(l3big_traffic)),
        "NAT": ("functions/nat44", [], entries("functions/nat44"), same(nat)),
        "Load balancing": ("functions/load_balancer", ["SLOTS=7"], balancer, same(balancer_traffic)),
        "5G UPF, downlink": ("functions/upf", [], user_plane(), same(down)),
        "5G UPF, uplink": ("functions/upf", [], user_plane(), up),
    }


def functions():
    """The functions that are no use cases of the paper, in the same form, with the traffic of `forebay vnf measure`. What iot_mapping carries is not mapped."""
    found = {}
    for name in ("firewall", "int", "iot_mapping", "l2_switch", "router"):
        folder = ROOT / "functions" / name
        test = folder / "measure.toml"
        text = test.read_text() if test.exists() else traffic(udp())
        found[name] = (f"functions/{name}", [], (folder / "entries.stf").read_text(), lambda size, text=text: text)
    return found


def size_of(case, size):
    """The frame size of a use case for that of the others."""
    return max(size, SHORTEST_TUNNELLED) if case.endswith("uplink") else size


class Node:
    """Namespaces for the function and for the tester, joined by two veth pairs."""

    def __init__(self, bed, kind=""):
        self.bed, self.kind = bed, kind
        self.switch, self.tester = bed.namespace("node"), bed.namespace("tester")
        for near, far in (("n1", "t1"), ("n2", "t2")):
            bed.link(self.switch, near, self.tester, far, mtu=1700)
        self.number = 0

    def pinned(self, processor, *words):
        """On one processor, before what else the machine does."""
        return ["nice", "-n", "-20", "taskset", "-c", processor, *words]

    def file(self, name, text):
        path = self.bed.folder / name
        path.write_text(text)
        return path

    @contextlib.contextmanager
    def function(self, folder, defines, entries, interfaces=("n1", "n2")):
        """The function while it runs; its last statistics are in `self.last` then."""
        program = ROOT / folder / f"{pathlib.Path(folder).name}.p4"
        words = [FOREBAY, "run", program, "--entries", self.file("entries.stf", entries), "--json"]
        for number, interface in enumerate(interfaces, 1):
            words += ["-i", f"{number}@{self.kind}{interface}"]
        for define in defines:
            words += ["-D", define]
        self.number += 1
        process = self.switch.start(*self.pinned(SWITCH_PROCESSOR, *words), name=f"function-{self.number}")
        self.wait_for_start(process)
        yield process
        stop(process)
        self.last = statistics(process)

    def wait_for_start(self, process):
        wait_until(
            lambda: process.poll() is not None or b'"ports"' in process.output.read_bytes(), "the function starts", 60
        )
        if process.poll() is not None:
            raise Failed(process.output.read_text()[-800:])

    @contextlib.contextmanager
    def chain(self, folder, defines, entries):
        """Two functions in a row, joined by a third veth pair."""
        self.switch.run("ip", "link", "add", "name", "m1", "type", "veth", "peer", "name", "m2")
        for name in ("m1", "m2"):
            self.switch.run("ip", "link", "set", name, "mtu", "1700", "up")
        with (
            self.function(folder, defines, entries, ("n1", "m1")),
            self.function(folder, defines, entries, ("m2", "n2")),
        ):
            yield
        self.switch.run("ip", "link", "del", "m1")

    @contextlib.contextmanager
    def wire(self):
        """No function: the tester's ports are the ends of one veth pair. Gives their names."""
        self.tester.run("ip", "link", "add", "name", "w1", "mtu", "1700", "type", "veth", "peer", "name", "w2", "mtu", "1700")
        for name in ("w1", "w2"):
            self.tester.run("sysctl", "-qw", f"net.ipv6.conf.{name}.addr_gen_mode=1")
            self.tester.run("ip", "link", "set", name, "up")
        yield ("w1", "w2")
        self.tester.run("ip", "link", "del", "w1")

    @contextlib.contextmanager
    def redirect(self):
        """The kernel in the function's place, by XDP: it hands on frames as they are, in threads on the function's processor."""
        process = self.switch.start(sys.executable, ROOT / "experiments/p4vnf-node/redirect.py", "n1", "n2", name="redirect")
        wait_until(lambda: process.poll() is not None or b"ready" in process.output.read_bytes(), "frames are redirected")
        if process.poll() is not None:
            raise Failed(process.output.read_text()[-800:])
        # Frames are redirected only to an interface whose other end has a program or this.
        for name in ("t1", "t2"):
            self.tester.run("ethtool", "-K", name, "gro", "on")
        before = napi_threads()
        for name in ("n1", "n2"):
            self.switch.run("sh", "-c", f"echo 1 > /sys/class/net/{name}/threaded")
        for thread in napi_threads() - before:
            os.sched_setaffinity(thread, {SWITCH_PROCESSOR})
            os.setpriority(os.PRIO_PROCESS, thread, -20)
        yield
        for name in ("n1", "n2"):
            self.switch.run("sh", "-c", f"echo 0 > /sys/class/net/{name}/threaded")
        for name in ("t1", "t2"):
            self.tester.run("ethtool", "-K", name, "gro", "off")
        stop(process)

    @contextlib.contextmanager
    def steered_bridge(self):
        """The bridge, with what comes handed to the function's processor (receive packet steering)."""
        with self.bridge():
            self.steer(1 << SWITCH_PROCESSOR)
            yield
            self.steer(0)

    def steer(self, processors):
        for name in ("n1", "n2"):
            self.switch.run("sh", "-c", f"echo {processors:x} > /sys/class/net/{name}/queues/rx-0/rps_cpus")

    @contextlib.contextmanager
    def bridge(self):
        """The kernel's own bridge in the function's place, which forwards in the tester's context."""
        self.switch.run("ip", "link", "add", "name", "bridge0", "type", "bridge", "mcast_snooping", "0")
        for name in ("n1", "n2"):
            self.switch.run("ip", "link", "set", name, "master", "bridge0")
        self.switch.run("ip", "link", "set", "bridge0", "up")
        yield
        self.switch.run("ip", "link", "del", "bridge0")

    def measure(self, traffic, sizes, ends=("t1", "t2")):
        """What passes, by `forebay vnf measure` between these interfaces."""
        found = []
        for size in sizes:
            test = self.file("traffic.toml", traffic(size))
            words = [TESTER, "vnf", "measure", "portfwd", "--traffic", test, "--sizes", size, "--json"]
            words += ["--uplink", f"{self.kind}{ends[0]}", "--downlink", f"{self.kind}{ends[1]}"]
            said = self.tester.run(*self.pinned(TESTER_PROCESSOR, *words), check=False, timeout=300)
            place = said.find("{")
            answer = json.loads(said[place:]) if place >= 0 else {}
            if "sizes" not in answer:
                raise Failed(said[-500:])
            found += answer["sizes"]
            print(f"    {found[-1]}", flush=True)
        return found

    def run_test(self, text, size, pps, seconds):
        """One trial of the tester; gives its results."""
        text = (
            text.replace("${BYTES}", str(size))
            .replace("${PPS}", str(float(pps)))
            .replace("duration_s = 0.5", f"duration_s = {seconds}")
        )
        out = self.bed.folder / "results.json"
        out.unlink(missing_ok=True)
        words = [TESTER, "tester", "run", self.file("traffic.toml", text), "--out", out]
        words += ["--interface", f"1@{self.kind}t1", "--interface", f"2@{self.kind}t2"]
        said = self.tester.run(*self.pinned(TESTER_PROCESSOR, *words), check=False, timeout=300)
        if not out.exists():
            raise Failed(said[-500:])
        return json.loads(out.read_text())


def napi_threads():
    """The kernel's threads for single interfaces (`napi/NAME-NUMBER`), on any namespace's account."""
    found = set()
    for comm in pathlib.Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if comm.read_text().startswith("napi/"):
                found.add(int(comm.parent.name))
    return found


def machine():
    """What the figures are of."""
    model = next(
        line for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")
    )
    version = subprocess.run([executable(FOREBAY), "--version"], capture_output=True, text=True).stdout.split("\n")[0]
    return f"{model.split(':', 1)[1].strip()}, {os.cpu_count()} processors, Linux {os.uname().release}, {version}"


@contextlib.contextmanager
def node(kind):
    if os.geteuid() != 0:
        raise SystemExit("needs root: it makes network namespaces")
    with Bed() as bed, precedence():
        yield Node(bed, kind)
