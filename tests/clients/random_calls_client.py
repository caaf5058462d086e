"""Random P4Runtime calls against a model of what they do (p4runtime_model.py).

    random_calls_client.py [PROGRAM...]

Programs come from tests/stf, or are the given ones. For each, batches of random updates of all its entities are sent;
one of eight must be refused. Every code of every answer is compared, and after each batch everything is read. Then the
switch is killed or ended and started again with its saved state, or the program is pushed again to be reconciled, and
everything is read once more. RANDOM_SECONDS (30) is the duration, RANDOM_SEED (1) chooses the calls.
"""

import collections
import copy
import os
import pathlib
import queue
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time

import grpc
from google.protobuf import text_format
from google.rpc import status_pb2
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc

from p4runtime_model import DELETE, INSERT, MODIFY, OK, REFUSED, Model, part
from testbed import FOREBAY, ROOT

SECONDS = float(os.environ.get("RANDOM_SECONDS", "30"))
SEED = int(os.environ.get("RANDOM_SEED", "1"))
VERIFY_AND_COMMIT = p4runtime_pb2.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT
RECONCILE_AND_COMMIT = p4runtime_pb2.SetForwardingPipelineConfigRequest.RECONCILE_AND_COMMIT
CONTINUE, ROLLBACK, ATOMIC = range(3)
MatchField, ActionRef = p4info_pb2.MatchField, p4info_pb2.ActionRef
# Ids whose objects no program has.
NO_OBJECT = 0x00FFFFFF
SHOWN_MAX = 10


class NotForUs(Exception):
    """The program has fields that are no numbers."""


class Impossible(Exception):
    """There is no such update now."""


def encoded(number):
    return number.to_bytes(max(1, (number.bit_length() + 7) // 8), "big")


class Switch:
    """`forebay run --save-state` without ports."""

    def __init__(self, folder):
        self.folder, self.socket = folder, folder / "socket"
        self.start()

    def start(self):
        self.socket.unlink(missing_ok=True)
        words = [
            FOREBAY,
            "run",
            "--grpc",
            f"unix:{self.socket}",
            "--stats-interval",
            "0",
            "--save-state",
            self.folder / "state",
        ]
        with open(self.folder / "log", "a") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log)
        end = time.monotonic() + 20
        while not self.listens():
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"FAILED: the switch does not start: {(self.folder / 'log').read_text()[-1000:]}")
            time.sleep(0.01)
        options = [
            ("grpc.default_authority", "localhost"),
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.max_metadata_size", 1 << 20),
            ("grpc.max_receive_message_length", -1),
        ]
        self.channel = grpc.insecure_channel(f"unix:{self.socket}", options)
        self.stub = p4runtime_pb2_grpc.P4RuntimeStub(self.channel)
        self.requests = queue.SimpleQueue()
        self.answers = self.stub.StreamChannel(iter(self.requests.get, None))
        claim = p4runtime_pb2.StreamMessageRequest()
        claim.arbitration.device_id = claim.arbitration.election_id.low = 1
        self.requests.put(claim)
        next(self.answers)

    def listens(self):
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(str(self.socket)) == 0

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait()
        self.channel.close()

    def push(self, source, info, action=VERIFY_AND_COMMIT):
        request = p4runtime_pb2.SetForwardingPipelineConfigRequest(device_id=1, action=action)
        request.election_id.low = 1
        request.config.p4info.CopyFrom(info)
        request.config.p4_device_config = source
        self.stub.SetForwardingPipelineConfig(request)

    def write(self, updates, atomicity):
        """The code of each update, with its message."""
        request = p4runtime_pb2.WriteRequest(device_id=1, updates=updates, atomicity=atomicity)
        request.election_id.low = 1
        try:
            self.stub.Write(request)
            return [(OK, "")] * len(updates)
        except grpc.RpcError as error:
            details = dict(error.trailing_metadata()).get("grpc-status-details-bin", b"")
            errors = []
            for each in status_pb2.Status.FromString(details).details:
                errors.append(p4runtime_pb2.Error())
                each.Unpack(errors[-1])
            if len(errors) != len(updates):
                raise
            return [(each.canonical_code, each.message) for each in errors]

    def read(self, info, model):
        """Everything: of counters, meters and registers the cells that the model has."""
        entities = [p4runtime_pb2.Entity() for _ in range(7)]
        entities[0].table_entry.counter_data.SetInParent()
        entities[0].table_entry.meter_config.SetInParent()
        entities[1].action_profile_member.SetInParent()
        entities[2].action_profile_group.SetInParent()
        entities[3].packet_replication_engine_entry.multicast_group_entry.SetInParent()
        entities[4].packet_replication_engine_entry.clone_session_entry.SetInParent()
        entities[5].digest_entry.SetInParent()
        entities[6].value_set_entry.SetInParent()
        for table in info.tables:
            entities.append(p4runtime_pb2.Entity())
            entities[-1].table_entry.table_id = table.preamble.id
            entities[-1].table_entry.is_default_action = True
        for kind, name in (
            ("counter_entry", "counter_id"),
            ("meter_entry", "meter_id"),
            ("register_entry", "register_id"),
        ):
            for cell in model.of_kind(kind):
                entities.append(p4runtime_pb2.Entity())
                asked = getattr(entities[-1], kind)
                setattr(asked, name, getattr(cell, name))
                asked.index.CopyFrom(cell.index)
        request = p4runtime_pb2.ReadRequest(device_id=1, entities=entities)
        found = [entity for response in self.stub.Read(request) for entity in response.entities]
        # A value set without members is as good as none.
        return [each for each in found if not each.HasField("value_set_entry") or each.value_set_entry.members]


