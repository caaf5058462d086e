"""The common part of the functions' control programs: options, the compiled program, a connection as primary
controller."""

import argparse
import asyncio
import contextlib
import os
import pathlib
import subprocess
import tempfile
import typing

import finsy as fy
import forms
import grpc


def options(about):
    """The options that every control program has."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--grpc", default="127.0.0.1:9559", metavar="ADDRESS", help="the switch (127.0.0.1:9559)")
    return parser


def run(main):
    """Runs a control program. An error in its file, of the switch or of the command `forebay` is printed as one
    line."""
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass
    except forms.Wrong as wrong:
        raise SystemExit(f"{wrong}") from None
    except FileNotFoundError as error:
        raise SystemExit(f"{error.filename}: no such file or command; forebay must be in the PATH, or named by $FOREBAY") from None
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or "").strip().splitlines() or ["without a message"]
        raise SystemExit(f"{' '.join(map(str, error.cmd))}: {lines[0]}") from None
    except fy.P4ClientError as error:
        raise SystemExit(said_of(error)) from None


def said_of(error):
    """The error of a switch, or the reason why none has answered."""
    if error.code == fy.GRPCStatusCode.UNAVAILABLE:
        return f"no switch answers: {error.message}; `forebay run ... --grpc` serves controllers at port 9559, --grpc names another address"
    details = [one.message for one in error.details.values()] if error.details else []
    return f"the switch refuses: {'; '.join(details[:3]) or error.message}"


async def whenever(event, action):
    """Runs `action` after each signal. A wrong file is reported, and changes nothing."""
    while True:
        await event.wait()
        event.clear()
        try:
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
        async with fy.Switch(pathlib.Path(program).stem, address, settings) as switch:
            yield switch


async def listen_to_digests(switch, name, *, max_list_size=128, max_timeout_ns=50_000_000):
    """Has the switch send digests of this name. An earlier run may have done so."""
    wanted = fy.P4DigestEntry(
        name, max_list_size=max_list_size, max_timeout_ns=max_timeout_ns, ack_timeout_ns=1_000_000_000
    )
    configured = {one.digest_id async for one in switch.read(fy.P4DigestEntry())}
    await (switch.modify if name in configured else switch.insert)([wanted])


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

    # Entries of one write.
    BATCH = 4096

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

    async def apply(self, entries, *, removes_first=False):
        """Makes these the entries of the switch; returns how many were written.

        New ones are written in their order, and before others are removed; `removes_first` closes what is closed before
        anything opens.
        """
        wanted, encoded = {}, {}
        for one in entries:
            given = repr(one)
            name, said = encoded[given] = self.encoded.get(given) or split(one.encode(self.switch.p4info))
            wanted[name] = said, one
        self.encoded = encoded
        new = [one for name, (_, one) in wanted.items() if name not in self.written]
        changed = [
            one for name, (said, one) in wanted.items() if name in self.written and said != self.written[name][0]
        ]
        gone = [one for name, (_, one) in reversed(self.written.items()) if name not in wanted]
        writes = [(self.switch.insert, new), (self.switch.modify, changed), (self.switch.delete, gone)]
        for write, part in reversed(writes) if removes_first else writes:
            for at in range(0, len(part), self.BATCH):
                await write(part[at : at + self.BATCH])
        self.written = wanted
        return Written(len(new), len(changed), len(gone))


def mac(text):
    """A MAC address as a number."""
    return int(text.replace(":", ""), 16)
