"""Controllers that die in mid-batch, come and go, stay idle or send rubbish must not harm a switch.

    soak_client.py              all of it, SOAK times (an environment variable) 10,000 sessions, 1,000 streams, 1 GB, 20 deaths
    soak_client.py writer N T A a primary controller with election id N that writes atomic batches until it is killed

Packets go round by a loopback port all the while. What each of them costs is the processor time of the thread that
forwards them, so that others on the same machine do not matter: it is measured while controllers are busy and while
they are not, in turn, and the medians are compared.
"""

import atexit
import json
import os
import pathlib
import queue
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import grpc
from google.protobuf import text_format
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc

from testbed import ADDRESS, FOREBAY, HERE, Wire, build, command, ethernet, expect, wait_for

PROGRAM = HERE / "soak.p4"
ENTRIES = 500
MEGABYTE = 1 << 20
# Times that a packet may cost more while controllers are busy: they share the processor's caches with it.
COST_MAX = 1.5
# What a step yields: whether a pause follows.
BUSY, PAUSE = False, True


def memory(process):
    lines = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


def ran_ns(file):
    """How long a thread has run, in nanoseconds (`/proc/PID/task/TID/schedstat`)."""
    return int(file.read_text().split()[0])


class Running:
    """`forebay run` with statistics as JSON, a port to send packets to, and one that is a loopback."""

    def __init__(self):
        command("ip", "link", "set", "lo", "up")
        wire = Wire(1)
        words = [FOREBAY, "run", str(PROGRAM), "-i", f"1@packet:{wire.near}", "-i", "3@loopback:"]
        words += ["--grpc", ADDRESS, "--json", "--stats-interval", "0.1"]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)
        self.samples = []
        wait_for(ADDRESS)
        for number in range(16):
            wire.send(ethernet(number, number))
        self.forwarding = self.busiest()
        threading.Thread(target=self.listen, daemon=True).start()

    def busiest(self):
        """The file with the running time of the forwarding thread, which runs most while packets go round."""
        folder = pathlib.Path(f"/proc/{self.process.pid}/task")
        files = [thread / "schedstat" for thread in folder.iterdir()]
        before = {file: ran_ns(file) for file in files}
        time.sleep(0.5)
        return max(files, key=lambda file: ran_ns(file) - before[file])

    def listen(self):
        for line in self.process.stdout:
            sample = ran_ns(self.forwarding)
            self.samples.append((time.monotonic(), sample, json.loads(line)["totals"]["received_packets"]))

    def cost(self, since):
        """Nanoseconds of the forwarding thread for each packet, from a time until now; None when nothing was seen."""
        seen = [sample for sample in self.samples if sample[0] >= since]
        if len(seen) < 2 or seen[-1][2] == seen[0][2]:
            return None
        return (seen[-1][1] - seen[0][1]) / (seen[-1][2] - seen[0][2])


class Costs:
    """What a packet costs while controllers are busy and while they are not."""

    def __init__(self, switch):
        self.switch, self.busy, self.quiet = switch, [], []

    def measure(self, step):
        """Runs a step. It yields when a period can be measured: whether controllers are idle in it."""
        start = time.monotonic()
        for is_quiet in step:
            self.add(self.busy, start)
            if is_quiet:
                start = time.monotonic()
                time.sleep(0.5)
                self.add(self.quiet, start)
            start = time.monotonic()

    def add(self, list, start):
        cost = self.switch.cost(start)
        if cost is not None:
            list.append(cost)

    def is_known(self):
        """Whether there was time to measure both."""
        return bool(self.busy and self.quiet)

    def ratio(self):
        """How much more a packet costs while controllers are busy, by the medians."""
        return statistics.median(self.busy) / statistics.median(self.quiet)

    def __str__(self):
        if not self.is_known():
            return "too short to measure what a packet costs meanwhile"
        quiet = statistics.quantiles(self.quiet, n=4) if len(self.quiet) > 1 else 3 * self.quiet
        return (
            f"a packet costs {statistics.median(self.busy):.1f} ns meanwhile, {quiet[1]:.1f} ns in the pauses "
            f"(half of {len(self.quiet)} pauses: {quiet[0]:.1f} to {quiet[2]:.1f}): ratio {self.ratio():.3f}"
        )


class Controller:
    """A controller that keeps its stream."""

    def __init__(self, election_id, table=0, action=0):
        self.election_id, self.table, self.action = election_id, table, action
        self.channel = grpc.insecure_channel(ADDRESS, options=[("grpc.use_local_subchannel_pool", 1)])
        self.stub = p4runtime_pb2_grpc.P4RuntimeStub(self.channel)
        self.requests = queue.SimpleQueue()
        self.answers = self.stub.StreamChannel(iter(self.requests.get, None))
        self.claim(election_id)
        self.status = next(self.answers).arbitration.status.code

    def claim(self, election_id):
        self.election_id = election_id
        message = p4runtime_pb2.StreamMessageRequest()
        message.arbitration.device_id = 1
        message.arbitration.election_id.low = election_id
        self.requests.put(message)

    def write(self, generation, how):
        request = p4runtime_pb2.WriteRequest(device_id=1, atomicity=p4runtime_pb2.WriteRequest.DATAPLANE_ATOMIC)
        request.election_id.low = self.election_id
        for number in range(ENTRIES):
            update = request.updates.add(type=how)
            entry = update.entity.table_entry
            entry.table_id = self.table
            match = entry.match.add(field_id=1)
            match.exact.value = number.to_bytes(6, "big")
            entry.action.action.action_id = self.action
            entry.action.action.params.add(param_id=1, value=generation.to_bytes(2, "big"))
        self.stub.Write(request)

    def generations(self):
        """The values that the entries of the table have, and how many entries there are."""
        request = p4runtime_pb2.ReadRequest(device_id=1)
        request.entities.add().table_entry.table_id = self.table
        entries = [entity.table_entry for answer in self.stub.Read(request) for entity in answer.entities]
        values = {int.from_bytes(entry.action.action.params[0].value, "big") for entry in entries}
        return values, len(entries)

    def close(self):
        self.requests.put(None)
        self.answers.cancel()
        self.channel.close()