class Generator:
    """Random updates for a program."""

    def __init__(self, info, model, chance):
        self.info, self.model, self.chance = info, model, chance
        if any(each.HasField("translated_type") for each in info.type_info.new_types.values()):
            raise NotForUs
        self.actions = {action.preamble.id: action for action in info.actions}
        self.profiles = {profile.preamble.id: profile for profile in info.action_profiles if profile.table_ids}
        self.counter_units = {counter.direct_table_id: counter.spec.unit for counter in info.direct_counters}
        self.metered = {meter.direct_table_id for meter in info.direct_meters}
        model.profile_of = {
            table.preamble.id: table.implementation_id for table in info.tables if table.implementation_id
        }
        # Tables with entries of the program's own are left as they are.
        fixed = {entry.table_id for entry in model.of_kind("table_entry")}
        fixed |= {table.preamble.id for table in info.tables if table.is_const_table}
        self.tables = [table for table in info.tables if table.match_fields and table.preamble.id not in fixed]
        cells = [*info.counters, *info.meters, *info.registers]
        self.sources = [
            (8 * bool(self.tables), self.table_entry),
            (2 * bool(info.tables), self.default),
            (4 * bool(self.profiles), self.member),
            (3 * any(profile.with_selector for profile in self.profiles.values()), self.group),
            (1, self.multicast),
            (1, self.clone),
            (4 * bool(cells), lambda: self.cell(self.chance.choice(cells))),
            (1 * bool(info.digests), self.digest),
            (2 * bool(info.value_sets), self.value_set),
        ]

    def update(self):
        """A valid update, whether what it names is there or not."""
        weights, sources = zip(*self.sources, strict=True)
        kind, entity = self.chance.choices(sources, weights)[0]()
        return p4runtime_pb2.Update(type=kind, entity=entity)

    def number(self, width):
        if not width:
            raise NotForUs
        edge = self.chance.randrange(min(4, 1 << width))
        return self.chance.choice([edge, (1 << width) - 1 - edge, self.chance.getrandbits(width)])

    def kind(self):
        return self.chance.choice([INSERT, INSERT, MODIFY, DELETE])

    def match(self, field):
        """A condition, or None for one that holds always."""
        width, chance = field.bitwidth, self.chance
        match = p4runtime_pb2.FieldMatch(field_id=field.id)
        number = self.number(width)
        full = (1 << width) - 1
        if field.match_type == MatchField.EXACT:
            match.exact.value = encoded(number)
        elif field.match_type == MatchField.OPTIONAL and chance.random() < 0.6:
            match.optional.value = encoded(number)
        elif field.match_type == MatchField.LPM and (length := chance.choice([0, 1, width, chance.randint(0, width)])):
            unused = width - length
            match.lpm.value, match.lpm.prefix_len = encoded(number >> unused << unused), length
        elif field.match_type == MatchField.TERNARY and (mask := chance.choice([0, full, chance.getrandbits(width)])):
            match.ternary.value, match.ternary.mask = encoded(number & mask), encoded(mask)
        elif field.match_type == MatchField.RANGE and (ends := sorted((number, self.number(width)))) != [0, full]:
            match.range.low, match.range.high = map(encoded, ends)
        return match if match.WhichOneof("field_match_type") else None

    def action(self, table, not_with):
        usable = [each.id for each in table.action_refs if each.scope != not_with]
        if not usable:
            raise Impossible
        action = p4runtime_pb2.Action(action_id=self.chance.choice(usable))
        for param in self.actions[action.action_id].params:
            action.params.add(param_id=param.id, value=encoded(self.number(param.bitwidth)))
        return action

    def give_action(self, entry, table):
        entry.ClearField("action")
        profile = self.profiles.get(table.implementation_id)
        if profile is None:
            entry.action.action.CopyFrom(self.action(table, ActionRef.DEFAULT_ONLY))
            return
        members, groups = self.parts_of(table.implementation_id)
        ways = [("action_profile_member_id", each.member_id) for each in members]
        ways += [("action_profile_group_id", each.group_id) for each in groups]
        if ways:
            setattr(entry.action, *self.chance.choice(ways))
        elif profile.with_selector:
            for _ in range(self.chance.randint(1, 3)):
                weight = self.chance.randint(1, 3)
                one = entry.action.action_profile_action_set.action_profile_actions.add(weight=weight)
                one.action.CopyFrom(self.action(table, ActionRef.DEFAULT_ONLY))
        else:
            raise Impossible

    def parts_of(self, profile):
        """Members and groups of a profile."""
        kinds = ("action_profile_member", "action_profile_group")
        return [[each for each in self.model.of_kind(kind) if each.action_profile_id == profile] for kind in kinds]

    def table_entry(self):
        table, kind = self.chance.choice(self.tables), self.kind()
        number = table.preamble.id
        there = [entry for entry in self.model.of_kind("table_entry") if entry.table_id == number]
        if there and (kind != INSERT or self.chance.random() < 0.15):
            entry = copy.deepcopy(self.chance.choice(there))
            if kind != DELETE:
                self.give_action(entry, table)
            return kind, p4runtime_pb2.Entity(table_entry=entry)
        if len(there) >= min(table.size, 1000):
            raise Impossible
        entry = p4runtime_pb2.TableEntry(table_id=number)
        entry.match.extend(filter(None, map(self.match, table.match_fields)))
        ordered = (MatchField.TERNARY, MatchField.RANGE, MatchField.OPTIONAL)
        if any(field.match_type in ordered for field in table.match_fields):
            entry.priority = self.chance.choice([1, 2, self.chance.randint(1, 1 << 20)])
        self.give_action(entry, table)
        self.give_extras(entry, table)
        return kind, p4runtime_pb2.Entity(table_entry=entry)

    def give_extras(self, entry, table):
        some = lambda: self.chance.random() < 0.3  # noqa: E731
        if some():
            entry.metadata = self.chance.randbytes(3)
        if table.idle_timeout_behavior and some():
            entry.idle_timeout_ns = self.chance.randint(3600, 7200) * 10**9
        if entry.table_id in self.counter_units and some():
            self.give_counts(entry.counter_data, self.counter_units[entry.table_id])
        if entry.table_id in self.metered and some():
            self.give_rates(entry.meter_config)

    def give_counts(self, data, unit):
        data.SetInParent()
        if unit != p4info_pb2.CounterSpec.BYTES:
            data.packet_count = self.chance.getrandbits(40)
        if unit != p4info_pb2.CounterSpec.PACKETS:
            data.byte_count = self.chance.getrandbits(40)

    def give_rates(self, config):
        config.cir = self.chance.randint(1, 10**9)
        config.pir = config.cir + self.chance.randrange(10**9)
        config.cburst, config.pburst = (self.chance.randint(1, 10**6) for _ in range(2))

    def default(self):
        table = self.chance.choice(self.info.tables)
        if table.const_default_action_id or table.implementation_id:
            raise Impossible
        entity = p4runtime_pb2.Entity()
        entity.table_entry.table_id, entity.table_entry.is_default_action = table.preamble.id, True
        if self.chance.random() < 0.75:
            entity.table_entry.action.action.CopyFrom(self.action(table, ActionRef.TABLE_ONLY))
        return MODIFY, entity

    def table_of(self, profile):
        """A table of a profile that has no entry with a set of actions: a profile is used in one way."""
        entries = self.model.of_kind("table_entry")
        if any(
            entry.action.HasField("action_profile_action_set") and entry.table_id in profile.table_ids
            for entry in entries
        ):
            raise Impossible
        return next(table for table in self.info.tables if table.preamble.id == profile.table_ids[0])

    def member(self):
        profile = self.chance.choice(list(self.profiles.values()))
        table, kind = self.table_of(profile), self.kind()
        entity = p4runtime_pb2.Entity()
        member = entity.action_profile_member
        member.action_profile_id, member.member_id = profile.preamble.id, self.chance.randint(1, 12)
        member.action.CopyFrom(self.action(table, ActionRef.DEFAULT_ONLY))
        if kind == INSERT and profile.size and len(self.parts_of(profile.preamble.id)[0]) >= profile.size:
            raise Impossible
        return kind, entity

    def group(self):
        profile = self.chance.choice([each for each in self.profiles.values() if each.with_selector])
        self.table_of(profile)
        members, groups = self.parts_of(profile.preamble.id)
        entity, kind = p4runtime_pb2.Entity(), self.kind()
        group = entity.action_profile_group
        group.action_profile_id, group.group_id = profile.preamble.id, self.chance.randint(1, 6)
        before = next((each for each in groups if each.group_id == group.group_id), None)
        if kind == MODIFY and before is not None:
            group.max_size = before.max_size
        for member in self.chance.sample(members, min(len(members), self.chance.randint(0, 3))):
            group.members.add(member_id=member.member_id, weight=self.chance.randint(1, 2))
        # Limits are those of the sum of weights, the tighter way to count.
        used = sum(member.weight for each in groups for member in each.members)
        weight = sum(member.weight for member in group.members)
        limits = [(profile.max_group_size, weight), (group.max_size, weight), (profile.size, used + weight)]
        if any(limit and size > limit for limit, size in limits):
            raise Impossible
        return kind, entity

    def replicas(self, at_least):
        ports = self.chance.sample(range(1, 20), self.chance.randint(at_least, 4))
        return [p4runtime_pb2.Replica(egress_port=port, instance=self.chance.randint(0, 3)) for port in ports]

    def multicast(self):
        entity = p4runtime_pb2.Entity()
        group = entity.packet_replication_engine_entry.multicast_group_entry
        group.multicast_group_id = self.chance.randint(1, 5)
        group.replicas.extend(self.replicas(0))
        return self.kind(), entity

    def clone(self):
        entity = p4runtime_pb2.Entity()
        session = entity.packet_replication_engine_entry.clone_session_entry
        session.session_id = self.chance.randint(1, 5)
        session.class_of_service = self.chance.randint(0, 3)
        session.packet_length_bytes = self.chance.choice([0, 64, 100])
        session.replicas.extend(self.replicas(1))
        return self.kind(), entity

    def cell(self, array):
        """A cell of a counter, a meter or a register."""
        entity, number = p4runtime_pb2.Entity(), array.preamble.id
        if array in self.info.counters:
            cell, entity.counter_entry.counter_id = entity.counter_entry, number
            self.give_counts(cell.data, array.spec.unit)
        elif array in self.info.meters:
            cell, entity.meter_entry.meter_id = entity.meter_entry, number
            self.give_rates(cell.config)
        elif array.type_spec.bitstring.HasField("bit"):
            cell, entity.register_entry.register_id = entity.register_entry, number
            cell.data.bitstring = encoded(self.number(array.type_spec.bitstring.bit.bitwidth))
        else:
            raise Impossible
        if not array.size:
            raise Impossible
        cell.index.index = self.chance.choice([0, array.size - 1, self.chance.randrange(array.size)])
        return MODIFY, entity

    def digest(self):
        entity = p4runtime_pb2.Entity()
        entity.digest_entry.digest_id = self.chance.choice(self.info.digests).preamble.id
        entity.digest_entry.config.max_list_size = self.chance.randrange(100)
        entity.digest_entry.config.max_timeout_ns = self.chance.randrange(10**9)
        return self.kind(), entity

    def value_set(self):
        entity, chosen = p4runtime_pb2.Entity(), self.chance.choice(self.info.value_sets)
        entity.value_set_entry.value_set_id = chosen.preamble.id
        members = {}
        for _ in range(self.chance.randint(1, 3)):
            member = p4runtime_pb2.ValueSetMember(match=filter(None, map(self.match, chosen.match)))
            members[member.SerializeToString(deterministic=True)] = member
        entity.value_set_entry.members.extend(list(members.values())[: chosen.size])
        return MODIFY, entity


