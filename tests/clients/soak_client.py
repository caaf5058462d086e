"""What controllers may do to a switch without harm: die in mid-batch, come and go, stay idle, send rubbish.

    soak_client.py              all of it, SOAK times (an environment variable) 10,000 sessions, 1,000 streams, 1 GB, 20 deaths
    soak_client.py writer N T A a primary controller with election id N that writes atomic batches until it is killed

Packets go round by a loopback port all the while: their rate is printed beside each step.
"""

import json
import os
import pathlib
import queue
import signal
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


def memory(process):
    lines = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


class Running:
    """`forebay run` with statistics as JSON, a port to send packets to, and one that is a loopback."""

    def __init__(self):
        command("ip", "link", "set", "lo", "up")
        wire = Wire(1)
        words = [FOREBAY, "run", str(PROGRAM), "-i", f"1@packet:{wire.near}", "-i", "3@loopback:"]
        words += ["--grpc", ADDRESS, "--json", "--stats-interval", "0.5"]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.received = []
        threading.Thread(target=self.listen, daemon=True).start()
        wait_for(ADDRESS)
        for number in range(16):
            wire.send(ethernet(number, number))

    def listen(self):
        for line in self.process.stdout:
            self.received.append((time.monotonic(), json.loads(line)["totals"]["received_packets"]))

    def rate(self, since):
        """Packets a second from a time on."""
        seen = [sample for sample in self.received if sample[0] >= since]
        if len(seen) < 2:
            return 0.0
        return (seen[-1][1] - seen[0][1]) / (seen[-1][0] - seen[0][0])


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
    expect(bool(seen - {0}), f"{count} primaries killed in mid-batch: all or none of each batch, and the backup took over")
    backup.close()


def sessions(count, process):
    before = None
    for number in range(1, count + 1):
        Controller(1000 + number).close()
        if number == max(count // 10, 1):
            before = memory(process)
    expect(memory(process) - before < 4096, f"{count} sessions; memory grew by {memory(process) - before} kB after the first tenth")


def idle(count, process):
    before = memory(process)
    streams = [Controller(1_000_000 + number) for number in range(count)]
    start = time.monotonic()
    streams[-1].stub.Capabilities(p4runtime_pb2.CapabilitiesRequest())
    took = time.monotonic() - start
    grown = memory(process) - before
    expect(took < 1, f"{count} idle streams: {grown / count:.1f} kB each, and a call takes {1000 * took:.1f} ms")
    for stream in streams:
        stream.close()


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
    channel.close()
    text = f"{megabytes} MB of malformed messages: {', '.join(sorted(codes))}; memory grew by at most {largest - before} kB"
    expect(codes and largest - before < 32 * 1024, text)


def main(scale):
    switch = Running()
    time.sleep(2)
    start = time.monotonic() - 1.5
    print(f"  alone: {switch.rate(start):.0f} packets a second", flush=True)
    steps = [
        lambda: deaths(max(int(20 * scale), 2)),
        lambda: sessions(max(int(10_000 * scale), 20), switch.process),
        lambda: idle(max(int(1_000 * scale), 20), switch.process),
        lambda: rubbish(max(int(1_000 * scale), 20), switch.process),
    ]
    for step in steps:
        start = time.monotonic()
        step()
        print(f"      {switch.rate(start):.0f} packets a second meanwhile", flush=True)
    start = time.monotonic()
    time.sleep(2.5)
    print(f"  alone again: {switch.rate(start):.0f} packets a second", flush=True)
    expect(switch.process.poll() is None, "the switch runs")
    switch.process.terminate()


if sys.argv[1:2] == ["writer"]:
    writer(*map(int, sys.argv[2:]))
else:
    main(float(os.environ.get("SOAK", "0.02")))
