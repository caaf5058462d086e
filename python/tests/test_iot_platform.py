"""The IoT platform of benches/iot_platform: what it keeps, what it refuses, and the processes over loopback."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import endurance
import messages
import pytest
import readings
import receipts
import registry

HERE = Path(__file__).parents[2] / "benches" / "iot_platform"
LIFT = {"name": "lift", "model": "elevator", "sensors": ["speed", "load"], "actuators": {"brake": {"by": "http"}}}
STOP = {
    "name": "stop",
    "from": ["lift/speed"],
    "function": "above",
    "parameters": {"threshold": 3},
    "to": ["lift/brake"],
}


def reading(sequence: int, device: int = 1, feature: int = 0, value: float = 1.5) -> Any:
    return readings.Reading(device, feature, 123_456, sequence, value)


def body(*found: Any) -> bytes:
    """A message, or an N-packet, of readings."""
    kind = messages.MESSAGE if len(found) == 1 else messages.N_PACKET
    return kind + b"".join(map(readings.encoded, found))


def test_readings_come_back_from_their_bytes() -> None:
    assert readings.decoded(readings.encoded(reading(7))) == reading(7)
    assert readings.decoded(b"short") is None
    assert readings.payloads_of(body(reading(0), reading(1))) == [
        readings.encoded(reading(0)),
        readings.encoded(reading(1)),
    ]
    assert readings.payloads_of(body(reading(0))) == [readings.encoded(reading(0))]
    for wrong in (b"", b"\xfa", messages.MESSAGE + bytes(15), messages.MESSAGE + bytes(32), b"\x00" * 22):
        assert readings.payloads_of(wrong) is None, wrong
    assert readings.age_ms(reading(0), 123_456 + readings.TIME_MODULUS + 250) == 250


def test_what_is_missing_is_named() -> None:
    kept = receipts.Receipts()
    assert len(kept.take([reading(sequence) for sequence in (0, 1, 4, 2, 4, 9)])) == 5
    assert (kept.unique, kept.duplicates, kept.missing_count()) == (5, 1, 5)
    assert list(kept.missing_ranges()) == [(1, 0, 3, 3), (1, 0, 5, 8)]
    kept.announce((1, 0), 12)
    kept.announce((2, 0), 3)
    assert list(kept.missing_ranges()) == [(1, 0, 3, 3), (1, 0, 5, 8), (1, 0, 10, 11), (2, 0, 0, 2)]


def test_receipts_survive_a_kill_in_the_middle_of_a_record(tmp_path: Path) -> None:
    log = tmp_path / "receipts.log"
    first = receipts.Receipts(log)
    first.take([reading(0), reading(2), reading(2)])
    with log.open("ab") as file:
        file.write(b"\x01\x00")
    again = receipts.Receipts(log)
    assert (again.unique, again.duplicates, list(again.missing_ranges())) == (2, 0, [(1, 0, 1, 1)])
    assert again.take([reading(2), reading(1)]) == [reading(1)]
    assert receipts.Receipts(log).missing_count() == 0


def test_a_number_far_ahead_takes_no_memory(tmp_path: Path) -> None:
    last = (1 << 32) - 1
    kept = receipts.Receipts(tmp_path / "receipts.log")
    assert kept.take([reading(last), reading(5), reading(5), reading(0)]) == [reading(last), reading(5), reading(0)]
    assert list(kept.missing_ranges()) == [(1, 0, 1, 4), (1, 0, 6, last - 1)]
    assert (kept.missing_count(), kept.duplicates) == (last - 2, 1)
    again = receipts.Receipts(tmp_path / "receipts.log")
    assert list(again.missing_ranges()) == list(kept.missing_ranges())
    kept.announce((7, 0), 1 << 40)
    kept.announce((7, 0), (1 << 40) + 1)
    assert list(kept.missing_ranges())[-1] == (7, 0, 0, 1 << 40)


def test_what_is_not_in_the_log_has_not_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "receipts.log"
    kept, write = receipts.Receipts(log), os.write
    kept.take([reading(0)])
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda file, data: write(file, data[:-1]))
        with pytest.raises(OSError, match="cannot be written"):
            kept.take([reading(1)])
    assert kept.take([reading(1), reading(2)]) == [reading(1), reading(2)]
    assert receipts.Receipts(log).highest == {(1, 0): 2} and receipts.Receipts(log).unique == 3


def test_joins_compute_values_for_actuators() -> None:
    known = registry.Registry()
    assert known.register(LIFT).number == 1
    known.register({"name": "room", "sensors": ["a"], "actuators": {"fan": {"by": "udp", "address": "127.0.0.1:5"}}})
    known.join(STOP)
    known.join({"name": "both", "from": ["lift/speed", "room/a"], "function": "mean", "to": ["room/fan", "lift/brake"]})
    assert list(known.outcomes("lift/speed", 4.0)) == [("lift/brake", 1.0), ("room/fan", 4.0), ("lift/brake", 4.0)]
    assert list(known.outcomes("room/a", 2.0)) == [("room/fan", 3.0), ("lift/brake", 3.0)]
    again = registry.Registry(json.loads(json.dumps(known.state())))
    assert again.state() == known.state()
    assert (again.sensor_of(1, 1), again.sensor_of(1, 2), again.sensor_of(9, 0)) == ("lift/load", None, None)
    known.unjoin("stop")
    assert list(known.outcomes("lift/load", 4.0)) == []


def test_a_number_is_given_once() -> None:
    known = registry.Registry()
    known.register(LIFT)
    known.remove("lift")
    again = registry.Registry(json.loads(json.dumps(known.state())))
    assert again.register(LIFT).number == 2
    before = registry.Registry({"devices": again.state()["devices"], "joins": []})
    assert before.register({"name": "room"}).number == 3, "what was kept without the last number"


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (("register", {"name": "a b"}), "is no name"),
        (("register", {"name": "x", "sensors": ["a", "a"]}), "name of its own"),
        (("register", {"name": "x", "actuators": {"f": {"by": "mail"}}}), "one of http, mqtt, udp"),
        (("register", {"name": "x", "actuators": {"f": {"by": "udp"}}}), "HOST:PORT"),
        (("register", LIFT | {"sensors": ["other"]}), "other features"),
        (("join", STOP | {"function": "median"}), "there is no function 'median'; there are above"),
        (("join", STOP | {"parameters": {"treshold": 3}}), "does not take these parameters"),
        (("join", STOP | {"from": ["lift/height"]}), "no sensor 'height'"),
        (("join", STOP | {"to": []}), '"to"'),
        (("unjoin", "nothing"), "there is no join 'nothing'"),
        (("remove", "nothing"), "there is no device 'nothing'"),
    ],
)
def test_refusals_say_what_is_wrong(request_: tuple[str, Any], says: str) -> None:
    known = registry.Registry()
    known.register(LIFT)
    with pytest.raises(registry.Refusal, match=says):
        getattr(known, request_[0])(request_[1])


class Platform:
    """A server with its folder, started and killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            self.udp = free.getsockname()[1]
        words = [sys.executable, HERE / "server.py", "--folder", folder, "--http", "0", "--udp-descriptor", "3"]
        self.holder = subprocess.Popen(
            [sys.executable, HERE / "holder.py", f"127.0.0.1:{self.udp}", "0.2", "--", *words],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.wait()

    def wait(self) -> None:
        """Until a server is there: its process and its port."""
        assert self.holder.stdout
        self.pid = int(self.holder.stdout.readline())
        self.http = json.loads(self.holder.stdout.readline())["http"]

    def call(self, method: str, path: str, content: Any = None) -> Any:
        data = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.http}{path}", data, method=method)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)

    def wait_for(self, counter: str, value: int) -> dict[str, Any]:
        end = time.monotonic() + 20
        while (found := self.call("GET", "/counters")).get(counter, 0) < value:
            assert time.monotonic() < end, found
            time.sleep(0.02)
        return found

    def stop(self) -> None:
        self.holder.terminate()
        self.holder.wait(10)


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    started = Platform(tmp_path / "state")
    yield started
    started.stop()


