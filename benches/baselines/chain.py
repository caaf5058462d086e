"""Network namespaces in a row, joined by virtual Ethernet pairs, gone at the end.

    sensors ─ out ═ in ─ stage 1 ─ out ═ in ─ stage 2 ─ out ═ in ─ server

Link i has the network 10.1.i.0/24, its left end 10.1.i.1 and its right end 10.1.i.2. Only the two ends of the row have
addresses unless `addressed`: a stage that is a switch is no party to the connection.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

SERVER_MAC = "02:00:00:00:01:02"
SENSORS_MAC = "02:00:00:00:01:01"
STOP_SECONDS = 5


def run(*words):
    """Runs a command that must succeed; otherwise the error has its output."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


class Node:
    """A namespace, with a folder for what runs in it."""

    def __init__(self, name, folder):
        self.name = name
        self.folder = folder
        folder.mkdir()
        run("ip", "netns", "add", name)
        self.run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
        run("ip", "-n", name, "link", "set", "lo", "up")

    def words(self, *words):
        """The words of a command that runs in the namespace."""
        return ["ip", "netns", "exec", self.name, *map(str, words)]

    def run(self, *words):
        return run(*self.words(*words))


class Chain:
    """The namespaces of one measurement, and the processes that it starts in them."""

    def __init__(self, stages, addressed):
        self.addressed = addressed
        self.folder = Path(tempfile.mkdtemp(prefix="forebay-baselines-"))
        self.processes = []
        self.nodes = []
        self.names = ["sensors", *(f"stage{i + 1}" for i in range(stages)), "server"]

    def __enter__(self):
        try:
            for name in self.names:
                self.nodes.append(Node(f"fb{os.getpid()}-{name}", self.folder / name))
            for link in range(len(self.nodes) - 1):
                self._join(link)
            self._address_ends()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _join(self, link):
        left, right = self.nodes[link], self.nodes[link + 1]
        run("ip", "-n", left.name, "link", "add", "out", "type", "veth", "peer", "name", "in", "netns", right.name)
        for node, interface, host in ((left, "out", 1), (right, "in", 2)):
            # Frames that a raw socket reads must have their checksums.
            node.run("ethtool", "-K", interface, "tx", "off")
            if self.addressed or node in (self.sensors, self.server):
                run("ip", "-n", node.name, "address", "add", f"10.1.{link}.{host}/24", "dev", interface)

    def _address_ends(self):
        run("ip", "-n", self.sensors.name, "link", "set", "out", "address", SENSORS_MAC)
        run("ip", "-n", self.server.name, "link", "set", "in", "address", SERVER_MAC)
        for node in self.nodes:
            for interface in {self.sensors: ["out"], self.server: ["in"]}.get(node, ["in", "out"]):
                run("ip", "-n", node.name, "link", "set", interface, "up")
        if self.addressed:
            return
        for node, interface, network, address, mac in (
            (self.sensors, "out", f"10.1.{self.last_link}.0/24", self.server_address, SERVER_MAC),
            (self.server, "in", "10.1.0.0/24", "10.1.0.1", SENSORS_MAC),
        ):
            if self.last_link > 0:
                run("ip", "-n", node.name, "route", "add", network, "dev", interface)
            run("ip", "-n", node.name, "neighbour", "replace", address, "lladdr", mac, "dev", interface)

    @property
    def sensors(self):
        return self.nodes[0]

    @property
    def server(self):
        return self.nodes[-1]

    @property
    def last_link(self):
        return len(self.names) - 2

    @property
    def server_address(self):
        return f"10.1.{self.last_link}.2"

    @property
    def destination(self):
        """The destination of sensors: the server, or the first stage if that is software with an address of its own."""
        return "10.1.0.2" if self.addressed else self.server_address

    def start(self, node, *words, log, env=None):
        """Starts a process in a namespace; its output goes to a file of the node's folder."""
        with open(node.folder / log, "w") as output:
            environment = {**os.environ, **(env or {})}
            process = subprocess.Popen(node.words(*words), stdout=output, stderr=output, env=environment)
        self.processes.append(process)
        return process

    def check(self):
        """Ends with the log of a process that has ended, since all run until they are stopped."""
        for process in self.processes:
            if process.poll() is not None:
                raise SystemExit(f"{' '.join(process.args[4:])}: ended with {process.returncode}; {self.logs()}")

    def logs(self):
        """The last lines of every log."""
        files = sorted(self.folder.glob("*/*.log"))
        return "\n".join(f"{file.name}: {file.read_text()[-500:]}" for file in files if file.stat().st_size > 0)

    def processor_seconds(self):
        """Processor time of the started processes, in seconds."""
        return sum(processor_seconds(process.pid) for process in self.processes)

    def stop(self):
        """Ends all processes; logs stay."""
        for process in reversed(self.processes):
            _stop(process)

    def __exit__(self, *_):
        self.stop()
        for node in self.nodes:
            subprocess.run(["ip", "netns", "del", node.name], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


def processor_seconds(pid):
    """Processor time of the threads of a process, in seconds."""
    # `ip netns exec` becomes the command itself, so the process is the one that was started. Threads that have ended
    # are missed.
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def _stop(process):
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
