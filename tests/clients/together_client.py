"""Features that are tested alone elsewhere, all at once: what one of them waits for must not wait for another.

    together_client.py          TOGETHER seconds (an environment variable; 6 without it) for each of two switches

Packets add entries to a table and hit entries of another, some of them are cloned. Meanwhile controllers over P4Runtime and
Thrift write entries, also ones that are refused, alone and in batches, and read all of them. One switch logs every packet and
captures it; the other one has several workers, keeps what packets learn, serves metrics, and writes statistics into a pipe
that nobody reads. Every call must be answered, packets must pass all the time, the switch must end when it is told to, and
start again with every entry that was acknowledged.
"""

import os
import pathlib
import queue
import random
import subprocess
import tempfile
import threading
import time
import urllib.request

import grpc
import thriftpy2
from google.protobuf import text_format
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc
from thriftpy2.protocol import TBinaryProtocolFactory, TMultiplexedProtocolFactory
from thriftpy2.rpc import make_client
from thriftpy2.transport import TBufferedTransportFactory

from testbed import ADDRESS, FOREBAY, HERE, Wire, build, command, ethernet, expect, wait_for

bmv2 = thriftpy2.load(str(HERE / "bmv2.thrift"), module_name="bmv2_thrift")
PROGRAM = HERE / "together.p4"
THRIFT_PORT = 9090
METRICS = "127.0.0.1:9100"
SECONDS = float(os.environ.get("TOGETHER", 6))
# The longest time for the answer to a call, and for the end of the switch.
PATIENCE_S = 10.0
# Destinations: those of ENTRIES_HIT are there from the beginning, others come and go.
ENTRIES_HIT = 16
ENTRIES = 512


def packed(number):
    return number.to_bytes(6, "big")


class Controller:
    """The primary controller over P4Runtime. Several threads may use it."""

    def __init__(self, p4info):
        self.p4info = p4info
        self.table = next(table for table in p4info.tables if table.preamble.alias == "destinations")
        self.actions = {action.preamble.alias: action.preamble.id for action in p4info.actions}
        self.channel = grpc.insecure_channel(ADDRESS, options=[("grpc.use_local_subchannel_pool", 1)])
        self.stub = p4runtime_pb2_grpc.P4RuntimeStub(self.channel)
        self.requests = queue.SimpleQueue()
        self.stream = self.stub.StreamChannel(iter(self.requests.get, None))
        message = p4runtime_pb2.StreamMessageRequest()
        message.arbitration.device_id = 1
        message.arbitration.election_id.low = 1
        self.requests.put(message)
        next(self.stream)

    def close(self):
        self.requests.put(None)
        self.stream.cancel()
        self.channel.close()

    def update(self, kind, number, action="forward"):
        update = p4runtime_pb2.Update(type=kind)
        entry = update.entity.table_entry
        entry.table_id = self.table.preamble.id
        entry.match.add(field_id=1).exact.value = packed(number)
        if kind != p4runtime_pb2.Update.DELETE:
            entry.action.action.action_id = self.actions[action]
            entry.action.action.params.add(param_id=1, value=b"\2")
        return update

    def write(self, updates, atomicity=p4runtime_pb2.WriteRequest.CONTINUE_ON_ERROR):
        """Whether the switch did all updates."""
        request = p4runtime_pb2.WriteRequest(device_id=1, atomicity=atomicity, updates=updates)
        request.election_id.low = 1
        try:
            self.stub.Write(request, timeout=PATIENCE_S)
            return True
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
                raise SystemExit("FAILED: a write was not answered") from error
            return False

    def clone_to_port_2(self):
        update = p4runtime_pb2.Update(type=p4runtime_pb2.Update.INSERT)
        session = update.entity.packet_replication_engine_entry.clone_session_entry
        session.session_id = 1
        session.replicas.add(egress_port=2, instance=1)
        self.write([update])

    def destinations(self):
        """The destinations that have an entry."""
        request = p4runtime_pb2.ReadRequest(device_id=1)
        # All tables, so that learned entries are read, too.
        request.entities.add().table_entry.SetInParent()
        entities = [entity for answer in self.stub.Read(request, timeout=PATIENCE_S) for entity in answer.entities]
        entries = [entity.table_entry for entity in entities]
        own = [entry for entry in entries if entry.table_id == self.table.preamble.id]
        return {int.from_bytes(entry.match[0].exact.value, "big") for entry in own}


