"""Devices with sensors and actuators, and the joins between them: the model of the platform. Nothing here does I/O.

A *join* takes readings of sensors, computes a value of them by a function, and sends it to actuators. Names are
`device/feature`.
"""

import re
from dataclasses import asdict, dataclass, field

NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
WAYS = ("http", "mqtt", "udp")


class Refusal(ValueError):
    """A refused request; the text says what would be right."""


def mean(values):
    """The mean of the last values of all sensors."""
    return sum(values) / len(values)


def scale(values, factor=1.0, offset=0.0):
    """The newest value times `factor`, plus `offset`."""
    return values[-1] * factor + offset


def above(values, threshold=0.0):
    """1 when the newest value is above `threshold`, else 0."""
    return 1.0 if values[-1] > threshold else 0.0


FUNCTIONS = {
    "newest": lambda values: values[-1],
    "mean": mean,
    "minimum": min,
    "maximum": max,
    "sum": sum,
    "scale": scale,
    "above": above,
}
"""Functions by name: each takes the last values of a join's sensors, the newest last, and numbers by name."""


@dataclass
class Device:
    number: int
    name: str
    model: str
    sensors: list
    actuators: dict
    """Name to `{"by": "http" | "mqtt" | "udp", "address": "HOST:PORT"}`; the address with `udp` alone."""


@dataclass
class Join:
    name: str
    sources: list
    function: str
    parameters: dict
    targets: list
    last: dict = field(default_factory=dict)
    """The last value of each source, in the order in which they came."""


class Registry:
    """All devices and joins."""

    def __init__(self, state=None):
        self.devices, self.joins = {}, {}
        self._by_number, self._by_source = {}, {}
        self._last_number = (state or {}).get("last_number", 0)
        for device in (state or {}).get("devices", []):
            self._keep(Device(**device))
        for join in (state or {}).get("joins", []):
            self._keep_join(Join(**join))

    def state(self):
        """Everything as JSON has it; `Registry(state)` is the same again."""
        joins = [{**asdict(join), "last": {}} for join in self.joins.values()]
        devices = [asdict(device) for device in self.devices.values()]
        return {"devices": devices, "joins": joins, "last_number": self._last_number}

    def register(self, request):
        """Adds a device, or finds the one with this name when its features are the same."""
        name = _name(request, "name")
        sensors = [_checked(sensor, "sensor") for sensor in request.get("sensors", [])]
        actuators = {_checked(key, "actuator"): _way(value) for key, value in request.get("actuators", {}).items()}
        if len(sensors) > 256 or len(set(sensors)) != len(sensors):
            raise Refusal("a device has at most 256 sensors, each with a name of its own")
        known = self.devices.get(name)
        if known:
            if known.sensors != sensors or set(known.actuators) != set(actuators):
                raise Refusal(f"device {name} is registered with other features; remove it, or choose another name")
            known.actuators = actuators
            return known
        # The number of a device that was removed is not given again: what came of its readings is known by it.
        device = Device(self._last_number + 1, name, str(request.get("model", "")), sensors, actuators)
        self._keep(device)
        return device

    def remove(self, name):
        """Removes a device that no join names."""
        device = self._device(name)
        used = [
            join.name
            for join in self.joins.values()
            if any(end.split("/")[0] == name for end in join.sources + join.targets)
        ]
        if used:
            raise Refusal(f"device {name} is in the join {used[0]}; remove that first")
        del self.devices[name], self._by_number[device.number]

    def join(self, request):
        """Adds a join, or replaces the one with this name."""
        name, function = _name(request, "name"), request.get("function", "newest")
        if function not in FUNCTIONS:
            raise Refusal(f"there is no function {function!r}; there are {', '.join(sorted(FUNCTIONS))}")
        parameters = request.get("parameters", {})
        try:
            float(FUNCTIONS[function]([1.0], **parameters))
        except (TypeError, ValueError) as error:
            raise Refusal(f"function {function} does not take these parameters: {error}") from error
        sources, targets = request.get("from", []), request.get("to", [])
        if not sources or not targets:
            raise Refusal('a join has sensors, "from", and actuators, "to"')
        for end, kind in [(end, "sensors") for end in sources] + [(end, "actuators") for end in targets]:
            device, _, feature = end.partition("/")
            if feature not in getattr(self._device(device), kind):
                raise Refusal(f"device {device} has no {kind[:-1]} {feature!r}")
        self.unjoin(name, missing=True)
        join = Join(name, sources, function, parameters, targets)
        self._keep_join(join)
        return join

    def unjoin(self, name, missing=False):
        """Removes a join; one that is missing only if that is allowed."""
        join = self.joins.pop(name, None)
        if join is None and not missing:
            raise Refusal(f"there is no join {name!r}")
        for source in join.sources if join else ():
            self._by_source[source].remove(join)

    def sensor_of(self, device, feature):
        """The name `device/sensor` of numbers; None when there is none."""
        known = self._by_number.get(device)
        return f"{known.name}/{known.sensors[feature]}" if known and feature < len(known.sensors) else None

    def numbers_of(self, name, sensor):
        """The numbers of a sensor."""
        device = self._device(name)
        if sensor not in device.sensors:
            raise Refusal(f"device {name} has no sensor {sensor!r}; it has {', '.join(device.sensors) or 'none'}")
        return device.number, device.sensors.index(sensor)

    def actuator(self, name, actuator):
        """How an actuator is reached."""
        device = self._device(name)
        if actuator not in device.actuators:
            raise Refusal(f"device {name} has no actuator {actuator!r}; it has {', '.join(device.actuators) or 'none'}")
        return device.actuators[actuator]

    def outcomes(self, sensor, value):
        """What a new value of a sensor makes: actuators with their values."""
        for join in self._by_source.get(sensor, ()):
            join.last.pop(sensor, None)
            join.last[sensor] = value
            result = float(FUNCTIONS[join.function](list(join.last.values()), **join.parameters))
            for target in join.targets:
                yield target, result

    def _device(self, name):
        if name not in self.devices:
            raise Refusal(f"there is no device {name!r}")
        return self.devices[name]

    def _keep(self, device):
        self.devices[device.name] = self._by_number[device.number] = device
        self._last_number = max(self._last_number, device.number)

    def _keep_join(self, join):
        self.joins[join.name] = join
        for source in join.sources:
            self._by_source.setdefault(source, []).append(join)


def _name(request, key):
    return _checked(request.get(key, ""), key)


def _checked(name, what):
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise Refusal(f"{name!r} is no {what}: 1 to 64 letters, digits, dots, hyphens, underscores")
    return name


def _way(value):
    if not isinstance(value, dict) or value.get("by") not in WAYS:
        raise Refusal(f'an actuator has {{"by": one of {", ".join(WAYS)}}}')
    if value["by"] == "udp":
        host, _, port = str(value.get("address", "")).rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise Refusal('an actuator by udp has an address: "HOST:PORT"')
    return dict(value)