def ids():
    with tempfile.TemporaryDirectory() as folder:
        info = text_format.Parse(build(PROGRAM, folder).read_text(), p4info_pb2.P4Info())
    actions = {action.preamble.alias: action.preamble.id for action in info.actions}
    return info.tables[0].preamble.id, actions["set_generation"]


def writer(election_id, table, action):
    """Writes the table again and again, with another value in all its entries each time."""
    controller = Controller(election_id, table, action)
    generation = 0
    while True:
        generation = (generation + 1) % 500
        controller.write(generation, p4runtime_pb2.Update.MODIFY)
        if generation == 1:
            print("writing", flush=True)


def deaths(count):
    table, action = ids()
    backup = Controller(1, table, action)
    backup.write(0, p4runtime_pb2.Update.INSERT)
    seen = set()
    for death in range(count):
        election = 2 * death + 10
        words = [sys.executable, __file__, "writer", str(election), str(table), str(action)]
        primary = subprocess.Popen(words, stdout=subprocess.PIPE)
        primary.stdout.readline()
        time.sleep(0.3 + 0.037 * death)
        primary.send_signal(signal.SIGKILL)
        primary.wait()
        backup.claim(election + 1)
        while next(answer for answer in backup.answers).arbitration.status.code != 0:
            pass
        values, entries = backup.generations()
        if len(values) != 1 or entries != ENTRIES:
            expect(False, f"a batch is there in part: {entries} entries with the values {values}")
        seen |= values
        backup.write(0, p4runtime_pb2.Update.MODIFY)
        yield PAUSE
    expect(bool(seen - {0}), f"{count} primaries killed in mid-batch: all or none of each batch, and the backup took over")
    backup.close()


def sessions(count, process):
    before = None
    for number in range(1, count + 1):
        Controller(1000 + number).close()
        if number == max(count // 10, 1):
            before = memory(process)
        if number % max(count // 40, 1) == 0:
            yield PAUSE
    expect(memory(process) - before < 4096, f"{count} sessions; memory grew by {memory(process) - before} kB after the first tenth")


def call_ms():
    """How long a call of a new controller takes, in milliseconds: the median of a hundred."""
    channel = grpc.insecure_channel(ADDRESS, options=[("grpc.use_local_subchannel_pool", 1)])
    stub = p4runtime_pb2_grpc.P4RuntimeStub(channel)
    took = []
    for _ in range(100):
        start = time.monotonic()
        stub.Capabilities(p4runtime_pb2.CapabilitiesRequest())
        took.append(1000 * (time.monotonic() - start))
    channel.close()
    return statistics.median(took)


def idle(count, process):
    yield from 10 * [PAUSE]
    before, alone_ms = memory(process), call_ms()
    # Only the first claims to be primary: a claim is reported to every other controller.
    streams = [Controller(1_000_000 - number) for number in range(count)]
    grown = memory(process) - before
    yield BUSY
    for _ in range(20):
        time.sleep(0.5)
        yield BUSY
    beside_ms = call_ms()
    text = f"a call takes {beside_ms:.2f} ms, {alone_ms:.2f} ms without them"
    expect(beside_ms < 5 * alone_ms + 1, f"{count} idle streams: {grown / count:.1f} kB each, and {text}")
    for stream in streams:
        stream.close()
    time.sleep(0.5)
    yield from 10 * [PAUSE]


def rubbish(megabytes, process):
    channel = grpc.insecure_channel(ADDRESS)
    calls = [channel.unary_unary(f"/p4.v1.P4Runtime/{name}", bytes, bytes) for name in ("Write", "SetForwardingPipelineConfig")]
    before, largest, codes = memory(process), 0, set()
    for number in range(megabytes):
        # Random bytes, and bytes that begin like a message.
        message = os.urandom(MEGABYTE) if number % 2 else b"\x22\xff\xff\x3f\x12" + os.urandom(MEGABYTE)
        try:
            calls[number % len(calls)](message)
        except grpc.RpcError as error:
            codes.add(error.code().name)
        largest = max(largest, memory(process))
        if number % max(megabytes // 40, 5) == 0:
            yield PAUSE
    channel.close()
    text = f"{megabytes} MB of malformed messages: {', '.join(sorted(codes))}; memory grew by at most {largest - before} kB"
    expect(codes and largest - before < 32 * 1024, text)


def main(scale):
    switch = Running()
    time.sleep(1)
    steps = [
        deaths(max(int(20 * scale), 2)),
        sessions(max(int(10_000 * scale), 20), switch.process),
        idle(max(int(1_000 * scale), 20), switch.process),
        rubbish(max(int(1_000 * scale), 20), switch.process),
    ]
    for step in steps:
        costs = Costs(switch)
        costs.measure(step)
        is_short = scale < 1 and not costs.is_known()
        expect(is_short or costs.ratio() < COST_MAX, str(costs))
    expect(switch.process.poll() is None, "the switch runs")
    switch.process.terminate()


if sys.argv[1:2] == ["writer"]:
    writer(*map(int, sys.argv[2:]))
else:
    main(float(os.environ.get("SOAK", "0.02")))
