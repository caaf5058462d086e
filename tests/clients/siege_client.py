"""Whether one controller can make the switch unusable for all others.

    siege_client.py [STEP...]   the steps: push, registers, idle, halves, deaf, reads, entries

During a step another client calls Capabilities again and again, and packets go through a veth pair. A step prints how
long the answers took, how much memory the switch has, and the longest time that a packet took. With SIEGE=1 the sizes
are those of the table in docs/p4runtime.md, without it a tenth. With SIEGE_RESULTS=FILE the results are written there
as JSON.

Times are printed, but checked only with SIEGE=1: on a busy machine they depend more on the machine than on the switch.
"""

import datetime
import json
import os
import pathlib
import queue
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

import grpc
from google.protobuf import text_format
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc

from testbed import ADDRESS, FOREBAY, HERE, Switch, build, ethernet, expect

FULL = bool(os.environ.get("SIEGE"))
SCALE = 1 if FULL else 10
MEGABYTE = 1 << 20
MEMORY_LIMIT_MB = 1024
# What the server keeps for controllers besides the state: messages under way, queues, programs being compiled.
MEMORY_MAX_MB = MEMORY_LIMIT_MB + 1024
ANSWER_MAX_MS = 50
DELAY_MAX_MS = 20
# Linux's number for an option that Python does not name.
SO_TIMESTAMPNS = 35
# The first of addresses, all of which have six bytes, and one that stands for all.
FIRST = 2 << 40
PLACE = 0x02_FE_DC_BA_98_76
# Between the first numbers of the frames of two steps.
NUMBERS_OF_A_STEP = 1_000_000
TO = bytes.fromhex("020000000002")
# A program that sends 60-byte frames through the socket that it is given, 500 a second, each with the time of its
# sending and its number, of which the first is given.
SENDER = """
import itertools, socket, sys, time
near = socket.socket(fileno=int(sys.argv[1]))
header = bytes.fromhex(sys.argv[2])
for number in itertools.count(int(sys.argv[3])):
    near.send((header[:14] + time.time_ns().to_bytes(8, "big") + number.to_bytes(4, "big")).ljust(60, bytes(1)))
    time.sleep(0.002)
"""
UNLIMITED = [
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
]


class Client:
    """A connection of its own."""

    def __init__(self):
        self.channel = grpc.insecure_channel(ADDRESS, options=UNLIMITED)
        self.stub = p4runtime_pb2_grpc.P4RuntimeStub(self.channel)

    def become_primary(self, election_id):
        self.requests = queue.SimpleQueue()
        self.answers = self.stub.StreamChannel(iter(self.requests.get, None))
        claim = p4runtime_pb2.StreamMessageRequest()
        claim.arbitration.device_id = 1
        claim.arbitration.election_id.low = election_id
        self.requests.put(claim)
        self.election_id = election_id
        expect(next(self.answers).arbitration.status.code == 0, "a controller is primary")

    def push(self, source, p4info, timeout=None):
        request = p4runtime_pb2.SetForwardingPipelineConfigRequest(device_id=1, action=3)
        request.election_id.low = self.election_id
        request.config.p4info.CopyFrom(p4info)
        request.config.p4_device_config = source.encode()
        self.stub.SetForwardingPipelineConfig(request, timeout=timeout)

    def insert(self, template, addresses):
        """Inserts an entry for each address, as the one of the template: what Python would encode one by one is
        copied."""
        request = p4runtime_pb2.WriteRequest(device_id=1)
        request.election_id.low = self.election_id
        one = p4runtime_pb2.WriteRequest(updates=[template]).SerializeToString()
        before, after = one.split(PLACE.to_bytes(6, "big"))
        updates = b"".join(before + address.to_bytes(6, "big") + after for address in addresses)
        call = self.channel.unary_unary("/p4.v1.P4Runtime/Write", bytes, p4runtime_pb2.WriteResponse.FromString)
        call(request.SerializeToString() + updates)