class Spoiler:
    """Turns a valid update into one that must be refused."""

    def __init__(self, generator):
        self.chance, self.actions = generator.chance, generator.actions
        self.fields = {table.preamble.id: table.match_fields for table in generator.info.tables}

    def spoil(self, update):
        """The update, changed in a random way; None when that way does not apply to it."""
        spoilt = copy.deepcopy(update)
        kind, message = part(spoilt.entity)
        ways = {
            "table_entry": [
                self.table,
                self.no_type,
                self.unknown_field,
                self.double_field,
                self.wide_field,
                self.priority,
                self.no_field,
                self.action,
            ],
            "action_profile_member": [self.profile, self.no_type, self.action],
            "action_profile_group": [self.profile, self.no_type, self.unknown_member],
            "multicast_group_entry": [self.no_type, self.double_replica, self.zero_group],
            "clone_session_entry": [self.no_type, self.double_replica],
            "digest_entry": [self.no_type],
            "value_set_entry": [self.no_type, self.only_modified],
        }
        way = self.chance.choice(ways.get(kind, [self.no_type, self.only_modified, self.negative_index]))
        return spoilt if way(spoilt, message) else None

    def no_type(self, update, _):
        update.type = 0
        return True

    def only_modified(self, update, _):
        update.type = self.chance.choice([INSERT, DELETE])
        return True

    def table(self, _, entry):
        entry.table_id |= NO_OBJECT
        return True

    def profile(self, _, message):
        message.action_profile_id |= NO_OBJECT
        return True

    def unknown_field(self, _, entry):
        entry.match.add(field_id=99).exact.value = b"\1"
        return True

    def double_field(self, _, entry):
        if entry.match:
            entry.match.append(entry.match[0])
        return bool(entry.match)

    def wide_field(self, _, entry):
        exact = [match for match in entry.match if match.HasField("exact")]
        for match in exact:
            width = next(field.bitwidth for field in self.fields[entry.table_id] if field.id == match.field_id)
            match.exact.value = encoded(1 << width)
        return bool(exact)

    def no_field(self, _, entry):
        exact = [index for index, match in enumerate(entry.match) if match.HasField("exact")]
        for index in exact[:1]:
            del entry.match[index]
        return bool(exact)

    def priority(self, _, entry):
        entry.priority = 0 if entry.priority else 5
        return True

    def action(self, update, message):
        action = message.action if isinstance(message.action, p4runtime_pb2.Action) else message.action.action
        if update.type == DELETE or not action.action_id:
            return False
        params = self.actions[action.action_id].params
        way = self.chance.randrange(4)
        if way == 0:
            action.action_id |= NO_OBJECT
        elif way == 1:
            action.params.add(param_id=99, value=b"\1")
        elif way == 2 and params:
            action.params[0].value = encoded(1 << params[0].bitwidth)
        elif way == 3 and params:
            del action.params[0]
        else:
            return False
        return True

    def unknown_member(self, update, group):
        group.members.add(member_id=999, weight=1)
        return update.type != DELETE

    def double_replica(self, update, message):
        if message.replicas:
            message.replicas.append(message.replicas[0])
        return update.type != DELETE and bool(message.replicas)

    def zero_group(self, _, group):
        group.multicast_group_id = 0
        return True

    def negative_index(self, _, cell):
        cell.index.index = -1
        return True


