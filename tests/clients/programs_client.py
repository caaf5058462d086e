"""The control programs of the repository: each sets its program up, and packets go as the program's STF tests say."""

import signal
import subprocess
import sys
import tempfile
import time

from testbed import ROOT, Switch, ethernet, expect

PROGRAMS = ROOT / "programs"


class Control:
    """A running control program."""

    def __init__(self, name, *words):
        script = PROGRAMS / name / "control.py"
        self.process = subprocess.Popen([sys.executable, str(script), *words], stdout=subprocess.PIPE, text=True)

    def wait_for(self, text):
        for line in self.process.stdout:
            if text in line:
                return
        raise SystemExit(f"FAILED: the control program ends without saying {text!r}")

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=10)


def same(received, wanted):
    """Whether a frame is as an STF file says; `*` stands for any digit, without `$` more may follow."""
    is_whole = wanted.endswith("$")
    digits = wanted.rstrip("$").replace(" ", "").lower()
    received = received.hex()
    if len(received) < len(digits) or (is_whole and len(received) != len(digits)):
        return False
    return all(want in ("*", have) for want, have in zip(digits, received))


def play(bed, path, ports=None):
    """Sends the packets of an STF file and checks what it expects; `ports` maps ports of the file to those of this
    test."""
    ports = ports or {}
    for wire in bed.wires.values():
        while wire.receive(0.1):
            pass
    for line in path.read_text().splitlines():
        command, _, rest = line.partition(" ")
        if command not in ("packet", "expect"):
            continue
        port, _, data = rest.strip().partition(" ")
        wire = bed.wires[ports.get(int(port), int(port))]
        if command == "packet":
            wire.socket.send(bytes.fromhex(data))
            continue
        received = wire.receive()
        if received is None or not same(received, data):
            raise SystemExit(f"FAILED: {path.name}: {line}: came {received and received.hex()}")
    print(f"  ok: {path.parent.name}: packets go as {path.name} says", flush=True)


def portfwd(bed):
    control = Control("portfwd", "1-2")
    control.wait_for("ready")
    control.stop()
    for near, far in ((1, 2), (2, 1)):
        bed.wires[near].send(ethernet(7, 8))
        expect((bed.wires[far].receive() or b"")[:14] == ethernet(7, 8), f"portfwd: from port {near} to port {far}")


def l3fwd(bed):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        text = (PROGRAMS / "l3fwd" / "routes.txt").read_text()
        file.write(text)
        file.flush()
        control = Control("l3fwd", file.name)
        control.wait_for("2 routes")
        play(bed, PROGRAMS / "l3fwd" / "l3fwd.stf")
        file.write("route 192.0.2.0/24 via 02:00:00:00:01:03 port 3 mac 02:00:00:00:01:fe\n")
        file.flush()
        control.process.send_signal(signal.SIGHUP)
        control.wait_for("3 routes")
        play(bed, PROGRAMS / "l3fwd" / "l3fwd.stf")
        expect(True, "l3fwd: routes are read again")
        control.stop()


def iot(bed):
    """The two pairs and their forms for a chip; 11 and 12 are loopback ports, port 3 is the timer's."""
    route = ["--route", "10.0.2.0/24,02:00:00:00:01:02,2", "--mac", "02:00:00:00:01:fe"]
    flows = ["--flow", "10.0.1.1,10.0.2.2,4001", "--flow", "10.0.1.2,10.0.2.2,4002"]
    for name, words, file, ports in (
        ("iot_aggregate", ["-D", "N=2"], "n2_s22", {}),
        ("iot_disaggregate", ["--messages", "2"], "multicast_n2_s22", {}),
        ("iot_aggregate_tofino", ["-D", "N=2", *flows], "n2_s22", {}),
        ("iot_disaggregate_tofino", ["--messages", "2"], "multicast_n2_s22", {}),
        ("iot_disaggregate_tofino", ["--messages", "2", "-D", "METHOD=1"], "resubmit_n2_s22", {}),
        ("iot_disaggregate_tofino", ["--messages", "2", "--lanes", "11,12"], "spread_n2_s22", {}),
        ("iot_aggregate_timed", ["-D", "N=2", "-D", "MAX_AGE=1000000000", "-D", "FLOWS=1", "-D", "TIMER_PORT=3"],
         "last_round_n2", {0: 1, 63: 3}),
        ("iot_disaggregate_mixed", ["--messages", "2"], "split_n2", {0: 1}),
    ):
        control = Control(name, *route, *words)
        control.wait_for("ready")
        control.stop()
        play(bed, PROGRAMS / name / f"{file}.stf", ports)


