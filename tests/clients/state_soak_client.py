"""A switch with --save-state is killed again and again (SIGKILL) while its disk is full half of the time.

    state_soak_client.py        SOAK times (an environment variable) 1,000 kills

The folder is on a tmpfs of one megabyte, which a thread fills and frees. A controller writes all entries of a table in
one atomic batch, always with another value, and pushes programs with another cookie. After each start the cookie and
the value must be those of the last acknowledged call, or of a call after it that was not acknowledged; and all entries
must have one value. The disk may be full at the start, too: the switch starts all the same, and acknowledges nothing
before there is room.
"""

import atexit
import collections
import os
import pathlib
import queue
import random
import signal
import subprocess
import tempfile
import threading
import time

import grpc
from google.protobuf import text_format
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc

from testbed import ADDRESS, FOREBAY, HERE, build, command, expect

PROGRAM = HERE / "soak.p4"
ENTRIES = 12
# A state of the switch: the cookie of its program, and the value in all entries, or None when there are no entries.
State = collections.namedtuple("State", "cookie value")


class Disk:
    """A small tmpfs that a thread fills and frees."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        command("mount", "-t", "tmpfs", "-o", "size=1m", "none", str(self.folder))
        atexit.register(lambda: subprocess.run(["umount", "-l", str(self.folder)]))
        self.filler = self.folder / "filler"
        self.full_s = self.free_s = 0.0
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.change)
        self.thread.start()

    def fill(self):
        """Fills the disk but for some bytes, so that writes also end in the middle."""
        with self.filler.open("ab", buffering=0) as file:
            for size in (65536, 4096):
                try:
                    while file.write(bytes(size)) == size:
                        pass
                except OSError:
                    pass
            spare = random.choice([0, 0, 4096, 8192])
            file.truncate(max(file.tell() - spare, 0))

    def change(self):
        while not self.ends.is_set():
            start = time.monotonic()
            self.ends.wait(random.uniform(0.01, 0.12))
            self.free_s += time.monotonic() - start
            start = time.monotonic()
            self.fill()
            self.ends.wait(random.uniform(0.01, 0.12))
            self.filler.unlink()
            self.full_s += time.monotonic() - start

    def stop(self):
        self.ends.set()
        self.thread.join()


class Controller:
    """A primary controller of a switch that may be killed at any moment."""

    def __init__(self, ids):
        self.table, self.action = ids
        self.channel = grpc.insecure_channel(ADDRESS, options=[("grpc.use_local_subchannel_pool", 1)])
        self.stub = p4runtime_pb2_grpc.P4RuntimeStub(self.channel)
        self.requests = queue.SimpleQueue()
        self.answers = self.stub.StreamChannel(iter(self.requests.get, None))
        message = p4runtime_pb2.StreamMessageRequest()
        message.arbitration.device_id = 1
        message.arbitration.election_id.low = 1
        self.requests.put(message)
        next(self.answers)

    def close(self):
        self.requests.put(None)
        self.answers.cancel()
        self.channel.close()

    def write(self, value, how):
        request = p4runtime_pb2.WriteRequest(device_id=1, atomicity=p4runtime_pb2.WriteRequest.DATAPLANE_ATOMIC)
        request.election_id.low = 1
        for number in range(ENTRIES):
            entry = request.updates.add(type=how).entity.table_entry
            entry.table_id = self.table
            entry.match.add(field_id=1).exact.value = number.to_bytes(6, "big")
            entry.action.action.action_id = self.action
            entry.action.action.params.add(param_id=1, value=value.to_bytes(2, "big"))
        self.stub.Write(request)

    def push(self, config, cookie, keeps_entries):
        actions = p4runtime_pb2.SetForwardingPipelineConfigRequest
        how = actions.RECONCILE_AND_COMMIT if keeps_entries else actions.VERIFY_AND_COMMIT
        request = actions(device_id=1, action=how, config=config)
        request.election_id.low = 1
        request.config.cookie.cookie = cookie
        self.stub.SetForwardingPipelineConfig(request)

    def state(self):
        """The state of the switch, and whether its entries are those of one batch."""
        request = p4runtime_pb2.GetForwardingPipelineConfigRequest(device_id=1)
        request.response_type = p4runtime_pb2.GetForwardingPipelineConfigRequest.COOKIE_ONLY
        config = self.stub.GetForwardingPipelineConfig(request).config
        request = p4runtime_pb2.ReadRequest(device_id=1)
        request.entities.add().table_entry.table_id = self.table
        entries = [entity.table_entry for answer in self.stub.Read(request) for entity in answer.entities]
        values = {int.from_bytes(entry.action.action.params[0].value, "big") for entry in entries}
        is_whole = len(entries) in (0, ENTRIES) and len(values) < 2
        return State(config.cookie.cookie, values.pop() if values else None), is_whole


class Session:
    """The states that the switch may have after each start."""

    def __init__(self, config, ids, disk):
        self.config, self.ids, self.disk = config, ids, disk
        # The first is acknowledged, the others are not; the switch may have any of them.
        self.possible = [State(0, None)]
        self.values, self.cookies = 0, 0
        self.counts = collections.Counter()

    def start(self, program):
        words = [FOREBAY, "run", str(program), "--engine", "interp", "--grpc", ADDRESS, "--stats-interval", "0"]
        words += ["--save-state", str(self.disk.folder / "state")]
        process = subprocess.Popen(words, stderr=subprocess.PIPE)
        atexit.register(process.kill)
        for line in process.stderr:
            if line.startswith(b"P4Runtime:"):
                threading.Thread(target=process.stderr.read, daemon=True).start()
                return process
        # Only the first start may fail: nothing can be kept yet.
        process.wait()
        return None

    def call(self, controller, state, action):
        """A call that leads to a state; returns whether the switch has it now."""
        self.possible.append(state)
        try:
            action(controller)
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.INTERNAL:
                self.counts["in force, not kept"] += 1
                return True
            if error.code() == grpc.StatusCode.UNAVAILABLE and "nothing was done" in error.details():
                self.possible.pop()
                self.counts["refused"] += 1
                return False
            if error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
                raise ConnectionError from error
            raise
        self.possible = [state]
        self.counts["acknowledged"] += 1
        return True

    def work(self, controller, now):
        """Calls until the switch is gone. `now` is the state that it has."""
        while True:
            self.values += 1
            if random.random() < 0.08:
                self.cookies += 1
                keeps_entries = random.random() < 0.5
                after = State(self.cookies, now.value if keeps_entries else None)
                cookie = self.cookies
                done = self.call(controller, after, lambda to: to.push(self.config, cookie, keeps_entries))
            else:
                after = State(now.cookie, self.values % 500)
                how = p4runtime_pb2.Update.INSERT if now.value is None else p4runtime_pb2.Update.MODIFY
                value = after.value
                done = self.call(controller, after, lambda to: to.write(value, how))
            now = after if done else now

    def life(self, program):
        """One start, and one kill."""
        process = self.start(program)
        if process is None:
            expect(self.counts["lives"] == 0, "only a switch without any state may not start on a full disk")
            return
        self.counts["lives"] += 1
        controller = Controller(self.ids)
        now, is_whole = controller.state()
        expect_quietly(is_whole, f"a batch is there in part after {self.counts}")
        expect_quietly(now in self.possible, f"{now} is none of {self.possible} after {self.counts}")
        self.counts["loaded with a call that was not acknowledged"] += now != self.possible[0]
        self.possible = [now]
        killer = threading.Timer(random.uniform(0.0, 0.4), process.send_signal, [signal.SIGKILL])
        killer.start()
        try:
            self.work(controller, now)
        except ConnectionError:
            pass
        killer.join()
        process.wait()
        controller.close()


def expect_quietly(condition, what):
    if not condition:
        expect(False, what)


def main(kills):
    seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
    random.seed(seed)
    command("ip", "link", "set", "lo", "up")
    folder = tempfile.mkdtemp()
    info = text_format.Parse(build(PROGRAM, folder).read_text(), p4info_pb2.P4Info())
    actions = {action.preamble.alias: action.preamble.id for action in info.actions}
    program = pathlib.Path(folder) / "ir.txt"
    config = p4runtime_pb2.ForwardingPipelineConfig(p4info=info, p4_device_config=program.read_bytes())
    disk = Disk()
    session = Session(config, (info.tables[0].preamble.id, actions["set_generation"]), disk)
    start = time.monotonic()
    try:
        while session.counts["lives"] < kills:
            session.life(program)
    finally:
        disk.stop()
    share = 100 * disk.full_s / (disk.full_s + disk.free_s)
    counts = ", ".join(f"{name}: {count}" for name, count in session.counts.items() if name != "lives")
    expect(True, f"{kills} kills in {time.monotonic() - start:.0f} s, the disk full {share:.0f} % of the time: 0 lost, 0 half-applied")
    print(f"  calls {counts} (seed {seed})", flush=True)


main(max(int(1000 * float(os.environ.get("SOAK", "0.02"))), 2))