def test_readings_by_udp_and_http_reach_an_actuator(platform: Platform) -> None:
    number = platform.call("POST", "/devices", LIFT)["number"]
    platform.call("POST", "/joins", STOP)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(body(*(reading(sequence, number) for sequence in range(8))), ("127.0.0.1", platform.udp))
        sender.sendto(b"rubbish", ("127.0.0.1", platform.udp))
    platform.wait_for("udp malformed", 1)
    platform.call("PUT", "/devices/lift/speed", {"value": 5.0, "sequence": 9})
    found = platform.call("GET", "/counters")
    assert (found["unique readings"], found["missing readings"], found["udp datagrams"]) == (9, 1, 2)
    assert platform.call("GET", "/devices/lift/brake?after=8") == {"number": 9, "value": 1.0}
    assert platform.call("GET", "/missing") == [[number, 0, 8, 8]]
    state = platform.call("GET", "/state")
    assert state["values"][0]["sensor"] == "lift/speed" and state["values"][0]["value"] == 5.0
    for method, path, content, status in (
        ("GET", "/nothing", None, 404),
        ("PUT", "/devices/lift/height", {"value": 1}, 400),
        ("PUT", "/devices/lift/speed", {"value": "x"}, 400),
        ("POST", "/joins", {"name": "x"}, 400),
        ("POST", "/devices", [1], 500),
        ("POST", "/announce", 5, 400),
        ("POST", "/announce", [[number, 0, 20], ["lift", 0, 20]], 400),
        ("POST", "/announce", [[number, 0, 12.5]], 400),
        ("POST", "/announce", [[number, 0, 1 << 33]], 400),
    ):
        with pytest.raises(urllib.error.HTTPError) as caught:
            platform.call(method, path, content)
        assert caught.value.code == status and json.load(caught.value)["error"]
    assert platform.call("GET", "/missing") == [[number, 0, 8, 8]]


