"""The common part of the functions' control programs: options, the compiled program, a connection as primary
controller."""

import argparse
import asyncio
import contextlib
import datetime
import json
import logging
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import typing

try:
    import finsy as fy
    import finsy.p4client
    import grpc
    from finsy.proto import p4r
    from finsy.switch import SwitchFailFastError
except ModuleNotFoundError as error:
    raise SystemExit(
        f"{error.name} is missing: `python3 -m venv env && env/bin/pip install finsy==0.30` installs it; then `env/bin/python {sys.argv[0]} ...`"
    ) from None

import forms

# Codes of calls without an answer: what they wanted may have been done or not.
UNANSWERED = (fy.GRPCStatusCode.UNAVAILABLE, fy.GRPCStatusCode.DEADLINE_EXCEEDED, fy.GRPCStatusCode.CANCELLED)
# Of time-outs and of options, in seconds: idle times of entries are nanoseconds in 64 bits.
SECONDS_MAX = 1_000_000
# The most that a call may take. finsy gives ten seconds, in which not even a quarter of a million entries can be read on a
# busy machine.
CALL_SECONDS = 600
finsy.p4client._DEFAULT_RPC_TIMEOUT = CALL_SECONDS
# Between two looks at the ports of a switch.
LINK_SECONDS = 0.1
INSERT, MODIFY, DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE


class Ended(Exception):
    """The control program cannot go on with this connection; the text says why."""