class Load:
    """Threads that use a switch at the same time, each doing one thing again and again."""

    def __init__(self):
        self.ends = threading.Event()
        self.counts = {}
        self.failures = []
        self.threads = []

    def again(self, name, act):
        def run():
            self.counts[name] = 0
            try:
                while not self.ends.is_set():
                    act()
                    self.counts[name] += 1
            except BaseException as failure:
                self.failures.append(f"{name}: {failure!r}")

        self.threads.append(threading.Thread(target=run, daemon=True))
        self.threads[-1].start()

    def stop(self):
        self.ends.set()
        for thread in self.threads:
            thread.join(timeout=2 * PATIENCE_S)
        stuck = [thread for thread in self.threads if thread.is_alive()]
        expect(not stuck and not self.failures, f"every call was answered {self.failures or ''}")
        print(f"  {self.counts}", flush=True)
        expect(all(self.counts.values()), "everything was done at least once")


def thrift_client():
    protocol = TMultiplexedProtocolFactory(TBinaryProtocolFactory(), "standard")
    transport = TBufferedTransportFactory()
    return make_client(
        bmv2.Standard, "127.0.0.1", THRIFT_PORT, proto_factory=protocol, trans_factory=transport, timeout=PATIENCE_S * 1000
    )


class Acknowledged:
    """What entries there must be, by the answers of the switch. One thread writes them one by one, another in batches."""

    def __init__(self, controller):
        self.controller = controller
        self.present = set()

    def write_one(self):
        """Inserts or deletes; half of it is refused."""
        number = random.randrange(ENTRIES_HIT, ENTRIES // 2)
        kind = random.choice([p4runtime_pb2.Update.INSERT, p4runtime_pb2.Update.DELETE])
        is_done = self.controller.write([self.controller.update(kind, number)])
        is_insertion = kind == p4runtime_pb2.Update.INSERT
        if is_done != (is_insertion != (number in self.present)):
            raise SystemExit(f"FAILED: an update of {number} was {'done' if is_done else 'refused'}")
        if is_done:
            (self.present.add if is_insertion else self.present.remove)(number)

    def write_batch(self):
        """Inserts and deletes the same entries; every third batch has an update that is refused, so none is done."""
        atomicity = random.choice([p4runtime_pb2.WriteRequest.ROLLBACK_ON_ERROR, p4runtime_pb2.WriteRequest.DATAPLANE_ATOMIC])
        first = random.randrange(ENTRIES // 2, ENTRIES - 8)
        updates = [self.controller.update(p4runtime_pb2.Update.INSERT, first + place) for place in range(8)]
        if random.randrange(3) == 0:
            expect_refused = [*updates, self.controller.update(p4runtime_pb2.Update.INSERT, 0)]
            if self.controller.write(expect_refused, atomicity):
                raise SystemExit("FAILED: a batch with a duplicate was done")
            return
        deletions = [self.controller.update(p4runtime_pb2.Update.DELETE, first + place) for place in range(8)]
        if not self.controller.write(updates, atomicity) or not self.controller.write(deletions, atomicity):
            raise SystemExit("FAILED: a batch was refused")


class Bench:
    """A switch with two ports and all the load."""

    def __init__(self, words, wires, **pipes):
        self.words = [FOREBAY, *words]
        self.wires, self.pipes = wires, pipes

    def start(self):
        self.process = subprocess.Popen(self.words, **self.pipes)
        wait_for(ADDRESS)

    def stop(self):
        since = time.monotonic()
        self.process.terminate()
        try:
            self.process.wait(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
        expect(self.process.returncode == 0, f"the switch ends when it is told to ({time.monotonic() - since:.1f} s)")

    def send(self):
        """Some packets, of which each tenth is from a source that was never seen."""
        for _ in range(20):
            source = random.randrange(1 << 46) if random.randrange(10) == 0 else random.randrange(1000)
            self.wires[1].send(ethernet(random.randrange(ENTRIES_HIT), source))
        time.sleep(0.005)

    def run(self, p4info, extra, look=lambda: None):
        """Puts the load on the switch, has a look when it has ended, and starts it again with what it has kept."""
        self.start()
        controller = Controller(p4info)
        controller.clone_to_port_2()
        hit = [
            controller.update(p4runtime_pb2.Update.INSERT, number, "forward_and_clone" if number % 4 == 0 else "forward")
            for number in range(ENTRIES_HIT)
        ]
        expect(controller.write(hit), "entries are written")
        acknowledged = Acknowledged(controller)
        client = thrift_client()
        load = Load()
        load.again("bursts sent", self.send)
        load.again("frames received", lambda: self.receive(load))
        load.again("writes", acknowledged.write_one)
        load.again("batches", acknowledged.write_batch)
        load.again("reads", controller.destinations)
        load.again("Thrift calls", lambda: self.call(client))
        for name, act in extra.items():
            load.again(name, act)
        time.sleep(SECONDS)
        load.stop()
        expected = acknowledged.present | set(range(ENTRIES_HIT))
        expect(controller.destinations() == expected, "the entries are those that were acknowledged")
        controller.close()
        client.close()
        self.stop()
        look()
        self.start()
        controller = Controller(p4info)
        expect(controller.destinations() == expected, "and are there after a restart")
        controller.close()
        self.stop()

    def receive(self, load):
        """The last packet of the load may have come before."""
        if not self.wires[2].receive(timeout=PATIENCE_S) and not load.ends.is_set():
            raise SystemExit(f"FAILED: no packet came for {PATIENCE_S} s")

    def call(self, client):
        """Reads a table and a counter, and adds an entry that exists."""
        client.bm_mt_get_entries(0, "TogetherIngress.destinations")
        client.bm_mt_read_counter(0, "TogetherIngress.destinations", 0)
        key = [bmv2.Param(type=bmv2.Compare.EXACT, exact=bmv2.Exact(packed(0)))]
        try:
            action = "TogetherIngress.forward"
            client.bm_mt_add_entry(0, "TogetherIngress.destinations", key, action, [b"\2"], bmv2.Options())
            raise SystemExit("FAILED: a duplicate was added")
        except bmv2.Refused:
            pass


def logging_switch(folder, wires, p4info):
    """A log of every packet, and captures of every port."""
    log = (folder / "console.log").open("wb")
    captures = folder / "captures"
    words = ["simple-switch", str(PROGRAM), *ports("", wires), "--device-id", "1", "--thrift-port", str(THRIFT_PORT)]
    words += ["--log-console", "--pcap", str(captures), "--save-state", str(folder / "state")]
    words += ["--", "--grpc-server-addr", ADDRESS]

    def look():
        sizes = {path.name: path.stat().st_size for path in captures.iterdir()}
        received, sent = sizes[f"{wires[1].near}_in.pcap"], sizes[f"{wires[2].near}_out.pcap"]
        expect(min(received, sent) > 100_000, "the captures have packets that came and went")
        expect((folder / "console.log").stat().st_size > 1_000_000, "the log has their ways")

    Bench(words, wires, stdout=log, stderr=log).run(p4info, {}, look)


def learning_switch(folder, wires, p4info):
    """Several workers, entries of packets that are kept, metrics, and statistics that nobody reads."""
    words = ["run", str(PROGRAM), *ports("packet:", wires), "--grpc", ADDRESS, "--thrift", str(THRIFT_PORT), "--workers", "2"]
    words += ["--json", "--stats-interval", "0.001", "--metrics", METRICS, "--delay-sample", "10"]
    words += ["--save-state", str(folder / "state"), "--save-learned", "--save-interval", "1"]
    extra = {"scrapes": lambda: urllib.request.urlopen(f"http://{METRICS}/metrics", timeout=PATIENCE_S).read()}
    Bench(words, wires, stdout=subprocess.PIPE).run(p4info, extra)


def ports(kind, wires):
    return [word for port, wire in wires.items() for word in ("-i", f"{port}@{kind}{wire.near}")]


command("ip", "link", "set", "lo", "up")
wires = {port: Wire(port) for port in (1, 2)}
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    p4info = text_format.Parse(build(PROGRAM, folder / "built").read_text(), p4info_pb2.P4Info())
    for name, switch in {"a log and captures": logging_switch, "learning and statistics": learning_switch}.items():
        print(f" {name}", flush=True)
        own = folder / switch.__name__
        own.mkdir()
        switch(own, wires, p4info)