class Trial:
    """One program."""

    def __init__(self, switch, path, chance):
        self.switch, self.path, self.chance = switch, path, chance
        self.source, self.info = path.read_bytes(), p4info_pb2.P4Info()
        subprocess.run([FOREBAY, "build", path, "-o", switch.folder], check=True, capture_output=True)
        text_format.Parse((switch.folder / "p4info.txtpb").read_text(), self.info)
        switch.push(self.source, self.info)
        empty = Model([])
        self.model = Model(switch.read(self.info, empty))
        self.generator = Generator(self.info, self.model, chance)
        self.spoiler = Spoiler(self.generator)
        self.updates, self.faults = 0, []

    def run(self):
        for _ in range(self.chance.randint(4, 12)):
            self.batch(self.chance.choice([CONTINUE, CONTINUE, ROLLBACK, ATOMIC]))
        how = self.chance.choice([signal.SIGKILL, signal.SIGTERM, RECONCILE_AND_COMMIT])
        if how == RECONCILE_AND_COMMIT:
            self.switch.push(self.source, self.info, how)
        else:
            self.switch.end(how)
            self.switch.start()
        self.compare(f"after {how!r}")

    def batch(self, atomicity):
        before = dict(self.model.entities)
        updates, expected = [], []
        for _ in range(self.chance.choice([1, 1, 5, 20, 50])):
            try:
                update = self.generator.update()
            except Impossible:
                continue
            spoilt = self.spoiler.spoil(update) if self.chance.random() < 0.125 else None
            updates.append(spoilt or update)
            expected.append(REFUSED if spoilt else self.model.write(update))
        if not updates:
            return
        self.updates += len(updates)
        answers = self.switch.write(updates, atomicity)
        if atomicity == CONTINUE or all(code == OK for code in expected):
            for update, code, answer in zip(updates, expected, answers, strict=True):
                if answer[0] != code and not (code is REFUSED and answer[0] != OK):
                    self.fault(f"code {code} is right, the answer is {answer}: {update}")
        else:
            # Nothing of it has happened.
            self.model.entities = before
            if all(code == OK for code, _ in answers):
                self.fault("a batch with mistakes is accepted as a whole")
        self.compare(f"after a batch of {len(updates)} updates, atomicity {atomicity}")

    def compare(self, when):
        for difference in self.model.differences(self.switch.read(self.info, self.model)):
            self.fault(f"{when}: an entity {difference}")

    def fault(self, text):
        self.faults.append(f"{self.path}: {text}")


def corpus():
    """Programs of one file, which the switch takes as they are pushed."""
    paths = sorted((ROOT / "tests" / "stf").rglob("*.p4"))
    return [path for path in paths if path.parent.name != "include" and '#include "' not in path.read_text()]


def main():
    chance = random.Random(SEED)
    paths = [pathlib.Path(name) for name in sys.argv[1:]] or corpus()
    folder = pathlib.Path(tempfile.mkdtemp())
    switch = Switch(folder)
    faults, told = [], collections.Counter()
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and len(faults) < SHOWN_MAX:
        path = chance.choice(paths)
        try:
            trial = Trial(switch, path, chance)
            trial.run()
        except (NotForUs, subprocess.CalledProcessError):
            told["programs left out"] += 1
            continue
        except grpc.RpcError as error:
            faults.append(f"{path}: {error.code()}: {error.details()}")
            continue
        told["programs"] += 1
        told["updates"] += trial.updates
        faults += trial.faults
    switch.end()
    print("  " + ", ".join(f"{count:,} {what}" for what, count in told.items()), flush=True)
    for fault in faults[:SHOWN_MAX]:
        print(f"  {fault}")
    if faults:
        raise SystemExit(f"FAILED: seed {SEED}")


main()