class Watch:
    """Measures what other clients observe during a step: answers, memory, packets."""

    def __init__(self, switch, first_number):
        self.switch, self.is_over, self.is_sent = switch, False, False
        self.answers, self.memory_mb, self.delays, self.numbers = [], 0, [], []
        self.first_number = first_number
        self.threads = [threading.Thread(target=each) for each in (self.ask, self.measure, self.send)]
        self.receiver = threading.Thread(target=self.receive)

    def __enter__(self):
        for thread in (self.receiver, *self.threads):
            thread.start()
        time.sleep(0.5)
        return self

    def __exit__(self, *_):
        time.sleep(0.5)
        self.is_over = True
        for thread in self.threads:
            thread.join()
        self.is_sent = True
        self.receiver.join()

    def ask(self):
        client = Client()
        client.stub.Capabilities(p4runtime_pb2.CapabilitiesRequest())
        while not self.is_over:
            began = time.monotonic()
            client.stub.Capabilities(p4runtime_pb2.CapabilitiesRequest())
            self.answers.append((time.monotonic() - began) * 1000)
            time.sleep(0.005)

    def measure(self):
        while not self.is_over:
            self.memory_mb = max(self.memory_mb, resident_mb(self.switch))
            time.sleep(0.05)

    def send(self):
        """Sends from a process of its own: in this one, sending would wait whenever another thread works."""
        near = self.switch.wires[1].socket.fileno()
        frame = ethernet(int.from_bytes(TO, "big"), 0x02_00_00_00_00_01)
        words = [sys.executable, "-c", SENDER, str(near), frame.hex(), str(self.first_number)]
        sender = subprocess.Popen(words, pass_fds=[near])
        while not self.is_over:
            time.sleep(0.05)
        sender.terminate()
        sender.wait()

    def receive(self):
        """Records when packets were sent, a time that they carry, and when they arrived, by the kernel's clock, so that
        pauses of this program do not matter. Ends when the sender has ended and no packet comes any more."""
        far = self.switch.wires[2].socket
        far.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        far.settimeout(0.2)
        while True:
            try:
                frame, control, _, (_, _, kind, *_) = far.recvmsg(2048, 64)
            except TimeoutError:
                if self.is_sent:
                    return
                continue
            number = int.from_bytes(frame[22:26], "big")
            if kind == socket.PACKET_OUTGOING or not 0 <= number - self.first_number < NUMBERS_OF_A_STEP:
                continue
            for level, option, data in control:
                if (level, option) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
                    seconds, nanoseconds = struct.unpack("qq", data)
                    arrived = seconds * 10**9 + nanoseconds
                    self.delays.append((arrived - int.from_bytes(frame[14:22], "big")) / 1e6)
                    self.numbers.append(number)

    def result(self):
        answers = sorted(self.answers)
        return {
            "answers": len(answers),
            "answer_median_ms": round(statistics.median(answers), 2),
            "answer_99_of_100_ms": round(answers[len(answers) * 99 // 100], 2),
            "answer_longest_ms": round(answers[-1], 2),
            "memory_mb": self.memory_mb,
            "packets": len(self.delays),
            "packets_lost": max(self.numbers, default=self.first_number - 1) + 1 - self.first_number - len(self.numbers),
            "packet_longest_ms": round(max(self.delays, default=0), 2),
        }


def resident_mb(switch):
    pages = int(pathlib.Path(f"/proc/{switch.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // MEGABYTE


def template(table, action, port=None, idle_s=0):
    """The insertion of an entry for the address `PLACE`."""
    update = p4runtime_pb2.Update(type=p4runtime_pb2.Update.INSERT)
    entry = update.entity.table_entry
    entry.table_id = table.preamble.id
    entry.match.add(field_id=1).exact.value = PLACE.to_bytes(6, "big")
    entry.action.action.action_id = action.preamble.id
    if port is not None:
        entry.action.action.params.add(param_id=1, value=bytes([port]))
    entry.idle_timeout_ns = idle_s * 10**9
    return update


class Siege:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.source = (HERE / "siege.p4").read_text()
        self.p4info = self.describe(self.source)
        options = ["--memory-limit", f"{MEMORY_LIMIT_MB}M"]
        self.switch = Switch(program=HERE / "siege.p4", options=options)
        self.results = {}
        self.connect()

    def connect(self):
        self.primary = Client()
        self.primary.become_primary(1)

    def describe(self, source):
        program = self.folder / "program.p4"
        program.write_text(source)
        info = p4info_pb2.P4Info()
        text_format.Parse(build(program, self.folder).read_text(), info)
        return info

    def object(self, kind, name):
        return next(each for each in getattr(self.p4info, kind) if each.preamble.alias == name)

    def step(self, name, attack):
        print(f"{name}: {attack.__doc__}", flush=True)
        began = time.monotonic()
        with Watch(self.switch, len(self.results) * NUMBERS_OF_A_STEP) as watch:
            told = attack()
        result = watch.result()
        result["seconds"] = round(time.monotonic() - began - 1, 1)
        result.update(told or {})
        print(f"  {json.dumps(result)}", flush=True)
        self.results[name] = result
        expect(self.switch.process.poll() is None, "the switch runs")
        expect(result["memory_mb"] < MEMORY_MAX_MB, f"its memory stays below {MEMORY_MAX_MB} MB")
        expect(result["packets"] > 0 and result["packets_lost"] == 0, "no packet is lost")
        if FULL:
            slow, delay = result["answer_99_of_100_ms"], result["packet_longest_ms"]
            print(f"  {'ok' if slow <= ANSWER_MAX_MS else 'SLOW'}: 99 of 100 answers within {slow} ms", flush=True)
            print(f"  {'ok' if delay <= DELAY_MAX_MS else 'SLOW'}: every packet within {delay} ms", flush=True)

    def push(self):
        """a program of many const entries is pushed, and the one before it again"""
        count = 200_000 // SCALE
        lines = "".join(f"            {address}: NoAction();\n" for address in range(count))
        table = self.source.index("table addresses")
        at = self.source.index("default_action", table)
        large = f"{self.source[:at]}const entries = {{\n{lines}        }}\n        {self.source[at:]}"
        began = time.monotonic()
        try:
            self.primary.push(large, self.p4info)
            outcome = "loaded"
        except grpc.RpcError as error:
            outcome = error.code().name
        pushed = time.monotonic() - began
        self.primary.push(self.source, self.p4info)
        return {"const_entries": count, "outcome": outcome, "push_s": round(pushed, 1)}

    def registers(self):
        """a program with a thousand registers of 64 MB is pushed"""
        registers = "".join(f"    register<bit<32>>(1 << 24) r{index};\n" for index in range(1000))
        at = self.source.index("    action forward")
        try:
            self.primary.push(self.source[:at] + registers + self.source[at:], self.p4info)
            expect(False, "it is refused")
        except grpc.RpcError as error:
            expect("--memory-limit" in error.details(), "it is refused for its memory")
        return {"registers": 1000}

    def idle(self):
        """entries with a time-out of a second run out at once"""
        table, action = self.object("tables", "idle"), self.object("actions", "NoAction")
        count, seconds = 250_000 // SCALE, {}
        told = [0]

        def listen():
            try:
                for message in self.primary.answers:
                    told[0] += len(message.idle_timeout_notification.table_entry)
            except grpc.RpcError:
                # The stream ends with the switch.
                pass

        threading.Thread(target=listen, daemon=True).start()
        for idle_s, first in ((0, FIRST), (1, FIRST + count)):
            began = time.monotonic()
            for start in range(first, first + count, 1000):
                self.primary.insert(template(table, action, idle_s=idle_s), range(start, start + 1000))
            seconds[idle_s] = time.monotonic() - began
        time.sleep(3)
        self.primary.push(self.source, self.p4info)
        return {
            "entries": count,
            "insert_s": round(seconds[0], 2),
            "insert_with_time_out_s": round(seconds[1], 2),
            "told": told[0],
        }

    def halves(self):
        """twelve connections hold three messages of 100 MB each, without their last bytes"""
        body = b"\0" + (100 * MEGABYTE).to_bytes(4, "big")
        held = [HalfSender(body, 100 * MEGABYTE // SCALE) for _ in range(12)]
        for each in held:
            each.start()
        time.sleep(20 if FULL else 5)
        sent = sum(each.sent for each in held) // MEGABYTE
        for each in held:
            each.stop()
        return {"connections": len(held), "messages": 3 * len(held), "taken_mb": sent}

    def deaf(self):
        """a primary does not read its stream while packets for it arrive"""
        deaf = Client()
        deaf.become_primary(10)
        frame = ethernet(1, 2, kind=0x88B5, payload=b"x" * 1400)
        end, sent = time.monotonic() + (20 if FULL else 4), 0
        while time.monotonic() < end:
            for _ in range(100):
                self.switch.wires[1].socket.send(frame)
            sent += 100
            time.sleep(0.001)
        deaf.channel.close()
        time.sleep(0.2)
        self.primary = Client()
        self.primary.become_primary(11)
        return {"packets_to_it": sent}

    def reads(self):
        """a connection reads a table of 10,000 entries a hundred times at once, again and again"""
        table, action = self.object("tables", "addresses"), self.object("actions", "forward")
        count, asked = 10_000 // SCALE, 0
        for start in range(0, count, 1000):
            addresses = range(FIRST + start, FIRST + start + 1000)
            self.primary.insert(template(table, action, port=2), addresses)
        request = p4runtime_pb2.ReadRequest(device_id=1)
        request.entities.add().table_entry.table_id = table.preamble.id
        reader = Client()
        # Answers stay bytes: to decode them would take the time of the threads that measure.
        read = reader.channel.unary_stream("/p4.v1.P4Runtime/Read", p4runtime_pb2.ReadRequest.SerializeToString)
        end = time.monotonic() + (20 if FULL else 4)
        while time.monotonic() < end:
            calls = [read(request) for _ in range(100)]
            asked += len(calls)
            for call in calls:
                list(call)
        reader.channel.close()
        self.primary.push(self.source, self.p4info)
        return {"entries": count, "reads": asked}

    def entries(self):
        """a million entries of a 48-bit key with a 9-bit port"""
        table, action = self.object("tables", "addresses"), self.object("actions", "forward")
        count, before, began = 1_000_000 // SCALE, resident_mb(self.switch), time.monotonic()
        for start in range(0, count, 1000):
            addresses = range(FIRST + start, FIRST + start + 1000)
            self.primary.insert(template(table, action, port=2), addresses)
        seconds = time.monotonic() - began
        grown = resident_mb(self.switch) - before
        return {"entries": count, "insert_s": round(seconds, 1), "bytes_each": round(grown * MEGABYTE / count)}


class HalfSender:
    """A connection with three calls that never send all of their message, written without a library that would."""

    PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

    def __init__(self, prefix, size):
        self.prefix, self.size, self.sent, self.is_over = prefix, size, 0, False
        self.windows = {}
        self.thread = threading.Thread(target=self.run, daemon=True)

    def start(self):
        self.thread.start()

    def stop(self):
        self.is_over = True
        self.thread.join()

    @staticmethod
    def frame(kind, flags, stream, payload):
        return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload

    def headers(self, stream):
        def literal(name, value):
            return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value

        block = b"\x83\x86" + literal(b":path", b"/p4.v1.P4Runtime/Write") + literal(b":authority", b"x")
        block += literal(b"content-type", b"application/grpc") + literal(b"te", b"trailers")
        return self.frame(1, 4, stream, block)

    def run(self):
        host, port = ADDRESS.split(":")
        try:
            with socket.create_connection((host, int(port))) as connection:
                self.talk(connection)
        except OSError:
            # The switch has ended it.
            pass

    def talk(self, connection):
        connection.sendall(self.PREFACE + self.frame(4, 0, 0, b""))
        left = {}
        for stream in (1, 3, 5):
            connection.sendall(self.headers(stream) + self.frame(0, 0, stream, self.prefix))
            left[stream] = self.size - 1
            self.windows[stream] = 65535 - len(self.prefix)
        self.windows[0] = 65535 - 3 * len(self.prefix)
        connection.settimeout(0.05)
        buffered, chunk = b"", bytes(16384)
        while not self.is_over:
            try:
                received = connection.recv(1 << 16)
                if not received:
                    return
                buffered = self.take(connection, buffered + received, left)
            except TimeoutError:
                pass
            for stream in list(left):
                while (now := min(len(chunk), left[stream], self.windows[stream], self.windows[0])) > 0:
                    connection.sendall(self.frame(0, 0, stream, chunk[:now]))
                    left[stream] -= now
                    self.windows[stream] -= now
                    self.windows[0] -= now
                    self.sent += now

    def take(self, connection, buffered, left):
        """Handles frames of the switch: windows that have grown, calls that it has refused."""
        while len(buffered) >= 9 + (length := int.from_bytes(buffered[:3], "big")):
            kind, flags, stream = buffered[3], buffered[4], int.from_bytes(buffered[5:9], "big") & 0x7FFFFFFF
            payload, buffered = buffered[9 : 9 + length], buffered[9 + length :]
            if kind == 8:
                self.windows[stream] = self.windows.get(stream, 0) + int.from_bytes(payload, "big")
            elif kind == 4 and not flags & 1:
                for at in range(0, length, 6):
                    if payload[at : at + 2] == b"\0\4":
                        grown = int.from_bytes(payload[at + 2 : at + 6], "big") - 65535
                        for each in left:
                            self.windows[each] += grown
                connection.sendall(self.frame(4, 1, 0, b""))
            elif kind == 6 and not flags & 1:
                connection.sendall(self.frame(6, 1, 0, payload))
            elif kind == 3 or kind == 1 and flags & 1:
                left.pop(stream, None)
        return buffered


def main():
    siege = Siege()
    steps = sys.argv[1:] or ["push", "registers", "idle", "halves", "deaf", "reads", "entries"]
    for name in steps:
        if name == "entries":
            # Its memory is that of a switch that has freed none before.
            siege.switch.stop()
            siege.switch.start()
            siege.connect()
        siege.step(name, getattr(siege, name))
    results = os.environ.get("SIEGE_RESULTS")
    if results:
        machine = {"processors": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}
        version = subprocess.run([FOREBAY, "--version"], check=True, capture_output=True, text=True).stdout.strip()
        record = {"date": datetime.date.today().isoformat(), "version": version, "machine": machine, "steps": siege.results}
        pathlib.Path(results).write_text(json.dumps(record, indent=1) + "\n")
    siege.switch.stop()


main()