def l2fwd(bed):
    control = Control("l2fwd", "--ports", "1,2,3", "--age", "1")
    control.wait_for("ready")
    first, second = 0x020000000001, 0x020000000002
    bed.wires[1].send(ethernet(second, first))
    flooded = [(bed.wires[port].receive() or b"")[:14] for port in (2, 3)]
    expect(flooded == 2 * [ethernet(second, first)], "l2fwd: frames to unknown addresses are flooded")
    control.wait_for("is on port 1")
    bed.wires[2].send(ethernet(first, second))
    expect((bed.wires[1].receive() or b"")[:14] == ethernet(first, second), "l2fwd: an address was learned")
    expect(bed.wires[3].receive(0.3) is None, "l2fwd: frames to it are not flooded")
    control.wait_for("is on port 2")
    bed.wires[3].send(ethernet(second, first))
    control.wait_for("is on port 3")
    bed.wires[2].send(ethernet(first, second))
    expect((bed.wires[3].receive() or b"")[:14] == ethernet(first, second), "l2fwd: an address that moves is found")
    control.wait_for("is forgotten")
    control.wait_for("is forgotten")
    time.sleep(0.2)
    bed.wires[2].send(ethernet(first, second))
    expect((bed.wires[1].receive() or b"")[:14] == ethernet(first, second), "l2fwd: silent addresses are forgotten")
    control.stop()


def rendezvous(bed):
    """A unit between ports 1 and 3, with two loopback ports; port 2 is of no unit."""
    for name, outcome in (("p4qrs", "merged"), ("payloadpark", "returned"), ("recirculate", None)):
        words = ["-D", "RECIRCULATIONS=2", *(["--watch", "0.2"] if outcome else [])]
        control = Control(name, "1,11,12,3", *words)
        control.wait_for("ready")
        play(bed, PROGRAMS / name / "mix_n2.stf", {0: 1, 7: 2})
        if outcome:
            packets = sum(line.startswith("expect") for line in (PROGRAMS / name / "mix_n2.stf").open())
            control.wait_for(f"{outcome} {packets}")
            expect(True, f"{name}: {packets} packets are counted as {outcome}")
        control.stop()


def ciphers(bed):
    """Encryption by recirculation: from port 1 to port 2, round through port 11."""
    key = bytes(range(16)).hex()
    ports = {0: 1, 1: 2}
    for name, words, file in (
        ("aes", [key, "10.0.2.2=2"], "aes128"),
        ("ascon", [key, key, "02:00:00:00:00:fe=2", "--associated", "00010203"], "words1_rounds1_1"),
    ):
        control = Control(name, *words, "--recirculation-port", "11")
        control.wait_for("ready")
        play(bed, PROGRAMS / name / f"{file}.stf", ports)
        control.stop()


def mistakes(bed):
    """What cannot be done is said in one line."""
    for name, words, said in (
        ("portfwd", ["1-2", "--grpc", "127.0.0.1:1"], "no switch answers: "),
        ("portfwd", ["1-9999"], "invalid value for bitwidth 9"),
        ("chain", ["0=1", "set_tos:tos"], "a function is NAME or NAME:DATA=NUMBER"),
        ("iot_aggregate", ["--route", "10.0.2.0/24", "--mac", "02:00:00:00:01:fe"], "argument --route: invalid route value"),
    ):
        ran = subprocess.run([sys.executable, PROGRAMS / name / "control.py", *words], stderr=subprocess.PIPE, text=True)
        line = ran.stderr.splitlines()[-1]
        expect(ran.returncode in (1, 2) and said in line and "Traceback" not in ran.stderr, f"{name} {words[-1]}: {line[:80]}")
    for script in (PROGRAMS / "portfwd" / "control.py", ROOT / "functions" / "router" / "control.py"):
        # Without the folder of packages, as on a machine that has no finsy.
        ran = subprocess.run([sys.executable, "-S", script, "x"], stderr=subprocess.PIPE, text=True)
        is_said = ran.stderr.startswith("finsy is missing: ") and "pip install finsy" in ran.stderr
        expect(is_said, f"{script.parent.name}: says how finsy is installed")


bed = Switch(ports=3, options=["-i", "11@loopback:", "-i", "12@loopback:"])
for test in (portfwd, l3fwd, iot, l2fwd, rendezvous, ciphers, mistakes):
    test(bed)
