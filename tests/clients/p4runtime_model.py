"""What a P4Runtime server must answer: the entities that it holds, as a dictionary.

A model begins with the entities of the switch, and gets every valid update. It returns the canonical code that the
switch must answer (P4Runtime specification, §9), and holds the entities that a reader must find afterwards.
"""

from p4.v1 import p4runtime_pb2

OK, NOT_FOUND, ALREADY_EXISTS = 0, 5, 6
# An update that must be refused, whatever the code.
REFUSED = None

INSERT, MODIFY, DELETE = (p4runtime_pb2.Update.Type.Value(name) for name in ("INSERT", "MODIFY", "DELETE"))

# The fields that identify an entity.
KEYS = {
    "action_profile_member": ("action_profile_id", "member_id"),
    "action_profile_group": ("action_profile_id", "group_id"),
    "digest_entry": ("digest_id",),
    "value_set_entry": ("value_set_id",),
    "counter_entry": ("counter_id",),
    "meter_entry": ("meter_id",),
    "register_entry": ("register_id",),
    "multicast_group_entry": ("multicast_group_id",),
    "clone_session_entry": ("session_id",),
}
# Entities that always exist, and can only be modified.
CELLS = ("counter_entry", "meter_entry", "register_entry", "value_set_entry")
# Fields whose order has no meaning.
SETS = ("match", "params", "members", "replicas")


def part(entity):
    """The kind of an entity, and the message that has it."""
    kind = entity.WhichOneof("entity")
    message = getattr(entity, kind)
    if kind == "packet_replication_engine_entry":
        kind = message.WhichOneof("type")
        message = getattr(message, kind)
    return kind, message


def identity(entity):
    """The identity of an entity: two entities with the same one cannot exist together."""
    kind, message = part(entity)
    if kind != "table_entry":
        index = message.index.index if hasattr(message, "index") else 0
        return (kind, *(getattr(message, field) for field in KEYS[kind]), index)
    if message.is_default_action:
        return ("default", message.table_id)
    match = tuple(sorted(field.SerializeToString() for field in message.match))
    return (kind, message.table_id, match, message.priority)


def same(message):
    """A value that is equal for messages that mean the same."""
    values = []
    for field, value in message.ListFields():
        if field.message_type is None:
            values.append((field.name, value))
        elif field.label == field.LABEL_REPEATED:
            parts = [same(each) for each in value]
            values.append((field.name, tuple(sorted(parts) if field.name in SETS else parts)))
        elif field.name not in ("time_since_last_hit", "meter_counter_data"):
            values.append((field.name, same(value)))
    return tuple(values)


class Model:
    """The entities of a switch, by their identity."""

    def __init__(self, entities):
        self.entities = {identity(each): each for each in entities}
        self.first = dict(self.entities)
        # The action profile of each table that has one.
        self.profile_of = {}

    def of_kind(self, kind):
        return [part(entity)[1] for key, entity in self.entities.items() if key[0] == kind]

    def write(self, update):
        """Applies a valid update; returns the code with which the switch must answer."""
        key = identity(update.entity)
        is_there = key in self.entities
        if update.type == INSERT and is_there:
            return ALREADY_EXISTS
        if update.type != INSERT and not is_there and key[0] not in CELLS:
            return NOT_FOUND
        if update.type == DELETE:
            if self.is_used(key):
                return REFUSED
            del self.entities[key]
        elif key[0] == "default" and not update.entity.table_entry.HasField("action"):
            self.entities[key] = self.first[key]
        else:
            self.entities[key] = self.merged(update.entity, self.entities.get(key))
        return OK

    @staticmethod
    def merged(entity, before):
        """An entry keeps its counter and its meter when a modification does not name them (§9.1)."""
        merged = p4runtime_pb2.Entity()
        merged.CopyFrom(entity)
        if before is not None and entity.HasField("table_entry"):
            for field in ("counter_data", "meter_config"):
                if not entity.table_entry.HasField(field) and before.table_entry.HasField(field):
                    getattr(merged.table_entry, field).CopyFrom(getattr(before.table_entry, field))
        return merged

    def is_used(self, key):
        """Whether a group or an entry leads to this member or group."""
        kind, profile, number = key[0], key[1], key[2] if len(key) > 2 else None
        if kind not in ("action_profile_member", "action_profile_group"):
            return False
        groups = [group for group in self.of_kind("action_profile_group") if group.action_profile_id == profile]
        if kind.endswith("member") and any(member.member_id == number for group in groups for member in group.members):
            return True
        actions = [
            entry.action for entry in self.of_kind("table_entry") if self.profile_of.get(entry.table_id) == profile
        ]
        return any(
            action.WhichOneof("type") == f"{kind}_id" and getattr(action, f"{kind}_id") == number for action in actions
        )

    def differences(self, entities):
        """Sentences: what a reader found that should not be there, or did not find."""
        found = {identity(each): each for each in entities}
        if len(found) != len(entities):
            yield "an entity is read twice"
        for key in self.entities.keys() - found.keys():
            yield f"is missing: {self.entities[key]}"
        for key in found.keys() - self.entities.keys():
            yield f"was not written: {found[key]}"
        for key in self.entities.keys() & found.keys():
            if not self.agree(self.entities[key], found[key]):
                yield f"was written: {self.entities[key]}\nis read: {found[key]}"

    @staticmethod
    def agree(written, read):
        """Whether two entities are equal; counters and meters are compared only where they were written."""
        expected, actual = p4runtime_pb2.Entity(), p4runtime_pb2.Entity()
        expected.CopyFrom(written)
        actual.CopyFrom(read)
        for field in ("counter_data", "meter_config"):
            if written.HasField("table_entry") and not written.table_entry.HasField(field):
                actual.table_entry.ClearField(field)
        return same(expected) == same(actual)