def options(about):
    """The options that every control program has."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--grpc", default="127.0.0.1:9559", metavar="ADDRESS", help="the switch (127.0.0.1:9559)")
    return parser


def seconds(least):
    """An option of seconds: `least` or more, also with a fraction."""

    def parse(text):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not least <= value <= SECONDS_MAX:
            raise argparse.ArgumentTypeError(f"`{text}`: a number from {least:g} to {SECONDS_MAX:,} is right")
        return value

    return parse


class Log:
    """Events as lines of JSON, at the end of a file or on standard output."""

    def __init__(self, path):
        self.path = path
        self.file = None
        # Lines that were not written because of an error, since the last one that was.
        self.lost = 0
        self.open()

    def open(self):
        """Opens the file, again after log rotation has given it another name."""
        if self.path is None:
            return
        try:
            # Without a buffer: a line that cannot be written does not hold up later ones.
            file = self.path.open("ab", buffering=0)
        except OSError as error:
            raise forms.Wrong(f"{self.path}: {error.strerror}") from None
        if self.file is not None:
            self.file.close()
        self.file = file

    def note(self, event, **fields):
        time = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"time": time, "event": event, **fields})
        if self.file is None:
            print(line, flush=True)
            return
        try:
            self.file.write(f"{line}\n".encode())
        except OSError as error:
            if self.lost == 0:
                print(f"{self.path}: {error.strerror}: events are lost", flush=True)
            self.lost += 1
            return
        if self.lost != 0:
            print(f"{self.path}: {self.lost} events are lost", flush=True)
            self.lost = 0


def run(main):
    """Runs a control program. An error in its file, of the switch or of the command `forebay` is printed as one
    line."""
    # What finsy logs besides are tracebacks of the same errors.
    logging.getLogger("finsy").setLevel(logging.CRITICAL + 1)
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass
    except (forms.Wrong, Ended) as error:
        raise SystemExit(f"{error}") from None
    except FileNotFoundError as error:
        raise SystemExit(f"{error.filename}: no such file or command; forebay must be in the PATH, or named by $FOREBAY") from None
    except subprocess.CalledProcessError as error:
        raise SystemExit(failure_of(error)) from None
    except fy.P4ClientError as error:
        raise SystemExit(said_of(error)) from None
    except SwitchFailFastError as error:
        reason = error.__context__
        raise SystemExit(f"{reason}" if isinstance(reason, Ended) else f"the connection fails: {reason}") from None


def failure_of(error):
    """What a command says that has failed, as one line."""
    lines = (error.stderr or "").strip().splitlines() or ["without a message"]
    return f"{' '.join(map(str, error.cmd))}: {lines[0]}"


def said_of(error):
    """The error of a switch, or the reason why none has answered."""
    if error.code == fy.GRPCStatusCode.UNAVAILABLE:
        return f"no switch answers: {error.message}; `forebay run ... --grpc` serves controllers at port 9559, --grpc names another address"
    # Of an atomic batch all other updates are aborted, each with a message.
    details = [one.message for one in error.details.values() if one.canonical_code != fy.GRPCStatusCode.ABORTED]
    return f"the switch refuses: {'; '.join(details[:3]) or error.message}"


@contextlib.contextmanager
def refusals_reported(what):
    """The program goes on when the switch refuses a call of the body. A call without an answer still ends it: started
    again, it reads what the switch has."""
    try:
        yield
    except fy.P4ClientError as error:
        if error.code in UNANSWERED:
            raise
        print(f"{what}: {said_of(error)}", flush=True)


async def whenever(event, action):
    """Runs `action` after each signal. It does all or nothing: a wrong file, or one that the switch refuses, is reported
    and changes nothing."""
    while True:
        await event.wait()
        event.clear()
        try:
            with refusals_reported("nothing is changed"):
                await action()
        except forms.Wrong as wrong:
            print(f"nothing is changed: {wrong}", flush=True)


def build(program, folder, *defines):
    """Compiles a program; returns the paths of its P4Info and of its intermediate representation."""
    words = [os.environ.get("FOREBAY", "forebay"), "build", str(program), "-o", str(folder)]
    for define in defines:
        words += ["-D", define]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return pathlib.Path(folder) / "p4info.txtpb", pathlib.Path(folder) / "ir.txt"


def channels_without_paths():
    """Lets gRPC name the host of a channel `localhost`. It would name it by the path of a unix: address, which HTTP/2
    does not allow; finsy has no option for it."""
    connect = grpc.aio.insecure_channel

    def insecure_channel(address, options=None, **others):
        return connect(address, options=[*(options or []), ("grpc.default_authority", "localhost")], **others)

    grpc.aio.insecure_channel = insecure_channel


@contextlib.asynccontextmanager
async def controlled(program, address, *defines):
    """A switch that runs this program, compiled with these macros.

    A switch that runs it already keeps its entries: `Entries` takes over what an earlier run has written.
    """
    if address.startswith("unix:"):
        channels_without_paths()
    with tempfile.TemporaryDirectory() as folder:
        p4info, blob = build(program, folder, *defines)
        settings = fy.SwitchOptions(p4info=p4info, p4blob=blob, fail_fast=True)
        async with fy.Switch(pathlib.Path(program).stem, address, settings) as switch, connection_kept(switch):
            send_in_turn(switch._p4client)
            yield switch


def send_in_turn(client):
    """Lets messages for the stream of a switch wait for each other: acknowledgements of digests, packets. finsy sends them
    at once, and gRPC ends a stream to which two tasks write at the same time."""
    send, turn = client.send, asyncio.Lock()

    async def in_turn(message):
        async with turn:
            await send(message)

    client.send = in_turn


@contextlib.asynccontextmanager
async def connection_kept(switch):
    """Ends the body with `Ended` when the switch ends the connection. finsy would leave it waiting for messages."""
    body, lost = asyncio.current_task(), asyncio.Event()

    def end(_):
        lost.set()
        body.cancel()

    switch.ee.add_listener(fy.SwitchEvent.CHANNEL_DOWN, end)
    try:
        yield
    except asyncio.CancelledError:
        if not lost.is_set():
            raise
        raise Ended("the switch has ended the connection; this program, started again, takes over what it has") from None
    finally:
        switch.ee.remove_listener(fy.SwitchEvent.CHANNEL_DOWN, end)


async def write(switch, updates, *, at_once=False):
    """Does all of these updates, pairs of type and entity, or none of them.

    Packets may see a part of them before all are done. With `at_once` they do not, which costs a copy of each table.
    """
    schema = switch.p4info
    request = p4r.WriteRequest(
        device_id=switch.device_id,
        updates=[p4r.Update(type=kind, entity=fits(one, schema)) for kind, one in updates],
        atomicity=p4r.WriteRequest.DATAPLANE_ATOMIC if at_once else p4r.WriteRequest.ROLLBACK_ON_ERROR,
    )
    # The methods of finsy that write have no option for the atomicity.
    if request.updates:
        await switch._p4client.request(request)


def fits(entity, schema):
    """An entity as a message. A value that the program has no room for is a mistake in the file."""
    try:
        return entity.encode(schema)
    except ValueError as error:
        raise forms.Wrong(f"the program cannot have this: {error}") from None


async def listen_to_digests(switch, name, *, max_list_size=128, max_timeout_ns=50_000_000):
    """Has the switch send digests of this name. An earlier run may have done so."""
    wanted = fy.P4DigestEntry(
        name, max_list_size=max_list_size, max_timeout_ns=max_timeout_ns, ack_timeout_ns=1_000_000_000
    )
    configured = {one.digest_id async for one in switch.read(fy.P4DigestEntry())}
    await (switch.modify if name in configured else switch.insert)([wanted])


async def links(switch):
    """Gives, at first and whenever it changes, which ports of the switch are up: number -> whether it is. finsy follows
    them by gNMI, but has no event for it."""
    before = None
    while True:
        now = {port.id: port.up for port in switch.ports}
        if now != before:
            before = now
            yield now
        await asyncio.sleep(LINK_SECONDS)


def short(name):
    """The last part of the name of a table, an action or a field, without quotes."""
    return name.rpartition(".")[2]


def split(entity):
    """An encoded entity as two byte strings that can be compared: what identifies it, and its content."""
    name = type(entity)()
    name.CopyFrom(entity)
    if entity.HasField("table_entry"):
        entry = name.table_entry
        entry.action.action.params.sort(key=lambda parameter: parameter.param_id)
        said = entry.action.SerializeToString(deterministic=True), entry.idle_timeout_ns
        for field in ("action", "idle_timeout_ns", "counter_data", "meter_config", "meter_counter_data", "metadata"):
            entry.ClearField(field)
        entry.match.sort(key=lambda field: field.field_id)
    else:
        entry = name.packet_replication_engine_entry
        kind = "clone_session_entry" if entry.HasField("clone_session_entry") else "multicast_group_entry"
        said = getattr(entity.packet_replication_engine_entry, kind).SerializeToString(deterministic=True)
        getattr(entry, kind).ClearField("replicas")
    return name.SerializeToString(deterministic=True), said


def key_of(one):
    """What identifies an entry, for people."""
    if not isinstance(one, fy.P4TableEntry):
        return f"{one!r}"
    fields = ", ".join(f"{short(name)} {value}" for name, value in (one.match or {}).items())
    return f"table {one.table_id}, {fields or 'everything'}"


class Written(typing.NamedTuple):
    new: int
    changed: int
    removed: int

    def __str__(self):
        return f"{self.new} new entries, {self.changed} changed, {self.removed} removed"


class Entries:
    """The entries of a control program in the switch. Those that an earlier run has written are its own, too.

    Only what differs is written, so that traffic goes on when a control program starts again.
    """

    # Updates of one write, which is one message.
    BATCH = 1 << 16

    def __init__(self, switch):
        self.switch = switch
        # Identity of an entry -> (its content, the entry).
        self.written = {}
        # Entries as they were passed, which are not encoded again: encoding takes most of the time when few of many
        # entries change.
        self.encoded = {}

    async def take_over(self, *, learnt=(), is_ours=lambda entry: True):
        """Reads what the switch has: entries of all tables but those that packets alone fill, groups, clone sessions.

        `is_ours` decides about entries of tables that packets fill, too.
        """
        wanted = [
            fy.P4TableEntry(table.alias)
            for table in self.switch.p4info.tables
            if not table.is_const and table.alias not in learnt
        ]
        async for one in self.switch.read([*wanted, fy.P4MulticastGroupEntry(), fy.P4CloneSessionEntry()]):
            if is_ours(one):
                name, said = split(one.encode(self.switch.p4info))
                self.written[name] = said, one

    def present(self, table):
        """The entries of a table as they are read: fields of the match have their short names."""
        schema = self.switch.p4info
        entries = [one for _, one in self.written.values() if isinstance(one, fy.P4TableEntry) and one.table_id == table]
        return [fy.P4TableEntry.decode(one.encode(schema), schema) for one in entries]

    async def apply(self, entries, *, first=(), also=(), at_once=False):
        """Makes these the entries of the switch, and does the updates `first` before and `also` after that; returns how
        many entries were written. When the switch refuses one, nothing is changed.

        New ones are written in their order, and before others are removed. With `at_once` no packet passes by entries of
        both files.
        """
        wanted = self.identified(entries)
        updates = self.updates_to(wanted)
        before = dict(self.written)
        for at in range(0, max(len(updates), 1), self.BATCH):
            part = updates[at : at + self.BATCH]
            earlier = first if at == 0 else ()
            later = also if at + self.BATCH >= len(updates) else ()
            try:
                await write(self.switch, [*earlier, *((kind, one) for kind, _, _, one in part), *later], at_once=at_once)
            except fy.P4ClientError as error:
                if at and error.code not in UNANSWERED:
                    await self.restore(before)
                raise
            self.keep(part)
        counted = [sum(kind == one for kind, *_ in updates) for one in (INSERT, MODIFY, DELETE)]
        return Written(*counted)

    def has(self, one):
        """Whether an entry with the identity of this one is written."""
        return split(fits(one, self.switch.p4info))[0] in self.written

    def identified(self, entries):
        """Identity of each entry -> (its content, the entry)."""
        wanted, encoded = {}, {}
        for one in entries:
            given = repr(one)
            name, said = encoded[given] = self.encoded.get(given) or split(fits(one, self.switch.p4info))
            if name in wanted and wanted[name][0] != said:
                raise forms.Wrong(f"two different entries for one key: {key_of(one)}")
            wanted[name] = said, one
        self.encoded = encoded
        return wanted

    def updates_to(self, wanted):
        """What must be written to have these: type, identity, content and entry of each update."""
        written = self.written
        new = [(INSERT, name, *one) for name, one in wanted.items() if name not in written]
        changed = [
            (MODIFY, name, *one) for name, one in wanted.items() if name in written and one[0] != written[name][0]
        ]
        gone = [(DELETE, name, *one) for name, one in reversed(written.items()) if name not in wanted]
        return [*new, *changed, *gone]

    def keep(self, updates):
        for kind, name, said, one in updates:
            if kind == DELETE:
                del self.written[name]
            else:
                self.written[name] = said, one

    async def restore(self, before):
        """Takes back the batches that were done before one was refused."""
        try:
            while updates := self.updates_to(before)[: self.BATCH]:
                await write(self.switch, [(kind, one) for kind, _, _, one in updates])
                self.keep(updates)
        except fy.P4ClientError as error:
            raise Ended(f"a part of the file is written, and cannot be taken back: {said_of(error)}") from None


def mac(text):
    """A MAC address as a number."""
    return int(text.replace(":", ""), 16)