def test_one_actuator_that_is_not_reached_disturbs_no_other(platform: Platform) -> None:
    # A socket may not send to all without asking.
    room = {"name": "room", "sensors": ["a"], "actuators": {"fan": {"by": "udp", "address": "255.255.255.255:9"}}}
    platform.call("POST", "/devices", [LIFT, room])
    platform.call("POST", "/joins", {"name": "join", "from": ["lift/speed"], "to": ["room/fan", "lift/brake"]})
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(body(reading(0), reading(1)), ("127.0.0.1", platform.udp))
    found = platform.wait_for("udp values not sent", 2)
    assert (found["udp datagrams"], found["duplicate readings"], found["http values"]) == (1, 0, 2)
    platform.call("PUT", "/devices/lift/speed", {"value": 4.0})
    assert platform.call("GET", "/devices/lift/brake?after=2") == {"number": 3, "value": 4.0}


def test_a_device_that_is_removed_leaves_no_values(platform: Platform) -> None:
    platform.call("POST", "/devices", [LIFT, LIFT | {"name": "lift2"}])
    platform.call("POST", "/joins", STOP)
    platform.call("PUT", "/devices/lift/speed", {"value": 5.0})
    platform.call("PUT", "/devices/lift2/speed", {"value": 1.0})
    platform.call("DELETE", "/joins/stop")
    platform.call("DELETE", "/devices/lift")
    state = platform.call("GET", "/state")
    assert [value["sensor"] for value in state["values"]] == ["lift2/speed"] and state["actuators"] == []
    # The brake of another lift with this name is not pulled by what the first one has measured.
    platform.call("POST", "/devices", LIFT)
    platform.call("POST", "/joins", STOP)
    platform.call("PUT", "/devices/lift/speed", {"value": 2.0})
    assert platform.call("GET", "/devices/lift/brake?after=0") == {"number": 1, "value": 0.0}


def test_what_is_no_number_is_not_shown(platform: Platform) -> None:
    platform.call("POST", "/devices", LIFT)
    scale = {"function": "scale", "parameters": {"factor": 1e300}}
    platform.call("POST", "/joins", STOP | scale)
    platform.call("PUT", "/devices/lift/speed", {"value": 1e200})
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(body(reading(1, value=float("nan"))), ("127.0.0.1", platform.udp))
    platform.wait_for("readings without a number", 1)
    for wrong in (float("nan"), float("inf"), 10**400):
        with pytest.raises(urllib.error.HTTPError, match="400"):
            platform.call("PUT", "/devices/lift/speed", {"value": wrong})
    state = platform.call("GET", "/state")
    assert state["values"][0]["value"] == 1e200 and state["actuators"] == []
    assert state["counters"]["values without a number"] == 1 and state["counters"]["missing readings"] == 0


