"""A running switch with virtual Ethernet pairs, for tests with controllers that others wrote.

The test runs in a network namespace of its own (`run.py` makes it), so nothing has to be tidied up.
"""

import atexit
import os
import pathlib
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
FOREBAY = os.environ["FOREBAY"]
ADDRESS = "127.0.0.1:9559"
ETH_P_ALL = 3


def command(*words, output=None):
    subprocess.run(words, check=True, stdout=output)


def build(program, folder):
    """Compiles a program; gives the path of its P4Info."""
    command(FOREBAY, "build", str(program), "-o", str(folder), output=subprocess.DEVNULL)
    return pathlib.Path(folder) / "p4info.txtpb"


class Wire:
    """The far end of a port."""

    def __init__(self, port):
        self.near, self.far = f"sw{port}", f"host{port}"
        command("ip", "link", "add", self.near, "type", "veth", "peer", "name", self.far)
        for name in (self.near, self.far):
            pathlib.Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
            command("ip", "link", "set", name, "up")
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.bind((self.far, 0))

    def send(self, frame):
        self.socket.send(frame.ljust(60, b"\0"))

    def receive(self, timeout=1.0):
        """The next frame that the switch sends, or None."""
        end = time.monotonic() + timeout
        while (left := end - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                frame, (_, _, kind, *_) = self.socket.recvfrom(65536)
            except TimeoutError:
                return None
            if kind != socket.PACKET_OUTGOING:
                return frame
        return None


class Switch:
    """`forebay run` with ports 1 to `ports`."""

    def __init__(self, ports=2, program=None, options=()):
        command("ip", "link", "set", "lo", "up")
        self.wires = {port: Wire(port) for port in range(1, ports + 1)}
        words = [FOREBAY, "run"]
        words += [str(program)] if program else []
        for port, wire in self.wires.items():
            words += ["-i", f"{port}@packet:{wire.near}"]
        self.words = [*words, "--grpc", ADDRESS, "--stats-interval", "0", *options]
        atexit.register(self.stop)
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.words)
        wait_for(ADDRESS)

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=10)


def wait_for(address):
    host, port = address.rsplit(":", 1)
    for _ in range(200):
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"nobody listens on {address}")


def ethernet(destination, source, kind=0x1234, payload=b""):
    """A frame; addresses are numbers."""
    return destination.to_bytes(6, "big") + source.to_bytes(6, "big") + kind.to_bytes(2, "big") + payload


def skip(what):
    """Reports that a part cannot be tested here; a failure with `run.py --strict`."""
    if os.environ.get("FOREBAY_STRICT"):
        raise SystemExit(f"FAILED: skipped, though everything must be tested: {what}")
    print(f"  skipped: {what}", flush=True)


def expect(condition, what):
    """Ends the test with a failure unless the condition holds."""
    if not condition:
        raise SystemExit(f"FAILED: {what}")
    print(f"  ok: {what}", flush=True)