def test_a_killed_server_loses_nothing(platform: Platform) -> None:
    number = platform.call("POST", "/devices", LIFT)["number"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for first in range(0, 4000, 8):
            sender.sendto(body(*(reading(first + place, number) for place in range(8))), ("127.0.0.1", platform.udp))
            if first in (800, 2400):
                os.kill(platform.pid, signal.SIGKILL)
                platform.wait()
    found = platform.wait_for("unique readings", 4000)
    assert found["missing readings"] == 0 and found["udp datagrams dropped by the socket"] == 0
    assert platform.call("POST", "/devices", LIFT)["number"] == number


def test_what_the_socket_drops_is_missing(platform: Platform) -> None:
    number = platform.call("POST", "/devices", LIFT)["number"]
    os.kill(platform.pid, signal.SIGSTOP)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for sequence in range(20_000):
            sender.sendto(body(reading(sequence, number)), ("127.0.0.1", platform.udp))
    os.kill(platform.pid, signal.SIGCONT)
    platform.call("POST", "/announce", [[number, 0, 20_000]])
    dropped = platform.call("GET", "/counters")["udp datagrams dropped by the socket"]
    found = platform.wait_for("unique readings", 20_000 - dropped)
    assert dropped > 0 and found["missing readings"] == dropped


@pytest.mark.parametrize("way", ["http", "udp"])
def test_a_device_application(platform: Platform, way: str) -> None:
    words = ["--server", f"127.0.0.1:{platform.http}", "--udp", f"127.0.0.1:{platform.udp}", "--way", way]
    device = [sys.executable, str(HERE / "device.py"), *words, "--seconds", "1.5", "--rate", "20", "--name", way]
    done = subprocess.run(device, capture_output=True, text=True, timeout=60, check=True)
    values = [json.loads(line) for line in done.stdout.splitlines()]
    assert {"actuator": f"{way}/fan", "value": 1.0} in values, done.stderr
    before = platform.call("GET", "/counters")["unique readings"]
    subprocess.run(device, capture_output=True, timeout=60, check=True)
    found = platform.call("GET", "/counters")
    assert found["duplicate readings"] == 0 and found["unique readings"] > before + 10


@pytest.mark.skipif(shutil.which("mosquitto") is None, reason="mosquitto is not installed")
def test_a_device_application_by_mqtt(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "mosquitto.conf").write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
    broker = ["mosquitto", "-c", str(tmp_path / "mosquitto.conf")]
    server = [sys.executable, str(HERE / "server.py"), "--folder", str(tmp_path / "state"), "--http", "0"]
    with (
        subprocess.Popen(broker, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running,
        subprocess.Popen([*server, "--broker", f"127.0.0.1:{port}"], stdout=subprocess.PIPE, text=True) as serving,
    ):
        try:
            assert serving.stdout
            http = json.loads(serving.stdout.readline())["http"]
            words = ["--server", f"127.0.0.1:{http}", "--broker", f"127.0.0.1:{port}", "--way", "mqtt"]
            device = [sys.executable, str(HERE / "device.py"), *words, "--seconds", "2", "--rate", "20"]
            done = subprocess.run(device, capture_output=True, text=True, timeout=60, check=True)
            assert {"actuator": "room/fan", "value": 1.0} in map(json.loads, done.stdout.splitlines()), done.stderr
            publish = ["mosquitto_pub", "-p", str(port), "-t", "sensors/room/temperature", "-m", "21.5", "-q"]
            for qos in "01" if shutil.which("mosquitto_pub") else "":
                subprocess.run([*publish, qos], check=True)
                time.sleep(0.3)
                with urllib.request.urlopen(f"http://127.0.0.1:{http}/state", timeout=20) as answer:
                    assert json.load(answer)["values"][0]["value"] == 21.5
        finally:
            serving.terminate()
            running.terminate()


def test_fillers_in_lost_packets_are_no_lost_readings() -> None:
    link = {"to_server": {"lost": 2, "dropped": 1}}
    sensors = {"by_gateway": [375_000, 5], "fillers": 7}
    # The first gateway ends with a full N-packet: its fillers stay behind. The second one needs three.
    assert endurance.lost_on_the_wan(link, sensors, fillers_received=3) == (3, 24)
    assert endurance.lost_on_the_wan(link, sensors, fillers_received=0) == (3, 21)
    assert endurance.sent_of(10, 2, {"rounds": 1, "more": 1}) == {(10, 0), (10, 1), (11, 0)}
